//! What watching costs: the stalls of the cpu's own timer, watched and unwatched, in one run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DividedVisit;
use crate::stats::order::{median, median_interval};

/// How much longer the timer's stalls are while the kernel's events are recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Perturbation {
    /// The length watched over the length unwatched: the median over rounds and cpus of the ratios of medians.
    pub ratio: f64,
    /// The 95 % interval of that median; absent for fewer than six ratios.
    pub interval: Option<[f64; 2]>,
    /// The median length of the timer's stalls while they are watched, in nanoseconds.
    pub watched_ns: f64,
    /// The same unwatched.
    pub unwatched_ns: f64,
    /// How many pairs of visits it is from.
    pub pairs: u32,
}

/// Bins of the timer's period: a strike and its jitter fall into two neighbours.
const BINS: usize = 50;
/// Fewer stalls of the timer than this in a visit are not compared.
const FEWEST: usize = 5;

/// Compares watched with unwatched visits of the same cpu and round; absent where there are no such pairs.
///
/// Without events nobody says which stall is the timer's, so both are told in the same way: those on the densest phase of the
/// timer's period. Stalls in which the thread was off the cpu are left out.
pub fn perturbation(visits: &[DividedVisit]) -> Option<Perturbation> {
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
    (!ratios.is_empty()).then(|| Perturbation {
        ratio: median(&ratios),
        interval: median_interval(&ratios, 0.95).map(|(low, high)| [low, high]),
        watched_ns: middle(|pair| pair.1),
        unwatched_ns: middle(|pair| pair.0),
        pairs: ratios.len() as u32,
    })
}

/// The lengths, in nanoseconds, of a visit's stalls on the densest phase of the timer's period.
fn on_tick(visit: &DividedVisit, tick_ns: f64) -> Vec<f64> {
    let bin = |begin_ns: u64| ((begin_ns as f64 % tick_ns) / tick_ns * BINS as f64) as usize % BINS;
    let on_cpu =
        || {
            visit.stalls.iter().map(|one| &one.stall).filter(|stall| {
                stall.involuntary_switches == 0 && stall.off_cpu_ns < super::divide::OFF_CPU_AT_LEAST_NS
            })
        };
    let mut counts = [0_u32; BINS];
    on_cpu().for_each(|stall| counts[bin(stall.begin_ns)] += 1);
    let with_next = |at: usize| counts[at] + counts[(at + 1) % BINS];
    let Some(densest) = (0..BINS).max_by_key(|&at| with_next(at)) else { return Vec::new() };
    let is_on = |begin_ns: u64| [densest, (densest + 1) % BINS].contains(&bin(begin_ns));
    on_cpu().filter(|stall| is_on(stall.begin_ns)).map(|stall| stall.length_ns() as f64).collect()
}
