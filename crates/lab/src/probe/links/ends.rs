//! The two ends of a channel or ring, one for each side of a visit.

use std::sync::{Mutex, PoisonError};

use super::TalkPlace;

/// Both ends until they are taken, and the node of the memory between them. Dropping an end ends the other side's wait.
pub struct TalkEnds<S, R> {
    sender: Mutex<Option<S>>,
    receiver: Mutex<Option<R>>,
    home: Option<u32>,
}

impl<S, R> TalkEnds<S, R> {
    /// Creates a holder of both ends; `home` is the node of the memory between them.
    pub fn new((sender, receiver): (S, R), home: Option<u32>) -> Self {
        Self { sender: Mutex::new(Some(sender)), receiver: Mutex::new(Some(receiver)), home }
    }

    /// Takes the first side's end; `None` if it was taken before.
    pub fn take_sender(&self) -> Option<S> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Takes the second side's end; `None` if it was taken before.
    pub fn take_receiver(&self) -> Option<R> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<S: Send, R: Send> TalkPlace for TalkEnds<S, R> {
    fn home(&self) -> Option<u32> {
        self.home
    }
}
