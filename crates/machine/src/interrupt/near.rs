//! Plans to move a device's interrupts to cpus near it.

use super::device::{DeviceInterrupt, InterruptMobility};
use super::plan::{InterruptMove, InterruptPlan, StayingInterrupt};
use crate::{CpuSet, Machine};

/// No interrupt can be moved near a device: none of the near cpus is online, or all are isolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no cpu near it is online and not isolated")]
pub struct NoCpuNear;

/// Plans to handle a device's interrupts on the cpus near it. An interrupt that goes only to near cpus stays as it is, however few they
/// are. Each of the others keeps the near ones of its cpus, or gets all near cpus if it has none. Isolated cpus are never assigned.
///
/// # Errors
/// [`NoCpuNear`] if no near cpu may handle interrupts.
pub fn plan_moves_near(
    interrupts: &[&DeviceInterrupt],
    near: &CpuSet,
    machine: &Machine,
) -> Result<InterruptPlan, NoCpuNear> {
    let target = near.intersection(&machine.online).difference(&machine.isolated).difference(&machine.nohz_full);
    if target.is_empty() {
        return Err(NoCpuNear);
    }
    let mut plan = InterruptPlan::default();
    for interrupt in interrupts {
        let is_near = |cpus: &CpuSet| cpus.intersection(&machine.online).is_subset(near);
        match (interrupt.mobility, &interrupt.allowed, interrupt.handling_cpus()) {
            (InterruptMobility::PerCpu, ..) => {}
            (InterruptMobility::Movable, Some(allowed), Some(now)) if is_near(allowed) => {
                if !is_near(now) {
                    plan.waiting.push(InterruptMove::new(interrupt, allowed, allowed.clone(), None));
                }
            }
            (InterruptMobility::Movable, Some(allowed), _) => {
                let kept = allowed.intersection(&target);
                let to = if kept.is_empty() { target.clone() } else { kept };
                plan.moves.push(InterruptMove::new(interrupt, allowed, to, None));
            }
            (_, _, Some(now)) if is_near(now) => {}
            _ => plan.staying.push(StayingInterrupt::new(interrupt)),
        }
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::super::plan::sample::{movable_interrupt, parse_set};
    use super::*;
    use crate::machine_file::BUILT_IN;

    /// 16 cpus in two nodes.
    fn machine() -> Machine {
        let machine = BUILT_IN.iter().find(|machine| machine.name == "simulated-2-packages").unwrap();
        machine.read_machine().unwrap().machine
    }

    fn planned(interrupts: &[DeviceInterrupt], near: &str, machine: &Machine) -> Result<Vec<String>, NoCpuNear> {
        let plan = plan_moves_near(&interrupts.iter().collect::<Vec<_>>(), &parse_set(near), machine)?;
        let moves = plan.moves.iter().map(|step| format!("{} to {}", step.number, step.to));
        let waiting = plan.waiting.iter().map(|step| format!("{} waits", step.number));
        Ok(moves.chain(waiting).chain(plan.staying.iter().map(|one| format!("{} stays", one.number))).collect())
    }

    #[test]
    fn each_keeps_what_it_has_near_or_gets_all() {
        let managed = DeviceInterrupt { mobility: InterruptMobility::Managed, ..movable_interrupt(46, "q", "0", "0") };
        let managed_near = DeviceInterrupt { number: 47, effective: Some(parse_set("4")), ..managed.clone() };
        let of_each = DeviceInterrupt {
            mobility: InterruptMobility::PerCpu,
            ..movable_interrupt(48, "arch_timer", "0-15", "0-15")
        };
        let interrupts = [
            movable_interrupt(40, "far", "0", "0"),
            movable_interrupt(41, "anywhere", "0-15", "0"),
            movable_interrupt(42, "partly", "0,5", "5"),
            movable_interrupt(43, "near", "5", "5"),
            movable_interrupt(44, "was sent", "4-7", "0"),
            movable_interrupt(45, "could have more", "4-7,99", "4"),
            managed,
            managed_near,
            of_each,
        ];
        let wanted = ["40 to 4-7,12-15", "41 to 4-7,12-15", "42 to 5", "44 waits", "46 stays"];
        assert_eq!(planned(&interrupts, "4-7,12-15", &machine()).unwrap(), wanted);
    }

    #[test]
    fn isolated_cpus_get_none_but_keep_their_own() {
        let mut machine = machine();
        machine.isolated = parse_set("4-6");
        let interrupts = [movable_interrupt(40, "far", "0", "0"), movable_interrupt(41, "pinned", "4", "4")];
        assert_eq!(planned(&interrupts, "4-7", &machine).unwrap(), ["40 to 7"]);
        machine.isolated = parse_set("4-7");
        assert_eq!(planned(&interrupts, "4-7", &machine), Err(NoCpuNear));
    }
}
