//! Keeps threads with certain names on the cpus of their role during a trial.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use corewise_machine::CpuSet;
use corewise_machine::placement::hold::pace::HoldPace;
use corewise_sys::{affinity, task};
use regex_lite::Regex;

use super::live::arm_places::ArmPlaces;

/// Thread that watches the threads of programs until it is dropped.
#[derive(Debug)]
pub struct ThreadPlacer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ThreadPlacer {
    /// Begins to hold the threads of all descendants of some processes. Threads are named only after they start, so
    /// each spends a few milliseconds on its creator's cpus.
    pub fn hold_threads(stand: &ArmPlaces<'_>, roots: Vec<u32>) -> Self {
        let roles: Vec<(Regex, CpuSet)> =
            stand.roles.iter().map(|(pattern, cpus)| ((*pattern).clone(), (*cpus).clone())).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("roles".to_owned()).spawn(move || {
            let mut pace = HoldPace::default();
            while !is_over.load(Ordering::SeqCst) {
                let begun = Instant::now();
                let is_new = place_by_role(&roles, &roots);
                std::thread::park_timeout(pace.pause_after(is_new, begun.elapsed()));
            }
        });
        Self { stop, thread: thread.ok() }
    }
}

impl Drop for ThreadPlacer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Places each thread that is not on the cpus of its role; returns true if there was one.
fn place_by_role(roles: &[(Regex, CpuSet)], roots: &[u32]) -> bool {
    let mut is_new = false;
    for process in roots.iter().flat_map(|root| task::descendant_processes(*root)) {
        for thread in process.threads {
            let Some(name) = task::thread_name(process.number, thread) else { continue };
            let Some((_, cpus)) = roles.iter().find(|(pattern, _)| pattern.is_match(&name)) else { continue };
            if affinity::affinity_of(thread).is_ok_and(|has| has != *cpus) {
                // It may have ended since.
                let identity = task::thread_identity(process.number, thread);
                is_new |= identity.is_some_and(|thread| thread.restrict_thread(cpus).is_ok());
            }
        }
    }
    is_new
}
