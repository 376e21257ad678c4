//! The document of a proven placement: lines of a key and its value, so that a program needs no parser of JSON to read it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::{EvidenceChange, list_changes};
use crate::Machine;

/// First line of the document, with the version of its layout.
const TITLE: &str = "corewise proof 1";
/// Beginning of the keys of the scheduling environment.
const ENVIRONMENT: &str = "environment.";
/// Maximum length of a name, in bytes.
const LONGEST_NAME: usize = 64;

/// A placement that an experiment proved for a program, with the conditions of the proof.
///
/// # Examples
/// ```
/// use corewise_machine::evidence::PlacementProof;
/// use corewise_machine::{CpuSet, generate::one_package_machine};
///
/// let machine = one_package_machine(8, false, &[(CpuSet::first_cpus(8), 16)]);
/// let proof = PlacementProof {
///     name: "my-server".to_owned(),
///     on: "spread(4, llc)".to_owned(),
///     memory: None,
///     experiment: 12,
///     effect: 0.061,
///     interval: [0.02, 0.09],
///     error_rate: 0.05,
///     fingerprint: machine.identity(),
///     environment: machine.environment(),
/// };
/// assert_eq!(proof.to_string().parse::<PlacementProof>()?, proof);
/// assert!(proof.changes_since(&machine).is_empty());
/// # Ok::<(), corewise_machine::evidence::ProofError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PlacementProof {
    /// Name by which the program asks for it ([`is_proof_name`]).
    pub name: String,
    /// The placement, in the placement language.
    pub on: String,
    /// The memory policy, if it was a part of the placement.
    pub memory: Option<String>,
    /// The experiment's number in its owner's history.
    pub experiment: i64,
    /// Improvement over the OS default: 0.061 is 6.1 % more of the metric for its cost.
    pub effect: f64,
    /// The any-time interval of the same; an end that was not reached is infinite.
    pub interval: [f64; 2],
    /// The false-positive rate.
    pub error_rate: f64,
    /// The machine ([`Machine::identity`]).
    pub fingerprint: String,
    /// The scheduling environment ([`Machine::environment`]).
    pub environment: BTreeMap<String, String>,
}

/// Reason why a text is no document of a proof.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// It begins otherwise.
    #[error("it does not begin with \"{TITLE}\": it is no proof, or another version of corewise wrote it")]
    Title,
    /// A line without a key.
    #[error("line {0}: expected KEY = VALUE")]
    Line(usize),
    /// A key twice.
    #[error("line {line}: {key} is there twice")]
    Twice {
        /// Number of the line, from 1.
        line: usize,
        /// The key.
        key: String,
    },
    /// A key that this version does not know.
    #[error("{0} is no key of a proof")]
    Unknown(String),
    /// A key is missing, or its value cannot be read.
    #[error("{0} is missing or malformed")]
    Value(&'static str),
}

/// Returns true if a program may ask for a proof by this name: letters, digits, `.`, `_` and `-`, not a point first, at most 64.
pub fn is_proof_name(name: &str) -> bool {
    let may_be = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
    !name.is_empty() && name.len() <= LONGEST_NAME && !name.starts_with('.') && name.chars().all(may_be)
}

impl PlacementProof {
    /// Returns the changes since the experiment; if there are any, it proves nothing here and now.
    pub fn changes_since(&self, machine: &Machine) -> Vec<EvidenceChange> {
        list_changes(&self.fingerprint, &self.environment, machine)
    }
}

impl fmt::Display for PlacementProof {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{TITLE}")?;
        let mut line = |key: &str, value: &dyn fmt::Display| {
            // A value with a line break could add keys.
            let value = value.to_string().replace(char::is_control, " ");
            writeln!(formatter, "{key} = {value}")
        };
        line("name", &self.name)?;
        line("on", &self.on)?;
        if let Some(memory) = &self.memory {
            line("memory", memory)?;
        }
        line("experiment", &self.experiment)?;
        line("effect", &self.effect)?;
        line("interval-low", &self.interval[0])?;
        line("interval-high", &self.interval[1])?;
        line("error-rate", &self.error_rate)?;
        line("fingerprint", &self.fingerprint)?;
        self.environment.iter().try_for_each(|(key, value)| line(&format!("{ENVIRONMENT}{key}"), value))
    }
}

impl FromStr for PlacementProof {
    type Err = ProofError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut values = read_values(text)?;
        let mut take = |key: &'static str| values.remove(key).ok_or(ProofError::Value(key));
        let number = |key, text: String| text.parse::<f64>().ok().filter(|n| !n.is_nan()).ok_or(ProofError::Value(key));
        let name = take("name")
            .and_then(|name| if is_proof_name(&name) { Ok(name) } else { Err(ProofError::Value("name")) })?;
        let (on, fingerprint) = (take("on")?, take("fingerprint")?);
        let memory = take("memory").ok();
        let experiment = take("experiment")?.parse().map_err(|_| ProofError::Value("experiment"))?;
        let mut read_number = |key| number(key, take(key)?);
        let (effect, error_rate) = (read_number("effect")?, read_number("error-rate")?);
        let interval = [read_number("interval-low")?, read_number("interval-high")?];
        let mut environment = BTreeMap::new();
        for (key, value) in values {
            let name = key.strip_prefix(ENVIRONMENT).filter(|name| !name.is_empty());
            environment.insert(name.map(str::to_owned).ok_or(ProofError::Unknown(key.clone()))?, value);
        }
        Ok(Self { name, on, memory, experiment, effect, interval, error_rate, fingerprint, environment })
    }
}

/// Reads the lines behind the title. Empty lines and lines that begin with `#` are comments.
fn read_values(text: &str) -> Result<BTreeMap<String, String>, ProofError> {
    let mut lines = (1..).zip(text.lines());
    if lines.next().is_none_or(|(_, title)| title.trim_end() != TITLE) {
        return Err(ProofError::Title);
    }
    let mut values = BTreeMap::new();
    for (line, text) in lines.filter(|(_, text)| !text.trim().is_empty() && !text.starts_with('#')) {
        let (key, value) = text.split_once('=').ok_or(ProofError::Line(line))?;
        let key = key.trim().to_owned();
        if values.contains_key(&key) {
            return Err(ProofError::Twice { line, key });
        }
        values.insert(key, value.trim().to_owned());
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::one_package_machine;
    use crate::identity::hash_host;

    fn proof() -> PlacementProof {
        PlacementProof {
            name: "my-server".to_owned(),
            on: "llc:0 - core:0".to_owned(),
            memory: Some("bind:0".to_owned()),
            experiment: 12,
            effect: 0.061,
            interval: [0.02, f64::INFINITY],
            error_rate: 0.05,
            fingerprint: "00ff".to_owned(),
            environment: [("kernel", "6.1 = old"), ("governor", "performance, powersave")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        assert_eq!(proof().to_string().parse(), Ok(proof()));
        let text = proof().to_string().replace('\n', "\r\n");
        assert_eq!(format!("{text}\n# a note\n").parse(), Ok(proof()), "other ends of lines, and comments");
    }

    #[test]
    fn a_proof_holds_on_its_own_host_and_on_no_other_of_the_model() {
        let on = |name: Option<&str>| {
            let mut machine = one_package_machine(4, false, &[]);
            machine.system.host = name.map(|name| hash_host("id", name));
            machine
        };
        let proof = PlacementProof { fingerprint: on(Some("n1")).identity(), environment: BTreeMap::new(), ..proof() };
        let proof: PlacementProof = proof.to_string().parse().unwrap();
        assert_eq!((proof.changes_since(&on(Some("n1"))), proof.changes_since(&on(None))), (Vec::new(), Vec::new()));
        let changes = proof.changes_since(&on(Some("n2")));
        assert!(changes.len() == 1 && changes[0].what == "machine", "{changes:?}");
    }

    #[test]
    fn a_value_cannot_add_a_key() {
        let sly = PlacementProof { on: "all\nfingerprint = ff".to_owned(), ..proof() };
        let read: PlacementProof = sly.to_string().parse().unwrap();
        assert_eq!((read.fingerprint.as_str(), read.on.as_str()), ("00ff", "all fingerprint = ff"));
    }

    #[test]
    fn what_is_not_a_proof_says_why() {
        let read = |text: &str| text.parse::<PlacementProof>().unwrap_err().to_string();
        let written = proof().to_string();
        assert!(read("").contains("begin with") && read(&written.replace("proof 1", "proof 2")).contains("version"));
        assert_eq!(read(&format!("{written}kernel")), "line 13: expected KEY = VALUE");
        assert_eq!(read(&format!("{written}on = 1")), "line 13: on is there twice");
        assert_eq!(read(&format!("{written}x = 1")), "x is no key of a proof");
        assert_eq!(read(&written.replace("effect = 0.061", "effect = NaN")), "effect is missing or malformed");
        assert_eq!(read(&written.replace("name = my-server", "name = ../x")), "name is missing or malformed");
    }

    #[test]
    fn names_are_names_of_files_and_no_paths() {
        assert!(["my-server", "a", "Server_2.1"].iter().all(|name| is_proof_name(name)));
        let long = "x".repeat(65);
        assert!(!["", ".", "..", "a/b", "a\\b", "ä", "a b", &long].iter().any(|name| is_proof_name(name)));
    }
}
