//! Rings of messages between two threads.

use serde::{Deserialize, Serialize};

/// Memory layout of a queue's slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RingSlots {
    /// Adjacent: neighbours share a cache line.
    Packed,
    /// Each in its own pair of lines (128 bytes), since the hardware fetches lines in pairs.
    Padded,
}

impl RingSlots {
    /// Both layouts.
    pub const ALL: [Self; 2] = [Self::Packed, Self::Padded];

    /// Returns the word on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Packed => "packed",
            Self::Padded => "padded",
        }
    }

    /// Returns the distance between two slots in bytes.
    pub const fn stride_bytes(self) -> usize {
        match self {
            // The message and its sequence number.
            Self::Packed => 16,
            Self::Padded => 128,
        }
    }
}
