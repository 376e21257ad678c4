//! Resolution of rules on a machine: their cpus, and whether they are in force there.

use corewise_machine::CpuSet;
use corewise_machine::placement::{PlacementExpression, ResolveContext};
use schemars::JsonSchema;
use serde::Serialize;

use super::evidence::EvidenceChange;
use super::glob::GlobPattern;
use super::rule::{Rule, UnprovenPolicy};

/// A rule resolved on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ResolvedRule {
    /// The rule.
    pub rule: Rule,
    /// Its cpus; empty if it selects none here.
    pub cpus: CpuSet,
    /// The cpus of threads by their names, subsets of `cpus`.
    pub threads: Vec<(GlobPattern, CpuSet)>,
    /// The reason why it or one of its thread patterns has no cpu here; `None` if there is no problem.
    pub problem: Option<String>,
    /// Changes since it was proven; empty for a rule without evidence.
    pub changes: Vec<EvidenceChange>,
}

/// Resolves rules on a machine.
pub fn resolve_rules(rules: &[Rule], context: &ResolveContext<'_>) -> Vec<ResolvedRule> {
    rules.iter().map(|rule| resolve_rule(rule, context)).collect()
}

fn resolve_rule(rule: &Rule, context: &ResolveContext<'_>) -> ResolvedRule {
    let mut problem = None;
    let mut cpus_of = |expression: &PlacementExpression| match expression.resolve_on(context) {
        Ok(resolution) => resolution.cpus,
        Err(error) => {
            problem.get_or_insert_with(|| match error.what.starts_with(&error.text) {
                true => error.what,
                false => format!("{expression}: {}", error.what),
            });
            CpuSet::new()
        }
    };
    let cpus = cpus_of(&rule.on.0);
    let threads: Vec<(GlobPattern, CpuSet)> =
        rule.threads.iter().map(|threads| (threads.name.clone(), cpus_of(&threads.on.0).intersection(&cpus))).collect();
    let outside = threads.iter().find(|(_, own)| own.is_empty());
    let problem = problem.or_else(|| {
        outside.map(|(name, _)| format!("no cpu of its threads {name} is among {cpus}, those of {}", rule.on.0))
    });
    let changes = rule.evidence.as_ref().map(|evidence| evidence.changes_since(context.machine)).unwrap_or_default();
    ResolvedRule { rule: rule.clone(), cpus, threads, problem, changes }
}

impl ResolvedRule {
    /// Returns true if it places processes.
    pub fn is_in_force(&self) -> bool {
        self.is_wanted() && !self.cpus.is_empty()
    }

    /// Returns true if it would place processes if it had cpus here.
    pub fn is_wanted(&self) -> bool {
        let is_given_up = self.rule.unproven == UnprovenPolicy::Release && !self.changes.is_empty();
        !self.rule.disabled && !is_given_up
    }

    /// Returns the cpus of a thread by its name. If the thread's own cpus are not available here, it gets all of the
    /// rule's.
    pub fn cpus_of(&self, thread: &str) -> &CpuSet {
        let own = self.threads.iter().find(|(name, _)| name.matches_text(thread)).map(|(_, cpus)| cpus);
        own.filter(|cpus| !cpus.is_empty()).unwrap_or(&self.cpus)
    }
}
