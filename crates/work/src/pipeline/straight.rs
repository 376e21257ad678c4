//! The same loop in plain code: threads, crossbeam-channel and serde_json, without this crate's machinery.
//!
//! It is the reference for the speed and the result of [`super::run`]: the transformation is written a second time here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use crossbeam_channel::bounded;
use serde_json::Value;

use super::input::PipelineInput;
use super::stage::{ServiceTallies, ServiceTally, hash_line};
use crate::WorkError;

/// Result of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StraightOutcome {
    /// Number of lines.
    pub lines: u64,
    /// Bytes of the input lines, without line ends.
    pub bytes: u64,
    /// Sum of the hashes of the output lines.
    pub checksum: u64,
    /// Tallies of each service.
    pub tallies: ServiceTallies,
    /// Elapsed seconds, without creating the input.
    pub seconds: f64,
}

impl StraightOutcome {
    /// Returns the metric of [`super::run`]: millions of bytes of input per second.
    pub fn megabytes_per_second(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.seconds
    }
}

/// Passes `lines` lines of an input through lanes of three threads each (parse, transform, serialise), one line in a message. Each lane has
/// its own part of the lines. Compare it with [`super::run`] with three threads for each lane and default options.
///
/// # Panics
/// If the capacity is zero.
pub fn run_lanes(input: &PipelineInput, lines: u64, lanes: u64, capacity: usize) -> StraightOutcome {
    let begin = Instant::now();
    let found: Vec<StraightOutcome> = thread::scope(|scope| {
        let start = |lane| {
            scope.spawn(move || self::run_lane(input, lane * lines / lanes..(lane + 1) * lines / lanes, capacity))
        };
        let threads: Vec<_> = (0..lanes).map(start).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let mut all = found.into_iter().fold(StraightOutcome::default(), add_outcomes);
    all.seconds = begin.elapsed().as_secs_f64();
    all
}

/// Runs one lane: the calling thread parses, and two more do the rest.
fn run_lane(input: &PipelineInput, lines: std::ops::Range<u64>, capacity: usize) -> StraightOutcome {
    let (to_transform, parsed) = bounded::<Value>(capacity);
    let (to_serialise, changed) = bounded::<Value>(capacity);
    let mut outcome = StraightOutcome::default();
    thread::scope(|scope| {
        let transform = scope.spawn(move || {
            let mut tallies = ServiceTallies::new();
            for mut event in parsed {
                change_event(&mut event);
                let (service, bytes) = tallied_values(&event);
                tally_event(&mut tallies, service, 1, bytes);
                if to_serialise.send(event).is_err() {
                    break;
                }
            }
            tallies
        });
        let serialise = scope.spawn(move || {
            changed
                .iter()
                .filter_map(|event| serde_json::to_vec(&event).ok())
                .fold((0, 0_u64), |(lines, sum), line| (lines + 1, sum.wrapping_add(hash_line(&line))))
        });
        for position in lines {
            let line = input.line_at(position).to_vec();
            outcome.bytes += line.len() as u64;
            // A broken line is missing at the end.
            let Ok(event) = serde_json::from_slice(&line) else { break };
            if to_transform.send(event).is_err() {
                break;
            }
        }
        drop(to_transform);
        outcome.tallies = transform.join().unwrap_or_default();
        (outcome.lines, outcome.checksum) = serialise.join().unwrap_or_default();
    });
    outcome
}

/// Computes the expected result of a number of lines on the calling thread: each line of the input once, multiplied by the number of its
/// passes.
///
/// # Errors
/// If a line is broken; if it was stopped.
pub fn run_alone(input: &PipelineInput, lines: u64, stop: &AtomicBool) -> Result<StraightOutcome, WorkError> {
    let begin = Instant::now();
    let mut outcome = StraightOutcome::default();
    for number in 0..input.line_count().min(lines) {
        if stop.load(Ordering::Relaxed) {
            return Err(WorkError::Stopped);
        }
        let times = lines / input.line_count() + u64::from(number < lines % input.line_count());
        let broken = |error: &serde_json::Error| input.broken_line(number, error);
        let mut event: Value = serde_json::from_slice(input.line_at(number)).map_err(|error| broken(&error))?;
        change_event(&mut event);
        let text = serde_json::to_string(&event).map_err(|error| broken(&error))?;
        outcome.lines += times;
        outcome.bytes += times * input.line_at(number).len() as u64;
        outcome.checksum = outcome.checksum.wrapping_add(hash_line(text.as_bytes()).wrapping_mul(times));
        let (service, bytes) = tallied_values(&event);
        tally_event(&mut outcome.tallies, service, times, bytes.wrapping_mul(times));
    }
    outcome.seconds = begin.elapsed().as_secs_f64();
    Ok(outcome)
}

/// Transforms an event.
fn change_event(event: &mut Value) {
    if let Some(fields) = event.as_object_mut() {
        fields.remove("debug");
        if let Some(time) = fields.remove("ts") {
            fields.insert("time".to_owned(), time);
        }
    }
    if let Value::String(level) = &event["level"] {
        let names = [("error", 3), ("warn", 4), ("info", 6), ("debug", 7)];
        let severity = names.iter().find(|(name, _)| name == level).map_or(5, |(_, severity)| *severity);
        event["severity"] = Value::from(severity);
    }
}

/// Returns the service and the bytes to tally.
fn tallied_values(event: &Value) -> (&str, u64) {
    (event["service"].as_str().unwrap_or_default(), event["bytes"].as_u64().unwrap_or_default())
}

fn tally_event(tallies: &mut ServiceTallies, service: &str, lines: u64, bytes: u64) {
    if let Some(tally) = tallies.get_mut(service) {
        tally.add_events(lines, bytes);
    } else {
        tallies.insert(service.to_owned(), ServiceTally { lines, bytes });
    }
}

fn add_outcomes(one: StraightOutcome, other: StraightOutcome) -> StraightOutcome {
    let mut tallies = one.tallies;
    for (service, sums) in other.tallies {
        tally_event(&mut tallies, &service, sums.lines, sums.bytes);
    }
    StraightOutcome {
        lines: one.lines + other.lines,
        bytes: one.bytes + other.bytes,
        checksum: one.checksum.wrapping_add(other.checksum),
        tallies,
        seconds: 0.0,
    }
}
