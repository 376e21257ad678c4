//! Devices on the PCI bus that programs wait for: network cards, disks, graphics cards, other accelerators.

use std::collections::BTreeSet;

use corewise_machine::facts::{DeviceKind, PciDevice, PcieLink};

use super::nodes::LARGEST_NODE;
use super::reader::ValueReader;
use crate::root::PCI_DEVICES;

/// Maximum number of devices; servers have some hundred functions on the bus, with virtual ones a few thousand.
const MOST_DEVICES: usize = 8_192;
/// Maximum number of names of one device: a controller may have hundreds of disks.
const MOST_NAMES: usize = 64;
/// Maximum depth of names below a device's folder: a disk is behind a port, a host, a target and an address.
const DEEPEST: usize = 5;
/// Folders with entries named as users know them, the best known first.
const NAMING: [&str; 6] = ["net", "infiniband", "nvme", "block", "drm", "accel"];

/// Vendors of management controllers (ASPEED, Matrox), with graphics that show a console, and of emulated graphics.
const CONSOLES: [u32; 7] = [0x1a03, 0x102b, 0x1234, 0x1013, 0x1b36, 0x15ad, 0x1af4];

/// Reads the devices of interest on the bus, each with its location.
///
/// Interfaces: Documentation/ABI/testing/sysfs-bus-pci (`class`, `numa_node`, `local_cpulist`, `max_link_speed`), and the folders of the
/// classes below a device (`net/eth0`, `nvme/nvme0/nvme0n1`, `drm/card0`).
pub fn read_devices(reader: &ValueReader) -> Vec<PciDevice> {
    let addresses = reader.folder_names(PCI_DEVICES);
    addresses.into_iter().take(MOST_DEVICES).filter_map(|address| read_device(reader, address)).collect()
}

fn read_device(reader: &ValueReader, address: String) -> Option<PciDevice> {
    let folder = format!("{PCI_DEVICES}/{address}");
    let file = |name: &str| format!("{folder}/{name}");
    let class = read_hexadecimal(reader, &file("class"))?;
    // Bridges and parts of processors have no names to look for.
    let mut names = DeviceNames::default();
    if !matches!(class >> 16, 0x05 | 0x06 | 0x08 | 0x11) || is_dma_engine(class) {
        names.find_names(reader, &folder, 0);
    }
    let kind = device_kind(class, &names, || read_hexadecimal(reader, &file("vendor")))?;
    let node: Option<i64> = reader.read_number(&file("numa_node"));
    let driver = reader.read_text(&file("uevent"));
    let driver = driver.and_then(|text| Some(text.lines().find_map(|line| line.strip_prefix("DRIVER="))?.to_owned()));
    let queues = names.queue_count(kind);
    Some(PciDevice {
        kind,
        names: names.shown_names(),
        driver,
        // The kernel says -1 if it knows none.
        node: node.and_then(|node| u32::try_from(node).ok()).filter(|node| *node <= LARGEST_NODE),
        local_cpus: reader.read_cpus(&file("local_cpulist")).or_else(|| reader.read_cpus(&file("local_cpus"))),
        link: read_link(reader, &folder),
        queues,
        address: Some(address),
    })
}

/// Returns true for class 0880, which includes Intel's DSA. Other system peripherals of class 08 are timers and the like.
fn is_dma_engine(class: u32) -> bool {
    class >> 8 == 0x0880
}

/// Returns the kind of a device of interest, by its class code (PCI Code and ID Assignment Specification). Virtual functions of some makers
/// have no such class, but a name.
fn device_kind(class: u32, names: &DeviceNames, vendor: impl Fn() -> Option<u32>) -> Option<DeviceKind> {
    let has = |folder: &str| names.folders.contains(folder);
    match (class >> 16, class >> 8) {
        _ if has("net") => Some(DeviceKind::Network),
        (_, 0x0207 | 0x0c06) => Some(DeviceKind::InfiniBand),
        _ if has("infiniband") => Some(DeviceKind::InfiniBand),
        (0x02, _) => Some(DeviceKind::Network),
        (0x01, _) => Some(DeviceKind::Storage),
        (0x03, _) if vendor().is_some_and(|vendor| CONSOLES.contains(&vendor)) => Some(DeviceKind::Display),
        (0x03, _) => Some(DeviceKind::Gpu),
        (0x12, _) if has("drm") => Some(DeviceKind::Gpu),
        (0x12, _) | (_, 0x0b40) => Some(DeviceKind::Accelerator),
        _ if has("nvme") || has("block") => Some(DeviceKind::Storage),
        _ if has("accel") || has(ENGINES) => Some(DeviceKind::Accelerator),
        _ => None,
    }
}

/// Pseudo-folder for the names of Intel's data movers, which have no folder of their own.
const ENGINES: &str = "dsa";

fn read_hexadecimal(reader: &ValueReader, path: &str) -> Option<u32> {
    u32::from_str_radix(reader.read_word(path)?.trim_start_matches("0x"), 16).ok()
}

/// Reads the connection, except of a suspended device, since newer kernels wake it up for this.
fn read_link(reader: &ValueReader, folder: &str) -> Option<PcieLink> {
    let word = |name: &str| reader.read_word(&format!("{folder}/{name}"));
    if word("power/runtime_status").as_deref() == Some("suspended") {
        return None;
    }
    // "8.0 GT/s PCIe"; "Unknown" and a width of 0 or 255 if there is no such connection.
    let speed = |name: &str| {
        let speed = word(name)?.split_whitespace().next()?.parse::<f64>().ok();
        speed.filter(|speed| *speed > 0.0 && *speed < 1_000.0)
    };
    let lanes = |name: &str| word(name)?.parse::<u32>().ok().filter(|lanes| (1..=32).contains(lanes));
    let link = PcieLink {
        speed_gt_s: speed("current_link_speed"),
        lanes: lanes("current_link_width"),
        most_speed_gt_s: speed("max_link_speed"),
        most_lanes: lanes("max_link_width"),
    };
    (link != PcieLink::default()).then_some(link)
}

/// Names of a device, and its queues.
#[derive(Default)]
struct DeviceNames {
    /// Each name with the index of its folder in [`NAMING`].
    found: Vec<(usize, String)>,
    /// The folders in which names were found.
    folders: BTreeSet<&'static str>,
    received: BTreeSet<String>,
    requested: BTreeSet<String>,
}

impl DeviceNames {
    fn find_names(&mut self, reader: &ValueReader, folder: &str, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        for name in reader.folder_names(folder) {
            if let Some(naming) = NAMING.into_iter().find(|naming| *naming == name) {
                let inside = format!("{folder}/{name}");
                reader.folder_names(&inside).into_iter().for_each(|name| self.take_name(reader, naming, &inside, name));
            } else if is_engine(&name) {
                self.add_name(ENGINES, name);
            } else if leads_on(&name) {
                self.find_names(reader, &format!("{folder}/{name}"), depth + 1);
            }
        }
    }

    fn add_name(&mut self, naming: &'static str, name: String) {
        self.folders.insert(naming);
        let place = NAMING.iter().position(|folder| *folder == naming).unwrap_or(NAMING.len());
        if self.found.len() < MOST_NAMES && !self.found.iter().any(|(_, known)| *known == name) {
            self.found.push((place, name));
        }
    }

    /// Adds a name in one of the folders of names, with its queues.
    fn take_name(&mut self, reader: &ValueReader, naming: &'static str, folder: &str, name: String) {
        let own = format!("{folder}/{name}");
        match naming {
            "net" => {
                let queues = reader.folder_names(&format!("{own}/queues"));
                self.received.extend(queues.into_iter().filter(|queue| queue.starts_with("rx-")));
            }
            "block" => self.requested.extend(reader.folder_names(&format!("{own}/mq"))),
            "drm" if !name.starts_with("card") && !name.starts_with("renderD") => return,
            _ => (),
        }
        self.add_name(naming, name);
        if naming == "nvme" {
            for disk in reader.folder_names(&own).into_iter().filter(|name| name.starts_with("nvme")) {
                self.requested.extend(reader.folder_names(&format!("{own}/{disk}/mq")));
                self.add_name(naming, without_controller(&disk));
            }
        }
    }

    /// Returns the names, beginning with the names that users type.
    fn shown_names(mut self) -> Vec<String> {
        self.found.sort_by_key(|(place, _)| *place);
        self.found.into_iter().map(|(_, name)| name).collect()
    }

    fn queue_count(&self, kind: DeviceKind) -> Option<u32> {
        let queues = if kind == DeviceKind::Network { &self.received } else { &self.requested };
        u32::try_from(queues.len()).ok().filter(|count| *count > 0)
    }
}

/// Returns true for folders that contain names further down: virtio's, and folders between a controller and its disks.
fn leads_on(name: &str) -> bool {
    let numbered =
        |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    ["virtio", "ata", "host", "target"].into_iter().any(numbered)
        || (name.matches(':').count() == 3 && name.bytes().all(|byte| byte.is_ascii_digit() || byte == b':'))
}

/// Returns true for Intel's data movers: "dsa0", "iax1".
fn is_engine(name: &str) -> bool {
    let number = name.strip_prefix("dsa").or_else(|| name.strip_prefix("iax"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the users' name of a disk with several paths: "nvme0c1n1" is the path of controller 1 to nvme0n1.
fn without_controller(disk: &str) -> String {
    let cut =
        disk.split_once('c').and_then(|(subsystem, rest)| Some((subsystem, rest.find('n').map(|at| &rest[at..])?)));
    cut.map_or_else(|| disk.to_owned(), |(subsystem, disk)| format!("{subsystem}{disk}"))
}

#[cfg(test)]
mod tests;
