//! Plans to move a device's interrupts to cpus near it.

use super::away::{Move, Plan, Staying};
use super::device::{DeviceInterrupt, Mobility};
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
pub fn plan(interrupts: &[&DeviceInterrupt], near: &CpuSet, machine: &Machine) -> Result<Plan, NoCpuNear> {
    let target = near.intersection(&machine.online).difference(&machine.isolated).difference(&machine.nohz_full);
    if target.is_empty() {
        return Err(NoCpuNear);
    }
    let mut plan = Plan::default();
    for interrupt in interrupts {
        let is_near = |cpus: &CpuSet| cpus.intersection(&machine.online).is_subset(near);
        match (interrupt.mobility, &interrupt.allowed, interrupt.cpus()) {
            (Mobility::PerCpu, ..) => {}
            (Mobility::Movable, Some(allowed), Some(now)) if is_near(allowed) => {
                if !is_near(now) {
                    plan.waiting.push(step(interrupt, allowed, allowed.clone()));
                }
            }
            (Mobility::Movable, Some(allowed), _) => {
                let kept = allowed.intersection(&target);
                let to = if kept.is_empty() { target.clone() } else { kept };
                plan.moves.push(step(interrupt, allowed, to));
            }
            (_, _, Some(now)) if is_near(now) => {}
            (mobility, _, now) => plan.staying.push(Staying {
                number: interrupt.number,
                name: interrupt.name(),
                cpus: now.cloned().unwrap_or_default(),
                mobility,
            }),
        }
    }
    Ok(plan)
}

fn step(interrupt: &DeviceInterrupt, from: &CpuSet, to: CpuSet) -> Move {
    Move { number: interrupt.number, name: interrupt.name(), from: from.clone(), to, reason: None }
}

#[cfg(test)]
mod tests {
    use super::super::away::sample::{interrupt, set};
    use super::*;
    use crate::machine_file::BUILT_IN;

    /// 16 cpus in two nodes.
    fn machine() -> Machine {
        let machine = BUILT_IN.iter().find(|machine| machine.name == "simulated-2-packages").unwrap();
        machine.read().unwrap().machine
    }

    fn planned(interrupts: &[DeviceInterrupt], near: &str, machine: &Machine) -> Result<Vec<String>, NoCpuNear> {
        let plan = plan(&interrupts.iter().collect::<Vec<_>>(), &set(near), machine)?;
        let moves = plan.moves.iter().map(|step| format!("{} to {}", step.number, step.to));
        let waiting = plan.waiting.iter().map(|step| format!("{} waits", step.number));
        Ok(moves.chain(waiting).chain(plan.staying.iter().map(|one| format!("{} stays", one.number))).collect())
    }

    #[test]
    fn each_keeps_what_it_has_near_or_gets_all() {
        let managed = DeviceInterrupt { mobility: Mobility::Managed, ..interrupt(46, "q", "0", "0") };
        let managed_near = DeviceInterrupt { number: 47, effective: Some(set("4")), ..managed.clone() };
        let of_each = DeviceInterrupt { mobility: Mobility::PerCpu, ..interrupt(48, "arch_timer", "0-15", "0-15") };
        let interrupts = [
            interrupt(40, "far", "0", "0"),
            interrupt(41, "anywhere", "0-15", "0"),
            interrupt(42, "partly", "0,5", "5"),
            interrupt(43, "near", "5", "5"),
            interrupt(44, "was sent", "4-7", "0"),
            interrupt(45, "could have more", "4-7,99", "4"),
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
        machine.isolated = set("4-6");
        let interrupts = [interrupt(40, "far", "0", "0"), interrupt(41, "pinned", "4", "4")];
        assert_eq!(planned(&interrupts, "4-7", &machine).unwrap(), ["40 to 7"]);
        machine.isolated = set("4-7");
        assert_eq!(planned(&interrupts, "4-7", &machine), Err(NoCpuNear));
    }
}
