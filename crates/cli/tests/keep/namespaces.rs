//! Daemons and programs in mount namespaces of their own: a folder that is full, and files mounted over others.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use corewise_machine::CpuSet;
use corewise_sys::affinity;

use crate::stage::{KeepStage, RunningActor};
use crate::support::{text, wait_for};

/// A command in a mount namespace of its own, behind the shell commands `setup`, which print a line when they are done and read one; `None`
/// if nothing can be mounted here. `"$0" "$@"` is the command.
fn start_inside(setup: &str, command: &Command) -> Option<RunningActor> {
    let line = format!("{setup} && echo ready && read line && exec \"$0\" \"$@\"");
    let mut inside = Command::new("unshare");
    inside.args(["-m", "sh", "-c", &line]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        value.map(|value| inside.env(name, value));
    }
    let pipes = inside.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut actor) = pipes.spawn().map(RunningActor) else {
        println!("skipped: there is no unshare");
        return None;
    };
    let mut said = String::new();
    BufReader::new(actor.0.stdout.take().unwrap()).read_line(&mut said).unwrap();
    if said.is_empty() {
        println!("skipped: no file system can be mounted");
        return None;
    }
    Some(actor)
}

fn let_begin(actor: &mut RunningActor) {
    actor.0.stdin.take().unwrap().write_all(b"begin\n").unwrap();
}

/// Runs a command in the mount namespace of a process; what it prints.
fn said_inside(actor: &RunningActor, command: &Command) -> String {
    let mut inside = Command::new("nsenter");
    inside.args(["-m", "-t", &actor.0.id().to_string()]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        value.map(|value| inside.env(name, value));
    }
    joined(&inside.output().unwrap().stdout)
}

/// What was printed, on one line.
fn joined(printed: &[u8]) -> String {
    text(printed).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A moment of a full disk: what could not be placed meanwhile is placed when there is space, and is not called placed before.
#[test]
fn a_full_disk_leaves_no_process_unplaced_for_good() {
    let Some(stage) = KeepStage::new() else { return };
    stage.add();
    let journals = stage.place.folder("journals", 0o700);
    let setup = format!("mount -t tmpfs -o size=64k,mode=700 none {}", journals.display());
    let Some(mut daemon) = start_inside(&setup, &stage.command(&["run"])) else { return };
    let filler = format!("/proc/{}/root{}/filler", daemon.0.id(), journals.display());
    let_begin(&mut daemon);
    let early = stage.nap();
    stage.wait_for_mask(&early, &stage.one);
    let mut file = fs::File::create(&filler).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    let late: Vec<RunningActor> = (0..30).map(|_| stage.nap()).collect();
    let log = BufReader::new(daemon.0.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut refused = log.filter(|line| line.contains("was not placed"));
    let line = refused.next().unwrap();
    assert!(line.contains("No space left"), "{line}");
    drop(file);
    let (_, unplaced) = line.split_once(": thread ").unwrap();
    let unplaced = unplaced.split(' ').next().unwrap();
    assert_eq!(affinity::affinity_of(unplaced.parse().unwrap()).unwrap(), stage.all);
    fs::remove_file(&filler).unwrap();
    let why = stage.command(&["why", unplaced]);
    late.iter().for_each(|nap| stage.wait_for_mask(nap, &stage.one));
    wait_for("why", || said_inside(&daemon, &why).contains("all its threads are placed now").then_some(()));
}

/// Any user can mount a file over another one's path, in a user namespace.
#[test]
fn a_file_that_is_mounted_over_a_programs_path_is_not_that_program() {
    let Some(stage) = KeepStage::new() else { return };
    let rules = stage.place.folder("system", 0o700).join("rules.toml");
    let system =
        |words: &[&str]| stage.corewise(&[&["keep", "--system", "--rules", rules.to_str().unwrap()], words].concat());
    let (exe, one) = (format!("exe={}", stage.program.display()), stage.one.to_string());
    assert!(system(&["add", "nap", "--match", &exe, "--on", &one]).status().unwrap().success());
    // The map of worth lies in /run.
    let Some(mut daemon) = start_inside("mount -t tmpfs none /run", &system(&["run"])) else { return };
    let other = stage.program.with_file_name("other");
    assert!(Command::new("cp").arg(&stage.program).arg(&other).status().unwrap().success());
    let cover = format!("mount --bind {} {}", other.display(), stage.program.display());
    let mut napper = Command::new(&stage.program);
    napper.arg("1000");
    let Some(mut covered) = start_inside(&cover, &napper) else { return };
    let_begin(&mut daemon);
    let_begin(&mut covered);
    let executed = format!("/proc/{}/exe", covered.0.id());
    wait_for("the program", || (fs::read_link(&executed).unwrap() == stage.program).then_some(()));
    let nap = stage.nap();
    stage.wait_for_mask(&nap, &stage.one);
    let why = joined(&system(&["why", &covered.0.id().to_string()]).output().unwrap().stdout);
    assert!(
        why.contains("No rule in force matches") && why.contains("the file that it executes is not the one"),
        "{why}"
    );
    assert!(affinity::affinity_of(covered.0.id()).unwrap() == stage.all);
    // The rules of a user are about that user's own processes.
    stage.add();
    let planned = stage.said(&["plan"]);
    assert!(planned.contains(&format!("({})", covered.0.id())), "{planned}");
}

/// Whatever journals and rules the asker has, and whoever it is.
#[test]
fn the_keeper_of_the_system_is_named_to_everybody() {
    let Some(stage) = KeepStage::new() else { return };
    let folder = stage.place.folder("system", 0o755);
    let rules = folder.join("rules.toml");
    let line = format!("exe={}", stage.program.display());
    let system = ["--journal", "/run/corewise", "keep", "--system", "--rules", rules.to_str().unwrap()];
    let one = stage.one.to_string();
    let corewise = |words: &[&str]| stage.place.corewise(&[&system, words].concat());
    let Some(mut daemon) = start_inside("mount -t tmpfs none /run && mkdir -m 700 /run/corewise", &corewise(&["run"]))
    else {
        return;
    };
    // Rules that another user may read.
    let add = ["keep", "--system", "--rules", rules.to_str().unwrap(), "add", "nap", "--match", &line, "--on", &one];
    assert!(stage.corewise(&add).status().unwrap().success());
    let_begin(&mut daemon);
    let nap = stage.nap();
    stage.wait_for_mask(&nap, &stage.one);
    let id = nap.0.id().to_string();
    let expected = format!("because of rule nap of `corewise keep run` of the system ({})", daemon.0.id());
    let as_nobody = |words: &[&str]| {
        let own = stage.place.ordinary_user(words);
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(own.get_program()).args(own.get_args());
        for (name, value) in own.get_envs() {
            value.map(|value| command.env(name, value));
        }
        command
    };
    wait_for("the state", || said_inside(&daemon, &as_nobody(&["keep", "why", &id])).contains(&expected).then_some(()));
    let listed = said_inside(&daemon, &as_nobody(&["keep", "--system", "--rules", rules.to_str().unwrap()]));
    assert!(listed.starts_with("1 thread of 1 process held;") && listed.contains(" none 0 in force"), "{listed}");
    let others = folder.join("others.toml");
    fs::copy(&rules, &others).unwrap();
    let listed = said_inside(&daemon, &corewise_with(&stage, others.to_str().unwrap()));
    assert!(
        listed.contains("These rules are not in force: `corewise keep run") && listed.contains(" not in force"),
        "{listed}"
    );
    assert_eq!(affinity::affinity_of(nap.0.id()).unwrap(), CpuSet::from_cpu(stage.one.lowest().unwrap()));
}

fn corewise_with(stage: &KeepStage, rules: &str) -> Command {
    stage.place.corewise(&["--journal", "/run/corewise", "keep", "--system", "--rules", rules])
}
