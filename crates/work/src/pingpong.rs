//! Pairs of threads that wake each other in turn: the cost of a wake-up between two places.

pub mod line;
pub mod partner;
mod watch;

use std::ffi::OsString;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use corewise_machine::random::RandomGenerator;
use corewise_model::metric_line::MetricLine;
use corewise_statistics::histogram::TickHistogram;
use corewise_sys::clock::{ClockSource, TickClock, TickSource};
use corewise_sys::open_files::OpenFiles;

use crate::amount::{WorkAmount, WorkSpan};
use crate::crew::run_crew;
use crate::{WorkError, WorkloadHost, WorkloadLimit, WorkloadReport, WorkloadSettings};
use line::{LineEnd, LineEnder, OVER};
use partner::PartnerProcess;
use watch::{PairProgress, PairWatch};

/// Round trips of all pairs together in the usual size.
const USUAL_ROUND_TRIPS: u64 = 600_000;
/// Time without progress of any pair after which they are given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// Means by which the two of a pair wake each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WakeupMeans {
    /// A word in memory, and futex(2); only for threads.
    #[default]
    Futex,
    /// Two pipes.
    Pipe,
    /// A connected pair of local stream sockets.
    Socket,
}

/// The workload's own options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PingpongOptions {
    /// Means of waking each other.
    pub by: WakeupMeans,
    /// If set, the second of each pair is a process instead of a thread. These are the arguments with which this program, started again,
    /// calls [`partner::answer`]. Not with [`WakeupMeans::Futex`].
    pub partner: Option<Vec<OsString>>,
}

/// Makes pairs of threads send each other numbers, each one more than the last and sent only after the previous one was heard. Reports the
/// round trips per second of all pairs together and the quantiles of a round trip's time.
///
/// Threads `2 k` and `2 k + 1` are a pair; if their number is odd, the last has a partner on the cpu that would come next. A waiting thread
/// sleeps in the kernel. So the time consists of system calls, the kernel's path to the sleeper, the interrupt that wakes its cpu, and that
/// cpu's exit from its idle state. It is least if both are on one cpu, or on two cpus of one cache that have no time to enter a deep idle
/// state. The difference to its cost across sockets is what a placement can save.
///
/// The result is checked. Each pair has counted to exactly twice its number of round trips, each number was the expected one, and the
/// histogram holds that many round trips. A partner that dies ends its pair at once. If no pair makes a round trip for ten seconds, all are
/// ended.
///
/// # Errors
/// See [`Error`]; [`Error::System`] with [`io::ErrorKind::TimedOut`] if no partner answers.
pub fn run(
    settings: &WorkloadSettings,
    options: &PingpongOptions,
    company: &mut WorkloadHost<'_>,
) -> Result<WorkloadReport, WorkError> {
    let amount = WorkAmount::from_settings(settings, USUAL_ROUND_TRIPS)?;
    (company.progress)("calibrating the clock");
    let clock = TickClock::calibrate_best();
    (company.progress)("connecting the pairs");
    let table = PairTable::lay_table(settings, options)?;
    (company.progress)("waking each other");
    let games = table.play_all(settings, amount, &clock, company.stop, PATIENCE)?;
    company.check_stop()?;
    build_report(&games, amount, &clock)
}

/// State of the pairs before they play.
struct PairTable {
    /// End of the first of each pair, and of the second if it is a thread.
    ends: Vec<[Mutex<Option<LineEnd>>; 2]>,
    enders: Vec<Mutex<LineEnder>>,
    are_threads: bool,
}

impl PairTable {
    fn lay_table(settings: &WorkloadSettings, options: &PingpongOptions) -> Result<Self, WorkError> {
        // A pair of pipes takes six files; if the limit cannot be raised, opening them reports it.
        let _more = OpenFiles::raise_limit();
        let mut table = Self { ends: Vec::new(), enders: Vec::new(), are_threads: options.partner.is_none() };
        for pair in 0..settings.threads.div_ceil(2) {
            let (ends, ender) = match &options.partner {
                None => {
                    let ([a, b], ender) =
                        line::open_line(options.by).map_err(WorkError::from_system("connecting a pair"))?;
                    ([Some(a), Some(b)], ender)
                }
                Some(arguments) => {
                    let (mut partner, end) =
                        PartnerProcess::start_partner(options.by, arguments, settings.cpu_of(2 * pair + 1))?;
                    ([Some(end), None], LineEnder::Other(Box::new(move || partner.kill_partner())))
                }
            };
            table.ends.push(ends.map(Mutex::new));
            table.enders.push(Mutex::new(ender));
        }
        Ok(table)
    }

    /// Returns the settings of the crew: both of each pair, or the first alone.
    fn crew_settings(&self, settings: &WorkloadSettings) -> WorkloadSettings {
        let step = if self.are_threads { 1 } else { 2 };
        let threads = 2 * self.ends.len() / step;
        let cpus = (0..threads).filter_map(|thread| settings.cpu_of(thread * step)).collect();
        WorkloadSettings { threads, cpus, ..settings.clone() }
    }

    fn play_all(
        &self,
        settings: &WorkloadSettings,
        amount: WorkAmount,
        clock: &TickClock,
        stop: &AtomicBool,
        patience: Duration,
    ) -> Result<Vec<PairGame>, WorkError> {
        let progress: Vec<PairProgress> = self.ends.iter().map(|_| PairProgress::default()).collect();
        let watch = PairWatch { progress: &progress, enders: &self.enders, stop, patience };
        let crewed = self.crew_settings(settings);
        let work = |thread: usize| {
            let (pair, side) = if self.are_threads { (thread / 2, thread % 2) } else { (thread, 0) };
            let end = self.ends[pair][side].lock().unwrap_or_else(PoisonError::into_inner).take();
            let mut end = end.ok_or_else(|| WorkError::Wrong("one end of a link was used twice".into()))?;
            if side == 1 {
                return partner::answer_all(&mut end).map(|_| None).map_err(WorkError::from_system("answering"));
            }
            let own = pair_share(amount, pair, self.ends.len());
            self.play_first(&mut end, own, clock, stop, &progress[pair]).map(Some)
        };
        let (here, done) = channel::<()>();
        let (played, went_well) = std::thread::scope(|scope| {
            let playing = scope.spawn(move || {
                // Dropped when the crew has come back, which ends the watch.
                let _here = here;
                run_crew(&crewed, "pingpong", work)
            });
            let went_well = watch.watch_until_closed(&done);
            (playing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), went_well)
        });
        if !went_well && !stop.load(Ordering::Relaxed) {
            let error = io::Error::new(io::ErrorKind::TimedOut, format!("no answer for {patience:?}"));
            return Err(WorkError::System { what: "waking each other".into(), error });
        }
        Ok(played?.into_iter().flatten().collect())
    }

    fn play_first(
        &self,
        end: &mut LineEnd,
        own: WorkAmount,
        clock: &TickClock,
        stop: &AtomicBool,
        progress: &PairProgress,
    ) -> Result<PairGame, WorkError> {
        let mut game = PairGame::new(own, clock);
        if !self.are_threads && !partner::await_greeting(end).map_err(WorkError::from_system("waking the partner"))? {
            return Ok(game);
        }
        let (played, span) = WorkSpan::time_work(|| match clock.source {
            ClockSource::Counter(counter) => game.play_game(counter, end, stop, progress),
            ClockSource::System(system) => game.play_game(system, end, stop, progress),
        });
        game.span = span;
        played.map(|()| game)
    }
}

/// Returns a pair's share of all round trips.
fn pair_share(amount: WorkAmount, pair: usize, pairs: usize) -> WorkAmount {
    let until = |all: u64, pair: usize| (u128::from(all) * pair as u128 / pairs as u128) as u64;
    match amount {
        WorkAmount::Items(all) => WorkAmount::Items(until(all, pair + 1) - until(all, pair)),
        WorkAmount::Time(_) => amount,
    }
}

/// State of the first of a pair.
struct PairGame {
    amount: WorkAmount,
    round_trips: u64,
    /// The last number heard.
    count: u32,
    /// True if the line was ended before the last round trip.
    was_ended: bool,
    histogram: TickHistogram,
    span: WorkSpan,
}

impl PairGame {
    fn new(amount: WorkAmount, clock: &TickClock) -> Self {
        let now = Instant::now();
        let histogram = TickHistogram::new(clock.nanoseconds_per_tick);
        Self { amount, round_trips: 0, count: 0, was_ended: true, histogram, span: WorkSpan { begin: now, end: now } }
    }

    fn play_game<T: TickSource>(
        &mut self,
        ticks: T,
        end: &mut LineEnd,
        stop: &AtomicBool,
        progress: &PairProgress,
    ) -> Result<(), WorkError> {
        let failed = |error| WorkError::System { what: "waking the partner".into(), error };
        let begin = Instant::now();
        let mut last = ticks.read_ticks();
        loop {
            let is_over = match self.amount {
                WorkAmount::Items(all) => self.round_trips >= all,
                WorkAmount::Time(time) => self.round_trips > 0 && begin.elapsed() >= time,
            };
            if is_over || stop.load(Ordering::Relaxed) {
                self.was_ended = false;
                return Ok(());
            }
            let said = line::number_after(self.count);
            if !end.say_after(self.count).map_err(failed)? {
                return Ok(());
            }
            let heard = end.hear_after(said).map_err(failed)?;
            if heard == OVER {
                return Ok(());
            }
            if heard != line::number_after(said) {
                return Err(WorkError::Wrong(format!("{heard} was received after {said}")));
            }
            let now = ticks.read_ticks();
            self.histogram.record_ticks(now.saturating_sub(last));
            last = now;
            self.count = heard;
            self.round_trips += 1;
            progress.0.store(self.round_trips, Ordering::Relaxed);
        }
    }
}

fn build_report(games: &[PairGame], amount: WorkAmount, clock: &TickClock) -> Result<WorkloadReport, WorkError> {
    let mut all = TickHistogram::new(clock.nanoseconds_per_tick);
    for game in games {
        check_game(game)?;
        all.merge_from(&game.histogram);
    }
    let round_trips = games.iter().map(|game| game.round_trips).sum::<u64>();
    if let WorkAmount::Items(wanted) = amount
        && wanted != round_trips
    {
        return Err(WorkError::Wrong(format!("{round_trips} of {wanted} round trips were completed")));
    }
    let counted = 2 * round_trips;
    let seconds = WorkSpan::total_seconds(games.iter().map(|game| game.span));
    Ok(WorkloadReport {
        metrics: vec![
            MetricLine::new("round_trips_per_second", round_trips as f64 / seconds),
            MetricLine::new("p50_ns", all.quantile_ns(0.5)),
            MetricLine::new("p99_ns", all.quantile_ns(0.99)),
        ],
        limit: WorkloadLimit::Waiting,
        checked: format!("{} pairs counted to exactly {counted} in all, two for each round trip", games.len()),
        checksum: amount.is_fixed().then(|| RandomGenerator::new(counted).next_bits()),
    })
}

/// Checks one pair's result.
///
/// # Errors
/// [`Error::System`] if a pair ended early, [`Error::Wrong`] if its counts do not agree.
fn check_game(game: &PairGame) -> Result<(), WorkError> {
    let round_trips = game.round_trips;
    if game.was_ended {
        let error = io::Error::new(io::ErrorKind::BrokenPipe, format!("it ended after {round_trips} round trips"));
        return Err(WorkError::System { what: "a partner".into(), error });
    }
    // The count wraps to zero after 2^31 - 1.
    let wanted = (2 * round_trips) & u64::from(u32::MAX >> 1);
    if u64::from(game.count) != wanted || game.histogram.count() != round_trips {
        let (count, held) = (game.count, game.histogram.count());
        return Err(WorkError::Wrong(format!(
            "{round_trips} round trips, a count of {count}, and a histogram of {held}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
