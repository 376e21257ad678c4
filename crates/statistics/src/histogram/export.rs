//! Histograms in the two text formats of HdrHistogram, for plotting with other tools.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use super::{SIGNIFICANT_DIGITS, SUB_BUCKETS, TickHistogram, middle_of};

/// Values are nanoseconds; a percentile distribution shows them divided by this: microseconds.
const NANOSECONDS_SHOWN_AS_ONE: f64 = 1e3;
/// Rows for each halving of the rest up to 100 %, as in HdrHistogram's own tools.
const ROWS_PER_HALVING: u32 = 5;
/// An interval's maximum is written in milliseconds, as in HdrHistogram's own log writer.
const NANOSECONDS_PER_MAXIMUM: f64 = 1e6;

/// One line of a histogram log.
#[derive(Clone, Copy, Debug)]
pub struct LogInterval<'a> {
    /// Name of the series, such as "cpu3"; in the log, blanks and commas in it become underscores.
    pub tag: &'a str,
    /// Begin of the recording, in seconds after the log's own beginning.
    pub start_s: f64,
    /// Length of the recording, in seconds.
    pub duration_s: f64,
    /// The recorded durations.
    pub histogram: &'a TickHistogram,
}

impl TickHistogram {
    /// Returns the percentile distribution in microseconds (`.hgrm`): the text that HdrHistogram's
    /// `outputPercentileDistribution` writes for values in nanoseconds and a scaling ratio of 1,000. Its plotter reads
    /// it.
    pub fn to_hgrm(&self) -> String {
        let nanoseconds = self.in_nanoseconds();
        let mut text =
            format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
        let mut count = 0;
        for row in nanoseconds.iter_quantiles(ROWS_PER_HALVING) {
            count += row.count_since_last_iteration();
            let (value, quantile) =
                (row.value_iterated_to() as f64 / NANOSECONDS_SHOWN_AS_ONE, row.quantile_iterated_to());
            let _ = write!(text, "{value:12.3} {quantile:2.12} {count:10}");
            // The last row is at infinity, and has no fourth column.
            let _ = if quantile < 1.0 { writeln!(text, " {:14.2}", 1.0 / (1.0 - quantile)) } else { writeln!(text) };
        }
        text + &format_footer(&nanoseconds)
    }

    /// Converts to whole nanoseconds, the unit of both formats: neither stores a tick's length.
    fn in_nanoseconds(&self) -> Hdr<u64> {
        let mut nanoseconds = Hdr::new(SIGNIFICANT_DIGITS).expect("a constant number of digits is valid");
        nanoseconds.auto(true);
        for (ticks, count) in self.bucket_counts() {
            // The middle of the bucket, so that two roundings do not add up.
            let middle = middle_of(ticks) as f64 * self.nanoseconds_per_tick;
            // The saturating variant does not grow.
            nanoseconds.record_n(middle.round() as u64, count).expect("it grows to any value");
        }
        nanoseconds
    }
}

fn format_footer(nanoseconds: &Hdr<u64>) -> String {
    let scaled = |value: f64| value / NANOSECONDS_SHOWN_AS_ONE;
    let (mean, deviation) = (scaled(nanoseconds.mean()), scaled(nanoseconds.stdev()));
    let (max, count) = (scaled(nanoseconds.max() as f64), nanoseconds.len());
    let (buckets, sub_buckets) = (nanoseconds.buckets(), SUB_BUCKETS);
    format!(
        "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]\n\
         #[Max     = {max:12.3}, Total count    = {count:12}]\n\
         #[Buckets = {buckets:12}, SubBuckets     = {sub_buckets:12}]\n"
    )
}

/// Writes a histogram log (`.hlog`): a line per interval, by time, each with its tag and its histogram of nanoseconds
/// in HdrHistogram's second format, compressed and in base 64. The beginning is in milliseconds since 1970-01-01 UTC.
pub fn format_hlog(started_unix_ms: i64, intervals: &[LogInterval<'_>]) -> String {
    let beginning = SystemTime::UNIX_EPOCH + Duration::from_millis(started_unix_ms.try_into().unwrap_or(0));
    let mut by_time: Vec<&LogInterval> = intervals.iter().collect();
    by_time.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
    let (mut log, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let mut head = IntervalLogWriterBuilder::new();
    head.add_comment("[Values in nanoseconds; Interval_Max in milliseconds]");
    head.with_start_time(beginning).with_base_time(beginning).with_max_value_divisor(NANOSECONDS_PER_MAXIMUM);
    let mut writer = head.begin_log_with(&mut log, &mut serializer).expect("memory can be written to");
    for interval in by_time {
        let tag: String = interval.tag.chars().map(|c| if c == ',' || c.is_whitespace() { '_' } else { c }).collect();
        let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let (start, duration) = (seconds(interval.start_s), seconds(interval.duration_s));
        let nanoseconds = interval.histogram.in_nanoseconds();
        let written = writer.write_histogram(&nanoseconds, start, duration, Tag::new(&tag).filter(|_| !tag.is_empty()));
        written.expect("memory can be written to, and counts of 64 bits fit the format");
    }
    drop(writer);
    String::from_utf8_lossy(&log).into_owned()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use super::*;

    /// Ticks of 0.3846 ns: most pieces take 250 to 350 ns, one in a thousand is 100 times as long, one takes 8 ms.
    fn recorded() -> TickHistogram {
        let mut histogram = TickHistogram::new(1.0 / 2.6);
        for piece in 0..100_000_u64 {
            let ticks = 650 + piece * 7919 % 260;
            histogram.record_ticks(if piece % 1000 == 0 { 100 * ticks } else { ticks });
        }
        histogram.record_ticks(20_800_000);
        histogram
    }

    #[test]
    fn a_log_read_back_has_the_same_counts_and_quantiles() {
        let (all, none) = (recorded(), TickHistogram::new(1.0));
        let interval = |tag, start_s, histogram| LogInterval { tag, start_s, duration_s: 0.25, histogram };
        let log = format_hlog(1_760_000_000_500, &[interval("cpu1", 2.5, &none), interval("cpu 0,a", 1.5, &all)]);
        let entries: Vec<LogEntry> = IntervalLogIterator::new(log.as_bytes()).map(Result::unwrap).collect();
        let beginning = Duration::from_millis(1_760_000_000_500);
        assert_eq!(entries[..2], [LogEntry::StartTime(beginning), LogEntry::BaseTime(beginning)]);
        let [_, _, LogEntry::Interval(first), LogEntry::Interval(second)] = &entries[..] else { panic!("{log}") };
        assert_eq!((first.tag().unwrap().as_str(), second.tag().unwrap().as_str()), ("cpu_0_a", "cpu1"));
        assert_eq!((first.start_timestamp().as_millis(), first.duration().as_millis()), (1500, 250));
        assert!((first.max() - 8.0).abs() < 0.01, "{}", first.max());
        let back: Hdr<u64> = decoded(first.encoded_histogram());
        assert_eq!((back.len(), decoded(second.encoded_histogram()).len()), (100_001, 0));
        for quantile in [0.0, 0.1, 0.5, 0.9, 0.999, 0.9999, 0.99999, 1.0] {
            let (ours, theirs) = (all.quantile_ns(quantile), back.value_at_quantile(quantile) as f64);
            // Three digits, and the nearest whole nanosecond.
            assert!((ours - theirs).abs() <= 1e-3 * ours + 0.5, "{quantile}: {ours} {theirs}");
        }
    }

    fn decoded(text: &str) -> Hdr<u64> {
        Deserializer::new().deserialize(&mut STANDARD.decode(text).unwrap().as_slice()).unwrap()
    }

    #[test]
    fn a_percentile_distribution_looks_like_hdrhistogram_s_own() {
        let mut histogram = TickHistogram::new(0.5);
        for ticks in [500, 500, 500, 520, 540, 2000, 4000, 80_000] {
            histogram.record_ticks(ticks);
        }
        insta::assert_snapshot!(histogram.to_hgrm(), @r"
               Value     Percentile TotalCount 1/(1-Percentile)

               0.250 0.000000000000          3           1.00
               0.250 0.100000000000          3           1.11
               0.250 0.200000000000          3           1.25
               0.250 0.300000000000          3           1.43
               0.260 0.400000000000          4           1.67
               0.260 0.500000000000          4           2.00
               0.270 0.550000000000          5           2.22
               0.270 0.600000000000          5           2.50
               1.000 0.650000000000          6           2.86
               1.000 0.700000000000          6           3.33
               2.001 0.750000000000          7           4.00
               2.001 0.775000000000          7           4.44
               2.001 0.800000000000          7           5.00
               2.001 0.825000000000          7           5.71
               2.001 0.850000000000          7           6.67
              40.031 0.875000000000          8           8.00
              40.031 1.000000000000          8
        #[Mean    =        5.537, StdDeviation   =       13.045]
        #[Max     =       40.031, Total count    =            8]
        #[Buckets =            6, SubBuckets     =         2048]
        ");
        insta::assert_snapshot!(TickHistogram::new(1.0).to_hgrm(), @r"
               Value     Percentile TotalCount 1/(1-Percentile)

        #[Mean    =        0.000, StdDeviation   =        0.000]
        #[Max     =        0.000, Total count    =            0]
        #[Buckets =            1, SubBuckets     =         2048]
        ");
    }

    /// As the plotter reads it: every line that is not a comment has a value, a rising percentile and a rising count.
    #[test]
    fn the_rows_rise_to_all_that_was_recorded() {
        let text = recorded().to_hgrm();
        let rows: Vec<Vec<f64>> = text
            .lines()
            .skip(2)
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split_whitespace().map(|cell| cell.parse().unwrap()).collect())
            .collect();
        assert!(rows.windows(2).all(|pair| (0..3).all(|column| pair[0][column] <= pair[1][column])), "{text}");
        assert!(rows.iter().rev().skip(1).all(|row| (row[3] - 1.0 / (1.0 - row[1])).abs() <= 0.01 * row[3]), "{text}");
        let last = rows.last().unwrap();
        assert_eq!((last[1], last[2], last.len()), (1.0, 100_001.0, 3));
        assert!((last[0] - 8000.0).abs() < 8.0, "{text}");
    }
}
