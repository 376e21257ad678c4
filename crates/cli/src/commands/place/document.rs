//! The JSON document.

use std::collections::BTreeMap;

use corewise_machine::machine_file::Description;
use corewise_machine::placement::Resolution;
use corewise_machine::placement::notation::{self, Notation, NotationLine, Read};
use corewise_machine::{Level, Machine};
use schemars::JsonSchema;
use serde::Serialize;

/// What `corewise place --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/placement/1")]
pub struct PlaceDocument<'a> {
    #[schemars(extend("const" = "corewise/placement/1"))]
    schema: &'static str,
    /// What was written.
    expression: &'a str,
    /// The name under which the history knows the machine.
    fingerprint: String,
    /// The selected cpus, their order, and which were left out.
    resolution: &'a Resolution,
    /// How much of each level it is, outermost first.
    levels: Vec<LevelShare>,
    /// What the text means in the notation that it was read in, where that is another tool's, one sentence each.
    remarks: &'a [String],
    /// The same cpus in each notation, by its name.
    notations: BTreeMap<&'static str, Vec<NotationEntry>>,
}

impl<'a> PlaceDocument<'a> {
    /// The document of a placement.
    pub fn new(placed: &Placed<'a>) -> Self {
        let (machine, resolution) = (placed.machine, placed.resolution);
        let share = |level| {
            let objects = machine.objects(level);
            let touched = objects.iter().enumerate().filter(|(_, object)| !object.is_disjoint(&resolution.cpus));
            LevelShare { level, objects: objects.len(), touched: touched.map(|(index, _)| index).collect() }
        };
        let entry = |line: NotationLine| NotationEntry { label: line.label, text: line.text, remarks: line.remarks };
        let lines = |notation: Notation| {
            let printed = notation::print(notation, &resolution.cpus, &resolution.order, machine);
            (notation.word(), printed.into_iter().map(entry).collect())
        };
        Self {
            schema: "corewise/placement/1",
            expression: placed.text,
            fingerprint: machine.fingerprint(),
            resolution,
            levels: machine.levels().map(share).collect(),
            remarks: placed.read.map_or(&[], |read| &read.remarks),
            notations: Notation::ALL.into_iter().map(lines).collect(),
        }
    }
}

/// How much of a level a placement is.
#[derive(Serialize, JsonSchema)]
pub struct LevelShare {
    /// The level.
    level: Level,
    /// How many objects of it the machine has.
    objects: usize,
    /// The indices of those that the placement has a cpu of.
    touched: Vec<usize>,
}

/// One line of a notation.
#[derive(Serialize, JsonSchema)]
pub struct NotationEntry {
    /// Which of the notation's lines it is.
    label: String,
    /// What to paste; null where this notation cannot say it, which the remarks explain.
    text: Option<String>,
    /// What to know before it is used.
    remarks: Vec<String>,
}

/// A placement on a machine.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// What was written.
    pub text: &'a str,
    /// What it is here.
    pub resolution: &'a Resolution,
    /// What the text means in the notation that it was read in, if that is not ours.
    pub read: Option<&'a Read>,
    /// What the machine file says of itself, where the machine comes from one.
    pub description: Option<&'a Description>,
}
