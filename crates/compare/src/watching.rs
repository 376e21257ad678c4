//! `cargo xtask compare-watching`: measures how much longer the timer's stalls are while the kernel's events are recorded, by each source.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use corewise_lab::causes::SETTLING;
use corewise_lab::kernel_events::{self, GROUPS, LiveTracepoints};
use corewise_lab::probe::tail::{TailScratch, TailVisit, visit_cpu};
use corewise_machine::event::EventSource;
use corewise_machine::random::RandomGenerator;
use corewise_model::attribution::{DividedVisit, RecordingPerturbation, divide_stalls, measure_perturbation};
use corewise_model::survey::WorkKind;
use corewise_sys::clock::TickClock;
use corewise_sys::events::EventRecorder;
use corewise_sys::{affinity, cpuset};

/// Length of a visit: 25 strikes of a timer of 250 Hz.
const VISIT: Duration = Duration::from_millis(100);
/// Visits of each kind in a round.
const VISITS: u32 = 4;
const SOURCES: [EventSource; 2] = [EventSource::Ftrace, EventSource::Perf];

/// Visits with a source, each beside its opposite: the second is unwatched, or not recorded.
#[derive(Default)]
struct ShownVisits {
    /// Recorded, and not watched at all before and after.
    whole: Vec<DividedVisit>,
    /// Live tracepoints without recording the cpu, and not watched at all before and after.
    live: Vec<DividedVisit>,
    /// Recorded, and live, one after the other.
    recording: Vec<DividedVisit>,
}

/// Visits the last allowed cpu in `rounds` rounds: by each source in random order, with its tracepoints off, live, and recorded.
pub fn run(rounds: usize) -> Result<()> {
    let mut place = WatchingPlace::find_place()?;
    let mut random = RandomGenerator::new(1);
    let mut shown: [ShownVisits; SOURCES.len()] = Default::default();
    for round in 0..rounds as u32 {
        eprintln!("round {} of {rounds}", round + 1);
        let mut order: Vec<usize> = (0..SOURCES.len()).collect();
        random.shuffle(&mut order);
        for index in order {
            place.visit_round(round, SOURCES[index], &mut shown[index])?;
        }
    }
    print!("{}", format_table(&place, rounds, &shown));
    Ok(())
}

/// Maximum ratio of watched stalls to unwatched ones.
const AIM: f64 = 1.04;

/// Visits the last allowed cpu in `pairs` pairs, one watched as `tail` does with ftrace and one not watched at all, and prints if the aim
/// is reached. The order alternates, so that drift affects both alike and only one change of the watching falls into a pair.
pub fn run_pairs(pairs: usize) -> Result<()> {
    let mut place = WatchingPlace::find_place()?;
    let mut visits = Vec::with_capacity(2 * pairs);
    for pair in (0..pairs as u32).step_by(2) {
        visits.push(place.visit_once(pair, None)?);
        let recorder = EventRecorder::open(EventSource::Ftrace, &GROUPS).map_err(|gap| anyhow!(gap.why))?;
        ensure!(recorder.event_source() == EventSource::Ftrace, "ftrace is refused");
        let mut watching = LiveTracepoints::new(&recorder, &cpuset::online_cpus())?;
        std::thread::sleep(SETTLING);
        visits.push(place.visit_once(pair, Some(&mut watching))?);
        visits.push(place.visit_once(pair + 1, Some(&mut watching))?);
        drop(watching);
        drop(recorder);
        std::thread::sleep(SETTLING);
        visits.push(place.visit_once(pair + 1, None)?);
    }
    let cost = measure_perturbation(&visits).context("no two visits can be compared: the timer rarely struck")?;
    let [low, high] = cost.interval.context("too few pairs for an interval")?;
    let verdict = match () {
        () if high <= AIM => "holds",
        () if low > AIM => "does not hold",
        () => "is not decided",
    };
    println!(
        "cpu {}, {} pairs of visits of {} ms; the host stole {:.2} % of the time\n\
         the timer's stalls: {:.2} us unwatched, {:.2} us recorded by ftrace, ratio {:.3} [{low:.3}, {high:.3}] (median of the pairs' ratios, 95 %)\n\
         at most {AIM} times as long: {verdict}",
        place.cpu,
        cost.pairs,
        VISIT.as_millis(),
        100.0 * place.stolen_s / place.timed_s,
        cost.unwatched_ns / 1e3,
        cost.watched_ns / 1e3,
        cost.ratio,
    );
    Ok(())
}

struct WatchingPlace {
    clock: TickClock,
    scratch: TailScratch,
    cpu: u32,
    /// The cpu on which the SCHED_FIFO watchdog may run.
    other: Option<u32>,
    stolen_s: f64,
    timed_s: f64,
}

impl WatchingPlace {
    fn find_place() -> Result<Self> {
        let allowed = affinity::current_affinity()?;
        let cpu = allowed.iter().last().context("no cpu is allowed")?;
        let clock = TickClock::calibrate_best();
        let scratch = TailScratch::new(clock.nanoseconds_per_tick, WorkKind::Spin);
        let other = allowed.lowest().filter(|other| *other != cpu);
        Ok(Self { clock, scratch, cpu, other, stolen_s: 0.0, timed_s: 0.0 })
    }

    fn visit_round(&mut self, round: u32, source: EventSource, shown: &mut ShownVisits) -> Result<()> {
        let recorder = EventRecorder::open(source, &GROUPS).map_err(|gap| anyhow!(gap.why))?;
        ensure!(recorder.event_source() == source, "{source:?} is refused");
        std::thread::sleep(SETTLING);
        let mut unwatched = self.visit_unwatched(round)?;
        let mut watching = LiveTracepoints::new(&recorder, &cpuset::online_cpus())?;
        std::thread::sleep(SETTLING);
        for pair in 0..VISITS {
            // Recorded and not, not and recorded: drift affects both alike.
            let mut both = [None, None];
            for turn in 0..2 {
                let is_recorded = (pair + turn) % 2 == 0;
                let visit = self.visit_once(round, is_recorded.then_some(&mut watching))?;
                both[usize::from(is_recorded)] = Some(visit);
            }
            let [Some(live), Some(recorded)] = both else { continue };
            let own_round = |visit: &DividedVisit| DividedVisit { round: round * VISITS + pair, ..visit.clone() };
            shown.recording.extend([own_round(&live), own_round(&recorded)]);
            // No event gives the timer's strikes here; beside an unwatched visit it counts as watched.
            shown.live.push(DividedVisit { armed: true, tick_ns: recorded.tick_ns, ..live });
            shown.whole.push(recorded);
        }
        drop(watching);
        std::thread::sleep(SETTLING);
        unwatched.extend(self.visit_unwatched(round)?);
        shown.live.extend(unwatched.clone());
        shown.whole.extend(unwatched);
        Ok(())
    }

    fn visit_unwatched(&mut self, round: u32) -> Result<Vec<DividedVisit>> {
        (0..VISITS / 2).map(|_| self.visit_once(round, None)).collect()
    }

    fn visit_once(&mut self, round: u32, watching: Option<&mut LiveTracepoints<'_>>) -> Result<DividedVisit> {
        let wanted = TailVisit {
            cpu: self.cpu,
            round,
            place: 0,
            duration: VISIT,
            warm_up: Duration::from_millis(5),
            counting: true,
            work: WorkKind::Spin,
            threshold_ns: 1_000.0,
            first_in_line: self.other,
        };
        let visited = visit_cpu(&self.clock, wanted, watching, &AtomicBool::new(false), &mut self.scratch);
        let visited = visited.map_err(|gap| anyhow!("{}: {}", gap.what, gap.why))?;
        self.stolen_s += visited.round.stolen_s.unwrap_or(0.0);
        self.timed_s += visited.round.elapsed_s;
        Ok(divide_stalls(&visited.stalls, &kernel_events::read_surroundings(Some("unknown"))))
    }
}

fn format_table(place: &WatchingPlace, rounds: usize, shown: &[ShownVisits; SOURCES.len()]) -> String {
    let mut text = format!(
        "cpu {}, {rounds} rounds; the host stole {:.2} % of the time\n\
         the timer's stalls, ratio of medians [95 % interval]\n{:8} {:>12} {:>12} {:>22} {:>22} {:>22}\n",
        place.cpu,
        100.0 * place.stolen_s / place.timed_s,
        "",
        "unwatched",
        "recorded",
        "recorded to unwatched",
        "live to unwatched",
        "recorded to live"
    );
    for (source, shown) in SOURCES.iter().zip(shown) {
        let costs = [&shown.whole, &shown.live, &shown.recording].map(|visits| measure_perturbation(visits));
        let us = |ns: Option<f64>| ns.map_or("-".to_owned(), |ns| format!("{:.2} us", ns / 1e3));
        let ratio = |cost: &Option<RecordingPerturbation>| {
            let Some(cost) = cost else { return "-".to_owned() };
            let [low, high] = cost.interval.unwrap_or([f64::NAN; 2]);
            format!("{:.3} [{low:.3}, {high:.3}]", cost.ratio)
        };
        text.push_str(&format!(
            "{:8} {:>12} {:>12} {:>22} {:>22} {:>22}\n",
            format!("{source:?}").to_lowercase(),
            us(costs[0].as_ref().map(|cost| cost.unwatched_ns)),
            us(costs[0].as_ref().map(|cost| cost.watched_ns)),
            ratio(&costs[0]),
            ratio(&costs[1]),
            ratio(&costs[2])
        ));
    }
    text
}
