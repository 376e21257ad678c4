//! Holds what a load logged against what the probe says, and shows what does not fit.

use std::fmt::Write as _;

use corewise_model::attribution::{CausePhase, StallCause};
use libtest_mimic::{Completion, Failed};

use crate::load::Logged;
use crate::observe::{ObservedStalls, SeenStall};
use crate::{CALLER, FEWEST, TruthOutcome};

/// Of what was logged, and of what was named, at least this share must be right.
const RIGHT: f64 = 0.98;
/// Of stalls in which no other task ran, at least this share must be counted with the load.
const MAIN: f64 = 0.75;
/// Maximum number of wrong ones that are shown.
const SHOWN: usize = 6;

/// What is right.
pub struct Judge<'a> {
    /// Whether a cause is the load's.
    pub is_right: &'a dyn Fn(&StallCause) -> bool,
    /// A stall that ends no earlier than this before what was logged may be it, in nanoseconds.
    pub early_ns: u64,
    /// So may one beginning no later than this after it.
    pub late_ns: u64,
}

impl Judge<'_> {
    /// What was logged is in stalls in which the load is told to have taken part. Most of these are counted with it; not all, since
    /// a host may stretch a stall of its guest, and two interrupts may meet. Where another task ran, the stall is counted with that.
    pub fn found(&self, observed: &ObservedStalls, logged: &[Logged]) -> Result<(), Failed> {
        if logged.len() < FEWEST {
            return Err(format!("the load logged {} stalls while the probe ran", logged.len()).into());
        }
        let takes_part = |one: &&SeenStall| one.parts.iter().any(|part| (self.is_right)(&part.cause));
        let it = |log: &Logged| observed.seen.iter().filter(|one| self.is_it(one, log)).find(takes_part);
        let (found, missed): (Vec<&Logged>, Vec<&Logged>) = logged.iter().partition(|log| it(log).is_some());
        let alone: Vec<&Logged> =
            found.iter().filter(|log| it(log).is_some_and(|one| self.is_alone(one))).copied().collect();
        let main: Vec<&&Logged> =
            alone.iter().filter(|log| it(log).is_some_and(|one| (self.is_right)(&one.cause))).collect();
        println!(
            "found {} of {} logged, {} of {} as the main cause",
            found.len(),
            logged.len(),
            main.len(),
            alone.len()
        );
        if share(found.len(), logged.len()) >= RIGHT && share(main.len(), alone.len()) >= MAIN {
            return Ok(());
        }
        let mut table = format!("{} of {} were not found", missed.len(), logged.len());
        let _ = write!(table, "; of {} no other task was in, {} are counted with it", alone.len(), main.len());
        let unlike = alone.into_iter().filter(|log| it(log).is_some_and(|one| !(self.is_right)(&one.cause)));
        missed.into_iter().take(SHOWN).for_each(|log| show(&mut table, observed, log.begin_ns, log.end_ns));
        unlike.take(SHOWN).for_each(|log| show(&mut table, observed, log.begin_ns, log.end_ns));
        Err(table.into())
    }

    /// Whether no other task than the load was in a stall.
    fn is_alone(&self, one: &SeenStall) -> bool {
        !one.parts.iter().any(|part| part.cause.is_task() && !(self.is_right)(&part.cause))
    }

    /// What is named so was logged, or is expected anyway; so many more are the background's.
    pub fn precise(
        &self,
        observed: &ObservedStalls,
        logged: &[Logged],
        is_expected: &dyn Fn(u64) -> bool,
        background: usize,
    ) -> TruthOutcome {
        let named: Vec<&SeenStall> = observed.seen.iter().filter(|one| (self.is_right)(&one.cause)).collect();
        // A load may begin before the probe's first look and end after its last one: only what is whole was logged.
        let whole = logged[0].begin_ns..logged[logged.len() - 1].end_ns;
        let is_wrong = |one: &&SeenStall| whole.contains(&one.begin_ns) && !is_expected(one.begin_ns);
        let wrong: Vec<&SeenStall> = self.unlogged(observed, logged).filter(is_wrong).collect();
        println!("{} of {} named are wrong; {background} are the background's", wrong.len(), named.len());
        let wrong_count = wrong.len().saturating_sub(background);
        if share(named.len() - wrong_count, named.len()) >= RIGHT {
            return Ok(Completion::Completed);
        }
        let mut table = format!("{} of {} that are named so were not logged", wrong.len(), named.len());
        wrong.iter().take(SHOWN).for_each(|one| show(&mut table, observed, one.begin_ns, one.end_ns));
        Err(table.into())
    }

    /// The stalls that are named so and were not logged.
    pub fn unlogged<'o>(&self, observed: &'o ObservedStalls, logged: &[Logged]) -> impl Iterator<Item = &'o SeenStall> {
        let named = observed.seen.iter().filter(|one| (self.is_right)(&one.cause));
        named.filter(|one| !logged.iter().any(|log| self.is_it(one, log)))
    }

    /// The parts of a stall hold all the time in which the load had the cpu: what was logged lies between the way in and the way
    /// out, in the load's own parts or in what interrupted these.
    pub fn whole(&self, observed: &ObservedStalls, logged: &[Logged]) -> TruthOutcome {
        let within = |one: &SeenStall| {
            one.parts.iter().filter(|part| part.phase == CausePhase::Running).map(|part| part.length_ns).sum::<u64>()
        };
        let is_whole = |log: &&Logged| {
            let seen = observed.seen.iter().filter(|one| self.is_it(one, log));
            seen.map(within).sum::<u64>() + SLACK_NS >= log.end_ns - log.begin_ns
        };
        let short: Vec<&Logged> = logged.iter().filter(|log| !is_whole(log)).collect();
        if share(logged.len() - short.len(), logged.len()) >= RIGHT {
            return Ok(Completion::Completed);
        }
        let mut table = format!("of {} of {} a part is missing", short.len(), logged.len());
        short.iter().take(SHOWN).for_each(|log| show(&mut table, observed, log.begin_ns, log.end_ns));
        Err(table.into())
    }

    /// The interrupts came from the load's thread on its cpu.
    pub fn sent_by(&self, observed: &ObservedStalls, logged: &[Logged], cpu: u32, function: &str) -> TruthOutcome {
        let number = logged.first().map(|log| log.thread);
        let (mut right, mut all) = (0, 0);
        for sender in observed.senders.iter().filter(|sender| sender.function == function) {
            let is_number = !observed.numbers_are_known || (sender.task == number && sender.name == CALLER);
            right += if sender.cpu == Some(cpu) && is_number { sender.count as usize } else { 0 };
            all += sender.count as usize;
        }
        if all > 0 && share(right, all) >= RIGHT {
            return Ok(Completion::Completed);
        }
        Err(format!("{right} of {all} have the right sender: {:?}", observed.senders).into())
    }

    fn is_it(&self, one: &SeenStall, log: &Logged) -> bool {
        one.begin_ns <= log.end_ns + self.late_ns && one.end_ns + self.early_ns >= log.begin_ns
    }
}

/// Clocks are read a little before and after what they are read for, in nanoseconds.
const SLACK_NS: u64 = 1_000;

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// The stalls and events around a stretch of time, in microseconds since the visit began.
fn show(table: &mut String, observed: &ObservedStalls, begin_ns: u64, end_ns: u64) {
    const AROUND_NS: u64 = 30_000;
    let at = |ns: u64| (ns as f64 - observed.begin_ns as f64) * 1e-3;
    let is_near = |from_ns: u64, to_ns: u64| from_ns <= end_ns + AROUND_NS && to_ns + AROUND_NS >= begin_ns;
    let _ = write!(table, "\n{:>12.1}  to {:.1}", at(begin_ns), at(end_ns));
    for one in observed.seen.iter().filter(|one| is_near(one.begin_ns, one.end_ns)) {
        let parts: Vec<String> = one
            .parts
            .iter()
            .map(|part| format!("{} {:?} {}", part.cause.plain_name(), part.phase, part.length_ns))
            .collect();
        let _ = write!(table, "\n{:>16.1}  stall: {} [{}]", at(one.begin_ns), one.cause.plain_name(), parts.join(", "));
    }
    for event in observed.events.iter().filter(|event| is_near(event.at_ns, event.at_ns)) {
        let _ = write!(table, "\n{:>16.1}  cpu {} task {}: {:?}", at(event.at_ns), event.cpu, event.task, event.what);
    }
}
