//! Events of affinity changes with their authors: the tracepoints sys_enter_sched_setaffinity and sys_exit_sched_setaffinity, and those of
//! tasks forked, executed and ended.
//!
//! Any user may request a mask for any thread, and is refused. So a request counts once the kernel has granted it.
//! Programs that set masks often end at once (taskset). Their names come from the events of their start. Their session is their parent's,
//! which they share unless they made their own. Masks that a control group changes leave no event.

use std::collections::{HashMap, VecDeque};
use std::io;

use corewise_machine::Gap;
use corewise_machine::event::{EventKind, EventSource, KernelEvent};

use super::cpuset;
use super::events::{EnabledEvents, EventInterest, EventRecorder, EventStream};
use super::process::{ProcessStat, process_of, sees_all_numbers};
use super::thread::{monotonic_raw_ns, own_number};
pub use crate::values::affinity_events::{AffinityEvent, MaskCaller};

const INTERESTS: [EventInterest; 2] = [EventInterest::Affinities, EventInterest::Tasks];
/// Buffer of all cpus' events between two reads, in bytes, and the limits for one cpu: some forty to some 2,500 events, where a program may
/// start thousands of threads at once. 512 cpus take 6 MiB, with a page each for the kernel's part.
const ALL_BUFFERS_BYTES: usize = 4 << 20;
const SMALLEST_BUFFER_BYTES: usize = 8 << 10;
const LARGEST_BUFFER_BYTES: usize = 512 << 10;
/// Maximum number of ended tasks that are remembered.
const MOST_ENDED: usize = 4_096;

/// Access to these events for this process.
#[derive(Debug)]
pub struct AffinityEvents(EventRecorder);

impl AffinityEvents {
    /// Opens the tracepoints by perf, or by ftrace if perf is refused.
    ///
    /// # Errors
    /// The gap that says why neither is available. The caller can then read its threads' masks instead; the author stays unknown.
    pub fn open() -> Result<Self, Gap> {
        let what = "who sets whose affinity";
        if !sees_all_numbers() {
            // The kernel's events have the task numbers of the initial namespace.
            return Err(Gap::new(what, "processes have numbers of their own in this container"));
        }
        let named = |gap: Gap| Gap { what: what.to_owned(), ..gap };
        let recorder = EventRecorder::open(EventSource::Perf, &[&INTERESTS]).map_err(named)?;
        match recorder.gaps.iter().find(|gap| gap.what == EventInterest::Affinities.gap_name()) {
            Some(gap) => Err(named(gap.clone())),
            None => Ok(Self(recorder)),
        }
    }

    /// Starts watching, on all cpus that are online now.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn begin_watch(&self) -> io::Result<AffinityWatch<'_>> {
        let enabled = self.0.enable_events(&INTERESTS)?;
        let online = cpuset::online_cpus();
        let open = |cpu| enabled.stream_events(cpu, &INTERESTS, buffer_bytes(online.len()));
        let streams = online.iter().map(open).collect::<io::Result<_>>()?;
        Ok(AffinityWatch { streams, tasks: StartedTasks::default(), later: Vec::new(), _enabled: enabled })
    }
}

/// Returns the buffer of one of `cpus` cpus, in bytes; perf takes only powers of two.
fn buffer_bytes(cpus: usize) -> usize {
    let share = ALL_BUFFERS_BYTES / cpus.max(1).next_power_of_two();
    share.clamp(SMALLEST_BUFFER_BYTES, LARGEST_BUFFER_BYTES)
}

/// Events since it began, or was drained last.
#[derive(Debug)]
pub struct AffinityWatch<'a> {
    streams: Vec<EventStream<'a>>,
    tasks: StartedTasks,
    /// Events after the last drain began, of cpus that were read late in it: earlier events of other cpus come with the next one.
    later: Vec<KernelEvent>,
    _enabled: EnabledEvents<'a>,
}

impl AffinityWatch<'_> {
    /// Appends the events about wanted threads before this call, in order of time, except for requests of the calling thread. Returns the
    /// number of lost events, including other tasks' events. Authors are looked up now: the sooner, the more of them still live. If events
    /// were lost, earlier tasks are forgotten, since their numbers may have been reused.
    pub fn drain_events(&mut self, is_wanted: impl Fn(u32) -> bool, into: &mut Vec<AffinityEvent>) -> u64 {
        let begin_ns = monotonic_raw_ns();
        let mut events = std::mem::take(&mut self.later);
        let lost = self.streams.iter_mut().map(|stream| stream.drain_now(&mut events).lost).sum();
        if lost > 0 {
            self.tasks = StartedTasks::default();
        }
        events.sort_by_key(|event| event.at_ns);
        self.later = events.split_off(events.partition_point(|event| event.at_ns < begin_ns));
        // The caller knows the masks that it sets, and looking it up would take more time than setting them.
        let own = own_number();
        let is_request =
            |what: &EventKind| matches!(what, EventKind::AffinityAsked { .. } | EventKind::AffinityAnswered { .. });
        events.retain(|event| event.task != own || !is_request(&event.what));
        into.extend(events.into_iter().filter_map(|event| self.tasks.take_event(event, &is_wanted, living_author)));
        lost
    }

    /// Returns true if a request for a wanted thread from before `until_ns` has not been answered, as far as was drained.
    pub fn awaits_answer(&self, is_wanted: impl Fn(u32) -> bool, until_ns: u64) -> bool {
        self.tasks.asked.values().any(|request| request.at_ns <= until_ns && is_wanted(request.target))
    }
}

/// Returns the process, name and session of a live task.
fn living_author(task: u32) -> Option<MaskCaller> {
    let stat = ProcessStat::read_stat(task).ok()?.filter(|stat| !stat.has_ended)?;
    let process = process_of(task).ok()??;
    Some(MaskCaller { process, name: stat.name, session: Some((stat.session, stat.has_terminal)) })
}

/// Tasks started while watching; kept until a while after their end.
#[derive(Debug, Default)]
struct StartedTasks {
    started: HashMap<u32, StartedTask>,
    ended: VecDeque<u32>,
    /// Requests without an answer yet, by the task that asks.
    asked: HashMap<u32, PendingRequest>,
}

/// A request for a mask that has not been answered.
#[derive(Clone, Copy, Debug)]
struct PendingRequest {
    at_ns: u64,
    target: u32,
}

#[derive(Clone, Debug)]
struct StartedTask {
    parent: u32,
    name: String,
}

impl StartedTasks {
    /// Processes the next event in order of time; returns a granted request with its author. After a fork a number means the new task.
    fn take_event(
        &mut self,
        event: KernelEvent,
        is_wanted: impl Fn(u32) -> bool,
        living: impl Fn(u32) -> Option<MaskCaller>,
    ) -> Option<AffinityEvent> {
        match event.what {
            EventKind::Forked { parent, child, name } => {
                self.started.insert(child, StartedTask { parent, name });
            }
            EventKind::Executed { task, program } => {
                if let Some(started) = self.started.get_mut(&task) {
                    program.rsplit('/').next().unwrap_or_default().clone_into(&mut started.name);
                }
            }
            EventKind::Ended { task, .. } => {
                self.asked.remove(&task);
                if self.started.contains_key(&task) {
                    self.ended.push_back(task);
                }
                if self.ended.len() > MOST_ENDED {
                    self.ended.pop_front().and_then(|oldest| self.started.remove(&oldest));
                }
            }
            EventKind::AffinityAsked { task } => {
                let target = if task == 0 { event.task } else { task };
                self.asked.insert(event.task, PendingRequest { at_ns: event.at_ns, target });
            }
            EventKind::AffinityAnswered { is_granted } => {
                let PendingRequest { target, .. } = self.asked.remove(&event.task)?;
                let seen = |author| AffinityEvent { at_ns: event.at_ns, target, by: event.task, author };
                return (is_granted && is_wanted(target)).then(|| seen(self.find_author(event.task, living)));
            }
            _ => {}
        }
        None
    }

    fn find_author(&self, task: u32, living: impl Fn(u32) -> Option<MaskCaller>) -> Option<MaskCaller> {
        living(task).or_else(|| {
            let started = self.started.get(&task)?;
            // Its ancestors may have ended too.
            let parents = std::iter::successors(Some(started.parent), |parent| Some(self.started.get(parent)?.parent));
            let session = parents.take(16).find_map(&living).and_then(|parent| parent.session);
            Some(MaskCaller { process: task, name: started.name.clone(), session })
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
        let mut watch = source.begin_watch().unwrap();
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let all = super::super::affinity::affinity_of(child.id()).unwrap().to_string();
        let tool = Command::new("taskset").args(["-pc", &all, &child.id().to_string()]).output();
        let Ok(tool) = tool else {
            child.kill().unwrap();
            child.wait().unwrap();
            return println!("skipped: there is no taskset");
        };
        assert!(tool.status.success());
        let mut events = Vec::new();
        while !events.iter().any(|event: &AffinityEvent| event.target == child.id()) {
            assert_eq!(watch.drain_events(|_| true, &mut events), 0);
        }
        // A child's session is that of who started it. An emulator of single programs makes up what it shows of itself.
        let session = ProcessStat::read_stat(child.id()).unwrap().map(|stat| (stat.session, stat.has_terminal));
        child.kill().unwrap();
        child.wait().unwrap();
        let event = events.into_iter().find(|event| event.target == child.id()).unwrap();
        let author = event.author.unwrap();
        assert_eq!((author.name.as_str(), author.process), ("taskset", event.by));
        assert_eq!(author.session, session, "that of this process, which started it");
    }

    /// Any user may request a mask for any thread, again and again.
    #[test]
    fn a_request_that_is_refused_has_no_author() {
        let watched = AffinityEvents::open();
        let Ok(source) = &watched else {
            return println!("skipped: {}", watched.unwrap_err().why);
        };
        let mut watch = source.begin_watch().unwrap();
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let id = child.id();
        let all = super::super::affinity::affinity_of(id).unwrap();
        // The requests of this thread would not be reported.
        let ask = move |cpus: corewise_machine::CpuSet| {
            std::thread::spawn(move || super::super::affinity::set_affinity(id, &cpus)).join().unwrap()
        };
        assert!(ask([8_000].into_iter().collect()).is_err());
        ask(all).unwrap();
        let (mut events, since) = (Vec::new(), monotonic_raw_ns());
        while events.is_empty() {
            watch.drain_events(|target| target == id, &mut events);
        }
        assert_eq!(events.len(), 1, "{events:?}");
        assert!(!watch.awaits_answer(|target| target == id, since));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn what_this_thread_sets_is_no_event() {
        let watched = AffinityEvents::open();
        let Ok(source) = &watched else {
            return println!("skipped: {}", watched.unwrap_err().why);
        };
        let mut watch = source.begin_watch().unwrap();
        let (own, all) = (own_number(), super::super::affinity::current_affinity().unwrap());
        let set = move |thread| super::super::affinity::set_affinity(thread, &all).unwrap();
        set(own);
        // What another thread does afterwards is seen after it.
        let other = std::thread::spawn(move || {
            set(0);
            own_number()
        });
        let other = other.join().unwrap();
        let mut events = Vec::new();
        while !events.iter().any(|event: &AffinityEvent| event.target == other) {
            watch.drain_events(|_| true, &mut events);
        }
        assert!(!events.iter().any(|event| event.by == own), "{events:?}");
    }

    #[test]
    fn rooms_together_are_bounded() {
        assert_eq!([1, 2, 64, 65, 512, 8_192].map(buffer_bytes), [512, 512, 64, 32, 8, 8].map(|kib| kib << 10));
    }

    #[test]
    fn a_task_that_ended_is_known_by_its_start_until_its_number_is_anothers() {
        let event = |task, what| KernelEvent { at_ns: 7, cpu: 0, task, what };
        let forked = |parent, child, name: &str| event(parent, EventKind::Forked { parent, child, name: name.into() });
        let person = MaskCaller { process: 1, name: "shell".into(), session: Some((1, true)) };
        let living = |task| (task == 1).then(|| person.clone());
        let mut tasks = StartedTasks::default();
        let asked = |by, task| event(by, EventKind::AffinityAsked { task });
        let answered = |by, is_granted| event(by, EventKind::AffinityAnswered { is_granted });
        let ended = |task| event(task, EventKind::Ended { task, name: String::new() });
        for event in [
            forked(1, 5, "shell"),
            event(5, EventKind::Executed { task: 5, program: "/usr/bin/taskset".into() }),
            ended(5),
        ] {
            assert_eq!(tasks.take_event(event, |_| true, living), None);
        }
        let author = MaskCaller { process: 5, name: "taskset".into(), session: Some((1, true)) };
        let expected = AffinityEvent { at_ns: 7, target: 9, by: 5, author: Some(author) };
        let ask = |tasks: &mut StartedTasks, by, task, is_granted| {
            assert_eq!(tasks.take_event(asked(by, task), |_| true, living), None, "it is not answered yet");
            tasks.take_event(answered(by, is_granted), |_| true, living)
        };
        assert_eq!(ask(&mut tasks, 5, 9, true), Some(expected));
        assert_eq!(ask(&mut tasks, 5, 9, false), None, "refused");
        assert_eq!(tasks.take_event(answered(5, true), |_| true, living), None, "the request was lost");
        tasks.take_event(asked(5, 9), |_| true, living);
        assert_eq!(tasks.take_event(answered(5, true), |target| target != 9, |_| panic!("it is not looked up")), None);
        assert_eq!(ask(&mut tasks, 1, 0, true).unwrap().target, 1, "itself");
        assert_eq!(ask(&mut tasks, 8, 9, true).unwrap().author, None);
        tasks.take_event(forked(8, 5, "other"), |_| true, living);
        let author = ask(&mut tasks, 5, 9, true).unwrap().author.unwrap();
        assert_eq!((author.name.as_str(), author.session), ("other", None));
        for task in 100..100 + 2 * MOST_ENDED as u32 {
            tasks.take_event(forked(1, task, "many"), |_| true, living);
            tasks.take_event(asked(task, 9), |_| true, living);
            tasks.take_event(ended(task), |_| true, living);
        }
        assert!(tasks.started.len() <= MOST_ENDED + 2, "{}", tasks.started.len());
        assert!(tasks.asked.is_empty(), "who ended has no answer to wait for");
    }
}
