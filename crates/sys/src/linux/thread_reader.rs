//! The threads of a process, read repeatedly at little cost: /proc/PID/task/TID/{stat,schedstat}, which stay open.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use corewise_machine::thread::ThreadSnapshot;

use super::accounts::ThreadAccount;
use super::affinity;
use super::open_files::are_too_many;
use super::process::ProcessStat;
use super::task::{folder_count, list_numbers};

/// Upper limit on the size of either file.
const MOST_BYTES: usize = 1 << 10;
/// Number of looks after which a resting thread is read in full again: its state and its masks may be changed by others. The kernel takes
/// longer for these than for its times.
const LOOKS_AT_REST: usize = 4;

/// A reader of one process's threads.
#[derive(Debug)]
pub struct ThreadReader {
    process: u32,
    /// "/proc/PID/task".
    folder: String,
    /// True for the running kernel, which reports masks.
    is_live: bool,
    threads: Vec<ReadThread>,
    is_listed: bool,
    looks: usize,
    /// True if files stay open; false if this process may not have as many.
    keeps: bool,
}

#[derive(Debug, Default)]
struct ReadThread {
    number: u32,
    stat: KeptFile,
    schedstat: KeptFile,
    last: Option<ThreadSnapshot>,
}

/// A file that stays open, if this process may have as many.
#[derive(Debug, Default)]
struct KeptFile {
    path: String,
    file: Option<File>,
}

impl ThreadReader {
    /// Reads a process on this machine.
    pub fn new(process: u32) -> Self {
        Self { is_live: true, ..Self::in_folder(Path::new("/proc"), process) }
    }

    /// Reads a process in a folder of the form of /proc.
    pub fn in_folder(proc: &Path, process: u32) -> Self {
        let folder = format!("{}/{process}/task", proc.display());
        Self { process, folder, is_live: false, threads: Vec::new(), is_listed: false, looks: 0, keeps: true }
    }

    /// Appends the state of each thread, in the order of their starts. Returns false if there is none: the process has ended.
    pub fn read_threads(&mut self, into: &mut Vec<ThreadSnapshot>) -> bool {
        if !self.is_listed || folder_count(&self.folder) != Some(self.threads.len()) {
            self.list_threads();
        }
        let before = into.len();
        self.looks += 1;
        for index in 0..self.threads.len() {
            // In turn, so that each look takes equally long.
            let is_whole = (self.looks + index).is_multiple_of(LOOKS_AT_REST);
            match self.threads[index].read_thread(self.process, is_whole, self.is_live, self.keeps) {
                Ok(look) => into.extend(look),
                Err(error) if are_too_many(&error) && self.keeps => {
                    self.keeps = false;
                    self.threads.iter_mut().for_each(ReadThread::close_files);
                    into.truncate(before);
                    return self.read_threads(into);
                }
                // The thread has ended: another may have begun.
                Err(_) => self.is_listed = false,
            }
        }
        into.len() > before
    }

    /// Lists the threads; known ones keep their files.
    fn list_threads(&mut self) {
        let mut known = std::mem::take(&mut self.threads);
        known.retain(|thread| thread.stat.file.is_some());
        known.sort_by_key(|thread| thread.number);
        for number in list_numbers(&self.folder) {
            let own = known.binary_search_by_key(&number, |thread| thread.number);
            let thread =
                own.map_or_else(|_| ReadThread::new(&self.folder, number), |place| std::mem::take(&mut known[place]));
            self.threads.push(thread);
        }
        self.is_listed = true;
    }
}

impl ReadThread {
    fn new(folder: &str, number: u32) -> Self {
        let kept = |file: &str| KeptFile { path: format!("{folder}/{number}/{file}"), file: None };
        Self { number, stat: kept("stat"), schedstat: kept("schedstat"), last: None }
    }

    fn close_files(&mut self) {
        (self.stat.file, self.schedstat.file) = (None, None);
    }

    /// Reads the thread's state; `None` if it has ended and was not waited for. If it has not run since the last look, returns the last
    /// result, unless a full read is asked for.
    fn read_thread(
        &mut self,
        process: u32,
        is_whole: bool,
        is_live: bool,
        keeps: bool,
    ) -> io::Result<Option<ThreadSnapshot>> {
        let mut bytes = [0; MOST_BYTES];
        let times = match self.schedstat.read_file(&mut bytes, keeps) {
            Err(error) if are_too_many(&error) => return Err(error),
            // Missing without CONFIG_SCHED_INFO.
            read => read.ok().and_then(|bytes| ThreadAccount::times_in(std::str::from_utf8(bytes).ok()?)),
        };
        let (on_cpu_ns, waited_ns) = times.unzip();
        let has_rested =
            |last: &&ThreadSnapshot| times.is_some() && (last.on_cpu_ns, last.waited_ns) == (on_cpu_ns, waited_ns);
        if let Some(last) = self.last.as_ref().filter(has_rested).filter(|_| !is_whole) {
            return Ok(Some(last.clone()));
        }
        let text = String::from_utf8_lossy(self.stat.read_file(&mut bytes, keeps)?).into_owned();
        let stat = ProcessStat::parse(&text).filter(|stat| !stat.has_ended);
        self.last = stat.zip(ProcessStat::place_in(&text)).map(|(stat, (is_runnable, cpu))| ThreadSnapshot {
            process,
            thread: self.number,
            start_ticks: stat.start_ticks,
            name: stat.name,
            cpu,
            is_runnable,
            on_cpu_ns,
            waited_ns,
            allowed: if is_live { affinity::affinity_of(self.number).ok() } else { None },
        });
        Ok(self.last.clone())
    }
}

impl KeptFile {
    /// Reads the file from its beginning, in one call if it is open: the kernel makes its text anew for each.
    fn read_file<'a>(&mut self, bytes: &'a mut [u8], keeps: bool) -> io::Result<&'a [u8]> {
        let file = match self.file.take() {
            Some(file) => file,
            None => File::open(&self.path)?,
        };
        let length = file.read_at(bytes, 0)?;
        self.file = Some(file).filter(|_| keeps);
        Ok(&bytes[..length])
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn read(reader: &mut ThreadReader) -> Vec<ThreadSnapshot> {
        let mut looks = Vec::new();
        assert_eq!(reader.read_threads(&mut looks), !looks.is_empty());
        looks
    }

    #[test]
    fn threads_that_come_and_go_are_seen_and_files_stay_open() {
        let mut reader = ThreadReader::new(std::process::id());
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let (number_sender, number) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            number_sender.send(super::super::thread::own_number()).unwrap();
            let _ = receiver.recv();
        });
        let number: u32 = number.recv().unwrap();
        let looks = read(&mut reader);
        let own = looks.iter().find(|look| look.thread == number).unwrap();
        assert_eq!((own.process, own.allowed.clone()), (std::process::id(), affinity::affinity_of(number).ok()));
        assert!(own.start_ticks > 0 && own.on_cpu_ns.is_some() == super::super::accounts::has_waiting_time());
        assert!(reader.threads.iter().any(|thread| thread.number == number && thread.stat.file.is_some()));
        drop(sender);
        thread.join().unwrap();
        // It is gone when the kernel has taken it out of its folder, which may be after the join.
        while read(&mut reader).iter().any(|look| look.thread == number) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_process_that_has_ended_has_no_threads() {
        let mut child =
            Command::new("sh").args(["-c", "echo; exec sleep 1000"]).stdout(Stdio::piped()).spawn().unwrap();
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let mut reader = ThreadReader::new(child.id());
        while read(&mut reader).iter().all(|look| look.name != "sleep") {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        // Nobody has waited for it: it is there, and has ended.
        while !read(&mut reader).is_empty() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert_eq!(read(&mut reader), []);
    }

    #[test]
    fn a_folder_of_the_same_form_is_read() {
        let folder = tempfile::tempdir().unwrap();
        for thread in [70, 71] {
            let own = folder.path().join(format!("7/task/{thread}"));
            std::fs::create_dir_all(&own).unwrap();
            let stat = format!(
                "{thread} (a b) R 1 7 7 0 -1 0 0 0 0 0 1 2 0 0 20 0 2 0 98765 1 2 3 4 5 6 7 8 9 0 0 0 0 0 0 17 3 0 0"
            );
            std::fs::write(own.join("stat"), stat).unwrap();
        }
        std::fs::write(folder.path().join("7/task/71/schedstat"), "500 20 3\n").unwrap();
        let mut looks = read(&mut ThreadReader::in_folder(folder.path(), 7));
        looks.sort_by_key(|look| look.thread);
        let expected = ThreadSnapshot {
            process: 7,
            thread: 70,
            start_ticks: 98765,
            name: "a b".into(),
            cpu: 3,
            is_runnable: true,
            ..ThreadSnapshot::default()
        };
        assert_eq!(looks[0], expected, "without an account");
        assert_eq!(looks[1], ThreadSnapshot { thread: 71, on_cpu_ns: Some(500), waited_ns: Some(20), ..expected });
    }

    #[test]
    fn a_thread_that_ran_is_seen_at_once_and_one_that_rests_in_turn() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("7/task/7");
        std::fs::create_dir_all(&own).unwrap();
        let write = |cpu: u32, times: &str| {
            let stat =
                format!("7 (a) S 1 7 7 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 9 1 2 3 4 5 6 7 8 9 0 0 0 0 0 0 17 {cpu} 0 0");
            std::fs::write(own.join("stat"), stat).unwrap();
            std::fs::write(own.join("schedstat"), times).unwrap();
        };
        let mut reader = ThreadReader::in_folder(folder.path(), 7);
        for (cpu, times) in [(1, "10 0 1"), (2, "20 0 2"), (3, "20 5 3"), (4, "30 5 4")] {
            write(cpu, times);
            assert_eq!(read(&mut reader)[0].cpu, cpu, "after it ran or waited: {times}");
        }
        write(5, "30 5 4");
        let cpus = [(); LOOKS_AT_REST].map(|()| read(&mut reader)[0].cpu);
        assert_eq!(cpus, [4, 4, 4, 5], "while it rests");
    }
}
