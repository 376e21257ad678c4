//! Earlier measurements that words of the language need, read only if an expression has such a word.

use std::borrow::Cow;

use super::expression::PlacementExpression;
use super::resolve::ResolveContext;
use crate::machine::MemoryCost;
use crate::worth::WorthNow;
use crate::{CpuSet, Machine};

/// Reads what earlier measurements found on a machine. By default nothing is known.
pub trait MachineKnowledge {
    /// Returns the cpus that the latest survey found undisturbed, or `None` without a survey.
    fn quiet_cpus(&self, _machine: &Machine) -> Option<CpuSet> {
        None
    }

    /// Returns what each cpu is worth now, or `None` if that cannot be measured.
    fn worth_now(&self, _machine: &Machine) -> Option<WorthNow> {
        None
    }

    /// Returns the groups that the latest map of links proves, or `None` without a map.
    fn link_groups(&self, _machine: &Machine) -> Option<Vec<CpuSet>> {
        None
    }

    /// Returns the costs of memory in the latest map of memory, or `None` without a map.
    fn memory_costs(&self, _machine: &Machine) -> Option<Vec<MemoryCost>> {
        None
    }
}

/// A machine with the measurements that some expressions need.
#[derive(Clone, Debug)]
pub struct KnownMachine<'a> {
    machine: Cow<'a, Machine>,
    quiet: Option<CpuSet>,
    worth: Option<WorthNow>,
}

impl<'a> KnownMachine<'a> {
    /// Reads each measurement once, if one of the expressions needs it.
    pub fn load_knowledge<'e>(
        machine: &'a Machine,
        expressions: impl IntoIterator<Item = &'e PlacementExpression>,
        knowledge: &dyn MachineKnowledge,
    ) -> Self {
        let expressions: Vec<&PlacementExpression> = expressions.into_iter().collect();
        let is_needed =
            |needs: fn(&PlacementExpression) -> bool| expressions.iter().any(|expression| needs(expression));
        let read_if = |is_needed: bool| is_needed.then_some(machine);
        let quiet =
            read_if(is_needed(PlacementExpression::needs_survey)).and_then(|machine| knowledge.quiet_cpus(machine));
        let worth =
            read_if(is_needed(PlacementExpression::needs_worth)).and_then(|machine| knowledge.worth_now(machine));
        let groups =
            read_if(is_needed(PlacementExpression::needs_groups)).and_then(|machine| knowledge.link_groups(machine));
        let costs = read_if(is_needed(PlacementExpression::needs_memory_costs))
            .and_then(|machine| knowledge.memory_costs(machine));
        let mut machine = Cow::Borrowed(machine);
        groups.into_iter().for_each(|groups| machine.to_mut().groups = groups);
        costs.into_iter().for_each(|costs| machine.to_mut().memory_costs = costs);
        Self { machine, quiet, worth }
    }

    /// Lets expressions use these cpus, whatever mask this process inherited.
    #[must_use]
    pub fn with_allowed_cpus(mut self, cpus: CpuSet) -> Self {
        self.machine.to_mut().allowed = cpus;
        self
    }

    /// Returns the context in which expressions are resolved.
    pub fn resolve_context<'b>(&'b self, reachable: &'b CpuSet) -> ResolveContext<'b> {
        ResolveContext { machine: &self.machine, reachable, quiet: self.quiet.as_ref(), worth: self.worth.as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::placement::parse;
    use crate::placement::sample::bulldozer;

    /// Knows everything, and records what was asked.
    #[derive(Default)]
    struct RecordedKnowledge(RefCell<Vec<&'static str>>);

    impl RecordedKnowledge {
        fn answer<T>(&self, asked: &'static str, answer: T) -> Option<T> {
            self.0.borrow_mut().push(asked);
            Some(answer)
        }
    }

    impl MachineKnowledge for RecordedKnowledge {
        fn quiet_cpus(&self, _: &Machine) -> Option<CpuSet> {
            self.answer("quiet", CpuSet::from_cpu(5))
        }

        fn worth_now(&self, _: &Machine) -> Option<WorthNow> {
            self.answer("worth", WorthNow::default())
        }

        fn link_groups(&self, _: &Machine) -> Option<Vec<CpuSet>> {
            self.answer("groups", vec![CpuSet::from_cpu(6), CpuSet::from_cpu(7)])
        }

        fn memory_costs(&self, _: &Machine) -> Option<Vec<MemoryCost>> {
            self.answer("memory costs", Vec::new())
        }
    }

    fn asked(texts: &[&str]) -> Vec<&'static str> {
        let (machine, knowledge) = (bulldozer(), RecordedKnowledge::default());
        let expressions: Vec<PlacementExpression> = texts.iter().map(|text| parse(text).unwrap()).collect();
        KnownMachine::load_knowledge(&machine, &expressions, &knowledge);
        knowledge.0.into_inner()
    }

    #[test]
    fn only_what_an_expression_needs_is_read_and_each_once() {
        assert_eq!(asked(&["all - 0", "llc:0", "spread(2, core)"]), <[&str; 0]>::default());
        assert_eq!(asked(&["!quiet", "quiet & cluster:0"]), ["quiet"]);
        assert_eq!(asked(&["!(best(2, worth) + 0)"]), ["worth"]);
        assert_eq!(asked(&["pack(2, group)"]), ["groups"]);
        assert_eq!(asked(&["cheap-memory"]), ["memory costs"]);
        assert_eq!(asked(&["0", "group:1", "quiet", "best(1, worth)"]), ["quiet", "worth", "groups"]);
    }

    #[test]
    fn expressions_are_resolved_with_what_was_read() {
        let machine = Machine { allowed: CpuSet::from_cpu(0), ..bulldozer() };
        let expressions = ["quiet", "group:1"].map(|text| parse(text).unwrap());
        let known = KnownMachine::load_knowledge(&machine, &expressions, &RecordedKnowledge::default());
        let known = known.with_allowed_cpus(machine.online.clone());
        let found =
            expressions.map(|on| on.resolve_on(&known.resolve_context(&machine.online)).unwrap().cpus.to_string());
        assert_eq!(found, ["5", "7"]);
    }
}
