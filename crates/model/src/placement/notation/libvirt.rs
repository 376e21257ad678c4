//! Elements of a libvirt domain.

use super::list::{self, Rules};
use super::text::{Fault, Piece};
use super::{Chosen, NotationLine, Read, nodes};

/// The number of virtual cpus, and one element for each that pins it, in order.
pub(super) fn print(chosen: Chosen<'_>) -> Vec<NotationLine> {
    let Chosen { cpus, order, machine } = chosen;
    let count = order.len();
    let mut vcpu = NotationLine::new("vcpu", format!("<vcpu placement='static' cpuset='{cpus}'>{count}</vcpu>"));
    let memory = nodes::with_memory(cpus, machine);
    if machine.nodes.len() > 1 && !memory.is_empty() {
        vcpu = vcpu.remark(format!("Memory from there: <numatune><memory nodeset='{memory}'/></numatune>."));
    }
    let others = machine.online.difference(cpus);
    if !others.is_empty() {
        vcpu = vcpu.remark(format!("The emulator's own threads elsewhere: <emulatorpin cpuset='{others}'/>."));
    }
    let pin = |(index, cpu)| NotationLine::new("cputune", format!("<vcpupin vcpu='{index}' cpuset='{cpu}'/>"));
    std::iter::once(vcpu).chain(order.iter().enumerate().map(pin)).collect()
}

/// Reads a cpuset, or elements with one; `<vcpupin>` holds against `<vcpu>`.
pub(super) fn read(text: Piece<'_>) -> Result<Read, Fault> {
    let rules = Rules { exclusion: true, ..Rules::default() };
    if !text.text.contains('<') {
        return Ok(Read::set(list::read(text.unquoted(), rules)?.into_iter().collect()));
    }
    let mut pins = Vec::new();
    let mut domain = None;
    for element in text.split(|c| c == '<') {
        let Some(cpuset) = attribute(element, "cpuset") else { continue };
        if element.text.starts_with("vcpupin") {
            let vcpu = attribute(element, "vcpu").ok_or_else(|| element.fault("expected vcpu='…' in vcpupin"))?;
            pins.push((vcpu.number("a number of a virtual cpu")?, list::read(cpuset, rules)?));
        } else if element.text.starts_with("vcpu") {
            domain = Some(list::read(cpuset, rules)?);
        }
    }
    pins.sort_by_key(|(vcpu, _)| *vcpu);
    match domain {
        _ if !pins.is_empty() => {
            let remark = format!("{} virtual cpus are pinned, in the order of their numbers.", pins.len());
            Ok(Read::ordered(pins.into_iter().flat_map(|(_, cpus)| cpus)).remark(remark))
        }
        Some(cpus) => Ok(Read::set(cpus.into_iter().collect()).remark("All virtual cpus share these cpus.")),
        None => Err(text.fault("no vcpu or vcpupin element here has a cpuset")),
    }
}

/// The value of an element's attribute.
fn attribute<'a>(element: Piece<'a>, name: &str) -> Option<Piece<'a>> {
    let rest = element.after(&format!(" {name}="))?;
    let mark = rest.text.chars().next().filter(|mark| matches!(mark, '\'' | '"'))?;
    let (value, _) = rest.strip_prefix(&mark.to_string())?.split_once(mark)?;
    Some(value)
}
