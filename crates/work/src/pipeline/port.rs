//! Where a thread gets messages from and passes them to: channels, rings, or nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use corewise_machine::ring::Slots;
use corewise_sys::ring;
use crossbeam_channel::{Receiver, Sender, bounded};

use super::batch::Batch;
use super::plan::Role;
use super::{Options, Via};
use crate::Error;

/// Says on a ring that nothing follows; no slab has so many places.
const END: u64 = u64::MAX;
/// So often an end of a ring looks before it lets another thread have the cpu.
const TRIES: u32 = 256;

/// Whether threads are to end before their work does: they were stopped from outside, or one of them failed.
pub struct Halt<'a> {
    stop: &'a AtomicBool,
    failed: AtomicBool,
}

impl<'a> Halt<'a> {
    /// Not yet.
    pub const fn new(stop: &'a AtomicBool) -> Self {
        Self { stop, failed: AtomicBool::new(false) }
    }

    /// Says that a thread failed.
    pub fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// An error once they are to end.
    pub fn go_on(&self) -> Result<(), Error> {
        let halted = self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed);
        if halted { Err(Error::Stopped) } else { Ok(()) }
    }
}

/// How one thread is tied to its neighbours. A message goes `next`, `work`, `pass`.
pub trait Port {
    /// A message, or the right to one.
    type Token;

    /// The next message from the thread before; a cleared one for the first thread of a lane. Absent when nothing follows.
    fn next(&mut self) -> Result<Option<Self::Token>, Error>;

    /// Has something done with a message.
    fn work<T>(&mut self, token: &mut Self::Token, work: impl FnOnce(&mut Batch) -> T) -> T;

    /// Passes a message to the thread behind; the last thread of a lane lets it go.
    fn pass(&mut self, token: Self::Token) -> Result<(), Error>;

    /// Tells the thread behind that nothing follows.
    fn finish(self) -> Result<(), Error>;
}

/// The ports of all threads.
pub enum Ports<'a> {
    /// Of a thread that is its whole lane.
    Alone(Alone),
    /// Channels.
    Channel(Channel),
    /// Rings.
    Ring(Box<Ring<'a>>),
}

impl<'a> Ports<'a> {
    /// The port of each thread, in the order of the roles.
    ///
    /// # Errors
    /// When the kernel has no memory for a ring.
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

/// The one thread of a lane: one message, used again and again.
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

/// The ends of two channels, of which the first thread has no receiver and the last no sender. Either end going away ends the other.
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
        // The thread behind ended early: it says why.
        self.to.as_ref().map_or(Ok(()), |to| to.send(token).map_err(|_| Error::Stopped))
    }

    fn finish(self) -> Result<(), Error> {
        Ok(())
    }
}

/// The ends of two rings that carry the numbers of places in a slab; the last thread of a lane sends them back to the first.
pub struct Ring<'a> {
    from: ring::Receiver,
    to: ring::Sender,
    /// Whoever has a place's number has the place, so its lock is always free.
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
    // What all links hold, and one more in each thread's hands; the ring back has room for all, so nobody waits for it to empty.
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

/// Gives up when all are to end. On a cpu that several threads share, the other end needs it to be let go.
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
