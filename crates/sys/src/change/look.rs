//! How a change stands.

/// How a change stands when one looks at the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// The old value is there, or the thing is gone: there is nothing to take back. Says which.
    AsBefore(&'static str),
    /// What was changed is as corewise left it.
    InForce,
    /// Somebody else has changed it since, or depends on it. Says what is there now.
    Changed(String),
}
