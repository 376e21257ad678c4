//! The processes that descend from one, and their threads: /proc/PID/task and /proc/PID/task/TID/children.

use std::collections::HashMap;
use std::fs;

/// A process with its threads in the order in which they were started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub number: u32,
    /// The number of its parent, among those that were looked at.
    pub parent: u32,
    /// The numbers of its threads.
    pub threads: Vec<u32>,
}

/// The processes that descend from one, parents before children; those that end meanwhile may be among them or not.
pub fn descendants(ancestor: u32) -> Vec<Process> {
    let lists = fs::exists(format!("/proc/{ancestor}/task/{ancestor}/children")).unwrap_or(false);
    let by_parent = if lists { HashMap::new() } else { children_by_parent() };
    let children = |parent: u32, threads: &[u32]| match lists {
        true => threads.iter().flat_map(|thread| listed_children(parent, *thread)).collect(),
        false => by_parent.get(&parent).cloned().unwrap_or_default(),
    };
    let mut found: Vec<Process> = Vec::new();
    let mut to_visit = vec![(0, ancestor)];
    while let Some((parent, number)) = to_visit.pop() {
        let threads = numbers(&format!("/proc/{number}/task"));
        let born: Vec<u32> = children(number, &threads);
        to_visit.extend(born.into_iter().rev().map(|child| (number, child)));
        found.push(Process { number, parent, threads });
    }
    found.into_iter().skip(1).collect()
}

/// The children that a thread started, as the kernel lists them where it was built with CONFIG_PROC_CHILDREN.
fn listed_children(process: u32, thread: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

/// The children of every process, by the parents that all processes name.
fn children_by_parent() -> HashMap<u32, Vec<u32>> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for process in numbers("/proc") {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        if let Some(parent) = parent(&stat) {
            children.entry(parent).or_default().push(process);
        }
    }
    children
}

/// The parent in /proc/PID/stat: the second field behind the name, which may itself hold spaces and parentheses.
fn parent(stat: &str) -> Option<u32> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(1)?.parse().ok()
}

/// The numbers in a folder of /proc, in the kernel's order: that of their starts for threads.
fn numbers(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The name of a thread, which programs may change at any time: at most 15 bytes.
pub fn name(process: u32, thread: u32) -> Option<String> {
    let bytes = fs::read(format!("/proc/{process}/task/{thread}/comm")).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned())
}

/// A number that changes with every process and thread that is started: the last one that was given out, from
/// /proc/loadavg. It is far cheaper than to look through the processes.
pub fn newest() -> Option<u32> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().nth(4)?.parse().ok()
}

/// Whether processes can be looked at here.
pub fn is_available() -> bool {
    fs::exists("/proc/self/task").unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn names_of_processes_hold_anything() {
        assert_eq!(parent("12 (a) (b) c) S 7 12 12 0"), Some(7));
        assert_eq!(parent("12 (x) R"), None);
        assert_eq!(parent(""), None);
    }

    #[test]
    fn grandchildren_are_found_both_ways() {
        let shell = "sleep 60 & echo; wait";
        let mut child = Command::new("sh").args(["-c", shell]).stdout(Stdio::piped()).spawn().unwrap();
        // The shell has started its child when it says something.
        let mut said = [0];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
        let found = descendants(std::process::id());
        let shell = found.iter().find(|process| process.number == child.id()).unwrap().clone();
        let sleeper = found.iter().find(|process| process.parent == child.id()).unwrap().clone();
        assert_eq!((shell.parent, &shell.threads), (std::process::id(), &vec![child.id()]));
        assert!(children_by_parent()[&child.id()].contains(&sleeper.number));
        assert_eq!(name(child.id(), child.id()).as_deref(), Some("sh"));
        for process in [sleeper.number, child.id()] {
            super::super::signals::send(process, libc::SIGKILL);
        }
        child.wait().unwrap();
        assert!(descendants(child.id()).is_empty());
    }

    #[test]
    fn a_new_thread_is_seen_by_a_changed_number() {
        let before = newest().unwrap();
        std::thread::spawn(move || assert_ne!(newest(), Some(before))).join().unwrap();
    }
}
