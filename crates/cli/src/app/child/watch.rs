//! Watcher of a command's threads: reads them, lets [`ThreadHold`] decide, acts, and reports.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use corewise_machine::CpuSet;
use corewise_machine::placement::hold::pace::HoldPace;
use corewise_machine::placement::hold::{
    HoldEvent, HoldPolicy, HoldSpread, HoldStep, HoldView, MaskAction, MaskOutcome, SeenThread, ThreadHold,
};
use corewise_sys::task::{self, OtherProcesses, ProcessThreads};
use corewise_sys::{affinity, cpuset, process};

use super::messages;
use crate::app::output::print_message;

/// Maximum time between two scans of all processes, even if no new process seems to have started.
const AT_LEAST_EVERY: Duration = Duration::from_secs(1);
/// Maximum number of threads that are reported one by one; a program may start and pin any number.
const TOLD_AT_MOST: usize = 100;

/// Watcher of the threads of a running command.
pub struct ThreadWatch {
    hold: ThreadHold,
    pace: HoldPace,
    started: Instant,
    /// Time of the last scan of all processes, and the newest process or thread of the system then.
    searched: Option<(Instant, Option<u32>)>,
    processes: Vec<ProcessThreads>,
    /// Descendants that this process had before it started the command.
    others: OtherProcesses,
    /// Threads that exist, by number.
    threads: HashMap<u32, KnownThread>,
    goes_by_names: bool,
    tells: NoticePolicy,
    notes: ThreadNotices,
}

/// Facts about a thread.
#[derive(Debug)]
struct KnownThread {
    /// Identity of the thread, in case its number is reused.
    identity: process::ProcessIdentity,
    /// Its name; kept up to date only if roles go by names.
    name: String,
}

/// When to report threads that set their own cpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticePolicy {
    /// As soon as they do.
    AtOnce,
    /// After the command has ended.
    AtTheEnd,
    /// Never.
    Never,
}

/// Notes for the end.
#[derive(Default)]
struct ThreadNotices {
    seen: usize,
    noticed: usize,
    /// Noticed threads that still exist.
    known: HashSet<u32>,
    told: usize,
    texts: Vec<String>,
}

impl ThreadWatch {
    /// Begins to watch the children of this process, before the command is among them.
    pub fn new(policy: HoldPolicy, tells: NoticePolicy) -> Self {
        Self {
            goes_by_names: matches!(policy.threads, HoldSpread::Roles(_)),
            hold: ThreadHold::new(policy),
            pace: HoldPace::default(),
            started: Instant::now(),
            searched: None,
            processes: Vec::new(),
            others: OtherProcesses::new(&task::descendant_processes(std::process::id())),
            threads: HashMap::new(),
            tells,
            notes: ThreadNotices::default(),
        }
    }

    /// Looks at every thread once, acts, and returns the time until the next look.
    pub fn look_at_threads(&mut self) -> Duration {
        let begun = Instant::now();
        self.search_threads();
        let step = self.judge_masks();
        for event in &step.events {
            self.note_event(event);
        }
        for action in &step.actions {
            let outcome = self.apply_action(action);
            if let Some(event) = self.hold.settle_action(action.thread, outcome) {
                self.note_event(&event);
            }
        }
        self.pace.pause_after(step.is_new, begun.elapsed())
    }

    /// Scans for new processes and threads, unless the system has started none since the last scan.
    fn search_threads(&mut self) {
        let newest = task::newest_number();
        let is_known = self
            .searched
            .is_some_and(|(at, before)| before.is_some() && before == newest && at.elapsed() < AT_LEAST_EVERY);
        if !is_known {
            // A process that starts after this changes `newest` again.
            self.searched = Some((Instant::now(), newest));
            self.processes = self.others.take_out(task::descendant_processes(std::process::id()));
        }
    }

    fn judge_masks(&mut self) -> HoldStep {
        let mut masks: Vec<(u32, u32, u32, CpuSet)> = Vec::new();
        for process in &self.processes {
            for &thread in &process.threads {
                // The thread has ended.
                let Ok(cpus) = affinity::affinity_of(thread) else { continue };
                let is_new = !self.threads.contains_key(&thread);
                if self.goes_by_names || is_new {
                    let Some(name) = task::thread_name(process.number, thread) else { continue };
                    let Some(identity) = task::thread_identity(process.number, thread) else { continue };
                    self.threads.insert(thread, KnownThread { identity, name });
                    self.notes.seen += usize::from(is_new);
                }
                masks.push((process.number, process.parent, thread, cpus));
            }
        }
        let there: HashSet<u32> = masks.iter().map(|(_, _, thread, _)| *thread).collect();
        self.threads.retain(|thread, _| there.contains(thread));
        self.notes.known.retain(|thread| there.contains(thread));
        let name = |thread: &u32| self.threads.get(thread).map_or("", |known| known.name.as_str());
        let seen = |(process, parent, thread, cpus)| SeenThread { process, parent, thread, name: name(&thread), cpus };
        let seen: Vec<SeenThread<'_>> = masks.into_iter().map(seen).collect();
        let view = HoldView { seen: &seen, now: self.started.elapsed(), reachable: &reachable_cpus };
        self.hold.plan_step(&view)
    }

    /// Carries out an action and reports the outcome. If the thread has ended, a new one with its number keeps its own
    /// cpus.
    fn apply_action(&mut self, action: &MaskAction) -> MaskOutcome {
        let Some(known) = self.threads.get(&action.thread) else { return MaskOutcome::Ended };
        match known.identity.restrict_thread(&action.cpus) {
            Ok(cpus) => MaskOutcome::Placed(cpus),
            Err(error) if affinity::has_ended(&error) => {
                // A thread with this number is a new one.
                self.threads.remove(&action.thread);
                MaskOutcome::Ended
            }
            Err(error) => MaskOutcome::Refused(error.to_string()),
        }
    }

    fn note_event(&mut self, event: &HoldEvent) {
        let (process, thread) = match event {
            HoldEvent::Noticed { process, thread, .. } => {
                self.notes.noticed += usize::from(self.notes.known.insert(*thread));
                (*process, *thread)
            }
            HoldEvent::GaveUp { process, thread, .. } | HoldEvent::Refused { process, thread, .. } => {
                (*process, *thread)
            }
        };
        let is_noticed = matches!(event, HoldEvent::Noticed { .. });
        if is_noticed && self.tells == NoticePolicy::Never {
            return;
        }
        let text = messages::describe_event(event, &self.name_thread(process, thread));
        if is_noticed && self.tells == NoticePolicy::AtTheEnd {
            let told = self.notes.note_text(text);
            self.notes.texts.extend(told);
        } else if let Some(text) = self.notes.note_text(text) {
            print_message(&text);
        }
    }

    /// Describes a thread by its current names, or by the names at the last look.
    fn name_thread(&self, process: u32, thread: u32) -> String {
        let known = |thread: u32| self.threads.get(&thread).map(|known| known.name.clone()).unwrap_or_default();
        let command = task::thread_name(process, process).unwrap_or_else(|| known(process));
        let name = task::thread_name(process, thread).unwrap_or_else(|| known(thread));
        messages::describe_thread(&command, process, &name, thread)
    }

    /// Reports the notes that were kept for the end.
    pub fn report_notices(&self) {
        self.notes.texts.iter().for_each(print_message);
        print_message(&messages::describe_watched(self.notes.seen, self.notes.noticed));
    }
}

impl ThreadNotices {
    /// Counts a text and returns what to print of it: nothing beyond the limit.
    fn note_text(&mut self, text: String) -> Option<String> {
        self.told += 1;
        match self.told.cmp(&(TOLD_AT_MOST + 1)) {
            Ordering::Less => Some(text),
            Ordering::Equal => Some("corewise: further threads are not reported".to_owned()),
            Ordering::Greater => None,
        }
    }
}

fn reachable_cpus() -> CpuSet {
    cpuset::reachable_cpus().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number that was a thread of the command's may be another program's by now.
    #[test]
    fn what_is_no_longer_the_commands_is_left_alone() {
        let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let before = affinity::affinity_of(other.id()).unwrap();
        let mut watch = ThreadWatch::new(
            HoldPolicy { boundary: before.clone(), threads: HoldSpread::Together, enforcement: None },
            NoticePolicy::Never,
        );
        let number = other.id();
        let mut known = KnownThread { identity: task::thread_identity(number, number).unwrap(), name: "sleep".into() };
        known.identity.start_ticks -= 1;
        watch.threads.insert(number, known);
        let one: CpuSet = before.iter().take(1).collect();
        let outcome = watch.apply_action(&MaskAction { thread: other.id(), cpus: one });
        let after = affinity::affinity_of(other.id()).unwrap();
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!((outcome, after), (MaskOutcome::Ended, before));
    }

    #[test]
    fn so_many_texts_are_told_and_no_more() {
        let mut notes = ThreadNotices::default();
        let told: Vec<String> = (0..TOLD_AT_MOST + 9).filter_map(|n| notes.note_text(n.to_string())).collect();
        assert_eq!(told.len(), TOLD_AT_MOST + 1);
        assert_eq!((told[0].as_str(), told[TOLD_AT_MOST].ends_with("are not reported")), ("0", true));
    }
}
