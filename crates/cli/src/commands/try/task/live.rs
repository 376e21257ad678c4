//! Running processes to place: their selection, the source of their metrics, and limits that end a slot.

use std::time::Duration;

use corewise_model::keep::RuleMatch;
use corewise_model::metric_line;
use corewise_model::sample::{MetricKind, MetricMeter, MetricSource};
use corewise_model::trial::{LiveSource, MetricLimit, ThreadRole, TrialMetric};
use corewise_statistics::quantity::MeasuredQuantity;

use super::super::arguments::TryArguments;
use super::named_metric::{DirectionQuestion, NamedMetric};
use crate::app::failure::CommandFailure;

/// Running processes to try.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveTask {
    /// Their numbers.
    pub processes: Vec<u32>,
    /// Patterns that they match.
    pub matches: Vec<String>,
    /// The source of the metrics.
    pub source: LiveSource,
    /// The slot length; found by measuring if not given.
    pub slot: Option<Duration>,
    /// Limits that end a slot at once.
    pub limits: Vec<MetricLimit>,
    /// Threads with a role of their own.
    pub thread_roles: Vec<ThreadRole>,
}

/// An option that names a metric: its name, its argument, and whether more is better, if the option determines it.
type Named<'a> = (&'a str, &'a str, Option<bool>);

impl LiveTask {
    /// Interprets the arguments; `None` if a command is run.
    pub fn new(
        typed: &TryArguments,
        metric: &TrialMetric,
        guards: &[TrialMetric],
    ) -> Result<Option<Self>, CommandFailure> {
        if !is_live(typed) {
            return Ok(None);
        }
        if !typed.command.is_empty() {
            return Err(CommandFailure::usage_error("a command is run, or running processes are placed: not both")
                .with_hint("Leave out the command, or --pid, --unit and --match."));
        }
        let matches = read_matches(typed)?;
        let limits =
            typed.stop_if.iter().map(|text| parse_limit(text, typed, metric, guards)).collect::<Result<_, _>>()?;
        Ok(Some(Self {
            processes: typed.pid.clone(),
            matches,
            source: read_source(typed)?,
            slot: typed.slot,
            limits,
            thread_roles: Vec::new(),
        }))
    }
}

/// Returns the patterns of running processes, "FIELD=PATTERN".
pub fn read_matches(typed: &TryArguments) -> Result<Vec<String>, CommandFailure> {
    let units = typed.unit.iter().map(|unit| format!("unit={unit}"));
    let matches: Vec<String> = units.chain(typed.matches.iter().cloned()).collect();
    RuleMatch::of_texts(&matches).map_err(CommandFailure::usage_error)?;
    Ok(matches)
}

/// Returns true if running processes are selected.
pub fn is_live(typed: &TryArguments) -> bool {
    !(typed.pid.is_empty() && typed.unit.is_none() && typed.matches.is_empty())
}

fn read_source(typed: &TryArguments) -> Result<LiveSource, CommandFailure> {
    match typed.sample.as_deref().map(str::trim) {
        None => Ok(LiveSource::Kernel),
        Some("") => Err(CommandFailure::usage_error("--sample: expected a command or an address, found nothing")),
        Some(address) if address.starts_with("https://") => {
            Err(CommandFailure::usage_error(format!("--sample {address}: corewise reads pages over http:// alone"))
                .with_hint(format!("Let another program read it: --sample 'curl -s {address}'")))
        }
        Some(address) if address.starts_with("http://") => Ok(LiveSource::Page(address.to_owned())),
        Some(command) => Ok(LiveSource::Command(command.to_owned())),
    }
}

/// Returns the deciding metric.
pub fn read_primary(typed: &TryArguments) -> Result<NamedMetric, CommandFailure> {
    let Some(text) = &typed.metric else {
        return Err(CommandFailure::usage_error("running processes need --metric, which names the number to compare").with_hint(
            "For example: --sample http://localhost:9113/metrics --metric requests_total; or --metric run-delay, which needs no --sample",
        ));
    };
    let side = if typed.higher || typed.lower { Some(typed.higher) } else { None };
    parse_metric(("--metric", text, side), typed.counter, typed)
}

/// Parses a metric: "requests_total", "p99(latency_seconds)", "ops=commands:([0-9]+)", "run-delay".
pub fn parse_metric(
    (option, text, side): Named<'_>,
    is_counter: bool,
    typed: &TryArguments,
) -> Result<NamedMetric, CommandFailure> {
    let wrong = |why: String| CommandFailure::usage_error(format!("{option} {text}: {why}"));
    let (name, regex) = name_and_pattern(text);
    if name.is_empty() || regex.is_some_and(str::is_empty) {
        return Err(CommandFailure::usage_error(format!("{option}: expected NAME or NAME=REGEX, found \"{text}\"")));
    }
    let (kind, series) = MetricKind::of_name(name);
    let kind = if is_counter && kind == MetricKind::Gauge { MetricKind::Rate } else { kind };
    let is_text = !matches!(read_source(typed)?, LiveSource::Kernel);
    if series.is_some() && !is_text {
        return Err(wrong("where is it read?".to_owned())
            .with_hint("Add --sample with a command or with an address: --sample http://localhost:9113/metrics"));
    }
    let is_page = matches!(read_source(typed)?, LiveSource::Page(_)) || matches!(kind, MetricKind::Quantile(_));
    let (series, pattern) = match (series, regex) {
        (None, _) => (None, None),
        (Some(_), Some(regex)) => (None, Some(regex.to_owned())),
        (Some(series), None) if is_page => (Some(series.to_owned()), None),
        (Some(series), None) => (None, Some(metric_line::metric_pattern(series))),
    };
    let said = || metric_line::more_is_better(name, regex.unwrap_or_default());
    let usual = kind.usually_higher_is_better();
    let of_kind = if kind == MetricKind::Rate { said().or(usual) } else { usual.or_else(said) };
    let known = side.or(of_kind);
    let question = || DirectionQuestion::new(name, text, &["--higher", "--lower", "--counter"]);
    let direction_question = if known.is_none() { Some(question()) } else { None };
    let (name, higher_is_better) = (name.to_owned(), known.unwrap_or_default());
    let metric = TrialMetric { name, pattern, higher_is_better, reading: Some(MetricSource { kind, series }) };
    if let Some(reading) = &metric.reading {
        MetricMeter::new(&metric.name, reading, metric.pattern.as_deref()).map_err(|error| wrong(error.to_string()))?;
    }
    Ok(NamedMetric { metric, direction_question })
}

/// Splits the name from the regular expression at the first "=" outside of the labels of a series.
fn name_and_pattern(text: &str) -> (&str, Option<&str>) {
    let labels_end = if text.find('{') < text.find('=') { text.find('}').unwrap_or(0) } else { 0 };
    match text[labels_end..].find('=') {
        Some(at) => (text[..labels_end + at].trim(), Some(&text[labels_end + at + 1..])),
        None => (text.trim(), None),
    }
}

/// Parses a limit: "p99(latency_seconds) > 50ms", or "p99 > 50ms" if a metric or guard has this name before "(".
fn parse_limit(
    text: &str,
    typed: &TryArguments,
    primary: &TrialMetric,
    guards: &[TrialMetric],
) -> Result<MetricLimit, CommandFailure> {
    let wrong = |why: String| {
        CommandFailure::usage_error(format!("--stop-if {text}: expected METRIC > NUMBER or METRIC < NUMBER{why}"))
            .with_hint("For example: --stop-if 'p99(latency_seconds) > 50ms'")
    };
    let at = text.rfind(['>', '<']).ok_or_else(|| wrong(String::new()))?;
    let (name, is_most) = (text[..at].trim(), &text[at..=at] == ">");
    let bound = MeasuredQuantity::parse(&text[at + 1..]).map_err(|why| wrong(format!("; found {why}")))?;
    let mut known = std::iter::once(primary).chain(guards);
    let known = known
        .find(|known| known.name == name || known.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('(')));
    let metric = match known {
        Some(known) => known.clone(),
        None => parse_metric(("--stop-if", name, Some(false)), false, typed)?.metric,
    };
    // In "p99_ns > 5000" the name determines the unit of both.
    let unit = if bound.unit.is_bare() { metric.usual_unit() } else { bound.unit };
    let bound = MeasuredQuantity { unit, ..bound };
    Ok(MetricLimit { text: text.trim().to_owned(), metric, is_most, bound })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::run::parse_typed;

    fn task(words: &[&str]) -> Result<(TrialMetric, LiveTask), String> {
        let typed: TryArguments = parse_typed(&[&["try", "--pid", "7"], words].concat())?;
        let NamedMetric { metric, direction_question } = read_primary(&typed).map_err(|failure| failure.what)?;
        if let Some(question) = direction_question {
            return Err(question.ask_direction("").what);
        }
        let guards: Result<Vec<TrialMetric>, CommandFailure> = typed
            .guard
            .iter()
            .map(|text| super::parse_metric(("--guard", text, Some(false)), false, &typed).map(|named| named.metric))
            .collect();
        let live =
            LiveTask::new(&typed, &metric, &guards.map_err(|failure| failure.what)?).map_err(|failure| failure.what)?;
        Ok((metric, live.unwrap()))
    }

    #[test]
    fn a_metric_says_how_it_is_read() {
        let metric = |words: &[&str]| task(words).unwrap().0;
        let page = ["--sample", "http://a/metrics"];
        let of_page = |name: &str| metric(&[&page[..], &["--metric", name]].concat());
        let total = of_page(r#"requests_total{code="200"}"#);
        assert_eq!(
            total.reading,
            Some(MetricSource { kind: MetricKind::Rate, series: Some(r#"requests_total{code="200"}"#.to_owned()) })
        );
        assert!(total.higher_is_better && total.pattern.is_none() && !of_page("errors_total").higher_is_better);
        let p99 = of_page("p99(query_seconds)");
        assert!(!p99.higher_is_better && p99.is_tail() && p99.reading.unwrap().kind == MetricKind::Quantile(0.99));
        let ops = metric(&["--sample", "redis-cli info", "--metric", "ops=commands:([0-9]+)", "--counter"]);
        assert_eq!(
            (ops.name.as_str(), ops.pattern.as_deref(), ops.higher_is_better),
            ("ops", Some("commands:([0-9]+)"), true)
        );
        assert_eq!(metric(&["--metric", "run-delay"]).reading.unwrap().kind, MetricKind::RunDelay);
        assert_eq!(of_page("cpu-time(requests_total)").reading.unwrap().series.as_deref(), Some("requests_total"));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for (words, part) in [
            (&[][..], "need --metric"),
            (&["--metric", "ops"], "where is it read?"),
            (&["--metric", "load", "--sample", "cat x"], "is more of \"load\" better"),
            (&["--metric", "ops=(", "--sample", "cat x"], "ops=("),
            (&["--metric", "a{b", "--sample", "http://x", "--lower"], "no series"),
            (&["--metric", "run-delay", "--sample", "https://x"], "http:// alone"),
            (&["--metric", "run-delay", "--sample", " "], "found nothing"),
            (&["--metric", "run-delay", "--match", "x"], "FIELD=PATTERN"),
            (&["--metric", "run-delay", "--match", "x=y"], "a rule matches by"),
            (&["--metric", "run-delay", "--stop-if", "run-delay"], "expected METRIC > NUMBER"),
            (&["--metric", "run-delay", "--stop-if", "run-delay > x"], "expected METRIC > NUMBER"),
        ] {
            let told = task(words).unwrap_err();
            assert!(told.contains(part), "{words:?}: {told}");
        }
        assert!(parse_typed::<TryArguments>(&["try", "--sample", "x", "--", "ls"]).is_err());
        assert!(task(&["--metric", "run-delay", "--", "ls"]).is_err());
    }

    #[test]
    fn limits_are_of_metrics_by_name_or_by_what_they_are() {
        let words = ["--sample", "http://a", "--metric", "p99(query_seconds)", "--guard", "errors_total"];
        let limit =
            |text: &str| task(&[&words[..], &["--stop-if", text]].concat()).map(|(_, live)| live.limits[0].clone());
        let p99 = limit("p99 > 50ms").unwrap();
        assert_eq!((p99.metric.name.as_str(), p99.is_most), ("p99(query_seconds)", true));
        assert_eq!(p99.bound.to_string(), "50 ms");
        let violates = |limit: &MetricLimit, text: &str| limit.is_violated_by(&MeasuredQuantity::parse(text).unwrap());
        let answers = ["0.051 s", "50ms", "51000us", "51", "51 MB"].map(|text| violates(&p99, text));
        assert_eq!(answers, [Some(true), Some(false), Some(true), None, None]);
        let rate = limit("rate(requests) < 1e3").unwrap();
        assert!(!rate.is_most && rate.metric.reading.clone().unwrap().kind == MetricKind::Rate);
        assert_eq!(
            ["999", "999/s", "1.1k req/s", "999 ms"].map(|text| violates(&rate, text)),
            [Some(true), Some(true), Some(false), None]
        );
        let by_name = limit("p99(query_seconds) > 0.05").unwrap();
        assert_eq!((violates(&by_name, "51 ms"), by_name.bound.to_string()), (Some(true), "0.05 s".to_owned()));
        assert_eq!(limit("errors_total>10").unwrap().metric.name, "errors_total");
    }

    #[test]
    fn units_and_patterns_both_have_to_match() {
        let (_, live) = task(&["--metric", "run-delay", "--unit", "a.service", "--match", "name=b*"]).unwrap();
        assert_eq!((live.processes, live.matches), (vec![7], vec!["unit=a.service".to_owned(), "name=b*".to_owned()]));
    }
}
