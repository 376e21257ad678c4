//! Evaluator of expressions. For each part it keeps the cpus in order, and the subset named by number.

use std::collections::BTreeMap;
use std::ops::Range;

use super::objects_by_cpu::ObjectsByCpu;
use super::{ExcludedCpus, ExclusionReason, ResolveContext, ResolvedExpression};
use crate::device;
use crate::facts::CoreType;
use crate::placement::error::PlacementError;
use crate::placement::expression::{ExpressionTerm, TermNode};
use crate::placement::order::{cores_first, format_counted};
use crate::placement::places::CpuPlaces;
use crate::placement::{CpuSetName, ObjectIndices, PlacementExpression, SetOperator, pattern};
use crate::suggested_command;
use crate::{CpuSet, Level, Machine};

type Result<T> = std::result::Result<T, PlacementError>;

impl PlacementExpression {
    /// Resolves the expression on a machine.
    ///
    /// # Errors
    /// [`PlacementError`] if the machine lacks something that the expression names, or if no cpu is left.
    ///
    /// # Examples
    /// ```
    /// use corewise_machine::placement::{self, ExclusionReason, ResolveContext};
    /// use corewise_machine::{CpuSet, Machine, generate::one_package_machine};
    ///
    /// let machine = one_package_machine(8, true, &[(CpuSet::first_cpus(8), 16)]);
    /// let machine = Machine { isolated: CpuSet::from_cpu(7), ..machine };
    /// let context = ResolveContext { machine: &machine, reachable: &machine.allowed, quiet: None, worth: None };
    /// let resolved = placement::parse("core:2-3")?.resolve_on(&context)?;
    /// assert_eq!((resolved.cpus.to_string(), resolved.order), ("2,3,6".to_owned(), vec![2, 3, 6]));
    /// assert_eq!(resolved.left_out[0].reason, ExclusionReason::Isolated);
    /// # Ok::<(), placement::PlacementError>(())
    /// ```
    pub fn resolve_on(&self, context: &ResolveContext<'_>) -> Result<ResolvedExpression> {
        let mut evaluator = ExpressionEvaluator::new(context);
        evaluator.resolve_expression(&self.term).map_err(|error| error.about_text(&self.text))
    }

    /// As [`Self::resolve_on`], but a cpu outside of `boundary` does not take part even if it is named by number: for programs that place
    /// themselves inside the mask that they inherited.
    ///
    /// # Errors
    /// As [`Self::resolve_on`].
    pub fn resolve_inside(&self, boundary: &CpuSet, context: &ResolveContext<'_>) -> Result<ResolvedExpression> {
        let mut evaluator = ExpressionEvaluator { boundary: Some(boundary), ..ExpressionEvaluator::new(context) };
        evaluator.resolve_expression(&self.term).map_err(|error| error.about_text(&self.text))
    }
}

/// Cpus of a part of an expression, before exclusions.
struct TermValue {
    cpus: CpuSet,
    /// The cpus in the order in which threads take them.
    order: Vec<u32>,
    /// The cpus named by number, by mask, or as `isolated`.
    named: CpuSet,
    /// The objects it consists of, if it consists of objects.
    objects: Option<Vec<CpuSet>>,
}

impl TermValue {
    /// Builds the value of a word.
    fn of_words(cpus: CpuSet, places: &CpuPlaces) -> Self {
        let order = cores_first(cpus.iter(), places);
        Self { cpus, order, named: CpuSet::new(), objects: None }
    }

    /// Builds the value of an ordered list that was not typed as numbers.
    fn from_order(order: Vec<u32>) -> Self {
        Self { cpus: order.iter().copied().collect(), order, named: CpuSet::new(), objects: None }
    }

    /// Builds the value of a number or a mask.
    fn from_numbers(order: Vec<u32>) -> Self {
        let cpus: CpuSet = order.iter().copied().collect();
        Self { named: cpus.clone(), cpus, order, objects: None }
    }

    fn join_with(self, operator: SetOperator, other: &Self) -> Self {
        let cpus = match operator {
            SetOperator::Union => self.cpus.union(&other.cpus),
            SetOperator::Without => self.cpus.difference(&other.cpus),
            SetOperator::Both => self.cpus.intersection(&other.cpus),
        };
        let named = match operator {
            SetOperator::Without => self.named,
            SetOperator::Union | SetOperator::Both => self.named.union(&other.named),
        };
        let new = other.order.iter().filter(|cpu| !self.cpus.contains(**cpu));
        let order = self.order.iter().chain(new).copied().filter(|cpu| cpus.contains(*cpu)).collect();
        Self { named: named.intersection(&cpus), cpus, order, objects: None }
    }
}

/// Resolves the terms of one expression.
pub struct ExpressionEvaluator<'a> {
    context: &'a ResolveContext<'a>,
    /// Cpus of which alone any may take part.
    boundary: Option<&'a CpuSet>,
    places: CpuPlaces,
    /// Cpus skipped by a pattern or `one-per-core`.
    passed_over: CpuSet,
    /// Cpus that take part without being named, once computed.
    usable_all: Option<Vec<u32>>,
    /// The last term that emptied the part before it, and why.
    emptied: Option<(Range<usize>, String)>,
    /// Notes for the user.
    notes: Vec<String>,
}

impl<'a> ExpressionEvaluator<'a> {
    pub fn new(context: &'a ResolveContext<'a>) -> Self {
        Self {
            context,
            boundary: None,
            places: CpuPlaces::new(context.machine),
            passed_over: CpuSet::new(),
            usable_all: None,
            emptied: None,
            notes: Vec::new(),
        }
    }

    /// Resolves the whole expression.
    pub fn resolve_expression(&mut self, term: &ExpressionTerm) -> Result<ResolvedExpression> {
        let value = self.evaluate_term(term)?;
        let order: Vec<u32> = self.usable_order(&value);
        let cpus: CpuSet = order.iter().copied().collect();
        let considered = value.cpus.union(&self.passed_over).difference(&cpus);
        let left_out = self.left_out(&considered, &value.named);
        if cpus.is_empty() {
            return Err(self.nothing_left(term, &value, &left_out));
        }
        Ok(ResolvedExpression { cpus, order, left_out, notes: std::mem::take(&mut self.notes) })
    }

    /// Returns the cpus of a value that take part, in their order.
    fn usable_order(&self, value: &TermValue) -> Vec<u32> {
        let takes_part = |cpu: &u32| self.exclusion_reason(*cpu, &value.named).is_none();
        value.order.iter().copied().filter(takes_part).collect()
    }

    fn exclusion_reason(&self, cpu: u32, named: &CpuSet) -> Option<ExclusionReason> {
        let is_outside = || self.boundary.is_some_and(|boundary| !boundary.contains(cpu));
        self.context.reason_among(cpu, named).or_else(|| is_outside().then_some(ExclusionReason::NotInMask))
    }

    fn left_out(&self, considered: &CpuSet, named: &CpuSet) -> Vec<ExcludedCpus> {
        let mut by_reason: BTreeMap<ExclusionReason, CpuSet> = BTreeMap::new();
        for cpu in considered.iter() {
            if let Some(reason) = self.exclusion_reason(cpu, named) {
                by_reason.entry(reason).or_default().insert(cpu);
            }
        }
        let left_out = |(reason, cpus): (ExclusionReason, CpuSet)| {
            let named = cpus.intersection(named);
            ExcludedCpus { reason, cpus, named }
        };
        by_reason.into_iter().map(left_out).collect()
    }

    fn nothing_left(&self, term: &ExpressionTerm, value: &TermValue, left_out: &[ExcludedCpus]) -> PlacementError {
        if value.cpus.is_empty() {
            return match &self.emptied {
                Some((at, why)) => PlacementError::new(at.clone(), why),
                None if matches!(term.node, TermNode::Not(_)) => {
                    let what = format!("no cpu is left: {term} excludes every cpu");
                    let error = PlacementError::new(term.at.clone(), what);
                    if self.notes.is_empty() { error } else { error.with_hint(self.notes.join(" ")) }
                }
                None => PlacementError::new(term.at.clone(), "this selects no cpu of this machine"),
            };
        }
        let reasons: Vec<String> =
            left_out.iter().map(|out| format_with_verb(&out.cpus, out.reason.reason_words())).collect();
        let error = PlacementError::new(term.at.clone(), format!("no cpu is left: {}", reasons.join(", ")));
        if self.boundary.is_none() && left_out.iter().any(|out| out.reason.yields_to_a_name()) {
            return error.with_hint(format!("select them by number: {}", value.cpus));
        }
        error
    }

    fn evaluate_term(&mut self, term: &ExpressionTerm) -> Result<TermValue> {
        match &term.node {
            TermNode::List(cpus) => {
                let set = cpus.iter().copied().collect();
                self.check_existence(&set, term).map(|()| TermValue::from_numbers(cpus.clone()))
            }
            TermNode::Mask(cpus) => {
                self.check_existence(cpus, term).map(|()| TermValue::from_numbers(cpus.iter().collect()))
            }
            TermNode::Name(name) => self.evaluate_name(*name, term),
            TermNode::Objects { of: None, level: Level::Cpu, indices: ObjectIndices::Numbers(cpus) } => {
                let set = cpus.iter().copied().collect();
                self.check_existence(&set, term).map(|()| TermValue::from_numbers(cpus.clone()))
            }
            TermNode::Objects { of: None, level, indices } => self.evaluate_objects(*level, indices, term),
            TermNode::Objects { of: Some(of), level, indices } => self.objects_in(of, *level, indices, term),
            TermNode::Pattern { pattern, count, level, among } => {
                self.has_groups(*level, term)?;
                let pool = self.evaluate_pool(among.as_deref())?;
                self.note_outside(&pool, *level, term);
                let chosen = pattern::choose_cpus(*pattern, *count as usize, *level, pool, &self.places);
                chosen.map(TermValue::from_order).map_err(|what| PlacementError::new(term.at.clone(), what))
            }
            TermNode::Best { count, among } => {
                let pool = self.evaluate_pool(among.as_deref())?;
                self.evaluate_best(*count as usize, &pool, term)
            }
            TermNode::Near(name) => self.evaluate_near(name, term),
            TermNode::Not(term) => {
                let value = self.evaluate_term(term)?;
                Ok(TermValue::of_words(self.known_cpus().difference(&value.cpus), &self.places))
            }
            TermNode::Chain(first, rest) => self.evaluate_chain(first, rest),
        }
    }

    /// Returns the usable cpus to choose from.
    fn evaluate_pool(&mut self, among: Option<&ExpressionTerm>) -> Result<Vec<u32>> {
        let Some(among) = among else { return Ok(self.usable_all()) };
        let value = self.evaluate_term(among)?;
        self.passed_over.extend(value.cpus.iter());
        Ok(self.usable_order(&value))
    }

    /// Chooses the cpus of a pool that are worth most now.
    fn evaluate_best(&mut self, count: usize, pool: &[u32], term: &ExpressionTerm) -> Result<TermValue> {
        let error = |what: String| PlacementError::new(term.at.clone(), what);
        let Some(worth) = self.context.worth else {
            let what = format!("{term}: the worth of these cpus is not known now");
            return Err(error(what).with_hint("it is known on the machine itself, while it runs"));
        };
        let chosen = worth.best_cpus(count, pool).map_err(|what| error(format!("{term}: {what}")))?;
        self.notes.extend(worth.reason_sentences(&chosen, pool).into_iter().map(|reason| format!("{term}: {reason}")));
        Ok(TermValue::from_order(chosen))
    }

    /// Returns the cpus near a device; notes the reason and any doubt.
    fn evaluate_near(&mut self, name: &str, term: &ExpressionTerm) -> Result<TermValue> {
        let device = device::find_device(self.machine(), name).map_err(|error| {
            PlacementError::new(term.at.clone(), format!("{term}: {}", error.what)).with_hint(error.hint)
        })?;
        let near = device::cpus_near(device, self.machine());
        let doubt = near.doubt.map(|doubt| format!("; {doubt}")).unwrap_or_default();
        let note = format!("{term}: {}{doubt}.", near.reason);
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
        Ok(TermValue::of_words(near.cpus, &self.places))
    }

    /// Notes the cpus that a pattern takes last because they are in no object of its level.
    fn note_outside(&mut self, pool: &[u32], level: Level, term: &ExpressionTerm) {
        let outside: CpuSet = pool.iter().copied().filter(|cpu| !self.places.is_in_one(*cpu, level)).collect();
        if !outside.is_empty() {
            self.notes
                .push(format!("{}; {term} takes them last.", format_with_verb(&outside, &format!("in no {level}"))));
        }
    }

    fn evaluate_chain(&mut self, first: &ExpressionTerm, rest: &[(SetOperator, ExpressionTerm)]) -> Result<TermValue> {
        let mut value = self.evaluate_term(first)?;
        for (operator, term) in rest {
            let other = self.evaluate_term(term)?;
            let before = !value.cpus.is_empty();
            value = value.join_with(*operator, &other);
            if before && value.cpus.is_empty() {
                let why = match operator {
                    SetOperator::Without => format!("no cpu is left: {term} removes everything before it"),
                    _ => format!("no cpu is left: {term} has no cpu in common with the part before it"),
                };
                self.emptied = Some((term.at.clone(), why));
            }
        }
        Ok(value)
    }

    /// Returns every cpu of the machine, online or not.
    fn known_cpus(&self) -> CpuSet {
        self.machine().present.union(&self.machine().online)
    }

    fn machine(&self) -> &'a Machine {
        self.context.machine
    }

    /// Returns the cpus that take part without being named, one of each core before its siblings.
    fn usable_all(&mut self) -> Vec<u32> {
        if let Some(usable) = &self.usable_all {
            return usable.clone();
        }
        let all = TermValue::of_words(self.known_cpus(), &self.places);
        self.passed_over.extend(all.cpus.iter());
        let usable = self.usable_order(&all);
        self.usable_all = Some(usable.clone());
        usable
    }

    fn check_existence(&self, cpus: &CpuSet, term: &ExpressionTerm) -> Result<()> {
        let unknown = cpus.difference(&self.known_cpus());
        if cpus.is_empty() {
            return Err(PlacementError::new(term.at.clone(), "a mask of 0 selects no cpu"));
        }
        if unknown.is_empty() {
            return Ok(());
        }
        let what = format!("{}: this machine has cpus {}", format_counted(&unknown), self.known_cpus());
        let error = PlacementError::new(term.at.clone(), what);
        // Users of taskset type 55 for 0x55.
        let mask = match &term.node {
            TermNode::List(cpus) if cpus.len() == 1 => CpuSet::parse_mask(&cpus[0].to_string()).ok(),
            _ => None,
        };
        Err(match mask.filter(|mask| mask.is_subset(&self.known_cpus())) {
            Some(mask) => {
                error.with_hint(format!("a mask has 0x: 0x{} is {}", mask.to_hexadecimal(), format_counted(&mask)))
            }
            None => error,
        })
    }

    fn evaluate_objects(&self, level: Level, indices: &ObjectIndices, term: &ExpressionTerm) -> Result<TermValue> {
        self.has_groups(level, term)?;
        let objects = self.machine().objects_of(level);
        let chosen = indices.resolve_among(objects.len()).map_err(|_| {
            let last = objects.len().saturating_sub(1);
            let what = format!("{term}: this machine has {}", format_level_range(level, last));
            PlacementError::new(term.at.clone(), what)
        })?;
        self.of_objects(chosen.into_iter().map(|index| objects[index].clone()).collect(), term)
    }

    /// Checks that groups are known if the level is `group`.
    fn has_groups(&self, level: Level, term: &ExpressionTerm) -> Result<()> {
        if level != Level::Group || !self.machine().groups.is_empty() {
            return Ok(());
        }
        let error = PlacementError::new(term.at.clone(), "group: no link map of this machine shows groups");
        let links = suggested_command::links().quoted_line();
        Err(error
            .with_hint(format!("make a map with {links} on the machine itself; last-level caches are llc:0, llc:1, …")))
    }

    fn of_objects(&self, objects: Vec<CpuSet>, term: &ExpressionTerm) -> Result<TermValue> {
        let cpus: CpuSet = objects.iter().flat_map(CpuSet::iter).collect();
        if cpus.is_empty() {
            let what =
                if objects.is_empty() { format!("{term} selects nothing here") } else { format!("{term} has no cpus") };
            return Err(PlacementError::new(term.at.clone(), what));
        }
        let order = cores_first(objects.iter().flat_map(CpuSet::iter), &self.places);
        // Objects may share a cpu if their levels overlap.
        let mut seen = CpuSet::new();
        let order = order.into_iter().filter(|cpu| seen.insert(*cpu)).collect();
        Ok(TermValue { cpus, order, named: CpuSet::new(), objects: Some(objects) })
    }

    /// Returns the objects of a level in each object of a term. For a term without objects, it searches its usable cpus.
    fn objects_in(
        &mut self,
        of: &ExpressionTerm,
        level: Level,
        indices: &ObjectIndices,
        term: &ExpressionTerm,
    ) -> Result<TermValue> {
        self.has_groups(level, term)?;
        let value = self.evaluate_term(of)?;
        let containers = match &value.objects {
            Some(objects) => objects.clone(),
            None => vec![self.usable_order(&value).into_iter().collect()],
        };
        let objects = ObjectsByCpu::new(self.machine().objects_of(level));
        let mut chosen = Vec::new();
        for container in containers {
            let inside = objects.objects_inside(&container);
            let wanted = indices.resolve_among(inside.len()).map_err(|_| {
                let there = match inside.len() {
                    0 => "nothing usable".to_owned(),
                    count => format_level_range(level, count - 1),
                };
                PlacementError::new(term.at.clone(), format!("{level}:{indices}: {of} has {there}"))
            })?;
            chosen.extend(wanted.into_iter().map(|index| inside[index].clone()));
        }
        let mut value_inside = self.of_objects(chosen, term)?;
        value_inside.named = value.named.intersection(&value_inside.cpus);
        Ok(value_inside)
    }

    fn evaluate_name(&mut self, name: CpuSetName, term: &ExpressionTerm) -> Result<TermValue> {
        let machine = self.machine();
        let cpus = match name {
            CpuSetName::All => self.known_cpus(),
            CpuSetName::Online => machine.online.clone(),
            CpuSetName::Performance => self.evaluate_kind(CoreType::Performance, term)?,
            CpuSetName::Efficiency => self.evaluate_kind(CoreType::Efficiency, term)?,
            CpuSetName::LowPower => self.evaluate_kind(CoreType::LowPower, term)?,
            CpuSetName::Vcache => self.stacked_cache(true, term)?,
            CpuSetName::Frequency => self.stacked_cache(false, term)?,
            CpuSetName::Quiet => self.evaluate_quiet(term)?,
            CpuSetName::Isolated => {
                let isolated = machine.isolated.intersection(&self.known_cpus());
                if isolated.is_empty() {
                    return Err(PlacementError::new(term.at.clone(), "isolated: this kernel isolates no cpu"));
                }
                return Ok(TermValue::from_numbers(cores_first(isolated.iter(), &self.places)));
            }
            CpuSetName::OnePerCore => {
                let usable = self.usable_all();
                let cores = self.places.group_by_level(&usable, Level::Core);
                return Ok(TermValue::from_order(cores.into_iter().map(|cpus| cpus[0]).collect()));
            }
            CpuSetName::WithMemory => self.places.with_memory(&machine.online),
            CpuSetName::CheapMemory => machine.cheap_memory().ok_or_else(|| {
                let what = "cheap-memory: no map of memory of this machine is known";
                let memory = suggested_command::memory().quoted_line();
                PlacementError::new(term.at.clone(), what).with_hint(format!(
                    "{memory} makes one on the machine itself; `with-memory` goes by what the system reports"
                ))
            })?,
        };
        Ok(TermValue::of_words(cpus, &self.places))
    }

    fn evaluate_kind(&self, wanted: CoreType, term: &ExpressionTerm) -> Result<CpuSet> {
        let kinds = &self.machine().kinds;
        let found = kinds.iter().find(|kind| kind.core_type == wanted);
        found.map(|kind| kind.cpus.intersection(&self.machine().online)).ok_or_else(|| {
            let there = match kinds.len() {
                0 => "all cores of this machine are of one kind".to_owned(),
                _ => {
                    let words: Vec<&str> = kinds.iter().map(|kind| kind.core_type.word()).collect();
                    format!("the kinds of core here are {}", words.join(" and "))
                }
            };
            PlacementError::new(term.at.clone(), format!("{}: {there}", wanted.word()))
        })
    }

    fn stacked_cache(&self, stacked: bool, term: &ExpressionTerm) -> Result<CpuSet> {
        let llcs = &self.machine().llcs;
        if !llcs.iter().any(|llc| llc.vcache) {
            let is_known = llcs.len() == 1 || llcs.iter().all(|llc| llc.size_bytes.is_some());
            let what = match is_known {
                true => format!("{term}: no die of this machine has stacked cache"),
                false => format!("{term}: the sizes of this machine's last-level caches are not known"),
            };
            return Err(PlacementError::new(term.at.clone(), what));
        }
        let cpus = llcs.iter().filter(|llc| llc.vcache == stacked).flat_map(|llc| llc.cpus.iter());
        let cpus: CpuSet = cpus.collect();
        if cpus.is_empty() {
            let what = "frequency: every die of this machine has stacked cache";
            return Err(PlacementError::new(term.at.clone(), what));
        }
        Ok(cpus)
    }

    fn evaluate_quiet(&self, term: &ExpressionTerm) -> Result<CpuSet> {
        let Some(quiet) = self.context.quiet else {
            let error = PlacementError::new(term.at.clone(), "quiet: there is no survey of this machine");
            return Err(error.with_hint("quiet needs a survey; run `corewise` on the machine itself"));
        };
        if quiet.is_empty() {
            let what = "quiet: the survey of this machine found no cpu quieter than the others";
            return Err(PlacementError::new(term.at.clone(), what));
        }
        Ok(quiet.intersection(&self.machine().online))
    }
}

/// Formats a range of objects: "llc:0" or "llc:0-3".
fn format_level_range(level: Level, last: usize) -> String {
    if last == 0 { format!("{level}:0 only") } else { format!("{level}:0-{last}") }
}

fn format_with_verb(cpus: &CpuSet, what: &str) -> String {
    format!("{} {} {what}", format_counted(cpus), if cpus.len() == 1 { "is" } else { "are" })
}
