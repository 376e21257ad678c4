//! Recording a recorded machine again gives an equal machine, from the archive and from a folder.

use std::collections::BTreeMap;
use std::path::Path;

use corewise_machine::Machine;
use corewise_sys::record::{RecordingPacking, record_machine};
use corewise_sys::{Root, SysError, topology};
use libtest_mimic::Failed;

use super::data;

/// Recordings that are also unpacked into a folder: sysfs, a dump of cpuid beside it, a dump alone. More would only take
/// longer, for thousands of small files each.
const AS_FOLDER: [&str; 4] = [
    "ghw/linux-amd64-offlineCPUs.tar.gz",
    "hwloc/x86+linux/5intel64-hybrid-lakefield.tar.bz2",
    "hwloc/x86/Intel-ArrowLake-CoreUltra5-225U.tar.bz2",
    "pepc/lnl0.tar.xz",
];

/// Records the recording and reads it back.
pub fn check(folder: &Path, name: &str) -> Result<(), Failed> {
    let data::LoadedRecording { root, machine } = data::recording(folder, name)?;
    let mut bytes = Vec::new();
    match record_machine(root, &BTreeMap::new(), &mut bytes, RecordingPacking::Tar) {
        Err(SysError::NotRecordable { .. }) if name.ends_with(".xml") => return Ok(()),
        recorded => recorded?,
    };
    same(machine, &topology::read_machine(&Root::from_archive_bytes(&bytes)?)?, "the archive")?;
    if !AS_FOLDER.contains(&name) {
        return Ok(());
    }
    let unpacked = tempfile::tempdir()?;
    tar::Archive::new(bytes.as_slice()).unpack(unpacked.path())?;
    same(machine, &topology::read_machine(&Root::open(unpacked.path())?)?, "the folder")
}

fn same(machine: &Machine, back: &Machine, from: &str) -> Result<(), Failed> {
    if machine == back {
        return Ok(());
    }
    let (before, after) = (serde_json::to_string_pretty(machine)?, serde_json::to_string_pretty(back)?);
    let changed = before.lines().zip(after.lines()).find(|(before, after)| before != after);
    Err(format!("{from} gives another machine, first at {changed:?}").into())
}
