//! Commands of all kinds as trials: quick, loud, hanging, stopped, pinned by themselves, leaving others behind.
//!
//! A trial takes the children that its process gets meanwhile for its own, so these tests run one after another in a program of their own.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use corewise_machine::CpuSet;
use corewise_sys::execution::{ClockProbe, CommandExecution, ExecutionEnd, ExecutionResult, USUAL_PATIENCE};
use corewise_sys::process::ProcessStat;
use corewise_sys::{affinity, task};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

type Outcome = Result<Completion, Failed>;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let trial = |name: &str, test: fn() -> Outcome| Trial::ignorable_test(name, test);
    let trials = vec![
        trial("its_end_and_its_output_are_known", ends),
        trial("what_cannot_be_started_is_an_error", not_started),
        trial("it_runs_on_its_cpus_and_nowhere_else", on_cpus),
        trial("wall_and_usage_are_those_of_the_whole_tree", whole_tree),
        trial("who_stays_behind_does_not_count_and_is_ended", left_behind),
        trial("other_children_of_the_program_are_left_alone", others),
        trial("what_hangs_is_ended_with_its_children", hangs),
        trial("who_ignores_to_be_asked_is_made_to_end", stubborn),
        trial("who_is_stopped_is_ended", stopped),
        trial("it_ends_when_told_to", interrupted),
        trial("of_much_output_the_ends_are_kept", loud),
        trial("it_has_no_input", no_input),
        trial("a_terminal_of_its_own_is_one_and_its_output_arrives_as_it_is", on_terminal),
        trial("who_may_stay_behind_stays", left_running),
        trial("a_mask_of_its_own_is_seen", own_mask),
        trial("its_environment_is_added_to", environment),
        trial("its_clock_is_estimated_where_it_computes_and_leaves_no_trace", visited),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A shell script as a trial.
struct ShellExecution<'a> {
    script: &'a str,
    cpus: Option<&'a CpuSet>,
    timeout: Option<Duration>,
    patience: Duration,
    clock: Option<&'a dyn ClockProbe>,
    stop: bool,
    on_terminal: bool,
    leaves_processes: bool,
}

impl<'a> ShellExecution<'a> {
    fn new(script: &'a str) -> Self {
        Self {
            script,
            cpus: None,
            timeout: None,
            patience: USUAL_PATIENCE,
            clock: None,
            stop: false,
            on_terminal: false,
            leaves_processes: false,
        }
    }

    /// Returns how it ended, and the lines of its output.
    fn run(&self) -> Result<(ExecutionResult, Vec<String>), Failed> {
        let mut text = Vec::new();
        let (program, arguments) = (OsString::from("sh"), ["-c".into(), self.script.into()]);
        let stop = AtomicBool::new(self.stop);
        let stops = [&stop];
        let execution = CommandExecution {
            environment: &[("COREWISE_TEST".into(), Some("yes".into()))],
            cpus: self.cpus,
            memory: None,
            timeout: self.timeout,
            patience: self.patience,
            clock: self.clock,
            on_terminal: self.on_terminal,
            leaves_processes: self.leaves_processes,
            ..CommandExecution::new(&program, &arguments, &stops)
        };
        let before = task::descendant_processes(std::process::id()).len();
        let executed = execution.run(&mut |bytes| text.extend_from_slice(bytes))?;
        let left = task::descendant_processes(std::process::id());
        same("processes that are left", left.len(), before)?;
        Ok((executed, String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()))
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), Failed> {
    if found == expected { Ok(()) } else { Err(format!("{what}: found {found:?}, expected {expected:?}").into()) }
}

fn ends() -> Outcome {
    for (script, end) in [
        ("exit 0", ExecutionEnd::Exited(0)),
        ("exit 3", ExecutionEnd::Exited(3)),
        ("kill -9 $$", ExecutionEnd::Killed(9)),
    ] {
        same(script, ShellExecution::new(script).run()?.0.end, end)?;
    }
    let (executed, lines) = ShellExecution::new("echo one; echo two >&2; printf three").run()?;
    same("lines", lines, vec!["one".to_owned(), "two".into(), "three".into()])?;
    same("output", (executed.output, executed.output_bytes), (b"one\ntwo\nthree".to_vec(), 13))?;
    Ok(Completion::Completed)
}

fn on_terminal() -> Outcome {
    let script = "test -t 0 && test -t 1 && test -t 2 && echo all >/dev/tty; stty size; printf 'end\\n'; exit 3";
    let (executed, lines) = ShellExecution { on_terminal: true, ..ShellExecution::new(script) }.run()?;
    same("lines", lines, vec!["all".to_owned(), "24 80".into(), "end".into()])?;
    same("end", executed.end, ExecutionEnd::Exited(3))?;
    same("output", executed.output, b"all\n24 80\nend\n".to_vec())?;
    let many = ShellExecution { on_terminal: true, ..ShellExecution::new("seq 20000") }.run()?.1;
    same("many lines", (many.len(), many.last().cloned()), (20_000, Some("20000".to_owned())))?;
    let timeout = Some(Duration::from_millis(300));
    let ended = ShellExecution { on_terminal: true, timeout, ..ShellExecution::new("sleep 60 & cat") }.run()?;
    same("waits for keys", ended.0.end, ExecutionEnd::TimedOut)?;
    Ok(Completion::Completed)
}

fn left_running() -> Outcome {
    let script = "sleep 60 >/dev/null 2>&1 & echo $!";
    let patience = Duration::from_millis(50);
    let left = ShellExecution { leaves_processes: true, patience, ..ShellExecution::new(script) }.run()?;
    let number: u32 = left.1.first().and_then(|line| line.parse().ok()).ok_or("no number")?;
    let parent = ProcessStat::read_stat(number)?.map(|stat| stat.parent);
    ShellExecution::new(&format!("kill -9 {number}")).run()?;
    same("it runs, and not below this process", parent.is_some_and(|parent| parent != std::process::id()), true)?;
    same("left behind", left.0.left_behind, 0)?;
    Ok(Completion::Completed)
}

fn not_started() -> Outcome {
    let program = OsString::from("/no/such/program");
    let error = CommandExecution::new(&program, &[], &[]).run(&mut |_| {}).err().ok_or("it was started")?;
    same("the error", error.kind(), std::io::ErrorKind::NotFound)?;
    Ok(Completion::Completed)
}

fn on_cpus() -> Outcome {
    let before = affinity::current_affinity()?;
    let script = "grep Cpus_allowed_list /proc/self/status | cut -f2";
    for cpu in before.iter() {
        let cpus = CpuSet::from_cpu(cpu);
        let (_, lines) = ShellExecution { cpus: Some(&cpus), ..ShellExecution::new(script) }.run()?;
        same("its mask", lines, vec![cpu.to_string()])?;
        same("our mask", affinity::current_affinity()?, before.clone())?;
    }
    let (executed, _) = ShellExecution::new("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done").run()?;
    same("it was seen on cpus of ours", executed.observed.used.difference(&before).is_empty(), true)?;
    same("its own mask", executed.observed.own_mask, None)?;
    let nowhere = CpuSet::from_cpu(8_000);
    same(
        "it ran on a cpu that is not there",
        ShellExecution { cpus: Some(&nowhere), ..ShellExecution::new("true") }.run().is_ok(),
        false,
    )?;
    Ok(Completion::Completed)
}

/// Why descendants cannot be looked after here; nothing where they can. An emulator of single programs (qemu-user) neither
/// adopts orphans nor accounts for children: a shell starts one that outlives it, and nobody has it.
fn without_orphans() -> Result<Option<Completion>, Failed> {
    let (executed, _) = ShellExecution::new("sleep 2 & exit 0").run()?;
    let is_lost = executed.left_behind == 0 && std::env::var_os("COREWISE_EMULATED").is_some();
    Ok(is_lost.then(|| Completion::ignored_with("orphans are not adopted by an emulated program")))
}

/// A child that is waited for counts, and so does one that outlives its parent by a little.
fn whole_tree() -> Outcome {
    if let Some(skipped) = without_orphans()? {
        return Ok(skipped);
    }
    let alone = ShellExecution::new("true").run()?.0.usage;
    let child = "sh -c true;";
    let with_children = ShellExecution::new(&child.repeat(4)).run()?.0.usage;
    same("faults were counted", alone.minor_faults > 0, true)?;
    same("those of children too", with_children.minor_faults > 2 * alone.minor_faults, true)?;
    same("memory", alone.peak_memory_bytes > 100_000, true)?;
    let supervisor_s: f64 =
        (0..20).try_fold(0.0, |sum, _| Ok::<_, Failed>(sum + ShellExecution::new("true").run()?.0.supervisor_s))?;
    same("the supervisor's own time", supervisor_s > 0.0, true)?;
    // It ends by itself; the patience is for a test that fails.
    let patient =
        ShellExecution { patience: Duration::from_mins(1), ..ShellExecution::new("sh -c 'sleep 0.05' & exit 0") };
    let (orphan, _) = patient.run()?;
    same("its end", orphan.end, ExecutionEnd::Exited(0))?;
    same("the orphan was waited for", (orphan.wall >= Duration::from_millis(50), orphan.left_behind), (true, 0))?;
    Ok(Completion::Completed)
}

fn left_behind() -> Outcome {
    if let Some(skipped) = without_orphans()? {
        return Ok(skipped);
    }
    let began = Instant::now();
    let (executed, _) = ShellExecution::new("sleep 1000 & sleep 1000 & exit 0").run()?;
    same("how many", (executed.end, executed.left_behind), (ExecutionEnd::Exited(0), 2))?;
    // They are waited for, in case that they end: a part of the time that passed, however long that was, is none of the command's.
    same("the wait does not count", executed.wall <= began.elapsed() - USUAL_PATIENCE, true)?;
    Ok(Completion::Completed)
}

/// A program that embeds trials has other children, whose ends are its own to learn.
fn others() -> Outcome {
    if let Some(skipped) = without_orphans()? {
        return Ok(skipped);
    }
    let sleeper = || std::process::Command::new("sleep").arg("60").spawn();
    let (mut ended, mut alive) = (std::process::Command::new("sh").args(["-c", "exit 7"]).spawn()?, sleeper()?);
    let (executed, _) = ShellExecution::new("sleep 60 & exit 3").run()?;
    let statuses = (ended.wait()?.code(), alive.try_wait()?);
    alive.kill()?;
    alive.wait()?;
    same("the command", (executed.end, executed.left_behind), (ExecutionEnd::Exited(3), 1))?;
    same("the others", statuses, (Some(7), None))?;
    Ok(Completion::Completed)
}

fn hangs() -> Outcome {
    let timeout = Some(Duration::from_millis(50));
    let (executed, _) = ShellExecution { timeout, ..ShellExecution::new("sh -c 'sleep 1000'; true") }.run()?;
    same("its end", (executed.end, executed.wall >= Duration::from_millis(50)), (ExecutionEnd::TimedOut, true))?;
    Ok(Completion::Completed)
}

fn stubborn() -> Outcome {
    let timeout = Some(Duration::from_millis(50));
    let script = "trap '' TERM HUP INT; while :; do sleep 1; done";
    same("its end", ShellExecution { timeout, ..ShellExecution::new(script) }.run()?.0.end, ExecutionEnd::TimedOut)?;
    Ok(Completion::Completed)
}

fn stopped() -> Outcome {
    same("its end", ShellExecution::new("kill -STOP $$; echo never").run()?.0.end, ExecutionEnd::Stopped)?;
    Ok(Completion::Completed)
}

fn interrupted() -> Outcome {
    same(
        "its end",
        ShellExecution { stop: true, ..ShellExecution::new("sleep 1000") }.run()?.0.end,
        ExecutionEnd::Interrupted,
    )?;
    Ok(Completion::Completed)
}

fn loud() -> Outcome {
    let (executed, lines) = ShellExecution::new("seq 1000000").run()?;
    let text = String::from_utf8_lossy(&executed.output).into_owned();
    same("lines", (lines.len(), lines.last().map(String::as_str)), (1_000_000, Some("1000000")))?;
    same("bytes", executed.output_bytes, 6_888_896)?;
    same("the first part", text.starts_with("1\n2\n3\n"), true)?;
    same("the last part", text.ends_with("\n999999\n1000000\n"), true)?;
    same("what is left out is told", text.contains("bytes left out]") && text.len() < 40_000, true)?;
    let (executed, lines) = ShellExecution::new("head -c 300000 /dev/zero").run()?;
    same("a line without end", (executed.output_bytes, lines.concat().len()), (300_000, 300_000))?;
    Ok(Completion::Completed)
}

fn no_input() -> Outcome {
    same("what it read", ShellExecution::new("cat; echo end").run()?.1, vec!["end".to_owned()])?;
    Ok(Completion::Completed)
}

fn own_mask() -> Outcome {
    let all = affinity::current_affinity()?;
    let Some(first) = all.lowest().filter(|_| all.len() > 1) else {
        return Ok(Completion::ignored_with("one cpu is allowed"));
    };
    if std::process::Command::new("taskset").arg("--version").output().is_err() {
        return Ok(Completion::ignored_with("taskset is not installed (util-linux)"));
    }
    // Its threads are looked at ten times a second, by a test that others may keep waiting: then once more for longer.
    let mask = |seconds: f64| -> Result<_, Failed> {
        Ok(ShellExecution::new(&format!("taskset -c {first} sleep {seconds}")).run()?.0.observed.own_mask)
    };
    let seen = mask(1.5)?.map_or_else(|| mask(30.0), |seen| Ok(Some(seen)))?;
    same("its own mask", seen, Some(CpuSet::from_cpu(first)))?;
    Ok(Completion::Completed)
}

fn environment() -> Outcome {
    same("what it finds", ShellExecution::new("echo $COREWISE_TEST $0").run()?.1, vec!["yes sh".to_owned()])?;
    Ok(Completion::Completed)
}

/// Makes a file, and tells the cpu that it is on as a rate.
#[derive(Debug)]
struct FileVisitor(PathBuf);

impl ClockProbe for FileVisitor {
    fn estimate_gigahertz(&self, _: &AtomicBool) -> Option<f64> {
        std::fs::write(&self.0, "").ok()?;
        affinity::running_on().map(f64::from)
    }
}

/// It computes until it is visited; the timeout is for machines with counters, and for a test that fails.
fn visited() -> Outcome {
    let folder = tempfile::tempdir()?;
    let visitor = FileVisitor(folder.path().join("visited"));
    let cpus = CpuSet::from_cpu(affinity::current_affinity()?.highest().ok_or("no cpu")?);
    let script = format!("while [ ! -e {} ]; do :; done", visitor.0.display());
    let timeout = Some(Duration::from_secs(20));
    let shell = ShellExecution { cpus: Some(&cpus), clock: Some(&visitor), timeout, ..ShellExecution::new(&script) };
    let (executed, _) = shell.run()?;
    if executed.gigahertz.is_some() {
        same("estimates beside counters", executed.estimated_gigahertz, Vec::new())?;
        return Ok(Completion::ignored_with("cycles are counted here"));
    }
    same("its end", executed.end, ExecutionEnd::Exited(0))?;
    same("estimates", executed.estimated_gigahertz, cpus.iter().map(f64::from).collect())?;
    same("its cpus", executed.observed.used, cpus)?;
    same("its own mask", executed.observed.own_mask, None)?;
    same("its threads", executed.observed.most_threads, 1)?;
    // Where others want the cpus, a shell that is to sleep may still be about to when it is looked at.
    let asleep = || {
        ShellExecution { clock: Some(&visitor), ..ShellExecution::new("sleep 0.4") }
            .run()
            .map(|ran| ran.0.estimated_gigahertz)
    };
    let mut estimates = asleep()?;
    for _ in 0..20 {
        estimates = if estimates.is_empty() { estimates } else { asleep()? };
    }
    same("estimates of who sleeps", estimates, Vec::new())?;
    Ok(Completion::Completed)
}
