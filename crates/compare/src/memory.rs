//! `cargo xtask compare-memory`: latency and bandwidth by corewise's probe, by a second program in C, and by likwid-bench, measured in
//! turn, first quiet and then beside two busy loops.
//!
//! likwid-bench is in Debian's package `likwid`; it takes the system's default pages, so it is compared with streams in small pages.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;
use std::time::Duration;

use anyhow::{Context, Result};
use corewise_lab::probe::links::Warmth;
use corewise_lab::probe::memory::{Chain, Streams, latency, stream};
use corewise_machine::CpuSet;
use corewise_model::memory::Operation;
use corewise_model::stats::order::{median, range};
use corewise_sys::affinity;
use corewise_sys::clock::Clock;
use corewise_sys::memory::{Memory, PageSize};

use xtask::output;

/// The second program, compiled here.
const SECOND: &str = "target/compare-memory-second";
/// Length of a visit, as in maps of memory.
const VISIT: Duration = Duration::from_millis(25);
/// The compared working sets.
const SETS: [u64; 8] = [16 << 10, 32 << 10, 128 << 10, 512 << 10, 1 << 20, 8 << 20, 64 << 20, 256 << 20];
/// Buffer for streams and latencies of memory: as large as likwid-bench's examples.
const BUFFER_BYTES: u64 = 512_000_000;

/// A quantity to measure, by each tool that can.
struct Measure {
    name: String,
    corewise: Box<dyn FnMut() -> Result<f64>>,
    second: Vec<String>,
    likwid: Option<&'static str>,
}

/// Measures everything with every tool in turn, `rounds` times, and prints medians, ranges and ratios within rounds.
pub fn run(rounds: usize) -> Result<()> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/memory/second.c");
    output(Command::new("cc").args(["-O2", "-o", SECOND, source]))?;
    let has_likwid = Command::new("likwid-bench").arg("-h").output().is_ok();
    let cpu = affinity::current()?.lowest().context("no cpu is allowed")?;
    println!("cpu {cpu}, {rounds} rounds; median [least, greatest]; ratios are of one round, corewise to the other\n");
    for (title, loops) in [("quiet", 0), ("beside two busy loops", 2)] {
        let stop = AtomicBool::new(false);
        scope(|scope| {
            for _ in 0..loops {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop()
                    }
                });
            }
            let done = compared(title, cpu, rounds, has_likwid);
            stop.store(true, Ordering::Relaxed);
            done
        })?;
    }
    Ok(())
}

fn compared(title: &str, cpu: u32, rounds: usize, has_likwid: bool) -> Result<()> {
    let mut measures = measures(cpu)?;
    let mut seen = vec![[const { Vec::<f64>::new() }; 3]; measures.len()];
    for round in 0..rounds {
        for turn in 0..measures.len() {
            let place = (round + turn) % measures.len();
            let measure = &mut measures[place];
            eprintln!("{title}, round {} of {rounds}: {}", round + 1, measure.name);
            seen[place][0].push((measure.corewise)()?);
            seen[place][1].push(second(cpu, &measure.second)?);
            if let Some(test) = measure.likwid.filter(|_| has_likwid) {
                seen[place][2].push(likwid(cpu, test)?);
            }
        }
    }
    println!(
        "{title}\n{:24} {:>24} {:>24} {:>7} {:>24} {:>7}",
        "", "corewise", "second program", "ratio", "likwid-bench", "ratio"
    );
    for (measure, [ours, other, likwid]) in measures.iter().zip(&seen) {
        let (one, two) = (ratio(ours, other), ratio(ours, likwid));
        println!(
            "{:24} {:>24} {:>24} {one:>7} {:>24} {two:>7}",
            measure.name,
            words(ours),
            words(other),
            words(likwid)
        );
    }
    println!();
    Ok(())
}

fn words(values: &[f64]) -> String {
    if values.is_empty() {
        return String::new();
    }
    let (least, greatest) = range(values);
    format!("{:.2} [{least:.2}, {greatest:.2}]", median(values))
}

fn ratio(ours: &[f64], others: &[f64]) -> String {
    let ratios: Vec<f64> = ours.iter().zip(others).map(|(one, other)| one / other).collect();
    if ratios.is_empty() { String::new() } else { format!("{:.2}", median(&ratios)) }
}

/// Returns the measures: latencies by working set and of a node, and streams in both kinds of pages.
fn measures(cpu: u32) -> Result<Vec<Measure>> {
    let mut measures = Vec::new();
    for bytes in SETS {
        let second = vec!["staircase".to_owned(), bytes.to_string()];
        let name =
            if bytes < 1 << 20 { format!("{} KiB, ns", bytes >> 10) } else { format!("{} MiB, ns", bytes >> 20) };
        let corewise = chase(cpu, bytes, PageSize::Huge, 64)?;
        measures.push(Measure { name, corewise, second, likwid: None });
    }
    for (pages, mode) in [(PageSize::Huge, "node"), (PageSize::Small, "node-small")] {
        let second = vec![mode.to_owned(), BUFFER_BYTES.to_string()];
        let corewise = chase(cpu, BUFFER_BYTES, pages, 128)?;
        measures.push(Measure { name: format!("{mode}, ns"), corewise, second, likwid: None });
    }
    let modes = [
        (Operation::Read, "read", Some("load_sse")),
        (Operation::Write, "write", Some("store_sse")),
        (Operation::WritePast, "write-past", Some("store_mem_sse")),
        (Operation::Copy, "copy", Some("copy_sse")),
    ];
    for (operation, mode, test) in modes {
        for (pages, word) in [(PageSize::Small, "small"), (PageSize::Huge, "huge")] {
            let second = vec![mode.to_owned(), BUFFER_BYTES.to_string(), word.to_owned()];
            let corewise = streamed(cpu, operation, pages)?;
            let likwid = test.filter(|_| pages == PageSize::Small);
            measures.push(Measure { name: format!("{mode}, {word}, GB/s"), corewise, second, likwid });
        }
    }
    Ok(measures)
}

/// Returns the probe's latency; each visit has a chain of its own, as in the other program.
fn chase(cpu: u32, bytes: u64, pages: PageSize, apart: usize) -> Result<Box<dyn FnMut() -> Result<f64>>> {
    let (clock, warmth, stop, mut seed) = (Clock::calibrated(), Warmth::default(), AtomicBool::new(false), 1);
    Ok(Box::new(move || {
        seed += 1;
        let mut chain = Chain::fresh(bytes as usize, None, pages, apart, seed)?;
        chain.resize(bytes as usize, &stop);
        let loads = latency(&clock, &warmth, cpu, &mut chain, VISIT, &stop)?;
        Ok(loads.context("others kept the cpu")?.ns)
    }))
}

fn streamed(cpu: u32, operation: Operation, pages: PageSize) -> Result<Box<dyn FnMut() -> Result<f64>>> {
    let (clock, stop, cpus) = (Clock::calibrated(), AtomicBool::new(false), CpuSet::of(cpu));
    Ok(Box::new(move || {
        let mut memory: Memory = Memory::untouched(BUFFER_BYTES as usize, None, pages)?;
        memory.touch(0..memory.bytes());
        let streams = Streams { cpus: &cpus, operation, length: VISIT };
        let rate = stream(&clock, streams, memory.words_mut(), &stop)?;
        rate.context("others kept the cpu")
    }))
}

/// Returns the last word of the last line.
fn second(cpu: u32, words: &[String]) -> Result<f64> {
    let text = output(Command::new(SECOND).arg(cpu.to_string()).args(words))?;
    let word = text.split_whitespace().last().context("it printed nothing")?;
    word.parse().with_context(|| format!("no number in {text}"))
}

/// Returns the gigabytes a second of one of likwid-bench's kernels on one thread of the first socket: one stream of the buffer's size, or
/// two of half of it.
fn likwid(cpu: u32, test: &str) -> Result<f64> {
    let work = format!("S0:{}kB:1", BUFFER_BYTES / 1000);
    let text = output(Command::new("likwid-bench").args(["-t", test, "-w", &work]))?;
    let line = text.lines().find_map(|line| line.strip_prefix("MByte/s:"));
    let megabytes: f64 = line.with_context(|| format!("likwid-bench on cpu {cpu}: {text}"))?.trim().parse()?;
    Ok(megabytes / 1e3)
}
