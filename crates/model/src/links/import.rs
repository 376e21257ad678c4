//! Files of other tools: matrices, tables and logs of what talking between cpus costs, given as text.

mod cells;
mod collect;
mod error;
mod found;
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

use super::map::Series;
pub use error::ImportError;
pub use kind::{kind_name, kind_of};
pub use pairs::HEADER;
pub use reader::read;

/// The longest text that is read, in bytes.
pub const MAXIMUM_BYTES: usize = 48 << 20;

/// The most cpus that a file may speak of.
pub const MAXIMUM_CPUS: usize = 2048;

/// The most numbers that a file may have: both directions between [`MAXIMUM_CPUS`]. Lists with several numbers of many pairs may come to more
/// memory, and are refused with fewer.
pub const MAXIMUM_NUMBERS: usize = MAXIMUM_CPUS * MAXIMUM_CPUS;

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
