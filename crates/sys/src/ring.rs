//! A ring of messages between one sender and one receiver that never sleep, with slots packed or apart.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::os::memory::PageMemory;
use corewise_machine::ring::RingSlots;

/// Default number of messages in a ring: as in the channel that it is compared with.
pub const CAPACITY: usize = 64;

const WORD_BYTES: usize = size_of::<AtomicU64>();

/// Returns the size of a ring's slots in bytes; the capacity is rounded up to a power of two.
pub const fn ring_bytes(capacity: usize, slots: RingSlots) -> usize {
    capacity.next_power_of_two() * slots.stride_bytes()
}

/// Makes a ring in memory of the calling thread's node.
///
/// # Errors
/// If the kernel has no memory for it.
pub fn new(capacity: usize, slots: RingSlots) -> io::Result<(RingSender, RingReceiver)> {
    Ok(ring_within(PageMemory::new(ring_bytes(capacity, slots))?, capacity, slots))
}

/// Makes a ring in given fresh memory. The capacity is rounded up to a power of two, at least one message.
///
/// # Panics
/// If the memory has fewer than [`ring_bytes`].
pub fn ring_within(memory: PageMemory, capacity: usize, slots: RingSlots) -> (RingSender, RingReceiver) {
    let needed = ring_bytes(capacity, slots);
    assert!(memory.words().len() * WORD_BYTES >= needed, "a ring of {capacity} needs {needed} bytes");
    let (capacity, stride) = (capacity.next_power_of_two(), slots.stride_bytes() / WORD_BYTES);
    let ring = Arc::new(MessageRing { memory, mask: capacity as u64 - 1, lap_bits: capacity.trailing_zeros(), stride });
    (RingSender { ring: Arc::clone(&ring), tail: 0 }, RingReceiver { ring, head: 0 })
}

/// The slots. Each is a sequence number and, in the next word, a message.
///
/// A slot's sequence number is twice the lap in which it may be written next, or one more while it holds that lap's message. So each end
/// reads only the slot, never the other end's position, and fresh memory, all zero, is an empty ring. As in Dmitry Vyukov's bounded queue
/// (1024cores.net), but with laps, so that one slot is enough.
#[derive(Debug)]
struct MessageRing {
    memory: PageMemory,
    /// The capacity minus one.
    mask: u64,
    /// The binary logarithm of the capacity.
    lap_bits: u32,
    /// Distance between slots, in words.
    stride: usize,
}

impl MessageRing {
    /// Returns the sequence number and the message of the slot at a position.
    #[inline(always)]
    fn slot_at(&self, position: u64) -> (&AtomicU64, &AtomicU64) {
        let word = (position & self.mask) as usize * self.stride;
        let slot = &self.memory.words()[word..word + 2];
        (&slot[0], &slot[1])
    }

    /// Returns the sequence number that lets the sender write at a position.
    #[inline(always)]
    const fn free_sequence(&self, position: u64) -> u64 {
        2 * (position >> self.lap_bits)
    }
}

/// The sending end. Aligned so that its position shares no pair of lines with the other end's, wherever the two lie.
#[derive(Debug)]
#[repr(align(128))]
pub struct RingSender {
    ring: Arc<MessageRing>,
    /// Number of messages sent.
    tail: u64,
}

impl RingSender {
    /// Sends a message; returns false if the ring is full.
    #[inline(always)]
    pub fn try_send(&mut self, message: u64) -> bool {
        let (sequence, place) = self.ring.slot_at(self.tail);
        let free = self.ring.free_sequence(self.tail);
        if sequence.load(Ordering::Acquire) != free {
            return false;
        }
        place.store(message, Ordering::Relaxed);
        sequence.store(free + 1, Ordering::Release);
        self.tail += 1;
        true
    }

    /// Sends a message, and spins while the ring is full. Calls `give_up` after each try; returns false if that returns true.
    #[inline(always)]
    pub fn send_message(&mut self, message: u64, mut give_up: impl FnMut() -> bool) -> bool {
        while !self.try_send(message) {
            if give_up() {
                return false;
            }
            std::hint::spin_loop();
        }
        true
    }
}

/// The receiving end; messages arrive in the order in which they were sent.
#[derive(Debug)]
#[repr(align(128))]
pub struct RingReceiver {
    ring: Arc<MessageRing>,
    /// Number of messages received.
    head: u64,
}

impl RingReceiver {
    /// Takes the next message; `None` if the ring is empty.
    #[inline(always)]
    pub fn try_receive(&mut self) -> Option<u64> {
        let (sequence, place) = self.ring.slot_at(self.head);
        let full = self.ring.free_sequence(self.head) + 1;
        if sequence.load(Ordering::Acquire) != full {
            return None;
        }
        let message = place.load(Ordering::Relaxed);
        sequence.store(full + 1, Ordering::Release);
        self.head += 1;
        Some(message)
    }

    /// Takes the next message, and spins while the ring is empty. Calls `give_up` after each try; returns `None` if that returns true.
    #[inline(always)]
    pub fn receive_message(&mut self, mut give_up: impl FnMut() -> bool) -> Option<u64> {
        loop {
            if let Some(message) = self.try_receive() {
                return Some(message);
            }
            if give_up() {
                return None;
            }
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_ring_does_what_a_queue_of_its_capacity_does(
            wanted in 1_usize..40,
            is_padded in any::<bool>(),
            steps in proptest::collection::vec(any::<(bool, u64)>(), 0..400),
        ) {
            let slots = if is_padded { RingSlots::Padded } else { RingSlots::Packed };
            let (mut sender, mut receiver) = new(wanted, slots).unwrap();
            let (capacity, mut model) = (wanted.next_power_of_two(), VecDeque::new());
            for (sends, message) in steps {
                if sends {
                    prop_assert_eq!(sender.try_send(message), model.len() < capacity);
                    if model.len() < capacity {
                        model.push_back(message);
                    }
                } else {
                    prop_assert_eq!(receiver.try_receive(), model.pop_front());
                }
            }
        }
    }

    #[test]
    fn all_messages_arrive_in_order() {
        const MESSAGES: u64 = 20_000;
        for (slots, capacity) in
            RingSlots::ALL.into_iter().flat_map(|slots| [1, 2, 3, 7, 64, 100].map(|size| (slots, size)))
        {
            let (mut sender, mut receiver) = new(capacity, slots).unwrap();
            // The other end waits for this cpu too where there is only one.
            let patiently = || {
                let mut tries = 0;
                move || {
                    std::thread::yield_now();
                    tries += 1;
                    tries > 1 << 22
                }
            };
            std::thread::scope(|scope| {
                scope
                    .spawn(move || assert!((0..MESSAGES).all(|message| sender.send_message(message * 3, patiently()))));
                for message in 0..MESSAGES {
                    assert_eq!(receiver.receive_message(patiently()), Some(message * 3));
                }
                assert_eq!(receiver.try_receive(), None);
            });
        }
    }

    #[test]
    fn neither_end_waits_longer_than_it_is_told() {
        let (mut sender, mut receiver) = new(1, RingSlots::Packed).unwrap();
        let mut asked = 0;
        let mut twice = || {
            asked += 1;
            asked == 2
        };
        assert_eq!(receiver.receive_message(&mut twice), None);
        assert!(sender.send_message(5, || false));
        assert!(!sender.send_message(6, || true));
        assert_eq!((receiver.receive_message(|| false), asked), (Some(5), 2));
    }

    #[test]
    fn slots_lie_as_they_are_named() {
        assert_eq!((ring_bytes(CAPACITY, RingSlots::Packed), ring_bytes(CAPACITY, RingSlots::Padded)), (1024, 8192));
        for slots in RingSlots::ALL {
            let (sender, _) = new(CAPACITY, slots).unwrap();
            let at = |position| std::ptr::from_ref(sender.ring.slot_at(position).0) as usize;
            assert_eq!(at(1) - at(0), slots.stride_bytes());
            assert_eq!(at(CAPACITY as u64), at(0), "a lap later");
        }
    }
}
