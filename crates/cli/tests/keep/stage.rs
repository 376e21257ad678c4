//! A place with rules and a program of its own, and the loop that runs there.

use std::cell::RefCell;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use corewise_machine::CpuSet;
use corewise_sys::affinity;
use corewise_sys::affinity_events::AffinityEvents;

use crate::support::{TestPlace, ended, send, text, wait_for};

/// A place with a program of its own, and a rule that holds it on the highest cpu.
pub struct KeepStage {
    pub place: TestPlace,
    pub program: PathBuf,
    pub rules: PathBuf,
    pub all: CpuSet,
    pub one: CpuSet,
    /// Numbers of the processes of its loops.
    loops: RefCell<Vec<u32>>,
}

/// A process that ends with the test.
pub struct RunningActor(pub Child);

impl Drop for RunningActor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl KeepStage {
    /// Nothing where one cpu alone leaves nothing to restrict a process to.
    pub fn new() -> Option<Self> {
        let all = affinity::current_affinity().unwrap();
        if all.len() < 2 {
            println!("skipped: one cpu alone leaves nothing to restrict a process to");
            return None;
        }
        let place = TestPlace::new();
        let folder = place.folder("own", 0o700);
        let (program, rules) = (folder.join("napper"), folder.join("rules.toml"));
        // By another process: a file that is open for writing here cannot be executed.
        let sleep = Command::new("sh").args(["-c", "command -v sleep"]).output().unwrap();
        let copied = Command::new("cp").args([text(&sleep.stdout).trim(), program.to_str().unwrap()]).status();
        assert!(copied.unwrap().success());
        let one = CpuSet::from_cpu(all.highest().unwrap());
        Some(Self { place, program, rules, all, one, loops: RefCell::default() })
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let rules = self.rules.to_str().unwrap();
        self.corewise(&[&["keep", "--user", "--rules", rules], words].concat())
    }

    /// With journals of this test's own, which root would share with the whole machine.
    pub fn corewise(&self, words: &[&str]) -> Command {
        let journals = self.journals();
        self.place.corewise(&[&["--journal", journals.to_str().unwrap()], words].concat())
    }

    pub fn journals(&self) -> PathBuf {
        self.place.path().join("journals")
    }

    pub fn keep(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// What a command prints that must do what it is for.
    pub fn said(&self, words: &[&str]) -> String {
        let output = self.keep(words);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()), "{words:?}");
        text(&output.stdout)
    }

    pub fn add(&self) {
        let (exe, one) = (format!("exe={}", self.program.display()), self.one.to_string());
        self.said(&["add", "nap", "--match", &exe, "--on", &one]);
    }

    pub fn nap(&self) -> RunningActor {
        RunningActor(Command::new(&self.program).arg("1000").spawn().unwrap())
    }

    /// The loop, once it says that it began.
    pub fn daemon(&self) -> RunningActor {
        self.daemon_with(&[])
    }

    /// Starts a loop; what it leaves is this stage's.
    pub fn begin_loop(&self, command: &mut Command) -> RunningActor {
        let child = command.spawn().unwrap();
        self.loops.borrow_mut().push(child.id());
        RunningActor(child)
    }

    pub fn daemon_with(&self, options: &[&str]) -> RunningActor {
        let daemon = self.begin_loop(self.command(&[&["run"], options].concat()).stderr(Stdio::piped()));
        wait_for("the loop", || self.said(&[]).contains("processes are seen").then_some(()));
        daemon
    }

    /// The loop where tracefs, which says who sets masks, is hidden from it and cannot be mounted; nothing where that cannot be.
    pub fn daemon_that_knows_no_author(&self) -> Option<RunningActor> {
        if AffinityEvents::open().is_err() {
            return Some(self.daemon());
        }
        let hide = "for at in /sys/kernel/tracing /sys/kernel/debug; do mount -t tmpfs none $at || exit 77; done; exec setpriv --bounding-set=-sys_admin";
        let inside = |line: String| {
            let mut command = Command::new("unshare");
            command.args(["-m", "sh", "-c", &line]);
            command
        };
        if !inside(format!("{hide} true")).stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
            return None;
        }
        let daemon = self.command(&["run"]);
        let mut command = inside(format!("{hide} \"$0\" \"$@\""));
        command.arg(daemon.get_program()).args(daemon.get_args());
        for (name, value) in daemon.get_envs() {
            value.map(|value| command.env(name, value));
        }
        let running = self.begin_loop(command.stderr(Stdio::piped()));
        wait_for("the loop", || self.said(&[]).contains("processes are seen").then_some(()));
        Some(running)
    }

    pub fn wait_for_mask(&self, process: &RunningActor, cpus: &CpuSet) {
        wait_for("a mask", || (affinity::affinity_of(process.0.id()).unwrap() == *cpus).then_some(()));
    }

    /// Ends the loop; what it logged.
    pub fn stop(&self, mut daemon: RunningActor) -> String {
        send("TERM", &daemon.0);
        assert!(ended(&mut daemon.0).success());
        let mut log = String::new();
        daemon.0.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        log
    }

    /// Nothing of this stage is left to undo. Instances of ftrace are the whole machine's: another test may just have killed its loop.
    pub fn assert_nothing_left(&self) {
        let undo = self.corewise(&["undo"]).output().unwrap();
        let (said, loops) = (text(&undo.stdout), self.loops.borrow());
        let is_of_others = |line: &str| {
            line.contains("the ftrace instance corewise-") && !loops.iter().any(|id| line.contains(&format!("-{id}-")))
        };
        let mut changes = said.lines().filter(|line| line.starts_with("  ")).peekable();
        let are_of_others = changes.peek().is_some() && changes.all(is_of_others);
        assert!(said.starts_with("Nothing to undo") || are_of_others, "{said}");
    }
}
