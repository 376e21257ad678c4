//! `corewise try` on programs whose runs differ from the first one, write much, or are hard to search.

mod support;

use std::fs;
use std::process::{Command, ExitCode, Stdio};

use corewise_sys::affinity;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::Value;
use support::{TestPlace, text};

type TrialWorkOutcome = Result<Completion, Failed>;

fn main() -> ExitCode {
    let trial = |name: &str, test: fn() -> TrialWorkOutcome| {
        Trial::ignorable_test(name, move || match affinity::current_affinity() {
            Ok(all) if all.len() > 1 => test(),
            _ => Ok(Completion::ignored_with("one cpu is allowed")),
        })
    };
    let trials = vec![
        trial("the_budget_is_kept_if_the_first_runs_had_nothing_to_do", idle_first),
        trial("a_first_run_that_did_all_the_work_is_said", busy_first),
        trial("an_expression_that_is_too_large_is_refused", large_expression),
        trial("the_budget_ends_a_search_that_takes_long", slow_search),
        trial("the_budget_ends_the_first_run_and_no_empty_experiment_is_left", long_run),
        trial("a_program_that_is_not_there_is_never_stored", missing_program),
        trial("each_run_is_prepared_and_other_statuses_may_be_right", prepared),
        trial("a_trial_is_as_long_as_was_asked_for", asked_trial_time),
        trial("a_terminal_is_given_and_its_colours_are_no_part_of_a_number", on_terminal),
        trial("a_daemon_may_stay", left_running),
        trial("a_metric_is_found_in_megabytes", much_output),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Prepares `corewise try` of a shell script that runs in the test's folder, on the OS default and one cpu.
fn try_script(place: &TestPlace, options: &[&str], script: &str) -> Result<Command, Failed> {
    let first = affinity::current_affinity()?.lowest().ok_or("no cpu")?.to_string();
    let mut command = place.corewise(&["try", "--seed", "7", "--rest", "0s", "--on", &first]);
    command.args(options).args(["--", "sh", "-c", script]).current_dir(place.path()).stdin(Stdio::null());
    Ok(command)
}

/// Returns both outputs, with one space between words; the exit status has to be one of these.
fn words_of(command: &mut Command, codes: &[i32]) -> Result<String, Failed> {
    let output = command.output()?;
    let all = format!("{}{}", text(&output.stdout), text(&output.stderr));
    if !output.status.code().is_some_and(|code| codes.contains(&code)) {
        return Err(format!("{:?}: {all}", output.status).into());
    }
    Ok(all.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), Failed> {
    if found == expected { Ok(()) } else { Err(format!("{what}: found {found:?}, expected {expected:?}").into()) }
}

/// Tries a shell script with growing budgets of these seconds, until a part is said: on a busy machine too few runs fit into the first.
/// Returns the place, the budget and all words.
fn try_until(
    part: &str,
    budgets: [u32; 3],
    options: &[&str],
    script: &str,
) -> Result<(TestPlace, u32, String), Failed> {
    let mut last = String::new();
    for seconds in budgets {
        let place = TestPlace::new();
        let budget = format!("{seconds}s");
        let mut command = try_script(&place, &[&["--budget", &budget], options].concat(), script)?;
        last = words_of(&mut command, &[0, 1, 3])?;
        if last.contains(part) {
            return Ok((place, seconds, last));
        }
    }
    Err(format!("{part:?} is not in: {last}").into())
}

fn contains(words: &str, part: &str) -> Result<(), Failed> {
    if words.contains(part) { Ok(()) } else { Err(format!("{part:?} is not in: {words}").into()) }
}

/// Both warm-ups end at once, all later runs take two seconds: as many in a row as would fit by the warm-ups are far more than the budget.
fn idle_first() -> TrialWorkOutcome {
    let script = "echo run >> runs; if [ $(wc -l < runs) -gt 2 ]; then sleep 2; fi";
    let (place, seconds, words) = try_until("Note: the later runs", [5, 20, 80], &[], script)?;
    let runs = fs::read_to_string(place.path().join("runs"))?.lines().count();
    if runs > 2 * seconds as usize {
        return Err(format!("{runs} runs of two seconds in a budget of {seconds}: {words}").into());
    }
    contains(&words, "x as long as the first one")?;
    Ok(Completion::Completed)
}

/// The very first run works for long, all others find the work done.
fn busy_first() -> TrialWorkOutcome {
    let script = "if [ ! -e built ]; then sleep 5; touch built; fi";
    let (place, _, words) = try_until("Note: the first run took", [12, 48, 192], &["--runs-max", "8"], script)?;
    contains(&words, "x as long as the later ones. It may have left them nothing")?;
    let shown = words_of(&mut place.corewise(&["history", "show", "1", "--width", "200"]), &[0])?;
    contains(&shown, "Note: the first run took")?;
    Ok(Completion::Completed)
}

fn large_expression() -> TrialWorkOutcome {
    let place = TestPlace::new();
    let metric = ["--metric", "x=((.*.*.*){10}){9}b([0-9]+)", "--higher"];
    let words = words_of(&mut try_script(&place, &metric, "echo never > ran")?, &[2])?;
    contains(&words, "the expression is too large")?;
    if place.path().join("ran").exists() { Err("it was run".into()) } else { Ok(Completion::Completed) }
}

/// A line of two megabytes, on which the expression would take minutes.
fn slow_search() -> TrialWorkOutcome {
    let place = TestPlace::new();
    let metric = ["--metric", "x=x=(.*){50}[b]([0-9]+)", "--higher", "--budget", "1s"];
    let script = "printf x=; head -c 2000000 /dev/zero | tr '\\0' ' ' | sed 's/ /x= /g'; sleep 1";
    let words = words_of(&mut try_script(&place, &metric, script)?, &[3])?;
    contains(&words, "the budget ended before the first run finished")?;
    Ok(Completion::Completed)
}

fn long_run() -> TrialWorkOutcome {
    let place = TestPlace::new();
    let words = words_of(&mut try_script(&place, &["--budget", "1s"], "sleep 8; echo > ended")?, &[3])?;
    contains(&words, "the budget ended before the first run finished, which was cut off")?;
    contains(&words_of(&mut place.corewise(&["history"]), &[0])?, "Nothing is stored")?;
    if place.path().join("ended").exists() { Err("it ran to its end".into()) } else { Ok(Completion::Completed) }
}

fn prepared() -> TrialWorkOutcome {
    let place = TestPlace::new();
    let options = ["--prepare", "echo ready > state", "--ok", "0,3", "--runs-max", "8"];
    // Fails in every run that is not prepared anew.
    let script = "grep -q ready state && echo used > state && echo run >> runs; exit 3";
    let words = words_of(&mut try_script(&place, &options, script)?, &[0, 1])?;
    let runs = fs::read_to_string(place.path().join("runs"))?.lines().count();
    if runs < 10 {
        return Err(format!("{runs} runs were prepared: {words}").into());
    }
    let words = words_of(&mut try_script(&place, &["--prepare", "echo no luck; exit 4"], "true")?, &[3])?;
    contains(&words, "the script of --prepare failed: exit status 4")?;
    let words = words_of(&mut try_script(&place, &["--ok", "2"], "true")?, &[3])?;
    contains(&words, "exit status 0")?;
    Ok(Completion::Completed)
}

fn missing_program() -> TrialWorkOutcome {
    let place = TestPlace::new();
    let words = words_of(&mut place.corewise(&["try", "--", "./no-such-program"]), &[3])?;
    contains(&words, "./no-such-program cannot be started: no such program")?;
    let file = place.path().join("data.txt");
    fs::write(&file, "no program")?;
    for (program, why) in [(file.as_path(), "the file may not be executed"), (place.path(), "it is a folder")] {
        let words = words_of(place.corewise(&["try", "--"]).arg(program), &[3])?;
        contains(&words, why)?;
    }
    contains(&words_of(&mut place.corewise(&["history"]), &[0])?, "Nothing is stored")?;
    Ok(Completion::Completed)
}

/// The number stands before, within, or behind much else.
fn much_output() -> TrialWorkOutcome {
    for script in [
        "echo score=5; seq 1000000",
        "seq 500000; echo score=5; seq 500000",
        "seq 1000000; printf score=5",
        "seq 1000000 >&2; echo score=5; echo score=unknown",
        "seq 1000000 | tr '\\n' ' '; printf 'score=5 '; seq 300000 | tr '\\n' ' '",
    ] {
        let place = TestPlace::new();
        let options = ["--metric", "score=score=([0-9]+)", "--higher", "--runs-max", "4", "--json"];
        let output = try_script(&place, &options, script)?.output()?;
        let document: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("{script}: {error}"))?;
        let trials = document["observed"]["trials"].as_array().ok_or("no trials")?;
        for trial in trials {
            if trial["outcome"]["value"] != 5.0 {
                return Err(format!("{script}: {trial}").into());
            }
        }
    }
    Ok(Completion::Completed)
}

fn asked_trial_time() -> TrialWorkOutcome {
    // Numbers of runs in the trials behind the warm-up.
    let repeats = |time: &[&str]| {
        let place = TestPlace::new();
        let options = [time, &["--runs-max", "6", "--no-confirm", "--json"]].concat();
        let output = try_script(&place, &options, "sleep 0.004")?.env_remove("COREWISE_TRIAL_TIME").output()?;
        let document: Value = serde_json::from_slice(&output.stdout)?;
        let trials = document["observed"]["trials"].as_array().ok_or("no trials")?;
        let behind = trials.iter().filter(|trial| trial["block"] != 0).map(|trial| trial["repeats"].as_u64());
        behind.collect::<Option<Vec<u64>>>().ok_or_else(|| Failed::from("a trial without a number of runs"))
    };
    same("runs in a millisecond", repeats(&["--trial-time", "1ms"])?.into_iter().max(), Some(1))?;
    for longer in [&["--trial-time", "1s"][..], &[]] {
        let runs = repeats(longer)?;
        same(&format!("{longer:?}: {runs:?}"), runs.iter().all(|runs| *runs > 1), true)?;
    }
    Ok(Completion::Completed)
}

fn on_terminal() -> TrialWorkOutcome {
    let place = TestPlace::new();
    let script = "test -t 1 || exit 1; printf '\\033[1mscore\\033[0m: \\033[31m%d\\033[0m\\n' $((1000 + $$ % 90))";
    let options = ["--metric", "score", "--no-confirm", "--runs-max", "4"];
    let said = words_of(&mut try_script(&place, &options, script)?, &[1, 3])?;
    same(&said, said.contains("exit status 1"), true)?;
    let said = words_of(&mut try_script(&place, &[&options[..], &["--tty"]].concat(), script)?, &[0, 1])?;
    same(&said, said.contains("failed"), false)?;
    Ok(Completion::Completed)
}

fn left_running() -> TrialWorkOutcome {
    let place = TestPlace::new();
    let script = "sleep 60 >/dev/null 2>&1 & echo $! >>left";
    let options = ["--no-confirm", "--runs-max", "2"];
    let said = words_of(&mut try_script(&place, &options, script)?, &[3])?;
    same(&said, said.contains("it left running processes behind"), true)?;
    fs::remove_file(place.path().join("left"))?;
    words_of(&mut try_script(&place, &[&options[..], &["--leave"]].concat(), script)?, &[0, 1])?;
    let left = fs::read_to_string(place.path().join("left"))?;
    let ended = Command::new("sh").args(["-c", "kill $0 $@"]).args(left.lines()).status()?;
    same("all were there to be ended", ended.success(), true)?;
    Ok(Completion::Completed)
}
