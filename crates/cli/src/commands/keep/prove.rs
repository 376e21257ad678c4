//! Repeats a rule's experiment, and renews or withdraws the rule's evidence.

use std::collections::BTreeMap;

use corewise_keep::RuleFiles;
use corewise_machine::suggested_command;
use corewise_model::Artifact as _;
use corewise_model::conducted::Conducted;
use corewise_model::experiment::Verdict;
use corewise_model::keep::{Evidence, ResolvedRule, Rule, Unproven, set_disabled, set_evidence};

use super::arguments::ProveArguments;
use super::document::{Fate, ProveDocument};
use super::screen;
use crate::app::failure::{Exit, Failure};
use crate::app::history::{broken, existing};
use crate::app::itself::Itself;
use crate::app::keeper::{self, State};
use crate::app::machine::this_machine;
use crate::app::output::show;
use crate::app::settings::{History, Settings};
use crate::draw::suggestion;

/// Runs `corewise keep prove`. The experiment is an ordinary one, made by `corewise try --again`.
pub fn prove(typed: &ProveArguments, rules: &RuleFiles, settings: &Settings) -> Result<Exit, Failure> {
    let rule = rules.read_rule(&typed.name)?;
    let on = rule.on.0.to_string();
    let Some(evidence) = &rule.evidence else {
        let what = format!("rule {} rests on no experiment that can be repeated", rule.name);
        return Err(Failure::unavailable(what).next(format!(
            "Make one with {}, and the rule with {}.",
            suggestion::mention(&suggested_command::try_placement(&on)),
            suggestion::mention(&suggested_command::keep_add_winner("N"))
        )));
    };
    if !matches!(settings.history, History::At(_)) {
        return Err(Failure::usage("keep prove needs the store").next("Name the store with --store PATH."));
    }
    let is_running = State::read(settings).is_some_and(|state| state.of_system == rules.of_system);
    let is_it = |here: &ResolvedRule| here.rule.name == rule.name && here.is_in_force();
    if is_running && rules.resolve_here(settings)?.iter().any(is_it) {
        let what = format!(
            "the running {} holds rule {}, and would place the tried processes",
            suggestion::mention(&suggested_command::keep_run()),
            rule.name
        );
        return Err(Failure::unavailable(what).next(format!(
            "Disable it meanwhile: {}",
            suggestion::typed(&suggested_command::keep_disable(&rule.name))
        )));
    }
    let before = latest(settings)?.map(|(number, _)| number);
    let mut words = ["try", "--again", &evidence.experiment.to_string(), "--on", &on].map(str::to_owned).to_vec();
    // The processes may have been restarted since: the experiment takes the processes that the rule matches now.
    if is_of_slots(evidence.experiment, settings) {
        words.extend(rule.matches.texts().into_iter().flat_map(|text| ["--match".to_owned(), text]));
    }
    if let Some(budget) = typed.budget {
        words.extend(["--budget".to_owned(), format!("{}ms", budget.as_millis())]);
    }
    let itself = Itself::new(settings)?;
    let (exit, _) = itself.run(&words, &BTreeMap::new())?;
    let made = latest(settings)?.filter(|(number, _)| Some(*number) != before);
    // The command has printed the reason itself.
    let Some((experiment, made)) = made else {
        return Ok(match exit {
            Some(code) if code == Exit::Usage as i32 => Exit::Usage,
            _ if itself.is_interrupted() => Exit::Interrupted,
            _ => Exit::Unavailable,
        });
    };
    judged(&rule, experiment, &made, rules, settings)?;
    Ok(match exit {
        Some(0) => Exit::Done,
        _ if itself.is_interrupted() => Exit::Interrupted,
        _ => Exit::Undecided,
    })
}

/// Returns true if an experiment placed running processes, slot by slot.
fn is_of_slots(number: i64, settings: &Settings) -> bool {
    let stored = existing(settings, &suggested_command::try_command()).ok();
    let made = stored.and_then(|store| store.get::<Conducted>(number).ok());
    made.is_some_and(|made| made.experiment.workload.live.is_some())
}

fn latest(settings: &Settings) -> Result<Option<(i64, Conducted)>, Failure> {
    let store = existing(settings, &suggested_command::try_command())?;
    store.latest(&this_machine()?.fingerprint(), |_| true).map_err(broken)
}

/// Stores and prints the result of the experiment for the rule.
fn judged(
    rule: &Rule,
    experiment: i64,
    made: &Conducted,
    rules: &RuleFiles,
    settings: &Settings,
) -> Result<(), Failure> {
    let (fate, evidence) = match made.conclude().standing.verdict {
        Verdict::Wins { .. } => (Fate::Renewed, Evidence::of_winner(experiment, made).map(|(_, evidence)| evidence)),
        Verdict::NoMaterialDifference | Verdict::RealButBelowMargin { .. } => (Fate::Withdrawn, None),
        Verdict::Undecided { .. } | Verdict::Unsound { .. } => (Fate::Unchanged, rule.evidence.clone()),
    };
    let disabled = fate == Fate::Withdrawn && rule.unproven == Unproven::Release;
    if fate != Fate::Unchanged {
        rules.edit(&rule.name, |text| {
            let text = set_evidence(text, &rule.name, evidence.as_ref())?;
            if disabled { set_disabled(&text, &rule.name, true) } else { Ok(text) }
        })?;
    }
    let reloaded = fate != Fate::Unchanged && keeper::reload(settings);
    let schema = "corewise/keep-prove/1";
    let evidence = evidence.as_ref();
    let document = || ProveDocument { schema, rule: &rule.name, experiment, fate, evidence, disabled, reloaded };
    show(settings, document, || screen::proven(&document(), settings.width))
}
