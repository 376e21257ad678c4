//! Named threads, pinned where that is asked for.

use std::thread::{Builder, scope};

use corewise_sys::linux::affinity;

use crate::{Error, Settings};

/// Runs `work` on each thread of the settings and gives what each found, in their order. Thread `k` is named "NAME k", so that a role
/// (`corewise run --roles`) can be given to it, and is on its cpu before it begins. The calling thread waits.
///
/// # Errors
/// When a thread cannot be started or pinned, or what the first of them that failed said.
pub fn crew<T: Send>(
    settings: &Settings,
    name: &str,
    work: impl Fn(usize) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    scope(|scope| {
        let work = &work;
        let start = |thread: usize| {
            let named = format!("{name} {thread}");
            let begin = move || pin(settings, thread).and_then(|()| work(thread));
            Builder::new().name(named.clone()).spawn_scoped(scope, begin).map_err(Error::system(named))
        };
        let threads: Vec<_> = (0..settings.threads).map(start).collect();
        let ended =
            threads.into_iter().map(|thread| thread?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        // All are waited for, and the first error is told.
        ended.collect::<Vec<_>>().into_iter().collect()
    })
}

/// Pins the calling thread where the settings give it a cpu.
///
/// # Errors
/// When the operating system refuses.
pub fn pin(settings: &Settings, thread: usize) -> Result<(), Error> {
    let Some(cpu) = settings.cpu_of(thread) else { return Ok(()) };
    affinity::pin_current(cpu).map_err(Error::system(format!("pinning a thread to cpu {cpu}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_works_once_and_has_its_name() {
        let name = |thread| {
            let named = std::thread::current().name().map(str::to_owned);
            Ok((thread, named.unwrap_or_default()))
        };
        let found = crew(&Settings::new(3), "walk", name).unwrap();
        assert_eq!(found, [(0, "walk 0".into()), (1, "walk 1".into()), (2, "walk 2".into())]);
    }

    #[test]
    fn threads_are_on_the_cpus_that_are_named_and_a_cpu_that_is_not_there_is_told() {
        let cpu = affinity::current().unwrap().lowest().unwrap();
        let settings = Settings { cpus: vec![cpu], ..Settings::new(2) };
        assert_eq!(crew(&settings, "walk", |_| Ok(affinity::check_pinned(cpu).is_ok())).unwrap(), [true, true]);
        let settings = Settings { cpus: vec![8000], ..Settings::new(2) };
        let error = crew(&settings, "walk", |_| Ok(())).unwrap_err().to_string();
        assert!(error.starts_with("pinning a thread to cpu 8000: "), "{error}");
    }
}
