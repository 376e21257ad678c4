//! A simulated system: threads with masks, a cpuset, and a kernel that gives of a mask what the cpuset has.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{CpuSet, resolved};
use crate::keep::{
    KeepAction, KeepActionOutcome, MaskAuthor, ObservedProcess, ObservedThread, OriginalMask, ResolvedRule, RuleKeeper,
};

/// What a thread asked for; absent: all.
pub type Mask = Option<CpuSet>;

#[derive(Clone, Debug)]
pub struct SystemTask {
    pub process: u32,
    pub start_ticks: u64,
    pub name: String,
    /// What was asked for. Kernels before 6.2 keep only what they gave of it.
    pub mask: Mask,
    pub in_force: CpuSet,
    /// What it would have without any keeper.
    pub shadow: Mask,
    /// Whether somebody other than the keeper set its mask.
    pub is_touched: bool,
}

pub struct TestSystem {
    pub keeper: RuleKeeper,
    pub tasks: BTreeMap<u32, SystemTask>,
    /// Name and parent of processes.
    pub processes: BTreeMap<u32, (String, u32)>,
    pub cpuset: CpuSet,
    /// The control group of all.
    pub group: String,
    pub remembers_masks: bool,
    pub now: Duration,
    pub author: MaskAuthor,
    /// What somebody sets again after each placing, before the keeper looks what came of it.
    pub chosen_at_once: Option<CpuSet>,
    clock: u64,
}

impl TestSystem {
    pub fn new(rules: &str) -> Self {
        Self::of(resolved(rules))
    }

    pub fn of(rules: Vec<ResolvedRule>) -> Self {
        Self {
            keeper: RuleKeeper::new(rules),
            tasks: BTreeMap::new(),
            processes: BTreeMap::new(),
            cpuset: CpuSet::first_cpus(8),
            group: String::new(),
            remembers_masks: true,
            now: Duration::ZERO,
            author: MaskAuthor::Unknown,
            chosen_at_once: None,
            clock: 0,
        }
    }

    fn in_force(&self, mask: &Mask) -> CpuSet {
        let rest = mask.as_ref().map_or_else(|| self.cpuset.clone(), |mask| mask.intersection(&self.cpuset));
        if rest.is_empty() { self.cpuset.clone() } else { rest }
    }

    /// A process, as a fork of its parent; one without a parent that is known asks for a mask of its own.
    pub fn start(&mut self, id: u32, name: &str, parent: u32, mask: Mask) {
        self.processes.insert(id, (name.to_owned(), parent));
        let creator = self.tasks.get(&parent).cloned();
        self.task(id, id, name, creator, mask);
    }

    /// A thread of a process, as a clone of one of its threads.
    pub fn thread(&mut self, creator: u32, id: u32, name: &str) {
        let creator = self.tasks[&creator].clone();
        self.task(creator.process, id, name, Some(creator), None);
    }

    fn task(&mut self, process: u32, id: u32, name: &str, creator: Option<SystemTask>, mask: Mask) {
        self.clock += 1;
        let (mask, shadow, is_touched) = match creator {
            Some(creator) => (creator.mask, creator.shadow, creator.is_touched),
            None => (mask.clone(), mask, false),
        };
        let (in_force, name) = (self.in_force(&mask), name.to_owned());
        self.tasks
            .insert(id, SystemTask { process, start_ticks: self.clock, name, mask, in_force, shadow, is_touched });
        self.hide(id);
    }

    /// The kernel does not report what a mask holds beyond the cpuset: what was meant cannot be given back.
    fn hide(&mut self, id: u32) {
        let task = self.tasks.get_mut(&id).unwrap();
        task.is_touched |=
            task.shadow.as_ref().is_some_and(|mask| !mask.is_subset(&self.cpuset) || *mask == self.cpuset);
    }

    pub fn exec(&mut self, id: u32, name: &str) {
        self.processes.get_mut(&id).unwrap().0 = name.to_owned();
        self.tasks.retain(|task, known| known.process != id || *task == id);
        self.tasks.get_mut(&id).unwrap().name = name.to_owned();
    }

    pub fn end(&mut self, id: u32) {
        self.processes.remove(&id);
        self.tasks.retain(|_, known| known.process != id);
        self.keeper.forget_process(id);
    }

    /// Somebody sets a mask.
    pub fn choose(&mut self, id: u32, cpus: &CpuSet) {
        if cpus.is_disjoint(&self.cpuset) {
            return;
        }
        let task = self.tasks.get_mut(&id).unwrap();
        (task.shadow, task.is_touched) = (Some(cpus.clone()), true);
        self.set(id, Some(cpus.clone()));
    }

    fn set(&mut self, id: u32, mask: Mask) {
        let in_force = self.in_force(&mask);
        let task = self.tasks.get_mut(&id).unwrap();
        (task.mask, task.in_force) = (mask, in_force);
    }

    /// The cpuset, or what is online of it, changes.
    pub fn change_cpuset(&mut self, cpus: CpuSet) {
        self.cpuset = cpus;
        for id in self.tasks.keys().copied().collect::<Vec<_>>() {
            self.hide(id);
            let task = &self.tasks[&id];
            let mask = if self.remembers_masks || task.mask.is_none() {
                task.mask.clone()
            } else {
                Some(task.in_force.clone())
            };
            self.set(id, mask);
        }
    }

    pub fn seen(&self, id: u32) -> Option<ObservedProcess> {
        let (name, parent) = self.processes.get(&id)?.clone();
        let threads = self.tasks.iter().filter(|(_, task)| task.process == id);
        let thread = |(id, task): (&u32, &SystemTask)| ObservedThread {
            id: *id,
            start_ticks: task.start_ticks,
            name: task.name.clone(),
            cpus: task.in_force.clone(),
        };
        let threads: Vec<ObservedThread> = threads.map(thread).collect();
        let start_ticks = self.tasks[&id].start_ticks;
        let reachable = self.cpuset.clone();
        let cgroup = self.group.clone();
        Some(ObservedProcess {
            id,
            start_ticks,
            parent,
            name,
            cgroup,
            reachable,
            threads,
            ..ObservedProcess::default()
        })
    }

    /// Looks at a process and does what comes of it.
    pub fn look(&mut self, id: u32) -> Vec<KeepAction> {
        let Some(seen) = self.seen(id) else { return Vec::new() };
        let author = self.author.clone();
        let actions = self.keeper.plan_actions(&seen, self.now, &|_| author.clone());
        self.carry_out(&actions);
        actions
    }

    pub fn look_at_all(&mut self) -> Vec<KeepAction> {
        let all: Vec<u32> = self.processes.keys().copied().collect();
        all.into_iter().flat_map(|id| self.look(id)).collect()
    }

    pub fn carry_out(&mut self, actions: &[KeepAction]) {
        for action in actions {
            let Some(task) = self.tasks.get(&action.thread) else { continue };
            if task.start_ticks != action.start_ticks || task.in_force != action.seen {
                continue;
            }
            let mask = match (&action.cpus, &action.original) {
                (Some(cpus), _) => Some(cpus.clone()),
                (None, OriginalMask::All) => None,
                (None, OriginalMask::Only(cpus)) => Some(cpus.clone()),
            };
            self.set(action.thread, mask);
            if let Some(cpus) = self.chosen_at_once.clone() {
                self.choose(action.thread, &cpus);
            }
            if action.cpus.is_some() {
                let outcome = KeepActionOutcome::Placed(self.tasks[&action.thread].in_force.clone());
                self.keeper.settle_action(action, outcome, self.now);
            }
        }
    }

    pub fn cpus(&self, id: u32) -> String {
        self.tasks[&id].in_force.to_string()
    }

    pub fn stop(&mut self) {
        let actions = self.keeper.give_back_all();
        self.carry_out(&actions);
    }

    /// What was noted last of a process.
    pub fn said(&self, id: u32) -> String {
        self.keeper.processes()[&id].notes.last().map_or_else(String::new, |note| note.what.clone())
    }
}
