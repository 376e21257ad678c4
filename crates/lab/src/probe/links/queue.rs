//! Sends through a ring with one sender and one receiver.

use std::io;
use std::sync::{Mutex, PoisonError};

use corewise_machine::ring::Slots;
use corewise_sys::clock::Ticks;
use corewise_sys::ring::{self, Receiver, Sender};

use super::meeting::Meeting;
use super::samples::{Number, Plan, Record, Side, Untimed, take};
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

/// Both ends, until they are taken, and the node of the slots.
pub struct Ends {
    sender: Mutex<Option<Sender>>,
    receiver: Mutex<Option<Receiver>>,
    home: Option<u32>,
}

fn taken<T>(end: &Mutex<Option<T>>) -> Option<T> {
    end.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl Kind for Queue {
    type Place = Ends;

    fn plan(&self) -> Plan {
        Plan { groups: 1, samples: SAMPLES, numbers: SENDS as f64, sleeps: false, number: Number::Median }
    }

    fn allocate(&self, home: Home) -> io::Result<Ends> {
        let memory = memory(ring::bytes(ring::CAPACITY, self.slots), home)?;
        let home = memory.home();
        let (sender, receiver) = ring::within(memory, ring::CAPACITY, self.slots);
        Ok(Ends { sender: Mutex::new(Some(sender)), receiver: Mutex::new(Some(receiver)), home })
    }

    fn home(&self, place: &Ends) -> Option<u32> {
        place.home
    }

    fn first<T: Ticks>(&self, place: &Ends, ticks: T, meeting: &Meeting, record: &mut Record) {
        let Some(sender) = taken(&place.sender) else { return };
        take(ticks, &self.plan(), &mut Sending { sender, meeting }, record);
    }

    fn second<T: Ticks>(&self, place: &Ends, _ticks: T, meeting: &Meeting, record: &mut Record) {
        let Some(receiver) = taken(&place.receiver) else { return };
        take(Untimed, &self.plan(), &mut Receiving { receiver, meeting }, record);
    }
}

/// The first side.
struct Sending<'a> {
    sender: Sender,
    meeting: &'a Meeting<'a>,
}

impl Side for Sending<'_> {
    fn lead(&mut self) -> bool {
        send(&mut self.sender, LEAD, self.meeting)
    }

    fn talk(&mut self) -> bool {
        send(&mut self.sender, SENDS, self.meeting)
    }
}

/// The second side.
struct Receiving<'a> {
    receiver: Receiver,
    meeting: &'a Meeting<'a>,
}

impl Side for Receiving<'_> {
    fn lead(&mut self) -> bool {
        receive(&mut self.receiver, LEAD, self.meeting)
    }

    fn talk(&mut self) -> bool {
        receive(&mut self.receiver, SENDS, self.meeting)
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
