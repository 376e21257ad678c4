//! By what a thread woke another.

use corewise_model::talk::WakeMeans;
use corewise_sys::wakes::{CallKind, DescriptorKind, WakeCount, WakeOrigin};

/// Returns the means of counted wakes; `file` is the kind of the descriptor for which the wakee waited, if known.
pub fn means_of_wake(count: &WakeCount, file: Option<DescriptorKind>) -> WakeMeans {
    match count.origin {
        WakeOrigin::Interrupt(Some(_)) => return WakeMeans::Interrupt,
        WakeOrigin::Interrupt(None) => return WakeMeans::Timer,
        WakeOrigin::Task(_) => {}
    }
    match (count.wakee_call, count.waker_call) {
        (CallKind::File, CallKind::Socket) if file.is_none() => WakeMeans::Socket,
        (CallKind::Sleep | CallKind::None, CallKind::Signal) => WakeMeans::Signal,
        (call, _) => means_of_waiting(call, file),
    }
}

/// Returns the means by which a thread can be woken that waits in a call.
pub const fn means_of_waiting(call: CallKind, file: Option<DescriptorKind>) -> WakeMeans {
    match (call, file) {
        (CallKind::Futex, _) => WakeMeans::Futex,
        (CallKind::Poll, _) => WakeMeans::Poll,
        (CallKind::Signal, _) => WakeMeans::Signal,
        (CallKind::Socket, _) | (CallKind::File, Some(DescriptorKind::Socket)) => WakeMeans::Socket,
        (CallKind::File, Some(DescriptorKind::Pipe)) => WakeMeans::Pipe,
        (CallKind::File, None) => WakeMeans::Unknown,
        (CallKind::File, Some(DescriptorKind::Other))
        | (CallKind::None | CallKind::Other | CallKind::Send | CallKind::Sleep, _) => WakeMeans::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_follow_from_both_calls_and_the_kind_of_the_file() {
        let means = |origin, waker_call, wakee_call, file| {
            let count = WakeCount { origin, wakee: 1, waker_call, wakee_call, descriptor: None, wakes: 1 };
            means_of_wake(&count, file)
        };
        let task = WakeOrigin::Task(2);
        assert_eq!(means(task, CallKind::Futex, CallKind::Futex, None), WakeMeans::Futex);
        assert_eq!(means(task, CallKind::File, CallKind::File, Some(DescriptorKind::Pipe)), WakeMeans::Pipe);
        assert_eq!(means(task, CallKind::File, CallKind::File, Some(DescriptorKind::Socket)), WakeMeans::Socket);
        assert_eq!(means(task, CallKind::Socket, CallKind::File, None), WakeMeans::Socket);
        assert_eq!(means(task, CallKind::File, CallKind::File, None), WakeMeans::Unknown);
        assert_eq!(means(task, CallKind::File, CallKind::Poll, None), WakeMeans::Poll);
        assert_eq!(means(task, CallKind::Signal, CallKind::Sleep, None), WakeMeans::Signal);
        assert_eq!(means(WakeOrigin::Interrupt(None), CallKind::None, CallKind::Futex, None), WakeMeans::Timer);
        assert_eq!(means(WakeOrigin::Interrupt(Some(4)), CallKind::None, CallKind::Poll, None), WakeMeans::Interrupt);
    }
}
