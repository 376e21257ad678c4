//! Reasons why a placement is worth trying, in one sentence each.

use crate::Level;
use crate::facts::CoreType;
use crate::placement::{CpuSetName, PlacementPattern};

/// Reason for the operating system's choice.
pub const SYSTEM: &str = "The OS default: everything else must beat it.";

/// Name of the cpus that a pattern chooses among; `None` for all.
pub type PatternPool = Option<CpuSetName>;

/// Explains all but one core; `busiest` is that core's cpu with the most interrupts, if a survey found it.
pub fn reason_without_core(busiest: Option<u32>) -> String {
    match busiest {
        Some(cpu) => format!("Without the core of cpu {cpu}, which gets the most interrupts."),
        None => "Without the first core, which often gets the most interrupts.".to_owned(),
    }
}

/// Explains a name.
pub fn reason_of_name(name: CpuSetName) -> String {
    match name {
        CpuSetName::Performance => "Only the performance cores.",
        CpuSetName::Efficiency => "Only the efficiency cores.",
        CpuSetName::LowPower => "Only the low-power cores.",
        CpuSetName::Vcache => "The stacked cache: for programs whose data fits only there.",
        CpuSetName::Frequency => "Without the stacked cache: these cores usually clock higher.",
        CpuSetName::WithMemory => "Only nodes that have memory of their own.",
        CpuSetName::CheapMemory => "Only cpus whose nearest memory costs least, as measured.",
        CpuSetName::OnePerCore => "One cpu of each core: no two threads share one.",
        _ => "Cpus that have a name here.",
    }
    .to_owned()
}

/// Explains a pattern that touches `touched` objects of its level.
pub fn reason_of_pattern(
    pattern: PlacementPattern,
    level: Level,
    touched: usize,
    size: usize,
    pool: PatternPool,
) -> String {
    let objects = format_objects(touched, level);
    let each = if touched == size { "one cpu in each of" } else { "evenly over" };
    let what = match (pattern, level) {
        (PlacementPattern::Spread, Level::Core) if touched == size => format!("On {objects}, one cpu of each"),
        (PlacementPattern::Spread, _) if touched == 1 => format!("Far apart in {objects}"),
        (PlacementPattern::Spread, _) => format!("Far apart: {each} {objects}"),
        (PlacementPattern::Pack, Level::Core) => format!("Siblings together: on {objects}"),
        (PlacementPattern::Pack, _) if touched == 1 => format!("Close together: in {objects}"),
        (PlacementPattern::Pack, _) => format!("Close together: in {objects}, the fewest possible"),
    };
    let among = match pool {
        Some(CpuSetName::Performance) => ", performance cores only",
        Some(CpuSetName::Efficiency) => ", efficiency cores only",
        Some(CpuSetName::LowPower) => ", low-power cores only",
        Some(CpuSetName::Vcache) => ", where the stacked cache is",
        Some(CpuSetName::Frequency) => ", where no cache is stacked",
        Some(CpuSetName::WithMemory) => ", where there is memory",
        Some(CpuSetName::CheapMemory) => ", where memory costs least",
        _ => "",
    };
    format!("{what}{among}.")
}

/// Explains a spread of `number` cpus over the last-level caches of one package.
pub fn in_package(caches: usize, number: usize) -> String {
    let each = if number <= caches { "one cpu in each of" } else { "evenly over" };
    format!("Far apart in one package: {each} {}.", format_objects(caches.min(number), Level::Llc))
}

/// Explains one cpu in each object of a level.
pub fn one_of_each(level: Level) -> String {
    format!("One cpu in each {}, which it shares with no other.", level_word(level))
}

/// Explains one object; `sort` is the text of [`sort`].
pub fn reason_of_object(level: Level, sort: &str) -> String {
    let why = match level {
        Level::Drawer => "nothing crosses to another drawer",
        Level::Book => "nothing crosses to another book",
        Level::Package => "nothing crosses to another socket",
        Level::Node => "its memory is the nearest",
        Level::Die => "only memory accesses leave it",
        Level::Llc => "data that threads share stays in it",
        Level::Group => "its cpus talk at the lowest cost",
        Level::Cluster => "the nearest neighbours among cores",
        Level::Core | Level::Cpu => "its siblings share even the nearest cache",
    };
    format!("One {}{sort}: {why}.", level_word(level))
}

/// Explains one cpu.
pub fn reason_of_single_cpu(sort: &str) -> String {
    format!("One cpu{sort}: no migration, and no talk across cores.")
}

/// Describes in parentheses how some cpus differ from others: kind, stacked cache, lack of memory.
pub fn describe_sort(kind: Option<CoreType>, stacked: Option<bool>, bare: bool) -> String {
    let stacked = stacked.map(|stacked| if stacked { "stacked cache" } else { "no stacked cache" });
    let words = [kind.map(CoreType::word), stacked, bare.then_some("no memory on its node")];
    let words: Vec<&str> = words.into_iter().flatten().collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

/// Explains cpus that no pattern gives. `touched` has the number of objects they touch at each level, innermost first. `shares` has their
/// number in each object of the innermost level but the core, largest first. `bare` is the number of cpus on nodes without memory, if
/// others have memory.
pub fn reason_of_other(
    touched: &[(Level, usize)],
    shares: &[usize],
    kinds: &[(CoreType, usize)],
    bare: usize,
) -> String {
    let places: Vec<String> = touched.iter().map(|(level, number)| format_objects(*number, *level)).collect();
    let mut text = format!("Also different: {}", places.join(" in "));
    if shares.windows(2).any(|pair| pair[0] != pair[1]) {
        let shares: Vec<String> = shares.iter().map(usize::to_string).collect();
        text += &format!(" ({})", shares.join(" + "));
    }
    let of_kind = |(kind, number): &(CoreType, usize)| format!(", {number} on {} cores", kind.word());
    text.extend(kinds.iter().filter(|(_, number)| *number > 0).map(of_kind));
    match bare {
        0 => {}
        1 => text += ", 1 cpu without memory near",
        bare => text += &format!(", {bare} cpus without memory near"),
    }
    text + "."
}

fn format_objects(number: usize, level: Level) -> String {
    format!("{number} {}{}", level_word(level), if number == 1 { "" } else { "s" })
}

fn level_word(level: Level) -> &'static str {
    match level {
        Level::Node => "NUMA node",
        Level::Llc => "last-level cache",
        _ => level.word(),
    }
}
