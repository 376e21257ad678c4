//! Trials of running processes: a trial is a slot in which all of their threads are on one placement.

pub(super) mod arm_places;
pub(super) mod crew;
mod source;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corewise_model::sample::{MetricKind, MetricMeter, MetricSample, SampleError};
use corewise_model::trial::{
    FEWEST_VALUES, LiveWorkload, MetricLimit, PlacementArm, REST, RareMetric, SlotLength, TrialMetric,
    TrialObservations, TrialOutcome, TriedWorkload, count_values, shortest_slot, slot_length,
};
use corewise_statistics::quantity::MeasuredQuantity;
use corewise_sys::accounts::has_waiting_time;
use corewise_sys::change::ChangeJournal;
use corewise_sys::process::ProcessIdentity;
use corewise_sys::signals;

use super::{PAUSE_STEP, RunnerEnd, TrialRequest, TrialResult, TrialRunner};
use crate::LabError;
use arm_places::{ArmPlaces, RolePatterns};
use crew::{CrewError, ProcessCrew};
use source::{PATIENCE, SourceReader};

/// Interval of checking limits; gauges are read at least this often.
const LOOK: Duration = Duration::from_millis(50);
/// Maximum attempts at a slot in which too little was counted or the source did not answer.
const MOST_ATTEMPTS: u32 = 3;
/// Time for a reading near the end of the budget or after it, and for the question whether a source answers while
/// nothing is placed.
const SHORT_PATIENCE: Duration = Duration::from_secs(1);
/// Time within which a source that fails is asked once more.
const AT_ONCE: Duration = Duration::from_millis(100);
/// Interval of readings while the length of slots is determined.
const FINDING_STEP: Duration = Duration::from_millis(100);
/// Minimum length of a slot, in multiples of the time to read its metrics.
const READING_SHARE: f64 = 20.0;
/// Minimum and maximum time for determining the length; it is doubled as long as longer slots seem better.
const FINDING: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(160));
/// Factor by which reading is extended if there are still too few values.
const FINDING_LONGER: f64 = 2.5;
/// Maximum length of a slot as a share of this time, however slow reading is: a session needs many slots.
const FINDING_SHARE: f64 = 0.25;

/// Places running processes, and measures them slot by slot. Dropping it restores everything from its journal.
pub struct LiveRunner<'a> {
    live: LiveWorkload,
    metric: TrialMetric,
    meter: MetricMeter,
    guards: Vec<MetricMeter>,
    limits: Vec<(MetricLimit, MetricMeter)>,
    crew: ProcessCrew,
    names: RolePatterns,
    reader: SourceReader<'a>,
    /// End of the budget, which also ends a slot.
    until: Option<Instant>,
    /// End of the budget, also before the first slot. Beyond it a reading takes [`SHORT_PATIENCE`] at most.
    budget_end: Option<Instant>,
    stop: &'a AtomicBool,
}

/// Reason why a slot has no value.
enum LostSlot {
    /// The session is over.
    Over(RunnerEnd),
    /// A search for a metric took too long.
    Slow(String),
    /// It counts as a failure of its placement.
    Failed(String),
    /// Too little was counted, or reading took too long. The load may have paused, or the source was briefly busy.
    Empty(String),
    /// The user pauses the session.
    Paused,
}

/// Reason why no slot length was found.
#[derive(Clone, Debug, PartialEq)]
pub enum SlotSearchEnd {
    /// The session is over, or the metric cannot be read.
    Over(RunnerEnd),
    /// The metric came too rarely.
    Rare(RareMetric),
}

impl From<RunnerEnd> for SlotSearchEnd {
    fn from(end: RunnerEnd) -> Self {
        Self::Over(end)
    }
}

impl From<LostSlot> for SlotSearchEnd {
    fn from(lost: LostSlot) -> Self {
        Self::Over(lost.into_ended())
    }
}

impl From<SampleError> for LostSlot {
    fn from(error: SampleError) -> Self {
        match error {
            // The lost counts cannot be attributed to a placement.
            SampleError::Reset(_) => Self::Over(RunnerEnd::Gone(error.to_string())),
            SampleError::Slow { .. } => Self::Slow(error.to_string()),
            SampleError::TooFew { .. } => Self::Empty(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<CrewError> for LostSlot {
    fn from(error: CrewError) -> Self {
        Self::Over(RunnerEnd::Gone(error.to_string()))
    }
}

/// Readings of all metrics since a slot began.
struct SlotReadings {
    metric: Vec<MetricSample>,
    guards: Vec<Vec<MetricSample>>,
    limits: Vec<Vec<MetricSample>>,
}

impl<'a> LiveRunner<'a> {
    /// Returns a runner for processes that are alive. It changes nothing before the first trial.
    ///
    /// # Errors
    /// [`LabError::Meter`] if a metric cannot be searched for, [`LabError::NoWaitingTime`] if waiting time is not
    /// counted here.
    pub fn new(
        workload: &TriedWorkload,
        arms: &[PlacementArm],
        processes: Vec<ProcessIdentity>,
        journal: ChangeJournal,
        stop: &'a AtomicBool,
    ) -> Result<Self, LabError> {
        let live = workload.live.clone().ok_or(LabError::NotLive)?;
        let meter = |metric: &TrialMetric| {
            let reading = metric.reading.as_ref().ok_or(LabError::NotLive)?;
            let wrong = |source| LabError::Meter { metric: metric.name.clone(), source };
            MetricMeter::new(&metric.name, reading, metric.pattern.as_deref()).map_err(wrong)
        };
        let guards = workload.guards.iter().map(meter).collect::<Result<Vec<_>, _>>()?;
        let limits = live.limits.iter().map(|limit| Ok((limit.clone(), meter(&limit.metric)?)));
        let limits = limits.collect::<Result<Vec<_>, LabError>>()?;
        let metric_meter = meter(&workload.metric)?;
        signals::notice_stops();
        let all = || std::iter::once(&metric_meter).chain(&guards).chain(limits.iter().map(|(_, meter)| meter));
        let with_accounts = all().any(|meter| meter.kind().is_proxy());
        if !has_waiting_time() && all().any(|meter| meter.kind() == MetricKind::RunDelay) {
            return Err(LabError::NoWaitingTime);
        }
        Ok(Self {
            names: RolePatterns::new(&workload.thread_roles)?,
            reader: SourceReader::new(&live.source, with_accounts, stop),
            crew: ProcessCrew::new(processes, arm_places::list_placements(arms), journal),
            metric: workload.metric.clone(),
            meter: metric_meter,
            live,
            guards,
            limits,
            until: None,
            budget_end: None,
            stop,
        })
    }

    /// Limits readings before the first trial to a budget that begins now.
    pub fn limit_readings(&mut self, budget: Option<Duration>) {
        self.budget_end = budget.map(|budget| Instant::now() + budget);
    }

    /// Determines the length of slots by reading the metric for 20 s or longer, without any change. `most` is the
    /// usual limit, exceeded if there are too few values by then. `progress` receives the elapsed time.
    ///
    /// # Errors
    /// The reason why the metric cannot be read, never changes or comes too rarely; or a stop.
    pub fn find_slot(
        &mut self,
        most: Duration,
        progress: &mut dyn FnMut(Duration),
    ) -> Result<SlotLength, SlotSearchEnd> {
        self.check_metrics()?;
        let (begun, mut seen, mut reading) = (Instant::now(), Vec::new(), Duration::ZERO);
        let (least, most) = (FINDING.0.min(most), FINDING.1.min(most));
        let mut until = least;
        loop {
            let next = FINDING_STEP * seen.len() as u32;
            self.wait_until(begun + next)?;
            if signals::is_to_stop() {
                // Readings before the pause are not comparable with those after it.
                signals::stop_now();
                return self.find_slot(most, progress);
            }
            let (mut looks, look_begun) = (self.new_readings(), Instant::now());
            self.read_metrics(&mut looks)?;
            reading += look_begun.elapsed();
            seen.extend(looks.metric);
            progress(begun.elapsed());
            if begun.elapsed() < until {
                continue;
            }
            self.check_moves(&seen)?;
            let (elapsed_s, looks) = (begun.elapsed().as_secs_f64(), seen.len() as f64);
            let least_s = (READING_SHARE * reading.as_secs_f64() / looks).min(FINDING_SHARE * most.as_secs_f64());
            let steps = (elapsed_s / looks, least_s);
            match slot_length(&self.meter, &self.metric, &seen, steps) {
                Some(found) if !found.is_longest || until * 2 > most => return Ok(found),
                None if until * 2 > most => match shortest_slot(&self.meter, &self.metric, &seen, steps) {
                    Some(found) => return Ok(found),
                    None if until <= most => until = most.mul_f64(FINDING_LONGER),
                    None => return Err(self.explain_rarity(&seen, elapsed_s)),
                },
                _ => until *= 2,
            }
        }
    }

    /// Returns the reason why no length was found: too few values, or too few observations of a quantile.
    fn explain_rarity(&self, seen: &[MetricSample], elapsed_s: f64) -> SlotSearchEnd {
        // For a quantile, the error says how many observations it needs.
        if let (Err(error), true) = (self.meter.value_over(seen), seen.len() > FEWEST_VALUES) {
            return RunnerEnd::Gone(error.to_string()).into();
        }
        let (name, values) = (self.meter.name().to_owned(), count_values(&self.meter, &self.metric, seen));
        SlotSearchEnd::Rare(RareMetric { name, values, elapsed_s })
    }

    /// Reads everything twice without any change.
    ///
    /// # Errors
    /// The reason why a metric cannot be read, or that a limit is violated already.
    pub fn check_metrics(&mut self) -> Result<(), RunnerEnd> {
        let checked = (|| {
            let mut looks = self.new_readings();
            self.read_metrics(&mut looks)?;
            self.wait_until(Instant::now() + FINDING_STEP)?;
            self.read_metrics(&mut looks)?;
            self.check_limits(&looks)?;
            self.check_moves(&looks.metric).map_err(LostSlot::Over)
        })();
        checked.map_err(LostSlot::into_ended)
    }

    fn check_moves(&self, seen: &[MetricSample]) -> Result<(), RunnerEnd> {
        let name = self.meter.name();
        let value = match self.meter.value_over(seen) {
            // A whole slot may yield more.
            Err(SampleError::TooFew { .. }) => return Ok(()),
            other => other.map_err(|error| RunnerEnd::Gone(error.to_string()))?,
        };
        if value == 0.0 && self.meter.kind() == MetricKind::Rate {
            return Err(RunnerEnd::Gone(format!("{name} does not move: nothing uses these processes")));
        }
        if self.metric.judged_value(value).is_none() {
            return Err(RunnerEnd::Gone(format!("{name} is {value}, and must be above zero")));
        }
        Ok(())
    }

    fn new_readings(&self) -> SlotReadings {
        SlotReadings {
            metric: Vec::new(),
            guards: vec![Vec::new(); self.guards.len()],
            limits: vec![Vec::new(); self.limits.len()],
        }
    }

    /// Returns the time for a reading that begins now.
    fn reading_patience(&self) -> Duration {
        let left = self.budget_end.map_or(PATIENCE, |end| end.saturating_duration_since(Instant::now()));
        left.clamp(SHORT_PATIENCE, PATIENCE)
    }

    fn read_metrics(&mut self, looks: &mut SlotReadings) -> Result<f64, LostSlot> {
        let (begun, patience) = (Instant::now(), self.reading_patience());
        let mut found = self.reader.read_source(self.crew.list_members(), patience);
        // An immediate refusal may be a connection that was just closed.
        if found.is_err() && begun.elapsed() < AT_ONCE {
            found = self.reader.read_source(self.crew.list_members(), patience);
        }
        let moment = match found {
            Ok(moment) => moment,
            Err(_) if self.stop.load(Ordering::SeqCst) => return Err(LostSlot::Over(RunnerEnd::Stopped)),
            Err(why) => return Err(self.restore_and_ask(why)),
        };
        let (searching, patience, stop) = (Instant::now(), self.reading_patience(), self.stop);
        let is_over = || stop.load(Ordering::SeqCst) || searching.elapsed() >= patience;
        let look = |meter: &MetricMeter| match meter.read_metric(&moment, &is_over) {
            Err(SampleError::Slow { .. }) if stop.load(Ordering::SeqCst) => Err(LostSlot::Over(RunnerEnd::Stopped)),
            seen => seen.map_err(LostSlot::from),
        };
        looks.metric.push(look(&self.meter)?);
        for (seen, meter) in looks.guards.iter_mut().zip(&self.guards) {
            seen.push(look(meter)?);
        }
        for (seen, (_, meter)) in looks.limits.iter_mut().zip(&self.limits) {
            seen.push(look(meter)?);
        }
        Ok(moment.at_s)
    }

    /// Restores everything and asks again. If the source answers then, the placement may be the cause.
    fn restore_and_ask(&mut self, why: String) -> LostSlot {
        self.crew.restore_all();
        if let Err(error) = self.crew.check_alive() {
            return error.into();
        }
        // The reading may have had too little time; there is none to find out.
        if self.budget_end.is_some_and(|end| end <= Instant::now()) {
            return LostSlot::Empty(why);
        }
        match self.reader.read_source(self.crew.list_members(), SHORT_PATIENCE) {
            Ok(_) => LostSlot::Empty(why),
            Err(_) => LostSlot::Over(RunnerEnd::Gone(why)),
        }
    }

    /// Waits until this time, or until the user pauses the session.
    fn wait_until(&self, until: Instant) -> Result<(), LostSlot> {
        loop {
            if self.stop.load(Ordering::SeqCst) {
                return Err(LostSlot::Over(RunnerEnd::Stopped));
            }
            if self.until.is_some_and(|until| until <= Instant::now()) {
                return Err(LostSlot::Over(RunnerEnd::OutOfTime));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || signals::is_to_stop() {
                return Ok(());
            }
            std::thread::sleep(left.min(PAUSE_STEP));
        }
    }

    fn wait_in_slot(&self, until: Instant) -> Result<(), LostSlot> {
        self.wait_until(until)?;
        if signals::is_to_stop() { Err(LostSlot::Paused) } else { Ok(()) }
    }

    /// Makes a slot without an interruption; during a pause, everything is restored.
    fn run_unpaused_slot(&mut self, stand: &ArmPlaces<'_>, length: Duration) -> Result<TrialResult, LostSlot> {
        loop {
            match self.run_slot(stand, length) {
                Err(LostSlot::Paused) => {
                    self.crew.restore_all();
                    signals::stop_now();
                }
                made => return made,
            }
        }
    }

    fn run_slot(&mut self, stand: &ArmPlaces<'_>, length: Duration) -> Result<TrialResult, LostSlot> {
        self.crew.place_threads(stand)?;
        let wash_out = Duration::from_secs_f64(corewise_model::trial::wash_out_s(length.as_secs_f64()));
        self.wait_in_slot(Instant::now() + wash_out)?;
        let mut looks = self.new_readings();
        let first = self.read_metrics(&mut looks)?;
        let begun = Instant::now();
        // Also reads in the middle: a change within a slot shows an effect of the slot before.
        let often = !self.limits.is_empty() || self.meter.kind() == MetricKind::Gauge;
        let step = if often { LOOK.min(length / 2) } else { length / 2 };
        let (mut last, mut middle) = (first, 0);
        let mut steps = 0;
        while begun.elapsed() < length {
            steps += 1;
            self.wait_in_slot((begun + step * steps).min(begun + length))?;
            last = self.read_metrics(&mut looks)?;
            if middle == 0 && begun.elapsed() * 2 >= length {
                middle = looks.metric.len() - 1;
            }
            self.check_limits(&looks)?;
        }
        self.crew.check_alive()?;
        self.crew.check_placed()?;
        self.build_result(&looks, middle, last - first)
    }

    fn check_limits(&self, looks: &SlotReadings) -> Result<(), LostSlot> {
        for ((limit, meter), seen) in self.limits.iter().zip(&looks.limits) {
            let recent = if meter.kind() == MetricKind::Gauge { &seen[seen.len() - 1..] } else { &seen[..] };
            match meter.value_over(recent) {
                Ok(value) => {
                    let value = MeasuredQuantity { value, unit: meter.unit_over(recent) };
                    check_limit(limit, &value).map_err(LostSlot::Failed)?;
                }
                // An unknown value violates no limit.
                Err(SampleError::TooFew { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn build_result(&self, looks: &SlotReadings, middle: usize, seconds: f64) -> Result<TrialResult, LostSlot> {
        let value = self.meter.value_over(&looks.metric)?;
        if self.metric.judged_value(value).is_none() {
            return Err(LostSlot::Empty(format!("its metric is {value}, and must be above zero")));
        }
        let mut guards = Vec::new();
        let mut readings = vec![self.meter.metric_reading(&looks.metric, value)];
        for (meter, seen) in self.guards.iter().zip(&looks.guards) {
            let value = meter.value_over(seen)?;
            guards.push(Some(value));
            readings.push(meter.metric_reading(seen, value));
        }
        let half = |seen: &[MetricSample]| self.meter.value_over(seen).ok();
        let halves =
            half(&looks.metric[..=middle]).zip(half(&looks.metric[middle..])).map(|(first, second)| [first, second]);
        let observed = TrialObservations {
            wall_s: seconds,
            most_threads: self.crew.placed_threads(),
            halves,
            ..TrialObservations::default()
        };
        Ok(TrialResult { repeats: 1, outcome: TrialOutcome::Value(value), guards, readings, observed })
    }
}

impl LostSlot {
    /// Converts a failure before the first slot, when no placement can be the cause.
    fn into_ended(self) -> RunnerEnd {
        match self {
            Self::Over(ended) => ended,
            Self::Slow(why) | Self::Failed(why) | Self::Empty(why) => RunnerEnd::Gone(why),
            Self::Paused => RunnerEnd::Stopped,
        }
    }
}

impl TrialRunner for LiveRunner<'_> {
    /// Several in a row are one slot of their total length.
    fn run(&mut self, arm: &PlacementArm, _: usize, request: TrialRequest) -> Result<TrialResult, RunnerEnd> {
        let repeats = request.repeats.max(1);
        let length = Duration::from_secs_f64(self.live.slot_s) * repeats;
        (self.until, self.budget_end) = (request.until, request.until);
        let begun = Instant::now();
        let names = self.names.clone();
        let stand = names.places_on(arm, &[REST]);
        let mut slot = self.run_unpaused_slot(&stand, length);
        for _ in 1..MOST_ATTEMPTS {
            if matches!(slot, Err(LostSlot::Empty(_))) && !request.is_out_of_time() {
                slot = self.run_unpaused_slot(&stand, length);
            }
        }
        if slot.is_err() {
            self.crew.restore_all();
        }
        match slot {
            Ok(ran) => Ok(TrialResult { repeats, ..ran }),
            // The reading had little time left.
            Err(LostSlot::Slow(_) | LostSlot::Empty(_)) if request.is_out_of_time() => Err(RunnerEnd::OutOfTime),
            Err(lost @ (LostSlot::Over(_) | LostSlot::Slow(_) | LostSlot::Paused)) => Err(lost.into_ended()),
            Err(LostSlot::Failed(why) | LostSlot::Empty(why)) => {
                let observed =
                    TrialObservations { wall_s: begun.elapsed().as_secs_f64(), ..TrialObservations::default() };
                Ok(TrialResult { repeats, ..TrialResult::from_failure(why, String::new(), observed) })
            }
        }
    }

    fn is_running(&self) -> bool {
        true
    }

    /// The wash-out is part of a slot.
    fn pause_before(&self, _: Duration) -> Duration {
        Duration::ZERO
    }
}

impl Drop for LiveRunner<'_> {
    fn drop(&mut self) {
        self.crew.restore_all();
        signals::stop_at_once();
    }
}

/// Returns an error if a value of a limit's metric ends a slot.
fn check_limit(limit: &MetricLimit, value: &MeasuredQuantity) -> Result<(), String> {
    let (text, digits) = (&limit.text, if value.value.abs() >= 100.0 { 0 } else { 4 });
    let shown = || format!("{:.*}{}", digits, value.value, value.unit.unit_suffix());
    match limit.is_violated_by(value) {
        Some(false) => Ok(()),
        Some(true) => Err(format!("it was left at once: {} (--stop-if {text})", shown())),
        None => Err(format!("it was left at once: {} cannot be compared with the bound of --stop-if {text}", shown())),
    }
}
