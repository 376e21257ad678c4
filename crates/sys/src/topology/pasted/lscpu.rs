//! The summary that lscpu prints without options, as text or as JSON.

use std::collections::BTreeMap;

use corewise_machine::CpuSet;
use corewise_machine::facts::{CacheKind, NodeFacts};

use super::summary::{SummaryCache, SummaryFacts, SummaryModel};
use crate::topology::nodes::LARGEST_NODE;

/// Names of the fields that count threads, cores and sockets.
const COUNTS: [&[&str]; 3] =
    [&["Thread(s) per core"], &["Core(s) per socket", "Core(s) per cluster"], &["Socket(s)", "Cluster(s)"]];

/// Reads the summary; empty if the text has none.
pub fn read_summary(text: &str) -> SummaryFacts {
    let mut fields: BTreeMap<String, String> = BTreeMap::new();
    let mut models: Vec<SummaryModel> = Vec::new();
    let pairs = text.lines().filter_map(field_of).chain(json_fields(text));
    for (name, value) in pairs {
        // A processor of several kinds of core has a model of each, with its own counts below.
        if name == "Model name" && !value.is_empty() && models.iter().all(|model| model.name != value) {
            models.push(SummaryModel { name: value.clone(), counts: [None; 3] });
        }
        let place = COUNTS.iter().position(|names| names.contains(&name.as_str()));
        if let (Some(model), Some(place)) = (models.last_mut(), place) {
            model.counts[place] = model.counts[place].or(value.parse().ok());
        }
        fields.entry(name).or_insert(value);
    }
    let [threads, cores, sockets] = COUNTS;
    if !fields.contains_key("CPU(s)") && !fields.contains_key("On-line CPU(s) list") {
        return SummaryFacts::default();
    }
    let number = |names: &[&str]| names.iter().find_map(|name| fields.get(*name)?.parse::<usize>().ok());
    let list = |name: &str| fields.get(name).and_then(|list| CpuSet::parse_list(list).ok());
    let count = number(&["CPU(s)"]).map(|count| CpuSet::first_cpus(count as u32));
    let text_of = |name: &str| fields.get(name).cloned().filter(|value| !value.is_empty() && value != "-");
    SummaryFacts {
        online: list("On-line CPU(s) list").or_else(|| list("On-line CPU(s) mask")).or(count).unwrap_or_default(),
        offline: list("Off-line CPU(s) list").unwrap_or_default(),
        threads: number(threads),
        cores: number(cores),
        sockets: number(sockets),
        nodes: nodes_of(&fields),
        caches: caches_of(&fields),
        model_name: Some(models.iter().map(|model| model.name.as_str()).collect::<Vec<_>>().join(" + "))
            .filter(|_| models.len() > 1)
            .or_else(|| text_of("Model name"))
            .or_else(|| text_of("BIOS Model name")),
        models,
        vendor: text_of("Vendor ID"),
        family: number(&["CPU family"]).map(|number| number as u32),
        model: number(&["Model"]).map(|number| number as u32),
        stepping: number(&["Stepping"]).map(|number| number as u32),
        architecture: text_of("Architecture"),
        hypervisor: text_of("Hypervisor vendor"),
    }
}

/// Splits a line of the summary. Names may be indented, as new versions group them.
fn field_of(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(':')?;
    let name = name.trim();
    let begins = name.starts_with(|c: char| c.is_ascii_uppercase());
    begins.then(|| (name.to_owned(), value.trim().to_owned()))
}

/// Returns the pairs of `{"field": "CPU(s):", "data": "8"}` in JSON of any nesting.
fn json_fields(text: &str) -> impl Iterator<Item = (String, String)> {
    text.split("\"field\"").skip(1).filter_map(|part| {
        let name = json_string(part)?;
        let value = json_string(part.split_once("\"data\"")?.1)?;
        Some((name.trim_end_matches(':').to_owned(), value.trim().to_owned()))
    })
}

/// Returns the string behind the next colon.
fn json_string(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once(':')?;
    rest.trim_start().strip_prefix('"')?.split('"').next()
}

fn nodes_of(fields: &BTreeMap<String, String>) -> Vec<NodeFacts> {
    let node = |(name, list): (&String, &String)| {
        let number: u32 = name.strip_prefix("NUMA node")?.strip_suffix(" CPU(s)")?.parse().ok()?;
        if number > LARGEST_NODE {
            return None;
        }
        let cpus = CpuSet::parse_list(list).unwrap_or_default();
        Some(NodeFacts { number, cpus, ..NodeFacts::default() })
    };
    let mut nodes: Vec<NodeFacts> = fields.iter().filter_map(node).collect();
    nodes.sort_by_key(|node| node.number);
    nodes
}

/// Returns the caches: "L2: 8 MiB (16 instances)" is their sum, "L2 cache: 512K" of old versions the size of each.
fn caches_of(fields: &BTreeMap<String, String>) -> Vec<SummaryCache> {
    let names = [
        ("L1d", 1, CacheKind::Data),
        ("L1i", 1, CacheKind::Instruction),
        ("L2", 2, CacheKind::Unified),
        ("L3", 3, CacheKind::Unified),
        ("L4", 4, CacheKind::Unified),
    ];
    let cache = |(name, level, kind): (&str, u8, CacheKind)| {
        let value = fields.get(name).or_else(|| fields.get(&format!("{name} cache")))?;
        let (size, instances) = match value.split_once('(') {
            Some((size, rest)) => (size, rest.split_whitespace().next()?.parse::<usize>().ok()),
            None => (value.as_str(), None),
        };
        let bytes = parse_size(size)?;
        let each = instances.filter(|count| *count > 0).map_or(bytes, |count| bytes / count as u64);
        Some(SummaryCache { level, kind, bytes: each, instances })
    };
    names.into_iter().filter_map(cache).collect()
}

/// Parses "32K", "512 KiB", "1.5 MiB", "256MB".
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let number: f64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim().bytes().next().map(|byte| byte.to_ascii_uppercase()) {
        None | Some(b'B') => 0,
        Some(b'K') => 10,
        Some(b'M') => 20,
        Some(b'G') => 30,
        Some(b'T') => 40,
        Some(_) => return None,
    };
    let bytes = number * (1_u64 << unit) as f64;
    (0.0..1e18).contains(&bytes).then_some(bytes as u64)
}
