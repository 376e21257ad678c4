//! Whose processes are ended: all that a trial started, even if corewise is killed, and none that somebody else did.

mod support;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use corewise_sys::process::{ProcessIdentity, ProcessStat};
use corewise_sys::{affinity, signals};
use support::{TestPlace, is_root, text, wait_for};

/// The process of a number, or nothing where it has ended.
fn process(id: u32) -> Option<ProcessIdentity> {
    let stat = ProcessStat::read_stat(id).unwrap().filter(|stat| !stat.has_ended)?;
    Some(ProcessIdentity { id, start_ticks: stat.start_ticks })
}

/// A command in a shell's place that had started a child before: the command, and that child.
fn with_inherited_child(command: &Command) -> (Child, ProcessIdentity) {
    let mut shell = Command::new("sh");
    shell.args(["-c", "sleep 301 >/dev/null 2>&1 & echo $!; exec \"$@\"", "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.current_dir(command.get_current_dir().unwrap());
    let mut child = shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    // One byte at a time, so that the rest is left for who reads the output.
    let mut reader = BufReader::with_capacity(1, child.stdout.take().unwrap());
    reader.read_line(&mut line).unwrap();
    child.stdout = Some(reader.into_inner());
    let sleeper = process(line.trim().parse().unwrap()).unwrap();
    (child, sleeper)
}

/// The option for the first cpu, where there is another one to compare it with.
fn on_first() -> Option<String> {
    let all = affinity::current_affinity().unwrap();
    let first = all.lowest().filter(|_| all.len() > 1);
    if first.is_none() {
        println!("skipped: one cpu alone leaves nothing to try");
    }
    first.map(|cpu| format!("--on={cpu}"))
}

#[test]
fn children_from_before_are_left_alone_by_trials() {
    let Some(on) = on_first() else { return };
    let place = TestPlace::new();
    let suite = "name = \"s\"\n[[benchmark]]\nname = \"a\"\ncategory = \"c\"\nsetup = \"sleep 1000 & true\"\n\
                 command = [\"sh\", \"-c\", \"sleep 1000 & exit 0\"]\ncleanup = \"true\"\n";
    fs::write(place.path().join("s.toml"), suite).unwrap();
    for words in [
        &["try", &on, "--runs-max", "3", "--", "true"][..],
        &["try", &on, "--runs-max", "3", "--", "sh", "-c", "sleep 1000 & exit 0"],
        &["try", &on, "--suite", "s.toml", "--runs-max", "3"],
    ] {
        let (child, sleeper) = with_inherited_child(&place.corewise(words));
        let output = child.wait_with_output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        let was_alive = sleeper.is_alive();
        signals::send_to(&sleeper, 9);
        assert!(was_alive, "{words:?}: {said}");
        assert!(!said.contains("child processes"), "{words:?}: {said}");
    }
}

#[test]
fn nothing_that_a_trial_started_outlives_a_corewise_that_is_killed() {
    let Some(on) = on_first() else { return };
    if Command::new("setsid").arg("true").status().is_err() {
        println!("skipped: setsid is not installed (util-linux)");
        return;
    }
    let place = TestPlace::new();
    // A child, and an orphan, each with a session of its own; they say who they are.
    let sleeper = "sh -c 'echo $$ >>pids; exec sleep 1000'";
    fs::write(place.path().join("trial"), format!("setsid {sleeper} &\n(setsid {sleeper} &)\nexec sleep 1000\n"))
        .unwrap();
    let mut command = place.corewise(&["try", &on, "--", "sh", "trial"]);
    let mut corewise = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started: Vec<ProcessIdentity> = wait_for("the trial to start both", || {
        let pids = fs::read_to_string(place.path().join("pids")).unwrap_or_default();
        let pids: Vec<u32> = pids.lines().filter_map(|line| line.parse().ok()).collect();
        (pids.len() == 2).then(|| pids.into_iter().filter_map(process).collect())
    });
    assert_eq!(started.len(), 2, "they run");
    corewise.kill().unwrap();
    corewise.wait().unwrap();
    wait_for("both to end", || started.iter().all(|process| !process.is_alive()).then_some(()));
}

#[test]
fn where_no_more_processes_are_allowed_it_is_said() {
    let place = TestPlace::new();
    let corewise = place.ordinary_user(&["survey", "--no-store"]);
    let mut limited = Command::new("prlimit");
    limited.arg("--nproc=1").arg(corewise.get_program()).args(corewise.get_args()).current_dir(place.path());
    for (name, value) in corewise.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    if is_root() {
        limited.uid(65_534).gid(65_534);
    }
    let Ok(run) = limited.stdin(Stdio::null()).output() else {
        println!("skipped: prlimit is not installed (util-linux)");
        return;
    };
    let said = text(&run.stderr);
    assert!(said.contains("cannot start a thread: Resource temporarily unavailable"), "{said}");
    assert!(said.contains("ulimit -u"), "{said}");
    assert_eq!(run.status.code(), Some(3));
}
