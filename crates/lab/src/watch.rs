//! Looks at all cpus and at the threads of a program, again and again at little cost, for `corewise watch`.

mod events;
mod pace;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use corewise_machine::Machine;
use corewise_machine::thread::ThreadLook;
use corewise_machine::worth::Speed;
use corewise_model::watch::{CpuNow, Frame, Frames, Holds, InterruptLook, Look, SourceNow, Struck};
use corewise_sys::clock_rates::ClockRates;
use corewise_sys::interrupts::Interrupts;
use corewise_sys::task;
use corewise_sys::thread::monotonic_ns;
use corewise_sys::thread_reader::ThreadReader;
use corewise_sys::worth::ProcessorTime;
use corewise_sys::{Root, irq};

pub use events::EventEye;
pub use pace::Pace;

/// Of each source of interrupts so many cpus are named.
const MOST_CPUS: usize = 32;

/// Looks again and again.
#[derive(Debug)]
pub struct Monitor {
    time: ProcessorTime,
    clocks: ClockRates,
    interrupts: InterruptRates,
    readers: BTreeMap<u32, ThreadReader>,
    /// Where threads are read, if not of this machine.
    proc: Option<PathBuf>,
    frames: Frames,
}

/// What a look is about, beside the machine.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// The processes of the program.
    pub processes: Vec<u32>,
    /// What rules hold.
    pub holds: Holds,
    /// What became of the program; nothing while it runs.
    pub end: Option<String>,
}

impl Monitor {
    /// Of this machine, whose cpus have these [speeds](corewise_model::worth::speeds).
    ///
    /// # Errors
    /// Where the times of cpus cannot be read.
    pub fn new(machine: &Machine, speeds: Vec<Speed>) -> io::Result<Self> {
        Ok(Self {
            time: ProcessorTime::open()?,
            clocks: ClockRates::new(),
            interrupts: InterruptRates::new(Root::live()),
            readers: BTreeMap::new(),
            proc: None,
            frames: Frames::new(machine, speeds),
        })
    }

    /// Of a folder with the files of another machine, as they lie in its root; its interrupts
    /// are those of a root.
    ///
    /// # Errors
    /// Where the times of cpus cannot be read.
    pub fn of_recording(folder: &Path, root: Root, machine: &Machine, speeds: Vec<Speed>) -> io::Result<Self> {
        let proc = folder.join("proc");
        Ok(Self {
            time: ProcessorTime::in_folder(&proc)?,
            clocks: ClockRates::in_root(folder),
            interrupts: InterruptRates::new(root),
            readers: BTreeMap::new(),
            proc: Some(proc),
            frames: Frames::new(machine, speeds),
        })
    }

    /// Looks, and makes a frame of this look and the one before.
    ///
    /// # Errors
    /// Where the times of cpus cannot be read.
    pub fn look(&mut self, subject: &Subject, events: Option<&EventEye>) -> io::Result<Frame> {
        let threads = self.threads(&subject.processes);
        let at_ns = monotonic_ns();
        let ticks = self.time.read()?.to_vec();
        let clocks_mhz = self.clocks.read(ticks.len());
        let cpus = clocks_mhz.iter().map(|clock_mhz| CpuNow { clock_mhz: *clock_mhz, ..CpuNow::default() }).collect();
        let (tasks, why_no_events) = match events.map(EventEye::take) {
            Some(Ok(tasks)) => (Some(tasks), String::new()),
            Some(Err(why)) => (None, why),
            None => (None, "no program was chosen".to_owned()),
        };
        Ok(self.frames.next(Look {
            at_ns,
            at_unix_ms: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64),
            ticks,
            cpus,
            interrupts: self.interrupts.read(),
            threads,
            tasks,
            why_no_events,
            holds: subject.holds.clone(),
            own: task::threads(std::process::id()),
            end: subject.end.clone(),
        }))
    }

    /// The next look reads all that there is, however long that takes.
    pub fn hurry(&mut self) {
        self.interrupts.pace = Pace::default();
    }

    fn threads(&mut self, processes: &[u32]) -> Vec<ThreadLook> {
        self.readers.retain(|process, _| processes.contains(process));
        let mut threads = Vec::new();
        for process in processes {
            let proc = self.proc.as_deref();
            let reader =
                || proc.map_or_else(|| ThreadReader::new(*process), |proc| ThreadReader::in_folder(proc, *process));
            self.readers.entry(*process).or_insert_with(reader).read(&mut threads);
        }
        threads
    }
}

/// How often sources of interrupts struck each cpu: on many cpus the kernel takes long to write its table, so it is read less often there.
#[derive(Debug)]
struct InterruptRates {
    root: Root,
    pace: Pace,
    before: Option<(Instant, Interrupts)>,
    rates: Option<InterruptLook>,
}

impl InterruptRates {
    fn new(root: Root) -> Self {
        Self { root, pace: Pace::default(), before: None, rates: None }
    }

    /// The rates over the latest stretch; nothing before the second reading, or where there is no table.
    fn read(&mut self) -> Option<InterruptLook> {
        if let Some(begun) = self.pace.begin() {
            let (now, table) = (Instant::now(), irq::table(&self.root));
            if let Some((then, before)) = &self.before {
                let elapsed_s = now.duration_since(*then).as_secs_f64();
                self.rates = (!table.cpus.is_empty()).then(|| rates(before, &table, elapsed_s));
            }
            self.before = Some((now, table));
            self.pace.end(begun);
        }
        self.rates.clone()
    }
}

fn rates(before: &Interrupts, now: &Interrupts, elapsed_s: f64) -> InterruptLook {
    let rate = |count: u64| (count as f64 / elapsed_s * 10.0).round() as f32 / 10.0;
    let mut all = vec![0; now.cpus.iter().max().map_or(0, |cpu| *cpu as usize + 1)];
    let mut sources = Vec::new();
    for (source, mut counts) in now.struck_since(before) {
        counts.iter().for_each(|(cpu, count)| all[*cpu as usize] += count);
        counts.sort_by(|(a, first), (b, second)| second.cmp(first).then(a.cmp(b)));
        let most = counts.iter().take(MOST_CPUS).map(|(cpu, count)| Struck { cpu: *cpu, per_second: rate(*count) });
        sources.push(SourceNow {
            source: source.label(),
            per_second: rate(counts.iter().map(|(_, count)| count).sum()),
            cpus: most.collect(),
            others: counts.len().saturating_sub(MOST_CPUS),
        });
    }
    sources.sort_by(|a, b| b.per_second.total_cmp(&a.per_second).then_with(|| a.source.cmp(&b.source)));
    InterruptLook { cpus: all.into_iter().map(rate).collect(), sources }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use corewise_model::worth::speeds;
    use corewise_sys::topology;

    use super::*;

    fn table(counts: [u64; 4]) -> Interrupts {
        let [a, b, c, d] = counts;
        Interrupts::parse(&format!("CPU0 CPU2\n 36: {a} {b} PCI-MSI 1-edge disk\nLOC: {c} {d} Local timer\n"))
    }

    #[test]
    fn rates_of_sources_are_by_cpu_and_the_most_frequent_come_first() {
        let rates = rates(&table([10, 5, 100, 100]), &table([10, 25, 1_100, 100]), 2.0);
        let struck = |cpu, per_second| Struck { cpu, per_second };
        let source = |source: &str, cpu, per_second| SourceNow {
            source: source.into(),
            per_second,
            cpus: vec![struck(cpu, per_second)],
            others: 0,
        };
        assert_eq!(rates.sources, [source("LOC", 0, 500.0), source("36 disk", 2, 10.0)]);
        assert_eq!(rates.cpus, [500.0, 0.0, 10.0]);
    }

    #[test]
    fn this_machine_is_seen_with_the_threads_of_this_process() {
        let machine = topology::read(&Root::live()).unwrap();
        let mut monitor = Monitor::new(&machine, speeds(&machine, None)).unwrap();
        let subject = Subject { processes: vec![std::process::id()], ..Subject::default() };
        let first = monitor.look(&subject, None).unwrap();
        assert_eq!(first.cpus.iter().map(|cpu| cpu.cpu).collect::<corewise_machine::CpuSet>(), machine.online);
        std::thread::sleep(Duration::from_millis(30));
        let second = monitor.look(&subject, None).unwrap();
        assert!(second.elapsed_s >= 0.03 && second.cpus.iter().any(|cpu| cpu.shares.is_some()), "{second:?}");
        let own = corewise_sys::thread::own_number();
        let thread = second.threads.iter().find(|thread| thread.thread == own).unwrap();
        assert!(thread.is_own && thread.is_runnable && thread.allowed.is_some(), "{thread:?}");
    }
}
