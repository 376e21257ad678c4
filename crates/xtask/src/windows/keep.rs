//! Masks of running processes under Wine: `keep run`, `run --pid` and `undo`, as a program in C sees its masks.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::{Check, Said, WIDE, Wine, compile};

pub const CHECKS: [Check; 10] = [
    ("run --pid places a process, and undo gives it back", placed_by_hand),
    ("try places a running process, and gives it back", tried),
    ("keep holds what runs and what is started, and gives all back", held),
    ("keep leaves alone what stays inside", stays_inside),
    ("keep releases what leaves its cpus, and corrects an exact rule", leaves),
    ("keep run that was killed is undone", killed),
    ("threads and children get their own cpus back", own_masks),
    ("keep reloads, releases and says why", asked),
    ("a rule by unit matches nothing, and says so", unit_of_nothing),
    ("rules that somebody else may write are refused", writable),
];

/// Maximum wait for expected output: a program of Wine starts in less than a second, and `keep run` looks once a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running program of Wine, with the lines that it prints.
struct Running {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Running {
    fn start(mut command: Command) -> Result<Self> {
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
    fn expect(&self, text: &str) -> Result<String> {
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

    fn say(&mut self, line: &str) -> Result<()> {
        let input = self.input.as_mut().context("its input is closed")?;
        Ok(writeln!(input, "{line}")?)
    }

    /// Sends a signal of this system; Wine turns INT into Ctrl-C, and the kernel ends it with KILL.
    fn signal(&self, name: &str) -> Result<()> {
        let is_sent = Command::new("kill").args([format!("-{name}"), self.child.id().to_string()]).status()?.success();
        ensure!(is_sent, "no signal {name} could be sent");
        Ok(())
    }

    /// Waits for the end.
    fn end(&mut self) -> Result<()> {
        drop(self.input.take());
        let deadline = Instant::now() + PATIENCE;
        while self.child.try_wait()?.is_none() {
            ensure!(Instant::now() < deadline, "it does not end");
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The test program, in a copy of its own for each name, so that rules can match it.
struct Lives {
    running: Running,
    number: String,
}

impl Lives {
    fn start(wine: &Wine, name: &str) -> Result<Self> {
        let running = Running::start(wine.command(&[&program(wine, name)?.to_string_lossy()]))?;
        let number = running.expect("pid ")?.replace("pid ", "");
        let lives = Self { running, number };
        lives.has_all()?;
        Ok(lives)
    }

    /// Waits until it has masks.
    fn has(&self, masks: &str) -> Result<()> {
        self.running.expect(masks).map(drop)
    }

    /// Waits until both masks are all cpus.
    fn has_all(&self) -> Result<()> {
        self.has(&format!("masks {0:x} {0:x}", all()))
    }
}

/// Returns the mask of all cpus.
fn all() -> u64 {
    let count = thread::available_parallelism().map_or(1, usize::from);
    u64::MAX >> (64 - count.clamp(1, 64))
}

fn program(wine: &Wine, name: &str) -> Result<PathBuf> {
    let folder = wine.prefix.join("drive_c/lives");
    let [whole, copy] = ["lives.exe", name].map(|name| folder.join(name));
    if !whole.is_file() {
        fs::create_dir_all(&folder)?;
        compile(&["-Wall", "-Werror"], "lives.c", &whole, &[])?;
    }
    if !copy.is_file() {
        fs::copy(whole, &copy)?;
    }
    Ok(copy)
}

/// Sets the mask of a process from another one.
fn set_from_outside(wine: &Wine, number: &str, mask: &str) -> Result<()> {
    let program = program(wine, "lives.exe")?;
    let said = Said::from(wine.command(&[&program.to_string_lossy(), "set", number, mask]).output()?);
    said.expect(0, &[])
}

/// Writes rules to the user's usual file, and starts a keeper with them.
fn keeper(wine: &Wine, rules: &str) -> Result<Running> {
    fs::write(rules_file(wine)?, rules)?;
    let keeper = Running::start(wine.corewise(&["keep", "run"]))?;
    keeper.expect("started: ")?;
    Ok(keeper)
}

fn rules_file(wine: &Wine) -> Result<PathBuf> {
    let users = fs::read_dir(wine.prefix.join("drive_c/users"))?.flatten();
    let user = users.map(|user| user.path()).find(|user| user.file_name().is_some_and(|name| name != "Public"));
    let folder = user.context("Wine has no user")?.join("AppData/Local/corewise");
    fs::create_dir_all(&folder)?;
    Ok(folder.join("rules.toml"))
}

fn rule(name: &str, on: &str, more: &str) -> String {
    format!("[[rule]]\nname = \"{name}\"\nmatch = {{ exe = \"*/{name}.exe\" }}\non = \"{on}\"\n{more}\n")
}

fn stop(mut keeper: Running) -> Result<()> {
    keeper.signal("INT")?;
    keeper.expect("stopped: ")?;
    keeper.end()
}

/// Repeats a command until its output contains a text, since the keeper looks once a second.
fn says_in_time(wine: &Wine, words: &[&str], part: &str) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let said = wine.says(&[words, &WIDE[..]].concat())?;
        if said.text.contains(part) {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "{words:?} does not say \"{part}\": {}{}", said.text, said.error);
        thread::sleep(Duration::from_millis(200));
    }
}

fn placed_by_hand(wine: &Wine) -> Result<()> {
    let lives = Lives::start(wine, "by-hand.exe")?;
    let said = wine.says(&["run", "--on", "1", "--pid", &lives.number])?;
    let by_hand = format!("(Get-Process -Id {}).ProcessorAffinity = 2", lives.number);
    said.expect(0, &["by-hand.exe (", "on cpus 1\n", &by_hand, "corewise undo"])?;
    lives.has("masks 2 2")?;
    wine.says(&["run", "--on", "1", "--pid", &lives.number])?.expect(0, &["all were there already"])?;
    wine.says(&["undo", "--dry-run", WIDE[0], WIDE[1]])?.expect(0, &["by-hand.exe", "from 1 back to "])?;
    wine.says(&["undo", WIDE[0], WIDE[1]])?.expect(0, &["by-hand.exe", "corewise run --on"])?;
    lives.has_all()?;
    wine.says(&["undo"])?.expect(0, &["Nothing to undo"])?;
    wine.says(&["run", "--on", "1", "--pid", "999999"])?.expect(3, &["there is no process 999999"])?;
    wine.says(&["run", "--on", "60", "--pid", &lives.number])?.expect(3, &["60"])
}

/// Checks that a process is placed and restored; the metric is the same everywhere.
fn tried(wine: &Wine) -> Result<()> {
    let mut lives = Lives::start(wine, "tried.exe")?;
    lives.running.say("busy")?;
    let asked =
        ["try", "--on", "0", "--on", "1", "--metric", "cpu-time", "--slot", "0.2s", "--budget", "8s", "--no-store"];
    let said = wine.says(&[&asked[..], &["--seed", "1", "--pid", &lives.number]].concat())?;
    ensure!(matches!(said.status, Some(0 | 1)), "it ended with {:?}: {}{}", said.status, said.text, said.error);
    lives.has("masks 1 1")?;
    lives.has("masks 2 2")?;
    // It has all again: otherwise the thread's own mask would be beside another one.
    lives.running.say("thread 1")?;
    lives.has(&format!("masks {:x} 1", all()))?;
    wine.says(&["undo"])?.expect(0, &["Nothing to undo"])?;
    let waits = wine.says(&["try", "--on", "0", "--metric", "run-delay", "--pid", &lives.number])?;
    waits.expect(3, &["run-delay is not known here"])
}

fn held(wine: &Wine) -> Result<()> {
    let before = Lives::start(wine, "held.exe")?;
    let other = Lives::start(wine, "other.exe")?;
    let keeper = keeper(wine, &rule("held", "1", ""))?;
    before.has("masks 2 2")?;
    let later = Lives::start(wine, "held.exe")?;
    later.has("masks 2 2")?;
    says_in_time(wine, &["keep"], "2 processes held")?;
    wine.says(&["keep", "plan"])?.expect(0, &["held.exe"])?;
    // A process that the rule does not match is left alone.
    set_from_outside(wine, &other.number, "1")?;
    other.has("masks 1 1")?;
    stop(keeper)?;
    before.has_all()?;
    later.has_all()?;
    wine.says(&["undo"])?.expect(0, &["Nothing to undo"])
}

fn stays_inside(wine: &Wine) -> Result<()> {
    let mut lives = Lives::start(wine, "inside.exe")?;
    let keeper = keeper(wine, &rule("inside", "0-1", ""))?;
    keeper.expect("rule inside matches")?;
    lives.running.say("own 1")?;
    lives.has("masks 1 1")?;
    says_in_time(wine, &["keep", "why", &lives.number], "of their own inside")?;
    stop(keeper)?;
    // It still has its own choice: any other mask would be printed before this one.
    lives.running.say("own 2")?;
    let line = lives.running.expect("masks")?;
    ensure!(line == "masks 2 2", "it had {line} in between");
    Ok(())
}

fn leaves(wine: &Wine) -> Result<()> {
    let (boundary, exact) = (Lives::start(wine, "boundary.exe")?, Lives::start(wine, "exact.exe")?);
    let rules = rule("boundary", "1", "") + &rule("exact", "1", "strength = \"exact\"");
    let keeper = keeper(wine, &rules)?;
    boundary.has("masks 2 2")?;
    exact.has("masks 2 2")?;
    set_from_outside(wine, &boundary.number, "1")?;
    set_from_outside(wine, &exact.number, "1")?;
    exact.has("masks 1 1")?;
    exact.has("masks 2 2")?;
    boundary.has("masks 1 1")?;
    says_in_time(wine, &["keep", "why", &boundary.number], "leaves it alone")?;
    stop(keeper)?;
    exact.has_all()
}

fn killed(wine: &Wine) -> Result<()> {
    let mut lives = Lives::start(wine, "killed.exe")?;
    let mut keeper = keeper(wine, &rule("killed", "1", ""))?;
    lives.has("masks 2 2")?;
    lives.running.say("child")?;
    lives.has("child masks 2 2")?;
    wine.says(&["undo"])?.expect(0, &["in force"])?;
    keeper.signal("KILL")?;
    keeper.end()?;
    wine.says(&["undo", WIDE[0], WIDE[1]])?.expect(0, &["killed.exe", "also set back, started since: 1"])?;
    let both = [lives.running.expect("masks")?, lives.running.expect("masks")?];
    let masks = format!("masks {0:x} {0:x}", all());
    ensure!(both.iter().all(|line| line.ends_with(&masks)) && both[0] != both[1], "not both have all: {both:?}");
    Ok(())
}

fn own_masks(wine: &Wine) -> Result<()> {
    let mut lives = Lives::start(wine, "own.exe")?;
    lives.running.say("thread 1")?;
    let own = format!("masks {:x} 1", all());
    lives.has(&own)?;
    // The thread has less than the process before, the same meanwhile, and less again; then none of the rule's cpus.
    for (on, meanwhile) in [("0", "masks 1 1"), ("1", "masks 2 2")] {
        let keeper = keeper(wine, &rule("own", on, ""))?;
        lives.has(meanwhile)?;
        stop(keeper)?;
        lives.has(&own)?;
    }
    Ok(())
}

fn asked(wine: &Wine) -> Result<()> {
    let lives = Lives::start(wine, "asked.exe")?;
    let keeper = keeper(wine, &rule("asked", "1", ""))?;
    lives.has("masks 2 2")?;
    says_in_time(wine, &["keep", "why", &lives.number], "asked")?;
    wine.says(&["keep", "release", &lives.number])?.expect(0, &[])?;
    lives.has_all()?;
    says_in_time(wine, &["keep", "why", &lives.number], "leaves it alone")?;
    wine.says(&["keep", "release", "--undo", &lives.number])?.expect(0, &[])?;
    lives.has("masks 2 2")?;
    fs::write(rules_file(wine)?, rule("asked", "0", ""))?;
    wine.says(&["keep", "reload"])?.expect(0, &[])?;
    lives.has("masks 1 1")?;
    wine.says(&["keep", "run"])?.expect(3, &["another `corewise keep run` runs"])?;
    wine.says(&["keep", "unit"])?.expect(3, &["Register-ScheduledTask"])?;
    stop(keeper)?;
    lives.has_all()
}

fn unit_of_nothing(wine: &Wine) -> Result<()> {
    let rules = "[[rule]]\nname = \"unit\"\nmatch = { unit = \"a.service\" }\non = \"0\"\n";
    fs::write(rules_file(wine)?, rules)?;
    let nothing = "neither units nor control groups";
    wine.says(&["keep", WIDE[0], WIDE[1]])?.expect(0, &[nothing])?;
    wine.says(&["keep", "plan"])?.expect(0, &[nothing, "No process matches"])
}

/// Checks permissions: Wine derives an access list from this system's.
fn writable(wine: &Wine) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let file = rules_file(wine)?;
    fs::write(&file, rule("none", "0", ""))?;
    let with_mode = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    wine.says(&["keep"])?.expect(0, &["none"])?;
    with_mode(&file, 0o666)?;
    let refused = wine.says(&["keep"])?;
    with_mode(&file, 0o644)?;
    refused.expect(3, &["do not count", "may be changed by", "icacls"])?;
    let folder = wine.prefix.join("drive_c/open");
    fs::create_dir_all(&folder)?;
    with_mode(&folder, 0o777)?;
    wine.says(&["undo", "--journal", r"C:\open"])?.expect(3, &[r"C:\open may be changed by"])?;
    fs::create_dir_all(folder.join("below"))?;
    with_mode(&folder.join("below"), 0o755)?;
    wine.says(&["undo", "--journal", r"C:\open\below"])?.expect(3, &[r"C:\open may be changed by"])?;
    with_mode(&folder, 0o755)?;
    wine.says(&["undo", "--journal", r"C:\open\below"])?.expect(0, &["Nothing to undo"])
}
