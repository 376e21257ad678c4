//! Suites: benchmarks that are tried one after the other on the same placements, for a table as in reviews.
//!
//! A suite is a file (TOML); docs/trying.md describes the format.

pub mod results;

use std::collections::{BTreeMap, BTreeSet};

use corewise_machine::machine_file::line_of;
use serde::{Deserialize, Deserializer};

use crate::metric_line;
use crate::sample::QuantityFinder;
pub use crate::trial::SuitePart;
use crate::trial::{
    CommandVariant, Experiment, LONGEST_TIMEOUT_S, TrialMetric, VARIANT_PLACE, VariantError, check_variants,
};

/// A suite.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchmarkSuite {
    /// Its name.
    pub name: String,
    /// Description in one sentence.
    pub about: Option<String>,
    /// The command that installs packages, by the distribution's `ID` of os-release(5).
    #[serde(default)]
    pub install: BTreeMap<String, String>,
    /// Variants of every benchmark without its own, as `--variant` has them: "NAME=TEXT". The first one is the baseline.
    #[serde(default)]
    variants: Vec<String>,
    /// The benchmarks, in order.
    #[serde(rename = "benchmark")]
    pub benchmarks: Vec<SuiteBenchmark>,
}

/// One of a suite's benchmarks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteBenchmark {
    /// Its name, unique in the suite.
    pub name: String,
    /// Its category; there is a mean for each.
    pub category: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Its own texts of the variants; the suite's by default.
    #[serde(default, deserialize_with = "read_variants")]
    pub variants: Vec<CommandVariant>,
    /// The programs that must be installed; empty for the command alone.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The packages that have them, by the distribution's `ID` of os-release(5).
    #[serde(default)]
    pub packages: BTreeMap<String, String>,
    /// The metric that decides; the wall time by default.
    metric: Option<MetricEntry>,
    /// The file that the metric is written to, relative to the benchmark's folder; it is removed before each run. By
    /// default the metric is in the output.
    pub metric_file: Option<String>,
    /// Its folder, relative to the suite's own; an empty folder of its own by default.
    pub folder: Option<String>,
    /// A script for sh(1), run once before.
    pub setup: Option<String>,
    /// A script for sh(1), run once after.
    pub cleanup: Option<String>,
    /// Time limit of a run, in seconds; longer runs have failed.
    pub timeout_s: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricEntry {
    name: String,
    /// Optional if the name alone finds it ([`metric_line::metric_pattern`]).
    pattern: Option<String>,
    /// Optional if the name or the pattern implies it.
    higher: Option<bool>,
}

/// Installation of programs by a distribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageInstallation {
    /// The command, with all known packages.
    pub command: String,
    /// Programs without a known package.
    pub unknown: Vec<String>,
}

/// Reason why a text is not a suite.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuiteError {
    /// The text is not TOML, or has unknown keys or invalid values.
    #[error("line {line}: {what}")]
    Text {
        /// The line of the error, counted from 1.
        line: usize,
        /// Description of the error.
        what: String,
    },
    /// An install command or package could not be pasted safely into a shell.
    #[error("install, {distribution}: {what}")]
    Install {
        /// The distribution.
        distribution: String,
        /// Description of the problem.
        what: String,
    },
    /// A benchmark cannot be run as described.
    #[error("benchmark \"{name}\": {what}")]
    Benchmark {
        /// Its name.
        name: String,
        /// Description of the problem.
        what: String,
    },
    /// Its variants cannot be read.
    #[error("variants: {0}")]
    Variants(String),
    /// It has no benchmark.
    #[error("it has no benchmark")]
    Empty,
}

impl BenchmarkSuite {
    /// Reads a suite.
    ///
    /// # Errors
    /// [`SuiteError`] if the text is not a valid suite.
    pub fn parse(text: &str) -> Result<Self, SuiteError> {
        let mut suite: Self = toml::from_str(text).map_err(|error| SuiteError::Text {
            line: line_of(text, error.span().map_or(0, |span| span.start)),
            what: error.message().to_owned(),
        })?;
        for (distribution, command) in &suite.install {
            if let Some(what) = wrong_installer(distribution, command) {
                return Err(SuiteError::Install { distribution: distribution.clone(), what });
            }
        }
        suite.share_variants()?;
        let mut names = BTreeSet::new();
        for benchmark in &suite.benchmarks {
            let wrong = benchmark.find_error().or_else(|| {
                (!names.insert(benchmark.name.as_str())).then(|| "another benchmark has the same name".to_owned())
            });
            if let Some(what) = wrong {
                return Err(SuiteError::Benchmark { name: benchmark.name.clone(), what });
            }
        }
        if suite.benchmarks.is_empty() { Err(SuiteError::Empty) } else { Ok(suite) }
    }

    /// Gives the suite's variants to the benchmarks without their own. The names are the columns of one table, so all have the same.
    fn share_variants(&mut self) -> Result<(), SuiteError> {
        let parse = |typed: &String| CommandVariant::parse(typed);
        let shared: Result<Vec<CommandVariant>, VariantError> = self.variants.iter().map(parse).collect();
        let shared = shared.map_err(|error| SuiteError::Variants(error.to_string()))?;
        for benchmark in self.benchmarks.iter_mut().filter(|benchmark| benchmark.variants.is_empty()) {
            benchmark.variants.clone_from(&shared);
        }
        let names = |benchmark: &SuiteBenchmark| -> Vec<String> {
            benchmark.variants.iter().map(|variant| variant.name.clone()).collect()
        };
        let first = self.benchmarks.first().map(names).unwrap_or_default();
        match self.benchmarks.iter().find(|benchmark| names(benchmark) != first) {
            None => Ok(()),
            Some(other) => Err(SuiteError::Benchmark {
                name: other.name.clone(),
                what: format!(
                    "its variants are {}, those of the first benchmark {}: the names must be the same, in the same order",
                    list_names(&names(other)),
                    list_names(&first)
                ),
            }),
        }
    }

    /// Reconstructs the suite of stored experiments, with a benchmark for each. `None` without experiments, or if one
    /// belongs to no suite.
    pub fn of_parts(experiments: &[&Experiment]) -> Option<Self> {
        let benchmark = |experiment: &&Experiment| {
            let part = experiment.suite.as_ref()?;
            Some(SuiteBenchmark {
                name: part.benchmark.clone(),
                category: part.category.clone(),
                command: experiment.workload.command.clone(),
                variants: experiment.workload.variants.clone(),
                needs: Vec::new(),
                packages: BTreeMap::new(),
                metric: None,
                metric_file: experiment.workload.metric_file.clone(),
                folder: None,
                setup: part.setup.clone(),
                cleanup: None,
                timeout_s: experiment.workload.timeout_s,
            })
        };
        let name = experiments.first()?.suite.as_ref()?.suite.clone();
        let benchmarks = experiments.iter().map(benchmark).collect::<Option<_>>()?;
        Some(Self { name, about: None, install: BTreeMap::new(), variants: Vec::new(), benchmarks })
    }

    /// Returns the command by which a distribution installs the needs of these benchmarks. `None` if the suite does not
    /// know the distribution, or none of the packages.
    pub fn find_installation(&self, distribution: &str, benchmarks: &[&SuiteBenchmark]) -> Option<PackageInstallation> {
        let command = self.install.get(distribution)?;
        let packages = |benchmark: &SuiteBenchmark| benchmark.packages.get(distribution).cloned();
        let known: BTreeSet<String> = benchmarks.iter().filter_map(|benchmark| packages(benchmark)).collect();
        let known: Vec<&str> = known.iter().flat_map(|packages| packages.split_whitespace()).collect();
        let unknown = benchmarks.iter().filter(|benchmark| packages(benchmark).is_none());
        let unknown: BTreeSet<String> = unknown.flat_map(|benchmark| benchmark.needed_programs()).collect();
        (!known.is_empty()).then(|| PackageInstallation {
            command: format!("{} {}", command.trim(), known.join(" ")),
            unknown: unknown.into_iter().collect(),
        })
    }
}

impl SuiteBenchmark {
    /// Returns the metric that decides.
    pub fn deciding_metric(&self) -> TrialMetric {
        let Some(MetricEntry { name, pattern, higher }) = &self.metric else { return TrialMetric::wall_time() };
        let by_name = || metric_line::more_is_better(name, pattern.as_deref().unwrap_or_default());
        TrialMetric {
            name: name.clone(),
            pattern: Some(pattern.clone().unwrap_or_else(|| metric_line::metric_pattern(name))),
            higher_is_better: higher.or_else(by_name).unwrap_or_default(),
            reading: None,
        }
    }

    /// Returns the programs that must be installed, of all variants.
    pub fn needed_programs(&self) -> Vec<String> {
        let needs = if self.needs.is_empty() { &self.command[..1] } else { &self.needs };
        let mut programs: Vec<String> = Vec::new();
        for program in needs {
            let filled = self.variants.iter().map(|variant| variant.fill_text(program));
            let filled = if self.variants.is_empty() { vec![program.clone()] } else { filled.collect() };
            programs.extend(filled);
        }
        programs.dedup();
        programs
    }

    fn find_error(&self) -> Option<String> {
        let is_blank = |text: &String| text.trim().is_empty();
        if is_blank(&self.name) || is_blank(&self.category) {
            return Some("name and category must not be empty".to_owned());
        }
        if self.command.first().is_none_or(is_blank) {
            return Some("command must name a program".to_owned());
        }
        let has_place = self.command.iter().any(|word| word.contains(VARIANT_PLACE));
        if let Err(error) = check_variants(&self.variants, has_place) {
            return Some(format!("variants: {error}"));
        }
        if !self.variants.is_empty() && self.command == [VARIANT_PLACE] {
            return Some(format!(
                "for variants that are whole command lines write [\"sh\", \"-c\", \"{VARIANT_PLACE}\"]"
            ));
        }
        if self.timeout_s.is_some_and(|timeout| !(timeout > 0.0 && timeout.is_finite())) {
            return Some("timeout_s must be above zero".to_owned());
        }
        if self.timeout_s.is_some_and(|timeout| timeout > LONGEST_TIMEOUT_S) {
            return Some(format!("timeout_s must be at most {LONGEST_TIMEOUT_S} (a year)"));
        }
        if let Some(MetricEntry { name, pattern, higher: None }) = &self.metric
            && metric_line::more_is_better(name, pattern.as_deref().unwrap_or_default()).is_none()
        {
            return Some(format!("the metric \"{name}\" needs higher = true or higher = false"));
        }
        if let Some(file) = &self.metric_file {
            // The file is removed before each run, so it must be the benchmark's own.
            if self.metric.is_none()
                || file.is_empty()
                || file.starts_with('/')
                || file.split('/').any(|part| part == "..")
            {
                return Some("metric_file needs a metric, and a path within the folder in which it is run".to_owned());
            }
        }
        let mut packages = self.packages.values().flat_map(|packages| packages.split_whitespace());
        if let Some(package) = packages.find(|package| !is_package(package)) {
            return Some(format!("\"{package}\" is not the name of a package"));
        }
        let MetricEntry { name, pattern, .. } = self.metric.as_ref()?;
        if name.trim().is_empty() {
            return Some("its metric has no name".to_owned());
        }
        QuantityFinder::new(pattern.as_deref()?).err().map(|error| format!("the pattern of {name}: {error}"))
    }
}

/// Reads a list of variants as they are typed.
fn read_variants<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<CommandVariant>, D::Error> {
    let typed = Vec::<String>::deserialize(deserializer)?;
    typed.iter().map(|typed| CommandVariant::parse(typed).map_err(serde::de::Error::custom)).collect()
}

/// Returns "old, new", or "none".
fn list_names(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Commands that only install packages, by the package managers' own manuals; `-y`, `sudo` and `doas` may be added.
const INSTALLERS: [&str; 20] = [
    "apt install",
    "apt-get install",
    "apk add",
    "brew install",
    "dnf install",
    "emerge",
    "eopkg install",
    "guix install",
    "microdnf install",
    "nix-env -iA",
    "opkg install",
    "pacman -S",
    "pkg install",
    "pkg_add",
    "pkgin install",
    "swupd bundle-add",
    "urpmi",
    "xbps-install",
    "yum install",
    "zypper install",
];

/// Returns the reason why a command with packages appended could not be pasted safely into a shell.
fn wrong_installer(distribution: &str, command: &str) -> Option<String> {
    // os-release(5): an ID has no other characters.
    if !distribution.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte)) {
        return Some("that is not the ID of a distribution".to_owned());
    }
    let words: Vec<&str> = command.split(' ').filter(|word| !word.is_empty() && *word != "-y").collect();
    let own = match words.as_slice() {
        ["sudo" | "doas", own @ ..] | own => own,
    };
    (!INSTALLERS.contains(&own.join(" ").as_str()))
        .then(|| format!("\"{command}\" is not one of: {}", INSTALLERS.join(", ")))
}

/// Returns true if this can only be the name of a package: no option, no shell syntax, and no "-" at the end, with
/// which apt removes one.
fn is_package(word: &str) -> bool {
    let is_of_names = |byte: u8| byte.is_ascii_alphanumeric() || b"+-._:/@".contains(&byte);
    let (first, last) = (word.bytes().next(), word.bytes().last());
    word.bytes().all(is_of_names)
        && first.is_some_and(|byte| byte.is_ascii_alphanumeric())
        && last.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'+')
}

/// Suites that are compiled into the program, by name: programs used by reviews, and the built-in workloads.
pub const BUILT_IN: [(&str, &str); 2] =
    [("review", include_str!("../suites/review.toml")), ("workloads", include_str!("../suites/workloads.toml"))];

#[cfg(test)]
mod tests;
