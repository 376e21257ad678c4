//! Elements of a libvirt domain.

use super::list::{self, ListSyntax};
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading, nodes};
use crate::CpuSet;

/// Prints the number of virtual cpus, and in order one element that pins each.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let ChosenCpus { cpus, order, machine } = chosen;
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
    std::iter::once(vcpu).chain(order.iter().enumerate().map(pin)).collect()
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
    /// Number of cpus of all virtual cpus together.
    pinned: usize,
}

impl LibvirtPins {
    fn add_pin(&mut self, vcpu: TextPiece<'_>, list: TextPiece<'_>) -> Result<(), TextFault> {
        let cpus = list::read_list(list, RULES)?;
        self.pinned += cpus.len();
        list::check_count(self.pinned, list)?;
        self.vcpus.push((vcpu.read_number("a number of a virtual cpu")?, cpus));
        Ok(())
    }
}

const RULES: ListSyntax =
    ListSyntax { spaces: false, stride: false, group: false, last: None, descending: false, exclusion: true };

/// Reads a cpuset, elements with one, or lines of virsh. `<vcpupin>` overrides `<vcpu>`.
pub(super) fn read_text(text: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    let mut pins = LibvirtPins::default();
    if text.text.contains('<') {
        text.split(|c| c == '<').into_iter().try_for_each(|element| read_element(element, &mut pins))?;
    } else if text.text.contains("vcpupin") || text.text.contains("emulatorpin") {
        text.split_lines().into_iter().try_for_each(|line| read_virsh(line, &mut pins))?;
    } else {
        return Ok(NotationReading::from_set(read_set(text.without_quotes())?));
    }
    let beside = |cpus: &CpuSet| format!("The emulator's own threads are on {}.", list::format_counted(cpus));
    let remark = pins.emulator.as_ref().map(beside);
    match pins {
        LibvirtPins { mut vcpus, .. } if !vcpus.is_empty() => {
            vcpus.sort_by_key(|(vcpu, _)| *vcpu);
            let order = format!("{} virtual cpus are pinned, in the order of their numbers.", vcpus.len());
            let read = NotationReading::from_order(vcpus.into_iter().flat_map(|(_, cpus)| cpus));
            Ok(read.with_remark(order).with_remarks(remark))
        }
        LibvirtPins { domain: Some(cpus), .. } => {
            Ok(NotationReading::from_set(cpus).with_remark("All virtual cpus share these cpus.").with_remarks(remark))
        }
        LibvirtPins { emulator: Some(cpus), .. } => Ok(NotationReading::from_set(cpus)
            .with_remark("These cpus are for the emulator's own threads, not for virtual cpus.")),
        _ => Err(text.fault_here("no vcpu, vcpupin or emulatorpin element here has a cpuset")),
    }
}

fn read_set(list: TextPiece<'_>) -> Result<CpuSet, TextFault> {
    Ok(list::read_list(list, RULES)?.into_iter().collect())
}

fn read_element(element: TextPiece<'_>, pins: &mut LibvirtPins) -> Result<(), TextFault> {
    let Some(cpuset) = find_attribute(element, "cpuset") else { return Ok(()) };
    if element.text.starts_with("vcpupin") {
        let vcpu = find_attribute(element, "vcpu").ok_or_else(|| element.fault_here("expected vcpu='…' in vcpupin"))?;
        pins.add_pin(vcpu, cpuset)?;
    } else if element.text.starts_with("vcpu") {
        pins.domain = Some(read_set(cpuset)?);
    } else if element.text.starts_with("emulatorpin") {
        pins.emulator = Some(read_set(cpuset)?);
    }
    Ok(())
}

/// Reads `virsh vcpupin DOMAIN VCPU LIST` and `virsh emulatorpin DOMAIN LIST`, with or without argument names.
fn read_virsh(line: TextPiece<'_>, pins: &mut LibvirtPins) -> Result<(), TextFault> {
    let words = line.split_words();
    let Some(place) = words.iter().position(|word| matches!(word.text, "vcpupin" | "emulatorpin")) else {
        return Err(line.fault_here("expected vcpupin or emulatorpin").with_hint("virsh vcpupin DOMAIN 0 0-3"));
    };
    let mut named = [None, None, None];
    let mut bare = Vec::new();
    let mut arguments = words[place + 1..].iter().copied();
    while let Some(word) = arguments.next() {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        match NAMES.iter().position(|known| *known == name.text) {
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
    pins.add_pin(vcpu.ok_or_else(|| line.fault_here("no virtual cpu is named here"))?, list)
}

/// Names of virsh's arguments, in order.
const NAMES: [&str; 3] = ["--domain", "--vcpu", "--cpulist"];

/// Returns the value of an element's attribute.
fn find_attribute<'a>(element: TextPiece<'a>, name: &str) -> Option<TextPiece<'a>> {
    let rest = element.text_after(&format!(" {name}="))?;
    let mark = rest.text.chars().next().filter(|mark| matches!(mark, '\'' | '"'))?;
    let (value, _) = rest.strip_prefix(&mark.to_string())?.split_once(mark)?;
    Some(value)
}
