//! The JSON document.

use std::collections::BTreeMap;

use corewise_machine::CpuSet;
use corewise_machine::device::NearCpus;
use corewise_machine::interrupt::device::DeviceInterrupt;
use corewise_machine::interrupt::plan::{InterruptMove, StayingInterrupt};
use corewise_machine::placement::ExcludedCpus;
use corewise_model::finding::Finding;
use corewise_model::survey::devices::DeviceCost;
use schemars::JsonSchema;
use serde::Serialize;

/// The output of `corewise irq --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/irq/1")]
pub struct IrqDocument<'a> {
    #[schemars(extend("const" = "corewise/irq/1"))]
    schema: &'static str,
    /// Seconds for which interrupts were counted for their rates; null if they were not.
    counted_s: Option<f64>,
    /// The process number of irqbalance, which may move interrupts; null if it does not run.
    irqbalance: Option<u32>,
    /// The cost of each interrupt, by number, to the cpu that lost most to it, in the latest survey that named
    /// causes; null without one.
    costs: Option<&'a BTreeMap<u32, DeviceCost>>,
    /// The number of that survey; null without one.
    costs_survey: Option<i64>,
    /// The interrupts of devices, as they were before any move.
    interrupts: &'a [DeviceInterrupt],
    /// Findings about these interrupts: queues that share a cpu, interrupts on isolated cpus.
    findings: &'a [Finding],
    /// The interrupts that were moved, or would be; null if they are only shown.
    away: Option<&'a AwayReport>,
}

impl<'a> IrqDocument<'a> {
    /// Creates the document.
    pub fn new(listing: &'a InterruptListing, away: Option<&'a AwayReport>) -> Self {
        let InterruptListing { counted_s, costs, irqbalance, interrupts, findings } = listing;
        let (counted_s, irqbalance) = (*counted_s, *irqbalance);
        let costs_survey = costs.as_ref().map(|costs| costs.survey);
        let costs = costs.as_ref().map(|costs| &costs.by_number);
        Self { schema: "corewise/irq/1", counted_s, costs, costs_survey, irqbalance, interrupts, findings, away }
    }
}

/// The result of moving interrupts away from some cpus, or near their device.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AwayReport {
    /// The kind of move.
    pub aim: MoveKind,
    /// The expression, device or interrupts as typed.
    pub expression: String,
    /// The device whose interrupts were to move; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Why these cpus are near the device, and any doubt; absent without a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near: Option<NearCpus>,
    /// The command that moves them.
    #[serde(skip)]
    pub command: String,
    /// The cpus of the expression, or near the device.
    pub cpus: CpuSet,
    /// Cpus of the expression that were left out.
    pub left_out: Vec<ExcludedCpus>,
    /// The cpus to ban in irqbalance: these, and cpus that it avoids by default but not once a list is set.
    pub to_ban: CpuSet,
    /// True for a dry run, which changes nothing.
    pub dry_run: bool,
    /// The movable interrupts, with the result of each.
    pub moves: Vec<MoveReport>,
    /// The interrupts that cannot be moved.
    pub staying: Vec<StayingInterrupt>,
}

/// Kind of move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MoveKind {
    /// Away from cpus.
    AwayFrom,
    /// To the cpus near a device.
    Near,
    /// To a cpu for each interrupt of a device.
    Spread,
    /// To the cpus that were named for each interrupt.
    Named,
}

/// An interrupt that was to be moved, and the result.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MoveReport {
    /// The planned move; if it got the same cpus, it was sent there before and has not moved yet.
    pub planned: InterruptMove,
    /// The result.
    pub fate: MoveFate,
    /// The cpus that handle it now; null if it was not moved, or if the kernel does not report them.
    pub effective: Option<CpuSet>,
    /// Why it was refused; null if it was not.
    pub why: Option<String>,
}

/// The result for an interrupt that was to be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MoveFate {
    /// Not changed: it would be moved.
    WouldMove,
    /// It moved to its new cpus.
    Moved,
    /// It was sent, and moves when it next occurs, because the controller is changed then.
    Waits,
    /// It was sent and has occurred since, but still goes elsewhere.
    Elsewhere,
    /// It was sent, and the kernel does not report its cpus.
    Untold,
    /// The kernel refused.
    Refused,
}

/// The costs of interrupts in a survey.
#[derive(Clone, Debug)]
pub struct SurveyedCosts {
    /// The number of the survey.
    pub survey: i64,
    /// The cost of each interrupt, by number, to the cpu that lost most to it.
    pub by_number: BTreeMap<u32, DeviceCost>,
}

/// The interrupts of a machine's devices.
#[derive(Clone, Debug)]
pub struct InterruptListing {
    /// Seconds for which they were counted; `None` if they were not.
    pub counted_s: Option<f64>,
    /// The costs of interrupts in the latest survey that named causes; `None` without one.
    pub costs: Option<SurveyedCosts>,
    /// The process number of irqbalance, if it runs.
    pub irqbalance: Option<u32>,
    /// The interrupts, in order of their numbers.
    pub interrupts: Vec<DeviceInterrupt>,
    /// Findings about them.
    pub findings: Vec<Finding>,
}
