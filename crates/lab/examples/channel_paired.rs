//! Compares the link kind `channel` with the same loop written directly, in turn: ours, the loop, the loop, ours. Prints the medians in
//! nanoseconds per send, and the median ratio within rounds with its 95 % interval, for a channel of 64 and an unbounded one.
//!
//! `channel_paired [ROUNDS]`, between the first two allowed cpus. In the loop, one thread sends as fast as it can and counts its sends, and
//! another receives. The clock is read once in 64 sends.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use corewise_lab::probe::links::{self, ClockWarmth, LIMIT, LinkVisit, MemoryHome};
use corewise_machine::Gap;
use corewise_machine::random::RandomGenerator;
use corewise_model::links::TalkWay;
use corewise_statistics::order::{median, median_interval, quantile};
use corewise_sys::affinity;
use corewise_sys::clock::TickClock;
use crossbeam_channel::{bounded, unbounded};

/// Duration of the loop: that of a visit.
const TIME: Duration = Duration::from_millis(20);
const SENDS_A_LOOK: u64 = 64;
/// Pause before each measurement. Under `chrt -f 1` the kernel throttles this program after 0.95 s in each second.
const REST: Duration = Duration::from_millis(10);

fn main() -> ExitCode {
    let rounds = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(100);
    let cpus: Vec<u32> = affinity::current_affinity().map(|cpus| cpus.iter().take(2).collect()).unwrap_or_default();
    let [first, second] = cpus[..] else {
        eprintln!("channel_paired: two allowed cpus are needed");
        return ExitCode::from(3);
    };
    let mut ours = PairedLinks {
        clock: TickClock::calibrate_best(),
        warmth: ClockWarmth::default(),
        random: RandomGenerator::new(1),
        first,
        second,
    };
    for bound in [Some(64), None] {
        let (mut kind, mut loops, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let mut round = || -> Result<[f64; 4], Gap> {
                let before = ours.send_ns(bound)?;
                let straight = [straight_send_ns(bound, first, second), straight_send_ns(bound, first, second)];
                Ok([before, straight[0], straight[1], ours.send_ns(bound)?])
            };
            match round() {
                Ok([a, b, c, d]) => {
                    kind.extend([a, d]);
                    loops.extend([b, c]);
                    ratios.push((a + d) / (b + c));
                }
                Err(gap) => eprintln!("channel_paired: {}: {}", gap.what, gap.why),
            }
        }
        let [low, high] = median_interval(&ratios, 0.95).map_or([f64::NAN; 2], |(low, high)| [low, high]);
        let spread = |values: &[f64]| {
            let [low, high] = [0.25, 0.75].map(|place| quantile(values, place));
            format!("{:.1} [{low:.1}, {high:.1}]", median(values))
        };
        let name = bound.map_or("unbounded".to_owned(), |bound| format!("of {bound}"));
        println!(
            "{name}: ratio {:.3} [{low:.3}, {high:.3}], ours {}, loop {} ns",
            median(&ratios),
            spread(&kind),
            spread(&loops)
        );
    }
    ExitCode::SUCCESS
}

/// Measures the link kind `channel`.
struct PairedLinks {
    clock: TickClock,
    warmth: ClockWarmth,
    random: RandomGenerator,
    first: u32,
    second: u32,
}

impl PairedLinks {
    fn send_ns(&mut self, bound: Option<u32>) -> Result<f64, Gap> {
        thread::sleep(REST);
        let (first, second) = (self.first, self.second);
        let visit =
            LinkVisit { what: TalkWay::Channel { bound }, first, second, home: MemoryHome::First, limit: LIMIT };
        let visited = links::visit_pair(&self.clock, &visit, &self.warmth, &mut self.random, &AtomicBool::new(false));
        visited
            .map_err(|missed| missed.gap)?
            .map(|visited| visited.cost_ns)
            .ok_or_else(|| Gap::new("channel", "it was stopped"))
    }
}

fn straight_send_ns(bound: Option<u32>, first: u32, second: u32) -> f64 {
    thread::sleep(REST);
    let (sender, receiver) = bound.map_or_else(unbounded, |bound| bounded(bound as usize));
    let sending = thread::spawn(move || {
        affinity::pin_current(first).expect("the first cpu is allowed");
        let (start, mut sends) = (Instant::now(), 0_u64);
        while start.elapsed() < TIME {
            for _ in 0..SENDS_A_LOOK {
                sends += 1;
                sender.send(sends).expect("the receiver is there");
            }
        }
        start.elapsed().as_nanos() as f64 / sends as f64
    });
    let receiving = thread::spawn(move || {
        affinity::pin_current(second).expect("the second cpu is allowed");
        receiver.into_iter().for_each(drop);
    });
    receiving.join().expect("the receiver ends with the sender");
    sending.join().expect("the sender ends")
}
