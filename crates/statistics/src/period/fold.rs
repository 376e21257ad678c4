//! Folding of stalls on a period: the phase at which they gather, how closely, and the best period.

use std::f64::consts::TAU;

use super::track::StallTrack;
use crate::order::median;

/// Maximum distance from the phase that counts as on it, in periods: excluding more would leave a gap that is periodic
/// itself.
const WIDEST_HALF_WINDOW: f64 = 0.125;
/// Distance from the phase, in periods, beyond which stalls are unrelated to it.
const FAR: f64 = 0.25;
/// The window extends to the density of stalls that is this multiple of the density far from the phase.
const DENSER: f64 = 3.0;
/// Maximum extent of the window, as a multiple of the window that stalls fill most densely, or in seconds, whichever is
/// more: stalls at a fixed time after the source have another cause.
const TAIL_OF_CORE: f64 = 20.0;
const TAIL_S: f64 = 50e-6;
/// Minimum extent of a window to either side, in seconds: the precision of a work loop.
const NARROWEST_S: f64 = 1e-6;
/// Shares of stalls tried for a visit's phase: the share that gathers most gives it.
const GATHERED: [f64; 4] = [0.5, 0.35, 0.2, 0.1];
/// Minimum number of stalls for a phase of a visit.
const LEAST_STALLS: usize = 3;
/// Minimum agreement of the visits' phases for one common phase, and its maximum probability by chance.
const LEAST_AGREEMENT: f64 = 0.9;
const COHERENT_BY_CHANCE: f64 = 0.01;
const MOST_LOOKS: f64 = 20_000.0;
/// Number of alternating fits of the frequency and the common phase.
const COMMON_FITS: usize = 2;

/// A frequency with the phase of each visit.
#[derive(Clone, Debug)]
pub struct FoldedFrequency {
    pub hertz: f64,
    /// The phase of each visit, in periods from its beginning; `None` if it has too few stalls.
    centres: Vec<Option<f64>>,
    /// Half of the share of a period that is on phase.
    pub half_window: f64,
    /// Expected number of stalls on phase by chance.
    pub by_chance: f64,
    /// Logarithm of the likelihood ratio of the stalls with this window to random ones.
    pub likelihood: f64,
    pub coherent: bool,
    hertz_error: f64,
}

/// Folds the stalls at about this frequency, refined up to `fits` times; each visit has a phase of its own.
pub fn fold_stalls(tracks: &[StallTrack], hertz: f64, fits: usize) -> FoldedFrequency {
    let mut fold = FoldedFrequency::at_frequency(tracks, hertz);
    for _ in 0..fits {
        let Some(line) = fold.fit_line(tracks, false) else { break };
        let fitted =
            FoldedFrequency { hertz_error: line.hertz_error, ..FoldedFrequency::at_frequency(tracks, line.hertz) };
        if fitted.likelihood < fold.likelihood {
            break;
        }
        fold = fitted;
    }
    fold
}

/// Returns the logarithm of the likelihood ratio for `on` of `all` stalls in a share `width` of the period: gathered
/// there, over random.
fn log_likelihood(on: f64, all: f64, width: f64) -> f64 {
    let term = |count: f64, width: f64| if count > 0.0 { count * (count / all / width).ln() } else { 0.0 };
    if on / all > width { term(on, width) + term(all - on, 1.0 - width) } else { 0.0 }
}

/// Returns the distance of a phase from another, in periods: -0.5 to 0.5.
fn phase_distance(phase: f64, centre: f64) -> f64 {
    let difference = phase - centre;
    difference - difference.round()
}

impl FoldedFrequency {
    /// Folds with a phase for each visit.
    fn at_frequency(tracks: &[StallTrack], hertz: f64) -> Self {
        let centres = tracks.iter().map(|track| phase_centre(&stall_phases(track, hertz), hertz)).collect();
        let (half_window, by_chance, likelihood) = (0.0, 0.0, 0.0);
        Self { hertz, centres, half_window, by_chance, likelihood, coherent: false, hertz_error: 0.0 }
            .with_window(tracks)
    }

    fn phase_deviation(&self, visit: usize, time_s: f64) -> Option<f64> {
        self.centres[visit].map(|centre| phase_distance(self.hertz * time_s, centre))
    }

    /// Returns true if a stall at this time after the visit's beginning is on phase.
    pub fn is_on_phase(&self, visit: usize, time_s: f64) -> bool {
        self.phase_deviation(visit, time_s).is_some_and(|deviation| deviation.abs() <= self.half_window)
    }

    fn phase_deviations(&self, tracks: &[StallTrack]) -> Vec<f64> {
        let of = |(visit, track): (usize, &StallTrack)| -> Vec<f64> {
            track.times_s.iter().filter_map(|&time| self.phase_deviation(visit, time)).map(f64::abs).collect()
        };
        tracks.iter().enumerate().flat_map(of).collect()
    }

    /// Returns the number of stalls on phase.
    pub fn on_phase(&self, tracks: &[StallTrack]) -> u64 {
        self.phase_deviations(tracks).iter().filter(|deviation| **deviation <= self.half_window).count() as u64
    }

    /// Returns the median distance from the phase of the stalls on it, in periods.
    pub fn typical_deviation(&self, tracks: &[StallTrack]) -> f64 {
        let mut deviations = self.phase_deviations(tracks);
        deviations.retain(|deviation| *deviation <= self.half_window);
        median(&deviations)
    }

    /// Chooses the window, and rates the gathering by the window that stalls fill most densely, which may hold only
    /// their core.
    fn with_window(mut self, tracks: &[StallTrack]) -> Self {
        let mut deviations = self.phase_deviations(tracks);
        deviations.sort_by(f64::total_cmp);
        let all = deviations.len() as f64;
        let far = deviations.iter().filter(|deviation| **deviation > FAR).count() as f64;
        let narrowest = (NARROWEST_S * self.hertz).min(WIDEST_HALF_WINDOW);
        let inside = deviations.iter().take_while(|deviation| **deviation <= WIDEST_HALF_WINDOW);
        let held: Vec<(f64, f64)> =
            inside.enumerate().map(|(place, half)| (half.max(narrowest), (place + 1) as f64)).collect();
        let mut core = narrowest;
        for &(half, on) in &held {
            let likelihood = log_likelihood(on, all, 2.0 * half);
            if likelihood > self.likelihood {
                (core, self.likelihood) = (half, likelihood);
            }
        }
        // One more than counted, so that an empty half still has an estimate.
        let by_chance = |half: f64, far: f64| 2.0 * half * far / (1.0 - 2.0 * FAR);
        let beyond = |&(half, on): &(f64, f64)| on - DENSER * by_chance(half, far + 1.0);
        let reach = (TAIL_OF_CORE * core).max(TAIL_S * self.hertz);
        let windows = held.iter().filter(|window| window.0 <= reach);
        let window = windows.max_by(|a, b| beyond(a).total_cmp(&beyond(b))).map_or(core, |window| window.0);
        self.half_window = window;
        self.by_chance = by_chance(window, far);
        self
    }

    /// Fits a straight line through stalls on phase over their cycles' numbers, with an origin for each visit, or a
    /// common one.
    fn fit_line(&self, tracks: &[StallTrack], common: bool) -> Option<FittedLine> {
        let mut groups: Vec<Vec<(f64, f64)>> = Vec::new();
        // With a common origin, visits differ by whole cycles from the first of them.
        let cycles = |visit: usize, centre: f64| centre + tracks[visit].begin_s * self.hertz;
        let mut reference = None;
        for (visit, track) in tracks.iter().enumerate() {
            let Some(centre) = self.centres[visit] else { continue };
            let reference = *reference.get_or_insert_with(|| cycles(visit, centre));
            let (first_s, first_cycle) =
                if common { (track.begin_s, (cycles(visit, centre) - reference).round()) } else { (0.0, 0.0) };
            let on_phase = track.times_s.iter().filter(|time| self.is_on_phase(visit, **time));
            let point = |time: &f64| ((self.hertz * time - centre).round() + first_cycle, time + first_s);
            groups.push(on_phase.map(point).collect());
        }
        if common {
            groups = vec![groups.concat()];
        }
        FittedLine::through_points(&groups, self.hertz).filter(|line| (line.hertz / self.hertz - 1.0).abs() < 0.05)
    }

    /// Returns the same with one phase for all visits, if they show one.
    pub fn in_one_phase(&self, tracks: &[StallTrack]) -> Option<Self> {
        let pulses = self.visit_pulses(tracks);
        let hertz = common_frequency(&pulses, self.hertz, self.hertz_error)?;
        let mut fold = self.with_common_phase(tracks, &pulses, hertz);
        for _ in 0..COMMON_FITS {
            let Some(line) = fold.fit_line(tracks, true) else { break };
            fold = self.with_common_phase(tracks, &fold.visit_pulses(tracks), line.hertz);
        }
        // A valid common phase keeps the stalls that the visits' own phases have.
        let kept = fold.on_phase(tracks) as f64 >= 0.95 * self.on_phase(tracks) as f64;
        (kept && fold.half_window <= 2.0 * self.half_window).then_some(fold)
    }

    fn with_common_phase(&self, tracks: &[StallTrack], pulses: &[VisitPulse], hertz: f64) -> Self {
        let (phase, _) = pulse_agreement(pulses, hertz);
        let centres = tracks.iter().map(|track| Some(phase_distance(phase, hertz * track.begin_s))).collect();
        Self { hertz, centres, coherent: true, likelihood: 0.0, ..self.clone() }.with_window(tracks)
    }

    /// Returns a pulse near the middle of the stalls of each visit that has a phase.
    fn visit_pulses(&self, tracks: &[StallTrack]) -> Vec<VisitPulse> {
        let pulse = |(visit, track): (usize, &StallTrack)| {
            let on_phase = track.times_s.iter().filter(|time| self.is_on_phase(visit, **time));
            let (sum, count) = on_phase.fold((0.0, 0.0), |(sum, count), time| (sum + time, count + 1.0));
            let centre = self.centres[visit].filter(|_| count > 0.0)?;
            let cycle = (self.hertz * sum / count - centre).round() + centre;
            Some(VisitPulse { time_s: track.begin_s + cycle / self.hertz, weight: count })
        };
        tracks.iter().enumerate().filter_map(pulse).collect()
    }
}

fn stall_phases(track: &StallTrack, hertz: f64) -> Vec<f64> {
    track.times_s.iter().map(|time| (time * hertz).rem_euclid(1.0)).collect()
}

/// Returns the phase at which stalls gather: the mean of those near the shortest arc with a share of them, for the
/// share that gathers most.
fn phase_centre(phases: &[f64], hertz: f64) -> Option<f64> {
    let count = phases.len();
    if count < LEAST_STALLS {
        return None;
    }
    let mut sorted = phases.to_vec();
    sorted.sort_by(f64::total_cmp);
    let narrowest = 2.0 * NARROWEST_S * hertz;
    let arcs = GATHERED.map(|share| {
        let held = ((count as f64 * share).ceil() as usize).max(2);
        let (middle, width) = shortest_arc(&sorted, held);
        (middle, width, log_likelihood(held as f64, count as f64, width.max(narrowest)))
    });
    let (middle, width, _) = arcs.into_iter().max_by(|a, b| a.2.total_cmp(&b.2))?;
    let near =
        phases.iter().map(|&phase| phase_distance(phase, middle)).filter(|distance| distance.abs() <= 1.5 * width);
    let (sum, near) = near.fold((0.0, 0.0), |(sum, near), distance| (sum + distance, near + 1.0));
    Some(middle + if near > 0.0 { sum / near } else { 0.0 })
}

/// Returns the middle and the width of the shortest arc that contains `held` phases.
fn shortest_arc(sorted: &[f64], held: usize) -> (f64, f64) {
    let count = sorted.len();
    let end = |first: usize| sorted[(first + held - 1) % count] + f64::from(u8::from(first + held > count));
    let arcs = (0..count).map(|first| ((sorted[first] + end(first)) / 2.0, end(first) - sorted[first]));
    arcs.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0.0, 1.0))
}

/// Time of a pulse in a visit, from all of its stalls on phase.
struct VisitPulse {
    time_s: f64,
    weight: f64,
}

/// Returns the common phase of pulses at a frequency, in periods of the clock, and their agreement on it, 0 to 1.
fn pulse_agreement(pulses: &[VisitPulse], hertz: f64) -> (f64, f64) {
    let (mut x, mut y, mut weights) = (0.0, 0.0, 0.0);
    for pulse in pulses {
        let (sine, cosine) = (TAU * (hertz * pulse.time_s).rem_euclid(1.0)).sin_cos();
        x += pulse.weight * cosine;
        y += pulse.weight * sine;
        weights += pulse.weight;
    }
    (y.atan2(x) / TAU, x.hypot(y) / weights)
}

/// Returns the frequency, within its error, at which all visits have one phase; `None` if the agreement is not beyond
/// chance.
fn common_frequency(pulses: &[VisitPulse], hertz: f64, hertz_error: f64) -> Option<f64> {
    let first = pulses.iter().map(|pulse| pulse.time_s).fold(f64::INFINITY, f64::min);
    let last = pulses.iter().map(|pulse| pulse.time_s).fold(f64::NEG_INFINITY, f64::max);
    let span = last - first;
    if pulses.len() < 3 || span <= 0.0 {
        return None;
    }
    let step = 1.0 / (8.0 * span);
    let reach = (4.0 * hertz_error / step).ceil() + 1.0;
    let looks = 2.0 * reach + 1.0;
    if looks > MOST_LOOKS {
        return None;
    }
    let tried = (0..looks as usize).map(|look| hertz + (look as f64 - reach) * step);
    let (hertz, agreement) =
        tried.map(|hertz| (hertz, pulse_agreement(pulses, hertz).1)).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let weights: f64 = pulses.iter().map(|pulse| pulse.weight).sum();
    let squares: f64 = pulses.iter().map(|pulse| pulse.weight * pulse.weight).sum();
    let by_chance = looks * (-agreement * agreement * weights * weights / squares).exp();
    (agreement >= LEAST_AGREEMENT && by_chance <= COHERENT_BY_CHANCE).then(|| fitted_to_pulses(pulses, hertz))
}

/// Refines a frequency by a fit to pulses, with their cycle numbers at it; the search's steps are too coarse.
fn fitted_to_pulses(pulses: &[VisitPulse], hertz: f64) -> f64 {
    let (phase, _) = pulse_agreement(pulses, hertz);
    let first = pulses.iter().map(|pulse| pulse.time_s).fold(f64::INFINITY, f64::min);
    let cycle = |time_s: f64| (hertz * time_s - phase).round() - (hertz * first - phase).round();
    let points = pulses.iter().map(|pulse| (cycle(pulse.time_s), pulse.time_s - first)).collect();
    FittedLine::through_points(&[points], hertz).map_or(hertz, |line| line.hertz)
}

/// A least-squares line of times over cycles.
struct FittedLine {
    hertz: f64,
    hertz_error: f64,
}

impl FittedLine {
    fn through_points(groups: &[Vec<(f64, f64)>], hertz: f64) -> Option<Self> {
        let (mut across, mut along, mut left, mut free) = (0.0, 0.0, 0.0, -1.0);
        for points in groups.iter().filter(|points| points.len() > 1) {
            let count = points.len() as f64;
            let cycle = points.iter().map(|point| point.0).sum::<f64>() / count;
            let time = points.iter().map(|point| point.1).sum::<f64>() / count;
            for &(own_cycle, own_time) in points {
                // Deviations from the present period are small numbers, and keep their digits.
                let late = own_time - time - (own_cycle - cycle) / hertz;
                across += (own_cycle - cycle).powi(2);
                along += (own_cycle - cycle) * late;
                left += late * late;
            }
            free += count - 1.0;
        }
        if across <= 0.0 || free <= 0.0 {
            return None;
        }
        let longer = along / across;
        let period = 1.0 / hertz + longer;
        let variance = (left - longer * along).max(0.0) / free;
        (period > 0.0)
            .then(|| Self { hertz: 1.0 / period, hertz_error: (variance / across).sqrt() / (period * period) })
    }
}
