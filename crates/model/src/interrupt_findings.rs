//! Findings about interrupts, whatever is known of their devices: queues that share a cpu, and interrupts on isolated cpus.

use std::collections::BTreeMap;

use corewise_machine::facts::PciDevice;
use corewise_machine::interrupt::device::{DeviceInterrupt, InterruptMobility};
use corewise_machine::placement::format_list;
use corewise_machine::suggested_command;
use corewise_machine::{CpuSet, Machine};

use crate::finding::{Finding, FindingTopic};

/// Least number of busy interrupts of one device on one cpu that are a finding: two queues may have two interrupts each.
const FEWEST_SHARING: usize = 4;
/// Least share of its device's interrupts from which an interrupt is busy: a card's control interrupt has less.
const LEAST_SHARE: f64 = 0.01;

/// Returns the findings, device by device.
pub fn list_interrupt_findings(machine: &Machine, interrupts: &[DeviceInterrupt]) -> Vec<Finding> {
    let mut groups: BTreeMap<String, Vec<&DeviceInterrupt>> = BTreeMap::new();
    for interrupt in interrupts.iter().filter(|interrupt| interrupt.counted() > 0.0) {
        groups.entry(device_of(interrupt)).or_default().push(interrupt);
    }
    let shared = groups.values().filter_map(|members| find_shared_cpu(machine, members));
    let spared = machine.isolated.union(&machine.nohz_full);
    let isolated = groups.values().filter_map(|members| find_isolated(&spared, members));
    shared.chain(isolated).collect()
}

/// Returns the key of the interrupts of one device: its address, or the name of the first handler up to its numbers.
fn device_of(interrupt: &DeviceInterrupt) -> String {
    interrupt.device.clone().unwrap_or_else(|| stem_of(interrupt))
}

/// Returns the part of a handler's name before the queue: "eth0" of "eth0-TxRx-3", "nvme0" of "nvme0q6".
pub fn stem_of(interrupt: &DeviceInterrupt) -> String {
    let name = interrupt.handlers.first().map_or("", String::as_str);
    let without_number = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let before_queue = without_number.split(['-', ':', '.', '@']).next().unwrap_or_default();
    let stem = before_queue.strip_suffix('q').unwrap_or(before_queue);
    if stem.is_empty() { format!("interrupt {}", interrupt.number) } else { stem.to_owned() }
}

/// Finds busy interrupts of a device that are all handled by one cpu of several.
fn find_shared_cpu(machine: &Machine, members: &[&DeviceInterrupt]) -> Option<Finding> {
    let total: f64 = members.iter().map(|member| member.counted()).sum();
    let busy: Vec<&&DeviceInterrupt> =
        members.iter().filter(|member| member.counted() >= LEAST_SHARE * total).collect();
    let cpus = busy.iter().filter_map(|member| member.struck_cpus()).fold(CpuSet::new(), |all, cpus| all.union(&cpus));
    if busy.len() < FEWEST_SHARING || cpus.len() != 1 || machine.online.len() < 2 {
        return None;
    }
    let (name, count, numbers) = (stem_of(busy[0]), busy.len(), numbers_of(&busy));
    let statement = format!(
        "All {count} busy interrupts of {name} ({numbers}) are handled by cpu {cpus}: its queues share one cpu."
    );
    let advice = "Give each queue a cpu of its own, or start irqbalance. To see what would move:";
    let device = machine.devices.iter().find(|device| device.address.is_some() && device.address == busy[0].device);
    let device = device.map_or(name, PciDevice::title);
    Some(build_finding(cpus, statement, advice, suggested_command::irq_see_spread(&device)))
}

/// Finds interrupts of a device that isolated cpus handle.
fn find_isolated(spared: &CpuSet, members: &[&DeviceInterrupt]) -> Option<Finding> {
    let strikes = |member: &&&DeviceInterrupt| member.struck_cpus().is_some_and(|cpus| !cpus.is_disjoint(spared));
    let there: Vec<&&DeviceInterrupt> = members.iter().filter(strikes).collect();
    let first = there.first()?;
    let struck =
        there.iter().filter_map(|member| member.struck_cpus()).fold(CpuSet::new(), |all, cpus| all.union(&cpus));
    let (name, numbers, cpus) = (stem_of(first), numbers_of(&there), struck.intersection(spared));
    let noun = if cpus.len() == 1 { "cpu" } else { "cpus" };
    let statement = format!("Interrupts of {name} ({numbers}) are handled by the isolated {noun} {cpus}.");
    let is_movable = there.iter().any(|member| member.mobility == InterruptMobility::Movable);
    let advice = match is_movable {
        true => "To see what moving them to other cpus would change:",
        false => {
            "They cannot be moved: the kernel or the driver places them. `isolcpus=managed_irq` keeps managed queues away."
        }
    };
    let command = is_movable.then(|| suggested_command::irq_see_away_from(&cpus.to_string()));
    Some(Finding { command, ..build_finding(cpus, statement, advice, suggested_command::irq()) })
}

/// Formats the numbers of interrupts: "irq 56-63".
fn numbers_of(interrupts: &[&&DeviceInterrupt]) -> String {
    let numbers: Vec<u32> = interrupts.iter().map(|interrupt| interrupt.number).collect();
    format!("irq {}", format_list(&numbers))
}

fn build_finding(
    cpus: CpuSet,
    statement: String,
    advice: &str,
    command: suggested_command::SuggestedCommand,
) -> Finding {
    let (topic, advice, command) = (FindingTopic::Devices, advice.to_owned(), Some(command));
    Finding { topic, cpus, statement, advice, command, effects: Vec::new() }
}

#[cfg(test)]
mod tests {
    use corewise_machine::interrupt::device::CpuCount;

    use super::*;

    fn interrupt(number: u32, handler: &str, counts: &[(u32, u64)]) -> DeviceInterrupt {
        let count = |&(cpu, since_boot): &(u32, u64)| CpuCount { cpu, since_boot, per_second: None };
        DeviceInterrupt {
            number,
            handlers: vec![handler.to_owned()],
            driver: None,
            device: None,
            chip: None,
            hardware_number: None,
            trigger: None,
            allowed: Some(CpuSet::first_cpus(8)),
            effective: None,
            hint: None,
            node: None,
            wakes: None,
            mobility: InterruptMobility::Movable,
            counts: counts.iter().map(count).collect(),
        }
    }

    fn found(isolated: &str, interrupts: &[DeviceInterrupt]) -> Vec<String> {
        let isolated = CpuSet::parse_list(isolated).unwrap();
        let machine = Machine { online: CpuSet::first_cpus(8), isolated, ..Machine::default() };
        let command = |finding: &Finding| finding.command.clone().map(String::from).unwrap_or_default();
        let findings = list_interrupt_findings(&machine, interrupts);
        findings.iter().map(|finding| format!("{} {}", finding.statement, command(finding))).collect()
    }

    fn queues(cpu_of: fn(u32) -> u32) -> Vec<DeviceInterrupt> {
        let queue = |at: u32| interrupt(56 + at, &format!("ens192-rxtx-{at}"), &[(cpu_of(at), 250_000_000)]);
        (0..8).map(queue).chain([interrupt(64, "ens192-event-8", &[(5, 3)])]).collect()
    }

    #[test]
    fn queues_of_one_card_on_one_cpu_are_found() {
        let statement = "All 8 busy interrupts of ens192 (irq 56-63) are handled by cpu 0: its queues share one cpu.";
        assert_eq!(found("", &queues(|_| 0)), [format!("{statement} corewise irq --spread ens192 --dry-run")]);
        assert_eq!(found("", &queues(|at| at % 2)), [""; 0]);
        assert_eq!(found("", &queues(|_| 0)[..3]), [""; 0], "a receiving and a sending interrupt may share a cpu");
    }

    #[test]
    fn interrupts_on_isolated_cpus_are_found() {
        let mut all = vec![
            interrupt(56, "eth0-TxRx-0", &[(3, 900_000)]),
            interrupt(57, "eth0-TxRx-1", &[(4, 800_000)]),
            interrupt(60, "nvme0q6", &[(5, 1200)]),
            interrupt(61, "xhci_hcd", &[(0, 5000)]),
        ];
        all[2].mobility = InterruptMobility::Managed;
        let eth = "Interrupts of eth0 (irq 56,57) are handled by the isolated cpus 3,4. corewise irq --away-from 3,4 --dry-run";
        assert_eq!(found("2-5", &all), [eth, "Interrupts of nvme0 (irq 60) are handled by the isolated cpu 5. "]);
        assert_eq!(found("6-7", &all), [""; 0]);
    }
}
