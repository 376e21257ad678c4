//! The emulator's command line for a machine.

use std::path::{Path, PathBuf};

use crate::cpus::{self, CpuNumbers};
use crate::{CoreThreads, CpuSeat, DiskPlace, RigError, RigMachine};

/// The emulator's program.
const PROGRAM: &str = "qemu-system-x86_64";
/// Processor model with all features that the emulator can emulate.
const PROCESSOR: &str = "max";
/// The highest AMD function that the topology needs, and the bit that announces it. The emulator fills in the function, but clears the bit
/// because it does not emulate all of it; so the bit is forced.
const AMD_TOPOLOGY: &str = "xlevel=0x8000001e,+topoext,x-force-features=on";

/// One thread emulates all cpus in turn. With a thread for each, a cpu may run on forever in the old translation of an instruction that
/// another is changing: a kernel that switches a tracepoint or a static branch (cgroups, perf) then hangs. It would also be slower: guests
/// with more cpus than the host spend their time waiting for cpus that do not run.
const ACCELERATOR: &str = "tcg,thread=single";

/// Kernel command line of every machine, in this order. Use the serial console. End after a panic instead of waiting. Do not test the timer
/// and the clock against real time, nor for hung cpus, which fails if the host has no time for the emulator. Leave all controllers to
/// cgroup v2. Use no mitigations, such as separate page tables for the kernel: an emulator pays for them at each system call. Load programs
/// at the same addresses each time: code elsewhere is translated anew, which takes four fifths of a short command's time.
const KERNEL_WORDS: [&str; 8] = [
    "console=ttyS0",
    "panic=-1",
    "no_timer_check",
    "tsc=reliable",
    "nowatchdog",
    "cgroup_no_v1=all",
    "mitigations=off",
    "norandmaps",
];

/// Use of the machine's serial port with the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsoleUse<'a> {
    /// Written to a file; steps come over the second port.
    File(&'a Path),
    /// A shell on the terminal.
    Terminal,
}

/// Finds the emulator's program.
///
/// # Errors
///
/// [`RigError::Missing`] if no folder of `PATH` has it.
pub fn find_program() -> Result<PathBuf, RigError> {
    on_path(PROGRAM).ok_or_else(|| RigError::Missing {
        what: format!("the emulator {PROGRAM}"),
        cure: "install QEMU for x86 (Debian: qemu-system-x86)".to_owned(),
    })
}

/// Returns the first program of a name in `PATH`.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Returns the arguments that make a machine.
pub fn emulator_arguments(machine: &RigMachine, kernel: &Path, files: &Path, console: ConsoleUse<'_>) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|&word| word.to_owned()));
    // No default devices, and emulation even if the host could do better: the processor has to be the described one.
    add(&["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"]);
    add(&["-machine", "q35,usb=off", "-accel", ACCELERATOR]);
    add(&["-cpu", &processor_argument(machine), "-m", &format!("{}M", machine.memory_mib())]);
    add(&["-kernel", &kernel.to_string_lossy(), "-initrd", &files.to_string_lossy()]);
    add(&["-append", &kernel_command_line(machine, console)]);
    match console {
        ConsoleUse::File(path) => {
            add(&["-chardev", &format!("file,id=console,path={}", path.display()), "-serial", "chardev:console"]);
            add(&["-chardev", "stdio,id=steps,signal=off", "-serial", "chardev:steps"]);
        }
        ConsoleUse::Terminal => add(&["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]),
    }
    if let Some(disk) = machine.disk {
        add(&["-blockdev", "driver=null-co,node-name=disk,size=1048576"]);
        match disk {
            DiskPlace::Somewhere => add(&["-device", "virtio-blk-pci,drive=disk"]),
            DiskPlace::AtNode(node) => {
                add(&["-device", &format!("pxb-pcie,id=far,bus=pcie.0,bus_nr=64,numa_node={node}")]);
                add(&["-device", "pcie-root-port,id=socket,bus=far,chassis=1"]);
                add(&["-device", "virtio-blk-pci,drive=disk,bus=socket"]);
            }
        }
    }
    arguments.extend(cpus_of(machine));
    arguments.extend(nodes_of(machine));
    arguments
}

fn processor_argument(machine: &RigMachine) -> String {
    let processor = machine.processor;
    let mut text = format!(
        "{PROCESSOR},vendor={},family={},model={},stepping=1,model-id={}",
        processor.vendor, processor.family, processor.model, processor.name
    );
    if processor.vendor == "AuthenticAMD" {
        text.push_str(&format!(",{AMD_TOPOLOGY}"));
    }
    if machine.threads == CoreThreads::Module {
        // Processors with modules lack this function, which cannot express modules.
        text.push_str(",cpuid-0xb=off");
    }
    text
}

fn kernel_command_line(machine: &RigMachine, console: ConsoleUse<'_>) -> String {
    let mut words: Vec<String> = KERNEL_WORDS.map(str::to_owned).into();
    let lists = [("isolcpus", machine.isolated), ("nohz_full", machine.nohz_full)];
    words.extend(lists.into_iter().filter(|(_, cpus)| !cpus.is_empty()).map(|(name, cpus)| format!("{name}={cpus}")));
    words.extend((!machine.kernel.is_empty()).then(|| machine.kernel.to_owned()));
    if console == ConsoleUse::Terminal {
        // Unknown words go into the environment of the first process.
        words.extend(["quiet".to_owned(), "RIG_SHELL=1".to_owned()]);
    }
    words.join(" ")
}

/// Returns `-smp`, with every thread: the kernel does not see missing cpus, because its table of cpus leaves them out.
fn cpus_of(machine: &RigMachine) -> [String; 2] {
    let shape = format!(
        "{},sockets={},dies={},cores={},threads={}",
        machine.emulator_slots().len(),
        machine.packages,
        machine.dies,
        machine.cores,
        machine.threads_per_core()
    );
    ["-smp".to_owned(), shape]
}

fn nodes_of(machine: &RigMachine) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut add = |option: &str, value: String| arguments.extend([option.to_owned(), value]);
    for (number, node) in machine.nodes.iter().enumerate() {
        let mut text = format!("node,nodeid={number}");
        if node.size_mib > 0 {
            add("-object", format!("memory-backend-ram,id=memory{number},size={}M", node.size_mib));
            text.push_str(&format!(",memdev=memory{number}"));
        }
        let slots = cpus::format_list(&slots_of(machine, &cpus::parse(node.cpus)));
        slots.split(',').filter(|range| !range.is_empty()).for_each(|range| text.push_str(&format!(",cpus={range}")));
        add("-numa", text);
    }
    for (from, row) in machine.distances.iter().enumerate() {
        for (to, distance) in row.iter().enumerate().filter(|(to, _)| *to != from) {
            add("-numa", format!("dist,src={from},dst={to},val={distance}"));
        }
    }
    arguments
}

/// Converts the kernel's numbers of cpus to the emulator's, which are slot numbers.
fn slots_of(machine: &RigMachine, numbers: &CpuNumbers) -> CpuNumbers {
    let places = machine.cpu_places();
    let wanted: Vec<CpuSeat> = numbers.iter().filter_map(|&cpu| places.get(cpu as usize).copied()).collect();
    (0..).zip(machine.emulator_slots()).filter(|(_, slot)| wanted.contains(slot)).map(|(number, _)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find_machine;

    fn value(name: &str, option: &str) -> Vec<String> {
        let console = ConsoleUse::File(Path::new("console"));
        let all = emulator_arguments(find_machine(name).unwrap(), Path::new("kernel"), Path::new("files"), console);
        all.windows(2).filter(|pair| pair[0] == option).map(|pair| pair[1].clone()).collect()
    }

    #[test]
    fn cpus_of_a_node_are_named_by_the_emulators_numbers() {
        let nodes = value("threadripper-2990wx-small", "-numa");
        assert_eq!(nodes[0], "node,nodeid=0,memdev=memory0,cpus=0-3");
        assert_eq!(nodes[1], "node,nodeid=1,cpus=4-7");
        assert_eq!(nodes.iter().filter(|text| text.ends_with("val=16")).count(), 12);
    }

    #[test]
    fn the_shape_is_that_of_the_whole_machine() {
        assert_eq!(value("fx-8150", "-smp"), ["8,sockets=1,dies=1,cores=4,threads=2"]);
        assert_eq!(value("hybrid", "-smp"), ["12,sockets=1,dies=1,cores=6,threads=2"]);
    }

    #[test]
    fn the_kernel_is_told_what_to_isolate() {
        assert_eq!(
            value("isolated", "-append"),
            [format!("{} isolcpus=2-3,6-7 nohz_full=2-3,6-7", KERNEL_WORDS.join(" "))]
        );
    }
}
