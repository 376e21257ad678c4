//! `corewise try` as a user meets it: real commands on this machine whose speed, or whose output, depends on where they run.
//!
//! One experiment at a time is made on a machine; here each test has a lock of its own, and nothing rests between runs.

mod support;

use std::process::{Command, ExitCode, Output, Stdio};
use std::time::{Duration, Instant};

use corewise_sys::{affinity, signals};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::Value;
use support::TestPlace;

type TryOutcome = Result<Completion, Failed>;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trial = |name: &str, test: fn() -> TryOutcome| {
        Trial::ignorable_test(name, move || two_cpus().map_or_else(Ok, |()| test()))
    };
    let trials = vec![
        trial("a_placement_that_is_better_wins", wins),
        trial("where_none_is_better_it_is_said", no_difference),
        trial("what_takes_longer_loses_against_the_operating_system", by_time),
        trial("a_session_that_was_interrupted_goes_on", interrupted),
        trial("a_session_that_was_killed_goes_on", killed),
        trial("a_folder_that_is_not_utf_8_is_gone_back_to", strange_folder),
        trial("a_run_during_which_nobody_looked_is_made_again", held),
        trial("commands_that_give_no_number_are_told", no_number),
        trial("a_metric_is_taken_from_a_file_that_was_written_in_this_run", metric_file),
        trial("the_program_is_varied_before_each_block", varied),
        trial("a_memory_policy_is_in_force_where_it_is_tried", memory_policies),
        trial("a_placement_that_fails_is_out", one_fails),
        trial("what_hangs_is_ended", hangs),
        trial("only_one_is_made_at_a_time", locked),
        trial("one_cpu_is_nothing_to_try", one_cpu),
        trial("what_the_program_does_to_itself_is_told", own_mask),
        trial("other_programs_read_the_runs", exports),
        trial("a_truth_that_is_made_up_is_found", simulated),
        trial("a_winner_is_confirmed_in_stretches_or_not", confirmed),
        trial("who_avoids_slow_runs_wins_where_these_count", slow_runs),
        trial("a_suite_is_a_table_and_goes_on_where_it_ended", suite),
        trial("a_benchmark_that_the_budget_cannot_decide_is_dropped", dropped),
        trial("a_suite_that_cannot_be_tried_says_why", wrong_suites),
        trial("one_benchmark_that_cannot_be_run_costs_a_row", hard_benchmarks),
        trial("clock_rates_are_estimated_and_the_runs_stay_what_they_are", estimated),
        trial("a_suite_that_was_interrupted_is_cleaned_up", interrupted_suite),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Why nothing can be tried here.
fn two_cpus() -> Result<(), Completion> {
    let all = affinity::current_affinity().map_err(|error| Completion::ignored_with(error.to_string()))?;
    if all.len() > 1 { Ok(()) } else { Err(Completion::ignored_with("one cpu is allowed")) }
}

/// The first two cpus that may be used.
fn cpus() -> (u32, u32) {
    let all = affinity::current_affinity().expect("a thread has a mask");
    let mut all = all.iter();
    (all.next().unwrap_or_default(), all.next().unwrap_or_default())
}

/// A shell script that says "score 20.14" on the first cpu alone, and "score 10.07" elsewhere: no noise, and a difference that no
/// machine can hide.
fn scores() -> String {
    let (first, _) = cpus();
    format!(
        "if grep -q '^Cpus_allowed_list:.{first}$' /proc/self/status; then echo score 20.14; else echo score 10.07; fi"
    )
}

/// Says a score of 10.0 and some thousandths, which are others in each trial: a constant would be no measurement.
const STEADY: &str = "echo score 10.0${#COREWISE_PADDING}";

const METRIC: [&str; 3] = ["--metric", "score=score ([0-9.]+)", "--higher"];

/// `corewise try` with options and a shell script.
fn trying(place: &TestPlace, options: &[&str], script: &str) -> Command {
    let mut command = place.corewise(&["try", "--no-confirm", "--seed", "7"]);
    command.args(options).args(["--", "sh", "-c", script]).stdin(Stdio::null());
    command
}

fn done(command: &mut Command) -> Result<Output, Failed> {
    Ok(command.output()?)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The words on standard output; the exit status has to be this.
fn said(command: &mut Command, code: i32) -> Result<String, Failed> {
    let output = done(command)?;
    let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
    same(&told, output.status.code(), Some(code))?;
    Ok(text(&output.stdout))
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), Failed> {
    if found == expected { Ok(()) } else { Err(format!("{what}\n   found {found:?}\nexpected {expected:?}").into()) }
}

/// Whatever the width, lines may end anywhere between words.
fn contains(told: &str, words: &[&str]) -> Result<(), Failed> {
    let told = &told.split_whitespace().collect::<Vec<_>>().join(" ");
    words.iter().try_for_each(|word| same(&format!("{word:?} is in\n{told}"), told.contains(word), true))
}

fn strange_folder() -> TryOutcome {
    use std::os::unix::ffi::OsStrExt as _;
    let place = TestPlace::new();
    let folder = place.path().join(std::ffi::OsStr::from_bytes(b"\xff"));
    std::fs::create_dir(&folder)?;
    std::fs::write(folder.join("here"), "")?;
    let program = ["try", "--on", "0", "--runs-max", "2", "--", "test", "-e", "here"];
    done(place.corewise(&program).current_dir(&folder))?;
    let resumed = done(&mut place.corewise(&["try", "--resume", "--runs-max", "4", "--json"]))?;
    let document: Value = serde_json::from_slice(&resumed.stdout).map_err(|_| text(&resumed.stderr))?;
    same("folder", &document["observed"]["experiment"]["workload"]["folder"], &folder.as_os_str().as_bytes().into())?;
    let failed = document["observed"]["trials"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|trial| !trial["outcome"]["failed"].is_null());
    same("a run failed", failed, false)?;
    Ok(Completion::Completed)
}

fn wins() -> TryOutcome {
    let (place, (first, second)) = (TestPlace::new(), cpus());
    let on = [format!("--on={first}"), format!("--on={second}")];
    let options = [&METRIC[..], &[&on[0], &on[1]]].concat();
    let told = said(&mut trying(&place, &options, &scores()), 1)?;
    let sentence = format!(": cpu {first} is at least 2.0x");
    contains(
        &told,
        &[
            "So far, in ",
            &sentence,
            "better in score",
            "wins",
            &format!("corewise run --on {first} -- sh"),
            "taskset -c",
            "stored as experiment 1",
        ],
    )?;
    // What is decided is not run again, and stays what it was.
    let again: Value =
        serde_json::from_str(&said(&mut place.corewise(&["try", "--no-confirm", "--resume", "--json"]), 1)?)?;
    same("the verdict", &again["conclusions"]["standing"]["verdict"]["kind"], &"wins".into())?;
    for sentence in ["/sentences/0", "/commands/0", "/notes/0"] {
        contains(&told, &[again.pointer(sentence).and_then(Value::as_str).ok_or(sentence)?])?;
    }
    let trials = again["observed"]["trials"].as_array().map_or(0, Vec::len) as u64;
    same("trials", trials, again["conclusions"]["standing"]["runs"].as_u64().unwrap_or_default() + 3)?;
    contains(&said(&mut place.corewise(&["history"]), 0)?, &["experiment", "sh -c if grep"])?;
    let shown: Value = serde_json::from_str(&said(&mut place.corewise(&["history", "show", "1", "--json"]), 0)?)?;
    same("it is shown as it was", &shown, &again)?;
    let lines = said(&mut place.corewise(&["history", "show", "1", "--csv"]), 0)?.split("\r\n").count() as u64;
    same("its runs", lines, trials + 1)?;
    contains(&told, &["runs in one boot (error rate 5 %)"])?;
    same("alone", told.contains("With this command"), false)?;
    let third = said(&mut trying(&place, &[&options[..], &["--runs-max", "6"]].concat(), &scores()), 1)?;
    contains(&third, &["With this command this machine has 2 experiments; the others: 1 won so far (1)."])?;
    said(&mut place.corewise(&["history", "delete", "2"]), 0)?;
    let other = done(&mut place.corewise(&["history", "show", "3"]))?;
    same("another", other.status.code(), Some(3))?;
    contains(&text(&other.stderr), &["there is no number 3 in ", "; it has 1"])?;
    Ok(Completion::Completed)
}

fn no_difference() -> TryOutcome {
    let (place, (first, _)) = (TestPlace::new(), cpus());
    let on = format!("--on={first}");
    let told = said(&mut trying(&place, &[&METRIC[..], &[&on]].concat(), STEADY), 0)?;
    contains(&told, &["Leave it to the operating system.", "is not 3 % better", "≈"])?;
    same("the first has usual bets", told.contains("bets from"), false)?;
    let second = said(&mut trying(&place, &[&METRIC[..], &[&on]].concat(), STEADY), 0)?;
    contains(&second, &["bets from the noise of experiment 1: "])?;
    let other = said(&mut trying(&place, &[&METRIC[..], &[&on]].concat(), &format!("true; {STEADY}")), 0)?;
    same("another command has usual bets", other.contains("bets from"), false)?;
    let again: Value = serde_json::from_str(&said(&mut place.corewise(&["try", "--again", "1", "--json"]), 0)?)?;
    same("the source", &again["observed"]["experiment"]["policy"]["expected_noise"]["experiment"], &2.into())?;
    Ok(Completion::Completed)
}

/// Three times as long on the first cpu: whatever else happens on this machine is less than that.
fn by_time() -> TryOutcome {
    let (place, (first, _)) = (TestPlace::new(), cpus());
    let script =
        format!("if grep -q '^Cpus_allowed_list:.{first}$' /proc/self/status; then sleep 0.3; else sleep 0.1; fi");
    let told = said(&mut trying(&place, &["--json", &format!("--on={first}")], &script), 0)?;
    let document: Value = serde_json::from_str(&told)?;
    same("the verdict", &document["conclusions"]["standing"]["verdict"]["kind"], &"no-material-difference".into())?;
    let effect = document["conclusions"]["standing"]["arms"][1]["effect"]["estimate"].as_f64().unwrap_or_default();
    same(&format!("its effect, {effect}, is that of a slower one"), effect < -0.5, true)?;
    let walls = document["observed"]["trials"].as_array().into_iter().flatten();
    let shortest = walls.filter_map(|trial| trial["observed"]["wall_s"].as_f64()).fold(f64::MAX, f64::min);
    same(&format!("no run takes less than its sleep: {shortest}"), shortest >= 0.1, true)?;
    Ok(Completion::Completed)
}

/// Starts a session, and gives it when so many runs are kept.
fn running(place: &TestPlace, runs: u32) -> Result<std::process::Child, Failed> {
    let (first, _) = cpus();
    let log = place.path().join("runs");
    // Long enough that each run is a trial.
    let script = format!("echo run >>{}; sleep 0.25; {}", log.display(), scores());
    let on = format!("--on={first}");
    let options = [&METRIC[..], &["--budget", "10m", &on]].concat();
    let mut command = trying(place, &options, &script);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let since = Instant::now();
    let made = || std::fs::read_to_string(&log).unwrap_or_default().lines().count() as u32;
    while made() < runs {
        if since.elapsed() > Duration::from_secs(120) {
            return Err(format!("{} runs after two minutes", made()).into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(child)
}

/// The session goes on to the end, and its verdict is that of an uncut one.
fn goes_on(place: &TestPlace) -> TryOutcome {
    let document: Value =
        serde_json::from_str(&said(&mut place.corewise(&["try", "--no-confirm", "--resume", "--json"]), 1)?)?;
    same("the verdict", &document["conclusions"]["standing"]["verdict"]["kind"], &"wins".into())?;
    let blocks: Vec<u64> = document["observed"]["trials"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|trial| trial["block"].as_u64())
        .collect();
    let sessions = blocks.windows(2).filter(|pair| pair[0] > 0 && pair[1] == 0).count() + 1;
    same(&format!("sessions in {blocks:?}"), sessions, 2)?;
    Ok(Completion::Completed)
}

fn interrupted() -> TryOutcome {
    let place = TestPlace::new();
    let child = running(&place, 6)?;
    signals::send_signal(child.id(), 2);
    let output = child.wait_with_output()?;
    let told = text(&output.stdout);
    same(&told, output.status.code(), Some(130))?;
    contains(&told, &["Not decided after", "corewise try --resume=1"])?;
    goes_on(&place)
}

fn killed() -> TryOutcome {
    let place = TestPlace::new();
    let child = running(&place, 6)?;
    signals::send_signal(child.id(), 9);
    child.wait_with_output()?;
    goes_on(&place)
}

/// As with Ctrl-Z and fg: the run under way would seem to take until then.
fn held() -> TryOutcome {
    const HELD: Duration = Duration::from_secs(3);
    let place = TestPlace::new();
    let child = running(&place, 4)?;
    signals::send_signal(child.id(), 19);
    std::thread::sleep(HELD);
    signals::send_signal(child.id(), 18);
    let output = child.wait_with_output()?;
    same(&text(&output.stderr), output.status.code(), Some(1))?;
    let document: Value = serde_json::from_str(&said(&mut place.corewise(&["history", "show", "1", "--json"]), 0)?)?;
    let walls = document["observed"]["trials"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|trial| trial["observed"]["wall_s"].as_f64());
    let longest = walls.fold(0.0, f64::max);
    same(&format!("the longest run took {longest} s"), longest > 0.0 && longest < HELD.as_secs_f64(), true)?;
    Ok(Completion::Completed)
}

fn no_number() -> TryOutcome {
    let (place, (first, _)) = (TestPlace::new(), cpus());
    let on = format!("--on={first}");
    let cases = [
        ("echo so it goes; exit 3", &[][..], &["exit status 3", "so it goes"][..]),
        ("kill -9 $$", &[], &["killed by signal 9", "It printed nothing."]),
        ("sleep 1000 & exit 0", &[], &["left running processes behind"]),
        ("echo speed 10", &METRIC, &["its metric score is not in its output", "speed 10"]),
        ("echo score 0", &METRIC, &["its metric is 0, and must be above zero"]),
    ];
    for (script, options, words) in cases {
        let output = done(&mut trying(&place, &[options, &[&on]].concat(), script))?;
        let told = text(&output.stderr);
        same(&told, output.status.code(), Some(3))?;
        contains(&told, words)?;
    }
    let output = done(place.corewise(&["try", &on, "--", "/no/such/program"]).stdin(Stdio::null()))?;
    let told = text(&output.stderr);
    same(&told, output.status.code(), Some(3))?;
    contains(&told, &["/no/such/program", "cannot be started"])?;
    Ok(Completion::Completed)
}

/// The script has a number of its own for each block, which the runs of the block have too.
fn varied() -> TryOutcome {
    let (place, (first, _)) = (TestPlace::new(), cpus());
    let on = format!("--on={first}");
    let trying = |script: &str, run: &str| {
        let options = ["--vary", script, "--runs-max=8", "--rest=0s", &on];
        let mut command = trying(&place, &options, run);
        command.current_dir(place.path());
        command
    };
    said(
        &mut trying(
            "echo $COREWISE_VARY >built; echo $COREWISE_VARY >>all",
            "cat built >>seen; test $(cat built) = $COREWISE_VARY",
        ),
        1,
    )?;
    let [all, seen] = ["all", "seen"].map(|name| std::fs::read_to_string(place.path().join(name)).unwrap_or_default());
    let all: Vec<&str> = all.lines().collect();
    let mut found: Vec<&str> = seen.lines().collect();
    found.dedup();
    same("the number of each block", &found, &all)?;
    // The runs before the first block, and four blocks of two.
    same("blocks", all.len(), 5)?;
    same("different numbers", all.iter().collect::<std::collections::BTreeSet<_>>().len(), 5)?;
    let output = done(&mut trying("echo no such rule; exit 2", "true"))?;
    same("the status where it fails", output.status.code(), Some(3))?;
    contains(&text(&output.stderr), &["the script of --vary failed: exit status 2", "no such rule"])?;
    Ok(Completion::Completed)
}

/// The kernel shows the policy of each mapping in numa_maps: the score is high where memory is bound.
fn memory_policies() -> TryOutcome {
    let maps = std::fs::read_to_string("/proc/self/numa_maps");
    if maps.is_err() || corewise_sys::memory_policy::allowed_nodes().is_err() {
        return Ok(Completion::ignored_with("the kernel has no NUMA, or memory policies are closed to this process"));
    }
    let (place, (first, _)) = (TestPlace::new(), cpus());
    let script = "if grep -q ' bind:' /proc/self/numa_maps; then echo score 20.14; else echo score 10.07; fi";
    let on = format!("--on={first}");
    let options = [&METRIC[..], &["--on", "os @ bind:0", &on]].concat();
    let told = said(&mut trying(&place, &options, script), 1)?;
    contains(
        &told,
        &["os @ bind:0 is at least 2.0x", "corewise run --on all --memory bind:0 -- sh", "numactl --membind=0 sh"],
    )?;
    // By --memory it is crossed with each placement.
    let crossed = [&METRIC[..], &["--memory", "bind:0", "--runs-max", "4", "--json", &on]].concat();
    let output = done(&mut trying(&place, &crossed, script))?;
    let document: Value = serde_json::from_slice(&output.stdout).map_err(|_| text(&output.stderr))?;
    let arms = document["observed"]["experiment"]["arms"].as_array().cloned().unwrap_or_default();
    let names: Vec<&str> = arms.iter().filter_map(|arm| arm["name"].as_str()).collect();
    let both = format!("{first} @ bind:0");
    same("arms", &names, &vec!["OS default", "os @ bind:0", &first.to_string(), &both])?;
    for (options, code, words) in [
        (&["--on", "os @ near:0"][..], 2, "expected local, bind:NODES"),
        (&["--on", "os @ bind:999"], 3, "node:999"),
        (&["--memory", "bind"], 2, "expected local, bind:NODES"),
        // What it comes to is what a program has without it.
        (&["--memory", "local"], 3, "there is nothing to try"),
    ] {
        let output = done(&mut trying(&place, options, "true"))?;
        let told = text(&output.stderr);
        same(&format!("{options:?}: {told}"), (output.status.code(), told.contains(words)), (Some(code), true))?;
    }
    Ok(Completion::Completed)
}

/// A script that writes `results.json` with the score where it runs.
fn writes_scores() -> String {
    format!("({}) | sed 's/score \\(.*\\)/{{\\n \"score\": \\1,\\n \"frames\": 7\\n}}/' > results.json", scores())
}

fn metric_file() -> TryOutcome {
    let (place, (first, _)) = (TestPlace::new(), cpus());
    let on = format!("--on={first}");
    let options = ["--metric", "score", "--metric-file", "results.json", &on];
    let trying = |script: &str| {
        let mut command = trying(&place, &options, script);
        command.current_dir(place.path());
        command
    };
    let file = place.path().join("results.json");
    contains(&said(&mut trying(&writes_scores()), 1)?, &["So far, in ", "better in score"])?;
    contains(&std::fs::read_to_string(&file)?, &["\"score\":"])?;
    // The last run's file is there, but not of this run.
    let refused = |script: &str, words: &[&str]| {
        let output = done(&mut trying(script))?;
        let told = text(&output.stderr);
        same(&told, output.status.code(), Some(3))?;
        contains(&told, words)
    };
    refused("echo score: 10", &["the metric file was not written", "results.json"])?;
    same("it is gone", file.exists(), false)?;
    refused("echo frames: 10 > results.json", &["its metric score is not in results.json"])?;
    refused("rm -f results.json; mkfifo results.json", &["results.json", "pipe"])?;
    std::fs::remove_file(&file)?;
    // What is no regular file is nothing that corewise would remove.
    std::fs::write(place.path().join("precious"), "score: 1")?;
    std::os::unix::fs::symlink("precious", &file)?;
    refused("echo score: 10 > results.json", &["results.json", "no regular file"])?;
    same("untouched", std::fs::read_to_string(&file)?, "score: 1".to_owned())?;
    Ok(Completion::Completed)
}

fn one_fails() -> TryOutcome {
    let (place, (first, _)) = (TestPlace::new(), cpus());
    let script = format!(
        "if grep -q '^Cpus_allowed_list:.{first}$' /proc/self/status; then echo no luck; exit 1; fi; echo score 10.07"
    );
    let told = said(&mut trying(&place, &[&METRIC[..], &[&format!("--on={first}")]].concat(), &script), 1)?;
    contains(
        &told,
        &["Leave it to the operating system.", "failed on every other placement", "exit status 1", "no luck"],
    )?;
    Ok(Completion::Completed)
}

fn hangs() -> TryOutcome {
    let (place, (first, _)) = (TestPlace::new(), cpus());
    let options = ["--timeout", "100ms", &format!("--on={first}")];
    let output = done(&mut trying(&place, &options, "sleep 1000"))?;
    let told = text(&output.stderr);
    same(&told, output.status.code(), Some(3))?;
    contains(&told, &["took longer than 0.1 s"])?;
    Ok(Completion::Completed)
}

fn locked() -> TryOutcome {
    let place = TestPlace::new();
    let mut child = running(&place, 1)?;
    let output = done(&mut trying(&place, &["--on=0"], "true"));
    signals::send_signal(child.id(), 9);
    child.wait()?;
    let output = output?;
    same("the status", output.status.code(), Some(3))?;
    contains(&text(&output.stderr), &["another corewise of yours is measuring"])?;
    Ok(Completion::Completed)
}

fn one_cpu() -> TryOutcome {
    let (place, (first, _)) = (TestPlace::new(), cpus());
    let corewise = trying(&place, &[], "true");
    let mut command = Command::new("taskset");
    command.args(["-c", &first.to_string()]).arg(corewise.get_program()).args(corewise.get_args());
    for (name, value) in corewise.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let Ok(output) = command.output() else {
        return Ok(Completion::ignored_with("taskset is not installed (util-linux)"));
    };
    let told = text(&output.stderr);
    same(&told, output.status.code(), Some(3))?;
    contains(&told, &["there is nothing to try"])?;
    Ok(Completion::Completed)
}

fn own_mask() -> TryOutcome {
    let (place, (first, second)) = (TestPlace::new(), cpus());
    if Command::new("taskset").arg("--version").output().is_err() {
        return Ok(Completion::ignored_with("taskset is not installed (util-linux)"));
    }
    let script = format!("taskset -pc {second} $$ >/dev/null; sleep 0.1; {STEADY}");
    let told = said(&mut trying(&place, &[&METRIC[..], &[&format!("--on={first}")]].concat(), &script), 0)?;
    contains(&told, &["Note: the program set its own cpus"])?;
    Ok(Completion::Completed)
}

fn exports() -> TryOutcome {
    let (place, (first, _)) = (TestPlace::new(), cpus());
    let options = |how: &'static str| [&METRIC[..], &["--runs-max", "8", how]].concat();
    let on = format!("--on={first}");
    let guard = "--guard=rest=rest ([0-9]+)";
    let options_of_lines = [&options("--csv")[..], &[guard, &on]].concat();
    let told = said(&mut trying(&place, &options_of_lines, "echo score 10.07; echo rest 0; echo 'a, \"b\"'"), 1)?;
    let lines: Vec<&str> = told.trim_end().split("\r\n").collect();
    same("fields of the names", lines[0].split(',').count(), 34)?;
    same("warm-ups", lines.iter().filter(|line| line.starts_with("0,") && line.contains(",true,,")).count(), 2)?;
    same("others", lines[3..].iter().all(|line| line.ends_with(",false,,")), true)?;
    same("its caveats", lines[1].contains(",true,,\""), true)?;
    same("lines", lines.len() >= 1 + 2 + 4, true)?;
    same("the first run", lines[1].starts_with("0,0,0,OS default,,"), true)?;
    same("its guard", lines[1].contains(",rest=0,"), true)?;
    let told = said(&mut trying(&place, &[&options("--markdown")[..], &[&on]].concat(), &scores()), 1)?;
    contains(
        &told,
        &[
            "| placement | cpus | cpu list | runs | median score |",
            "|---|",
            "| OS default | | all | 4 | 10.1 |",
            "- Checks: ",
        ],
    )?;
    let told = said(&mut trying(&place, &[&options("--json")[..], &[&on]].concat(), &scores()), 1)?;
    let document: Value = serde_json::from_str(&told)?;
    let trials = document["observed"]["trials"].as_array().ok_or("no trials")?;
    same("warm-ups", trials.iter().all(|trial| trial["warm_up"] == (trial["block"] == 0)), true)?;
    let numbers = &document["conclusions"]["numbers"];
    same("what decides", (&numbers["error_rate"], &numbers["margin_ratio"]), (&0.05.into(), &1.03.into()))?;
    same("boots", &numbers["boots"], &1.into())?;
    let median = numbers["arms"][1]["median"].as_f64().unwrap_or_default();
    same(&format!("the median {median}"), (median - 20.14).abs() < 1e-9, true)?;
    Ok(Completion::Completed)
}

/// A shell that computes for 0.6 s, of the system's time, and starts nothing.
const COMPUTES: &str = "now() { read up rest < /proc/uptime; now=${up%.*}${up#*.}; }; now; end=$((now + 60)); \
                        while [ $now -lt $end ]; do now; done";

fn estimated() -> TryOutcome {
    let (place, (first, _)) = (TestPlace::new(), cpus());
    let on = format!("--on={first}");
    let options = ["--estimate-clock", "--runs-max=4", &on];
    let told: Value =
        serde_json::from_str(&said(&mut trying(&place, &[&options[..], &["--json"]].concat(), COMPUTES), 1)?)?;
    let trials = told["observed"]["trials"].as_array().ok_or("no trials")?;
    same("trials", trials.len() >= 4, true)?;
    for trial in trials {
        let observed = &trial["observed"];
        // No visit fits into a run whose cpus others take.
        let Some(gigahertz) = observed["gigahertz"].as_f64() else {
            let is_busy = observed["involuntary_switches"].as_u64() > Some(100);
            same(&format!("a reason for no clock rate: {observed}"), is_busy, true)?;
            return Ok(Completion::ignored_with("others keep the cpus busy"));
        };
        same(&format!("a clock rate: {observed}"), gigahertz > 0.1 && gigahertz < 10.0, true)?;
        same("threads", &observed["most_threads"], &1.into())?;
        same("its own mask", observed.get("own_mask").is_none(), true)?;
        if trial["arm"] == 1 {
            same("its cpus", &observed["used"], &first.to_string().into())?;
        }
    }
    if trials.iter().any(|trial| trial["observed"]["gigahertz_is_estimate"] != true) {
        return Ok(Completion::ignored_with("cycles are counted here"));
    }
    let file = place.path().join("one.toml");
    let benchmark = format!(
        "name = \"one\"\n[[benchmark]]\nname = \"computes\"\ncategory = \"all\"\ncommand = [\"sh\", \"-c\", '{COMPUTES}']\n"
    );
    std::fs::write(&file, benchmark)?;
    let told = said(place.corewise(&["try", "--suite"]).arg(&file).args(options).stdin(Stdio::null()), 1)?;
    contains(&told, &["Clock", "while they ran medians; ~ is estimated, not counted"])?;
    let row = told.lines().rfind(|line| line.trim_start().starts_with("computes")).unwrap_or_default();
    same(row, row.matches('~').count(), 2)?;
    Ok(Completion::Completed)
}

fn simulated() -> TryOutcome {
    let place = TestPlace::new();
    let truth = place.path().join("truth.toml");
    std::fs::write(&truth, "gains = [0.2, 0.0]\nnoise = \"typical\"\n")?;
    let path = truth.display().to_string();
    let told = said(&mut place.corewise(&["try", "--seed", "7", "--simulate", &path]), 0)?;
    contains(
        &told,
        &["So far, in ", "candidate 2", "Confirmed. Pin it. candidate 1 is", "each trial is 2 runs in a row"],
    )?;
    same("it is stored", told.contains("stored"), false)?;
    let alone = said(&mut place.corewise(&["try", "--no-confirm", "--seed", "7", "--simulate", &path]), 1)?;
    same("it is tried again", alone.contains("Pin it."), false)?;
    // What leaves the OS default slower after it wins, and does not win again.
    let spoils = "gains = [0.0]\nnoise = \"typical\"\ncarry_over = 0.1\ncarry_over_hits = \"baseline\"\n";
    std::fs::write(&truth, spoils)?;
    let told = said(&mut place.corewise(&["try", "--seed", "1", "--simulate", &path]), 1)?;
    contains(&told, &["So far, in ", "Not confirmed. It won ", " runs in ", "and not again afterwards."])?;
    same("it is pinned", told.contains("Pin it."), false)?;
    std::fs::write(&truth, "gains = [0.2]")?;
    let output = done(&mut place.corewise(&["try", "--simulate", &path]))?;
    same("the status", output.status.code(), Some(2))?;
    contains(&text(&output.stderr), &["truth.toml", "missing field `noise`"])?;
    std::fs::write(&truth, "gains = []\nnoise = \"typical\"\n")?;
    let output = done(&mut place.corewise(&["try", "--simulate", &path]))?;
    contains(&text(&output.stderr), &["`gains` must be a list of at least one number"])?;
    Ok(Completion::Completed)
}

/// Who slows the runs that follow, ever more, wins in short turns and not in stretches; who is truly better wins in both.
fn confirmed() -> TryOutcome {
    let place = TestPlace::new();
    let truth = place.path().join("truth.toml");
    let path = truth.display().to_string();
    let confirm = |truth_is: &str, seed: &str, status| {
        std::fs::write(&truth, truth_is)?;
        said(&mut place.corewise(&["try", "--confirm", "--seed", seed, "--simulate", &path]), status)
    };
    let better = confirm("gains = [0.0, 0.1]\nnoise = \"typical\"\n", "1", 0)?;
    contains(&better, &["Confirmed. Pin it. candidate 2", "each trial is 20 runs in a row"])?;
    let heats = "gains = [0.0]\nnoise = \"typical\"\ncarry_over = 0.05\ncarry_over_left = 0.8\n";
    let worse = confirm(heats, "2", 0)?;
    contains(&worse, &["So far, in ", "Not confirmed. It won ", "slower"])?;
    Ok(Completion::Completed)
}

/// One run in five takes three times as long, except on the first cpu.
fn slow_runs() -> TryOutcome {
    let place = TestPlace::new();
    let count = place.path().join("count").display().to_string();
    let (first, _) = cpus();
    let script = format!(
        "n=$(cat {count} 2>/dev/null || echo 0); echo $((n + 1)) > {count}; \
         if grep -q '^Cpus_allowed_list:.{first}$' /proc/self/status || [ $((n % 5)) != 0 ]; \
         then echo took 10.07; else echo took 30.07; fi"
    );
    let on = first.to_string();
    let options = ["--what", "tail", "--lower", "--metric", "took=took ([0-9.]+)", "--rest", "0s", "--on", &on];
    let told = said(&mut trying(&place, &options, &script), 1)?;
    contains(&told, &["So far, in ", "is better", "of 100 runs fewer are slow", "0 %"])?;
    for (words, says) in [
        (["--what", "worst"], "invalid value"),
        (["--slow", "1"], "expected a number above 1"),
        (["--cap", "0.5x"], "expected a number above 1"),
    ] {
        let output = done(&mut place.corewise(&[&["try"][..], &words, &["--", "true"]].concat()))?;
        same("the status", output.status.code(), Some(2))?;
        contains(&text(&output.stderr), &[says])?;
    }
    Ok(Completion::Completed)
}

/// Four benchmarks in two categories: one that is better on the first cpu, one that is the same, one that is missing, one that
/// cannot be set up.
fn small_suite() -> String {
    let metric = r#"metric = { name = "score", pattern = "score ([0-9.]+)", higher = true }"#;
    format!(
        r#"
name = "small"
[install]
made-up = "pacman -S"
[[benchmark]]
name = "one cpu"
category = "scores"
command = ["./own.sh"]
folder = "."
{metric}
[[benchmark]]
name = "same"
category = "scores"
command = ["sh", "made.sh"]
setup = "echo '{STEADY}' > made.sh"
cleanup = "test -f made.sh && touch {{}}/cleaned"
{metric}
[[benchmark]]
name = "missing"
category = "others"
command = ["no-such-program"]
packages = {{ made-up = "nothing" }}
[[benchmark]]
name = "broken"
category = "others"
command = ["true"]
setup = "echo no luck; exit 3"
"#
    )
}

/// A benchmark that its part of the budget cannot decide leaves the rest to the others. A busy machine needs more than the first budget.
fn dropped() -> TryOutcome {
    let mut told = String::new();
    for seconds in [12, 48, 192] {
        let (place, (first, _)) = (TestPlace::new(), cpus());
        let benchmark = |name: &str, sleep: f64| {
            format!("[[benchmark]]\nname = \"{name}\"\ncategory = \"c\"\ncommand = [\"sleep\", \"{sleep}\"]\n")
        };
        let benchmarks = [benchmark("long", 5.0 * f64::from(seconds)), benchmark("brief", 0.1)];
        std::fs::write(place.path().join("two.toml"), format!("name = \"two\"\n{}", benchmarks.concat()))?;
        let (on, budget) = (format!("--on={first}"), format!("{seconds}s"));
        let words = ["try", "--suite", "two.toml", &on, "--budget", &budget, "--width", "200"];
        let run = place.corewise(&words).stdin(Stdio::null()).output()?;
        told = format!("{}{}", text(&run.stdout), text(&run.stderr));
        contains(
            &told,
            &["long (dropped)", "dropped long: one run on each placement takes longer than its part of the budget"],
        )?;
        if run.status.code() == Some(1) && !told.contains("brief (") {
            return Ok(Completion::Completed);
        }
    }
    Err(format!("the other was not tried: {told}").into())
}

fn suite() -> TryOutcome {
    let (place, (first, _)) = (TestPlace::new(), cpus());
    let folder = place.path().display().to_string();
    let file = place.path().join("small.toml");
    std::fs::write(&file, small_suite().replace("{}", &folder))?;
    let script = place.path().join("own.sh");
    std::fs::write(&script, format!("#!/bin/sh\n{}\n", scores()))?;
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let trying = |options: &[&str]| {
        let mut command = place.corewise(&["try", "--suite"]);
        command.arg(&file).args(options).stdin(Stdio::null()).current_dir("/");
        command
    };
    let on = format!("--on={first}");
    let told = said(&mut trying(&[&on, "--margin", "20%", "--error-rate", "10%"]), 0)?;
    let (one, same_row) = (format!("cpu {first}: proven better in 1 of 2 benchmarks"), "geometric mean of 2");
    contains(&told, &[&one, same_row, "missing (not installed)", "broken (failed)", "exit status 3 no luck"])?;
    contains(&told, &["Not installed: no-such-program.", "Stored as experiments 1 to 2"])?;
    same("the clean-up was run", place.path().join("cleaned").exists(), true)?;
    // What is decided is not run again.
    let again: Value = serde_json::from_str(&said(&mut trying(&["--resume", "--json"]), 0)?)?;
    let experiments: Vec<&Value> =
        again["benchmarks"].as_array().into_iter().flatten().map(|row| &row["experiment"]).collect();
    let stored: Vec<Option<i64>> = experiments.iter().map(|experiment| experiment["stored"].as_i64()).collect();
    same("the experiments", stored, vec![Some(1), Some(2), None, None])?;
    let sessions = experiments[0]["observed"]["trials"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|trial| trial["block"] == 0)
        .count();
    same("runs before the first block", sessions, 2)?;
    same("how it is judged", [&again["policy"]["margin"], &again["policy"]["error_rate"]], [&0.2.into(), &0.1.into()])?;
    let mean = &again["means"][0]["mean"];
    let ends = [&mean["effect"]["low"], &mean["effect"]["high"]].map(|end| end.as_f64().is_some());
    same(&format!("{mean}"), (mean["experiments"].as_u64(), ends), (Some(2), [true, true]))?;
    let alone = done(&mut place.corewise(&["try", "--resume=1"]))?;
    same("a part alone", alone.status.code(), Some(3))?;
    contains(&text(&alone.stderr), &["experiment 1 is part of the suite", "--suite SUITE --resume"])?;
    // A store that is named from the folder where one was.
    let mut relative = trying(&[&on, "--store", "here.db", "--runs-max", "14"]);
    said(relative.current_dir(place.path()), 0)?;
    same("the store is where it was named", place.path().join("here.db").exists(), true)?;
    contains(&said(&mut trying(&["--install"]), 0)?, &["Missing: pacman -S nothing # made-up"])?;
    Ok(Completion::Completed)
}

fn wrong_suites() -> TryOutcome {
    let place = TestPlace::new();
    let file = place.path().join("suite.toml");
    let path = file.display().to_string();
    let refused = |words: &[&str], code: i32, expected: &[&str]| {
        let output = done(place.corewise(&["try"]).args(words).stdin(Stdio::null()))?;
        let told = text(&output.stderr);
        same(&told, output.status.code(), Some(code))?;
        contains(&told, expected)
    };
    refused(&["--suite", &path], 2, &["suite.toml: No such file", "Built-in suites: review, workloads"])?;
    std::fs::write(&file, "name = \"x\"\n[[benchmark]]\nname = \"y\"\ncategory = \"z\"\ncommand = []\n")?;
    refused(&["--suite", &path], 2, &["benchmark \"y\": command must name a program"])?;
    let with = |more: &str, packages: &str| {
        format!(
            "name = \"x\"\n{more}\n[[benchmark]]\nname = \"y\"\ncategory = \"z\"\ncommand = [\"no-such\"]\n{packages}\n"
        )
    };
    std::fs::write(&file, with("[install]\ndebian = \"rm -rf\"", ""))?;
    refused(&["--suite", &path, "--install"], 2, &["install, debian: \"rm -rf\" is not one of: apt install, "])?;
    std::fs::write(&file, with("[install]\ndebian = \"apt install\"", r#"packages = { debian = "x; id\u001b[31m" }"#))?;
    let expected = r#"benchmark "y": "x;" is not the name of a package"#;
    refused(&["--suite", &path, "--install"], 2, &[expected])?;
    refused(&["--suite", &path, "--", "ls"], 2, &["cannot be used with"])?;
    refused(&["--suite", "review", "--resume"], 3, &["there is no session of the suite \"review\""])?;
    refused(&["--suite", "review", "--resume=3"], 2, &["takes no number"])?;
    Ok(Completion::Completed)
}

/// What set-ups do to themselves, and what is not there.
fn hard_benchmarks() -> TryOutcome {
    let (place, (first, _)) = (TestPlace::new(), cpus());
    let file = place.path().join("hard.toml");
    let benchmark = |name: &str, more: &str| {
        format!(
            "[[benchmark]]\nname = \"{name}\"\ncategory = \"hard\"\ncommand = [\"sh\", \"-c\", \"{}\"]\n{more}\n\
             metric = {{ name = \"score\", pattern = \"score ([0-9.]+)\", higher = true }}\n",
            if name == "crashes" {
                format!("grep -q '^Cpus_allowed_list:.{first}$' /proc/self/status && exit 1; {STEADY}")
            } else {
                STEADY.to_owned()
            }
        )
    };
    let suite = [
        "name = \"hard\"\n".to_owned(),
        benchmark("server", "setup = \"sleep 1000 &\""),
        benchmark("zombie", "setup = \"(sleep 0.02 &) >/dev/null 2>&1\""),
        benchmark("elsewhere", "folder = \"nowhere\""),
        benchmark("loud", "setup = \"yes | head -c 30000000\""),
        benchmark("crashes", ""),
    ];
    std::fs::write(&file, suite.concat())?;
    let mut command = place.corewise(&["try", "--suite"]);
    command.arg(&file).arg(format!("--on={first}")).stdin(Stdio::null());
    let output = done(&mut command)?;
    let told = text(&output.stdout);
    same(&told, output.status.code(), Some(1))?;
    contains(
        &told,
        &[
            "server (failed)",
            "its set-up left 1 running process behind, which corewise ended",
            "elsewhere (failed)",
            "nowhere: No such file",
            &format!("cpu {first}: proven better in 0 of "),
            "failed in 1",
        ],
    )?;
    same("the loud one was tried", told.contains("loud (failed)"), false)?;
    Ok(Completion::Completed)
}

fn interrupted_suite() -> TryOutcome {
    let (place, (first, _)) = (TestPlace::new(), cpus());
    let (file, log, cleaned) = (place.path().join("s.toml"), place.path().join("runs"), place.path().join("cleaned"));
    let suite = format!(
        "name = \"s\"\n[[benchmark]]\nname = \"a\"\ncategory = \"c\"\n\
         command = [\"sh\", \"-c\", \"echo run >>{}; sleep 0.1\"]\ncleanup = \"sleep 0.1; touch {}\"\n",
        log.display(),
        cleaned.display()
    );
    std::fs::write(&file, suite)?;
    let mut command = place.corewise(&["try", "--suite"]);
    command.arg(&file).arg(format!("--on={first}")).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn()?;
    let since = Instant::now();
    while !log.exists() && since.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(5));
    }
    signals::send_signal(child.id(), 2);
    let output = child.wait_with_output()?;
    same(&text(&output.stdout), output.status.code(), Some(130))?;
    same("the clean-up was run to its end", cleaned.exists(), true)?;
    Ok(Completion::Completed)
}
