//! One visit to a pair of cpus: both threads arrive, communicate in the requested way, and the first one's samples are sifted.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, scope};
use std::time::Duration;

use corewise_machine::Gap;
use corewise_machine::random::RandomGenerator;
use corewise_model::links::TalkWay;
use corewise_sys::affinity;
use corewise_sys::clock::{ClockSource, TickClock, TickSource};

use super::attendance::AttendanceList;
use super::meeting::{MeetingTrouble, TalkMeeting};
use super::samples::{self, SamplePlan, SideRecord, SiftedSamples};
use super::warmth::{ClockWarmth, PinnedCore};
use super::{
    LinkVisit, LinkVisitResult, MissedVisit, TalkKind, TalkPlace, bandwidth, cas, channel, oneway, queue, store, wakeup,
};

/// Good samples from which a visit that was cut short counts.
pub(super) const SAMPLES_ENOUGH: usize = 12;

/// Measures once: fresh memory, warm cores, many short samples. Returns `None` if the visit was stopped. A visit takes its limit at most.
///
/// # Errors
/// The gap with the reason, and whether another try may succeed.
pub fn visit_pair(
    clock: &TickClock,
    visit: &LinkVisit,
    warmth: &ClockWarmth,
    random: &mut RandomGenerator,
    stop: &AtomicBool,
) -> Result<Option<LinkVisitResult>, MissedVisit> {
    let pair = VisitContext { clock, visit, warmth, stop };
    let visited = match visit.what {
        TalkWay::Cas => pair.measure_kind(&cas::CasTalk::new(random)),
        TalkWay::Store => pair.measure_kind(&store::StoreTalk::new(random)),
        TalkWay::Oneway => pair.measure_kind(&oneway::OnewayTalk::new(visit, clock, random)),
        TalkWay::Bandwidth { block_bytes } => pair.measure_kind(&bandwidth::BandwidthTalk::new(block_bytes)),
        TalkWay::Channel { bound } => pair.measure_kind(&channel::ChannelTalk::new(bound)),
        TalkWay::Queue { slots } => pair.measure_kind(&queue::QueueTalk::new(slots)),
        TalkWay::Wakeup => pair.measure_kind(&wakeup::WakeupTalk),
    };
    visited
        .map_err(|trouble| MissedVisit { gap: Gap::new(visit.describe_visit(), trouble.why), passes: trouble.passes })
}

impl LinkVisit {
    /// Names the missing fact if the visit fails.
    fn describe_visit(&self) -> String {
        let what = if self.what == TalkWay::Cas { "link".into() } else { self.what.describe_way() };
        format!("{what} between cpus {} and {}", self.first, self.second)
    }
}

/// Inputs of a visit of any kind.
struct VisitContext<'a> {
    clock: &'a TickClock,
    visit: &'a LinkVisit,
    warmth: &'a ClockWarmth,
    stop: &'a AtomicBool,
}

impl VisitContext<'_> {
    fn measure_kind<K: TalkKind>(&self, kind: &K) -> Result<Option<LinkVisitResult>, MeetingTrouble> {
        match self.clock.source {
            ClockSource::Counter(ticks) => self.run_meeting(kind, ticks),
            ClockSource::System(ticks) => self.run_meeting(kind, ticks),
        }
    }

    /// Runs both threads of a visit; returns their result.
    fn run_meeting<K: TalkKind, T: TickSource>(
        &self,
        kind: &K,
        ticks: T,
    ) -> Result<Option<LinkVisitResult>, MeetingTrouble> {
        let (plan, meeting, place) =
            (kind.sample_plan(), TalkMeeting::new(self.stop, self.visit.limit), OnceLock::new());
        let (mut first, mut second) = (SideRecord::new(&plan), SideRecord::new(&plan));
        let mut gigahertz = [None; 2];
        scope(|scope| {
            let thread = |cpu| Builder::new().name(format!("link {cpu}"));
            let [first_gigahertz, second_gigahertz] = &mut gigahertz;
            let (meeting, place, first, second) = (&meeting, &place, &mut first, &mut second);
            let (attendance, guests) = AttendanceList::new();
            let [second_guest, first_guest] = guests;
            let answering = thread(self.visit.second).spawn_scoped(scope, move || {
                let _here = second_guest.announce_arrival(self.visit.second);
                *second_gigahertz = self.attend_visit(self.visit.second, ticks, meeting, || {
                    if let Some(place) = meeting.await_place(place) {
                        kind.run_second(place, ticks, meeting, second);
                    }
                });
            });
            let asking = thread(self.visit.first).spawn_scoped(scope, move || {
                let _here = first_guest.announce_arrival(self.visit.first);
                *first_gigahertz = self.attend_visit(self.visit.first, ticks, meeting, || {
                    match kind.allocate_place(self.visit.home) {
                        Ok(made) => {
                            let place = place.get_or_init(|| made);
                            if meeting.await_second() {
                                kind.run_first(place, ticks, meeting, first);
                            }
                        }
                        Err(error) => meeting.fail_visit(error),
                    }
                });
            });
            for error in [answering.err(), asking.err()].into_iter().flatten() {
                meeting.fail_visit(error);
            }
            attendance.join_all(meeting);
        });
        meeting.check_trouble()?;
        let records = [first, second];
        let sifted =
            samples::sift_samples(&plan, kind.choose_samples(&records)?, [&records[0].switches, &records[1].switches]);
        let home = place.get().and_then(TalkPlace::home);
        self.build_result(&plan, &sifted, gigahertz, home)
    }

    /// Runs one thread's visit: pinned before and after, and warm. Returns its clock rate at the end.
    fn attend_visit(
        &self,
        cpu: u32,
        ticks: impl TickSource,
        meeting: &TalkMeeting,
        talk: impl FnOnce(),
    ) -> Option<f64> {
        if let Err(error) = affinity::pin_current(cpu) {
            meeting.fail_visit(error);
            return None;
        }
        let core = PinnedCore { cpu, ticks, clock: self.clock };
        self.warmth.warm_up(&core, || meeting.is_over());
        talk();
        let gigahertz = self.warmth.look_at_core(&core);
        if let Err(error) = affinity::check_pinned(cpu) {
            meeting.fail_visit(error);
        }
        gigahertz
    }

    fn build_result(
        &self,
        plan: &SamplePlan,
        sifted: &SiftedSamples,
        gigahertz: [Option<f64>; 2],
        home: Option<u32>,
    ) -> Result<Option<LinkVisitResult>, MeetingTrouble> {
        let good: Vec<f64> = sifted.groups.iter().flatten().copied().collect();
        if good.len() < SAMPLES_ENOUGH {
            return if self.stop.load(Ordering::Relaxed) {
                Ok(None)
            } else {
                Err(MeetingTrouble { why: sifted.explain_too_few(plan, self.visit.limit), passes: true })
            };
        }
        let in_ns = |ticks: f64| ticks * self.clock.nanoseconds_per_tick / plan.numbers;
        let lines = sifted.groups.iter().filter(|line| plan.groups > 1 && !line.is_empty());
        Ok(Some(LinkVisitResult {
            cost_ns: in_ns(plan.number.average_of(&good)),
            lines_ns: lines.map(|line| in_ns(plan.number.average_of(line))).collect(),
            spoiled: sifted.spoiled,
            gigahertz,
            home,
        }))
    }
}

impl SiftedSamples {
    /// Describes why there are fewer than [`SAMPLES_ENOUGH`] good samples.
    fn explain_too_few(&self, plan: &SamplePlan, limit: Duration) -> String {
        let (spoiled, limit_ms) = (self.spoiled, limit.as_millis());
        if spoiled.samples < plan.kept_samples() {
            return format!("no {} samples within {limit_ms} ms: one cpu is busy", plan.kept_samples());
        }
        let bad = spoiled.switched + spoiled.interrupted;
        format!("{bad} of {} samples within {limit_ms} ms were disturbed: one cpu is busy", spoiled.samples)
    }
}
