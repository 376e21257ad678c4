//! Evaluator of expressions. For each part it keeps the cpus in order, and the subset named by number.

use std::collections::BTreeMap;
use std::ops::Range;

use super::holders::Holders;
use super::{Context, LeftOut, Reason, Resolution};
use crate::device;
use crate::facts::CoreType;
use crate::placement::error::PlacementError;
use crate::placement::expression::{Node, Term};
use crate::placement::order::{cores_first, counted};
use crate::placement::places::Places;
use crate::placement::{Expression, Indices, Name, Operator, pattern};
use crate::suggested_command;
use crate::{CpuSet, Level, Machine};

type Result<T> = std::result::Result<T, PlacementError>;

impl Expression {
    /// Resolves the expression on a machine.
    ///
    /// # Errors
    /// [`PlacementError`] if the machine lacks something that the expression names, or if no cpu is left.
    pub fn resolve(&self, context: &Context<'_>) -> Result<Resolution> {
        let mut evaluator = Evaluator::new(context);
        evaluator.resolution(&self.term).map_err(|error| error.about(&self.text))
    }
}

/// Cpus of a part of an expression, before exclusions.
struct Value {
    cpus: CpuSet,
    /// The cpus in the order in which threads take them.
    order: Vec<u32>,
    /// The cpus named by number, by mask, or as `isolated`.
    named: CpuSet,
    /// The objects it consists of, if it consists of objects.
    objects: Option<Vec<CpuSet>>,
}

impl Value {
    /// Builds the value of a word.
    fn of_words(cpus: CpuSet, places: &Places) -> Self {
        let order = cores_first(cpus.iter(), places);
        Self { cpus, order, named: CpuSet::new(), objects: None }
    }

    /// Builds the value of an ordered list that was not typed as numbers.
    fn ordered(order: Vec<u32>) -> Self {
        Self { cpus: order.iter().copied().collect(), order, named: CpuSet::new(), objects: None }
    }

    /// Builds the value of a number or a mask.
    fn named(order: Vec<u32>) -> Self {
        let cpus: CpuSet = order.iter().copied().collect();
        Self { named: cpus.clone(), cpus, order, objects: None }
    }

    fn joined(self, operator: Operator, other: &Self) -> Self {
        let cpus = match operator {
            Operator::Union => self.cpus.union(&other.cpus),
            Operator::Without => self.cpus.difference(&other.cpus),
            Operator::Both => self.cpus.intersection(&other.cpus),
        };
        let named = match operator {
            Operator::Without => self.named,
            Operator::Union | Operator::Both => self.named.union(&other.named),
        };
        let new = other.order.iter().filter(|cpu| !self.cpus.contains(**cpu));
        let order = self.order.iter().chain(new).copied().filter(|cpu| cpus.contains(*cpu)).collect();
        Self { named: named.intersection(&cpus), cpus, order, objects: None }
    }
}

/// Resolves the terms of one expression.
pub struct Evaluator<'a> {
    context: &'a Context<'a>,
    places: Places,
    /// Cpus skipped by a pattern or `one-per-core`.
    passed_over: CpuSet,
    /// Cpus that take part without being named, once computed.
    usable_all: Option<Vec<u32>>,
    /// The last term that emptied the part before it, and why.
    emptied: Option<(Range<usize>, String)>,
    /// Notes for the user.
    notes: Vec<String>,
}

impl<'a> Evaluator<'a> {
    pub fn new(context: &'a Context<'a>) -> Self {
        Self {
            context,
            places: Places::new(context.machine),
            passed_over: CpuSet::new(),
            usable_all: None,
            emptied: None,
            notes: Vec::new(),
        }
    }

    /// Resolves the whole expression.
    pub fn resolution(&mut self, term: &Term) -> Result<Resolution> {
        let value = self.value(term)?;
        let order: Vec<u32> = self.usable(&value);
        let cpus: CpuSet = order.iter().copied().collect();
        let considered = value.cpus.union(&self.passed_over).difference(&cpus);
        let left_out = self.left_out(&considered, &value.named);
        if cpus.is_empty() {
            return Err(self.nothing_left(term, &value, &left_out));
        }
        Ok(Resolution { cpus, order, left_out, notes: std::mem::take(&mut self.notes) })
    }

    /// Returns the cpus of a value that take part, in their order.
    fn usable(&self, value: &Value) -> Vec<u32> {
        let takes_part = |cpu: &u32| self.context.reason_among(*cpu, &value.named).is_none();
        value.order.iter().copied().filter(takes_part).collect()
    }

    fn left_out(&self, considered: &CpuSet, named: &CpuSet) -> Vec<LeftOut> {
        let mut by_reason: BTreeMap<Reason, CpuSet> = BTreeMap::new();
        for cpu in considered.iter() {
            if let Some(reason) = self.context.reason_among(cpu, named) {
                by_reason.entry(reason).or_default().insert(cpu);
            }
        }
        let left_out = |(reason, cpus): (Reason, CpuSet)| {
            let named = cpus.intersection(named);
            LeftOut { reason, cpus, named }
        };
        by_reason.into_iter().map(left_out).collect()
    }

    fn nothing_left(&self, term: &Term, value: &Value, left_out: &[LeftOut]) -> PlacementError {
        if value.cpus.is_empty() {
            return match &self.emptied {
                Some((at, why)) => PlacementError::new(at.clone(), why),
                None if matches!(term.node, Node::Not(_)) => {
                    let what = format!("no cpu is left: {term} excludes every cpu");
                    let error = PlacementError::new(term.at.clone(), what);
                    if self.notes.is_empty() { error } else { error.hint(self.notes.join(" ")) }
                }
                None => PlacementError::new(term.at.clone(), "this selects no cpu of this machine"),
            };
        }
        let reasons: Vec<String> = left_out.iter().map(|out| are(&out.cpus, out.reason.words())).collect();
        let error = PlacementError::new(term.at.clone(), format!("no cpu is left: {}", reasons.join(", ")));
        if left_out.iter().any(|out| out.reason.yields_to_a_name()) {
            return error.hint(format!("select them by number: {}", value.cpus));
        }
        error
    }

    fn value(&mut self, term: &Term) -> Result<Value> {
        match &term.node {
            Node::List(cpus) => {
                let set = cpus.iter().copied().collect();
                self.exist(&set, term).map(|()| Value::named(cpus.clone()))
            }
            Node::Mask(cpus) => self.exist(cpus, term).map(|()| Value::named(cpus.iter().collect())),
            Node::Name(name) => self.name(*name, term),
            Node::Objects { of: None, level: Level::Cpu, indices: Indices::Numbers(cpus) } => {
                let set = cpus.iter().copied().collect();
                self.exist(&set, term).map(|()| Value::named(cpus.clone()))
            }
            Node::Objects { of: None, level, indices } => self.objects(*level, indices, term),
            Node::Objects { of: Some(of), level, indices } => self.objects_in(of, *level, indices, term),
            Node::Pattern { pattern, count, level, among } => {
                self.has_groups(*level, term)?;
                let pool = self.pool(among.as_deref())?;
                self.note_outside(&pool, *level, term);
                let chosen = pattern::choose(*pattern, *count as usize, *level, pool, &self.places);
                chosen.map(Value::ordered).map_err(|what| PlacementError::new(term.at.clone(), what))
            }
            Node::Best { count, among } => {
                let pool = self.pool(among.as_deref())?;
                self.best(*count as usize, &pool, term)
            }
            Node::Near(name) => self.near(name, term),
            Node::Not(term) => {
                let value = self.value(term)?;
                Ok(Value::of_words(self.known().difference(&value.cpus), &self.places))
            }
            Node::Chain(first, rest) => self.chain(first, rest),
        }
    }

    /// Returns the usable cpus to choose from.
    fn pool(&mut self, among: Option<&Term>) -> Result<Vec<u32>> {
        let Some(among) = among else { return Ok(self.usable_all()) };
        let value = self.value(among)?;
        self.passed_over.extend(value.cpus.iter());
        Ok(self.usable(&value))
    }

    /// Chooses the cpus of a pool that are worth most now.
    fn best(&mut self, count: usize, pool: &[u32], term: &Term) -> Result<Value> {
        let error = |what: String| PlacementError::new(term.at.clone(), what);
        let Some(worth) = self.context.worth else {
            let what = format!("{term}: the worth of these cpus is not known now");
            return Err(error(what).hint("it is known on the machine itself, while it runs"));
        };
        let chosen = worth.best(count, pool).map_err(|what| error(format!("{term}: {what}")))?;
        self.notes.extend(worth.reasons(&chosen, pool).into_iter().map(|reason| format!("{term}: {reason}")));
        Ok(Value::ordered(chosen))
    }

    /// Returns the cpus near a device; notes the reason and any doubt.
    fn near(&mut self, name: &str, term: &Term) -> Result<Value> {
        let device = device::find(self.machine(), name).map_err(|error| {
            PlacementError::new(term.at.clone(), format!("{term}: {}", error.what)).hint(error.hint)
        })?;
        let near = device::near(device, self.machine());
        let doubt = near.doubt.map(|doubt| format!("; {doubt}")).unwrap_or_default();
        let note = format!("{term}: {}{doubt}.", near.reason);
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
        Ok(Value::of_words(near.cpus, &self.places))
    }

    /// Notes the cpus that a pattern takes last because they are in no object of its level.
    fn note_outside(&mut self, pool: &[u32], level: Level, term: &Term) {
        let outside: CpuSet = pool.iter().copied().filter(|cpu| !self.places.is_in_one(*cpu, level)).collect();
        if !outside.is_empty() {
            self.notes.push(format!("{}; {term} takes them last.", are(&outside, &format!("in no {level}"))));
        }
    }

    fn chain(&mut self, first: &Term, rest: &[(Operator, Term)]) -> Result<Value> {
        let mut value = self.value(first)?;
        for (operator, term) in rest {
            let other = self.value(term)?;
            let before = !value.cpus.is_empty();
            value = value.joined(*operator, &other);
            if before && value.cpus.is_empty() {
                let why = match operator {
                    Operator::Without => format!("no cpu is left: {term} removes everything before it"),
                    _ => format!("no cpu is left: {term} has no cpu in common with the part before it"),
                };
                self.emptied = Some((term.at.clone(), why));
            }
        }
        Ok(value)
    }

    /// Returns every cpu of the machine, online or not.
    fn known(&self) -> CpuSet {
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
        let all = Value::of_words(self.known(), &self.places);
        self.passed_over.extend(all.cpus.iter());
        let usable = self.usable(&all);
        self.usable_all = Some(usable.clone());
        usable
    }

    fn exist(&self, cpus: &CpuSet, term: &Term) -> Result<()> {
        let unknown = cpus.difference(&self.known());
        if cpus.is_empty() {
            return Err(PlacementError::new(term.at.clone(), "a mask of 0 selects no cpu"));
        }
        if unknown.is_empty() {
            return Ok(());
        }
        let what = format!("{}: this machine has cpus {}", counted(&unknown), self.known());
        let error = PlacementError::new(term.at.clone(), what);
        // Users of taskset type 55 for 0x55.
        let mask = match &term.node {
            Node::List(cpus) if cpus.len() == 1 => CpuSet::parse_mask(&cpus[0].to_string()).ok(),
            _ => None,
        };
        Err(match mask.filter(|mask| mask.is_subset(&self.known())) {
            Some(mask) => error.hint(format!("a mask has 0x: 0x{} is {}", mask.to_hexadecimal(), counted(&mask))),
            None => error,
        })
    }

    fn objects(&self, level: Level, indices: &Indices, term: &Term) -> Result<Value> {
        self.has_groups(level, term)?;
        let objects = self.machine().objects(level);
        let chosen = indices.among(objects.len()).map_err(|_| {
            let last = objects.len().saturating_sub(1);
            let what = format!("{term}: this machine has {}", range(level, last));
            PlacementError::new(term.at.clone(), what)
        })?;
        self.of_objects(chosen.into_iter().map(|index| objects[index].clone()).collect(), term)
    }

    /// Checks that groups are known if the level is `group`.
    fn has_groups(&self, level: Level, term: &Term) -> Result<()> {
        if level != Level::Group || !self.machine().groups.is_empty() {
            return Ok(());
        }
        let error = PlacementError::new(term.at.clone(), "group: no link map of this machine shows groups");
        let links = suggested_command::links().mention();
        Err(error.hint(format!("make a map with {links} on the machine itself; last-level caches are llc:0, llc:1, …")))
    }

    fn of_objects(&self, objects: Vec<CpuSet>, term: &Term) -> Result<Value> {
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
        Ok(Value { cpus, order, named: CpuSet::new(), objects: Some(objects) })
    }

    /// Returns the objects of a level in each object of a term. For a term without objects, it searches its usable cpus.
    fn objects_in(&mut self, of: &Term, level: Level, indices: &Indices, term: &Term) -> Result<Value> {
        self.has_groups(level, term)?;
        let value = self.value(of)?;
        let containers = match &value.objects {
            Some(objects) => objects.clone(),
            None => vec![self.usable(&value).into_iter().collect()],
        };
        let objects = Holders::new(self.machine().objects(level));
        let mut chosen = Vec::new();
        for container in containers {
            let inside = objects.inside(&container);
            let wanted = indices.among(inside.len()).map_err(|_| {
                let there = match inside.len() {
                    0 => "nothing usable".to_owned(),
                    count => range(level, count - 1),
                };
                PlacementError::new(term.at.clone(), format!("{level}:{indices}: {of} has {there}"))
            })?;
            chosen.extend(wanted.into_iter().map(|index| inside[index].clone()));
        }
        let mut value_inside = self.of_objects(chosen, term)?;
        value_inside.named = value.named.intersection(&value_inside.cpus);
        Ok(value_inside)
    }

    fn name(&mut self, name: Name, term: &Term) -> Result<Value> {
        let machine = self.machine();
        let cpus = match name {
            Name::All => self.known(),
            Name::Online => machine.online.clone(),
            Name::Performance => self.kind(CoreType::Performance, term)?,
            Name::Efficiency => self.kind(CoreType::Efficiency, term)?,
            Name::LowPower => self.kind(CoreType::LowPower, term)?,
            Name::Vcache => self.stacked_cache(true, term)?,
            Name::Frequency => self.stacked_cache(false, term)?,
            Name::Quiet => self.quiet(term)?,
            Name::Isolated => {
                let isolated = machine.isolated.intersection(&self.known());
                if isolated.is_empty() {
                    return Err(PlacementError::new(term.at.clone(), "isolated: this kernel isolates no cpu"));
                }
                return Ok(Value::named(cores_first(isolated.iter(), &self.places)));
            }
            Name::OnePerCore => {
                let usable = self.usable_all();
                let cores = self.places.grouped(&usable, Level::Core);
                return Ok(Value::ordered(cores.into_iter().map(|cpus| cpus[0]).collect()));
            }
            Name::WithMemory => self.places.with_memory(&machine.online),
            Name::CheapMemory => machine.cheap_memory().ok_or_else(|| {
                let what = "cheap-memory: no map of memory of this machine is known";
                let memory = suggested_command::memory().mention();
                PlacementError::new(term.at.clone(), what).hint(format!(
                    "{memory} makes one on the machine itself; `with-memory` goes by what the system reports"
                ))
            })?,
        };
        Ok(Value::of_words(cpus, &self.places))
    }

    fn kind(&self, wanted: CoreType, term: &Term) -> Result<CpuSet> {
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

    fn stacked_cache(&self, stacked: bool, term: &Term) -> Result<CpuSet> {
        let llcs = &self.machine().llcs;
        if !llcs.iter().any(|llc| llc.vcache) {
            let what = format!("{term}: no die of this machine has stacked cache");
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

    fn quiet(&self, term: &Term) -> Result<CpuSet> {
        let Some(quiet) = self.context.quiet else {
            let error = PlacementError::new(term.at.clone(), "quiet: there is no survey of this machine");
            return Err(error.hint("quiet needs a survey; run `corewise` on the machine itself"));
        };
        if quiet.is_empty() {
            let what = "quiet: the survey of this machine found no cpu quieter than the others";
            return Err(PlacementError::new(term.at.clone(), what));
        }
        Ok(quiet.intersection(&self.machine().online))
    }
}

/// Formats a range of objects: "llc:0" or "llc:0-3".
fn range(level: Level, last: usize) -> String {
    if last == 0 { format!("{level}:0 only") } else { format!("{level}:0-{last}") }
}

fn are(cpus: &CpuSet, what: &str) -> String {
    format!("{} {} {what}", counted(cpus), if cpus.len() == 1 { "is" } else { "are" })
}
