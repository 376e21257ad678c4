//! Watcher of a command's threads: reads them, lets [`Hold`] decide, acts, and reports.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use corewise_machine::CpuSet;
use corewise_machine::placement::hold::pace::Pace;
use corewise_machine::placement::hold::{Action, Event, Hold, Outcome, Policy, Seen, Step, Threads, View};
use corewise_sys::task::{self, Others, Process};
use corewise_sys::{affinity, cpuset, process};

use super::words;
use crate::app::output::say;

/// Maximum time between two scans of all processes, even if no new process seems to have started.
const AT_LEAST_EVERY: Duration = Duration::from_secs(1);
/// Maximum number of threads that are reported one by one; a program may start and pin any number.
const TOLD_AT_MOST: usize = 100;

/// Watcher of the threads of a running command.
pub struct Watch {
    hold: Hold,
    pace: Pace,
    started: Instant,
    /// Time of the last scan of all processes, and the newest process or thread of the system then.
    searched: Option<(Instant, Option<u32>)>,
    processes: Vec<Process>,
    /// Descendants that this process had before it started the command.
    others: Others,
    /// Threads that exist, by number.
    threads: HashMap<u32, Known>,
    goes_by_names: bool,
    tells: Tells,
    notes: Notes,
}

/// Facts about a thread.
#[derive(Debug)]
struct Known {
    /// Identity of the thread, in case its number is reused.
    identity: process::Process,
    /// Its name; kept up to date only if roles go by names.
    name: String,
}

/// When to report threads that set their own cpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    /// As soon as they do.
    AtOnce,
    /// After the command has ended.
    AtTheEnd,
    /// Never.
    Never,
}

/// Notes for the end.
#[derive(Default)]
struct Notes {
    seen: usize,
    noticed: usize,
    /// Noticed threads that still exist.
    known: HashSet<u32>,
    told: usize,
    texts: Vec<String>,
}

impl Watch {
    /// Begins to watch the children of this process, before the command is among them.
    pub fn new(policy: Policy, tells: Tells) -> Self {
        Self {
            goes_by_names: matches!(policy.threads, Threads::Roles(_)),
            hold: Hold::new(policy),
            pace: Pace::default(),
            started: Instant::now(),
            searched: None,
            processes: Vec::new(),
            others: Others::new(&task::descendants(std::process::id())),
            threads: HashMap::new(),
            tells,
            notes: Notes::default(),
        }
    }

    /// Looks at every thread once, acts, and returns the time until the next look.
    pub fn look(&mut self) -> Duration {
        let begun = Instant::now();
        self.search();
        let step = self.judge();
        for event in &step.events {
            self.note(event);
        }
        for action in &step.actions {
            let outcome = self.done(action);
            if let Some(event) = self.hold.settle(action.thread, outcome) {
                self.note(&event);
            }
        }
        self.pace.after(step.is_new, begun.elapsed())
    }

    /// Scans for new processes and threads, unless the system has started none since the last scan.
    fn search(&mut self) {
        let newest = task::newest();
        let is_known = self
            .searched
            .is_some_and(|(at, before)| before.is_some() && before == newest && at.elapsed() < AT_LEAST_EVERY);
        if !is_known {
            // A process that starts after this changes `newest` again.
            self.searched = Some((Instant::now(), newest));
            self.processes = self.others.take_out(task::descendants(std::process::id()));
        }
    }

    fn judge(&mut self) -> Step {
        let mut masks: Vec<(u32, u32, u32, CpuSet)> = Vec::new();
        for process in &self.processes {
            for &thread in &process.threads {
                // The thread has ended.
                let Ok(cpus) = affinity::of(thread) else { continue };
                let is_new = !self.threads.contains_key(&thread);
                if self.goes_by_names || is_new {
                    let Some(name) = task::name(process.number, thread) else { continue };
                    let Some(identity) = task::thread(process.number, thread) else { continue };
                    self.threads.insert(thread, Known { identity, name });
                    self.notes.seen += usize::from(is_new);
                }
                masks.push((process.number, process.parent, thread, cpus));
            }
        }
        let there: HashSet<u32> = masks.iter().map(|(_, _, thread, _)| *thread).collect();
        self.threads.retain(|thread, _| there.contains(thread));
        self.notes.known.retain(|thread| there.contains(thread));
        let name = |thread: &u32| self.threads.get(thread).map_or("", |known| known.name.as_str());
        let seen = |(process, parent, thread, cpus)| Seen { process, parent, thread, name: name(&thread), cpus };
        let seen: Vec<Seen<'_>> = masks.into_iter().map(seen).collect();
        let view = View { seen: &seen, now: self.started.elapsed(), reachable: &reachable };
        self.hold.look(&view)
    }

    /// Carries out an action and reports the outcome. If the thread has ended, a new one with its number keeps its own
    /// cpus.
    fn done(&mut self, action: &Action) -> Outcome {
        let Some(known) = self.threads.get(&action.thread) else { return Outcome::Ended };
        match known.identity.restrict(&action.cpus) {
            Ok(cpus) => Outcome::Placed(cpus),
            Err(error) if affinity::has_ended(&error) => {
                // A thread with this number is a new one.
                self.threads.remove(&action.thread);
                Outcome::Ended
            }
            Err(error) => Outcome::Refused(error.to_string()),
        }
    }

    fn note(&mut self, event: &Event) {
        let (process, thread) = match event {
            Event::Noticed { process, thread, .. } => {
                self.notes.noticed += usize::from(self.notes.known.insert(*thread));
                (*process, *thread)
            }
            Event::GaveUp { process, thread, .. } | Event::Refused { process, thread, .. } => (*process, *thread),
        };
        let is_noticed = matches!(event, Event::Noticed { .. });
        if is_noticed && self.tells == Tells::Never {
            return;
        }
        let text = words::event(event, &self.who(process, thread));
        if is_noticed && self.tells == Tells::AtTheEnd {
            let told = self.notes.told(text);
            self.notes.texts.extend(told);
        } else if let Some(text) = self.notes.told(text) {
            say(&text);
        }
    }

    /// Describes a thread by its current names, or by the names at the last look.
    fn who(&self, process: u32, thread: u32) -> String {
        let known = |thread: u32| self.threads.get(&thread).map(|known| known.name.clone()).unwrap_or_default();
        let command = task::name(process, process).unwrap_or_else(|| known(process));
        let name = task::name(process, thread).unwrap_or_else(|| known(thread));
        words::thread(&command, process, &name, thread)
    }

    /// Reports the notes that were kept for the end.
    pub fn end(&self) {
        self.notes.texts.iter().for_each(say);
        say(&words::watched(self.notes.seen, self.notes.noticed));
    }
}

impl Notes {
    /// Counts a text and returns what to print of it: nothing beyond the limit.
    fn told(&mut self, text: String) -> Option<String> {
        self.told += 1;
        match self.told.cmp(&(TOLD_AT_MOST + 1)) {
            Ordering::Less => Some(text),
            Ordering::Equal => Some("corewise: further threads are not reported".to_owned()),
            Ordering::Greater => None,
        }
    }
}

fn reachable() -> CpuSet {
    cpuset::reachable().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number that was a thread of the command's may be another program's by now.
    #[test]
    fn what_is_no_longer_the_commands_is_left_alone() {
        let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let before = affinity::of(other.id()).unwrap();
        let mut watch = Watch::new(
            Policy { boundary: before.clone(), threads: Threads::Together, enforcement: None },
            Tells::Never,
        );
        let number = other.id();
        let mut known = Known { identity: task::thread(number, number).unwrap(), name: "sleep".into() };
        known.identity.start_ticks -= 1;
        watch.threads.insert(number, known);
        let one: CpuSet = before.iter().take(1).collect();
        let outcome = watch.done(&Action { thread: other.id(), cpus: one });
        let after = affinity::of(other.id()).unwrap();
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!((outcome, after), (Outcome::Ended, before));
    }

    #[test]
    fn so_many_texts_are_told_and_no_more() {
        let mut notes = Notes::default();
        let told: Vec<String> = (0..TOLD_AT_MOST + 9).filter_map(|n| notes.told(n.to_string())).collect();
        assert_eq!(told.len(), TOLD_AT_MOST + 1);
        assert_eq!((told[0].as_str(), told[TOLD_AT_MOST].ends_with("are not reported")), ("0", true));
    }
}
