//! The JSON document.

use schemars::JsonSchema;
use serde::Serialize;

/// What `corewise undo --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/undo/1")]
pub struct UndoDocument<'a> {
    #[schemars(extend("const" = "corewise/undo/1"))]
    schema: &'static str,
    /// The folder of the journals.
    folder: String,
    /// Whether nothing was to be changed.
    dry_run: bool,
    /// The journals that were found, those of the latest process first.
    journals: &'a [Report],
}

impl<'a> UndoDocument<'a> {
    /// The document of what was found in a folder.
    pub fn new(folder: String, dry_run: bool, journals: &'a [Report]) -> Self {
        Self { schema: "corewise/undo/1", folder, dry_run, journals }
    }
}

/// A journal and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Report {
    /// The journal's file; null where it cannot be opened.
    pub journal: Option<String>,
    /// The number of the corewise process; null where it cannot be read.
    pub process: Option<u32>,
    /// The machine it ran on; null where it cannot be read.
    pub host: Option<String>,
    /// The command that meant its changes to stay, "corewise irq"; null where none did.
    pub kept_by: Option<String>,
    /// When it made its first change, in milliseconds since 1970; null where it cannot be read.
    pub started_unix_ms: Option<i64>,
    /// How the journal stands.
    pub state: State,
    /// What is wrong with the journal; null where nothing is.
    pub why: Option<String>,
    /// The changes that were not undone before, the last first where they are undone.
    pub changes: Vec<Item>,
}

/// How a journal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Its corewise ended without undoing its changes.
    Left,
    /// Its corewise ended, and meant its changes to stay until they are undone.
    Kept,
    /// Its corewise runs and will undo them itself.
    InForce,
    /// It is of an earlier boot, with which its changes ended.
    OtherBoot,
    /// It is of another machine.
    OtherMachine,
    /// It cannot be determined from here whether its corewise is running.
    Unknown,
    /// It cannot be read.
    Unreadable,
}

/// A change and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Item {
    /// What had been changed; of what would be reverted, what would be done.
    pub what: String,
    /// What became of it.
    pub fate: Fate,
    /// Why, or a remark; null where there is nothing to say.
    pub why: Option<String>,
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// The old value is back.
    Reverted,
    /// The old value would come back; nothing was done.
    WouldRevert,
    /// There was nothing to take back.
    NothingToDo,
    /// Somebody else changed it since, or depends on it.
    LeftAlone,
    /// It could not be taken back, and stays in the journal.
    Failed,
    /// It is in force, and its corewise will undo it.
    InForce,
    /// It ended with its boot.
    Gone,
    /// Its state cannot be determined from here.
    Unknown,
}
