//! Sends through a channel of crossbeam-channel.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use corewise_sys::clock::Ticks;
use crossbeam_channel::{Receiver, Sender};

use super::meeting::Meeting;
use super::samples::{Number, Plan, Record, Side, Untimed, take};
use super::{Home, Kind};

/// Number of samples. A channel's cost changes every few milliseconds, with the side that waits.
const SAMPLES: usize = 26;
/// Duration of a sample. The work between two samples, some 0.5 us, is enough to change which side waits, so there are few samples.
const SAMPLE: Duration = Duration::from_micros(800);
/// Sends between two looks at the time.
const SENDS_A_LOOK: u64 = 64;
/// Last message of a sample.
const END: u64 = 0;

/// Channel measurement.
pub struct Channel {
    bound: Option<u32>,
}

impl Channel {
    /// Creates the measurement, bounded or unbounded.
    pub const fn new(bound: Option<u32>) -> Self {
        Self { bound }
    }
}

/// Both ends, until they are taken. Dropping an end ends the other's wait.
pub struct Ends(Mutex<Option<Sender<u64>>>, Mutex<Option<Receiver<u64>>>);

fn taken<T>(end: &Mutex<Option<T>>) -> Option<T> {
    end.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl Kind for Channel {
    type Place = Ends;

    fn plan(&self) -> Plan {
        Plan { groups: 1, samples: SAMPLES, numbers: 1.0, sleeps: true, number: Number::Mean }
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
        take(ticks, &self.plan(), &mut Sending { sender, sends: 0, meeting }, record);
    }

    fn second<T: Ticks>(&self, place: &Ends, _ticks: T, meeting: &Meeting, record: &mut Record) {
        let Some(receiver) = taken(&place.1) else { return };
        take(Untimed, &self.plan(), &mut Receiving { receiver, meeting }, record);
    }
}

/// The first side. Neither side has a deadline: a wait with one sets a timer, which a virtual machine asks its host for. A send through a
/// full channel then takes up to twice as long. A waiting side is woken when the other continues, or leaves because the visit is over.
struct Sending<'a> {
    sender: Sender<u64>,
    /// Sends of the last sample; zero before the first.
    sends: u64,
    meeting: &'a Meeting<'a>,
}

impl Side for Sending<'_> {
    fn lead(&mut self) -> bool {
        !self.meeting.is_over()
    }

    fn talk(&mut self) -> bool {
        let (begin, mut sends) = (Instant::now(), 0);
        while if self.sends == 0 { begin.elapsed() < SAMPLE } else { sends < self.sends } {
            sends += SENDS_A_LOOK;
            if self.meeting.is_over() || !(1..=SENDS_A_LOOK).all(|message| self.sender.send(message).is_ok()) {
                return false;
            }
        }
        // All samples have equally many sends, so that their mean weights sends equally, not times.
        self.sends = sends;
        self.sender.send(END).is_ok()
    }

    fn value(&mut self, elapsed: u64) -> f64 {
        elapsed as f64 / self.sends as f64
    }
}

/// The second side.
struct Receiving<'a> {
    receiver: Receiver<u64>,
    meeting: &'a Meeting<'a>,
}

impl Side for Receiving<'_> {
    fn lead(&mut self) -> bool {
        !self.meeting.is_over()
    }

    fn talk(&mut self) -> bool {
        self.receiver.iter().any(|message| message == END)
    }
}
