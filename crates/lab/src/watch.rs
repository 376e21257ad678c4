//! Samples all cpus and a program's threads repeatedly and at little cost, for `corewise watch`.

mod pace;
mod switch_watcher;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use corewise_machine::Machine;
use corewise_machine::thread::ThreadSnapshot;
use corewise_machine::worth::CpuSpeed;
use corewise_model::watch::{
    CpuNow, CpuStruck, FrameMaker, InterruptLook, RuleHolds, SourceNow, WatchFrame, WatchReading,
};
use corewise_sys::clock_rates::ClockRates;
use corewise_sys::interrupts::InterruptTable;
use corewise_sys::task;
use corewise_sys::thread::monotonic_ns;
use corewise_sys::thread_reader::ThreadReader;
use corewise_sys::worth::ProcessorTime;
use corewise_sys::{Root, irq};

pub use pace::WatchPace;
pub use switch_watcher::SwitchWatcher;

/// Maximum number of cpus listed for each source of interrupts.
const MOST_CPUS: usize = 32;

/// Takes frames of a machine repeatedly.
#[derive(Debug)]
pub struct MachineMonitor {
    time: ProcessorTime,
    clocks: ClockRates,
    interrupts: InterruptRates,
    readers: BTreeMap<u32, ThreadReader>,
    /// Folder from which threads are read; `None` for this machine's /proc.
    proc: Option<PathBuf>,
    frames: FrameMaker,
}

/// Contents of a frame besides the machine.
#[derive(Clone, Debug, Default)]
pub struct WatchSubject {
    /// The processes of the program.
    pub processes: Vec<u32>,
    /// Placements that rules keep in force.
    pub holds: RuleHolds,
    /// Description of the program's end; `None` while it runs.
    pub end: Option<String>,
}

impl MachineMonitor {
    /// Creates a monitor of this machine, with the [speeds](corewise_model::worth::cpu_speeds) of its cpus.
    ///
    /// # Errors
    /// The error if the cpus' times cannot be opened.
    pub fn new(machine: &Machine, speeds: Vec<CpuSpeed>) -> io::Result<Self> {
        Ok(Self {
            time: ProcessorTime::open()?,
            clocks: ClockRates::new(),
            interrupts: InterruptRates::new(Root::this_machine()),
            readers: BTreeMap::new(),
            proc: None,
            frames: FrameMaker::new(machine, speeds),
        })
    }

    /// Creates a monitor of a recorded machine, from a folder laid out like its root. Interrupts are read from `root`.
    ///
    /// # Errors
    /// The error if the cpus' times cannot be opened.
    pub fn from_recording(folder: &Path, root: Root, machine: &Machine, speeds: Vec<CpuSpeed>) -> io::Result<Self> {
        let proc = folder.join("proc");
        Ok(Self {
            time: ProcessorTime::in_folder(&proc)?,
            clocks: ClockRates::in_root(folder),
            interrupts: InterruptRates::new(root),
            readers: BTreeMap::new(),
            proc: Some(proc),
            frames: FrameMaker::new(machine, speeds),
        })
    }

    /// Takes a reading, and makes a frame from it and the previous one.
    ///
    /// # Errors
    /// The error if the cpus' times cannot be read.
    pub fn take_frame(&mut self, subject: &WatchSubject, events: Option<&SwitchWatcher>) -> io::Result<WatchFrame> {
        let threads = self.read_threads(&subject.processes);
        let at_ns = monotonic_ns();
        let ticks = self.time.read_counters()?.to_vec();
        let clocks_mhz = self.clocks.read_rates(ticks.len());
        let cpus = clocks_mhz.iter().map(|clock_mhz| CpuNow { clock_mhz: *clock_mhz, ..CpuNow::default() }).collect();
        let (tasks, why_no_events) = match events.map(SwitchWatcher::take_switches) {
            Some(Ok(tasks)) => (Some(tasks), String::new()),
            Some(Err(why)) => (None, why),
            None => (None, "no program was chosen".to_owned()),
        };
        Ok(self.frames.next(WatchReading {
            at_ns,
            at_unix_ms: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64),
            ticks,
            cpus,
            interrupts: self.interrupts.read_rates(),
            threads,
            tasks,
            why_no_events,
            holds: subject.holds.clone(),
            own: task::thread_numbers(std::process::id()),
            end: subject.end.clone(),
        }))
    }

    /// Makes the next frame read the interrupt table even if it is not due yet.
    pub fn hurry_next(&mut self) {
        self.interrupts.pace = WatchPace::default();
    }

    fn read_threads(&mut self, processes: &[u32]) -> Vec<ThreadSnapshot> {
        self.readers.retain(|process, _| processes.contains(process));
        let mut threads = Vec::new();
        for process in processes {
            let proc = self.proc.as_deref();
            let reader =
                || proc.map_or_else(|| ThreadReader::new(*process), |proc| ThreadReader::in_folder(proc, *process));
            self.readers.entry(*process).or_insert_with(reader).read_threads(&mut threads);
        }
        threads
    }
}

/// Rates of interrupts by source and cpu. With many cpus the kernel takes long to write its table, so it is then read less often.
#[derive(Debug)]
struct InterruptRates {
    root: Root,
    pace: WatchPace,
    before: Option<(Instant, InterruptTable)>,
    rates: Option<InterruptLook>,
}

impl InterruptRates {
    fn new(root: Root) -> Self {
        Self { root, pace: WatchPace::default(), before: None, rates: None }
    }

    /// Returns the rates between the latest two readings; `None` before the second reading, or if there is no table.
    fn read_rates(&mut self) -> Option<InterruptLook> {
        if let Some(begun) = self.pace.begin_if_due() {
            let (now, table) = (Instant::now(), irq::read_table(&self.root));
            if let Some((then, before)) = &self.before {
                let elapsed_s = now.duration_since(*then).as_secs_f64();
                self.rates = (!table.cpus.is_empty()).then(|| compute_rates(before, &table, elapsed_s));
            }
            self.before = Some((now, table));
            self.pace.end_turn(begun);
        }
        self.rates.clone()
    }
}

fn compute_rates(before: &InterruptTable, now: &InterruptTable, elapsed_s: f64) -> InterruptLook {
    let rate = |count: u64| (count as f64 / elapsed_s * 10.0).round() as f32 / 10.0;
    let mut all = vec![0; now.cpus.iter().max().map_or(0, |cpu| *cpu as usize + 1)];
    let mut sources = Vec::new();
    for (source, mut counts) in now.struck_since(before) {
        counts.iter().for_each(|(cpu, count)| all[*cpu as usize] += count);
        counts.sort_by(|(a, first), (b, second)| second.cmp(first).then(a.cmp(b)));
        let most = counts.iter().take(MOST_CPUS).map(|(cpu, count)| CpuStruck { cpu: *cpu, per_second: rate(*count) });
        sources.push(SourceNow {
            source: source.row_label(),
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

    use corewise_model::worth::cpu_speeds;
    use corewise_sys::topology;

    use super::*;

    fn table(counts: [u64; 4]) -> InterruptTable {
        let [a, b, c, d] = counts;
        InterruptTable::parse(&format!("CPU0 CPU2\n 36: {a} {b} PCI-MSI 1-edge disk\nLOC: {c} {d} Local timer\n"))
    }

    #[test]
    fn rates_of_sources_are_by_cpu_and_the_most_frequent_come_first() {
        let rates = compute_rates(&table([10, 5, 100, 100]), &table([10, 25, 1_100, 100]), 2.0);
        let struck = |cpu, per_second| CpuStruck { cpu, per_second };
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
        let machine = topology::read_machine(&Root::this_machine()).unwrap();
        let mut monitor = MachineMonitor::new(&machine, cpu_speeds(&machine, None)).unwrap();
        let subject = WatchSubject { processes: vec![std::process::id()], ..WatchSubject::default() };
        let first = monitor.take_frame(&subject, None).unwrap();
        assert_eq!(first.cpus.iter().map(|cpu| cpu.cpu).collect::<corewise_machine::CpuSet>(), machine.online);
        std::thread::sleep(Duration::from_millis(30));
        let second = monitor.take_frame(&subject, None).unwrap();
        assert!(second.elapsed_s >= 0.03 && second.cpus.iter().any(|cpu| cpu.shares.is_some()), "{second:?}");
        let own = corewise_sys::thread::own_number();
        let thread = second.threads.iter().find(|thread| thread.thread == own).unwrap();
        assert!(thread.is_own && thread.is_runnable && thread.allowed.is_some(), "{thread:?}");
    }
}
