//! Locations of hwloc's tools, as hwloc(7) describes them.

use super::text::{Fault, Piece};
use super::{NotationLine, Read, mask, nodes, tree};
use crate::facts::CacheKind;
use crate::{CpuSet, Level, Machine};

/// The prefix with a mask, which hwloc takes by the system's numbers whatever the numbering of objects.
pub(super) fn print(cpus: &CpuSet) -> Vec<NotationLine> {
    let text = format!("hwloc-bind 0x{} --", mask::grouped(cpus).replace(',', ",0x"));
    vec![NotationLine::new("mask", text).remark("Masks go by the system's numbers, pu:0-3 by hwloc's own.")]
}

/// How a command line is to be understood.
struct Options {
    physical: bool,
    single: bool,
    /// Which thread of each core is kept, counted from 0, where only one is.
    only_thread: Option<usize>,
}

/// Options that say nothing about cpus, and those of them that are followed by a value.
const PLAIN: [&str; 12] = [
    "--strict",
    "--taskset",
    "-f",
    "--force",
    "-q",
    "--quiet",
    "-v",
    "--verbose",
    "--po",
    "--lo",
    "--physical-output",
    "--logical-output",
];
const WITH_VALUE: [&str; 4] = ["--pid", "--tid", "--mempolicy", "--best-memattr"];

/// Reads locations, or a whole command line of hwloc-bind or hwloc-calc.
pub(super) fn read(text: Piece<'_>, machine: &Machine) -> Result<Read, Fault> {
    let mut words = text.words();
    if words[0].text.contains("hwloc-bind") || words[0].text.contains("hwloc-calc") {
        words.remove(0);
    }
    let mut options = Options { physical: false, single: false, only_thread: None };
    let mut locations = Vec::new();
    let mut memory = Vec::new();
    let mut for_memory = false;
    let mut arguments = words.into_iter();
    while let Some(word) = arguments.next() {
        match word.text {
            "--" => break,
            "--membind" => for_memory = true,
            "--cpubind" => for_memory = false,
            known if WITH_VALUE.contains(&known) => drop(arguments.next()),
            other if other.starts_with('-') => option(word, &mut options)?,
            other if for_memory => memory.push(other),
            _ => locations.push(word),
        }
    }
    let mut cpus = CpuSet::new();
    for location in locations {
        cpus = combined(&cpus, location, &options, machine)?;
    }
    Ok(conclude(cpus, &options, machine).remarks(memory.iter().map(|place| format!("Memory is bound to {place}."))))
}

fn option(word: Piece<'_>, options: &mut Options) -> Result<(), Fault> {
    match word.text {
        "-p" | "--physical" | "--pi" | "--physical-input" => options.physical = true,
        "-l" | "--logical" | "--li" | "--logical-input" => options.physical = false,
        "--single" => options.single = true,
        "--no-smt" => options.only_thread = Some(0),
        other if other.starts_with("--no-smt=") => {
            let thread = word.after("=").unwrap_or(word).number("which thread of each core")?;
            options.only_thread = Some(thread as usize);
        }
        other if PLAIN.contains(&other) => {}
        other => return Err(word.fault(format!("this option is not known here: {other}"))),
    }
    Ok(())
}

fn conclude(mut cpus: CpuSet, options: &Options, machine: &Machine) -> Read {
    if let Some(thread) = options.only_thread {
        let kept = |core: &crate::machine::Object| core.cpus.iter().nth(thread);
        cpus = cpus.intersection(&machine.cores.iter().filter_map(kept).collect());
    }
    if options.single {
        cpus = cpus.lowest().map(CpuSet::of).unwrap_or_default();
    }
    let logical = "hwloc numbers objects by itself (logical indexes), here as corewise topology shows them.";
    let physical = "-p: objects go by the system's numbers, which need not be unique: the first that fits is taken.";
    Read::set(cpus).remark(if options.physical { physical } else { logical })
}

/// The cpus so far with one more location: added, or taken out (`~`), kept in common (`x`), or exchanged (`^`).
fn combined(so_far: &CpuSet, word: Piece<'_>, options: &Options, machine: &Machine) -> Result<CpuSet, Fault> {
    if let Some(rest) = word.strip_prefix("~") {
        return Ok(so_far.difference(&location(rest, options, machine)?));
    }
    if let Some(rest) = word.strip_prefix("x") {
        return Ok(so_far.intersection(&location(rest, options, machine)?));
    }
    if let Some(rest) = word.strip_prefix("^") {
        let other = location(rest, options, machine)?;
        return Ok(so_far.union(&other).difference(&so_far.intersection(&other)));
    }
    Ok(so_far.union(&location(word, options, machine)?))
}

fn location(word: Piece<'_>, options: &Options, machine: &Machine) -> Result<CpuSet, Fault> {
    if matches!(word.text, "all" | "root" | "machine" | "machine:0") {
        return Ok(machine.online.clone());
    }
    if word.text.starts_with("0x") {
        return bitmap(word, machine.possible.highest());
    }
    if let Some(set) = word.strip_prefix("nodeset=") {
        let numbers = bitmap(set, nodes::numbers(machine).highest())?;
        let chosen = machine.nodes.iter().filter(|node| numbers.contains(node.number));
        return Ok(chosen.fold(CpuSet::new(), |sum, node| sum.union(&node.cpus)));
    }
    if word.text.contains('=') {
        return Err(word.fault("devices and other attributes cannot be looked up here"));
    }
    let mut parents = vec![machine.online.clone()];
    for tuple in word.split(|c| c == '.') {
        let mut chosen = Vec::new();
        for parent in &parents {
            chosen.extend(objects(tuple, parent, options, machine)?);
        }
        parents = chosen;
    }
    Ok(parents.iter().fold(CpuSet::new(), |sum, set| sum.union(set)))
}

/// A mask in groups of 32 bits, each with or without `0x`; an empty group is zero, and `0xf...f` fills all above.
fn bitmap(word: Piece<'_>, highest: Option<u32>) -> Result<CpuSet, Fault> {
    let (infinite, word) = match word.strip_prefix("0xf...f") {
        Some(rest) => (true, rest.strip_prefix(",").unwrap_or(rest)),
        None => (false, word),
    };
    let mut nibbles = Vec::new();
    let groups = word.split(|c| c == ',');
    for (index, group) in groups.iter().enumerate() {
        let digits = mask::nibbles_of(group.strip_prefix("0x").unwrap_or(*group))?;
        if digits.len() > 8 && groups.len() > 1 {
            return Err(group.fault("a group between commas has at most eight digits"));
        }
        let filled = if index > 0 || infinite { 8_usize.saturating_sub(digits.len()) } else { 0 };
        nibbles.extend(std::iter::repeat_n(0, filled));
        nibbles.extend(digits);
    }
    if infinite && word.is_empty() {
        return Ok((0..=highest.unwrap_or(0)).collect());
    }
    let cpus = mask::from_nibbles(word, &nibbles)?;
    let above = if infinite { nibbles.len() as u32 * 4..highest.map_or(0, |cpu| cpu + 1) } else { 0..0 };
    Ok(cpus.iter().chain(above).collect())
}

/// One object: its cpus, and the system's number for it where it has one.
struct Numbered {
    cpus: CpuSet,
    number: Option<i64>,
}

/// The objects of a tuple such as `core:2-3` inside a parent.
fn objects(tuple: Piece<'_>, parent: &CpuSet, options: &Options, machine: &Machine) -> Result<Vec<CpuSet>, Fault> {
    let Some((name, index)) = tuple.split_once(':') else {
        let fault = tuple.fault(format!("expected an object and its index, found \"{}\"", tuple.text));
        return Err(fault.hint("core:2-3, package:1.core:0, 0x55, all"));
    };
    let mut there = of_type(name, machine)?;
    there.retain(|object| object.cpus.is_subset(parent) && !object.cpus.is_empty());
    let wanted = indexes(index, &there, options.physical)?;
    let mut chosen = Vec::new();
    for number in wanted {
        let found = match options.physical {
            true => there.iter().find(|object| object.number == Some(number)),
            false => usize::try_from(number).ok().and_then(|place| there.get(place)),
        };
        let found = found.ok_or_else(|| absent(tuple, name, number, &there, options.physical))?;
        chosen.push(found.cpus.clone());
    }
    Ok(chosen)
}

fn absent(tuple: Piece<'_>, name: Piece<'_>, number: i64, there: &[Numbered], physical: bool) -> Fault {
    let name = name.text;
    if physical && there.iter().all(|object| object.number.is_none()) {
        return tuple.fault(format!("the system's numbers of {name} objects are not known here"));
    }
    let known = match (physical, there.len()) {
        (true, _) => there.iter().filter_map(|object| u32::try_from(object.number?).ok()).collect::<CpuSet>(),
        (false, count) => CpuSet::first(count as u32),
    };
    tuple.fault(format!(
        "{name}:{number} is not there: there {} here",
        match known.len() {
            0 => "is none".to_owned(),
            1 => format!("is {name}:{known}"),
            _ => format!("are {name}:{known}"),
        }
    ))
}

/// The indexes that `2`, `2-3`, `2-`, `2:3`, `all`, `odd` or `even` name.
fn indexes(index: Piece<'_>, there: &[Numbered], physical: bool) -> Result<Vec<i64>, Fault> {
    let known: Vec<i64> = match physical {
        true => there.iter().filter_map(|object| object.number).collect(),
        false => (0..there.len() as i64).collect(),
    };
    let expected = "an index such as 2, 2-3, 2-, 2:3, all, odd or even";
    let number = |piece: Piece<'_>| piece.number(expected).map(i64::from);
    match index.text {
        "all" => return Ok(known),
        "odd" => return Ok(known.into_iter().filter(|number| number % 2 == 1).collect()),
        "even" => return Ok(known.into_iter().filter(|number| number % 2 == 0).collect()),
        _ => {}
    }
    if let Some((first, count)) = index.split_once(':') {
        let (first, count) = (number(first)?, number(count)?);
        let total = (known.len() as i64).max(1);
        return Ok((first..first + count).map(|place| if physical { place } else { place % total }).collect());
    }
    match index.split_once('-') {
        Some((first, last)) if last.is_empty() => {
            let first = number(first)?;
            Ok(known.into_iter().filter(|number| *number >= first).collect())
        }
        Some((first, last)) => {
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return Err(index.fault(format!("the range {first}-{last} ends before it begins")));
            }
            Ok((first..=last).collect())
        }
        None => Ok(vec![number(index)?]),
    }
}

/// All objects of a type in the order of hwloc's logical indexes.
fn of_type(name: Piece<'_>, machine: &Machine) -> Result<Vec<Numbered>, Fault> {
    let level = |level: Level| tree::sorted(machine.objects(level), machine);
    let sets = match name.text.to_ascii_lowercase().as_str() {
        "package" | "socket" => level(Level::Package),
        "numanode" | "numa" | "node" => level(Level::Node),
        "die" => level(Level::Die),
        "core" => level(Level::Core),
        "pu" => tree::order(machine).into_iter().map(CpuSet::of).collect(),
        other => match cache(other) {
            Some((level, kind)) => {
                let is_it = |cache: &&crate::machine::Cache| {
                    cache.level == level && (cache.kind == CacheKind::Instruction) == (kind == CacheKind::Instruction)
                };
                tree::sorted(machine.caches.iter().filter(is_it).map(|cache| cache.cpus.clone()).collect(), machine)
            }
            None => return Err(unknown(name)),
        },
    };
    Ok(sets
        .into_iter()
        .map(|cpus| Numbered { number: number(&name.text.to_ascii_lowercase(), &cpus, machine), cpus })
        .collect())
}

fn unknown(name: Piece<'_>) -> Fault {
    let fault = name.fault(format!("\"{}\" is no type of object that is known here", name.text));
    match name.text.to_ascii_lowercase().as_str() {
        "llc" | "ccx" => fault.hint("hwloc names caches by their level: L3"),
        "cluster" | "module" => fault.hint("hwloc names caches by their level: L2"),
        "cpu" => fault.hint("hwloc calls a logical processor pu"),
        _ => fault.hint("package, numanode, die, L3, L2, L1, core, pu"),
    }
}

/// `l3`, `l3cache`, `l1d`, `l1i`: a level and whether it holds instructions.
fn cache(name: &str) -> Option<(u8, CacheKind)> {
    let rest = name.strip_prefix('l')?;
    let rest = rest.strip_suffix("cache").unwrap_or(rest);
    let (level, kind) = match (rest.strip_suffix('i'), rest.strip_suffix('d').or(rest.strip_suffix('u'))) {
        (Some(level), _) => (level, CacheKind::Instruction),
        (None, Some(level)) => (level, CacheKind::Data),
        (None, None) => (rest, CacheKind::Data),
    };
    let level = level.parse().ok()?;
    (1..=5).contains(&level).then_some((level, kind))
}

/// The system's number for an object.
fn number(name: &str, cpus: &CpuSet, machine: &Machine) -> Option<i64> {
    let of = |objects: &[crate::machine::Object]| objects.iter().find(|object| object.cpus == *cpus)?.os_number;
    match name {
        "package" | "socket" => of(&machine.packages),
        "die" => of(&machine.dies),
        "core" => of(&machine.cores),
        "numanode" | "numa" | "node" => {
            machine.nodes.iter().find(|node| node.cpus == *cpus).map(|node| i64::from(node.number))
        }
        "pu" => cpus.lowest().map(i64::from),
        _ => None,
    }
}
