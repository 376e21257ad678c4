//! The tables of lscpu: `-e` (columns with spaces), `-p` (with commas), and `-e -J` (JSON).

use corewise_machine::facts::CacheKind;

use super::{PastedCpu, PastedCpus};
use crate::topology::limits::LARGEST_CPU;

/// Reads the first table that has rows.
pub fn read_tables(text: &str) -> PastedCpus {
    [read_extended(text), read_parsable(text), read_json(text)]
        .into_iter()
        .find(|cpus| !cpus.is_empty())
        .unwrap_or_default()
}

/// Reads `lscpu -e`: a header in capitals, then a row for each cpu.
fn read_extended(text: &str) -> PastedCpus {
    let mut lines = text.lines().skip_while(|line| {
        let mut names = line.split_whitespace();
        !(names.next() == Some("CPU") && names.any(|name| name == "CORE" || name == "SOCKET" || name == "NODE"))
    });
    let Some(header) = lines.next() else { return PastedCpus::new() };
    let names: Vec<String> = header.split_whitespace().map(str::to_ascii_lowercase).collect();
    let rows = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.take_while(|row| row.first().is_some_and(|cell| cell.parse::<u32>().is_ok()))
        .filter_map(|row| read_row(names.iter().map(String::as_str).zip(row)))
        .collect()
}

/// Reads `lscpu -p`: the last comment line names the columns.
fn read_parsable(text: &str) -> PastedCpus {
    let mut names: Vec<String> = Vec::new();
    let mut cpus = PastedCpus::new();
    for line in text.lines() {
        if let Some(header) = line.strip_prefix("# ").filter(|header| header.starts_with("CPU,")) {
            names = header.split(',').map(str::to_ascii_lowercase).collect();
        } else if !names.is_empty() && line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(',') {
            cpus.extend(read_row(names.iter().map(String::as_str).zip(line.split(','))));
        }
    }
    cpus
}

/// Reads `lscpu -e -J`: an object for each cpu, none inside another.
fn read_json(text: &str) -> PastedCpus {
    let Some((_, list)) = text.split_once("\"cpus\"") else { return PastedCpus::new() };
    let objects = list.split('{').skip(1).map(|object| object.split('}').next().unwrap_or(object));
    let row = |object: &str| {
        let pairs: Vec<(String, String)> = object.split('\n').flat_map(pairs_of).collect();
        read_row(pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    };
    objects.filter_map(row).collect()
}

/// Splits `"cpu": 0, "l1d:l1i:l2:l3": "0:0:0:0"` into pairs.
fn pairs_of(line: &str) -> Vec<(String, String)> {
    let pair = |part: &str| {
        let (name, value) = part.split_once("\":")?;
        let name = name.trim().trim_start_matches('"');
        Some((name.to_owned(), value.trim().trim_end_matches(',').trim_matches('"').to_owned()))
    };
    line.split(',').filter_map(pair).collect()
}

/// Reads one row: the cpu's number and its place; `None` for a row without a number.
fn read_row<'a>(cells: impl Iterator<Item = (&'a str, &'a str)>) -> Option<(u32, PastedCpu)> {
    let mut number = None;
    let mut cpu = PastedCpu::default();
    for (name, value) in cells {
        let as_number = value.parse::<i64>().ok();
        match name {
            "cpu" => number = value.parse::<u32>().ok(),
            "core" => cpu.core = as_number,
            "socket" => cpu.package = as_number,
            "node" => cpu.node = value.parse().ok(),
            "online" => cpu.is_offline = matches!(value, "no" | "N" | "false"),
            "maxmhz" => cpu.maximum_frequency_khz = value.parse::<f64>().ok().map(|mhz| (mhz * 1000.0) as u64),
            _ if name.contains("l1d") && name.contains(':') => add_caches(&mut cpu, name, value),
            _ => add_cache(&mut cpu, name, value),
        }
    }
    number.filter(|number| *number <= LARGEST_CPU).map(|number| (number, cpu))
}

/// Adds the caches of `L1d:L1i:L2:L3` with `0:0:0:0`.
fn add_caches(cpu: &mut PastedCpu, names: &str, values: &str) {
    names.split(':').zip(values.split(':')).for_each(|(name, value)| add_cache(cpu, name, value));
}

fn add_cache(cpu: &mut PastedCpu, name: &str, value: &str) {
    let place = match name {
        "l1d" => (1, CacheKind::Data),
        "l1i" => (1, CacheKind::Instruction),
        "l2" => (2, CacheKind::Unified),
        "l3" => (3, CacheKind::Unified),
        "l4" => (4, CacheKind::Unified),
        _ => return,
    };
    if let Ok(id) = value.parse::<u64>() {
        cpu.caches.insert(place, (id, None));
    }
}
