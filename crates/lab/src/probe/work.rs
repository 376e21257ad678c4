//! Pieces of work that the tail probe can time; each piece is the same every time.

use std::hint::black_box;

use corewise_machine::random::RandomGenerator;
use corewise_model::survey::WorkKind;
use corewise_sys::thread::parent_number;
use corewise_sys::work::dependent_additions;

/// Number of dependent additions in a piece, each one core cycle: about 250 ns at 4 GHz. It is the same on every machine and in every
/// version, so that surveys can be compared.
pub const ADDITIONS: u32 = 1000;
/// Size of the buffer of [`MemoryWork`], in bytes.
const BUFFER_BYTES: usize = 8 << 20;
/// Lines that a piece touches, one after the other.
const STEPS: usize = 100;
const LINE_BYTES: usize = 64;

/// Work that takes the same time every time.
pub trait WorkPiece {
    /// Does the work once. It must not allocate.
    fn do_piece(&mut self);
}

/// No work: only the clock reading is timed.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpinWork;

impl WorkPiece for SpinWork {
    #[inline(always)]
    fn do_piece(&mut self) {}
}

/// Dependent additions, with their number.
#[derive(Clone, Copy, Debug)]
pub struct ComputeWork(pub u32);

impl WorkPiece for ComputeWork {
    #[inline(always)]
    fn do_piece(&mut self) {
        black_box(dependent_additions(black_box(self.0), 1));
    }
}

/// A walk in random order: each line holds the number of the next, so that no two are fetched at the same time.
#[derive(Debug)]
pub struct MemoryWork {
    next: Vec<[u32; LINE_BYTES / 4]>,
    at: u32,
}

impl MemoryWork {
    /// Creates the walk; the same on every machine.
    pub fn new() -> Self {
        let lines = BUFFER_BYTES / LINE_BYTES;
        let mut order: Vec<u32> = (0..lines as u32).collect();
        RandomGenerator::new(1).shuffle(&mut order);
        let mut next = vec![[0; LINE_BYTES / 4]; lines];
        for (place, line) in order.iter().enumerate() {
            next[*line as usize][0] = order[(place + 1) % lines];
        }
        Self { next, at: 0 }
    }
}

impl Default for MemoryWork {
    fn default() -> Self {
        Self::new()
    }
}

impl WorkPiece for MemoryWork {
    #[inline(always)]
    fn do_piece(&mut self) {
        for _ in 0..STEPS {
            self.at = self.next[self.at as usize][0];
        }
        black_box(self.at);
    }
}

/// One system call.
#[derive(Clone, Copy, Debug, Default)]
pub struct SyscallWork;

impl WorkPiece for SyscallWork {
    #[inline(always)]
    fn do_piece(&mut self) {
        black_box(parent_number());
    }
}

/// Returns the number of additions in a piece of a kind; 0 for other work.
pub const fn additions_of(kind: WorkKind) -> u32 {
    match kind {
        WorkKind::Compute => ADDITIONS,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_touches_every_line_before_it_comes_back() {
        let mut walk = MemoryWork::new();
        let lines = BUFFER_BYTES / LINE_BYTES;
        let mut seen = vec![false; lines];
        for _ in 0..lines {
            seen[walk.at as usize] = true;
            walk.at = walk.next[walk.at as usize][0];
        }
        assert!(seen.iter().all(|seen| *seen) && walk.at == 0);
    }
}
