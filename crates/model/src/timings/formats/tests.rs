//! What each format gives, and what is said of the rest.

use super::*;
use crate::timings::first_comparable;

fn read(text: &str) -> String {
    let file = match read_timings(text) {
        Err(TimingError::NoTimings) => return "nothing".to_owned(),
        Err(error) => return format!("not: {error}"),
        Ok(file) => file,
    };
    let describe = |series: &TimingSeries| format!("{} {:?}{}", series.name, series.values, series.unit.unit_suffix());
    let series: Vec<String> = file.series.iter().map(describe).collect();
    let notes: String = file.notes.iter().map(|note| format!(" {note}")).collect();
    format!("{}: {}{notes}", file.formats.first().unwrap(), series.join("; "))
}

#[test]
fn each_format_gives_its_runs_in_seconds() {
    assert_eq!(
        read(r#"{"results": [{"command": "a b", "mean": 1, "times": [1.0, 1.5]}, {"command": "c", "times": [2]}]}"#),
        "hyperfine: a b [1.0, 1.5] s; c [2.0] s"
    );
    let google = r#"{"context": {}, "benchmarks": [
        {"name": "BM_x/8", "run_type": "iteration", "real_time": 20, "time_unit": "ms"},
        {"name": "BM_x/8", "run_type": "iteration", "real_time": 30, "time_unit": "ms"},
        {"name": "BM_x/8_mean", "run_type": "aggregate", "real_time": 25, "time_unit": "ms"}]}"#;
    assert_eq!(read(google), "Google Benchmark: BM_x/8 [0.02, 0.03] s");
    let pyperf =
        r#"{"metadata": {"name": "x"}, "benchmarks": [{"runs": [{"warmups": [[1, 9]]}, {"values": [0.5, 0.25]}]}]}"#;
    assert_eq!(read(pyperf), "pyperf: x [0.5, 0.25] s");
    assert_eq!(
        read(r#"{"sampling_mode": "Linear", "iters": [1, 2], "times": [1e9, 4e9]}"#),
        "Criterion: benchmark [1.0, 2.0] s"
    );
    assert_eq!(
        read("\u{feff}{\"results\": [{\"command\": \"a\", \"times\": [1.5]}]}"),
        "hyperfine: a [1.5] s",
        "a byte order mark"
    );
}

const ASSUMED: &str = "Less is taken to be better: no unit or name says it.";

#[test]
fn columns_and_names_of_csv_are_series() {
    for (text, series) in [
        ("old,new\n1,2\n3,4\n", "old [1.0, 3.0]; new [2.0, 4.0]"),
        ("old;1.5\nnew;2\nold;1.25\n", "old [1.5, 1.25]; new [2.0]"),
        ("1.5\n2\n", "column 1 [1.5, 2.0]"),
        ("name,value\na,1\nb,2\na,3\n", "a [1.0, 3.0]; b [2.0]"),
        ("\u{feff}# by hand, today\nold,new\n1,2\n", "old [1.0]; new [2.0]"),
    ] {
        assert_eq!(read(text), format!("CSV: {series} {ASSUMED}"), "{text}");
    }
}

#[test]
fn units_of_headings_and_cells_count() {
    assert_eq!(read("old (ms),new (s)\n250,0.5\n500,1\n"), "CSV: old [0.25, 0.5] s; new [0.5, 1.0] s");
    assert_eq!(read("old_ms\n250\n500\n"), "CSV: old_ms [0.25, 0.5] s");
    assert_eq!(read("old\n250 ms\n0.5 s\n"), "CSV: old [0.25, 0.5] s");
    assert_eq!(read("old\n250 ms\n7 MB\n"), "not: line 3: \"7 MB\" does not convert to s, the unit of old");
    assert_eq!(read("name,ms\na,250\nb,500\n"), "CSV: a [0.25] s; b [0.5] s");
}

#[test]
fn a_column_that_counts_or_dates_the_runs_is_no_series() {
    let note = |name: &str| format!("The first column{name} counts or dates the runs, and is no series.");
    assert_eq!(read("n,old_s\n1,7\n2,8\n3,9\n"), format!("CSV: old_s [7.0, 8.0, 9.0] s {}", note(" (n)")));
    for heading in ["run", "Iteration", "i", "index", "#"] {
        let text = format!("{heading},old_s\n4,7\n4,8\n");
        assert_eq!(read(&text), format!("CSV: old_s [7.0, 8.0] s {}", note(&format!(" ({heading})"))), "{heading}");
    }
    assert_eq!(read("0,7 s\n1,8 s\n2,8 s\n"), format!("CSV: column 2 [7.0, 8.0, 8.0] s {}", note("")));
    let dated = "day,old_s,new_s\n2026-01-01,7,6\n2026-01-02T10:00:00Z,8,6\n";
    assert_eq!(read(dated), format!("CSV: old_s [7.0, 8.0] s; new_s [6.0, 6.0] s {}", note(" (day)")));
    assert_eq!(read("2026-01-01,7 s\n2026-01-02,8 s\n"), format!("CSV: column 2 [7.0, 8.0] s {}", note("")));
    assert_eq!(read("1\n2\n3\n"), format!("CSV: column 1 [1.0, 2.0, 3.0] {ASSUMED}"), "the only column");
}

#[test]
fn names_say_whether_more_is_better() {
    let file = read_timings("old fps,new fps\n60,70\n61,71\n").unwrap();
    assert!(file.series.iter().all(|series| series.higher_is_better == Some(true)), "{file:?}");
    assert_eq!(file.notes, ["More is taken to be better: old fps, new fps."]);
    assert_eq!(read_timings("x (MB/s)\n60\n").unwrap().series[0].higher_is_better, Some(true));
}

#[test]
fn runs_that_failed_or_have_no_time_are_left_out_and_counted() {
    let failed = r#"{"results": [{"command": "a", "times": [1, 2, 3, 4, null], "exit_codes": [0, 1, null, 0, 0]}]}"#;
    assert_eq!(
        read(failed),
        "hyperfine: a [1.0, 4.0] s a: 2 of 5 runs failed (exit_codes): left out. \
         a: 1 of 5 runs without a time (null): left out."
    );
    let without =
        r#"{"results": [{"command": "a", "times": [1]}, {"command": "b", "times": []}, {"command": "c", "mean": 2}]}"#;
    assert_eq!(
        read(without),
        "hyperfine: a [1.0] s b has no times (results.1.times), and is left out. c has no times (results.2.times), and is left out."
    );
    let lacking = "a_s,b_s\n1,2\n-,N/A\n3,nan\n";
    assert_eq!(
        read(lacking),
        "CSV: a_s [1.0, 3.0] s; b_s [2.0] s a_s: 1 of 3 cells has no value. b_s: 2 of 3 cells have no value."
    );
}

#[test]
fn different_benchmarks_are_not_compared_but_the_same_ones_of_files_are() {
    let two = |first: f64, other: f64| {
        let run = |name: &str, time: f64| {
            format!(r#"{{"metadata": {{"name": "{name}"}}, "runs": [{{"values": [{time}]}}]}}"#)
        };
        read_timings(&format!(r#"{{"benchmarks": [{}, {}]}}"#, run("x", first), run("y", other))).unwrap()
    };
    assert_eq!(two(1.0, 2.0).notes, ["Different benchmarks are not compared with each other."]);
    let joined = join_files(vec![("old".to_owned(), two(1.0, 2.0)), ("new".to_owned(), two(3.0, 4.0))]);
    let first_of: Vec<Option<usize>> = (0..4).map(|at| first_comparable(&joined.series, at)).collect();
    assert_eq!(first_of, [None, None, Some(0), Some(1)], "{joined:?}");
    assert_eq!(joined.series[3].name, "new: y");
    let of = |name: &str, text: &str| (name.to_owned(), read_timings(text).unwrap());
    let joined = join_files(vec![of("a", "old\n1\n"), of("b", "new\n2\n")]);
    assert_eq!(first_comparable(&joined.series, 1), Some(0));
    let joined = join_files(vec![of("a", "x\n1\n"), of("b", "x fps\n2\n")]);
    assert_eq!(first_comparable(&joined.series, 1), None, "more of one is better");
}

#[test]
fn a_file_that_cannot_be_used_names_its_place_and_the_reason() {
    for (text, why) in [
        ("1,2\n3\n", "line 2 has 1 cell, and the line before it 2"),
        ("old\n0,5\n", "line 2 has 2 cells, and the line before it 1. If the comma is a decimal one, write a point"),
        ("a,b\n1,-2\n", "line 2: \"-2\" is not above zero"),
        ("# x\n\na,b\n1,fast\n", "line 4: \"fast\" is not a number"),
        ("a;b\n1,5;2,5\n", "line 2: \"1,5\" is not a clear number"),
        (r#"{"results": [{"command": "a", "times": [0]}]}"#, "results.0.times.0 is 0, which is not above zero"),
        (r#"{"results": [{"command": "a", "times": ["fast"]}]}"#, "results.0.times.0 is no number: \"fast\""),
        (r#"{"results": [{"command": "a", "mean": 1}]}"#, "a has no times (results.0.times), and is left out."),
        ("{\"results\": [\n{\"times\": [NaN]}]}", "line 2, column 12: broken JSON: NaN is no number"),
        ("{\"results\": [", "line 1, column 13: broken JSON: it ends within the JSON"),
        (
            r#"{"context": {}, "benchmarks": [{"name": "x", "run_type": "aggregate", "real_time": 1}]}"#,
            "it has aggregates only",
        ),
        (r#"{"benchmarks": [{"metadata": {"name": "x"}}]}"#, "benchmarks.0.runs is not there"),
        ("command,mean,stddev\nsleep 1,1.0,0.1\n", "it has means only"),
    ] {
        assert!(read(text).starts_with(&format!("not: {why}")), "{text}: {}", read(text));
    }
}

#[test]
fn anything_else_is_refused() {
    for text in ["", "{}", "[]", "words\nmore words\n", r#"{"benchmarks": 3}"#, "<html><p>1,2\n3,4\n"] {
        assert_eq!(read(text), "nothing", "{text}");
    }
}
