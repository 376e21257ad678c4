//! The store as several processes meet it, and in places where it may not write.
//!
//! The program starts itself again as the other processes; what they do is in [`other_process`].

#[path = "../src/sample.rs"]
mod sample;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;

use corewise_model::Survey;
use corewise_store::ArtifactStore;
use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// Set for another process: what it is to do.
const DEED: &str = "COREWISE_STORE_TEST_DEED";

fn main() -> ExitCode {
    if let Ok(deed) = std::env::var(DEED) {
        return other_process(&deed);
    }
    let trials = vec![
        Trial::ignorable_test("processes_that_create_and_add_at_once_lose_nothing", || {
            by_others(processes_lose_nothing)
        }),
        Trial::test("threads_that_create_and_add_at_once_lose_nothing", threads_lose_nothing),
        Trial::ignorable_test("what_a_killed_process_added_is_there", || by_others(killed_process_loses_nothing)),
        Trial::ignorable_test("a_place_where_nothing_can_be_made_is_an_error", nothing_can_be_made),
        Trial::ignorable_test("a_store_that_may_only_be_read_is_read", may_be_read_only),
        Trial::ignorable_test("a_folder_that_may_not_be_written_is_an_error", folder_may_not_be_written),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// "PATH COUNT" adds surveys and prints their numbers, each when it is stored; "PATH read" prints the numbers of those that
/// are there. Prints the error where there is one.
fn other_process(deed: &str) -> ExitCode {
    let (path, what) = deed.rsplit_once(' ').expect("a path and what to do");
    let done = if what == "read" { read(path) } else { add(path, what.parse().expect("a number")) };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn add(path: &str, count: u64) -> corewise_store::StoreResult<()> {
    for seed in 0..count {
        println!("{}", ArtifactStore::open(path)?.add_artifact(&sample::sample_survey(4, seed))?);
        std::io::stdout().flush().expect("someone reads");
    }
    Ok(())
}

fn read(path: &str) -> corewise_store::StoreResult<()> {
    let store = ArtifactStore::open_to_read(path)?.expect("there is a store");
    for entry in store.list_entries()? {
        println!("{}", entry.number);
    }
    Ok(())
}

/// A test for which this program starts itself, which a program that is emulated cannot.
fn by_others(test: fn() -> Result<(), Failed>) -> Result<Completion, Failed> {
    let itself = Command::new(std::env::current_exe()?).arg("--list").output();
    match itself.is_ok_and(|output| output.status.success()) {
        true => test().map(|()| Completion::Completed),
        false => Ok(Completion::ignored_with("this program cannot start itself, as where it is emulated")),
    }
}

fn start(path: &Path, count: usize) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(DEED, format!("{} {count}", path.display())).stdout(Stdio::piped()).spawn().unwrap()
}

fn output(child: Child) -> (bool, Vec<String>) {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.success(), text.lines().map(str::to_owned).collect())
}

/// Checks that the store holds exactly these numbers, and that each survey can be read.
fn holds(path: &Path, expected: &BTreeSet<i64>) {
    let store = ArtifactStore::open(path).unwrap();
    let found: BTreeSet<i64> = store.list_entries().unwrap().iter().map(|entry| entry.number).collect();
    assert_eq!(&found, expected);
    for &id in &found {
        assert_eq!(store.get_artifact::<Survey>(id).unwrap().cpus.len(), 4);
    }
}

fn processes_lose_nothing() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("new/history.db");
    let children: Vec<Child> = (0..6).map(|_| start(&path, 8)).collect();
    let mut numbers = Vec::new();
    for child in children {
        let (success, lines) = output(child);
        assert!(success, "{lines:?}");
        numbers.extend(lines.iter().map(|line| line.parse::<i64>().unwrap()));
    }
    assert_eq!(numbers.len(), 48);
    let distinct: BTreeSet<i64> = numbers.into_iter().collect();
    assert_eq!(distinct.len(), 48);
    holds(&path, &distinct);
    Ok(())
}

fn threads_lose_nothing() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("new/history.db");
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let mut store = ArtifactStore::open(&path).unwrap();
                for seed in 0..8 {
                    store.add_artifact(&sample::sample_survey(4, seed)).unwrap();
                }
            });
        }
    });
    holds(&path, &(1..=48).collect());
    Ok(())
}

fn killed_process_loses_nothing() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("history.db");
    let mut child = start(&path, 1_000_000);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut promised: BTreeSet<i64> = lines.by_ref().take(5).map(|line| line.unwrap().parse().unwrap()).collect();
    assert_eq!(promised.len(), 5);
    child.kill().and_then(|()| child.wait()).unwrap();
    promised.extend(lines.map_while(Result::ok).filter_map(|line| line.parse::<i64>().ok()));
    let store = ArtifactStore::open(&path)?;
    let found: BTreeSet<i64> = store.list_entries()?.iter().map(|entry| entry.number).collect();
    assert!(promised.is_subset(&found), "promised {promised:?}, found {found:?}");
    holds(&path, &found);
    Ok(())
}

fn nothing_can_be_made() -> Result<Completion, Failed> {
    let place = Path::new("/proc/self");
    if !place.is_dir() {
        return Ok(Completion::ignored_with("there is no /proc, where no user may make a file"));
    }
    let error = |path: &str| ArtifactStore::open(place.join(path)).unwrap_err().to_string();
    let place = place.canonicalize()?;
    let folder = error("corewise/history.db");
    assert!(folder.starts_with("the folder /proc/self/corewise cannot be created: "), "{folder}");
    let file = error("history.db");
    let start = format!("{}/history.db cannot be opened for writing: ", place.display());
    assert!(file.starts_with(&start), "{file}");
    Ok(Completion::Completed)
}

/// Starts another process in a folder that it may not write, before and after which anyone may; absent where that cannot
/// be had here.
fn without_right_to_write(folder: &Path, deed: &str) -> Option<(bool, Vec<String>)> {
    let chmod = |mode| Command::new("chmod").arg(mode).arg(folder).status().is_ok_and(|status| status.success());
    if !chmod("0555") {
        return None;
    }
    let probe = folder.join("probe");
    let mut command = if fs::write(&probe, "").is_err() {
        Command::new(std::env::current_exe().ok()?)
    } else {
        let _ = fs::remove_file(&probe);
        let mut unprivileged = Command::new("setpriv");
        unprivileged.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(std::env::current_exe().ok()?);
        let can_run = unprivileged.arg("--list").output().is_ok_and(|output| output.status.success());
        can_run.then_some(unprivileged)?
    };
    let result = output(command.env(DEED, deed).stdout(Stdio::piped()).spawn().ok()?);
    chmod("0755").then_some(result)
}

const MAY_WRITE: &str = "this user may write everywhere and cannot give that up";

fn folder_may_not_be_written() -> Result<Completion, Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("history.db");
    let Some((success, lines)) = without_right_to_write(folder.path(), &format!("{} 1", path.display())) else {
        return Ok(Completion::ignored_with(MAY_WRITE));
    };
    let start = format!("{} cannot be opened for writing: ", path.display());
    assert!(!success && lines.len() == 1 && lines[0].starts_with(&start), "{lines:?}");
    assert!(!path.exists());
    Ok(Completion::Completed)
}

fn may_be_read_only() -> Result<Completion, Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("history.db");
    ArtifactStore::open(&path)?.add_artifact(&sample::sample_survey(4, 1))?;
    // Its user lets others read it.
    let chmod = Command::new("chmod").arg("0644").arg(&path).status()?;
    assert!(chmod.success());
    let Some(result) = without_right_to_write(folder.path(), &format!("{} read", path.display())) else {
        return Ok(Completion::ignored_with(MAY_WRITE));
    };
    assert_eq!(result, (true, vec!["1".to_owned()]));
    Ok(Completion::Completed)
}
