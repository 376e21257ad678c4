//! Slurm's commands: sinfo(1), sbatch(1), squeue(1), scontrol(1) and scancel(1), and what they print.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use corewise_machine::suggested_command::quote_word;
use corewise_model::fleet::ProblemKind;

use super::super::collected_child::{ChildOutcome, CollectedChild, EndedChild};
use super::super::error::FleetError;
use super::super::folder::{FleetFolder, last_line};
use super::super::hosts::expand_list;
use super::super::job::{FleetJob, JobName, KnownNode, is_node_name};
use super::super::node_problem;
use super::states;

/// Longest time of a command. A controller that is down is waited for inside of it.
const LONGEST_COMMAND: Duration = Duration::from_secs(60);
/// Largest output of a command in bytes.
const MOST_OUTPUT_BYTES: u64 = 64 << 20;
/// Maximum number of jobs that one scancel(1) gets.
const MOST_CANCELLED: usize = 500;

/// The commands, for one run.
#[derive(Debug)]
pub(super) struct SlurmCommands {
    run_name: String,
    partition: Option<String>,
}

/// Files of one job.
pub(super) struct JobFiles {
    result: PathBuf,
    /// Beginning of the names of its drafts, to which the job's number is added.
    draft: PathBuf,
    log: PathBuf,
}

impl JobFiles {
    pub fn new(folder: &FleetFolder, name: &JobName) -> Self {
        Self { result: folder.result_path(name), draft: folder.draft_path(name, ""), log: folder.log_path(name) }
    }

    /// Returns the shell script of a job: its result gets its name when it is complete, and a failure leaves its status. A cancelled job ends
    /// when its program has: a shell that ended first would free the node while it still measures.
    fn write_script(&self, program: &Path, arguments: &[String]) -> String {
        let [program, draft, result] =
            [program, &self.draft, &self.result].map(|path| quote_word(&path.to_string_lossy()));
        let words = arguments.iter().map(|word| quote_word(word)).collect::<Vec<_>>().join(" ");
        format!(
            "trap : TERM; d={draft}\"$SLURM_JOB_ID\"; if {program} {words} > \"$d.part\"; then mv -f \"$d.part\" {result}; \
             else s=$?; rm -f \"$d.part\"; echo $s > \"$d.status\"; exit $s; fi"
        )
    }
}

/// Why a job was not submitted, in Slurm's words.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SubmitError {
    /// The site's limit of submitted jobs is reached.
    Full(String),
    /// It never will be.
    Refused(String),
}

/// A job in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueuedJob {
    state: String,
    /// Why it waits.
    pub reason: String,
}

impl QueuedJob {
    /// Returns true if it waits for its node.
    pub fn is_pending(&self) -> bool {
        self.state == "PENDING"
    }
}

impl SlurmCommands {
    pub fn new(run_name: &str, partition: Option<&str>) -> Self {
        Self { run_name: run_name.to_owned(), partition: partition.map(str::to_owned) }
    }

    fn partition_words(&self) -> impl Iterator<Item = &str> {
        self.partition.iter().flat_map(|partition| ["-p", partition])
    }

    /// Lists the nodes of the partition.
    pub fn list_nodes(&self, nodes: Option<&str>) -> Result<Vec<KnownNode>, FleetError> {
        let mut command = Command::new("sinfo");
        command.args(["-h", "-N", "-o", "%N|%P|%T|%E"]).args(self.partition_words());
        command.args(nodes.iter().flat_map(|nodes| ["-n", nodes]));
        let printed = run_command(&mut command, "sinfo")?;
        let found = states::read_nodes(&printed, self.partition.as_deref());
        if found.is_empty() {
            return Err(FleetError::NoNodes(self.describe_no_nodes(nodes)));
        }
        Ok(add_unknown_nodes(found, nodes.unwrap_or_default()))
    }

    fn describe_no_nodes(&self, nodes: Option<&str>) -> String {
        let named = nodes.map_or_else(String::new, |nodes| format!(" of {nodes}"));
        let partition = match &self.partition {
            Some(partition) => format!("partition {partition}"),
            None => "default partition".to_owned(),
        };
        let all = run_command(Command::new("sinfo").args(["-h", "-o", "%R"]), "sinfo").unwrap_or_default();
        let all: Vec<&str> = all.lines().map(str::trim).collect();
        format!("Slurm has no nodes{named} in the {partition}; its partitions: {}", all.join(", "))
    }

    /// Submits a job and returns its number.
    pub fn submit_job(&self, job: &FleetJob, program: &Path, files: &JobFiles) -> Result<u64, SubmitError> {
        let refused = |why: &dyn std::fmt::Display| SubmitError::Refused(why.to_string());
        // Slurm's own limit ends a job that we could not cancel; it counts whole minutes.
        let minutes = job.limit.as_secs().div_ceil(60) + 1;
        let mut command = Command::new("sbatch");
        command.args(["--parsable", "-N1", "--exclusive", "--mem=0", "--no-requeue", "-w", &job.name.node]);
        command
            .args(self.partition_words())
            .arg(format!("--time={minutes}"))
            .arg(format!("--job-name={}", self.run_name));
        // A percent sign begins a pattern in names of logs.
        command.arg("-o").arg(files.log.to_string_lossy().replace('%', "%%"));
        command.arg(format!("--wrap={}", files.write_script(program, &job.arguments)));
        let ended = start_command(&mut command).map_err(|error| refused(&error))?.wait_for_end();
        if !matches!(ended.outcome, ChildOutcome::Exited(Some(0))) {
            let why = describe_failure(&ended);
            return Err(if states::is_full(&why) { SubmitError::Full(why) } else { SubmitError::Refused(why) });
        }
        let printed = String::from_utf8_lossy(&ended.output);
        // On several clusters, "NUMBER;CLUSTER".
        let number = printed.trim().split(';').next().unwrap_or_default().parse();
        number.map_err(|_| refused(&format!("sbatch printed no job's number: {}", printed.trim())))
    }

    /// Returns the jobs of this run in the queue, by number.
    pub fn read_queue(&self) -> Result<BTreeMap<u64, QueuedJob>, FleetError> {
        let mut command = Command::new("squeue");
        command.args(["-h", "-o", "%i|%T|%r"]).arg(format!("--name={}", self.run_name));
        Ok(read_queue_lines(&run_command(&mut command, "squeue")?))
    }

    /// Returns the state in which a job ended, with Slurm's reason and its exit status if they say more; `None` if Slurm forgot it.
    pub fn read_end(&self, number: u64) -> Option<String> {
        let mut command = Command::new("scontrol");
        command.args(["-o", "show", "job"]).arg(number.to_string());
        states::describe_end(&run_command(&mut command, "scontrol").ok()?)
    }

    /// Cancels jobs by their numbers. Jobs that have ended are no error.
    pub fn cancel_jobs(&self, numbers: &[u64]) {
        for some in numbers.chunks(MOST_CANCELLED) {
            let _ = run_command(Command::new("scancel").args(some.iter().map(u64::to_string)), "scancel");
        }
    }
}

fn read_queue_lines(text: &str) -> BTreeMap<u64, QueuedJob> {
    let job = |line: &str| {
        let mut fields = line.splitn(3, '|').map(str::trim);
        let (number, state, reason) = (fields.next()?.parse().ok()?, fields.next()?, fields.next().unwrap_or_default());
        Some((number, QueuedJob { state: state.to_owned(), reason: reason.to_owned() }))
    };
    text.lines().filter_map(job).collect()
}

fn start_command(command: &mut Command) -> std::io::Result<CollectedChild> {
    CollectedChild::start(command, Stdio::null(), MOST_OUTPUT_BYTES, LONGEST_COMMAND)
}

/// Runs a command and returns its output.
fn run_command(command: &mut Command, program: &'static str) -> Result<String, FleetError> {
    let started = start_command(command).map_err(|source| FleetError::NoProgram { program, source })?;
    let ended = started.wait_for_end();
    match ended.outcome {
        ChildOutcome::Exited(Some(0)) => Ok(String::from_utf8_lossy(&ended.output).into_owned()),
        _ => Err(FleetError::Program { program, why: describe_failure(&ended) }),
    }
}

/// Adds the nodes of a list that Slurm does not know, each with that as its problem. A list that is a file, or cannot be read, adds none.
fn add_unknown_nodes(mut found: Vec<KnownNode>, list: &str) -> Vec<KnownNode> {
    let known: BTreeSet<String> = found.iter().map(|node| node.name.clone()).collect();
    let asked = expand_list(list).unwrap_or_default();
    let unknown = asked.into_iter().filter(|name| is_node_name(name) && !known.contains(name));
    found.extend(unknown.map(|name| {
        let problem = node_problem(ProblemKind::NotStarted, "Slurm has no such node in the partition");
        KnownNode { name, rack: None, problem: Some(problem) }
    }));
    found
}

/// Returns the last line of a failed command's errors, without the name that Slurm puts before it.
fn describe_failure(ended: &EndedChild) -> String {
    if matches!(ended.outcome, ChildOutcome::TimedOut) {
        return format!("no answer within {} s", LONGEST_COMMAND.as_secs());
    }
    let line = last_line(&ended.errors);
    let said = ["error: ", "fatal: "]
        .iter()
        .find_map(|prefix| line.split_once(prefix))
        .map_or(line.as_str(), |(_, said)| said);
    if said.is_empty() { "it failed without a word".to_owned() } else { said.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_job_reach_the_program_as_they_are() {
        let name = JobName::parse("n0.2").unwrap();
        let (folder, program) = (tempfile::tempdir().unwrap(), Path::new("/bin/echo"));
        let place = FleetFolder::open(&folder.path().join("it's %j")).unwrap();
        let files = JobFiles::new(&place, &name);
        let run =
            |script: &str| Command::new("sh").args(["-c", script]).env("SLURM_JOB_ID", "7").status().unwrap().code();
        let words = ["a  b", "$HOME", "it's", "", "`x`\\"].map(str::to_owned);
        assert_eq!(run(&files.write_script(program, &words)), Some(0));
        assert_eq!(std::fs::read_to_string(place.result_path(&name)).unwrap(), "a  b $HOME it's  `x`\\\n");
        assert_eq!(run(&files.write_script(Path::new("/no/such/program"), &[])), Some(127));
        assert_eq!(std::fs::read_to_string(place.draft_path(&name, "7.status")).unwrap(), "127\n");
        assert!(!place.draft_path(&name, "7.part").exists());
    }

    #[test]
    fn a_cancelled_job_ends_when_its_program_has() {
        let folder = tempfile::tempdir().unwrap();
        let place = FleetFolder::open(&folder.path().join("results")).unwrap();
        let files = JobFiles::new(&place, &JobName::parse("n0.1").unwrap());
        let [ready, go] = ["ready", "go"].map(|name| folder.path().join(name));
        // It ends by itself if the test fails.
        let program = format!(
            "touch {}; for i in $(seq 6000); do [ -e {} ] && break; sleep 0.01; done; echo done",
            ready.display(),
            go.display()
        );
        let script = files.write_script(Path::new("/bin/sh"), &["-c".to_owned(), program]);
        let mut job = Command::new("sh").args(["-c", &script]).env("SLURM_JOB_ID", "7").spawn().unwrap();
        while !ready.exists() {
            assert_eq!(job.try_wait().unwrap(), None);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(Command::new("kill").args(["-TERM", &job.id().to_string()]).status().unwrap().success());
        std::fs::write(go, "").unwrap();
        assert_eq!(job.wait().unwrap().code(), Some(0), "the shell ended before its program");
        assert_eq!(std::fs::read_to_string(place.result_path(&JobName::parse("n0.1").unwrap())).unwrap(), "done\n");
    }

    #[test]
    fn a_named_node_that_slurm_does_not_know_is_a_row() {
        let found = ["n0", "m1"].map(|name| KnownNode { name: name.to_owned(), rack: None, problem: None });
        let names = |list: &str| {
            let nodes = add_unknown_nodes(found.to_vec(), list);
            nodes.iter().filter(|node| node.problem.is_some()).map(|node| node.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names("n[0-2,4],m1"), ["n1", "n2", "n4"]);
        assert_eq!([names(""), names("/home/nodes"), names("n[0-")], [const { Vec::<String>::new() }; 3]);
    }

    #[test]
    fn what_slurm_says_has_its_program_once() {
        let failed = |errors: &str| {
            describe_failure(&EndedChild {
                outcome: ChildOutcome::Exited(Some(1)),
                output: Vec::new(),
                errors: errors.into(),
            })
        };
        assert_eq!(
            failed("sinfo: fatal: Unable to process configuration file\n"),
            "Unable to process configuration file"
        );
        assert_eq!(failed("slurm_load: noise\nsbatch: error: Batch job refused\n"), "Batch job refused");
        assert_eq!(failed("no prefix"), "no prefix");
    }

    #[test]
    fn a_reason_may_have_any_characters() {
        let queue = read_queue_lines("7|PENDING|Nodes required for job are DOWN, DRAINED|x\n8|RUNNING|None\nnoise\n");
        assert_eq!(queue[&7].reason, "Nodes required for job are DOWN, DRAINED|x");
        assert_eq!((queue[&7].is_pending(), queue[&8].is_pending(), queue.len()), (true, false, 2));
    }
}
