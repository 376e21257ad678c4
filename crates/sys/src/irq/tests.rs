//! Interrupts of recorded machines, and of shapes that the kernel's documents and bug reports show.

use super::*;

/// A guest of Firecracker with two cpus, Linux 6.18, recorded with `corewise record`; six of its interrupts.
fn guest() -> Root {
    let interrupts = "           CPU0       CPU1       
 24:          1          0  IO-APIC   5-edge      ACPI:Ged
 26:          0         13  IO-APIC   4-edge      ttyS0
 35:          0          1 PCI-MSIX-0000:00:02.0   0-edge      virtio1-config
 36:          0    2790351 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 38:          0      17979 PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0
NMI:          0          0   Non-maskable interrupts
LOC:   14114569   15469120   Local timer interrupts
ERR:          0
";
    let mut files = vec![
        ("proc/interrupts".to_owned(), interrupts.to_owned()),
        ("proc/irq/corewise-fixed".into(), "36\n".into()),
        ("proc/irq/default_smp_affinity".into(), "3\n".into()),
        ("sys/bus/pci/devices/0000:00:02.0/uevent".into(), "DRIVER=virtio-pci\n".into()),
    ];
    let rows = [
        (24, "ACPI:Ged", "IO-APIC", 5, "0", "1,0"),
        (26, "ttyS0", "IO-APIC", 4, "1", "0,13"),
        (27, "", "IO-APIC", 1, "0", "0,0"),
        (35, "virtio1-config", "PCI-MSIX-0000:00:02.0", 0, "1", "0,1"),
        (36, "virtio1-req.0", "PCI-MSIX-0000:00:02.0", 1, "1", "0,2790351"),
        (38, "virtio2-input.0", "PCI-MSIX-0000:00:03.0", 1, "1", "0,17979"),
    ];
    for (number, actions, chip, hwirq, effective, counts) in rows {
        let mut add = |path: String, text: String| files.push((path, text + "\n"));
        let sysfs = [("actions", actions), ("chip_name", chip), ("type", "edge"), ("wakeup", "disabled")];
        for (name, text) in sysfs {
            add(format!("sys/kernel/irq/{number}/{name}"), text.into());
        }
        add(format!("sys/kernel/irq/{number}/hwirq"), hwirq.to_string());
        add(format!("sys/kernel/irq/{number}/per_cpu_count"), counts.into());
        let proc = [("smp_affinity_list", "0-1"), ("effective_affinity_list", effective), ("affinity_hint", "0")];
        for (name, text) in proc {
            add(format!("proc/irq/{number}/{name}"), text.into());
        }
        add(format!("proc/irq/{number}/node"), "-1".into());
    }
    Root::from_files(files)
}

fn told(interrupt: &DeviceInterrupt) -> String {
    let set = |cpus: &Option<CpuSet>| cpus.as_ref().map_or("-".to_owned(), CpuSet::to_string);
    let word = |word: &Option<String>| word.clone().unwrap_or("-".to_owned());
    let counts: Vec<String> =
        interrupt.counts.iter().map(|count| format!("{}:{}", count.cpu, count.since_boot)).collect();
    format!(
        "{} [{}] {} {} {} allowed {} effective {} node {:?} {} {}",
        interrupt.number,
        interrupt.joined_handlers(),
        word(&interrupt.driver),
        word(&interrupt.device),
        word(&interrupt.chip),
        set(&interrupt.allowed),
        set(&interrupt.effective),
        interrupt.node,
        interrupt.mobility.word(),
        counts.join(" "),
    )
}

fn all(root: &Root) -> String {
    read_interrupts(root).iter().map(told).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_recorded_guest_is_read() {
    insta::assert_snapshot!(all(&guest()), @r"
    24 [ACPI:Ged] - - IO-APIC allowed 0,1 effective 0 node None movable 0:1
    26 [ttyS0] - - IO-APIC allowed 0,1 effective 1 node None movable 1:13
    35 [virtio1-config] virtio-pci 0000:00:02.0 PCI-MSIX-0000:00:02.0 allowed 0,1 effective 1 node None movable 1:1
    36 [virtio1-req.0] virtio-pci 0000:00:02.0 PCI-MSIX-0000:00:02.0 allowed 0,1 effective 1 node None managed 1:2790351
    38 [virtio2-input.0] - 0000:00:03.0 PCI-MSIX-0000:00:03.0 allowed 0,1 effective 1 node None movable 1:17979
    ");
    let first = &read_interrupts(&guest())[0];
    assert_eq!((first.hardware_number, first.trigger.as_deref(), first.wakes), (Some(5), Some("edge"), Some(false)));
    assert_eq!(first.hint, None, "a hint of no cpu is none");
}

/// Where /proc/interrupts is hidden, sysfs tells the same; its counts have a place for every cpu that could be.
#[test]
fn without_the_table_sysfs_tells_the_counts() {
    let root = Root::from_files([
        ("sys/devices/system/cpu/possible", "0,2-3\n"),
        ("sys/kernel/irq/9/actions", "acpi\n"),
        ("sys/kernel/irq/9/per_cpu_count", "0,5,7\n"),
    ]);
    assert_eq!(all(&root), "9 [acpi] - - - allowed - effective - node None unknown 2:5 3:7");
}

/// Linux 4.18 of a server with an NVMe drive, as bug reports show it: one chip for all devices, the address in the number, a
/// node, no sysfs, cpus 2 and 3 switched off.
#[test]
fn older_kernels_are_read_by_table_and_folders() {
    let interrupts = "            CPU0       CPU1       CPU4
   0:        46          0          0  IR-IO-APIC    2-edge      timer
  16:         5          0         29  IR-IO-APIC   16-fasteoi   i801_smbus, ehci_hcd:usb1
  29:         0       1000          0  IR-PCI-MSI 524289-edge      nvme0q1
";
    let root = Root::from_files([
        ("proc/interrupts", interrupts),
        ("proc/irq/29/smp_affinity_list", "1\n"),
        ("proc/irq/29/affinity_hint", "00000000,00000002\n"),
        ("proc/irq/29/node", "1\n"),
        ("proc/irq/31/eth0/x", ""),
        ("proc/irq/31/smp_affinity_list", "0-4\n"),
    ]);
    insta::assert_snapshot!(all(&root), @r"
    0 [timer] - - - allowed - effective - node None unknown 0:46
    16 [i801_smbus, ehci_hcd:usb1] - - - allowed - effective - node None unknown 0:5 4:29
    29 [nvme0q1] - - - allowed 1 effective - node Some(1) movable 1:1000
    31 [eth0] - - - allowed 0-4 effective - node None movable 
    ");
    let read = read_interrupts(&root);
    assert_eq!(read[1].handlers, ["i801_smbus", "ehci_hcd:usb1"]);
    assert_eq!(read[2].hint, Some(CpuSet::from_cpu(1)));
}

/// An Arm server: the timer is every cpu's own, the network's queues are messages of the ITS.
#[test]
fn arms_private_interrupts_are_of_each_cpu() {
    let row = |number: u32, name: &'static str, chip: &'static str, hwirq: &'static str| {
        let path = move |file: &str| format!("sys/kernel/irq/{number}/{file}");
        [(path("actions"), name), (path("chip_name"), chip), (path("hwirq"), hwirq)]
    };
    let rows = [
        row(11, "arch_timer", "GICv3", "30"),
        row(48, "arm-smmu-v3-evtq", "GICv3", "107"),
        row(216, "eth0-0", "ITS-MSI", "524288"),
    ];
    let uevent = ("sys/bus/pci/devices/0000:01:00.0/uevent".to_owned(), "PCI_CLASS=20000\nDRIVER=mlx5_core\n");
    let allowed = [11, 48, 216].map(|number| (format!("proc/irq/{number}/smp_affinity_list"), "0-127\n"));
    let root = Root::from_files(rows.into_iter().flatten().chain([uevent]).chain(allowed));
    insta::assert_snapshot!(all(&root), @r"
    11 [arch_timer] - - GICv3 allowed 0-127 effective - node None per cpu 
    48 [arm-smmu-v3-evtq] - - GICv3 allowed 0-127 effective - node None movable 
    216 [eth0-0] mlx5_core 0000:01:00.0 ITS-MSI allowed 0-127 effective - node None movable 
    ");
}

#[test]
fn nothing_to_read_is_no_interrupt() {
    assert_eq!(read_interrupts(&Root::from_files([("proc/cpuinfo", "processor : 0\n")])), []);
    let nonsense = [("proc/interrupts", "CPU0\n x: 1\n 7: y\n"), ("proc/irq/8/smp_affinity_list", "z\n")];
    assert_eq!(read_interrupts(&Root::from_files(nonsense)), []);
}

#[test]
fn irqbalance_is_found_by_its_name() {
    let root = |name: &str| Root::from_files([("proc/1/comm", "systemd\n"), ("proc/812/comm", name)]);
    assert_eq!(find_irqbalance(&root("irqbalance\n")), Some(812));
    assert_eq!(find_irqbalance(&root("irqbalance-ui\n")), None);
}
