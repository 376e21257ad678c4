//! Where an artifact was made: one value of every kind.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Format of a result in a page that corewise wrote.
pub const PAGE_FORMAT: &str = "page of corewise's";
/// Maximum number of remarks that an import keeps from the file.
const MOST_REMARKS: usize = 8;
/// Maximum characters of a text that an import keeps from the file.
const LONGEST_REMARK: usize = 200;

/// Place where an artifact was made. Only a measured one is evidence about its machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "kebab-case")]
pub enum ArtifactOrigin {
    /// Measured on its machine by the corewise that stored it.
    #[default]
    Measured,
    /// A recorded matrix, a described machine or a model took the machine's place.
    Simulated {
        /// The file or the name of what was simulated.
        file: String,
    },
    /// Read from a file, which proves nothing about the place of the measurement.
    Imported {
        /// The file.
        file: String,
        /// The file's format in words: "lower triangle without names (core-to-core-latency)".
        format: String,
        /// Remarks about it: "only 12 different values: coarse clock".
        remarks: Vec<String>,
    },
}

impl ArtifactOrigin {
    /// Returns true if the artifact was measured here: neither simulated nor imported.
    pub fn is_measured(&self) -> bool {
        *self == Self::Measured
    }

    /// Returns true if the artifact comes from a file.
    pub const fn is_imported(&self) -> bool {
        matches!(self, Self::Imported { .. })
    }

    /// Returns the file that the artifact was imported from.
    pub fn imported_file(&self) -> Option<&str> {
        if let Self::Imported { file, .. } = self { Some(file) } else { None }
    }

    /// Returns the origin after a result of corewise's was exported and read from `file`, whatever it claims. The origin before that becomes
    /// a remark.
    #[must_use]
    pub fn after_import(&self, file: &str, format: &str) -> Self {
        let earlier: &[String] = if let Self::Imported { remarks, .. } = self { remarks } else { &[] };
        let before = self.describe_origin().map(|before| format!("it was {before} before"));
        let remarks = before.iter().chain(earlier).take(MOST_REMARKS);
        let remarks = remarks.map(|remark| remark.chars().take(LONGEST_REMARK).collect()).collect();
        Self::Imported { file: file.to_owned(), format: format.to_owned(), remarks }
    }

    /// Describes an origin that is not this machine: "imported from page.html", "simulated from matrix.csv".
    pub fn describe_origin(&self) -> Option<String> {
        match self {
            Self::Measured => None,
            Self::Simulated { file } => Some(format!("simulated from {file}")),
            Self::Imported { file, .. } => Some(format!("imported from {file}")),
        }
    }

    /// Returns the word for lists: "imported", "simulated".
    pub const fn origin_word(&self) -> Option<&'static str> {
        match self {
            Self::Measured => None,
            Self::Simulated { .. } => Some("simulated"),
            Self::Imported { .. } => Some("imported"),
        }
    }
}

/// Reads an origin, or the name of the file alone, as experiments had it before.
pub(crate) fn read_origin<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ArtifactOrigin, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum WrittenOrigin {
        Whole(ArtifactOrigin),
        File(Option<String>),
    }
    Ok(match WrittenOrigin::deserialize(deserializer)? {
        WrittenOrigin::Whole(origin) => origin,
        WrittenOrigin::File(None) => ArtifactOrigin::Measured,
        WrittenOrigin::File(Some(file)) => ArtifactOrigin::Measured.after_import(&file, PAGE_FORMAT),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_file_claims_it_is_imported_and_says_what_it_was() {
        let imported = |remarks: &[&str]| ArtifactOrigin::Imported {
            file: "page.html".to_owned(),
            format: PAGE_FORMAT.to_owned(),
            remarks: remarks.iter().map(|&remark| remark.to_owned()).collect(),
        };
        let taken = |origin: &ArtifactOrigin| origin.after_import("page.html", PAGE_FORMAT);
        assert_eq!(taken(&ArtifactOrigin::Measured), imported(&[]));
        let simulated = ArtifactOrigin::Simulated { file: "matrix.csv".to_owned() };
        assert_eq!(taken(&simulated), imported(&["it was simulated from matrix.csv before"]));
        let other = ArtifactOrigin::Imported { file: "a.csv".into(), format: "csv".into(), remarks: vec!["b".into()] };
        assert_eq!(taken(&other), imported(&["it was imported from a.csv before", "b"]));
        let mut again = other;
        (0..100).for_each(|_| again = again.after_import(&"x".repeat(1000), PAGE_FORMAT));
        let ArtifactOrigin::Imported { remarks, .. } = again else { panic!("{again:?}") };
        assert!(remarks.len() <= MOST_REMARKS && remarks.iter().all(|remark| remark.len() <= LONGEST_REMARK));
    }
}
