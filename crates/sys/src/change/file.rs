//! A change of a value in a kernel file: the cpus an interrupt goes to.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use corewise_machine::CpuSet;
use serde::{Deserialize, Serialize};

use super::kernel_file::KernelFile;
use super::standing::ChangeStanding;

/// Rule for comparing a file's values: the kernel may print a value in another form than it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueFormat {
    /// Compared as text, except for white space at the ends.
    Text,
    /// Compared as lists of cpus or nodes: "0,1" is "0-1".
    List,
    /// Compared as masks in hexadecimal: "3" is "00000000,00000003".
    Mask,
}

/// A new value in a kernel file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The file.
    pub path: PathBuf,
    /// Its old value, without the end of the line.
    pub old: String,
    /// The value to write.
    pub new: String,
    /// Rule for comparing its values.
    pub format: ValueFormat,
}

impl FileChange {
    pub(super) fn new(path: &Path, new: String, format: ValueFormat) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), old: KernelFile::open_folder_of(path)?.read_value()?, new, format })
    }

    pub(super) fn apply_change(&self) -> io::Result<String> {
        let file = KernelFile::open_folder_of(&self.path)?;
        file.write_value(&self.new)?;
        file.read_value()
    }

    /// Reads its state. `now` is the value that it will hold, if known; otherwise the file is read.
    pub(super) fn read_standing(&self, became: Option<&str>, now: Option<&String>) -> io::Result<ChangeStanding> {
        let found = KernelFile::open_folder_of(&self.path)
            .and_then(|file| now.map_or_else(|| file.read_value(), |now| Ok(now.clone())));
        let now = match found {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(ChangeStanding::AsBefore("the file is gone"));
            }
            other => other?,
        };
        Ok(if self.is_same(&now, &self.old) {
            ChangeStanding::AsBefore("it has the old value")
        } else if self.is_same(&now, &self.new) || became.is_some_and(|became| self.is_same(&now, became)) {
            ChangeStanding::InForce
        } else {
            ChangeStanding::Changed(format!("someone else has changed it since: it is now \"{now}\""))
        })
    }

    pub(super) fn revert_change(&self) -> io::Result<()> {
        let file = KernelFile::open_folder_of(&self.path)?;
        file.write_value(&self.old)?;
        let now = file.read_value()?;
        match self.is_same(&now, &self.old) {
            true => Ok(()),
            false => Err(io::Error::other(format!("the old value was written, but the file has \"{now}\""))),
        }
    }

    fn is_same(&self, a: &str, b: &str) -> bool {
        let equal = |parse: fn(&str) -> Option<CpuSet>| parse(a).is_some_and(|set| Some(set) == parse(b));
        a.trim() == b.trim()
            || match self.format {
                ValueFormat::Text => false,
                ValueFormat::List => equal(|text| CpuSet::parse_list(text).ok()),
                ValueFormat::Mask => equal(|text| CpuSet::parse_mask(text).ok()),
            }
    }
}

impl FileChange {
    /// Describes how to undo it.
    pub fn way_back(&self) -> String {
        format!("set file {} from \"{}\" back to \"{}\"", self.path.display(), self.new, self.old)
    }

    /// Describes it after it was undone.
    pub fn describe_undone(&self) -> String {
        format!("file {}: back to \"{}\" (was \"{}\")", self.path.display(), self.old, self.new)
    }
}

impl fmt::Display for FileChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "file {}: \"{}\" to \"{}\"", self.path.display(), self.old, self.new)
    }
}
