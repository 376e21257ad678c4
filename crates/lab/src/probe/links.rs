//! The link probe: two pinned threads talk in one of several ways, and the first takes the time.

mod attendance;
mod bandwidth;
mod cas;
mod channel;
mod lines;
mod meeting;
mod oneway;
mod queue;
mod samples;
mod store;
#[cfg(test)]
mod tests;
mod wakeup;
mod warmth;

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::thread::{Builder, scope};
use std::time::Duration;

use corewise_model::Gap;
use corewise_model::links::What;
use corewise_model::links::map::Spoiled;
use corewise_model::stats::random::Random;
use corewise_sys::affinity;
use corewise_sys::clock::{Clock, Source, Ticks};
use corewise_sys::memory::{Memory, Word};

use attendance::Attendance;
pub use meeting::LIMIT;
use meeting::Meeting;
use samples::{Plan, Record, Sifted};
use warmth::Core;
pub use warmth::Warmth;

/// A visit that was cut short counts if it has this many good samples.
const SAMPLES_ENOUGH: usize = 12;

/// Where the memory lies that two threads talk over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Home {
    /// Where the kernel puts what the first cpu's thread touches first: its own node, unless this process has a memory policy.
    #[default]
    First,
    /// On this node, bound.
    Node(u32),
}

/// What to measure between two cpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The way to talk.
    pub what: What,
    /// The cpu whose thread owns the memory, begins, and takes the time.
    pub first: u32,
    /// The cpu whose thread answers.
    pub second: u32,
    /// Where the memory is to be.
    pub home: Home,
    /// After this it ends, whatever became of the partner; usually [`LIMIT`].
    pub limit: Duration,
}

/// What a visit found.
#[derive(Clone, Debug, PartialEq)]
pub struct Visited {
    /// The median of the good samples, in nanoseconds; [`What`] says of what.
    pub cost_ns: f64,
    /// The median of each line's good samples, in order of time; empty for kinds that do not talk over single lines.
    pub lines_ns: Vec<f64>,
    /// The samples that were thrown away; the first of each line is not among them, and stolen time is not looked at.
    pub spoiled: Spoiled,
    /// The effective clock rates of the first and the second cpu right after the samples, in gigahertz; absent where it could not
    /// be told.
    pub gigahertz: [Option<f64>; 2],
    /// The node that the memory is on, as the kernel tells; absent where it does not, and for channels.
    pub home: Option<u32>,
}

/// Measures once: fresh memory, warm cores, many short samples. Absent when the visit was stopped. A visit takes its limit at most.
///
/// # Errors
/// The gap that says why it could not be measured.
pub fn visit(
    clock: &Clock,
    visit: &Visit,
    warmth: &Warmth,
    random: &mut Random,
    stop: &AtomicBool,
) -> Result<Option<Visited>, Gap> {
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
    visited.map_err(|why| Gap::new(visit.words(), why))
}

impl Visit {
    /// What is missing where it cannot be measured.
    fn words(&self) -> String {
        let what = if self.what == What::Cas { "link".into() } else { self.what.words() };
        format!("{what} between cpus {} and {}", self.first, self.second)
    }
}

/// A way to talk: what each side does. Hot loops are free functions that allocate nothing and call the system for nothing that is
/// not what they measure.
trait Kind: Sync {
    /// Where the two talk.
    type Place: Send + Sync;

    /// How many samples there are, and of what.
    fn plan(&self) -> Plan;

    /// Makes the place; called on the first cpu.
    fn furnish(&self, home: Home) -> io::Result<Self::Place>;

    /// The node that it is on.
    fn home(&self, place: &Self::Place) -> Option<u32>;

    /// The side of the first cpu.
    fn first<T: Ticks>(&self, place: &Self::Place, ticks: T, meeting: &Meeting, record: &mut Record);

    /// The side of the second cpu.
    fn second<T: Ticks>(&self, place: &Self::Place, ticks: T, meeting: &Meeting, record: &mut Record);

    /// Which of the two sides' values are the samples, if they can be believed.
    fn believed<'r>(&self, records: &'r [Record; 2]) -> Result<&'r [f64], String> {
        Ok(&records[0].values)
    }
}

/// Memory with a home.
fn memory<W: Word>(bytes: usize, home: Home) -> io::Result<Memory<W>> {
    match home {
        Home::First => Memory::new(bytes),
        Home::Node(node) => Memory::on_node(bytes, node),
    }
}

/// What a visit needs whatever its kind.
struct Pair<'a> {
    clock: &'a Clock,
    visit: &'a Visit,
    warmth: &'a Warmth,
    stop: &'a AtomicBool,
}

impl Pair<'_> {
    fn measure<K: Kind>(&self, kind: &K) -> Result<Option<Visited>, String> {
        match self.clock.source {
            Source::Counter(ticks) => self.meet(kind, ticks),
            Source::System(ticks) => self.meet(kind, ticks),
        }
    }

    /// Both threads of a visit, and what they found.
    fn meet<K: Kind, T: Ticks>(&self, kind: &K, ticks: T) -> Result<Option<Visited>, String> {
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
                    self.attend(self.visit.first, ticks, meeting, || match kind.furnish(self.visit.home) {
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
            attendance.see_off(meeting);
        });
        meeting.trouble()?;
        let records = [first, second];
        let sifted = samples::sift(&plan, kind.believed(&records)?, [&records[0].switches, &records[1].switches]);
        let home = place.get().and_then(|place| kind.home(place));
        self.visited(&plan, &sifted, gigahertz, home)
    }

    /// One thread's visit: pinned before and after, warm, and its clock rate at the end.
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
    ) -> Result<Option<Visited>, String> {
        let good: Vec<f64> = sifted.groups.iter().flatten().copied().collect();
        if good.len() < SAMPLES_ENOUGH {
            return if self.stop.load(std::sync::atomic::Ordering::Relaxed) {
                Ok(None)
            } else {
                Err(sifted.too_few(plan, self.visit.limit))
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
    /// Why there are fewer than [`SAMPLES_ENOUGH`] good samples.
    fn too_few(&self, plan: &Plan, limit: Duration) -> String {
        let (spoiled, limit_ms) = (self.spoiled, limit.as_millis());
        if spoiled.samples < plan.kept() {
            return format!("no {} samples within {limit_ms} ms: one cpu is busy", plan.kept());
        }
        let bad = spoiled.switched + spoiled.interrupted;
        format!("{bad} of {} samples within {limit_ms} ms were spoiled: one cpu is busy", spoiled.samples)
    }
}
