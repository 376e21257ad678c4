//! Bandwidth of streams, by the streaming cores and the distance of the memory.

use corewise_machine::{CpuSet, Level};
use corewise_model::memory::conclude::{MemoryConclusions, MemoryNodeCost, StreamRate};
use corewise_model::memory::{MemoryMap, StreamOperation};
use corewise_statistics::order::median;

use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::format_brief;
use crate::draw::story::StoryPart;
use crate::draw::text::StyledLine;

/// Groups of cpus have a common row if their streams differ by less than this share.
const ALIKE: f64 = 0.1;

/// The cpus that stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StreamScope {
    /// One core.
    Core,
    /// One core with all its cpus.
    Siblings,
    /// All cores of a last-level cache.
    Cache,
    /// All cores of a node.
    Node,
}

impl StreamScope {
    /// Classifies the cpus of a stream.
    pub fn from_stream(map: &MemoryMap, cost: &MemoryNodeCost, stream: &StreamRate) -> Self {
        let is_core = |core: &CpuSet| stream.cpus.is_subset(core);
        match stream.cpus.len() {
            1 => Self::Core,
            _ if map.machine.objects_of(Level::Core).iter().any(is_core) => Self::Siblings,
            _ if stream.cpus.is_subset(&cost.initiator) => Self::Cache,
            _ => Self::Node,
        }
    }

    const fn describe_scope(self) -> &'static str {
        match self {
            Self::Core => "one core",
            Self::Siblings => "one core, all its cpus",
            Self::Cache => "all cores of a cache",
            Self::Node => "all cores of a node",
        }
    }
}

/// Returns the relation of the node to the cpus: own, nearest, other.
fn describe_owner(cost: &MemoryNodeCost) -> &'static str {
    match (cost.own_node == Some(cost.node), cost.is_nearest) {
        (true, _) => "own",
        (false, true) => "nearest",
        (false, false) => "other",
    }
}

/// One row: the streaming cpus, the distance of their memory, the groups of cpus, and the streams by operation.
struct StreamRow<'a> {
    who: StreamScope,
    whose: &'static str,
    cpus: CpuSet,
    streams: Vec<&'a StreamRate>,
}

impl StreamRow<'_> {
    /// Returns the median over the groups.
    fn median_of(&self, operation: StreamOperation) -> Option<f64> {
        let all = self.streams.iter().filter(|stream| stream.operation == operation);
        let all: Vec<f64> = all.map(|stream| stream.gb_s.median).collect();
        (!all.is_empty()).then(|| median(&all))
    }

    /// Returns true if the stream's cpus read about as fast as the row's. Other operations go with the reads of their cpus.
    fn is_like(&self, cost: &MemoryNodeCost, stream: &StreamRate) -> bool {
        let read = cost.find_stream(StreamOperation::Read, |cpus| *cpus == stream.cpus).map(|read| read.gb_s.median);
        let known = self.median_of(StreamOperation::Read);
        read.zip(known).is_none_or(|(read, known)| (read / known - 1.0).abs() < ALIKE)
    }
}

fn merge_alike<'a>(map: &MemoryMap, conclusions: &'a MemoryConclusions) -> Vec<StreamRow<'a>> {
    let mut rows: Vec<StreamRow<'a>> = Vec::new();
    for cost in &conclusions.costs {
        // Siblings appear in the findings, or under "no difference".
        let streams =
            cost.streams.iter().filter(|stream| StreamScope::from_stream(map, cost, stream) != StreamScope::Siblings);
        for stream in streams {
            let (who, whose) = (StreamScope::from_stream(map, cost, stream), describe_owner(cost));
            let is_like = |row: &&mut StreamRow<'_>| row.who == who && row.whose == whose && row.is_like(cost, stream);
            match rows.iter_mut().find(is_like) {
                Some(row) => {
                    row.cpus = row.cpus.union(&cost.initiator);
                    row.streams.push(stream);
                }
                None => rows.push(StreamRow { who, whose, cpus: cost.initiator.clone(), streams: vec![stream] }),
            }
        }
    }
    rows.sort_by_key(|row| (row.who, ["own", "nearest", "other"].iter().position(|word| *word == row.whose)));
    rows
}

pub fn compose_streams(map: &MemoryMap, conclusions: &MemoryConclusions) -> Vec<StoryPart> {
    let columns = vec![
        GridColumn::text("who", 0).shrinking_to(8),
        GridColumn::text("memory", 0),
        GridColumn::number("read", "GB/s", 0),
        GridColumn::number("write", "GB/s", 1),
        GridColumn::number("past caches", "GB/s", 2),
        GridColumn::number("copy", "GB/s", 1),
        GridColumn::text("of cpus", 3).shrinking_to(8),
    ];
    let mut grid = TextGrid::new(columns).with_indent(2);
    let rows = merge_alike(map, conclusions);
    if rows.is_empty() {
        return Vec::new();
    }
    for row in rows {
        let of = |operation| {
            row.median_of(operation).map_or_else(StyledLine::new, |gb_s| StyledLine::new().plain(format_brief(gb_s)))
        };
        grid.add_row(vec![
            StyledLine::new().plain(row.who.describe_scope()),
            StyledLine::new().plain(row.whose),
            row.median_of(StreamOperation::Read)
                .map_or_else(StyledLine::new, |gb_s| StyledLine::new().strong(format_brief(gb_s))),
            of(StreamOperation::Write),
            of(StreamOperation::WritePast),
            of(StreamOperation::Copy),
            StyledLine::new().faint(row.cpus.to_string()),
        ]);
    }
    let title = StyledLine::new().strong("Bandwidth").plain("  of streams, one thread on each core or cpu");
    vec![title.into_paragraph(2), grid.into()]
}
