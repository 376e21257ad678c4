//! State of one held thread: the origin of its mask, and the response to it.

use std::time::Duration;

use crate::CpuSet;

/// Corrections of a thread before it is left alone.
pub const CORRECTIONS: u32 = 10;

/// Response to threads that set their own cpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforcement {
    /// They may choose inside their boundary, which is the placement or the cpus of their role; cpus outside are taken back.
    Boundary,
    /// They are put back, whatever they choose.
    Exact,
}

/// Response to a thread that set its own cpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// It keeps them.
    Left,
    /// It gets these cpus.
    PutBack(CpuSet),
}

/// An event to report to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A thread set its own cpus. Each thread is reported once for each kind of response.
    Noticed {
        /// Its process.
        process: u32,
        /// The thread.
        thread: u32,
        /// The chosen cpus.
        cpus: CpuSet,
        /// The response.
        response: Response,
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
pub struct Thread {
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
pub enum Verdict {
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
pub struct Comparison {
    /// True if it is the target.
    pub fits: bool,
    /// True if it is neither the target nor the previous mask: the thread or another program chose it.
    pub is_news: bool,
    /// True if it lies inside the cpus among which the thread may choose.
    pub is_inside: bool,
}

impl Thread {
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
    pub fn judge(
        &mut self,
        target: CpuSet,
        cpus: &CpuSet,
        comparison: Comparison,
        enforcement: Option<Enforcement>,
    ) -> Verdict {
        let is_elsewhere = target != self.target;
        self.target = target;
        self.is_own = (self.is_own || comparison.is_news) && !comparison.fits;
        let wish = self.wish(cpus, comparison, is_elsewhere, enforcement);
        let verdict = self.within_reason(wish, comparison.is_news);
        if let Verdict::PutBack(given) = &verdict {
            self.put_back = Some([cpus.clone(), given.clone()]);
        }
        self.is_settled = verdict == Verdict::Stays;
        if self.is_settled {
            self.in_force = cpus.clone();
        }
        verdict
    }

    /// Records the mask after a placement. If the thread has again the mask it was put back from, it chose it anew: the system never grants
    /// more than was requested. The next look must see that as news.
    pub fn placed(&mut self, cpus: CpuSet) {
        self.in_force = match &self.put_back {
            Some([chosen, given]) if *chosen == cpus => given.clone(),
            _ => cpus,
        };
    }

    /// Limits corrections; everything else is requested once.
    fn within_reason(&mut self, wish: Verdict, is_news: bool) -> Verdict {
        match wish {
            Verdict::PutBack(_) if is_news && self.corrections == CORRECTIONS => {
                self.is_left_alone = true;
                Verdict::GiveUp
            }
            Verdict::PutBack(_) if is_news => {
                self.corrections += 1;
                wish
            }
            Verdict::Place(wanted) | Verdict::PutBack(wanted) => self.ask(wanted),
            Verdict::Stays | Verdict::GiveUp => wish,
        }
    }

    fn wish(
        &self,
        cpus: &CpuSet,
        comparison: Comparison,
        is_elsewhere: bool,
        enforcement: Option<Enforcement>,
    ) -> Verdict {
        if comparison.fits {
            return Verdict::Stays;
        }
        if !self.is_own {
            return Verdict::Place(self.target.clone());
        }
        match enforcement {
            Some(Enforcement::Exact) => Verdict::PutBack(self.target.clone()),
            Some(Enforcement::Boundary) if comparison.is_inside => Verdict::Stays,
            Some(Enforcement::Boundary) => {
                let rest = cpus.intersection(&self.target);
                Verdict::PutBack(if rest.is_empty() { self.target.clone() } else { rest })
            }
            None if is_elsewhere && !cpus.is_subset(&self.target) => Verdict::Place(self.target.clone()),
            None => Verdict::Stays,
        }
    }

    /// Requests cpus without counting a correction; once.
    fn ask(&mut self, wanted: CpuSet) -> Verdict {
        if self.asked.as_ref() == Some(&wanted) {
            return Verdict::Stays;
        }
        self.asked = Some(wanted.clone());
        Verdict::Place(wanted)
    }

    /// Returns the event about a thread that chose its own cpus: one for the first time it was left, one for the first time it was put
    /// back.
    pub fn tell(&mut self, thread: u32, cpus: &CpuSet, verdict: &Verdict) -> Option<Event> {
        let response = match verdict {
            Verdict::GiveUp => {
                return Some(Event::GaveUp { process: self.process, thread, cpus: cpus.clone() });
            }
            Verdict::Stays => Response::Left,
            Verdict::Place(cpus) | Verdict::PutBack(cpus) => Response::PutBack(cpus.clone()),
        };
        let told = &mut self.told[usize::from(response != Response::Left)];
        let is_first = !std::mem::replace(told, true);
        is_first.then(|| Event::Noticed { process: self.process, thread, cpus: cpus.clone(), response })
    }
}
