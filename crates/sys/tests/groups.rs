//! Control groups of this machine: whoever is in a group that is removed goes back to where it came from.
//!
//! This needs a mounted hierarchy of version 2 and the right to make groups in it, and no controller.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::time::Duration;

use corewise_sys::change::{Change, ChangeJournal, UndoOutcome};
use libtest_mimic::{Arguments, Completion, Trial};

fn main() -> ExitCode {
    let trials = vec![
        Trial::ignorable_test("a_process_goes_home_from_an_ordinary_group", || Ok(goes_home(None))),
        Trial::ignorable_test("a_process_goes_home_from_a_threaded_group", || Ok(goes_home(Some("threaded")))),
        Trial::ignorable_test("a_group_with_groups_inside_stays", || Ok(stays())),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The folder of this process's group of version 2, whatever controllers it has.
fn home() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mount =
        mounts.lines().find_map(|line| line.split_once(' ')?.1.split_once(" cgroup2 ").map(|(path, _)| path))?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(Path::new(mount).join(group)).filter(|path| path.exists())
}

/// A group made through a journal, of which `name` tells the groups of one run apart.
struct MadeGroup {
    journal: ChangeJournal,
    home: PathBuf,
    group: PathBuf,
    _journals: tempfile::TempDir,
}

impl MadeGroup {
    fn new(name: &str) -> Result<Self, Completion> {
        let Some(home) = home() else {
            return Err(Completion::ignored_with("there are no control groups of version 2"));
        };
        let journals = tempfile::tempdir().unwrap();
        let group = home.join(format!("corewise-test-{}-{name}", std::process::id()));
        let mut journal = ChangeJournal::in_folder(journals.path());
        if let Err(error) = journal.make_change(Change::for_folder(&group, &home)) {
            return Err(Completion::ignored_with(format!("no control group can be made here: {error}")));
        }
        Ok(Self { journal, home, group, _journals: journals })
    }

    /// Undoes the one change.
    fn undone(&mut self) -> UndoOutcome {
        let mut undone = self.journal.undo_all();
        assert_eq!(undone.len(), 1);
        undone.remove(0).outcome
    }
}

/// A process that is ended with the test.
struct GroupSleeper(Child);

impl Drop for GroupSleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl GroupSleeper {
    /// A child that sleeps. An emulator goes on before its child is the other program, and has threads of its own there.
    fn begun() -> Self {
        let sleeper = Self(Command::new("sleep").arg("1000").spawn().unwrap());
        let name = format!("/proc/{}/comm", sleeper.0.id());
        while fs::read_to_string(&name).unwrap() != "sleep\n" {
            std::thread::sleep(Duration::from_millis(1));
        }
        sleeper
    }

    fn group(&self) -> String {
        let groups = fs::read_to_string(format!("/proc/{}/cgroup", self.0.id())).unwrap();
        groups.lines().find(|line| line.starts_with("0::")).unwrap().to_owned()
    }
}

fn goes_home(kind: Option<&str>) -> Completion {
    let mut made = match MadeGroup::new(kind.unwrap_or("domain")) {
        Ok(made) => made,
        Err(skipped) => return skipped,
    };
    if kind.is_some_and(|kind| fs::write(made.group.join("cgroup.type"), kind).is_err()) {
        return Completion::ignored_with("the group of this process has others beside it that are not threaded");
    }
    let sleeper = GroupSleeper::begun();
    let before = sleeper.group();
    fs::write(made.group.join("cgroup.procs"), sleeper.0.id().to_string()).unwrap();
    assert_ne!(sleeper.group(), before);
    // The kernel tells who is in a threaded group by thread.
    let noun = if kind.is_some() { "thread" } else { "process" };
    let remark = format!("{noun} {} was moved back to {}", sleeper.0.id(), made.home.display());
    assert_eq!(made.undone(), UndoOutcome::Reverted(Some(remark)));
    assert_eq!(sleeper.group(), before);
    assert!(!made.group.exists());
    Completion::Completed
}

fn stays() -> Completion {
    let mut made = match MadeGroup::new("outer") {
        Ok(made) => made,
        Err(skipped) => return skipped,
    };
    let inside = made.group.join("inside");
    fs::create_dir(&inside).unwrap();
    let outcome = made.undone();
    fs::remove_dir(&inside).unwrap();
    assert!(matches!(&outcome, UndoOutcome::Failed(why) if why.contains("inside; remove it first")), "{outcome:?}");
    assert_eq!(made.undone(), UndoOutcome::Reverted(None));
    assert!(!made.group.exists());
    Completion::Completed
}
