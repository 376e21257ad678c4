//! What operators see: states for the service manager, metrics, units, and the map of worth.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};

use crate::stage::{KeepStage, RunningActor};
use crate::support::{ended, send, text, wait_for};

#[test]
fn a_service_manager_gets_every_state() {
    let Some(stage) = KeepStage::new() else { return };
    stage.add();
    let path = stage.place.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let mut daemon = stage.begin_loop(stage.command(&["run"]).env("NOTIFY_SOCKET", &path));
    let next = |expected: &str| loop {
        let mut buffer = [0; 128];
        let length = socket.recv(&mut buffer).unwrap();
        let states = text(&buffer[..length]);
        // How it stands is said in between as well.
        if !states.starts_with("STATUS=") {
            assert!(states.starts_with(expected), "{states}");
            break states;
        }
    };
    assert_eq!(next("READY=1"), "READY=1\nSTATUS=0 threads held by 1 rule");
    send("HUP", &daemon.0);
    let reloading = next("RELOADING=1");
    let (_, time) = reloading.split_once("\nMONOTONIC_USEC=").unwrap();
    assert!(time.parse::<u64>().unwrap() > 0);
    next("READY=1");
    let second = stage.keep(&["run"]);
    assert_eq!(second.status.code(), Some(3), "one at a time");
    // Rules that change are read without a signal.
    let rules = fs::read_to_string(&stage.rules).unwrap();
    fs::write(&stage.rules, format!("{rules}disabled = true\n")).unwrap();
    next("RELOADING=1");
    next("READY=1");
    send("TERM", &daemon.0);
    next("STOPPING=1");
    assert!(ended(&mut daemon.0).success());
}

/// What node_exporter reads is always whole, and has as many series as there are rules.
#[test]
fn metrics_are_whole_and_bounded() {
    let Some(stage) = KeepStage::new() else { return };
    stage.add();
    let folder = stage.place.folder("metrics", 0o700);
    let (file, before) = (folder.join("keep.prom"), folder.join("before"));
    fs::write(&before, "another file's").unwrap();
    // A link of this user's own is followed; what is written is put in the place of what was there.
    fs::hard_link(&before, &file).unwrap();
    let naps = [stage.nap(), stage.nap()];
    let daemon = stage.daemon_with(&["--metrics", file.to_str().unwrap()]);
    let read = || fs::read_to_string(&file).unwrap();
    let found = wait_for("the threads", || {
        Some(read()).filter(|text| text.contains("corewise_keep_threads{rule=\"nap\"} 2\n"))
    });
    let series = || found.lines().filter(|line| !line.starts_with('#'));
    assert!(series().all(|line| line.starts_with("corewise_keep_")) && series().count() == 9, "{found}");
    assert!(found.contains("corewise_keep_unproven{rule=\"nap\"} 1\n"), "{found}");
    stage.said(&["disable", "nap"]);
    wait_for("no threads", || {
        let now = read();
        assert!(now.ends_with("corewise_keep_rules_broken 0\n"), "{now}");
        now.contains("corewise_keep_threads{rule=\"nap\"} 0\n").then_some(())
    });
    stage.stop(daemon);
    drop(naps);
    assert_eq!(fs::read_to_string(&before).unwrap(), "another file's");
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "nothing else is left: {names:?}");
}

/// systemd reads the units and finds nothing to complain about.
#[test]
fn units_are_what_systemd_understands() {
    let Some(stage) = KeepStage::new() else { return };
    for (scope, name) in [("--system", "corewise-keep.service"), ("--user", "corewise-keep-user.service")] {
        let unit = stage.place.path().join(name);
        fs::write(&unit, stage.place.corewise(&["keep", scope, "unit"]).output().unwrap().stdout).unwrap();
        // Says nothing of other units, and needs no running systemd.
        let verify =
            Command::new("systemd-analyze").args(["verify", "--man=no", "--recursive-errors=no"]).arg(&unit).output();
        let Ok(verify) = verify else { return println!("skipped: there is no systemd-analyze") };
        let said = text(&verify.stderr);
        assert!(verify.status.success() && !said.contains(name), "{said}");
    }
}

#[test]
fn the_map_of_worth_is_there_while_the_loop_runs() {
    let Some(stage) = KeepStage::new() else { return };
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

#[test]
fn nobody_has_to_read_the_log() {
    let Some(stage) = KeepStage::new() else { return };
    stage.add();
    let mut daemon = stage.daemon();
    drop(daemon.0.stderr.take());
    let naps = [stage.nap(), stage.nap()];
    naps.iter().for_each(|nap| stage.wait_for_mask(nap, &stage.one));
    send("TERM", &daemon.0);
    assert!(ended(&mut daemon.0).success());
    stage.assert_nothing_left();
}

/// A socket of the test's own in the place of the journal's, in a mount namespace: nothing of this machine's is touched.
#[test]
fn the_journal_gets_fields_and_priorities() {
    let Some(stage) = KeepStage::new() else { return };
    stage.add();
    let log = stage.place.path().join("stderr");
    let line = "mount -t tmpfs none /run && mkdir -p /run/systemd/journal && echo ready && read line
        JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec \"$0\" \"$@\"";
    let run = stage.command(&["run"]);
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", line]).arg(run.get_program()).args(run.get_args());
    for (name, value) in run.get_envs() {
        value.map(|value| command.env(name, value));
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(fs::File::create(&log).unwrap());
    let Ok(mut daemon) = command.spawn().map(RunningActor) else { return println!("skipped: there is no unshare") };
    let mut said = String::new();
    BufReader::new(daemon.0.stdout.take().unwrap()).read_line(&mut said).unwrap();
    if said.is_empty() {
        return println!("skipped: no file system can be mounted: {}", fs::read_to_string(&log).unwrap());
    }
    let inside = format!("/proc/{}/root/run/systemd/journal/socket", daemon.0.id());
    let journal = UnixDatagram::bind(inside).unwrap();
    daemon.0.stdin.take().unwrap().write_all(b"begin\n").unwrap();
    let entry = |words: &str| loop {
        let mut buffer = [0; 4096];
        let length = journal.recv(&mut buffer).unwrap();
        let entry = String::from_utf8_lossy(&buffer[..length]).into_owned();
        if entry.contains(words) {
            break entry;
        }
    };
    let begun = entry("started: 1 rule");
    assert!(begun.contains("PRIORITY") && begun.contains('5'), "{begun}");
    let nap = stage.nap();
    let held = entry("rule nap matches");
    for field in ["COREWISE_RULE", "COREWISE_PROCESS", "COREWISE_NAME", &nap.0.id().to_string()] {
        assert!(held.contains(field), "{field}: {held}");
    }
    send("TERM", &daemon.0);
    assert!(ended(&mut daemon.0).success());
    assert_eq!(fs::read_to_string(&log).unwrap(), "", "nothing is logged twice");
}
