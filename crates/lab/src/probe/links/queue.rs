//! Sends through a ring with one sender and one receiver.

use std::io;

use corewise_machine::ring::RingSlots;
use corewise_sys::clock::TickSource;
use corewise_sys::ring::{self, RingReceiver, RingSender};

use super::ends::TalkEnds;
use super::meeting::TalkMeeting;
use super::samples::{CountedSide, SamplePlan, TalkSide};
use super::{MemoryHome, TalkContext, TalkKind, allocate_memory};

/// Sends of one sample: some 20 us.
const SENDS: u64 = 500;
/// Sends before each sample: twice the ring's capacity, so that it is as full as in the long run.
const LEAD: u64 = 2 * ring::CAPACITY as u64;
const SAMPLES: usize = 41;

/// Queue measurement.
pub struct QueueTalk {
    slots: RingSlots,
}

impl QueueTalk {
    /// Creates the measurement with packed or padded slots.
    pub const fn new(slots: RingSlots) -> Self {
        Self { slots }
    }
}

impl TalkKind for QueueTalk {
    type Place = TalkEnds<RingSender, RingReceiver>;

    fn sample_plan(&self) -> SamplePlan {
        SamplePlan::new(SAMPLES, SENDS as f64)
    }

    fn allocate_place(&self, home: MemoryHome) -> io::Result<Self::Place> {
        let memory = allocate_memory(ring::ring_bytes(ring::CAPACITY, self.slots), home)?;
        let home = memory.home_node();
        Ok(TalkEnds::new(ring::ring_within(memory, ring::CAPACITY, self.slots), home))
    }

    fn first_side<'a, T: TickSource>(&'a self, at: TalkContext<'a, Self::Place, T>) -> Option<impl TalkSide> {
        let mut sender = at.place.take_sender()?;
        Some(CountedSide::new(LEAD, SENDS, move |_, sends| {
            send_messages(&mut sender, sends.end - sends.start, at.meeting)
        }))
    }

    fn second_side<'a, T: TickSource>(&'a self, at: TalkContext<'a, Self::Place, T>) -> Option<impl TalkSide> {
        let mut receiver = at.place.take_receiver()?;
        Some(CountedSide::new(LEAD, SENDS, move |_, sends| {
            receive_messages(&mut receiver, sends.end - sends.start, at.meeting)
        }))
    }
}

/// Sends messages one after the other; false if the visit is over.
fn send_messages(sender: &mut RingSender, messages: u64, meeting: &TalkMeeting) -> bool {
    let mut give_up = meeting.spin_patience();
    (0..messages).all(|message| sender.send_message(message, &mut give_up))
}

/// Receives messages one after the other; false if the visit is over.
fn receive_messages(receiver: &mut RingReceiver, messages: u64, meeting: &TalkMeeting) -> bool {
    let mut give_up = meeting.spin_patience();
    (0..messages).all(|_| std::hint::black_box(receiver.receive_message(&mut give_up)).is_some())
}
