//! Upper limits for the ways into and out of the kernel: the excess belongs to the host or to another unrecorded cause.

use std::collections::BTreeMap;

use corewise_machine::event::Source;

use super::{Cause, DividedVisit, Part, Phase};
use crate::stats::order::quantile;

/// Minimum number of parts of a kind for a fence.
const FEWEST: usize = 20;
/// Lower limit of a fence, in nanoseconds: the origin of shorter parts is not questioned.
const SHORTEST_NS: f64 = 1_000.0;

/// Upper limit for each way, in nanoseconds: the outer fence of its lengths, three interquartile ranges above the upper
/// quartile (Tukey, Exploratory Data Analysis, 1977, section 2D).
pub struct Fences(BTreeMap<Way, u64>);

/// Kind of cause without its names, and the phase.
type Way = (u8, Option<Source>, Phase);

impl Fences {
    /// Computes the fences of all ways with enough parts.
    pub fn of(visits: &[DividedVisit]) -> Self {
        let mut lengths: BTreeMap<Way, Vec<f64>> = BTreeMap::new();
        let parts =
            visits.iter().filter(|visit| visit.armed).flat_map(|visit| &visit.stalls).flat_map(|one| &one.parts);
        for part in parts {
            if let Some(way) = way(part) {
                lengths.entry(way).or_default().push(part.length_ns as f64);
            }
        }
        let often = lengths.into_iter().filter(|(_, lengths)| lengths.len() >= FEWEST);
        Self(often.map(|(way, lengths)| (way, fence(&lengths))).collect())
    }

    /// Splits off the excess beyond the fences as [`Cause::Unknown`].
    pub fn cut(&self, parts: &mut Vec<Part>) {
        let mut cut = Vec::with_capacity(parts.len());
        for mut part in parts.drain(..) {
            let limit_ns = way(&part).and_then(|way| self.0.get(&way)).copied().unwrap_or(u64::MAX);
            let beyond_ns = part.length_ns.saturating_sub(limit_ns);
            part.length_ns -= beyond_ns;
            cut.push(part);
            if beyond_ns > 0 {
                cut.push(Part { cause: Cause::Unknown, phase: Phase::Running, length_ns: beyond_ns });
            }
        }
        *parts = cut;
    }
}

fn way(part: &Part) -> Option<Way> {
    let (kind, source) = match &part.cause {
        Cause::Interrupt { source: Source::Device(_), .. } => (0, Some(Source::Device(0))),
        Cause::Interrupt { source: Source::Soft(_), .. } => (0, Some(Source::Soft(0))),
        Cause::Interrupt { source, .. } => (0, Some(*source)),
        Cause::NonMaskable { .. } => (1, None),
        Cause::PageFault => (2, None),
        Cause::Task { .. } => (3, None),
        _ => return None,
    };
    (part.phase != Phase::Running).then_some((kind, source, part.phase))
}

fn fence(lengths: &[f64]) -> u64 {
    let (lower, upper) = (quantile(lengths, 0.25), quantile(lengths, 0.75));
    (upper + 3.0 * (upper - lower)).max(SHORTEST_NS) as u64
}
