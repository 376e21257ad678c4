//! A trial's block as it is written: with what the number 0 means.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A block's number, and whether the trial was a warm-up.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Numbered {
    /// Its block, from 1; 0 for a warm-up.
    block: u32,
    /// Whether it was made before the session's first block: then it takes no part in anything.
    warm_up: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
pub(super) fn serialize<S: Serializer>(block: &u32, serializer: S) -> Result<S::Ok, S::Error> {
    Numbered { block: *block, warm_up: *block == 0 }.serialize(serializer)
}

/// The number alone says it.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    Numbered::deserialize(deserializer).map(|numbered| numbered.block)
}
