//! Loads that stall a cpu in known ways, each with a log of its own.

use std::hint::black_box;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use corewise_lab::probe::work::WorkPiece;
use corewise_machine::random::RandomGenerator;
use corewise_sys::thread::{monotonic_raw_ns, own_number};
use corewise_sys::{affinity, scheduling};
use libtest_mimic::Failed;
use rustix::thread::{MembarrierCommand, membarrier};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use crate::{CALLER, TASK};

/// Something that a load did.
#[derive(Clone, Copy, Debug)]
pub struct Logged {
    /// The clock before it, in nanoseconds of CLOCK_MONOTONIC_RAW.
    pub begin_ns: u64,
    /// The clock after it.
    pub end_ns: u64,
    /// The thread that did it: its number.
    pub thread: u32,
}

/// A load that runs.
pub enum RunningLoad {
    /// None, or one with another log.
    None,
    /// On a thread of its own, until it is told to end.
    Thread { thread: JoinHandle<std::io::Result<Vec<Logged>>>, end: Arc<AtomicBool> },
}

impl RunningLoad {
    /// Ends it; what it logged.
    pub fn finish(self) -> Result<Vec<Logged>, Failed> {
        match self {
            Self::None => Ok(Vec::new()),
            Self::Thread { thread, end } => {
                end.store(true, Ordering::SeqCst);
                Ok(thread.join().map_err(|_| "the load died")??)
            }
        }
    }
}

/// A task on a cpu that is woken once a period and computes for 20 to 200 us.
pub fn task(cpu: u32, period: Duration) -> Result<RunningLoad, Failed> {
    let mut random = RandomGenerator::new(11);
    on_thread(TASK, cpu, period, move || {
        let begin_ns = monotonic_raw_ns();
        let length_ns = 20_000 + random.next_below(180_000) as u64;
        while monotonic_raw_ns() < begin_ns + length_ns {}
    })
}

/// A task on a cpu that has all cpus which run this process interrupted once a period: membarrier(2).
pub fn calls(cpu: u32, period: Duration) -> Result<RunningLoad, Failed> {
    membarrier(MembarrierCommand::RegisterPrivateExpedited)?;
    on_thread(CALLER, cpu, period, || {
        membarrier(MembarrierCommand::PrivateExpedited).expect("this process is registered");
    })
}

/// Does something once a period on a cpu, before all others, and logs it.
fn on_thread(
    name: &str,
    cpu: u32,
    period: Duration,
    mut act: impl FnMut() + Send + 'static,
) -> Result<RunningLoad, Failed> {
    let end = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&end);
    let run = move || {
        affinity::pin_current(cpu)?;
        scheduling::run_first()?;
        let (mut logged, thread, first_ns) = (Vec::with_capacity(MOST), own_number(), monotonic_raw_ns());
        for index in 1.. {
            let at_ns = first_ns + index * period.as_nanos() as u64;
            std::thread::sleep(Duration::from_nanos(at_ns.saturating_sub(monotonic_raw_ns())));
            if is_over.load(Ordering::SeqCst) || logged.len() == MOST {
                break;
            }
            let begin_ns = monotonic_raw_ns();
            act();
            logged.push(Logged { begin_ns, end_ns: monotonic_raw_ns(), thread });
        }
        Ok(logged)
    };
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run)?;
    Ok(RunningLoad::Thread { thread, end })
}

/// No load logs more than this.
const MOST: usize = 1 << 16;

/// Room for a log, touched, so that writing to it faults in none of its pages.
fn room(count: usize) -> Vec<Logged> {
    let mut room = vec![Logged { begin_ns: 1, end_ns: 1, thread: 1 }; count];
    room.clear();
    room
}

/// The moments at which a piece of work does what it logs: once a period, from shortly after it is made for the first time.
struct LogPace {
    next_ns: u64,
    period_ns: u64,
}

impl LogPace {
    const fn new(period: Duration) -> Self {
        Self { next_ns: 0, period_ns: period.as_nanos() as u64 }
    }

    /// Whether it is time; what was missed is made up for, one at a time.
    fn is_time(&mut self, now_ns: u64) -> bool {
        if self.next_ns == 0 {
            self.next_ns = now_ns + self.period_ns;
        }
        let is_time = now_ns >= self.next_ns;
        self.next_ns += if is_time { self.period_ns } else { 0 };
        is_time
    }
}

/// A piece of work that sets a timer on its cpu once a period, for which nobody waits.
pub struct Timers {
    timer: OwnedFd,
    pace: LogPace,
    busy_until_ns: u64,
    logged: Vec<Logged>,
}

impl Timers {
    /// A timer strikes this much after it was set, in nanoseconds; its handler has ended after as much again.
    const AHEAD_NS: u64 = 400_000;

    /// A timer that is not set.
    pub fn new(period: Duration) -> std::io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        Ok(Self { timer, pace: LogPace::new(period), busy_until_ns: 0, logged: room(MOST) })
    }

    /// When timers struck.
    pub fn logged(self) -> Vec<Logged> {
        self.logged
    }
}

impl WorkPiece for Timers {
    fn do_piece(&mut self) {
        let now_ns = monotonic_raw_ns();
        if now_ns < self.busy_until_ns || self.logged.len() == MOST || !self.pace.is_time(now_ns) {
            return;
        }
        let timespec = |ns: u64| Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ };
        let value = Itimerspec { it_interval: timespec(0), it_value: timespec(Self::AHEAD_NS) };
        // The kernel reads its clock between the two readings of ours; the clocks' rates hardly differ in so short a time.
        let before_ns = monotonic_raw_ns();
        let is_set = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &value).is_ok();
        let after_ns = monotonic_raw_ns();
        self.busy_until_ns = after_ns + 2 * Self::AHEAD_NS;
        if is_set {
            let (begin_ns, end_ns) = (before_ns + Self::AHEAD_NS, after_ns + Self::AHEAD_NS);
            self.logged.push(Logged { begin_ns, end_ns, thread: 0 });
        }
    }
}

const PAGE_BYTES: usize = 4096;
/// Pages that are touched at a time: even where a fault takes a fifth of a microsecond, they are a stall.
const PAGES: usize = 32;

/// A piece of work that touches pages which nobody touched before, once a period.
pub struct Faults {
    memory: Vec<u8>,
    touched: usize,
    pace: LogPace,
    logged: Vec<Logged>,
}

impl Faults {
    /// Maximum number of times.
    pub fn new(most: usize, period: Duration) -> Self {
        // Large room that is zero is the system's fresh pages: none is there until it is touched.
        let memory = vec![0; most * PAGES * PAGE_BYTES];
        Self { memory, touched: 0, pace: LogPace::new(period), logged: room(most) }
    }

    /// What it did.
    pub fn logged(self) -> Vec<Logged> {
        self.logged
    }
}

impl WorkPiece for Faults {
    fn do_piece(&mut self) {
        let begin_ns = monotonic_raw_ns();
        if self.logged.len() == self.logged.capacity() || !self.pace.is_time(begin_ns) {
            return;
        }
        let room = self.memory.iter_mut().skip(self.touched * PAGE_BYTES).step_by(PAGE_BYTES).take(PAGES);
        room.for_each(|byte| *black_box(byte) = 1);
        self.touched += PAGES;
        self.logged.push(Logged { begin_ns, end_ns: monotonic_raw_ns(), thread: 0 });
    }
}
