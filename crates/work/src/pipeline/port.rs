//! Connections of a thread to its neighbours: channels, rings, or none.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use corewise_machine::ring::RingSlots;
use corewise_sys::ring;
use crossbeam_channel::{Receiver, Sender, bounded};

use super::batch::LineBatch;
use super::roles::StageRole;
use super::{MessageTransport, PipelineOptions};
use crate::WorkError;

/// Marks the end on a ring; no slab has this place.
const END: u64 = u64::MAX;
/// Attempts at an end of a ring before the thread yields its cpu.
const TRIES: u32 = 256;

/// Flags that end threads early: they were stopped from outside, or one of them failed.
pub struct PipelineHalt<'a> {
    stop: &'a AtomicBool,
    failed: AtomicBool,
}

impl<'a> PipelineHalt<'a> {
    /// Creates the flags, not set.
    pub const fn new(stop: &'a AtomicBool) -> Self {
        Self { stop, failed: AtomicBool::new(false) }
    }

    /// Records that a thread failed.
    pub fn note_failure(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Returns an error if the threads are to end.
    pub fn check_halt(&self) -> Result<(), WorkError> {
        let halted = self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed);
        if halted { Err(WorkError::Stopped) } else { Ok(()) }
    }
}

/// Connection of one thread to its neighbours. A message goes through `next`, `work`, `pass`.
pub trait StagePort {
    /// A message, or the right to one.
    type Token;

    /// Returns the next message from the thread before, or a cleared one for the first thread of a lane. `None` if no more come.
    fn next_message(&mut self) -> Result<Option<Self::Token>, WorkError>;

    /// Runs a function on a message.
    fn work_on<T>(&mut self, token: &mut Self::Token, work: impl FnOnce(&mut LineBatch) -> T) -> T;

    /// Passes a message to the next thread; the last thread of a lane releases it.
    fn pass_message(&mut self, token: Self::Token) -> Result<(), WorkError>;

    /// Tells the next thread that no more messages come.
    fn finish_messages(self) -> Result<(), WorkError>;
}

/// A port of any kind.
pub enum LanePorts<'a> {
    /// The port of a thread that is its whole lane.
    Alone(AlonePort),
    /// A port of channels.
    Channel(ChannelPort),
    /// A port of rings.
    Ring(Box<RingPort<'a>>),
}

impl<'a> LanePorts<'a> {
    /// Creates the port of each thread, in the order of the roles.
    ///
    /// # Errors
    /// If the kernel has no memory for a ring.
    pub fn from_roles(
        roles: &[StageRole],
        options: &PipelineOptions,
        halt: &'a PipelineHalt<'a>,
    ) -> Result<Vec<Self>, WorkError> {
        let lanes = roles.chunk_by(|one, next| one.lane == next.lane);
        let ports = lanes.map(|lane| match (lane.len(), options.via) {
            (1, _) => Ok(vec![Self::Alone(AlonePort::default())]),
            (length, MessageTransport::Channel) => Ok(connect_channels(length, options.capacity)),
            (length, MessageTransport::Ring(slots)) => connect_rings(length, options.capacity, slots, halt),
        });
        Ok(ports.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }
}

/// Port of a lane's only thread: one message, used again and again.
#[derive(Default)]
pub struct AlonePort {
    batch: LineBatch,
}

impl StagePort for AlonePort {
    type Token = ();

    fn next_message(&mut self) -> Result<Option<()>, WorkError> {
        self.batch.clear_batch();
        Ok(Some(()))
    }

    fn work_on<T>(&mut self, (): &mut (), work: impl FnOnce(&mut LineBatch) -> T) -> T {
        work(&mut self.batch)
    }

    fn pass_message(&mut self, (): ()) -> Result<(), WorkError> {
        Ok(())
    }

    fn finish_messages(self) -> Result<(), WorkError> {
        Ok(())
    }
}

/// Ends of two channels. The first thread has no receiver, the last no sender. Dropping either end ends the other.
#[derive(Default)]
pub struct ChannelPort {
    from: Option<Receiver<LineBatch>>,
    to: Option<Sender<LineBatch>>,
}

fn connect_channels<'a>(length: usize, capacity: usize) -> Vec<LanePorts<'a>> {
    let mut ports: Vec<ChannelPort> = (0..length).map(|_| ChannelPort::default()).collect();
    for link in 1..length {
        let (sender, receiver) = bounded(capacity);
        (ports[link - 1].to, ports[link].from) = (Some(sender), Some(receiver));
    }
    ports.into_iter().map(LanePorts::Channel).collect()
}

impl StagePort for ChannelPort {
    type Token = LineBatch;

    fn next_message(&mut self) -> Result<Option<LineBatch>, WorkError> {
        Ok(self.from.as_ref().map_or_else(|| Some(LineBatch::default()), |from| from.recv().ok()))
    }

    fn work_on<T>(&mut self, token: &mut LineBatch, work: impl FnOnce(&mut LineBatch) -> T) -> T {
        work(token)
    }

    fn pass_message(&mut self, token: LineBatch) -> Result<(), WorkError> {
        // The next thread ended early and has the reason.
        self.to.as_ref().map_or(Ok(()), |to| to.send(token).map_err(|_| WorkError::Stopped))
    }

    fn finish_messages(self) -> Result<(), WorkError> {
        Ok(())
    }
}

/// Ends of two rings that carry the numbers of places in a slab; the last thread of a lane sends them back to the first.
pub struct RingPort<'a> {
    from: ring::RingReceiver,
    to: ring::RingSender,
    /// The thread that has a place's number owns the place, so its lock is always free.
    slab: Arc<[Mutex<LineBatch>]>,
    place: LanePlace,
    halt: &'a PipelineHalt<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LanePlace {
    First,
    Middle,
    Last,
}

fn connect_rings<'a>(
    length: usize,
    capacity: usize,
    slots: RingSlots,
    halt: &'a PipelineHalt<'a>,
) -> Result<Vec<LanePorts<'a>>, WorkError> {
    // Enough for all links, plus one in each thread's hands. The ring back has room for all, so no thread waits for it to empty.
    let places = (length - 1) * capacity.next_power_of_two() + length;
    let slab: Arc<[Mutex<LineBatch>]> = (0..places).map(|_| Mutex::default()).collect();
    let ring = |capacity| ring::new(capacity, slots).map_err(WorkError::from_system("memory for a ring"));
    let (mut back, first) = ring(places)?;
    let all_fit = (0..places as u64).all(|place| back.try_send(place));
    debug_assert!(all_fit, "the ring has as many slots");
    let (mut ports, mut from) = (Vec::new(), first);
    for link in 1..length {
        let (to, next) = ring(capacity)?;
        let place = if link == 1 { LanePlace::First } else { LanePlace::Middle };
        let from = std::mem::replace(&mut from, next);
        ports.push(LanePorts::Ring(Box::new(RingPort { from, to, slab: Arc::clone(&slab), place, halt })));
    }
    ports.push(LanePorts::Ring(Box::new(RingPort { from, to: back, slab, place: LanePlace::Last, halt })));
    Ok(ports)
}

impl RingPort<'_> {
    fn send_message(&mut self, message: u64) -> Result<(), WorkError> {
        let sent = self.to.send_message(message, halt_patience(self.halt));
        if sent { Ok(()) } else { Err(WorkError::Stopped) }
    }
}

/// Returns a check for spinning that gives up if all are to end. It yields at times: if several threads share a cpu, the other end needs
/// it.
fn halt_patience(halt: &PipelineHalt<'_>) -> impl FnMut() -> bool {
    let mut tries = 0_u32;
    move || {
        tries += 1;
        if tries.is_multiple_of(TRIES) {
            std::thread::yield_now();
        }
        halt.check_halt().is_err()
    }
}

impl StagePort for RingPort<'_> {
    type Token = u64;

    fn next_message(&mut self) -> Result<Option<u64>, WorkError> {
        let message = self.from.receive_message(halt_patience(self.halt)).ok_or(WorkError::Stopped)?;
        if self.place == LanePlace::First {
            self.work_on(&mut { message }, LineBatch::clear_batch);
        }
        Ok((message != END).then_some(message))
    }

    fn work_on<T>(&mut self, token: &mut u64, work: impl FnOnce(&mut LineBatch) -> T) -> T {
        work(&mut self.slab[*token as usize].lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn pass_message(&mut self, token: u64) -> Result<(), WorkError> {
        self.send_message(token)
    }

    fn finish_messages(mut self) -> Result<(), WorkError> {
        if self.place == LanePlace::Last { Ok(()) } else { self.send_message(END) }
    }
}
