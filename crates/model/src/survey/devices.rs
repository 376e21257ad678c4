//! Cost of each device's interrupt for the cpus of a survey.

use std::collections::BTreeMap;

use corewise_machine::event::InterruptSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Survey;
use crate::attribution::StallCause;

/// Cost of a device's interrupt for the cpu that lost most to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceCost {
    /// That cpu.
    pub cpu: u32,
    /// Time lost by that cpu, in microseconds per second: the handler, and the ways in and out.
    pub lost_us_per_s: f64,
}

/// Returns costs by interrupt number; interrupts that stalled no cpu are missing.
pub fn device_costs(survey: &Survey) -> BTreeMap<u32, DeviceCost> {
    let mut costs: BTreeMap<u32, DeviceCost> = BTreeMap::new();
    for seen in &survey.cpus {
        let Some(stalls) = seen.stalls.as_ref().filter(|stalls| stalls.watched_s > 0.0) else { continue };
        for cause in &stalls.causes {
            let StallCause::Interrupt { source: InterruptSource::Device(number), .. } = cause.cause else { continue };
            let cost = DeviceCost { cpu: seen.cpu, lost_us_per_s: cause.time_s / stalls.watched_s * 1e6 };
            let kept = costs.entry(number).or_insert(cost);
            if cost.lost_us_per_s > kept.lost_us_per_s {
                *kept = cost;
            }
        }
    }
    costs
}
