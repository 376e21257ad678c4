//! Environment variables of OpenMP runtimes: `OMP_PLACES`, `GOMP_CPU_AFFINITY` of GCC's, and those of Intel's and LLVM's.

mod intel;

use super::choices::{NamedReading, agree};
use super::keyed::{ValueExtent, find_values};
use super::list::{self, ListSyntax};
use super::text::{TextFault, TextPiece};
use super::{NotationLine, NotationReading, tree};
use crate::cpu_set::MAXIMUM_CPU;
use crate::{CpuSet, Level, Machine};

/// Prints one place for each cpu in order.
pub(super) fn print_lines(order: &[u32]) -> Vec<NotationLine> {
    let either = "OMP_PLACES and GOMP_CPU_AFFINITY are alternatives; set only one.";
    vec![
        NotationLine::new("any runtime", format!("OMP_PROC_BIND=close OMP_PLACES={}", format_places(order)))
            .with_remark("The runtime pins its own threads, thread n to place n; other threads stay free."),
        NotationLine::new("GCC's runtime", format!("GOMP_CPU_AFFINITY=\"{}\"", list::in_order(order, " ")))
            .into_secondary()
            .with_remark(either),
    ]
}

/// Formats one place per cpu; eight or more cpus at equal steps become an interval.
fn format_places(order: &[u32]) -> String {
    let mut texts = Vec::new();
    let mut rest = order;
    while let [first, ..] = rest {
        let step = rest.get(1).map_or(1, |second| i64::from(*second) - i64::from(*first));
        let fits = |(index, cpu): &(usize, &u32)| i64::from(**cpu) == i64::from(*first) + *index as i64 * step;
        let length = rest.iter().enumerate().take_while(fits).count();
        if length < 8 {
            texts.push(format!("{{{first}}}"));
            rest = &rest[1..];
            continue;
        }
        let step = if step == 1 { String::new() } else { format!(":{step}") };
        texts.push(format!("{{{first}}}:{length}{step}"));
        rest = &rest[length..];
    }
    texts.join(",")
}

/// Variables by which a text is recognized.
pub(super) const KEYS: [&str; 4] = ["OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "KMP_HW_SUBSET"];

/// Reads `OMP_PLACES=…`, `GOMP_CPU_AFFINITY=…`, `KMP_AFFINITY=…`, `KMP_HW_SUBSET=…`, the output of `OMP_DISPLAY_ENV`, or the value of the
/// first. If several are set, they must agree.
pub(super) fn read_text(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let mut parts = Vec::new();
    for key in KEYS {
        let extent = if key == "GOMP_CPU_AFFINITY" { ValueExtent::Numbers } else { ValueExtent::Word };
        for found in find_values(text, key, extent) {
            let value = found.value.without_quotes();
            parts.push(NamedReading::new(
                key,
                match key {
                    "OMP_PLACES" => read_places(value, machine)?,
                    "GOMP_CPU_AFFINITY" => read_gnu(value)?,
                    "KMP_AFFINITY" => intel::read_affinity(value)?,
                    _ => intel::read_subset(value, machine)?,
                },
            ));
        }
    }
    let bind = find_values(text, "OMP_PROC_BIND", ValueExtent::Word).first().map(|found| found.value);
    if let (true, Some(bind)) = (parts.is_empty(), bind) {
        let fault = bind.fault_here("OMP_PROC_BIND distributes threads over places, but does not define the places");
        return Err(fault.with_hint("OMP_PLACES=cores names places"));
    }
    let read = match parts.is_empty() {
        true => read_places(text.without_quotes(), machine)?,
        false => agree(text, parts, || text.fault_here("no variable here names places"))?,
    };
    let is_free = bind.is_some_and(|bind| bind.text.eq_ignore_ascii_case("false"));
    let moving = "OMP_PROC_BIND=false leaves the threads free: nothing is pinned.".to_owned();
    Ok(read.with_remarks(is_free.then_some(moving)))
}

/// Reads a list of `GOMP_CPU_AFFINITY`: numbers, ranges and strides separated by spaces or commas.
fn read_gnu(value: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    let cpus = list::read_list(value, ListSyntax { spaces: true, stride: true, ..ListSyntax::default() })?;
    Ok(NotationReading::from_order(cpus)
        .with_remark("One thread per cpu in this order, then again from the beginning."))
}

/// Reads the value of `OMP_PLACES`; the places of an abstract name are in the order of the tree.
fn read_places(value: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let value = value.trim();
    if !value.text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return read_explicit_places(value);
    }
    let (name, count) = match value.split_once('(') {
        Some((name, rest)) => {
            let inside = rest.trim().strip_suffix(")").ok_or_else(|| rest.fault_here("expected ) after the number"))?;
            (name.trim(), Some(inside.read_number("a number of places")?))
        }
        None => (value, None),
    };
    let level = match name.text.to_ascii_lowercase().as_str() {
        "threads" => Level::Cpu,
        "cores" => Level::Core,
        "sockets" => Level::Package,
        "ll_caches" => Level::Llc,
        "numa_domains" => Level::Node,
        other => return Err(unknown_word(name, other)),
    };
    if count == Some(0) {
        return Err(value.fault_here("the number of places is at least 1"));
    }
    let usable = |objects: Vec<CpuSet>| objects.iter().map(|cpus| cpus.intersection(&machine.allowed)).collect();
    let mut places: Vec<CpuSet> = usable(tree::sort_by_tree(machine.objects_of(level), machine));
    places.retain(|place| !place.is_empty());
    let there = places.len();
    places.truncate(count.map_or(there, |count| count as usize));
    let fewer = count.filter(|count| *count as usize > there);
    let fewer = fewer.map(|count| format!("There are only {there} places of {} here, not {count}.", name.text));
    let places: Vec<Vec<u32>> = places.iter().map(|place| place.iter().collect()).collect();
    let order = places.iter().flatten().copied();
    let remark = format!("{}; the runtime chooses which {} to use.", describe_places(&places), name.text);
    Ok(NotationReading::from_order(order).with_remark(remark).with_remarks(fewer))
}

fn unknown_word(name: TextPiece<'_>, word: &str) -> TextFault {
    let fault = name.fault_here(format!("\"{}\" names no places", name.text));
    match word {
        "close" | "spread" | "primary" | "master" | "true" | "false" => {
            fault.with_hint("this is a value of OMP_PROC_BIND")
        }
        _ => fault.with_hint("threads, cores, sockets, ll_caches, numa_domains, or places such as {0:4}:4:8"),
    }
}

fn describe_places(places: &[Vec<u32>]) -> String {
    let shown = |place: &Vec<u32>| format!("{{{}}}", place.iter().copied().collect::<CpuSet>());
    let shown = places.iter().take(4).map(shown).collect::<Vec<_>>().join(" ");
    let more = if places.len() > 4 { " …" } else { "" };
    let noun = if places.len() == 1 { "place" } else { "places" };
    format!("{} {noun}: {shown}{more}", places.len())
}

/// Reads places by number: `{0:4}:4:8`, `{0,1},{4}`, `!{2}`, `3`.
fn read_explicit_places(value: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    let mut places: Vec<Vec<u32>> = Vec::new();
    let mut named = 0;
    for item in outside_braces(value) {
        let item = item.trim();
        if let Some(removed) = item.strip_prefix("!") {
            let place = sort_place(read_place(removed.trim())?);
            let index = places.iter().position(|other| sort_place(other.clone()) == place);
            places.remove(index.ok_or_else(|| item.fault_here("! removes a place that was not named before"))?);
            continue;
        }
        let (first, interval) = match item.text.find('}') {
            Some(_) => {
                let rest = item.text_after("}").unwrap_or(item);
                (item, Some(rest.trim()).filter(|rest| !rest.is_empty()))
            }
            None => match item.split_once(':') {
                Some((first, _)) => (first, item.text_after(first.text)),
                None => (item, None),
            },
        };
        let first = read_place(first)?;
        let (count, step) = match interval {
            Some(interval) => interval_of(interval)?,
            None => (1, 1),
        };
        // An empty place takes memory too.
        named += first.len().max(1) * count as usize;
        list::check_count(named, item)?;
        for index in 0..count {
            places.push(shift_place(&first, i64::from(index) * step, item)?);
        }
    }
    let order: Vec<u32> = places.iter().flatten().copied().collect();
    let remark = format!("{}; thread n runs in place n.", describe_places(&places));
    Ok(NotationReading::from_order(order).with_remark(remark))
}

fn sort_place(mut place: Vec<u32>) -> Vec<u32> {
    place.sort_unstable();
    place
}

fn shift_place(place: &[u32], by: i64, item: TextPiece<'_>) -> Result<Vec<u32>, TextFault> {
    let shift = |cpu: &u32| u32::try_from(i64::from(*cpu) + by).ok().filter(|cpu| *cpu <= MAXIMUM_CPU);
    let shifted: Option<Vec<u32>> = place.iter().map(shift).collect();
    shifted.ok_or_else(|| item.fault_here("this interval exceeds the range of cpu numbers"))
}

/// Reads `:4:8` after a place: the count and the step.
fn interval_of(text: TextPiece<'_>) -> Result<(u32, i64), TextFault> {
    let inner = text.strip_prefix(":").ok_or_else(|| text.fault_here("expected : or , after a place"))?;
    let (count, step) = match inner.split_once(':') {
        Some((count, step)) => (count, read_signed(step)?),
        None => (inner, 1),
    };
    match count.read_number("a number of places")? {
        0 => Err(count.fault_here("the number of places is at least 1")),
        count => Ok((count, step)),
    }
}

fn read_signed(text: TextPiece<'_>) -> Result<i64, TextFault> {
    let text = text.trim();
    match text.strip_prefix("-") {
        Some(rest) => Ok(-i64::from(rest.read_number("a step")?)),
        None => Ok(i64::from(text.read_number("a step")?)),
    }
}

/// Reads the cpus of one place: `{0,1}`, `{0:4}`, `{0:4:2}`, `{0:4,!2}`, or a bare number.
fn read_place(text: TextPiece<'_>) -> Result<Vec<u32>, TextFault> {
    let text = text.trim();
    let Some(inner) = text.strip_prefix("{") else { return Ok(vec![text.read_number("a place such as {0:4}")?]) };
    let Some((inner, _)) = inner.split_once('}') else {
        return Err(text.fault_here("this place has no closing brace"));
    };
    let mut cpus = Vec::new();
    let mut removed = CpuSet::new();
    for item in inner.split(|c| c == ',') {
        let item = item.trim();
        if let Some(cpu) = item.strip_prefix("!") {
            removed.insert(cpu.read_number("a cpu number")?);
            continue;
        }
        let (first, count, step) = match item.split_once(':') {
            Some((first, _)) => {
                let (count, step) = interval_of(item.text_after(first.text).unwrap_or(item))?;
                (first, count, step)
            }
            None => (item, 1, 1),
        };
        let first = first.read_number("a cpu number")?;
        list::check_count(cpus.len() + count as usize, item)?;
        for index in 0..count {
            cpus.extend(shift_place(&[first], i64::from(index) * step, item)?);
        }
    }
    cpus.retain(|cpu| !removed.contains(*cpu));
    Ok(cpus)
}

/// Splits at the commas outside braces.
fn outside_braces(value: TextPiece<'_>) -> Vec<TextPiece<'_>> {
    let depth = std::cell::Cell::new(0_i32);
    value.split(|character| {
        depth.set(depth.get() + i32::from(character == '{') - i32::from(character == '}'));
        character == ',' && depth.get() == 0
    })
}
