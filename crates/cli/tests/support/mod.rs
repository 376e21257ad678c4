//! What the tests of the program share: a place of its own for each, and signals.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The user and group "nobody" of most systems.
const NOBODY: u32 = 65_534;
/// SIGINT and SIGSEGV in the kernel's masks of signals, which count from bit 0.
const INTERRUPT_BIT: u64 = 1 << 1;
const FAULT_BIT: u64 = 1 << 10;

/// How long a test waits for something that has to come, before it fails: a busy machine is slow, and nothing is measured.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A folder of a test's own, where it keeps its history; gone with the test.
pub struct TestPlace(TempDir);

impl TestPlace {
    pub fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Self(place)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The program with its data in this place, and nothing of the tester's environment that it listens to.
    pub fn corewise(&self, arguments: &[&str]) -> Command {
        self.command(Path::new(env!("CARGO_BIN_EXE_corewise")), arguments)
    }

    /// The program as a user without privileges: nobody, where the tests run as root. Others may not enter root's
    /// folders, so the program is copied to a place where they may.
    pub fn ordinary_user(&self, arguments: &[&str]) -> Command {
        let mut command = self.corewise_named("corewise", arguments);
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// A copy of the program under a name, which no process of another test has.
    pub fn corewise_named(&self, name: &str, arguments: &[&str]) -> Command {
        let program = self.path().join(name);
        if !program.exists() {
            // By another process: a file that is open for writing here is so in whatever another test starts meanwhile,
            // and cannot be executed then.
            let copied = Command::new("cp").args([Path::new(env!("CARGO_BIN_EXE_corewise")), &program]).status();
            assert!(copied.unwrap().success());
        }
        self.command(&program, arguments)
    }

    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("XDG_DATA_HOME", self.path())
            .env("XDG_STATE_HOME", self.path())
            .env("XDG_RUNTIME_DIR", self.path())
            // Tests make experiments at the same time, whose times mean nothing.
            .env("COREWISE_LOCK", self.path())
            .env("COREWISE_REST", "0s")
            .env("COREWISE_TRIAL_TIME", "20ms")
            .current_dir(self.path());
        command.env("COLUMNS", "400");
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        command
    }

    /// A folder in this place with permissions.
    pub fn folder(&self, name: &str, mode: u32) -> PathBuf {
        let folder = self.path().join(name);
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        folder
    }
}

pub fn is_root() -> bool {
    status_line(std::process::id(), "Uid:").split_whitespace().next() == Some("0")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What was said on standard error, without the lines that tell now and then how far a long command has come.
pub fn said(bytes: &[u8]) -> String {
    text(bytes).split_inclusive('\n').filter(|line| !line.contains(" % done, ")).collect()
}

/// Sends SIGINT, as Ctrl-C does.
pub fn interrupt(child: &Child) {
    send("INT", child);
}

/// Sends a signal by its name.
pub fn send(signal: &str, child: &Child) {
    let status = Command::new("sh").arg("-c").arg(format!("kill -{signal} {}", child.id())).status().unwrap();
    assert!(status.success());
}

/// Waits for the program to install its handler: a signal before that ends it as it ends every program.
pub fn wait_until_it_catches_interrupts(child: &Child) {
    wait_for("the program to catch interrupts, or to hold them back", || {
        let state = status_line(child.id(), "State:");
        assert!(!state.contains('Z'), "the program has ended before it could be interrupted");
        let signals = |name| u64::from_str_radix(status_line(child.id(), name).trim(), 16).unwrap();
        // Until it is executed, and while it starts a thread, the library holds all back; corewise itself leaves out faults of its own.
        let held = signals("SigBlk:");
        let held = if held & FAULT_BIT == 0 { held } else { 0 };
        // Who waits for a signal that is held back does not show it as held.
        let waits =
            fs::read_to_string(format!("/proc/{}/wchan", child.id())).is_ok_and(|at| at.contains("sigtimedwait"));
        (waits || (signals("SigCgt:") | held) & INTERRUPT_BIT != 0).then_some(())
    });
}

/// Waits for a program that should end now.
pub fn ended(child: &mut Child) -> ExitStatus {
    wait_for("the program to end", || child.try_wait().unwrap())
}

/// Looks again and again until there is what is waited for.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited {} s for {what}", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn status_line(process: u32, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned()
}
