//! Measures what watching wakes costs the watched program: pairs of threads pass a token by futex in slots with and without watching, in
//! random order. Run: `talk_overhead ADDITIONS PAIRS_OF_SLOTS`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use corewise_machine::random::RandomGenerator;
use corewise_sys::affinity;
use corewise_sys::atomic_wait::{wait_on_word, wake_one};
use corewise_sys::cpuset::online_cpus;
use corewise_sys::thread::process_cpu_time;
use corewise_sys::wakes::WakeCounter;
use corewise_sys::work::dependent_additions;

const SLOT: Duration = Duration::from_millis(100);
const SETTLE: Duration = Duration::from_millis(20);

/// How the program is watched in a slot.
#[derive(Clone, Copy, PartialEq)]
enum WatchMode {
    Off,
    Counting,
    CountingAndTiming,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = |usual: u32| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (additions, slots) = (next(1_000), next(40));
    let (tokens, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    for cpu in online_cpus().iter() {
        start_pair(cpu, additions, &tokens, &stop);
    }
    let mut counter = WakeCounter::open(&[]).unwrap_or_else(|gap| panic!("{}", gap.why));
    counter.watch_process(std::process::id()).unwrap();
    let mut random = RandomGenerator::new(47);
    for (name, mode) in [("counting", WatchMode::Counting), ("counting and timing", WatchMode::CountingAndTiming)] {
        let mut logs = Vec::new();
        let mut rate = 0.0;
        for _ in 0..slots {
            let first_is_watched = random.next_below(2) == 1;
            let order = if first_is_watched { [mode, WatchMode::Off] } else { [WatchMode::Off, mode] };
            let rates = order.map(|mode| run_slot(mode, &mut counter, &tokens));
            let (with, without) = if first_is_watched { (rates[0], rates[1]) } else { (rates[1], rates[0]) };
            logs.push((with / without).ln());
            rate += without / f64::from(slots);
        }
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (logs.len() - 1).max(1) as f64;
        let half = 2.02 * (variance / logs.len() as f64).sqrt();
        let percent = |log: f64| 100.0 * (log.exp() - 1.0);
        println!(
            "{name}: {rate:.0} wakes for each second of a cpu; throughput {:+.2} % [{:+.2}, {:+.2}]",
            percent(mean),
            percent(mean - half),
            percent(mean + half)
        );
    }
    stop.store(true, Ordering::Relaxed);
}

/// Starts two threads on a cpu that pass a token to and fro.
fn start_pair(cpu: u32, additions: u32, tokens: &Arc<AtomicU64>, stop: &Arc<AtomicBool>) {
    let words = [(); 2].map(|()| Arc::new(AtomicU32::new(0)));
    words[0].store(1, Ordering::Relaxed);
    for side in 0..2 {
        let (own, other) = (Arc::clone(&words[side]), Arc::clone(&words[1 - side]));
        let (tokens, stop) = (Arc::clone(tokens), Arc::clone(stop));
        std::thread::spawn(move || {
            affinity::pin_current(cpu).unwrap();
            while !stop.load(Ordering::Relaxed) {
                while own.swap(0, Ordering::AcqRel) == 0 {
                    let _ = wait_on_word(&own, 0, Duration::from_secs(1));
                }
                std::hint::black_box(dependent_additions(additions, 1));
                tokens.fetch_add(1, Ordering::Relaxed);
                other.store(1, Ordering::Release);
                wake_one(&other);
            }
        });
    }
}

/// Returns the tokens for each second of this process's computing time during a slot, which other programs on the machine hardly change.
fn run_slot(mode: WatchMode, counter: &mut WakeCounter, tokens: &AtomicU64) -> f64 {
    if mode != WatchMode::Off {
        counter.start_counting().unwrap();
        counter.time_waits(mode == WatchMode::CountingAndTiming).unwrap();
    }
    std::thread::sleep(SETTLE);
    let read = || (process_cpu_time().unwrap(), tokens.load(Ordering::Relaxed));
    let (begun, before) = read();
    std::thread::sleep(SLOT);
    let (ended, after) = read();
    counter.stop_counting();
    (after - before) as f64 / (ended - begun).as_secs_f64()
}
