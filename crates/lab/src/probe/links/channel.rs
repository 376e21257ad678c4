//! Sends through a channel of crossbeam-channel.

use std::io;
use std::time::{Duration, Instant};

use corewise_sys::clock::TickSource;
use crossbeam_channel::{Receiver, Sender};

use super::ends::TalkEnds;
use super::meeting::TalkMeeting;
use super::samples::{SampleAverage, SamplePlan, TalkSide};
use super::{MemoryHome, TalkContext, TalkKind};

/// Number of samples. A channel's cost changes every few milliseconds, with the side that waits.
const SAMPLES: usize = 26;
/// Duration of a sample. The work between two samples, some 0.5 us, is enough to change which side waits, so there are few samples.
const SAMPLE: Duration = Duration::from_micros(800);
/// Sends between two looks at the time.
const SENDS_A_LOOK: u64 = 64;
/// Last message of a sample.
const END: u64 = 0;

/// Channel measurement.
pub struct ChannelTalk {
    bound: Option<u32>,
}

impl ChannelTalk {
    /// Creates the measurement, bounded or unbounded.
    pub const fn new(bound: Option<u32>) -> Self {
        Self { bound }
    }
}

impl TalkKind for ChannelTalk {
    type Place = TalkEnds<Sender<u64>, Receiver<u64>>;

    fn sample_plan(&self) -> SamplePlan {
        SamplePlan { sleeps: true, number: SampleAverage::Mean, ..SamplePlan::new(SAMPLES, 1.0) }
    }

    fn allocate_place(&self, home: MemoryHome) -> io::Result<Self::Place> {
        if let MemoryHome::Node(_) = home {
            return Err(io::Error::other(
                "a channel's memory is from the program's heap, which is not bound to a node",
            ));
        }
        let ends = match self.bound {
            Some(bound) => crossbeam_channel::bounded(bound as usize),
            None => crossbeam_channel::unbounded(),
        };
        Ok(TalkEnds::new(ends, None))
    }

    fn first_side<'a, T: TickSource>(&'a self, at: TalkContext<'a, Self::Place, T>) -> Option<impl TalkSide> {
        Some(ChannelSender { sender: at.place.take_sender()?, sends: 0, meeting: at.meeting })
    }

    fn second_side<'a, T: TickSource>(&'a self, at: TalkContext<'a, Self::Place, T>) -> Option<impl TalkSide> {
        Some(ChannelReceiver { receiver: at.place.take_receiver()?, meeting: at.meeting })
    }
}

/// The first side. Neither side has a deadline: a wait with one sets a timer, which a virtual machine asks its host for. A send through a
/// full channel then takes up to twice as long. A waiting side is woken when the other continues, or leaves because the visit is over.
struct ChannelSender<'a> {
    sender: Sender<u64>,
    /// Sends of the last sample; zero before the first.
    sends: u64,
    meeting: &'a TalkMeeting<'a>,
}

impl TalkSide for ChannelSender<'_> {
    fn lead_in(&mut self) -> bool {
        !self.meeting.is_over()
    }

    fn talk_once(&mut self) -> bool {
        let (begin, mut sends) = (Instant::now(), 0);
        while if self.sends == 0 { begin.elapsed() < SAMPLE } else { sends < self.sends } {
            sends += SENDS_A_LOOK;
            if self.meeting.is_over() || !(1..=SENDS_A_LOOK).all(|message| self.sender.send(message).is_ok()) {
                return false;
            }
        }
        // All samples have the same number of sends, so that their mean weights all sends equally.
        self.sends = sends;
        self.sender.send(END).is_ok()
    }

    fn sample_value(&mut self, elapsed: u64) -> f64 {
        elapsed as f64 / self.sends as f64
    }
}

/// The second side.
struct ChannelReceiver<'a> {
    receiver: Receiver<u64>,
    meeting: &'a TalkMeeting<'a>,
}

impl TalkSide for ChannelReceiver<'_> {
    fn lead_in(&mut self) -> bool {
        !self.meeting.is_over()
    }

    fn talk_once(&mut self) -> bool {
        self.receiver.iter().any(|message| message == END)
    }
}
