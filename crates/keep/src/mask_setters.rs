//! Records which program last set a thread's mask, if the kernel reports it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use corewise_model::keep::MaskAuthor;
use corewise_sys::affinity_events::{self, AffinityEvent, AffinityEvents, AffinityWatch};
use corewise_sys::thread::monotonic_raw_ns;

/// Time for which a request is remembered. Masks are looked at more often than that.
const MEMORY: Duration = Duration::from_secs(10);
/// Maximum requests remembered. Beyond it all are forgotten, and the authors count as unknown.
const MOST_REQUESTS: usize = 10_000;

/// Longest wait for the answers to requests under way: the kernel takes microseconds, unless the author loses its cpu meanwhile.
const PATIENCE: Duration = Duration::from_millis(10);
const PAUSE: Duration = Duration::from_micros(50);

/// Recent requests, by the thread that they changed.
pub struct MaskSetters<'a> {
    source: &'a AffinityEvents,
    watch: AffinityWatch<'a>,
    requests: BTreeMap<u32, (Instant, Option<affinity_events::MaskCaller>)>,
    batch: Vec<AffinityEvent>,
    /// The threads for which others requested a mask since the last [`MaskSetters::take_set_masks`].
    set: BTreeSet<u32>,
}

impl<'a> MaskSetters<'a> {
    /// Begins to watch.
    pub fn watch_requests(source: &'a AffinityEvents) -> Result<Self, String> {
        let watch = source.begin_watch().map_err(|error| error.to_string())?;
        Ok(Self { source, watch, requests: BTreeMap::new(), batch: Vec::new(), set: BTreeSet::new() })
    }

    /// Watches the cpus that are online now.
    pub fn renew_cpus(&mut self) -> Result<(), String> {
        Self::watch_requests(self.source).map(|new| self.watch = new.watch)
    }

    /// Takes others' requests for wanted threads. After lost events no earlier request counts, since the lost one may be newer.
    pub fn take_requests(&mut self, is_wanted: impl Fn(u32) -> bool) {
        let now = Instant::now();
        if self.watch.drain_events(is_wanted, &mut self.batch) > 0 || self.requests.len() > MOST_REQUESTS {
            self.requests.clear();
        }
        for event in self.batch.drain(..) {
            self.set.insert(event.target);
            self.requests.insert(event.target, (now, event.author));
        }
    }

    /// As [`Self::take_requests`], and waits until all requests for `changed` threads from before this call are answered: one of them may
    /// have set the mask that was seen.
    pub fn take_answered_requests(&mut self, changed: &BTreeSet<u32>, is_wanted: impl Fn(u32) -> bool) {
        let (begin_ns, begin) = (monotonic_raw_ns(), Instant::now());
        loop {
            self.take_requests(&is_wanted);
            let is_awaited = self.watch.awaits_answer(|thread| changed.contains(&thread), begin_ns);
            if !is_awaited || begin.elapsed() >= PATIENCE {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Returns the wanted threads for which others requested a mask since the last call.
    pub fn take_set_masks(&mut self, is_wanted: impl Fn(u32) -> bool) -> BTreeSet<u32> {
        self.take_requests(is_wanted);
        std::mem::take(&mut self.set)
    }

    /// Forgets old requests.
    pub fn forget_old(&mut self) {
        self.requests.retain(|_, (at, _)| at.elapsed() < MEMORY);
    }

    /// Returns the author of the last request for a thread of a process.
    pub fn author_of(&self, thread: u32, process: u32) -> MaskAuthor {
        self.requests.get(&thread).map_or(MaskAuthor::Unknown, |(_, author)| name_author(author.as_ref(), process))
    }
}

/// Converts an author to the rules' terms. An author without a known session may be a person's program, so it is unknown.
fn name_author(author: Option<&affinity_events::MaskCaller>, process: u32) -> MaskAuthor {
    let Some(author) = author else { return MaskAuthor::Unknown };
    let program = format!("{} ({})", author.name, author.process);
    match author.session {
        _ if author.process == process => MaskAuthor::Itself,
        Some((_, true)) => MaskAuthor::Person { program },
        Some((_, false)) => MaskAuthor::Program { program },
        None => MaskAuthor::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_with_a_terminal_is_a_person() {
        let of = |process, session| {
            let author = affinity_events::MaskCaller { process, name: "taskset".into(), session };
            name_author(Some(&author), 7)
        };
        let program = "taskset (9)".to_owned();
        assert_eq!(of(9, Some((3, true))), MaskAuthor::Person { program: program.clone() });
        assert_eq!(of(9, Some((3, false))), MaskAuthor::Program { program });
        assert_eq!(of(7, Some((3, true))), MaskAuthor::Itself);
        assert_eq!((of(9, None), name_author(None, 7)), (MaskAuthor::Unknown, MaskAuthor::Unknown));
    }
}
