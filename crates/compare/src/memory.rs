//! `cargo xtask compare-memory`: latency and bandwidth by corewise's probe, by a second program in C, and by likwid-bench, measured in
//! turn, first quiet and then beside two busy loops.
//!
//! likwid-bench is in Debian's package `likwid`; it takes the system's default pages, so it is compared with streams in small pages.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;
use std::time::Duration;

use anyhow::{Context, Result};
use corewise_lab::probe::links::ClockWarmth;
use corewise_lab::probe::memory::{PointerChain, StreamRequest, measure_latency, measure_stream};
use corewise_machine::CpuSet;
use corewise_model::memory::StreamOperation;
use corewise_statistics::order::{median, value_range};
use corewise_sys::affinity;
use corewise_sys::clock::TickClock;
use corewise_sys::memory::{PageMemory, PageSize};

use xtask::read_output;

/// The second program, compiled here.
const SECOND: &str = "target/compare-memory-second";
/// Length of a visit, as in maps of memory.
const VISIT: Duration = Duration::from_millis(25);
/// The compared working sets.
const SETS: [u64; 8] = [16 << 10, 32 << 10, 128 << 10, 512 << 10, 1 << 20, 8 << 20, 64 << 20, 256 << 20];
/// Buffer for streams and latencies of memory: as large as likwid-bench's examples.
const BUFFER_BYTES: u64 = 512_000_000;

/// A quantity to measure, by each tool that can.
struct MemoryMeasure {
    name: String,
    corewise: Box<dyn FnMut() -> Result<f64>>,
    second: Vec<String>,
    likwid: Option<&'static str>,
}

/// Measures everything with every tool in turn, `rounds` times, and prints medians, ranges and ratios within rounds.
pub fn run(rounds: usize) -> Result<()> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/memory/second.c");
    read_output(Command::new("cc").args(["-O2", "-o", SECOND, source]))?;
    let has_likwid = Command::new("likwid-bench").arg("-h").output().is_ok();
    let cpu = affinity::current_affinity()?.lowest().context("no cpu is allowed")?;
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
            let done = compare_measures(title, cpu, rounds, has_likwid);
            stop.store(true, Ordering::Relaxed);
            done
        })?;
    }
    Ok(())
}

fn compare_measures(title: &str, cpu: u32, rounds: usize, has_likwid: bool) -> Result<()> {
    let mut measures = list_measures(cpu)?;
    let mut seen = vec![[const { Vec::<f64>::new() }; 3]; measures.len()];
    for round in 0..rounds {
        for turn in 0..measures.len() {
            let place = (round + turn) % measures.len();
            let measure = &mut measures[place];
            eprintln!("{title}, round {} of {rounds}: {}", round + 1, measure.name);
            seen[place][0].push((measure.corewise)()?);
            seen[place][1].push(run_second(cpu, &measure.second)?);
            if let Some(test) = measure.likwid.filter(|_| has_likwid) {
                seen[place][2].push(run_likwid(cpu, test)?);
            }
        }
    }
    println!(
        "{title}\n{:24} {:>24} {:>24} {:>7} {:>24} {:>7}",
        "", "corewise", "second program", "ratio", "likwid-bench", "ratio"
    );
    for (measure, [ours, other, likwid]) in measures.iter().zip(&seen) {
        let (one, two) = (format_ratio(ours, other), format_ratio(ours, likwid));
        println!(
            "{:24} {:>24} {:>24} {one:>7} {:>24} {two:>7}",
            measure.name,
            format_values(ours),
            format_values(other),
            format_values(likwid)
        );
    }
    println!();
    Ok(())
}

fn format_values(values: &[f64]) -> String {
    if values.is_empty() {
        return String::new();
    }
    let (least, greatest) = value_range(values);
    format!("{:.2} [{least:.2}, {greatest:.2}]", median(values))
}

fn format_ratio(ours: &[f64], others: &[f64]) -> String {
    let ratios: Vec<f64> = ours.iter().zip(others).map(|(one, other)| one / other).collect();
    if ratios.is_empty() { String::new() } else { format!("{:.2}", median(&ratios)) }
}

/// Returns the measures: latencies by working set and of a node, and streams in both kinds of pages.
fn list_measures(cpu: u32) -> Result<Vec<MemoryMeasure>> {
    let mut measures = Vec::new();
    for bytes in SETS {
        let second = vec!["staircase".to_owned(), bytes.to_string()];
        let name =
            if bytes < 1 << 20 { format!("{} KiB, ns", bytes >> 10) } else { format!("{} MiB, ns", bytes >> 20) };
        let corewise = measure_chase(cpu, bytes, PageSize::Huge, 64)?;
        measures.push(MemoryMeasure { name, corewise, second, likwid: None });
    }
    for (pages, mode) in [(PageSize::Huge, "node"), (PageSize::Small, "node-small")] {
        let second = vec![mode.to_owned(), BUFFER_BYTES.to_string()];
        let corewise = measure_chase(cpu, BUFFER_BYTES, pages, 128)?;
        measures.push(MemoryMeasure { name: format!("{mode}, ns"), corewise, second, likwid: None });
    }
    let modes = [
        (StreamOperation::Read, "read", Some("load_sse")),
        (StreamOperation::Write, "write", Some("store_sse")),
        (StreamOperation::WritePast, "write-past", Some("store_mem_sse")),
        (StreamOperation::Copy, "copy", Some("copy_sse")),
    ];
    for (operation, mode, test) in modes {
        for (pages, word) in [(PageSize::Small, "small"), (PageSize::Huge, "huge")] {
            let second = vec![mode.to_owned(), BUFFER_BYTES.to_string(), word.to_owned()];
            let corewise = measure_own_stream(cpu, operation, pages)?;
            let likwid = test.filter(|_| pages == PageSize::Small);
            measures.push(MemoryMeasure { name: format!("{mode}, {word}, GB/s"), corewise, second, likwid });
        }
    }
    Ok(measures)
}

/// Returns the probe's latency; each visit has a chain of its own, as in the other program.
fn measure_chase(cpu: u32, bytes: u64, pages: PageSize, apart: usize) -> Result<Box<dyn FnMut() -> Result<f64>>> {
    let (clock, warmth, stop, mut seed) =
        (TickClock::calibrate_best(), ClockWarmth::default(), AtomicBool::new(false), 1);
    Ok(Box::new(move || {
        seed += 1;
        let mut chain = PointerChain::on_fresh_memory(bytes as usize, None, pages, apart, seed)?;
        chain.resize_to(bytes as usize, &stop);
        let loads = measure_latency(&clock, &warmth, cpu, &mut chain, VISIT, &stop)?;
        Ok(loads.context("others kept the cpu")?.ns)
    }))
}

fn measure_own_stream(
    cpu: u32,
    operation: StreamOperation,
    pages: PageSize,
) -> Result<Box<dyn FnMut() -> Result<f64>>> {
    let (clock, stop, cpus) = (TickClock::calibrate_best(), AtomicBool::new(false), CpuSet::from_cpu(cpu));
    Ok(Box::new(move || {
        let mut memory: PageMemory = PageMemory::map_untouched(BUFFER_BYTES as usize, None, pages)?;
        memory.touch_pages(0..memory.bytes());
        let streams = StreamRequest { cpus: &cpus, operation, length: VISIT };
        let rate = measure_stream(&clock, streams, memory.words_mut(), &stop)?;
        rate.context("others kept the cpu")
    }))
}

/// Returns the last word of the last line.
fn run_second(cpu: u32, words: &[String]) -> Result<f64> {
    let text = read_output(Command::new(SECOND).arg(cpu.to_string()).args(words))?;
    let word = text.split_whitespace().last().context("it printed nothing")?;
    word.parse().with_context(|| format!("no number in {text}"))
}

/// Returns the gigabytes a second of one of likwid-bench's kernels on one thread of the first socket: one stream of the buffer's size, or
/// two of half of it.
fn run_likwid(cpu: u32, test: &str) -> Result<f64> {
    let work = format!("S0:{}kB:1", BUFFER_BYTES / 1000);
    let text = read_output(Command::new("likwid-bench").args(["-t", test, "-w", &work]))?;
    let line = text.lines().find_map(|line| line.strip_prefix("MByte/s:"));
    let megabytes: f64 = line.with_context(|| format!("likwid-bench on cpu {cpu}: {text}"))?.trim().parse()?;
    Ok(megabytes / 1e3)
}
