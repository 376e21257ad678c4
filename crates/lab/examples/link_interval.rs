//! Visits one pair of cpus by compare-and-swap until the 95 % interval of its cost reaches no farther than 2 %, as `corewise links` does
//! with an unsure pair. Prints the time in milliseconds, the number of visits, and the cost in nanoseconds.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use corewise_lab::links::{SURE, interval_reach};
use corewise_lab::probe::links::{self, ClockWarmth, LIMIT, LinkVisit, MemoryHome};
use corewise_machine::random::RandomGenerator;
use corewise_model::links::TalkWay;
use corewise_statistics::order::median;
use corewise_sys::affinity;
use corewise_sys::clock::TickClock;

/// Maximum number of visits; more would not help.
const MOST: usize = 1000;
/// Number of failed visits after which the program gives up.
const FAILURES: usize = 20;

fn main() -> ExitCode {
    let cpus: Vec<u32> = affinity::current_affinity().map(|cpus| cpus.iter().take(2).collect()).unwrap_or_default();
    let [first, second] = cpus[..] else {
        eprintln!("link_interval: two allowed cpus are needed");
        return ExitCode::from(3);
    };
    let visit = LinkVisit { what: TalkWay::Cas, first, second, home: MemoryHome::First, limit: LIMIT };
    let (clock, warmth, mut random) = (TickClock::calibrate_best(), ClockWarmth::default(), RandomGenerator::new(1));
    let stop = AtomicBool::new(false);
    let (begun, mut visits, mut failures) = (Instant::now(), Vec::new(), 0);
    while visits.len() < MOST && interval_reach(&visits) > SURE {
        match links::visit_pair(&clock, &visit, &warmth, &mut random, &stop) {
            Ok(visited) => visits.extend(visited.map(|visited| visited.cost_ns)),
            Err(missed) => {
                eprintln!("link_interval: {}: {}", missed.gap.what, missed.gap.why);
                failures += 1;
                if failures == FAILURES {
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    println!("{:.2} {} {:.1}", begun.elapsed().as_secs_f64() * 1e3, visits.len(), median(&visits));
    ExitCode::SUCCESS
}
