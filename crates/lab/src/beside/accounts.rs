//! Reads the kernel's accounts of a program's threads while it runs, for users without access to the kernel's events.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use corewise_machine::event::EventSource;
use corewise_machine::{CpuSet, Gap};
use corewise_model::beside::{BesideOutcome, CpuInterrupts, ProgramAccounts};
use corewise_sys::accounts::{ThreadAccount, has_waiting_time};
use corewise_sys::counts::{CountKind, KernelCounts};
use corewise_sys::interrupts::InterruptTable;
use corewise_sys::task::{self, OtherProcesses, ProcessThreads};
use corewise_sys::{Root, irq};

use super::{INTERVAL, WatchedCommand};

/// Length of a pause, as a multiple of the time that the reading before it took.
const LOOK_SHARE: u32 = 50;

/// Reads the accounts repeatedly.
#[derive(Debug)]
pub struct AccountsReader {
    cpus: CpuSet,
    begun: Instant,
    interrupts: InterruptTable,
    /// The process that ran already; `None` for a program that is a descendant of this process.
    running: Option<u32>,
    /// Sum of the accounts of that process at the beginning.
    before: ThreadAccount,
    /// Child processes that this process had before the program.
    others: OtherProcesses,
    /// Latest account of each existing thread, by process and thread number.
    present: HashMap<(u32, u32), ThreadAccount>,
    /// Sum of the latest accounts of ended threads.
    ended: ThreadAccount,
    threads: u64,
}

impl AccountsReader {
    /// Begins reading, before the program is started. Interrupts are counted on `cpus`.
    pub fn new(cpus: &CpuSet) -> Self {
        Self {
            cpus: cpus.clone(),
            begun: Instant::now(),
            interrupts: irq::read_table(&Root::this_machine()),
            running: None,
            before: ThreadAccount::default(),
            others: OtherProcesses::new(&task::descendant_processes(std::process::id())),
            present: HashMap::new(),
            ended: ThreadAccount::default(),
            threads: 0,
        }
    }

    /// Begins reading of a process that runs already, with its descendants.
    pub fn of_process(cpus: &CpuSet, process: u32) -> Self {
        let mut reader = Self { running: Some(process), ..Self::new(cpus) };
        reader.read_accounts();
        reader.before = reader.present.values().fold(ThreadAccount::default(), add_accounts);
        reader
    }

    /// Reads the accounts of all threads. Returns the time to wait before the next call.
    pub fn read_accounts(&mut self) -> Duration {
        let begun = Instant::now();
        let before = std::mem::take(&mut self.present);
        for process in self.list_processes() {
            for thread in process.threads {
                if let Some(account) = ThreadAccount::read_account(process.number, thread) {
                    self.threads += u64::from(!before.contains_key(&(process.number, thread)));
                    self.present.insert((process.number, thread), account);
                }
            }
        }
        let gone = before.iter().filter(|(thread, _)| !self.present.contains_key(thread));
        self.ended = gone.fold(self.ended, |sum, (_, account)| add_accounts(sum, account));
        INTERVAL.max(begun.elapsed() * LOOK_SHARE)
    }

    /// Lists the program's processes.
    fn list_processes(&mut self) -> Vec<ProcessThreads> {
        if let Some(number) = self.running {
            let own = ProcessThreads { number, start_ticks: 0, parent: 0, threads: task::thread_numbers(number) };
            return std::iter::once(own).chain(task::descendant_processes(number)).collect();
        }
        self.others.take_out(task::descendant_processes(std::process::id()))
    }

    /// Ends reading. Returns the sums, with gaps for accounts that this kernel does not keep.
    pub fn finish_reading(mut self) -> WatchedCommand {
        self.read_accounts();
        let sum = subtract_accounts(self.present.values().fold(self.ended, add_accounts), &self.before);
        let now = irq::read_table(&Root::this_machine());
        let since = |cpu| Some(CpuInterrupts { cpu, sources: now.counts_since(&self.interrupts, cpu)? });
        let accounts = ProgramAccounts {
            watched_s: self.begun.elapsed().as_secs_f64(),
            threads: self.threads,
            on_cpu_s: sum.on_cpu_ns as f64 * 1e-9,
            waited_s: sum.waited_ns as f64 * 1e-9,
            involuntary_switches: sum.involuntary_switches,
            voluntary_switches: sum.voluntary_switches,
            interrupts: self.cpus.iter().filter_map(since).collect(),
        };
        let mut gaps = Vec::new();
        if !has_waiting_time() {
            gaps.push(Gap::new("time waited for a cpu", "this kernel was built without CONFIG_SCHED_INFO"));
        }
        if now.cpus.is_empty() {
            gaps.extend(KernelCounts::read_now().counting_gap(CountKind::Interrupts));
        }
        WatchedCommand {
            event_source: EventSource::Thread,
            cpus: self.cpus,
            seen: BesideOutcome::Accounts(accounts),
            gaps,
        }
    }
}

const fn add_accounts(sum: ThreadAccount, account: &ThreadAccount) -> ThreadAccount {
    ThreadAccount {
        on_cpu_ns: sum.on_cpu_ns + account.on_cpu_ns,
        waited_ns: sum.waited_ns + account.waited_ns,
        voluntary_switches: sum.voluntary_switches + account.voluntary_switches,
        involuntary_switches: sum.involuntary_switches + account.involuntary_switches,
    }
}

const fn subtract_accounts(sum: ThreadAccount, before: &ThreadAccount) -> ThreadAccount {
    ThreadAccount {
        on_cpu_ns: sum.on_cpu_ns.saturating_sub(before.on_cpu_ns),
        waited_ns: sum.waited_ns.saturating_sub(before.waited_ns),
        voluntary_switches: sum.voluntary_switches.saturating_sub(before.voluntary_switches),
        involuntary_switches: sum.involuntary_switches.saturating_sub(before.involuntary_switches),
    }
}
