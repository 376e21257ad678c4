//! Kinds of communication that can be measured between two cpus, with the meaning of their numbers.

use corewise_machine::ring::RingSlots;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of a message of the channel and the queue kinds.
pub const MESSAGE_BYTES: u32 = 8;

/// A way in which two threads communicate. Every number is nanoseconds, the median over short samples; in each visit
/// the *first* cpu owns the memory (fresh pages on its node), begins, and takes the time, and the *second* answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TalkWay {
    /// Half of a round trip by compare-and-swap on one line, without a load before it and without a pause, as in
    /// `core-to-core-latency` and `c2clat -w`.
    #[default]
    Cas,
    /// Half of a round trip over two lines, each written by one side (release) and read by the other (acquire), as in
    /// `c2clat`.
    Store,
    /// Time from the sender's reading of the clock to the receiver's, for a message that lies in a line. Needs clocks
    /// that agree, which is checked; the cost of reading the clock is included.
    Oneway,
    /// One block written by the first and read by the second, a block at a time in turn; the time of one block.
    Bandwidth {
        /// The size of a block.
        block_bytes: u32,
    },
    /// One send through a channel of crossbeam-channel, the receiver taking at full speed; both block (sleep) when it
    /// is full or empty, as they do in programs. The mean over some milliseconds, since the cost of a channel varies
    /// over time.
    Channel {
        /// Its capacity in messages; absent if it is unbounded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bound: Option<u32>,
    },
    /// One send through a ring with one sender and one receiver, both spinning.
    Queue {
        /// Layout of its slots.
        slots: RingSlots,
    },
    /// Half of the time from the futex(2) wake of a sleeping thread, with the write before it, to the arrival of its
    /// answer at the waker, which also sleeps. It is the time of a wake-up, including the way out of sleep.
    Wakeup,
}

impl TalkWay {
    /// Returns the word on the command line; several of one kind (block sizes) share it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Cas => "cas",
            Self::Store => "store",
            Self::Oneway => "oneway",
            Self::Bandwidth { .. } => "bandwidth",
            Self::Channel { .. } => "channel",
            Self::Queue { .. } => "queue",
            Self::Wakeup => "wakeup",
        }
    }

    /// Returns the name for people: "channel of 64", "blocks of 64 KiB".
    pub fn describe_way(self) -> String {
        match self {
            Self::Cas => "compare-and-swap".into(),
            Self::Store => "store and load".into(),
            Self::Oneway => "one-way message".into(),
            Self::Bandwidth { block_bytes } if block_bytes >= 1 << 20 => {
                format!("blocks of {} MiB", block_bytes >> 20)
            }
            Self::Bandwidth { block_bytes } if block_bytes >= 1 << 10 => {
                format!("blocks of {} KiB", block_bytes >> 10)
            }
            Self::Bandwidth { block_bytes } => format!("blocks of {block_bytes} B"),
            Self::Channel { bound: Some(bound) } => format!("channel of {bound}"),
            Self::Channel { bound: None } => "channel without a bound".into(),
            Self::Queue { slots } => format!("queue, {} slots", slots.word()),
            Self::Wakeup => "wake-up".into(),
        }
    }

    /// Returns the unit of work that one number times: "one way", "a send", "a block", "a wake-up".
    pub const fn unit_of_time(self) -> &'static str {
        match self {
            Self::Cas | Self::Store | Self::Oneway => "one way",
            Self::Bandwidth { .. } => "a block",
            Self::Channel { .. } | Self::Queue { .. } => "a send",
            Self::Wakeup => "a wake-up",
        }
    }

    /// Returns the bytes moved in the time of one number; `None` for kinds without a throughput.
    pub const fn moved_bytes(self) -> Option<u32> {
        match self {
            Self::Bandwidth { block_bytes } => Some(block_bytes),
            Self::Channel { .. } | Self::Queue { .. } => Some(MESSAGE_BYTES),
            Self::Cas | Self::Store | Self::Oneway | Self::Wakeup => None,
        }
    }

    /// Converts a time per number to megabytes (10^6) per second.
    pub fn megabytes_per_s(self, nanoseconds: f64) -> Option<f64> {
        self.moved_bytes().map(|bytes| f64::from(bytes) / nanoseconds * 1e3)
    }
}
