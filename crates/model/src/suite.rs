//! Suites: benchmarks that are tried one after the other on the same placements, for a table as in reviews.
//!
//! A suite is a file (TOML); docs/trying.md describes the format.

pub mod results;

use std::collections::{BTreeMap, BTreeSet};

use corewise_machine::machine_file::line_of;
use serde::Deserialize;

use crate::metric_line;
use crate::sample::QuantityFinder;
pub use crate::trial::SuitePart;
use crate::trial::{Experiment, LONGEST_TIMEOUT_S, TrialMetric};

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
        let suite: Self = toml::from_str(text).map_err(|error| SuiteError::Text {
            line: line_of(text, error.span().map_or(0, |span| span.start)),
            what: error.message().to_owned(),
        })?;
        for (distribution, command) in &suite.install {
            if let Some(what) = wrong_installer(distribution, command) {
                return Err(SuiteError::Install { distribution: distribution.clone(), what });
            }
        }
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

    /// Reconstructs the suite of stored experiments, with a benchmark for each. `None` without experiments, or if one
    /// belongs to no suite.
    pub fn of_parts(experiments: &[&Experiment]) -> Option<Self> {
        let benchmark = |experiment: &&Experiment| {
            let part = experiment.suite.as_ref()?;
            Some(SuiteBenchmark {
                name: part.benchmark.clone(),
                category: part.category.clone(),
                command: experiment.workload.command.clone(),
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
        Some(Self { name, about: None, install: BTreeMap::new(), benchmarks })
    }

    /// Returns the command by which a distribution installs the needs of these benchmarks. `None` if the suite does not
    /// know the distribution, or none of the packages.
    pub fn find_installation(&self, distribution: &str, benchmarks: &[&SuiteBenchmark]) -> Option<PackageInstallation> {
        let command = self.install.get(distribution)?;
        let packages = |benchmark: &SuiteBenchmark| benchmark.packages.get(distribution).cloned();
        let known: BTreeSet<String> = benchmarks.iter().filter_map(|benchmark| packages(benchmark)).collect();
        let known: Vec<&str> = known.iter().flat_map(|packages| packages.split_whitespace()).collect();
        let unknown = benchmarks.iter().filter(|benchmark| packages(benchmark).is_none());
        let unknown: BTreeSet<&String> = unknown.flat_map(|benchmark| benchmark.needed_programs()).collect();
        (!known.is_empty()).then(|| PackageInstallation {
            command: format!("{} {}", command.trim(), known.join(" ")),
            unknown: unknown.into_iter().cloned().collect(),
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

    /// Returns the programs that must be installed.
    pub fn needed_programs(&self) -> &[String] {
        if self.needs.is_empty() { &self.command[..1] } else { &self.needs }
    }

    fn find_error(&self) -> Option<String> {
        let is_blank = |text: &String| text.trim().is_empty();
        if is_blank(&self.name) || is_blank(&self.category) {
            return Some("name and category must not be empty".to_owned());
        }
        if self.command.first().is_none_or(is_blank) {
            return Some("command must name a program".to_owned());
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
mod tests {
    use super::*;

    const SMALL: &str = r#"
name = "small"
[install]
debian = "apt install"
arch = "pacman -S"
[[benchmark]]
name = "seven"
category = "encoding"
command = ["7z", "b"]
metric = { name = "rating", pattern = "Tot: ([0-9]+)", higher = true }
packages = { debian = "7zip", arch = "7zip" }
[[benchmark]]
name = "compile"
category = "development"
command = ["sh", "-c", "gcc -c a.c"]
needs = ["gcc"]
packages = { debian = "gcc make" }
"#;

    #[test]
    fn a_suite_says_what_is_run_and_what_of_it_counts() {
        let suite = BenchmarkSuite::parse(SMALL).unwrap();
        let [seven, compile] = &suite.benchmarks[..] else { panic!("{suite:?}") };
        assert_eq!(
            (seven.needed_programs(), compile.needed_programs()),
            (&["7z".to_owned()][..], &["gcc".to_owned()][..])
        );
        assert!(seven.deciding_metric().higher_is_better && compile.deciding_metric() == TrialMetric::wall_time());
    }

    #[test]
    fn a_metric_file_lies_where_the_benchmark_is_run() {
        let with = |entry: &str| BenchmarkSuite::parse(&SMALL.replacen("needs", &format!("{entry}\nneeds"), 1));
        let metric = "metric = { name = \"fps\" }\nmetric_file = ";
        let suite = with(&format!("{metric}\"out/results.json\"")).unwrap();
        assert_eq!(suite.benchmarks[1].metric_file.as_deref(), Some("out/results.json"));
        for wrong in
            ["metric_file = \"a\"".to_owned(), format!("{metric}\"/etc/passwd\""), format!("{metric}\"a/../../b\"")]
        {
            let error = with(&wrong).unwrap_err().to_string();
            assert!(error.contains("metric_file needs"), "{wrong}: {error}");
        }
        let unclear = with("metric = { name = \"result\" }").unwrap_err().to_string();
        assert!(unclear.ends_with("needs higher = true or higher = false"), "{unclear}");
    }

    #[test]
    fn packages_are_named_once_and_what_is_not_known_is_said() {
        let suite = BenchmarkSuite::parse(SMALL).unwrap();
        let all: Vec<&SuiteBenchmark> = suite.benchmarks.iter().collect();
        let command = |distribution: &str, benchmarks: &[&SuiteBenchmark]| {
            suite.find_installation(distribution, benchmarks).map(|found| (found.command, found.unknown))
        };
        let all_known = |command: &str| Some((command.to_owned(), Vec::new()));
        assert_eq!(command("debian", &all), all_known("apt install 7zip gcc make"));
        assert_eq!(command("debian", &[all[0], all[0]]), all_known("apt install 7zip"));
        assert_eq!(command("debian", &[]), None);
        assert_eq!(command("arch", &all), Some(("pacman -S 7zip".to_owned(), vec!["gcc".to_owned()])));
        assert!(command("arch", &all[1..]).is_none() && command("fedora", &all).is_none());
    }

    #[test]
    fn what_cannot_be_run_is_refused_with_its_place() {
        let wrong = |from: &str, to: &str| BenchmarkSuite::parse(&SMALL.replacen(from, to, 1)).unwrap_err().to_string();
        assert_eq!(wrong(r#"["7z", "b"]"#, "[]"), "benchmark \"seven\": command must name a program");
        assert_eq!(wrong("\"compile\"", "\"seven\""), "benchmark \"seven\": another benchmark has the same name");
        assert!(wrong("Tot: (", "Tot: ((").starts_with("benchmark \"seven\": the pattern of rating: "));
        assert!(wrong("category", "kind").starts_with("line 8: unknown field `kind`"), "{}", wrong("category", "kind"));
        assert_eq!(BenchmarkSuite::parse("name = \"none\"\nbenchmark = []").unwrap_err(), SuiteError::Empty);
        assert!(wrong("needs", "timeout_s = 0\nneeds").ends_with("timeout_s must be above zero"));
        assert!(wrong("needs", "timeout_s = 1e20\nneeds").ends_with("timeout_s must be at most 31536000 (a year)"));
    }

    #[test]
    fn nothing_but_the_installing_of_packages_can_be_pasted() {
        let with = |from: &str, to: &str| BenchmarkSuite::parse(&SMALL.replacen(from, to, 1));
        for packages in ["7zip; id", "$(id)", "a`id`", "-o=x", "7zip-", "|sh", "~/x", "--", r"x\u0007y", "\u{202e}a"] {
            let error = with("debian = \"7zip\"", &format!("debian = \"{packages}\"")).unwrap_err().to_string();
            assert!(error.ends_with("is not the name of a package"), "{packages}: {error}");
        }
        for command in
            ["rm -rf", "apt remove", "apt install; id", "curl x | sh", r"apt\ninstall", "apt install evil", ""]
        {
            let error = with("apt install", command).unwrap_err();
            assert!(matches!(error, SuiteError::Install { .. }), "{command}: {error}");
        }
        assert!(matches!(with("arch = \"pacman", "\"a\\nid\" = \"pacman"), Err(SuiteError::Install { .. })));
        for command in ["sudo apt-get install -y", "doas apk add", "emerge"] {
            assert!(with("apt install", command).is_ok(), "{command}");
        }
        assert!(with("debian = \"7zip\"", "debian = \"g++ libc6:amd64 app-arch/zstd\"").is_ok());
    }

    #[test]
    fn the_suite_that_the_program_holds_is_one() {
        let suite = BenchmarkSuite::parse(BUILT_IN[0].1).unwrap();
        assert!(suite.benchmarks.len() >= 10);
        let all: Vec<&SuiteBenchmark> = suite.benchmarks.iter().collect();
        assert!(suite.find_installation("debian", &all).is_some_and(|found| found.unknown.is_empty()));
    }
}
