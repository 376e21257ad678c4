//! Requests to set affinity masks: not available.

use std::io;
use std::marker::PhantomData;

use corewise_machine::Gap;

use super::missing::{Never, gap};
pub use crate::values::affinity_events::{AffinityEvent, Author};

#[derive(Debug)]
pub struct AffinityEvents(Never);

impl AffinityEvents {
    pub fn open() -> Result<Self, Gap> {
        gap("who sets whose affinity")
    }

    pub fn watch(&self) -> io::Result<AffinityWatch<'_>> {
        match self.0 {}
    }
}

#[derive(Debug)]
pub struct AffinityWatch<'a>(Never, PhantomData<&'a AffinityEvents>);

impl AffinityWatch<'_> {
    pub fn drain(&mut self, _: impl Fn(u32) -> bool, _: &mut Vec<AffinityEvent>) -> u64 {
        match self.0 {}
    }
}
