//! What the processor's packages use during a trial.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;

use corewise_sys::Root;
use corewise_sys::energy::Energy;

/// Adds up what is used until it is read: a thread looks so often that no counter wraps unseen.
#[derive(Debug)]
pub struct Meter {
    thread: Option<(Sender<()>, JoinHandle<Option<f64>>)>,
}

impl Meter {
    /// Begins; without a thread where this user may read no counter.
    pub fn begin() -> Self {
        let root = Root::live();
        let mut last = Energy::now(&root);
        let Some(longest) = last.longest() else { return Self { thread: None } };
        let (end, ended) = channel::<()>();
        let add = move || {
            let mut joules = Some(0.0);
            loop {
                let is_over = ended.recv_timeout(longest / 2) != Err(RecvTimeoutError::Timeout);
                let now = Energy::now(&root);
                joules = joules.zip(now.since(&last)).map(|(sum, more)| sum + more);
                last = now;
                if is_over {
                    return joules;
                }
            }
        };
        let thread = std::thread::Builder::new().name("energy".to_owned()).spawn(add);
        Self { thread: thread.ok().map(|thread| (end, thread)) }
    }

    /// The joules since it began; nothing where no counter was read, or where it was not looked at often enough.
    pub fn end(self) -> Option<f64> {
        let (end, thread) = self.thread?;
        drop(end);
        thread.join().ok().flatten()
    }
}
