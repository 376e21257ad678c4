//! What to do about the threads of a running command: where each belongs, and what happens when one sets its own cpus.
//!
//! [`Hold::look`] takes what was seen of every thread and says what to do; whoever looks does it and tells what came of it
//! with [`Hold::settle`]. Nothing here knows an operating system, so every course of events can be played in a test.

pub mod pace;
mod thread;

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use regex_lite::Regex;

pub use thread::{CORRECTIONS, Enforcement, Event, Response};
use thread::{Comparison, Thread, Verdict};

use crate::CpuSet;

/// How long a process may have a single thread before that thread is pinned to one cpu. Programs find out how many
/// threads to start from their mask, and most do so at once: pinned from the beginning, they would start one.
const ALONE: Duration = Duration::from_millis(100);

/// Where threads with certain names belong.
#[derive(Clone, Debug)]
pub struct Role {
    /// What the user calls it.
    pub name: String,
    /// What the names of its threads look like; the kernel keeps 15 bytes of a name.
    pub pattern: Regex,
    /// Its cpus, inside the boundary.
    pub cpus: CpuSet,
}

/// How threads are spread over the placement.
#[derive(Clone, Debug)]
pub enum Threads {
    /// Each may use all of it.
    Together,
    /// By their names: the first role that matches has them, threads without a role may use all of the placement.
    Roles(Vec<Role>),
    /// One after the other, in order of appearance, on these cpus, from the first again after the last.
    OnePerThread(Vec<u32>),
}

/// How a command is held.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The cpus of the placement.
    pub boundary: CpuSet,
    /// How threads are spread over them.
    pub threads: Threads,
    /// What is done about threads that set their own cpus; absent: they are noticed and left alone.
    pub enforcement: Option<Enforcement>,
}

/// A thread as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen<'a> {
    /// The process it belongs to.
    pub process: u32,
    /// The process that started that one.
    pub parent: u32,
    /// Its own number.
    pub thread: u32,
    /// Its name.
    pub name: &'a str,
    /// The cpus it may run on.
    pub cpus: CpuSet,
}

/// What was seen at one moment.
pub struct View<'a> {
    /// Every thread, in order of appearance.
    pub seen: &'a [Seen<'a>],
    /// The time since the command was started.
    pub now: Duration,
    /// The cpus that the system gives to who asks for all; asked for only when a mask is not the expected one, to tell
    /// what a program did from what became of an offline cpu or a changed cpuset.
    pub reachable: &'a dyn Fn() -> CpuSet,
}

/// A mask to be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Of which thread.
    pub thread: u32,
    /// The cpus it is to have.
    pub cpus: CpuSet,
}

/// What to do after a look, and what to tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Masks to be set, in this order.
    pub actions: Vec<Action>,
    /// What was noticed.
    pub events: Vec<Event>,
    /// Whether anything was new: then it is worth to look again soon.
    pub is_new: bool,
}

/// What came of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The thread has these cpus now: those asked for, or what the system gives of them.
    Placed(CpuSet),
    /// The thread ended in between.
    Ended,
    /// The system refused, and said why.
    Refused(String),
}

/// What a program may have handed to its threads and children.
#[derive(Clone, Debug, Default)]
struct Process {
    threads: usize,
    /// Masks that its threads set themselves; threads that they start inherit them, which is nothing to tell again.
    own_masks: HashSet<CpuSet>,
}

/// Holds the threads of one command.
#[derive(Debug)]
pub struct Hold {
    policy: Policy,
    /// Masks that come from corewise: threads inherit them from each other.
    given: HashSet<CpuSet>,
    threads: HashMap<u32, Thread>,
    processes: HashMap<u32, Process>,
    next_turn: usize,
}

impl Hold {
    /// Begins to hold a command that was started on the boundary.
    pub fn new(policy: Policy) -> Self {
        let mut given = HashSet::from([policy.boundary.clone()]);
        match &policy.threads {
            Threads::Together => {}
            Threads::Roles(roles) => given.extend(roles.iter().map(|role| role.cpus.clone())),
            Threads::OnePerThread(order) => given.extend(order.iter().copied().map(CpuSet::of)),
        }
        Self { policy, given, threads: HashMap::new(), processes: HashMap::new(), next_turn: 0 }
    }

    /// What to do about what was seen.
    pub fn look(&mut self, view: &View<'_>) -> Step {
        self.forget_the_ended(view.seen);
        self.count(view.seen);
        let reachable = Reachable { ask: view.reachable, answer: OnceCell::new() };
        let mut step = Step::default();
        for seen in view.seen {
            self.one(seen, view.now, &reachable, &mut step);
        }
        step
    }

    /// Takes what came of an action.
    pub fn settle(&mut self, number: u32, outcome: Outcome) -> Option<Event> {
        let thread = self.threads.get_mut(&number)?;
        match outcome {
            Outcome::Placed(cpus) => thread.placed(cpus),
            Outcome::Ended => {}
            Outcome::Refused(why) => {
                thread.is_left_alone = true;
                return Some(Event::Refused { process: thread.process, thread: number, why });
            }
        }
        None
    }

    fn forget_the_ended(&mut self, seen: &[Seen<'_>]) {
        let threads: HashSet<u32> = seen.iter().map(|seen| seen.thread).collect();
        self.threads.retain(|thread, _| threads.contains(thread));
        let processes: HashSet<u32> = seen.iter().map(|seen| seen.process).collect();
        self.processes.retain(|process, _| processes.contains(process));
    }

    /// Counts the threads of each process.
    fn count(&mut self, seen: &[Seen<'_>]) {
        self.processes.values_mut().for_each(|process| process.threads = 0);
        for seen in seen {
            self.processes.entry(seen.process).or_default().threads += 1;
        }
    }

    /// One thread: it goes where it belongs, and cpus that it chose itself are judged.
    fn one(&mut self, seen: &Seen<'_>, now: Duration, reachable: &Reachable<'_>, step: &mut Step) {
        let known = self.threads.remove(&seen.thread);
        let is_new = known.is_none();
        let mut thread = known.unwrap_or_else(|| self.new_thread(seen, now, reachable));
        let target = self.target(&thread, seen, now);
        if !thread.is_left_alone && !thread.is_settled(&target, &seen.cpus) {
            let fits = reachable.explains(&target, &seen.cpus);
            let is_news = !fits && !reachable.explains(&thread.in_force, &seen.cpus);
            let is_inside = seen.cpus.is_subset(self.choice(&target));
            let comparison = Comparison { fits, is_news, is_inside };
            let verdict = thread.judge(target, &seen.cpus, comparison, self.policy.enforcement);
            if is_news && self.is_first_hand(seen, is_new) {
                step.events.extend(thread.tell(seen.thread, &seen.cpus, &verdict));
            }
            step.is_new |= is_news;
            if let Verdict::Place(cpus) | Verdict::PutBack(cpus) = verdict {
                step.is_new = true;
                step.actions.push(Action { thread: seen.thread, cpus });
            }
        }
        step.is_new |= is_new;
        self.threads.insert(seen.thread, thread);
    }

    /// A thread that appeared. Where its mask is not one that corewise gave to it or its creator, the boundary was
    /// expected, and the difference is the program's doing.
    fn new_thread(&mut self, seen: &Seen<'_>, now: Duration, reachable: &Reachable<'_>) -> Thread {
        let turn = self.next_turn;
        self.next_turn += 1;
        let given = &self.given;
        let is_given = given.contains(&seen.cpus) || given.iter().any(|mask| reachable.gives(mask, &seen.cpus));
        let boundary = &self.policy.boundary;
        let in_force = if is_given { &seen.cpus } else { boundary };
        Thread::new(seen.process, turn, now, boundary.clone(), in_force.clone())
    }

    /// Whether the thread chose its cpus itself, as far as can be seen: a new one may have them from its creator, which
    /// was told already.
    fn is_first_hand(&mut self, seen: &Seen<'_>, is_new: bool) -> bool {
        let of_parent = self.processes.get(&seen.parent).is_some_and(|parent| parent.own_masks.contains(&seen.cpus));
        let process = self.processes.entry(seen.process).or_default();
        let is_first = process.own_masks.insert(seen.cpus.clone()) && !of_parent;
        is_first || !is_new
    }

    /// The cpus among which a thread may choose: those of its role, or the placement. Its turn's cpu leaves no choice.
    fn choice<'a>(&'a self, target: &'a CpuSet) -> &'a CpuSet {
        match self.policy.threads {
            Threads::OnePerThread(_) => &self.policy.boundary,
            Threads::Together | Threads::Roles(_) => target,
        }
    }

    fn target(&self, thread: &Thread, seen: &Seen<'_>, now: Duration) -> CpuSet {
        let boundary = &self.policy.boundary;
        match &self.policy.threads {
            Threads::Together => boundary.clone(),
            Threads::Roles(roles) => {
                let role = roles.iter().find(|role| role.pattern.is_match(seen.name));
                role.map_or(boundary, |role| &role.cpus).clone()
            }
            Threads::OnePerThread(order) => {
                let is_alone = self.processes.get(&seen.process).is_none_or(|process| process.threads < 2);
                let is_young = now.saturating_sub(thread.first_seen) < ALONE;
                let is_unpinned = thread.target == *boundary;
                if order.is_empty() || (is_alone && is_young && is_unpinned) {
                    return boundary.clone();
                }
                CpuSet::of(order[thread.turn % order.len()])
            }
        }
    }
}

/// The cpus that the system gives to who asks for all, asked once a look at most.
struct Reachable<'a> {
    ask: &'a dyn Fn() -> CpuSet,
    answer: OnceCell<CpuSet>,
}

impl Reachable<'_> {
    /// Whether the system alone made these cpus of a mask: what it gives of it, or, where that is nothing, anything.
    fn explains(&self, mask: &CpuSet, cpus: &CpuSet) -> bool {
        mask == cpus || self.rest(mask).is_empty() || self.gives(mask, cpus)
    }

    /// Whether these cpus are what the system gives of a mask.
    fn gives(&self, mask: &CpuSet, cpus: &CpuSet) -> bool {
        mask == cpus || !cpus.is_empty() && self.rest(mask) == *cpus
    }

    /// What the system may give of a mask.
    fn rest(&self, mask: &CpuSet) -> CpuSet {
        mask.intersection(self.answer.get_or_init(self.ask))
    }
}

#[cfg(test)]
mod tests;
