//! The period test on simulated cpus: how often it is wrong where nothing is periodic, and what it finds where something is.

use corewise_testing::count_cases;

use super::*;

/// How many cpus are simulated of each kind.
const CPUS: usize = 500;

/// When visits begin and how long they are, as the probe makes them: a visit in turn, with others' visits in between.
fn visits(count: usize, length_s: f64, mut times: impl FnMut(f64) -> Vec<f64>) -> Vec<WatchedStretch> {
    let visit = |index: usize| {
        let begin_s = 1000.0 + index as f64 * length_s * 4.37;
        let mut times_s: Vec<f64> = times(begin_s).into_iter().filter(|time| (0.0..length_s).contains(time)).collect();
        times_s.sort_by(f64::total_cmp);
        times_s.iter_mut().for_each(|time| *time += begin_s);
        WatchedStretch { begin_s, end_s: begin_s + length_s, times_s }
    };
    (0..count).map(visit).collect()
}

fn exponential(random: &mut RandomGenerator, per_second: f64) -> f64 {
    -(1.0 - random.next_unit()).ln() / per_second
}

/// Stalls at random, at a rate.
fn poisson(random: &mut RandomGenerator, per_second: f64, length_s: f64) -> Vec<f64> {
    let mut times = Vec::new();
    let mut now = exponential(random, per_second);
    while now < length_s {
        times.push(now);
        now += exponential(random, per_second);
    }
    times
}

/// Pulses of which some are missing, with a normal jitter.
struct Pulses {
    hertz: f64,
    phase: f64,
    jitter_s: f64,
    missing: f64,
}

impl Pulses {
    fn times(&self, random: &mut RandomGenerator, length_s: f64) -> Vec<f64> {
        let pulses = (0..=(length_s * self.hertz) as usize).map(|cycle| (cycle as f64 + self.phase) / self.hertz);
        let jittered: Vec<f64> = pulses.map(|time| time + self.jitter_s * random.next_normal()).collect();
        jittered.into_iter().filter(|_| random.next_unit() >= self.missing).collect()
    }
}

/// What share of simulated cpus is called periodic; the plan of visits varies from cpu to cpu.
fn false_alarms(seed: u64, mut times: impl FnMut(&mut RandomGenerator, f64, f64) -> Vec<f64>) -> f64 {
    let mut random = RandomGenerator::new(seed);
    let cpus = count_cases(CPUS);
    let called = (0..cpus).filter(|_| {
        let count = [8, 12, 20][random.next_below(3)];
        let length_s = [0.1, 0.2, 0.3][random.next_below(3)];
        let per_second = [30.0, 80.0, 200.0][random.next_below(3)];
        let simulated = visits(count, length_s, |_| times(&mut random, per_second, length_s));
        !find_periods(&simulated, 1).sources.is_empty()
    });
    called.count() as f64 / cpus as f64
}

#[test]
fn stalls_at_random_are_not_periodic() {
    let share = false_alarms(1, poisson);
    assert!(share <= 0.01, "{share}");
}

#[test]
fn bursts_at_random_are_not_periodic() {
    let share = false_alarms(2, |random, per_second, length_s| {
        let begins = poisson(random, per_second / 5.0, length_s);
        let burst =
            |begin| (0..1 + random.next_below(9)).map(|_| begin + 1e-3 * random.next_unit()).collect::<Vec<f64>>();
        begins.into_iter().flat_map(burst).collect()
    });
    assert!(share <= 0.01, "{share}");
}

/// The stalls of a burst are as far from each other as those of any other: as a device's completions are.
#[test]
fn bursts_with_an_even_beat_are_not_periodic() {
    let share = false_alarms(3, |random, per_second, length_s| {
        let begins = poisson(random, per_second / 4.0, length_s);
        begins.into_iter().flat_map(|begin| (0..4).map(move |stall| begin + 2.5e-4 * f64::from(stall))).collect()
    });
    assert!(share <= 0.01, "{share}");
}

#[test]
fn a_rate_that_drifts_is_not_periodic() {
    let ramp = false_alarms(4, |random, per_second, length_s| {
        let mut times = poisson(random, 2.0 * per_second, length_s);
        times.retain(|time| random.next_unit() < time / length_s);
        times
    });
    let decay = false_alarms(5, |random, per_second, length_s| {
        let mut times = poisson(random, 10.0 * per_second, length_s);
        times.retain(|time| random.next_unit() < (-12.0 * time / length_s).exp());
        times
    });
    let on_and_off = false_alarms(6, |random, per_second, length_s| {
        let (begin, end) = (random.next_unit() * length_s, random.next_unit() * length_s);
        let mut times = poisson(random, per_second, length_s);
        times.retain(|time| (begin.min(end)..begin.max(end)).contains(time));
        times
    });
    assert!(ramp <= 0.01 && decay <= 0.01 && on_and_off <= 0.01, "{ramp} {decay} {on_and_off}");
}

/// Stalls near this system's own tick are explained and left out, so that there are none right after multiples of 4 ms;
/// and none so soon after another that the two would be one.
#[test]
fn dead_times_are_not_periodic() {
    let ticks = false_alarms(7, |random, per_second, length_s| {
        let mut times = poisson(random, per_second, length_s);
        times.retain(|time| time.rem_euclid(0.004) > 20e-6);
        times
    });
    let apart = false_alarms(8, |random, per_second, length_s| {
        let mut times = poisson(random, 2.0 * per_second, length_s);
        times.dedup_by(|later, earlier| *later - *earlier < 1e-3);
        times
    });
    assert!(ticks <= 0.01 && apart <= 0.01, "{ticks} {apart}");
}

#[test]
fn a_clock_with_long_steps_is_not_a_source() {
    let share = false_alarms(9, |random, per_second, length_s| {
        poisson(random, per_second, length_s).iter().map(|time| (time * 1e3).floor() / 1e3).collect()
    });
    assert!(share <= 0.01, "{share}");
}

/// What the test says of simulated cpus with the host's tick and noise.
fn found(
    cpus: usize,
    seed: u64,
    count: usize,
    length_s: f64,
    hertz: f64,
    missing: f64,
    noise: f64,
) -> Vec<PeriodFindings> {
    let mut random = RandomGenerator::new(seed);
    let mut cpu = || {
        let per_second = hertz * (1.0 - missing) * noise / (1.0 - noise);
        let simulated = visits(count, length_s, |_| {
            let pulses = Pulses { hertz, phase: random.next_unit(), jitter_s: 20e-6, missing };
            let mut times = pulses.times(&mut random, length_s);
            times.extend(poisson(&mut random, per_second, length_s));
            times
        });
        find_periods(&simulated, 1)
    };
    (0..count_cases(cpus)).map(|_| cpu()).collect()
}

fn share_right(periods: &[PeriodFindings], hertz: f64, within: f64) -> f64 {
    let right =
        |periods: &&PeriodFindings| matches!(periods.sources[..], [source] if (source.hertz - hertz).abs() <= within);
    periods.iter().filter(right).count() as f64 / periods.len() as f64
}

#[test]
fn the_host_s_tick_is_found_with_pulses_missing_and_noise() {
    let periods = found(CPUS, 20, 8, 0.3, 100.0, 0.4, 0.2);
    assert!(share_right(&periods, 100.0, 0.1) >= 0.99, "{}", share_right(&periods, 100.0, 0.1));
    let sources: Vec<&PeriodicSource> = periods.iter().filter_map(|periods| periods.sources.first()).collect();
    assert!(sources.iter().all(|source| !source.coherent));
    let narrow = sources.iter().filter(|source| source.window < 0.1).count();
    assert!(narrow as f64 >= 0.98 * periods.len() as f64, "{narrow}");
}

/// The vector strength is about 0.2 then: what is far off the phase does not make what is on it less plain.
#[test]
fn the_host_s_tick_is_found_where_it_is_a_fifth_of_the_stalls() {
    let periods = found(100, 26, 20, 0.3, 100.0, 0.4, 0.8);
    assert!(share_right(&periods, 100.0, 0.1) >= 0.98, "{}", share_right(&periods, 100.0, 0.1));
    assert!(
        periods
            .iter()
            .flat_map(|periods| &periods.sources)
            .all(|source| source.by_chance < 0.1 * source.on_phase as f64)
    );
}

#[test]
fn no_harmonic_is_told_for_the_rate() {
    for (hertz, missing) in [(30.0, 0.0), (100.0, 0.0), (100.0, 0.6), (250.0, 0.5), (1000.0, 0.3)] {
        let periods = found(50, 21, 10, 0.3, hertz, missing, 0.2);
        let share = share_right(&periods, hertz, hertz * 1e-3);
        assert!(share >= 0.98, "{share} of {hertz} with {missing} missing: {:?}", periods[0].sources);
    }
}

/// Counted against what the simulation knows.
#[test]
fn members_are_the_pulses() {
    let mut random = RandomGenerator::new(22);
    let mut truths = Vec::new();
    let simulated = visits(20, 0.5, |_| {
        let pulses = Pulses { hertz: 100.0, phase: random.next_unit(), jitter_s: 20e-6, missing: 0.3 };
        let times = pulses.times(&mut random, 0.5);
        truths.push(times.iter().filter(|time| (0.0..0.5).contains(*time)).count() as u64);
        [times, poisson(&mut random, 20.0, 0.5)].concat()
    });
    let periods = find_periods(&simulated, 1);
    let (source, truth) = (periods.sources[0], truths.iter().sum::<u64>());
    let members = periods.membership.iter().flatten().filter(|source| **source == Some(0)).count() as u64;
    assert_eq!(members, source.on_phase);
    assert!(
        (source.on_phase as f64 - source.by_chance - truth as f64).abs() < 0.02 * truth as f64,
        "{truth} {source:?}"
    );
    assert!(source.vector_strength > 0.7 && source.vector_strength < 0.9, "{source:?}");
    assert_eq!(source.tested, simulated.iter().map(|visit| visit.times_s.len() as u64).sum::<u64>());
}

#[test]
fn one_phase_for_all_visits_is_seen_and_makes_the_rate_precise() {
    let mut random = RandomGenerator::new(23);
    let simulated = visits(20, 0.3, |begin_s| {
        let phase = 1.0 - (begin_s * 100.0123).fract();
        let pulses = Pulses { hertz: 100.0123, phase, jitter_s: 20e-6, missing: 0.4 };
        [pulses.times(&mut random, 0.3), poisson(&mut random, 15.0, 0.3)].concat()
    });
    let source = find_periods(&simulated, 1).sources[0];
    assert!(source.coherent, "{source:?}");
    assert!((source.hertz - 100.0123).abs() < 1e-4, "{source:?}");
}

#[test]
fn two_sources_are_told_apart() {
    let mut random = RandomGenerator::new(24);
    let simulated = visits(30, 0.5, |_| {
        let fast = Pulses { hertz: 250.0, phase: random.next_unit(), jitter_s: 10e-6, missing: 0.1 };
        let slow = Pulses { hertz: 64.0, phase: random.next_unit(), jitter_s: 10e-6, missing: 0.0 };
        [fast.times(&mut random, 0.5), slow.times(&mut random, 0.5)].concat()
    });
    let rates: Vec<f64> = find_periods(&simulated, 1).sources.iter().map(|source| source.hertz).collect();
    assert!(matches!(rates[..], [a, b] if (a - 250.0).abs() < 0.01 && (b - 64.0).abs() < 0.01), "{rates:?}");
}

/// As on a real virtual machine: this system's tick and the host's, precise, among twice as many other stalls. At 500 and
/// 750 Hz their phases agree better than at either rate.
#[test]
fn two_ticks_among_many_stalls_are_not_taken_for_a_multiple_of_both() {
    let mut random = RandomGenerator::new(27);
    for _ in 0..20 {
        let simulated = visits(20, 0.3, |begin_s| {
            let mut tick = |hertz: f64| {
                let phase = (-begin_s * hertz).rem_euclid(1.0);
                Pulses { hertz, phase, jitter_s: 2e-6, missing: 0.02 }.times(&mut random, 0.3)
            };
            let ticks = [tick(250.0), tick(100.003)].concat();
            [ticks, poisson(&mut random, 700.0, 0.3)].concat()
        });
        let rates: Vec<f64> = find_periods(&simulated, 1).sources.iter().map(|source| source.hertz).collect();
        assert!(matches!(rates[..], [a, b] if (a - 250.0).abs() < 1e-3 && (b - 100.003).abs() < 1e-3), "{rates:?}");
    }
}

/// More stalls than are evaluated: a random part is looked at, and every stall is given its place.
#[test]
fn many_stalls_are_bounded() {
    let periods = found(1, 25, 30, 1.0, 1000.0, 0.1, 0.2);
    assert!(share_right(&periods, 1000.0, 0.01) == 1.0, "{:?}", periods[0].sources);
    let members = periods[0].membership.iter().flatten().flatten().count();
    assert!(members > 26_000, "{members}");
}

#[test]
fn odd_input_is_no_source() {
    let visit = |begin_s, end_s, times_s: &[f64]| WatchedStretch { begin_s, end_s, times_s: times_s.to_vec() };
    let odd = [
        visit(0.0, 0.0, &[]),
        visit(5.0, 4.0, &[4.5]),
        visit(1.0, 2.0, &[f64::NAN, f64::INFINITY, 0.5, 2.5]),
        visit(f64::NAN, 1.0, &[0.5]),
        visit(0.0, 1.0, &[0.5; 40]),
    ];
    let periods = find_periods(&odd, 1);
    assert!(periods.sources.is_empty());
    assert_eq!(periods.membership.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1, 4, 1, 40]);
    assert_eq!(find_periods(&[], 1), PeriodFindings::default());
}
