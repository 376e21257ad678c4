//! Serialization of a trial's block, which makes the meaning of 0 explicit.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A block's number, marked if the trial was a warm-up.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct NumberedBlock {
    /// Its block, from 1; 0 for a warm-up.
    block: u32,
    /// True if it was made before the session's first block: then it does not count.
    warm_up: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
pub(super) fn serialize<S: Serializer>(block: &u32, serializer: S) -> Result<S::Ok, S::Error> {
    NumberedBlock { block: *block, warm_up: *block == 0 }.serialize(serializer)
}

/// Reads only the number; documents of earlier versions have nothing else.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    NumberedBlock::deserialize(deserializer).map(|numbered| numbered.block)
}
