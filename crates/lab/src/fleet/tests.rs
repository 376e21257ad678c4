use std::cell::Cell;
use std::collections::BTreeSet;

use super::job::MOST_RESULT_BYTES;
use super::*;

/// An engine whose jobs end at the next look: nodes that begin with "bad" have a problem, others return their name. Those of nodes that begin
/// with "late" end at the third look.
#[derive(Default)]
struct InstantEngine {
    running: Vec<JobName>,
    started: Vec<String>,
    most: usize,
    /// Maximum number of jobs that it accepts.
    accepts: Option<usize>,
    ended: usize,
    looks: usize,
}

impl FleetEngine for InstantEngine {
    fn list_nodes(&mut self) -> Result<Vec<KnownNode>, FleetError> {
        Ok(Vec::new())
    }

    fn start_job(&mut self, job: &FleetJob) -> JobStart {
        assert!(self.running.iter().all(|running| running.node != job.name.node), "two jobs of a node at a time");
        if self.accepts.is_some_and(|accepts| self.running.len() >= accepts) {
            return JobStart::Later(node_problem(ProblemKind::NotStarted, "full"));
        }
        self.started.push(job.name.to_string());
        self.running.push(job.name.clone());
        self.most = self.most.max(self.running.len());
        JobStart::Started
    }

    fn collect_outcomes(&mut self) -> Vec<(JobName, NodeOutcome)> {
        let outcome = |name: &JobName| match name.node.starts_with("bad") {
            true => Err(node_problem(ProblemKind::Died, "it died")),
            false => Ok(name.to_string().into_bytes()),
        };
        self.looks += 1;
        let is_late = |name: &JobName| name.node.starts_with("late") && self.looks < 3;
        let (late, done): (Vec<JobName>, Vec<JobName>) =
            std::mem::take(&mut self.running).into_iter().partition(is_late);
        self.running = late;
        done.into_iter().map(|name| (name.clone(), outcome(&name))).collect()
    }

    fn end_jobs(&mut self, names: &[JobName]) {
        self.ended += names.len();
    }

    fn describe_waiting(&self) -> Option<String> {
        None
    }
}

/// Sets a flag after some outcomes.
struct StoppingListener<'a> {
    outcomes: Vec<(String, bool)>,
    left: Cell<usize>,
    stop: &'a AtomicBool,
}

impl FleetListener for StoppingListener<'_> {
    fn receive_outcome(&mut self, job: &FleetJob, outcome: NodeOutcome) {
        self.outcomes.push((job.name.to_string(), outcome.is_ok()));
        self.left.set(self.left.get().saturating_sub(1));
        self.stop.store(self.left.get() == 0, Ordering::SeqCst);
    }

    fn show_progress(&mut self, progress: &FleetProgress) {
        assert!(progress.done + progress.running <= progress.all);
    }
}

fn jobs(nodes: &[&str], visits: u32) -> Vec<FleetJob> {
    let job = |node: &&str, visit| FleetJob {
        name: JobName { node: (*node).to_owned(), visit },
        arguments: Vec::new(),
        limit: Duration::from_secs(1),
        most_bytes: MOST_RESULT_BYTES,
    };
    (1..=visits).flat_map(|visit| nodes.iter().map(move |node| job(node, visit))).collect()
}

/// Runs jobs until `most` have an outcome.
fn run(engine: &mut InstantEngine, folder: &FleetFolder, jobs: Vec<FleetJob>, most: usize) -> Vec<(String, bool)> {
    let stop = AtomicBool::new(false);
    let mut listener = StoppingListener { outcomes: Vec::new(), left: Cell::new(most), stop: &stop };
    FleetRun::new(engine, folder, 3, &stop).run_jobs(jobs, &mut listener).unwrap();
    listener.outcomes
}

fn fleet_folder() -> (tempfile::TempDir, FleetFolder) {
    let place = tempfile::tempdir().unwrap();
    let folder = FleetFolder::open(&place.path().join("fleet")).unwrap();
    (place, folder)
}

#[test]
fn a_run_that_was_stopped_goes_on_with_what_is_missing() {
    let (_place, folder) = fleet_folder();
    let (nodes, mut first, mut second) =
        (["a", "b", "c", "d", "e"], InstantEngine::default(), InstantEngine::default());
    let before = run(&mut first, &folder, jobs(&nodes, 2), 4);
    assert_eq!((first.most, before.len() < 10), (3, true), "at most three at a time, and not all before the stop");
    let after = run(&mut second, &folder, jobs(&nodes, 2), usize::MAX);
    assert_eq!(after.len(), 10, "results of the earlier run are handed over too");
    let [first, second] = [&first.started, &second.started].map(|all| all.iter().cloned().collect::<BTreeSet<_>>());
    let stored: BTreeSet<String> = before.into_iter().map(|(name, _)| name).collect();
    assert!(stored.is_subset(&first) && stored.is_disjoint(&second) && stored.len() + second.len() == 10);
}

#[test]
fn a_node_with_a_problem_is_asked_once_a_run_and_again_in_the_next() {
    let (_place, folder) = fleet_folder();
    let problem = folder.path().join("problems/bad.1");
    for _ in 0..2 {
        let mut engine = InstantEngine::default();
        let outcomes = run(&mut engine, &folder, jobs(&["a", "bad"], 3), usize::MAX);
        assert_eq!(outcomes.iter().filter(|(_, is_good)| !is_good).count(), 1);
        assert_eq!(engine.started.iter().filter(|name| name.starts_with("bad")).count(), 1);
        assert_eq!(std::fs::read_to_string(&problem).unwrap(), "died: it died\n");
    }
    folder.keep_result(&JobName::parse("bad.1").unwrap(), b"better").unwrap();
    assert!(!problem.exists(), "a result takes the problem away");
}

#[test]
fn a_site_that_accepts_fewer_jobs_gets_fewer_at_a_time() {
    let (_place, folder) = fleet_folder();
    let mut engine = InstantEngine { accepts: Some(2), ..InstantEngine::default() };
    let outcomes = run(&mut engine, &folder, jobs(&["a", "b", "c", "d"], 2), usize::MAX);
    assert_eq!((outcomes.len(), outcomes.iter().all(|(_, is_good)| *is_good), engine.most), (8, true, 2));
    let none = run(&mut InstantEngine { accepts: Some(0), ..InstantEngine::default() }, &folder, jobs(&["e"], 1), 9);
    assert_eq!(none, [("e.1".to_owned(), false)], "a site that accepts none is not waited for");
}

#[test]
fn a_result_that_came_at_the_last_moment_is_handed_over() {
    let (_place, folder) = fleet_folder();
    let mut engine = InstantEngine::default();
    // The second look is the one after the stop.
    let outcomes = run(&mut engine, &folder, jobs(&["a", "late-a"], 1), 1);
    assert_eq!(outcomes, [("a.1".to_owned(), true)], "it is ended, and its problem is not its own");
    let (mut engine, name) =
        (InstantEngine { looks: 1, ..InstantEngine::default() }, JobName::parse("late-b.1").unwrap());
    let outcomes = run(&mut engine, &folder, jobs(&["b", "late-b"], 1), 1);
    assert_eq!(outcomes, [("b.1".to_owned(), true), ("late-b.1".to_owned(), true)]);
    assert!(folder.list_results().unwrap().contains(&name));
}

#[test]
fn results_that_cannot_be_stored_end_the_run_and_its_jobs() {
    let (_place, folder) = fleet_folder();
    std::fs::remove_dir_all(folder.path().join("problems")).unwrap();
    std::fs::write(folder.path().join("problems"), "in the way").unwrap();
    let (mut engine, stop) = (InstantEngine::default(), AtomicBool::new(false));
    let mut listener = StoppingListener { outcomes: Vec::new(), left: Cell::new(usize::MAX), stop: &stop };
    let error = FleetRun::new(&mut engine, &folder, 2, &stop).run_jobs(jobs(&["bad", "c", "d"], 1), &mut listener);
    assert!(matches!(error, Err(FleetError::Folder { .. })), "{error:?}");
    assert_eq!(engine.ended, 1, "the one that ran");
}

#[test]
fn a_child_is_bounded_in_time_and_output() {
    use std::process::{Command, Stdio};
    use std::time::Instant;

    use super::collected_child::{ChildOutcome, CollectedChild};

    let start = |script: &str, most| {
        let mut command = Command::new("sh");
        CollectedChild::start(command.args(["-c", script]), Stdio::null(), most, Duration::from_millis(300)).unwrap()
    };
    let ended = start("echo out; echo why >&2; exit 3", 4).wait_for_end();
    assert!(matches!(ended.outcome, ChildOutcome::Exited(Some(3))), "{ended:?}");
    assert_eq!((&ended.output[..], &ended.errors[..]), (&b"out\n"[..], &b"why\n"[..]));
    assert!(matches!(start("echo more; sleep 60", 4).wait_for_end().outcome, ChildOutcome::WroteTooMuch));
    assert!(matches!(start("exec sleep 60", 4).wait_for_end().outcome, ChildOutcome::TimedOut));
    // A process that it leaves behind holds its output open.
    let begun = Instant::now();
    let left = start("sleep 20 & echo out", 4).wait_for_end();
    assert_eq!((&left.output[..], begun.elapsed() < Duration::from_secs(15)), (&b"out\n"[..], true));
}
