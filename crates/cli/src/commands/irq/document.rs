//! The JSON document.

use std::collections::BTreeMap;

use corewise_model::interrupt::device::DeviceInterrupt;
use corewise_model::survey::devices::DeviceCost;
use schemars::JsonSchema;
use serde::Serialize;

use super::screen::Listing;
use super::screen::away::AwayReport;

/// What `corewise irq --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/irq/1")]
pub struct IrqDocument<'a> {
    #[schemars(extend("const" = "corewise/irq/1"))]
    schema: &'static str,
    /// How long interrupts were counted for their rates, in seconds; null where they were not.
    counted_s: Option<f64>,
    /// The process number of irqbalance, which moves interrupts as it sees fit; null where it does not run.
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
