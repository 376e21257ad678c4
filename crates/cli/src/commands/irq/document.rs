//! The JSON document.

use std::collections::BTreeMap;

use corewise_machine::CpuSet;
use corewise_machine::device::Near;
use corewise_machine::interrupt::away::{Move, Staying};
use corewise_machine::interrupt::device::DeviceInterrupt;
use corewise_machine::placement::LeftOut;
use corewise_model::survey::devices::DeviceCost;
use schemars::JsonSchema;
use serde::Serialize;

/// What `corewise irq --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/irq/1")]
pub struct IrqDocument<'a> {
    #[schemars(extend("const" = "corewise/irq/1"))]
    schema: &'static str,
    /// How long interrupts were counted for their rates, in seconds; null where they were not.
    counted_s: Option<f64>,
    /// The process number of irqbalance, which may move interrupts; null if it does not run.
    irqbalance: Option<u32>,
    /// What each cost the cpu that it took most from, by number, in the latest survey that named causes; null where none did.
    costs: Option<&'a BTreeMap<u32, DeviceCost>>,
    /// The interrupts of devices; where some were moved, as they were before.
    interrupts: &'a [DeviceInterrupt],
    /// What was moved, or would be; null where they are only shown.
    away: Option<&'a AwayReport>,
}

impl<'a> IrqDocument<'a> {
    /// The document of a list of interrupts, and of what became of those that were to be moved.
    pub fn new(listing: &'a Listing, away: Option<&'a AwayReport>) -> Self {
        let Listing { counted_s, costs, irqbalance, interrupts } = listing;
        let (counted_s, irqbalance) = (*counted_s, *irqbalance);
        Self { schema: "corewise/irq/1", counted_s, costs: costs.as_ref(), irqbalance, interrupts, away }
    }
}

/// What moving interrupts away from some cpus, or near their device, came to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AwayReport {
    /// What was written.
    pub expression: String,
    /// The device whose interrupts were to go to the cpus; absent where those of all devices were to go away from them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Why these cpus are near the device, and what speaks against it; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near: Option<Near>,
    /// The command that moves them.
    #[serde(skip)]
    pub command: String,
    /// The cpus that it is.
    pub cpus: CpuSet,
    /// Cpus that the expression holds and that were left out.
    pub left_out: Vec<LeftOut>,
    /// The cpus to ban in irqbalance: these, and those that it avoids by default but not once a list is set.
    pub to_ban: CpuSet,
    /// Whether nothing was to be changed.
    pub dry_run: bool,
    /// The interrupts that can be moved, and what became of them.
    pub moves: Vec<MoveReport>,
    /// Those that cannot.
    pub staying: Vec<Staying>,
}

/// An interrupt that was to be moved, and what became of it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MoveReport {
    /// The planned move; if it got the same cpus, it was sent there before and has not moved yet.
    pub planned: Move,
    /// What became of it.
    pub fate: Fate,
    /// The cpus that handle it now; null where nothing was done, or where the kernel does not tell.
    pub effective: Option<CpuSet>,
    /// Why it was refused; null where it was not.
    pub why: Option<String>,
}

/// What became of an interrupt that was to be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// Nothing was done: it would be moved.
    WouldMove,
    /// It goes where it was sent.
    Moved,
    /// It was sent, and goes there when it next occurs, because the controller is changed then.
    Waits,
    /// It was sent, has struck since, and still goes elsewhere.
    Elsewhere,
    /// It was sent, and the kernel does not report where it goes.
    Untold,
    /// The kernel refused.
    Refused,
}

/// The interrupts of a machine's devices.
#[derive(Clone, Debug)]
pub struct Listing {
    /// How long they were counted, in seconds; nothing where they were not.
    pub counted_s: Option<f64>,
    /// What each cost the cpu that it took most from, by number, in the latest survey that named causes; nothing where none did.
    pub costs: Option<BTreeMap<u32, DeviceCost>>,
    /// The process number of irqbalance, where it runs.
    pub irqbalance: Option<u32>,
    /// The interrupts, in order of their numbers.
    pub interrupts: Vec<DeviceInterrupt>,
}
