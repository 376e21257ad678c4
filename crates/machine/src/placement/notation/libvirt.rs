//! Elements of a libvirt domain.

use std::collections::HashMap;

use super::choices::{NamedReading, agree};
use super::list::{self, ListSyntax};
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading, nodes};
use crate::{CpuSet, Machine};

/// Prints the number of virtual cpus, and in order one element that pins each. Whole cores get adjacent virtual cpus for their threads, and
/// the guest sees it.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let ChosenCpus { cpus, machine, .. } = chosen;
    let threads = threads_of_whole_cores(cpus, machine);
    let order = if threads.is_some() { siblings_adjacent(chosen) } else { chosen.order.to_vec() };
    let count = order.len();
    let mut vcpu = NotationLine::new("vcpu", format!("<vcpu placement='static' cpuset='{cpus}'>{count}</vcpu>"));
    let memory = nodes::with_memory(cpus, machine);
    if machine.nodes.len() > 1 && !memory.is_empty() {
        vcpu = vcpu.with_remark(format!("For memory from there: <numatune><memory nodeset='{memory}'/></numatune>."));
    }
    let others = machine.online.difference(cpus);
    if !others.is_empty() {
        vcpu = vcpu.with_remark(format!("For the emulator's own threads elsewhere: <emulatorpin cpuset='{others}'/>."));
    }
    let pin = |(index, cpu)| NotationLine::new("cputune", format!("<vcpupin vcpu='{index}' cpuset='{cpu}'/>"));
    let topology = threads.map(|threads| describe_guest(count, threads));
    std::iter::once(vcpu).chain(order.iter().enumerate().map(pin)).chain(topology).collect()
}

/// Returns the element that shows the guest which virtual cpus share a core.
fn describe_guest(count: usize, threads: usize) -> NotationLine {
    let cores = count / threads;
    let text = format!(
        "<cpu mode='host-passthrough'><topology sockets='1' dies='1' cores='{cores}' threads='{threads}'/></cpu>"
    );
    NotationLine::new("cpu", text)
        .with_remark("Virtual cpus of one core are adjacent: the guest sees the same siblings as the host.")
}

/// Returns the number of threads of each core if the cpus are whole cores with equally many, more than one each.
fn threads_of_whole_cores(cpus: &CpuSet, machine: &Machine) -> Option<usize> {
    let mut touched = machine.cores.iter().map(|core| &core.cpus).filter(|core| !core.is_disjoint(cpus));
    let threads = touched.next()?.len();
    let is_whole = machine
        .cores
        .iter()
        .map(|core| &core.cpus)
        .filter(|core| !core.is_disjoint(cpus))
        .all(|core| core.len() == threads && core.is_subset(cpus));
    (is_whole && threads > 1).then_some(threads)
}

/// Returns the cpus in the order of their cores' first ones, with the threads of a core together.
fn siblings_adjacent(chosen: ChosenCpus<'_>) -> Vec<u32> {
    let mut order: Vec<u32> = Vec::with_capacity(chosen.order.len());
    let mut placed = CpuSet::new();
    let core_of: HashMap<u32, &CpuSet> =
        chosen.machine.cores.iter().flat_map(|core| core.cpus.iter().map(move |cpu| (cpu, &core.cpus))).collect();
    for cpu in chosen.order {
        let siblings = core_of.get(cpu).map_or_else(|| CpuSet::from_cpu(*cpu), |core| (*core).clone());
        let first = std::iter::once(*cpu);
        order.extend(first.chain(siblings.iter()).filter(|cpu| placed.insert(*cpu)));
    }
    order
}

/// Contents of elements, or of lines of virsh.
#[derive(Default)]
struct LibvirtPins {
    /// Virtual cpus with their cpus.
    vcpus: Vec<(u32, Vec<u32>)>,
    /// Cpus of the whole domain.
    domain: Option<CpuSet>,
    /// Cpus of the emulator's own threads.
    emulator: Option<CpuSet>,
    /// Cpus of the threads for input and output.
    io: CpuSet,
    /// Threads of each core that the guest sees.
    threads: Option<u32>,
    /// Number of cpus of all virtual cpus together.
    pinned: usize,
}

impl LibvirtPins {
    fn add_pin(&mut self, vcpu: TextPiece<'_>, cpus: Vec<u32>) -> Result<(), TextFault> {
        self.pinned += cpus.len();
        list::check_count(self.pinned, vcpu)?;
        let number = vcpu.read_number("a number of a virtual cpu")?;
        self.vcpus.retain(|(known, _)| *known != number);
        self.vcpus.push((number, cpus));
        Ok(())
    }

    /// Describes the threads beside the virtual cpus.
    fn remarks(&self) -> Vec<String> {
        let beside = |cpus: &CpuSet| format!("The emulator's own threads are on {}.", list::format_counted(cpus));
        let io = format!("The threads for input and output are on {}.", list::format_counted(&self.io));
        let guest =
            |threads: u32| format!("The guest sees cores of {threads} threads, whose virtual cpus are adjacent.");
        let io = (!self.io.is_empty() && !self.vcpus.is_empty()).then_some(io);
        let emulator = self.emulator.as_ref().map(beside);
        emulator.into_iter().chain(io).chain(self.threads.filter(|threads| *threads > 1).map(guest)).collect()
    }
}

const RULES: ListSyntax = ListSyntax {
    spaces: false,
    stride: false,
    group: false,
    last: None,
    descending: false,
    exclusion: true,
    dots: false,
};

/// Elements and commands by which a text is recognized.
const MARKS: [&str; 9] = [
    "<cell ",
    "<vcpu",
    "<emulatorpin",
    "<iothreadpin",
    "vcpupin",
    "emulatorpin",
    "iothreadpin",
    "CPU Affinity",
    "cpuset='",
];

/// Returns true for elements, commands and output of libvirt. nvidia-smi has a column of that title too.
pub(super) fn is_recognized(text: TextPiece<'_>) -> bool {
    !text.text.contains("NUMA Affinity") && MARKS.iter().any(|mark| text.text.contains(mark))
}

/// Reads a cpuset, elements with one, lines of virsh, or its output. `<vcpupin>` overrides `<vcpu>`.
pub(super) fn read_text(text: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    let mut pins = LibvirtPins::default();
    if text.text.contains('<') {
        text.split(|c| c == '<').into_iter().try_for_each(|element| read_element(element, &mut pins))?;
    } else if text.text.contains("CPU Affinity") {
        read_output(text, &mut pins)?;
    } else if ["vcpupin", "emulatorpin", "iothreadpin"].iter().any(|command| text.text.contains(command)) {
        text.split_lines().into_iter().try_for_each(|line| read_virsh(line, &mut pins))?;
    } else if is_map(text) {
        return Ok(NotationReading::from_set(read_map(text)));
    } else {
        return Ok(NotationReading::from_set(read_set(text.without_quotes())?));
    }
    let remarks = pins.remarks();
    match pins {
        LibvirtPins { mut vcpus, .. } if !vcpus.is_empty() => {
            vcpus.sort_by_key(|(vcpu, _)| *vcpu);
            let order = format!("{} virtual cpus are pinned, in the order of their numbers.", vcpus.len());
            let read = NotationReading::from_order(vcpus.into_iter().flat_map(|(_, cpus)| cpus));
            Ok(read.with_remark(order).with_remarks(remarks))
        }
        LibvirtPins { domain: Some(cpus), .. } => {
            Ok(NotationReading::from_set(cpus).with_remark("All virtual cpus share these cpus.").with_remarks(remarks))
        }
        LibvirtPins { emulator: Some(cpus), io, .. } if io.is_empty() => Ok(NotationReading::from_set(cpus)
            .with_remark("These cpus are for the emulator's own threads, not for virtual cpus.")),
        LibvirtPins { emulator: None, io, .. } if !io.is_empty() => Ok(NotationReading::from_set(io)
            .with_remark("These cpus are for the threads for input and output, not for virtual cpus.")),
        LibvirtPins { emulator: Some(emulator), io, .. } => {
            let parts = [("emulator", emulator), ("input and output", io)];
            let part = |(name, cpus)| NamedReading::new(name, NotationReading::from_set(cpus));
            agree(text, parts.into_iter().map(part).collect(), || text.fault_here("no cpu is named here"))
        }
        _ => Err(text.fault_here("no vcpu, vcpupin or emulatorpin element here has a cpuset")),
    }
}

/// Returns true for a map such as `yy--yy`, a letter for each cpu from 0 on.
pub(super) fn is_map(text: TextPiece<'_>) -> bool {
    text.text.len() > 1 && text.text.contains('y') && text.text.bytes().all(|byte| matches!(byte, b'y' | b'-'))
}

fn read_map(text: TextPiece<'_>) -> CpuSet {
    text.text.bytes().enumerate().filter(|(_, byte)| *byte == b'y').map(|(cpu, _)| cpu as u32).collect()
}

/// Reads the output of `virsh vcpuinfo` (blocks with "CPU Affinity:") and of `virsh vcpupin`, `emulatorpin` (tables).
fn read_output(text: TextPiece<'_>, pins: &mut LibvirtPins) -> Result<(), TextFault> {
    let mut vcpu = None;
    for line in text.split_lines() {
        if line.text.starts_with("---") || line.text.contains("virsh ") {
            continue;
        }
        match line.split_once(':').map(|(name, value)| (name.trim(), value.trim())) {
            Some((name, value)) if name.text == "VCPU" => vcpu = Some(value),
            Some((name, value)) if name.text == "CPU Affinity" => {
                let value = value.split(|c| c == '(')[0].trim();
                let cpus =
                    if is_map(value) { read_map(value).iter().collect() } else { list::read_list(value, RULES)? };
                pins.add_pin(vcpu.unwrap_or(TextPiece::new("0")), cpus)?;
            }
            Some((name, value)) if matches!(name.text, "*") => pins.emulator = Some(read_set(value)?),
            // VCPU: CPU Affinity, and old tables with colons.
            Some((name, value)) if name.text.bytes().all(|byte| byte.is_ascii_digit()) => {
                pins.add_pin(name, list::read_list(value, RULES)?)?;
            }
            Some(_) => {}
            None => {
                let words = line.split_words();
                if let [vcpu, list] = words.as_slice()
                    && vcpu.text.bytes().all(|byte| byte.is_ascii_digit())
                {
                    pins.add_pin(*vcpu, list::read_list(*list, RULES)?)?;
                } else if let [star, list] = words.as_slice()
                    && star.text == "*"
                {
                    pins.emulator = Some(read_set(*list)?);
                }
            }
        }
    }
    Ok(())
}

fn read_set(list: TextPiece<'_>) -> Result<CpuSet, TextFault> {
    Ok(list::read_list(list, RULES)?.into_iter().collect())
}

fn read_element(element: TextPiece<'_>, pins: &mut LibvirtPins) -> Result<(), TextFault> {
    if element.text.starts_with("topology") {
        pins.threads = find_attribute(element, "threads").and_then(|threads| threads.text.parse().ok());
    }
    let Some(cpuset) = find_attribute(element, "cpuset") else { return Ok(()) };
    if element.text.starts_with("vcpupin") {
        let vcpu = find_attribute(element, "vcpu").ok_or_else(|| element.fault_here("expected vcpu='…' in vcpupin"))?;
        pins.add_pin(vcpu, list::read_list(cpuset, RULES)?)?;
    } else if element.text.starts_with("vcpu") {
        pins.domain = Some(read_set(cpuset)?);
    } else if element.text.starts_with("emulatorpin") {
        pins.emulator = Some(read_set(cpuset)?);
    } else if element.text.starts_with("iothreadpin") {
        pins.io = pins.io.union(&read_set(cpuset)?);
    } else {
        return Err(element
            .fault_here("this element with a cpuset is not known")
            .with_hint("vcpu, vcpupin, emulatorpin, iothreadpin"));
    }
    Ok(())
}

/// Reads `virsh vcpupin DOMAIN VCPU LIST` and `virsh emulatorpin DOMAIN LIST`, with or without argument names.
fn read_virsh(line: TextPiece<'_>, pins: &mut LibvirtPins) -> Result<(), TextFault> {
    let words = line.split_words();
    let is_command = |word: &TextPiece<'_>| matches!(word.text, "vcpupin" | "emulatorpin" | "iothreadpin");
    let Some(place) = words.iter().position(is_command) else {
        return Err(line.fault_here("expected vcpupin or emulatorpin").with_hint("virsh vcpupin DOMAIN 0 0-3"));
    };
    let mut named = [None, None, None];
    let mut bare = Vec::new();
    let mut arguments = words[place + 1..].iter().copied();
    while let Some(word) = arguments.next() {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let is_io = name.text == IO_NAME;
        match NAMES.iter().position(|known| *known == name.text || is_io && *known == NAMES[1]) {
            Some(index) => named[index] = value.or_else(|| arguments.next()),
            None if word.text.starts_with("--") => {}
            None => bare.push(word.without_quotes()),
        }
    }
    let mut bare = bare.into_iter();
    let is_emulator = words[place].text == "emulatorpin";
    let [_, vcpu, list] = [0, 1, 2].map(|index| {
        if index == 1 && is_emulator {
            None
        } else {
            named[index].map(TextPiece::without_quotes).or_else(|| bare.next())
        }
    });
    let list = list.ok_or_else(|| line.fault_here("no list of cpus is given here, so virsh only shows them"))?;
    if is_emulator {
        pins.emulator = Some(read_set(list)?);
        return Ok(());
    }
    let vcpu = vcpu.ok_or_else(|| line.fault_here("no virtual cpu is named here"))?;
    if words[place].text == "iothreadpin" {
        pins.io = pins.io.union(&read_set(list)?);
        return Ok(());
    }
    pins.add_pin(vcpu, list::read_list(list, RULES)?)
}

/// Names of virsh's arguments, in order.
const NAMES: [&str; 3] = ["--domain", "--vcpu", "--cpulist"];
/// Name of the second one for threads of input and output.
const IO_NAME: &str = "--iothread";

/// Returns the value of an element's attribute.
fn find_attribute<'a>(element: TextPiece<'a>, name: &str) -> Option<TextPiece<'a>> {
    let rest = element.text_after(&format!(" {name}="))?;
    let mark = rest.text.chars().next().filter(|mark| matches!(mark, '\'' | '"'))?;
    let (value, _) = rest.strip_prefix(&mark.to_string())?.split_once(mark)?;
    Some(value)
}
