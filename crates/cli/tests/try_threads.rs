//! `corewise try --threads 1,2,…` as a user meets it: programs that are told how many threads to have, on this machine.

mod support;

use std::process::{Command, ExitCode, Output, Stdio};

use corewise_sys::affinity;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::Value;
use support::{TestPlace, text};

type TryThreadsOutcome = Result<Completion, Failed>;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trial = |name: &str, test: fn() -> TryThreadsOutcome| Trial::ignorable_test(name, test);
    let trials = vec![
        trial("more_threads_are_better_in_the_command", in_the_command),
        trial("a_variable_tells_the_program", by_a_variable),
        trial("a_session_that_ended_goes_on_with_the_same_blocks", goes_on),
        trial("pinned_threads_are_on_as_many_cpus", pinned_are_pinned),
        trial("a_program_that_is_told_its_cpus_is_tried_on_all_of_them_too", told_its_cpus),
        trial("a_picture_is_drawn_and_drawn_again", drawn),
        trial("a_server_is_started_with_each_number_and_pinned_alone", of_services),
        trial("what_cannot_be_tried_is_said", usage),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

const METRIC: [&str; 3] = ["--metric", "rate=rate ([0-9]+)", "--higher"];

/// `corewise try` with options and a shell script.
fn trying(place: &TestPlace, options: &[&str], script: &str) -> Command {
    let mut command = place.corewise(&["try", "--seed", "7"]);
    command.args(options).args(["--", "sh", "-c", script]).stdin(Stdio::null());
    command
}

fn done(command: &mut Command) -> Result<Output, Failed> {
    Ok(command.output()?)
}

/// The words on standard output; the exit status has to be this.
fn said(command: &mut Command, code: i32) -> Result<String, Failed> {
    let output = done(command)?;
    let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
    same(&told, output.status.code(), Some(code))?;
    Ok(text(&output.stdout))
}

fn json(command: &mut Command, code: i32) -> Result<Value, Failed> {
    Ok(serde_json::from_str(&said(command, code)?)?)
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), Failed> {
    if found == expected { Ok(()) } else { Err(format!("{what}\n   found {found:?}\nexpected {expected:?}").into()) }
}

/// Whatever the width, lines may end anywhere between words.
fn contains(told: &str, words: &[&str]) -> Result<(), Failed> {
    let told = &told.split_whitespace().collect::<Vec<_>>().join(" ");
    words.iter().try_for_each(|word| same(&format!("{word:?} is in\n{told}"), told.contains(word), true))
}

fn allowed() -> usize {
    affinity::current_affinity().map_or(1, |cpus| cpus.len())
}

/// Numbers of threads of which the first is the reference on this machine: as many as cpus, and two that are more.
fn counts() -> [usize; 3] {
    let cpus = allowed();
    [cpus, 2 * cpus, 4 * cpus]
}

fn list(counts: [usize; 3]) -> String {
    counts.map(|count| count.to_string()).join(",")
}

/// The program says itself how much it does: as much as it is told to have threads.
fn in_the_command() -> TryThreadsOutcome {
    let (place, counts) = (TestPlace::new(), counts());
    let numbers = list(counts);
    let options = [&METRIC[..], &["--threads", &numbers, "--pinned", "no"]].concat();
    let told = said(&mut trying(&place, &options, "echo rate {threads}00"), 0)?;
    let best = format!("{} threads, OS default: at least 4.0x", counts[2]);
    let share = format!("better in rate than {} (one per cpu)", counts[0]);
    contains(
        &told,
        &[&best, &share, "no law is fitted", &format!("'echo rate {}00'", counts[2]), "stored as experiment 1"],
    )?;
    let shown = said(&mut place.corewise(&["try", "--resume", "--markdown"]), 0)?;
    contains(&shown, &["| threads | OS | speed-up |", "| 4.00x |"])?;
    let lines = said(&mut place.corewise(&["try", "--resume", "--csv"]), 0)?;
    let (names, runs) = lines.trim_end().split_once("\r\n").ok_or("there is one line only")?;
    let place = names.split(',').position(|name| name == "threads").ok_or("no column of threads")?;
    let threads = |line: &str| {
        let mut is_quoted = false;
        let is_comma = |character: char| {
            is_quoted ^= character == '"';
            character == ',' && !is_quoted
        };
        line.split(is_comma).nth(place).unwrap_or_default().to_owned()
    };
    let mut told: Vec<String> = runs.split("\r\n").map(threads).collect();
    told.sort_unstable();
    told.dedup();
    let mut expected = counts.map(|count| count.to_string()).to_vec();
    expected.sort_unstable();
    same("the column of threads", told, expected)?;
    Ok(Completion::Completed)
}

/// Twice as many threads in the variable, half as much done; and nothing that pinning changes.
fn by_a_variable() -> TryThreadsOutcome {
    if allowed() < 2 {
        return Ok(Completion::ignored_with("one cpu is allowed"));
    }
    let place = TestPlace::new();
    let options = [&METRIC[..], &["--threads", "1,2", "--threads-as", "COREWISE_TEST_THREADS", "--json"]].concat();
    let document = json(&mut trying(&place, &options, "echo rate $((403 / COREWISE_TEST_THREADS))"), 0)?;
    let threads = &document["conclusions"]["threads"];
    same("the counts", &threads["counts"]["standing"]["verdict"]["kind"], &"wins".into())?;
    same("pinned", &threads["pinned"][0]["standing"]["verdict"]["kind"], &"no-material-difference".into())?;
    same("the law", &threads["law"]["kind"], &"too-few-counts".into())?;
    let arms = document["observed"]["experiment"]["arms"].as_array().cloned().unwrap_or_default();
    let names: Vec<&str> = arms.iter().filter_map(|arm| arm["name"].as_str()).collect();
    same("one count of threads is pinned at least", names.iter().any(|name| name.starts_with("1 thread on ")), true)?;
    same(
        "it is told as typed",
        &document["observed"]["experiment"]["workload"]["threads_as"][0],
        &"COREWISE_TEST_THREADS".into(),
    )?;
    Ok(Completion::Completed)
}

/// The blocks of two sessions are those of one: their orders depend on the seed and on what was stored.
fn goes_on() -> TryThreadsOutcome {
    let (place, numbers) = (TestPlace::new(), list(counts()));
    let options = [&METRIC[..], &["--threads", &numbers, "--pinned", "no", "--json"]].concat();
    let whole = json(&mut trying(&place, &options, "echo rate {threads}00"), 0)?;
    let first = json(&mut trying(&place, &[&options[..], &["--runs-max", "7"]].concat(), "echo rate {threads}00"), 1)?;
    let second = json(&mut place.corewise(&["try", "--resume", "--json"]), 0)?;
    let order = |document: &Value| -> Vec<(u64, u64)> {
        let trials = document["observed"]["trials"].as_array().into_iter().flatten();
        let of = |trial: &Value| Some((trial["block"].as_u64()?, trial["arm"].as_u64()?));
        trials.filter_map(of).filter(|(block, _)| *block > 0).collect()
    };
    same("runs of the first", order(&first).len(), 6)?;
    same("the orders", order(&second), order(&whole))?;
    // The time that the runs took is another one.
    let counts = |document: &Value| {
        let mut counts = document["conclusions"]["threads"]["counts"].clone();
        counts["standing"]["open_points"] = Value::Null;
        counts
    };
    same("the verdict", counts(&second), counts(&whole))?;
    Ok(Completion::Completed)
}

/// The program says on how many cpus it may run.
fn pinned_are_pinned() -> TryThreadsOutcome {
    if allowed() < 2 {
        return Ok(Completion::ignored_with("one cpu is allowed"));
    }
    let place = TestPlace::new();
    let options =
        ["--metric", "rate=rate ([0-9]+)", "--higher", "--threads", "1,2", "--pinned", "yes", "--runs-max", "4"];
    let script = "cpus=$(nproc); echo rate ${cpus}0; test $cpus = {threads} || exit 3";
    if Command::new("nproc").output().is_err() {
        return Ok(Completion::ignored_with("nproc is not installed (coreutils)"));
    }
    let document = json(&mut trying(&place, &[&options[..], &["--json"]].concat(), script), 1)?;
    let trials = document["observed"]["trials"].as_array().cloned().unwrap_or_default();
    let failed = trials.iter().filter(|trial| trial["outcome"]["failed"].is_object()).count();
    same(&format!("failed runs in {trials:?}"), (trials.len() >= 4, failed), (true, 0))?;
    Ok(Completion::Completed)
}

/// As many threads as cpus, and one more: pinned, the program is told which, and is slower by this alone.
fn told_its_cpus() -> TryThreadsOutcome {
    let all = allowed();
    if all < 2 {
        return Ok(Completion::ignored_with("one cpu is allowed"));
    }
    let (place, numbers) = (TestPlace::new(), format!("{all},{}", all + 1));
    let options = [&METRIC[..], &["--threads", &numbers, "--pins-as", "COREWISE_TEST_CPUS"]].concat();
    let script = "n=$(echo \"$COREWISE_TEST_CPUS\" | tr ',' '\\n' | grep -c .); test $n = 0 && echo rate 40{threads} && exit; \
                  taskset -pc \"${COREWISE_TEST_CPUS%%,*}\" $$ >/dev/null; sleep 0.1; echo rate 20$n";
    if Command::new("taskset").arg("--version").output().is_err() {
        return Ok(Completion::ignored_with("taskset is not installed (util-linux)"));
    }
    let told = said(&mut trying(&place, &options, script), 0)?;
    contains(&told, &[&format!("At {all} and {} threads, pinned is worse", all + 1)])?;
    same(&told, told.contains("cpus of its own"), false)?;
    let document = json(&mut place.corewise(&["try", "--resume", "--json"]), 0)?;
    let pinned = document["observed"]["trials"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|trial| trial["arm"].as_u64() >= Some(2));
    let values: Vec<f64> = pinned.filter_map(|trial| trial["outcome"]["value"].as_f64()).collect();
    let expected: f64 = format!("20{all}").parse()?;
    same(&format!("{values:?}"), !values.is_empty() && values.iter().all(|value| *value == expected), true)
        .map(|()| Completion::Completed)
}

/// A decided experiment is drawn again without another run, from wherever that is asked for.
fn drawn() -> TryThreadsOutcome {
    let (place, numbers) = (TestPlace::new(), list(counts()));
    let [first, again] = ["first.svg", "again.svg"].map(|name| place.path().join(name));
    let [first_name, again_name] = [&first, &again].map(|path| path.display().to_string());
    let options = [&METRIC[..], &["--threads", &numbers, "--pinned", "no", "--svg", &first_name]].concat();
    let told = said(&mut trying(&place, &options, "echo rate {threads}00"), 0)?;
    contains(&told, &["Speed-up in rate against", "4.00x"])?;
    let picture = std::fs::read_to_string(&first)?;
    let document = roxmltree::Document::parse(&picture)?;
    let points = document.descendants().filter(|node| node.has_tag_name("circle")).count();
    same("points, and one in the legend", points, 4)?;
    std::fs::write(&again, "replaced")?;
    said(&mut place.corewise(&["try", "--resume", "--svg", &again_name]), 0)?;
    same("the picture", std::fs::read_to_string(&again)?, picture.clone())?;
    said(&mut place.corewise(&["history", "show", "1", "--svg", "here.svg"]), 0)?;
    same("the picture", std::fs::read_to_string(place.path().join("here.svg"))?, picture)?;
    let refused =
        done(&mut trying(&place, &["--svg", "none/a.svg", "--threads", "1,2", "--pinned", "no"], "echo {threads}"))?;
    same("the exit status", refused.status.code(), Some(3))?;
    contains(&text(&refused.stderr), &["--svg none/a.svg: there is no such folder"])?;
    Ok(Completion::Completed)
}

fn usage() -> TryThreadsOutcome {
    let place = TestPlace::new();
    let cases: [(&[&str], &str, i32, &[&str]); 6] = [
        (
            &["--threads", "1,2"],
            "true",
            2,
            &["the program does not get its number", "--threads-as OMP_NUM_THREADS", "{threads}"],
        ),
        (&["--threads", "1,2", "--on", "0"], "echo {threads}", 2, &["cannot be used with"]),
        (&["--threads", "1,2", "--guard", "a=b"], "echo {threads}", 2, &["--guard"]),
        (&["--pinned", "yes"], "true", 2, &["--threads"]),
        (&["--svg", "a.svg"], "true", 2, &["--svg needs at least two numbers", "--threads 1,2,4,8"]),
        (
            &["--threads", "4096", "--pinned", "no"],
            "echo {threads}",
            3,
            &["there is nothing to compare", "--threads takes"],
        ),
    ];
    for (options, script, code, words) in cases {
        let output = done(&mut trying(&place, options, script))?;
        let told = text(&output.stderr);
        same(&told, output.status.code(), Some(code))?;
        contains(&told, words)?;
    }
    Ok(Completion::Completed)
}

fn of_services() -> TryThreadsOutcome {
    let place = TestPlace::new();
    let file = place.path().join("served");
    let mask = "grep ^Cpus_allowed_list /proc/self/status | cut -f2";
    // The next one is not ready by the file of the last one.
    let serve = format!("echo {{threads}} $({mask}) >{0}.new; mv {0}.new {0}; sleep 60 & wait", file.display());
    let service = format!("server=trap 'rm -f {}; exit' TERM; {serve}", file.display());
    let ready = format!("test -s {}", file.display());
    // The load's own mask decides nothing: it is never pinned.
    let script =
        format!("read count cpus <{0}; test \"$({mask})\" = \"$ALL\" && echo rate $((count * 1000))", file.display());
    let status = std::fs::read_to_string("/proc/self/status")?;
    let all =
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).ok_or("no mask")?.trim().to_owned();
    let counts = list(counts());
    let options = ["--threads", &counts, "--start", &service, "--ready", &ready, "--rest", "0s", "--json"];
    let mut command = trying(&place, &[&options[..], &METRIC].concat(), &script);
    let output = done(command.env("ALL", &all))?;
    let document: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{error}: {}", text(&output.stderr)))?;
    let trials = document["observed"]["trials"].as_array().ok_or("no trials")?;
    let arms = document["observed"]["experiment"]["arms"].as_array().ok_or("no arms")?;
    same("values", trials.is_empty(), false)?;
    for trial in trials {
        let arm = &arms[trial["arm"].as_u64().ok_or("no arm")? as usize];
        let value = trial["outcome"]["value"].as_f64();
        same(&trial.to_string(), value, arm["threads"].as_f64().map(|threads| 1000.0 * threads))?;
    }
    Ok(Completion::Completed)
}
