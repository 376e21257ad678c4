//! Devices of an hwloc XML export: the objects PCIDev, and the names below them (OSDev).

use corewise_machine::CpuSet;
use corewise_machine::facts::{DeviceKind, PciDevice};
use roxmltree::Node;

use super::{DEEPEST, child_objects, parse_bitmap};

const MOST_DEVICES: usize = 8_192;
const MOST_NAMES: usize = 64;

/// Returns the devices of an export; none if it was made without I/O devices. A device is below the object that it is near to.
pub fn read_devices(topology: Node) -> Vec<PciDevice> {
    let mut found = Vec::new();
    let machines: Vec<Node> = child_objects(topology).collect();
    machines.into_iter().for_each(|machine| collect_devices(machine, &DeviceSurroundings::default(), &mut found, 0));
    found
}

/// The cpus and nodes of the innermost object around a device that has any.
#[derive(Clone, Default)]
struct DeviceSurroundings {
    cpus: Option<CpuSet>,
    nodes: Option<CpuSet>,
}

fn collect_devices(object: Node, outer: &DeviceSurroundings, found: &mut Vec<PciDevice>, depth: usize) {
    if depth > DEEPEST || found.len() >= MOST_DEVICES {
        return;
    }
    let own = |attribute, outer: &Option<CpuSet>| parse_bitmap(object, attribute).or_else(|| outer.clone());
    let place = DeviceSurroundings { cpus: own("cpuset", &outer.cpus), nodes: own("nodeset", &outer.nodes) };
    if object.attribute("type") == Some("PCIDev") {
        found.extend(read_device(object, &place));
    }
    child_objects(object).for_each(|inner| collect_devices(inner, &place, found, depth + 1));
}

fn read_device(object: Node, place: &DeviceSurroundings) -> Option<PciDevice> {
    let class = u32::from_str_radix(object.attribute("pci_type")?.get(..4)?, 16).ok()?;
    let inside = object.descendants().filter(|node| node.attribute("type") == Some("OSDev"));
    let mut names: Vec<String> = inside.filter_map(|node| Some(node.attribute("name")?.to_owned())).collect();
    names.truncate(MOST_NAMES);
    // Several nodes mean that hwloc did not know which.
    let node = place.nodes.as_ref().filter(|nodes| nodes.len() == 1).and_then(CpuSet::lowest);
    Some(PciDevice {
        kind: device_kind(class, &names)?,
        names,
        address: Some(object.attribute("pci_busid")?.to_owned()),
        driver: None,
        node,
        local_cpus: place.cpus.clone(),
        link: None,
        queues: None,
    })
}

/// Returns the kind of a device, by its class code and its names: the exporting system's drivers may use other names.
fn device_kind(class: u32, names: &[String]) -> Option<DeviceKind> {
    let has = |beginnings: &[&str]| names.iter().any(|name| beginnings.iter().any(|begin| name.starts_with(begin)));
    match class >> 8 {
        _ if matches!(class, 0x0207 | 0x0c06) => Some(DeviceKind::InfiniBand),
        0x02 => Some(DeviceKind::Network),
        0x01 => Some(DeviceKind::Storage),
        0x03 if has(&["cuda", "nvml", "rsmi", "opencl", "renderD", "ze"]) || class == 0x0302 => Some(DeviceKind::Gpu),
        0x03 => Some(DeviceKind::Display),
        0x12 if has(&["card", "renderD", "rsmi", "cuda"]) => Some(DeviceKind::Gpu),
        0x12 => Some(DeviceKind::Accelerator),
        _ if class == 0x0b40 || has(&["dsa", "iax"]) => Some(DeviceKind::Accelerator),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::read_facts;
    use super::*;

    /// Two nodes of two cpus; a card behind a bridge below the second, and one that hangs at the machine. As lstopo writes it, cut.
    const EXPORT: &str = r#"<topology version="2.0">
      <object type="Machine" cpuset="0xf" complete_cpuset="0xf" allowed_cpuset="0xf" nodeset="0x3">
        <object type="Package" cpuset="0x3" nodeset="0x1"><object type="NUMANode" os_index="0" cpuset="0x3" nodeset="0x1"/>
          <object type="PU" os_index="0" cpuset="0x1"/><object type="PU" os_index="1" cpuset="0x2"/></object>
        <object type="Package" cpuset="0xc" nodeset="0x2"><object type="NUMANode" os_index="1" cpuset="0xc" nodeset="0x2"/>
          <object type="PU" os_index="2" cpuset="0x4"/><object type="PU" os_index="3" cpuset="0x8"/>
          <object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[40-42]">
            <object type="Bridge" bridge_type="1-1" depth="1" pci_busid="0000:40:01.0" pci_type="0604 [8086:2f02] [0000:0000] 01">
              <object type="PCIDev" pci_busid="0000:41:00.0" pci_type="0200 [8086:1572] [8086:0000] 01" pci_link_speed="7.876923">
                <object type="OSDev" name="eth0" osdev_type="2"><info name="Address" value="00:11:22:33:44:55"/></object>
                <object type="OSDev" name="mlx5_0" osdev_type="3"/></object></object>
            <object type="PCIDev" pci_busid="0000:42:00.0" pci_type="0880 [8086:2f10] [8086:2f10] 02"/></object></object>
        <object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[00-00]">
          <object type="PCIDev" pci_busid="0000:00:02.0" pci_type="0300 [1a03:2000] [1a03:2000] 30">
            <object type="OSDev" name="card0" osdev_type="1"/></object></object>
      </object></topology>"#;

    #[test]
    fn devices_are_at_the_object_around_their_bridges() {
        let machine = corewise_machine::assemble::assemble_machine(read_facts(EXPORT).unwrap());
        let told: Vec<_> = machine
            .devices
            .iter()
            .map(|device| {
                (device.names.join(" "), device.kind, device.node, device.local_cpus.as_ref().map(CpuSet::to_string))
            })
            .collect();
        assert_eq!(
            told,
            [
                ("card0".into(), DeviceKind::Display, None, Some("0-3".into())),
                ("eth0 mlx5_0".into(), DeviceKind::Network, Some(1), Some("2,3".into())),
            ]
        );
        let near = corewise_machine::device::cpus_near(&machine.devices[1], &machine);
        assert_eq!((near.cpus.to_string(), near.doubt), ("2,3".into(), None));
    }

    #[test]
    fn no_class_makes_the_reader_panic() {
        for class in ["", "é200", "02", "02é0", "zzzz [", "ffff"] {
            let _ = read_facts(&EXPORT.replace("0200 [8086:1572]", class)).unwrap();
        }
    }
}
