//! The map of worth that `corewise keep run` publishes.

use corewise_machine::Machine;
use corewise_machine::placement::MachineKnowledge;
use corewise_machine::suggested_command;
use corewise_machine::worth::WorthNow;
use corewise_sys::user_folders;
use corewise_sys::worth::WorthReader;

use crate::error::PlaceError;

/// What each cpu is worth at this moment: its speed times the share of it that one more thread would get. Another process keeps it up to
/// date; a read is three loads from shared memory.
///
/// # Examples
/// ```
/// match corewise::Worth::open() {
///     Ok(worth) => println!("cpu 0 is worth {:?}", worth.of(0)),
///     Err(error) => println!("{error}"),
/// }
/// ```
#[derive(Debug)]
pub struct Worth {
    reader: WorthReader,
}

impl Worth {
    /// Opens the map of this user's `corewise keep run`, or of the system's.
    ///
    /// # Errors
    /// If none is kept up to date; if others may write it, or another version wrote it.
    ///
    /// # Examples
    /// ```
    /// assert!(corewise::Worth::open().is_err() || !corewise::Worth::open()?.is_stale());
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn open() -> Result<Self, PlaceError> {
        let mut why = Vec::new();
        for folder in user_folders::worth_folders() {
            match WorthReader::open(&folder) {
                Ok(Some(reader)) if !reader.is_stale() => return Ok(Self { reader }),
                Ok(Some(_)) => why.push(format!("{}: it is no longer kept up to date", folder.display())),
                Ok(None) => {}
                Err(error) => why.push(format!("{}: {error}", folder.display())),
            }
        }
        let absent = || format!("{} publishes one", suggested_command::keep_run().quoted_line());
        Err(PlaceError::NoWorth(if why.is_empty() { absent() } else { why.join("; ") }))
    }

    /// Returns the worth of a cpu, 1 for the fastest one without other work; `None` if it is unknown. Does not ask whether the map is
    /// stale.
    ///
    /// # Examples
    /// ```
    /// if let Ok(worth) = corewise::Worth::open() {
    ///     assert!(worth.of(0).is_none_or(|worth| worth >= 0.0));
    /// }
    /// ```
    #[inline]
    pub fn of(&self, cpu: u32) -> Option<f32> {
        self.reader.read_worth(cpu)
    }

    /// Returns true if nobody keeps it up to date any more: open it again, or do without.
    ///
    /// # Examples
    /// ```
    /// let worth = corewise::Worth::open();
    /// assert!(worth.is_err() || worth.is_ok_and(|worth| !worth.is_stale()));
    /// ```
    pub fn is_stale(&self) -> bool {
        self.reader.is_stale()
    }
}

/// Knowledge of the machine without a history: the map of worth.
pub struct PublishedKnowledge;

impl MachineKnowledge for PublishedKnowledge {
    fn worth_now(&self, _: &Machine) -> Option<WorthNow> {
        let Worth { reader } = Worth::open().ok()?;
        let from = format!("the map of process {}", reader.read_header().writer);
        Some(WorthNow { cpus: reader.read_online(), from, doubts: Vec::new() })
    }
}
