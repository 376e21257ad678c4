//! The processes of a tree.

use std::collections::HashSet;

use super::process;

/// A process with its threads in the order in which they were started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessThreads {
    /// Its number.
    pub number: u32,
    /// Start time, in kernel ticks since boot.
    pub start_ticks: u64,
    /// Number of its parent, among the processes of the tree.
    pub parent: u32,
    /// The numbers of its threads.
    pub threads: Vec<u32>,
}

impl ProcessThreads {
    /// Returns its identity, which stays valid if its number is reused.
    pub const fn identity(&self) -> process::ProcessIdentity {
        process::ProcessIdentity { id: self.number, start_ticks: self.start_ticks }
    }
}

/// Unrelated descendants of a process: it had them before it started anything, as left by a shell that executes it in its own place, and
/// all their descendants.
#[derive(Clone, Debug, Default)]
pub struct OtherProcesses(HashSet<process::ProcessIdentity>);

impl OtherProcesses {
    /// Records the present descendants, before anything is started.
    pub fn new(present: &[ProcessThreads]) -> Self {
        Self(present.iter().map(ProcessThreads::identity).collect())
    }

    /// Removes them and their descendants from the present descendants, in which parents come before children. Their children are recorded
    /// now, in case they lose their parents.
    pub fn take_out(&mut self, mut all: Vec<ProcessThreads>) -> Vec<ProcessThreads> {
        let (mut there, mut numbers) = (HashSet::new(), HashSet::new());
        all.retain(|process| {
            let is_other = self.0.contains(&process.identity()) || numbers.contains(&process.parent);
            if is_other {
                there.insert(process.identity());
                numbers.insert(process.number);
            }
            !is_other
        });
        self.0 = there;
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_and_what_they_start_are_told_apart() {
        let process = |(parent, number)| ProcessThreads { number, start_ticks: 7, parent, threads: vec![number] };
        let mut others = OtherProcesses::new(&[(1, 5), (1, 4)].map(process));
        let numbers = |own: Vec<ProcessThreads>| own.iter().map(|process| process.number).collect::<Vec<_>>();
        let all = [(1, 5), (5, 6), (6, 9), (1, 7), (7, 8)].map(process).to_vec();
        assert_eq!(numbers(others.take_out(all)), [7, 8]);
        // 5 and 6 have ended, and 9 was adopted; 4 had ended before, and its number is another's, as is that of 6 now.
        let mut all = [(1, 4), (1, 9), (1, 6), (1, 7)].map(process).to_vec();
        all[2].start_ticks = 8;
        assert_eq!(numbers(others.take_out(all)), [4, 6, 7]);
    }
}
