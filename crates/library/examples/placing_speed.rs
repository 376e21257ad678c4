//! Measures placing and checking 64 threads, each by itself, and reading the machine before: `cargo run --release -p corewise --example
//! placing_speed`.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use corewise::{Machine, PlaceError};

const THREADS: usize = 64;
const REPEATS: usize = 25;

fn main() -> Result<(), PlaceError> {
    let mut reading: Vec<Duration> = Vec::new();
    let mut placing: Vec<Duration> = Vec::new();
    for _ in 0..REPEATS {
        let begin = Instant::now();
        let placement = Machine::this()?.place("all")?.one_cpu_each();
        reading.push(begin.elapsed());
        placing.push(place_threads(&placement));
        assert!(placement.report().is_whole(), "{:?}", placement.report());
    }
    println!("reading the machine and resolving: {:.2?} (median of {REPEATS})", median(&mut reading));
    println!("{THREADS} threads placed and checked:     {:.2?} (median of {REPEATS})", median(&mut placing));
    Ok(())
}

/// Returns the time from the moment in which threads that exist already may begin until the last has placed itself.
fn place_threads(placement: &corewise::Placement) -> Duration {
    let (begin, end) = (Barrier::new(THREADS + 1), Barrier::new(THREADS + 1));
    let pin = placement.pin_by_index();
    std::thread::scope(|scope| {
        for index in 0..THREADS {
            let (begin, end, pin) = (&begin, &end, &pin);
            scope.spawn(move || {
                begin.wait();
                pin(index);
                end.wait();
            });
        }
        begin.wait();
        let begun = Instant::now();
        end.wait();
        begun.elapsed()
    })
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
