//! `corewise undo` as a user meets it: after a corewise that was killed while it had changes in force.
//!
//! The test program plays that corewise: started with [`CHANGER`], it makes the changes it is told, says so, and waits.

mod support;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};

use corewise_machine::CpuSet;
use corewise_sys::change::{Change, ChangeJournal};
use corewise_sys::process::{ProcessIdentity, ProcessStat};
use corewise_sys::{affinity, events};
use libtest_mimic::{Arguments, Completion, Trial};
use support::{TestPlace, is_root, text};

/// The first argument that makes this program a corewise with changes. The second is the folder of journals; the others
/// are processes that get their highest cpu alone; [`KEEP`] ends it without undoing that.
const CHANGER: &str = "make-changes";
/// What ends a corewise that means its changes to stay.
const KEEP: &str = "keep";

/// A test; what it gives says whether it could be done here.
type UndoTest = fn() -> Completion;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == CHANGER) {
        return make_changes(Path::new(&words[1]), &words[2..]);
    }
    let tests: [(&str, UndoTest); 13] = [
        ("nothing_is_left_where_nothing_was_changed", nothing_is_left_where_nothing_was_changed),
        ("a_corewise_killed_in_the_middle_is_undone", a_corewise_killed_in_the_middle_is_undone),
        ("the_changes_of_a_running_corewise_are_in_force", the_changes_of_a_running_corewise_are_in_force),
        ("a_corewise_that_ends_undoes_its_changes_itself", a_corewise_that_ends_undoes_its_changes_itself),
        ("what_is_meant_to_stay_is_undone_when_asked", what_is_meant_to_stay_is_undone_when_asked),
        ("what_somebody_else_changed_is_left_alone", what_somebody_else_changed_is_left_alone),
        ("what_cannot_be_undone_is_status_3_and_stays", what_cannot_be_undone_is_status_3_and_stays),
        ("a_link_of_another_user_is_not_followed", a_link_of_another_user_is_not_followed),
        ("a_damaged_journal_is_not_believed", a_damaged_journal_is_not_believed),
        ("the_largest_journal_takes_little_memory", the_largest_journal_takes_little_memory),
        ("on_a_full_disk_nothing_is_changed", on_a_full_disk_nothing_is_changed),
        ("journals_of_another_user_are_refused", journals_of_another_user_are_refused),
        ("without_a_home_it_says_what_to_do", without_a_home_it_says_what_to_do),
    ];
    let trials = tests.map(|(name, test)| Trial::ignorable_test(name, move || Ok(test())));
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

fn make_changes(folder: &Path, objects: &[String]) -> ExitCode {
    let mut journal = ChangeJournal::in_folder(folder);
    for object in objects {
        if object == KEEP {
            journal.keep_changes("corewise irq");
            return ExitCode::SUCCESS;
        }
        let change = Change::for_affinity(object.parse().unwrap(), one_cpu());
        if let Err(error) = journal.make_change(change.unwrap()) {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
        println!("changed {object}");
    }
    // Until it is killed, or standard input ends.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    ExitCode::SUCCESS
}

/// The highest cpu that this process may use.
fn one_cpu() -> CpuSet {
    affinity::current_affinity().unwrap().highest().into_iter().collect()
}

/// What a test that restricts processes cannot do without.
fn two_cpus() -> Result<(), Completion> {
    match affinity::current_affinity().unwrap().len() {
        0 | 1 => Err(Completion::ignored_with("one cpu alone leaves nothing to restrict a process to")),
        _ => Ok(()),
    }
}

/// A process that is ended with the test.
struct RunningProcess {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl RunningProcess {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout }
    }

    fn sleep() -> Self {
        Self::start(Command::new("sleep").arg("1000"))
    }

    /// A corewise that has made its changes.
    fn changer(folder: &Path, objects: &[&str]) -> Self {
        let mut changer = Self::start(changer(folder).args(objects));
        for object in objects {
            let mut line = String::new();
            changer.stdout.read_line(&mut line).unwrap();
            assert_eq!(line, format!("changed {object}\n"));
        }
        changer
    }

    fn cpus(&self) -> CpuSet {
        affinity::affinity_of(self.child.id()).unwrap()
    }

    fn id(&self) -> String {
        self.child.id().to_string()
    }

    /// kill -9, and waiting for the end of it; its parent does not notice before the end of the test.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        while !ProcessStat::read_stat(self.child.id()).unwrap().unwrap().has_ended {
            std::thread::yield_now();
        }
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn changer(folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(CHANGER).arg(folder);
    command
}

/// A place with a folder for journals.
struct UndoBench {
    place: TestPlace,
    journals: PathBuf,
}

impl UndoBench {
    fn new() -> Self {
        let place = TestPlace::new();
        let journals = place.path().join("journals");
        Self { place, journals }
    }

    /// Runs `corewise undo` on the journals: exit status, standard output; nothing is said on standard error.
    fn undo(&self, arguments: &[&str]) -> (Option<i32>, String) {
        // Instances of ftrace belong to the kernel: leftovers of other tests go first.
        if !events::left_instances().is_empty() {
            let elsewhere = self.place.path().join("elsewhere");
            self.place.corewise(&["undo", "--journal", elsewhere.to_str().unwrap()]).output().unwrap();
        }
        let common = ["undo", "--width", "400", "--journal", self.journals.to_str().unwrap()];
        let run = self.place.corewise(&common).args(arguments).output().unwrap();
        assert_eq!(text(&run.stderr), "");
        (run.status.code(), text(&run.stdout))
    }

    /// Changes the text of the only journal.
    fn edit(&self, edited: impl Fn(&str) -> String) {
        let path = fs::read_dir(&self.journals).unwrap().next().unwrap().unwrap().path();
        let lines = fs::read_to_string(&path).unwrap();
        fs::write(&path, edited(&lines)).unwrap();
    }

    fn journals(&self) -> usize {
        fs::read_dir(&self.journals).map_or(0, Iterator::count)
    }
}

fn nothing_is_left_where_nothing_was_changed() -> Completion {
    let bench = UndoBench::new();
    let nothing = format!("Nothing to undo in {}.\n", bench.journals.display());
    assert_eq!(bench.undo(&[]), (Some(0), nothing));
    assert!(!bench.journals.exists(), "looking makes no folder");
    Completion::Completed
}

fn a_corewise_killed_in_the_middle_is_undone() -> Completion {
    if let Err(skipped) = two_cpus() {
        return skipped;
    }
    let (all, one) = (affinity::current_affinity().unwrap(), one_cpu());
    for changed in 1..=3 {
        let bench = UndoBench::new();
        let sleepers: Vec<RunningProcess> = (0..changed).map(|_| RunningProcess::sleep()).collect();
        let ids: Vec<String> = sleepers.iter().map(RunningProcess::id).collect();
        let mut killed = RunningProcess::changer(&bench.journals, &ids.iter().map(String::as_str).collect::<Vec<_>>());
        killed.kill();
        assert!(sleepers.iter().all(|sleeper| sleeper.cpus() == one), "a crash undoes nothing");

        let (code, screen) = bench.undo(&["--dry-run"]);
        assert!(screen.starts_with(&format!("corewise {} (20", killed.id())), "{screen}");
        let line = |id: &str| format!("  {:<15}cpus of sleep ({id}): back to {all} (were {one})\n", "reverted");
        let would = |id: &String| {
            screen.contains(&format!("  would          set cpus of sleep ({id}) from {one} back to {all}\n"))
        };
        assert!(ids.iter().all(would), "{screen}");
        let places: Vec<Option<usize>> = ids.iter().map(|id| screen.find(&format!("({id})"))).collect();
        assert!(places.is_sorted_by(|a, b| a > b), "the last change is undone first: {screen}");
        assert!(screen.contains("would be reverted; nothing was changed. Next:  corewise undo --journal "), "{screen}");
        assert!(code == Some(0) && sleepers.iter().all(|sleeper| sleeper.cpus() == one) && bench.journals() == 1);

        let (code, screen) = bench.undo(&[]);
        assert!(ids.iter().all(|id| screen.contains(&line(id))), "{screen}");
        assert!(screen.ends_with(&format!("\nChanges: {changed} reverted.\n")), "{screen}");
        assert!(code == Some(0) && sleepers.iter().all(|sleeper| sleeper.cpus() == all));
        assert_eq!((bench.journals(), bench.undo(&[]).0), (0, Some(0)));
        assert!(sleepers.iter().all(|sleeper| sleeper.cpus() == all), "undoing twice changes nothing");
    }
    Completion::Completed
}

fn the_changes_of_a_running_corewise_are_in_force() -> Completion {
    if let Err(skipped) = two_cpus() {
        return skipped;
    }
    let bench = UndoBench::new();
    let sleeper = RunningProcess::sleep();
    let _running = RunningProcess::changer(&bench.journals, &[&sleeper.id()]);
    for arguments in [&[][..], &["--dry-run"]] {
        let (code, screen) = bench.undo(arguments);
        assert!(
            screen.contains(" is running, and will undo its changes itself\n  in force       cpus of sleep"),
            "{screen}"
        );
        assert!(screen.ends_with("\nNothing to undo here.\n"), "{screen}");
        assert_eq!((code, sleeper.cpus(), bench.journals()), (Some(0), one_cpu(), 1));
    }
    Completion::Completed
}

fn a_corewise_that_ends_undoes_its_changes_itself() -> Completion {
    let bench = UndoBench::new();
    let sleeper = RunningProcess::sleep();
    let mut ending = RunningProcess::changer(&bench.journals, &[&sleeper.id()]);
    drop(ending.child.stdin.take());
    assert!(ending.child.wait().unwrap().success());
    assert_eq!((sleeper.cpus(), bench.journals()), (affinity::current_affinity().unwrap(), 0));
    Completion::Completed
}

fn what_is_meant_to_stay_is_undone_when_asked() -> Completion {
    if let Err(skipped) = two_cpus() {
        return skipped;
    }
    let (bench, sleeper) = (UndoBench::new(), RunningProcess::sleep());
    let run = changer(&bench.journals).args([&sleeper.id(), KEEP]).output().unwrap();
    assert!(run.status.success(), "{}", text(&run.stderr));
    assert_eq!((sleeper.cpus(), bench.journals()), (one_cpu(), 1));
    let (code, screen) = bench.undo(&["--dry-run"]);
    assert!(
        screen.starts_with("corewise irq ") && screen.contains(" made changes that were meant to stay\n"),
        "{screen}"
    );
    assert_eq!((code, sleeper.cpus()), (Some(0), one_cpu()));
    let (code, screen) = bench.undo(&[]);
    assert!(screen.ends_with("\nChanges: 1 reverted.\n"), "{screen}");
    assert_eq!((code, sleeper.cpus(), bench.journals()), (Some(0), affinity::current_affinity().unwrap(), 0));
    Completion::Completed
}

fn what_somebody_else_changed_is_left_alone() -> Completion {
    if let Err(skipped) = two_cpus() {
        return skipped;
    }
    let (bench, sleeper) = (UndoBench::new(), RunningProcess::sleep());
    RunningProcess::changer(&bench.journals, &[&sleeper.id()]).kill();
    let theirs: CpuSet = affinity::current_affinity().unwrap().lowest().into_iter().collect();
    ProcessIdentity::find_task(sleeper.child.id()).and_then(|task| task.restrict_thread(&theirs)).unwrap();
    let (code, document) = bench.undo(&["--json"]);
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let change = &document["journals"][0]["changes"][0];
    if affinity::current_affinity().unwrap().len() == 2 {
        assert_eq!((change["fate"].as_str(), code), (Some("left-alone"), Some(0)));
        assert_eq!(change["why"], format!("someone else has changed it since: it may now use {theirs}"));
    }
    assert_eq!((sleeper.cpus(), bench.journals()), (theirs, 0));
    Completion::Completed
}

/// A journal that names what corewise never changes: it is not touched, whoever wrote the journal.
fn what_cannot_be_undone_is_status_3_and_stays() -> Completion {
    let (bench, sleeper) = (UndoBench::new(), RunningProcess::sleep());
    let file = bench.place.path().join("setting");
    fs::write(&file, "new\n").unwrap();
    RunningProcess::changer(&bench.journals, &[&sleeper.id()]).kill();
    let line = serde_json::json!({"begun": {"entry": 2, "change":
        {"kind": "file", "path": file, "old": "old", "new": "new", "format": "text"}}});
    bench.edit(|lines| format!("{lines}{line}\n"));
    for arguments in [&["--dry-run"][..], &[]] {
        let (code, screen) = bench.undo(arguments);
        assert!(
            screen.contains("  failed         file ") && screen.contains("is no file that corewise changes"),
            "{screen}"
        );
        let counted = if arguments.is_empty() { "1 not undone, still in the journal" } else { "1 could not be undone" };
        assert!(screen.contains(counted), "{screen}");
        assert_eq!((code, bench.journals()), (Some(3), 1));
    }
    assert_eq!(
        (sleeper.cpus(), fs::read_to_string(&file).unwrap()),
        (affinity::current_affinity().unwrap(), "new\n".to_owned())
    );
    Completion::Completed
}

/// A user's link to a folder of root's would make root believe a file that somebody else chose.
fn a_link_of_another_user_is_not_followed() -> Completion {
    if !is_root() {
        return Completion::ignored_with("only root can make links of another user");
    }
    let (bench, sleeper) = (UndoBench::new(), RunningProcess::sleep());
    RunningProcess::changer(&bench.journals, &[&sleeper.id()]).kill();
    let before = sleeper.cpus();
    let link = bench.place.path().join("link");
    std::os::unix::fs::symlink(&bench.journals, &link).unwrap();
    std::os::unix::fs::lchown(&link, Some(65_534), Some(65_534)).unwrap();
    let run = bench.place.corewise(&["undo", "--journal", link.to_str().unwrap()]).output().unwrap();
    let said = text(&run.stderr);
    assert!(said.contains("link belongs to user 65534"), "{said}");
    assert_eq!((run.status.code(), sleeper.cpus(), bench.journals()), (Some(3), before, 1));
    Completion::Completed
}

fn a_damaged_journal_is_not_believed() -> Completion {
    let (bench, sleeper) = (UndoBench::new(), RunningProcess::sleep());
    RunningProcess::changer(&bench.journals, &[&sleeper.id()]).kill();
    let before = sleeper.cpus();
    bench.edit(|lines| format!("LPKSHHRH\n{lines}"));
    let (code, screen) = bench.undo(&[]);
    assert!(
        screen.starts_with("a corewise left a damaged journal: line 1 of the journal cannot be read ("),
        "{screen}"
    );
    assert_eq!((code, sleeper.cpus(), bench.journals()), (Some(3), before, 1));
    Completion::Completed
}

/// The widest sets of cpus, as often as a journal may have them.
fn the_largest_journal_takes_little_memory() -> Completion {
    const CHANGES: u32 = 5_000;
    let (bench, sleeper) = (UndoBench::new(), RunningProcess::sleep());
    RunningProcess::changer(&bench.journals, &[&sleeper.id()]).kill();
    let line = |entry| {
        let change = serde_json::json!({"kind": "affinity", "thread": {"id": 0, "start_ticks": 0}, "name": "",
            "old": "65535", "new": "65534"});
        serde_json::json!({"begun": {"entry": entry, "change": change}}).to_string() + "\n"
    };
    bench.edit(|lines| {
        let header = lines.split_once('\n').unwrap().0;
        [format!("{header}\n")].into_iter().chain((1..=CHANGES).map(line)).collect()
    });
    let corewise = bench.place.corewise(&["undo", "--journal", bench.journals.to_str().unwrap()]);
    let mut limited = Command::new("prlimit");
    limited.arg(format!("--as={}", 256 << 20)).arg(corewise.get_program()).args(corewise.get_args());
    let Ok(run) = limited.output() else { return Completion::ignored_with("prlimit is not installed (util-linux)") };
    assert_eq!((run.status.code(), text(&run.stderr)), (Some(0), String::new()));
    assert!(text(&run.stdout).ends_with(&format!("\nChanges: {CHANGES} already as before.\n")));
    assert_eq!(bench.journals(), 0);
    Completion::Completed
}

/// On a file system that has so many pages left, a corewise with more changes than any journal of a page can hold: how
/// many changes it made before it gave up, and what it said. Nothing where no such file system can be made.
fn on_a_disk_with(pages: usize, bench: &UndoBench, objects: &[String]) -> Option<(usize, String)> {
    let size_kib = 4 * (1 + pages);
    let mount = format!(
        "mkdir -p \"$1\" && mount -t tmpfs -o size={size_kib}k,mode=700 none \"$1\" && head -c 4096 /dev/zero > \"$1/filler\""
    );
    let namespace = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c", script, "sh"]).arg(&bench.journals);
        command
    };
    if !namespace(&mount).output().is_ok_and(|run| run.status.success()) {
        return None;
    }
    let changer = std::env::current_exe().unwrap();
    let script = format!("{mount} && shift && exec \"$@\"");
    let run = namespace(&script).arg(changer).arg(CHANGER).arg(&bench.journals).args(objects).output().unwrap();
    assert_eq!(run.status.code(), Some(1), "{}", text(&run.stderr));
    Some((text(&run.stdout).lines().count(), text(&run.stderr)))
}

fn on_a_full_disk_nothing_is_changed() -> Completion {
    if !is_root() {
        return Completion::ignored_with("where an ordinary user can mount, the folders above belong to nobody");
    }
    let (bench, sleeper) = (UndoBench::new(), RunningProcess::sleep());
    // Again and again the same.
    let objects = vec![sleeper.id(); 50];
    for (pages, some_are_made) in [(0, false), (1, true)] {
        let Some((made, said)) = on_a_disk_with(pages, &bench, &objects) else {
            return Completion::ignored_with("no file system of one page can be mounted here (unshare, mount)");
        };
        assert_eq!(made > 0, some_are_made, "{made} changes with {pages} pages: {said}");
        assert!(said.starts_with("cannot write the journal in ") && said.contains("nothing was changed"), "{said}");
        assert!(said.contains("(os error 28)"), "{said}");
        assert_eq!(sleeper.cpus(), affinity::current_affinity().unwrap(), "all that was made is undone");
    }
    Completion::Completed
}

fn journals_of_another_user_are_refused() -> Completion {
    if !is_root() {
        return Completion::ignored_with("only root can make files of another user");
    }
    let bench = UndoBench::new();
    bench.place.folder("journals", 0o755);
    let arguments = ["undo", "--journal", bench.journals.to_str().unwrap()];
    let run = bench.place.ordinary_user(&arguments).output().unwrap();
    let said = text(&run.stderr);
    assert!(said.contains("they belong to user 0; only that user's corewise can undo them\n"), "{said}");
    assert_eq!((run.status.code(), text(&run.stdout)), (Some(3), String::new()));
    Completion::Completed
}

fn without_a_home_it_says_what_to_do() -> Completion {
    let place = TestPlace::new();
    let mut undo = place.ordinary_user(&["undo"]);
    let run = undo.env_remove("HOME").env_remove("XDG_STATE_HOME").output().unwrap();
    let said = text(&run.stderr);
    assert!(said.starts_with("error: there is no journal: neither XDG_STATE_HOME nor HOME is set"), "{said}");
    assert_eq!(run.status.code(), Some(3));
    Completion::Completed
}
