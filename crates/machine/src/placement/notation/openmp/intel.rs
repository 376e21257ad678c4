//! `KMP_AFFINITY` and `KMP_HW_SUBSET` of Intel's and LLVM's OpenMP runtimes.

use crate::placement::notation::list::{self, ListSyntax};
use crate::placement::notation::text::{TextFault, TextPiece};
use crate::placement::notation::{NotationReading, tree};
use crate::{CpuSet, Level, Machine};

/// Types of affinity that choose cpus by the threads' number and the machine, and the word that does the same here.
const TYPES: [&str; 7] = ["compact", "scatter", "balanced", "none", "disabled", "logical", "physical"];

/// Reads `granularity=fine,proclist=[0,1,{2,3}],explicit`.
pub(super) fn read_affinity(value: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    let Some(list) = value.text_after("proclist=[") else {
        let named = TYPES.iter().find(|name| value.text.split(',').any(|word| word == **name));
        let what = match named {
            Some(name) => format!("{name} spreads threads over all cpus, and names none"),
            None => "expected proclist=[…]".to_owned(),
        };
        let fault = value.fault_here(what).with_hint("KMP_AFFINITY=explicit,proclist=[0-3] names cpus");
        // KMP_AFFINITY: pid 1234 … bound to OS proc set 0
        let is_message = value.text.starts_with("pid");
        return Err(if named.is_some() || is_message { fault.into_silent() } else { fault });
    };
    let (list, rest) = list.split_once(']').ok_or_else(|| list.fault_here("the list has no closing bracket"))?;
    let bare: String = list.text.chars().filter(|c| !matches!(c, '{' | '}')).collect();
    if let Some(bad) = bare.chars().find(|c| !c.is_ascii_digit() && !",-: ".contains(*c)) {
        return Err(list.fault_here(format!("expected cpu numbers, found \"{bad}\"")));
    }
    let is_explicit = value.text.contains("explicit") || rest.text.contains("explicit");
    let ignored = "Without explicit the runtime ignores the list.".to_owned();
    let mut cpus = Vec::new();
    for item in list.split(|c| matches!(c, ',' | '{' | '}')).into_iter().filter(|item| !item.trim().is_empty()) {
        cpus.extend(list::read_list(item, ListSyntax { stride: true, ..ListSyntax::default() })?);
        list::check_count(cpus.len(), item)?;
    }
    Ok(NotationReading::from_order(cpus)
        .with_remark("One thread per cpu or set in this order, then again from the beginning.")
        .with_remarks((!is_explicit).then_some(ignored)))
}

/// Reads `2s,4c,1t`, with offsets `4c@2`: of the first packages the first cores, of each the first threads.
pub(super) fn read_subset(value: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let usable = &machine.allowed;
    let mut parents = vec![usable.clone()];
    for item in value.split(|c| matches!(c, ',' | 'x')) {
        let item = item.trim();
        let digits = item.text.bytes().take_while(u8::is_ascii_digit).count();
        let (name, offset) = item.text[digits..].split_once('@').map_or((&item.text[digits..], "0"), |parts| parts);
        let level = find_level(item, name)?;
        let count: usize = if digits == 0 { usize::MAX } else { item.text[..digits].parse().unwrap_or(usize::MAX) };
        let offset: usize = offset.parse().map_err(|_| item.fault_here("expected an offset such as 4c@2"))?;
        let objects = tree::sort_by_tree(machine.objects_of(level), machine);
        let inside = |parent: &CpuSet| {
            let parts = objects.iter().map(|object| object.intersection(parent)).filter(|part| !part.is_empty());
            parts.skip(offset).take(count).collect::<Vec<_>>()
        };
        parents = parents.iter().flat_map(inside).collect();
    }
    let cpus: CpuSet = parents.iter().flat_map(CpuSet::iter).collect();
    Ok(NotationReading::from_set(cpus).with_remark("The runtime uses only these cpus, counted core by core."))
}

fn find_level(item: TextPiece<'_>, name: &str) -> Result<Level, TextFault> {
    match name.to_ascii_lowercase().as_str() {
        "s" | "sockets" | "socket" => Ok(Level::Package),
        "d" | "dies" | "die" => Ok(Level::Die),
        "n" | "numa_domains" | "numas" | "numa" => Ok(Level::Node),
        "ll_caches" | "ll_cache" | "l3" | "l3_caches" | "l3_cache" => Ok(Level::Llc),
        "c" | "cores" | "core" => Ok(Level::Core),
        "t" | "threads" | "thread" => Ok(Level::Cpu),
        _ => Err(item.fault_here(format!("\"{name}\" is no level that is read here")).with_hint("2s,4c,1t")),
    }
}
