//! Rings of messages between two threads.

use serde::{Deserialize, Serialize};

/// How the slots of a queue lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Slots {
    /// One after the other: neighbours share a line.
    Packed,
    /// Each in its own pair of lines (128 bytes), since the hardware fetches lines in pairs.
    Padded,
}

impl Slots {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Packed, Self::Padded];

    /// The word on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Packed => "packed",
            Self::Padded => "padded",
        }
    }

    /// The distance of two slots in bytes.
    pub const fn stride_bytes(self) -> usize {
        match self {
            // A sequence number beside the message.
            Self::Packed => 16,
            Self::Padded => 128,
        }
    }
}
