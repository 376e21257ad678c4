//! Files of other tools: matrices, tables and logs of what talking between cpus costs, given as text.

mod cells;
mod collect;
mod error;
mod kind;
mod matrix;
mod mctop;
mod pairs;
mod pingpong;
mod remarks;
mod samples;
mod table;
#[cfg(test)]
mod tests;
mod trb;

use super::map::Series;
use crate::CpuSet;
use collect::Collector;
pub use error::ImportError;
pub use kind::{kind_name, kind_of};
pub use pairs::HEADER;

/// The longest text that is read, in bytes.
pub const MAXIMUM_BYTES: usize = 256 << 20;

/// The most cpus that a file may speak of.
pub const MAXIMUM_CPUS: usize = 4096;

/// What a file of another tool holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// What the file is.
    pub format: Format,
    /// One entry for each way to talk, in the file's order. Every pair that has a number is there: `visits_ns` has one entry a row of the
    /// file, and so has `back_ns` where the file tells both directions apart and they differ. `possible_pairs` counts the pairs of `cpus`;
    /// `gaps` is empty, since a file does not say why a number is missing: what is missing stands in `remarks`.
    pub series: Vec<Series>,
    /// The cpus that the file speaks of, with or without numbers: by the names it gives them, or the row numbers 0, 1, 2, ….
    pub cpus: CpuSet,
    /// Whether the file names its cpus; otherwise they are row numbers, in an order that only its author knows.
    pub names_cpus: bool,
    /// Whether the numbers are cycles, not nanoseconds, in spite of the fields' names.
    pub in_cycles: bool,
    /// What has to be known about the numbers, each one line without a full stop; empty where there is nothing.
    pub remarks: Vec<String>,
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Cells below the diagonal, without names: `core-to-core-latency --csv`, `cpu-latency`, `c2clat -c` of rousseladr. Taken for
    /// compare-and-swap, which the first two measure unless told otherwise; the text does not tell.
    LowerTriangle,
    /// Cells above the diagonal, without names. Taken for compare-and-swap.
    UpperTriangle,
    /// Cells on both sides of the diagonal, without names: `cpu-latency --symmetric false`, `CoherencyLatency`. Taken for
    /// compare-and-swap.
    FullMatrix,
    /// A matrix with the cpus' numbers in the first row, the first column or both. Taken for compare-and-swap.
    NamedMatrix,
    /// What `c2clat` prints, with or without `-p`. Taken for store and load, its default; with `-w` it prints the same.
    C2clat,
    /// What `pingpong` of multichase prints. Taken for compare-and-swap (`-l`); it prints the same with `-u` and `-x`.
    PingPong,
    /// What `trb` prints: sends through a bounded and an unbounded channel.
    Trb,
    /// A machine as `mctop` describes it.
    Mctop,
    /// One row a pair, or several.
    Pairs,
    /// One row a visit, with its kind: what corewise writes, under [`HEADER`].
    Visits,
    /// All samples of `macos-core-to-core-latency`.
    Samples,
}

impl Format {
    /// What a person calls it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::LowerTriangle => "lower triangle without names (core-to-core-latency)",
            Self::UpperTriangle => "upper triangle without names",
            Self::FullMatrix => "matrix of both directions without names (cpu-latency)",
            Self::NamedMatrix => "matrix with the cpus' numbers",
            Self::C2clat => "table that c2clat prints",
            Self::PingPong => "table that pingpong prints (multichase)",
            Self::Trb => "lines that trb prints",
            Self::Mctop => "description of a machine (mctop)",
            Self::Pairs => "one row a pair",
            Self::Visits => "one row a visit (corewise)",
            Self::Samples => "log of samples (macos-core-to-core-latency)",
        }
    }
}

/// Reads a file of another tool.
///
/// # Errors
/// Where the text is none of the formats, or one of them with something wrong in it: nothing is guessed and no row is passed over.
pub fn read(text: &str) -> Result<Imported, ImportError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    check(text)?;
    let read = if samples::is_log(text) {
        samples::read(text)
    } else if mctop::is_description(text) {
        mctop::read(text)
    } else if trb::is_lines(text) {
        trb::read(text)
    } else if pingpong::is_table(text) {
        pingpong::read(text)
    } else {
        table::read(text)
    };
    read?.finish()
}

/// What one of the readers found.
struct Found {
    format: Format,
    collector: Collector,
    names_cpus: bool,
    in_cycles: bool,
    /// What the reader has to say beyond what the numbers show.
    remarks: Vec<String>,
}

impl Found {
    fn finish(self) -> Result<Imported, ImportError> {
        let mirrored = !matches!(self.format, Format::Trb | Format::Pairs | Format::Visits | Format::Samples);
        let cpus = self.collector.cpus()?;
        let (series, counts) = self.collector.finish(mirrored, &cpus)?;
        let mut imported = Imported {
            format: self.format,
            series,
            cpus,
            names_cpus: self.names_cpus,
            in_cycles: self.in_cycles,
            remarks: self.remarks,
        };
        let more = remarks::of(&imported, &counts);
        imported.remarks.extend(more);
        Ok(imported)
    }
}

/// Refuses what is no text of any tool.
fn check(text: &str) -> Result<(), ImportError> {
    if text.len() > MAXIMUM_BYTES {
        return Err(ImportError::TooLong { bytes: text.len() });
    }
    if let Some(at) = text.find('\0') {
        return Err(ImportError::Binary { line: text[..at].matches('\n').count() + 1 });
    }
    match text.trim_start().chars().next() {
        None => return Err(ImportError::Empty),
        Some('{' | '[') => return Err(ImportError::Json),
        Some(_) => {}
    }
    match text.lines().enumerate().find(|(_, line)| is_console(line)) {
        Some((index, line)) => Err(ImportError::Console { line: index + 1, found: error::shown(line) }),
        None => Ok(()),
    }
}

/// Whether a line is one that `core-to-core-latency` prints on the terminal (its standard error), never into its file.
fn is_console(line: &str) -> bool {
    const MARKS: [&str; 7] =
        ["Num cores:", "Num round trips", "Num iterations", "Using RDTSC", " latency: ", "±", "\u{1b}["];
    MARKS.iter().any(|mark| line.contains(mark))
}
