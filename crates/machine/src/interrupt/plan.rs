//! Plans to keep interrupts away from some cpus.

use serde::{Deserialize, Serialize};

use super::device::{DeviceInterrupt, InterruptMobility};
use crate::{CpuSet, Machine};

/// Plan to keep interrupts away from some cpus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterruptPlan {
    /// Interrupts to be moved, in order of their numbers.
    pub moves: Vec<InterruptMove>,
    /// Interrupts moved earlier that have not left yet, in order of their numbers; from and to are the same.
    pub waiting: Vec<InterruptMove>,
    /// Interrupts handled there that cannot be moved, in order of their numbers. Per-cpu interrupts are not listed.
    pub staying: Vec<StayingInterrupt>,
}

/// Move of an interrupt to other cpus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct InterruptMove {
    /// The interrupt's number.
    pub number: u32,
    /// Names of its handlers.
    pub name: String,
    /// Cpus that may handle it now.
    pub from: CpuSet,
    /// Cpus that may handle it afterwards; never empty, and at least one is online.
    pub to: CpuSet,
    /// Reason for added cpus, or for losing more than requested; absent if it only loses the requested cpus.
    pub reason: Option<String>,
}

impl InterruptMove {
    pub(super) fn new(interrupt: &DeviceInterrupt, from: &CpuSet, to: CpuSet, reason: Option<String>) -> Self {
        Self { number: interrupt.number, name: interrupt.joined_handlers(), from: from.clone(), to, reason }
    }

    /// Returns true if the interrupt gets other cpus.
    pub fn is_change(&self) -> bool {
        self.from != self.to
    }
}

/// An interrupt that stays where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StayingInterrupt {
    /// The interrupt's number.
    pub number: u32,
    /// Names of its handlers.
    pub name: String,
    /// Cpus that handle it.
    pub cpus: CpuSet,
    /// Reason why it cannot be moved.
    pub mobility: InterruptMobility,
}

impl StayingInterrupt {
    pub(super) fn new(interrupt: &DeviceInterrupt) -> Self {
        Self {
            number: interrupt.number,
            name: interrupt.joined_handlers(),
            cpus: interrupt.handling_cpus().cloned().unwrap_or_default(),
            mobility: interrupt.mobility,
        }
    }
}

/// No online cpu would be left to handle interrupts, except perhaps isolated ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("covers every online cpu{}", if *isolated { " that is not isolated" } else { "" })]
pub struct NoCpuLeft {
    /// True if isolated cpus would be left.
    pub isolated: bool,
}

/// Plans to keep interrupts away from some cpus. Each keeps its other cpus without isolated ones (isolcpus=, nohz_full=), which the kernel
/// might choose as well as any other. It keeps isolated ones only if it has no others. An interrupt without an online cpu left gets the
/// remaining cpus of its device's node, or else all remaining cpus, never isolated ones.
///
/// # Errors
/// [`NoCpuLeft`] if `away` covers every online cpu that is not isolated.
pub fn plan_moves_away(
    interrupts: &[DeviceInterrupt],
    away: &CpuSet,
    machine: &Machine,
) -> Result<InterruptPlan, NoCpuLeft> {
    let places = InterruptPlaces::new(away, machine)?;
    let mut plan = InterruptPlan::default();
    for interrupt in interrupts.iter().filter(|interrupt| interrupt.concerns_cpus(away)) {
        match (interrupt.mobility, &interrupt.allowed) {
            (InterruptMobility::PerCpu, _) => {}
            (InterruptMobility::Movable, Some(allowed)) if allowed.is_disjoint(away) => {
                plan.waiting.push(InterruptMove::new(interrupt, allowed, allowed.clone(), None));
            }
            (InterruptMobility::Movable, Some(allowed)) => plan.moves.push(places.move_interrupt(interrupt, allowed)),
            _ => plan.staying.push(StayingInterrupt::new(interrupt)),
        }
    }
    Ok(plan)
}

/// Cpus to which interrupts may go.
struct InterruptPlaces<'a> {
    away: &'a CpuSet,
    machine: &'a Machine,
    /// Online cpus outside `away`, without isolated ones.
    others: CpuSet,
}

impl<'a> InterruptPlaces<'a> {
    fn new(away: &'a CpuSet, machine: &'a Machine) -> Result<Self, NoCpuLeft> {
        let online = machine.online.difference(away);
        let others = online.difference(&machine.isolated).difference(&machine.nohz_full);
        match others.is_empty() {
            true => Err(NoCpuLeft { isolated: !online.is_empty() }),
            false => Ok(Self { away, machine, others }),
        }
    }

    fn move_interrupt(&self, interrupt: &DeviceInterrupt, allowed: &CpuSet) -> InterruptMove {
        let kept = allowed.difference(self.away);
        let common = kept.difference(&self.machine.isolated).difference(&self.machine.nohz_full);
        let (to, reason) = if !common.is_disjoint(&self.machine.online) {
            let reason = (common != kept).then(|| "isolated cpus are left out".to_owned());
            (common, reason)
        } else if !kept.is_disjoint(&self.machine.online) {
            // If only isolated cpus were allowed, that was meant.
            (kept, None)
        } else {
            self.replacement_cpus(interrupt, &kept)
        };
        InterruptMove::new(interrupt, allowed, to, reason)
    }

    /// Chooses cpus for an interrupt without an online cpu left, with the reason.
    fn replacement_cpus(&self, interrupt: &DeviceInterrupt, kept: &CpuSet) -> (CpuSet, Option<String>) {
        let lost = if kept.is_empty() { "it had no other cpu" } else { "its other cpus are offline" };
        let number = interrupt.node.filter(|_| self.machine.nodes.len() > 1);
        let node = number.and_then(|number| self.machine.nodes.iter().find(|node| node.number == number));
        match node.map(|node| (node.number, node.cpus.intersection(&self.others))) {
            Some((number, cpus)) if !cpus.is_empty() => {
                (cpus, Some(format!("{lost}: it gets those of its device's node {number}")))
            }
            Some((number, _)) => {
                let why = format!("{lost}, and its device's node {number} has none: it gets all remaining cpus");
                (self.others.clone(), Some(why))
            }
            None => (self.others.clone(), Some(format!("{lost}: it gets all remaining cpus"))),
        }
    }
}

/// Interrupts made by hand for the tests.
#[cfg(test)]
pub(crate) mod sample {
    use super::*;

    /// Parses a kernel list.
    pub fn parse_set(list: &str) -> CpuSet {
        CpuSet::parse_list(list).expect("a list in a test is right")
    }

    /// An interrupt that can be moved.
    pub fn movable_interrupt(number: u32, name: &str, allowed: &str, effective: &str) -> DeviceInterrupt {
        DeviceInterrupt {
            number,
            handlers: vec![name.to_owned()],
            driver: None,
            device: None,
            chip: None,
            hardware_number: None,
            trigger: None,
            allowed: Some(parse_set(allowed)),
            effective: Some(parse_set(effective)),
            hint: None,
            node: None,
            wakes: None,
            mobility: InterruptMobility::Movable,
            counts: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sample::{movable_interrupt, parse_set};
    use super::*;
    use crate::machine_file::BUILT_IN;

    /// 64 cpus in four nodes of 16.
    fn threadripper() -> Machine {
        let machine = BUILT_IN.iter().find(|machine| machine.name == "threadripper-2990wx").unwrap();
        machine.read_machine().unwrap().machine
    }

    fn moved(interrupt: DeviceInterrupt, away: &str, machine: &Machine) -> (String, Option<String>) {
        let plan = plan_moves_away(&[interrupt], &parse_set(away), machine).unwrap();
        let [only] = plan.moves.as_slice() else { panic!("{plan:?}") };
        (only.to.to_string(), only.reason.clone())
    }

    fn of_node(number: u32, allowed: &str) -> DeviceInterrupt {
        DeviceInterrupt { node: Some(number), ..movable_interrupt(40, "eth0", allowed, allowed) }
    }

    #[test]
    fn an_interrupt_loses_the_cpus_and_keeps_the_others() {
        let machine = threadripper();
        assert_eq!(moved(movable_interrupt(4, "ttyS0", "0-63", "5"), "0-3,32", &machine), ("4-31,33-63".into(), None));
        assert_eq!(moved(movable_interrupt(4, "ttyS0", "3,9", "9"), "3", &machine), ("9".into(), None));
        // The kernel lists cpus that it could have; they stay.
        assert_eq!(moved(movable_interrupt(4, "ttyS0", "0-127", "5"), "0-62", &machine), ("63-127".into(), None));
    }

    #[test]
    fn one_that_has_none_left_gets_those_of_its_node_first() {
        let mut machine = threadripper();
        let why = |text: &str| Some(text.to_owned());
        let near = moved(of_node(1, "16"), "16-17", &machine);
        assert_eq!(near, ("18-31".into(), why("it had no other cpu: it gets those of its device's node 1")));
        let far = moved(of_node(1, "16"), "16-31", &machine);
        let nor = "it had no other cpu, and its device's node 1 has none: it gets all remaining cpus";
        assert_eq!(far, ("0-15,32-63".into(), why(nor)));
        let nowhere = moved(movable_interrupt(1, "i8042", "2,99", "2"), "2-61", &machine);
        assert_eq!(nowhere, ("0,1,62,63".into(), why("its other cpus are offline: it gets all remaining cpus")));
        machine.nodes.truncate(1);
        assert_eq!(moved(of_node(0, "8"), "8", &machine).1, why("it had no other cpu: it gets all remaining cpus"));
    }

    #[test]
    fn isolated_cpus_get_no_interrupts_but_those_that_are_theirs_alone() {
        let mut machine = threadripper();
        (machine.isolated, machine.nohz_full) = (parse_set("4-62"), parse_set("63"));
        let away = |allowed: &str, cpus: &str| moved(movable_interrupt(1, "i8042", allowed, "0"), cpus, &machine);
        let left_out = Some("isolated cpus are left out".to_owned());
        assert_eq!(away("0-63", "0"), ("1-3".into(), left_out));
        assert_eq!(away("0", "0").0, "1-3", "one that gets other cpus gets none of them");
        assert_eq!(away("0,9", "0"), ("9".into(), None));
        let none =
            plan_moves_away(&[movable_interrupt(1, "i8042", "0-63", "0")], &parse_set("0-3"), &machine).unwrap_err();
        assert_eq!(none.to_string(), "covers every online cpu that is not isolated");
    }

    #[test]
    fn who_cannot_be_moved_is_named_with_the_reason() {
        let managed =
            DeviceInterrupt { mobility: InterruptMobility::Managed, ..movable_interrupt(24, "nvme0q1", "0", "0") };
        let elsewhere = DeviceInterrupt { number: 25, ..movable_interrupt(25, "nvme0q2", "1", "1") };
        let timer = DeviceInterrupt {
            mobility: InterruptMobility::PerCpu,
            ..movable_interrupt(11, "arch_timer", "0-63", "0-63")
        };
        let unread = DeviceInterrupt {
            mobility: InterruptMobility::Unknown,
            allowed: None,
            effective: None,
            ..movable_interrupt(3, "old", "0", "0")
        };
        let plan = plan_moves_away(&[managed, elsewhere, timer, unread], &parse_set("0"), &threadripper()).unwrap();
        let cpus = parse_set("0");
        let staying =
            StayingInterrupt { number: 24, name: "nvme0q1".into(), cpus, mobility: InterruptMobility::Managed };
        assert_eq!(plan, InterruptPlan { staying: vec![staying], ..InterruptPlan::default() });
    }

    #[test]
    fn what_was_sent_away_before_is_not_sent_again() {
        let sent = movable_interrupt(8, "rtc0", "1-3", "0");
        let plan = plan_moves_away(&[sent], &parse_set("0"), &threadripper()).unwrap();
        let [waiting] = plan.waiting.as_slice() else { panic!("{plan:?}") };
        assert_eq!((waiting.number, waiting.is_change(), plan.moves.len()), (8, false, 0));
    }

    #[test]
    fn all_cpus_cannot_be_kept_free() {
        let interrupts = [movable_interrupt(4, "ttyS0", "0-63", "5")];
        assert_eq!(
            plan_moves_away(&interrupts, &parse_set("0-63"), &threadripper()),
            Err(NoCpuLeft { isolated: false })
        );
        assert_eq!(
            plan_moves_away(&interrupts, &parse_set("0-70"), &threadripper()),
            Err(NoCpuLeft { isolated: false })
        );
        assert!(plan_moves_away(&interrupts, &parse_set("0-62"), &threadripper()).is_ok());
    }
}
