//! Connections of a thread to its neighbours: channels, rings, or none.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use corewise_machine::ring::Slots;
use corewise_sys::ring;
use crossbeam_channel::{Receiver, Sender, bounded};

use super::batch::Batch;
use super::plan::Role;
use super::{Options, Via};
use crate::Error;

/// Marks the end on a ring; no slab has this place.
const END: u64 = u64::MAX;
/// Attempts at an end of a ring before the thread yields its cpu.
const TRIES: u32 = 256;

/// Flags that end threads early: they were stopped from outside, or one of them failed.
pub struct Halt<'a> {
    stop: &'a AtomicBool,
    failed: AtomicBool,
}

impl<'a> Halt<'a> {
    /// Creates the flags, not set.
    pub const fn new(stop: &'a AtomicBool) -> Self {
        Self { stop, failed: AtomicBool::new(false) }
    }

    /// Records that a thread failed.
    pub fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Returns an error if the threads are to end.
    pub fn go_on(&self) -> Result<(), Error> {
        let halted = self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed);
        if halted { Err(Error::Stopped) } else { Ok(()) }
    }
}

/// Connection of one thread to its neighbours. A message goes through `next`, `work`, `pass`.
pub trait Port {
    /// A message, or the right to one.
    type Token;

    /// Returns the next message from the thread before, or a cleared one for the first thread of a lane. `None` if no more come.
    fn next(&mut self) -> Result<Option<Self::Token>, Error>;

    /// Runs a function on a message.
    fn work<T>(&mut self, token: &mut Self::Token, work: impl FnOnce(&mut Batch) -> T) -> T;

    /// Passes a message to the next thread; the last thread of a lane releases it.
    fn pass(&mut self, token: Self::Token) -> Result<(), Error>;

    /// Tells the next thread that no more messages come.
    fn finish(self) -> Result<(), Error>;
}

/// A port of any kind.
pub enum Ports<'a> {
    /// The port of a thread that is its whole lane.
    Alone(Alone),
    /// A port of channels.
    Channel(Channel),
    /// A port of rings.
    Ring(Box<Ring<'a>>),
}

impl<'a> Ports<'a> {
    /// Creates the port of each thread, in the order of the roles.
    ///
    /// # Errors
    /// If the kernel has no memory for a ring.
    pub fn of(roles: &[Role], options: &Options, halt: &'a Halt<'a>) -> Result<Vec<Self>, Error> {
        let lanes = roles.chunk_by(|one, next| one.lane == next.lane);
        let ports = lanes.map(|lane| match (lane.len(), options.via) {
            (1, _) => Ok(vec![Self::Alone(Alone::default())]),
            (length, Via::Channel) => Ok(channels(length, options.capacity)),
            (length, Via::Ring(slots)) => rings(length, options.capacity, slots, halt),
        });
        Ok(ports.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }
}

/// Port of a lane's only thread: one message, used again and again.
#[derive(Default)]
pub struct Alone {
    batch: Batch,
}

impl Port for Alone {
    type Token = ();

    fn next(&mut self) -> Result<Option<()>, Error> {
        self.batch.clear();
        Ok(Some(()))
    }

    fn work<T>(&mut self, (): &mut (), work: impl FnOnce(&mut Batch) -> T) -> T {
        work(&mut self.batch)
    }

    fn pass(&mut self, (): ()) -> Result<(), Error> {
        Ok(())
    }

    fn finish(self) -> Result<(), Error> {
        Ok(())
    }
}

/// Ends of two channels. The first thread has no receiver, the last no sender. Dropping either end ends the other.
#[derive(Default)]
pub struct Channel {
    from: Option<Receiver<Batch>>,
    to: Option<Sender<Batch>>,
}

fn channels<'a>(length: usize, capacity: usize) -> Vec<Ports<'a>> {
    let mut ports: Vec<Channel> = (0..length).map(|_| Channel::default()).collect();
    for link in 1..length {
        let (sender, receiver) = bounded(capacity);
        (ports[link - 1].to, ports[link].from) = (Some(sender), Some(receiver));
    }
    ports.into_iter().map(Ports::Channel).collect()
}

impl Port for Channel {
    type Token = Batch;

    fn next(&mut self) -> Result<Option<Batch>, Error> {
        Ok(self.from.as_ref().map_or_else(|| Some(Batch::default()), |from| from.recv().ok()))
    }

    fn work<T>(&mut self, token: &mut Batch, work: impl FnOnce(&mut Batch) -> T) -> T {
        work(token)
    }

    fn pass(&mut self, token: Batch) -> Result<(), Error> {
        // The next thread ended early and has the reason.
        self.to.as_ref().map_or(Ok(()), |to| to.send(token).map_err(|_| Error::Stopped))
    }

    fn finish(self) -> Result<(), Error> {
        Ok(())
    }
}

/// Ends of two rings that carry the numbers of places in a slab; the last thread of a lane sends them back to the first.
pub struct Ring<'a> {
    from: ring::Receiver,
    to: ring::Sender,
    /// The thread that has a place's number owns the place, so its lock is always free.
    slab: Arc<[Mutex<Batch>]>,
    place: Place,
    halt: &'a Halt<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    First,
    Middle,
    Last,
}

fn rings<'a>(length: usize, capacity: usize, slots: Slots, halt: &'a Halt<'a>) -> Result<Vec<Ports<'a>>, Error> {
    // Enough for all links, plus one in each thread's hands. The ring back has room for all, so no thread waits for it to empty.
    let places = (length - 1) * capacity.next_power_of_two() + length;
    let slab: Arc<[Mutex<Batch>]> = (0..places).map(|_| Mutex::default()).collect();
    let ring = |capacity| ring::new(capacity, slots).map_err(Error::system("memory for a ring"));
    let (mut back, first) = ring(places)?;
    let all_fit = (0..places as u64).all(|place| back.try_send(place));
    debug_assert!(all_fit, "the ring has as many slots");
    let (mut ports, mut from) = (Vec::new(), first);
    for link in 1..length {
        let (to, next) = ring(capacity)?;
        let place = if link == 1 { Place::First } else { Place::Middle };
        let from = std::mem::replace(&mut from, next);
        ports.push(Ports::Ring(Box::new(Ring { from, to, slab: Arc::clone(&slab), place, halt })));
    }
    ports.push(Ports::Ring(Box::new(Ring { from, to: back, slab, place: Place::Last, halt })));
    Ok(ports)
}

impl Ring<'_> {
    fn send(&mut self, message: u64) -> Result<(), Error> {
        let sent = self.to.send(message, patience(self.halt));
        if sent { Ok(()) } else { Err(Error::Stopped) }
    }
}

/// Returns a check for spinning that gives up if all are to end. It yields at times: if several threads share a cpu, the other end needs
/// it.
fn patience(halt: &Halt<'_>) -> impl FnMut() -> bool {
    let mut tries = 0_u32;
    move || {
        tries += 1;
        if tries.is_multiple_of(TRIES) {
            std::thread::yield_now();
        }
        halt.go_on().is_err()
    }
}

impl Port for Ring<'_> {
    type Token = u64;

    fn next(&mut self) -> Result<Option<u64>, Error> {
        let message = self.from.receive(patience(self.halt)).ok_or(Error::Stopped)?;
        if self.place == Place::First {
            self.work(&mut { message }, Batch::clear);
        }
        Ok((message != END).then_some(message))
    }

    fn work<T>(&mut self, token: &mut u64, work: impl FnOnce(&mut Batch) -> T) -> T {
        work(&mut self.slab[*token as usize].lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn pass(&mut self, token: u64) -> Result<(), Error> {
        self.send(token)
    }

    fn finish(mut self) -> Result<(), Error> {
        if self.place == Place::Last { Ok(()) } else { self.send(END) }
    }
}
