//! Writer of the map of what each cpu is worth (docs/worth.md).

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use corewise_machine::Machine;
use corewise_machine::worth::{CpuSpeed, WorthHeader, WorthTable};
use corewise_sys::thread::monotonic_ns;
use corewise_sys::worth::{ProcessorTime, WorthWriter};

/// The map and the time of its next update.
pub struct WorthMap {
    writer: WorthWriter,
    board: WorthTable,
    time: ProcessorTime,
    every: Duration,
    due: Instant,
}

impl WorthMap {
    /// Creates the map in a folder. Dropping the value removes the map.
    pub fn create_map(folder: &Path, every: Duration, machine: &Machine, speeds: Vec<CpuSpeed>) -> io::Result<Self> {
        let time = ProcessorTime::open()?;
        let board = WorthTable::new(machine, speeds);
        let records = u32::try_from(board.records().len()).map_err(io::Error::other)?;
        let interval_ms = u32::try_from(every.as_millis()).map_err(io::Error::other)?;
        let head = WorthHeader { records, interval_ms, writer: std::process::id() };
        let writer = WorthWriter::create_file(folder, &head)?;
        Ok(Self { writer, board, time, every, due: Instant::now() })
    }

    /// Takes the machine as it is now, and its cpus' speeds.
    pub fn renew_machine(&mut self, machine: &Machine, speeds: Vec<CpuSpeed>) {
        self.board.replace_speeds(machine, speeds);
    }

    /// Returns the time until the next update.
    pub fn time_to_update(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Updates the map if it is time to. A late update is not made up for.
    pub fn update_in_time(&mut self) -> io::Result<()> {
        if !self.time_to_update().is_zero() {
            return Ok(());
        }
        self.due = Instant::now() + self.every;
        self.time.read_counters()?;
        let (ticks, throttled) = self.time.last_counters();
        self.board.update_records(monotonic_ns(), ticks, |cpu| throttled.get(cpu as usize).copied().flatten());
        self.writer.write_records(self.board.records());
        Ok(())
    }
}
