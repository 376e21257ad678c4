//! Stages of the pipeline: parse, transform, serialise, count.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// An event: the fields of a JSON object.
pub type JsonEvent = Map<String, Value>;
/// Tally of each service, by its name.
pub type ServiceTallies = BTreeMap<String, ServiceTally>;

/// Counts of a service's events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceTally {
    /// Number of its events.
    pub lines: u64,
    /// Sum of their `bytes` fields modulo 2 to the power of 64, as a file may contain any number.
    pub bytes: u64,
}

impl ServiceTally {
    /// Adds events.
    pub const fn add_events(&mut self, lines: u64, bytes: u64) {
        self.lines += lines;
        self.bytes = self.bytes.wrapping_add(bytes);
    }
}

/// Parses a line.
///
/// # Errors
/// If it is not a JSON object.
pub fn parse(line: &[u8]) -> serde_json::Result<JsonEvent> {
    serde_json::from_slice(line)
}

/// Removes the field "debug", renames "ts" to "time", adds the "severity" (of syslog) of its "level", and adds its "bytes" to its
/// "service". A missing field, or one of another type, is skipped; bytes and service count as 0 and "" then.
pub fn transform_event(event: &mut JsonEvent, tallies: &mut ServiceTallies) {
    event.remove("debug");
    if let Some(time) = event.remove("ts") {
        event.insert("time".into(), time);
    }
    if let Some(severity) = event.get("level").and_then(Value::as_str).map(severity_of) {
        event.insert("severity".into(), severity.into());
    }
    let bytes = event.get("bytes").and_then(Value::as_u64).unwrap_or(0);
    let service = event.get("service").and_then(Value::as_str).unwrap_or("");
    match tallies.get_mut(service) {
        Some(tally) => tally.add_events(1, bytes),
        None => tallies.entry(service.to_owned()).or_default().add_events(1, bytes),
    }
}

/// Returns the severity of a level (RFC 5424, 6.2.1); notice for an unknown level.
fn severity_of(level: &str) -> u64 {
    match level {
        "error" => 3,
        "warn" => 4,
        "info" => 6,
        "debug" => 7,
        _ => 5,
    }
}

/// Writes an event as a line without its end.
pub fn serialise_event(event: &JsonEvent, text: &mut Vec<u8>) {
    let wrote = serde_json::to_writer(text, event);
    debug_assert!(wrote.is_ok(), "memory takes all, and keys are strings");
}

/// Hashes a line, eight bytes at a time. The hashes of all lines are summed, so that their order does not matter.
pub fn hash_line(line: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| {
        let product = (hash ^ word).wrapping_mul(FACTOR);
        product ^ (product >> 32)
    };
    let mut words = line.chunks_exact(8);
    let hash = words.by_ref().fold(mix(FACTOR.rotate_left(32), line.len() as u64), |hash, word| {
        mix(hash, u64::from_le_bytes([word[0], word[1], word[2], word[3], word[4], word[5], word[6], word[7]]))
    });
    mix(words.remainder().iter().fold(hash, |hash, &byte| mix(hash, u64::from(byte) + 1)), FACTOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_removed_renamed_and_added_and_the_rest_stays() {
        let changed = |line: &str| {
            let (mut event, mut tallies, mut text) =
                (parse(line.as_bytes()).unwrap(), ServiceTallies::new(), Vec::new());
            transform_event(&mut event, &mut tallies);
            serialise_event(&event, &mut text);
            (serde_json::from_slice::<Value>(&text).unwrap(), tallies.into_iter().next().unwrap())
        };
        let (event, tally) = changed(r#"{"ts":"now","level":"warn","service":"a","bytes":7,"debug":[1],"x":1.5}"#);
        assert_eq!(
            event,
            serde_json::json!({"time":"now","level":"warn","service":"a","bytes":7,"severity":4,"x":1.5})
        );
        assert_eq!(tally, ("a".into(), ServiceTally { lines: 1, bytes: 7 }));
        let (event, tally) = changed(r#"{"bytes":-1,"service":3}"#);
        assert_eq!(event, serde_json::json!({"bytes":-1,"service":3}));
        assert_eq!(tally, (String::new(), ServiceTally { lines: 1, bytes: 0 }));
    }

    #[test]
    fn a_hash_depends_on_each_byte_and_on_the_length() {
        let line: Vec<u8> = (0..37).collect();
        let mut hashes: Vec<u64> = (0..line.len()).map(|end| hash_line(&line[..end])).collect();
        for place in 0..line.len() {
            let mut other = line.clone();
            other[place] ^= 1;
            hashes.push(hash_line(&other));
        }
        hashes.extend([hash_line(&line), hash_line(&[0; 8]), hash_line(&[0; 16])]);
        let all = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), all);
    }
}
