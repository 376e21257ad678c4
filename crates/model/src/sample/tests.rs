use proptest::prelude::*;

use super::prometheus::SeriesSelector;
use super::*;

const PAGE: &str = r#"# HELP requests_total All of them.
# TYPE requests_total counter
requests_total{code="200",path="/a"} 1027 1395066363000
requests_total{code="500",path="with \"quotes\", } and \\"} 3
requests_total_created 1e9
up 1
temperature NaN
latency_seconds_bucket{le="0.01"} 50
latency_seconds_bucket{le="0.1"} 90
latency_seconds_bucket{le="+Inf"} 100
latency_seconds_sum 12
"#;

fn meter(name: &str) -> MetricMeter {
    let (kind, series) = MetricKind::of_name(name);
    MetricMeter::new(name, &MetricSource { kind, series: series.map(str::to_owned) }, None).unwrap()
}

fn at(at_s: f64, text: &str) -> MetricMoment {
    MetricMoment { at_s, text: text.to_owned(), ..MetricMoment::default() }
}

fn value(meter: &MetricMeter, moments: &[MetricMoment]) -> Result<f64, SampleError> {
    let seen: Result<Vec<MetricSample>, SampleError> =
        moments.iter().map(|moment| meter.read_metric(moment, &|| false)).collect();
    meter.value_over(&seen?)
}

#[test]
fn series_are_found_by_name_and_labels_and_added_up() {
    let sum = |text: &str| text.parse::<SeriesSelector>().unwrap().sum_series(PAGE);
    assert_eq!(sum("requests_total"), Some(Ok(1030.0)));
    assert_eq!(sum(r#"requests_total{code="200"}"#), Some(Ok(1027.0)));
    assert_eq!(sum(r#"requests_total{path="with \"quotes\", } and \\"}"#), Some(Ok(3.0)));
    assert_eq!(sum("request"), None, "the beginning of a name is none");
    assert_eq!(sum("temperature"), Some(Err("NaN".to_owned())));
    for wrong in ["", "{}", "a{b}", "a{b=\"c\"", "a b", "a{b=c}", "a{b=\"c\\"] {
        assert!(wrong.parse::<SeriesSelector>().is_err(), "{wrong}");
    }
}

#[test]
fn names_say_what_their_numbers_are() {
    assert_eq!(MetricKind::of_name("p99(a_seconds)"), (MetricKind::Quantile(0.99), Some("a_seconds")));
    assert_eq!(MetricKind::of_name("rate(ops)"), (MetricKind::Rate, Some("ops")));
    assert_eq!(MetricKind::of_name("a_total{x=\"y\"}"), (MetricKind::Rate, Some("a_total{x=\"y\"}")));
    assert_eq!(MetricKind::of_name("cpu-time(ops)"), (MetricKind::CpuTime, Some("ops")));
    assert_eq!(
        (MetricKind::of_name("cpu-time"), MetricKind::of_name("run-delay")),
        ((MetricKind::CpuTime, None), (MetricKind::RunDelay, None))
    );
    for gauge in ["fps", "p99", "p100(a)", "px(a)", "p0(a)"] {
        assert_eq!(MetricKind::of_name(gauge), (MetricKind::Gauge, Some(gauge)), "{gauge}");
    }
}

#[test]
fn counts_become_rates_and_a_count_that_goes_backwards_is_reported() {
    let (rate, gauge) = (meter("requests_total"), meter("up"));
    let page = |count: u32| format!("requests_total {count}\nup {count}\n");
    let over = |counts: &[u32]| -> Vec<MetricMoment> {
        counts.iter().enumerate().map(|(index, count)| at(0.5 * index as f64, &page(*count))).collect()
    };
    assert_eq!(value(&rate, &over(&[100, 130, 200])), Ok(100.0));
    assert_eq!(value(&gauge, &over(&[1, 2, 6])), Ok(3.0));
    assert!(matches!(value(&rate, &over(&[100, 3])), Err(SampleError::Reset(_))));
    assert!(matches!(value(&rate, &[at(0.0, "x"), at(1.0, "x")]), Err(SampleError::Missing { .. })));
    let word = |text: &str| value(&gauge, &[at(0.0, text)]).unwrap_err().to_string();
    assert_eq!(word("up nan"), "up is \"nan\", which is not a number");
}

#[test]
fn a_name_that_was_not_read_is_answered_with_the_numbers_that_were() {
    let page = at(0.0, "# HELP up Whether it is up.\nup 1\nops_total{a=\"1\"} 3\nops_total{a=\"2\"} 4\n");
    let told = meter("fps").read_metric(&page, &|| false).unwrap_err().to_string();
    assert_eq!(told, "fps is not in what was read; these numbers are: up, ops_total");
    let reading = MetricSource { kind: MetricKind::Gauge, series: None };
    let gauge = MetricMeter::new("fps", &reading, Some(&crate::metric_line::metric_pattern("fps"))).unwrap();
    let told = |text: &str| gauge.read_metric(&at(0.0, text), &|| false).unwrap_err().to_string();
    assert_eq!(told("ops: 12\nlag=3 ms"), "fps is not in what was read; these numbers are: ops, lag");
    assert_eq!(told("no number"), "fps is not in what was read");
}

/// Listing names may take quadratic time, so a long text has to be cut before.
#[test]
fn names_are_listed_from_a_part_of_a_long_text() {
    let labels = |count: u32| (0..count).map(|number| format!("a{number}=1 ")).collect::<String>();
    assert_eq!(list_numbers(&labels(20)).len(), 13, "twelve, and how many more");
    assert_eq!(list_numbers(&labels(10_000)), [""; 0], "its only line is too long");
    assert_eq!(list_numbers(&format!("{}\nfps: 60\n", labels(10_000))), ["fps"]);
    let rows = "1,2\n".repeat(100_000);
    assert_eq!(list_numbers(&format!("fps,frametime\n{rows}")), ["fps", "frametime"]);
    let columns = labels(10_000).replace(' ', ",");
    assert_eq!(list_numbers(&format!("{columns}\n{}\n", "1,".repeat(10_001))), [""; 0]);
    let json = format!("{{\"fps\": 60, \"times\": [{}1]}}", "1, ".repeat(100_000));
    assert!(list_numbers(&json).contains(&"fps".to_owned()));
}

#[test]
fn values_are_in_the_unit_of_the_first_look() {
    let reading = MetricSource { kind: MetricKind::Gauge, series: None };
    let gauge = MetricMeter::new("Latency", &reading, Some(&crate::metric_line::metric_pattern("Latency"))).unwrap();
    let looks = |texts: &[&str]| -> Vec<MetricSample> {
        let look = |(index, text): (usize, &&str)| gauge.read_metric(&at(index as f64, text), &|| false).unwrap();
        texts.iter().enumerate().map(look).collect()
    };
    let seen = looks(&["Latency 1.02ms\n", "Latency 980us\n"]);
    assert_eq!((gauge.value_over(&seen), gauge.unit_over(&seen).to_string()), (Ok(1.0), "ms".to_owned()));
    assert_eq!(gauge.metric_reading(&seen, 1.0).runs[0].line, "Latency 980us");
    let told = gauge.value_over(&looks(&["Latency 1.02ms", "Latency 3 MB"])).unwrap_err().to_string();
    assert!(told.starts_with("Latency changed its unit from ms to MB") && told.contains("\"Latency 3 MB\""), "{told}");
    let counter =
        MetricMeter::new("sent", &MetricSource { kind: MetricKind::Rate, series: None }, Some("sent: (.*)")).unwrap();
    let seen = [
        counter.read_metric(&at(0.0, "sent: 1 MiB"), &|| false),
        counter.read_metric(&at(2.0, "sent: 3072 KiB"), &|| false),
    ]
    .map(Result::unwrap);
    assert_eq!((counter.value_over(&seen), counter.unit_over(&seen).to_string()), (Ok(1.0), "MiB/s".to_owned()));
}

#[test]
fn units_of_series_are_in_their_names() {
    let unit = |name: &str, text: &str| {
        let meter = meter(name);
        let seen = [meter.read_metric(&at(0.0, text), &|| false), meter.read_metric(&at(1.0, text), &|| false)]
            .map(Result::unwrap);
        meter.unit_over(&seen).to_string()
    };
    assert_eq!(unit("up", PAGE), "");
    assert_eq!(unit("requests_total", PAGE), "/s");
    assert_eq!(unit("p50(latency_seconds)", PAGE), "s");
    assert_eq!(unit("rate(latency_seconds_sum)", PAGE), "/s", "only the end of a name is its unit");
    assert_eq!((unit("run-delay", ""), unit("cpu-time(requests_total)", PAGE)), ("s/s".to_owned(), "s".to_owned()));
}

#[test]
fn quantiles_are_of_what_was_added() {
    let bucket = |counts: [u32; 3]| {
        let line = |(bound, count): (&str, u32)| format!("l_bucket{{le=\"{bound}\",a=\"1\"}} {count}\n");
        ["0.1", "0.2", "+Inf"].into_iter().zip(counts).map(line).collect::<String>()
    };
    let p50 = meter("p50(l)");
    let over = |a, b| value(&p50, &[at(0.0, &bucket(a)), at(1.0, &bucket(b))]);
    assert!((over([1000, 1000, 1000], [1000, 1010, 1010]).unwrap() - 0.15).abs() < 1e-12);
    assert_eq!(over([0, 0, 0], [0, 0, 10]), Ok(0.2), "above the highest bound is that bound");
    assert!(matches!(over([5, 5, 5], [5, 5, 6]), Err(SampleError::TooFew { counted: 1, needed: 2, .. })));
    assert!(matches!(over([5, 5, 5], [1, 5, 9]), Err(SampleError::Reset(_))));
    let by_two = "l_bucket{le=\"1\",a=\"1\"} 4\nl_bucket{le=\"1\",a=\"2\"} 6\nl_bucket{le=\"+Inf\"} 10\n";
    assert_eq!("l".parse::<SeriesSelector>().unwrap().sum_buckets(by_two).value_count(), 10.0);
    assert!(
        (("l".parse::<SeriesSelector>().unwrap().sum_buckets(by_two)).bucket_quantile(0.5).unwrap() - 0.5).abs()
            < 1e-12
    );
}

#[test]
fn the_kernels_accounts_are_proxies() {
    let moment = |at_s: f64, cpu_s: f64, waited_s: f64, ops: u32| MetricMoment {
        at_s,
        cpu_s,
        waited_s,
        text: format!("ops {ops}"),
    };
    let moments = [moment(0.0, 1.0, 0.5, 100), moment(2.0, 2.0, 0.6, 300)];
    assert_eq!(value(&meter("cpu-time"), &moments), Ok(0.5));
    assert!((value(&meter("run-delay"), &moments).unwrap() - 0.05).abs() < 1e-12);
    assert_eq!(value(&meter("cpu-time(ops)"), &moments), Ok(0.005));
    assert!(meter("run-delay").kind().is_proxy() && !meter("ops").kind().is_proxy());
}

#[test]
fn a_regular_expression_finds_counts_in_any_text() {
    let reading = MetricSource { kind: MetricKind::Rate, series: None };
    let meter = MetricMeter::new("ops", &reading, Some("commands:([0-9]+)")).unwrap();
    let moments = [at(0.0, "a\r\ncommands:10\r\n"), at(2.0, "commands:30\ncommands:50\n")];
    assert_eq!(value(&meter, &moments), Ok(20.0), "the last line counts");
    assert!(MetricMeter::new("x", &MetricSource { kind: MetricKind::Quantile(0.5), series: None }, Some("x")).is_err());
    assert!(MetricMeter::new("x", &reading, Some("(")).is_err());
}

proptest! {
    /// A page is somebody else's: whatever it holds, it is read without a panic, and what is found is a number.
    #[test]
    fn any_page_is_read(page in "(name|[a-z_{}=\"\\\\ ,\n0-9.+NaInf#]){0,80}", selector in "[a-z{}=\",\\\\]{0,12}") {
        let selectors = [selector.parse::<SeriesSelector>(), "name".parse(), "name{a=\"b\"}".parse()];
        for selector in selectors.into_iter().flatten() {
            if let Some(Ok(value)) = selector.sum_series(&page) {
                prop_assert!(value.is_finite());
            }
            let _ = selector.sum_buckets(&page).bucket_quantile(0.99);
        }
    }

    /// Between the bounds of the bucket that it is in, and never falling.
    #[test]
    fn quantiles_rise(counts in prop::collection::vec(0_u32..50, 1..6)) {
        let mut sum = 0;
        let line = |(index, count): (usize, &u32)| { sum += count; format!("l_bucket{{le=\"{}\"}} {sum}\n", index + 1) };
        let page: String = counts.iter().enumerate().map(line).collect();
        let buckets = "l".parse::<SeriesSelector>().unwrap().sum_buckets(&page);
        let quantiles: Vec<f64> = (1..100).filter_map(|percent| buckets.bucket_quantile(f64::from(percent) / 100.0)).collect();
        prop_assert!(quantiles.is_empty() == (counts.iter().sum::<u32>() == 0));
        prop_assert!(quantiles.is_sorted() && quantiles.iter().all(|value| (0.0..=6.0).contains(value)));
    }
}
