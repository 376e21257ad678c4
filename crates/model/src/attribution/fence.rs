//! Upper limits for the ways into and out of the kernel: the excess belongs to the host or to another unrecorded cause.

use std::collections::BTreeMap;

use corewise_machine::event::InterruptSource;

use super::{CausePhase, DividedVisit, StallCause, StallPart};
use corewise_statistics::order::quantile;

/// Minimum number of parts of a kind for a fence.
const FEWEST: usize = 20;
/// Lower limit of a fence, in nanoseconds: the origin of shorter parts is not questioned.
const SHORTEST_NS: f64 = 1_000.0;

/// Upper limit for each way, in nanoseconds: the outer fence of its lengths, three interquartile ranges above the upper
/// quartile (Tukey, Exploratory Data Analysis, 1977, section 2D).
pub struct CauseFences(BTreeMap<CauseWay, u64>);

/// Kind of cause without its names, and the phase.
type CauseWay = (u8, Option<InterruptSource>, CausePhase);

impl CauseFences {
    /// Computes the fences of all ways with enough parts.
    pub fn from_visits(visits: &[DividedVisit]) -> Self {
        let mut lengths: BTreeMap<CauseWay, Vec<f64>> = BTreeMap::new();
        let parts =
            visits.iter().filter(|visit| visit.armed).flat_map(|visit| &visit.stalls).flat_map(|one| &one.parts);
        for part in parts {
            if let Some(way) = way_of(part) {
                lengths.entry(way).or_default().push(part.length_ns as f64);
            }
        }
        let often = lengths.into_iter().filter(|(_, lengths)| lengths.len() >= FEWEST);
        Self(often.map(|(way, lengths)| (way, outer_fence(&lengths))).collect())
    }

    /// Splits off the excess beyond the fences as [`StallCause::Unknown`].
    pub fn cut_parts(&self, parts: &mut Vec<StallPart>) {
        let mut cut = Vec::with_capacity(parts.len());
        for mut part in parts.drain(..) {
            let limit_ns = way_of(&part).and_then(|way| self.0.get(&way)).copied().unwrap_or(u64::MAX);
            let beyond_ns = part.length_ns.saturating_sub(limit_ns);
            part.length_ns -= beyond_ns;
            cut.push(part);
            if beyond_ns > 0 {
                cut.push(StallPart { cause: StallCause::Unknown, phase: CausePhase::Running, length_ns: beyond_ns });
            }
        }
        *parts = cut;
    }
}

fn way_of(part: &StallPart) -> Option<CauseWay> {
    let (kind, source) = match &part.cause {
        StallCause::Interrupt { source: InterruptSource::Device(_), .. } => (0, Some(InterruptSource::Device(0))),
        StallCause::Interrupt { source: InterruptSource::Soft(_), .. } => (0, Some(InterruptSource::Soft(0))),
        StallCause::Interrupt { source, .. } => (0, Some(*source)),
        StallCause::NonMaskable { .. } => (1, None),
        StallCause::PageFault => (2, None),
        StallCause::Task { .. } => (3, None),
        _ => return None,
    };
    (part.phase != CausePhase::Running).then_some((kind, source, part.phase))
}

fn outer_fence(lengths: &[f64]) -> u64 {
    let (lower, upper) = (quantile(lengths, 0.25), quantile(lengths, 0.75));
    (upper + 3.0 * (upper - lower)).max(SHORTEST_NS) as u64
}
