//! Test of unexplained stalls for periodicity: their phases, and the sources found.
//!
//! The method, with formulas, is in `docs/tail.md` under "The period test".

mod chance;
mod describe;
mod fold;
mod spectrum;
#[cfg(test)]
mod tests;
mod track;

use corewise_machine::random::RandomGenerator;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use fold::FoldedFrequency;
use spectrum::SpectrumPeak;
use track::{StallTrack, unexplained_tracks};

pub use describe::{PeriodSurroundings, describe_source};
pub use spectrum::FALSE_ALARM;
pub use track::WatchedStretch;

/// Minimum share of stalls on phase beyond chance; the phases of merely drifting stalls are not this close together.
pub const LEAST_SHARE: f64 = 0.1;
/// Minimum share of the stalls on phase that are not there by chance.
pub const LEAST_PURITY: f64 = 0.9;
/// Maximum number of sources, found one after the other.
pub const MOST_SOURCES: usize = 3;

/// Agreement of phases, in seconds, that only a clock with long steps shows: no work loop sees the begin of a stall
/// this precisely.
const STANDING_CLOCK_S: f64 = 2e-9;
/// Share of cycles with a stall above which a source is accepted in spite of such precision.
const FULL: f64 = 0.9;
/// Candidates are compared on a random part of this many stalls, with [`ROUGH_FITS`] fits; the best is then fitted to
/// all.
const STALLS_COMPARED: f64 = 2000.0;
const ROUGH_FITS: usize = 2;
const FITS: usize = 5;

/// A source of stalls that strikes once a period.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeriodicSource {
    /// Frequency in hertz.
    pub hertz: f64,
    /// Agreement of the phases of all tested stalls within a visit, 0 to 1: mean resultant length, Rayleigh's R,
    /// corrected for small numbers.
    pub vector_strength: f64,
    /// Number of tested stalls, without the stalls of earlier sources.
    pub tested: u64,
    /// Number of these on its phase.
    pub on_phase: u64,
    /// Expected number on its phase by chance, from the number far from its phase.
    pub by_chance: f64,
    /// The share of a period that counts as on its phase, 0 to 1.
    pub window: f64,
    /// Upper limit of the probability that random stalls show any frequency as strong as this.
    pub false_alarm: f64,
    /// True if one phase holds for all visits; otherwise each visit has its own.
    pub coherent: bool,
}

/// Result of the test, the source with the most stalls closest to its phase first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PeriodFindings {
    /// The sources, at most [`MOST_SOURCES`].
    pub sources: Vec<PeriodicSource>,
    /// For each visit and each of its stalls, the index of the source that it is on phase with.
    pub membership: Vec<Vec<Option<usize>>>,
}

/// Finds the periodic sources among the stalls of one cpu.
///
/// Visits may be empty, and their times may lie outside of them or be unsorted; times outside are never on a phase. The
/// seed selects stalls if there are too many.
pub fn find_periods(visits: &[WatchedStretch], seed: u64) -> PeriodFindings {
    let mut periods = PeriodFindings {
        sources: Vec::new(),
        membership: visits.iter().map(|visit| vec![None; visit.times_s.len()]).collect(),
    };
    let mut random = RandomGenerator::new(seed);
    while periods.sources.len() < MOST_SOURCES {
        let tracks = unexplained_tracks(visits, &periods.membership);
        let Some(peak) = likeliest_peak(&tracks, &mut random) else { break };
        let own_phases = closest_fold(&tracks, peak.hertz);
        let fold = own_phases.in_one_phase(&tracks).unwrap_or(own_phases);
        let source = build_source(&tracks, peak, &fold);
        if is_standing_clock(&tracks, &fold) || !is_plain(&source) {
            break;
        }
        claim_stalls(&mut periods.membership, &tracks, &fold, periods.sources.len());
        periods.sources.push(source);
    }
    periods
}

/// Returns the frequency beyond chance at which stalls gather most closely.
fn likeliest_peak(tracks: &[StallTrack], random: &mut RandomGenerator) -> Option<SpectrumPeak> {
    let candidates = spectrum::candidate_peaks(tracks, random);
    let stalls: usize = tracks.iter().map(|track| track.times_s.len()).sum();
    let share = STALLS_COMPARED / stalls as f64;
    let part: Vec<StallTrack> = tracks
        .iter()
        .map(|track| StallTrack {
            times_s: track.times_s.iter().copied().filter(|_| share >= 1.0 || random.next_unit() < share).collect(),
            ..track.clone()
        })
        .collect();
    let folded = candidates.into_iter().map(|peak| {
        let fold = fold::fold_stalls(&part, peak.hertz, ROUGH_FITS);
        (fold.likelihood, SpectrumPeak { hertz: fold.hertz, ..peak })
    });
    folded.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, peak)| peak)
}

/// Folds the stalls at a frequency, or at the whole fraction of it at which they gather most closely. A multiple of the
/// rate has wider windows than the rate, and a fraction of it has fewer stalls in them.
fn closest_fold(tracks: &[StallTrack], hertz: f64) -> FoldedFrequency {
    let mut best = fold::fold_stalls(tracks, hertz, FITS);
    loop {
        let parts =
            spectrum::whole_parts(tracks, best.hertz).into_iter().map(|part| fold::fold_stalls(tracks, part, FITS));
        match parts.max_by(|a, b| a.likelihood.total_cmp(&b.likelihood)) {
            Some(part) if part.likelihood > best.likelihood => best = part,
            _ => return best,
        }
    }
}

/// Returns true if enough stalls are on phase, and few enough of them by chance, to attribute each to the source.
fn is_plain(source: &PeriodicSource) -> bool {
    let beyond_chance = source.on_phase as f64 - source.by_chance;
    beyond_chance >= LEAST_SHARE * source.tested as f64 && beyond_chance >= LEAST_PURITY * source.on_phase as f64
}

/// Returns true if the phases agree too closely for real stalls. Only a clock with long steps does that; it makes any
/// stalls look periodic.
fn is_standing_clock(tracks: &[StallTrack], fold: &FoldedFrequency) -> bool {
    let cycles: f64 = tracks.iter().map(|track| track.length_s * fold.hertz).sum();
    fold.typical_deviation(tracks) / fold.hertz < STANDING_CLOCK_S && (fold.on_phase(tracks) as f64) < FULL * cycles
}

/// Assigns the stalls on its phase to a source.
fn claim_stalls(membership: &mut [Vec<Option<usize>>], tracks: &[StallTrack], fold: &FoldedFrequency, source: usize) {
    for (visit, track) in tracks.iter().enumerate() {
        for (&time_s, &index) in track.times_s.iter().zip(&track.indices) {
            if fold.is_on_phase(visit, time_s) {
                membership[visit][index] = Some(source);
            }
        }
    }
}

fn build_source(tracks: &[StallTrack], peak: SpectrumPeak, fold: &FoldedFrequency) -> PeriodicSource {
    PeriodicSource {
        hertz: fold.hertz,
        vector_strength: spectrum::phase_strength(tracks, fold.hertz).vector_strength(),
        tested: tracks.iter().map(|track| track.times_s.len() as u64).sum(),
        on_phase: fold.on_phase(tracks),
        by_chance: fold.by_chance,
        window: 2.0 * fold.half_window,
        false_alarm: peak.false_alarm,
        coherent: fold.coherent,
    }
}
