//! The kernel's accounts of a program's threads, read while it runs: for who may not see the kernel's events.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use corewise_machine::event::EventSource;
use corewise_machine::{CpuSet, Gap};
use corewise_model::beside::{Accounts, CpuInterrupts, Seen};
use corewise_sys::accounts::{Account, has_waiting_time};
use corewise_sys::counts::{KernelCounts, Kind};
use corewise_sys::interrupts::Interrupts;
use corewise_sys::task::{self, Others, Process};
use corewise_sys::{Root, irq};

use super::{INTERVAL, Watched};

/// Looking takes no more than this share of the time: one part in so many.
const LOOK_SHARE: u32 = 50;

/// Accounts that are read again and again.
#[derive(Debug)]
pub struct Accounting {
    cpus: CpuSet,
    begun: Instant,
    interrupts: Interrupts,
    /// What this process had before the program.
    others: Others,
    /// The threads that there are, and what was last known of each.
    present: HashMap<(u32, u32), Account>,
    /// What is known of those that have ended.
    ended: Account,
    threads: u64,
}

impl Accounting {
    /// Begins, for a program that is not started yet; its cpus are those whose interrupts are counted.
    pub fn new(cpus: &CpuSet) -> Self {
        Self {
            cpus: cpus.clone(),
            begun: Instant::now(),
            interrupts: irq::table(&Root::live()),
            others: Others::new(&task::descendants(std::process::id())),
            present: HashMap::new(),
            ended: Account::default(),
            threads: 0,
        }
    }

    /// Reads the accounts of all threads; how long to wait for the next time.
    pub fn look(&mut self) -> Duration {
        let begun = Instant::now();
        let before = std::mem::take(&mut self.present);
        for process in self.processes() {
            for thread in process.threads {
                if let Some(account) = Account::of(process.number, thread) {
                    self.threads += u64::from(!before.contains_key(&(process.number, thread)));
                    self.present.insert((process.number, thread), account);
                }
            }
        }
        let gone = before.iter().filter(|(thread, _)| !self.present.contains_key(thread));
        self.ended = gone.fold(self.ended, |sum, (_, account)| add(sum, account));
        INTERVAL.max(begun.elapsed() * LOOK_SHARE)
    }

    /// Those of the program.
    fn processes(&mut self) -> Vec<Process> {
        self.others.take_out(task::descendants(std::process::id()))
    }

    /// Ends: the accounts so far, and what this kernel does not account for.
    pub fn finish(mut self) -> Watched {
        self.look();
        let sum = self.present.values().fold(self.ended, add);
        let now = irq::table(&Root::live());
        let since = |cpu| Some(CpuInterrupts { cpu, sources: now.since(&self.interrupts, cpu)? });
        let accounts = Accounts {
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
            gaps.extend(KernelCounts::now().gap(Kind::Interrupts));
        }
        Watched { event_source: EventSource::Thread, cpus: self.cpus, seen: Seen::Accounts(accounts), gaps }
    }
}

const fn add(sum: Account, account: &Account) -> Account {
    Account {
        on_cpu_ns: sum.on_cpu_ns + account.on_cpu_ns,
        waited_ns: sum.waited_ns + account.waited_ns,
        voluntary_switches: sum.voluntary_switches + account.voluntary_switches,
        involuntary_switches: sum.involuntary_switches + account.involuntary_switches,
    }
}
