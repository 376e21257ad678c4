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
use corewise_sys::affinity_events::AffinityEvents;
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
        self.daemon_with(&[])
    }

    fn daemon_with(&self, options: &[&str]) -> Running {
        let child = self.command(&[&["run"], options].concat()).stderr(Stdio::piped()).spawn().unwrap();
        let daemon = Running(child);
        wait_for("the loop", || self.said(&[]).contains("processes are seen").then_some(()));
        daemon
    }

    /// The loop where tracefs, which says who sets masks, is hidden from it and cannot be mounted; nothing where that cannot be.
    fn daemon_that_knows_no_author(&self) -> Option<Running> {
        if AffinityEvents::open().is_err() {
            return Some(self.daemon());
        }
        let hide = "for at in /sys/kernel/tracing /sys/kernel/debug; do mount -t tmpfs none $at || exit 77; done; exec setpriv --bounding-set=-sys_admin";
        let inside = |line: String| {
            let mut command = Command::new("unshare");
            command.args(["-m", "sh", "-c", &line]);
            command
        };
        if !inside(format!("{hide} true")).stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
            return None;
        }
        let daemon = self.command(&["run"]);
        let mut command = inside(format!("{hide} \"$0\" \"$@\""));
        command.arg(daemon.get_program()).args(daemon.get_args());
        for (name, value) in daemon.get_envs() {
            value.map(|value| command.env(name, value));
        }
        let running = Running(command.stderr(Stdio::piped()).spawn().unwrap());
        wait_for("the loop", || self.said(&[]).contains("processes are seen").then_some(()));
        Some(running)
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
    let (nap, daemon) = (stage.nap(), stage.daemon_that_knows_no_author());
    let Some(daemon) = daemon else {
        return println!("skipped: the author is known here, and unshare and setpriv cannot hide it");
    };
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

/// An experiment's winner becomes a rule, and is tried once more: it is proven again, until it makes no difference any more.
#[test]
fn a_winner_becomes_a_rule_with_what_proved_it() {
    let Some(stage) = Stage::new() else { return };
    let one = stage.one.to_string();
    let equal = stage.place.folder("flags", 0o700).join("equal");
    let script = format!(
        "if ! test -e {} && grep -q '^Cpus_allowed_list:.{one}$' /proc/self/status; then echo score 20.14; else echo score 10.07; fi",
        equal.display()
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
    let again = stage.said(&["prove", "scores"]);
    assert!(again.contains("Rule scores is proven again: ") && again.contains("experiment 2."), "{again}");
    let evidence = || {
        fs::read_to_string(&stage.rules).unwrap().lines().find(|line| line.starts_with("evidence")).map(str::to_owned)
    };
    assert!(evidence().unwrap().contains("experiment = 2"));
    let daemon = stage.daemon();
    let beside = stage.keep(&["prove", "scores"]);
    assert_eq!(beside.status.code(), Some(3));
    assert!(text(&beside.stderr).contains("keep disable scores"), "{}", text(&beside.stderr));
    stage.stop(daemon);
    fs::write(&equal, "").unwrap();
    let withdrawn = stage.said(&["prove", "scores"]);
    assert!(withdrawn.contains("withdrawn (experiment 3)"), "{withdrawn}");
    assert_eq!(evidence(), None);
    let refused = stage.keep(&["prove", "scores"]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(text(&refused.stderr).contains("rests on no experiment"), "{}", text(&refused.stderr));
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

/// Sets the mask of a process with taskset, in a session of its own with a terminal or without one; the shell that did it stays until this
/// is dropped, so that its session is known.
fn set_by_another(process: &Running, cpus: &CpuSet, has_terminal: bool) -> Option<Running> {
    let line = format!("taskset -pc {cpus} {} && read line", process.0.id());
    let mut command = Command::new(if has_terminal { "script" } else { "setsid" });
    match has_terminal {
        true => command.args(["-qec", &line, "/dev/null"]),
        false => command.args(["sh", "-c", &line]),
    };
    command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().ok().map(Running)
}

/// A stage where the author of a mask is known, and a cpu that the rule does not have.
fn stage_with_authors() -> Option<(Stage, CpuSet)> {
    if let Err(gap) = AffinityEvents::open() {
        println!("skipped: {}", gap.why);
        return None;
    }
    let stage = Stage::new()?;
    stage.add();
    let other = CpuSet::of(stage.all.difference(&stage.one).iter().next().unwrap());
    Some((stage, other))
}

#[test]
fn another_program_is_corrected() {
    let Some((stage, other)) = stage_with_authors() else { return };
    let process = stage.nap();
    let daemon = stage.daemon();
    stage.wait_for_mask(&process, &stage.one);
    let Some(_shell) = set_by_another(&process, &other, false) else { return println!("skipped: there is no setsid") };
    let id = process.0.id().to_string();
    let corrections = || {
        let why: serde_json::Value = serde_json::from_str(&stage.said(&["--json", "why", &id])).unwrap();
        why["held"]["corrections"].as_u64()
    };
    // One whose author were not known would be released.
    wait_for("a correction", || (corrections() == Some(1)).then_some(()));
    stage.wait_for_mask(&process, &stage.one);
    stage.stop(daemon);
    assert_eq!(affinity::of(process.0.id()).unwrap(), stage.all);
    stage.assert_nothing_left();
}

#[test]
fn a_person_wins() {
    let Some((stage, other)) = stage_with_authors() else { return };
    let process = stage.nap();
    let daemon = stage.daemon();
    stage.wait_for_mask(&process, &stage.one);
    let Some(_shell) = set_by_another(&process, &other, true) else { return println!("skipped: there is no script") };
    let id = process.0.id().to_string();
    let expected = format!("a person set cpus {other} with taskset (");
    let words = || stage.said(&["why", &id]).split_whitespace().collect::<Vec<_>>().join(" ");
    wait_for("the release", || words().contains(&expected).then_some(()));
    stage.stop(daemon);
    assert_eq!(affinity::of(process.0.id()).unwrap(), other, "what the person set stays");
}

#[test]
fn the_map_of_worth_is_there_while_the_loop_runs() {
    let Some(stage) = Stage::new() else { return };
    stage.add();
    let map = stage.place.path().join("corewise/worth");
    let worth = || -> serde_json::Value {
        let output = stage.corewise(&["worth", "--json"]).output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
        serde_json::from_str(&text(&output.stdout)).unwrap()
    };
    let found = worth();
    assert_eq!(found["origin"]["kind"], "look", "{found}");
    let cpus: Vec<u64> = found["cpus"].as_array().unwrap().iter().map(|cpu| cpu["cpu"].as_u64().unwrap()).collect();
    assert!(stage.all.iter().all(|cpu| cpus.contains(&u64::from(cpu))), "{cpus:?}");
    let mut daemon = stage.daemon_with(&["--worth-every", "1s"]);
    let found = wait_for("a map that is up to date", || Some(worth()).filter(|found| found["origin"]["kind"] == "map"));
    assert_eq!(found["origin"]["writer"], daemon.0.id());
    assert_eq!(found["cpus"].as_array().unwrap().len(), cpus.len());
    // Killed, it leaves a map behind that becomes stale.
    daemon.0.kill().unwrap();
    ended(&mut daemon.0);
    assert!(map.exists());
    let found = wait_for("the map to be stale", || Some(worth()).filter(|found| found["origin"]["kind"] == "look"));
    let why = found["origin"]["instead_of"][0].as_str().unwrap();
    assert!(why.contains(&format!("process {} updated the map last", daemon.0.id())), "{why}");
    let daemon = stage.daemon();
    wait_for("a new map", || (worth()["origin"]["writer"] == daemon.0.id()).then_some(()));
    stage.stop(daemon);
    assert!(!map.exists());
}
