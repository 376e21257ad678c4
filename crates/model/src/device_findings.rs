//! Recommended changes for devices: interrupts far from their card, an unusable node, too few queues.

use corewise_machine::device::{NearCpus, cpus_near};
use corewise_machine::facts::{DeviceKind, PciDevice};
use corewise_machine::interrupt::device::{DeviceInterrupt, InterruptMobility};
use corewise_machine::{CpuSet, Machine};

use crate::finding::{Finding, FindingTopic};
use corewise_machine::suggested_command::{self, SuggestedCommand};

/// Returns the interrupts of a device.
pub fn interrupts_of<'a>(device: &PciDevice, all: &'a [DeviceInterrupt]) -> Vec<&'a DeviceInterrupt> {
    let is_its = |interrupt: &&DeviceInterrupt| device.address.is_some() && interrupt.device == device.address;
    all.iter().filter(is_its).collect()
}

/// Returns recommended changes, device by device. A device of unknown location is skipped, except for its queues.
pub fn list_device_findings(machine: &Machine, interrupts: &[DeviceInterrupt]) -> Vec<Finding> {
    let of_device = |device: &PciDevice| {
        let near = cpus_near(device, machine);
        let own = interrupts_of(device, interrupts);
        let found = [
            find_far_interrupts(device, &near, &own, machine),
            find_unusable_device(device, &near, machine),
            find_few_queues(device, machine),
        ];
        found.into_iter().flatten().collect::<Vec<_>>()
    };
    machine.devices.iter().flat_map(of_device).collect()
}

fn build_finding(cpus: CpuSet, statement: String, advice: &str, command: Option<SuggestedCommand>) -> Finding {
    Finding { topic: FindingTopic::Devices, cpus, statement, advice: advice.to_owned(), command, effects: Vec::new() }
}

/// Returns the cpus that an interrupt struck, or else its allowed cpus.
fn goes_to(interrupt: &DeviceInterrupt) -> Option<CpuSet> {
    interrupt.struck_cpus().or_else(|| interrupt.allowed.clone())
}

/// Finds movable interrupts that go to no cpu near the device. Queues spread by the kernel serve every cpu, so some of
/// them are rightly far.
fn find_far_interrupts(
    device: &PciDevice,
    near: &NearCpus,
    interrupts: &[&DeviceInterrupt],
    machine: &Machine,
) -> Option<Finding> {
    if !near.is_known || near.cpus == machine.online {
        return None;
    }
    let is_far = |interrupt: &&&DeviceInterrupt| {
        let goes = goes_to(interrupt).map(|cpus| cpus.intersection(&machine.online));
        interrupt.mobility == InterruptMobility::Movable
            && goes.is_some_and(|cpus| !cpus.is_empty() && cpus.is_disjoint(&near.cpus))
    };
    let far: Vec<&&DeviceInterrupt> = interrupts.iter().filter(is_far).collect();
    let cpus = far.iter().filter_map(|interrupt| goes_to(interrupt)).fold(CpuSet::new(), |all, cpus| all.union(&cpus));
    if far.is_empty() {
        return None;
    }
    let (name, noun) = (device.title(), if cpus.len() == 1 { "cpu" } else { "cpus" });
    let (of, go) = match (far.len(), interrupts.len()) {
        (1, 1) => ("The interrupt".to_owned(), "goes"),
        (1, all) => (format!("1 of {all} interrupts"), "goes"),
        (some, all) => (format!("{some} of {all} interrupts"), "go"),
    };
    let statement = format!("{of} of {name} {go} to {noun} {cpus}, away from it (near: {}).", near.cpus);
    let command = in_shell(device).map(|name| suggested_command::irq_see_near(&name));
    Some(build_finding(cpus, statement, "To see what moving them near it would change:", command))
}

/// Finds a device near which this process may not run.
fn find_unusable_device(device: &PciDevice, near: &NearCpus, machine: &Machine) -> Option<Finding> {
    if !near.is_known || !near.cpus.is_disjoint(&machine.allowed) {
        return None;
    }
    let (name, cpus) = (device.title(), &near.cpus);
    let statement = format!(
        "No cpu near {name} ({cpus}) may be used here: every access to it crosses nodes. Allowed: {}.",
        machine.allowed
    );
    let advice = "Allow one of them in the cpuset (cpuset.cpus, AllowedCPUs=) or the affinity mask, or use a device of an allowed node.";
    Some(build_finding(cpus.clone(), statement, advice, None))
}

/// Finds a device with fewer queues than there are last-level caches with allowed cpus.
fn find_few_queues(device: &PciDevice, machine: &Machine) -> Option<Finding> {
    let queues = device.queues.filter(|queues| *queues > 0)? as usize;
    let llcs = machine.llcs.iter().filter(|llc| !llc.cpus.is_disjoint(&machine.allowed)).count();
    if queues >= llcs {
        return None;
    }
    let name = device.title();
    let noun = if queues == 1 { "queue" } else { "queues" };
    let statement = format!(
        "{name} has {queues} {noun} for cpus of {llcs} last-level caches, so cpus that share no cache share a queue."
    );
    let is_network = device.kind == DeviceKind::Network;
    let command = in_shell(device).filter(|_| is_network).map(|name| suggested_command::ethtool_queues(&name));
    let advice = match device.kind {
        DeviceKind::Network => {
            "If the card has more, raise them (`ethtool -L`, combined); a guest gets them from its host. To see:"
        }
        _ => "Give it more queues if its driver's parameters, or a guest's host, allow that.",
    };
    Some(build_finding(machine.allowed.clone(), statement, advice, command))
}

/// Returns the device's name if a shell takes it literally: a network interface may have almost any name.
fn in_shell(device: &PciDevice) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '@' | '-');
    Some(device.title()).filter(|title| title.chars().all(is_plain) && !title.starts_with('-'))
}

#[cfg(test)]
mod tests;
