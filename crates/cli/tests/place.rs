//! Text of other tools, given as words, in a file or through standard input; machines that are pasted text.

mod support;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;
use support::{TestPlace, text};

/// Runs corewise with this standard input.
fn fed(place: &TestPlace, arguments: &[&str], input: &str) -> Output {
    let mut command = place.corewise(arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads");
    child.wait_with_output().expect("it ends")
}

/// Pasted text of a mail: a table of lscpu and /proc/interrupts.
fn pasted() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/pasted.txt")).unwrap()
}

#[test]
fn a_text_may_be_a_file_or_standard_input() {
    let place = TestPlace::new();
    let file = place.path().join("app.service");
    fs::write(&file, "[Service]\nCPUAffinity=2 3\n").unwrap();
    let read = ["place", "--machine", "fx-8150", "--as", "list", "--from", "auto"];
    let of_file = place.corewise(&[&read[..], &[file.to_str().unwrap()]].concat()).output().unwrap();
    assert_eq!((text(&of_file.stdout).trim(), of_file.status.code()), ("2,3", Some(0)), "{}", text(&of_file.stderr));
    let of_input = fed(&place, &[&read[..], &["-"]].concat(), "$ taskset -cp 7\npid 7's current affinity list: 4-6\n");
    assert_eq!(text(&of_input.stdout).trim(), "4-6", "{}", text(&of_input.stderr));
    assert!(text(&of_input.stderr).contains("note: Read as taskset."), "{}", text(&of_input.stderr));
}

#[test]
fn a_text_with_two_meanings_is_asked_back_with_commands_that_work() {
    let place = TestPlace::new();
    let run = place.corewise(&["place", "--machine", "2990wx", "--from", "auto", "--", "32"]).output().unwrap();
    let error = text(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{error}");
    for (command, cpus) in [
        ("corewise place --from list --machine 2990wx -- 32", "32"),
        ("corewise place --from hex --machine 2990wx -- 32", "1,4,5"),
    ] {
        assert!(error.contains(command), "{error}");
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let words = [&words[..1], &["--as", "list"], &words[1..]].concat();
        let answer = place.corewise(&words).output().unwrap();
        assert_eq!(text(&answer.stdout).trim(), cpus, "{command}");
    }
}

#[test]
fn pasted_text_is_a_machine() {
    let place = TestPlace::new();
    let run = fed(&place, &["topology", "--json", "--machine", "-"], &pasted());
    let machine: Value = serde_json::from_slice(&run.stdout).unwrap_or_else(|_| panic!("{}", text(&run.stderr)));
    let machine = machine.get("machine").unwrap_or(&machine);
    let cpus = |list: &Value| {
        list.as_array().unwrap().iter().map(|object| object["cpus"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(cpus(&machine["cores"]), ["0,4", "1,5", "2,6", "3,7"], "{machine}");
    assert_eq!(cpus(&machine["llcs"]), ["0,1,4,5", "2,3,6,7"], "{machine}");
    let screen = text(&fed(&place, &["topology", "--machine", "-"], &pasted()).stdout);
    assert!(screen.contains("Not measured") && screen.contains("numactl -H"), "{screen}");
}

/// Fourteen cores without SMT, of two or three kinds by the sizes of their caches.
const HYBRID: &str = "CPU(s): 14\nOn-line CPU(s) list: 0-13\nVendor ID: GenuineIntel\nThread(s) per core: 1\n\
                      Core(s) per socket: 14\nSocket(s): 1\nL1d cache: 512 KiB (14 instances)\n\
                      L2 cache: 24 MiB (7 instances)\nL3 cache: 24 MiB (1 instance)\nNUMA node0 CPU(s): 0-13\n";

#[test]
fn what_an_expression_rests_on_and_the_machine_lacks_is_one_line_of_standard_error() {
    let place = TestPlace::new();
    fs::write(place.path().join("hybrid.txt"), HYBRID).unwrap();
    let run = |words: &[&str]| {
        let output = place.corewise(&[&["place", "--machine", "hybrid.txt"], words].concat()).output().unwrap();
        text(&output.stderr)
    };
    let caches = "shared caches: the summary of lscpu has 7 of L2, 1 of L3, and does not say which cpus share them; add the output of `lscpu -e`";
    for form in [&["llc:0"][..], &["llc:0", "--as", "taskset"], &["llc:0", "--as", "systemd"], &["llc:0", "--json"]] {
        let said = run(form);
        assert!(said.starts_with("not measured: ") && said.contains(caches), "{form:?}: {said}");
        let lines = said.lines().filter(|line| !line.starts_with("note: "));
        assert_eq!((lines.count(), said.contains("kinds of cores")), (1, false), "{form:?}: {said}");
    }
    assert!(run(&["efficiency"]).contains("not measured: kinds of cores"));
    assert!(run(&["spread(4, cluster)"]).contains(caches));
    for settled in ["0-3", "0x55", "all - 0", "node:0", "core:3"] {
        assert_eq!(run(&[settled, "--as", "list"]), "", "{settled}");
    }
    let known = place.corewise(&["place", "llc:0", "--machine", "2990wx", "--as", "list"]).output().unwrap();
    assert_eq!(text(&known.stderr), "");
}

#[test]
fn pasted_interrupts_show_which_queues_share_a_cpu() {
    let place = TestPlace::new();
    let run = fed(&place, &["irq", "--json", "--machine", "-"], &pasted());
    let document: Value = serde_json::from_slice(&run.stdout).unwrap_or_else(|_| panic!("{}", text(&run.stderr)));
    let struck = |interrupt: &Value| {
        let name = interrupt["handlers"][0].as_str().unwrap().to_owned();
        let cpus: Vec<u64> =
            interrupt["counts"].as_array().unwrap().iter().map(|count| count["cpu"].as_u64().unwrap()).collect();
        (name, cpus)
    };
    let queues: Vec<(String, Vec<u64>)> = document["interrupts"].as_array().unwrap().iter().map(struck).collect();
    let on =
        |queue: &str| queues.iter().find(|(name, _)| name == queue).unwrap_or_else(|| panic!("{queues:?}")).1.clone();
    assert_eq!(["eth0-rx-0", "eth0-rx-1", "eth0-rx-2"].map(on), [vec![0], vec![0], vec![0]]);
    assert_eq!(on("eth0-rx-3"), [2]);
}

#[test]
fn words_of_other_tools_lead_to_commands() {
    let place = TestPlace::new();
    for (typed, command) in [("top", "watch"), ("pin", "run"), ("bench", "try")] {
        let run = place.corewise(&[typed]).output().unwrap();
        let error = text(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{error}");
        assert!(error.contains(&format!("this is 'corewise {command}' here")), "{error}");
    }
}
