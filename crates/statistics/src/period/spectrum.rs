//! The periodogram: agreement of the stalls' phases at every frequency of the search.

use std::f64::consts::TAU;

use corewise_machine::random::RandomGenerator;

use super::chance::log_upper_tail;
use super::track::StallTrack;

/// Maximum probability, over all frequencies, of calling random stalls periodic.
pub const FALSE_ALARM: f64 = 0.01;

/// Range of frequencies.
const LOWEST_HERTZ: f64 = 0.5;
const HIGHEST_HERTZ: f64 = 2500.0;
/// Minimum number of periods that a visit must have to contribute to a frequency.
const PERIODS_IN_A_VISIT: f64 = 3.0;
/// Steps within the resolution of the longest visit: at most 2 % of a strength is lost between steps.
const OVERSAMPLING: f64 = 5.0;
/// Maximum number of stalls times frequencies; of more stalls a random part is used.
const MOST_EVALUATIONS: f64 = 2e7;
/// Maximum number of frequencies: if visits are too long, only the lower ones are used.
const MOST_FREQUENCIES: usize = 500_000;
/// Maximum number of peaks, highest first, and their minimum distance from a higher one, in steps: beyond its side
/// lobes.
const MOST_PEAKS: usize = 16;
const APART: usize = 15;
/// Largest divisor of a frequency that may give the rate.
const HIGHEST_HARMONIC: usize = 25;
/// Stalls within this share of a period, and within this time, count as one: they may have one cause.
const BLOCK_PERIODS: f64 = 0.75;
const BLOCK_S: f64 = 4e-3;

/// A frequency at which stalls gather, and the probability that random stalls show any like it.
#[derive(Clone, Copy, Debug)]
pub struct SpectrumPeak {
    pub hertz: f64,
    pub false_alarm: f64,
}

/// Agreement of phases at one frequency, summed over visits.
#[derive(Clone, Copy, Debug, Default)]
pub struct PhaseStrength {
    /// Sum over visits of Rayleigh's statistic, `|sum of block sums|^2 / sum of |block sum|^2`.
    rayleigh: f64,
    /// Number of visits with at least two blocks.
    visits: usize,
    /// Sums over visits, each divided by its stalls: of the cosine between any two stalls of different blocks, and the
    /// number of such pairs.
    agreement: f64,
    pairs: f64,
}

impl PhaseStrength {
    /// Returns the square root of the mean cosine between stalls of different blocks: the mean resultant length without
    /// the bias of few stalls (Vinck and others, "The pairwise phase consistency", NeuroImage 51, 2010).
    pub fn vector_strength(&self) -> f64 {
        if self.pairs > 0.0 { (self.agreement / self.pairs).max(0.0).sqrt() } else { 0.0 }
    }

    fn add_sums(&mut self, sums: &PhaseSums) {
        if sums.blocks < 2 || sums.squares <= 0.0 {
            return;
        }
        let all = sums.x * sums.x + sums.y * sums.y;
        self.rayleigh += all / sums.squares;
        self.visits += 1;
        self.agreement += (all - sums.squares) / sums.count;
        self.pairs += (sums.count * sums.count - sums.counts_squared) / sums.count;
    }
}

/// Sums of one visit's unit vectors, in total and by block.
#[derive(Default)]
struct PhaseSums {
    x: f64,
    y: f64,
    squares: f64,
    count: f64,
    counts_squared: f64,
    blocks: usize,
}

impl PhaseSums {
    /// Sums vectors with their times, rising.
    #[inline]
    fn from_vectors(vectors: impl Iterator<Item = (f64, f64, f64)>, block_s: f64) -> Self {
        let mut sums = Self::default();
        let (mut x, mut y, mut count, mut end) = (0.0, 0.0, 0.0, f64::NEG_INFINITY);
        for (time, along, across) in vectors {
            if time >= end {
                sums.close_block(x, y, count);
                (x, y, count, end) = (0.0, 0.0, 0.0, time + block_s);
            }
            x += along;
            y += across;
            count += 1.0;
        }
        sums.close_block(x, y, count);
        sums
    }

    #[inline]
    fn close_block(&mut self, x: f64, y: f64, count: f64) {
        if count > 0.0 {
            self.x += x;
            self.y += y;
            self.squares += x * x + y * y;
            self.count += count;
            self.counts_squared += count * count;
            self.blocks += 1;
        }
    }
}

fn block_s(hertz: f64) -> f64 {
    (BLOCK_PERIODS / hertz).max(BLOCK_S)
}

fn takes_part(length_s: f64, hertz: f64) -> bool {
    length_s * hertz >= PERIODS_IN_A_VISIT * (1.0 - 1e-9)
}

/// Computes the agreement of all stalls' phases at one frequency.
pub fn phase_strength(tracks: &[StallTrack], hertz: f64) -> PhaseStrength {
    let mut strength = PhaseStrength::default();
    for track in tracks.iter().filter(|track| takes_part(track.length_s, hertz)) {
        let vectors = track.times_s.iter().map(|&time| {
            let (sine, cosine) = (TAU * hertz * time).sin_cos();
            (time, cosine, sine)
        });
        strength.add_sums(&PhaseSums::from_vectors(vectors, block_s(hertz)));
    }
    strength
}

/// Returns the highest peaks among the frequencies at which stalls gather beyond chance.
pub fn candidate_peaks(tracks: &[StallTrack], random: &mut RandomGenerator) -> Vec<SpectrumPeak> {
    let longest = tracks.iter().map(|track| track.length_s).fold(0.0, f64::max);
    let stalls: usize = tracks.iter().map(|track| track.times_s.len()).sum();
    if longest <= 0.0 || stalls < 3 {
        return Vec::new();
    }
    let lowest = LOWEST_HERTZ.max(PERIODS_IN_A_VISIT / longest);
    let step = 1.0 / (OVERSAMPLING * longest);
    let looks = (((HIGHEST_HERTZ - lowest) / step).max(0.0) as usize + 1).min(MOST_FREQUENCIES);
    let share = MOST_EVALUATIONS / (looks as f64 * stalls as f64);
    let strengths = FrequencyScan::from_tracks(tracks, lowest, step, share, random).run(looks);
    // Bonferroni's inequality over all frequencies.
    let log_false_alarm =
        |strength: &PhaseStrength| log_upper_tail(strength.rayleigh, strength.visits) + (looks as f64).ln();
    let false_alarms: Vec<f64> = strengths.iter().map(log_false_alarm).collect();
    let peak = |place: usize| SpectrumPeak {
        hertz: lowest + (place as f64 + summit_offset(&strengths, place)) * step,
        false_alarm: false_alarms[place].exp(),
    };
    highest_peaks(&false_alarms).into_iter().map(peak).collect()
}

/// Returns the whole fractions of a frequency at which stalls also gather beyond chance. A train of pulses has a peak
/// at every multiple of its rate, and other stalls may make any of them the highest.
pub fn whole_parts(tracks: &[StallTrack], hertz: f64) -> Vec<f64> {
    let parts = (2..=HIGHEST_HARMONIC).map(|harmonic| hertz / harmonic as f64);
    let most = (FALSE_ALARM / (HIGHEST_HARMONIC - 1) as f64).ln();
    let log = |part: f64| {
        let strength = phase_strength(tracks, part);
        log_upper_tail(strength.rayleigh, strength.visits)
    };
    parts.filter(|part| *part >= LOWEST_HERTZ && log(*part) <= most).collect()
}

/// Returns the places of the highest peaks, by the logarithms of the false alarm probabilities of all places.
fn highest_peaks(false_alarms: &[f64]) -> Vec<usize> {
    let mut passing: Vec<usize> =
        (0..false_alarms.len()).filter(|&place| false_alarms[place] <= FALSE_ALARM.ln()).collect();
    passing.sort_by(|&a, &b| false_alarms[a].total_cmp(&false_alarms[b]));
    let mut peaks: Vec<usize> = Vec::new();
    for place in passing {
        if peaks.len() < MOST_PEAKS && peaks.iter().all(|peak| peak.abs_diff(place) > APART) {
            peaks.push(place);
        }
    }
    peaks
}

/// Returns the distance of a peak's summit from its place, by the parabola through it and its neighbours: -0.5 to 0.5
/// steps.
fn summit_offset(strengths: &[PhaseStrength], place: usize) -> f64 {
    let at = |place: usize| strengths.get(place).map(|strength| strength.rayleigh);
    let (Some(before), Some(here), Some(after)) = (place.checked_sub(1).and_then(at), at(place), at(place + 1)) else {
        return 0.0;
    };
    let bend = before - 2.0 * here + after;
    if bend < 0.0 { (0.5 * (before - after) / bend).clamp(-0.5, 0.5) } else { 0.0 }
}

/// Unit vectors of all stalls, rotated by one step of frequency at a time.
struct FrequencyScan {
    hertz: f64,
    step: f64,
    visits: Vec<(f64, Vec<TurningVector>)>,
}

/// One stall's time and unit vector, and its rotation in a step.
struct TurningVector {
    time: f64,
    x: f64,
    y: f64,
    cosine: f64,
    sine: f64,
}

impl FrequencyScan {
    /// Takes a random share of the stalls. With a strided one every second pulse of a train would be a train itself.
    fn from_tracks(tracks: &[StallTrack], hertz: f64, step: f64, share: f64, random: &mut RandomGenerator) -> Self {
        let turning = |&time: &f64| {
            let (y, x) = (TAU * hertz * time).sin_cos();
            let (sine, cosine) = (TAU * step * time).sin_cos();
            TurningVector { time, x, y, cosine, sine }
        };
        let visit = |track: &StallTrack| {
            let kept = track.times_s.iter().filter(|_| share >= 1.0 || random.next_unit() < share);
            (track.length_s, kept.map(turning).collect())
        };
        Self { hertz, step, visits: tracks.iter().map(visit).collect() }
    }

    fn run(mut self, looks: usize) -> Vec<PhaseStrength> {
        let mut strengths = Vec::with_capacity(looks);
        for look in 0..looks {
            let hertz = self.hertz + look as f64 * self.step;
            let mut strength = PhaseStrength::default();
            for (length_s, stalls) in &mut self.visits {
                if takes_part(*length_s, hertz) {
                    let vectors = stalls.iter().map(|stall| (stall.time, stall.x, stall.y));
                    strength.add_sums(&PhaseSums::from_vectors(vectors, block_s(hertz)));
                }
                stalls.iter_mut().for_each(TurningVector::turn_step);
            }
            strengths.push(strength);
        }
        strengths
    }
}

impl TurningVector {
    #[inline]
    fn turn_step(&mut self) {
        (self.x, self.y) = (self.x * self.cosine - self.y * self.sine, self.x * self.sine + self.y * self.cosine);
    }
}
