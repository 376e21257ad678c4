//! The two ends that the sides of a visit take with them.

use std::sync::{Mutex, PoisonError};

use super::TalkPlace;

/// Both ends until they are taken, and the node of the memory between them. An end that is dropped ends the other's wait.
pub struct TalkEnds<S, R> {
    sender: Mutex<Option<S>>,
    receiver: Mutex<Option<R>>,
    home: Option<u32>,
}

impl<S, R> TalkEnds<S, R> {
    /// Both ends, with the node of the memory between them.
    pub fn new((sender, receiver): (S, R), home: Option<u32>) -> Self {
        Self { sender: Mutex::new(Some(sender)), receiver: Mutex::new(Some(receiver)), home }
    }

    /// Takes the first's end; `None` if it was taken before.
    pub fn take_sender(&self) -> Option<S> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Takes the second's end; `None` if it was taken before.
    pub fn take_receiver(&self) -> Option<R> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<S: Send, R: Send> TalkPlace for TalkEnds<S, R> {
    fn home(&self) -> Option<u32> {
        self.home
    }
}
