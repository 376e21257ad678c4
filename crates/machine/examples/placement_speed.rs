//! How long it takes to resolve expressions of the placement language on a machine of 1,536 cpus, and to print and read
//! the sets that they are.
//!
//! `cargo run --release -p corewise-machine --example placement_speed [EXPRESSIONS]` prints the tables of docs/measurements.md.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use corewise_machine::generate::random_expression;
use corewise_machine::machine_file::BUILT_IN;
use corewise_machine::placement::notation::{Notation, NotationLine, print_notation, read_notation};
use corewise_machine::placement::{ResolveContext, ResolvedExpression, parse};
use corewise_machine::random::RandomGenerator;
use corewise_machine::{CpuSet, Machine};

const MACHINE: &str = "simulated-1536-cpus";
/// Number of times that each thing is timed.
const REPEATS: usize = 11;

/// Every form of the language; large objects and counts, since those take longest. Some have no cpu here, and that is
/// timed, too.
const FORMS: [&str; 50] = [
    "0",
    "0-1535",
    "0-1535:3",
    "1535,3,700-800,5",
    "0xffffffffffffffffffffffffffffffff",
    "cpu:all",
    "core:0-767",
    "core:even",
    "core:odd",
    "cluster:all",
    "llc:5",
    "llc:all",
    "die:last",
    "node:1,3-5",
    "package:0",
    "llc:1.core:0-3",
    "core:all.cpu:0",
    "package:all.llc:all.core:all.cpu:1",
    "(llc:0-90 + 5).core:0",
    "all",
    "online",
    "one-per-core",
    "with-memory",
    "isolated",
    "performance",
    "efficiency",
    "low-power",
    "vcache",
    "frequency",
    "quiet",
    "spread(1, core)",
    "spread(768, core)",
    "spread(1536, cpu)",
    "spread(1000, cluster)",
    "spread(1000, llc)",
    "spread(1000, die)",
    "spread(1000, node)",
    "spread(1535, package)",
    "spread(100, core, llc:0-60)",
    "pack(1, core)",
    "pack(767, core)",
    "pack(1536, cpu)",
    "pack(1000, cluster)",
    "pack(1000, llc)",
    "pack(1000, node)",
    "pack(1535, package)",
    "pack(100, llc, package:3 - core:300)",
    "all - core:0",
    "!(package:0 & with-memory) + 0x55",
    "spread(300, llc, all - spread(300, core)) + pack(300, node, !node:0)",
];

/// Times of one thing, in microseconds.
#[derive(Clone, Copy)]
struct Times {
    median_us: f64,
    /// The longest repeat, with whatever else the machine did meanwhile.
    worst_us: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let count = std::env::args().nth(1).map_or(Ok(4000), |count| count.parse())?;
    let built_in = BUILT_IN.iter().find(|built_in| built_in.name == MACHINE).ok_or("the machine is built in")?;
    let machine = built_in.read_machine()?.machine;
    println!("{MACHINE}: microseconds; the median and the longest of {REPEATS} repeats");
    forms(&machine)?;
    let resolved = random_expressions(&machine, count)?;
    notations(&machine, &resolved);
    Ok(())
}

/// A line for each form.
fn forms(machine: &Machine) -> Result<(), Box<dyn Error>> {
    println!("\n{:<70} {:>6} {:>9} {:>9} {:>9}", "expression", "cpus", "parse", "resolve", "longest");
    for text in FORMS {
        let (parsing, resolving, resolution) = expression_times(machine, text)?;
        let cpus = resolution.map_or(0, |resolution| resolution.cpus.len());
        let Times { median_us, worst_us } = resolving;
        println!("{text:<70} {cpus:>6} {:>9.1} {median_us:>9.1} {worst_us:>9.1}", parsing.median_us);
    }
    Ok(())
}

/// The median and the worst of random expressions; gives what they are.
fn random_expressions(machine: &Machine, count: usize) -> Result<Vec<ResolvedExpression>, Box<dyn Error>> {
    let mut random = RandomGenerator::new(1536);
    let (mut parsings, mut resolvings, mut resolved) = (Vec::new(), Vec::new(), Vec::new());
    let mut slowest = (0.0, String::new());
    for _ in 0..count {
        let text = random_expression(&mut random, machine, 3);
        let (parsing, resolving, resolution) = expression_times(machine, &text)?;
        if resolving.median_us > slowest.0 {
            slowest = (resolving.median_us, text);
        }
        parsings.push(parsing);
        resolvings.push(resolving);
        resolved.extend(resolution);
    }
    println!("\n{count} random expressions, {} with cpus", resolved.len());
    println!("{HEAD}");
    summary("parse", &parsings);
    summary("resolve", &resolvings);
    println!("the slowest: {}", slowest.1);
    Ok(resolved)
}

/// Returns the times to parse and to resolve one expression, and its resolution; `None` if it cannot be resolved.
fn expression_times(
    machine: &Machine,
    text: &str,
) -> Result<(Times, Times, Option<ResolvedExpression>), Box<dyn Error>> {
    let quiet = CpuSet::first_cpus(700);
    let context = ResolveContext { machine, reachable: &machine.online, quiet: Some(&quiet), worth: None };
    let (parsing, parsed) = times(|| parse(text));
    let parsed = parsed?;
    let (resolving, resolution) = times(|| parsed.resolve_on(&context));
    Ok((parsing, resolving, resolution.ok()))
}

/// Prints and reads what the expressions are in every notation.
fn notations(machine: &Machine, resolved: &[ResolvedExpression]) {
    let resolved = &resolved[..resolved.len().min(200)];
    println!("\nnotations of {} sets", resolved.len());
    println!("{HEAD}");
    for notation in Notation::ALL {
        let (mut printings, mut readings) = (Vec::new(), Vec::new());
        for ResolvedExpression { cpus, order, .. } in resolved {
            let (printing, lines) = times(|| print_notation(notation, cpus, order, machine));
            printings.push(printing);
            // A mask of one processor group says nothing without its group.
            let text = |line: &NotationLine| {
                let text = line.text.as_ref()?;
                Some(if line.label.starts_with("group ") { format!("{}: {text}", line.label) } else { text.clone() })
            };
            let texts: Vec<String> = lines.iter().filter(|line| !line.secondary).filter_map(text).collect();
            if notation != Notation::Kubernetes && !texts.is_empty() {
                readings.push(times(|| read_notation(notation, &texts.join("\n"), machine)).0);
            }
        }
        summary(&format!("print {notation}"), &printings);
        summary(&format!("read {notation}"), &readings);
    }
}

const HEAD: &str = "                      median   slowest   longest";

/// The median of the medians, the slowest median, and the longest repeat of all.
fn summary(what: &str, times: &[Times]) {
    let mut medians: Vec<f64> = times.iter().map(|times| times.median_us).collect();
    medians.sort_by(f64::total_cmp);
    let (Some(slowest), Some(median)) = (medians.last(), medians.get(medians.len() / 2)) else { return };
    let longest = times.iter().map(|times| times.worst_us).fold(0.0, f64::max);
    println!("{what:<18} {median:>9.1} {slowest:>9.1} {longest:>9.1}");
}

/// Does something again and again; its times, and what it gave in the end.
fn times<T>(what: impl Fn() -> T) -> (Times, T) {
    let mut times: Vec<f64> = Vec::with_capacity(REPEATS);
    let mut last = black_box(what());
    for _ in 0..REPEATS {
        let begun = Instant::now();
        let result = black_box(what());
        times.push(begun.elapsed().as_secs_f64() * 1e6);
        last = result;
    }
    times.sort_by(f64::total_cmp);
    (Times { median_us: times[REPEATS / 2], worst_us: times[REPEATS - 1] }, last)
}
