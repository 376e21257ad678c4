//! Masks of running processes under Wine: `keep run`, `run --pid` and `undo`, as a program in C sees its masks.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::{WIDE, WineCheck, WineOutput, WineSetup, compile_program};

pub const CHECKS: [WineCheck; 10] = [
    ("run --pid places a process, and undo gives it back", placed_by_hand),
    ("try places a running process, and gives it back", check_try),
    ("keep holds what runs and what is started, and gives all back", check_held),
    ("keep leaves alone what stays inside", stays_inside),
    ("keep releases what leaves its cpus, and corrects an exact rule", check_leaving),
    ("keep run that was killed is undone", check_kill),
    ("threads and children get their own cpus back", own_masks),
    ("keep reloads, releases and says why", check_request),
    ("a rule by unit matches nothing, and says so", unit_of_nothing),
    ("rules that somebody else may write are refused", check_writable),
];

/// Maximum wait for expected output: a program of Wine starts in less than a second, and `keep run` looks once a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running program of Wine, with the lines that it prints.
struct RunningWine {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl RunningWine {
    fn start_program(mut command: Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (sender, lines) = channel();
        let (output, errors) = (child.stdout.take().context("no output")?, child.stderr.take().context("no errors")?);
        let errors_to = sender.clone();
        thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        thread::spawn(move || {
            BufReader::new(errors).lines().map_while(Result::ok).try_for_each(|line| errors_to.send(line))
        });
        let input = child.stdin.take();
        Ok(Self { child, input, lines })
    }

    /// Waits for a line that contains a text, and returns it.
    fn expect_line(&self, text: &str) -> Result<String> {
        let deadline = Instant::now() + PATIENCE;
        let mut before = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            let line = line.trim_end().to_owned();
            if line.contains(text) {
                return Ok(line);
            }
            before.push(line);
        }
        bail!("\"{text}\" did not come; there was: {}", before.join(" | "))
    }

    fn send_line(&mut self, line: &str) -> Result<()> {
        let input = self.input.as_mut().context("its input is closed")?;
        Ok(writeln!(input, "{line}")?)
    }

    /// Sends a signal of this system; Wine turns INT into Ctrl-C, and the kernel ends it with KILL.
    fn send_signal(&self, name: &str) -> Result<()> {
        let is_sent = Command::new("kill").args([format!("-{name}"), self.child.id().to_string()]).status()?.success();
        ensure!(is_sent, "no signal {name} could be sent");
        Ok(())
    }

    /// Waits for the end.
    fn wait_for_end(&mut self) -> Result<()> {
        drop(self.input.take());
        let deadline = Instant::now() + PATIENCE;
        while self.child.try_wait()?.is_none() {
            ensure!(Instant::now() < deadline, "it does not end");
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for RunningWine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The test program, in a copy of its own for each name, so that rules can match it.
struct NamedProgram {
    running: RunningWine,
    number: String,
}

impl NamedProgram {
    fn start_named(wine: &WineSetup, name: &str) -> Result<Self> {
        let running = RunningWine::start_program(wine.wine_command(&[&copy_program(wine, name)?.to_string_lossy()]))?;
        let number = running.expect_line("pid ")?.replace("pid ", "");
        let lives = Self { running, number };
        lives.has_all()?;
        Ok(lives)
    }

    /// Waits until it has masks.
    fn expect_masks(&self, masks: &str) -> Result<()> {
        self.running.expect_line(masks).map(drop)
    }

    /// Waits until both masks are all cpus.
    fn has_all(&self) -> Result<()> {
        self.expect_masks(&format!("masks {0:x} {0:x}", all_cpus_mask()))
    }
}

/// Returns the mask of all cpus.
fn all_cpus_mask() -> u64 {
    let count = thread::available_parallelism().map_or(1, usize::from);
    u64::MAX >> (64 - count.clamp(1, 64))
}

fn copy_program(wine: &WineSetup, name: &str) -> Result<PathBuf> {
    let folder = wine.prefix.join("drive_c/lives");
    let [whole, copy] = ["lives.exe", name].map(|name| folder.join(name));
    if !whole.is_file() {
        fs::create_dir_all(&folder)?;
        compile_program(&["-Wall", "-Werror"], "lives.c", &whole, &[])?;
    }
    if !copy.is_file() {
        fs::copy(whole, &copy)?;
    }
    Ok(copy)
}

/// Sets the mask of a process from another one.
fn set_from_outside(wine: &WineSetup, number: &str, mask: &str) -> Result<()> {
    let program = copy_program(wine, "lives.exe")?;
    let said = WineOutput::from(wine.wine_command(&[&program.to_string_lossy(), "set", number, mask]).output()?);
    said.expect_status(0, &[])
}

/// Writes rules to the user's usual file, and starts a keeper with them.
fn start_keeper(wine: &WineSetup, rules: &str) -> Result<RunningWine> {
    fs::write(rules_file(wine)?, rules)?;
    let keeper = RunningWine::start_program(wine.corewise(&["keep", "run"]))?;
    keeper.expect_line("started: ")?;
    Ok(keeper)
}

fn rules_file(wine: &WineSetup) -> Result<PathBuf> {
    let users = fs::read_dir(wine.prefix.join("drive_c/users"))?.flatten();
    let user = users.map(|user| user.path()).find(|user| user.file_name().is_some_and(|name| name != "Public"));
    let folder = user.context("Wine has no user")?.join("AppData/Local/corewise");
    fs::create_dir_all(&folder)?;
    Ok(folder.join("rules.toml"))
}

fn rule_text(name: &str, on: &str, more: &str) -> String {
    format!("[[rule]]\nname = \"{name}\"\nmatch = {{ exe = \"*/{name}.exe\" }}\non = \"{on}\"\n{more}\n")
}

fn stop_keeper(mut keeper: RunningWine) -> Result<()> {
    keeper.send_signal("INT")?;
    keeper.expect_line("stopped: ")?;
    keeper.wait_for_end()
}

/// Repeats a command until its output contains a text, since the keeper looks once a second.
fn says_in_time(wine: &WineSetup, words: &[&str], part: &str) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let said = wine.run_corewise(&[words, &WIDE[..]].concat())?;
        if said.text.contains(part) {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "{words:?} does not say \"{part}\": {}{}", said.text, said.error);
        thread::sleep(Duration::from_millis(200));
    }
}

fn placed_by_hand(wine: &WineSetup) -> Result<()> {
    let lives = NamedProgram::start_named(wine, "by-hand.exe")?;
    let said = wine.run_corewise(&["run", "--on", "1", "--pid", &lives.number])?;
    let by_hand = format!("(Get-Process -Id {}).ProcessorAffinity = 2", lives.number);
    said.expect_status(0, &["by-hand.exe (", "on cpus 1\n", &by_hand, "corewise undo"])?;
    lives.expect_masks("masks 2 2")?;
    wine.run_corewise(&["run", "--on", "1", "--pid", &lives.number])?.expect_status(0, &["all were there already"])?;
    wine.run_corewise(&["undo", "--dry-run", WIDE[0], WIDE[1]])?
        .expect_status(0, &["by-hand.exe", "from 1 back to "])?;
    wine.run_corewise(&["undo", WIDE[0], WIDE[1]])?.expect_status(0, &["by-hand.exe", "corewise run --on"])?;
    lives.has_all()?;
    wine.run_corewise(&["undo"])?.expect_status(0, &["Nothing to undo"])?;
    wine.run_corewise(&["run", "--on", "1", "--pid", "999999"])?.expect_status(3, &["there is no process 999999"])?;
    wine.run_corewise(&["run", "--on", "60", "--pid", &lives.number])?.expect_status(3, &["60"])
}

/// Checks that a process is placed and restored; the metric is the same everywhere.
fn check_try(wine: &WineSetup) -> Result<()> {
    let mut lives = NamedProgram::start_named(wine, "tried.exe")?;
    lives.running.send_line("busy")?;
    let asked =
        ["try", "--on", "0", "--on", "1", "--metric", "cpu-time", "--slot", "0.2s", "--budget", "8s", "--no-store"];
    let said = wine.run_corewise(&[&asked[..], &["--seed", "1", "--pid", &lives.number]].concat())?;
    ensure!(matches!(said.status, Some(0 | 1)), "it ended with {:?}: {}{}", said.status, said.text, said.error);
    lives.expect_masks("masks 1 1")?;
    lives.expect_masks("masks 2 2")?;
    // It has all again: otherwise the thread's own mask would be beside another one.
    lives.running.send_line("thread 1")?;
    lives.expect_masks(&format!("masks {:x} 1", all_cpus_mask()))?;
    wine.run_corewise(&["undo"])?.expect_status(0, &["Nothing to undo"])?;
    let waits = wine.run_corewise(&["try", "--on", "0", "--metric", "run-delay", "--pid", &lives.number])?;
    waits.expect_status(3, &["run-delay is not known here"])
}

fn check_held(wine: &WineSetup) -> Result<()> {
    let before = NamedProgram::start_named(wine, "held.exe")?;
    let other = NamedProgram::start_named(wine, "other.exe")?;
    let keeper = start_keeper(wine, &rule_text("held", "1", ""))?;
    before.expect_masks("masks 2 2")?;
    let later = NamedProgram::start_named(wine, "held.exe")?;
    later.expect_masks("masks 2 2")?;
    says_in_time(wine, &["keep"], "2 processes held")?;
    wine.run_corewise(&["keep", "plan"])?.expect_status(0, &["held.exe"])?;
    // A process that the rule does not match is left alone.
    set_from_outside(wine, &other.number, "1")?;
    other.expect_masks("masks 1 1")?;
    stop_keeper(keeper)?;
    before.has_all()?;
    later.has_all()?;
    wine.run_corewise(&["undo"])?.expect_status(0, &["Nothing to undo"])
}

fn stays_inside(wine: &WineSetup) -> Result<()> {
    let mut lives = NamedProgram::start_named(wine, "inside.exe")?;
    let keeper = start_keeper(wine, &rule_text("inside", "0-1", ""))?;
    keeper.expect_line("rule inside matches")?;
    lives.running.send_line("own 1")?;
    lives.expect_masks("masks 1 1")?;
    says_in_time(wine, &["keep", "why", &lives.number], "of their own inside")?;
    stop_keeper(keeper)?;
    // It still has its own choice: any other mask would be printed before this one.
    lives.running.send_line("own 2")?;
    let line = lives.running.expect_line("masks")?;
    ensure!(line == "masks 2 2", "it had {line} in between");
    Ok(())
}

fn check_leaving(wine: &WineSetup) -> Result<()> {
    let (boundary, exact) =
        (NamedProgram::start_named(wine, "boundary.exe")?, NamedProgram::start_named(wine, "exact.exe")?);
    let rules = rule_text("boundary", "1", "") + &rule_text("exact", "1", "strength = \"exact\"");
    let keeper = start_keeper(wine, &rules)?;
    boundary.expect_masks("masks 2 2")?;
    exact.expect_masks("masks 2 2")?;
    set_from_outside(wine, &boundary.number, "1")?;
    set_from_outside(wine, &exact.number, "1")?;
    exact.expect_masks("masks 1 1")?;
    exact.expect_masks("masks 2 2")?;
    boundary.expect_masks("masks 1 1")?;
    says_in_time(wine, &["keep", "why", &boundary.number], "leaves it alone")?;
    stop_keeper(keeper)?;
    exact.has_all()
}

fn check_kill(wine: &WineSetup) -> Result<()> {
    let mut lives = NamedProgram::start_named(wine, "killed.exe")?;
    let mut keeper = start_keeper(wine, &rule_text("killed", "1", ""))?;
    lives.expect_masks("masks 2 2")?;
    lives.running.send_line("child")?;
    lives.expect_masks("child masks 2 2")?;
    wine.run_corewise(&["undo"])?.expect_status(0, &["in force"])?;
    keeper.send_signal("KILL")?;
    keeper.wait_for_end()?;
    wine.run_corewise(&["undo", WIDE[0], WIDE[1]])?
        .expect_status(0, &["killed.exe", "also set back, started since: 1"])?;
    let both = [lives.running.expect_line("masks")?, lives.running.expect_line("masks")?];
    let masks = format!("masks {0:x} {0:x}", all_cpus_mask());
    ensure!(both.iter().all(|line| line.ends_with(&masks)) && both[0] != both[1], "not both have all: {both:?}");
    Ok(())
}

fn own_masks(wine: &WineSetup) -> Result<()> {
    let mut lives = NamedProgram::start_named(wine, "own.exe")?;
    lives.running.send_line("thread 1")?;
    let own = format!("masks {:x} 1", all_cpus_mask());
    lives.expect_masks(&own)?;
    // The thread has less than the process before, the same meanwhile, and less again; then none of the rule's cpus.
    for (on, meanwhile) in [("0", "masks 1 1"), ("1", "masks 2 2")] {
        let keeper = start_keeper(wine, &rule_text("own", on, ""))?;
        lives.expect_masks(meanwhile)?;
        stop_keeper(keeper)?;
        lives.expect_masks(&own)?;
    }
    Ok(())
}

fn check_request(wine: &WineSetup) -> Result<()> {
    let lives = NamedProgram::start_named(wine, "asked.exe")?;
    let keeper = start_keeper(wine, &rule_text("asked", "1", ""))?;
    lives.expect_masks("masks 2 2")?;
    says_in_time(wine, &["keep", "why", &lives.number], "asked")?;
    wine.run_corewise(&["keep", "release", &lives.number])?.expect_status(0, &[])?;
    lives.has_all()?;
    says_in_time(wine, &["keep", "why", &lives.number], "leaves it alone")?;
    wine.run_corewise(&["keep", "release", "--undo", &lives.number])?.expect_status(0, &[])?;
    lives.expect_masks("masks 2 2")?;
    fs::write(rules_file(wine)?, rule_text("asked", "0", ""))?;
    wine.run_corewise(&["keep", "reload"])?.expect_status(0, &[])?;
    lives.expect_masks("masks 1 1")?;
    wine.run_corewise(&["keep", "run"])?.expect_status(3, &["another `corewise keep run` runs"])?;
    wine.run_corewise(&["keep", "unit"])?.expect_status(3, &["Register-ScheduledTask"])?;
    stop_keeper(keeper)?;
    lives.has_all()
}

fn unit_of_nothing(wine: &WineSetup) -> Result<()> {
    let rules = "[[rule]]\nname = \"unit\"\nmatch = { unit = \"a.service\" }\non = \"0\"\n";
    fs::write(rules_file(wine)?, rules)?;
    let nothing = "neither units nor control groups";
    wine.run_corewise(&["keep", WIDE[0], WIDE[1]])?.expect_status(0, &[nothing])?;
    wine.run_corewise(&["keep", "plan"])?.expect_status(0, &[nothing, "No process matches"])
}

/// Checks permissions: Wine derives an access list from this system's.
fn check_writable(wine: &WineSetup) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let file = rules_file(wine)?;
    fs::write(&file, rule_text("none", "0", ""))?;
    let with_mode = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    wine.run_corewise(&["keep"])?.expect_status(0, &["none"])?;
    with_mode(&file, 0o666)?;
    let refused = wine.run_corewise(&["keep"])?;
    with_mode(&file, 0o644)?;
    refused.expect_status(3, &["do not count", "may be changed by", "icacls"])?;
    let folder = wine.prefix.join("drive_c/open");
    fs::create_dir_all(&folder)?;
    with_mode(&folder, 0o777)?;
    wine.run_corewise(&["undo", "--journal", r"C:\open"])?.expect_status(3, &[r"C:\open may be changed by"])?;
    fs::create_dir_all(folder.join("below"))?;
    with_mode(&folder.join("below"), 0o755)?;
    wine.run_corewise(&["undo", "--journal", r"C:\open\below"])?.expect_status(3, &[r"C:\open may be changed by"])?;
    with_mode(&folder, 0o755)?;
    wine.run_corewise(&["undo", "--journal", r"C:\open\below"])?.expect_status(0, &["Nothing to undo"])
}
