//! Cpus for the threads of this process.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use corewise_machine::placement::ExcludedCpus;
use corewise_machine::placement::memory::MemoryPolicy;
use corewise_machine::{CpuSet, Level};
use corewise_sys::memory_policy::{self, KernelMemoryPolicy};
use corewise_sys::{affinity, process, task};

use crate::error::PlaceError;
use crate::pinning::{PinReport, SharedReport, ThreadPin, pin_calling_thread};
use crate::placed_machine::PlacedMachine;

/// Origin of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacementSource {
    /// The program.
    Program,
    /// The person at the command line, instead of the program.
    Person {
        /// The program's expression.
        instead_of: String,
    },
    /// An experiment.
    Proof,
}

/// Share of a placement that each thread gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThreadShare {
    Whole,
    Within(Level),
    OneCpu,
}

/// Cpus in the order in which threads take them.
///
/// # Examples
/// ```
/// let placement = corewise::Machine::this()?.place("one-per-core")?;
/// println!("{placement}");
/// placement.notes().iter().for_each(|note| println!("  {note}"));
/// # Ok::<(), corewise::PlaceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Placement {
    machine: Arc<PlacedMachine>,
    expression: String,
    order: Vec<u32>,
    cpus: CpuSet,
    left_out: Vec<ExcludedCpus>,
    notes: Vec<String>,
    share: ThreadShare,
    /// A memory policy, as it is written and as it is set.
    memory: Option<(String, KernelMemoryPolicy)>,
    report: SharedReport,
}

impl Placement {
    pub(crate) fn new(
        machine: Arc<PlacedMachine>,
        expression: String,
        order: Vec<u32>,
        (left_out, notes): (Vec<ExcludedCpus>, Vec<String>),
    ) -> Self {
        let cpus = order.iter().copied().collect();
        let (share, memory, report) = (ThreadShare::Whole, None, SharedReport::default());
        Self { machine, expression, order, cpus, left_out, notes, share, memory, report }
    }

    /// Adds a memory policy, which each thread gets with its cpus.
    ///
    /// # Errors
    /// If a node of it does not exist here, has no memory, or is not allowed.
    pub(crate) fn with_memory(mut self, policy: &str) -> Result<Self, PlaceError> {
        let refused = |why: String| PlaceError::Memory { policy: policy.to_owned(), why };
        let parsed: MemoryPolicy = policy.parse().map_err(|_| refused("it is no memory policy".to_owned()))?;
        let allowed = memory_policy::allowed_nodes().ok();
        let nodes = parsed.node_numbers(&self.machine.machine, allowed.as_deref());
        let nodes = nodes.map_err(|error| refused(error.to_string()))?;
        self.memory = Some((policy.to_owned(), KernelMemoryPolicy::new(parsed.mode, nodes)));
        Ok(self)
    }

    /// Adds notes.
    pub(crate) fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// Returns the number of cpus, which is the number of threads that have a cpu each.
    ///
    /// # Examples
    /// ```
    /// let machine = corewise::Machine::this()?;
    /// assert_eq!(machine.place("all")?.len(), machine.cpus().len());
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    #[allow(clippy::len_without_is_empty, reason = "a placement always has a cpu")]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns the cpus in the order in which threads take them: one of each core before its siblings; lists as they are written.
    ///
    /// # Examples
    /// ```
    /// let placement = corewise::Machine::this()?.place("all")?;
    /// assert_eq!(placement.order().len(), placement.len());
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Returns the cpus as a set.
    ///
    /// # Examples
    /// ```
    /// let placement = corewise::Machine::this()?.place("all")?;
    /// println!("taskset -c {}", placement.cpus());
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    /// Returns the numbers of the memory nodes of these cpus that have memory: for allocations of the program's own.
    ///
    /// # Examples
    /// ```
    /// let nodes = corewise::Machine::this()?.place("all")?.nodes();
    /// println!("memory of nodes {nodes:?}");
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn nodes(&self) -> Vec<u32> {
        let machine = &self.machine.machine;
        let own = machine.nodes.iter().filter(|node| !node.cpus.is_disjoint(&self.cpus) && machine.has_memory(node));
        own.map(|node| node.number).collect()
    }

    /// Returns the cpus of the expression that are not among these, by reason.
    ///
    /// # Examples
    /// ```
    /// let placement = corewise::Machine::this()?.place("all")?;
    /// for left_out in placement.left_out() {
    ///     println!("{}", left_out.describe_excluded());
    /// }
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn left_out(&self) -> &[ExcludedCpus] {
        &self.left_out
    }

    /// Returns what else is to be known about the placement, as sentences: a variable that replaced the expression, a quota.
    ///
    /// # Examples
    /// ```
    /// let placement = corewise::Machine::this()?.place("all")?;
    /// placement.notes().iter().for_each(|note| println!("{note}"));
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Gives each thread a single cpu instead of the whole mask. A thread that waits for its cpu then waits even if others are idle.
    ///
    /// # Examples
    /// ```
    /// let placement = corewise::Machine::this()?.place("all")?.one_cpu_each();
    /// assert_eq!(placement.mask_of(0).len(), 1);
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    #[must_use]
    pub fn one_cpu_each(mut self) -> Self {
        self.share = ThreadShare::OneCpu;
        self
    }

    /// Gives each thread the cpus of the placement that share an object of a level with its own: a pool spread over nodes, each thread
    /// free on its node.
    ///
    /// # Examples
    /// ```
    /// use corewise::Level;
    ///
    /// let placement = corewise::Machine::this()?.place("all")?.within(Level::Node);
    /// assert!(placement.mask_of(0).contains(placement.order()[0]));
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    #[must_use]
    pub fn within(mut self, level: Level) -> Self {
        self.share = ThreadShare::Within(level);
        self
    }

    /// Returns the cpus that the thread of an index gets. Indices beyond the last cpu begin again.
    ///
    /// # Examples
    /// ```
    /// let placement = corewise::Machine::this()?.place("all")?;
    /// assert_eq!(&placement.mask_of(0), placement.cpus());
    /// assert_eq!(placement.mask_of(placement.len()), placement.mask_of(0));
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn mask_of(&self, index: usize) -> CpuSet {
        let Some(cpu) = index.checked_rem(self.order.len()).and_then(|place| self.order.get(place)).copied() else {
            return self.cpus.clone();
        };
        match self.share {
            ThreadShare::Whole => self.cpus.clone(),
            ThreadShare::OneCpu => CpuSet::from_cpu(cpu),
            ThreadShare::Within(level) => {
                let objects = self.machine.machine.objects_of(level);
                let object = objects.iter().find(|object| object.contains(cpu));
                object.map_or_else(|| CpuSet::from_cpu(cpu), |object| object.intersection(&self.cpus))
            }
        }
    }

    /// Places the calling thread as the one of an index, and reads back its mask. Does nothing if `COREWISE=off`.
    ///
    /// # Errors
    /// If the system refuses or gives other cpus. The thread runs where it did, and [`Self::report`] counts it.
    ///
    /// # Examples
    /// ```
    /// let placement = corewise::Machine::this()?.place("all")?;
    /// # std::thread::spawn(move || {
    /// if let Err(error) = placement.pin_this_thread(0) {
    ///     eprintln!("it runs anywhere: {error}");
    /// }
    /// # }).join().unwrap();
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn pin_this_thread(&self, index: usize) -> Result<ThreadPin, PlaceError> {
        let outcome = self.try_pin(index);
        self.report.count_outcome(&outcome);
        match outcome? {
            Some(pin) => Ok(pin),
            None => {
                let cpus = affinity::current_affinity().map_err(PlaceError::Unreadable)?;
                Ok(ThreadPin { asked: cpus.clone(), before: cpus.clone(), cpus })
            }
        }
    }

    /// As [`Self::pin_this_thread`]; `None` if threads are left alone. Does not count.
    fn try_pin(&self, index: usize) -> Result<Option<ThreadPin>, PlaceError> {
        if !self.machine.is_here {
            return Err(PlaceError::Elsewhere);
        }
        if self.machine.wish.is_off {
            return Ok(None);
        }
        let pin = pin_calling_thread(&self.mask_of(index))?;
        if let Some((policy, memory)) = &self.memory {
            let refused = |why: String| PlaceError::Memory { policy: policy.clone(), why };
            memory.set_current().map_err(|error| refused(error.to_string()))?;
        }
        Ok(Some(pin))
    }

    /// Returns a function that places the calling thread by its index: for rayon's `start_handler`. Failures are in [`Self::report`].
    ///
    /// # Examples
    /// ```
    /// let placement = corewise::Machine::this()?.place("one-per-core")?;
    /// let pool = rayon::ThreadPoolBuilder::new()
    ///     .num_threads(placement.len())
    ///     .start_handler(placement.pin_by_index())
    ///     .build()
    ///     .expect("threads can be started");
    /// pool.broadcast(|_| ());
    /// assert_eq!((placement.report().placed, placement.report().failed), (placement.len(), 0));
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn pin_by_index(&self) -> impl Fn(usize) + Send + Sync + Clone + use<> {
        let placement = self.clone();
        move |index| placement.report.count_outcome(&placement.try_pin(index))
    }

    /// Returns a function that places each thread that calls it as the next one: for tokio's `on_thread_start`. Threads beyond the last
    /// cpu begin again. Failures are in [`Self::report`].
    ///
    /// # Examples
    /// ```
    /// let placement = corewise::Machine::this()?.place("all")?;
    /// let runtime = tokio::runtime::Builder::new_multi_thread()
    ///     .worker_threads(placement.len())
    ///     .on_thread_start(placement.pin_in_turn())
    ///     .build()
    ///     .expect("threads can be started");
    /// runtime.block_on(async { tokio::spawn(async {}).await }).expect("it does not panic");
    /// assert_eq!(placement.report().failed, 0);
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn pin_in_turn(&self) -> impl Fn() + Send + Sync + Clone + use<> {
        let (pin, next) = (self.pin_by_index(), Arc::new(AtomicUsize::new(0)));
        move || pin(next.fetch_add(1, Ordering::Relaxed))
    }

    /// Places all threads of this process, in the order of their starts: for pools that a library has started. Threads that start later
    /// inherit the cpus of their creator. A memory policy is not set: it belongs to the thread that sets it.
    ///
    /// # Errors
    /// If the threads cannot be listed. A single thread that cannot be placed counts as failed.
    ///
    /// # Examples
    /// ```
    /// let placement = corewise::Machine::this()?.place("all")?;
    /// let report = placement.pin_all_threads()?;
    /// assert!(report.placed >= 1 && report.failed == 0, "{report:?}");
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn pin_all_threads(&self) -> Result<PinReport, PlaceError> {
        if !self.machine.is_here {
            return Err(PlaceError::Elsewhere);
        }
        let own = std::process::id();
        let mut report = PinReport::default();
        for (index, thread) in crate::threads::threads()?.into_iter().enumerate() {
            let Some(identity) = task::thread_identity(own, thread.id) else { continue };
            let outcome = match self.machine.wish.is_off {
                true => Ok(None),
                false => self.pin_other(index, identity, thread.cpus).transpose(),
            };
            match outcome {
                // It has ended.
                Ok(None) if !self.machine.wish.is_off => {}
                outcome => {
                    report.count_outcome(&outcome);
                    self.report.count_outcome(&outcome);
                }
            }
        }
        Ok(report)
    }

    /// Places a thread of this process; `None` if it has ended.
    fn pin_other(
        &self,
        index: usize,
        identity: process::ProcessIdentity,
        before: CpuSet,
    ) -> Option<Result<ThreadPin, PlaceError>> {
        let asked = self.mask_of(index);
        match identity.restrict_thread(&asked) {
            Ok(cpus) if cpus.is_subset(&asked) => Some(Ok(ThreadPin { asked, cpus, before })),
            Ok(got) => Some(Err(PlaceError::Changed { asked, got })),
            Err(error) if affinity::has_ended(&error) => None,
            Err(error) => Some(Err(PlaceError::Refused { cpus: asked, error })),
        }
    }

    /// Returns what came of placing threads so far, by this placement, its copies and their functions.
    ///
    /// # Examples
    /// ```
    /// let placement = corewise::Machine::this()?.place("all")?;
    /// assert_eq!(placement.report().placed, 0);
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn report(&self) -> PinReport {
        self.report.read_report()
    }
}

/// Prints as "spread(4, cluster): cpus 0,2,4,6".
impl fmt::Display for Placement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.order.len() == 1 { "cpu" } else { "cpus" };
        write!(formatter, "{}: {noun} {}", self.expression, self.cpus)
    }
}

#[cfg(test)]
mod tests {
    use corewise_machine::generate::one_package_machine;

    use super::*;
    use crate::Machine;

    fn stacked() -> Machine {
        let llcs = ["0-3,8-11", "4-7,12-15"].map(|list| (CpuSet::parse_list(list).unwrap(), 32));
        Machine::elsewhere(one_package_machine(16, true, &llcs))
    }

    #[test]
    fn threads_get_masks_unless_they_are_to_get_less() {
        let placement = stacked().place("spread(4, llc)").unwrap();
        let masks =
            |placement: &Placement| (0..5).map(|index| placement.mask_of(index).to_string()).collect::<Vec<_>>();
        assert_eq!(masks(&placement), ["0,1,4,5"; 5]);
        assert_eq!(masks(&placement.clone().within(Level::Llc)), ["0,1", "4,5", "0,1", "4,5", "0,1"]);
        assert_eq!(masks(&placement.one_cpu_each()), ["0", "4", "1", "5", "0"], "the fifth begins again");
    }

    #[test]
    fn a_placement_of_another_machine_places_nothing() {
        let placement = stacked().place("llc:1").unwrap();
        assert!(matches!(placement.pin_this_thread(0), Err(PlaceError::Elsewhere)));
        assert!(matches!(placement.pin_all_threads(), Err(PlaceError::Elsewhere)));
        placement.pin_in_turn()();
        assert_eq!((placement.report().failed, placement.report().placed), (2, 0));
        assert_eq!(placement.to_string(), "llc:1: cpus 4-7,12-15");
    }
}
