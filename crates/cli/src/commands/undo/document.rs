//! The JSON document.

use schemars::JsonSchema;
use serde::Serialize;

/// The output of `corewise undo --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/undo/1")]
pub struct UndoDocument<'a> {
    #[schemars(extend("const" = "corewise/undo/1"))]
    schema: &'static str,
    /// The folder of the journals.
    folder: String,
    /// True for a dry run, which changes nothing.
    dry_run: bool,
    /// The journals, the latest process first.
    journals: &'a [JournalReport],
}

impl<'a> UndoDocument<'a> {
    /// Creates the document for a folder.
    pub fn new(folder: String, dry_run: bool, journals: &'a [JournalReport]) -> Self {
        Self { schema: "corewise/undo/1", folder, dry_run, journals }
    }
}

/// A journal and the results of its changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JournalReport {
    /// The journal's file; null if it cannot be opened.
    pub journal: Option<String>,
    /// The number of the corewise process; null if it cannot be read.
    pub process: Option<u32>,
    /// The machine it ran on; null if it cannot be read.
    pub host: Option<String>,
    /// The command that made changes to stay, such as "corewise irq"; null otherwise.
    pub kept_by: Option<String>,
    /// When it made its first change, in milliseconds since 1970; null if it cannot be read.
    pub started_unix_ms: Option<i64>,
    /// The state of the journal.
    pub state: JournalState,
    /// The fault of the journal; null without one.
    pub why: Option<String>,
    /// The open changes, the last first if they are undone.
    pub changes: Vec<ChangeReport>,
}

/// The state of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JournalState {
    /// Its corewise ended without undoing its changes.
    Left,
    /// Its corewise ended, and left its changes to stay until they are undone.
    Kept,
    /// Its corewise runs and will undo them itself.
    InForce,
    /// It is from an earlier boot, with which its changes ended.
    OtherBoot,
    /// It is of another machine.
    OtherMachine,
    /// It cannot be determined from here whether its corewise is running.
    Unknown,
    /// It cannot be read.
    Unreadable,
}

/// A change and the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangeReport {
    /// The change; in a dry run, the planned reversal.
    pub what: String,
    /// The result.
    pub fate: ChangeFate,
    /// A reason or remark; null without one.
    pub why: Option<String>,
}

/// The result for a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeFate {
    /// The old value was restored.
    Reverted,
    /// The old value would be restored; nothing was done.
    WouldRevert,
    /// There was nothing to revert.
    NothingToDo,
    /// Another program changed it since, or depends on it.
    LeftAlone,
    /// It could not be reverted, and stays in the journal.
    Failed,
    /// It is in force, and its corewise will undo it.
    InForce,
    /// It ended with its boot.
    Gone,
    /// Its state cannot be determined from here.
    Unknown,
}
