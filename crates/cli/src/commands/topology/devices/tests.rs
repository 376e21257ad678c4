//! Screens of devices: good reports, contradicting ones and none; findings; narrow terminals.

use corewise_machine::Machine;
use corewise_machine::facts::{DeviceKind, PciDevice, PcieLink};
use corewise_machine::interrupt::device::{CpuCount, DeviceInterrupt, InterruptMobility};
use corewise_model::device_findings::list_device_findings;
use insta::assert_snapshot;

use super::document::PlacedDevice;
use super::screen::{draw_row, draw_screen};
use crate::draw::fixtures::fabricated::{list, ryzen_9950x3d};
use crate::draw::fixtures::hostile;

fn device(kind: DeviceKind, names: &[&str], address: &str) -> PciDevice {
    PciDevice {
        kind,
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        address: Some(address.to_owned()),
        driver: None,
        node: None,
        local_cpus: None,
        link: None,
        queues: None,
    }
}

fn interrupt(number: u32, name: &str, address: &str, effective: &str) -> DeviceInterrupt {
    DeviceInterrupt {
        number,
        handlers: vec![name.to_owned()],
        driver: None,
        device: Some(address.to_owned()),
        chip: None,
        hardware_number: None,
        trigger: None,
        allowed: Some(list("0-31")),
        effective: Some(list(effective)),
        hint: None,
        node: None,
        wakes: None,
        mobility: InterruptMobility::Movable,
        counts: Vec::new(),
    }
}

fn machine(devices: Vec<PciDevice>) -> Machine {
    let machine = ryzen_9950x3d();
    let nodes = machine.llcs.iter().zip(0..).map(|(llc, number)| corewise_machine::machine::NumaNode {
        number,
        cpus: llc.cpus.clone(),
        ..Default::default()
    });
    let nodes = nodes.collect();
    Machine { nodes, devices, ..machine }
}

fn interrupts() -> [DeviceInterrupt; 3] {
    [
        interrupt(40, "eth0-rx-0", "0000:41:00.0", "0"),
        interrupt(41, "eth0-rx-1", "0000:41:00.0", "9"),
        interrupt(50, "nvme0q1", "0000:03:00.0", "1"),
    ]
}

fn shown(devices: Vec<PciDevice>, width: usize) -> String {
    let (machine, interrupts) = (machine(devices), interrupts());
    let placed: Vec<_> =
        machine.devices.iter().map(|device| PlacedDevice::new(device, &machine, &interrupts)).collect();
    draw_screen(&machine, &placed, &list_device_findings(&machine, &interrupts), width).to_plain()
}

fn all() -> Vec<PciDevice> {
    let link = PcieLink { speed_gt_s: Some(8.0), lanes: Some(4), most_speed_gt_s: Some(16.0), most_lanes: Some(4) };
    let asleep = PcieLink { most_speed_gt_s: Some(2.5), most_lanes: Some(1), ..PcieLink::default() };
    vec![
        PciDevice {
            node: Some(1),
            driver: Some("ixgbe".into()),
            queues: Some(1),
            link: Some(link),
            ..device(DeviceKind::Network, &["eth0"], "0000:41:00.0")
        },
        PciDevice {
            node: Some(0),
            queues: Some(32),
            driver: Some("nvme".into()),
            link: Some(asleep),
            ..device(DeviceKind::Storage, &["nvme0", "nvme0n1"], "0000:03:00.0")
        },
        PciDevice {
            node: Some(1),
            local_cpus: Some(list("0-31")),
            ..device(DeviceKind::InfiniBand, &["mlx5_0"], "0000:42:00.0")
        },
        device(DeviceKind::Gpu, &["card0"], "0000:81:00.0"),
        device(DeviceKind::Accelerator, &[], "0000:82:00.0"),
    ]
}

#[test]
fn devices_are_listed_by_the_cpus_near_them() {
    assert_snapshot!(shown(all(), 110), @r"
    AMD Ryzen 9 9950X3D · 16 cores, 32 cpus · Linux 6.18.2

    Devices, by the cpus near them
      near                 device            kind         address       driver  link          queues  irqs  now on
      node:0 (0-7,16-23)   nvme0, nvme0n1    storage      0000:03:00.0  nvme    2.5 GT/s x1       32     1  1
      node:1 (8-15,24-31)  eth0              network      0000:41:00.0  ixgbe   8/16 GT/s x4       1     2  0,9
                           mlx5_0            InfiniBand   0000:42:00.0  –                          –     –  –
      unknown              card0             GPU          0000:81:00.0  –                          –     –  –
                           pci:0000:82:00.0  accelerator  0000:82:00.0  –                          –     –  –

     ?  mlx5_0: the reports contradict each other: node 1 (cpus 8-15,24-31), but local cpus 0-31; the node is used
     ?  card0, pci:0000:82:00.0: no node is reported for it (numa_node is -1 or absent), and all cpus as local;
        its firmware may not say

    Worth changing
     1  1 of 2 interrupts of eth0 goes to cpu 0, away from it (near: 8-15,24-31).
        To see what moving them near it would change:  corewise irq --near eth0 --dry-run
     2  eth0 has 1 queue for cpus of 2 last-level caches, so cpus that share no cache share a queue.
        If the card has more, raise them (`ethtool -L`, combined); a guest gets them from its host. To see:
            ethtool -l eth0

    Next, to measure whether near matters to a program:  corewise try --near eth0 -- ./app
    ");
}

#[test]
fn a_narrow_terminal_keeps_where_they_are() {
    assert_snapshot!(shown(all(), 50), @r"
    AMD Ryzen 9 9950X3D · 16 cores, 32 cpus ·
      Linux 6.18.2

    Devices, by the cpus near them
      near                 device            now on
      node:0 (0-7,16-23)   nvme0, nvme0n1    1
      node:1 (8-15,24-31)  eth0              0,9
                           mlx5_0            –
      unknown              card0             –
                           pci:0000:82:00.0  –
      Hidden at this width: kind, address, driver,
        link, queues, irqs

     ?  mlx5_0: the reports contradict each other:
        node 1 (cpus 8-15,24-31), but local cpus 0-31;
        the node is used
     ?  card0, pci:0000:82:00.0: no node is reported
        for it (numa_node is -1 or absent), and all
        cpus as local; its firmware may not say

    Worth changing
     1  1 of 2 interrupts of eth0 goes to cpu 0, away
        from it (near: 8-15,24-31).
        To see what moving them near it would change:
            corewise irq --near eth0 --dry-run
     2  eth0 has 1 queue for cpus of 2 last-level
        caches, so cpus that share no cache share a
        queue.
        If the card has more, raise them (`ethtool
        -L`, combined); a guest gets them from its
        host. To see:
            ethtool -l eth0

    Next, to measure whether near matters to a
      program:  corewise try --near eth0 -- ./app
    ");
}

#[test]
fn no_name_steers_the_terminal_or_takes_the_screen() {
    for machine in hostile::copies(&machine(all())) {
        let interrupts = interrupts();
        let findings = list_device_findings(&machine, &interrupts);
        let placed: Vec<_> =
            machine.devices.iter().map(|device| PlacedDevice::new(device, &machine, &interrupts)).collect();
        for width in [20, 80, 140] {
            hostile::check_screen(&draw_screen(&machine, &placed, &findings, width), width);
        }
        hostile::check_json(&super::document::DevicesDocument::new(&machine, &placed, &findings));
    }
}

#[test]
fn interrupts_that_never_came_do_not_say_where_those_of_a_device_go() {
    let with = |number, effective: &str, since_boot| DeviceInterrupt {
        effective: Some(list(effective)),
        counts: vec![CpuCount { cpu: list(effective).lowest().unwrap(), since_boot, per_second: None }],
        ..interrupt(number, "virtio0", "0000:00:01.0", "0-15")
    };
    let disk = device(DeviceKind::Storage, &["vda"], "0000:00:01.0");
    let machine = machine(vec![disk]);
    let shown = |interrupts: &[DeviceInterrupt]| {
        let placed = PlacedDevice::new(&machine.devices[0], &machine, interrupts);
        draw_row(String::new(), &placed).pop().unwrap().to_plain()
    };
    assert_eq!(shown(&[with(30, "4", 0), with(31, "15", 1129)]), "15");
    assert_eq!(shown(&[with(30, "4", 0), with(31, "15", 0)]), "4,15", "none came yet: where they would go");
}
