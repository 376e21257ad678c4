//! `corewise watch` as a user meets it: on a terminal that tmux gives it, and without one.

mod support;

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use support::{TestPlace, text, wait_for};

const PROGRAM: &str = env!("CARGO_BIN_EXE_corewise");

/// A shell on a terminal of its own.
struct Tmux {
    socket: PathBuf,
    place: TestPlace,
}

impl Tmux {
    /// One of 80 columns and 24 lines; nothing where there is no tmux.
    fn start() -> Option<Self> {
        let has_tmux =
            Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
        if !has_tmux {
            println!("skipped: tmux is not installed, which gives a terminal");
            return None;
        }
        let place = TestPlace::new();
        let tmux = Self { socket: place.path().join("tmux"), place };
        let shell = "exec env -u NO_COLOR -u COLUMNS PS1='$ ' LC_ALL=C.UTF-8 XDG_DATA_HOME=. XDG_STATE_HOME=. XDG_RUNTIME_DIR=. sh -i";
        tmux.tmux(&["new-session", "-d", "-x", "80", "-y", "24", shell]);
        tmux.until(|screen| screen.contains('$'));
        Some(tmux)
    }

    fn tmux(&self, words: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(&self.socket).args(words).current_dir(self.place.path());
        let run = command.env_remove("TMUX").output().unwrap();
        assert!(run.status.success(), "{words:?}: {}", text(&run.stderr));
        text(&run.stdout)
    }

    /// Types a line.
    fn line(&self, line: &str) {
        self.tmux(&["send-keys", "-l", line]);
        self.keys(&["Enter"]);
    }

    /// Presses keys, by tmux's names.
    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits for a screen, which is the answer.
    fn until(&self, is_it: impl Fn(&str) -> bool) -> String {
        let last = std::cell::RefCell::default();
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_for("a screen", || {
                let screen = self.screen();
                last.replace(screen.clone());
                is_it(&screen).then_some(screen)
            })
        }));
        found.unwrap_or_else(|_| panic!("the last screen was\n{}", last.take()))
    }

    fn shows(&self, word: &str) -> String {
        self.until(|screen| screen.contains(word))
    }

    /// That the shell has the terminal again as it was.
    fn is_given_back(&self) {
        wait_for("the terminal to be given back", || {
            (self.tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]).trim() == "0 1").then_some(())
        });
        // What is typed before the program has ended is lost with its own input.
        self.until(|screen| screen.trim_end().ends_with('$'));
        self.line("stty -a | tr ' ;' '\\n\\n' | grep -cx -e icanon -e echo -e isig; echo back");
        self.until(|screen| screen.contains("3\nback"));
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = Command::new("tmux").arg("-S").arg(&self.socket).arg("kill-server").status();
    }
}

/// A program to be watched.
struct WatchedSleeper(Child);

impl WatchedSleeper {
    fn start() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().unwrap())
    }

    fn number(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for WatchedSleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn keys_do_what_help_says() {
    let Some(tmux) = Tmux::start() else { return };
    let sleeper = WatchedSleeper::start();
    tmux.line(&format!("{PROGRAM} watch --pid {}", sleeper.number()));
    let screen = tmux.until(|screen| screen.contains("INTERRUPTS") && screen.contains("  sleep"));
    assert!(screen.contains("CPUS") && screen.contains("THREADS") && screen.contains("cpu 0"), "{screen}");
    assert!(screen.contains(&format!("sleep {}  1 thread", sleeper.number())), "{screen}");
    tmux.keys(&["?"]);
    tmux.shows("by start, running");
    tmux.keys(&["x"]);
    tmux.shows("CPUS");
    tmux.keys(&["/"]);
    tmux.tmux(&["send-keys", "-l", "sleep"]);
    tmux.shows("/sleep_");
    tmux.keys(&["Enter", "e"]);
    tmux.shows(&format!("corewise try --pid {}", sleeper.number()));
    tmux.keys(&["s"]);
    tmux.shows("sort: running");
    tmux.keys(&["Space"]);
    let frozen = tmux.shows("frozen");
    assert!(frozen.contains("space go on"), "{frozen}");
    tmux.keys(&["Space"]);
    tmux.until(|screen| !screen.contains("frozen"));
    tmux.keys(&["q"]);
    tmux.is_given_back();
}

#[test]
fn a_process_is_chosen_from_the_list_and_followed() {
    let Some(tmux) = Tmux::start() else { return };
    // It runs all the time, so that it is among the first.
    let busy = WatchedSleeper(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap());
    tmux.line(&format!("{PROGRAM} watch"));
    tmux.shows("p lists the processes");
    tmux.keys(&["p"]);
    tmux.until(|screen| screen.contains("Choose a process") && screen.contains("where it ran"));
    let number = format!(" {} ", busy.number());
    let place = wait_for("it among the first", || {
        let screen = tmux.screen();
        let place = screen.lines().skip(2).position(|line| line.contains(&number));
        if place.is_none() {
            tmux.keys(&["p"]);
        }
        place
    });
    (0..place).for_each(|_| tmux.keys(&["j"]));
    tmux.keys(&["Enter"]);
    tmux.shows(&format!("sh {}  1 thread", busy.number()));
    tmux.keys(&["q"]);
    tmux.is_given_back();
}

#[test]
fn another_size_is_drawn_at_once() {
    let Some(tmux) = Tmux::start() else { return };
    tmux.line(&format!("{PROGRAM} watch --interval 1h"));
    tmux.shows("q quit");
    for (width, height) in [("50", "12"), ("120", "40")] {
        tmux.tmux(&["resize-window", "-x", width, "-y", height]);
        let last = height.parse::<usize>().unwrap() - 1;
        tmux.until(|screen| screen.lines().nth(last).is_some_and(|line| line.starts_with("q quit")));
    }
    tmux.keys(&["C-c"]);
    tmux.is_given_back();
}

#[test]
fn a_program_that_ends_is_said_and_its_output_is_not_on_the_screen() {
    let Some(tmux) = Tmux::start() else { return };
    tmux.line(&format!("{PROGRAM} watch --output out.txt -- sh -c 'echo some noise; exit 3'"));
    let screen = tmux.shows("has ended with status 3");
    assert!(screen.contains("its output: out.txt") && !screen.contains("some noise"), "{screen}");
    tmux.keys(&["q"]);
    tmux.shows("the command's output is in out.txt");
    tmux.is_given_back();
    assert_eq!(std::fs::read_to_string(tmux.place.path().join("out.txt")).unwrap(), "some noise\n");
}

#[test]
fn a_command_is_ended_or_left_as_the_user_says() {
    let Some(tmux) = Tmux::start() else { return };
    for (answer, is_left) in [("q", false), ("d", true)] {
        tmux.line(&format!("{PROGRAM} watch -o {answer}.txt -- sh -c 'sleep 1000 & echo $!; wait'"));
        let file = tmux.place.path().join(format!("{answer}.txt"));
        let number =
            wait_for("the command to begin", || std::fs::read_to_string(&file).ok()?.trim().parse::<u32>().ok());
        tmux.shows("space freeze");
        tmux.keys(&["q"]);
        tmux.shows("The command runs");
        tmux.keys(&[answer]);
        tmux.is_given_back();
        let runs = || std::fs::read_to_string(format!("/proc/{number}/comm")).is_ok_and(|name| name == "sleep\n");
        if is_left {
            assert!(runs());
            Command::new("kill").arg(number.to_string()).status().unwrap();
        }
        wait_for("the command to end", || (!runs()).then_some(()));
        tmux.line("clear");
    }
}

#[test]
fn sigterm_and_ctrl_z_give_the_terminal_back() {
    let Some(tmux) = Tmux::start() else { return };
    tmux.line(&format!("sh -c 'echo $$ > number; exec {PROGRAM} watch'"));
    tmux.shows("q quit");
    tmux.keys(&["C-z"]);
    tmux.is_given_back();
    tmux.line("clear; fg");
    tmux.shows("q quit");
    let number = std::fs::read_to_string(tmux.place.path().join("number")).unwrap();
    Command::new("kill").args(["-TSTP", number.trim()]).status().unwrap();
    tmux.is_given_back();
    tmux.line("clear; fg");
    tmux.shows("q quit");
    Command::new("kill").args(["-TERM", number.trim()]).status().unwrap();
    tmux.is_given_back();
    tmux.line("clear; fg; echo no job");
    tmux.shows("no job");
}

#[test]
fn a_terminal_that_goes_ends_it() {
    let Some(tmux) = Tmux::start() else { return };
    // Somebody who ignores that signal is left without a terminal all the same.
    for trap in ["", "trap \"\" HUP; "] {
        let shell = format!("sh -c '{trap}echo $$ > number; exec {PROGRAM} watch -- sleep 1000'");
        tmux.tmux(&["new-session", "-d", "-s", "second", "-x", "80", "-y", "24", &shell]);
        wait_for("a screen", || tmux.tmux(&["capture-pane", "-p", "-t", "second"]).contains("q quit").then_some(()));
        let number = std::fs::read_to_string(tmux.place.path().join("number")).unwrap();
        tmux.tmux(&["kill-session", "-t", "second"]);
        let stat = format!("/proc/{}/stat", number.trim());
        // Who has ended may wait for somebody who notices.
        let has_ended = || !std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        wait_for("its end", || has_ended().then_some(()));
    }
}

#[test]
fn what_was_saved_is_shown_again() {
    let Some(tmux) = Tmux::start() else { return };
    let sleeper = WatchedSleeper::start();
    tmux.line(&format!("{PROGRAM} watch --interval 100ms --save a.jsonl --pid {}", sleeper.number()));
    tmux.shows("q quit");
    let file = tmux.place.path().join("a.jsonl");
    wait_for("moments", || (std::fs::read_to_string(&file).ok()?.lines().count() > 5).then_some(()));
    tmux.keys(&["q"]);
    tmux.is_given_back();
    tmux.line(&format!("clear; {PROGRAM} watch --replay a.jsonl"));
    let screen = tmux.shows("moment 2 of");
    assert!(screen.contains("  sleep"), "{screen}");
    tmux.keys(&["Space", "."]);
    tmux.shows("go on");
    tmux.keys(&[",", ",", ",", ",", ",", ",", ",", ",", ",", ",", ","]);
    tmux.shows("moment 1 of");
    tmux.keys(&["."]);
    tmux.shows("moment 2 of");
    tmux.keys(&["q"]);
    tmux.is_given_back();
    let once = tmux.place.corewise(&["watch", "--replay", "a.jsonl", "--once"]).output().unwrap();
    assert!(once.status.success() && text(&once.stdout).contains("  sleep"), "{}", text(&once.stderr));
}

#[test]
fn a_terminal_without_utf8_or_colour_gets_neither() {
    let Some(tmux) = Tmux::start() else { return };
    tmux.line(&format!("clear; LC_ALL=C NO_COLOR=1 {PROGRAM} watch"));
    let screen = tmux.until(|screen| screen.contains("q quit") && screen.contains('|'));
    assert!(screen.is_ascii(), "{screen}");
    let coloured = tmux.tmux(&["capture-pane", "-p", "-e"]);
    assert!(!coloured.contains("[33m") && !coloured.contains("[32m"), "{coloured}");
    tmux.keys(&["q"]);
    tmux.is_given_back();
    tmux.line(&format!("clear; {PROGRAM} watch"));
    tmux.until(|screen| screen.contains("q quit") && screen.contains('▕'));
    tmux.keys(&["q"]);
    tmux.is_given_back();
}

#[test]
fn one_moment_is_text_or_a_document() {
    let place = TestPlace::new();
    let sleeper = WatchedSleeper::start();
    let number = sleeper.number();
    for width in ["40", "80", "200"] {
        let mut run = place.corewise(&["watch", "--once", "--interval", "100ms", "--pid", &number, "--width", width]);
        let run = run.output().unwrap();
        assert!(run.status.success(), "{}", text(&run.stderr));
        let printed = text(&run.stdout);
        assert!(printed.contains("  sleep") && printed.contains("INTERRUPTS"), "{printed}");
        let widest = printed.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width.parse().unwrap(), "{printed}");
    }
    let run = place.corewise(&["watch", "--once", "--json", "--pid", &number]).output().unwrap();
    let document: Value = serde_json::from_slice(&run.stdout).unwrap();
    let frame = &document["frame"];
    assert_eq!(frame["threads"][0]["name"], "sleep");
    assert_eq!(frame["threads"][0]["running"], 0.0);
    assert!(frame["elapsed_s"].as_f64().unwrap() >= 0.5, "{frame}");
    assert!(frame["cpus"].as_array().unwrap().iter().any(|cpu| cpu["shares"]["worth"].is_number()), "{frame}");
}

#[test]
fn documents_follow_one_another_until_the_program_ends() {
    let place = TestPlace::new();
    let mut run =
        place.corewise(&["watch", "--json", "--interval", "100ms", "--", "sh", "-c", "echo noise; sleep 0.3; exit 7"]);
    let run = run.output().unwrap();
    assert!(run.status.success());
    assert_eq!(text(&run.stderr), "noise\n", "standard output is for documents");
    let documents: Vec<Value> =
        serde_json::Deserializer::from_slice(&run.stdout).into_iter().collect::<Result<_, _>>().unwrap();
    let (last, before) = documents.split_last().unwrap();
    assert!(last["frame"]["end"].as_str().unwrap().ends_with("has ended with status 7"), "{last}");
    assert!(!before.is_empty() && before.iter().all(|document| document["frame"]["end"].is_null()));
}

#[test]
fn what_cannot_be_shown_is_said() {
    let place = TestPlace::new();
    std::fs::write(place.path().join("x.jsonl"), "{}\n").unwrap();
    std::fs::write(place.path().join("there"), "").unwrap();
    let cases: [(&[&str], i32, &str); 8] = [
        (&["watch"], 2, "standard output is not a terminal"),
        (&["watch", "--once", "--pid", "4194305"], 3, "there is no process 4194305"),
        (&["watch", "--once", "--match", "nonsense"], 2, "nonsense"),
        (&["watch", "--once", "--", "true"], 2, "a command that just started has none"),
        (&["watch", "--json", "--", "./nonsense"], 127, "cannot run ./nonsense"),
        (&["watch", "--replay", "x.jsonl", "--once"], 3, "line 1: missing field"),
        (&["watch", "--replay", "nowhere", "--once"], 3, "nowhere"),
        (&["watch", "--once", "--save", "there"], 3, "cannot create there"),
    ];
    for (arguments, status, what) in cases {
        let run = place.corewise(arguments).stdin(Stdio::null()).output().unwrap();
        assert_eq!(run.status.code(), Some(status), "{arguments:?}: {}", text(&run.stderr));
        assert!(text(&run.stderr).contains(what), "{arguments:?}: {}", text(&run.stderr));
    }
}
