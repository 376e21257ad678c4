//! Tests of the pairs.

use super::*;
use crate::WorkloadSize;

const KINDS: [WakeupMeans; 3] = [WakeupMeans::Futex, WakeupMeans::Pipe, WakeupMeans::Socket];

/// To what all pairs of [`small`] count together.
const COUNTED: u64 = 2 * USUAL_ROUND_TRIPS / 500;

fn run_with(
    settings: &WorkloadSettings,
    options: &PingpongOptions,
    stop: &AtomicBool,
) -> Result<WorkloadReport, WorkError> {
    run(settings, options, &mut WorkloadHost { stop, progress: &mut |_| () })
}

fn small(threads: usize) -> WorkloadSettings {
    WorkloadSettings { size: WorkloadSize::Share(0.002), ..WorkloadSettings::new(threads) }
}

#[test]
fn all_kinds_count_to_the_same_with_any_number_of_threads() {
    let stop = AtomicBool::new(false);
    for by in KINDS {
        let options = PingpongOptions { by, partner: None };
        let checksum = |threads| run_with(&small(threads), &options, &stop).unwrap().checksum;
        assert_eq!(
            [checksum(1), checksum(2), checksum(5)],
            [Some(RandomGenerator::new(COUNTED).next_bits()); 3],
            "{by:?}"
        );
    }
    // More pairs than round trips.
    let few = WorkloadSettings { size: WorkloadSize::Share(1e-9), ..small(6) };
    assert_eq!(
        run_with(&few, &PingpongOptions::default(), &stop).unwrap().checksum,
        Some(RandomGenerator::new(2).next_bits())
    );
}

#[test]
fn pairs_play_for_a_time() {
    let (stop, time) = (AtomicBool::new(false), WorkloadSize::Time(Duration::from_millis(10)));
    let report = run_with(&WorkloadSettings { size: time, ..small(3) }, &PingpongOptions::default(), &stop).unwrap();
    let names: Vec<&str> = report.metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!((names, report.checksum), (vec!["round_trips_per_second", "p50_ns", "p99_ns"], None));
}

/// As a partner that has greeted and of which nobody hears anything more.
#[test]
fn a_partner_that_never_answers_is_not_waited_for() {
    let (clock, stop) = (TickClock::calibrate_best(), AtomicBool::new(false));
    for by in KINDS {
        let ([mut silent, own], ender) = line::open_line(by).unwrap();
        let ends = vec![[Mutex::new(Some(own)), Mutex::new(None)]];
        let table = PairTable { ends, enders: vec![Mutex::new(ender)], are_threads: false };
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // On a busy machine nobody may be left to greet.
                let Ok(()) = partner::greet_starter(&mut silent) else { return };
                while silent.hear_after(1).unwrap() != OVER {}
            });
            let played = table.play_all(&small(2), WorkAmount::Items(5), &clock, &stop, Duration::from_millis(60));
            let error = played.map(|_| ()).unwrap_err().to_string();
            assert_eq!(error, "waking each other: no answer for 60ms", "{by:?}");
        });
    }
}

#[test]
fn it_is_stopped_whatever_it_waits_for() {
    for by in KINDS {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let settings =
                WorkloadSettings { size: WorkloadSize::Time(Duration::from_secs(3600)), ..WorkloadSettings::new(3) };
            let options = PingpongOptions { by, partner: None };
            let stop = &stop;
            let run = scope.spawn(move || run_with(&settings, &options, stop));
            std::thread::sleep(Duration::from_millis(80));
            stop.store(true, Ordering::Relaxed);
            assert!(matches!(run.join().unwrap(), Err(WorkError::Stopped)), "{by:?}");
        });
    }
    let none = WorkloadSettings { threads: 0, ..small(1) };
    assert!(matches!(
        run_with(&none, &PingpongOptions::default(), &AtomicBool::new(false)),
        Err(WorkError::Input { .. })
    ));
}

#[test]
fn a_wrong_count_is_found() {
    let clock = TickClock::calibrate_best();
    let game = |spoil: fn(&mut PairGame)| {
        let mut game = PairGame::new(WorkAmount::Items(3), &clock);
        (game.round_trips, game.count, game.was_ended) = (3, 6, false);
        (0..3).for_each(|_| game.histogram.record_ticks(5));
        spoil(&mut game);
        build_report(&[game], WorkAmount::Items(3), &clock).map(|report| report.checksum)
    };
    assert_eq!(game(|_| ()).unwrap(), Some(RandomGenerator::new(6).next_bits()));
    let spoiled: [fn(&mut PairGame); 3] = [
        |game| game.count = 5,
        |game| game.histogram.record_ticks(1),
        |game| {
            (game.round_trips, game.count) = (2, 4);
            game.histogram.clear_counts();
            (0..2).for_each(|_| game.histogram.record_ticks(5));
        },
    ];
    for spoil in spoiled {
        assert!(matches!(game(spoil), Err(WorkError::Wrong(_))));
    }
    assert!(matches!(game(|game| game.was_ended = true), Err(WorkError::System { .. })), "nobody has computed wrongly");
}

/// A clock that stands.
#[derive(Clone, Copy)]
struct StandingClock;

impl TickSource for StandingClock {
    fn read_ticks(self) -> u64 {
        0
    }
}

#[test]
fn a_partner_who_says_another_number_is_wrong() {
    // Into a word nobody can say another than the next.
    for by in [WakeupMeans::Pipe, WakeupMeans::Socket] {
        let ([mut first, mut second], _ender) = line::open_line(by).unwrap();
        let clock = TickClock::calibrate_best();
        let told = std::thread::scope(|scope| {
            // Its end stays, since one that is dropped ends the line.
            scope.spawn(|| {
                let heard = second.hear_after(0).unwrap();
                second.say_after(line::number_after(heard)).unwrap();
            });
            let mut game = PairGame::new(WorkAmount::Items(3), &clock);
            game.play_game(StandingClock, &mut first, &AtomicBool::new(false), &PairProgress::default())
                .unwrap_err()
                .to_string()
        });
        assert_eq!(told, "the result is wrong: 3 was received after 1", "{by:?}");
    }
}
