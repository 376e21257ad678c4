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
            // It has what it is to have again, and so has everybody else: nothing moves in between.
            let daemon = stage.daemon();
            assert_eq!(affinity::of(nap.0.id()).unwrap(), stage.one);
            let log = stage.stop(daemon);
            assert!(log.contains("warning: an earlier `corewise keep run` was killed: 1 mask of it taken over"), "{log}");
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
        let mut buffer = [0; 256];
        let length = socket.recv(&mut buffer).unwrap();
        text(&buffer[..length])
    };
    // What it holds is said whenever that may have changed.
    let until = |begin: &str| std::iter::repeat_with(next).find(|state| !state.starts_with("STATUS=")).map(|state| {
        assert!(state.starts_with(begin), "{state}");
        state
    });
    assert_eq!(until("READY=1\n").as_deref(), Some("READY=1\nSTATUS=0 threads held by 1 rule"));
    send("HUP", &daemon.0);
    until("RELOADING=1\nMONOTONIC_USEC=");
    until("READY=1\n");
    // A file that was written by hand is read without being asked.
    fs::write(&stage.rules, format!("# mine\n{}", fs::read_to_string(&stage.rules).unwrap())).unwrap();
    until("RELOADING=1\nMONOTONIC_USEC=");
    until("READY=1\n");
    let second = stage.keep(&["run"]);
    assert_eq!(second.status.code(), Some(3), "one at a time");
    send("TERM", &daemon.0);
    until("STOPPING=1");
    assert!(ended(&mut daemon.0).success());
}

/// One that was killed or ended knew whom to leave alone; the next one does so too, until it is to hold them again.
#[test]
fn who_was_released_stays_so_with_the_next_loop() {
    let Some(stage) = Stage::new() else { return };
    stage.add();
    let (nap, daemon) = (stage.nap(), stage.daemon());
    stage.wait_for_mask(&nap, &stage.one);
    let id = nap.0.id().to_string();
    stage.said(&["release", &id]);
    stage.wait_for_mask(&nap, &stage.all);
    stage.said(&["disable", "nap"]);
    stage.said(&["enable", "nap"]);
    stage.stop(daemon);
    let daemon = stage.daemon();
    assert_eq!(affinity::of(nap.0.id()).unwrap(), stage.all);
    let why = stage.said(&["why", &id]);
    let words = why.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("an earlier `corewise keep run`: released by `corewise keep release`"), "{why}");
    let again = stage.keep(&["release", &id]);
    assert!(text(&again.stderr).contains("is left alone already"), "{}", text(&again.stderr));
    stage.said(&["release", "--undo", &id]);
    stage.wait_for_mask(&nap, &stage.one);
    stage.stop(daemon);
    assert_eq!(affinity::of(nap.0.id()).unwrap(), stage.all);
    stage.assert_nothing_left();
    assert!(!stage.journals().join("keep.json").exists(), "nobody is left alone any more");
}

/// A mask that no rule gave is followed to the process at which it begins.
#[test]
fn why_says_where_a_mask_comes_from_that_no_rule_gave() {
    let Some(stage) = Stage::new() else { return };
    let script = format!("\"$0\" 1000 & echo $!; wait");
    let mut shell = Command::new("taskset");
    shell.args(["-c", &stage.one.to_string(), "sh", "-c", &script]).arg(&stage.program).stdout(Stdio::piped());
    let Ok(shell) = shell.spawn() else { return println!("skipped: there is no taskset") };
    let mut shell = Running(shell);
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(shell.0.stdout.take().unwrap()), &mut line).unwrap();
    let why = |id: &str| stage.said(&["why", id]).split_whitespace().collect::<Vec<_>>().join(" ");
    let (child, shell) = (line.trim(), shell.0.id());
    let said = why(child);
    let expected = format!("It has its mask from sh ({shell}), from which it descends.");
    assert!(said.contains("No rule in force matches.") && said.contains(&expected), "{said}");
    assert!(said.contains(&format!("({}), may use {}", std::process::id(), stage.all)), "{said}");
    let free = stage.nap();
    assert!(why(&free.0.id().to_string()).contains("Nothing restricts it"), "{}", why(&free.0.id().to_string()));
    Command::new("kill").arg(child).status().unwrap();
}

/// Metrics are whole whenever they are read, and so many as there are rules.
#[test]
fn metrics_are_written_for_each_rule() {
    let Some(stage) = Stage::new() else { return };
    stage.add();
    let nap = stage.nap();
    let file = stage.place.path().join("keep.prom");
    let daemon = stage.daemon_with(&["--metrics", file.to_str().unwrap()]);
    stage.wait_for_mask(&nap, &stage.one);
    let read = || fs::read_to_string(&file).unwrap_or_default();
    wait_for("a thread that is held", || read().contains("corewise_keep_threads{rule=\"nap\"} 1\n").then_some(()));
    let metrics = read();
    assert!(metrics.contains("corewise_keep_unproven{rule=\"nap\"} 1\n") && metrics.ends_with("rules_broken 0\n"), "{metrics}");
    assert_eq!(metrics.lines().filter(|line| !line.starts_with('#')).count(), 7, "{metrics}");
    stage.stop(daemon);
}

/// As a user with CAP_SYS_NICE alone, other users' processes are held by their words, and what their files would take is said.
#[test]
fn one_capability_is_enough_for_all_but_files() {
    let Some(stage) = Stage::new() else { return };
    let place = stage.place.folder("theirs", 0o755);
    let run = |words: &[&str]| {
        let caps = ["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+sys_nice", "--ambient-caps=+sys_nice"];
        let mut command = Command::new("setpriv");
        command.args(caps).arg(env!("CARGO_BIN_EXE_corewise")).args(["--journal", place.join("journals").to_str().unwrap(), "keep", "--system", "--rules"]);
        command.arg(place.join("rules.toml")).args(words).env("HOME", &place);
        command
    };
    if !support::is_root() || !run(&["unit"]).output().is_ok_and(|output| output.status.success()) {
        return println!("skipped: only root can give a user one capability, with setpriv");
    }
    std::os::unix::fs::chown(&place, Some(65_534), Some(65_534)).unwrap();
    // Others may look into the folder of the program.
    let program = place.join("napper");
    assert!(Command::new("cp").arg(&stage.program).arg(&program).status().unwrap().success());
    let (word, one) = (format!("argv={}", program.display()), stage.one.to_string());
    let added = run(&["add", "words", "--match", &word, "--match", "user=root", "--on", &one]).output().unwrap();
    assert!(added.status.success(), "{}", text(&added.stderr));
    let file = format!("exe={}", program.display());
    assert!(run(&["add", "files", "--match", &file, "--on", &one]).output().unwrap().status.success());
    let nap = Running(Command::new(&program).arg("1000").spawn().unwrap());
    let mut daemon = Running(run(&["run"]).stderr(Stdio::piped()).spawn().unwrap());
    stage.wait_for_mask(&nap, &stage.one);
    wait_for("what is missing", || {
        text(&run(&[]).output().unwrap().stdout).contains("files needs CAP_SYS_PTRACE").then_some(())
    });
    send("TERM", &daemon.0);
    assert!(ended(&mut daemon.0).success());
    assert_eq!(affinity::of(nap.0.id()).unwrap(), stage.all);
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

/// Of the user's own rules, which deleting looks at, one rests on experiment 1.
fn a_rule_keeps_its_experiment(stage: &Stage) {
    let config = stage.place.folder("config", 0o700);
    fs::create_dir(config.join("corewise")).unwrap();
    let delete = || {
        let mut command = stage.corewise(&["history", "delete", "1"]);
        command.env("XDG_CONFIG_HOME", &config).output().unwrap()
    };
    let own = config.join("corewise/rules.toml");
    fs::copy(&stage.rules, &own).unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o600)).unwrap();
    let refused = delete();
    let why = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(3), "{why}");
    assert!(why.contains("scores") && why.contains("--anyway"), "{why}");
    let shown = stage.corewise(&["history", "show", "1"]).output().unwrap();
    assert!(shown.status.success(), "it is still there");
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
    a_rule_keeps_its_experiment(&stage);
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
