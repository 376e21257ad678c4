//! One thread that is held: whose choice its mask is, and what is done about it.

use std::time::Duration;

use crate::CpuSet;

/// How often a thread is put back before it is left alone.
pub const CORRECTIONS: u32 = 10;

/// What is done about threads that set their own cpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforcement {
    /// They may choose inside their boundary, which is the placement or the cpus of their role; what reaches outside is
    /// put back.
    Boundary,
    /// They are put back whatever they choose.
    Exact,
}

/// What is done about a thread that set its own cpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// It keeps them.
    Left,
    /// It gets these.
    PutBack(CpuSet),
}

/// Something to tell the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A thread set its own cpus. Each thread is reported once for each kind of response.
    Noticed {
        /// The process it belongs to.
        process: u32,
        /// The thread.
        thread: u32,
        /// What it chose.
        cpus: CpuSet,
        /// What is done about it.
        response: Response,
    },
    /// A thread set its own cpus again after [`CORRECTIONS`] corrections, and keeps them from now on.
    GaveUp {
        /// The process it belongs to.
        process: u32,
        /// The thread.
        thread: u32,
        /// What it has now.
        cpus: CpuSet,
    },
    /// The system did not let a thread be placed; it is left alone from now on.
    Refused {
        /// The process it belongs to.
        process: u32,
        /// The thread.
        thread: u32,
        /// What the system said.
        why: String,
    },
}

/// What is known of a thread between two looks.
#[derive(Clone, Debug)]
pub struct Thread {
    pub process: u32,
    /// Its place in the order of appearance, from zero.
    pub turn: usize,
    pub first_seen: Duration,
    /// The cpus it belongs to.
    pub target: CpuSet,
    /// The cpus it had when it was last looked at, or was given after that.
    pub in_force: CpuSet,
    /// Whether it chose those itself.
    pub is_own: bool,
    /// Whether the last look found nothing to do.
    is_settled: bool,
    /// Whether nothing is done about it any more.
    pub is_left_alone: bool,
    /// What was asked for last; asking again for what the system gives only in part would have no end.
    asked: Option<CpuSet>,
    corrections: u32,
    /// What it had chosen when it was put back last, and what it was given instead.
    put_back: Option<[CpuSet; 2]>,
    told: [bool; 2],
}

/// What a look makes of a thread's mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may stay.
    Stays,
    /// The thread is placed: it appeared, or belongs elsewhere now.
    Place(CpuSet),
    /// The thread chose something that it is not to have.
    PutBack(CpuSet),
    /// It did so once too often.
    GiveUp,
}

/// What a thread's mask is, compared with what was expected.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// It is what the thread should have.
    pub fits: bool,
    /// It is neither that nor what the thread had before: the thread chose it, or somebody did for it.
    pub is_news: bool,
    /// It lies inside the cpus that the thread may choose among.
    pub is_inside: bool,
}

impl Thread {
    /// A thread that appeared. `in_force` is what it had from its creator.
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

    /// Whether nothing changed since the last look, which found nothing to do.
    pub fn is_settled(&self, target: &CpuSet, cpus: &CpuSet) -> bool {
        self.is_settled && self.target == *target && self.in_force == *cpus
    }

    /// What to do about the cpus that the thread has now, where it belongs to `target` from now on.
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

    /// What the thread has after it was placed. Who has what it was put back from has chosen it again before that was looked at: the system
    /// does not give what was not asked for, and the next look has to see that this is news.
    pub fn placed(&mut self, cpus: CpuSet) {
        self.in_force = match &self.put_back {
            Some([chosen, given]) if *chosen == cpus => given.clone(),
            _ => cpus,
        };
    }

    /// Corrections are counted; everything else is asked for once.
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

    /// Asks for cpus that no choice of the thread stands against; once.
    fn ask(&mut self, wanted: CpuSet) -> Verdict {
        if self.asked.as_ref() == Some(&wanted) {
            return Verdict::Stays;
        }
        self.asked = Some(wanted.clone());
        Verdict::Place(wanted)
    }

    /// What there is to tell of a thread that chose its own cpus: once that it was left, once that it was put back.
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
