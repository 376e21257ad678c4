//! Who sets whose affinity: the tracepoint sys_enter_sched_setaffinity, with those of tasks that are made, execute and end.
//!
//! Programs that set masks often end at once (taskset). What they were is known from the events of their start, and their session from
//! their parent's, which they share unless they made their own. Nothing is recorded of a mask that a control group changes.

use std::collections::{HashMap, VecDeque};
use std::io;

use corewise_machine::Gap;
use corewise_machine::event::{Event, EventSource, What};

use super::cpuset;
use super::events::{Enabled, Interest, Recorder, Stream};
use super::process::{Stat, process_of, sees_all_numbers};
use super::thread::own_number;
pub use crate::values::affinity_events::{AffinityEvent, Author};

const INTERESTS: [Interest; 2] = [Interest::Affinities, Interest::Tasks];
/// The room of all cpus' events between two looks, in bytes, and the room of one cpu: from some forty to some three hundred events. 512 cpus
/// take 6 MiB, with a page each for the kernel's part.
const ALL_BUFFERS_BYTES: usize = 4 << 20;
const SMALLEST_BUFFER_BYTES: usize = 8 << 10;
const LARGEST_BUFFER_BYTES: usize = 64 << 10;
/// So many tasks that ended are remembered.
const MOST_ENDED: usize = 4_096;

/// The way to these events that is open to this process.
#[derive(Debug)]
pub struct AffinityEvents(Recorder);

impl AffinityEvents {
    /// Opens the tracepoints by perf, or by ftrace where perf is refused.
    ///
    /// # Errors
    /// The gap that says why neither is to be had. Who must know then looks at the masks of its threads, and the author stays unknown.
    pub fn open() -> Result<Self, Gap> {
        let what = "who sets whose affinity";
        if !sees_all_numbers() {
            // The kernel reports the numbers that tasks have everywhere.
            return Err(Gap::new(what, "processes have numbers of their own in this container"));
        }
        let named = |gap: Gap| Gap { what: what.to_owned(), ..gap };
        let recorder = Recorder::open(EventSource::Perf, &[&INTERESTS]).map_err(named)?;
        match recorder.gaps.iter().find(|gap| gap.what == Interest::Affinities.what()) {
            Some(gap) => Err(named(gap.clone())),
            None => Ok(Self(recorder)),
        }
    }

    /// Begins to watch, on all cpus that are online now.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn watch(&self) -> io::Result<AffinityWatch<'_>> {
        let enabled = self.0.enable(&INTERESTS)?;
        let online = cpuset::online();
        let open = |cpu| enabled.stream(cpu, &INTERESTS, buffer_bytes(online.len()));
        let streams = online.iter().map(open).collect::<io::Result<_>>()?;
        Ok(AffinityWatch { streams, tasks: Tasks::default(), _enabled: enabled })
    }
}

/// What each of so many cpus has: perf takes powers of two alone.
fn buffer_bytes(cpus: usize) -> usize {
    let share = ALL_BUFFERS_BYTES / cpus.max(1).next_power_of_two();
    share.clamp(SMALLEST_BUFFER_BYTES, LARGEST_BUFFER_BYTES)
}

/// Events since it began, or was drained last.
#[derive(Debug)]
pub struct AffinityWatch<'a> {
    streams: Vec<Stream<'a>>,
    tasks: Tasks,
    _enabled: Enabled<'a>,
}

impl AffinityWatch<'_> {
    /// Appends the events so far about wanted threads, except for what the calling thread asked for, in the order of their times; how many
    /// events had no room, of others and of tasks too. Authors are looked up now: the sooner, the more of them still live. Where events
    /// were lost, the tasks before are forgotten: a number may be another's now.
    pub fn drain(&mut self, is_wanted: impl Fn(u32) -> bool, into: &mut Vec<AffinityEvent>) -> u64 {
        let mut events = Vec::new();
        let lost = self.streams.iter_mut().map(|stream| stream.drain_now(&mut events).lost).sum();
        if lost > 0 {
            self.tasks = Tasks::default();
        }
        events.sort_by_key(|event| event.at_ns);
        // What the caller sets is no news to it, and to look it up would take more time than to set it.
        let own = own_number();
        events.retain(|event| event.task != own || !matches!(event.what, What::AffinityAsked { .. }));
        into.extend(events.into_iter().filter_map(|event| self.tasks.take(event, &is_wanted, living)));
        lost
    }
}

/// A task that lives: its process, name and session.
fn living(task: u32) -> Option<Author> {
    let stat = Stat::of(task).ok()?.filter(|stat| !stat.has_ended)?;
    let process = process_of(task).ok()??;
    Some(Author { process, name: stat.name, session: Some((stat.session, stat.has_terminal)) })
}

/// Tasks that were started while it was watched, until a while after their end.
#[derive(Debug, Default)]
struct Tasks {
    started: HashMap<u32, Started>,
    ended: VecDeque<u32>,
}

#[derive(Clone, Debug)]
struct Started {
    parent: u32,
    name: String,
}

impl Tasks {
    /// What a request means, of the events in their order. A number is another task's after it was made anew.
    fn take(
        &mut self,
        event: Event,
        is_wanted: impl Fn(u32) -> bool,
        living: impl Fn(u32) -> Option<Author>,
    ) -> Option<AffinityEvent> {
        match event.what {
            What::Forked { parent, child, name } => {
                self.started.insert(child, Started { parent, name });
            }
            What::Executed { task, program } => {
                if let Some(started) = self.started.get_mut(&task) {
                    program.rsplit('/').next().unwrap_or_default().clone_into(&mut started.name);
                }
            }
            What::Ended { task, .. } if self.started.contains_key(&task) => {
                self.ended.push_back(task);
                if self.ended.len() > MOST_ENDED {
                    self.ended.pop_front().and_then(|oldest| self.started.remove(&oldest));
                }
            }
            What::AffinityAsked { task } => {
                let by = event.task;
                let target = if task == 0 { by } else { task };
                let seen = |author| AffinityEvent { at_ns: event.at_ns, target, by, author };
                return is_wanted(target).then(|| seen(self.author(by, living)));
            }
            _ => {}
        }
        None
    }

    fn author(&self, task: u32, living: impl Fn(u32) -> Option<Author>) -> Option<Author> {
        living(task).or_else(|| {
            let started = self.started.get(&task)?;
            // Their ancestors may have ended too.
            let parents = std::iter::successors(Some(started.parent), |parent| Some(self.started.get(parent)?.parent));
            let session = parents.take(16).find_map(&living).and_then(|parent| parent.session);
            Some(Author { process: task, name: started.name.clone(), session })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_author_of_a_mask_is_named_even_after_its_end() {
        let watched = AffinityEvents::open();
        let Ok(source) = &watched else {
            return println!("skipped: {}", watched.unwrap_err().why);
        };
        let mut watch = source.watch().unwrap();
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let all = super::super::affinity::of(child.id()).unwrap().to_string();
        let tool = Command::new("taskset").args(["-pc", &all, &child.id().to_string()]).output();
        let Ok(tool) = tool else {
            child.kill().unwrap();
            child.wait().unwrap();
            return println!("skipped: there is no taskset");
        };
        assert!(tool.status.success());
        let mut events = Vec::new();
        while !events.iter().any(|event: &AffinityEvent| event.target == child.id()) {
            assert_eq!(watch.drain(|_| true, &mut events), 0);
        }
        // A child's session is that of who started it. An emulator of single programs makes up what it shows of itself.
        let session = Stat::of(child.id()).unwrap().map(|stat| (stat.session, stat.has_terminal));
        child.kill().unwrap();
        child.wait().unwrap();
        let event = events.into_iter().find(|event| event.target == child.id()).unwrap();
        let author = event.author.unwrap();
        assert_eq!((author.name.as_str(), author.process), ("taskset", event.by));
        assert_eq!(author.session, session, "that of this process, which started it");
    }

    #[test]
    fn what_this_thread_sets_is_no_event() {
        let watched = AffinityEvents::open();
        let Ok(source) = &watched else {
            return println!("skipped: {}", watched.unwrap_err().why);
        };
        let mut watch = source.watch().unwrap();
        let (own, all) = (own_number(), super::super::affinity::current().unwrap());
        let set = move |thread| super::super::affinity::set(thread, &all).unwrap();
        set(own);
        // What another thread does afterwards is seen after it.
        let other = std::thread::spawn(move || {
            set(0);
            own_number()
        });
        let other = other.join().unwrap();
        let mut events = Vec::new();
        while !events.iter().any(|event: &AffinityEvent| event.target == other) {
            watch.drain(|_| true, &mut events);
        }
        assert!(!events.iter().any(|event| event.by == own), "{events:?}");
    }

    #[test]
    fn rooms_together_are_bounded() {
        assert_eq!([1, 2, 64, 65, 512, 8_192].map(buffer_bytes), [64, 64, 64, 32, 8, 8].map(|kib| kib << 10));
    }

    #[test]
    fn a_task_that_ended_is_known_by_its_start_until_its_number_is_anothers() {
        let event = |task, what| Event { at_ns: 7, cpu: 0, task, what };
        let forked = |parent, child, name: &str| event(parent, What::Forked { parent, child, name: name.into() });
        let person = Author { process: 1, name: "shell".into(), session: Some((1, true)) };
        let living = |task| (task == 1).then(|| person.clone());
        let mut tasks = Tasks::default();
        let asked = |by, task| event(by, What::AffinityAsked { task });
        let ended = |task| event(task, What::Ended { task, name: String::new() });
        for event in
            [forked(1, 5, "shell"), event(5, What::Executed { task: 5, program: "/usr/bin/taskset".into() }), ended(5)]
        {
            assert_eq!(tasks.take(event, |_| true, living), None);
        }
        let author = Author { process: 5, name: "taskset".into(), session: Some((1, true)) };
        let expected = AffinityEvent { at_ns: 7, target: 9, by: 5, author: Some(author) };
        assert_eq!(tasks.take(asked(5, 9), |_| true, living), Some(expected));
        assert_eq!(tasks.take(asked(5, 9), |target| target != 9, |_| panic!("it is not looked up")), None);
        assert_eq!(tasks.take(asked(1, 0), |_| true, living).unwrap().target, 1, "itself");
        assert_eq!(tasks.take(asked(8, 9), |_| true, living).unwrap().author, None);
        tasks.take(forked(8, 5, "other"), |_| true, living);
        let author = tasks.take(asked(5, 9), |_| true, living).unwrap().author.unwrap();
        assert_eq!((author.name.as_str(), author.session), ("other", None));
        for task in 100..100 + 2 * MOST_ENDED as u32 {
            tasks.take(forked(1, task, "many"), |_| true, living);
            tasks.take(ended(task), |_| true, living);
        }
        assert!(tasks.started.len() <= MOST_ENDED + 2, "{}", tasks.started.len());
    }
}
