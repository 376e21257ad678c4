//! `corewise try` with metrics that have units, as programs print them: real commands whose lines depend on where they run.

mod support;

use std::process::{Command, ExitCode, Output, Stdio};

use corewise_sys::affinity;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::Value;
use support::TestPlace;

type TryUnitsOutcome = Result<Completion, Failed>;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trial = |name: &str, test: fn(&UnitStage) -> TryUnitsOutcome| {
        Trial::ignorable_test(name, move || UnitStage::new().map_or_else(Ok, |stage| test(&stage)))
    };
    let trials = vec![
        trial("values_in_several_units_are_compared_in_one", several_units),
        trial("a_number_is_read_with_its_prefix_and_durations_in_seconds", prefixes_and_durations),
        trial("a_unit_that_changes_fails_the_run_with_both_lines", changed_unit),
        trial("an_ambiguous_number_is_refused_with_the_reason", ambiguous),
        trial("a_constant_metric_is_no_measurement", constant),
        trial("values_that_are_twenty_times_apart_are_doubted", far_apart),
        trial("guards_files_and_suites_have_units_too", elsewhere),
        trial("an_experiment_goes_on_in_its_unit", resumed),
        trial("columns_and_paths_are_metrics_and_others_are_listed", of_documents),
        trial("a_name_that_is_not_there_is_answered_before_the_direction_is_asked", of_unknown_direction),
        trial("an_input_and_the_newest_file_of_a_pattern_are_read", of_files),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A place of a test's own, and the first cpu that may be used.
struct UnitStage {
    place: TestPlace,
    first: u32,
}

impl UnitStage {
    /// The stage, or why nothing can be tried here.
    fn new() -> Result<Self, Completion> {
        let all = affinity::current_affinity().map_err(|error| Completion::ignored_with(error.to_string()))?;
        match all.iter().next() {
            Some(first) if all.len() > 1 => Ok(Self { place: TestPlace::new(), first }),
            _ => Err(Completion::ignored_with("one cpu is allowed")),
        }
    }

    /// A script that runs one command on the first cpu alone, and another one elsewhere.
    fn script(&self, there: &str, elsewhere: &str) -> String {
        let first = self.first;
        format!("if grep -q '^Cpus_allowed_list:.{first}$' /proc/self/status; then {there}; else {elsewhere}; fi")
    }

    fn try_script(&self, options: &[&str], script: &str) -> Command {
        let mut command = self.place.corewise(&["try", "--no-confirm", "--seed", "7", &format!("--on={}", self.first)]);
        command.args(options).args(["--", "sh", "-c", script]).stdin(Stdio::null());
        command
    }

    fn document(&self, options: &[&str], script: &str) -> Result<Value, Failed> {
        let output = self.try_script(&[options, &["--json"]].concat(), script).output()?;
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{error}: {}", words(&output)).into())
    }
}

/// All that was printed, however lines were wrapped.
fn words(output: &Output) -> String {
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn contains(message: &str, parts: &[&str]) -> Result<(), Failed> {
    match parts.iter().find(|part| !message.contains(**part)) {
        None => Ok(()),
        Some(part) => Err(format!("{part:?} is not in\n{message}").into()),
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), Failed> {
    if found == expected { Ok(()) } else { Err(format!("{what}\n   found {found:?}\nexpected {expected:?}").into()) }
}

/// 3 % better, however it is written; read without units it is 976 times worse.
fn several_units(stage: &UnitStage) -> TryUnitsOutcome {
    let script = stage.script("echo '  Latency 994us  99us'", "echo '  Latency 1.02ms 120us'");
    let options = ["--metric", "Latency", "--margin", "1%"];
    let document = stage.document(&options, &script)?;
    let conclusions = &document["conclusions"];
    same("the verdict", &conclusions["standing"]["verdict"]["kind"], &"wins".into())?;
    same("the unit", &conclusions["unit"], &"ms".into())?;
    let medians = [0, 1].map(|arm| conclusions["numbers"]["arms"][arm]["median"].as_f64().unwrap_or_default());
    same(&format!("{medians:?}"), medians.map(|median| (median * 1e6).round()), [1_020_000.0, 994_000.0])?;
    let reading = &document["observed"]["trials"][1]["readings"][0];
    same("the unit of a trial", &reading["unit"], &"ms".into())?;
    let ours = |trial: &&Value| trial["arm"] == 1;
    let other = document["observed"]["trials"].as_array().into_iter().flatten().find(ours).ok_or("no trial")?;
    same("its line", &other["readings"][0]["runs"][0]["line"], &"Latency 994us  99us".into())?;
    let shown = words(&stage.place.corewise(&["history", "show", "1"]).output()?);
    contains(&shown, &["So far, in ", "better in Latency", "0.994 ms", "1.02 ms"])?;
    let csv = stage.place.corewise(&["history", "show", "1", "--csv"]).output()?;
    let csv = String::from_utf8_lossy(&csv.stdout).into_owned();
    let mut lines = csv.trim_end().split("\r\n");
    same("the column", lines.next().is_some_and(|names| names.ends_with(",unit,notes")), true)?;
    same("the unit of each line", lines.all(|line| line.contains(",ms,")), true)?;
    let markdown = words(&stage.place.corewise(&["history", "show", "1", "--markdown"]).output()?);
    contains(&markdown, &["| 0.994 ms |", "| 1.02 ms |"])?;
    // A terminal's commands look where the typed one did; Markdown is read elsewhere.
    let show = ["history", "show", "1", "--store", "corewise/history.db"];
    let typed = words(&stage.place.corewise(&show).output()?);
    contains(&typed, &["corewise run --on", "--store "])?;
    let pasted = words(&stage.place.corewise(&[&show[..], &["--markdown"]].concat()).output()?);
    contains(&pasted, &["corewise run --on"])?;
    same(&pasted, pasted.contains("--store"), false)?;
    Ok(Completion::Completed)
}

fn prefixes_and_durations(stage: &UnitStage) -> TryUnitsOutcome {
    let median = |metric: &str, there: &str, elsewhere: &str| -> Result<(f64, f64, String), Failed> {
        let script = stage.script(&format!("echo '{there}'"), &format!("echo '{elsewhere}'"));
        let document = stage.document(&["--metric", metric, "--higher", "--runs-max", "6"], &script)?;
        let conclusions = &document["conclusions"];
        let of = |arm: usize| conclusions["numbers"]["arms"][arm]["median"].as_f64().unwrap_or_default();
        Ok(((of(0) * 1e3).round(), (of(1) * 1e3).round(), conclusions["unit"].as_str().unwrap_or_default().to_owned()))
    };
    let cases = [
        ("IOPS", "read: IOPS=1.1k, BW=4506KiB/s", "read: IOPS=880, BW=3520KiB/s", (880e3, 1_100e3, "")),
        ("BW", "read: IOPS=1.1k, BW=2MiB/s", "read: IOPS=880, BW=1024KiB/s", (1_024e3, 2_048e3, "KiB/s")),
        ("real", "real 0m1.231s", "real 0m1.000s", (1_000.0, 1_231.0, "s")),
        ("took", "took 1h02m", "took 12:30", (750e3, 3_720e3, "s")),
        ("rate=rate ([0-9]+)", "rate 12,400 req/s", "rate 12.1k req/s", (12_100e3, 12_400e3, "req/s")),
    ];
    for (metric, there, elsewhere, (baseline, candidate, unit)) in cases {
        same(there, median(metric, there, elsewhere)?, (baseline, candidate, unit.to_owned()))?;
    }
    Ok(Completion::Completed)
}

fn of_documents(stage: &UnitStage) -> TryUnitsOutcome {
    let median = |metric: &str, prints: &str| -> Result<f64, Failed> {
        let options = ["--metric", metric, "--lower", "--runs-max", "2"];
        let document = stage.document(&options, &format!("printf '{prints}'"))?;
        Ok(document["conclusions"]["numbers"]["arms"][0]["median"].as_f64().unwrap_or_default().round())
    };
    let frames = "os,gpu\\nLinux,x\\nfps,frametime\\n60,16\\n59,17\\n30,33\\n";
    same("a percentile", median("p100(frametime)", frames)?, 33.0)?;
    same("a mean", median("frametime", frames)?, 22.0)?;
    same("a path", median("results.1.mean", r#"{"results": [{"mean": 1}, {"mean": 7}]}"#)?, 7.0)?;
    same("a cell", median("tg128", "| pp512 | 20 |\\n| tg128 | 7 |\\n")?, 7.0)?;
    let frames_with = |cell: &str| format!("frame,ft,c\\n1,16,1\\n2,{cell},1\\n3,20,1\\n4,30,1\\n");
    same("a cell without a value", median("max(ft)", &frames_with("N/A"))?, 30.0)?;
    let refusals = [
        ("max(ft)", frames_with("error"), "its metric max(ft) is there, but is no number in line 3: \"error\""),
        (
            "stddev(ft)",
            frames_with("1"),
            "its metric stddev(ft) calls a function that is not known: stddev. These are: mean,",
        ),
        ("p99(ft", frames_with("1"), "its metric p99(ft has no closing bracket: write \"p99(ft)\""),
        ("lat", "lat: NaN\\n".to_owned(), "its metric lat is there, but is no number: NaN"),
    ];
    for (metric, prints, why) in refusals {
        let output = stage.try_script(&["--metric", metric, "--lower"], &format!("printf '{prints}'")).output()?;
        contains(&words(&output), &[why])?;
    }
    let output = stage.try_script(&["--metric", "frametimes", "--lower"], &format!("printf '{frames}'")).output()?;
    contains(&words(&output), &["its metric frametimes is not in its output; these numbers are: fps, frametime"])?;
    Ok(Completion::Completed)
}

fn of_files(stage: &UnitStage) -> TryUnitsOutcome {
    std::fs::write(stage.place.path().join("numbers"), "score 5\n")?;
    std::fs::write(stage.place.path().join("log-old.csv"), "fps\n99\n")?;
    let value = |options: &[&str], script: &str| -> Result<f64, Failed> {
        let document = stage.document(&[options, &["--runs-max", "2"]].concat(), script)?;
        Ok(document["observed"]["trials"][0]["outcome"]["value"].as_f64().unwrap_or_default())
    };
    same("the input", value(&["--metric", "score", "--input", "numbers"], "cat")?, 5.0)?;
    let write = "printf 'fps\\n60\\n' > log-$$.csv";
    same("the newest", value(&["--metric", "fps", "--metric-file", "log-*.csv"], write)?, 60.0)?;
    same("the old one is there", stage.place.path().join("log-old.csv").exists(), true)?;
    let missing = stage.try_script(&["--input", "nothing"], "cat").output()?;
    same("its status", missing.status.code(), Some(3))?;
    contains(&words(&missing), &["--input nothing: No such file"])?;
    Ok(Completion::Completed)
}

fn changed_unit(stage: &UnitStage) -> TryUnitsOutcome {
    let script = stage.script("echo Latency 3 MB", "echo Latency 1.02ms");
    let message = words(&stage.try_script(&["--metric", "Latency"], &script).output()?);
    contains(&message, &["changed its unit from ms to MB", "\"Latency 1.02ms\", then \"Latency 3 MB\""])?;
    let guard = stage.script("echo p99 3 MB", "echo p99 1.02ms");
    let message = words(&stage.try_script(&["--guard", "p99"], &guard).output()?);
    contains(&message, &["its guard p99 changed its unit", "\"p99 1.02ms\", then \"p99 3 MB\""])?;
    Ok(Completion::Completed)
}

fn ambiguous(stage: &UnitStage) -> TryUnitsOutcome {
    for number in ["1,5", "1.234,5"] {
        let output = stage.try_script(&["--metric", "Latency"], &format!("echo Latency {number} ms")).output()?;
        let message = words(&output);
        same(&message, output.status.code(), Some(3))?;
        contains(&message, &["its metric Latency is", number, "a comma may separate thousands"])?;
    }
    Ok(Completion::Completed)
}

fn constant(stage: &UnitStage) -> TryUnitsOutcome {
    for (line, shown) in
        [("Latency 5.125ms", "Latency is 5.125 ms in every run"), ("Latency 0", "Latency is 0 in every run")]
    {
        let message = words(&stage.try_script(&["--metric", "Latency"], &format!("echo {line}")).output()?);
        contains(
            &message,
            &["Nothing can be recommended.", shown, "it measures nothing here", &format!("\"{line}\"")],
        )?;
        let is_denied = message.contains("no difference") || message.contains("faster") || message.contains("% better");
        same(&message, is_denied, false)?;
    }
    Ok(Completion::Completed)
}

fn far_apart(stage: &UnitStage) -> TryUnitsOutcome {
    let script = stage.script("sleep 0.1; echo x 30.5 points", "sleep 0.1; echo x 1.5 points");
    let message = words(&stage.try_script(&["--metric", "x", "--higher", "--runs-max", "16"], &script).output()?);
    contains(&message, &["Nothing can be recommended.", "20.3x apart", "\"x 1.5 points\"", "\"x 30.5 points\""])?;
    Ok(Completion::Completed)
}

fn elsewhere(stage: &UnitStage) -> TryUnitsOutcome {
    let script = stage.script(
        "echo fps 120.5 >out.txt; echo p99 994us >>out.txt",
        "echo fps 60.5 >out.txt; echo p99 1.02ms >>out.txt",
    );
    let options = ["--metric", "fps", "--guard", "p99", "--metric-file", "out.txt", "--json"];
    let output = stage.try_script(&options, &script).current_dir(stage.place.path()).output()?;
    let document: Value = serde_json::from_slice(&output.stdout).map_err(|_| words(&output))?;
    let conclusions = &document["conclusions"];
    same("the verdict", &conclusions["standing"]["verdict"]["kind"], &"wins".into())?;
    same("the guard's unit", &conclusions["guard_units"][0], &"ms".into())?;
    let csv = stage.place.corewise(&["history", "show", "1", "--csv"]).output()?;
    contains(&String::from_utf8_lossy(&csv.stdout), &["p99=0.994 ms", "p99=1.02 ms"])?;
    let file = stage.place.path().join("suite.toml");
    let script = stage.script("echo Latency 994us", "echo Latency 1.02ms");
    std::fs::write(
        &file,
        format!(
            "name = \"units\"\n[[benchmark]]\nname = \"one\"\ncategory = \"all\"\ncommand = [\"sh\", \"-c\", \"{}\"]\n\
             metric = {{ name = \"Latency\" }}\n",
            script.replace('\\', "\\\\").replace('"', "\\\"")
        ),
    )?;
    let mut suite = stage.place.corewise(&["try", "--margin=1%", &format!("--on={}", stage.first), "--suite"]);
    let message = words(&suite.arg(&file).stdin(Stdio::null()).output()?);
    contains(&message, &["1.02 ms", "+2.6 %"])?;
    Ok(Completion::Completed)
}

fn resumed(stage: &UnitStage) -> TryUnitsOutcome {
    let script = "test -e later && echo Latency 1.0${#COREWISE_PADDING}ms || echo Latency 100${#COREWISE_PADDING}ns";
    let first = stage
        .try_script(&["--metric", "Latency", "--runs-max", "2"], script)
        .current_dir(stage.place.path())
        .output()?;
    contains(&words(&first), &["ns"])?;
    std::fs::write(stage.place.path().join("later"), "")?;
    let output = stage.place.corewise(&["try", "--resume", "--runs-max", "4", "--json"]).output()?;
    let document: Value = serde_json::from_slice(&output.stdout).map_err(|_| words(&output))?;
    let trials = document["observed"]["trials"].as_array().ok_or("no trials")?;
    let last = trials.last().and_then(|trial| trial["outcome"]["value"].as_f64()).unwrap_or_default();
    same(&format!("a millisecond in nanoseconds: {last}"), (1e6..1.2e6).contains(&last), true)?;
    same("the unit", &document["conclusions"]["unit"], &"ns".into())?;
    Ok(Completion::Completed)
}

fn of_unknown_direction(stage: &UnitStage) -> TryUnitsOutcome {
    let ask = |options: &[&str], script: &str| {
        let output = stage.try_script(options, script).current_dir(stage.place.path()).output()?;
        Ok::<_, Failed>((words(&output), output.status.code()))
    };
    let script = "echo run >>runs; echo hue: 12.5; echo Latency: 3 ms";
    let (message, status) = ask(&["--metric", "hew"], script)?;
    same(&message, status, Some(3))?;
    contains(&message, &["hew is not in its output; these numbers are: hue, Latency"])?;
    same(&message, message.contains("better, or less"), false)?;
    let (message, status) = ask(&["--metric", "hue"], script)?;
    same(&message, status, Some(2))?;
    contains(&message, &["is more of \"hue\" better, or less?", "--metric hue --higher", "It is in \"hue: 12.5\""])?;
    same("one run for each question", std::fs::read_to_string(stage.place.path().join("runs"))?.lines().count(), 2)?;
    let history = stage.place.corewise(&["history"]).output()?;
    contains(&words(&history), &["Nothing is stored"])?;
    Ok(Completion::Completed)
}
