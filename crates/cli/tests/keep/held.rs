//! Processes that rules hold, whoever else sets their masks, and what they get back.

use std::process::{Command, Stdio};
use std::time::Duration;

use corewise_machine::CpuSet;
use corewise_sys::affinity;
use corewise_sys::affinity_events::AffinityEvents;
use corewise_sys::process::ProcessIdentity;
use serde_json::Value;

use crate::stage::{KeepStage, RunningActor};
use crate::support::{text, wait_for};

#[test]
fn processes_are_held_and_given_back() {
    let Some(stage) = KeepStage::new() else { return };
    assert!(stage.said(&[]).starts_with("No rules in "));
    stage.add();
    let early = stage.nap();
    wait_for("the program", || stage.said(&["plan"]).contains(&format!("napper ({})", early.0.id())).then_some(()));
    assert_eq!(affinity::affinity_of(early.0.id()).unwrap(), stage.all, "a plan changes nothing");
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
    assert!(log.ends_with(" stopped: 1 thread given back\n"), "{log}");
    assert_eq!(affinity::affinity_of(early.0.id()).unwrap(), stage.all);
    stage.assert_nothing_left();
}

#[test]
fn a_process_that_cannot_be_read_for_a_while_is_held_afterwards() {
    let Some(stage) = KeepStage::new() else { return };
    stage.add();
    let (early, daemon) = (stage.nap(), stage.daemon());
    stage.wait_for_mask(&early, &stage.one);
    let open_files = |soft: &str| {
        let limit = format!("--nofile={soft}:");
        Command::new("prlimit").args(["--pid", &daemon.0.id().to_string(), &limit]).status()
    };
    if !open_files("3").is_ok_and(|status| status.success()) {
        return println!("skipped: prlimit cannot limit the loop's files");
    }
    let late = stage.nap();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(affinity::affinity_of(late.0.id()).unwrap(), stage.all, "without files to spare nothing is read");
    assert!(open_files("256").unwrap().success());
    stage.wait_for_mask(&late, &stage.one);
    stage.stop(daemon);
    stage.assert_nothing_left();
}

#[test]
fn processes_that_are_released_at_the_same_time_are_all_released() {
    let Some(stage) = KeepStage::new() else { return };
    stage.add();
    let (naps, daemon) = ((0..12).map(|_| stage.nap()).collect::<Vec<_>>(), stage.daemon());
    naps.iter().for_each(|nap| stage.wait_for_mask(nap, &stage.one));
    let ids: Vec<String> = naps.iter().map(|nap| nap.0.id().to_string()).collect();
    wait_for("the state", || ids.iter().all(|id| stage.said(&["why", id]).contains("because of")).then_some(()));
    let asked: Vec<_> = ids.iter().map(|id| stage.command(&["release", id]).spawn().unwrap()).collect();
    assert!(asked.into_iter().all(|mut child| child.wait().unwrap().success()));
    naps.iter().for_each(|nap| stage.wait_for_mask(nap, &stage.all));
    let log = stage.stop(daemon);
    assert_eq!(log.matches(" is released on request").count(), 12, "{log}");
}

/// Through a rule that is disabled meanwhile, and by the loop after the one that was asked.
#[test]
fn a_released_process_stays_so_until_somebody_wants_it_held() {
    let Some(stage) = KeepStage::new() else { return };
    stage.add();
    let (held, released, daemon) = (stage.nap(), stage.nap(), stage.daemon());
    stage.wait_for_mask(&released, &stage.one);
    let id = released.0.id().to_string();
    // The loop says how it stands once a second.
    let ask = |words: &[&str]| wait_for("what was asked for", || stage.keep(words).status.success().then_some(()));
    ask(&["release", &id]);
    stage.wait_for_mask(&released, &stage.all);
    stage.said(&["disable", "nap"]);
    stage.wait_for_mask(&held, &stage.all);
    stage.said(&["enable", "nap"]);
    stage.wait_for_mask(&held, &stage.one);
    assert_eq!(affinity::affinity_of(released.0.id()).unwrap(), stage.all);
    stage.stop(daemon);
    let daemon = stage.daemon();
    stage.wait_for_mask(&held, &stage.one);
    assert_eq!(affinity::affinity_of(released.0.id()).unwrap(), stage.all);
    wait_for("why", || stage.said(&["why", &id]).contains("an earlier `corewise keep run`: released").then_some(()));
    ask(&["release", "--undo", &id]);
    stage.wait_for_mask(&released, &stage.one);
    let refused = stage.keep(&["release", "1"]);
    assert_eq!(refused.status.code(), Some(3), "no rule matches it");
    stage.stop(daemon);
    assert_eq!(affinity::affinity_of(released.0.id()).unwrap(), stage.all);
    stage.assert_nothing_left();
}

#[test]
fn what_leaves_the_boundary_is_left_alone() {
    let Some(stage) = KeepStage::new() else { return };
    stage.add();
    let (nap, daemon) = (stage.nap(), stage.daemon_that_knows_no_author());
    let Some(daemon) = daemon else {
        return println!("skipped: the author is known here, and unshare and setpriv cannot hide it");
    };
    stage.wait_for_mask(&nap, &stage.one);
    let other = stage.all.difference(&stage.one);
    ProcessIdentity::find_task(nap.0.id()).and_then(|task| task.restrict_thread(&other)).unwrap();
    let id = nap.0.id().to_string();
    wait_for("the release", || stage.said(&["why", &id]).contains("released:").then_some(()));
    let log = stage.stop(daemon);
    assert_eq!(affinity::affinity_of(nap.0.id()).unwrap(), other, "{log}");
    stage.assert_nothing_left();
}

#[test]
fn a_killed_loop_leaves_nothing_after_undo_or_the_next() {
    let Some(stage) = KeepStage::new() else { return };
    stage.add();
    let nap = stage.nap();
    for by_undo in [true, false] {
        let mut daemon = stage.daemon();
        stage.wait_for_mask(&nap, &stage.one);
        daemon.0.kill().unwrap();
        daemon.0.wait().unwrap();
        assert_eq!(affinity::affinity_of(nap.0.id()).unwrap(), stage.one);
        if by_undo {
            assert!(stage.corewise(&["undo"]).output().unwrap().status.success());
        } else {
            let daemon = stage.daemon();
            assert_eq!(affinity::affinity_of(nap.0.id()).unwrap(), stage.one, "it is taken over");
            let log = stage.stop(daemon);
            assert!(
                log.contains("warning: an earlier `corewise keep run` was killed: 1 mask of it taken over"),
                "{log}"
            );
        }
        assert_eq!(affinity::affinity_of(nap.0.id()).unwrap(), stage.all);
        stage.assert_nothing_left();
    }
}

/// Setting an earlier mask of a thread again needs no other line in the journal: the last one is of another mask.
#[test]
fn a_mask_that_was_set_again_is_taken_over_after_a_kill() {
    let Some(stage) = KeepStage::new() else { return };
    stage.add();
    let nap = stage.nap();
    let mut daemon = stage.daemon();
    stage.wait_for_mask(&nap, &stage.one);
    let other = CpuSet::from_cpu(stage.all.lowest().unwrap());
    let [here, there] = [&stage.one, &other].map(|cpus| format!("on = \"{cpus}\""));
    let rules = std::fs::read_to_string(&stage.rules).unwrap();
    assert!(rules.contains(&here), "{rules}");
    for (text, mask) in [(rules.replace(&here, &there), &other), (rules.clone(), &stage.one)] {
        std::fs::write(&stage.rules, text).unwrap();
        stage.said(&["reload"]);
        stage.wait_for_mask(&nap, mask);
    }
    daemon.0.kill().unwrap();
    daemon.0.wait().unwrap();
    let log = stage.stop(stage.daemon());
    assert!(log.contains("1 mask of it taken over"), "{log}");
    assert_eq!(affinity::affinity_of(nap.0.id()).unwrap(), stage.all);
    stage.assert_nothing_left();
}

#[test]
fn a_program_is_launched_where_a_rule_says() {
    let Some(stage) = KeepStage::new() else { return };
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
fn set_by_another(process: &RunningActor, cpus: &CpuSet, has_terminal: bool) -> Option<RunningActor> {
    let line = format!("taskset -pc {cpus} {} && read line", process.0.id());
    let mut command = Command::new(if has_terminal { "script" } else { "setsid" });
    match has_terminal {
        true => command.args(["-qec", &line, "/dev/null"]),
        false => command.args(["sh", "-c", &line]),
    };
    command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().ok().map(RunningActor)
}

/// A stage where the author of a mask is known, and a cpu that the rule does not have.
fn stage_with_authors() -> Option<(KeepStage, CpuSet)> {
    if let Err(gap) = AffinityEvents::open() {
        println!("skipped: {}", gap.why);
        return None;
    }
    let stage = KeepStage::new()?;
    stage.add();
    let other = CpuSet::from_cpu(stage.all.difference(&stage.one).iter().next().unwrap());
    Some((stage, other))
}

/// A process whose mask another program set, and what `keep why` says of it once the loop has answered. Events are lost on a busy machine, and
/// then the author is not known: so it is for a second and a third process.
fn set_and_answered(stage: &KeepStage, cpus: &CpuSet, has_terminal: bool) -> Option<(RunningActor, Value)> {
    let known = (0..3).find_map(|_| {
        let process = stage.nap();
        stage.wait_for_mask(&process, &stage.one);
        let Some(_shell) = set_by_another(&process, cpus, has_terminal) else { return Some(None) };
        let held = wait_for("an answer", || {
            let why = stage.said(&["--json", "why", &process.0.id().to_string()]);
            let held = serde_json::from_str::<Value>(&why).unwrap()["held"].take();
            (held["corrections"] == 1 || held["standing"]["kind"] == "left").then_some(held)
        });
        (held["standing"]["author"]["kind"] != "unknown").then_some(Some((process, held)))
    });
    known.expect("a known author of one mask in three")
}

#[test]
fn another_program_is_corrected() {
    let Some((stage, other)) = stage_with_authors() else { return };
    let daemon = stage.daemon();
    let Some((process, held)) = set_and_answered(&stage, &other, false) else {
        return println!("skipped: there is no setsid");
    };
    assert_eq!(held["standing"]["kind"], "held", "{held}");
    stage.wait_for_mask(&process, &stage.one);
    stage.stop(daemon);
    assert_eq!(affinity::affinity_of(process.0.id()).unwrap(), stage.all);
    stage.assert_nothing_left();
}

#[test]
fn a_person_wins() {
    let Some((stage, other)) = stage_with_authors() else { return };
    let daemon = stage.daemon();
    let Some((process, held)) = set_and_answered(&stage, &other, true) else {
        return println!("skipped: there is no script");
    };
    let standing = &held["standing"];
    assert_eq!((&standing["because"], &standing["cpus"]), (&"person".into(), &other.to_string().into()), "{held}");
    assert!(standing["program"].as_str().unwrap().starts_with("taskset ("), "{held}");
    stage.stop(daemon);
    assert_eq!(affinity::affinity_of(process.0.id()).unwrap(), other, "what the person set stays");
}
