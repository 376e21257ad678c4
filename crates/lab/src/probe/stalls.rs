//! Stalls recorded by the timing loop in preallocated memory, with the thread's own accounting.

use corewise_model::stall::Stall;
use corewise_statistics::histogram::TickHistogram;
use corewise_sys::clock::{ClockTranslation, TickSource};
use corewise_sys::thread::ThreadGlance;

/// Maximum stalls kept of one visit; further ones are in the histogram alone.
const ROOM: usize = 1 << 16;

/// Maximum consecutive stalls caused by the bookkeeping itself that are kept.
const IN_A_ROW: usize = 16;

/// One stall, in ticks.
#[derive(Clone, Copy, Debug, Default)]
struct KeptStall {
    begin: u64,
    end: u64,
    /// End of the previous stall's bookkeeping; the thread's times count from here.
    since: u64,
    cpu_time_ns: u64,
    involuntary_switches: u32,
}

/// The stalls of one visit.
#[derive(Debug)]
pub struct VisitStalls {
    kept: Vec<KeptStall>,
    /// Number of stalls without room.
    pub not_kept: u64,
    /// Least ticks of a piece that is a stall.
    pub from_ticks: u64,
    /// Total ticks of bookkeeping, which are in no piece.
    pub bookkeeping_ticks: u64,
    /// Ticks of an undisturbed glance at the accounting.
    glance_ticks: u64,
    last: ThreadGlance,
    since: u64,
}

impl VisitStalls {
    /// Allocates room for the stalls of any visit. Its pages are touched, so that keeping a stall causes no page fault.
    pub fn new() -> Self {
        let mut kept = vec![KeptStall { begin: 1, ..KeptStall::default() }; ROOM];
        kept.clear();
        Self { kept, ..Self::without_room() }
    }

    /// Creates a recorder without room, for which no piece is a stall.
    pub const fn without_room() -> Self {
        let last = ThreadGlance { cpu_time_ns: 0, involuntary_switches: 0 };
        Self {
            kept: Vec::new(),
            not_kept: 0,
            from_ticks: u64::MAX,
            bookkeeping_ticks: 0,
            glance_ticks: 0,
            last,
            since: 0,
        }
    }

    /// Begins a visit: pieces from `from_ticks` on are stalls. Call it on the thread that times.
    pub fn begin_visit<T: TickSource>(&mut self, ticks: T, from_ticks: u64) {
        self.kept.clear();
        self.not_kept = 0;
        self.from_ticks = from_ticks;
        self.bookkeeping_ticks = 0;
        self.glance_ticks = usual_glance(ticks);
        self.last = ThreadGlance::read_now();
        self.since = ticks.read_ticks();
    }

    /// Returns true if the last stalls had no room.
    pub const fn is_full(&self) -> bool {
        self.not_kept > 0 && self.kept.len() == self.kept.capacity()
    }

    /// Returns the number of stalls kept.
    pub const fn kept_count(&self) -> usize {
        self.kept.len()
    }

    /// Keeps a stall, and any stalls of its bookkeeping; returns the clock reading from which the next piece counts. Allocates nothing.
    #[cold]
    #[inline(never)]
    pub fn keep_stall<T: TickSource>(&mut self, ticks: T, begin: u64, end: u64, pieces: &mut TickHistogram) -> u64 {
        let (mut begin, mut end) = (begin, end);
        // Bounded, since glances may have become slower during the visit.
        for _ in 0..IN_A_ROW {
            let glance = ThreadGlance::read_now();
            let kept = KeptStall {
                begin,
                end,
                since: self.since,
                cpu_time_ns: glance.cpu_time_ns.saturating_sub(self.last.cpu_time_ns),
                involuntary_switches: glance.involuntary_switches.saturating_sub(self.last.involuntary_switches) as u32,
            };
            if self.kept.len() < self.kept.capacity() {
                self.kept.push(kept);
            } else {
                self.not_kept += 1;
            }
            (self.last, self.since) = (glance, end);
            let now = ticks.read_ticks();
            let took = now.saturating_sub(end);
            // A glance may take twice as long as usual. Beyond that, a delay as long as a piece that is a stall counts as a stall.
            if took < self.from_ticks.saturating_add(2 * self.glance_ticks) {
                self.bookkeeping_ticks += took;
                return now;
            }
            pieces.record_ticks(took);
            (begin, end) = (end, now);
        }
        self.not_kept += 1;
        end
    }

    /// Returns the stalls in nanoseconds of the events' clock.
    pub fn to_nanoseconds(&self, line: &ClockTranslation) -> Vec<Stall> {
        self.kept.iter().map(|kept| kept.translate_stall(line)).collect()
    }
}

impl Default for VisitStalls {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the median of a few glances: about a third of a microsecond, and a hundred times as much if system calls are emulated.
fn usual_glance<T: TickSource>(ticks: T) -> u64 {
    let mut took = [0_u64; 15];
    for one in &mut took {
        let before = ticks.read_ticks();
        std::hint::black_box(ThreadGlance::read_now());
        *one = ticks.read_ticks().saturating_sub(before);
    }
    took.sort_unstable();
    took[took.len() / 2]
}

impl KeptStall {
    fn translate_stall(&self, line: &ClockTranslation) -> Stall {
        let (begin_ns, end_ns) = (line.raw_ns(self.begin), line.raw_ns(self.end));
        let passed_ns = end_ns.saturating_sub(line.raw_ns(self.since));
        let off_cpu_ns = passed_ns.saturating_sub(self.cpu_time_ns).min(end_ns - begin_ns);
        Stall { begin_ns, end_ns, off_cpu_ns, involuntary_switches: self.involuntary_switches }
    }
}
