//! Plans to give each interrupt of a device a cpu of its own, and to send single interrupts to named cpus.

use super::device::{DeviceInterrupt, InterruptMobility};
use super::near::NoCpuNear;
use super::plan::{InterruptMove, InterruptPlan, StayingInterrupt};
use crate::{CpuSet, Level, Machine};

/// Returns cpus in the order in which they get interrupts: near ones first, then one cpu of each core, then by number. Offline and isolated
/// cpus are left out.
pub fn cpus_in_turn(cpus: &CpuSet, near: &CpuSet, machine: &Machine) -> Vec<u32> {
    let spared = machine.isolated.union(&machine.nohz_full);
    let usable = cpus.intersection(&machine.online).difference(&spared);
    let cores = machine.objects_of(Level::Core);
    let rank = |cpu: u32| cores.iter().find_map(|core| core.iter().position(|other| other == cpu)).unwrap_or_default();
    let mut turn: Vec<u32> = usable.iter().collect();
    turn.sort_by_key(|cpu| (!near.contains(*cpu), rank(*cpu), *cpu));
    turn
}

/// Plans a cpu for each interrupt in turn, and begins again if there are more interrupts than cpus. Interrupts that never occurred come last, as
/// a card's configuration does beside its queues.
///
/// # Errors
/// [`NoCpuNear`] if there is no cpu.
pub fn plan_spread(interrupts: &[&DeviceInterrupt], turn: &[u32]) -> Result<InterruptPlan, NoCpuNear> {
    let mut ordered = interrupts.to_vec();
    ordered.sort_by_key(|interrupt| (interrupt.total_count() == 0, interrupt.number));
    let mut next = turn.iter().cycle();
    let mut plan = InterruptPlan::default();
    for interrupt in ordered {
        if interrupt.mobility == InterruptMobility::Movable {
            plan.send_interrupt(interrupt, CpuSet::from_iter([*next.next().ok_or(NoCpuNear)?]));
        } else {
            plan.leave_interrupt(interrupt);
        }
    }
    plan.sort_by_number();
    Ok(plan)
}

/// Plans to send interrupts to the cpus that are named for each.
pub fn plan_named(wanted: &[(&DeviceInterrupt, CpuSet)]) -> InterruptPlan {
    let mut plan = InterruptPlan::default();
    for (interrupt, cpus) in wanted {
        if interrupt.mobility == InterruptMobility::Movable {
            plan.send_interrupt(interrupt, cpus.clone());
        } else {
            plan.leave_interrupt(interrupt);
        }
    }
    plan.sort_by_number();
    plan
}

impl InterruptPlan {
    /// Adds a move, or a wait for an earlier one; nothing if the interrupt is there.
    fn send_interrupt(&mut self, interrupt: &DeviceInterrupt, to: CpuSet) {
        let is_there = interrupt.handling_cpus().is_none_or(|now| now.is_subset(&to));
        let moved = InterruptMove::new(interrupt, &interrupt.allowed.clone().unwrap_or_default(), to, None);
        match (moved.is_change(), is_there) {
            (true, _) => self.moves.push(moved),
            (false, false) => self.waiting.push(moved),
            (false, true) => {}
        }
    }

    /// Adds an interrupt that cannot be moved. Interrupts of each cpu are none of a device's.
    fn leave_interrupt(&mut self, interrupt: &DeviceInterrupt) {
        if interrupt.mobility != InterruptMobility::PerCpu {
            self.staying.push(StayingInterrupt::new(interrupt));
        }
    }

    fn sort_by_number(&mut self) {
        self.moves.sort_by_key(|moved| moved.number);
        self.waiting.sort_by_key(|moved| moved.number);
        self.staying.sort_by_key(|staying| staying.number);
    }
}

#[cfg(test)]
mod tests {
    use super::super::device::CpuCount;
    use super::super::plan::sample::{movable_interrupt, parse_set};
    use super::*;
    use crate::machine_file::BUILT_IN;

    /// 16 cpus in two nodes, two threads a core: n and n+8.
    fn machine() -> Machine {
        let machine = BUILT_IN.iter().find(|machine| machine.name == "simulated-2-packages").unwrap();
        machine.read_machine().unwrap().machine
    }

    fn queue(number: u32, since_boot: u64) -> DeviceInterrupt {
        let counts = vec![CpuCount { cpu: 0, since_boot, per_second: None }];
        DeviceInterrupt { counts, ..movable_interrupt(number, "eth0", "0-15", "0") }
    }

    fn planned(interrupts: &[DeviceInterrupt], turn: &[u32]) -> Vec<String> {
        let plan = plan_spread(&interrupts.iter().collect::<Vec<_>>(), turn).unwrap();
        let moves = plan.moves.iter().map(|step| format!("{} to {}", step.number, step.to));
        moves.chain(plan.staying.iter().map(|one| format!("{} stays", one.number))).collect()
    }

    #[test]
    fn near_cores_come_first_then_their_second_threads_then_the_others() {
        let mut machine = machine();
        let turn = cpus_in_turn(&parse_set("0-15"), &parse_set("4-7,12-15"), &machine);
        assert_eq!(turn, [4, 5, 6, 7, 12, 13, 14, 15, 0, 1, 2, 3, 8, 9, 10, 11]);
        machine.isolated = parse_set("4,5");
        machine.nohz_full = parse_set("6");
        assert_eq!(cpus_in_turn(&parse_set("4-7,12"), &parse_set("4-7"), &machine), [7, 12]);
    }

    #[test]
    fn each_queue_gets_a_cpu_and_what_never_occurs_comes_last() {
        let queues: Vec<DeviceInterrupt> =
            [(40, 0), (41, 7), (42, 9)].map(|(number, count)| queue(number, count)).into();
        assert_eq!(planned(&queues, &[4, 5, 6]), ["40 to 6", "41 to 4", "42 to 5"]);
        assert_eq!(planned(&queues, &[4, 5]), ["40 to 4", "41 to 4", "42 to 5"]);
        assert!(plan_spread(&queues.iter().collect::<Vec<_>>(), &[]).is_err());
        let managed = DeviceInterrupt { mobility: InterruptMobility::Managed, ..queue(43, 1) };
        let there = DeviceInterrupt { effective: Some(parse_set("4")), allowed: Some(parse_set("4")), ..queue(44, 1) };
        assert_eq!(planned(&[managed, there], &[4]), ["43 stays"]);
    }

    #[test]
    fn an_interrupt_goes_where_it_is_told() {
        let (one, sent) = (queue(40, 1), DeviceInterrupt { allowed: Some(parse_set("3")), ..queue(41, 1) });
        let plan = plan_named(&[(&sent, parse_set("3")), (&one, parse_set("2-3"))]);
        assert_eq!((plan.moves.len(), plan.moves[0].to.to_string(), plan.waiting[0].number), (1, "2,3".to_owned(), 41));
    }
}
