//! `cargo xtask compare-keep`: measures how soon and how surely `corewise keep run` places programs, its cost, and the state after it is
//! killed. It runs beside a bare listener and pollers of half a second and of a second, and beside another build of corewise.

mod actors;
mod cost;
mod keeper;
mod kills;
mod latency;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use corewise_machine::CpuSet;
use corewise_sys::affinity;
use keeper::KeeperKind;
use xtask::{cargo_command, parse_number, repository_root, run_command};

/// Argument that marks the chore's own processes.
const ACTOR: &str = "keep-actor";

/// Runs a part of the comparison, or all; returns false if a bound is broken. `keep-actor` is for the chore's own processes.
pub fn run(words: &[&str]) -> Result<bool> {
    match words {
        [ACTOR, words @ ..] => actors::act_by_words(words).map(|()| true),
        ["against", other, words @ ..] => compare_parts(words, Some(Path::new(other))),
        words => compare_parts(words, None),
    }
}

fn compare_parts(words: &[&str], other: Option<&Path>) -> Result<bool> {
    let stage = || ComparisonStage::new(other);
    match words {
        [] => Ok(latency::run(&stage()?, 500)? & cost::run(&stage()?, 60)? & kills::run(&stage()?, 100)?),
        ["latency"] => latency::run(&stage()?, 500),
        ["latency", programs] => latency::run(&stage()?, parse_number(programs)?),
        ["cost"] => cost::run(&stage()?, 60),
        ["cost", seconds] => cost::run(&stage()?, parse_number(seconds)?),
        ["kills"] => kills::run(&stage()?, 100),
        ["kills", times] => kills::run(&stage()?, parse_number(times)?),
        _ => bail!("compare-keep [against PROGRAM] has the parts latency, cost and kills"),
    }
}

/// A folder with the programs, the rules and the journals of a comparison.
pub struct ComparisonStage {
    folder: PathBuf,
    corewise: PathBuf,
    /// Another build to compare with.
    other: Option<PathBuf>,
    /// The cpus of this process, and one of them on which rules place programs.
    pub all: CpuSet,
    pub one: CpuSet,
}

impl ComparisonStage {
    fn new(other: Option<&Path>) -> Result<Self> {
        run_command(cargo_command().args(["build", "--release", "--package", "corewise-cli"]))?;
        let all = affinity::current_affinity()?;
        let highest = all.highest().filter(|_| all.len() > 1).context("one cpu alone leaves nothing to compare")?;
        // In memory, like the folder of root's journals: on other file systems the disk would be measured.
        let folder = Path::new("/dev/shm").join(format!("corewise-compare-keep-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
        let other = other.map(Path::canonicalize).transpose()?;
        let stage = Self {
            folder,
            corewise: target_folder().join("release/corewise"),
            other,
            all,
            one: CpuSet::from_cpu(highest),
        };
        stage.copy_program("actor")?;
        stage.copy_program("launcher")?;
        Ok(stage)
    }

    /// Makes a program with a path of its own for rules to match: a copy of this one.
    fn copy_program(&self, name: &str) -> Result<PathBuf> {
        let program = self.file_path(name);
        let this = std::env::current_exe()?;
        // By another process: a file that is open for writing here cannot be executed.
        let copied = Command::new("cp").arg(this).arg(&program).status()?;
        ensure!(copied.success(), "{} cannot be made", program.display());
        Ok(program)
    }

    pub fn file_path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the keepers that take turns.
    pub fn keeper_kinds(&self) -> Vec<KeeperKind> {
        let other = self.other.iter().map(|_| KeeperKind::Other);
        [KeeperKind::Corewise]
            .into_iter()
            .chain(other)
            .chain([KeeperKind::Listener, KeeperKind::Poller(500), KeeperKind::Poller(1_000)])
            .collect()
    }

    /// Returns `corewise` with journals and a runtime folder of its own.
    pub fn corewise(&self, words: &[&str]) -> Command {
        self.keep_command(&self.corewise, words)
    }

    fn keep_command(&self, program: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.arg("--journal").arg(self.file_path("journals")).args(words).env("XDG_RUNTIME_DIR", &self.folder);
        command.env("XDG_CONFIG_HOME", &self.folder).env("XDG_DATA_HOME", &self.folder);
        command
    }

    /// Returns `corewise keep` with the rules of the comparison.
    pub fn corewise_keep(&self, words: &[&str]) -> Command {
        self.keep_by(&self.corewise, words)
    }

    /// As [`Self::corewise_keep`], by the other build.
    pub fn keep_by_other(&self, words: &[&str]) -> Result<Command> {
        Ok(self.keep_by(self.other.as_ref().context("there is no other build")?, words))
    }

    fn keep_by(&self, program: &Path, words: &[&str]) -> Command {
        let mut command = self.keep_command(program, &["keep", "--user", "--rules"]);
        command.arg(self.file_path("corewise/rules.toml")).args(words);
        command
    }

    /// Writes rules that hold programs, by their paths, on the one cpu.
    fn write_rules(&self, programs: &[String]) -> Result<()> {
        let rule = |(index, program): (usize, &String)| {
            let program = self.file_path(program);
            format!(
                "[[rule]]\nname = \"r{index}\"\nmatch = {{ exe = \"{}\" }}\non = \"{}\"\n",
                program.display(),
                self.one
            )
        };
        std::fs::create_dir_all(self.file_path("corewise"))?;
        let text: String = programs.iter().enumerate().map(rule).collect();
        Ok(std::fs::write(self.file_path("corewise/rules.toml"), text)?)
    }
}

impl Drop for ComparisonStage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Returns cargo's build folder.
fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository_root().join("target"), PathBuf::from)
}

/// Returns the load average of the last minute (proc_loadavg(5)).
pub fn machine_load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// Returns the value below which this part of the values lies.
pub fn quantile_of(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get((last as f64 * part).ceil() as usize).copied().unwrap_or(f64::NAN)
}
