//! Sends through a ring with one sender and one receiver.

use std::io;

use corewise_machine::ring::Slots;
use corewise_sys::clock::Ticks;
use corewise_sys::ring::{self, Receiver, Sender};

use super::ends::TalkEnds;
use super::meeting::Meeting;
use super::samples::{CountedSide, Plan, Side};
use super::{Home, Kind, memory};

/// Sends of one sample: some 20 us.
const SENDS: u64 = 500;
/// Sends before each sample: twice the ring's capacity, so that it is as full as in the long run.
const LEAD: u64 = 2 * ring::CAPACITY as u64;
const SAMPLES: usize = 41;

/// Queue measurement.
pub struct Queue {
    slots: Slots,
}

impl Queue {
    /// Creates the measurement with packed or padded slots.
    pub const fn new(slots: Slots) -> Self {
        Self { slots }
    }
}

impl Kind for Queue {
    type Place = TalkEnds<Sender, Receiver>;

    fn plan(&self) -> Plan {
        Plan::new(SAMPLES, SENDS as f64)
    }

    fn allocate(&self, home: Home) -> io::Result<Self::Place> {
        let memory = memory(ring::bytes(ring::CAPACITY, self.slots), home)?;
        let home = memory.home();
        Ok(TalkEnds::new(ring::within(memory, ring::CAPACITY, self.slots), home))
    }

    fn first_side<'a, T: Ticks>(&'a self, place: &'a Self::Place, _: T, meeting: &'a Meeting<'a>) -> Option<impl Side> {
        let mut sender = place.take_sender()?;
        Some(CountedSide::new(LEAD, SENDS, move |_, sends| send(&mut sender, sends.end - sends.start, meeting)))
    }

    fn second_side<'a, T: Ticks>(
        &'a self,
        place: &'a Self::Place,
        _: T,
        meeting: &'a Meeting<'a>,
    ) -> Option<impl Side> {
        let mut receiver = place.take_receiver()?;
        Some(CountedSide::new(LEAD, SENDS, move |_, sends| receive(&mut receiver, sends.end - sends.start, meeting)))
    }
}

/// Sends messages one after the other; false if the visit is over.
fn send(sender: &mut Sender, messages: u64, meeting: &Meeting) -> bool {
    let mut give_up = meeting.patience();
    (0..messages).all(|message| sender.send(message, &mut give_up))
}

/// Receives messages one after the other; false if the visit is over.
fn receive(receiver: &mut Receiver, messages: u64, meeting: &Meeting) -> bool {
    let mut give_up = meeting.patience();
    (0..messages).all(|_| std::hint::black_box(receiver.receive(&mut give_up)).is_some())
}
