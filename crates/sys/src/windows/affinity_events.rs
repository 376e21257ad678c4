//! Requests to set affinity masks: not available.

use std::io;
use std::marker::PhantomData;

use corewise_machine::Gap;

use super::missing::{NeverValue, missing_gap};
pub use crate::values::affinity_events::{AffinityEvent, MaskCaller};

#[derive(Debug)]
pub struct AffinityEvents(NeverValue);

impl AffinityEvents {
    pub fn open() -> Result<Self, Gap> {
        missing_gap("who sets whose affinity")
    }

    pub fn begin_watch(&self) -> io::Result<AffinityWatch<'_>> {
        match self.0 {}
    }
}

#[derive(Debug)]
pub struct AffinityWatch<'a>(NeverValue, PhantomData<&'a AffinityEvents>);

impl AffinityWatch<'_> {
    pub fn drain_events(&mut self, _: impl Fn(u32) -> bool, _: &mut Vec<AffinityEvent>) -> u64 {
        match self.0 {}
    }

    pub fn awaits_answer(&self, _: impl Fn(u32) -> bool, _: u64) -> bool {
        match self.0 {}
    }
}
