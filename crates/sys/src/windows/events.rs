//! Kernel events of cpus, subscribed to by interest: not available.

use std::io;
use std::marker::PhantomData;

use corewise_machine::Gap;
use corewise_machine::event::{EventSource, KernelEvent};

use super::missing::{NeverValue, answers, missing_result};
use super::process::ProcessIdentity;
pub use crate::values::events::{DrainedEvents, EventInterest};

#[derive(Debug)]
pub struct EventRecorder {
    never: NeverValue,
    pub gaps: Vec<Gap>,
}

impl EventRecorder {
    pub fn open(_: EventSource, _: &[&[EventInterest]]) -> Result<Self, Gap> {
        Err(Gap::new("causes of stalls", "Windows reports them through ETW, which corewise does not read yet"))
    }

    pub const fn event_source(&self) -> EventSource {
        match self.never {}
    }

    pub fn enable_events(&self, _: &[EventInterest]) -> io::Result<EnabledEvents<'_>> {
        match self.never {}
    }
}

#[derive(Debug)]
pub struct EnabledEvents<'a>(NeverValue, PhantomData<&'a EventRecorder>);

impl<'a> EnabledEvents<'a> {
    pub fn stream_events(&self, _: u32, _: &[EventInterest], _: usize) -> io::Result<EventStream<'a>> {
        match self.0 {}
    }
}

#[derive(Debug)]
pub struct EventStream<'a>(NeverValue, PhantomData<&'a EventRecorder>);

impl EventStream<'_> {
    pub fn drain_events(&mut self, _: &mut Vec<KernelEvent>) -> DrainedEvents {
        match self.0 {}
    }

    pub fn drain_now(&mut self, _: &mut Vec<KernelEvent>) -> DrainedEvents {
        match self.0 {}
    }
}

answers! {
    fn left_instances() -> Vec<String> = Vec::new();
    fn owner_of_instance(&str) -> Option<ProcessIdentity> = None;
    fn remove_left_instance(&str) -> io::Result<()> = missing_result();
}
