//! Reads a machine's topology: from sysfs and procfs, from Windows' buffers, from a dump of cpuid, from an hwloc XML export, or from pasted
//! text.

mod allowed;
mod bare;
mod caches;
#[cfg(feature = "recordings")]
mod cpuid;
mod cpuinfo;
mod devices;
mod frequency;
#[cfg(feature = "recordings")]
mod hwloc_xml;
mod limits;
mod memory;
mod nodes;
mod online;
#[cfg(feature = "recordings")]
mod pasted;
mod reader;
mod sharing;
mod sysfs;
mod system;
#[cfg(any(not(target_os = "linux"), feature = "recordings"))]
mod windows;

use corewise_machine::facts::MachineFacts;
use corewise_machine::{Machine, assemble};

use crate::error::SysError;
use crate::os::process;
use crate::root::{FileSource, Root};
use reader::ValueReader;

/// Reads the machine of a root. Facts that a source does not report are gaps in the result, not errors.
///
/// If a recording has several sources, sysfs comes first (it has the kernel's view), then an hwloc export, then Windows' buffers, then a
/// dump of cpuid. A dump beside sysfs still gives the classes of core that the kernel did not name.
///
/// If this machine has neither /sys nor /proc, only the number of its cpus is known.
///
/// # Errors
/// [`SysError::NoCpu`] if no source of a recording names an online cpu; [`SysError::Damaged`] for a malformed hwloc export or buffer of
/// Windows.
pub fn read_machine(root: &Root) -> Result<Machine, SysError> {
    match read_from(root) {
        Err(SysError::NoCpu) if root.is_live() => Ok(assemble::assemble_machine(bare::bare_facts())),
        Err(SysError::Damaged { why, .. }) => Err(SysError::Damaged { path: root.path().to_owned(), why }),
        Ok(mut machine) => {
            machine.system.host = root.is_live().then(process::host_hash).flatten();
            Ok(machine)
        }
        read => read,
    }
}

pub(crate) fn read_from(source: &dyn FileSource) -> Result<Machine, SysError> {
    read_facts(source).map(assemble::assemble_machine)
}

/// Returns the cpus that this process may use according to the source, online or not.
#[cfg(feature = "recordings")]
pub(crate) fn allowed_cpus(source: &dyn FileSource) -> Option<corewise_machine::CpuSet> {
    allowed::read_allowed(&ValueReader::new(source)).cpus
}

/// Returns the nodes, by number, of the memory that this process may use according to the source.
#[cfg(feature = "recordings")]
pub(crate) fn allowed_memory(source: &dyn FileSource) -> Option<corewise_machine::CpuSet> {
    allowed::read_allowed(&ValueReader::new(source)).memory
}

fn read_facts(source: &dyn FileSource) -> Result<MachineFacts, SysError> {
    let reader = ValueReader::new(source);
    let mut facts = sysfs::read_facts(&reader);
    let has_sysfs = !facts.cpus.is_empty();
    if !has_sysfs {
        facts = other_facts(&reader)?;
    }
    #[cfg(feature = "recordings")]
    if has_sysfs && facts.named_kinds.is_empty() {
        facts.named_kinds = cpuid::named_kinds(&reader, &facts.cpus.iter().map(|cpu| cpu.number).collect());
    }
    facts.gaps.extend(reader.into_gaps());
    if facts.cpus.is_empty() { Err(SysError::NoCpu) } else { Ok(facts) }
}

/// Reads the facts of a source without sysfs.
#[cfg(feature = "recordings")]
fn other_facts(reader: &ValueReader<'_>) -> Result<MachineFacts, SysError> {
    if let Some(text) = reader.read_text(crate::root::PASTED) {
        return Ok(pasted::read_facts(reader, &text));
    }
    if let Some(text) = reader.read_text(crate::root::HWLOC_XML) {
        return hwloc_xml::read_facts(&text);
    }
    Ok(windows::read_facts(reader)?.unwrap_or_else(|| cpuid::read_facts(reader)))
}

#[cfg(all(not(target_os = "linux"), not(feature = "recordings")))]
fn other_facts(reader: &ValueReader<'_>) -> Result<MachineFacts, SysError> {
    windows::read_facts(reader).map(Option::unwrap_or_default)
}

#[cfg(all(target_os = "linux", not(feature = "recordings")))]
fn other_facts(_: &ValueReader<'_>) -> Result<MachineFacts, SysError> {
    Ok(MachineFacts::default())
}

#[cfg(test)]
mod tests;
