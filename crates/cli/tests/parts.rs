//! `corewise try` with services that are started for the command, as a user meets it: where each part stands, how they end, and what is said
//! where they do not do what they should.
//!
//! Services and loads are scripts whose numbers depend on nothing but masks, so every verdict is known, however busy the machine is.

mod support;

use std::fs;
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::Duration;

use corewise_machine::CpuSet;
use corewise_sys::{affinity, task};
use libtest_mimic::{Arguments, Completion, Trial};
use support::{TestPlace, ended, interrupt, text, wait_for, wait_until_it_catches_interrupts};

/// The first argument that makes this program a service with a named thread.
const SERVE: &str = "serve";
/// A service writes its mask, and stays.
const SERVER: &str =
    "grep Cpus_allowed_list /proc/self/status >> masks; echo $$ > pid; echo it starts; exec sleep 86399";
/// A load: 2 with the service on the lowest cpu and itself on the highest, 1 otherwise.
const LOAD: &str = "own=$(grep Cpus_allowed_list /proc/self/status | cut -f2); its=$(grep Cpus_allowed_list /proc/$(cat pid)/status | cut -f2); \
                    if [ $its = LOWEST ] && [ $own = HIGHEST ]; then echo score 2; else echo score 1; fi";

type PartsTest = fn(&PartsStage);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == SERVE) {
        return serve();
    }
    let tests: [(&str, PartsTest); 10] = [
        ("each_part_stands_on_its_own_cpus_from_the_first_instruction", each_part_stands_on_its_own_cpus),
        ("services_that_are_kept_move_from_placement_to_placement", services_that_are_kept_move),
        ("threads_with_a_name_have_a_placement_of_their_own", threads_with_a_name_have_their_own),
        ("a_service_that_is_not_ready_is_said_with_its_last_lines", a_service_that_is_not_ready_is_said),
        ("a_service_that_dies_ends_the_run", a_service_that_dies_ends_the_run),
        ("nothing_is_left_after_an_interruption_or_a_kill", nothing_is_left),
        ("parts_are_planned_where_nothing_is_said", parts_are_planned),
        ("a_file_has_the_parts", a_file_has_the_parts),
        ("a_launcher_is_followed", a_launcher_is_followed),
        ("wrong_roles_are_refused", wrong_roles_are_refused),
    ];
    let trials = tests.map(|(name, test)| {
        Trial::ignorable_test(name, move || {
            let all = affinity::current_affinity().unwrap();
            if all.len() < 2 {
                return Ok(Completion::ignored_with("one cpu alone leaves nothing to place"));
            }
            test(&PartsStage { place: TestPlace::new(), all });
            Ok(Completion::Completed)
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

/// A service with a thread of a name of its own.
fn serve() -> ExitCode {
    fs::write("pid", std::process::id().to_string()).unwrap();
    let thread = std::thread::Builder::new().name("io-1".to_owned()).spawn(|| std::thread::sleep(Duration::MAX));
    drop(thread.unwrap().join());
    ExitCode::SUCCESS
}

struct PartsStage {
    place: TestPlace,
    all: CpuSet,
}

impl PartsStage {
    fn lowest(&self) -> u32 {
        self.all.lowest().unwrap()
    }

    fn highest(&self) -> u32 {
        self.all.highest().unwrap()
    }

    fn load(&self) -> String {
        LOAD.replace("LOWEST", &self.lowest().to_string()).replace("HIGHEST", &self.highest().to_string())
    }

    fn on(&self) -> String {
        format!("server={}, load={}", self.lowest(), self.highest())
    }

    /// `try` with words, and a load that is a script.
    fn tries(&self, words: &[&str], load: &str) -> Command {
        // A killed session leaves its journal, which is not to be this machine's.
        let journals = self.place.path().join("journals");
        let typed = [
            "--journal",
            journals.to_str().unwrap(),
            "try",
            "--no-confirm",
            "--rest",
            "0s",
            "--metric",
            "score",
            "--higher",
        ];
        let mut command = self.place.corewise(&[&typed, words, &["--", "sh", "-c", load]].concat());
        command.current_dir(self.place.path());
        command
    }

    fn output(&self, words: &[&str], load: &str) -> Output {
        self.tries(words, load).output().unwrap()
    }

    /// The masks that the service found, each start a line.
    fn masks(&self) -> Vec<String> {
        let text = fs::read_to_string(self.place.path().join("masks")).unwrap_or_default();
        text.lines().filter_map(|line| Some(line.split('\t').nth(1)?.to_owned())).collect()
    }

    fn is_service_there(&self) -> bool {
        let number = fs::read_to_string(self.place.path().join("pid")).ok().and_then(|text| text.trim().parse().ok());
        number.is_some_and(|number: u32| {
            task::thread_name(number, number).is_some_and(|name| ["sleep", "sh"].contains(&&name[..]))
        })
    }
}

fn each_part_stands_on_its_own_cpus(stage: &PartsStage) {
    let server = format!("server={SERVER}");
    let made = stage.output(
        &["--start", &server, "--ready", "test -s pid && kill -0 $(cat pid)", "--on", &stage.on()],
        &stage.load(),
    );
    let said = text(&made.stdout);
    assert_eq!(made.status.code(), Some(1), "{said}{}", text(&made.stderr));
    let (lowest, highest) = (stage.lowest(), stage.highest());
    for part in [
        "So far, in ".to_owned(),
        format!("corewise run --on {lowest} "),
        format!("corewise run --on {highest} "),
        format!("CPUAffinity={lowest}"),
        format!("cpuset: \"{lowest}\""),
    ] {
        assert!(said.contains(&part), "{part}: {said}");
    }
    let masks = stage.masks();
    let placed = masks.iter().filter(|mask| **mask == lowest.to_string()).count();
    assert!(placed > 4 && masks.len() - placed > 4, "{masks:?}");
    assert!(!stage.is_service_there());
    let again = stage.place.corewise(&["try", "--again", "1", "--runs-max", "2", "--rest", "0s"]).output().unwrap();
    assert!(text(&again.stdout).contains(&stage.on()), "{}{}", text(&again.stdout), text(&again.stderr));
}

fn services_that_are_kept_move(stage: &PartsStage) {
    let server = format!("server={SERVER}");
    let made = stage.output(&["--start", &server, "--keep-started", "--on", &stage.on()], &stage.load());
    let said = text(&made.stdout);
    assert!(said.contains("So far, in "), "{said}{}", text(&made.stderr));
    // Once to see whether it can be started, and once for all trials.
    let masks: Vec<CpuSet> = stage.masks().iter().map(|mask| CpuSet::parse_list(mask).unwrap()).collect();
    assert_eq!(masks, [stage.all.clone(), stage.all.clone()]);
    assert!(!stage.is_service_there());
    let memory = format!("{}@local", stage.on().replace(", load", "@local, load"));
    let refused = stage.output(&["--start", &server, "--keep-started", "--on", &memory], "true");
    assert!(text(&refused.stderr).contains("stays where it is"), "{}", text(&refused.stderr));
}

fn threads_with_a_name_have_their_own(stage: &PartsStage) {
    let program = std::env::current_exe().unwrap();
    let server = format!("server=exec {} {SERVE}", program.display());
    let on = format!("io={}", stage.lowest());
    let load = format!(
        "sleep 0.2; for thread in /proc/$(cat pid)/task/*; do if [ $(cat $thread/comm) = io-1 ]; then \
         io=$(grep Cpus_allowed_list $thread/status | cut -f2); fi; done; main=$(grep Cpus_allowed_list /proc/$(cat pid)/status | cut -f2); \
         if [ $io = {} ] && [ $main != $io ]; then echo score 20.14; else echo score 10.07; fi",
        stage.lowest()
    );
    for kept in [&[][..], &["--keep-started"]] {
        let words = [&["--start", &server, "--role", "io=^io-", "--on", &on], kept].concat();
        let made = stage.output(&words, &load);
        assert!(text(&made.stdout).contains("So far, in "), "{kept:?}: {}{}", text(&made.stdout), text(&made.stderr));
        assert!(text(&made.stdout).contains("2.0x"), "{}", text(&made.stdout));
    }
}

fn a_service_that_is_not_ready_is_said(stage: &PartsStage) {
    let server = format!("server={SERVER}");
    let cases: [(&[&str], &[&str]); 4] = [
        (
            &["--start", &server, "--ready", "echo not yet; exit 7", "--ready-within", "0.3s"],
            &["server was not ready within 0.3 s", "exit status 7 (not yet)", "it starts"],
        ),
        (
            &["--start", "server=echo the port is in use; exit 3", "--ready", "false"],
            &["server ended before it was ready: exit status 3", "the port is in use"],
        ),
        (&["--start", &server, "--ready", "true"], &["succeeds before server is started", "port in use"]),
        (
            &["--start", "server=/no/such/program", "--ready", "false"],
            &["server ended before it was ready: exit status 127"],
        ),
    ];
    for (words, parts) in cases {
        let made = stage.output(&[words, &["--on", &stage.on()]].concat(), "echo score 1");
        let said = text(&made.stderr);
        assert_eq!(made.status.code(), Some(3), "{words:?}: {said}{}", text(&made.stdout));
        for part in parts {
            assert!(said.replace("\n  ", " ").contains(part), "{part}: {said}");
        }
        assert!(!stage.is_service_there());
    }
    let none = stage.place.corewise(&["history"]).output().unwrap();
    assert!(!text(&none.stdout).contains("sh -c"), "nothing was stored: {}", text(&none.stdout));
}

fn a_service_that_dies_ends_the_run(stage: &PartsStage) {
    let dies = "server=echo out of memory; sleep 0.7; exit 5";
    let made = stage.output(&["--start", dies, "--on", &stage.on(), "--runs-max", "2"], "sleep 3600; echo score 1");
    let said = text(&made.stderr);
    assert_eq!(made.status.code(), Some(3), "{said}{}", text(&made.stdout));
    for part in ["server ended while the command ran: exit status 5", "out of memory"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let kept = stage.output(&["--start", dies, "--keep-started", "--on", &stage.on()], "sleep 3600; echo score 1");
    let said = text(&kept.stderr);
    assert!(said.contains("server ended") && said.contains("out of memory"), "{said}{}", text(&kept.stdout));
}

fn nothing_is_left(stage: &PartsStage) {
    let server = format!("server=sh -c '{SERVER}' & wait");
    let on = stage.on();
    let begin = |kept: &[&str]| {
        let _ = fs::remove_file(stage.place.path().join("pid"));
        let words = [&["--start", &server, "--ready", "test -s pid && kill -0 $(cat pid)", "--on", &on], kept].concat();
        let session = stage
            .tries(&words, "echo begun >> begun; sleep 3600")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until_it_catches_interrupts(&session);
        wait_for("a run", || stage.place.path().join("begun").exists().then_some(()));
        assert!(stage.is_service_there());
        fs::remove_file(stage.place.path().join("begun")).unwrap();
        session
    };
    for kept in [&[][..], &["--keep-started"]] {
        let mut interrupted = begin(kept);
        interrupt(&interrupted);
        assert_eq!(ended(&mut interrupted).code(), Some(130));
        assert!(!stage.is_service_there());
        let mut killed = begin(kept);
        killed.kill().unwrap();
        killed.wait().unwrap();
        wait_for("the service's end", || (!stage.is_service_there()).then_some(()));
    }
}

fn parts_are_planned(stage: &PartsStage) {
    let planned = stage.output(&["--start", "server=sleep 9", "--dry-run"], "true");
    let said = text(&planned.stdout);
    assert!(
        said.contains("server=") && said.contains("load=") && said.contains("It stands for"),
        "{said}{}",
        text(&planned.stderr)
    );
    assert!(said.contains("Nothing was changed."), "{said}");
}

fn a_file_has_the_parts(stage: &PartsStage) {
    let file = stage.place.path().join("parts.toml");
    let load = stage.load().replace('\\', "\\\\").replace('"', "\\\"");
    let (lowest, highest) = (stage.lowest(), stage.highest());
    let written = format!(
        "load = [\"sh\", \"-c\", \"{load}\"]\n[[part]]\nname = \"server\"\nstart = \"{SERVER}\"\n[[placement]]\nserver = \"{lowest}\"\nload = \"{highest}\"\n"
    );
    fs::write(&file, written).unwrap();
    let words = ["try", "--rest", "0s", "--metric", "score", "--higher", "--parts", "parts.toml", "--runs-max", "4"];
    let mut command = stage.place.corewise(&words);
    let made = command.current_dir(stage.place.path()).output().unwrap();
    assert!(
        text(&made.stdout).contains(&format!("load={highest}, server={lowest}")),
        "{}{}",
        text(&made.stdout),
        text(&made.stderr)
    );
    assert!(stage.masks().contains(&lowest.to_string()), "{:?}", stage.masks());
}

fn a_launcher_is_followed(stage: &PartsStage) {
    let game = "cp $(command -v sleep) game; ./game 0.4 >/dev/null 2>&1 & exit 0";
    let follow = |name: &str| {
        let words = [
            "try",
            "--json",
            "--rest",
            "0s",
            "--follow",
            name,
            "--on",
            "os",
            "--on",
            "os",
            "--runs-max",
            "2",
            "--",
            "sh",
            "-c",
            game,
        ];
        stage.place.corewise(&words).output().unwrap()
    };
    let made = follow("game");
    let document: serde_json::Value =
        serde_json::from_slice(&made.stdout).unwrap_or_else(|_| panic!("{}", text(&made.stderr)));
    for trial in document["observed"]["trials"].as_array().unwrap() {
        assert!(trial["outcome"]["value"].as_f64().is_some_and(|seconds| seconds >= 0.4), "{trial}");
    }
    let none = follow("another");
    assert!(text(&none.stderr).contains("it left no process named another behind"), "{}", text(&none.stderr));
}

fn wrong_roles_are_refused(stage: &PartsStage) {
    let server = ["--start", "server=sleep 9"];
    let cases: [(&[&str], &str); 6] = [
        (&["--on", "server=0"], "there are none"),
        (&[server[0], server[1], "--on", "client=0"], "there is no role \"client\""),
        (&[server[0], server[1], "--on", "server=999999"], "999999"),
        (&[server[0], server[1], "--on", "server=0@bind:77"], "node:77"),
        (&[server[0], server[1], "--on", "server=0, server=1"], "two roles are named server"),
        (&[server[0], server[1], "--threads", "2"], "does not get its number of threads"),
    ];
    for (words, part) in cases {
        let made = stage.output(words, "echo score 1");
        let said = text(&made.stderr);
        assert!(
            [Some(2), Some(3)].contains(&made.status.code()) && said.contains(part),
            "{words:?}: {said}{}",
            text(&made.stdout)
        );
    }
}
