//! Kernel events of cpus, subscribed to by interest: not available.

use std::io;
use std::marker::PhantomData;

use corewise_machine::Gap;
use corewise_machine::event::{Event, EventSource};

use super::missing::{Never, answers, missing};
use super::process::Process;
pub use crate::values::events::{Drained, Interest};

#[derive(Debug)]
pub struct Recorder {
    never: Never,
    pub gaps: Vec<Gap>,
}

impl Recorder {
    pub fn open(_: EventSource, _: &[&[Interest]]) -> Result<Self, Gap> {
        Err(Gap::new("causes of stalls", "Windows reports them through ETW, which corewise does not read yet"))
    }

    pub const fn event_source(&self) -> EventSource {
        match self.never {}
    }

    pub fn enable(&self, _: &[Interest]) -> io::Result<Enabled<'_>> {
        match self.never {}
    }
}

#[derive(Debug)]
pub struct Enabled<'a>(Never, PhantomData<&'a Recorder>);

impl<'a> Enabled<'a> {
    pub fn stream(&self, _: u32, _: &[Interest], _: usize) -> io::Result<Stream<'a>> {
        match self.0 {}
    }
}

#[derive(Debug)]
pub struct Stream<'a>(Never, PhantomData<&'a Recorder>);

impl Stream<'_> {
    pub fn drain(&mut self, _: &mut Vec<Event>) -> Drained {
        match self.0 {}
    }

    pub fn drain_now(&mut self, _: &mut Vec<Event>) -> Drained {
        match self.0 {}
    }
}

answers! {
    fn left_instances() -> Vec<String> = Vec::new();
    fn owner_of_instance(&str) -> Option<Process> = None;
    fn remove_left_instance(&str) -> io::Result<()> = missing();
}
