//! The map of what each cpu is worth (docs/worth.md), written beside the looking.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use corewise_machine::Machine;
use corewise_machine::worth::{Board, Head, Speed};
use corewise_sys::thread::monotonic_ns;
use corewise_sys::worth::{ProcessorTime, WorthWriter};

/// The map, and when it is to be updated next.
pub struct WorthMap {
    writer: WorthWriter,
    board: Board,
    time: ProcessorTime,
    every: Duration,
    due: Instant,
}

impl WorthMap {
    /// Makes the map in a folder; it is removed when this is dropped.
    pub fn create(folder: &Path, every: Duration, machine: &Machine, speeds: Vec<Speed>) -> io::Result<Self> {
        let time = ProcessorTime::open()?;
        let board = Board::new(machine, speeds);
        let records = u32::try_from(board.records().len()).map_err(io::Error::other)?;
        let interval_ms = u32::try_from(every.as_millis()).map_err(io::Error::other)?;
        let head = Head { records, interval_ms, writer: std::process::id() };
        let writer = WorthWriter::create(folder, &head)?;
        Ok(Self { writer, board, time, every, due: Instant::now() })
    }

    /// Takes the machine as it is now, and what a survey says of it now.
    pub fn renew(&mut self, machine: &Machine, speeds: Vec<Speed>) {
        self.board.renew(machine, speeds);
    }

    /// How long there is until the next update.
    pub fn rest(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Updates it if it is time to. One that is late is not made up for.
    pub fn update_in_time(&mut self) -> io::Result<()> {
        if !self.rest().is_zero() {
            return Ok(());
        }
        self.due = Instant::now() + self.every;
        self.time.read()?;
        let (ticks, throttled) = self.time.counters();
        self.board.update(monotonic_ns(), ticks, |cpu| throttled.get(cpu as usize).copied().flatten());
        self.writer.write(self.board.records());
        Ok(())
    }
}
