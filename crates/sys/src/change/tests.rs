//! Tests of the journal: whatever was changed, and wherever it broke off, undoing brings the old values back.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use corewise_machine::CpuSet;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tempfile::TempDir;

use super::journal_place::JournalPlace;
use super::lines::JournalLine;
use super::standing::ChangeStanding;
use super::*;
use crate::error::SysError;
use crate::os::affinity::{affinity_of, current_affinity};
use crate::os::process::ProcessIdentity;

/// Every path below a folder, with the text of the files.
type Tree = BTreeMap<PathBuf, Option<String>>;

fn tree(folder: &Path) -> Tree {
    let mut found = Tree::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(tree(&path));
            found.insert(path, None);
        } else {
            let text = fs::read_to_string(&path).unwrap();
            found.insert(path, Some(text));
        }
    }
    found
}

/// Makes a folder hold a tree again, and nothing else.
fn put_back(folder: &Path, wanted: &Tree) {
    fs::remove_dir_all(folder).unwrap();
    fs::create_dir(folder).unwrap();
    for (path, text) in wanted {
        match text {
            None => fs::create_dir_all(path).unwrap(),
            Some(text) => fs::write(path, text).unwrap(),
        }
    }
}

/// A machine of files, and a folder for journals.
struct ChangeWorld {
    place: TempDir,
}

/// What is done to it.
#[derive(Clone, Copy, Debug)]
enum ChangeStep {
    Write(usize, u8),
    Make(u8),
    Undo,
}

/// What a step did to the machine and to the journal.
struct ChangeDone {
    step: ChangeStep,
    before: Tree,
    after: Tree,
    /// The lines that the journal got.
    lines: Vec<u8>,
}

impl ChangeWorld {
    fn new() -> Self {
        let world = Self { place: tempfile::tempdir().unwrap() };
        ground::lay_machine(&world.machine());
        fs::create_dir(world.machine()).unwrap();
        for number in 0..3 {
            fs::write(world.file(number), "old\n").unwrap();
        }
        world
    }

    fn machine(&self) -> PathBuf {
        self.place.path().join("machine")
    }

    fn journals(&self) -> PathBuf {
        self.place.path().join("journals")
    }

    fn file(&self, number: usize) -> PathBuf {
        self.machine().join(format!("file-{number}"))
    }

    fn written(&self, number: usize, value: &str) -> Change {
        Change::for_file(self.file(number), value, ValueFormat::Text).unwrap()
    }

    fn journal_bytes(&self) -> Vec<u8> {
        self.paths().first().map(|path| fs::read(path).unwrap()).unwrap_or_default()
    }

    fn paths(&self) -> Vec<PathBuf> {
        let Some(place) = JournalPlace::find_folder(&self.journals()).unwrap() else { return Vec::new() };
        place.journal_names().unwrap().iter().map(|name| place.path_of(name)).collect()
    }

    /// Does the steps as a corewise does that crashes afterwards.
    fn done(&self, steps: &[ChangeStep]) -> Vec<ChangeDone> {
        let mut journal = ChangeJournal::in_folder(self.journals());
        let mut done = Vec::new();
        let mut open = Vec::new();
        // The header.
        journal.make_change(self.written(0, "new")).unwrap();
        open.push(1);
        for &step in steps {
            let (before, from) = (tree(&self.machine()), self.journal_bytes().len());
            match step {
                ChangeStep::Write(number, value) => {
                    open.push(journal.make_change(self.written(number, &value.to_string())).unwrap())
                }
                ChangeStep::Make(name) => {
                    let path = self.machine().join(format!("folder-{name}"));
                    let is_new = !path.exists();
                    let made = journal.make_change(Change::for_folder(path, self.machine()));
                    assert_eq!(made.is_ok(), is_new);
                    open.extend(made.ok());
                }
                // The first stays, so that the journal does, too.
                ChangeStep::Undo if open.len() > 1 => {
                    let undone = journal.undo_change(open.pop().unwrap()).unwrap();
                    assert!(undone.outcome.is_settled(), "{undone:?}");
                }
                ChangeStep::Undo => {}
            }
            let lines = self.journal_bytes()[from..].to_vec();
            done.push(ChangeDone { step, before, after: tree(&self.machine()), lines });
        }
        // What a crash spares.
        std::mem::forget(journal);
        done
    }

    /// Puts a journal in the folder as if it were of a process that has ended.
    fn leave(&self, bytes: &[u8]) -> PathBuf {
        fs::remove_dir_all(self.journals()).unwrap();
        JournalPlace::prepare_folder(&self.journals()).unwrap();
        let path = self.journals().join("left.corewise-journal");
        fs::write(&path, bytes).unwrap();
        path
    }
}

/// The first line of a journal, as one of a process that has ended.
fn header_of_the_dead() -> Vec<u8> {
    let mut header = JournalHeader::of_this_process().unwrap();
    header.process.start_ticks += 1;
    let mut line = serde_json::to_vec(&JournalLine::Journal(header)).unwrap();
    line.push(b'\n');
    line
}

/// Undoes all that is left; the outcomes.
fn undone_in(folder: &Path) -> Vec<UndoOutcome> {
    let mut outcomes = Vec::new();
    for left in left_in(folder).unwrap() {
        let mut left = left.unwrap();
        assert_eq!(*left.standing(), JournalStanding::Left);
        let previewed: Vec<bool> =
            left.preview_undo(&mut UndoForecast::default()).iter().map(|undone| undone.outcome.is_settled()).collect();
        let undone = left.undo_changes();
        assert_eq!(undone.iter().map(|undone| undone.outcome.is_settled()).collect::<Vec<_>>(), previewed);
        outcomes.extend(undone.into_iter().map(|undone| undone.outcome));
        left.clear_journal().unwrap();
    }
    outcomes
}

/// Breaks off at every `stride`th byte of every step's lines, with the machine as it may be then, and undoes.
fn check_every_crash(steps: &[ChangeStep], stride: usize) {
    let world = ChangeWorld::new();
    let original = tree(&world.machine());
    let done = world.done(steps);
    let first = world.journal_bytes();
    let header_end = first.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let lines_end = first.len() - done.iter().map(|done| done.lines.len()).sum::<usize>();
    let mut journal = [header_of_the_dead(), first[header_end..lines_end].to_vec()].concat();
    for done in done {
        let begun = done.lines.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for cut in (0..=done.lines.len()).rev().step_by(stride) {
            let before = cut < done.lines.len();
            let after = matches!(done.step, ChangeStep::Undo) || cut >= begun;
            for machine in [before.then_some(&done.before), after.then_some(&done.after)].into_iter().flatten() {
                put_back(&world.machine(), machine);
                world.leave(&[&journal, &done.lines[..cut]].concat());
                let outcomes = undone_in(&world.journals());
                assert!(outcomes.iter().all(UndoOutcome::is_settled), "{:?} cut at {cut}: {outcomes:?}", done.step);
                assert_eq!(tree(&world.machine()), original, "{:?} cut at {cut}", done.step);
                assert_eq!(fs::read_dir(world.journals()).unwrap().count(), 0);
            }
        }
        journal.extend(&done.lines);
    }
}

#[test]
fn a_crash_at_any_byte_can_be_undone() {
    use ChangeStep::{Make, Undo, Write};
    check_every_crash(&[Write(1, 5), Make(0), Write(1, 6), Undo, Make(1)], 1);
}

fn steps() -> impl Strategy<Value = Vec<ChangeStep>> {
    let step = prop_oneof![
        3 => (0_usize..3, 0_u8..4).prop_map(|(number, value)| ChangeStep::Write(number, value)),
        2 => (0_u8..3).prop_map(ChangeStep::Make),
        2 => Just(ChangeStep::Undo),
    ];
    proptest::collection::vec(step, 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        rng_seed: RngSeed::Fixed(20),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_crash_after_any_steps_can_be_undone(steps in steps(), stride in 17_usize..40) {
        check_every_crash(&steps, stride);
    }

    #[test]
    fn undoing_while_alive_brings_all_back(steps in steps()) {
        let world = ChangeWorld::new();
        let original = tree(&world.machine());
        world.done(&[]);
        put_back(&world.machine(), &original);
        fs::remove_dir_all(world.journals()).unwrap();
        let mut journal = ChangeJournal::in_folder(world.journals());
        for step in steps {
            match step {
                ChangeStep::Write(number, value) => drop(journal.make_change(world.written(number, &value.to_string()))),
                ChangeStep::Make(name) => drop(journal.make_change(Change::for_folder(world.machine().join(name.to_string()), world.machine()))),
                ChangeStep::Undo => drop(journal.undo_change(journal.entries().len() as u32)),
            }
        }
        prop_assert!(journal.undo_all().iter().all(|undone| undone.outcome.is_settled()));
        prop_assert_eq!(tree(&world.machine()), original);
        prop_assert_eq!(fs::read_dir(world.journals()).map_or(0, Iterator::count), 0);
    }
}

#[test]
fn a_torn_header_is_of_a_journal_without_changes() {
    let world = ChangeWorld::new();
    world.done(&[]);
    let header = header_of_the_dead();
    for cut in [0, 1, header.len() - 1, header.len()] {
        world.leave(&header[..cut]);
        assert_eq!(undone_in(&world.journals()), []);
        assert_eq!(fs::read_dir(world.journals()).unwrap().count(), 0, "cut at {cut}");
    }
}

#[test]
fn dropping_undoes_and_removes_the_journal() {
    let world = ChangeWorld::new();
    let original = tree(&world.machine());
    let mut journal = ChangeJournal::in_folder(world.journals());
    assert!(!world.journals().exists(), "nothing is written before the first change");
    journal.make_change(world.written(0, "new")).unwrap();
    assert_eq!(fs::read_to_string(world.file(0)).unwrap(), "new\n");
    let lines = String::from_utf8(world.journal_bytes()).unwrap();
    assert!(lines.lines().nth(1).unwrap().starts_with(r#"{"begun":{"entry":1,"change":{"kind":"file","#), "{lines}");
    drop(journal);
    assert_eq!(tree(&world.machine()), original);
    assert_eq!(fs::read_dir(world.journals()).unwrap().count(), 0);
}

#[test]
fn the_entry_is_there_before_the_change_and_without_it_there_is_no_change() {
    let world = ChangeWorld::new();
    // A journal that cannot be: its folder would lie below a file. This holds for root, too.
    let mut journal = ChangeJournal::in_folder(world.file(1).join("journals"));
    let error = journal.make_change(world.written(0, "new")).unwrap_err();
    assert!(matches!(error, SysError::Journal { .. }), "{error}");
    assert!(error.to_string().contains("so nothing was changed"), "{error}");
    assert_eq!(fs::read_to_string(world.file(0)).unwrap(), "old\n");
}

#[test]
fn a_disk_that_is_full_keeps_the_change_from_being_made() {
    let world = ChangeWorld::new();
    let header = JournalHeader::of_this_process().unwrap();
    let full = || fs::OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
    let place = JournalPlace::prepare_folder(&world.journals()).unwrap();
    assert!(log::JournalLog::begin_log(place.clone(), "full".into(), full(), header).is_err());
    let mut log = log::JournalLog::read_log(place, "full".into(), fs::File::open("/dev/null").unwrap()).unwrap();
    assert!(log.begin_entries(&[world.written(0, "new")]).is_err());
    assert_eq!(log.contents, log::JournalContents::default(), "what could not be written is not remembered");
}

#[test]
fn a_journal_that_stays_is_there_until_all_is_undone() {
    let world = ChangeWorld::new();
    let mut journal = ChangeJournal::in_folder(world.journals());
    journal.keep_file().unwrap();
    let before = world.paths();
    assert_eq!(before.len(), 1, "before the first change");
    for value in ["one", "two"] {
        let number = journal.make_change(world.written(0, value)).unwrap();
        assert!(journal.undo_change(number).unwrap().outcome.is_reverted());
        assert_eq!(world.paths(), before);
        let contents = log::JournalContents::parse(&world.journal_bytes());
        assert!(contents.damage.is_none() && contents.entries.is_empty() && contents.last_number == number);
    }
    journal.undo_all();
    assert_eq!(world.paths(), Vec::<PathBuf>::new());
}

#[test]
fn what_somebody_else_changed_since_is_left_alone() {
    let world = ChangeWorld::new();
    let mut journal = ChangeJournal::in_folder(world.journals());
    journal.make_change(world.written(0, "ours")).unwrap();
    fs::write(world.file(0), "theirs\n").unwrap();
    let undone = journal.undo_all();
    let theirs = "someone else has changed it since: it is now \"theirs\"";
    assert_eq!(undone[0].outcome, UndoOutcome::LeftAlone(theirs.into()));
    assert_eq!(fs::read_to_string(world.file(0)).unwrap(), "theirs\n");
    assert_eq!(fs::read_dir(world.journals()).unwrap().count(), 0);
}

/// What a corewise wrote that has ended since: its journal is another's.
fn journal_of_the_dead(world: &ChangeWorld) -> AbandonedJournal {
    let lines = String::from_utf8(world.journal_bytes()).unwrap();
    let rest = lines.split_once('\n').unwrap().1.to_owned();
    world.leave(&[header_of_the_dead(), rest.into_bytes()].concat());
    left_in(&world.journals()).unwrap().pop().unwrap().unwrap()
}

#[test]
fn a_look_at_undoing_goes_by_what_undoing_would_leave() {
    let world = ChangeWorld::new();
    world.done(&[ChangeStep::Write(0, 7), ChangeStep::Write(0, 8)]);
    let left = journal_of_the_dead(&world);
    let mut meanwhile = UndoForecast::default();
    assert!(left.preview_undo(&mut meanwhile).iter().all(|undone| undone.outcome.is_reverted()));
    assert_eq!(fs::read_to_string(world.file(0)).unwrap(), "8\n", "nothing is done");
    // It is as it was now; an older journal that put that there would be undone next.
    let older = FileChange { path: world.file(0), old: "oldest".into(), new: "old".into(), format: ValueFormat::Text };
    let seen = Change::File(older).preview_undo(None, &meanwhile);
    assert!(seen.is_reverted(), "{seen:?}");
}

#[test]
fn what_is_kept_stays_and_is_undone_when_that_is_asked_for() {
    let world = ChangeWorld::new();
    let mut journal = ChangeJournal::in_folder(world.journals());
    journal.make_change(world.written(0, "new")).unwrap();
    journal.make_change(world.written(1, "other")).unwrap();
    journal.undo_change(1).unwrap();
    journal.keep_changes("corewise irq");
    let now = || [0, 1].map(|number| fs::read_to_string(world.file(number)).unwrap());
    assert_eq!(now(), ["old\n", "other\n"], "keeping undoes nothing");
    let lines = String::from_utf8(world.journal_bytes()).unwrap();
    assert!(lines.ends_with("{\"kept\":{\"by\":\"corewise irq\"}}\n"), "{lines}");

    // This process lives, so its journal is in force even without its lock.
    let mine = left_in(&world.journals()).unwrap().pop().unwrap().unwrap();
    assert_eq!(*mine.standing(), JournalStanding::InForce);
    drop(mine);
    let mut left = journal_of_the_dead(&world);
    assert_eq!((left.standing(), left.kept_by()), (&JournalStanding::Kept, Some("corewise irq")));
    assert_eq!((left.open_entries().count(), left.damage_reason()), (1, None));
    assert!(
        left.preview_undo(&mut UndoForecast::default()).iter().all(|undone| undone.outcome.is_reverted())
            && now()[1] == "other\n"
    );
    assert!(left.undo_changes().iter().all(|undone| undone.outcome.is_reverted()));
    assert_eq!((now(), left.clear_journal().unwrap()), (["old\n", "old\n"].map(str::to_owned), true));
    assert_eq!(fs::read_dir(world.journals()).unwrap().count(), 0);
}

#[test]
fn a_journal_with_nothing_to_keep_is_gone() {
    let world = ChangeWorld::new();
    let mut journal = ChangeJournal::in_folder(world.journals());
    journal.make_change(world.written(0, "new")).unwrap();
    let number = journal.make_change(world.written(1, "new")).unwrap();
    assert!(
        [number, 1]
            .iter()
            .all(|number| journal.undo_change(*number).is_some_and(|undone| undone.outcome.is_reverted()))
    );
    journal.keep_changes("corewise irq");
    ChangeJournal::in_folder(world.journals()).keep_changes("corewise irq");
    assert_eq!(fs::read_dir(world.journals()).unwrap().count(), 0);
}

#[test]
fn whoever_is_killed_before_it_says_that_all_is_to_stay_has_crashed() {
    let world = ChangeWorld::new();
    let mut journal = ChangeJournal::in_folder(world.journals());
    journal.make_change(world.written(0, "new")).unwrap();
    journal.keep_changes("corewise irq");
    let mut bytes = world.journal_bytes();
    bytes.truncate(bytes.len() - 1);
    fs::write(world.paths().pop().unwrap(), bytes).unwrap();
    let left = journal_of_the_dead(&world);
    assert_eq!((left.standing(), left.kept_by(), left.open_entries().count()), (&JournalStanding::Left, None, 1));
}

#[test]
fn what_cannot_be_undone_stays_in_the_journal() {
    let world = ChangeWorld::new();
    let mut journal = ChangeJournal::in_folder(world.journals());
    let folder = world.machine().join("folder");
    journal.make_change(Change::for_folder(&folder, world.machine())).unwrap();
    fs::create_dir(folder.join("inside")).unwrap();
    let outcome = &journal.undo_all()[0].outcome;
    assert!(matches!(outcome, UndoOutcome::Failed(why) if why.contains("inside was made inside")), "{outcome:?}");
    assert!(!world.journal_bytes().is_empty());
    fs::remove_dir(folder.join("inside")).unwrap();
    assert_eq!(journal.undo_all()[0].outcome, UndoOutcome::Reverted(None));
    assert!(!folder.exists() && world.journal_bytes().is_empty());
}

#[test]
fn a_change_that_cannot_be_made_leaves_nothing() {
    let world = ChangeWorld::new();
    let mut journal = ChangeJournal::in_folder(world.journals());
    let change = world.written(0, "new");
    fs::remove_file(world.file(0)).unwrap();
    let error = journal.make_change(change).unwrap_err();
    assert!(matches!(&error, SysError::Change { what, .. } if what.contains("\"old\" to \"new\"")), "{error}");
    assert!(!world.file(0).exists(), "kernel files are never created");
    assert_eq!(journal.entries(), []);
    let there = world.machine().join("there");
    fs::create_dir(&there).unwrap();
    assert!(journal.make_change(Change::for_folder(&there, world.machine())).is_err());
    assert_eq!(journal.undo_all(), []);
    assert!(there.exists(), "a folder that was there is not ours to remove");
}

#[test]
fn values_are_compared_as_the_kernel_prints_them() {
    let world = ChangeWorld::new();
    let look = |format, old: &str, new: &str, now: &str| {
        fs::write(world.file(0), now).unwrap();
        let change = FileChange { path: world.file(0), old: old.into(), new: new.into(), format };
        change.read_standing(None, None).unwrap()
    };
    assert_eq!(look(ValueFormat::Mask, "f", "3", "00000000,00000003\n"), ChangeStanding::InForce);
    assert_eq!(look(ValueFormat::List, "0-3", "0,1", "0-1\n"), ChangeStanding::InForce);
    assert_eq!(look(ValueFormat::List, "0,1", "5", "0-1\n"), ChangeStanding::AsBefore("it has the old value"));
    assert!(matches!(look(ValueFormat::List, "5", "1", "0,1\n"), ChangeStanding::Changed(_)));
    assert!(matches!(look(ValueFormat::Text, "f", "3", "03\n"), ChangeStanding::Changed(_)));
}

#[test]
fn a_controller_stays_on_while_other_groups_may_depend_on_it() {
    let world = ChangeWorld::new();
    let change = ControllerChange { group: world.machine(), name: "cpuset".into() };
    let enabled = world.machine().join("cgroup.subtree_control");
    fs::write(&enabled, "cpu memory\n").unwrap();
    assert_eq!(change.read_standing(&[]).unwrap(), ChangeStanding::AsBefore("it is off"));
    fs::write(&enabled, "cpu cpuset memory\n").unwrap();
    assert_eq!(change.read_standing(&[]).unwrap(), ChangeStanding::InForce);
    fs::create_dir(world.machine().join("neighbour")).unwrap();
    assert!(
        matches!(change.read_standing(&[]).unwrap(), ChangeStanding::Changed(why) if why.contains("neighbour may depend on it"))
    );
    // A group of our own, which could not be removed, is no neighbour: both stay in the journal.
    let line = |line: &JournalLine| serde_json::to_string(line).unwrap() + "\n";
    let own = Change::for_folder(world.machine().join("neighbour"), world.machine());
    fs::create_dir(world.machine().join("neighbour/inside")).unwrap();
    let lines = line(&JournalLine::Begun { entry: 1, change: Change::Controller(change) })
        + &line(&JournalLine::Begun { entry: 2, change: own });
    world.done(&[]);
    world.leave(&[header_of_the_dead(), lines.into_bytes()].concat());
    let outcomes = undone_in(&world.journals());
    assert!(matches!(&outcomes[0], UndoOutcome::Failed(why) if why.contains("made inside")), "{outcomes:?}");
    assert!(
        matches!(&outcomes[1], UndoOutcome::Failed(why) if why.ends_with("neighbour must go first")),
        "{outcomes:?}"
    );
    fs::remove_dir(world.machine().join("neighbour/inside")).unwrap();
    let left = left_in(&world.journals()).unwrap().pop().unwrap().unwrap();
    assert!(
        left.preview_undo(&mut UndoForecast::default()).iter().all(|undone| undone.outcome.is_reverted()),
        "{:?}",
        left.preview_undo(&mut UndoForecast::default())
    );
}

#[test]
fn a_change_that_another_journal_holds_is_known() {
    let world = ChangeWorld::new();
    let change = Change::for_controller(world.machine(), "cpuset");
    let mut own = ChangeJournal::in_folder(world.journals());
    own.make_change(world.written(0, "new")).unwrap();
    assert!(!own.is_held_elsewhere(&change).unwrap());
    let begun = serde_json::to_vec(&JournalLine::Begun { entry: 1, change: change.clone() }).unwrap();
    let lines = [header_of_the_dead(), begun, b"\n".to_vec()].concat();
    fs::write(world.journals().join("other.corewise-journal"), &lines).unwrap();
    assert!(own.is_held_elsewhere(&change).unwrap());
    let settled = serde_json::to_vec(&JournalLine::Settled { entry: 1 }).unwrap();
    fs::write(world.journals().join("other.corewise-journal"), [lines, settled, b"\n".to_vec()].concat()).unwrap();
    assert!(!own.is_held_elsewhere(&change).unwrap());
}

#[test]
fn journals_of_the_living_of_other_boots_and_of_nobody_known_are_told_apart() {
    let world = ChangeWorld::new();
    let mut journal = ChangeJournal::in_folder(world.journals());
    journal.make_change(world.written(0, "new")).unwrap();
    let mut left = left_in(&world.journals()).unwrap().pop().unwrap().unwrap();
    assert_eq!(*left.standing(), JournalStanding::InForce);
    assert_eq!(
        (left.open_entries().count(), left.preview_undo(&mut UndoForecast::default()), left.undo_changes()),
        (1, vec![], vec![])
    );
    assert!(!left.clear_journal().unwrap());
    assert_eq!(fs::read_to_string(world.file(0)).unwrap(), "new\n");

    let text = String::from_utf8(header_of_the_dead()).unwrap();
    let boot = crate::os::process::boot_id().unwrap();
    let begun = String::from_utf8(world.journal_bytes()).unwrap().lines().nth(1).unwrap().to_owned() + "\n";
    drop(journal);
    let found = |lines: String| {
        fs::write(world.file(0), "new\n").unwrap();
        let path = world.leave(lines.as_bytes());
        let mut left = left_in(&world.journals()).unwrap().pop().unwrap().unwrap();
        let (standing, undone) = (left.standing().clone(), left.undo_changes().len());
        left.clear_journal().unwrap();
        (standing, undone, path.exists())
    };
    assert_eq!(found(text.clone() + &begun), (JournalStanding::Left, 1, false));
    assert_eq!(found(text.replace(&boot, "another") + &begun), (JournalStanding::OtherBoot, 0, false));
    assert_eq!(found(text.replace("\"version\":1", "\"version\":9") + &begun), (JournalStanding::Unreadable, 0, true));
    assert_eq!(found(format!("nonsense\n{begun}")), (JournalStanding::Unreadable, 0, true));
    let elsewhere = text.replace("pid:[", "pid:[9");
    assert_eq!(found(elsewhere + &begun), (JournalStanding::Unknown, 0, true), "numbers mean other processes there");
    for lines in [
        format!("{text}nonsense\n{begun}"),
        format!("{text}{begun}{text}"),
        format!("\n{text}{begun}"),
        format!("\u{0}{text}{begun}"),
        format!("{begun}{text}"),
        format!("{text}{begun}{begun}"),
        format!("{text}{{\"settled\":{{\"entry\":1}}}}\n{begun}"),
    ] {
        assert_eq!(found(lines.clone()), (JournalStanding::Unreadable, 0, true), "{lines}");
    }
    assert_eq!(found(format!("{text}{begun}nons")), (JournalStanding::Left, 1, false), "torn by the crash");
}

#[test]
fn a_folder_that_others_may_write_in_is_not_used() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = ChangeWorld::new();
    fs::create_dir(world.journals()).unwrap();
    fs::set_permissions(world.journals(), fs::Permissions::from_mode(0o777)).unwrap();
    let error = left_in(&world.journals()).unwrap_err();
    assert!(error.to_string().contains("other users may write there"), "{error}");
    let mut journal = ChangeJournal::in_folder(world.journals());
    assert!(matches!(journal.make_change(world.written(0, "new")), Err(SysError::JournalRefused { .. })));
    assert_eq!(fs::read_to_string(world.file(0)).unwrap(), "old\n");
}

#[test]
fn a_journal_that_is_a_link_is_not_followed() {
    let world = ChangeWorld::new();
    world.done(&[]);
    let path = world.leave(&header_of_the_dead());
    std::os::unix::fs::symlink(&path, world.journals().join("link.corewise-journal")).unwrap();
    let found = left_in(&world.journals()).unwrap();
    assert_eq!(found.iter().filter(|left| left.is_err()).count(), 1);
}

/// A process that does nothing, on the cpus of this test.
struct ChangeSleeper(Child);

impl ChangeSleeper {
    fn new() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().unwrap())
    }
}

impl Drop for ChangeSleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn another_process_gets_its_cpus_back() {
    let world = ChangeWorld::new();
    let sleeper = ChangeSleeper::new();
    let all = current_affinity().unwrap();
    let one = CpuSet::from_cpu(all.highest().unwrap());
    // With one cpu alone there is no other value to change to.
    let (process, is_changed) = (sleeper.0.id(), all != one);
    let mut journal = ChangeJournal::in_folder(world.journals());
    journal.make_change(Change::for_affinity(process, one.clone()).unwrap()).unwrap();
    assert_eq!(affinity_of(process).unwrap(), one);
    let outcome = journal.undo_all().pop().unwrap().outcome;
    assert_eq!((affinity_of(process).unwrap(), outcome.is_reverted()), (all.clone(), is_changed), "{outcome:?}");

    journal.make_change(Change::for_affinity(process, one).unwrap()).unwrap();
    ProcessIdentity::find_task(process).and_then(|task| task.restrict_thread(&all)).unwrap();
    assert_eq!(journal.undo_all()[0].outcome, UndoOutcome::NothingToDo("it has the old value".into()));
}

#[test]
fn a_process_that_ended_has_nothing_to_get_back() {
    let world = ChangeWorld::new();
    let sleeper = ChangeSleeper::new();
    let mut journal = ChangeJournal::in_folder(world.journals());
    let cpu = CpuSet::from_cpu(current_affinity().unwrap().lowest().unwrap());
    let change = Change::for_affinity(sleeper.0.id(), cpu.clone()).unwrap();
    journal.make_change(change.clone()).unwrap();
    drop(sleeper);
    assert_eq!(journal.undo_all()[0].outcome, UndoOutcome::NothingToDo("it has ended".into()));
    assert!(matches!(journal.make_change(change), Err(SysError::Change { .. })), "its number may be another's by now");
    assert!(Change::for_affinity(u32::MAX / 2, cpu).is_err());
}

#[test]
fn cpus_that_do_not_exist_are_refused_and_nothing_is_left() {
    let world = ChangeWorld::new();
    let sleeper = ChangeSleeper::new();
    let before = affinity_of(sleeper.0.id()).unwrap();
    let mut journal = ChangeJournal::in_folder(world.journals());
    for cpus in ["8000", "0-8000"] {
        let change = Change::for_affinity(sleeper.0.id(), CpuSet::parse_list(cpus).unwrap()).unwrap();
        assert!(matches!(journal.make_change(change), Err(SysError::Change { .. })), "{cpus}");
        assert_eq!(affinity_of(sleeper.0.id()).unwrap(), before);
    }
    assert_eq!(journal.undo_all(), []);
}

/// A journal of a process that has ended, with these changes.
fn journal_with(changes: &[Change]) -> Vec<u8> {
    let begun = changes.iter().zip(1..).map(|(change, entry)| JournalLine::Begun { entry, change: change.clone() });
    let lines = begun.flat_map(|line| [serde_json::to_vec(&line).unwrap(), b"\n".to_vec()].concat());
    header_of_the_dead().into_iter().chain(lines).collect()
}

#[test]
fn nothing_is_written_or_removed_but_what_corewise_changes() {
    let world = ChangeWorld::new();
    let outside = world.place.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let file = outside.join("file-0");
    fs::write(&file, "new\n").unwrap();
    fs::create_dir(outside.join("corewise-7")).unwrap();
    let before = tree(world.place.path());
    let written = |path: PathBuf| {
        Change::File(FileChange { path, old: "old".into(), new: "new".into(), format: ValueFormat::Text })
    };
    let changes = [
        written(file.clone()),
        written(world.machine().join("../outside/file-0")),
        // A link in the place of a file of the kernel's.
        written(world.machine().join("smp_affinity_list")),
        written("/proc/self/comm".into()),
        written("file-0".into()),
        Change::for_folder(outside.join("corewise-7"), &outside),
        Change::for_folder(world.machine().join("../outside/corewise-7"), world.machine().join("../outside")),
        Change::for_folder(outside.join("corewise-7"), world.machine()),
        Change::for_controller(&outside, "cpuset"),
        Change::for_controller(world.machine(), "memory"),
    ];
    world.done(&[]);
    put_back(&world.machine(), &BTreeMap::new());
    std::os::unix::fs::symlink(&file, world.machine().join("smp_affinity_list")).unwrap();
    world.leave(&journal_with(&changes));
    let outcomes = undone_in(&world.journals());
    assert_eq!(outcomes.len(), changes.len());
    assert!(outcomes.iter().all(|outcome| matches!(outcome, UndoOutcome::Failed(_))), "{outcomes:?}");
    let after = tree(&outside);
    assert!(after.iter().all(|(path, text)| before.get(path) == Some(text)), "{after:?}");
}

#[test]
fn a_pipe_in_the_place_of_a_journal_holds_nobody_up() {
    let world = ChangeWorld::new();
    JournalPlace::prepare_folder(&world.journals()).unwrap();
    let made = Command::new("mkfifo").arg(world.journals().join("pipe.corewise-journal")).status().unwrap();
    assert!(made.success());
    let error = left_in(&world.journals()).unwrap().pop().unwrap().unwrap_err();
    assert!(error.to_string().ends_with("it is not a file"), "{error}");
}

#[test]
fn journals_of_before_have_the_former_name() {
    let world = ChangeWorld::new();
    world.done(&[]);
    let path = journal_of_the_dead(&world).path();
    fs::rename(&path, path.with_file_name("left.journal")).unwrap();
    assert!(undone_in(&world.journals()).iter().all(UndoOutcome::is_reverted));
    assert_eq!(fs::read_to_string(world.file(0)).unwrap(), "old\n");
    // Another program's.
    fs::write(path.with_file_name("system.journal"), "LPKSHHRH\n\n").unwrap();
    let left = left_in(&world.journals()).unwrap().pop().unwrap().unwrap();
    assert_eq!((left.standing(), left.header()), (&JournalStanding::Unreadable, None));
}

#[test]
fn a_journal_does_not_grow_with_what_is_settled() {
    let world = ChangeWorld::new();
    let mut journal = ChangeJournal::in_folder(world.journals());
    journal.make_change(world.written(0, "stays")).unwrap();
    let before = world.paths();
    for value in 0..600 {
        let size = world.journal_bytes().len();
        // Long enough that some hundred fill the file.
        let number = journal.make_change(world.written(1, &format!("{value:0500}"))).unwrap();
        assert!(
            world.journal_bytes().len() > size,
            "a program may wait for a change: it is not the time to rewrite the file"
        );
        assert!(journal.undo_change(number).unwrap().outcome.is_reverted());
    }
    let size = world.journal_bytes().len();
    assert!(size < 3 * (64 << 10), "{size} bytes");
    assert_eq!((world.paths(), fs::read_dir(world.journals()).unwrap().count()), (before, 1));
    let left = left_in(&world.journals()).unwrap().pop().unwrap().unwrap();
    assert_eq!((left.standing(), left.open_entries().count()), (&JournalStanding::InForce, 1), "the lock went on");
    drop(left);
    assert_eq!(journal_of_the_dead(&world).undo_changes().len(), 1);
}

#[test]
fn no_more_changes_are_begun_than_are_undone() {
    let world = ChangeWorld::new();
    let place = JournalPlace::prepare_folder(&world.journals()).unwrap();
    let header = JournalHeader::of_this_process().unwrap();
    let (name, file) = place.create_journal(&header).unwrap();
    let mut log = log::JournalLog::begin_log(place, name, file, header).unwrap();
    let change = world.written(0, "new");
    let entry = |number| UnsettledChange { number, change: change.clone(), state: ChangeState::Begun };
    log.contents.entries = (1..=log::MOST_OPEN as u32).map(entry).collect();
    let error = log.begin_entries(std::slice::from_ref(&change)).unwrap_err();
    assert!(error.to_string().contains("changes that are not undone, and may have no more"), "{error}");
    log.contents.entries.clear();
    let large = world.written(0, &"x".repeat(log::LARGEST_BYTES as usize / 2));
    let error = log.begin_entries(&[large]).unwrap_err();
    assert!(error.to_string().contains("larger than"), "{error}");
}

/// Changes that would move a thread of this test: too many to be a journal's, by their number or by their size.
#[test]
fn a_journal_with_a_million_changes_is_not_undone() {
    let world = ChangeWorld::new();
    let all = current_affinity().unwrap();
    let thread = crate::os::process::ProcessIdentity::this_process().unwrap();
    let change = AffinityChange::new(thread, thread, all).unwrap();
    let change =
        Change::Affinity(AffinityChange { name: "x".repeat(15), old: CpuSet::from_cpu(0), was_all: false, ..change });
    JournalPlace::prepare_folder(&world.journals()).unwrap();
    world.leave(&journal_with(&vec![change.clone(); log::MOST_OPEN + 1]));
    let left = left_in(&world.journals()).unwrap().pop().unwrap().unwrap();
    assert_eq!(left.standing(), &JournalStanding::Unreadable);
    let line = log::MOST_OPEN + 2;
    assert_eq!(left.damage_reason(), Some(format!("line {line} of the journal is one change too many").as_str()));
    drop(left);
    let path = world.leave(&header_of_the_dead());
    let mut file = std::io::BufWriter::new(fs::OpenOptions::new().append(true).open(path).unwrap());
    let line = serde_json::to_string(&JournalLine::Begun { entry: 1, change }).unwrap();
    for _ in 0..1_000_000 {
        std::io::Write::write_all(&mut file, line.as_bytes()).unwrap();
        std::io::Write::write_all(&mut file, b"\n").unwrap();
    }
    drop(file);
    let error = left_in(&world.journals()).unwrap().pop().unwrap().unwrap_err();
    assert!(error.to_string().ends_with("it is too large for a journal"), "{error}");
}

#[test]
fn a_process_undoes_its_own_journals_without_dropping_them_but_not_those_that_stay_or_are_of_others() {
    let world = ChangeWorld::new();
    let mut panicked = ChangeJournal::in_folder(world.journals());
    panicked.make_change(world.written(0, "new")).unwrap();
    let mut kept = ChangeJournal::in_folder(world.journals());
    kept.make_change(world.written(1, "new")).unwrap();
    kept.keep_changes("corewise irq");
    let mut foreign = ChangeJournal::in_folder(world.journals());
    foreign.make_change(world.written(2, "new")).unwrap();
    let name = world.file(2).file_name().unwrap().to_str().unwrap().to_owned();
    let mut read = world.paths().into_iter().map(|path| (fs::read_to_string(&path).unwrap(), path));
    let (text, path) = read.find(|(text, _)| text.contains(&name)).unwrap();
    fs::write(&path, text.replacen("\"start_ticks\":", "\"start_ticks\":1", 1)).unwrap();
    let undone = undo_own_changes(&world.journals()).unwrap();
    assert_eq!(undone.len(), 1, "{undone:?}");
    assert!(matches!(undone[0].outcome, UndoOutcome::Reverted(_)), "{undone:?}");
    let values = [0, 1, 2].map(|number| fs::read_to_string(world.file(number)).unwrap());
    assert_eq!(values.each_ref().map(|value| value.trim()), ["old", "new", "new"]);
    assert_eq!(world.paths().len(), 2, "the own journal is removed");
    assert!(panicked.undo_all().iter().all(|undone| !matches!(undone.outcome, UndoOutcome::Failed(_))));
}
