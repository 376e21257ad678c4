//! Pairs with two costs during the measurement.

use corewise_machine::CpuSet;

use super::LinkPair;
use crate::finding::{Finding, FindingTopic};
use corewise_machine::suggested_command;
use corewise_statistics::order::{median, quantile};

/// Minimum ratio of the gap between two modes, as opposed to noise.
const MODES_APART: f64 = 1.5;
/// Minimum share of the visits in each mode.
const MODE_SHARE: f64 = 0.1;
/// Minimum visits in each mode; the next is the maximum ratio over the middle four fifths of a mode.
const MODE_VISITS: usize = 5;
const MODE_SPREAD: f64 = 1.3;

/// Finds pairs with two costs during the measurement. Causes are a host that moves virtual cpus between its own cores,
/// or a clock that changes.
pub fn modes_finding(pairs: &[LinkPair], hypervisor: Option<&str>) -> Option<Finding> {
    let split: Vec<(&LinkPair, CostModes)> =
        pairs.iter().filter_map(|pair| Some((pair, CostModes::from_visits(&pair.all_visits_ns())?))).collect();
    let (pair, modes) = split.iter().max_by(|a, b| a.1.mode_ratio().total_cmp(&b.1.mode_ratio()))?;
    let cpus: CpuSet = split.iter().flat_map(|(pair, _)| [pair.a, pair.b]).collect();
    let whose = match split.len() {
        1 => format!("cpus {} and {}", pair.a, pair.b),
        count => format!("{count} pairs of cpus; the widest, cpus {} and {},", pair.a, pair.b),
    };
    let share = modes.high_share * 100.0;
    let advice = match hypervisor {
        Some(_) => {
            "The host probably moves virtual cpus among its own cores. Ask its owner to pin them; no placement in \
                this machine can."
        }
        None => "Something changed during the survey (a clock, a power state); survey again on a quiet machine:",
    };
    Some(Finding {
        topic: FindingTopic::Links,
        cpus,
        statement: format!(
            "Talking between {whose} costs {:.0} ns in some visits and {:.0} ns in others ({share:.0} % of {}).",
            modes.low_ns,
            modes.high_ns,
            pair.visits_ns().len() + pair.back_ns().len()
        ),
        advice: advice.into(),
        command: hypervisor.is_none().then(suggested_command::first_survey),
        effects: Vec::new(),
    })
}

/// Two modes with a gap between them.
struct CostModes {
    low_ns: f64,
    high_ns: f64,
    high_share: f64,
}

impl CostModes {
    fn from_visits(visits_ns: &[f64]) -> Option<Self> {
        let mut sorted = visits_ns.to_vec();
        sorted.sort_by(f64::total_cmp);
        let least = MODE_VISITS.max((sorted.len() as f64 * MODE_SHARE).ceil() as usize);
        let widest = (least..=sorted.len().checked_sub(least)?)
            .max_by(|&a, &b| (sorted[a] / sorted[a - 1]).total_cmp(&(sorted[b] / sorted[b - 1])))?;
        let (low, high) = sorted.split_at(widest);
        let is_tight = |mode: &[f64]| quantile(mode, 0.9) / quantile(mode, 0.1) <= MODE_SPREAD;
        let apart = high[0] / low[low.len() - 1] >= MODES_APART;
        (apart && is_tight(low) && is_tight(high)).then(|| Self {
            low_ns: median(low),
            high_ns: median(high),
            high_share: high.len() as f64 / sorted.len() as f64,
        })
    }

    fn mode_ratio(&self) -> f64 {
        self.high_ns / self.low_ns
    }
}
