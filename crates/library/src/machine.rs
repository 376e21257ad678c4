//! The machine that a program runs on, and placements on it.

use std::sync::Arc;

use corewise_machine::placement::{self, KnownMachine, PlacementExpression, ResolvedExpression, split_cpus};
use corewise_machine::{CpuSet, Level};
use corewise_sys::{Root, topology};

use crate::error::PlaceError;
use crate::limits::ProcessLimits;
use crate::parallelism::{Parallelism, Role};
use crate::placed_machine::PlacedMachine;
use crate::placement::{Placement, PlacementSource};
use crate::user_wish::{PLACE_VARIABLE, SWITCH_VARIABLE, UserWish};
use crate::worth::PublishedKnowledge;

/// The cpus that a program may use, for cpus of its own choice.
const ALL: &str = "all";

/// A machine, with the limits of this process and the wishes of its user. Copies share it.
///
/// # Examples
/// ```
/// let machine = corewise::Machine::this()?;
/// let placement = machine.place("all")?;
/// println!("{placement}");
/// # Ok::<(), corewise::PlaceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Machine(pub(crate) Arc<PlacedMachine>);

impl Machine {
    /// Reads this machine, the limits of this process, and the variables `COREWISE` and `COREWISE_PLACE`. Takes some milliseconds.
    ///
    /// The main thread's mask counts as the inherited one, so read the machine before that thread is pinned.
    ///
    /// # Errors
    /// If the system names no cpu.
    ///
    /// # Examples
    /// ```
    /// let machine = corewise::Machine::this()?;
    /// assert!(!machine.cpus().is_empty());
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn this() -> Result<Self, PlaceError> {
        Self::with_wish(UserWish::from_environment())
    }

    /// As [`Self::this`], whatever the environment says.
    pub(crate) fn with_wish(wish: UserWish) -> Result<Self, PlaceError> {
        let machine = topology::read_machine(&Root::this_machine())?;
        let limits = ProcessLimits::read_here(&machine);
        Ok(Self(Arc::new(PlacedMachine { machine, limits, wish, is_here: true })))
    }

    /// Plans on a machine that was read elsewhere or described. Its placements have cpus, but place no thread.
    ///
    /// # Examples
    /// ```
    /// use corewise::{CpuSet, Machine};
    /// use corewise_machine::generate::one_package_machine;
    ///
    /// // 8 cores, siblings n and n + 8, two last-level caches.
    /// let llcs = ["0-3,8-11", "4-7,12-15"].map(|list| (CpuSet::parse_list(list).unwrap(), 32));
    /// let machine = Machine::elsewhere(one_package_machine(16, true, &llcs));
    /// assert_eq!(machine.place("spread(4, llc)")?.order(), [0, 4, 1, 5]);
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn elsewhere(machine: corewise_machine::Machine) -> Self {
        let limits = ProcessLimits::of_machine(&machine);
        Self(Arc::new(PlacedMachine { machine, limits, wish: UserWish::default(), is_here: false }))
    }

    /// Returns what is known of the machine: its caches, nodes, kinds of core, and the facts that are not known.
    ///
    /// # Examples
    /// ```
    /// let machine = corewise::Machine::this()?;
    /// println!("{} last-level caches", machine.facts().llcs.len());
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn facts(&self) -> &corewise_machine::Machine {
        &self.0.machine
    }

    /// Returns the cpus that the program may use: inside the cpuset and the inherited mask, without isolated ones; or the cpus of
    /// `COREWISE_PLACE`. Empty only if that expression selects none.
    ///
    /// # Examples
    /// ```
    /// let cpus = corewise::Machine::this()?.cpus();
    /// println!("{} cpus: {cpus}", cpus.len());
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn cpus(&self) -> CpuSet {
        self.place(ALL).map(|placement| placement.cpus().clone()).unwrap_or_default()
    }

    /// Selects cpus by an expression of the placement language, such as `llc:0`, `all - core:0` or `spread(8, llc)`.
    ///
    /// Names select usable cpus. A cpu that is named by its number must be usable; isolated ones are, by number or as `isolated`.
    ///
    /// # Errors
    /// If the expression has a mistake, selects no usable cpu, or names one by number that is not usable.
    ///
    /// # Examples
    /// ```
    /// let machine = corewise::Machine::this()?;
    /// let placement = machine.place("one-per-core")?;
    /// assert!(placement.cpus().is_subset(&machine.cpus()));
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn place(&self, expression: &str) -> Result<Placement, PlaceError> {
        let source = match &self.0.wish.place {
            Some(_) => PlacementSource::Person { instead_of: expression.to_owned() },
            None => PlacementSource::Program,
        };
        self.place_from(expression, source)
    }

    /// As [`Self::place`], with another source of the expression.
    pub(crate) fn place_from(&self, expression: &str, source: PlacementSource) -> Result<Placement, PlaceError> {
        let by_person = matches!(source, PlacementSource::Person { .. });
        let text = self.0.wish.place.as_deref().filter(|_| by_person).unwrap_or(expression);
        let failed = |error| PlaceError::Expression { error, by_person };
        let parsed: PlacementExpression = placement::parse(text).map_err(failed)?;
        let known = KnownMachine::load_knowledge(&self.0.machine, [&parsed], &PublishedKnowledge);
        let context = known.resolve_context(&self.0.limits.cpuset);
        let found = parsed.resolve_inside(&self.0.limits.boundary, &context).map_err(failed)?;
        let ResolvedExpression { order, left_out, mut notes, .. } = found;
        let excluded: Vec<_> = left_out.iter().filter(|out| !out.named.is_empty()).cloned().collect();
        if !excluded.is_empty() {
            return Err(PlaceError::Excluded { excluded });
        }
        notes.extend(self.describe_wish(&source));
        notes.extend(self.describe_quota(order.len()));
        Ok(Placement::new(self.0.clone(), text.to_owned(), order, (left_out, notes)))
    }

    fn describe_wish(&self, source: &PlacementSource) -> Vec<String> {
        let replaced = match source {
            PlacementSource::Person { instead_of } => {
                Some(format!("The variable {PLACE_VARIABLE} replaces {instead_of}."))
            }
            _ => None,
        };
        let off = self.0.wish.is_off.then(|| format!("Threads are left alone: {SWITCH_VARIABLE} is \"off\"."));
        replaced.into_iter().chain(off).chain(self.0.wish.doubt.clone()).collect()
    }

    fn describe_quota(&self, cpus: usize) -> Option<String> {
        let (group, quota) = self.0.limits.quota.as_ref().filter(|(_, quota)| *quota < cpus as f64)?;
        Some(format!(
            "The control group {group} gives the time of {quota} cpus: {cpus} busy threads are stopped in each period."
        ))
    }

    /// Divides the usable cpus among ranks, workers or devices: disjoint parts of whole cores, and of whole caches if they come out about
    /// even. Together they are all usable cpus.
    ///
    /// # Errors
    /// If there are more ranks than usable cpus, or none.
    ///
    /// # Examples
    /// ```
    /// let parts = corewise::Machine::this()?.split(1)?;
    /// assert_eq!(parts[0].cpus(), &corewise::Machine::this()?.cpus());
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn split(&self, ranks: usize) -> Result<Vec<Placement>, PlaceError> {
        let whole = self.place(ALL)?;
        let part = |(rank, order): (usize, Vec<u32>)| {
            let mut notes = vec![format!("Part {rank} of {ranks}, counted from 0.")];
            notes.extend(whole.notes().iter().cloned());
            let list = placement::format_list(&order);
            Placement::new(self.0.clone(), list, order, (whole.left_out().to_vec(), notes))
        };
        Ok(split_cpus(&self.0.machine, whole.cpus(), ranks)?.into_iter().enumerate().map(part).collect())
    }

    /// Returns the number of threads that makes sense for a role: by usable cores, cpus or caches, and the quota of processor time.
    ///
    /// # Examples
    /// ```
    /// use corewise::Role;
    ///
    /// let machine = corewise::Machine::this()?;
    /// assert!(machine.parallelism(Role::Compute).get() <= machine.parallelism(Role::Mixed).get());
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn parallelism(&self, role: Role) -> Parallelism {
        Parallelism::count_threads(&self.0.machine, &self.cpus(), role, self.0.limits.quota.as_ref())
    }

    /// Returns the usable cpus in the object of a level that holds a cpu: those near it. Empty if the cpu is in none.
    ///
    /// # Examples
    /// ```
    /// use corewise::Level;
    ///
    /// let machine = corewise::Machine::this()?;
    /// let cpu = machine.cpus().lowest().unwrap();
    /// assert!(machine.near(cpu, Level::Core).is_subset(&machine.near(cpu, Level::Package)));
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn near(&self, cpu: u32, level: Level) -> CpuSet {
        let object = self.0.machine.objects_of(level).into_iter().find(|object| object.contains(cpu));
        object.map(|object| object.intersection(&self.cpus())).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here(wish: UserWish) -> Machine {
        Machine::with_wish(wish).unwrap()
    }

    #[test]
    fn the_person_who_runs_the_program_can_replace_its_expressions() {
        let first = here(UserWish::default()).cpus().lowest().unwrap();
        let machine = here(UserWish { place: Some(first.to_string()), ..UserWish::default() });
        let placement = machine.place("spread(4096, core)").unwrap();
        assert_eq!(placement.order(), [first]);
        assert!(placement.notes()[0].contains("COREWISE_PLACE replaces spread(4096, core)"), "{:?}", placement.notes());
        assert_eq!(machine.cpus(), CpuSet::from_cpu(first));
        assert_eq!((machine.parallelism(Role::Mixed).get(), machine.split(1).unwrap().len()), (1, 1));
        let wrong = here(UserWish { place: Some("lcc:0".to_owned()), ..UserWish::default() });
        let error = wrong.place("all").unwrap_err().to_string();
        assert!(error.starts_with("COREWISE_PLACE=lcc:0: "), "{error}");
    }

    #[test]
    fn what_was_turned_off_places_no_thread_and_says_so() {
        let machine = here(UserWish { is_off: true, ..UserWish::default() });
        let placement = machine.place("all").unwrap().one_cpu_each();
        assert!(placement.notes().iter().any(|note| note.contains("COREWISE is \"off\"")));
        let pin = placement.pin_by_index();
        let before = corewise_sys::affinity::current_affinity().unwrap();
        pin(0);
        assert_eq!(corewise_sys::affinity::current_affinity().unwrap(), before);
        assert_eq!((placement.report().left_alone, placement.report().placed), (1, 0));
    }

    #[test]
    fn a_quota_is_noted_only_if_it_is_smaller_than_the_placement() {
        let facts = corewise_machine::generate::one_package_machine(8, false, &[(CpuSet::first_cpus(8), 16)]);
        let limits = ProcessLimits { quota: Some(("/box".to_owned(), 2.5)), ..ProcessLimits::of_machine(&facts) };
        let machine = PlacedMachine { machine: facts, limits, wish: UserWish::default(), is_here: false };
        let machine = Machine(Arc::new(machine));
        assert!(machine.place("0-2").unwrap().notes()[0].contains("/box gives the time of 2.5 cpus"));
        assert!(machine.place("0,1").unwrap().notes().is_empty());
        assert_eq!(machine.parallelism(Role::Compute).get(), 3);
    }
}
