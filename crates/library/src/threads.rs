//! Where the threads of this process may run, and where they ran last.

use corewise_machine::CpuSet;
use corewise_sys::thread_reader::ThreadReader;
use corewise_sys::{affinity, task};

use crate::error::PlaceError;

/// A thread of this process.
///
/// # Examples
/// ```
/// for thread in corewise::threads()? {
///     println!("{} {}: may run on {}, ran on {:?}", thread.id, thread.name, thread.cpus, thread.last_cpu);
/// }
/// # Ok::<(), corewise::PlaceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadPlace {
    /// The system's number.
    pub id: u32,
    /// Its name; empty if it has none.
    pub name: String,
    /// The cpus that it may run on.
    pub cpus: CpuSet,
    /// The cpu that it ran on last, if the system says so.
    pub last_cpu: Option<u32>,
}

/// Returns the threads of this process, in the order of their starts. A thread that ends meanwhile may be missing.
///
/// # Errors
/// If they cannot be read here.
///
/// # Examples
/// ```
/// let threads = corewise::threads()?;
/// let all = corewise::Machine::this()?.cpus();
/// assert!(threads.iter().any(|thread| !thread.cpus.is_disjoint(&all)));
/// # Ok::<(), corewise::PlaceError>(())
/// ```
pub fn threads() -> Result<Vec<ThreadPlace>, PlaceError> {
    let process = std::process::id();
    let mut found = Vec::new();
    if ThreadReader::new(process).read_threads(&mut found) {
        let place = |thread: corewise_machine::thread::ThreadSnapshot| {
            let cpus = thread.allowed.or_else(|| affinity::affinity_of(thread.thread).ok())?;
            Some(ThreadPlace { id: thread.thread, name: thread.name, cpus, last_cpu: Some(thread.cpu) })
        };
        return Ok(found.into_iter().filter_map(place).collect());
    }
    let place = |id| {
        let name = task::thread_name(process, id).unwrap_or_default();
        Some(ThreadPlace { id, name, cpus: affinity::affinity_of(id).ok()?, last_cpu: None })
    };
    let listed: Vec<ThreadPlace> = task::thread_numbers(process).into_iter().filter_map(place).collect();
    if listed.is_empty() {
        return Err(PlaceError::Unreadable(std::io::Error::other("the system lists none")));
    }
    Ok(listed)
}
