//! Moves interrupts, through a journal, and checks if they arrived.

use std::path::{Path, PathBuf};
use std::{fs, io};

use corewise_machine::CpuSet;
use corewise_machine::interrupt::device::CpuCount;
use corewise_machine::interrupt::plan::InterruptMove;

use super::counts::Counts;
use crate::change::{Change, ChangeJournal, ValueFormat};
use crate::error::SysError;
use crate::os::files;
use crate::root::Root;

/// The kernel's folder of interrupts.
const FOLDER: &str = "/proc/irq";

/// Reason why an interrupt was not moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveRefusal {
    /// This user lacks the permission.
    NotPermitted,
    /// /proc/irq is mounted read-only, as in a container.
    ReadOnly,
    /// The kernel lets no user move it: EPERM, in older kernels EIO.
    ByKernel,
    /// These cpus have no interrupt vectors left; x86 has some 200 for each.
    NoVector,
    /// None of these cpus is online any more.
    NoCpuOnline,
    /// The device is gone.
    Gone,
    /// Anything else, in the system's words.
    Other(String),
}

impl MoveRefusal {
    /// Returns why a move failed; `None` if the kernel did not refuse it.
    pub fn from_error(error: &SysError) -> Option<Self> {
        let (SysError::Change { source, .. } | SysError::Read { source, .. }) = error else { return None };
        Some(match source.kind() {
            _ if files::is_refused_by_kernel(source) => Self::ByKernel,
            io::ErrorKind::PermissionDenied => Self::NotPermitted,
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            io::ErrorKind::StorageFull => Self::NoVector,
            io::ErrorKind::InvalidInput => Self::NoCpuOnline,
            io::ErrorKind::NotFound => Self::Gone,
            _ => Self::Other(source.to_string()),
        })
    }

    /// Describes the refusal.
    pub fn describe_refusal(&self) -> String {
        match self {
            Self::NotPermitted => "this user may not move interrupts".to_owned(),
            Self::ReadOnly => "/proc/irq is mounted read-only here".to_owned(),
            Self::ByKernel => "the kernel does not allow moving it: it is managed, or its driver pins it".to_owned(),
            Self::NoVector => {
                "no interrupt vector is free on these cpus: allow more cpus, or reduce the devices' queues".to_owned()
            }
            Self::NoCpuOnline => "none of these cpus is online any more".to_owned(),
            Self::Gone => "its device is gone".to_owned(),
            Self::Other(words) => words.clone(),
        }
    }
}

/// Checks that this user may move an interrupt: opens its file as a move does, and writes nothing.
///
/// # Errors
/// [`SysError::Change`] if it cannot be opened; [`MoveRefusal::from_error`] explains it.
pub fn may_move(step: &InterruptMove) -> Result<(), SysError> {
    let path = file_of(Path::new(FOLDER), step);
    let opened = fs::OpenOptions::new().write(true).open(&path);
    opened.map(drop).map_err(|source| SysError::Change { what: format!("file {}", path.display()), source })
}

fn file_of(folder: &Path, step: &InterruptMove) -> PathBuf {
    folder.join(step.number.to_string()).join("smp_affinity_list")
}

/// Moves an interrupt, after recording it in the journal.
///
/// # Errors
/// [`SysError::Read`] if there is no such interrupt, and errors of [`ChangeJournal::make_change`]; [`MoveRefusal::from_error`] explains them.
pub fn move_away(journal: &mut ChangeJournal, step: &InterruptMove) -> Result<(), SysError> {
    move_in(Path::new(FOLDER), journal, step)
}

fn move_in(folder: &Path, journal: &mut ChangeJournal, step: &InterruptMove) -> Result<(), SysError> {
    let path = file_of(folder, step);
    let change = Change::for_file(&path, step.to.to_string(), ValueFormat::List);
    journal.make_change(change.map_err(|source: io::Error| SysError::Read { path, source })?).map(drop)
}

/// Result of checking a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterruptArrival {
    /// It goes to these cpus, as asked.
    There(CpuSet),
    /// Not yet: it goes to these cpus, and has not struck since. On some controllers a move takes effect in the handler, when it strikes.
    Waits(CpuSet),
    /// It struck since, and still goes to these cpus.
    Elsewhere(CpuSet),
    /// The kernel does not report its cpus.
    Untold,
}

/// Checks if an interrupt goes to its new cpus; `then` are counts right after the move, `now` from just before this check.
pub fn check_arrival(root: &Root, step: &InterruptMove, then: &Counts, now: &Counts) -> InterruptArrival {
    let number = step.number;
    let effective = root.read_text(&format!("proc/irq/{number}/effective_affinity_list"));
    let effective = effective.and_then(|text| CpuSet::parse_list(text.trim()).ok()).filter(|cpus| !cpus.is_empty());
    let Some(effective) = effective else { return InterruptArrival::Untold };
    let total = |counts: &Counts| counts.get(&number).map_or(0, |counts| sum_counts(counts));
    if effective.is_subset(&step.to) {
        InterruptArrival::There(effective)
    } else if total(now) > total(then) {
        InterruptArrival::Elsewhere(effective)
    } else {
        InterruptArrival::Waits(effective)
    }
}

fn sum_counts(counts: &[CpuCount]) -> u64 {
    counts.iter().map(|count| count.since_boot).sum()
}

#[cfg(test)]
mod tests {
    use corewise_machine::interrupt::device::CpuCount;

    use super::*;

    fn step(number: u32, to: &str) -> InterruptMove {
        let set = |list: &str| CpuSet::parse_list(list).unwrap();
        InterruptMove { number, name: "ttyS0".into(), from: set("0-3"), to: set(to), reason: None }
    }

    #[test]
    fn a_move_is_a_change_with_a_way_back() {
        let place = tempfile::tempdir().unwrap();
        crate::change::ground::lay_machine(place.path());
        let file = place.path().join("4/smp_affinity_list");
        fs::create_dir(place.path().join("4")).unwrap();
        fs::write(&file, "0-3\n").unwrap();
        let mut journal = ChangeJournal::in_folder(place.path().join("journals"));
        move_in(place.path(), &mut journal, &step(4, "1,3")).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "1,3\n");
        let gone = move_in(place.path(), &mut journal, &step(5, "1,3")).unwrap_err();
        assert_eq!(MoveRefusal::from_error(&gone), Some(MoveRefusal::Gone));
        assert_eq!(journal.entries().len(), 1);
        drop(journal);
        assert_eq!(fs::read_to_string(&file).unwrap(), "0-3\n");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn refusals_are_known_by_the_kernels_number() {
        let refused = |number| {
            let source = io::Error::from_raw_os_error(number);
            MoveRefusal::from_error(&SysError::Change { what: "a file".into(), source }).unwrap()
        };
        assert_eq!([refused(libc::EPERM), refused(libc::EIO)], [MoveRefusal::ByKernel, MoveRefusal::ByKernel]);
        assert_eq!([refused(libc::EACCES), refused(libc::EROFS)], [MoveRefusal::NotPermitted, MoveRefusal::ReadOnly]);
        assert_eq!([refused(libc::ENOSPC), refused(libc::EINVAL)], [MoveRefusal::NoVector, MoveRefusal::NoCpuOnline]);
        assert_eq!(refused(libc::EBUSY).describe_refusal(), io::Error::from_raw_os_error(libc::EBUSY).to_string());
        let journal = SysError::Journal { path: "/run/corewise".into(), source: io::Error::from_raw_os_error(28) };
        assert_eq!(MoveRefusal::from_error(&journal), None, "a full disk is no want of vectors");
    }

    #[test]
    fn an_interrupt_is_there_waits_or_went_elsewhere() {
        let counts = |since_boot| Counts::from([(4, vec![CpuCount { cpu: 0, since_boot, per_second: None }])]);
        let look = |effective: &'static str, now: u64| {
            let root = Root::from_files([("proc/irq/4/effective_affinity_list", effective)]);
            check_arrival(&root, &step(4, "2-3"), &counts(7), &counts(now))
        };
        let set = |list: &str| CpuSet::parse_list(list).unwrap();
        assert_eq!(look("3\n", 9), InterruptArrival::There(set("3")));
        assert_eq!(look("0\n", 7), InterruptArrival::Waits(set("0")));
        assert_eq!(look("0-2\n", 8), InterruptArrival::Elsewhere(set("0-2")));
        assert_eq!(look("\n", 8), InterruptArrival::Untold);
        let untold = check_arrival(&Root::from_files([("proc/x", "")]), &step(4, "2"), &counts(7), &counts(7));
        assert_eq!(untold, InterruptArrival::Untold);
    }
}
