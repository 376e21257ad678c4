//! Bandwidth of streams, by the streaming cores and the distance of the memory.

use corewise_machine::{CpuSet, Level};
use corewise_model::memory::conclude::{Cost, MemoryConclusions, Stream};
use corewise_model::memory::{MemoryMap, Operation};
use corewise_model::stats::order::median;

use crate::draw::grid::{Column, Grid};
use crate::draw::number::brief;
use crate::draw::story::StoryPart;
use crate::draw::text::Line;

/// Groups of cpus have a common row if their streams differ by less than this share.
const ALIKE: f64 = 0.1;

/// The cpus that stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// One core.
    Core,
    /// One core with all its cpus.
    Siblings,
    /// All cores of a last-level cache.
    Cache,
    /// All cores of a node.
    Node,
}

impl Who {
    /// Classifies the cpus of a stream.
    pub fn of(map: &MemoryMap, cost: &Cost, stream: &Stream) -> Self {
        let is_core = |core: &CpuSet| stream.cpus.is_subset(core);
        match stream.cpus.len() {
            1 => Self::Core,
            _ if map.machine.objects(Level::Core).iter().any(is_core) => Self::Siblings,
            _ if stream.cpus.is_subset(&cost.initiator) => Self::Cache,
            _ => Self::Node,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Core => "one core",
            Self::Siblings => "one core, all its cpus",
            Self::Cache => "all cores of a cache",
            Self::Node => "all cores of a node",
        }
    }
}

/// Returns the relation of the node to the cpus: own, nearest, other.
fn whose(cost: &Cost) -> &'static str {
    match (cost.own_node == Some(cost.node), cost.is_nearest) {
        (true, _) => "own",
        (false, true) => "nearest",
        (false, false) => "other",
    }
}

/// One row: the streaming cpus, the distance of their memory, the groups of cpus, and the streams by operation.
struct Alike<'a> {
    who: Who,
    whose: &'static str,
    cpus: CpuSet,
    streams: Vec<&'a Stream>,
}

impl Alike<'_> {
    /// Returns the median over the groups.
    fn of(&self, operation: Operation) -> Option<f64> {
        let all = self.streams.iter().filter(|stream| stream.operation == operation);
        let all: Vec<f64> = all.map(|stream| stream.gb_s.median).collect();
        (!all.is_empty()).then(|| median(&all))
    }

    /// Returns true if the stream's cpus read about as fast as the row's. Other operations go with the reads of their cpus.
    fn takes(&self, cost: &Cost, stream: &Stream) -> bool {
        let read = cost.stream(Operation::Read, |cpus| *cpus == stream.cpus).map(|read| read.gb_s.median);
        let known = self.of(Operation::Read);
        read.zip(known).is_none_or(|(read, known)| (read / known - 1.0).abs() < ALIKE)
    }
}

fn alike<'a>(map: &MemoryMap, conclusions: &'a MemoryConclusions) -> Vec<Alike<'a>> {
    let mut rows: Vec<Alike<'a>> = Vec::new();
    for cost in &conclusions.costs {
        // Siblings appear in the findings, or under "no difference".
        let streams = cost.streams.iter().filter(|stream| Who::of(map, cost, stream) != Who::Siblings);
        for stream in streams {
            let (who, whose) = (Who::of(map, cost, stream), whose(cost));
            let is_like = |row: &&mut Alike<'_>| row.who == who && row.whose == whose && row.takes(cost, stream);
            match rows.iter_mut().find(is_like) {
                Some(row) => {
                    row.cpus = row.cpus.union(&cost.initiator);
                    row.streams.push(stream);
                }
                None => rows.push(Alike { who, whose, cpus: cost.initiator.clone(), streams: vec![stream] }),
            }
        }
    }
    rows.sort_by_key(|row| (row.who, ["own", "nearest", "other"].iter().position(|word| *word == row.whose)));
    rows
}

pub fn streams(map: &MemoryMap, conclusions: &MemoryConclusions) -> Vec<StoryPart> {
    let columns = vec![
        Column::text("who", 0).shrinking_to(8),
        Column::text("memory", 0),
        Column::number("read", "GB/s", 0),
        Column::number("write", "GB/s", 1),
        Column::number("past caches", "GB/s", 2),
        Column::number("copy", "GB/s", 1),
        Column::text("of cpus", 3).shrinking_to(8),
    ];
    let mut grid = Grid::new(columns).indented(2);
    let rows = alike(map, conclusions);
    if rows.is_empty() {
        return Vec::new();
    }
    for row in rows {
        let of = |operation| row.of(operation).map_or_else(Line::new, |gb_s| Line::new().plain(brief(gb_s)));
        grid.row(vec![
            Line::new().plain(row.who.words()),
            Line::new().plain(row.whose),
            row.of(Operation::Read).map_or_else(Line::new, |gb_s| Line::new().strong(brief(gb_s))),
            of(Operation::Write),
            of(Operation::WritePast),
            of(Operation::Copy),
            Line::new().faint(row.cpus.to_string()),
        ]);
    }
    let title = Line::new().strong("Bandwidth").plain("  of streams, one thread on each core or cpu");
    vec![title.hanging(2), grid.into()]
}
