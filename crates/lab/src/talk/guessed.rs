//! Wakes guessed from the switches of one's own threads, for a user without rights; means from the calls in which threads wait.

use std::collections::BTreeMap;

use corewise_machine::Gap;
use corewise_model::talk::{TalkSource, WakeMeans};
use corewise_statistics::wakers::{ThreadStep, ThreadSwitch, guess_wakers};
use corewise_sys::open_files::OpenFiles;
use corewise_sys::switches::{OwnSwitch, SwitchChange, SwitchFollower};
use corewise_sys::wakes::{WakeOrigin, WakeTask, waiting_call};

use super::assemble::{SeenTalk, SeenWakes};
use super::means::means_of_waiting;
use super::roster::ThreadRoster;

/// Most switches that are kept: 64 MB.
const MOST_SWITCHES: usize = 2_000_000;
/// Maximum number of threads with a call that is read at each step.
const CALLS_PER_STEP: usize = 32;
const WHAT: &str = "wakes guessed from switches";

/// Records switches.
#[derive(Debug)]
pub struct GuessedTalk {
    follower: SwitchFollower,
    switches: Vec<OwnSwitch>,
    names: Vec<(u32, u32, String)>,
    /// By what each thread was seen to wait, how often.
    calls: BTreeMap<u32, BTreeMap<WakeMeans, u32>>,
    /// The thread of the next call to read.
    next_call: u32,
    lost: u64,
    gaps: Vec<Gap>,
}

impl GuessedTalk {
    /// Begins to record the switches of the roster's threads.
    ///
    /// # Errors
    /// The gap that says why the kernel refuses.
    pub fn open(roster: &ThreadRoster) -> Result<Self, Gap> {
        // Each thread takes a descriptor on each cpu.
        let _ = OpenFiles::raise_limit();
        let mut follower = SwitchFollower::new();
        let mut gaps = Vec::new();
        let named = |gap: Gap| Gap { what: WHAT.to_owned(), ..gap };
        if roster.follows_children() {
            follower.follow_thread(0).map_err(named)?;
        }
        let threads = roster.threads.len();
        for (followed, thread) in roster.threads.keys().enumerate() {
            match follower.follow_thread(*thread) {
                Ok(()) => {}
                Err(gap) if followed == 0 => return Err(named(gap)),
                Err(gap) => {
                    gaps.push(Gap { what: format!("switches of {} of {threads} threads", threads - followed), ..gap });
                    break;
                }
            }
        }
        Ok(Self {
            follower,
            switches: Vec::new(),
            names: Vec::new(),
            calls: BTreeMap::new(),
            next_call: 0,
            lost: 0,
            gaps,
        })
    }

    /// Takes the records out of the kernel's rings, and reads in which calls some threads wait.
    pub fn step(&mut self, roster: &ThreadRoster) {
        self.take_records();
        let after = roster.threads.range(self.next_call..);
        let chosen: Vec<(u32, u32)> =
            after.take(CALLS_PER_STEP).map(|(number, thread)| (*number, thread.process)).collect();
        self.next_call = chosen.last().filter(|_| chosen.len() == CALLS_PER_STEP).map_or(0, |(number, _)| number + 1);
        for (number, process) in chosen {
            let Some((call, descriptor)) = waiting_call(process, number) else { continue };
            let file = descriptor.and_then(|descriptor| roster.file_kind(process, descriptor));
            *self.calls.entry(number).or_default().entry(means_of_waiting(call, file)).or_default() += 1;
        }
    }

    fn take_records(&mut self) {
        let batch = self.follower.drain_switches();
        self.lost += batch.lost;
        self.names.extend(batch.names);
        let own = std::process::id();
        let room = MOST_SWITCHES - self.switches.len();
        let mut others = batch.switches.into_iter().filter(|switch| switch.process != own);
        self.switches.extend(others.by_ref().take(room));
        self.lost += others.count() as u64;
    }

    /// Ends recording and guesses.
    pub fn finish(mut self, roster: &mut ThreadRoster) -> SeenTalk {
        self.take_records();
        roster.processes.extend(self.switches.iter().map(|switch| switch.process));
        let named = self.names.drain(..).rev();
        roster.add_tasks(named.map(|(process, thread, name)| WakeTask { thread, process, name }));
        let nameless = self.switches.iter().map(|switch| (switch.thread, switch.process)).collect::<BTreeMap<_, _>>();
        let nameless = nameless.into_iter().map(|(thread, process)| WakeTask { thread, process, name: String::new() });
        roster.add_tasks(nameless);
        let (switches, threads) = number_threads(&mut self.switches);
        let seen = |guessed: corewise_statistics::wakers::GuessedWakes| {
            let (waker, wakee) = (threads[guessed.waker], threads[guessed.wakee]);
            SeenWakes { origin: WakeOrigin::Task(waker), wakee, means: self.usual_means(wakee), wakes: guessed.wakes }
        };
        SeenTalk {
            source: TalkSource::OwnSwitches,
            wakes: guess_wakers(&switches).into_iter().map(seen).collect(),
            waits: BTreeMap::new(),
            placed: None,
            lost: self.lost,
            gaps: self.gaps,
        }
    }

    /// Returns the means by which a thread was seen to wait most often.
    fn usual_means(&self, thread: u32) -> WakeMeans {
        let most = self.calls.get(&thread).and_then(|calls| calls.iter().max_by_key(|(_, times)| **times));
        most.map_or(WakeMeans::Unknown, |(means, _)| *means)
    }
}

/// Puts the switches in order of time, with threads by their places in the returned list.
fn number_threads(switches: &mut [OwnSwitch]) -> (Vec<ThreadSwitch>, Vec<u32>) {
    switches.sort_by_key(|switch| switch.at_ns);
    let mut threads: Vec<u32> = switches.iter().map(|switch| switch.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    let place = |thread: u32| threads.binary_search(&thread).unwrap_or_default();
    let numbered = switches.iter().map(|switch| {
        let step = match switch.change {
            SwitchChange::Runs => ThreadStep::Runs,
            SwitchChange::Waits => ThreadStep::Waits,
            SwitchChange::Preempted => ThreadStep::Preempted,
            SwitchChange::Ends => ThreadStep::Ends,
        };
        ThreadSwitch { at_ns: switch.at_ns, thread: place(switch.thread), cpu: switch.cpu, step }
    });
    (numbered.collect(), threads)
}
