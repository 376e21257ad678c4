//! Machine files (TOML), so that a placement can be planned for a machine that is not at hand.
//!
//! A text becomes a document, then [`crate::facts::MachineFacts`], then a [`crate::Machine`] by the same rules as a machine that was read.
//! docs/machines.md describes the format.

mod built_in;
mod check;
mod cpus;
mod document;
mod entries;
mod facts;
mod objects;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::{Level, Machine, assemble};
pub use built_in::{BUILT_IN, BuiltInMachine, MachineMatch, find_built_in};
use check::DocumentProblem;
use document::MachineDocument;

/// A machine described in a file, with the file's description.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineFile {
    /// The machine, as if it had been read.
    pub machine: Machine,
    /// The file's description of itself.
    pub description: MachineDescription,
}

/// Description that a machine file gives of itself; each part may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MachineDescription {
    /// Summary of the machine in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Numbering of its cpus, and the system that numbers them so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbering: Option<String>,
    /// Sources of the facts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Facts that may differ on a real machine, or are only an example.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncertain: Vec<String>,
}

/// Reason why a text is not a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct MachineFileError {
    /// Line of the mistake, counted from 1.
    pub line: usize,
    /// The mistake, and the expected text.
    pub what: String,
}

/// Reads a machine file.
///
/// # Errors
/// [`MachineFileError`] if the text is no TOML, has unknown keys or values, or describes an impossible machine (a cpu in two cores, a
/// missing distance).
///
/// # Examples
/// ```
/// use corewise_machine::{Level, machine_file};
///
/// let text = r#"
///     name = "Four cores"
///     cpus = "0-7"
///     cores = "0,4 x4"
///     caches = [{ cache = "L3", size = "16 MiB", per = "package" }]
/// "#;
/// let machine = machine_file::parse(text)?.machine;
/// assert_eq!(machine.objects_of(Level::Core)[3].to_string(), "3,7");
/// assert_eq!(machine_file::parse("name = 'None'\ncpus = 8").unwrap_err().line, 2);
/// # Ok::<(), machine_file::MachineFileError>(())
/// ```
pub fn parse(text: &str) -> Result<MachineFile, MachineFileError> {
    let document: MachineDocument = toml::from_str(text).map_err(|error| MachineFileError {
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        what: error.message().to_owned(),
    })?;
    describe_machine(document)
        .map_err(|problem| MachineFileError { line: line_of(text, problem.span.start), what: problem.what })
}

fn describe_machine(document: MachineDocument) -> Result<MachineFile, DocumentProblem> {
    check::check_document(&document)?;
    let machine = assemble::assemble_machine(facts::facts_of_document(&document)?);
    if let Some(clusters) = &document.clusters {
        // Assembly drops a cluster that reaches beyond its last-level cache; in a file it is a mistake.
        let kept = machine.objects_of(Level::Cluster);
        for cpus in clusters.get_ref().object_sets().map(|cpus| cpus.intersection(&machine.online)) {
            if !cpus.is_empty() && !kept.contains(&cpus) {
                let what = format!("cluster {cpus} is not inside one last-level cache");
                return Err(DocumentProblem { span: clusters.span(), what });
            }
        }
    }
    let description = MachineDescription {
        about: document.about,
        numbering: document.numbering,
        sources: document.sources,
        uncertain: document.uncertain,
    };
    Ok(MachineFile { machine, description })
}

/// Returns the line of an offset in bytes, counted from 1.
pub fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}
