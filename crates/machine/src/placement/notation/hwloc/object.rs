//! Objects in hwloc's locations, such as `core:2-3` and `L3:all`, in the order of its logical indices.

use std::collections::HashSet;

use crate::facts::CacheKind;
use crate::machine::{Cache, MachineObject};
use crate::placement::notation::text::{TextFault, TextPiece};
use crate::placement::notation::tree;
use crate::{CpuSet, Level, Machine};

/// Options of a command line.
pub struct HwlocOptions {
    pub physical: bool,
    pub single: bool,
    /// The thread kept of each core, counted from 0; `None` keeps all.
    pub only_thread: Option<usize>,
    /// True to count cpus outside the cpuset too.
    pub disallowed: bool,
    /// True if masks are of nodes.
    pub nodeset: bool,
}

impl HwlocOptions {
    /// Returns the cpus that hwloc counts.
    pub fn counted_cpus<'a>(&self, machine: &'a Machine) -> &'a CpuSet {
        if self.disallowed { &machine.online } else { &machine.allowed }
    }
}

/// An object: its cpus, at least one, and the system's number, if it has one.
struct NumberedObject {
    cpus: CpuSet,
    lowest: u32,
    number: Option<i64>,
}

impl NumberedObject {
    fn new(cpus: CpuSet, number: Option<i64>) -> Option<Self> {
        Some(Self { lowest: cpus.lowest()?, cpus, number })
    }

    fn is_inside(&self, parent: &CpuSet) -> bool {
        // The lowest cpu rules out nearly all objects elsewhere.
        parent.contains(self.lowest) && self.cpus.is_subset(parent)
    }
}

/// Returns the objects of a tuple such as `core:2-3` inside any of some parents, each once.
pub(super) fn find_objects(
    tuple: TextPiece<'_>,
    parents: &[CpuSet],
    options: &HwlocOptions,
    machine: &Machine,
) -> Result<Vec<CpuSet>, TextFault> {
    let Some((name, index)) = tuple.split_once(':') else {
        let fault = tuple.fault_here(format!("expected an object and its index, found \"{}\"", tuple.text));
        return Err(fault.with_hint("core:2-3, package:1.core:0, 0x55, all"));
    };
    let of_type = of_type(name, options.counted_cpus(machine), machine)?;
    let mut chosen = Vec::new();
    // Objects with the same cpus, such as a package and its cache, would double with every tuple.
    let mut once = HashSet::new();
    for parent in parents {
        let there: Vec<&NumberedObject> = of_type.iter().filter(|object| object.is_inside(parent)).collect();
        for number in read_indexes(index, &there, options.physical)? {
            let found = match options.physical {
                true => there.iter().find(|object| object.number == Some(number)),
                false => usize::try_from(number).ok().and_then(|place| there.get(place)),
            };
            let found = found.ok_or_else(|| {
                let fault = absent_object(tuple, name, number, &there, options.physical);
                let bare = is_node(name) && machine.nodes.iter().any(|node| node.memory_bytes == Some(0));
                if bare { fault.with_hint("hwloc does not count nodes without memory") } else { fault }
            })?;
            if once.insert(&found.cpus) {
                chosen.push(found.cpus.clone());
            }
        }
    }
    Ok(chosen)
}

fn is_node(name: TextPiece<'_>) -> bool {
    ["numanode", "numa", "node"].iter().any(|known| name.text.eq_ignore_ascii_case(known))
}

fn absent_object(
    tuple: TextPiece<'_>,
    name: TextPiece<'_>,
    number: i64,
    there: &[&NumberedObject],
    physical: bool,
) -> TextFault {
    let name = name.text;
    if physical && there.iter().all(|object| object.number.is_none()) {
        return tuple.fault_here(format!("the system's numbers of {name} objects are unknown"));
    }
    let known = match (physical, there.len()) {
        (true, _) => there.iter().filter_map(|object| u32::try_from(object.number?).ok()).collect::<CpuSet>(),
        (false, count) => CpuSet::first_cpus(count as u32),
    };
    tuple.fault_here(format!(
        "{name}:{number} does not exist: there {} here",
        match known.len() {
            0 => "is none".to_owned(),
            1 => format!("is {name}:{known}"),
            _ => format!("are {name}:{known}"),
        }
    ))
}

/// Reads indices: `2`, `2-3`, `2-`, `2:3`, `all`, `odd` or `even`.
fn read_indexes(index: TextPiece<'_>, there: &[&NumberedObject], physical: bool) -> Result<Vec<i64>, TextFault> {
    let known: Vec<i64> = match physical {
        true => there.iter().filter_map(|object| object.number).collect(),
        false => (0..there.len() as i64).collect(),
    };
    let expected = "an index such as 2, 2-3, 2-, 2:3, all, odd or even";
    let number = |piece: TextPiece<'_>| piece.read_number(expected).map(i64::from);
    match index.text {
        "all" => return Ok(known),
        "odd" => return Ok(known.into_iter().filter(|number| number % 2 == 1).collect()),
        "even" => return Ok(known.into_iter().filter(|number| number % 2 == 0).collect()),
        _ => {}
    }
    if let Some((first, count)) = index.split_once(':') {
        let (first, count) = (number(first)?, number(count)?);
        if physical {
            return Ok((first..first + count).collect());
        }
        // Indices wrap to 0 after the last, as does a first index behind it. A count above the total would only repeat them.
        let total = (known.len() as i64).max(1);
        let first = if first < total { first } else { 0 };
        return Ok((first..first + count.min(total)).map(|place| place % total).collect());
    }
    match index.split_once('-') {
        Some((first, last)) if last.is_empty() => {
            let first = number(first)?;
            Ok(known.into_iter().filter(|number| *number >= first).collect())
        }
        Some((first, last)) => {
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return Err(index.fault_here(format!("the range {first}-{last} ends before it begins")));
            }
            Ok((first..=last).collect())
        }
        None => Ok(vec![number(index)?]),
    }
}

/// Returns all objects of a type in the order of hwloc's logical indices, with the subset of cpus that hwloc counts.
fn of_type(name: TextPiece<'_>, counted: &CpuSet, machine: &Machine) -> Result<Vec<NumberedObject>, TextFault> {
    let named =
        |objects: &[MachineObject]| objects.iter().map(|object| (object.cpus.clone(), object.os_number)).collect();
    let mut objects: Vec<(CpuSet, Option<i64>)> = match name.text.to_ascii_lowercase().as_str() {
        "package" | "socket" => named(&machine.packages),
        // hwloc has dies only if they differ from packages, and nodes only if they have memory.
        "die" if machine.objects_of(Level::Die) == machine.objects_of(Level::Package) => Vec::new(),
        "die" => named(&machine.dies),
        "numanode" | "numa" | "node" => {
            let with_memory = machine.nodes.iter().filter(|node| node.memory_bytes != Some(0));
            with_memory.map(|node| (node.cpus.clone(), Some(i64::from(node.number)))).collect()
        }
        "core" => named(&machine.cores),
        "pu" => machine.online.iter().map(|cpu| (CpuSet::from_cpu(cpu), Some(i64::from(cpu)))).collect(),
        other => {
            let (level, instructions) = parse_cache_name(other).ok_or_else(|| unknown_object(name))?;
            let holds_instructions = |cache: &Cache| cache.kind == CacheKind::Instruction;
            let is_it = |cache: &&Cache| cache.level == level && holds_instructions(cache) == instructions;
            machine.caches.iter().filter(is_it).map(|cache| (cache.cpus.clone(), None)).collect()
        }
    };
    for (cpus, _) in &mut objects {
        *cpus = cpus.intersection(counted);
    }
    tree::sort_by_cpus(&mut objects, |(cpus, _)| cpus, machine);
    Ok(objects.into_iter().filter_map(|(cpus, number)| NumberedObject::new(cpus, number)).collect())
}

fn unknown_object(name: TextPiece<'_>) -> TextFault {
    let fault = name.fault_here(format!("\"{}\" is not a known type of object", name.text));
    match name.text.to_ascii_lowercase().as_str() {
        "llc" | "ccx" => fault.with_hint("hwloc names caches by their level: L3"),
        "cluster" | "module" => fault.with_hint("hwloc names caches by their level: L2"),
        "group" => fault.with_hint("hwloc chooses its own groups: name the objects inside, such as core:0-3 or L2:0"),
        "cpu" => fault.with_hint("hwloc calls a logical processor pu"),
        _ => fault.with_hint("package, numanode, die, L3, L2, L1, core, pu"),
    }
}

/// Parses `l3`, `l3cache`, `l1d`, `l1i`: a level, and true for an instruction cache.
fn parse_cache_name(name: &str) -> Option<(u8, bool)> {
    let rest = name.strip_prefix('l')?;
    let rest = rest.strip_suffix("cache").unwrap_or(rest);
    let instructions = rest.ends_with('i');
    let level: u8 = rest.trim_end_matches(['i', 'd', 'u']).parse().ok()?;
    (1..=5).contains(&level).then_some((level, instructions))
}
