//! Blocks that one side writes and the other reads.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use corewise_sys::clock::TickSource;
use corewise_sys::memory::{LINE_BYTES, PageMemory};

use super::meeting::{TalkMeeting, spin_until};
use super::samples::{CountedSide, SamplePlan, TalkSide};
use super::{MemoryHome, TalkContext, TalkKind, allocate_memory};

/// Bytes of one sample, in as many blocks as they fill, so that samples of small blocks are not mainly clock reading.
const SAMPLE_BYTES: usize = 64 << 10;
const SAMPLES: usize = 25;
/// Maximum block size; a visit has no time for larger blocks.
const LARGEST: usize = 16 << 20;
const LINE_WORDS: usize = LINE_BYTES / size_of::<AtomicU64>();

/// Bandwidth measurement.
pub struct BandwidthTalk {
    block_bytes: usize,
}

impl BandwidthTalk {
    /// Creates the measurement with blocks of a size.
    pub const fn new(block_bytes: u32) -> Self {
        Self { block_bytes: block_bytes as usize }
    }

    fn blocks_per_sample(&self) -> u64 {
        (SAMPLE_BYTES / self.block_bytes.max(1)).max(1) as u64
    }

    /// Returns the block, and the word in a line behind it that says which side's turn it is.
    fn block_and_turn<'a>(&self, place: &'a PageMemory) -> (&'a [AtomicU64], &'a AtomicU64) {
        (&place.words()[..self.block_bytes / size_of::<AtomicU64>()], place.line(place.line_count() - 1))
    }
}

impl TalkKind for BandwidthTalk {
    type Place = PageMemory;

    fn sample_plan(&self) -> SamplePlan {
        SamplePlan::new(SAMPLES, self.blocks_per_sample() as f64)
    }

    fn allocate_place(&self, home: MemoryHome) -> io::Result<PageMemory> {
        if self.block_bytes == 0 || self.block_bytes > LARGEST || !self.block_bytes.is_multiple_of(LINE_BYTES) {
            let why = format!("a block must have whole lines of {LINE_BYTES} bytes and at most {} MiB", LARGEST >> 20);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        // Two lines more, so that the turn shares no pair of lines with the block.
        allocate_memory(self.block_bytes + 2 * LINE_BYTES, home)
    }

    fn first_side<'a, T: TickSource>(&'a self, at: TalkContext<'a, Self::Place, T>) -> Option<impl TalkSide> {
        let (block, turn) = self.block_and_turn(at.place);
        Some(CountedSide::new(1, self.blocks_per_sample(), move |_, blocks| {
            write_blocks(block, turn, 1 + blocks.start, 1 + blocks.end, at.meeting)
        }))
    }

    fn second_side<'a, T: TickSource>(&'a self, at: TalkContext<'a, Self::Place, T>) -> Option<impl TalkSide> {
        let (block, turn) = self.block_and_turn(at.place);
        Some(CountedSide::new(1, self.blocks_per_sample(), move |_, blocks| {
            read_blocks(block, turn, 1 + blocks.start, 1 + blocks.end, at.meeting)
        }))
    }
}

/// Writes the block for each number of a range and waits until it was read; false if the visit is over.
fn write_blocks(block: &[AtomicU64], turn: &AtomicU64, from: u64, until: u64, meeting: &TalkMeeting) -> bool {
    for number in from..until {
        for word in block {
            word.store(number, Ordering::Relaxed);
        }
        turn.store(2 * number, Ordering::Release);
        if !spin_until(meeting, || turn.load(Ordering::Acquire) == 2 * number + 1) {
            return false;
        }
    }
    true
}

/// Waits for each block of a range and sums it; false if the visit is over.
fn read_blocks(block: &[AtomicU64], turn: &AtomicU64, from: u64, until: u64, meeting: &TalkMeeting) -> bool {
    for number in from..until {
        if !spin_until(meeting, || turn.load(Ordering::Acquire) == 2 * number) {
            return false;
        }
        // Line by line: a single chain of additions would be slower than memory.
        let line =
            |words: &[AtomicU64]| words.iter().fold(0_u64, |sum, word| sum.wrapping_add(word.load(Ordering::Relaxed)));
        let sum = block.chunks_exact(LINE_WORDS).fold(0_u64, |sum, words| sum.wrapping_add(line(words)));
        std::hint::black_box(sum);
        turn.store(2 * number + 1, Ordering::Release);
    }
    true
}
