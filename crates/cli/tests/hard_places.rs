//! Hard places: one allowed cpu, no place for the store, a narrow page, Ctrl-C, a closed pipe, an ordinary user.
//!
//! Each test runs the real program on the machine it is tested on, and asserts words, never numbers or times.

mod support;

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use corewise_machine::CpuSet;
use corewise_sys::affinity;
use support::{TestPlace, ended, said, text};

/// Longer than any test waits: a survey that ends before was ended.
const ENDLESS: &str = "1h";

#[test]
fn a_process_with_one_cpu_is_told_that_links_need_two() {
    let place = TestPlace::new();
    let allowed = affinity::current_affinity().unwrap();
    let cpu = allowed.lowest().unwrap();
    // The child inherits the affinity of the thread that starts it; this thread ends with the test.
    affinity::set_current(&CpuSet::from_cpu(cpu)).unwrap();
    let run = place.corewise(&["survey", "--budget", "1s", "--width", "400"]).output().unwrap();
    let doctor = place.corewise(&["doctor", "--width", "400"]).output().unwrap();
    let tried = place.corewise(&["try", "--", "true"]).output().unwrap();
    affinity::set_current(&allowed).unwrap();
    let said = text(&tried.stderr);
    assert!(said.contains(&format!("there is nothing to try: this process may use only cpu {cpu}")), "{said}");
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let screen = text(&run.stdout);
    assert!(screen.contains("links between cpus (links need two cpus; 1 was surveyed)"), "{screen}");
    assert!(screen.contains("Latency") && !screen.contains("Links "), "{screen}");
    if allowed.len() > 1 {
        let denied = allowed.difference(&CpuSet::from_cpu(cpu));
        assert!(screen.contains("not allowed here"), "{denied}: {screen}");
        let gap =
            format!("gap   allowed cpus: this process may use only cpu {cpu}: no link between cpus can be measured");
        assert!(text(&doctor.stdout).contains(&gap), "{}", text(&doctor.stdout));
    }
}

#[test]
fn a_store_that_cannot_be_written_is_said_once_and_the_survey_still_prints() {
    let place = TestPlace::new();
    // Not even root may create a file here.
    let run = place.corewise(&["--budget", "1s", "--store", "/proc/corewise/history.db"]).output().unwrap();
    assert_eq!(run.status.code(), Some(3));
    assert!(text(&run.stdout).contains("What this means"), "{}", text(&run.stdout));
    assert!(!text(&run.stdout).contains("stored as survey"));
    let said = text(&run.stderr);
    assert_eq!(said.matches("warning: the survey result is not stored: ").count(), 1, "{said}");
    assert!(
        said.contains("/proc/corewise")
            && said.ends_with("choose another store with --store PATH, or none with --no-store\n")
    );
}

#[test]
fn a_read_only_folder_is_said_to_an_ordinary_user() {
    let place = TestPlace::new();
    let folder = place.folder("read-only", 0o555);
    let store = folder.join("history.db");
    let arguments = ["--budget", "1s", "--store", store.to_str().unwrap()];
    let run = place.ordinary_user(&arguments).output().unwrap();
    assert_eq!(run.status.code(), Some(3), "{}", text(&run.stderr));
    assert!(text(&run.stdout).contains("What this means"));
    assert!(text(&run.stderr).starts_with("warning: the survey result is not stored: "), "{}", text(&run.stderr));
    assert!(!store.exists());
}

#[test]
fn without_a_home_the_survey_says_where_it_could_be_stored() {
    let place = TestPlace::new();
    let run = place.corewise(&["--budget", "1s"]).env_remove("HOME").env_remove("XDG_DATA_HOME").output().unwrap();
    assert_eq!(run.status.code(), Some(0));
    assert!(text(&run.stderr).contains("neither XDG_DATA_HOME nor HOME is set\n  store it with --store PATH"));
    let list = place.corewise(&["history"]).env_remove("HOME").env_remove("XDG_DATA_HOME").output().unwrap();
    assert_eq!(list.status.code(), Some(3));
    assert!(text(&list.stderr).contains("there is no history: neither XDG_DATA_HOME nor HOME is set"));
}

#[test]
fn an_ordinary_user_gets_a_survey_and_a_doctor() {
    let place = TestPlace::new();
    let run = place.ordinary_user(&["--budget", "1s", "--no-store"]).output().unwrap();
    assert_eq!((run.status.code(), text(&run.stderr)), (Some(0), String::new()));
    for part in ["Latency", "Activity", "What this means"] {
        assert!(text(&run.stdout).contains(part), "{}", text(&run.stdout));
    }
    let doctor = place.ordinary_user(&["doctor"]).output().unwrap();
    assert_eq!(doctor.status.code(), Some(0));
    assert!(text(&doctor.stdout).contains("hardware counters:"), "{}", text(&doctor.stdout));
}

/// Who may not move interrupts hears that, whatever is wrong with the place of the journal.
#[test]
fn an_ordinary_user_is_told_that_only_root_moves_interrupts() {
    let place = TestPlace::new();
    let cpu = affinity::current_affinity().unwrap().lowest().unwrap().to_string();
    let planned = place.corewise(&["irq", "--away-from", &cpu, "--dry-run", "--json"]).output().unwrap();
    let planned: serde_json::Value = serde_json::from_slice(&planned.stdout).unwrap_or_default();
    if planned["away"]["moves"].as_array().is_none_or(Vec::is_empty) {
        println!("skipped: no interrupt of this machine can be moved away from cpu {cpu}");
        return;
    }
    let arguments = ["irq", "--away-from", &cpu, "--journal", "/proc/no-journal"];
    let run = place.ordinary_user(&arguments).output().unwrap();
    let said = text(&run.stderr);
    assert_eq!(run.status.code(), Some(3), "{said}");
    assert!(said.contains("may not move interrupts") || said.contains("/proc/irq is mounted read-only"), "{said}");
    assert!(!said.contains("the journal"), "{said}");
}

/// As `tail` and `links` do.
#[test]
fn a_survey_takes_its_cpus_in_the_placement_language() {
    let place = TestPlace::new();
    let cpu = affinity::current_affinity().unwrap().lowest().unwrap();
    let expression = format!("all & {cpu}");
    let run = place.corewise(&["survey", "--cpus", &expression, "--budget", "1s", "--json"]).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let survey: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let cpus: Vec<_> = survey["observed"]["cpus"].as_array().unwrap().iter().map(|seen| &seen["cpu"]).collect();
    assert_eq!(cpus, [cpu]);
}

#[test]
fn nothing_is_wider_than_forty_columns() {
    let place = TestPlace::new();
    for arguments in [&["--budget", "1s"][..], &["topology"], &["doctor"], &["history"], &["history", "show", "1"]] {
        let run = place.corewise(arguments).args(["--width", "40"]).output().unwrap();
        let screen = text(&run.stdout);
        let widest = screen.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
        assert!(!screen.is_empty() && widest.chars().count() <= 40, "{arguments:?}: {widest}");
    }
}

#[test]
fn without_a_terminal_there_is_no_colour_and_no_bar() {
    let place = TestPlace::new();
    let run = place.corewise(&["--budget", "1s"]).output().unwrap();
    assert_eq!(said(&run.stderr), "");
    assert!(!text(&run.stdout).contains('\u{1b}'));
    let run = place.corewise(&["topology", "--color", "always"]).output().unwrap();
    assert!(text(&run.stdout).contains("\u{1b}[1m"), "{}", text(&run.stdout));
}

#[test]
fn what_prints_again_and_again_ends_with_its_reader() {
    let place = TestPlace::new();
    let command = place.corewise(&["worth", "--watch", "--no-store"]).stdout(Stdio::piped()).spawn();
    let mut run = command.unwrap();
    drop(run.stdout.take());
    assert!(ended(&mut run).success());
}

#[test]
fn a_reader_that_has_read_enough_is_no_fault() {
    let place = TestPlace::new();
    let mut run = place.corewise(&["topology"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(run.stdout.take());
    assert_eq!(said_at_the_end(run), (Some(0), String::new()));
}

#[test]
fn a_full_disk_behind_standard_output_is_said() {
    let place = TestPlace::new();
    for words in [&["topology"][..], &["place", "--help"], &["place", "all", "--as", "list"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let run = place.corewise(words).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
        let (code, said) = said_at_the_end(run);
        assert_eq!(code, Some(3), "{words:?}");
        assert!(said.contains("error: cannot write to standard output: "), "{words:?}: {said}");
    }
}

#[test]
fn what_was_typed_does_not_steer_the_terminal() {
    let place = TestPlace::new();
    for words in [
        &["place", "--from", "list", "\u{1b}[31mx"][..],
        &["place", "--as", "\u{1b}[31mx", "0"],
        &["topology", "--machine", "\u{1b}[31mx"],
        &["run", "--on", "0", "--", "\u{1b}[31mx"],
        &["run", "--on", "\u{1b}[31mx", "--", "true"],
        &["run", "--on", "0", "--memory", "\u{1b}[31mx", "--", "true"],
        &["place", "--as", "\u{202e}x\u{9b}31m", "0"],
        &["place", "\u{2066}x\u{7f}"],
        &["run", "--on", "0", "--", "\u{202e}x\u{200b}"],
    ] {
        let mut command = place.corewise(words);
        let run = command.env("CLICOLOR_FORCE", "1").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let (code, said) = said_at_the_end(run);
        let steers = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{2066}\u{200b}".contains(c);
        assert!(code != Some(0) && said.starts_with("error: ") && !said.contains(steers), "{words:?}: {said:?}");
    }
}

#[test]
fn a_closed_standard_output_is_said() {
    let place = TestPlace::new();
    let program = place.corewise(&[]).get_program().to_owned();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "exec \"$0\" place --machine fx-8150 all --as list >&-"]).arg(program);
    let run = shell.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let closed = "error: cannot write to standard output: it is closed\n";
    assert_eq!(said_at_the_end(run), (Some(3), closed.to_owned()));
}

#[test]
fn ctrl_c_at_any_moment_gives_what_was_measured() {
    for after_ms in [0, 30, 100, 300, 700, 1500] {
        let place = TestPlace::new();
        let mut run = survey_without_end(&place);
        std::thread::sleep(Duration::from_millis(after_ms));
        support::interrupt(&run);
        let mut screen = String::new();
        run.stdout.take().unwrap().read_to_string(&mut screen).unwrap();
        let (code, said) = said_at_the_end(run);
        let list = text(&place.corewise(&["history"]).output().unwrap().stdout);
        assert_eq!(code, Some(130), "after {after_ms} ms");
        if screen.is_empty() {
            let nothing = "error: nothing was measured: the survey was ended before its first measurement\n";
            assert!(said.starts_with(nothing), "after {after_ms} ms: {said}");
            assert!(list.starts_with("Nothing is stored for this machine yet."), "after {after_ms} ms: {list}");
        } else {
            assert_eq!(said, "", "after {after_ms} ms");
            assert!(screen.starts_with("PARTIAL: ended early, after "), "after {after_ms} ms: {screen}");
            assert!(screen.contains("\nLatency  "), "after {after_ms} ms: {screen}");
            assert!(list.contains("partial"), "after {after_ms} ms: {list}");
        }
    }
}

/// The document is larger than a pipe holds, so the program is still writing when the signal comes.
#[test]
fn ctrl_c_after_the_last_measurement_changes_nothing() {
    let place = TestPlace::new();
    let arguments = ["--budget", "1s", "--json"];
    let mut run = place.corewise(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = run.stdout.take().unwrap();
    let mut document = vec![0];
    stdout.read_exact(&mut document).unwrap();
    support::interrupt(&run);
    stdout.read_to_end(&mut document).unwrap();
    assert_eq!(said_at_the_end(run), (Some(0), String::new()));
    let document: serde_json::Value = serde_json::from_slice(&document).unwrap();
    // On a busy machine the time may not be enough for all rounds, which is said; the signal is no reason.
    let survey = &document["observed"];
    let is_of_rounds = |what: &str| what.ends_with(" rounds") && !what.starts_with("interrupts");
    let lacks_rounds = survey["gaps"].as_array().unwrap().iter().any(|gap| is_of_rounds(gap["what"].as_str().unwrap()));
    assert_eq!(survey["provenance"]["partial"], lacks_rounds);
    assert_eq!(document["stored"], 1);
}

#[test]
fn two_signals_in_a_row_are_one_interruption() {
    let place = TestPlace::new();
    let mut run = survey_without_end(&place);
    support::interrupt(&run);
    support::interrupt(&run);
    run.stdout.take().unwrap().read_to_string(&mut String::new()).unwrap();
    let (code, said) = said_at_the_end(run);
    assert!(code == Some(130) && !said.contains("ended at once"), "{said}");
}

#[test]
fn a_named_pipe_is_no_recording_and_nobody_waits_for_its_writer() {
    let place = TestPlace::new();
    let pipe = place.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let arguments = ["topology", "--root", pipe.to_str().unwrap()];
    let mut run = place.corewise(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // Whoever waits for a writer waits for ever; this only keeps the test from doing so too.
    for _ in 0..600 {
        if run.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    run.kill().unwrap();
    let (code, said) = said_at_the_end(run);
    assert_eq!(code, Some(3), "{said}");
    let words = format!("error: cannot read {}: it is a named pipe\n", pipe.display());
    assert!(said.starts_with(&words), "{said}");
}

#[test]
fn a_recording_goes_to_standard_output_as_a_plain_tar_or_as_told() {
    let place = TestPlace::new();
    let shown = |path: &str| {
        let run = place.corewise(&["topology", "--json", "--root", path]).output().unwrap();
        assert_eq!((run.status.code(), text(&run.stderr)), (Some(0), String::new()));
        text(&run.stdout)
    };
    for (packing, offset, magic) in [
        (&[][..], 257, &b"ustar"[..]),
        (&["--packing", "gzip"], 0, b"\x1f\x8b"),
        (&["--packing", "xz"], 0, b"\xfd7zXZ"),
    ] {
        let run = place.corewise(&["record", "-o", "-"]).args(packing).output().unwrap();
        assert_eq!((run.status.code(), text(&run.stderr)), (Some(0), String::new()));
        assert_eq!(&run.stdout[offset..offset + magic.len()], magic, "{packing:?}");
        std::fs::write(place.path().join("recorded"), &run.stdout).unwrap();
        assert!(shown("recorded").contains("corewise/topology/1"));
    }
    assert!(!place.path().join("-").exists());
}

#[test]
fn two_at_once_store_both() {
    let place = TestPlace::new();
    let runs: Vec<Child> = (0..2)
        .map(|_| place.corewise(&["--budget", "1s", "--anyway"]).stdout(Stdio::null()).spawn().unwrap())
        .collect();
    for run in runs {
        assert_eq!(said_at_the_end(run).0, Some(0));
    }
    let list = place.corewise(&["history", "--json"]).output().unwrap();
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!(list["artifacts"].as_array().map(Vec::len), Some(2), "{list}");
}

/// A survey that ends only on a signal, once it listens.
fn survey_without_end(place: &TestPlace) -> Child {
    let arguments = ["--budget", ENDLESS];
    let run = place.corewise(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    support::wait_until_it_catches_interrupts(&run);
    run
}

fn said_at_the_end(run: Child) -> (Option<i32>, String) {
    let output = run.wait_with_output().unwrap();
    (output.status.code(), text(&output.stderr))
}
