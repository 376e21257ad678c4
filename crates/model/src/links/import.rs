//! Files of other tools: matrices, tables and logs of communication costs between cpus, given as text.

mod cells;
mod collect;
mod error;
mod format_match;
mod kind;
mod matrix;
mod mctop;
mod pairs;
mod pingpong;
mod reader;
mod remarks;
mod samples;
mod table;
#[cfg(test)]
mod tests;
mod trb;

use corewise_machine::CpuSet;

use super::map::LinkSeries;
pub use super::map::MOST_CPUS;
pub use error::ImportError;
pub use kind::{kind_name, kind_of};
pub use pairs::HEADER;
pub use reader::read_links;

/// Maximum length of a text, in bytes.
pub const MAXIMUM_BYTES: usize = 48 << 20;

/// Maximum number of numbers in a file: both directions between [`MOST_CPUS`]. Lists with several numbers for each
/// of many pairs may need more memory, and are refused with fewer.
pub const MAXIMUM_NUMBERS: usize = MOST_CPUS * MOST_CPUS;

/// Contents of a file of another tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedLinks {
    /// Format of the file.
    pub format: LinkFileFormat,
    /// One entry for each way to talk, in the file's order. It has every pair with a number: `visits_ns` has one entry
    /// for each row of the file, and so has `back_ns` if the file distinguishes both directions and they differ.
    /// `possible_pairs` counts the pairs of `cpus`; `gaps` is empty, since a file does not say why a number is missing:
    /// `remarks` lists missing numbers.
    pub series: Vec<LinkSeries>,
    /// All cpus in the file, with or without numbers: by their names in it, or the row numbers 0, 1, 2, ….
    pub cpus: CpuSet,
    /// True if the file names its cpus; otherwise they are row numbers, in an order that only its author knows.
    pub names_cpus: bool,
    /// True if the numbers are cycles, not nanoseconds, despite the fields' names.
    pub in_cycles: bool,
    /// Notes about the numbers, each one line without a full stop.
    pub remarks: Vec<String>,
}

/// Format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkFileFormat {
    /// Cells below the diagonal, without names: `core-to-core-latency --csv`, `cpu-latency`, `c2clat -c` of rousseladr.
    /// Assumed to be compare-and-swap, the default of the first two; the text does not say.
    LowerTriangle,
    /// Cells above the diagonal, without names. Assumed to be compare-and-swap.
    UpperTriangle,
    /// Cells on both sides of the diagonal, without names: `cpu-latency --symmetric false`, `CoherencyLatency`. Assumed
    /// to be compare-and-swap.
    FullMatrix,
    /// A matrix with the cpus' numbers in the first row, the first column or both. Assumed to be compare-and-swap.
    NamedMatrix,
    /// Output of `c2clat`, with or without `-p`. Assumed to be store and load, its default; with `-w` it prints the
    /// same.
    C2clat,
    /// Output of `pingpong` of multichase. Assumed to be compare-and-swap (`-l`); it prints the same with `-u` and
    /// `-x`.
    PingPong,
    /// Output of `trb`: sends through a bounded and an unbounded channel.
    Trb,
    /// A machine as `mctop` describes it.
    Mctop,
    /// One or several rows for each pair.
    Pairs,
    /// One row for each visit, with its kind: corewise's own format, under [`HEADER`].
    Visits,
    /// All samples of `macos-core-to-core-latency`.
    Samples,
}

impl LinkFileFormat {
    /// Returns the name for people.
    pub const fn format_name(self) -> &'static str {
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
