//! Who may say what is held: files of rules, users and capabilities.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use corewise_sys::{affinity, process};

use crate::stage::{KeepStage, RunningActor};
use crate::support::{self, ended, send, text, wait_for};

/// The name of the state's file on this machine.
fn state_name() -> String {
    format!("keep-{}.json", process::boot_id().unwrap())
}

#[test]
fn a_broken_file_is_refused_with_its_line_and_the_old_rules_stay() {
    let Some(stage) = KeepStage::new() else { return };
    stage.add();
    let (nap, daemon) = (stage.nap(), stage.daemon());
    stage.wait_for_mask(&nap, &stage.one);
    let good = fs::read_to_string(&stage.rules).unwrap();
    fs::write(&stage.rules, format!("{good}[[rule]]\nnam = \"x\"\n")).unwrap();
    let refused = stage.keep(&["reload"]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(text(&refused.stderr).contains("rules.toml, line 6: unknown field `nam`"), "{}", text(&refused.stderr));
    // Nobody sends a signal: the loop looks at its files.
    let state = stage.journals().join(state_name());
    wait_for("the refusal", || fs::read_to_string(&state).unwrap_or_default().contains("unknown field").then_some(()));
    assert_eq!(affinity::affinity_of(nap.0.id()).unwrap(), stage.one);
    fs::write(&stage.rules, &good).unwrap();
    stage.said(&["disable", "nap"]);
    stage.wait_for_mask(&nap, &stage.all);
    stage.said(&["enable", "nap"]);
    stage.wait_for_mask(&nap, &stage.one);
    stage.said(&["remove", "nap"]);
    stage.wait_for_mask(&nap, &stage.all);
    let log = stage.stop(daemon);
    let refusal = log.lines().find(|line| line.contains("the rules are not read, the old ones stay: ")).unwrap();
    assert!(refusal.contains("warning: ") && refusal.contains("rules.toml, line 6: unknown field `nam`"), "{log}");
}

/// The state names the process that `keep reload` sends a signal to. Here it names a loop that does run.
#[test]
fn a_state_that_somebody_else_can_have_written_does_not_count() {
    let Some(stage) = KeepStage::new() else { return };
    stage.add();
    let daemon = stage.daemon();
    let folder = stage.place.folder("copied", 0o700);
    let copy = folder.join(state_name());
    fs::copy(stage.journals().join(state_name()), &copy).unwrap();
    let rules = stage.rules.to_str().unwrap();
    let reload = || {
        let words = ["--journal", folder.to_str().unwrap(), "keep", "--user", "--rules", rules, "reload"];
        stage.place.corewise(&words).output().unwrap().status.code()
    };
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(reload(), Some(0), "this user's own copy counts");
    let state = fs::read_to_string(&copy).unwrap();
    let boot = corewise_sys::process::boot_id().unwrap();
    fs::write(&copy, state.replace(&format!("\"boot\":\"{boot}\""), "\"boot\":\"another\"")).unwrap();
    assert_eq!(reload(), Some(3), "it is of another boot, when the number was another process's");
    fs::write(&copy, state).unwrap();
    assert_eq!(reload(), Some(0));
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(reload(), Some(3), "everybody may write it");
    if support::is_root() {
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::chown(&copy, Some(65_534), None).unwrap();
        assert_eq!(reload(), Some(3), "another user's");
    }
    stage.stop(daemon);
}

#[test]
fn rules_that_somebody_else_can_have_written_do_not_count() {
    let Some(stage) = KeepStage::new() else { return };
    stage.add();
    fs::set_permissions(&stage.rules, fs::Permissions::from_mode(0o666)).unwrap();
    for words in [&["plan"][..], &[], &["run"], &["remove", "nap"]] {
        let refused = stage.keep(words);
        assert_eq!(refused.status.code(), Some(3), "{words:?}");
        let why = text(&refused.stderr);
        assert!(why.contains("do not count") && why.contains("may be written by everybody"), "{why}");
    }
    // Nor through a link: what counts is who may write what it leads to, and whether anybody else can have made the link.
    let (theirs, folder) = (stage.place.folder("theirs", 0o777), stage.place.folder("mine", 0o700));
    let [open, link] = [theirs.join("rules.toml"), folder.join("rules.toml")];
    fs::copy(&stage.rules, &open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink(&open, &link).unwrap();
    let planted = theirs.join("link.toml");
    std::os::unix::fs::symlink(&stage.rules, &planted).unwrap();
    fs::set_permissions(&stage.rules, fs::Permissions::from_mode(0o600)).unwrap();
    for (rules, expected) in [(&link, "may be written by everybody"), (&planted, "link")] {
        let refused = stage.corewise(&["keep", "--user", "--rules", rules.to_str().unwrap(), "plan"]).output().unwrap();
        let why = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(3), "{why}");
        assert!(why.contains(expected), "{expected}: {why}");
    }
}

/// Without any privilege: this user's processes are held, and a rule reaches nobody else's.
#[test]
fn an_ordinary_user_keeps_own_processes_alone() {
    let Some(stage) = KeepStage::new() else { return };
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
        RunningActor(Command::new(&program).arg("1000").uid(uid).spawn().unwrap())
    };
    let (theirs, ours) = (start(65_534), start(0));
    let mut daemon = RunningActor(run(&["keep", "run"]).stderr(Stdio::piped()).spawn().unwrap());
    stage.wait_for_mask(&theirs, &stage.one);
    let late = start(65_534);
    stage.wait_for_mask(&late, &stage.one);
    assert_eq!(affinity::affinity_of(ours.0.id()).unwrap(), stage.all);
    send("TERM", &daemon.0);
    assert!(ended(&mut daemon.0).success());
    for process in [&theirs, &late] {
        assert_eq!(affinity::affinity_of(process.0.id()).unwrap(), stage.all);
    }
}

/// A system user with CAP_SYS_NICE alone: the file that another user's process executes is the one thing that it cannot see.
#[test]
fn one_capability_is_enough_but_for_files() {
    let Some(stage) = KeepStage::new() else { return };
    let folder = stage.place.folder("service", 0o755);
    if !support::is_root() {
        return println!("skipped: only root can give one capability to another user");
    }
    std::os::unix::fs::chown(&folder, Some(65_534), Some(65_534)).unwrap();
    let (rules, journals) = (folder.join("rules.toml"), folder.join("journals"));
    let keep = |words: &[&str]| {
        let start =
            ["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+sys_nice", "--ambient-caps=+sys_nice"];
        let own = stage.place.ordinary_user(&[]);
        let mut command = Command::new("setpriv");
        command.args(start).arg(own.get_program());
        command.arg("--journal").arg(&journals).args(["keep", "--system", "--rules"]).arg(&rules).args(words);
        for (name, value) in own.get_envs() {
            value.map(|value| command.env(name, value));
        }
        command
    };
    if !Command::new("setpriv").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return println!("skipped: there is no setpriv");
    }
    let (one, program) = (stage.one.to_string(), stage.program.display().to_string());
    for (name, matches) in [("words", format!("argv={program}")), ("files", format!("exe={program}"))] {
        let added = keep(&["add", name, "--match", &matches, "--match", "user=root", "--on", &one]).output().unwrap();
        assert!(added.status.success(), "{}", text(&added.stderr));
    }
    let early = stage.nap();
    let mut daemon = RunningActor(keep(&["run"]).stderr(Stdio::piped()).spawn().unwrap());
    stage.wait_for_mask(&early, &stage.one);
    let late = stage.nap();
    stage.wait_for_mask(&late, &stage.one);
    wait_for("what is missing", || {
        let output = keep(&[]).output().unwrap();
        text(&output.stdout).contains("`keep run` needs CAP_SYS_PTRACE").then_some(())
    });
    send("TERM", &daemon.0);
    assert!(ended(&mut daemon.0).success());
    for process in [&early, &late] {
        assert_eq!(affinity::affinity_of(process.0.id()).unwrap(), stage.all);
    }
}
