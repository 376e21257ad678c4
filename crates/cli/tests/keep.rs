//! `corewise keep` as a user meets it: rules, the loop with real processes, and what is left when it ends.
//!
//! The processes are copies of sleep(1) in the test's own folder, by whose path the rule matches: no other process is touched.

mod support;

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use corewise_model::CpuSet;
use corewise_sys::affinity;
use support::{Place, ended, send, text, wait_for};

/// A place with a program of its own, and a rule that holds it on the highest cpu.
struct Stage {
    place: Place,
    program: PathBuf,
    rules: PathBuf,
    all: CpuSet,
    one: CpuSet,
}

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Stage {
    /// Nothing where one cpu alone leaves nothing to restrict a process to.
    fn new() -> Option<Self> {
        let all = affinity::current().unwrap();
        if all.len() < 2 {
            println!("skipped: one cpu alone leaves nothing to restrict a process to");
            return None;
        }
        let place = Place::new();
        let folder = place.folder("own", 0o700);
        let (program, rules) = (folder.join("napper"), folder.join("rules.toml"));
        // By another process: a file that is open for writing here cannot be executed.
        let sleep = Command::new("sh").args(["-c", "command -v sleep"]).output().unwrap();
        let copied = Command::new("cp").args([text(&sleep.stdout).trim(), program.to_str().unwrap()]).status();
        assert!(copied.unwrap().success());
        let one = CpuSet::of(all.highest().unwrap());
        Some(Self { place, program, rules, all, one })
    }

    fn command(&self, words: &[&str]) -> Command {
        let rules = self.rules.to_str().unwrap();
        self.corewise(&[&["keep", "--user", "--rules", rules], words].concat())
    }

    /// With journals of this test's own, which root would share with the whole machine.
    fn corewise(&self, words: &[&str]) -> Command {
        let journals = self.journals();
        self.place.corewise(&[&["--journal", journals.to_str().unwrap()], words].concat())
    }

    fn journals(&self) -> PathBuf {
        self.place.path().join("journals")
    }

    fn keep(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// What a command prints that must do what it is for.
    fn said(&self, words: &[&str]) -> String {
        let output = self.keep(words);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()), "{words:?}");
        text(&output.stdout)
    }

    fn add(&self) {
        let (exe, one) = (format!("exe={}", self.program.display()), self.one.to_string());
        self.said(&["add", "nap", "--match", &exe, "--on", &one]);
    }

    fn nap(&self) -> Running {
        Running(Command::new(&self.program).arg("1000").spawn().unwrap())
    }

    /// The loop, once it says that it began.
    fn daemon(&self) -> Running {
        let child = self.command(&["run"]).stderr(Stdio::piped()).spawn().unwrap();
        let daemon = Running(child);
        wait_for("the loop", || self.said(&[]).contains("processes are seen").then_some(()));
        daemon
    }

    fn wait_for_mask(&self, process: &Running, cpus: &CpuSet) {
        wait_for("a mask", || (affinity::of(process.0.id()).unwrap() == *cpus).then_some(()));
    }

    /// Ends the loop; what it logged.
    fn stop(&self, mut daemon: Running) -> String {
        send("TERM", &daemon.0);
        assert!(ended(&mut daemon.0).success());
        let mut log = String::new();
        daemon.0.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        log
    }

    /// Nothing is left to undo.
    fn assert_nothing_left(&self) {
        let undo = self.corewise(&["undo"]).output().unwrap();
        assert!(text(&undo.stdout).starts_with("Nothing to undo"), "{}", text(&undo.stdout));
    }
}

#[test]
fn processes_are_held_and_given_back() {
    let Some(stage) = Stage::new() else { return };
    assert!(stage.said(&[]).starts_with("No rules in "));
    stage.add();
    let early = stage.nap();
    wait_for("the program", || stage.said(&["plan"]).contains(&format!("napper ({})", early.0.id())).then_some(()));
    assert_eq!(affinity::of(early.0.id()).unwrap(), stage.all, "a plan changes nothing");
    let daemon = stage.daemon();
    stage.wait_for_mask(&early, &stage.one);
    let late = stage.nap();
    stage.wait_for_mask(&late, &stage.one);
    let id = late.0.id().to_string();
    wait_for("the state", || stage.said(&["why", &id]).contains("because of rule nap").then_some(()));
    assert!(stage.said(&["why", &id]).contains("Evidence: none"));
    stage.said(&["release", &id]);
    stage.wait_for_mask(&late, &stage.all);
    let log = stage.stop(daemon);
    assert!(log.ends_with("stopped: 1 thread given back\n"), "{log}");
    assert_eq!(affinity::of(early.0.id()).unwrap(), stage.all);
    stage.assert_nothing_left();
}

#[test]
fn what_leaves_the_boundary_is_left_alone() {
    let Some(stage) = Stage::new() else { return };
    stage.add();
    let (nap, daemon) = (stage.nap(), stage.daemon());
    stage.wait_for_mask(&nap, &stage.one);
    let other = stage.all.difference(&stage.one);
    affinity::set(nap.0.id(), &other).unwrap();
    let id = nap.0.id().to_string();
    wait_for("the release", || stage.said(&["why", &id]).contains("released:").then_some(()));
    let log = stage.stop(daemon);
    assert_eq!(affinity::of(nap.0.id()).unwrap(), other, "{log}");
    stage.assert_nothing_left();
}

#[test]
fn a_killed_loop_leaves_nothing_after_undo_or_the_next() {
    let Some(stage) = Stage::new() else { return };
    stage.add();
    let nap = stage.nap();
    for by_undo in [true, false] {
        let mut daemon = stage.daemon();
        stage.wait_for_mask(&nap, &stage.one);
        daemon.0.kill().unwrap();
        daemon.0.wait().unwrap();
        assert_eq!(affinity::of(nap.0.id()).unwrap(), stage.one);
        if by_undo {
            assert!(stage.corewise(&["undo"]).output().unwrap().status.success());
        } else {
            let daemon = stage.daemon();
            let log = stage.stop(daemon);
            assert!(log.starts_with("an earlier `corewise keep run` was killed: 1 changes were given back"), "{log}");
        }
        assert_eq!(affinity::of(nap.0.id()).unwrap(), stage.all);
        stage.assert_nothing_left();
    }
}

#[test]
fn a_broken_file_is_refused_with_its_line_and_the_old_rules_stay() {
    let Some(stage) = Stage::new() else { return };
    stage.add();
    let (nap, daemon) = (stage.nap(), stage.daemon());
    stage.wait_for_mask(&nap, &stage.one);
    let good = fs::read_to_string(&stage.rules).unwrap();
    fs::write(&stage.rules, format!("{good}[[rule]]\nnam = \"x\"\n")).unwrap();
    let refused = stage.keep(&["reload"]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(text(&refused.stderr).contains("rules.toml, line 6: unknown field `nam`"), "{}", text(&refused.stderr));
    send("HUP", &daemon.0);
    let state = stage.journals().join("keep.json");
    wait_for("the refusal", || fs::read_to_string(&state).unwrap_or_default().contains("unknown field").then_some(()));
    assert_eq!(affinity::of(nap.0.id()).unwrap(), stage.one);
    fs::write(&stage.rules, &good).unwrap();
    stage.said(&["disable", "nap"]);
    stage.wait_for_mask(&nap, &stage.all);
    stage.said(&["enable", "nap"]);
    stage.wait_for_mask(&nap, &stage.one);
    stage.said(&["remove", "nap"]);
    stage.wait_for_mask(&nap, &stage.all);
    stage.stop(daemon);
}

#[test]
fn rules_that_somebody_else_can_have_written_do_not_count() {
    let Some(stage) = Stage::new() else { return };
    stage.add();
    fs::set_permissions(&stage.rules, fs::Permissions::from_mode(0o666)).unwrap();
    for words in [&["plan"][..], &[], &["run"], &["remove", "nap"]] {
        let refused = stage.keep(words);
        assert_eq!(refused.status.code(), Some(3), "{words:?}");
        let why = text(&refused.stderr);
        assert!(why.contains("do not count") && why.contains("may be written by everybody"), "{why}");
    }
}

#[test]
fn a_service_manager_is_told() {
    let Some(stage) = Stage::new() else { return };
    stage.add();
    let path = stage.place.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let mut daemon = Running(stage.command(&["run"]).env("NOTIFY_SOCKET", &path).spawn().unwrap());
    let next = || {
        let mut buffer = [0; 64];
        let length = socket.recv(&mut buffer).unwrap();
        text(&buffer[..length])
    };
    assert_eq!(next(), "READY=1");
    send("HUP", &daemon.0);
    assert_eq!((next(), next()), ("RELOADING=1".into(), "READY=1".into()));
    let second = stage.keep(&["run"]);
    assert_eq!(second.status.code(), Some(3), "one at a time");
    send("TERM", &daemon.0);
    assert_eq!(next(), "STOPPING=1");
    assert!(ended(&mut daemon.0).success());
}

/// Without any privilege: this user's processes are held, and a rule reaches nobody else's.
#[test]
fn an_ordinary_user_keeps_own_processes_alone() {
    let Some(stage) = Stage::new() else { return };
    if !support::is_root() {
        println!("skipped: only root can start processes of two users");
        return;
    }
    let folder = stage.place.folder("theirs", 0o777);
    let run = |words: &[&str]| {
        let mut command = stage.place.ordinary_user(words);
        command.env("XDG_STATE_HOME", &folder).env("XDG_CONFIG_HOME", &folder);
        command
    };
    // The program lies where both users may execute it.
    let program = folder.join("napper");
    assert!(Command::new("cp").arg(&stage.program).arg(&program).status().unwrap().success());
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::chown(&folder, Some(65_534), Some(65_534)).unwrap();
    let one = stage.one.to_string();
    let exe = format!("argv={}", program.display());
    let added = run(&["keep", "add", "nap", "--match", &exe, "--on", &one]).output().unwrap();
    assert!(added.status.success(), "{}", text(&added.stderr));
    let start = |uid| {
        use std::os::unix::process::CommandExt as _;
        Running(Command::new(&program).arg("1000").uid(uid).spawn().unwrap())
    };
    let (theirs, ours) = (start(65_534), start(0));
    let mut daemon = Running(run(&["keep", "run"]).stderr(Stdio::piped()).spawn().unwrap());
    stage.wait_for_mask(&theirs, &stage.one);
    let late = start(65_534);
    stage.wait_for_mask(&late, &stage.one);
    assert_eq!(affinity::of(ours.0.id()).unwrap(), stage.all);
    send("TERM", &daemon.0);
    assert!(ended(&mut daemon.0).success());
    for process in [&theirs, &late] {
        assert_eq!(affinity::of(process.0.id()).unwrap(), stage.all);
    }
}

/// An experiment's winner becomes a rule, and is not deleted by accident from then on.
#[test]
fn a_winner_becomes_a_rule_with_what_proved_it() {
    let Some(stage) = Stage::new() else { return };
    let one = stage.one.to_string();
    let script = format!(
        "if grep -q '^Cpus_allowed_list:.{one}$' /proc/self/status; then echo score 20.14; else echo score 10.07; fi"
    );
    let tried = ["try", "--metric", "score", "--higher", "--on", &one, "--rest", "0s", "--", "sh", "-c", &script];
    let output = stage.corewise(&tried).output().unwrap();
    assert!(text(&output.stdout).starts_with("Pin it."), "{}{}", text(&output.stdout), text(&output.stderr));
    // Every shell would be held.
    let refused = stage.keep(&["add", "--from", "1"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("which runs many programs"), "{}", text(&refused.stderr));
    stage.said(&["add", "scores", "--from", "1", "--match", "argv=*score*"]);
    let rule = fs::read_to_string(&stage.rules).unwrap();
    for words in ["experiment = 1", &format!("on = \"{one}\"")] {
        assert!(rule.contains(words), "{words}: {rule}");
    }
    assert!(stage.said(&[]).contains("scores"), "it is listed");
    let nowhere = stage.keep(&["add", "far", "--match", "name=x", "--on", "9999"]);
    assert!(nowhere.status.success() && text(&nowhere.stderr).contains("rule far holds nothing"), "{nowhere:?}");
}

#[test]
fn a_program_is_launched_where_a_rule_says() {
    let Some(stage) = Stage::new() else { return };
    let config = stage.place.folder("config", 0o700);
    let rules = config.join("corewise/rules.toml");
    let one = stage.one.to_string();
    let corewise = |words: &[&str]| {
        let mut command = stage.place.corewise(words);
        command.env("XDG_CONFIG_HOME", &config).output().unwrap()
    };
    let add = ["keep", "--user", "--rules", rules.to_str().unwrap(), "add", "here", "--match", "name=x", "--on", &one];
    assert!(corewise(&add).status.success());
    let output = corewise(&["run", "--rule", "here", "--", "sh", "-c", "grep Cpus_allowed_list /proc/self/status"]);
    assert_eq!(text(&output.stdout).split_whitespace().last(), Some(&*one), "{}", text(&output.stderr));
    let missing = corewise(&["run", "--rule", "nowhere", "--", "true"]);
    assert_eq!(missing.status.code(), Some(2), "{}", text(&missing.stderr));
}
