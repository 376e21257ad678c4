//! Cost of watching: stalls of the cpu's own timer, watched and unwatched, in one run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DividedVisit;
use corewise_statistics::order::{median, median_interval};

/// Ratio of the timer's stall lengths with and without recording of the kernel's events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordingPerturbation {
    /// The length watched over the length unwatched: the median over rounds and cpus of the ratios of medians.
    pub ratio: f64,
    /// The 95 % interval of that median; `None` for fewer than six ratios.
    pub interval: Option<[f64; 2]>,
    /// The median length of the timer's stalls while they are watched, in nanoseconds.
    pub watched_ns: f64,
    /// The same unwatched.
    pub unwatched_ns: f64,
    /// Number of compared pairs of visits.
    pub pairs: u32,
}

/// Bins of the timer's period: an interrupt and its jitter fall into two neighbours.
const BINS: usize = 50;
/// Minimum number of the timer's stalls in a compared visit.
const FEWEST: usize = 5;

/// Compares watched with unwatched visits of the same cpu and round; `None` if there are no such pairs.
///
/// Unwatched visits have no events, so the timer's stalls are recognized in both by the phase of the timer's period.
/// Stalls in which the thread was off the cpu are left out.
pub fn measure_perturbation(visits: &[DividedVisit]) -> Option<RecordingPerturbation> {
    let steps: Vec<f64> = visits.iter().map(|visit| visit.tick_ns as f64).filter(|step| *step > 0.0).collect();
    let tick_ns = median(&steps);
    if !tick_ns.is_finite() {
        return None;
    }
    let mut pairs: BTreeMap<(u32, u32), [Vec<f64>; 2]> = BTreeMap::new();
    for visit in visits {
        let lengths = on_tick(visit, tick_ns);
        pairs.entry((visit.cpu, visit.round)).or_default()[usize::from(visit.armed)].extend(lengths);
    }
    let whole = |[unwatched, watched]: &&[Vec<f64>; 2]| unwatched.len() >= FEWEST && watched.len() >= FEWEST;
    let medians: Vec<(f64, f64)> =
        pairs.values().filter(whole).map(|[unwatched, watched]| (median(unwatched), median(watched))).collect();
    let ratios: Vec<f64> = medians.iter().map(|(unwatched, watched)| watched / unwatched).collect();
    let middle = |which: fn(&(f64, f64)) -> f64| median(&medians.iter().map(which).collect::<Vec<f64>>());
    (!ratios.is_empty()).then(|| RecordingPerturbation {
        ratio: median(&ratios),
        interval: median_interval(&ratios, 0.95).map(|(low, high)| [low, high]),
        watched_ns: middle(|pair| pair.1),
        unwatched_ns: middle(|pair| pair.0),
        pairs: ratios.len() as u32,
    })
}

/// Returns the lengths, in nanoseconds, of a visit's stalls on the phase of the timer's period that loses most time:
/// the longest of each period. Other stalls may share the phase for a while, such as stalls of a host's timer of nearly
/// the same rate; they are shorter.
fn on_tick(visit: &DividedVisit, tick_ns: f64) -> Vec<f64> {
    let bin = |begin_ns: u64| ((begin_ns as f64 % tick_ns) / tick_ns * BINS as f64) as usize % BINS;
    let on_cpu =
        || {
            visit.stalls.iter().map(|one| &one.stall).filter(|stall| {
                stall.involuntary_switches == 0 && stall.off_cpu_ns < super::divide::OFF_CPU_AT_LEAST_NS
            })
        };
    // A rare stall that is longer than a bin counts only as one bin.
    let most_ns = tick_ns / BINS as f64;
    let mut lost_ns = [0.0_f64; BINS];
    on_cpu().for_each(|stall| lost_ns[bin(stall.begin_ns)] += most_ns.min(stall.length_ns() as f64));
    let with_next = |at: usize| lost_ns[at] + lost_ns[(at + 1) % BINS];
    let Some(first) = (0..BINS).max_by(|&a, &b| with_next(a).total_cmp(&with_next(b))) else { return Vec::new() };
    let begin_ns = first as f64 * most_ns;
    let mut longest: BTreeMap<u64, f64> = BTreeMap::new();
    for stall in on_cpu().filter(|stall| [first, (first + 1) % BINS].contains(&bin(stall.begin_ns))) {
        let period = ((stall.begin_ns as f64 - begin_ns) / tick_ns).floor() as u64;
        let length_ns = longest.entry(period).or_default();
        *length_ns = length_ns.max(stall.length_ns() as f64);
    }
    longest.into_values().collect()
}
