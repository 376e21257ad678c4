//! Prints what talking between the first two allowed cpus costs, one way, in nanoseconds: the median of a few visits.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use corewise_lab::probe::links;
use corewise_model::stats::order::median;
use corewise_model::stats::random::Random;
use corewise_sys::clock::Clock;
use corewise_sys::linux::affinity;

fn main() -> ExitCode {
    let cpus: Vec<u32> = affinity::current().map(|cpus| cpus.iter().take(2).collect()).unwrap_or_default();
    let [a, b] = cpus[..] else {
        eprintln!("link_once: two allowed cpus are needed");
        return ExitCode::from(3);
    };
    let (clock, mut random, stop) = (Clock::calibrated(), Random::new(1), AtomicBool::new(false));
    let visits: Vec<f64> =
        (0..24).filter_map(|_| links::visit(&clock, a, b, &mut random, &stop).ok().flatten()).collect();
    println!("{:.1}", median(&visits));
    ExitCode::SUCCESS
}
