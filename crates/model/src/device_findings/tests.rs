//! Findings about devices: interrupts far from their card, a node that may not be used, too few queues.

use corewise_machine::assemble::assemble_machine;
use corewise_machine::facts::{CpuFacts, DeviceKind, MachineFacts, NodeFacts, PciDevice};
use corewise_machine::interrupt::device::{DeviceInterrupt, InterruptMobility};
use corewise_machine::{CpuSet, Machine};

use super::list_device_findings;

fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

fn card(name: &str) -> PciDevice {
    PciDevice {
        kind: DeviceKind::Network,
        names: vec![name.to_owned()],
        address: None,
        driver: None,
        node: None,
        local_cpus: None,
        link: None,
        queues: None,
    }
}

/// Returns a machine of three nodes of four cpus each.
fn machine(devices: Vec<PciDevice>) -> Machine {
    let node = |number: u32| NodeFacts { number, cpus: (number * 4..number * 4 + 4).collect(), ..NodeFacts::default() };
    let cpu = |number| CpuFacts { number, package: Some(i64::from(number / 4)), ..CpuFacts::default() };
    assemble_machine(MachineFacts {
        cpus: (0..12).map(cpu).collect(),
        nodes: (0..3).map(node).collect(),
        devices,
        ..MachineFacts::default()
    })
}

fn found(device: PciDevice, interrupts: &[DeviceInterrupt], change: impl Fn(&mut Machine)) -> Vec<String> {
    let mut machine = machine(vec![PciDevice { address: Some("0000:01:00.0".into()), ..device }]);
    change(&mut machine);
    list_device_findings(&machine, interrupts)
        .into_iter()
        .map(|found| format!("{} {}", found.statement, found.command.map(String::from).unwrap_or_default()))
        .collect()
}

fn of_card(number: u32, effective: &str) -> DeviceInterrupt {
    DeviceInterrupt {
        number,
        handlers: vec![format!("eth0-{number}")],
        driver: None,
        device: Some("0000:01:00.0".to_owned()),
        chip: None,
        hardware_number: None,
        trigger: None,
        allowed: Some(set("0-11")),
        effective: Some(set(effective)),
        hint: None,
        node: None,
        wakes: None,
        mobility: InterruptMobility::Movable,
        counts: Vec::new(),
    }
}

#[test]
fn interrupts_that_go_away_from_their_card_are_found() {
    let at_1 = || PciDevice { node: Some(1), ..card("eth0") };
    let found_of = |interrupts: &[DeviceInterrupt]| found(at_1(), interrupts, |_| ());
    assert_eq!(
        found_of(&[of_card(40, "0"), of_card(41, "9"), of_card(42, "5")]),
        ["2 of 3 interrupts of eth0 go to cpus 0,9, away from it (near: 4-7). corewise irq --near eth0 --dry-run"]
    );
    assert!(found_of(&[of_card(40, "0")])[0].starts_with("The interrupt of eth0 goes to cpu 0, "));
    assert_eq!(found_of(&[of_card(40, "4"), of_card(41, "4-8")]), [""; 0]);
    let managed = DeviceInterrupt { mobility: InterruptMobility::Managed, ..of_card(40, "0") };
    let other = DeviceInterrupt { device: None, ..of_card(41, "0") };
    assert_eq!(found_of(&[managed, other]), [""; 0], "managed queues serve every cpu");
    assert_eq!(found(card("eth0"), &[of_card(40, "0")], |_| ()), [""; 0], "nobody knows where it is");
}

#[test]
fn a_card_near_which_nothing_may_run_is_found() {
    let told = found(PciDevice { node: Some(1), ..card("eth0") }, &[], |machine| machine.allowed = set("0-3"));
    assert!(told[0].starts_with("No cpu near eth0 (4-7) may be used here"), "{told:?}");
    let some = found(PciDevice { node: Some(1), ..card("eth0") }, &[], |machine| machine.allowed = set("0-4"));
    assert_eq!(some, [""; 0]);
}

#[test]
fn fewer_queues_than_caches_are_found() {
    let with = |queues: u32, allowed: &'static str| {
        found(PciDevice { queues: Some(queues), ..card("eth0") }, &[], move |machine| machine.allowed = set(allowed))
    };
    assert_eq!(
        with(2, "0-11"),
        [
            "eth0 has 2 queues for cpus of 3 last-level caches, so cpus that share no cache share a queue. ethtool -l eth0"
        ]
    );
    assert_eq!((with(3, "0-11").len(), with(1, "0-3").len(), with(0, "0-11").len()), (0, 0, 0));
}
