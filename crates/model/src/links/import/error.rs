//! Errors of files of other tools: the problem, its place, and a remedy.

use corewise_machine::cpu_set::MAXIMUM_CPU;

use super::{MAXIMUM_BYTES, MAXIMUM_NUMBERS, MOST_CPUS};

/// Reason why a file of another tool is refused. Lines and columns (cells of a row) are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// Only white space and comments.
    #[error("the file has no rows: use the file that the other tool wrote")]
    Empty,
    /// More than [`MAXIMUM_BYTES`].
    #[error("the file has {bytes} bytes, and at most {MAXIMUM_BYTES} are supported: leave out samples or kinds")]
    TooLong {
        /// The length of the text.
        bytes: usize,
    },
    /// A NUL character.
    #[error(
        "line {line} contains a NUL character, so this is not UTF-8 text: use the tool's CSV or text file, saved as \
            UTF-8"
    )]
    Binary {
        /// The line.
        line: usize,
    },
    /// An object or a list of JSON.
    #[error("JSON cannot be imported: a corewise map needs no import, and for another tool use its matrix or table")]
    Json,
    /// Terminal output of `core-to-core-latency`.
    #[error(
        "line {line}, {found}, is the tool's terminal output, with rulers and units: use the output of \
            `core-to-core-latency --csv`"
    )]
    Console {
        /// Its number.
        line: usize,
        /// The line.
        found: String,
    },
    /// A first row that is neither numbers nor a known header.
    #[error(
        "line {line}, {found}, is neither a row of numbers nor a header that names two columns of cpus and one of \
            latencies, such as a,b,latency_ns"
    )]
    Header {
        /// Its number.
        line: usize,
        /// The line.
        found: String,
    },
    /// An unknown kind of talk.
    #[error(
        "line {line}: unknown kind {found}; the kinds are cas, store, oneway, bandwidth-BYTES, channel, \
            channel-BOUND, queue-packed, queue-padded, wakeup"
    )]
    Kind {
        /// The line.
        line: usize,
        /// The cell.
        found: String,
    },
    /// A cpu given as the first that does not belong to the pair.
    #[error("line {line}: the cpu that began is {first}, but the pair is {a} and {b}: name one of them")]
    First {
        /// The row.
        line: usize,
        /// The cpu given as the first.
        first: u32,
        /// One cpu of the pair.
        a: u32,
        /// The other one.
        b: u32,
    },
    /// A cell that is not a number.
    #[error(
        "line {line}, column {column}: {found} is not a number: correct it, or leave the cell empty if the cost is \
            unknown"
    )]
    NoNumber {
        /// The row.
        line: usize,
        /// The cell in the row.
        column: usize,
        /// The cell.
        found: String,
    },
    /// A cell below zero.
    #[error("line {line}, column {column}: {found} is negative: leave the cell empty if the cost is unknown")]
    Negative {
        /// The row.
        line: usize,
        /// The cell in the row.
        column: usize,
        /// The cell.
        found: String,
    },
    /// A cell that is infinite, or too large for a number.
    #[error(
        "line {line}, column {column}: {found} is infinite or too large: leave the cell empty if the cost is unknown"
    )]
    Infinite {
        /// The row.
        line: usize,
        /// The cell in the row.
        column: usize,
        /// The cell.
        found: String,
    },
    /// A cell that should name a cpu and does not.
    #[error("line {line}: {found} is not a cpu: expected a number from 0 to {MAXIMUM_CPU}")]
    Cpu {
        /// The line.
        line: usize,
        /// The cell.
        found: String,
    },
    /// A cpu that has two rows or two columns of a matrix, or is out of order in a format with a fixed order.
    #[error("line {line}: cpu {cpu} is there twice or out of order: keep one row and one column for each cpu")]
    Twice {
        /// The line that names it again.
        line: usize,
        /// The cpu.
        cpu: u32,
    },
    /// A row with too few or too many cells.
    #[error(
        "line {line}: the row needs {expected} cells and has {found}: it is cut off, or has a separator too few or \
            too many"
    )]
    RowLength {
        /// The row.
        line: usize,
        /// Its cells.
        found: usize,
        /// The expected number.
        expected: usize,
    },
    /// A matrix without names, with different numbers of rows and columns.
    #[error(
        "the matrix has {rows} rows and {columns} columns, but needs one of each per cpu: it is cut off, or rows are \
            missing"
    )]
    NotSquare {
        /// Its rows.
        rows: usize,
        /// Its columns.
        columns: usize,
    },
    /// Fewer than two cpus.
    #[error("a pair needs two cpus, and the file has {cpus}: measure at least two")]
    TooFew {
        /// Their number.
        cpus: usize,
    },
    /// More than [`MOST_CPUS`].
    #[error("the file has {cpus} cpus or more, and at most {MOST_CPUS} are supported: use a part of them")]
    TooMany {
        /// Their least number.
        cpus: usize,
    },
    /// More than [`MAXIMUM_NUMBERS`].
    #[error("the file has more than {MAXIMUM_NUMBERS} numbers: leave out samples, kinds or cpus")]
    TooManyNumbers,
    /// No known cost between two cpus.
    #[error("the file has no cost between two cpus: all cells are empty")]
    Nothing,
    /// Only costs of zero.
    #[error(
        "all costs in the file are 0 ({cells} cells): the tool's clock did not work on that machine; measure again \
            with another tool"
    )]
    AllZero {
        /// Their number.
        cells: usize,
    },
}

impl ImportError {
    /// Returns the line of the problem, counted from 1; `None` if it concerns the whole text.
    pub fn line_number(&self) -> Option<usize> {
        match self {
            Self::Binary { line }
            | Self::Console { line, .. }
            | Self::Header { line, .. }
            | Self::Kind { line, .. }
            | Self::First { line, .. }
            | Self::NoNumber { line, .. }
            | Self::Negative { line, .. }
            | Self::Infinite { line, .. }
            | Self::Cpu { line, .. }
            | Self::Twice { line, .. }
            | Self::RowLength { line, .. } => Some(*line),
            Self::Empty
            | Self::TooLong { .. }
            | Self::Json
            | Self::NotSquare { .. }
            | Self::TooFew { .. }
            | Self::TooMany { .. }
            | Self::TooManyNumbers
            | Self::Nothing
            | Self::AllZero { .. } => None,
        }
    }
}

/// Quotes a piece of text, shortened and with unprintable characters escaped.
pub fn show_text(text: &str) -> String {
    const LENGTH: usize = 48;
    let text = text.trim();
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{:?}", format!("{}…", &text[..end])),
        None => format!("{text:?}"),
    }
}
