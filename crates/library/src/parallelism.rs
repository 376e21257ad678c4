//! Numbers of threads that make sense.

use std::num::NonZeroUsize;

use corewise_machine::{CpuSet, Level, Machine};

/// What threads do most of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// They compute, and would keep a core busy alone: one for each core.
    Compute,
    /// They also wait for memory: one for each cpu, so that the other thread of a core computes meanwhile.
    Mixed,
    /// They wait for devices and other programs: one for each last-level cache, beside the computing ones.
    Io,
}

/// A number of threads, with its reasons.
///
/// # Examples
/// ```
/// use corewise::Role;
///
/// let machine = corewise::Machine::this()?;
/// let threads = machine.parallelism(Role::Compute);
/// assert!(threads.get() >= 1 && threads.get() <= machine.cpus().len());
/// println!("{threads}");
/// # Ok::<(), corewise::PlaceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parallelism {
    threads: NonZeroUsize,
    reasons: Vec<String>,
}

impl Parallelism {
    /// Returns the number of threads, at least 1.
    ///
    /// # Examples
    /// ```
    /// let threads = corewise::Machine::this()?.parallelism(corewise::Role::Io).get();
    /// assert!(threads >= 1);
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn get(&self) -> usize {
        self.threads.get()
    }

    /// Returns the reasons, each in words.
    ///
    /// # Examples
    /// ```
    /// let threads = corewise::Machine::this()?.parallelism(corewise::Role::Mixed);
    /// assert!(threads.reasons()[0].ends_with("can be used"));
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn reasons(&self) -> &[String] {
        &self.reasons
    }

    /// Counts the objects that a role needs among usable cpus, up to the quota.
    pub(crate) fn count_threads(machine: &Machine, usable: &CpuSet, role: Role, quota: Option<&(String, f64)>) -> Self {
        let (level, noun) = match role {
            Role::Compute => (Level::Core, "core"),
            Role::Mixed => (Level::Cpu, "cpu"),
            Role::Io => (Level::Llc, "last-level cache"),
        };
        let objects = machine.objects_of(level).iter().filter(|object| !object.is_disjoint(usable)).count();
        let (count, plural) = (objects.max(1), if objects == 1 { "" } else { "s" });
        let mut reasons = vec![format!("{count} {noun}{plural} can be used")];
        let within = quota.map(|(group, cpus)| (group, cpus.ceil().max(1.0) as usize));
        let threads = match within {
            Some((group, most)) if most < count => {
                reasons
                    .push(format!("the control group {group} gives the time of {} cpus", quota.map_or(0.0, |q| q.1)));
                most
            }
            _ => count,
        };
        Self { threads: NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN), reasons }
    }
}

/// Prints as "2 threads: 8 cores can be used; the control group /x gives the time of 1.5 cpus".
impl std::fmt::Display for Parallelism {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plural = if self.get() == 1 { "" } else { "s" };
        write!(formatter, "{} thread{plural}: {}", self.threads, self.reasons.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use corewise_machine::generate::one_package_machine;

    use super::*;

    #[test]
    fn threads_follow_cores_cpus_caches_the_mask_and_the_quota() {
        let llcs = ["0-3,8-11", "4-7,12-15"].map(|list| (CpuSet::parse_list(list).unwrap(), 16));
        let machine = one_package_machine(16, true, &llcs);
        let count = |usable: &str, role, quota: Option<f64>| {
            let quota = quota.map(|cpus| ("/box".to_owned(), cpus));
            let usable = CpuSet::parse_list(usable).unwrap();
            Parallelism::count_threads(&machine, &usable, role, quota.as_ref()).to_string()
        };
        assert_eq!(count("0-15", Role::Compute, None), "8 threads: 8 cores can be used");
        assert_eq!(count("0-15", Role::Mixed, None), "16 threads: 16 cpus can be used");
        assert_eq!(count("0-15", Role::Io, None), "2 threads: 2 last-level caches can be used");
        assert_eq!(count("0,8", Role::Compute, None), "1 thread: 1 core can be used");
        assert_eq!(
            count("0-15", Role::Compute, Some(2.5)),
            "3 threads: 8 cores can be used; the control group /box gives the time of 2.5 cpus"
        );
        assert_eq!(count("0-15", Role::Compute, Some(0.1)).split(':').next(), Some("1 thread"));
        assert_eq!(count("0-15", Role::Io, Some(4.0)), "2 threads: 2 last-level caches can be used");
    }
}
