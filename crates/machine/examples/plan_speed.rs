//! How long it takes to plan, candidates and exact counts of classes in all, on machines of 512 and 1,536 cpus.
//!
//! `cargo run --release -p corewise-machine --example plan_speed` prints the table of docs/measurements.md.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use corewise_machine::Machine;
use corewise_machine::machine_file::{BUILT_IN, parse};
use corewise_machine::placement::plan::{USUAL_MOST, plan_placements};

/// Two packages of 128 cores with two threads, eight cores to a last-level cache, four nodes to a package.
const SERVER: &str = r#"
name = "Server of 512 cpus"
cpus = "0-511"
packages = "0-127,256-383 x2"
dies = "0-7,256-263 x32"
cores = "0,256 x256"
caches = [
  { cache = "L1d", size = "48 KiB", per = "core" },
  { cache = "L2", size = "1 MiB", per = "core" },
  { cache = "L3", size = "32 MiB", per = "die" },
]
nodes = [{ cpus = "0-31,256-287 x8", memory = "96 GiB" }]
distances = [
  [10, 12, 12, 12, 32, 32, 32, 32],
  [12, 10, 12, 12, 32, 32, 32, 32],
  [12, 12, 10, 12, 32, 32, 32, 32],
  [12, 12, 12, 10, 32, 32, 32, 32],
  [32, 32, 32, 32, 10, 12, 12, 12],
  [32, 32, 32, 32, 12, 10, 12, 12],
  [32, 32, 32, 32, 12, 12, 10, 12],
  [32, 32, 32, 32, 12, 12, 12, 10],
]
"#;
const REPEATS: usize = 11;

fn main() -> Result<(), Box<dyn Error>> {
    let largest = BUILT_IN.iter().find(|built_in| built_in.name == "simulated-1536-cpus").ok_or("it is built in")?;
    println!("| cpus | threads | candidates | classes | median, ms | longest, ms |\n|--:|--:|--:|--:|--:|--:|");
    for machine in [parse(SERVER)?.machine, largest.read_machine()?.machine] {
        for threads in [Some(2), Some(16), Some(64), Some(machine.online.len() as u32 / 2), None] {
            row(&machine, threads);
        }
    }
    Ok(())
}

fn row(machine: &Machine, threads: Option<u32>) {
    let make = || plan_placements(black_box(machine), &machine.online, threads, Some(1), USUAL_MOST);
    let made = make();
    let mut times: Vec<f64> = Vec::new();
    for _ in 0..REPEATS {
        let begun = Instant::now();
        black_box(make());
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    let threads = threads.map_or("any".to_owned(), |threads| threads.to_string());
    let classes = made.classes.exact().map_or("more than 2^128".to_owned(), |classes| classes.to_string());
    let (cpus, candidates) = (machine.online.len(), made.candidates.len());
    println!(
        "| {cpus} | {threads} | {candidates} | {classes} | {:.1} | {:.1} |",
        times[REPEATS / 2],
        times[REPEATS - 1]
    );
}
