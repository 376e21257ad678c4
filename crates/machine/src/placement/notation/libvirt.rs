//! Elements of a libvirt domain.

use super::list::{self, Rules};
use super::text::{Fault, Piece};
use super::{Chosen, NotationLine, Read, nodes};
use crate::CpuSet;

/// Prints the number of virtual cpus, and in order one element that pins each.
pub(super) fn print(chosen: Chosen<'_>) -> Vec<NotationLine> {
    let Chosen { cpus, order, machine } = chosen;
    let count = order.len();
    let mut vcpu = NotationLine::new("vcpu", format!("<vcpu placement='static' cpuset='{cpus}'>{count}</vcpu>"));
    let memory = nodes::with_memory(cpus, machine);
    if machine.nodes.len() > 1 && !memory.is_empty() {
        vcpu = vcpu.remark(format!("For memory from there: <numatune><memory nodeset='{memory}'/></numatune>."));
    }
    let others = machine.online.difference(cpus);
    if !others.is_empty() {
        vcpu = vcpu.remark(format!("For the emulator's own threads elsewhere: <emulatorpin cpuset='{others}'/>."));
    }
    let pin = |(index, cpu)| NotationLine::new("cputune", format!("<vcpupin vcpu='{index}' cpuset='{cpu}'/>"));
    std::iter::once(vcpu).chain(order.iter().enumerate().map(pin)).collect()
}

/// Contents of elements, or of lines of virsh.
#[derive(Default)]
struct Pins {
    /// Virtual cpus with their cpus.
    vcpus: Vec<(u32, Vec<u32>)>,
    /// Cpus of the whole domain.
    domain: Option<CpuSet>,
    /// Cpus of the emulator's own threads.
    emulator: Option<CpuSet>,
    /// Number of cpus of all virtual cpus together.
    pinned: usize,
}

impl Pins {
    fn pin(&mut self, vcpu: Piece<'_>, list: Piece<'_>) -> Result<(), Fault> {
        let cpus = list::read(list, RULES)?;
        self.pinned += cpus.len();
        list::bounded(self.pinned, list)?;
        self.vcpus.push((vcpu.number("a number of a virtual cpu")?, cpus));
        Ok(())
    }
}

const RULES: Rules =
    Rules { spaces: false, stride: false, group: false, last: None, descending: false, exclusion: true };

/// Reads a cpuset, elements with one, or lines of virsh. `<vcpupin>` overrides `<vcpu>`.
pub(super) fn read(text: Piece<'_>) -> Result<Read, Fault> {
    let mut pins = Pins::default();
    if text.text.contains('<') {
        text.split(|c| c == '<').into_iter().try_for_each(|element| read_element(element, &mut pins))?;
    } else if text.text.contains("vcpupin") || text.text.contains("emulatorpin") {
        text.lines().into_iter().try_for_each(|line| read_virsh(line, &mut pins))?;
    } else {
        return Ok(Read::set(set(text.unquoted())?));
    }
    let beside = |cpus: &CpuSet| format!("The emulator's own threads are on {}.", list::counted(cpus));
    let remark = pins.emulator.as_ref().map(beside);
    match pins {
        Pins { mut vcpus, .. } if !vcpus.is_empty() => {
            vcpus.sort_by_key(|(vcpu, _)| *vcpu);
            let order = format!("{} virtual cpus are pinned, in the order of their numbers.", vcpus.len());
            let read = Read::ordered(vcpus.into_iter().flat_map(|(_, cpus)| cpus));
            Ok(read.remark(order).remarks(remark))
        }
        Pins { domain: Some(cpus), .. } => {
            Ok(Read::set(cpus).remark("All virtual cpus share these cpus.").remarks(remark))
        }
        Pins { emulator: Some(cpus), .. } => {
            Ok(Read::set(cpus).remark("These cpus are for the emulator's own threads, not for virtual cpus."))
        }
        _ => Err(text.fault("no vcpu, vcpupin or emulatorpin element here has a cpuset")),
    }
}

fn set(list: Piece<'_>) -> Result<CpuSet, Fault> {
    Ok(list::read(list, RULES)?.into_iter().collect())
}

fn read_element(element: Piece<'_>, pins: &mut Pins) -> Result<(), Fault> {
    let Some(cpuset) = attribute(element, "cpuset") else { return Ok(()) };
    if element.text.starts_with("vcpupin") {
        let vcpu = attribute(element, "vcpu").ok_or_else(|| element.fault("expected vcpu='…' in vcpupin"))?;
        pins.pin(vcpu, cpuset)?;
    } else if element.text.starts_with("vcpu") {
        pins.domain = Some(set(cpuset)?);
    } else if element.text.starts_with("emulatorpin") {
        pins.emulator = Some(set(cpuset)?);
    }
    Ok(())
}

/// Reads `virsh vcpupin DOMAIN VCPU LIST` and `virsh emulatorpin DOMAIN LIST`, with or without argument names.
fn read_virsh(line: Piece<'_>, pins: &mut Pins) -> Result<(), Fault> {
    let words = line.words();
    let Some(place) = words.iter().position(|word| matches!(word.text, "vcpupin" | "emulatorpin")) else {
        return Err(line.fault("expected vcpupin or emulatorpin").hint("virsh vcpupin DOMAIN 0 0-3"));
    };
    let mut named = [None, None, None];
    let mut bare = Vec::new();
    let mut arguments = words[place + 1..].iter().copied();
    while let Some(word) = arguments.next() {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        match NAMES.iter().position(|known| *known == name.text) {
            Some(index) => named[index] = value.or_else(|| arguments.next()),
            None if word.text.starts_with("--") => {}
            None => bare.push(word.unquoted()),
        }
    }
    let mut bare = bare.into_iter();
    let is_emulator = words[place].text == "emulatorpin";
    let [_, vcpu, list] = [0, 1, 2].map(|index| {
        if index == 1 && is_emulator { None } else { named[index].map(Piece::unquoted).or_else(|| bare.next()) }
    });
    let list = list.ok_or_else(|| line.fault("no list of cpus is given here, so virsh only shows them"))?;
    if is_emulator {
        pins.emulator = Some(set(list)?);
        return Ok(());
    }
    pins.pin(vcpu.ok_or_else(|| line.fault("no virtual cpu is named here"))?, list)
}

/// Names of virsh's arguments, in order.
const NAMES: [&str; 3] = ["--domain", "--vcpu", "--cpulist"];

/// Returns the value of an element's attribute.
fn attribute<'a>(element: Piece<'a>, name: &str) -> Option<Piece<'a>> {
    let rest = element.after(&format!(" {name}="))?;
    let mark = rest.text.chars().next().filter(|mark| matches!(mark, '\'' | '"'))?;
    let (value, _) = rest.strip_prefix(&mark.to_string())?.split_once(mark)?;
    Some(value)
}
