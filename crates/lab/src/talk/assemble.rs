//! From wakes as they were seen to a graph: vertices with their facts, edges between them.

use std::collections::BTreeMap;
use std::time::Duration;

use corewise_machine::Gap;
use corewise_machine::interrupt::device::DeviceInterrupt;
use corewise_model::artifact::ArtifactProvenance;
use corewise_model::talk::{TalkEdge, TalkGraph, TalkSource, TalkVertex, VertexKind, WakeMeans};
use corewise_sys::wakes::WakeOrigin;
use corewise_sys::{Root, irq};

use super::roster::{SeenProgram, ThreadRoster};

/// Number of other programs that a gap names.
const NAMED_OTHERS: usize = 3;

/// Wakes of a thread that are alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenWakes {
    pub origin: WakeOrigin,
    pub wakee: u32,
    pub means: WakeMeans,
    pub wakes: f64,
}

/// All that one of the ways saw.
#[derive(Debug)]
pub struct SeenTalk {
    pub source: TalkSource,
    pub wakes: Vec<SeenWakes>,
    /// Number of waits and their time in nanoseconds, by waker and wakee; 0 stands for interrupts.
    pub waits: BTreeMap<(u32, u32), (u64, u64)>,
    pub lost: u64,
    pub gaps: Vec<Gap>,
}

/// Builds the graph.
pub fn assemble_graph(
    seen: SeenTalk,
    roster: &ThreadRoster,
    elapsed: Duration,
    provenance: ArtifactProvenance,
) -> TalkGraph {
    let mut builder = GraphBuilder::new(roster, elapsed);
    seen.wakes.iter().for_each(|wakes| builder.add_wakes(wakes, &seen.waits));
    let mut gaps = seen.gaps;
    gaps.extend(builder.others_gap());
    gaps.push(Gap::new(
        "memory that threads share without waking each other",
        "spinning and lock-free queues leave no event",
    ));
    let edges = builder.edges.iter();
    let edges = edges.map(|((waker, wakee, means), weight)| TalkEdge {
        waker: *waker,
        wakee: *wakee,
        wakes: weight.wakes,
        waiting_ns: weight.mean_wait_ns(),
        means: *means,
    });
    TalkGraph {
        provenance,
        machine: crate::this_machine().ok(),
        command: Vec::new(),
        seconds: elapsed.as_secs_f64(),
        source: seen.source,
        edges: edges.collect(),
        vertices: builder.vertices,
        lost: seen.lost,
        gaps,
    }
}

/// Identity of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum VertexKey {
    Thread(u32),
    Interrupt(u32),
    Timer,
    KernelThreads,
}

#[derive(Clone, Copy, Debug, Default)]
struct EdgeWeight {
    wakes: f64,
    waits: u64,
    waiting_ns: u64,
}

impl EdgeWeight {
    fn mean_wait_ns(&self) -> Option<f64> {
        (self.waits > 0).then(|| self.waiting_ns as f64 / self.waits as f64)
    }
}

struct GraphBuilder<'a> {
    roster: &'a ThreadRoster,
    elapsed: Duration,
    interrupts: Vec<DeviceInterrupt>,
    places: BTreeMap<VertexKey, usize>,
    vertices: Vec<TalkVertex>,
    edges: BTreeMap<(usize, usize, WakeMeans), EdgeWeight>,
    /// Wakes between watched and other programs, by these.
    others: BTreeMap<String, f64>,
    all_wakes: f64,
}

impl<'a> GraphBuilder<'a> {
    fn new(roster: &'a ThreadRoster, elapsed: Duration) -> Self {
        Self {
            roster,
            elapsed,
            interrupts: irq::read_interrupts(&Root::this_machine()),
            places: BTreeMap::new(),
            vertices: Vec::new(),
            edges: BTreeMap::new(),
            others: BTreeMap::new(),
            all_wakes: 0.0,
        }
    }

    fn add_wakes(&mut self, seen: &SeenWakes, waits: &BTreeMap<(u32, u32), (u64, u64)>) {
        let is_of_watcher = matches!(seen.origin, WakeOrigin::Task(number) if self.roster.is_of_watcher(number));
        if is_of_watcher || self.roster.is_of_watcher(seen.wakee) {
            return;
        }
        self.all_wakes += seen.wakes;
        let waker_number = if let WakeOrigin::Task(number) = seen.origin { number } else { 0 };
        let waker = match seen.origin {
            WakeOrigin::Interrupt(Some(number)) => Ok(VertexKey::Interrupt(number)),
            WakeOrigin::Interrupt(None) => Ok(VertexKey::Timer),
            WakeOrigin::Task(number) => self.find_task(number),
        };
        let (waker, wakee) = match (waker, self.find_task(seen.wakee)) {
            (Ok(waker), Ok(wakee @ VertexKey::Thread(_))) => (self.place_of(waker), self.place_of(wakee)),
            (Err(program), _) | (_, Err(program)) => {
                *self.others.entry(program).or_default() += seen.wakes;
                return;
            }
            // Wakes of the kernel's own threads say nothing about the program.
            (Ok(_), Ok(_)) => return,
        };
        let (waits, waiting_ns) = waits.get(&(waker_number, seen.wakee)).copied().unwrap_or_default();
        let weight = self.edges.entry((waker, wakee, seen.means)).or_default();
        weight.wakes += seen.wakes;
        (weight.waits, weight.waiting_ns) = (waits, waiting_ns);
    }

    /// Returns a task's vertex, or the name of the program if it is not watched.
    fn find_task(&self, number: u32) -> Result<VertexKey, String> {
        let Some(thread) = self.roster.threads.get(&number) else { return Err(String::new()) };
        if self.roster.processes.contains(&thread.process) {
            return Ok(VertexKey::Thread(number));
        }
        match self.roster.known_program(thread.process) {
            Some(SeenProgram::Kernel) => Ok(VertexKey::KernelThreads),
            Some(SeenProgram::Named(name)) => Err(name.clone()),
            _ => Err(thread.name.clone()),
        }
    }

    fn place_of(&mut self, key: VertexKey) -> usize {
        if let Some(place) = self.places.get(&key) {
            return *place;
        }
        let vertex = self.describe_vertex(key);
        self.vertices.push(vertex);
        self.places.insert(key, self.vertices.len() - 1);
        self.vertices.len() - 1
    }

    fn describe_vertex(&self, key: VertexKey) -> TalkVertex {
        let plain = |name: &str, kind| TalkVertex {
            name: name.to_owned(),
            kind,
            program: String::new(),
            busy_share: 0.0,
            cpus: corewise_machine::CpuSet::default(),
        };
        match key {
            VertexKey::Timer => plain("timers", VertexKind::Kernel),
            VertexKey::KernelThreads => plain("kernel threads", VertexKind::Kernel),
            VertexKey::Interrupt(number) => {
                let known = self.interrupts.iter().find(|interrupt| interrupt.number == number);
                let name = known.map_or_else(|| format!("interrupt {number}"), |known| known.handlers.join(", "));
                let cpus = known.and_then(|known| known.effective.clone().or_else(|| known.allowed.clone()));
                TalkVertex { cpus: cpus.unwrap_or_default(), ..plain(&name, VertexKind::Interrupt { number }) }
            }
            VertexKey::Thread(number) => {
                let thread = self.roster.threads.get(&number).cloned().unwrap_or_default();
                let kind = VertexKind::Thread { process: thread.process, thread: number };
                TalkVertex {
                    program: self.roster.program_name(thread.process),
                    busy_share: (thread.computing_ns() as f64 * 1e-9 / self.elapsed.as_secs_f64().max(1e-9)).min(1.0),
                    cpus: thread.cpus,
                    ..plain(&thread.name, kind)
                }
            }
        }
    }

    /// Returns the gap that names the programs with which the watched one talks.
    fn others_gap(&self) -> Option<Gap> {
        let wakes: f64 = self.others.values().sum();
        let mut named: Vec<(&String, &f64)> = self.others.iter().filter(|(name, _)| !name.is_empty()).collect();
        named.sort_by(|a, b| b.1.total_cmp(a.1));
        let names: Vec<&str> = named.iter().take(NAMED_OTHERS).map(|(name, _)| name.as_str()).collect();
        let share = 100.0 * wakes / self.all_wakes.max(1.0);
        // A terminal or a service manager has a few.
        (share >= 1.0).then(|| {
            let with = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
            let why = format!("{share:.0} % of the wakes are by or of threads of programs that are not watched{with}");
            Gap::new("talk with other programs", why).cured_by("watch these programs too")
        })
    }
}
