//! Placing threads, with what came of it.

use std::sync::{Arc, Mutex, PoisonError};

use corewise_machine::CpuSet;
use corewise_sys::affinity;

use crate::error::PlaceError;

/// Failures that a report describes; further ones are only counted.
const MOST_DESCRIBED: usize = 16;

/// A thread that was placed.
///
/// # Examples
/// ```
/// let placement = corewise::Machine::this()?.place("all")?;
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         let pin = placement.pin_this_thread(0)?;
///         assert_eq!(pin.cpus(), placement.cpus());
///         pin.undo()
///     }).join().expect("it does not panic")
/// })?;
/// # Ok::<(), corewise::PlaceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadPin {
    pub(crate) asked: CpuSet,
    pub(crate) cpus: CpuSet,
    pub(crate) before: CpuSet,
}

impl ThreadPin {
    /// Returns the cpus on which the thread may run now, as the system reports them.
    ///
    /// # Examples
    /// ```
    /// let placement = corewise::Machine::this()?.place("all")?.one_cpu_each();
    /// # std::thread::spawn(move || {
    /// assert_eq!(placement.pin_this_thread(0)?.cpus().len(), 1);
    /// # Ok::<(), corewise::PlaceError>(()) }).join().unwrap()?;
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    /// Returns the cpus on which it might run before.
    ///
    /// # Examples
    /// ```
    /// let placement = corewise::Machine::this()?.place("all")?;
    /// # std::thread::spawn(move || {
    /// assert!(!placement.pin_this_thread(0)?.before().is_empty());
    /// # Ok::<(), corewise::PlaceError>(()) }).join().unwrap()?;
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn before(&self) -> &CpuSet {
        &self.before
    }

    /// Returns true if it got all cpus that were asked for. A cpu that went offline is missing.
    ///
    /// # Examples
    /// ```
    /// let placement = corewise::Machine::this()?.place("all")?;
    /// # std::thread::spawn(move || {
    /// assert!(placement.pin_this_thread(0)?.is_whole());
    /// # Ok::<(), corewise::PlaceError>(()) }).join().unwrap()?;
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn is_whole(&self) -> bool {
        self.cpus == self.asked
    }

    /// Gives the calling thread back the cpus that it had before.
    ///
    /// # Errors
    /// If the system refuses.
    ///
    /// # Examples
    /// ```
    /// let placement = corewise::Machine::this()?.place("all")?.one_cpu_each();
    /// # std::thread::spawn(move || {
    /// placement.pin_this_thread(0)?.undo()?;
    /// # Ok::<(), corewise::PlaceError>(()) }).join().unwrap()?;
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn undo(self) -> Result<(), PlaceError> {
        affinity::set_current(&self.before).map_err(|error| PlaceError::Refused { cpus: self.before, error })
    }
}

/// Result of placing threads.
///
/// # Examples
/// ```
/// let placement = corewise::Machine::this()?.place("all")?;
/// let pin = placement.pin_in_turn();
/// std::thread::spawn(pin).join().expect("it does not panic");
/// let report = placement.report();
/// assert_eq!((report.placed, report.failed, report.failures.len()), (1, 0, 0));
/// # Ok::<(), corewise::PlaceError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PinReport {
    /// Threads that got cpus of the placement, all or some.
    pub placed: usize,
    /// Those of them that got only some, since a cpu went offline.
    pub narrowed: usize,
    /// Threads that were left alone, since `COREWISE=off` says so.
    pub left_alone: usize,
    /// Threads that could not be placed, and run where they did.
    pub failed: usize,
    /// The reasons, at most 16.
    pub failures: Vec<String>,
}

impl PinReport {
    /// Returns true if no thread failed or got only some of its cpus.
    ///
    /// # Examples
    /// ```
    /// assert!(corewise::Machine::this()?.place("all")?.report().is_whole());
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn is_whole(&self) -> bool {
        self.failed == 0 && self.narrowed == 0
    }

    /// Counts the outcome of placing one thread; `None` if it was left alone.
    pub(crate) fn count_outcome(&mut self, outcome: &Result<Option<ThreadPin>, PlaceError>) {
        match outcome {
            Ok(Some(pin)) => {
                self.placed += 1;
                self.narrowed += usize::from(!pin.is_whole());
            }
            Ok(None) => self.left_alone += 1,
            Err(error) => {
                self.failed += 1;
                if self.failures.len() < MOST_DESCRIBED {
                    self.failures.push(error.to_string());
                }
            }
        }
    }
}

/// The report of a placement and its copies, which threads write.
#[derive(Clone, Debug, Default)]
pub struct SharedReport(Arc<Mutex<PinReport>>);

impl SharedReport {
    /// Counts an outcome.
    pub fn count_outcome(&self, outcome: &Result<Option<ThreadPin>, PlaceError>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).count_outcome(outcome);
    }

    /// Returns a copy.
    pub fn read_report(&self) -> PinReport {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Restricts the calling thread to cpus, and reads back what it got.
///
/// # Errors
/// If the system refuses, or gives other cpus; the thread has its old cpus then.
pub fn pin_calling_thread(asked: &CpuSet) -> Result<ThreadPin, PlaceError> {
    let before = affinity::current_affinity().map_err(PlaceError::Unreadable)?;
    let refused = |error| PlaceError::Refused { cpus: asked.clone(), error };
    affinity::set_current(asked).map_err(refused)?;
    let cpus = affinity::current_affinity().map_err(PlaceError::Unreadable)?;
    // The kernel leaves out cpus that are offline.
    if cpus.is_empty() || !cpus.is_subset(asked) {
        let _ = affinity::set_current(&before);
        return Err(PlaceError::Changed { asked: asked.clone(), got: cpus });
    }
    Ok(ThreadPin { asked: asked.clone(), cpus, before })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As if cpus had gone offline after the machine was read: the kernel ignores them in a mask, like cpus that never existed.
    #[test]
    fn a_cpu_that_went_offline_is_left_out_and_a_thread_without_any_stays_where_it_was() {
        std::thread::spawn(|| {
            let before = affinity::current_affinity().unwrap();
            let gone = CpuSet::from_cpu(8_000);
            let error = pin_calling_thread(&gone).unwrap_err();
            assert!(error.to_string().contains("8000"), "{error}");
            assert_eq!(affinity::current_affinity().unwrap(), before);
            let one = CpuSet::from_cpu(before.lowest().unwrap());
            let pin = pin_calling_thread(&gone.union(&one)).unwrap();
            assert_eq!((pin.cpus(), pin.is_whole(), pin.before()), (&one, false, &before));
            let mut report = PinReport::default();
            report.count_outcome(&Ok(Some(pin.clone())));
            (0..20).for_each(|_| report.count_outcome(&pin_calling_thread(&gone).map(Some)));
            assert_eq!((report.placed, report.narrowed, report.failed, report.failures.len()), (1, 1, 20, 16));
            assert!(!report.is_whole());
            pin.undo().unwrap();
            assert_eq!(affinity::current_affinity().unwrap(), before);
        })
        .join()
        .unwrap();
    }
}
