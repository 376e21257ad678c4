//! Messages that carry their sending time.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use corewise_machine::random::RandomGenerator;
use corewise_statistics::order::median;
use corewise_sys::clock::{TickClock, TickSource};
use corewise_sys::memory::{LINE_BYTES, PageMemory};

use super::meeting::{TalkMeeting, spin_until};
use super::samples::{SamplePlan, SideRecord, TalkSide};
use super::{LinkVisit, MemoryHome, TalkContext, TalkKind, allocate_memory};

/// Messages of one sample, each way.
const MESSAGES: usize = 32;
/// Messages before each sample, each way.
const LEAD: usize = 1;
const SAMPLES: usize = 25;
/// Number of lines: each message has its own, not written before.
const LINES: usize = 2 * SAMPLES * (LEAD + MESSAGES);
/// Largest difference of either way from their mean, as a share of it, at which the clocks agree. Smaller clock offsets cannot be
/// distinguished from asymmetric costs. With the memory on one side, one way costs a fifth of the mean more on some machines of two
/// sockets.
const DIFFERENCE: f64 = 1.0 / 3.0;

/// Least time of a message, in steps of the clock. The mean of many is exact though each is a whole number of steps, unless nearly all of
/// them are zero.
const STEPS: f64 = 0.5;

/// One-way measurement, with the cpus and the lines of one visit.
pub struct OnewayTalk {
    cpus: [u32; 2],
    /// Step of the clock, in ticks.
    step: f64,
    /// Lines in the order of their use, alternating between the two ways; the order is random, so that the hardware does not predict it.
    lines: Vec<usize>,
}

impl OnewayTalk {
    /// Puts the lines into random order.
    pub fn new(visit: &LinkVisit, clock: &TickClock, random: &mut RandomGenerator) -> Self {
        let mut lines: Vec<usize> = (0..LINES).collect();
        random.shuffle(&mut lines);
        Self { cpus: [visit.first, visit.second], step: clock.step_ns / clock.nanoseconds_per_tick, lines }
    }

    fn new_side<'a, T: TickSource>(
        &'a self,
        place: &'a PageMemory,
        is_first: bool,
        ticks: T,
        meeting: &'a TalkMeeting,
    ) -> OnewaySide<'a, T> {
        let lines = self.lines.iter().map(|&line| place.line(line)).collect();
        OnewaySide { lines, used: 0, is_first, ticks, meeting, taken: [0; MESSAGES] }
    }
}

impl TalkKind for OnewayTalk {
    type Place = PageMemory;

    fn sample_plan(&self) -> SamplePlan {
        SamplePlan::new(SAMPLES, 1.0)
    }

    fn allocate_place(&self, home: MemoryHome) -> io::Result<PageMemory> {
        allocate_memory(LINES * LINE_BYTES, home)
    }

    fn first_side<'a, T: TickSource>(&'a self, at: TalkContext<'a, Self::Place, T>) -> Option<impl TalkSide> {
        Some(self.new_side(at.place, true, at.ticks, at.meeting))
    }

    fn second_side<'a, T: TickSource>(&'a self, at: TalkContext<'a, Self::Place, T>) -> Option<impl TalkSide> {
        Some(self.new_side(at.place, false, at.ticks, at.meeting))
    }

    /// Selects the messages to the second side, which are timed on its cpu. Fails if the clocks disagree or are too coarse.
    fn choose_samples<'r>(&self, records: &'r [SideRecord; 2]) -> Result<&'r [f64], String> {
        let [back, there] = records.each_ref().map(|record| record.values.as_slice());
        let [first, second] = self.cpus;
        if !clocks_agree(there, back) {
            Err(format!("the clocks of cpus {first} and {second} do not agree, so a one-way message cannot be timed"))
        } else if is_too_short(there, self.step) {
            Err(format!(
                "a message between cpus {first} and {second} takes less than half a clock step, so it cannot be timed"
            ))
        } else {
            Ok(there)
        }
    }
}

/// Returns true if two clocks agree, by the times of messages in each direction: the clocks' offset is half of the difference.
fn clocks_agree(there: &[f64], back: &[f64]) -> bool {
    let (is_back_in_time, there, back) =
        (there.iter().chain(back).any(|&ticks| ticks < 0.0), median(there), median(back));
    !is_back_in_time && (there.is_nan() || back.is_nan() || (there - back).abs() <= DIFFERENCE * (there + back))
}

/// Returns true if messages are too short against a step of the clock to be timed.
fn is_too_short(taken: &[f64], step: f64) -> bool {
    median(taken) < STEPS * step
}

/// One side.
struct OnewaySide<'a, T> {
    lines: Vec<&'a AtomicU64>,
    used: usize,
    is_first: bool,
    ticks: T,
    meeting: &'a TalkMeeting<'a>,
    /// Time that each message of the sample took to arrive here, in ticks.
    taken: [i64; MESSAGES],
}

impl<T: TickSource> OnewaySide<'_, T> {
    fn exchange_messages(&mut self, messages: usize) -> bool {
        let lines = &self.lines[self.used..self.used + 2 * messages];
        self.used += 2 * messages;
        let taken = &mut self.taken[..messages];
        if self.is_first {
            write_and_read(self.ticks, lines, taken, self.meeting)
        } else {
            read_and_write(self.ticks, lines, taken, self.meeting)
        }
    }
}

impl<T: TickSource> TalkSide for OnewaySide<'_, T> {
    fn lead_in(&mut self) -> bool {
        self.exchange_messages(LEAD)
    }

    fn talk_once(&mut self) -> bool {
        self.exchange_messages(MESSAGES)
    }

    /// Returns the mean of the received messages, or the least if that is negative.
    fn sample_value(&mut self, _elapsed: u64) -> f64 {
        let least = self.taken.iter().copied().min().unwrap_or_default();
        let sum: i64 = self.taken.iter().sum();
        if least < 0 { least as f64 } else { sum as f64 / MESSAGES as f64 }
    }
}

/// Sends and waits for the answer, message by message; false if the visit is over.
fn write_and_read<T: TickSource>(ticks: T, lines: &[&AtomicU64], taken: &mut [i64], meeting: &TalkMeeting) -> bool {
    for (pair, taken) in lines.chunks_exact(2).zip(taken) {
        pair[0].store(ticks.read_ticks(), Ordering::Release);
        match await_message(ticks, pair[1], meeting) {
            Some(ticks) => *taken = ticks,
            None => return false,
        }
    }
    true
}

/// Waits for a message and answers, message by message; false if the visit is over.
fn read_and_write<T: TickSource>(ticks: T, lines: &[&AtomicU64], taken: &mut [i64], meeting: &TalkMeeting) -> bool {
    for (pair, taken) in lines.chunks_exact(2).zip(taken) {
        match await_message(ticks, pair[0], meeting) {
            Some(ticks) => *taken = ticks,
            None => return false,
        }
        pair[1].store(ticks.read_ticks(), Ordering::Release);
    }
    true
}

/// Waits for a message. Returns the ticks since it was sent, or `None` if the visit is over.
#[inline(always)]
fn await_message<T: TickSource>(ticks: T, line: &AtomicU64, meeting: &TalkMeeting) -> Option<i64> {
    let mut sent = 0;
    let has_come = spin_until(meeting, || {
        sent = line.load(Ordering::Acquire);
        sent != 0
    });
    has_come.then(|| ticks.read_ticks().wrapping_sub(sent).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_differ_are_told_from_ways_that_do() {
        // The dearest known difference of ways: 113 and 175 ns with the memory on one side.
        assert!(clocks_agree(&[113.0; 3], &[175.0; 3]));
        assert!(clocks_agree(&[100.0; 3], &[100.0; 3]));
        // A clock that is 60 ns ahead makes one way look as long as 40 ns and the other as 160.
        assert!(!clocks_agree(&[40.0; 3], &[160.0; 3]));
        assert!(!clocks_agree(&[160.0; 3], &[40.0; 3]));
        assert!(!clocks_agree(&[100.0, 100.0, -1.0], &[100.0; 3]), "sent after it came");
        assert!(clocks_agree(&[], &[]), "there is nothing to tell them apart by");
    }

    #[test]
    fn a_message_is_not_timed_by_a_clock_that_hardly_steps_meanwhile() {
        assert!(is_too_short(&[0.0; 3], 1.0) && is_too_short(&[0.4; 3], 1.0) && is_too_short(&[30.0; 3], 62.0));
        assert!(!is_too_short(&[0.6; 3], 1.0) && !is_too_short(&[60.0; 3], 62.0));
        assert!(!is_too_short(&[], 1.0), "there were no samples, which is told elsewhere");
    }
}
