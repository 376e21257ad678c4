//! Processes that may run on some cpus, and their time there a moment ago.

use std::collections::BTreeMap;
use std::time::Duration;

use corewise_machine::CpuSet;
use corewise_machine::thread::ThreadSnapshot;
use corewise_sys::open_files::OpenFiles;
use corewise_sys::processes::{self, ExecutableFile, ProcessFacts};
use corewise_sys::thread_reader::ThreadReader;
use schemars::JsonSchema;
use serde::Serialize;

/// A process of which a thread may run on the cpus.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CpuTenant {
    /// Its number.
    pub process: u32,
    /// Its name.
    pub name: String,
    /// True for a thread of the kernel.
    pub is_kernel: bool,
    /// Number of its threads that may run there.
    pub threads: usize,
    /// The cpus that these may use, there and elsewhere.
    pub cpus: CpuSet,
    /// The cpus on which these were seen last, at the beginning and the end of the look; only if they ran meanwhile.
    pub seen_on: CpuSet,
    /// Milliseconds that threads which were seen there ran during the look.
    pub ran_ms: f64,
}

/// Looks at all processes twice, with a pause between. Processes that ran there come first, the longest before others, then by number.
pub fn list_tenants(cpus: &CpuSet, pause: Duration) -> Vec<CpuTenant> {
    let _ = OpenFiles::raise_limit();
    let mut readers: Vec<(u32, ThreadReader)> =
        processes::all_processes().into_iter().map(|process| (process, ThreadReader::new(process))).collect();
    let mut look = || {
        let mut threads = Vec::new();
        readers.iter_mut().for_each(|(_, reader)| {
            reader.read_threads(&mut threads);
        });
        threads
    };
    let before = look();
    std::thread::sleep(pause);
    let mut tenants = gather_tenants(cpus, &before, &look());
    tenants.iter_mut().for_each(name_tenant);
    tenants.retain(|tenant| tenant.process != std::process::id());
    tenants
}

/// Gathers the processes from two looks at all threads.
fn gather_tenants(cpus: &CpuSet, before: &[ThreadSnapshot], after: &[ThreadSnapshot]) -> Vec<CpuTenant> {
    let key = |thread: &ThreadSnapshot| (thread.thread, thread.start_ticks);
    let earlier: BTreeMap<_, &ThreadSnapshot> = before.iter().map(|thread| (key(thread), thread)).collect();
    let mut found: BTreeMap<u32, CpuTenant> = BTreeMap::new();
    for thread in after {
        let Some(allowed) = thread.allowed.as_ref().filter(|allowed| !allowed.is_disjoint(cpus)) else { continue };
        let first = earlier.get(&key(thread));
        let was_there = cpus.contains(thread.cpu) || first.is_some_and(|first| cpus.contains(first.cpu));
        let ran_ns = thread.on_cpu_ns.zip(first.map_or(Some(0), |first| first.on_cpu_ns));
        let ran_ns = ran_ns.filter(|_| was_there).map_or(0, |(now, before)| now.saturating_sub(before));
        let seen_on = first.map(|first| first.cpu).into_iter().chain([thread.cpu]).filter(|_| ran_ns > 0);
        let tenant = found.entry(thread.process).or_insert_with(|| CpuTenant {
            process: thread.process,
            name: thread.name.clone(),
            is_kernel: false,
            threads: 0,
            cpus: CpuSet::new(),
            seen_on: CpuSet::new(),
            ran_ms: 0.0,
        });
        tenant.threads += 1;
        tenant.cpus = tenant.cpus.union(allowed);
        tenant.seen_on = tenant.seen_on.union(&seen_on.collect());
        tenant.ran_ms += ran_ns as f64 * 1e-6;
    }
    let mut tenants: Vec<CpuTenant> = found.into_values().collect();
    tenants.sort_by(|one, other| other.ran_ms.total_cmp(&one.ran_ms).then(one.process.cmp(&other.process)));
    tenants
}

fn name_tenant(tenant: &mut CpuTenant) {
    if let Ok(Some(facts)) = ProcessFacts::read_facts(tenant.process) {
        tenant.is_kernel = facts.executable == ExecutableFile::Kernel;
        tenant.name = facts.name;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(thread: u32, cpu: u32, allowed: &str, on_cpu_ms: u64) -> ThreadSnapshot {
        ThreadSnapshot {
            process: thread / 10,
            thread,
            start_ticks: 7,
            name: "worker".to_owned(),
            cpu,
            is_runnable: false,
            on_cpu_ns: Some(on_cpu_ms * 1_000_000),
            waited_ns: None,
            allowed: Some(CpuSet::parse_list(allowed).unwrap()),
        }
    }

    #[test]
    fn a_process_is_there_with_the_threads_that_may_be_and_the_time_of_those_that_were() {
        let cpus = CpuSet::parse_list("2-3").unwrap();
        let before = [thread(10, 0, "0-3", 5), thread(11, 2, "2", 5), thread(20, 0, "0-1", 0), thread(30, 1, "0-7", 0)];
        let after =
            [thread(10, 0, "0-3", 95), thread(11, 3, "2-4", 9), thread(20, 0, "0-1", 9), thread(30, 1, "0-7", 0)];
        let found = gather_tenants(&cpus, &before, &after);
        let told: Vec<(u32, usize, String, String, f64)> = (found.iter())
            .map(|one| (one.process, one.threads, one.cpus.to_string(), one.seen_on.to_string(), one.ran_ms))
            .collect();
        // The first thread of process 1 ran for 90 ms, but elsewhere.
        let texts = |cpus: &str, seen_on: &str| (cpus.to_owned(), seen_on.to_owned());
        let [(of_1, on_1), (of_3, on_3)] = [texts("0-4", "2,3"), texts("0-7", "")];
        assert_eq!(told, [(1, 2, of_1, on_1, 4.0), (3, 1, of_3, on_3, 0.0)]);
    }
}
