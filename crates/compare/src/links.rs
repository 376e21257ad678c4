//! `cargo xtask compare-links`: cost of a link by corewise and by other tools, quiet and busy, measured in turn; and the time each takes
//! for a pair.
//!
//! The tools come from the registry. `c2clat` there is a port without the write mode (`-w`, compare-and-swap on one line); it measures two
//! lines by load and store. `core-to-core-latency` provides the method and statistic of `-w`: it swaps on one line, with one sample of 100
//! round trips a run, and the least of many runs. `C2CLAT=PATH` names a c2clat built from its author's source, which has `-w` and replaces
//! both. Channels are compared in turn with a plain loop over crossbeam-channel (`channel_paired`, an example of the lab).

use std::hint::black_box;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use xtask::{cargo_command, read_output, repository_root, run_command};

const RIVALS: [&str; 2] = ["c2clat", "core-to-core-latency"];
/// The lab's examples that stand for corewise, and that compare its channels with a plain loop.
const EXAMPLES: [&str; 3] = ["link_once", "link_interval", "channel_paired"];
/// Number of runs of one sample for one value of the least-of-many row.
const SHORT_RUNS: usize = 100;

/// A way to measure the first two allowed cpus.
struct LinksTool {
    name: &'static str,
    unit: &'static str,
    measure: fn() -> Result<f64>,
    /// The tool that its ratio refers to.
    reference: &'static str,
}

const fn new_tool(
    name: &'static str,
    unit: &'static str,
    measure: fn() -> Result<f64>,
    reference: &'static str,
) -> LinksTool {
    LinksTool { name, unit, measure, reference }
}

const SHORT: &str = "core-to-core-latency 100 1, least of 100 runs";
const WRITE: &str = "c2clat -w, least";
const STORE: &str = "c2clat (two lines), least";
const DEFAULT: &str = "core-to-core-latency, its default";

/// Returns the available tools: `c2clat -w` only if the environment names it; tools that refer to it otherwise refer to another.
fn list_tools() -> Vec<LinksTool> {
    let c2clat_source = std::env::var_os("C2CLAT").is_some();
    let one_line = if c2clat_source { WRITE } else { SHORT };
    let mut tools = vec![
        new_tool("corewise cas, median", "ns", || run_example("link_once", &["cas"], 0), one_line),
        new_tool(SHORT, "ns", least_of_short_runs, one_line),
        new_tool("core-to-core-latency, mean", "ns", || core_to_core_latency(&[]), one_line),
        new_tool("corewise store, median", "ns", || run_example("link_once", &["store"], 0), STORE),
        new_tool("core-to-core-latency -b 2 (two lines), mean", "ns", || core_to_core_latency(&["-b", "2"]), STORE),
        new_tool(STORE, "ns", || run_c2clat(&[]), STORE),
        new_tool("corewise cas, until its interval is 2 %", "ms", || run_example("link_interval", &[], 0), DEFAULT),
        new_tool(DEFAULT, "ms", core_to_core_latency_ms, DEFAULT),
    ];
    if c2clat_source {
        tools.push(new_tool(WRITE, "ns", || run_c2clat(&["-w"]), WRITE));
    }
    tools
}

/// Measures with every tool in turn, first quiet, then beside two busy loops, and prints the medians.
pub fn run(rounds: usize) -> Result<()> {
    check_installed()?;
    let examples = EXAMPLES.iter().flat_map(|name| ["--example", name]);
    run_command(cargo_command().args(["build", "--release", "--package", "corewise-lab"]).args(examples))?;
    let quiet = measure_tools(rounds, "quiet")?;
    let busy = beside_two_busy_loops(|| measure_tools(rounds, "busy"))?;
    print!("{}", format_table(&quiet, &busy));
    // A channel has modes that last longer than a visit: the two loops alternate many times.
    print!("{}", read_output(&mut Command::new(repository_root().join("target/release/examples/channel_paired")))?);
    Ok(())
}

fn beside_two_busy_loops<T>(work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            // Arithmetic rather than a spin hint, which would leave the core to its sibling.
            scope.spawn(|| {
                let mut sum = 0_u64;
                while !done.load(Ordering::Relaxed) {
                    sum = black_box(sum.wrapping_mul(3).wrapping_add(1));
                }
            });
        }
        let result = work();
        done.store(true, Ordering::Relaxed);
        result
    })
}

/// Returns each tool's values, one a round; the tools take turns, so that a change of the machine affects all of them.
fn measure_tools(rounds: usize, when: &str) -> Result<Vec<Vec<f64>>> {
    let tools = list_tools();
    let mut values = vec![Vec::new(); tools.len()];
    for round in 1..=rounds {
        eprintln!("{when}: round {round} of {rounds}");
        for turn in 0..tools.len() {
            let tool = (round + turn) % tools.len();
            let value = (tools[tool].measure)().with_context(|| tools[tool].name)?;
            values[tool].push(value);
        }
    }
    Ok(values)
}

fn check_installed() -> Result<()> {
    match RIVALS.into_iter().find(|rival| !repository_root().join(rival_binary(rival)).exists()) {
        Some(rival) => bail!("{rival} is not installed; run `cargo xtask setup comparisons`"),
        None => Ok(()),
    }
}

fn rival_binary(rival: &str) -> String {
    format!("target/rivals/bin/{rival}")
}

/// Returns a number that an example prints, counted from 0.
fn run_example(name: &str, arguments: &[&str], place: usize) -> Result<f64> {
    let text = read_output(Command::new(repository_root().join("target/release/examples").join(name)).args(arguments))?;
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    numbers.get(place).copied().with_context(|| format!("expected numbers, found \"{text}\""))
}

/// Returns the time of core-to-core-latency for one pair, without its start and end.
fn core_to_core_latency_ms() -> Result<f64> {
    let took = |arguments: &[&str]| -> Result<f64> {
        let begun = Instant::now();
        core_to_core_latency(arguments)?;
        Ok(begun.elapsed().as_secs_f64() * 1e3)
    };
    Ok(took(&[])? - took(&["1", "1"])?)
}

fn least_of_short_runs() -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..SHORT_RUNS {
        least = least.min(core_to_core_latency(&["100", "1"])?);
    }
    Ok(least)
}

fn core_to_core_latency(arguments: &[&str]) -> Result<f64> {
    let mut command = Command::new(repository_root().join(rival_binary("core-to-core-latency")));
    // Without a list it takes all cpus; two are enough, and the others take the first two.
    let cpus = first_two_cpus()?;
    first_number(&read_output(command.args(["--csv", "--cores", &cpus]).args(arguments))?)
}

/// Runs c2clat. The table's first row holds the first cpu's costs: to itself, then to the second.
fn run_c2clat(arguments: &[&str]) -> Result<f64> {
    let path = std::env::var("C2CLAT")
        .map_or_else(|_| repository_root().join(rival_binary("c2clat")), |path| repository_root().join(path));
    let text = read_output(Command::new(path).args(arguments))?;
    let row = text.lines().nth(1).context("c2clat printed no row")?;
    first_number(row.split_whitespace().nth(2).context("c2clat measured fewer than two cpus")?)
}

/// Returns "0,1": the first two cpus that this process may use.
fn first_two_cpus() -> Result<String> {
    let status = std::fs::read_to_string("/proc/self/status").context("the allowed cpus are read from /proc")?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).context("no list of cpus")?;
    match two_of(list.trim())[..] {
        [first, second] => Ok(format!("{first},{second}")),
        _ => bail!("two allowed cpus are needed, and there is only {}", list.trim()),
    }
}

fn two_of(list: &str) -> Vec<u32> {
    let range = |piece: &str| -> Option<std::ops::RangeInclusive<u32>> {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().take(2).collect()
}

/// Returns the first number in a text such as ",\n57.3,".
fn first_number(text: &str) -> Result<f64> {
    let mut numbers = text.split(|c: char| c.is_whitespace() || c == ',').filter_map(|word| word.parse().ok());
    numbers.next().with_context(|| format!("expected a number, found \"{text}\""))
}

/// Formats medians and ranges, and each tool's ratio to its reference in the same round. A virtual machine's cpus may be moved between near
/// and far cores of the host from one round to the next, so only values of one round can be compared.
fn format_table(quiet: &[Vec<f64>], busy: &[Vec<f64>]) -> String {
    let tools = list_tools();
    let against = |values: &[Vec<f64>], tool: usize| {
        let reference = tools.iter().position(|other| other.name == tools[tool].reference).unwrap_or(tool);
        let ratios = values[tool].iter().zip(&values[reference]).map(|(value, reference)| value / reference);
        median_of(&ratios.collect::<Vec<_>>())
    };
    let mut text = format!(
        "{:48} {:>7} {:>14} {:>9} {:>7} {:>14} {:>9}\n",
        "", "quiet", "range", "ratio", "busy", "range", "ratio"
    );
    for (tool, named) in tools.iter().enumerate() {
        text.push_str(&format!(
            "{:48} {:>7.1} {:>14} {:>8.2}x {:>7.1} {:>14} {:>8.2}x\n",
            format!("{}, {}", named.name, named.unit),
            median_of(&quiet[tool]),
            format_range(&quiet[tool]),
            against(quiet, tool),
            median_of(&busy[tool]),
            format_range(&busy[tool]),
            against(busy, tool)
        ));
    }
    text + "ratio: to the tool of its kind (1.00x) in the same round, median over the rounds\n"
}

fn median_of(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count => (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0,
    }
}

fn format_range(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{least:.1}-{greatest:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_in_what_the_tools_print() {
        assert_eq!(first_number(",\n57.3,").unwrap(), 57.3);
        assert_eq!(first_number("41\n").unwrap(), 41.0);
        assert!(first_number("none").is_err());
        assert_eq!(two_of("0-3,8"), [0, 1]);
        assert_eq!(two_of("5,7-9"), [5, 7]);
        assert_eq!(two_of("4"), [4]);
    }

    #[test]
    fn medians_are_of_the_middle_two() {
        assert_eq!((median_of(&[3.0, 1.0, 2.0]), median_of(&[4.0, 1.0, 2.0, 3.0])), (2.0, 2.5));
    }
}
