//! `corewise tail --beside` as a user meets it: a planted disturber is named, children are followed, and it ends as the command ends.
//!
//! What the kernel's tracepoints are needed for is skipped, with the reason, where they are refused.

mod support;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use corewise_machine::CpuSet;
use corewise_sys::{affinity, process};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::Value;
use support::{TestPlace, text};

type BesideTestResult = std::result::Result<Completion, Failed>;
type BesideTest = fn() -> BesideTestResult;

/// Longer than any test waits.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often the disturber wakes up, and for how long it keeps the cpu then.
const WAKES: u64 = 300;
const PAUSE: Duration = Duration::from_millis(3);
const KEPT: Duration = Duration::from_micros(300);
/// The number of processes as all of the system sees them (include/linux/proc_ns.h, PROC_PID_INIT_INO).
const WHOLE_SYSTEM: &str = "pid:[4026531836]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let ["act", part, argument] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        act(part, argument).expect("an actor plays its part");
        return ExitCode::SUCCESS;
    }
    let tests: [(&str, BesideTest); 8] = [
        ("a_planted_disturber_is_named_and_counted", disturbed),
        ("children_are_followed", children),
        ("the_commands_output_and_status_are_its_own", passed_through),
        ("what_cannot_be_run_is_told_as_run_tells_it", not_run),
        ("a_signal_that_ends_the_command_ends_corewise_too", killed),
        ("watching_may_end_before_the_command", ended_before),
        ("a_process_that_runs_already_is_watched_and_left_alone", running),
        ("an_ordinary_user_sees_the_kernels_accounts", ordinary_user),
    ];
    let trials = tests.map(|(name, test)| Trial::ignorable_test(name, test)).into();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The parts that this same program plays in its own tests.
fn act(part: &str, argument: &str) -> std::result::Result<(), Box<dyn Error>> {
    match part {
        // Computes from "started" until there is a file "stop", and never waits.
        "compute" => {
            fs::write(Path::new(argument).join("started"), "")?;
            let (stop, begun) = (Path::new(argument).join("stop"), Instant::now());
            while !stop.exists() && begun.elapsed() < PATIENCE {
                (0..100_000).fold(0_u64, |sum, number| std::hint::black_box(sum + number));
            }
        }
        // Takes a cpu away again and again.
        "disturb" => {
            fs::write("/proc/self/comm", "disturber")?;
            affinity::pin_current(argument.parse()?)?;
            for _ in 0..WAKES {
                sleep(PAUSE);
                let woken = Instant::now();
                while woken.elapsed() < KEPT {}
            }
        }
        _ => return Err(format!("no part {part}").into()),
    }
    Ok(())
}

fn check(is_so: bool, what: impl std::fmt::Debug) -> std::result::Result<(), Failed> {
    if is_so { Ok(()) } else { Err(format!("{what:?}").into()) }
}

/// Why the kernel's tracepoints cannot be had here.
fn refused() -> Option<Completion> {
    corewise_lab::beside::open_recorder().err().map(|gap| Completion::ignored_with(gap.why))
}

/// A cpu that may be used: the last, since the first has most to do besides.
fn a_cpu() -> u32 {
    affinity::current_affinity().ok().and_then(|cpus: CpuSet| cpus.highest()).expect("a thread has a cpu")
}

fn wait_for(path: &Path) -> std::result::Result<(), Failed> {
    let begun = Instant::now();
    while !path.exists() {
        check(begun.elapsed() < PATIENCE, format!("{} does not come", path.display()))?;
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn disturbed() -> BesideTestResult {
    if let Some(skipped) = refused() {
        return Ok(skipped);
    }
    let (place, cpu, own) = (TestPlace::new(), a_cpu().to_string(), std::env::current_exe()?);
    let own = own.to_str().ok_or("a path in UTF-8")?;
    let folder = place.path().to_str().ok_or("a path in UTF-8")?;
    let words = ["tail", "--beside", "--json", "--cpus", &cpu, "--", own, "act", "compute", folder];
    let program = place.corewise(&words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    wait_for(&place.path().join("started"))?;
    let mut disturber = Command::new(own).args(["act", "disturb", &cpu]).spawn()?;
    let number = disturber.id();
    let status = disturber.wait();
    fs::write(place.path().join("stop"), "")?;
    let output = program.wait_with_output()?;
    check(status?.success() && output.status.success(), output.status)?;
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let report = &document["seen"];
    let named: Vec<&Value> = entries(&report["instead"]).filter(|one| one["name"] == "disturber").collect();
    check(named.len() == 1, format!("{named:?} in {}", report["instead"]))?;
    let count = named[0]["count"].as_u64().unwrap_or(0);
    check(count * 100 >= WAKES * 95, format!("{count} of {WAKES} wakes were seen"))?;
    if process::number_space() == WHOLE_SYSTEM {
        check(named[0]["number"] == number, named)?;
    }
    adds_up(report).map(|()| Completion::Completed)
}

fn entries(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// Sums of a report that hold whatever happened.
fn adds_up(report: &Value) -> std::result::Result<(), Failed> {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let sum = |list: &str, of: &str| entries(&report[list]).map(|one| number(&one[of])).sum::<f64>();
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
    check(near(sum("instead", "time_s"), number(&report["waited_s"])), "waiting is that for all who ran")?;
    check(near(sum("cpus", "on_cpu_s"), number(&report["on_cpu_s"])), "time on cpus is that on each")?;
    check(near(sum("handlers", "time_s"), number(&report["handlers_s"])), "time in handlers is that in each")?;
    for one in entries(&report["worst"]) {
        let parts: u64 = entries(&one["parts"]).filter_map(|part| part["length_ns"].as_u64()).sum();
        check(one["length_ns"] == parts, one)?;
    }
    check(entries(&report["worst"]).count() > 0, "somebody interrupts")
}

fn children() -> BesideTestResult {
    if let Some(skipped) = refused() {
        return Ok(skipped);
    }
    let shell = "sh -c :; sh -c : & wait; :";
    let watch = || TestPlace::new().corewise(&["tail", "--beside", "--json", "--", "sh", "-c", shell]).output();
    let mut document: Value = serde_json::from_slice(&watch()?.stdout)?;
    for _ in 1..10 {
        // On a busy machine buffers run over, and the sums are lower.
        if document["seen"]["events_lost"] != 0 {
            document = serde_json::from_slice(&watch()?.stdout)?;
        }
    }
    check(document["seen"]["threads"] == 3, &document["seen"])?;
    check(document["to_its_end"] == true && document["exit_status"] == 0, &document["exit_status"])?;
    Ok(Completion::Completed)
}

fn running() -> BesideTestResult {
    let (place, own) = (TestPlace::new(), std::env::current_exe()?);
    let mut actor = Command::new(own).args(["act", "compute"]).arg(place.path()).spawn()?;
    wait_for(&place.path().join("started"))?;
    let words = ["tail", "--beside", "--json", "--budget", "1s", "--pid", &actor.id().to_string()];
    let output = place.corewise(&words).output()?;
    let lives = actor.try_wait()?.is_none();
    fs::write(place.path().join("stop"), "")?;
    check(actor.wait()?.success() && lives, "it was ended")?;
    let document: Value = serde_json::from_slice(&output.stdout)?;
    check(output.status.success() && document["to_its_end"] == false, text(&output.stderr))?;
    let ran = document["seen"]["on_cpu_s"].as_f64().unwrap_or_default();
    check(document["seen"]["threads"] == 1 && ran > 0.0, &document["seen"])?;
    let output = place.corewise(&["tail", "--beside", "--pid", &u32::MAX.to_string()]).output()?;
    check(
        output.status.code() == Some(2) && text(&output.stderr).contains("there is no process"),
        text(&output.stderr),
    )?;
    Ok(Completion::Completed)
}

fn passed_through() -> BesideTestResult {
    let words = ["tail", "--beside", "--", "sh", "-c", "echo said; exit 7"];
    let output = TestPlace::new().corewise(&words).output()?;
    let told = text(&output.stderr);
    check((output.status.code(), text(&output.stdout).as_str()) == (Some(7), "said\n"), (&output.status, &told))?;
    check(told.contains(" watched · ") && told.starts_with("sh -c "), told)?;
    let words = ["tail", "--beside", "--json", "--", "sh", "-c", "echo said"];
    let output = TestPlace::new().corewise(&words).output()?;
    check(serde_json::from_slice::<Value>(&output.stdout).is_ok(), text(&output.stdout))?;
    check(text(&output.stderr) == "said\n", text(&output.stderr)).map(|()| Completion::Completed)
}

fn not_run() -> BesideTestResult {
    for (words, status, told) in [
        (&["--", "corewise-no-such-command"][..], 127, "It is not in PATH"),
        (&["--", "/"], 126, "It exists, but cannot be executed"),
        (&["--cpus", "60000", "--", "true"], 3, "this machine has cpu"),
        (&["--cpus", "lcc:0", "--", "true"], 2, "lcc:0"),
    ] {
        // A folder of PATH that may not be read is another error than none that has it.
        let place = TestPlace::new();
        let mut command = place.corewise(&[&["tail", "--beside"], words].concat());
        let output = command.env("PATH", "/usr/bin:/bin").output()?;
        let said = text(&output.stderr);
        check(output.status.code() == Some(status) && said.contains(told), said)?;
    }
    Ok(Completion::Completed)
}

fn killed() -> BesideTestResult {
    use std::os::unix::process::ExitStatusExt as _;
    let output = TestPlace::new().corewise(&["tail", "--beside", "--", "sh", "-c", "kill -TERM $$"]).output()?;
    check(output.status.signal() == Some(15), output.status)?;
    // A signal to corewise is passed on, and the report is of what was seen. No shell can trap what was ignored when it
    // began, as SIGINT is for tests that run in the background.
    let shell = "trap 'echo got; exit 9' TERM; echo ready; while :; do sleep 0.01; done";
    let place = TestPlace::new();
    let mut command = place.corewise(&["tail", "--beside", "--", "sh", "-c", shell]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().ok_or("a pipe")?, &mut ready)?;
    support::send("TERM", &child);
    let output = child.wait_with_output()?;
    check((output.status.code(), text(&output.stdout).as_str()) == (Some(9), "got\n"), output.status)?;
    check(text(&output.stderr).contains(" watched · "), text(&output.stderr)).map(|()| Completion::Completed)
}

fn ended_before() -> BesideTestResult {
    let output = TestPlace::new().corewise(&["tail", "--beside", "--budget", "1s", "--", "sleep", "2"]).output()?;
    let told = text(&output.stderr);
    check(output.status.success() && told.contains("then it ran on"), told).map(|()| Completion::Completed)
}

fn ordinary_user() -> BesideTestResult {
    let place = TestPlace::new();
    let words =
        ["tail", "--beside", "--width", "400", "--", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"];
    let output = place.ordinary_user(&words).output()?;
    let told = text(&output.stderr);
    if told.contains("Seen by the kernel's tracepoints") {
        return Ok(Completion::ignored_with("an ordinary user may use the kernel's tracepoints here"));
    }
    check(output.status.success() && told.contains("Its threads ran for "), &told)?;
    check(told.contains("Not measured: what interrupted it, and for how long"), &told)?;
    check(told.contains("1 thread ·"), told).map(|()| Completion::Completed)
}
