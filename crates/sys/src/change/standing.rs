//! State of a change on the machine.

/// State of a change on the machine now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ChangeStanding {
    /// The old value is there, or the thing is gone: nothing to undo. Holds the reason.
    AsBefore(&'static str),
    /// The change is as corewise left it.
    InForce,
    /// Someone else has changed it since, or depends on it. Holds the present state.
    Changed(String),
}
