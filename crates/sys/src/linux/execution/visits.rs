//! Visits to the cpus on which a command computes: a thread of this process estimates their clock rate.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use corewise_machine::CpuSet;

use super::super::affinity;
use super::shared_time::monotonic_now;
use crate::values::execution::ClockProbe;

/// The first visit comes with the first look at the threads after this time, some 75 ms after the start.
const FIRST: Duration = Duration::from_millis(70);
/// The others come with the first look after this time since the previous visit, some 300 ms apart.
const EVERY: Duration = Duration::from_millis(250);

/// The visits during one run, started by the loop that looks at the command's threads.
pub struct RateVisits {
    /// Requests to the visiting thread; `None` if there are no visits.
    wanted: Option<SyncSender<u32>>,
    due: Duration,
    last: Option<u32>,
}

impl RateVisits {
    /// Runs `attend`, with visits by `probe`, for a command that began at `began`; returns its result and the estimated rates in GHz.
    pub fn run_during<T>(
        probe: Option<&dyn ClockProbe>,
        began: Duration,
        attend: impl FnOnce(&mut Self) -> T,
    ) -> (T, Vec<f64>) {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let visitor = probe.and_then(|probe| {
                // A thread that is still at a visit gets no other request.
                let (wanted, asked) = sync_channel(0);
                let name = thread::Builder::new().name("clock".to_owned());
                let stop = &stop;
                Some((wanted, name.spawn_scoped(scope, move || visit_cpus(probe, &asked, stop)).ok()?))
            });
            let (wanted, thread) = visitor.unzip();
            let mut visits = Self { wanted, due: began + FIRST, last: None };
            let made = attend(&mut visits);
            stop.store(true, Ordering::Relaxed);
            drop(visits);
            (made, thread.and_then(|thread| thread.join().ok()).unwrap_or_default())
        })
    }

    /// Visits the next of the cpus that compute at this moment, if a visit is due.
    pub fn visit_if_due(&mut self, computing: &CpuSet) {
        let Some(wanted) = self.wanted.as_ref().filter(|_| self.due <= monotonic_now()) else { return };
        if let Some(cpu) = next(computing, self.last)
            && wanted.try_send(cpu).is_ok()
        {
            self.last = Some(cpu);
            self.due = monotonic_now() + EVERY;
        }
    }
}

/// Returns the cpu after the last one, starting over at the lowest.
fn next(cpus: &CpuSet, last: Option<u32>) -> Option<u32> {
    cpus.iter().find(|cpu| last.is_none_or(|last| *cpu > last)).or(cpus.lowest())
}

/// Runs the visiting thread until the requests end; a cpu that it does not get is left out.
fn visit_cpus(probe: &dyn ClockProbe, asked: &Receiver<u32>, stop: &AtomicBool) -> Vec<f64> {
    let mut rates = Vec::new();
    while let Ok(cpu) = asked.recv() {
        if affinity::pin_current(cpu).is_ok() {
            rates.extend(probe.estimate_gigahertz(stop));
        }
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_visited_in_turn() {
        let cpus = CpuSet::parse_list("1,4-5").unwrap();
        let mut last = None;
        let turns: Vec<u32> = std::iter::repeat_with(|| {
            last = next(&cpus, last);
            last.unwrap()
        })
        .take(5)
        .collect();
        assert_eq!(turns, [1, 4, 5, 1, 4]);
        assert_eq!((next(&CpuSet::default(), Some(3)), next(&CpuSet::from_cpu(2), Some(3))), (None, Some(2)));
    }

    /// Tells the cpu that it is on as a rate.
    #[derive(Debug)]
    struct WhereaboutsProbe;

    impl ClockProbe for WhereaboutsProbe {
        fn estimate_gigahertz(&self, _: &AtomicBool) -> Option<f64> {
            affinity::running_on().map(f64::from)
        }
    }

    /// Makes a visit due, and looks until the thread listens and makes it.
    fn look_until_visited(visits: &mut RateVisits, cpus: &CpuSet) {
        let begun = monotonic_now();
        visits.due = Duration::ZERO;
        while visits.due.is_zero() {
            assert!(monotonic_now() < begun + Duration::from_mins(2), "nobody listens");
            visits.visit_if_due(cpus);
            thread::yield_now();
        }
    }

    #[test]
    fn a_visit_is_on_its_cpu_and_moves_nobody_else() {
        let cpus = affinity::current_affinity().unwrap();
        let (own, found) =
            RateVisits::run_during(Some(&WhereaboutsProbe), Duration::ZERO, |visits: &mut RateVisits| {
                cpus.iter().for_each(|_| look_until_visited(visits, &cpus));
                affinity::current_affinity().unwrap()
            });
        assert_eq!(own, cpus);
        assert_eq!(found, cpus.iter().map(f64::from).collect::<Vec<_>>());
    }

    #[test]
    fn without_a_probe_or_before_its_time_there_is_no_visit() {
        let cpus = affinity::current_affinity().unwrap();
        let look = |visits: &mut RateVisits| (0..1_000).for_each(|_| visits.visit_if_due(&cpus));
        assert!(RateVisits::run_during(None, Duration::ZERO, look).1.is_empty());
        let once = |visits: &mut RateVisits| {
            look_until_visited(visits, &cpus);
            visits.due = monotonic_now() + Duration::from_mins(1);
            for _ in 0..1_000 {
                visits.visit_if_due(&cpus);
                thread::yield_now();
            }
        };
        assert_eq!(RateVisits::run_during(Some(&WhereaboutsProbe), Duration::ZERO, once).1.len(), 1);
    }
}
