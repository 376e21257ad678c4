//! Stalls recorded by the timing loop in preallocated memory, with the thread's own accounting.

use corewise_model::histogram::Histogram;
use corewise_model::stall::Stall;
use corewise_sys::clock::{Ticks, Translation};
use corewise_sys::thread::Glance;

/// Maximum stalls kept of one visit; further ones are in the histogram alone.
const ROOM: usize = 1 << 16;

/// Maximum consecutive stalls caused by the bookkeeping itself that are kept.
const IN_A_ROW: usize = 16;

/// One stall, in ticks.
#[derive(Clone, Copy, Debug, Default)]
struct Kept {
    begin: u64,
    end: u64,
    /// End of the previous stall's bookkeeping; the thread's times count from here.
    since: u64,
    cpu_time_ns: u64,
    involuntary_switches: u32,
}

/// The stalls of one visit.
#[derive(Debug)]
pub struct Stalls {
    kept: Vec<Kept>,
    /// Number of stalls without room.
    pub not_kept: u64,
    /// Least ticks of a piece that is a stall.
    pub from_ticks: u64,
    /// Total ticks of bookkeeping, which are in no piece.
    pub bookkeeping_ticks: u64,
    /// Ticks of an undisturbed glance at the accounting.
    glance_ticks: u64,
    last: Glance,
    since: u64,
}

impl Stalls {
    /// Allocates room for the stalls of any visit. Its pages are touched, so that keeping a stall causes no page fault.
    pub fn new() -> Self {
        let mut kept = vec![Kept { begin: 1, ..Kept::default() }; ROOM];
        kept.clear();
        Self { kept, ..Self::none() }
    }

    /// Creates a recorder without room, for which no piece is a stall.
    pub const fn none() -> Self {
        let last = Glance { cpu_time_ns: 0, involuntary_switches: 0 };
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
    pub fn begin<T: Ticks>(&mut self, ticks: T, from_ticks: u64) {
        self.kept.clear();
        self.not_kept = 0;
        self.from_ticks = from_ticks;
        self.bookkeeping_ticks = 0;
        self.glance_ticks = usual_glance(ticks);
        self.last = Glance::now();
        self.since = ticks.now();
    }

    /// Returns true if the last stalls had no room.
    pub const fn is_full(&self) -> bool {
        self.not_kept > 0 && self.kept.len() == self.kept.capacity()
    }

    /// Returns the number of stalls kept.
    pub const fn count(&self) -> usize {
        self.kept.len()
    }

    /// Keeps a stall, and any stalls of its bookkeeping; returns the clock reading from which the next piece counts. Allocates nothing.
    #[cold]
    #[inline(never)]
    pub fn keep<T: Ticks>(&mut self, ticks: T, begin: u64, end: u64, pieces: &mut Histogram) -> u64 {
        let (mut begin, mut end) = (begin, end);
        // Bounded, since glances may have become slower during the visit.
        for _ in 0..IN_A_ROW {
            let glance = Glance::now();
            let kept = Kept {
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
            let now = ticks.now();
            let took = now.saturating_sub(end);
            // A glance may take twice as long as usual. Beyond that, a delay as long as a piece that is a stall counts as a stall.
            if took < self.from_ticks.saturating_add(2 * self.glance_ticks) {
                self.bookkeeping_ticks += took;
                return now;
            }
            pieces.record(took);
            (begin, end) = (end, now);
        }
        self.not_kept += 1;
        end
    }

    /// Returns the stalls in nanoseconds of the events' clock.
    pub fn in_nanoseconds(&self, line: &Translation) -> Vec<Stall> {
        self.kept.iter().map(|kept| kept.in_nanoseconds(line)).collect()
    }
}

impl Default for Stalls {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the median of a few glances: about a third of a microsecond, and a hundred times as much if system calls are emulated.
fn usual_glance<T: Ticks>(ticks: T) -> u64 {
    let mut took = [0_u64; 15];
    for one in &mut took {
        let before = ticks.now();
        std::hint::black_box(Glance::now());
        *one = ticks.now().saturating_sub(before);
    }
    took.sort_unstable();
    took[took.len() / 2]
}

impl Kept {
    fn in_nanoseconds(&self, line: &Translation) -> Stall {
        let (begin_ns, end_ns) = (line.raw_ns(self.begin), line.raw_ns(self.end));
        let passed_ns = end_ns.saturating_sub(line.raw_ns(self.since));
        let off_cpu_ns = passed_ns.saturating_sub(self.cpu_time_ns).min(end_ns - begin_ns);
        Stall { begin_ns, end_ns, off_cpu_ns, involuntary_switches: self.involuntary_switches }
    }
}
