//! The JSON document.

use std::collections::BTreeMap;

use corewise_machine::machine_file::MachineDescription;
use corewise_machine::placement::notation::{self, Notation, NotationLine, NotationReading};
use corewise_machine::placement::{ExclusionReason, ResolvedExpression};
use corewise_machine::{CpuSet, Level, Machine};
use schemars::JsonSchema;
use serde::Serialize;

/// The output of `corewise place --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/placement/1")]
pub struct PlaceDocument<'a> {
    #[schemars(extend("const" = "corewise/placement/1"))]
    schema: &'static str,
    /// The expression as typed.
    expression: &'a str,
    /// The name of the machine in the history.
    fingerprint: String,
    /// The selected cpus, their order, and the cpus left out.
    resolution: &'a ResolvedExpression,
    /// The share of each level, outermost first.
    levels: Vec<LevelShare>,
    /// The meaning of the text in another tool's notation, one sentence each.
    remarks: &'a [String],
    /// What to keep in mind about the cpus, in whatever notation: isolated ones, nodes without memory.
    notes: Vec<String>,
    /// The same cpus in each notation, by its name.
    notations: BTreeMap<&'static str, Vec<NotationEntry>>,
}

impl<'a> PlaceDocument<'a> {
    /// Creates the document.
    pub fn new(placed: &ShownPlacement<'a>) -> Self {
        let (machine, resolution) = (placed.machine, placed.resolution);
        let share = |level| {
            let objects = machine.objects_of(level);
            let touched = objects.iter().enumerate().filter(|(_, object)| !object.is_disjoint(&resolution.cpus));
            LevelShare { level, objects: objects.len(), touched: touched.map(|(index, _)| index).collect() }
        };
        let entry = |line: NotationLine| NotationEntry { label: line.label, text: line.text, remarks: line.remarks };
        let lines = |notation: Notation| {
            let printed = notation::print_notation(notation, &resolution.cpus, &resolution.order, machine);
            (notation.word(), printed.into_iter().map(entry).collect())
        };
        Self {
            schema: "corewise/placement/1",
            expression: placed.text,
            fingerprint: machine.fingerprint(),
            resolution,
            levels: machine.levels_present().map(share).collect(),
            remarks: placed.read.map_or(&[], |read| &read.remarks),
            notes: describe_warnings(placed),
            notations: Notation::ALL.into_iter().map(lines).collect(),
        }
    }
}

/// The share of a level that a placement covers.
#[derive(Serialize, JsonSchema)]
pub struct LevelShare {
    /// The level.
    level: Level,
    /// The number of its objects on the machine.
    objects: usize,
    /// The indices of the objects with a cpu of the placement.
    touched: Vec<usize>,
}

/// One line of a notation.
#[derive(Serialize, JsonSchema)]
pub struct NotationEntry {
    /// The label of the line within the notation.
    label: String,
    /// The text to paste; null if this notation cannot express it, which the remarks explain.
    text: Option<String>,
    /// Remarks to read before use.
    remarks: Vec<String>,
}

/// A placement on a machine.
#[derive(Clone, Copy, Debug)]
pub struct ShownPlacement<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The expression as typed.
    pub text: &'a str,
    /// The cpus that it selects here.
    pub resolution: &'a ResolvedExpression,
    /// The result of reading another tool's notation; `None` for the placement language.
    pub read: Option<&'a NotationReading>,
    /// The description in the machine file, if the machine comes from one.
    pub description: Option<&'a MachineDescription>,
}

/// Describes what to keep in mind about the cpus, in whatever notation they are printed.
pub fn describe_warnings(placed: &ShownPlacement<'_>) -> Vec<String> {
    let (machine, cpus) = (placed.machine, &placed.resolution.cpus);
    let without = |allowed: bool| {
        let bare =
            machine.nodes.iter().filter(|node| (node.memory_bytes == Some(0)) != allowed && !machine.has_memory(node));
        bare.flat_map(|node| node.cpus.iter()).collect::<CpuSet>().intersection(cpus)
    };
    let (bare, denied) = (without(false), without(true));
    let isolated = machine.isolated.intersection(cpus);
    let mut warnings = placed.resolution.notes.clone();
    if !bare.is_empty() {
        warnings.push(format!("{bare} on nodes without memory: all their memory is remote"));
    }
    if !denied.is_empty() {
        warnings.push(format!("{denied} on nodes whose memory this process may not use: all their memory is remote"));
    }
    if !isolated.is_empty() {
        let what = "isolated: the scheduler does not spread threads over them, so pin each thread (--one-per-thread)";
        warnings.push(format!("{isolated} {what}"));
    }
    if placed.resolution.left_out.iter().any(|out| out.reason == ExclusionReason::NotInMask) {
        warnings.push("the inherited mask is not a hard limit: cpus named by number are used".to_owned());
    }
    warnings
}
