//! Signals, and state changes of a child.

/// Sender of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalSender {
    /// The kernel, for example for a key on the terminal; then every process of the foreground group gets it.
    Kernel,
    /// A process.
    Process(u32),
}

/// A received signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedSignal {
    /// Its number.
    pub number: i32,
    /// Its sender.
    pub sender: SignalSender,
}

/// State change of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateChange {
    /// It ended by itself, with this status.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
    /// A signal stopped it.
    Stopped(i32),
    /// It was continued.
    Continued,
}
