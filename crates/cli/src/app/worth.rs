//! Current worth of each cpu: from the map of a running `keep run`, or by measuring.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use corewise_machine::Machine;
use corewise_machine::suggested_command;
use corewise_machine::worth::{CpuWorth, SpeedSource, WorthNow, WorthTable};
use corewise_model::worth::cpu_speeds;
use corewise_sys::thread::monotonic_ns;
use corewise_sys::worth::{ProcessorTime, WorthReader};
use schemars::JsonSchema;
use serde::Serialize;

use super::failure::CommandFailure;
use super::settings::ProgramSettings;
use super::user_store::latest_own;
use crate::draw::suggestion;

/// Time that one look takes.
pub const LOOK: Duration = Duration::from_secs(1);
/// Interval of checks for Ctrl-C.
const STEP: Duration = Duration::from_millis(50);

/// Origin of the records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WorthOrigin {
    /// Map that another process keeps up to date.
    Map {
        /// Process that writes the map.
        writer: u32,
        /// Interval of its updates, in milliseconds.
        interval_ms: u32,
        /// Age of the map, in milliseconds.
        age_ms: u64,
    },
    /// Corewise's own look.
    Look {
        /// Reasons why an existing map is not shown: it is stale or cannot be read. Empty if there is no map.
        instead_of: Vec<String>,
    },
}

/// Returns the current worth of each cpu for the placement language; `None` if it cannot be determined.
pub fn read_worth(machine: &Machine, settings: &ProgramSettings) -> Option<WorthNow> {
    let (origin, cpus) = WorthSource::open(settings).read_records(machine, settings, &|| false).ok()?;
    Some(match origin {
        WorthOrigin::Map { writer, .. } => {
            WorthNow { cpus, from: format!("the map of process {writer}"), doubts: Vec::new() }
        }
        WorthOrigin::Look { instead_of } => {
            let doubts = instead_of.iter().map(|why| format!("a map is there and is not used: {why}.")).collect();
            WorthNow { cpus, from: "a look of one second".to_owned(), doubts }
        }
    })
}

/// Source of the records.
pub struct WorthSource {
    map: Option<(PathBuf, WorthReader)>,
    /// Reasons why existing maps are not shown.
    stale: Vec<String>,
    own: Option<(ProcessorTime, WorthTable)>,
}

impl WorthSource {
    /// Opens the map of this user's `keep run`, or of the system's, if it is kept up to date.
    pub fn open(settings: &ProgramSettings) -> Self {
        let (mut map, mut stale) = (None, Vec::new());
        for folder in settings.worth_folders() {
            match WorthReader::open(folder) {
                Ok(Some(reader)) if !reader.is_stale() => {
                    map = map.or_else(|| Some((folder.to_owned(), reader)));
                }
                Ok(Some(reader)) => stale.push(is_stale(folder, &reader)),
                Ok(None) => {}
                Err(error) => stale.push(format!("{}: {error}", folder.display())),
            }
        }
        Self { map, stale, own: None }
    }

    /// Returns the current records; a look of corewise's own takes a second. A map that became stale is not used any
    /// more.
    pub fn read_records(
        &mut self,
        machine: &Machine,
        settings: &ProgramSettings,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<(WorthOrigin, Vec<CpuWorth>), CommandFailure> {
        if let Some((folder, reader)) = self.map.take_if(|(_, reader)| reader.is_stale()) {
            self.stale.push(is_stale(&folder, &reader));
        }
        if let Some((_, map)) = &self.map {
            let age_ms = map.update_age().map_or(0, |age| age.as_millis() as u64);
            let (writer, interval_ms) = (map.read_header().writer, map.read_header().interval_ms);
            let origin = WorthOrigin::Map { writer, interval_ms, age_ms };
            return Ok((origin, map.read_online()));
        }
        let failed = |error| CommandFailure::unavailable_error(format!("the cpus' times cannot be read: {error}"));
        if self.own.is_none() {
            let survey = latest_own(machine, settings, |_| true).map(|(_, survey)| survey);
            let mut time = ProcessorTime::open().map_err(failed)?;
            let mut board = WorthTable::new(machine, cpu_speeds(machine, survey.as_ref()));
            board.update_records(monotonic_ns(), time.read_counters().map_err(failed)?, |_| None);
            self.own = Some((time, board));
        }
        sleep_unless(LOOK, is_interrupted);
        let origin = WorthOrigin::Look { instead_of: self.stale.clone() };
        let Some((time, board)) = &mut self.own else { return Ok((origin, Vec::new())) };
        time.read_counters().map_err(failed)?;
        let (ticks, throttled) = time.last_counters();
        board.update_records(monotonic_ns(), ticks, |cpu| throttled.get(cpu as usize).copied().flatten());
        let records = (0..).zip(board.records()).map(|(cpu, record)| CpuWorth { cpu, record: *record });
        Ok((origin, records.filter(|cpu| cpu.record.online).collect()))
    }
}

/// Returns a sentence about where the speeds come from.
pub fn describe_speeds(sources: impl Iterator<Item = SpeedSource> + Clone) -> String {
    let is = |source| sources.clone().any(|own| own == source);
    let survey = suggestion::format_mention(&suggested_command::survey());
    match (is(SpeedSource::Measured), is(SpeedSource::Hardware), is(SpeedSource::Unknown)) {
        (true, false, false) => "Speeds: measured by the latest survey.".to_owned(),
        (false, true, _) => format!("Speeds: the hardware's own ranking, not measured; {survey} measures them."),
        (false, false, _) => format!("Speeds: not measured, all cpus count alike; {survey} measures them."),
        (true, ..) => "Speeds: measured by the latest survey for the cpus that it visited.".to_owned(),
    }
}

fn is_stale(folder: &Path, map: &WorthReader) -> String {
    let (folder, writer) = (folder.display(), map.read_header().writer);
    match map.update_age() {
        Some(age) => format!("{folder}: process {writer} updated the map last {:.1} s ago", age.as_secs_f64()),
        None => format!("{folder}: process {writer} has ended"),
    }
}

/// Sleeps until the time is over or an interruption.
pub fn sleep_unless(time: Duration, is_interrupted: &dyn Fn() -> bool) {
    let steps = time.as_millis() / STEP.as_millis();
    (0..steps).take_while(|_| !is_interrupted()).for_each(|_| sleep(STEP));
}
