//! All visits together: parts too long for a way into the kernel, time that the hypervisor took, periodic stalls.

use std::collections::BTreeMap;
use std::ops::Range;

use super::divide::OFF_CPU_AT_LEAST_NS;
use super::fence::CauseFences;
use super::{CausePhase, CpuStalls, DividedStall, DividedVisit, StallCause, StallPart, summary};
use crate::stall::CauseSurroundings;
use corewise_statistics::order::median;
use corewise_statistics::period;

/// Seed for drawing the stalls to analyse if there are too many.
const SEED: u64 = 1;

/// Settles the questions that need several visits, and summarizes each cpu.
///
/// `worst` is the number of time-lines of the longest stalls to keep for each cause.
pub fn settle_visits(
    mut visits: Vec<DividedVisit>,
    surroundings: &CauseSurroundings,
    worst: usize,
) -> BTreeMap<u32, CpuStalls> {
    let fences = CauseFences::from_visits(&visits);
    let is_apart = interrupt_time_is_apart(&visits);
    for visit in &mut visits {
        for stall in &mut visit.stalls {
            if visit.armed {
                fences.cut_parts(&mut stall.parts);
                give_to_host(stall, surroundings, is_apart);
            } else if is_apart {
                // Both causes are possible.
                let stolen = stall.parts.iter_mut().filter(|part| part.cause == StallCause::Stolen);
                stolen.for_each(|part| part.cause = StallCause::Interrupted);
            }
        }
    }
    let mut by_cpu: BTreeMap<u32, Vec<DividedVisit>> = BTreeMap::new();
    for visit in visits {
        by_cpu.entry(visit.cpu).or_default().push(visit);
    }
    let of_cpu = |(cpu, mut visits): (u32, Vec<DividedVisit>)| {
        // If some visits saw the kernel's events, the others serve for comparison only and name no cause.
        if visits.iter().any(|visit| visit.armed) {
            visits.retain(|visit| visit.armed);
        }
        let periods = give_to_periods(&mut visits);
        (cpu, summary::of_cpu(visits, periods, worst))
    };
    by_cpu.into_iter().map(of_cpu).collect()
}

/// Returns true if this kernel excludes interrupt time from a thread's cpu time (CONFIG_IRQ_TIME_ACCOUNTING). Then most
/// stalls without another task took cpu time from the thread; otherwise almost none did.
///
/// Stalls from outside this system take no cpu time. If handlers are known, only stalls with a handler count.
fn interrupt_time_is_apart(visits: &[DividedVisit]) -> bool {
    const NOISE_NS: f64 = 400.0;
    let is_told = visits.iter().any(|visit| visit.armed);
    let has_handler = |stall: &DividedStall| stall.parts.iter().any(|part| is_interrupt(&part.cause));
    let stalls = visits.iter().flat_map(|visit| &visit.stalls);
    let own = stalls.filter(|one| one.stall.involuntary_switches == 0 && (!is_told || has_handler(one)));
    let off: Vec<f64> = own.map(|one| one.stall.off_cpu_ns as f64).collect();
    median(&off) > NOISE_NS
}

/// Assigns time off the cpu to the hypervisor if no other task had it. It is taken from unknown parts first, then from
/// the ways in and out, then from the longest handlers.
fn give_to_host(stall: &mut DividedStall, surroundings: &CauseSurroundings, is_apart: bool) {
    let away = parts_away(&stall.parts);
    let of_tasks_ns: u64 = stall.parts[away.clone()].iter().map(|part| part.length_ns).sum();
    let on_cpu = || stall.parts.iter().enumerate().filter(|(index, _)| !away.contains(index));
    let in_handlers = on_cpu().filter(|(_, part)| is_apart && is_interrupt(&part.cause));
    let in_handlers_ns: u64 = in_handlers.map(|(_, part)| part.length_ns).sum();
    let length_ns = stall.stall.length_ns();
    let mut stolen_ns = stall.stall.off_cpu_ns.min(length_ns).saturating_sub(of_tasks_ns + in_handlers_ns);
    if stolen_ns < OFF_CPU_AT_LEAST_NS {
        return;
    }
    // The thread was preempted, but the switch was not recorded: the buffer was full.
    let is_preempted = stall.stall.involuntary_switches > 0 && of_tasks_ns == 0;
    let taker = match is_preempted {
        true => StallCause::OtherTask,
        false if surroundings.has_hypervisor => StallCause::Stolen,
        false => return,
    };
    // Work was done on the cpu.
    let mut order: Vec<usize> =
        on_cpu().filter(|(_, part)| part.cause != StallCause::Work).map(|(index, _)| index).collect();
    order.sort_by_key(|&index| (part_rank(&stall.parts[index]), std::cmp::Reverse(stall.parts[index].length_ns)));
    for index in order {
        let part = &mut stall.parts[index];
        let taken_ns = stolen_ns.min(part.length_ns);
        part.length_ns -= taken_ns;
        stolen_ns -= taken_ns;
        // The position within the stall is unknown.
        stall.parts.push(StallPart { cause: taker.clone(), phase: CausePhase::Running, length_ns: taken_ns });
    }
    join_parts(&mut stall.parts, &taker);
}

/// Returns the range of parts in which other tasks had the cpu, from the first to the last, with their interruptions.
/// All of it is time off the cpu for the thread.
fn parts_away(parts: &[StallPart]) -> Range<usize> {
    let runs = |part: &StallPart| part.cause.is_task() && part.phase == CausePhase::Running;
    let first = parts.iter().position(runs).unwrap_or(0);
    first..parts.iter().rposition(runs).map_or(first, |last| last + 1)
}

const fn is_interrupt(cause: &StallCause) -> bool {
    matches!(cause, StallCause::Interrupt { .. } | StallCause::NonMaskable { .. })
}

/// Order in which parts give up time, lowest first.
const fn part_rank(part: &StallPart) -> u8 {
    match (&part.cause, part.phase) {
        (StallCause::Unknown, _) => 0,
        (_, CausePhase::Running) => 2,
        _ => 1,
    }
}

/// Merges the parts of one cause and drops parts of zero length.
fn join_parts(parts: &mut Vec<StallPart>, cause: &StallCause) {
    let length_ns: u64 = parts.iter().filter(|part| part.cause == *cause).map(|part| part.length_ns).sum();
    parts.retain(|part| part.cause != *cause);
    parts.push(StallPart { cause: cause.clone(), phase: CausePhase::Running, length_ns });
    parts.retain(|part| part.length_ns > 0);
}

/// Finds periods in the stalls without kernel events, and assigns the stalls on their phase to them.
fn give_to_periods(visits: &mut [DividedVisit]) -> Vec<period::PeriodicSource> {
    let is_open = |cause: &StallCause| matches!(cause, StallCause::Unknown | StallCause::Interrupted);
    let mut places: Vec<Vec<usize>> = Vec::new();
    let mut asked = Vec::new();
    let Some(zero_ns) = visits.iter().map(|visit| visit.begin_ns).min() else { return Vec::new() };
    let seconds = |at_ns: u64| at_ns.saturating_sub(zero_ns) as f64 * 1e-9;
    for visit in visits.iter() {
        let (mut indices, mut times_s) = (Vec::new(), Vec::new());
        for (index, stall) in visit.stalls.iter().enumerate() {
            let open_ns = stall.time_of(is_open);
            let taken_ns = stall.time_of(|cause| *cause != StallCause::Work) - open_ns;
            if !stall.has_events && open_ns > taken_ns {
                indices.push(index);
                times_s.push(seconds(stall.stall.begin_ns));
            }
        }
        places.push(indices);
        asked.push(period::WatchedStretch { begin_s: seconds(visit.begin_ns), end_s: seconds(visit.end_ns), times_s });
    }
    let found = period::find_periods(&asked, SEED);
    for ((visit, indices), membership) in visits.iter_mut().zip(&places).zip(&found.membership) {
        for (&index, source) in indices.iter().zip(membership) {
            let Some(source) = *source else { continue };
            let open = visit.stalls[index].parts.iter_mut().filter(|part| is_open(&part.cause));
            open.for_each(|part| part.cause = StallCause::Periodic { rank: source as u8 });
        }
    }
    found.sources
}
