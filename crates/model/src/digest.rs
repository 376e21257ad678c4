//! Digests of surveys and maps: what they say about a machine, small enough to send and to compare many machines.
//!
//! A digest names a processor, its kernel and its settings. It holds no name of a host, user, device or task, no address and no time of day.

pub mod link_map_digest;
pub mod memory_map_digest;
pub mod survey_digest;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use link_map_digest::LinkMapDigest;
use memory_map_digest::MemoryMapDigest;
use survey_digest::SurveyDigest;

/// Largest digest of a survey or a map as compact JSON, in bytes.
pub const MOST_DIGEST_BYTES: usize = 4096;

/// Largest kept part of a text, in bytes.
const LONGEST_TEXT_BYTES: usize = 48;

/// What was measured on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineDigest {
    /// Its survey.
    pub survey: SurveyDigest,
    /// Its link map; absent if two cpus could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<LinkMapDigest>,
    /// Its memory map; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryMapDigest>,
}

/// Returns true if a value takes at most [`MOST_DIGEST_BYTES`] as compact JSON.
pub(crate) fn fits_digest(value: &impl Serialize) -> bool {
    serde_json::to_vec(value).is_ok_and(|json| json.len() <= MOST_DIGEST_BYTES)
}

/// Rounds a value to some significant digits.
fn round_value(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}

/// Returns the beginning of a text, of at most [`LONGEST_TEXT_BYTES`], without characters that JSON escapes.
pub(crate) fn shorten_text(text: &str) -> String {
    let plain = text.trim().chars().filter(|&c| !c.is_control() && c != '"' && c != '\\');
    plain
        .scan(0, |bytes, c| {
            *bytes += c.len_utf8();
            (*bytes <= LONGEST_TEXT_BYTES).then_some(c)
        })
        .collect()
}

#[cfg(test)]
mod tests;
