//! One visit to a pair of cpus: both threads arrive, communicate in the requested way, and the first one's samples are sifted.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, scope};
use std::time::Duration;

use corewise_machine::Gap;
use corewise_machine::random::Random;
use corewise_model::links::What;
use corewise_sys::affinity;
use corewise_sys::clock::{Clock, Source, Ticks};

use super::attendance::Attendance;
use super::meeting::{Meeting, Trouble};
use super::samples::{self, Plan, Record, Sifted};
use super::warmth::{Core, Warmth};
use super::{Kind, Missed, TalkPlace, Visit, Visited, bandwidth, cas, channel, oneway, queue, store, wakeup};

/// Good samples from which a visit that was cut short counts.
pub(super) const SAMPLES_ENOUGH: usize = 12;

/// Measures once: fresh memory, warm cores, many short samples. Returns `None` if the visit was stopped. A visit takes its limit at most.
///
/// # Errors
/// The gap with the reason, and whether another try may succeed.
pub fn visit(
    clock: &Clock,
    visit: &Visit,
    warmth: &Warmth,
    random: &mut Random,
    stop: &AtomicBool,
) -> Result<Option<Visited>, Missed> {
    let pair = Pair { clock, visit, warmth, stop };
    let visited = match visit.what {
        What::Cas => pair.measure(&cas::Cas::new(random)),
        What::Store => pair.measure(&store::Store::new(random)),
        What::Oneway => pair.measure(&oneway::Oneway::new(visit, clock, random)),
        What::Bandwidth { block_bytes } => pair.measure(&bandwidth::Bandwidth::new(block_bytes)),
        What::Channel { bound } => pair.measure(&channel::Channel::new(bound)),
        What::Queue { slots } => pair.measure(&queue::Queue::new(slots)),
        What::Wakeup => pair.measure(&wakeup::Wakeup),
    };
    visited.map_err(|trouble| Missed { gap: Gap::new(visit.words(), trouble.why), passes: trouble.passes })
}

impl Visit {
    /// Names the missing fact if the visit fails.
    fn words(&self) -> String {
        let what = if self.what == What::Cas { "link".into() } else { self.what.words() };
        format!("{what} between cpus {} and {}", self.first, self.second)
    }
}

/// Inputs of a visit of any kind.
struct Pair<'a> {
    clock: &'a Clock,
    visit: &'a Visit,
    warmth: &'a Warmth,
    stop: &'a AtomicBool,
}

impl Pair<'_> {
    fn measure<K: Kind>(&self, kind: &K) -> Result<Option<Visited>, Trouble> {
        match self.clock.source {
            Source::Counter(ticks) => self.meet(kind, ticks),
            Source::System(ticks) => self.meet(kind, ticks),
        }
    }

    /// Runs both threads of a visit; returns their result.
    fn meet<K: Kind, T: Ticks>(&self, kind: &K, ticks: T) -> Result<Option<Visited>, Trouble> {
        let (plan, meeting, place) = (kind.plan(), Meeting::new(self.stop, self.visit.limit), OnceLock::new());
        let (mut first, mut second) = (Record::new(&plan), Record::new(&plan));
        let mut gigahertz = [None; 2];
        scope(|scope| {
            let thread = |cpu| Builder::new().name(format!("link {cpu}"));
            let [first_gigahertz, second_gigahertz] = &mut gigahertz;
            let (meeting, place, first, second) = (&meeting, &place, &mut first, &mut second);
            let (attendance, guests) = Attendance::new();
            let [second_guest, first_guest] = guests;
            let answering = thread(self.visit.second).spawn_scoped(scope, move || {
                let _here = second_guest.arrive(self.visit.second);
                *second_gigahertz = self.attend(self.visit.second, ticks, meeting, || {
                    if let Some(place) = meeting.await_place(place) {
                        kind.second(place, ticks, meeting, second);
                    }
                });
            });
            let asking = thread(self.visit.first).spawn_scoped(scope, move || {
                let _here = first_guest.arrive(self.visit.first);
                *first_gigahertz =
                    self.attend(self.visit.first, ticks, meeting, || match kind.allocate(self.visit.home) {
                        Ok(made) => {
                            let place = place.get_or_init(|| made);
                            if meeting.await_second() {
                                kind.first(place, ticks, meeting, first);
                            }
                        }
                        Err(error) => meeting.fail(error),
                    });
            });
            for error in [answering.err(), asking.err()].into_iter().flatten() {
                meeting.fail(error);
            }
            attendance.join_all(meeting);
        });
        meeting.trouble()?;
        let records = [first, second];
        let sifted = samples::sift(&plan, kind.believed(&records)?, [&records[0].switches, &records[1].switches]);
        let home = place.get().and_then(TalkPlace::home);
        self.visited(&plan, &sifted, gigahertz, home)
    }

    /// Runs one thread's visit: pinned before and after, and warm. Returns its clock rate at the end.
    fn attend(&self, cpu: u32, ticks: impl Ticks, meeting: &Meeting, talk: impl FnOnce()) -> Option<f64> {
        if let Err(error) = affinity::pin_current(cpu) {
            meeting.fail(error);
            return None;
        }
        let core = Core { cpu, ticks, clock: self.clock };
        self.warmth.warm_up(&core, || meeting.is_over());
        talk();
        let gigahertz = self.warmth.look(&core);
        if let Err(error) = affinity::check_pinned(cpu) {
            meeting.fail(error);
        }
        gigahertz
    }

    fn visited(
        &self,
        plan: &Plan,
        sifted: &Sifted,
        gigahertz: [Option<f64>; 2],
        home: Option<u32>,
    ) -> Result<Option<Visited>, Trouble> {
        let good: Vec<f64> = sifted.groups.iter().flatten().copied().collect();
        if good.len() < SAMPLES_ENOUGH {
            return if self.stop.load(Ordering::Relaxed) {
                Ok(None)
            } else {
                Err(Trouble { why: sifted.too_few(plan, self.visit.limit), passes: true })
            };
        }
        let in_ns = |ticks: f64| ticks * self.clock.nanoseconds_per_tick / plan.numbers;
        let lines = sifted.groups.iter().filter(|line| plan.groups > 1 && !line.is_empty());
        Ok(Some(Visited {
            cost_ns: in_ns(plan.number.of(&good)),
            lines_ns: lines.map(|line| in_ns(plan.number.of(line))).collect(),
            spoiled: sifted.spoiled,
            gigahertz,
            home,
        }))
    }
}

impl Sifted {
    /// Describes why there are fewer than [`SAMPLES_ENOUGH`] good samples.
    fn too_few(&self, plan: &Plan, limit: Duration) -> String {
        let (spoiled, limit_ms) = (self.spoiled, limit.as_millis());
        if spoiled.samples < plan.kept() {
            return format!("no {} samples within {limit_ms} ms: one cpu is busy", plan.kept());
        }
        let bad = spoiled.switched + spoiled.interrupted;
        format!("{bad} of {} samples within {limit_ms} ms were disturbed: one cpu is busy", spoiled.samples)
    }
}
