//! Precedence between rules and other authors of masks: the verdict on each thread of each matching process.
//!
//! A mask set by another author, `news`, is judged by this table. `inside` means that the mask lies in the cpus that
//! the rule has for this thread. Any other change, such as a cpu that went away or a rule that changed, comes from the
//! kernel or from us, and the thread gets its wanted cpus.
//!
//! | strength | author                      | inside | outside                         |
//! |----------|-----------------------------|--------|---------------------------------|
//! | once     | any                         | stays  | stays                           |
//! | others   | a person                    | the process is released | the same       |
//! | boundary | the program itself, unknown | stays  | the process is released         |
//! | boundary | another program             | stays  | corrected, ten times an hour    |
//! | exact    | any other                   | corrected, ten times an hour | the same  |

use std::time::Duration;

use corewise_machine::CpuSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::action::{KeepAction, LeftBecause, MaskAuthor, OriginalMask};
use super::process::{ObservedProcess, ObservedThread};
use super::resolve::ResolvedRule;
use super::rule::RuleStrength;

/// Maximum corrections of a thread in a [`PERIOD`] before its process is left alone.
pub const CORRECTIONS: usize = 10;
/// The time over which corrections count.
pub const PERIOD: Duration = Duration::from_secs(3600);
/// Pause before the first repeated attempt.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause between attempts.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// A thread of a process that a rule matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldThread {
    /// Start, in clock ticks since the boot.
    pub start_ticks: u64,
    /// Its mask before any rule, to be restored.
    pub original: OriginalMask,
    /// The mask that it was last given; `None` if it was given none.
    pub given: Option<CpuSet>,
    /// Its mask at the last look, or after it was set.
    pub seen: CpuSet,
    /// True if that mask was set by another author.
    pub is_own: bool,
    /// The reason why it could not be placed; it is tried again after a pause.
    pub refused: Option<String>,
    /// The next attempt to place it after a refusal.
    #[serde(skip)]
    pub(super) retry: Option<RetryTime>,
    /// True if there was no cpu for it: a mask that the kernel then sets has no author.
    #[serde(skip)]
    pub(super) is_waiting: bool,
    /// The cpus requested but not fully granted: repeating the request would never end.
    #[serde(skip)]
    pub(super) asked: Option<CpuSet>,
    #[serde(skip)]
    pub(super) corrected: Vec<Duration>,
    /// Last corrected author, as far as known.
    #[serde(skip)]
    pub(super) rival: Option<MaskAuthor>,
}

/// Time of the next attempt to place a thread, or to read a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryTime {
    /// Time since the keeper began.
    pub(super) at: Duration,
    pub(super) pause: Duration,
}

impl RetryTime {
    /// Returns the time of the next attempt after a failure at `now`: twice the pause of the one before, at most [`LONGEST_PAUSE`]. Most
    /// failures are of the moment, as of a full disk; the longest pause makes the others cheap.
    pub fn after_failure(earlier: Option<Self>, now: Duration) -> Self {
        let pause = earlier.map_or(FIRST_PAUSE, |earlier| (2 * earlier.pause).min(LONGEST_PAUSE));
        Self { at: now + pause, pause }
    }

    /// Returns true once it has come.
    pub fn is_due(&self, now: Duration) -> bool {
        self.at <= now
    }
}

/// Verdict on a thread.
pub(super) enum ThreadVerdict {
    Nothing,
    Place(CpuSet),
    /// It gets these cpus back: the author set others.
    Correct(CpuSet, MaskAuthor),
    Release(LeftBecause),
    /// There is no cpu for it.
    NoCpu,
}

/// Creates the state of an unknown thread. If its mask equals a relative's present or original mask, it was inherited,
/// and its original mask is the relative's. Any other mask of a later thread was set by itself or by another author.
pub(super) fn meet_thread<'a>(
    thread: &ObservedThread,
    process: &ObservedProcess,
    relatives: impl Iterator<Item = &'a HeldThread> + Clone,
    is_first: bool,
) -> HeldThread {
    let new = |original, seen| HeldThread::new(thread.start_ticks, original, seen);
    let mut placed = relatives.clone().filter(|relative| relative.is_placed());
    if let Some(creator) = placed.clone().find(|relative| relative.seen == thread.cpus) {
        return HeldThread { given: creator.given.clone(), ..new(creator.original.clone(), thread.cpus.clone()) };
    }
    let had = |relative: &&HeldThread| relative.original.restrict_to(&process.reachable) == thread.cpus;
    match (relatives.clone().find(had), placed.next()) {
        (Some(creator), _) => new(creator.original.clone(), thread.cpus.clone()),
        (None, Some(sibling)) if !is_first => {
            HeldThread { given: sibling.given.clone(), ..new(sibling.original.clone(), sibling.seen.clone()) }
        }
        _ => new(OriginalMask::from_mask(&thread.cpus, &process.reachable), thread.cpus.clone()),
    }
}

impl HeldThread {
    pub(super) fn new(start_ticks: u64, original: OriginalMask, seen: CpuSet) -> Self {
        Self {
            start_ticks,
            original,
            given: None,
            seen,
            is_own: false,
            refused: None,
            retry: None,
            is_waiting: false,
            asked: None,
            corrected: Vec::new(),
            rival: None,
        }
    }

    /// Returns true if its mask comes from a rule.
    pub(super) fn is_placed(&self) -> bool {
        self.given.is_some() && !self.is_own
    }

    /// Applies the table in the module documentation.
    pub(super) fn judge_thread(
        &mut self,
        thread: &ObservedThread,
        process: &ObservedProcess,
        rule: &ResolvedRule,
        now: Duration,
        author: &dyn Fn(u32) -> MaskAuthor,
    ) -> ThreadVerdict {
        let boundary = rule.cpus_of(&thread.name);
        let reachable = boundary.intersection(&process.reachable);
        let wanted = if rule.rule.widen { reachable } else { self.original.restrict_to(&reachable) };
        let is_news = self.is_news(&thread.cpus, &process.reachable);
        let was_waiting = std::mem::replace(&mut self.is_waiting, wanted.is_empty());
        self.seen.clone_from(&thread.cpus);
        if thread.cpus == wanted {
            (self.is_own, self.asked) = (false, None);
            (self.refused, self.retry) = (None, None);
            return ThreadVerdict::Nothing;
        }
        if wanted.is_empty() {
            return if was_waiting { ThreadVerdict::Nothing } else { ThreadVerdict::NoCpu };
        }
        let is_inside = thread.cpus.is_subset(boundary);
        let strength = rule.rule.strength;
        let is_done = strength == RuleStrength::Once && self.given.is_some();
        if !is_news {
            let stays = is_done
                || self.is_own && is_inside && strength == RuleStrength::Boundary
                || self.asked.as_ref() == Some(&wanted) && !self.is_retry_due(now);
            return if stays { ThreadVerdict::Nothing } else { ThreadVerdict::Place(wanted) };
        }
        if is_done {
            self.is_own = true;
            return ThreadVerdict::Nothing;
        }
        let cpus = thread.cpus.clone();
        self.is_own = true;
        match (author(thread.id), strength, is_inside) {
            (MaskAuthor::Person { program }, ..) => ThreadVerdict::Release(LeftBecause::Person { program, cpus }),
            (_, RuleStrength::Boundary, true) => ThreadVerdict::Nothing,
            (author @ (MaskAuthor::Itself | MaskAuthor::Unknown), RuleStrength::Boundary, false) => {
                ThreadVerdict::Release(LeftBecause::LeftBoundary { author, cpus })
            }
            (author, ..) => {
                let author = match (author, &self.rival) {
                    // Events may be lost: then the author is assumed to be the last one corrected.
                    (MaskAuthor::Unknown, Some(rival)) => rival.clone(),
                    (author, _) => author,
                };
                self.rival = (author != MaskAuthor::Unknown).then(|| author.clone());
                self.corrected.retain(|at| now.saturating_sub(*at) < PERIOD);
                if self.corrected.len() >= CORRECTIONS {
                    let corrected = std::mem::take(&mut self.corrected);
                    return ThreadVerdict::Release(LeftBecause::Fought { author, corrected, cpus });
                }
                self.corrected.push(now);
                ThreadVerdict::Correct(wanted, author)
            }
        }
    }

    /// Records that it could not be placed. Returns true if that is news: it was not refused before for this reason.
    pub(super) fn note_refusal(&mut self, action: &KeepAction, why: &str, now: Duration) -> bool {
        (self.given, self.asked) = (None, action.cpus.clone());
        self.seen.clone_from(&action.seen);
        self.retry = Some(RetryTime::after_failure(self.retry, now));
        self.refused.replace(why.to_owned()).as_deref() != Some(why)
    }

    /// Returns true if it was refused, and the pause since then is over.
    pub(super) fn is_retry_due(&self, now: Duration) -> bool {
        self.retry.is_some_and(|retry| retry.is_due(now))
    }

    /// Returns true if its mask was changed since the last look by neither the kernel nor a rule.
    pub(super) fn is_news(&self, cpus: &CpuSet, reachable: &CpuSet) -> bool {
        let rest = match &self.given {
            Some(given) => given.intersection(reachable),
            None => self.original.restrict_to(reachable),
        };
        !(self.seen == *cpus || self.is_waiting || rest.is_empty() || rest == *cpus)
    }

    pub(super) fn place_thread(&mut self, process: u32, thread: u32, cpus: CpuSet) -> KeepAction {
        self.is_own = false;
        self.given = Some(cpus.clone());
        let seen = std::mem::replace(&mut self.seen, cpus.clone());
        let (start_ticks, original) = (self.start_ticks, self.original.clone());
        KeepAction { process, thread, start_ticks, cpus: Some(cpus), original, seen }
    }
}
