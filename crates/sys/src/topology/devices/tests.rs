//! Devices of recorded and hand-made machines: what is one, what it is called, how many queues it has, where it is.

use corewise_machine::device::cpus_near;

use super::super::read_machine;
use super::*;
use crate::Root;

/// A machine of two nodes with two cpus each, and these files of devices.
fn machine(files: &[(&str, &str)]) -> corewise_machine::Machine {
    let own = [
        ("sys/devices/system/cpu/online", "0-3"),
        ("sys/devices/system/node/online", "0-2"),
        ("sys/devices/system/node/node0/cpulist", "0-1"),
        ("sys/devices/system/node/node0/distance", "10 20 40"),
        ("sys/devices/system/node/node1/cpulist", "2-3"),
        ("sys/devices/system/node/node1/distance", "20 10 17"),
        ("sys/devices/system/node/node2/cpulist", ""),
        ("sys/devices/system/node/node2/distance", "40 17 10"),
    ];
    let own = own.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned()));
    let devices = files.iter().map(|(path, text)| (format!("{PCI_DEVICES}/{path}"), (*text).to_owned()));
    read_machine(&Root::from_files(own.chain(devices))).unwrap()
}

fn told(files: &[(&str, &str)]) -> Vec<String> {
    let machine = machine(files);
    let of = |device: &PciDevice| {
        let queues = device.queues.map_or_else(String::new, |queues| format!(" x{queues}"));
        let near = cpus_near(device, &machine);
        let doubt = if near.doubt.is_some() { " ?" } else { "" };
        format!("{} {}{queues} at {}{doubt}", device.kind.word(), device.names.join(","), near.cpus)
    };
    machine.devices.iter().map(of).collect()
}

#[test]
fn contradicting_and_missing_reports_are_read_as_they_are() {
    let files = [
        ("0000:01:00.0/class", "0x020000\n"),
        ("0000:01:00.0/numa_node", "1\n"),
        ("0000:01:00.0/local_cpulist", "0-3\n"),
        ("0000:01:00.0/net/eth0/mtu", "1500\n"),
        ("0000:02:00.0/class", "0x020000\n"),
        ("0000:02:00.0/numa_node", "-1\n"),
        ("0000:02:00.0/local_cpulist", "0-3\n"),
        ("0000:02:00.0/net/eth1/mtu", "1500\n"),
        ("0000:03:00.0/class", "0x120000\n"),
        ("0000:03:00.0/numa_node", "2\n"),
        ("0000:03:00.0/local_cpulist", "\n"),
        ("0000:03:00.0/accel/accel0/dev", "1:1\n"),
        ("0000:04:00.0/class", "0x020000\n"),
        ("0000:04:00.0/numa_node", "0\n"),
        ("0000:04:00.0/local_cpus", "3\n"),
    ];
    assert_eq!(
        told(&files),
        ["network eth0 at 2,3 ?", "network eth1 at 0-3 ?", "accelerator accel0 at 2,3", "network  at 0,1"]
    );
}

#[test]
fn names_and_queues_are_found_below_a_device() {
    let files = [
        ("0000:00:03.0/class", "0x020000"),
        ("0000:00:03.0/virtio2/net/eth0/queues/rx-0/x", ""),
        ("0000:00:03.0/virtio2/net/eth0/queues/rx-1/x", ""),
        ("0000:00:03.0/virtio2/net/eth0/queues/tx-0/x", ""),
        ("0000:00:04.0/class", "0xffff00"),
        ("0000:00:04.0/virtio3/block/vda/mq/0/x", ""),
        ("0000:00:05.0/class", "0x010802"),
        ("0000:00:05.0/nvme/nvme1/nvme0c1n1/mq/0/x", ""),
        ("0000:00:05.0/nvme/nvme1/nvme0c1n1/mq/1/x", ""),
        ("0000:00:05.0/nvme/nvme1/ng1n1/x", ""),
        ("0000:00:06.0/class", "0x010601"),
        ("0000:00:06.0/ata1/host0/target0:0:0/0:0:0:0/block/sda/x", ""),
        ("0000:00:07.0/class", "0x020700"),
        ("0000:00:07.0/infiniband/mlx5_0/x", ""),
        ("0000:00:08.0/class", "0x088000"),
        ("0000:00:08.0/dsa0/x", ""),
        ("0000:00:09.0/class", "0x030200"),
        ("0000:00:09.0/vendor", "0x10de"),
        ("0000:00:09.0/drm/card1/x", ""),
        ("0000:00:09.0/drm/renderD128/x", ""),
        ("0000:00:0b.0/class", "0x020000"),
        ("0000:00:0b.0/infiniband/mlx5_1/x", ""),
        ("0000:00:0b.0/net/eth1/x", ""),
        ("0000:00:0a.0/class", "0x030000"),
        ("0000:00:0a.0/vendor", "0x1a03"),
    ];
    let found = told(&files).into_iter().map(|text| text.split(" at ").next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(
        found,
        [
            "network eth0 x2",
            "storage vda x1",
            "storage nvme1,nvme0n1 x2",
            "storage sda",
            "InfiniBand mlx5_0",
            "accelerator dsa0",
            "GPU card1,renderD128",
            "display ",
            "network eth1,mlx5_1",
        ]
    );
}

#[test]
fn what_nobody_waits_for_is_left_out() {
    let classes = ["0x060400", "0x080100", "0x088000", "0x110100", "0x0c0330", "0xffff00", "nonsense", ""];
    for class in classes {
        assert_eq!(told(&[("0000:00:01.0/class", class), ("0000:00:01.0/numa_node", "0")]), [""; 0], "{class}");
    }
}

#[test]
fn the_link_is_read_unless_the_device_sleeps() {
    let link = |files: &[(&str, &str)]| {
        let files: Vec<_> = [("a/class", "0x020000")].into_iter().chain(files.iter().copied()).collect();
        machine(&files).devices[0].link
    };
    let awake = [
        ("a/current_link_speed", "8.0 GT/s PCIe\n"),
        ("a/current_link_width", "4\n"),
        ("a/max_link_speed", "16.0 GT/s PCIe\n"),
        ("a/max_link_width", "255\n"),
    ];
    let found = link(&awake).unwrap();
    assert_eq!(
        (found.speed_gt_s, found.lanes, found.most_speed_gt_s, found.most_lanes),
        (Some(8.0), Some(4), Some(16.0), None)
    );
    let asleep: Vec<_> = awake.into_iter().chain([("a/power/runtime_status", "suspended\n")]).collect();
    assert_eq!(link(&asleep), None);
    assert_eq!(link(&[("a/current_link_speed", "Unknown\n"), ("a/current_link_width", "0\n")]), None);
}

#[test]
fn any_names_are_survived() {
    for name in ["nvme", "nvme0c", "nvmec0", "c", "nvme0n1", "nvme0c12n3", "é0c1n1"] {
        let _ = without_controller(name);
    }
    assert_eq!(without_controller("nvme0c12n3"), "nvme0n3");
    assert!(!leads_on("host") && !leads_on("0:0") && leads_on("12:0:3:0") && !is_engine("dsa") && !is_engine("dsa0x"));
}
