//! Where devices are by contradicting, missing and odd reports; how they are named.

use super::sample::{four_node_machine, network_card, parse_set};
use super::*;
use crate::facts::DeviceKind;

fn at(node: Option<u32>, local: Option<&str>) -> NearCpus {
    cpus_near(
        &PciDevice { node, local_cpus: local.map(parse_set), ..network_card("eth0") },
        &four_node_machine(Vec::new()),
    )
}

#[test]
fn the_node_and_the_local_cpus_agree_or_the_node_is_used_with_a_doubt() {
    let same = at(Some(1), Some("4-7"));
    assert_eq!(
        (same.cpus.to_string(), same.reason.as_str(), same.doubt),
        ("4-7".into(), "node 1, as the system reports", None)
    );
    let closer = at(Some(1), Some("4-5"));
    assert_eq!((closer.cpus.to_string(), closer.doubt), ("4,5".into(), None));
    assert!(closer.reason.contains("a part of node 1"), "{}", closer.reason);
    assert_eq!(at(Some(1), None).cpus.to_string(), "4-7");
    for local in ["0-11", "0-3", "6-9"] {
        let both = at(Some(2), Some(local));
        assert_eq!((both.cpus.to_string(), both.is_known), ("8-11".into(), true));
        assert!(both.doubt.unwrap().contains("node 2 (cpus 8-11), but local cpus"), "{local}");
    }
}

#[test]
fn without_a_node_the_local_cpus_count_unless_they_are_all() {
    assert_eq!(at(None, Some("4-7")).cpus.to_string(), "4-7");
    for local in [None, Some("0-11"), Some("")] {
        let unknown = at(None, local);
        assert_eq!((unknown.cpus.to_string(), unknown.is_known), ("0-11".into(), false));
        assert!(unknown.doubt.unwrap().contains("numa_node is -1"));
    }
    let mut single = four_node_machine(Vec::new());
    single.nodes.truncate(1);
    let only = cpus_near(&network_card("eth0"), &single);
    assert_eq!((only.is_known, only.doubt, only.reason.as_str()), (true, None, "all cpus are of one node"));
}

#[test]
fn a_node_without_cpus_gives_way_to_the_nearest_by_distance() {
    let near_by = at(Some(3), Some(""));
    assert_eq!(near_by.cpus.to_string(), "4-7");
    assert_eq!(near_by.reason, "node 3 has no cpus; node 1 is nearest, at distance 15");
    let mut machine = four_node_machine(Vec::new());
    machine.nodes[3].distances = vec![20, 20, 30, 10];
    let device = PciDevice { node: Some(3), ..network_card("eth0") };
    let two = cpus_near(&device, &machine);
    assert_eq!((two.cpus.to_string(), two.reason.contains("nodes 0,1 are nearest")), ("0-7".into(), true));
    machine.nodes[3].distances.clear();
    let none = cpus_near(&device, &machine);
    assert_eq!((none.is_known, none.doubt.unwrap().contains("no distances")), (false, true));
    let absent = at(Some(9), Some("0-3"));
    assert_eq!((absent.cpus.to_string(), absent.doubt.unwrap().contains("node 9")), ("0-3".into(), true));
}

#[test]
fn devices_have_names_places_and_numbers() {
    let on = |names: &[&str], address: &str, kind| PciDevice {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        address: Some(address.to_owned()),
        kind,
        ..network_card("")
    };
    let machine = four_node_machine(vec![
        on(&["card0"], "0000:02:00.0", DeviceKind::Display),
        on(&["card1"], "0000:41:00.0", DeviceKind::Gpu),
        on(&["card2"], "0001:01:00.0", DeviceKind::Gpu),
        on(&["nvme0", "nvme0n1"], "0000:05:00.0", DeviceKind::Storage),
        on(&["nvme1", "nvme0n1"], "0000:06:00.0", DeviceKind::Storage),
        on(&[], "0000:07:00.0", DeviceKind::Network),
    ]);
    let title = |name: &str| {
        find_device(&machine, name)
            .map(|device| device.title())
            .map_err(|error| format!("{} | {}", error.what, error.hint))
    };
    assert_eq!(title("gpu:0").unwrap(), "card1", "a console's graphics are no GPU");
    assert_eq!(title("gpu:1").unwrap(), "card2");
    assert_eq!(title("pci:0000:07:00.0").unwrap(), "pci:0000:07:00.0");
    assert_eq!((title("pci:05:00.0").unwrap(), title("pci:0001:01:00.0").unwrap()), ("nvme0".into(), "card2".into()));
    assert_eq!(title("nvme1").unwrap(), "nvme1");
    assert_eq!(
        title("nvme0n1").unwrap_err(),
        "several devices have this name | name one of them: pci:0000:05:00.0 or pci:0000:06:00.0, …"
    );
    for name in ["gpu:2", "gpu:x", "pci:", "eth0", "", "CARD1"] {
        let told = title(name).unwrap_err();
        assert!(
            told.starts_with("this machine has no such device | the devices here are card0, nvme0, "),
            "{name}: {told}"
        );
        assert!(told.contains(", pci:0000:07:00.0, "), "{told}");
    }
    let none = find_device(&super::sample::four_node_machine(Vec::new()), "eth0").unwrap_err();
    assert_eq!(none.what, "no devices of this machine are known");
}
