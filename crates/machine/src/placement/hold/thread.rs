//! State of one held thread: the origin of its mask, and the response to it.

use std::time::Duration;

use crate::CpuSet;

/// Corrections of a thread before it is left alone.
pub const CORRECTIONS: u32 = 10;

/// Response to threads that set their own cpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskEnforcement {
    /// They may choose inside their boundary, which is the placement or the cpus of their role; cpus outside are taken back.
    Boundary,
    /// They are put back, whatever they choose.
    Exact,
}

/// Response to a thread that set its own cpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaskResponse {
    /// It keeps them.
    Left,
    /// It gets these cpus.
    PutBack(CpuSet),
}

/// An event to report to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoldEvent {
    /// A thread set its own cpus. Each thread is reported once for each kind of response.
    Noticed {
        /// Its process.
        process: u32,
        /// The thread.
        thread: u32,
        /// The chosen cpus.
        cpus: CpuSet,
        /// The response.
        response: MaskResponse,
    },
    /// A thread set its own cpus again after [`CORRECTIONS`] corrections, and keeps them from now on.
    GaveUp {
        /// Its process.
        process: u32,
        /// The thread.
        thread: u32,
        /// Its cpus now.
        cpus: CpuSet,
    },
    /// The system refused to place a thread; it is left alone from now on.
    Refused {
        /// Its process.
        process: u32,
        /// The thread.
        thread: u32,
        /// The system's error.
        why: String,
    },
}

/// State of a thread between two looks.
#[derive(Clone, Debug)]
pub struct TrackedThread {
    pub process: u32,
    /// Place in the order of appearance, from zero.
    pub turn: usize,
    pub first_seen: Duration,
    /// The cpus it should have.
    pub target: CpuSet,
    /// Its cpus at the last look, or given after that.
    pub in_force: CpuSet,
    /// True if it chose them itself.
    pub is_own: bool,
    /// True if the last look found nothing to do.
    is_settled: bool,
    /// True if it is not handled any more.
    pub is_left_alone: bool,
    /// The last requested mask. Repeating a request that the system grants only in part would never end.
    asked: Option<CpuSet>,
    corrections: u32,
    /// The cpus it had chosen before the last correction, and those it was given instead.
    put_back: Option<[CpuSet; 2]>,
    told: [bool; 2],
}

/// Verdict on a thread's mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaskVerdict {
    /// It may stay.
    Stays,
    /// The thread is placed: it is new, or its target changed.
    Place(CpuSet),
    /// The thread chose cpus that it may not have.
    PutBack(CpuSet),
    /// It did so once too often.
    GiveUp,
}

/// Comparison of a thread's mask with the expected one.
#[derive(Clone, Copy, Debug)]
pub struct MaskComparison {
    /// True if it is the target.
    pub fits: bool,
    /// True if it is neither the target nor the previous mask: the thread or another program chose it.
    pub is_news: bool,
    /// True if it lies inside the cpus among which the thread may choose.
    pub is_inside: bool,
}

impl TrackedThread {
    /// Creates the state of a new thread. `in_force` is the mask from its creator.
    pub fn new(process: u32, turn: usize, first_seen: Duration, target: CpuSet, in_force: CpuSet) -> Self {
        Self {
            process,
            turn,
            first_seen,
            target,
            in_force,
            is_own: false,
            is_settled: false,
            is_left_alone: false,
            asked: None,
            corrections: 0,
            put_back: None,
            told: [false; 2],
        }
    }

    /// Returns true if the last look found nothing to do and nothing has changed since.
    pub fn is_settled(&self, target: &CpuSet, cpus: &CpuSet) -> bool {
        self.is_settled && self.target == *target && self.in_force == *cpus
    }

    /// Decides about the thread's current cpus, given its target.
    pub fn judge_mask(
        &mut self,
        target: CpuSet,
        cpus: &CpuSet,
        comparison: MaskComparison,
        enforcement: Option<MaskEnforcement>,
    ) -> MaskVerdict {
        let is_elsewhere = target != self.target;
        self.target = target;
        self.is_own = (self.is_own || comparison.is_news) && !comparison.fits;
        let wish = self.find_wish(cpus, comparison, is_elsewhere, enforcement);
        let verdict = self.within_reason(wish, comparison.is_news);
        if let MaskVerdict::PutBack(given) = &verdict {
            self.put_back = Some([cpus.clone(), given.clone()]);
        }
        self.is_settled = verdict == MaskVerdict::Stays;
        if self.is_settled {
            self.in_force = cpus.clone();
        }
        verdict
    }

    /// Records the mask after a placement. If the thread has again the mask it was put back from, it chose it anew: the system never grants
    /// more than was requested. The next look must see that as news.
    pub fn note_placed(&mut self, cpus: CpuSet) {
        self.in_force = match &self.put_back {
            Some([chosen, given]) if *chosen == cpus => given.clone(),
            _ => cpus,
        };
    }

    /// Limits corrections; everything else is requested once.
    fn within_reason(&mut self, wish: MaskVerdict, is_news: bool) -> MaskVerdict {
        match wish {
            MaskVerdict::PutBack(_) if is_news && self.corrections == CORRECTIONS => {
                self.is_left_alone = true;
                MaskVerdict::GiveUp
            }
            MaskVerdict::PutBack(_) if is_news => {
                self.corrections += 1;
                wish
            }
            MaskVerdict::Place(wanted) | MaskVerdict::PutBack(wanted) => self.ask_once(wanted),
            MaskVerdict::Stays | MaskVerdict::GiveUp => wish,
        }
    }

    fn find_wish(
        &self,
        cpus: &CpuSet,
        comparison: MaskComparison,
        is_elsewhere: bool,
        enforcement: Option<MaskEnforcement>,
    ) -> MaskVerdict {
        if comparison.fits {
            return MaskVerdict::Stays;
        }
        if !self.is_own {
            return MaskVerdict::Place(self.target.clone());
        }
        match enforcement {
            Some(MaskEnforcement::Exact) => MaskVerdict::PutBack(self.target.clone()),
            Some(MaskEnforcement::Boundary) if comparison.is_inside => MaskVerdict::Stays,
            Some(MaskEnforcement::Boundary) => {
                let rest = cpus.intersection(&self.target);
                MaskVerdict::PutBack(if rest.is_empty() { self.target.clone() } else { rest })
            }
            None if is_elsewhere && !cpus.is_subset(&self.target) => MaskVerdict::Place(self.target.clone()),
            None => MaskVerdict::Stays,
        }
    }

    /// Requests cpus without counting a correction; once.
    fn ask_once(&mut self, wanted: CpuSet) -> MaskVerdict {
        if self.asked.as_ref() == Some(&wanted) {
            return MaskVerdict::Stays;
        }
        self.asked = Some(wanted.clone());
        MaskVerdict::Place(wanted)
    }

    /// Returns the event about a thread that chose its own cpus: one for the first time it was left, one for the first time it was put
    /// back.
    pub fn describe_choice(&mut self, thread: u32, cpus: &CpuSet, verdict: &MaskVerdict) -> Option<HoldEvent> {
        let response = match verdict {
            MaskVerdict::GiveUp => {
                return Some(HoldEvent::GaveUp { process: self.process, thread, cpus: cpus.clone() });
            }
            MaskVerdict::Stays => MaskResponse::Left,
            MaskVerdict::Place(cpus) | MaskVerdict::PutBack(cpus) => MaskResponse::PutBack(cpus.clone()),
        };
        let told = &mut self.told[usize::from(response != MaskResponse::Left)];
        let is_first = !std::mem::replace(told, true);
        is_first.then(|| HoldEvent::Noticed { process: self.process, thread, cpus: cpus.clone(), response })
    }
}
