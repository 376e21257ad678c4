//! Tests of the pairs.

use super::*;
use crate::Size;

const KINDS: [By; 3] = [By::Futex, By::Pipe, By::Socket];

/// To what all pairs of [`small`] count together.
const COUNTED: u64 = 2 * USUAL_ROUND_TRIPS / 500;

fn run_with(settings: &Settings, options: &Options, stop: &AtomicBool) -> Result<Report, Error> {
    run(settings, options, &mut Company { stop, progress: &mut |_| () })
}

fn small(threads: usize) -> Settings {
    Settings { size: Size::Share(0.002), ..Settings::new(threads) }
}

#[test]
fn all_kinds_count_to_the_same_with_any_number_of_threads() {
    let stop = AtomicBool::new(false);
    for by in KINDS {
        let options = Options { by, partner: None };
        let checksum = |threads| run_with(&small(threads), &options, &stop).unwrap().checksum;
        assert_eq!([checksum(1), checksum(2), checksum(5)], [Some(Random::new(COUNTED).bits()); 3], "{by:?}");
    }
    // More pairs than round trips.
    let few = Settings { size: Size::Share(1e-9), ..small(6) };
    assert_eq!(run_with(&few, &Options::default(), &stop).unwrap().checksum, Some(Random::new(2).bits()));
}

#[test]
fn pairs_play_for_a_time() {
    let (stop, time) = (AtomicBool::new(false), Size::Time(Duration::from_millis(10)));
    let report = run_with(&Settings { size: time, ..small(3) }, &Options::default(), &stop).unwrap();
    let names: Vec<&str> = report.metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!((names, report.checksum), (vec!["round_trips_per_second", "p50_ns", "p99_ns"], None));
}

/// As a partner that has greeted and of which nobody hears anything more.
#[test]
fn a_partner_that_never_answers_is_not_waited_for() {
    let (clock, stop) = (Clock::calibrated(), AtomicBool::new(false));
    for by in KINDS {
        let ([mut silent, own], ender) = line::line(by).unwrap();
        let ends = vec![[Mutex::new(Some(own)), Mutex::new(None)]];
        let table = Table { ends, enders: vec![Mutex::new(ender)], are_threads: false };
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // On a busy machine nobody may be left to greet.
                let Ok(()) = partner::greet(&mut silent) else { return };
                while silent.hear_after(1).unwrap() != OVER {}
            });
            let played = table.play(&small(2), Amount::Items(5), &clock, &stop, Duration::from_millis(60));
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
            let settings = Settings { size: Size::Time(Duration::from_secs(3600)), ..Settings::new(3) };
            let options = Options { by, partner: None };
            let stop = &stop;
            let run = scope.spawn(move || run_with(&settings, &options, stop));
            std::thread::sleep(Duration::from_millis(80));
            stop.store(true, Ordering::Relaxed);
            assert!(matches!(run.join().unwrap(), Err(Error::Stopped)), "{by:?}");
        });
    }
    let none = Settings { threads: 0, ..small(1) };
    assert!(matches!(run_with(&none, &Options::default(), &AtomicBool::new(false)), Err(Error::Input { .. })));
}

#[test]
fn a_wrong_count_is_found() {
    let clock = Clock::calibrated();
    let game = |spoil: fn(&mut Game)| {
        let mut game = Game::new(Amount::Items(3), &clock);
        (game.round_trips, game.count, game.was_ended) = (3, 6, false);
        (0..3).for_each(|_| game.histogram.record(5));
        spoil(&mut game);
        report(&[game], Amount::Items(3), &clock).map(|report| report.checksum)
    };
    assert_eq!(game(|_| ()).unwrap(), Some(Random::new(6).bits()));
    let spoiled: [fn(&mut Game); 3] = [
        |game| game.count = 5,
        |game| game.histogram.record(1),
        |game| {
            (game.round_trips, game.count) = (2, 4);
            game.histogram.clear();
            (0..2).for_each(|_| game.histogram.record(5));
        },
    ];
    for spoil in spoiled {
        assert!(matches!(game(spoil), Err(Error::Wrong(_))));
    }
    assert!(matches!(game(|game| game.was_ended = true), Err(Error::System { .. })), "nobody has computed wrongly");
}

/// A clock that stands.
#[derive(Clone, Copy)]
struct Standing;

impl Ticks for Standing {
    fn now(self) -> u64 {
        0
    }
}

#[test]
fn a_partner_who_says_another_number_is_wrong() {
    // Into a word nobody can say another than the next.
    for by in [By::Pipe, By::Socket] {
        let ([mut first, mut second], _ender) = line::line(by).unwrap();
        let clock = Clock::calibrated();
        let told = std::thread::scope(|scope| {
            // Its end stays, since one that is dropped ends the line.
            scope.spawn(|| {
                let heard = second.hear_after(0).unwrap();
                second.say_after(line::after(heard)).unwrap();
            });
            let mut game = Game::new(Amount::Items(3), &clock);
            game.play(Standing, &mut first, &AtomicBool::new(false), &Progress::default()).unwrap_err().to_string()
        });
        assert_eq!(told, "the result is wrong: 3 was received after 1", "{by:?}");
    }
}
