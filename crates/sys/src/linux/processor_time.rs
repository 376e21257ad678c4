//! Time spent per cpu, read repeatedly at little cost: /proc/stat, and the throttle counts.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use corewise_machine::worth::CpuTicks;

/// Size of a read; the file is not read beyond the lines of the cpus.
const PIECE_BYTES: usize = 64 << 10;
/// Number of throttle counts that are read at a time: each is a file of its own.
const THROTTLES: u32 = 16;

/// A reader that keeps its file open and reuses its memory.
#[derive(Debug)]
pub struct ProcessorTime {
    file: File,
    bytes: Vec<u8>,
    ticks: Vec<Option<CpuTicks>>,
    throttled: Vec<Option<u32>>,
    next: u32,
}

impl ProcessorTime {
    /// Opens /proc/stat.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open() -> io::Result<Self> {
        Self::in_folder(Path::new("/proc"))
    }

    /// Opens the file of that name in a folder of the form of /proc.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn in_folder(proc: &Path) -> io::Result<Self> {
        File::open(proc.join("stat")).map(Self::of_file)
    }

    /// Reads another file of that form.
    pub const fn of_file(file: File) -> Self {
        Self { file, bytes: Vec::new(), ticks: Vec::new(), throttled: Vec::new(), next: 0 }
    }

    /// Returns the counters of each cpu by its number; `None` for an offline cpu.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn read_counters(&mut self) -> io::Result<&[Option<CpuTicks>]> {
        let mut length = 0;
        loop {
            self.bytes.resize(length + PIECE_BYTES, 0);
            let read = self.file.read_at(&mut self.bytes[length..], length as u64)?;
            length += read;
            if read == 0 || is_complete(&self.bytes[..length]) {
                break;
            }
        }
        parse(&self.bytes[..length], &mut self.ticks);
        Ok(&self.ticks)
    }

    /// Returns the counters that were read last, and the throttle counts since boot, as far as known: each call reads the counts of a few
    /// cpus (/sys/devices/system/cpu/cpuN/thermal_throttle/core_throttle_count, x86 only).
    pub fn last_counters(&mut self) -> (&[Option<CpuTicks>], &[Option<u32>]) {
        let cpus = self.ticks.len() as u32;
        self.throttled.resize(cpus as usize, None);
        for _ in 0..THROTTLES.min(cpus) {
            let path = format!("/sys/devices/system/cpu/cpu{}/thermal_throttle/core_throttle_count", self.next);
            let count = std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
            self.throttled[self.next as usize] = count;
            self.next = (self.next + 1) % cpus;
        }
        (&self.ticks, &self.throttled)
    }
}

/// Returns true if the lines of all cpus are there: the last whole line is another one.
fn is_complete(bytes: &[u8]) -> bool {
    let line_end = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\n');
    line_end(bytes).is_some_and(|end| {
        let begin = line_end(&bytes[..end]).map_or(0, |before| before + 1);
        !bytes[begin..end].starts_with(b"cpu")
    })
}

/// Parses the lines of cpus, which come first: "cpu3 user nice system idle iowait irq softirq steal guest guest_nice" (proc_stat(5)). Guest
/// time is part of user time. Allocates only while `into` grows.
fn parse(bytes: &[u8], into: &mut Vec<Option<CpuTicks>>) {
    into.fill(None);
    for line in bytes.split(|byte| *byte == b'\n') {
        let Some(line) = line.strip_prefix(b"cpu") else { break };
        let mut words = line.split(|byte| *byte == b' ');
        let Some(cpu) = words.next().filter(|word| !word.is_empty()).and_then(parse_number) else { continue };
        let mut fields = [0; 8];
        let mut known = 0;
        for (field, value) in fields.iter_mut().zip(words.map_while(parse_number)) {
            *field = value;
            known += 1;
        }
        let cpu = cpu as usize;
        if known < 4 || cpu >= 8_192 {
            continue;
        }
        if into.len() <= cpu {
            into.resize(cpu + 1, None);
        }
        let [user, nice, system, idle, waiting, interrupts, soft_interrupts, stolen] = fields;
        let (busy, idle) = (user + nice + system, idle + waiting);
        into[cpu] = Some(CpuTicks { busy, idle, interrupts, soft_interrupts, stolen });
    }
}

fn parse_number(word: &[u8]) -> Option<u64> {
    let digit =
        |sum: u64, byte: &u8| byte.is_ascii_digit().then(|| sum.wrapping_mul(10).wrapping_add(u64::from(byte - b'0')));
    word.iter().try_fold(0, digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_cpus_are_read_and_those_that_are_gone_are_not_there() {
        let text = b"cpu  9 9 9 9\ncpu0 100 1 50 300 4 1 2 7 90 0\ncpu2 1 2 3 4\ncpu3 1\nintr 5\ncpu4 1 2 3 4\n";
        let mut ticks = vec![Some(CpuTicks::default()); 2];
        parse(text, &mut ticks);
        let first = CpuTicks { busy: 151, idle: 304, interrupts: 1, soft_interrupts: 2, stolen: 7 };
        let third = CpuTicks { busy: 6, idle: 4, ..CpuTicks::default() };
        assert_eq!(ticks, [Some(first), None, Some(third)]);
    }

    #[test]
    fn this_machine_has_times_that_grow() {
        let mut time = ProcessorTime::open().unwrap();
        let before = time.read_counters().unwrap().to_vec();
        let online = super::super::cpuset::online_cpus();
        assert!(online.iter().all(|cpu| before[cpu as usize].is_some()), "{before:?}");
        let all = |ticks: &CpuTicks| ticks.busy + ticks.idle + ticks.interrupts + ticks.soft_interrupts + ticks.stolen;
        while time
            .read_counters()
            .unwrap()
            .iter()
            .zip(&before)
            .all(|(now, before)| now.as_ref().map(all) == before.as_ref().map(all))
        {
            std::thread::yield_now();
        }
        assert_eq!(time.last_counters().1.len(), before.len());
    }
}
