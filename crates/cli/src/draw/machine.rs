//! The machine in one line, and the picture of its levels.

use corewise_machine::facts::CacheKind;
use corewise_machine::machine_file::MachineDescription;
use corewise_machine::{CpuSet, Machine};
use corewise_model::artifact::{ArtifactCircumstances, ArtifactOrigin};
use jiff::tz::TimeZone;

use super::number::{format_bytes, format_count, format_time_as};
use super::picture;
use super::story::StoryPart;
use super::text::StyledLine;
use super::wrap::{glue_words, wrap_line};

/// Maximum number of objects that are shown one by one; of more, similar objects share a line.
pub const FEW_OBJECTS: usize = 12;

/// Composes the machine in one line: model, packages, cores, cpus, kernel, hypervisor, and `more`.
pub fn compose_headline(machine: &Machine, more: &[String]) -> StoryPart {
    let mut items = Vec::new();
    if machine.packages.len() > 1 {
        items.push(format_count(machine.packages.len(), "package"));
    }
    items.push(format_count(machine.cores.len(), "core"));
    items.push(format_count(machine.online.len(), "cpu"));
    let mut rest = vec![items.join(", ")];
    rest.extend(machine.system.title());
    if let Some(hypervisor) = &machine.system.hypervisor {
        rest.push(if machine.system.emulated {
            format!("emulated by {hypervisor}")
        } else {
            describe_guest(hypervisor)
        });
    }
    rest.extend_from_slice(more);
    let mut line = StyledLine::new().strong(glue_words(&model_name(machine)));
    for item in rest {
        line = line.faint(" · ").plain(glue_words(&item));
    }
    line.into_paragraph(2)
}

fn describe_guest(hypervisor: &str) -> String {
    if hypervisor.contains("virtual machine") { hypervisor.to_owned() } else { format!("{hypervisor} guest") }
}

/// Formats the circumstances of a result for below a picture, which may be shown alone: "AMD Ryzen 9 9950X3D, 32 cpus ·
/// 2026-11-21 · corewise 0.1.0, seed 7 · simulated from x.toml".
pub fn describe_circumstances(circumstances: &ArtifactCircumstances<'_>, origin: &ArtifactOrigin) -> String {
    let ArtifactCircumstances { machine, started_unix_ms, corewise, seed, .. } = circumstances;
    let machine =
        machine.map(|machine| format!("{}, {}", model_name(machine), format_count(machine.online.len(), "cpu")));
    let day = format_time_as(*started_unix_ms, &TimeZone::UTC, "%Y-%m-%d");
    let made = format!("corewise {corewise}, seed {seed}");
    let parts: Vec<String> = machine.into_iter().chain([day, made]).chain(origin.describe_origin()).collect();
    parts.join(" · ")
}

/// Returns the processor's name without trade marks, core counts and clock rates.
pub fn model_name(machine: &Machine) -> String {
    let Some(name) = machine.processor.model_name.as_deref().filter(|name| !name.trim().is_empty()) else {
        return machine.system.architecture.as_deref().map_or_else(
            || "unknown processor".to_owned(),
            |architecture| format!("unknown {architecture} processor"),
        );
    };
    let name = name.replace("(R)", "").replace("(r)", "").replace("(TM)", "").replace("(tm)", "");
    let name = name.split(" @ ").next().unwrap_or_default();
    let name = name.split(" with Radeon").next().unwrap_or_default();
    let name = name.split(" w/ ").next().unwrap_or_default();
    let words: Vec<&str> = name.split_whitespace().collect();
    let kept = words.iter().enumerate().filter(|(index, word)| {
        let counts_cores = word.ends_with("-Core") || word.ends_with("-Cores");
        let after_count = **word == "Processor" && *index > 0;
        !(counts_cores || after_count || **word == "CPU")
    });
    kept.map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
}

/// Draws the levels, with at most about `limit` objects one by one, and their [`draw_details`].
pub fn draw_picture(machine: &Machine, width: usize, limit: usize) -> Vec<StyledLine> {
    let mut lines = picture::draw_levels(machine, width, limit);
    lines.extend(draw_details(machine, width));
    lines
}

/// Returns the lines below a picture of the levels: inner caches, and cpus that are offline, isolated or not allowed
/// here.
pub fn draw_details(machine: &Machine, width: usize) -> Vec<StyledLine> {
    let mut lines = caches_line(machine, width);
    lines.extend(draw_notes(machine, width));
    lines
}

/// Describes the caches below the last level in one line: "L1d 48 KB · L1i 32 KB · L2 1 MB per core".
fn caches_line(machine: &Machine, width: usize) -> Vec<StyledLine> {
    let last = machine.llcs.iter().filter_map(|llc| llc.level).max().unwrap_or(0);
    let mut items = Vec::new();
    for (level, kind) in [
        (1, CacheKind::Data),
        (1, CacheKind::Unified),
        (1, CacheKind::Instruction),
        (2, CacheKind::Unified),
        (2, CacheKind::Data),
        (3, CacheKind::Unified),
    ] {
        let text = cache_sizes(machine, level, kind);
        let is_known = machine.caches.iter().any(|cache| cache.level == level && cache.size_bytes.is_some());
        if level < last && is_known && !text.is_empty() {
            items.push(glue_words(&format!("{} {text}", cache_name(level, kind))));
        }
    }
    if items.is_empty() {
        return Vec::new();
    }
    wrap_line(&StyledLine::new().faint("caches  ").plain(items.join(" · ")), width, 8)
}

/// Returns the short name of a cache: "L1d", "L2".
pub fn cache_name(level: u8, kind: CacheKind) -> String {
    let letter = match kind {
        CacheKind::Data => "d",
        CacheKind::Instruction => "i",
        CacheKind::Unified => "",
    };
    format!("L{level}{letter}")
}

/// Describes the sizes and sharing of one level's caches; names the cpus if sizes differ.
fn cache_sizes(machine: &Machine, level: u8, kind: CacheKind) -> String {
    let mut groups: Vec<(Option<u64>, usize, CpuSet)> = Vec::new();
    for cache in machine.caches.iter().filter(|cache| cache.level == level && cache.kind == kind) {
        let cores = machine.cores.iter().filter(|core| !core.cpus.is_disjoint(&cache.cpus)).count();
        match groups.iter_mut().find(|(size, sharing, _)| (*size, *sharing) == (cache.size_bytes, cores)) {
            Some((_, _, cpus)) => *cpus = cpus.union(&cache.cpus),
            None => groups.push((cache.size_bytes, cores, cache.cpus.clone())),
        }
    }
    let alone = groups.len() == 1;
    let text = groups.into_iter().map(|(size, cores, cpus)| {
        let size = size.map_or_else(|| "of unknown size".to_owned(), format_bytes);
        let sharing = if cores > 1 { format!(" per {cores} cores") } else { String::new() };
        if alone { format!("{size}{sharing}") } else { format!("{size}{sharing} ({cpus})") }
    });
    text.collect::<Vec<_>>().join(", ")
}

/// Lists cpus that are offline, isolated, or not allowed for this process.
fn draw_notes(machine: &Machine, width: usize) -> Vec<StyledLine> {
    let denied = machine.online.difference(&machine.allowed);
    let sets = [
        ("offline", machine.offline_cpus(), ""),
        ("offline or not allowed", machine.unlisted.clone(), "  (the export does not say which)"),
        ("isolated", machine.isolated.clone(), ""),
        ("nohz_full", machine.nohz_full.clone(), ""),
        ("not allowed here", denied, "  (cpuset or affinity of this process)"),
    ];
    let mut lines = Vec::new();
    for (word, cpus, remark) in sets.into_iter().filter(|(_, cpus, _)| !cpus.is_empty()) {
        let line = StyledLine::new().faint(format!("{word}  ")).plain(cpus.to_string()).faint(remark);
        lines.extend(picture::wrap_lists(&line, width, word.len() + 2));
    }
    lines
}
/// Describes the cpu numbering of a described machine.
pub fn draw_numbering(description: &MachineDescription, width: usize) -> Vec<StyledLine> {
    let Some(numbering) = &description.numbering else { return Vec::new() };
    wrap_line(&StyledLine::new().strong("Numbering").plain("  ").plain(numbering), width, 2)
}

/// Lists the sources of a described machine, and the facts that may differ on a real one.
pub fn draw_origin(description: &MachineDescription, width: usize) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    for (title, items) in [("Sources", &description.sources), ("May differ", &description.uncertain)] {
        if !items.is_empty() {
            lines.push(StyledLine::new().strong(title));
        }
        lines.extend(items.iter().flat_map(|item| wrap_line(&StyledLine::new().plain(format!("  {item}")), width, 4)));
    }
    lines
}
