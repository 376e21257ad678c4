//! Sends through a channel of crossbeam-channel.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use corewise_sys::clock::Ticks;
use crossbeam_channel::{Receiver, Sender};

use super::meeting::Meeting;
use super::samples::{Number, Plan, Record, Side, Untimed, take};
use super::{Home, Kind};

/// Sends of one sample. What a side does between samples, some 0.5 us, is enough to change who waits for whom, so it is done rarely.
const SENDS: u64 = 2000;
/// So many samples are taken at least, and at most; a channel without a bound holds no more than what is sent in them.
const SAMPLES: [usize; 2] = [25, 301];
/// Between these it ends after so long. A channel is now cheap and now dear: who waits for whom changes every few milliseconds.
const ENOUGH: Duration = Duration::from_millis(20);

/// The kind.
pub struct Channel {
    bound: Option<u32>,
}

impl Channel {
    /// With a bound, or without.
    pub const fn new(bound: Option<u32>) -> Self {
        Self { bound }
    }

    /// Sends before each sample: twice what the channel holds, so that it is as full as it is in the long run.
    fn lead(&self) -> u64 {
        2 * u64::from(self.bound.unwrap_or(64))
    }
}

/// Both ends, until they are taken. An end that is dropped ends the other's wait.
pub struct Ends(Mutex<Option<Sender<u64>>>, Mutex<Option<Receiver<u64>>>);

fn taken<T>(end: &Mutex<Option<T>>) -> Option<T> {
    end.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl Kind for Channel {
    type Place = Ends;

    fn plan(&self) -> Plan {
        Plan { groups: 1, samples: SAMPLES[1], numbers: SENDS as f64, sleeps: true, number: Number::Mean }
    }

    fn allocate(&self, home: Home) -> io::Result<Ends> {
        if let Home::Node(_) = home {
            return Err(io::Error::other(
                "a channel's memory is from the program's heap, which is not bound to a node",
            ));
        }
        let (sender, receiver) = match self.bound {
            Some(bound) => crossbeam_channel::bounded(bound as usize),
            None => crossbeam_channel::unbounded(),
        };
        Ok(Ends(Mutex::new(Some(sender)), Mutex::new(Some(receiver))))
    }

    fn home(&self, _place: &Ends) -> Option<u32> {
        None
    }

    fn first<T: Ticks>(&self, place: &Ends, ticks: T, meeting: &Meeting, record: &mut Record) {
        let Some(sender) = taken(&place.0) else { return };
        let until = Instant::now() + ENOUGH;
        take(ticks, &self.plan(), &mut Sending { sender, lead: self.lead(), until, taken: 0, meeting }, record);
    }

    fn second<T: Ticks>(&self, place: &Ends, _ticks: T, meeting: &Meeting, record: &mut Record) {
        let Some(receiver) = taken(&place.1) else { return };
        take(Untimed, &self.plan(), &mut Receiving { receiver, lead: self.lead(), meeting }, record);
    }
}

/// The first's side.
struct Sending<'a> {
    sender: Sender<u64>,
    lead: u64,
    until: Instant,
    taken: usize,
    meeting: &'a Meeting<'a>,
}

impl Side for Sending<'_> {
    fn lead(&mut self) -> bool {
        self.taken += 1;
        let is_enough = self.taken > SAMPLES[0] && Instant::now() >= self.until;
        !is_enough && !self.meeting.is_over() && send(&self.sender, self.lead, self.meeting)
    }

    fn talk(&mut self) -> bool {
        send(&self.sender, SENDS, self.meeting)
    }
}

/// The second's side.
struct Receiving<'a> {
    receiver: Receiver<u64>,
    lead: u64,
    meeting: &'a Meeting<'a>,
}

impl Side for Receiving<'_> {
    fn lead(&mut self) -> bool {
        !self.meeting.is_over() && receive(&self.receiver, self.lead, self.meeting)
    }

    fn talk(&mut self) -> bool {
        receive(&self.receiver, SENDS, self.meeting)
    }
}

/// Sends messages one after the other; false when the visit is over.
fn send(sender: &Sender<u64>, messages: u64, meeting: &Meeting) -> bool {
    let deadline = meeting.deadline();
    (0..messages).all(|message| sender.send_deadline(message, deadline).is_ok())
}

/// Takes messages one after the other; false when the visit is over.
fn receive(receiver: &Receiver<u64>, messages: u64, meeting: &Meeting) -> bool {
    let deadline = meeting.deadline();
    (0..messages).all(|_| std::hint::black_box(receiver.recv_deadline(deadline)).is_ok())
}
