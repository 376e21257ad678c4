//! Maps, matrices and samples from files: corewise's own JSON, and formats of other tools.

use std::io::{BufReader, Read as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use corewise_machine::suggested_command;
use corewise_machine::{CpuSet, Machine};
use corewise_model::Artifact as _;
use corewise_model::artifact::{ArtifactOrigin, ArtifactProvenance};
use corewise_model::links::import::{ImportedLinks, read_links};
use corewise_model::links::map::{CostUnit, LinkMap, LinkSeries, SpoiledSamples};
use corewise_model::links::{CostMatrix, LinkPair, TalkWay};
use corewise_statistics::order::median;
use corewise_sys::input::{self, InputFile, InputKind};
use serde::Deserialize;

use super::arguments::UnitName;
use crate::app::failure::CommandFailure;
use crate::draw::suggestion;

/// A document of `corewise links --json`.
#[derive(Deserialize)]
struct LinkMapDocument {
    observed: LinkMap,
}

/// Reads a map from a file of corewise or of another tool.
pub fn read_map(path: &Path, machine: Option<&Machine>, unit: Option<UnitName>) -> Result<LinkMap, CommandFailure> {
    if !is_json(path)? {
        return read_other_tool(path, machine, unit);
    }
    let document: Result<LinkMapDocument, _> = input::read_json(open_input(path, InputKind::LinkMap)?);
    let map = document
        .map_err(|error| error.to_string())
        .and_then(|LinkMapDocument { observed }| observed.check_loaded().map(|()| observed))
        .and_then(|map| {
            if map.series.iter().any(|series| !series.links.pairs.is_empty()) {
                Ok(map)
            } else {
                Err("it has no pairs".into())
            }
        });
    map.map_err(|why| {
        let what = format!(
            "{} is not a map of {}: {why}",
            path.display(),
            suggestion::format_mention(&suggested_command::links_json())
        );
        CommandFailure::unavailable_error(what).with_hint(format!(
            "Make one with `{} > FILE`.",
            suggestion::format_typed(&suggested_command::links_json())
        ))
    })
}

/// Reads a map to store. Even a map of corewise counts as imported: its file does not prove that it is of this machine.
pub fn import_map(path: &Path, machine: Option<&Machine>, unit: Option<UnitName>) -> Result<LinkMap, CommandFailure> {
    let mut map = read_map(path, machine, unit)?;
    if !map.provenance.origin.is_imported() {
        map.provenance.origin = map.provenance.origin.after_import(&name_of(path), "map of corewise's");
    }
    Ok(map)
}

/// Returns the costs of a file's first way to talk, for a simulation.
pub fn read_matrix(path: &Path) -> Result<(TalkWay, CostUnit, CostMatrix), CommandFailure> {
    let map = read_map(path, None, None)?;
    let series = map
        .series
        .first()
        .ok_or_else(|| CommandFailure::unavailable_error(format!("{} has no costs", path.display())))?;
    Ok((series.what, map.unit, CostMatrix::from_links(&series.links)))
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// Returns the raw samples of each pair and direction of a file, in order of time.
pub fn read_samples(path: &Path) -> Result<Vec<Vec<f64>>, CommandFailure> {
    let map = read_map(path, None, None)?;
    let pairs = map.series.into_iter().flat_map(|series| series.links.pairs);
    let samples: Vec<Vec<f64>> = pairs
        .flat_map(|pair| [pair.visits_ns().to_vec(), pair.back_ns().to_vec()])
        .filter(|samples| samples.len() >= 10)
        .collect();
    if samples.is_empty() {
        let what = format!("{} has no raw samples: at least ten of a pair are needed", path.display());
        return Err(CommandFailure::unavailable_error(what)
            .with_hint("Use a log of samples, or a corewise map with many visits."));
    }
    Ok(samples)
}

fn read_other_tool(path: &Path, machine: Option<&Machine>, unit: Option<UnitName>) -> Result<LinkMap, CommandFailure> {
    let text = open_input(path, InputKind::LinkTable)?.read_text().map_err(CommandFailure::unavailable_error)?;
    let ImportedLinks { format, mut series, cpus, in_cycles, mut remarks, .. } =
        read_links(&text).map_err(|error| {
            CommandFailure::unavailable_error(format!("{} cannot be imported: {error}", path.display()))
                .with_hint("docs/links.md lists the supported formats.")
        })?;
    drop(text);
    convert_to_nanoseconds(&mut series, in_cycles, unit).map_err(|what| {
        CommandFailure::unavailable_error(format!("{}: {what}", path.display())).with_hint(format!(
            "{} reads them as microseconds, --unit ns as nanoseconds.",
            suggestion::format_mention(&suggested_command::links_import_in("us"))
        ))
    })?;
    let machine = machine.filter(|machine| fits_machine(machine, &cpus, &mut remarks)).cloned();
    let name = name_of(path);
    Ok(LinkMap {
        provenance: ArtifactProvenance {
            origin: ArtifactOrigin::Imported { file: name, format: format.format_name().to_owned(), remarks },
            corewise: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_ms: unix_time_ms(),
            elapsed_s: 0.0,
            budget_s: 0.0,
            seed: 0,
            partial: false,
        },
        machine,
        clock: None,
        searched: Vec::new(),
        unfinished: false,
        unit: if in_cycles { CostUnit::Cycles } else { CostUnit::Nanoseconds },
        cpus,
        series,
        clocks: Vec::new(),
        spoiled: SpoiledSamples::default(),
        parallel: None,
        gaps: Vec::new(),
    })
}

/// Converts costs of a given unit to nanoseconds. Without a unit, refuses costs that are too low for any two cpus.
fn convert_to_nanoseconds(
    series: &mut [LinkSeries],
    in_cycles: bool,
    unit: Option<UnitName>,
) -> Result<(), &'static str> {
    match unit {
        Some(_) if in_cycles => Err("its numbers are cycles, which no --unit turns into nanoseconds"),
        None if !in_cycles && series.iter().all(is_too_cheap) => {
            Err("most costs lie below 2 ns, which no machine can do: probably they are microseconds")
        }
        None | Some(UnitName::Ns) => Ok(()),
        Some(unit) => {
            let pairs = series.iter_mut().flat_map(|series| &mut series.links.pairs);
            pairs.for_each(|pair| pair.change_visits(|cost| *cost *= unit.to_nanoseconds()));
            Ok(())
        }
    }
}

/// Returns true if most costs are below the transfer time of a line between any two cores. A send among many through
/// a queue may be that cheap.
fn is_too_cheap(series: &LinkSeries) -> bool {
    const LEAST_NS: f64 = 2.0;
    let costs: Vec<f64> = series.links.pairs.iter().map(LinkPair::one_way_ns).collect();
    match series.what {
        TalkWay::Queue { .. } | TalkWay::Channel { .. } | TalkWay::Bandwidth { .. } => {
            costs.iter().all(|cost| *cost < 1.0)
        }
        _ => median(&costs) < LEAST_NS,
    }
}

/// Returns true if a machine has the cpus of a file; adds a remark otherwise.
fn fits_machine(machine: &Machine, cpus: &CpuSet, remarks: &mut Vec<String>) -> bool {
    let fits = cpus.is_subset(&machine.online);
    if !fits {
        let others = cpus.difference(&machine.online);
        remarks.push(format!("the named machine has no cpus {others}, so it is ignored"));
    }
    fits
}

fn is_json(path: &Path) -> Result<bool, CommandFailure> {
    let mut start = BufReader::new(open_input(path, InputKind::LinkMap)?).bytes().map_while(Result::ok);
    Ok(start.find(|byte| !byte.is_ascii_whitespace()) == Some(b'{'))
}

fn open_input(path: &Path, kind: InputKind) -> Result<InputFile, CommandFailure> {
    InputFile::open(path, kind).map_err(CommandFailure::unavailable_error)
}

fn unix_time_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}
