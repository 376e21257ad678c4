//! Quantities in lines as programs print them.

use corewise_statistics::quantity::*;
use proptest::prelude::*;

use super::QuantityFinder;
use crate::metric_line;

/// The quantity of a metric, "NAME" or "NAME=REGEX", in a line; or why there is none.
fn found(metric: &str, line: &str) -> Option<Result<String, String>> {
    let (name, pattern) = match metric.split_once('=') {
        Some((name, pattern)) => (name, pattern.to_owned()),
        None => (metric, metric_line::metric_pattern(metric)),
    };
    let found = QuantityFinder::for_metric(name, &pattern).unwrap().find_quantity(line);
    found.map(|found| found.map(|found| found.quantity.to_string()).map_err(|error| error.to_string()))
}

/// Lines of real programs: what a user types behind --metric, the line, and the quantity.
const LINES: &[(&str, &str, &str)] = &[
    // wrk, wrk2
    ("Latency", "    Latency   635.91us    0.89ms  12.92ms   93.69%", "635.91 µs"),
    ("Latency", "    Latency     1.02ms  245.10us   9.80ms   91.05%", "1.02 ms"),
    ("Latency", "    Latency     1.27m    20.31s     1.92m    57.74%", "1.27 min"),
    ("Req/Sec", "    Req/Sec    56.20k     8.07k   62.00k    86.54%", "56200 Req/s"),
    ("Req/Sec", "    Req/Sec   880.12     52.03     1.01k    71.00%", "880.12 Req/s"),
    ("Requests/sec", "Requests/sec: 748868.53", "748868.53 Requests/s"),
    ("Transfer/sec", "Transfer/sec:    606.33MB", "606.33 MB"),
    ("p99=^\\s+99.000%\\s+(\\S+)", " 99.000%   12.30ms", "12.3 ms"),
    // fio
    ("IOPS", "  read: IOPS=1.1k, BW=4506KiB/s (4614kB/s)(132MiB/30001msec)", "1100"),
    ("IOPS", "  read: IOPS=880, BW=3520KiB/s (3604kB/s)(103MiB/30004msec)", "880"),
    ("BW", "  read: IOPS=80.2k, BW=313MiB/s (328MB/s)(9402MiB/30001msec)", "313 MiB/s"),
    ("bw=BW=[^(]*\\((\\S+)\\)", "  write: IOPS=80.2k, BW=313MiB/s (328MB/s)(9402MiB/30001msec)", "328 MB/s"),
    ("clat=clat.*avg= *([0-9.]+)", "    clat (usec): min=53, max=8120, avg=198.42, stdev=64.17", "198.42 µs"),
    ("clat=clat.*avg= *([0-9.]+)", "    clat (nsec): min=533, max=81200, avg=798.42, stdev=64.17", "798.42 ns"),
    (
        "bw=bw .*avg= *([0-9.]+)",
        "   bw (  KiB/s): min= 4096, max= 5120, per=100.00%, avg=4510.10, stdev=21.0",
        "4510.1 KiB/s",
    ),
    // pyperf, criterion, hyperfine
    ("bench=std dev: ([0-9.]+)", "bench: Mean +- std dev: 12.3 us +- 0.4 us", "12.3 µs"),
    ("time=time:\\s+\\[\\S+ \\S+ ([0-9.]+)", "fib 20      time:   [26.029 µs 26.251 µs 26.505 µs]", "26.251 µs"),
    (
        "thrpt=thrpt:\\s+\\[\\S+ \\S+ ([0-9.]+)",
        "            thrpt:  [3.8123 Gelem/s 3.8500 Gelem/s 3.9 Gelem/s]",
        "3850000000 elem/s",
    ),
    ("thrpt=thrpt:\\s+\\[([0-9.]+)", "            thrpt:  [755.63 MiB/s 762.11 MiB/s 768.44 MiB/s]", "755.63 MiB/s"),
    ("Time", "  Time (mean ± σ):     123.4 ms ±   5.6 ms    [User: 110.2 ms, System: 12.0 ms]", "123.4 ms"),
    ("range=Range.*:\\s+([0-9.]+)", "  Range (min … max):    1.013 s …  1.201 s    10 runs", "1.013 s"),
    // redis-benchmark, pgbench, sysbench
    ("SET", "SET: 98039.22 requests per second, p50=0.255 msec", "98039.22 requests/s"),
    ("p50", "SET: 98039.22 requests per second, p50=0.255 msec", "0.255 ms"),
    ("throughput=summary: ([0-9.]+)", "  throughput summary: 98039.22 requests per second", "98039.22 requests/s"),
    ("SET=\"SET\",\"([0-9.]+)\"", "\"SET\",\"98039.22\",\"0.280\",\"0.064\"", "98039.22"),
    ("tps", "tps = 8123.456789 (without initial connection time)", "8123.456789"),
    ("latency average", "latency average = 1.231 ms", "1.231 ms"),
    (
        "transactions=transactions:.*\\(([0-9.]+)",
        "    transactions:                        12345  (1234.41 per sec.)",
        "1234.41/s",
    ),
    ("events per second", "    events per second:  1234.56", "1234.56 events/s"),
    ("total time", "    total time:                          10.0012s", "10.0012 s"),
    ("read=transferred \\(([0-9.]+)", "10240.00 MiB transferred (8812.70 MiB/sec)", "8812.7 MiB/s"),
    // stress-ng, ffmpeg, iperf3
    (
        "ops=cpu +([0-9]+)",
        "stress-ng: metrc: [123] cpu               12345     10.00     20.00      0.00      1234.50",
        "12345",
    ),
    ("fps", "frame= 1200 fps= 57 q=28.0 size=   10240KiB time=00:00:40.04 bitrate=2095.1kbits/s speed=1.91x", "57"),
    (
        "time",
        "frame= 1200 fps= 57 q=28.0 size=   10240KiB time=00:01:40.04 bitrate=2095.1kbits/s speed=1.91x",
        "100.04 s",
    ),
    (
        "bitrate",
        "frame= 1200 fps= 57 size=   10240KiB time=00:00:40.04 bitrate=2095.1kbits/s speed=1.91x",
        "2095.1 kbit/s",
    ),
    ("speed", "frame= 1200 fps= 57 size=   10240KiB time=00:00:40.04 bitrate=2095.1kbits/s speed=1.91x", "1.91 x"),
    ("rtime", "bench: utime=39.120s stime=0.310s rtime=5.012s", "5.012 s"),
    ("maxrss", "bench: maxrss=123456kB", "123456 kB"),
    (
        "bits=sec +\\S+ +\\S+ +([0-9.]+).*receiver",
        "[  5]   0.00-10.00  sec  1.10 GBytes   943 Mbits/sec                  receiver",
        "943 Mbit/s",
    ),
    ("sent=sec +([0-9.]+)", "[  5]   0.00-10.00  sec  1.10 GBytes   943 Mbits/sec    0             sender", "1.1 GB"),
    // dd, time, perf stat
    ("rate=, ([0-9.]+ [kMG]?B/s)$", "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.511 s, 2.1 GB/s", "2.1 GB/s"),
    ("copied=copied, ([0-9.]+)", "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.511 s, 2.1 GB/s", "0.511 s"),
    ("real", "real\t0m1.231s", "1.231 s"),
    ("real", "real 1.23", "1.23"),
    ("real=real\\s+([0-9]+)m", "real\t2m0.500s", "120.5 s"),
    (
        "elapsed=([0-9:.]+)elapsed",
        "1.23user 0.01system 0:01.24elapsed 99%CPU (0avgtext+0avgdata 2048maxresident)k",
        "1.24 s",
    ),
    ("wall=wall clock\\) time.*\\): (\\S+)", "\tElapsed (wall clock) time (h:mm:ss or m:ss): 1:02:03", "3723 s"),
    ("time=([0-9.,]+) +seconds time", "       1.234567890 seconds time elapsed", "1.23456789 s"),
    (
        "clock=([0-9.,]+) msec task-clock",
        "          1,234.56 msec task-clock:u    #    0.998 CPUs utilized",
        "1234.56 ms",
    ),
    ("cycles=([0-9,]+) +cycles", "     4,123,456,789      cycles:u     #    3.340 GHz", "4123456789"),
    ("clock rate=# +([0-9.]+) GHz", "     4,123,456,789      cycles:u     #    3.340 GHz", "3.34 GHz"),
    ("energy=([0-9.,]+) Joules", "             12.34 Joules power/energy-pkg/", "12.34 J"),
    // llama.cpp, MangoHud
    (
        "eval=^ *eval time.*, +([0-9.]+) tokens",
        "       eval time =    1234.56 ms /    99 runs   (   12.47 ms per token,    80.19 tokens per second)",
        "80.19 tokens/s",
    ),
    (
        "eval time",
        "       eval time =    1234.56 ms /    99 runs   (   12.47 ms per token,    80.19 tokens per second)",
        "1234.56 ms",
    ),
    (
        "token=\\( *([0-9.]+) ms per",
        "       eval time =    1234.56 ms /    99 runs   (   12.47 ms per token,    80.19 tokens per second)",
        "12.47 ms/token",
    ),
    (
        "tg128=tg128 \\| +([0-9.]+)",
        "| llama 7B Q4_0 | 3.56 GiB |  6.74 B | CPU |  16 | tg128 |  19.64 ± 0.05 |",
        "19.64",
    ),
    (
        "size=\\| +([0-9.]+ GiB)",
        "| llama 7B Q4_0 | 3.56 GiB |  6.74 B | CPU |  16 | tg128 |  19.64 ± 0.05 |",
        "3.56 GiB",
    ),
    ("average=Average FPS.*: ([0-9.]+)", "Average FPS (97th): 143.7", "143.7"),
    ("frametime=^[0-9.]+,([0-9.]+),", "143.7,6.958,12,80,65,0,0", "6.958"),
    ("fps=^([0-9.]+),", "143,120,12,80,65,0,0", "143"),
    (
        "longjmp=longjmp +([0-9.]+)",
        "stress-ng: metrc: [20] longjmp   924.65 nanosecs per longjmp call (geometric mean of 8 instances)",
        "924.65 ns/longjmp",
    ),
    (
        "matrix=matrix +([0-9.]+)",
        "stress-ng: metrc: [20] matrix   352460.80 add matrix ops per sec (harmonic mean of 99 instances)",
        "352460.8 add matrix ops/s",
    ),
    // ab, mbw, x265, blender
    ("Time per request", "Time per request:       0.810 [ms] (mean)", "0.81 ms"),
    ("Transfer rate", "Transfer rate:          123.45 [Kbytes/sec] received", "123.45 kB/s"),
    ("Copy", "AVG Method: MEMCPY Elapsed: 0.01234 MiB: 128.0 Copy: 10373.000 MiB/s", "10373 MiB/s"),
    ("Elapsed", "AVG Method: MEMCPY Elapsed: 0.01234 MiB: 128.0 Copy: 10373.000 MiB/s", "0.01234"),
    (
        "bitrate=, ([0-9.]+) kb/s",
        "encoded 600 frames in 4.86s (123.45 fps), 1234.56 kb/s, Avg QP:31.10",
        "1234.56 kbit/s",
    ),
    ("Time", "Time: 00:12.34 (Saving: 00:00.12)", "12.34 s"),
    ("score=: ([0-9.]+)", "Result \"bench\": 1234.567 ±(99.9%) 12.345 ops/s [Average]", "1234.567 ops/s"),
    // JMH, go test -bench, google-benchmark, Phoronix
    ("score=thrpt +[0-9]+ +([0-9.]+)", "Bench.run  thrpt   25  1234.567 ±  12.345  ops/s", "1234.567 ops/s"),
    ("score=avgt +[0-9]+ +([0-9.]+)", "Bench.run   avgt    5     3.142 ±   0.010  us/op", "3.142 µs/op"),
    (
        "fib=Fib.*\\s([0-9.]+) ns/op",
        "BenchmarkFib20-8   \t   30000\t     40537 ns/op\t      12 B/op\t       1 allocs/op",
        "40537 ns/op",
    ),
    (
        "bytes=([0-9]+) B/op",
        "BenchmarkFib20-8   \t   30000\t     40537 ns/op\t      12 B/op\t       1 allocs/op",
        "12 B/op",
    ),
    ("hash=([0-9.]+) MB/s", "BenchmarkHash-8   \t   30000\t     40537 ns/op\t 512.34 MB/s", "512.34 MB/s"),
    ("BM_memcpy/8", "BM_memcpy/8            11.3 ns         11.3 ns     62041931 bytes_per_second=673.1M/s", "11.3 ns"),
    (
        "bytes_per_second",
        "BM_memcpy/8    11.3 ns    11.3 ns   62041931 bytes_per_second=1.09Gi/s items_per_second=123.4k/s",
        "1170378588.16/s",
    ),
    (
        "items_per_second",
        "BM_memcpy/8    11.3 ns    11.3 ns   62041931 bytes_per_second=1.09Gi/s items_per_second=123.4k/s",
        "123400/s",
    ),
    ("Average", "    Average: 87.31 Frames Per Second", "87.31 Frames/s"),
    ("Average", "    Average: 12.34 Seconds", "12.34 s"),
    ("Average", "    Average: 1,234.5 Million Cell Updates Per Second", "1234500000 Cell Updates/s"),
    // 7z, stream, build tools, databases, JSON
    ("Tot=Tot: .* ([0-9]+)$", "Tot:            1585   4312  68344", "68344"),
    ("Triad", "Triad:          21456.7     0.011304     0.011186     0.011563", "21456.7"),
    ("Best Rate MB/s", "Best Rate MB/s: 21456.7", "21456.7 MB/s"),
    ("Finished=in ([0-9].*)$", "    Finished `release` profile [optimized] target(s) in 1m 23s", "83 s"),
    ("Finished=in ([0-9].*)$", "    Finished `dev` profile target(s) in 12.31s", "12.31 s"),
    ("took", "took: 1h02m", "3720 s"),
    ("took", "took 1s 234ms", "1.234 s"),
    ("nps", "Nodes searched  : 123 nps: 1,234,567", "1234567"),
    ("mean", "{\"mean\": 0.01234, \"p99\": \"1.5ms\"}", "0.01234"),
    ("p99", "{\"mean\": 0.01234, \"p99\": \"1.5ms\"}", "1.5 ms"),
    ("p99_ns", "metric p99_ns 812.5", "812.5 ns"),
    ("rays_per_second", "metric rays_per_second 1234567", "1234567 rays/s"),
    ("Latency", "Latency [ms] = 3.5", "3.5 ms"),
    ("rate", "rate: 12.5 Mbps", "12.5 Mbit/s"),
    ("rate", "rate: 12.5 GFLOPS", "12500000000 FLOPS"),
    ("power", "power: 12.5 mW", "12.5 mW"),
];

#[test]
fn lines_of_real_programs_are_read() {
    assert!(LINES.len() >= 60);
    let wrong: Vec<String> = LINES
        .iter()
        .filter_map(|(metric, line, expected)| {
            let found = found(metric, line);
            (found != Some(Ok((*expected).to_owned())))
                .then(|| format!("{metric}: {line:?}: {found:?}, not {expected}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn read(text: &str) -> String {
    MeasuredQuantity::read_prefix(text).map_or_else(|error| error.to_string(), |quantity| quantity.to_string())
}

#[test]
fn numbers_are_read_with_their_thousands() {
    for text in
        ["12,400", "12'400", "12’400", "12 400", "12\u{a0}400", "12\u{202f}400", "12\u{2009}400", "12_400", "+12400"]
    {
        assert_eq!(read(text), "12400", "{text:?}");
        assert_eq!(read(&format!("{text} ms")), "12400 ms", "{text:?}");
    }
    for (text, expected) in [
        ("1,234", "1234"),
        ("1,234,567.5", "1234567.5"),
        ("-1.5e-3", "-0.0015"),
        ("\u{2212}3", "-3"),
        (".5", "0.5"),
        ("12.", "12"),
        ("7, and more", "7"),
        ("60 120 30", "60"),
        ("60 1200", "60"),
        ("60,min", "60"),
        ("5e", "5 e"),
    ] {
        assert_eq!(read(text), expected, "{text:?}");
    }
}

#[test]
fn ambiguous_numbers_are_refused_with_the_reason() {
    for text in ["1,5", "1.234,5", "1,25", "12,34,567", "1234,567", "0,001", "1,234,5", "1,2 ms"] {
        assert!(read(text).contains("a comma may separate thousands"), "{text}: {}", read(text));
    }
    for text in [
        "1.2.3",
        "2024-11-26",
        "1-2",
        "12_4",
        "1'2",
        "12ab3",
        "0x1f",
        "5m2",
        "1m2m",
        "12:3",
        "1:99",
        "1:2:3:4",
        "12:30 h",
        "1.1m/s",
        "1.1m ops/s",
    ] {
        assert!(read(text).contains("which is not a clear number: "), "{text}: {}", read(text));
    }
    for text in ["", "nan", "inf", "-", "fast", ",123", "e5", "1e999"] {
        assert!(read(text).contains("which is not a number"), "{text}: {}", read(text));
    }
}

#[test]
fn durations_are_in_seconds() {
    for (text, seconds) in [
        ("12:30", 750.0),
        ("1:02:03", 3_723.0),
        ("0:01.24elapsed", 1.24),
        ("0m1.231s", 1.231),
        ("1h02m", 3_720.0),
        ("1h2m3.5s", 3_723.5),
        ("1m 23s", 83.0),
        ("1 min 23.5 s", 83.5),
        ("1 hour 2 minutes 3 seconds", 3_723.0),
        ("2 min", 2.0),
    ] {
        let quantity = MeasuredQuantity::read_prefix(text).unwrap();
        let expected = if text == "2 min" { "min" } else { "s" };
        assert_eq!((quantity.value, quantity.unit.to_string()), (seconds, expected.to_owned()), "{text}");
    }
    assert_eq!(read("635.91us 0.89ms"), "635.91 µs", "columns are no parts");
    assert_eq!(read("12ms 635us"), "12 ms");
    assert_eq!(read("12 s 7"), "12 s");
    assert_eq!(read("12 m2"), "12");
}

#[test]
fn a_word_that_is_no_unit_scales_nothing() {
    for (text, expected) in [
        ("60.5 frames", "60.5 frames"),
        ("12 Kfoo", "12 Kfoo"),
        ("12 mb", "12 mb"),
        ("12 MS", "12 MS"),
        ("12 Tops", "12 Tops"),
        ("12 megapixels", "12 megapixels"),
        ("60 in 3 s", "60"),
        ("60 min=40", "60"),
        ("60 min 40 max 70", "60"),
        ("25 q=28.0", "25"),
        ("7 e2e4", "7"),
        ("12 /tmp/x", "12"),
        ("12   foo", "12"),
        ("3 ms / 10 runs", "3 ms"),
        ("12.3k", "12300"),
        ("1.1M", "1100000"),
        ("2 G", "2000000000"),
        ("2Ki", "2048"),
        ("1.2 million", "1200000"),
        ("3 h", "3 h"),
        ("5m", "5 min"),
        ("8 b", "8 bit"),
        ("12 K req/s", "12000 req/s"),
        ("12 per second", "12/s"),
        ("12/s", "12/s"),
        ("12 MB / s", "12 MB/s"),
        ("97.3 %", "97.3%"),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
}

#[test]
fn units_convert_if_they_are_of_one_kind() {
    let convert = |from: &str, to: &str| {
        MeasuredQuantity::parse(from).unwrap().value_in(&MeasuredQuantity::parse(&format!("1 {to}")).unwrap().unit)
    };
    for (from, to, value) in [
        ("994us", "ms", 0.994),
        ("1.02ms", "us", 1_020.0),
        ("2 h", "s", 7_200.0),
        ("1 GiB", "MiB", 1_024.0),
        ("8 Mbit/s", "MB/s", 1.0),
        ("1 Gbps", "Mbit/s", 1_000.0),
        ("90 MB/min", "MB/s", 1.5),
        ("3 us/op", "ns/op", 3_000.0),
        ("1 frame", "frames", 1.0),
        ("1 miss", "Misses", 1.0),
        ("1 query", "queries", 1.0),
        ("3.4 GHz", "MHz", 3_400.0),
    ] {
        assert_eq!(convert(from, to), Some(value), "{from} in {to}");
    }
    for (from, to) in [
        ("1 ms", "MB"),
        ("1", "ms"),
        ("1 %", "ms"),
        ("1 MB", "MB/s"),
        ("1 frame", "ticks"),
        ("1 ns/op", "ns"),
        ("1 Kfoo", "foo"),
    ] {
        assert_eq!(convert(from, to), None, "{from} in {to}");
    }
}

#[test]
fn names_carry_units() {
    for (name, unit) in [
        ("p99_ns", "ns"),
        ("p99.9_ns", "ns"),
        ("time_s", "s"),
        ("wall ms", "ms"),
        ("Latency (ms)", "ms"),
        ("Requests/sec", "Requests/s"),
        ("megabytes_per_second", "MB/s"),
        ("ns per op", "ns/op"),
        ("p99(query_seconds)", "s"),
        ("scene_bytes", "B"),
        ("process_cpu_seconds_total{a=\"b/s\"}", "s"),
        ("fps", ""),
        ("fps_min", ""),
        ("s", ""),
        ("errors", ""),
        ("a/b", ""),
        ("Latency (99%)", ""),
    ] {
        assert_eq!(QuantityUnit::of_name(name).to_string(), unit, "{name}");
    }
}

#[test]
fn a_group_in_the_midst_of_a_number_reads_all_of_it() {
    for (pattern, line, expected) in [
        ("x ([0-9]+)", "x 1.02ms", "1.02 ms"),
        ("x ([0-9]+)", "x 12,400 req/s", "12400 req/s"),
        ("x ([0-9.]+)ms", "x 1.02ms", "1.02 ms"),
        ("x (.*)", "x 1.02 ms and so on", "1.02 ms"),
        ("x[0-9.]+ms|[0-9.]+", "7.5 us", "7.5 µs"),
        ("^([0-9]+),", "60,120", "60"),
        ("^([0-9]+) ", "60 120", "60"),
    ] {
        assert_eq!(found(&format!("y={pattern}"), line), Some(Ok(expected.to_owned())), "{pattern} in {line}");
    }
    assert!(found("y=x ([0-9]+)", "x 1,5").unwrap().is_err());
}

#[test]
fn long_lines_are_quoted_around_the_number() {
    let line = format!("{} x: 12 ms {}", "a".repeat(500), "b".repeat(500));
    let finder = QuantityFinder::new(&metric_line::metric_pattern("x")).unwrap();
    let quoted = finder.find_quantity(&line).unwrap().unwrap().line;
    assert!(quoted.contains("x: 12 ms") && quoted.chars().count() <= 160, "{quoted}");
    let short = finder.find_quantity("\u{1b}[1m x: 12\tms").unwrap().unwrap();
    assert!(!short.line.contains('\u{1b}'), "{short:?}");
}

proptest! {
    /// What is printed is read as the same again, and stored likewise.
    #[test]
    fn quantities_survive_their_text(value in -1e12..1e12_f64, unit in prop::sample::select(vec![
        "", "ms", "µs", "s", "h", "B", "KiB", "MB/s", "Mbit/s", "%", "/s", "req/s", "ns/op", "W", "GHz", "frames", "cell updates/s",
    ])) {
        let suffix = if unit.is_empty() || unit.starts_with('/') { unit.to_owned() } else { format!(" {unit}") };
        let quantity = MeasuredQuantity::parse(&format!("{value}{suffix}")).unwrap();
        prop_assert_eq!(quantity.unit.to_string(), unit);
        prop_assert_eq!(&MeasuredQuantity::parse(&quantity.to_string()).unwrap(), &quantity);
        let json = serde_json::to_string(&quantity).unwrap();
        prop_assert_eq!(serde_json::from_str::<MeasuredQuantity>(&json).unwrap(), quantity);
    }

    /// Any text is read without a panic, and what is read is finite.
    #[test]
    fn any_text_is_read(text in "[-+0-9.,:'_eE kKMmshB/%µ±\u{a0}(per) ]{0,24}", any in ".{0,24}") {
        for text in [text, any] {
            if let Ok(quantity) = MeasuredQuantity::read_prefix(&text) {
                prop_assert!(quantity.value.is_finite());
            }
            let _ = QuantityUnit::of_name(&text);
        }
    }
}
