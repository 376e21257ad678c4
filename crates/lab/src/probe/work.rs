//! The pieces of work that the tail probe can time: each the same at every turn.

use std::hint::black_box;

use corewise_machine::random::Random;
use corewise_model::survey::WorkKind;
use corewise_sys::thread::parent_number;
use corewise_sys::work::dependent_additions;

/// How many dependent additions a piece is: as many core cycles, about 250 ns at 4 GHz. The same on every machine and in
/// every version, so that surveys can be compared.
pub const ADDITIONS: u32 = 1000;
/// The buffer that [`Memory`] walks over, in bytes.
const BUFFER_BYTES: usize = 8 << 20;
/// How many of its lines a piece touches, one after the other.
const STEPS: usize = 100;
const LINE_BYTES: usize = 64;

/// Something to do that takes as long every time.
pub trait Piece {
    /// Does it once. It must not allocate.
    fn make(&mut self);
}

/// Nothing: what is timed is the reading of the clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spin;

impl Piece for Spin {
    #[inline(always)]
    fn make(&mut self) {}
}

/// Dependent additions, so many.
#[derive(Clone, Copy, Debug)]
pub struct Compute(pub u32);

impl Piece for Compute {
    #[inline(always)]
    fn make(&mut self) {
        black_box(dependent_additions(black_box(self.0), 1));
    }
}

/// A walk in random order: each line holds the number of the next, so that no two are fetched at a time.
#[derive(Debug)]
pub struct Memory {
    next: Vec<[u32; LINE_BYTES / 4]>,
    at: u32,
}

impl Memory {
    /// A walk that has not begun; the same on every machine.
    pub fn new() -> Self {
        let lines = BUFFER_BYTES / LINE_BYTES;
        let mut order: Vec<u32> = (0..lines as u32).collect();
        Random::new(1).shuffle(&mut order);
        let mut next = vec![[0; LINE_BYTES / 4]; lines];
        for (place, line) in order.iter().enumerate() {
            next[*line as usize][0] = order[(place + 1) % lines];
        }
        Self { next, at: 0 }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Piece for Memory {
    #[inline(always)]
    fn make(&mut self) {
        for _ in 0..STEPS {
            self.at = self.next[self.at as usize][0];
        }
        black_box(self.at);
    }
}

/// One call of the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Syscall;

impl Piece for Syscall {
    #[inline(always)]
    fn make(&mut self) {
        black_box(parent_number());
    }
}

/// How many additions a piece of a kind is; 0 where it is something else.
pub const fn additions(kind: WorkKind) -> u32 {
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
        let mut walk = Memory::new();
        let lines = BUFFER_BYTES / LINE_BYTES;
        let mut seen = vec![false; lines];
        for _ in 0..lines {
            seen[walk.at as usize] = true;
            walk.at = walk.next[walk.at as usize][0];
        }
        assert!(seen.iter().all(|seen| *seen) && walk.at == 0);
    }
}
