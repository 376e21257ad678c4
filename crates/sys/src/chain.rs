//! A random chain through memory: each element holds the address of the next one, so that loads cannot overlap.
//!
//! The elements hold addresses, not indices: on some processors a load with a scaled index costs a cycle more (AMD since Zen: five, not
//! four).

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io;
use std::ptr::with_exposed_provenance;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use corewise_machine::random::RandomGenerator;

use crate::os::memory::{PageMemory, PageSize};

/// Elements between two checks of the stop flag. They take some milliseconds, since each is another line of memory.
const BETWEEN_LOOKS: usize = 1 << 13;
const WORD_BYTES: usize = size_of::<u64>();

/// One cycle through the first elements of some memory, in random order. It grows and shrinks. At each length every cycle through its
/// elements is equally likely.
#[derive(Debug)]
pub struct PointerChain {
    memory: PageMemory,
    /// Distance between neighbouring elements, in words.
    apart: usize,
    /// Number of elements in the cycle.
    length: usize,
    /// Number of touched bytes of the memory.
    touched: usize,
    random: RandomGenerator,
    /// The current element of the walk, in words.
    at: usize,
}

impl PointerChain {
    /// Makes an empty chain on fresh memory, for elements `apart` bytes apart.
    ///
    /// # Errors
    /// If the memory cannot be allocated.
    pub fn on_fresh_memory(
        bytes: usize,
        node: Option<u32>,
        pages: PageSize,
        apart: usize,
        seed: u64,
    ) -> io::Result<Self> {
        let memory = PageMemory::map_untouched(bytes, node, pages)?;
        Ok(Self { memory, apart: apart / WORD_BYTES, length: 0, touched: 0, random: RandomGenerator::new(seed), at: 0 })
    }

    /// Returns the nodes that its pages are on, as [`PageMemory::page_nodes`].
    ///
    /// # Errors
    /// As there.
    pub fn page_nodes(&self, most_pages: usize) -> io::Result<BTreeMap<u32, usize>> {
        self.memory.page_nodes(most_pages)
    }

    /// Returns the share of it in huge pages, or `None` if unknown.
    pub fn huge_share(&self) -> Option<f64> {
        self.memory.huge_share()
    }

    /// Resizes the chain to the first `bytes` of its memory; returns false if it was stopped.
    ///
    /// A new element is inserted behind a random existing one. So the newest element is the first to be removed; its second word names the
    /// element before it.
    pub fn resize_to(&mut self, bytes: usize, stop: &AtomicBool) -> bool {
        let wanted = (bytes.min(self.memory.bytes()) / (self.apart * WORD_BYTES)).max(1);
        while self.length < wanted {
            if stop.load(Ordering::Relaxed) {
                return false;
            }
            let until = wanted.min(self.length + BETWEEN_LOOKS);
            let end = until * self.apart * WORD_BYTES;
            self.memory.touch_pages(self.touched..end);
            self.touched = self.touched.max(end);
            grow_cycle(self.memory.words(), self.apart, self.length..until, &mut self.random);
            self.length = until;
        }
        while self.length > wanted {
            if stop.load(Ordering::Relaxed) {
                return false;
            }
            let until = wanted.max(self.length.saturating_sub(BETWEEN_LOOKS));
            shrink_cycle(self.memory.words(), self.apart, until..self.length);
            self.length = until;
        }
        if self.at >= self.length * self.apart {
            self.at = 0;
        }
        true
    }

    /// Makes `loads` loads, from the end of the last walk on.
    pub fn walk_chain(&mut self, loads: usize) {
        if self.length > 0 {
            let words = self.memory.words();
            let base = words.as_ptr().expose_provenance();
            let last = chase_pointers(&words[self.at], loads);
            self.at = (last - base) / WORD_BYTES;
        }
    }
}

fn word_address(words: &[AtomicU64], place: usize) -> u64 {
    words[place..].as_ptr().expose_provenance() as u64
}

fn grow_cycle(words: &[AtomicU64], apart: usize, new: std::ops::Range<usize>, random: &mut RandomGenerator) {
    for element in new {
        let place = element * apart;
        let before = if element == 0 { 0 } else { random.next_below(element) * apart };
        let next = if element == 0 { word_address(words, 0) } else { words[before].load(Ordering::Relaxed) };
        words[place].store(next, Ordering::Relaxed);
        words[place + 1].store(before as u64, Ordering::Relaxed);
        words[before].store(word_address(words, place), Ordering::Relaxed);
    }
}

fn shrink_cycle(words: &[AtomicU64], apart: usize, old: std::ops::Range<usize>) {
    for element in old.rev() {
        let place = element * apart;
        let before = words[place + 1].load(Ordering::Relaxed) as usize;
        words[before].store(words[place].load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Makes `loads` loads, each of the address that the load before returned, and returns the last address. `from` is an element of a chain.
#[inline(never)]
fn chase_pointers(from: &AtomicU64, loads: usize) -> usize {
    let mut at = std::ptr::from_ref(from).expose_provenance();
    for _ in 0..loads {
        // SAFETY: every element of a chain holds the address of another element of it. Only `grow` and `shrink` write them, and the chain
        // owns the memory and lives no longer than it.
        at = unsafe { (*with_exposed_provenance::<AtomicU64>(at)).load(Ordering::Relaxed) } as usize;
    }
    black_box(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    static NEVER: AtomicBool = AtomicBool::new(false);

    /// The places of a whole walk around, rising.
    fn around(chain: &PointerChain) -> Vec<usize> {
        let mut places = around_in_order(chain);
        places.sort_unstable();
        places
    }

    fn around_in_order(chain: &PointerChain) -> Vec<usize> {
        let mut places = vec![0];
        loop {
            let words = chain.memory.words();
            let next =
                (chase_pointers(&words[*places.last().unwrap()], 1) - word_address(words, 0) as usize) / WORD_BYTES;
            if next == 0 {
                return places;
            }
            places.push(next);
        }
    }

    #[test]
    fn at_each_length_it_visits_every_element_once() {
        let mut chain = PointerChain::on_fresh_memory(4 << 20, None, PageSize::Small, 128, 3).unwrap();
        for bytes in [128, 4096, 1 << 16, 1 << 13, 384, 4 << 20, 3 << 20, 1 << 15] {
            assert!(chain.resize_to(bytes, &NEVER));
            let all: Vec<usize> = (0..bytes / 128).map(|element| element * 16).collect();
            assert_eq!(around(&chain), all, "{bytes} bytes");
            chain.walk_chain(10);
        }
    }

    /// Of four elements there are six cycles: each comes as often as any other.
    #[test]
    fn every_cycle_is_as_likely() {
        let mut seen = std::collections::BTreeMap::new();
        for seed in 0..1200 {
            let mut chain = PointerChain::on_fresh_memory(256, None, PageSize::Small, 64, seed).unwrap();
            chain.resize_to(256, &NEVER);
            let words = chain.memory.words();
            *seen
                .entry([1, 2, 3].map(|loads| chase_pointers(&words[0], loads) - word_address(words, 0) as usize))
                .or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|count| (150..250).contains(count)), "{seen:?}");
    }

    #[test]
    fn a_walk_goes_on_where_the_last_one_ended() {
        let mut chain = PointerChain::on_fresh_memory(1 << 14, None, PageSize::Small, 64, 5).unwrap();
        chain.walk_chain(3);
        assert_eq!(chain.at, 0, "a chain of no element has nowhere to go");
        assert!(chain.resize_to(1 << 14, &NEVER));
        let all = around_in_order(&chain);
        for loads in [1, 7, 200, 256] {
            let from = all.iter().position(|place| *place == chain.at).unwrap();
            chain.walk_chain(loads);
            assert_eq!(chain.at, all[(from + loads) % all.len()], "{loads} loads");
        }
    }

    #[test]
    fn what_is_stopped_is_not_finished() {
        let mut chain = PointerChain::on_fresh_memory(1 << 20, None, PageSize::Small, 64, 1).unwrap();
        assert!(!chain.resize_to(1 << 20, &AtomicBool::new(true)));
    }
}
