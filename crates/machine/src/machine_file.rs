//! Machines written down as files (TOML), so that a placement can be planned for a machine that is not at hand.
//!
//! A text becomes a [`document::Document`], that becomes [`crate::facts::MachineFacts`], and these become a
//! [`crate::Machine`] by the same rules as those of a machine that was read. docs/machines.md describes the format.

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
pub use built_in::{BUILT_IN, BuiltIn, Found, find};
use check::Problem;
use document::Document;

/// A machine that was described in a file, and what the file says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineFile {
    /// The machine, as if it had been read.
    pub machine: Machine,
    /// What the file says of itself.
    pub description: Description,
}

/// What a machine file says of itself; each part may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Description {
    /// What the machine is known for, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// How its cpus are numbered, and by which system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbering: Option<String>,
    /// Where the facts are from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// What may be different on a real one, and what is only an example.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncertain: Vec<String>,
}

/// Why a text is not a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct MachineFileError {
    /// The line where it is, counted from 1.
    pub line: usize,
    /// What is wrong there, and what was expected.
    pub what: String,
}

/// Reads a machine file.
///
/// # Errors
/// [`MachineFileError`] where the text is no TOML, has keys or values that a machine file does not have, or describes no
/// possible machine: a cpu in two cores, a core in two dies, a distance too few.
pub fn parse(text: &str) -> Result<MachineFile, MachineFileError> {
    let document: Document = toml::from_str(text).map_err(|error| MachineFileError {
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        what: error.message().to_owned(),
    })?;
    described(document)
        .map_err(|problem| MachineFileError { line: line_of(text, problem.span.start), what: problem.what })
}

fn described(document: Document) -> Result<MachineFile, Problem> {
    check::check(&document)?;
    let machine = assemble::assemble(facts::facts(&document)?);
    if let Some(clusters) = &document.clusters {
        // The rules of assembly drop a cluster that reaches beyond its last-level cache; here that is a mistake.
        let kept = machine.objects(Level::Cluster);
        for cpus in clusters.get_ref().sets().map(|cpus| cpus.intersection(&machine.online)) {
            if !cpus.is_empty() && !kept.contains(&cpus) {
                let what = format!("cluster {cpus} is not inside one last-level cache");
                return Err(Problem { span: clusters.span(), what });
            }
        }
    }
    let description = Description {
        about: document.about,
        numbering: document.numbering,
        sources: document.sources,
        uncertain: document.uncertain,
    };
    Ok(MachineFile { machine, description })
}

/// The line that an offset in bytes is in, from 1.
pub fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}
