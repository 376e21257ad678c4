//! Layout of the worth map: a header of 64 bytes, then a record of 64 bytes for each cpu (docs/worth.md). Numbers are in the machine's byte
//! order.

/// First eight bytes of the map.
pub const MAGIC: u64 = u64::from_le_bytes(*b"corworth");
/// Version of the layout.
pub const LAYOUT_VERSION: u32 = 1;
/// Size of the header, in bytes.
pub const HEADER_BYTES: usize = 64;
/// Size of the header, in words of 8 bytes.
pub const HEADER_WORDS: usize = HEADER_BYTES / 8;
/// Size of a record, in bytes: a cache line on most machines.
pub const RECORD_BYTES: usize = 64;
/// Size of a record, in words of 8 bytes.
pub const RECORD_WORDS: usize = RECORD_BYTES / 8;
/// Encoding of an unknown number.
const NO_16: u16 = u16::MAX;
const NO_8: u8 = u8::MAX;

/// Source of a speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "json",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum SpeedSource {
    /// Unknown: all cpus count as equally fast.
    #[default]
    Unknown,
    /// The latest survey of this machine.
    Measured,
    /// The hardware's own ranking.
    Hardware,
}

/// Shares of a cpu's time since the last update, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct WorthShares {
    /// Programs, and the kernel on their behalf.
    pub busy: f32,
    /// Interrupt handlers.
    pub interrupts: f32,
    /// Soft interrupts.
    pub soft_interrupts: f32,
    /// Time that the host gave to others.
    pub stolen: f32,
    /// Real-time tasks; null if not measured. They are part of `busy` then.
    pub realtime: Option<f32>,
}

/// Worth of a cpu and its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct WorthRecord {
    /// Time of the update, in nanoseconds of CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// True if the cpu is online.
    pub online: bool,
    /// Speed times the share that one more thread would get: 0 to 1.
    pub worth: f32,
    /// Speed relative to the machine's fastest cpu: 0 to 1.
    pub speed: f32,
    /// Source of the speed.
    pub speed_source: SpeedSource,
    /// Shares of its time.
    pub shares: WorthShares,
    /// Number of times it was throttled since boot, as far as the system reports that.
    pub throttled: u32,
    /// Last-level cache, as `llc:N` counts them; null if there is none.
    pub llc: Option<u16>,
    /// Memory node; null if there is none.
    pub node: Option<u16>,
    /// Kind of core, 0 for the best; null if all are alike.
    pub kind: Option<u8>,
    /// Confidence in the record, in percent.
    pub confidence: u8,
    /// Share of time for which the busiest sibling of its core was not idle, 0 to 1.
    #[cfg_attr(feature = "json", serde(default))]
    pub sibling: f32,
}

impl WorthShares {
    /// Returns the share that is not idle.
    pub fn taken(&self) -> f32 {
        self.busy + self.interrupts + self.soft_interrupts + self.stolen
    }
}

impl WorthRecord {
    /// Returns the words after the first; the lower half of the first is the sequence number.
    pub fn to_words(&self) -> [u64; RECORD_WORDS - 1] {
        let floats = |low: f32, high: f32| u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32;
        let source = match self.speed_source {
            SpeedSource::Unknown => 0,
            SpeedSource::Measured => 1,
            SpeedSource::Hardware => 2_u64,
        };
        let place = u64::from(self.llc.unwrap_or(NO_16))
            | u64::from(self.node.unwrap_or(NO_16)) << 16
            | u64::from(self.kind.unwrap_or(NO_8)) << 32
            | source << 40
            | u64::from(self.online) << 48
            | u64::from(self.confidence) << 56;
        let shares = &self.shares;
        [
            self.at_ns,
            floats(self.worth, self.speed),
            floats(shares.interrupts, shares.soft_interrupts),
            floats(shares.stolen, shares.realtime.unwrap_or(f32::NAN)),
            u64::from(shares.busy.to_bits()) | u64::from(self.throttled) << 32,
            place,
            u64::from(self.sibling.to_bits()),
        ]
    }

    /// Decodes such words; `None` if no corewise wrote them.
    pub fn of_words(words: &[u64; RECORD_WORDS - 1]) -> Option<Self> {
        let low = |word: u64| f32::from_bits(word as u32);
        let high = |word: u64| f32::from_bits((word >> 32) as u32);
        let [at_ns, value, handlers, others, busy, place, sibling] = *words;
        let realtime = high(others);
        let some_16 = |number: u16| (number != NO_16).then_some(number);
        let kind = (place >> 32) as u8;
        Some(Self {
            at_ns,
            online: (place >> 48) as u8 != 0,
            worth: low(value),
            speed: high(value),
            speed_source: match (place >> 40) as u8 {
                0 => SpeedSource::Unknown,
                1 => SpeedSource::Measured,
                2 => SpeedSource::Hardware,
                _ => return None,
            },
            shares: WorthShares {
                busy: low(busy),
                interrupts: low(handlers),
                soft_interrupts: high(handlers),
                stolen: low(others),
                realtime: (!realtime.is_nan()).then_some(realtime),
            },
            throttled: (busy >> 32) as u32,
            llc: some_16(place as u16),
            node: some_16((place >> 16) as u16),
            kind: (kind != NO_8).then_some(kind),
            confidence: (place >> 56) as u8,
            sibling: low(sibling),
        })
    }
}

/// The header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorthHeader {
    /// Number of records that follow: one for each cpu from 0 on.
    pub records: u32,
    /// Interval between updates, in milliseconds.
    pub interval_ms: u32,
    /// The process that writes the records.
    pub writer: u32,
}

impl WorthHeader {
    /// Returns the header's words. The fourth, the time of the last update, is written with each update.
    pub fn to_words(&self) -> [u64; HEADER_WORDS] {
        let two = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let size = HEADER_BYTES as u64 | (RECORD_BYTES as u64) << 32;
        [MAGIC, two(LAYOUT_VERSION, self.records), two(self.interval_ms, self.writer), 0, size, 0, 0, 0]
    }

    /// Decodes such words; `None` if they have another layout.
    pub fn of_words(words: &[u64; HEADER_WORDS]) -> Option<Self> {
        let head =
            Self { records: (words[1] >> 32) as u32, interval_ms: words[2] as u32, writer: (words[2] >> 32) as u32 };
        let expected = head.to_words();
        (words[..3] == expected[..3] && words[4] == expected[4]).then_some(head)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_record_is_read_as_it_was_written(numbers: [u32; 8], at_ns: u64, small: [u8; 3], is: [bool; 3]) {
            let share = |index: usize| numbers[index] as f32 / u32::MAX as f32;
            let record = WorthRecord {
                at_ns,
                online: is[0],
                worth: share(0),
                speed: share(1),
                speed_source: [SpeedSource::Unknown, SpeedSource::Measured, SpeedSource::Hardware][usize::from(small[0]) % 3],
                shares: WorthShares {
                    busy: share(2),
                    interrupts: share(3),
                    soft_interrupts: share(4),
                    stolen: share(5),
                    realtime: is[1].then(|| share(6)),
                },
                throttled: numbers[7],
                llc: is[2].then_some(u16::from(small[1])),
                node: is[0].then_some(7),
                kind: is[1].then_some(small[2] % 200),
                confidence: small[0] % 101,
                sibling: share(1),
            };
            prop_assert_eq!(WorthRecord::of_words(&record.to_words()), Some(record));
            let head = WorthHeader { records: numbers[0], interval_ms: numbers[1], writer: numbers[2] };
            prop_assert_eq!(WorthHeader::of_words(&head.to_words()), Some(head));
        }
    }

    #[test]
    fn another_layout_is_not_read() {
        let words = WorthHeader { records: 2, interval_ms: 100, writer: 7 }.to_words();
        for index in [0, 1, 4] {
            let mut other = words;
            other[index] ^= 1;
            assert_eq!(WorthHeader::of_words(&other), None, "word {index}");
        }
        let mut record = WorthRecord::default().to_words();
        record[5] |= 3 << 40;
        assert_eq!(WorthRecord::of_words(&record), None);
    }
}
