//! A kernel file that holds another value: which cpus an interrupt goes to.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use corewise_machine::CpuSet;
use serde::{Deserialize, Serialize};

use super::look::Look;
use super::target::KernelFile;

/// How a file's values are compared: the kernel may print what was written in other words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// As they are written, white space at the ends aside.
    Text,
    /// As lists of cpus or nodes: "0,1" is "0-1".
    List,
    /// As masks in hexadecimal: "3" is "00000000,00000003".
    Mask,
}

/// Another value in a kernel file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The file.
    pub path: PathBuf,
    /// What it held before, without the line's end.
    pub old: String,
    /// What is written into it.
    pub new: String,
    /// How its values are compared.
    pub format: Format,
}

impl FileChange {
    pub(super) fn new(path: &Path, new: String, format: Format) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), old: KernelFile::of(path)?.read()?, new, format })
    }

    pub(super) fn make(&self) -> io::Result<String> {
        let file = KernelFile::of(&self.path)?;
        file.write(&self.new)?;
        file.read()
    }

    /// `now` is what it will hold, where that is known; otherwise what it holds counts.
    pub(super) fn look(&self, became: Option<&str>, now: Option<&String>) -> io::Result<Look> {
        let found = KernelFile::of(&self.path).and_then(|file| now.map_or_else(|| file.read(), |now| Ok(now.clone())));
        let now = match found {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Look::AsBefore("the file is gone")),
            other => other?,
        };
        Ok(if self.is_same(&now, &self.old) {
            Look::AsBefore("it has the old value")
        } else if self.is_same(&now, &self.new) || became.is_some_and(|became| self.is_same(&now, became)) {
            Look::InForce
        } else {
            Look::Changed(format!("someone else has changed it since: it is now \"{now}\""))
        })
    }

    pub(super) fn revert(&self) -> io::Result<()> {
        let file = KernelFile::of(&self.path)?;
        file.write(&self.old)?;
        let now = file.read()?;
        match self.is_same(&now, &self.old) {
            true => Ok(()),
            false => Err(io::Error::other(format!("the old value was written, but the file has \"{now}\""))),
        }
    }

    fn is_same(&self, a: &str, b: &str) -> bool {
        let equal = |parse: fn(&str) -> Option<CpuSet>| parse(a).is_some_and(|set| Some(set) == parse(b));
        a.trim() == b.trim()
            || match self.format {
                Format::Text => false,
                Format::List => equal(|text| CpuSet::parse_list(text).ok()),
                Format::Mask => equal(|text| CpuSet::parse_mask(text).ok()),
            }
    }
}

impl FileChange {
    /// What taking it back does.
    pub fn way_back(&self) -> String {
        format!("set file {} from \"{}\" back to \"{}\"", self.path.display(), self.new, self.old)
    }
}

impl fmt::Display for FileChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "file {}: \"{}\" to \"{}\"", self.path.display(), self.old, self.new)
    }
}
