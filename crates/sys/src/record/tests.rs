//! Tests of recordings: what comes back is the same machine, and nothing else comes along.

use super::*;
use crate::root::is_wanted;

fn recorded(root: &Root, packing: RecordingPacking) -> (RecordedMachine, Vec<u8>) {
    let mut bytes = Vec::new();
    let recorded = record_machine(root, &BTreeMap::new(), &mut bytes, packing).unwrap();
    (recorded, bytes)
}

/// A machine of which every file says something about its owner.
fn told() -> Root {
    Root::from_files(told_files())
}

fn told_files() -> Vec<(String, String)> {
    let cpu = "sys/devices/system/cpu";
    vec![
        (
            "proc/cpuinfo".into(),
            "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd0c\n\nSerial : 10000000SECRET\n".to_owned(),
        ),
        ("proc/version".into(), "Linux version 6.1.0 (SECRET@host) (gcc) #1\n".into()),
        ("proc/hwloc-nofile-info".into(), "HostName: SECRET\nArchitecture: aarch64\n".into()),
        ("proc/mounts".into(), "x /sys/fs/cgroup cgroup2 rw 0 0\n/dev/SECRET / ext4 rw 0 0\n".into()),
        ("proc/self/cgroup".into(), "0::/user-SECRET\n".into()),
        ("sys/fs/cgroup/user-SECRET/cpuset.cpus.effective".into(), "0\n".into()),
        ("proc/sys/kernel/hostname".into(), "SECRET\n".into()),
        ("sys/devices/virtual/dmi/id/product_serial".into(), "SECRET\n".into()),
        ("cpuid/pu0".into(), "1 3 0 0 0 => 5ec2e7 0 0 0\n".into()),
        ("sys/devices/system/node/online".into(), "0\n".into()),
        ("sys/devices/system/node/node0/cpulist".into(), "0\n".into()),
        ("sys/devices/system/node/node0/meminfo".into(), "Node 0 MemTotal: 4 kB\nNode 0 SECRET: 1 kB\n".into()),
        ("proc/interrupts".into(), "     CPU0 CPU1\n 36: 1 2 PCI-MSI 1-edge enx5ec2e7000001-rx-0\n".into()),
        ("sys/kernel/irq/36/actions".into(), "enx5ec2e7000001-rx-0\n".into()),
        ("sys/kernel/irq/36/chip_name".into(), "PCI-MSI-0000:01:00.0\n".into()),
        ("sys/kernel/debug/irq/irqs/36".into(), "device: SECRET\n   IRQD_AFFINITY_MANAGED\n".into()),
        ("sys/bus/pci/devices/0000:01:00.0/uevent".into(), "PCI_ID=SECRET\nDRIVER=e1000\n".into()),
        ("sys/bus/pci/devices/0000:01:00.0/class".into(), "0x020000\n".into()),
        ("sys/bus/pci/devices/0000:01:00.0/numa_node".into(), "0\n".into()),
        ("sys/bus/pci/devices/0000:01:00.0/serial".into(), "SECRET\n".into()),
        ("sys/bus/pci/devices/0000:01:00.0/net/eth0/address".into(), "5e:c2:e7:00:00:01 SECRET\n".into()),
        ("sys/bus/pci/devices/0000:01:00.0/net/eth0/queues/rx-0/rps_cpus".into(), "0\n".into()),
        ("proc/irq/36/smp_affinity_list".into(), "0-1\n".into()),
        (format!("{cpu}/vulnerabilities/mds"), "Vulnerable; SMT vulnerable\n".into()),
        (format!("{cpu}/online"), "0-1\n".into()),
        (format!("{cpu}/cpu0/topology/core_id"), "0\n".into()),
        (format!("{cpu}/cpu1/topology/core_id"), "1\n".into()),
        (format!("{cpu}/cpu7/other"), "offline\n".into()),
    ]
}

#[test]
fn a_recording_gives_an_equal_machine_in_every_packing() {
    let root = told();
    let machine = topology::read_machine(&root).unwrap();
    assert_eq!(machine.present.to_string(), "0,1,7");
    assert_eq!(machine.allowed.to_string(), "0");
    assert_eq!(machine.system.vulnerabilities["mds"], "Vulnerable");
    for packing in [RecordingPacking::Tar, RecordingPacking::Gzip, RecordingPacking::Xz] {
        let (recorded, bytes) = recorded(&root, packing);
        assert_eq!(topology::read_machine(&Root::from_archive_bytes(&bytes).unwrap()).unwrap(), machine, "{packing:?}");
        assert_eq!(recorded.machine, machine);
    }
}

#[test]
fn nothing_that_identifies_is_recorded() {
    let (recorded, bytes) = recorded(&told(), RecordingPacking::Tar);
    let text = String::from_utf8_lossy(&bytes).to_lowercase();
    assert!(!text.contains("secret") && !text.contains("5ec2e7"), "{text}");
    assert!(text.contains("cpu part : 0xd0c"), "the rest is there");
    assert!(recorded.files > 5 && recorded.text_bytes > 100);
}

/// A source that notes all paths that it is asked for.
struct AskedPaths {
    root: Root,
    asked: RefCell<Vec<String>>,
}

impl FileSource for AskedPaths {
    fn file_text(&self, path: &str) -> Option<Cow<'_, str>> {
        self.asked.borrow_mut().push(path.to_owned());
        self.root.read_text(path)
    }

    fn folder_names(&self, folder: &str) -> Vec<String> {
        self.root.list_folder(folder)
    }
}

/// An archive keeps only the wanted files, so a file that is read but not wanted counts on a machine and not in its recording.
#[test]
fn every_file_that_is_read_is_kept_of_an_archive() {
    let mut files = told_files();
    let cache = |name: &str| format!("sys/devices/system/cpu/cpu0/cache/index0/{name}");
    files.extend([
        (cache("level"), "1".to_owned()),
        (cache("type"), "Data".into()),
        (cache("shared_cpu_list"), "0".into()),
    ]);
    files.push(("sys/devices/system/cpu/cpufreq/policy0/related_cpus".into(), "0".into()));
    let source = AskedPaths { root: Root::from_files(files), asked: RefCell::default() };
    topology::read_from(&source).unwrap();
    irq::read_from(&source);
    // A recording has the cpus that a control group allows in the file of the process.
    let is_kept = |path: &String| is_wanted(path) || path.starts_with("sys/fs/cgroup/");
    let lost: Vec<String> = source.asked.into_inner().into_iter().filter(|path| !is_kept(path)).collect();
    assert_eq!(lost, [""; 0]);
}

/// Some interfaces are called by their address: that is left out of names, too.
#[test]
fn devices_are_recorded_by_their_names_and_without_addresses() {
    let files = [
        ("sys/devices/system/cpu/online", "0-1\n"),
        ("sys/bus/pci/devices/0000:01:00.0/class", "0x010802\n"),
        ("sys/bus/pci/devices/0000:01:00.0/nvme/nvme0/serial", "SECRET\n"),
        ("sys/bus/pci/devices/0000:01:00.0/nvme/nvme0/nvme0n1/mq/0/cpu_list", "0\n"),
        ("sys/bus/pci/devices/0000:02:00.0/class", "0x020000\n"),
        ("sys/bus/pci/devices/0000:02:00.0/net/enx5ec2e7000001/queues/rx-0/x", "\n"),
    ];
    let (recorded, bytes) = recorded(&Root::from_files(files), RecordingPacking::Tar);
    let names = |machine: &Machine| machine.devices.iter().map(|device| device.names.join(" ")).collect::<Vec<_>>();
    let back = topology::read_machine(&Root::from_archive_bytes(&bytes).unwrap()).unwrap();
    assert_eq!(names(&back), ["nvme0 nvme0n1", "enx000000000000"]);
    assert_eq!(back.devices, recorded.machine.devices);
    assert_eq!(back.devices.iter().map(|device| device.queues).collect::<Vec<_>>(), [Some(1), Some(1)]);
    let text = String::from_utf8_lossy(&bytes).to_lowercase();
    assert!(!text.contains("secret") && !text.contains("5ec2e7"));
}

#[test]
fn interrupts_are_recorded_with_what_tells_whether_they_can_be_moved() {
    let back = |root: &Root| {
        irq::read_interrupts(&Root::from_archive_bytes(&recorded(root, RecordingPacking::Tar).1).unwrap())
    };
    let mut told = irq::read_interrupts(&told());
    assert_eq!((told[0].driver.as_deref(), told[0].handlers[0].as_str()), (Some("e1000"), "enx5ec2e7000001-rx-0"));
    told[0].handlers = vec!["enx000000000000-rx-0".into()];
    assert_eq!(back(&self::told()), told);

    // Counts go on meanwhile; what is fixed comes from permissions, which an archive of texts does not hold.
    let uncounted = |interrupts: Vec<corewise_machine::interrupt::device::DeviceInterrupt>| {
        interrupts
            .into_iter()
            .map(|interrupt| (interrupt.number, interrupt.handlers, interrupt.mobility))
            .collect::<Vec<_>>()
    };
    assert_eq!(uncounted(back(&Root::this_machine())), uncounted(irq::read_interrupts(&Root::this_machine())));
}

#[test]
fn this_machine_is_recorded_and_read_back_equal() {
    let (recorded, bytes) = recorded(&Root::this_machine(), RecordingPacking::Xz);
    let mut back = topology::read_machine(&Root::from_archive_bytes(&bytes).unwrap()).unwrap();
    // Governors may be changed by others meanwhile; everything else is fixed while the test runs.
    back.system.governors.clone_from(&recorded.machine.system.governors);
    assert_eq!(back, recorded.machine);
    let plain = recorded_text(&bytes);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    assert!(host.len() < 6 || !plain.contains(host), "the host's name {host} is in the recording");
}

fn recorded_text(xz: &[u8]) -> String {
    let mut text = Vec::new();
    io::Read::read_to_end(&mut lzma_rust2::XzReader::new(xz, true), &mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn notes_stand_beside_the_machine_and_change_nothing_of_it() {
    let notes = BTreeMap::from([("digest.json".to_owned(), "{\"what\":\"a note\"}\n".to_owned())]);
    let mut bytes = Vec::new();
    record_machine(&told(), &notes, &mut bytes, RecordingPacking::Tar).unwrap();
    assert_eq!(&bytes[..12], b"digest.json\0", "it comes first");
    assert!(String::from_utf8_lossy(&bytes).contains("{\"what\":\"a note\"}\n"));
    let machine = topology::read_machine(&Root::from_archive_bytes(&bytes).unwrap()).unwrap();
    assert_eq!(machine, topology::read_machine(&told()).unwrap());
}

#[test]
fn equal_machines_give_equal_bytes() {
    assert_eq!(recorded(&told(), RecordingPacking::Xz).1, recorded(&told(), RecordingPacking::Xz).1);
}

#[test]
fn an_export_is_not_recorded() {
    let xml =
        "<topology version=\"3.0\"><object type=\"Machine\"><object type=\"PU\" os_index=\"0\"/></object></topology>";
    let error =
        record_machine(&Root::from_files([(HWLOC_XML, xml)]), &BTreeMap::new(), io::sink(), RecordingPacking::Tar)
            .unwrap_err();
    assert_eq!(error.to_string(), "an hwloc XML export cannot be recorded: it may name hosts and devices");
}

#[test]
fn a_refused_write_is_an_error() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    assert!(matches!(
        record_machine(&told(), &BTreeMap::new(), Full, RecordingPacking::Gzip),
        Err(SysError::Write { .. })
    ));
}

#[test]
fn the_name_tells_the_packing() {
    let packing = |name: &str| RecordingPacking::from_path(Path::new(name));
    assert_eq!(
        [packing("a.tar"), packing("a.tar.gz"), packing("a.tgz")],
        [RecordingPacking::Tar, RecordingPacking::Gzip, RecordingPacking::Gzip]
    );
    assert_eq!([packing("a.tar.xz"), packing("a")], [RecordingPacking::Xz, RecordingPacking::Xz]);
}
