//! Generated events, as a fleet of services logs them.

use std::fmt::Write;

use corewise_machine::random::RandomGenerator;

use super::stage::{ServiceTallies, ServiceTally};

/// Number of events.
pub const EVENTS: u64 = 1 << 14;
const SERVICES: [&str; 8] = ["gateway", "accounts", "billing", "search", "mail", "storage", "scheduler", "telemetry"];
const LEVELS: [&str; 8] = ["info", "info", "info", "info", "debug", "debug", "warn", "error"];
/// Minimum length of an event; a random part up to `MORE_BYTES` is added.
const SHORTEST_BYTES: usize = 240;
const MORE_BYTES: usize = 700;
/// Words of messages; some need escaping, some have multi-byte characters.
const WORDS: [&str; 20] = [
    "request",
    "finished",
    "after",
    "retry",
    "of",
    "upstream",
    "\\\"quoted\\\"",
    "connection",
    "closed",
    "by",
    "peer",
    "while",
    "reading",
    "header",
    "größe",
    "cache",
    "miss",
    "for",
    "key\\t",
    "queue",
];

/// Generates the events of a seed, one per line. Event `i` has its own random numbers; its service is number `i` modulo 8, and its bytes
/// are `1000 + i`.
pub fn generate_text(seed: u64) -> Vec<u8> {
    let mut text = String::with_capacity(EVENTS as usize * (SHORTEST_BYTES + MORE_BYTES / 2 + 50));
    for number in 0..EVENTS {
        generate_event(&mut text, number, &mut RandomGenerator::new(seed.wrapping_mul(EVENTS).wrapping_add(number)));
        text.push('\n');
    }
    text.into_bytes()
}

fn generate_event(text: &mut String, number: u64, random: &mut RandomGenerator) {
    let end = text.len() + SHORTEST_BYTES + random.next_below(MORE_BYTES);
    let (service, bytes) = (SERVICES[(number % SERVICES.len() as u64) as usize], 1000 + number);
    let (second, milli) = (number / 40 % 60, random.next_below(1000));
    let level = LEVELS[random.next_below(LEVELS.len())];
    let (status, duration) = ([200, 200, 204, 301, 404, 500][random.next_below(6)], random.next_unit() * 900.0);
    let wrote = write!(
        text,
        r#"{{"ts":"2020-01-11T10:{:02}:{second:02}.{milli:03}Z","level":"{level}","service":"{service}","bytes":{bytes},"status":{status},"duration_ms":{duration:.3},"#,
        number / 2400 % 60
    );
    debug_assert!(wrote.is_ok(), "a string takes all");
    if random.next_below(3) == 0 {
        let _ = write!(text, r#""debug":{{"file":"worker.c","line":{},"traced":true}},"#, random.next_below(3000));
    }
    if random.next_below(2) == 0 {
        let _ = write!(text, r#""tags":["eu-{}",null,{}],"#, random.next_below(9), random.next_below(100));
    }
    text.push_str("\"message\":\"");
    while text.len() < end {
        text.push_str(WORDS[random.next_below(WORDS.len())]);
        text.push(' ');
    }
    text.push_str("\"}");
}

/// Returns the exact tallies of the first `lines` lines, wrapping around after the last event: sums of arithmetic progressions.
pub fn expected_tallies(lines: u64) -> ServiceTallies {
    let (passes, rest) = (lines / EVENTS, lines % EVENTS);
    let services = (0_u64..).zip(SERVICES).map(|(service, name)| {
        let (whole, part) = (expected_tally(service, EVENTS), expected_tally(service, rest));
        let lines = passes * whole.lines + part.lines;
        (name.to_owned(), ServiceTally { lines, bytes: passes * whole.bytes + part.bytes })
    });
    services.filter(|(_, tally)| tally.lines > 0).collect()
}

/// Returns the tally of one service over the first `events` events.
fn expected_tally(service: u64, events: u64) -> ServiceTally {
    let step = SERVICES.len() as u64;
    let lines = events.saturating_sub(service).div_ceil(step);
    ServiceTally { lines, bytes: lines * (1000 + service) + step * (lines * lines.saturating_sub(1) / 2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_objects_of_the_lengths_that_are_said_and_differ_by_seed() {
        let text = generate_text(3);
        let lines: Vec<_> = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len() as u64, EVENTS);
        assert!(lines.iter().all(|line| (200..=1000).contains(&line.len())));
        assert!(lines.iter().all(|line| super::super::stage::parse(line).is_ok()));
        assert_ne!(text, super::generate_text(4));
    }

    #[test]
    fn sums_are_those_of_counting() {
        for lines in [0, 1, 7, 8, 9, 1000, EVENTS, EVENTS + 13, 3 * EVENTS + 8] {
            let mut counted = ServiceTallies::new();
            for number in (0..lines).map(|line| line % EVENTS) {
                let tally = counted.entry(SERVICES[number as usize % SERVICES.len()].into()).or_default();
                tally.add_events(1, 1000 + number);
            }
            assert_eq!(expected_tallies(lines), counted, "{lines}");
        }
    }
}
