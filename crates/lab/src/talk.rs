//! Watches which threads of running processes wake each other, in the most exact way that this kernel and user allow: counted by BPF
//! programs, from perf's ring, or guessed from one's own switches. docs/talk.md, "How it sees", compares them.

mod assemble;
mod counted;
mod guessed;
mod means;
mod ring;
mod roster;

use std::time::{Duration, Instant};

use corewise_machine::Gap;
use corewise_model::artifact::{ArtifactOrigin, ArtifactProvenance};
use corewise_model::talk::TalkGraph;

use crate::LabError;
use crate::numbers::check_numbers;
use crate::session::unix_ms;
use counted::CountedTalk;
use guessed::GuessedTalk;
use ring::RingTalk;
use roster::ThreadRoster;

/// Longest delay until the end of watching is noticed.
const STEP: Duration = Duration::from_millis(20);
/// Intervals between two looks at all threads: short at first, since a program may end soon.
const FIRST_LOOK: Duration = Duration::from_millis(5);
const LONGEST_BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// The watched processes.
#[derive(Clone, Copy, Debug, Default)]
pub struct TalkSubject<'a> {
    /// Running processes, by number, which are watched with their descendants. If empty, the processes that the calling thread starts
    /// after [`TalkWatcher::open`] are watched.
    pub processes: &'a [u32],
    /// The command line to be stored; if empty, that of the first process.
    pub command: &'a [String],
    /// corewise's version.
    pub corewise: &'a str,
}

/// Way to see wakes, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TalkWay {
    /// Counted in the kernel.
    Counted,
    /// From perf's ring.
    Ring,
    /// Guessed from one's own switches.
    Guessed,
}

/// Watches some processes. The kernel's programs and events end when it is dropped.
#[derive(Debug)]
pub struct TalkWatcher<'a> {
    subject: TalkSubject<'a>,
    way: OpenWay,
    roster: ThreadRoster,
    gaps: Vec<Gap>,
    started_unix_ms: i64,
}

#[derive(Debug)]
enum OpenWay {
    Counted(CountedTalk),
    Ring(RingTalk),
    Guessed(GuessedTalk),
}

/// Watches running processes for a while, or until they end or `should_stop` returns true.
///
/// # Errors
/// [`LabError::NoWakes`] if this kernel or user has no way to see wakes.
pub fn watch_talk(
    subject: TalkSubject<'_>,
    duration: Duration,
    should_stop: &dyn Fn() -> bool,
) -> Result<TalkGraph, LabError> {
    Ok(TalkWatcher::open(subject)?.watch(duration, should_stop))
}

impl<'a> TalkWatcher<'a> {
    /// Begins to see wakes of the processes, or of the calling thread's future children.
    ///
    /// # Errors
    /// [`LabError::NoWakes`] if this kernel or user has no way to see wakes.
    pub fn open(subject: TalkSubject<'a>) -> Result<Self, LabError> {
        Self::open_from(subject, TalkWay::Counted)
    }

    /// As [`Self::open`], without the ways better than `best`.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_from(subject: TalkSubject<'a>, best: TalkWay) -> Result<Self, LabError> {
        check_numbers().map_err(|gap| LabError::NoWakes(vec![gap]))?;
        let started_unix_ms = unix_ms();
        let mut roster = ThreadRoster::new(subject.processes);
        roster.look_at_threads();
        let mut gaps = Vec::new();
        let way = open_way(&roster, best, &mut gaps).ok_or_else(|| LabError::NoWakes(std::mem::take(&mut gaps)))?;
        Ok(Self { subject, way, roster, gaps, started_unix_ms })
    }

    /// Watches for a while, without a limit for [`Duration::MAX`], or until the processes have ended or `should_stop` returns true. Returns the
    /// wakes since [`Self::open`].
    pub fn watch(mut self, duration: Duration, should_stop: &dyn Fn() -> bool) -> TalkGraph {
        let begun = Instant::now();
        let (mut next_look, mut interval) = (FIRST_LOOK, FIRST_LOOK);
        let mut is_partial = false;
        while begun.elapsed() < duration {
            is_partial = should_stop();
            if is_partial || self.roster.has_ended() {
                break;
            }
            if begun.elapsed() >= next_look {
                self.roster.look_between();
                interval = (2 * interval).min(LONGEST_BETWEEN_LOOKS);
                next_look = begun.elapsed() + interval;
            }
            match &mut self.way {
                OpenWay::Counted(counted) => counted.step(begun.elapsed()),
                OpenWay::Ring(ring) => ring.step(),
                OpenWay::Guessed(guessed) => guessed.step(&self.roster),
            }
            std::thread::sleep(STEP.min(duration.saturating_sub(begun.elapsed())));
        }
        self.finish(begun.elapsed(), duration, is_partial)
    }

    fn finish(mut self, elapsed: Duration, duration: Duration, partial: bool) -> TalkGraph {
        self.roster.look_at_threads();
        let seen = match self.way {
            OpenWay::Counted(counted) => counted.finish(&mut self.roster),
            OpenWay::Ring(ring) => ring.finish(&mut self.roster),
            OpenWay::Guessed(guessed) => guessed.finish(&mut self.roster),
        };
        let provenance = ArtifactProvenance {
            origin: ArtifactOrigin::Measured,
            corewise: self.subject.corewise.to_owned(),
            started_unix_ms: self.started_unix_ms,
            elapsed_s: elapsed.as_secs_f64(),
            budget_s: if duration == Duration::MAX { 0.0 } else { duration.as_secs_f64() },
            seed: 0,
            partial,
        };
        let command = self.roster.command_line(self.subject.command);
        let mut graph = assemble::assemble_graph(seen, &self.roster, elapsed, provenance);
        graph.command = command;
        graph.running = self.subject.processes.to_vec();
        graph.gaps.splice(0..0, self.gaps);
        graph
    }
}

/// Opens the best way; the reasons why better ones are not available become gaps.
fn open_way(roster: &ThreadRoster, best: TalkWay, gaps: &mut Vec<Gap>) -> Option<OpenWay> {
    let mut note = |gap: Gap| gaps.push(gap);
    let mut found = None;
    if best <= TalkWay::Counted {
        found = CountedTalk::open(roster).map(OpenWay::Counted).map_err(&mut note).ok();
    }
    if found.is_none() && best <= TalkWay::Ring {
        found = RingTalk::open(roster).map(OpenWay::Ring).map_err(&mut note).ok();
    }
    found.or_else(|| GuessedTalk::open(roster).map(OpenWay::Guessed).map_err(&mut note).ok())
}
