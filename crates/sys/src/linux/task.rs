//! Descendants of a process, and their threads: /proc/PID/task and /proc/PID/task/TID/children.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use super::proc_files;
use super::process::{self, ProcessStat};
pub use crate::values::task::{OtherProcesses, ProcessThreads};

/// Returns the children of a process, including adopted ones and ended ones that were not waited for.
pub fn child_processes(parent: u32) -> Vec<u32> {
    match fs::exists(format!("/proc/{parent}/task/{parent}/children")).unwrap_or(false) {
        true => thread_numbers(parent).into_iter().flat_map(|thread| listed_children(parent, thread)).collect(),
        false => children_by_parent().remove(&parent).unwrap_or_default(),
    }
}

/// Returns the descendants of a process, parents before children. Processes that end meanwhile may be included or not. A number that is
/// reused for a process of another parent is not included.
pub fn descendant_processes(ancestor: u32) -> Vec<ProcessThreads> {
    let lists = fs::exists(format!("/proc/{ancestor}/task/{ancestor}/children")).unwrap_or(false);
    let by_parent = if lists { HashMap::new() } else { children_by_parent() };
    let children = |parent: u32, threads: &[u32]| match lists {
        true => threads.iter().flat_map(|thread| listed_children(parent, *thread)).collect(),
        false => by_parent.get(&parent).cloned().unwrap_or_default(),
    };
    let mut found: Vec<ProcessThreads> = Vec::new();
    let mut to_visit = vec![(0, ancestor)];
    while let Some((parent, number)) = to_visit.pop() {
        let Ok(Some(stat)) = ProcessStat::read_stat(number) else { continue };
        // A process that lost its parent meanwhile has another parent among these, or is found the next time.
        if !found.is_empty() && stat.parent != parent && !found.iter().any(|found| found.number == stat.parent) {
            continue;
        }
        let threads = thread_numbers(number);
        let born: Vec<u32> = children(number, &threads);
        to_visit.extend(born.into_iter().rev().map(|child| (number, child)));
        found.push(ProcessThreads { number, start_ticks: stat.start_ticks, parent, threads });
    }
    found.into_iter().skip_while(|process| process.number == ancestor).collect()
}

/// Returns the children that a thread started, as listed by a kernel with CONFIG_PROC_CHILDREN.
fn listed_children(process: u32, thread: u32) -> Vec<u32> {
    // Read to its end: the kernel returns such a list in pieces that are smaller than asked for.
    let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

/// Returns the children of every process, by the parents' numbers in all processes.
fn children_by_parent() -> HashMap<u32, Vec<u32>> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for process in list_numbers("/proc") {
        if let Ok(Some(stat)) = ProcessStat::read_stat(process) {
            children.entry(stat.parent).or_default().push(process);
        }
    }
    children
}

/// Returns the numbers in a folder of /proc, in the kernel's order: by start for threads.
pub(super) fn list_numbers(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the numbers of a process's threads, in the order of their starts; none if it has ended.
pub fn thread_numbers(process: u32) -> Vec<u32> {
    list_numbers(&format!("/proc/{process}/task"))
}

/// Returns the numbers of the parts of a process that inherit its cpus: its threads.
pub fn inheriting_threads(process: u32) -> Vec<u32> {
    thread_numbers(process)
}

/// Returns true if the process does not have `count` threads any more.
pub fn has_other_than(process: u32, count: usize) -> bool {
    thread_count(process) != Some(count)
}

/// Returns the number of threads of a process; `None` if it has ended. The kernel counts them as links of their folder beside "." and ".."
/// (proc_task_getattr in fs/proc/base.c), which is faster than listing them.
pub fn thread_count(process: u32) -> Option<usize> {
    folder_count(&format!("/proc/{process}/task"))
}

/// Returns the number of folders in a folder.
pub(super) fn folder_count(folder: &str) -> Option<usize> {
    let links = fs::metadata(folder).ok()?.nlink();
    links.checked_sub(2)?.try_into().ok()
}

/// Returns the thread of a process that has this number now, or `None`.
pub fn thread_identity(process: u32, thread: u32) -> Option<process::ProcessIdentity> {
    thread_stat(process, thread).map(|(identity, _)| identity)
}

/// As [`thread`], with its name.
pub(super) fn thread_stat(process: u32, thread: u32) -> Option<(process::ProcessIdentity, String)> {
    let text = proc_files::read_file(&format!("/proc/{process}/task/{thread}/stat")).ok()?;
    let stat = ProcessStat::parse(&String::from_utf8_lossy(&text))?;
    Some((process::ProcessIdentity { id: thread, start_ticks: stat.start_ticks }, stat.name))
}

/// Returns the name of a thread, which programs may change at any time: at most 15 bytes.
pub fn thread_name(process: u32, thread: u32) -> Option<String> {
    let bytes = fs::read(format!("/proc/{process}/task/{thread}/comm")).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned())
}

/// Returns a number that changes with every new process and thread: the last number given out, from /proc/loadavg. This is far cheaper than
/// scanning the processes.
pub fn newest_number() -> Option<u32> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().nth(4)?.parse().ok()
}

/// Returns true if processes can be read here.
pub fn is_available() -> bool {
    fs::exists("/proc/self/task").unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn grandchildren_are_found_both_ways() {
        let shell = "sleep 60 & echo; wait";
        let mut child = Command::new("sh").args(["-c", shell]).stdout(Stdio::piped()).spawn().unwrap();
        // The shell has started its child when it says something.
        let mut said = [0];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
        let found = descendant_processes(std::process::id());
        let shell = found.iter().find(|process| process.number == child.id()).unwrap().clone();
        let sleeper = found.iter().find(|process| process.parent == child.id()).unwrap().clone();
        assert_eq!((shell.parent, &shell.threads), (std::process::id(), &vec![child.id()]));
        assert!(children_by_parent()[&child.id()].contains(&sleeper.number));
        assert_eq!(thread_name(child.id(), child.id()).as_deref(), Some("sh"));
        for process in [sleeper, shell] {
            super::super::signals::send_to(&process.identity(), libc::SIGKILL);
        }
        child.wait().unwrap();
        assert!(descendant_processes(child.id()).is_empty());
    }

    #[test]
    fn threads_are_counted() {
        let mut child =
            Command::new("sh").args(["-c", "echo; exec sleep 1000"]).stdout(Stdio::piped()).spawn().unwrap();
        // In an emulator a child has threads of that until it is another program, and this one is when it says something.
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        assert_eq!(thread_count(child.id()), Some(1));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(thread_count(child.id()), None);
        let count = |_: &()| Some((thread_numbers(std::process::id()).len(), thread_count(std::process::id())?));
        // Other tests start threads meanwhile.
        let equal = std::iter::repeat(()).filter_map(|all| count(&all)).find(|(listed, counted)| listed == counted);
        assert!(equal.is_some_and(|(listed, _)| listed > 1));
    }

    #[test]
    fn a_new_thread_is_seen_by_a_changed_number() {
        let before = newest_number().unwrap();
        std::thread::spawn(move || assert_ne!(newest_number(), Some(before))).join().unwrap();
    }
}
