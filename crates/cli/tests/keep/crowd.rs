//! A program of more threads than are held at the same time: others are held beside it, and it is when there is room.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::stage::{KeepStage, RunningActor};
use crate::support::{text, wait_for};

/// How many threads a copy of this program starts.
const THREADS: &str = "COREWISE_TEST_THREADS";

/// Plays a program of many threads, for the tests below, until its input ends; nothing if it was not started by one.
#[test]
fn plays_a_program_of_many_threads() {
    let Some(count) = std::env::var(THREADS).ok().and_then(|count| count.parse::<usize>().ok()) else { return };
    // The harness has two already.
    let start = |_| thread::Builder::new().stack_size(64 << 10).spawn(rest).is_ok();
    println!("{}", if (2..count).all(start) { "ready" } else { "too many" });
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    std::process::exit(0);
}

fn rest() {
    loop {
        thread::park();
    }
}

/// Starts a copy of this program with this many threads, or `None` if the system does not allow them.
fn start_crowd(program: &Path, count: usize) -> Option<RunningActor> {
    let own = std::env::current_exe().unwrap();
    assert!(Command::new("cp").arg(own).arg(program).status().unwrap().success());
    let mut command = Command::new(program);
    command.args(["--exact", "crowd::plays_a_program_of_many_threads", "--nocapture", "--test-threads=2"]);
    let child = command.env(THREADS, count.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut crowd = RunningActor(child);
    let mut lines = BufReader::new(crowd.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    let answer = lines.find(|line| line.contains("ready") || line.contains("too many")).unwrap();
    answer.contains("ready").then_some(crowd)
}

#[test]
fn a_crowd_of_threads_does_not_keep_others_from_being_held() {
    let Some(stage) = KeepStage::new() else { return };
    let program = stage.program.with_file_name("crowd");
    let Some(crowd) = start_crowd(&program, 4_990) else {
        return println!("skipped: 4,990 threads are not allowed here");
    };
    let (exe, one) = (format!("exe={}", program.display()), stage.one.to_string());
    stage.said(&["add", "crowd", "--match", &exe, "--on", &one]);
    stage.add();
    let metrics = stage.place.folder("metrics", 0o700).join("keep.prom");
    let daemon = stage.daemon_with(&["--metrics", metrics.to_str().unwrap()]);
    stage.wait_for_mask(&crowd, &stage.one);
    let naps: Vec<RunningActor> = (0..15).map(|_| stage.nap()).collect();
    naps.iter().for_each(|nap| stage.wait_for_mask(nap, &stage.one));
    stage.wait_for_mask(&crowd, &stage.all);
    let id = crowd.0.id().to_string();
    let words = |words: &[&str]| stage.said(words).split_whitespace().collect::<Vec<_>>().join(" ");
    wait_for("why", || words(&["why", &id]).contains("no room for its 4,99").then_some(()));
    assert!(words(&[]).contains("crowd: no room for 1 process of "), "{}", words(&[]));
    let read = || std::fs::read_to_string(&metrics).unwrap();
    wait_for("the metrics", || read().contains("corewise_keep_waiting{rule=\"crowd\"} 1\n").then_some(()));
    let refused = stage.keep(&["release", &id]);
    assert!(text(&refused.stderr).contains("is not held: there is no room for it"), "{}", text(&refused.stderr));
    // It is looked at again when there is room.
    drop(naps);
    stage.wait_for_mask(&crowd, &stage.one);
    wait_for("the metrics", || read().contains("corewise_keep_waiting{rule=\"crowd\"} 0\n").then_some(()));
    let log = stage.stop(daemon);
    let warnings = log.matches("rule crowd: crowd (").count();
    assert!(warnings == 1 && log.contains("is not held: there is no room for its 499"), "{log}");
    stage.wait_for_mask(&crowd, &stage.all);
    stage.assert_nothing_left();
}
