//! Writes a recording of a machine: the files that the readers of topology and interrupts read, without identifying data.

mod scrub;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use corewise_machine::Machine;

use crate::error::SysError;
use crate::root::{FileSource, HWLOC_XML, NAMED, Root, is_device_name, is_named_only};
use crate::{irq, topology};

/// The folder of the archive that holds the recorded files.
const FOLDER: &str = "machine";

/// xz's preset: the largest recording is a few megabytes, and all have similar lines.
const XZ_PRESET: u32 = 6;

/// Compression of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordingPacking {
    /// A plain tar.
    Tar,
    /// A tar in gzip.
    Gzip,
    /// A tar in xz, the smallest.
    #[default]
    Xz,
}

impl RecordingPacking {
    /// Returns the packing for a file name: by ".tar", ".tar.gz" or ".tgz", and xz for all others.
    pub fn from_path(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("tar") => Self::Tar,
            Some("gz" | "tgz") => Self::Gzip,
            _ => Self::Xz,
        }
    }
}

/// Contents of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedMachine {
    /// The machine as read back from the recording.
    pub machine: Machine,
    /// Number of recorded files.
    pub files: usize,
    /// Their size before packing, in bytes.
    pub text_bytes: u64,
}

/// Writes a recording of a machine's topology, devices and interrupts; [`Root::open`] reads it back, and gives an equal [`Machine`].
/// `notes` are further files of the archive, by name; no reader of machines reads them.
///
/// It leaves out all files that [`topology::read_text`] and [`irq::read_text`] do not read. It also leaves out serial numbers, control groups and
/// mounts, the process's names and numbers, network addresses (in names of devices, too), and the builder and host of the kernel.
///
/// # Errors
/// Those of [`topology::read_text`]; [`SysError::Write`] if the output refuses; [`SysError::NotRecordable`] for an hwloc XML export, which may
/// name hosts and devices anywhere.
pub fn record_machine(
    root: &Root,
    notes: &BTreeMap<String, String>,
    output: impl Write,
    packing: RecordingPacking,
) -> Result<RecordedMachine, SysError> {
    let recorder = RecordingSource { root, read: RefCell::default() };
    let machine = scrub::scrub_names(topology::read_from(&recorder)?);
    irq::read_from(&recorder);
    let allowed = (topology::allowed_cpus(root), topology::allowed_memory(root));
    let files = scrub::scrub_files(recorder.read.into_inner(), &machine, allowed);
    if files.contains_key(HWLOC_XML) {
        return Err(SysError::NotRecordable { what: "an hwloc XML export" });
    }
    let in_folder = files.iter().map(|(path, text)| (format!("{FOLDER}/{path}"), text.as_str()));
    let entries = notes.iter().map(|(name, text)| (name.clone(), text.as_str())).chain(in_folder);
    pack_files(entries, output, packing).map_err(|source| SysError::Write { source })?;
    let text_bytes = files.values().map(|text| text.len() as u64).sum();
    Ok(RecordedMachine { machine, files: files.len(), text_bytes })
}

/// A source that passes reads on to a root, and keeps the texts.
struct RecordingSource<'a> {
    root: &'a Root,
    read: RefCell<BTreeMap<String, String>>,
}

impl FileSource for RecordingSource<'_> {
    fn file_text(&self, path: &str) -> Option<Cow<'_, str>> {
        let text = self.root.read_text(path)?;
        self.read.borrow_mut().insert(path.to_owned(), text.clone().into_owned());
        Some(text)
    }

    fn folder_names(&self, folder: &str) -> Vec<String> {
        let names = self.root.list_folder(folder);
        // These are links, and only their names matter.
        for path in names.iter().map(|name| format!("{folder}/{name}")).filter(|path| is_named_only(path)) {
            self.read.borrow_mut().insert(path, String::new());
        }
        for path in names.iter().map(|name| format!("{folder}/{name}")).filter(|path| is_device_name(path)) {
            self.read.borrow_mut().insert(format!("{path}/{NAMED}"), String::new());
        }
        names
    }
}

fn pack_files<'a>(
    files: impl Iterator<Item = (String, &'a str)>,
    output: impl Write,
    packing: RecordingPacking,
) -> io::Result<()> {
    match packing {
        RecordingPacking::Tar => write_tar(files, output)?.flush(),
        RecordingPacking::Gzip => {
            let packer = flate2::write::GzEncoder::new(output, flate2::Compression::best());
            write_tar(files, packer)?.finish()?.flush()
        }
        RecordingPacking::Xz => {
            let packer = lzma_rust2::XzWriter::new(output, lzma_rust2::XzOptions::with_preset(XZ_PRESET))?;
            write_tar(files, packer)?.finish()?.flush()
        }
    }
}

/// Writes the tar: no owner, no time, rising names, so that equal machines give equal bytes.
fn write_tar<'a, W: Write>(files: impl Iterator<Item = (String, &'a str)>, output: W) -> io::Result<W> {
    let mut builder = tar::Builder::new(output);
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, text.as_bytes())?;
    }
    builder.into_inner()
}

#[cfg(test)]
mod tests;
