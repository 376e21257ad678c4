//! Signals, masks and scheduling of other tasks: the kernel takes numbers, and a number may mean another task by now. So only the functions
//! that check the identity of a task may make these calls: [`ProcessIdentity::restrict_thread`], `signals::send_to` and
//! `signals::send_signal`, and those beneath them.
//!
//! [`ProcessIdentity::restrict_thread`]: ../corewise_sys/process/struct.ProcessIdentity.html

use std::collections::BTreeSet;

use anyhow::Result;

use crate::file_access::leave_crate;
use crate::walls::{CrateModules, PathSegments, read_crates};

/// Calls of libc that act on the task of a number, with the modules of `sys` that may make them.
const CALLS: [(&str, &[&str]); 15] = [
    ("kill", &["crate::linux::signals"]),
    ("killpg", &[]),
    ("tgkill", &[]),
    ("sigqueue", &[]),
    ("ptrace", &[]),
    ("setpriority", &[]),
    ("prlimit", &[]),
    ("sched_setaffinity", &[]),
    // Of a thread of this process.
    ("sched_setscheduler", &["crate::linux::scheduling"]),
    ("SYS_kill", &[]),
    ("SYS_tkill", &[]),
    ("SYS_tgkill", &[]),
    ("SYS_sched_setaffinity", &["crate::linux::affinity"]),
    // Of the calling thread.
    ("SYS_sched_setattr", &["crate::linux::scheduling"]),
    ("SYS_pidfd_send_signal", &["crate::linux::task_handle"]),
];
/// The function of `sys` that sets the mask of a number, and the modules that may call it.
const SET_MASK: (&str, [&str; 2]) = ("set_affinity", ["crate::linux::affinity", "crate::linux::process"]);

/// Checks every crate; returns false if one acts on a task by its bare number, after printing it.
pub fn check_number_access() -> Result<bool> {
    let mut is_clean = true;
    for (name, house) in read_crates()? {
        for fault in find_number_access(&name, &house) {
            println!("{name}: {fault}");
            is_clean = false;
        }
    }
    Ok(is_clean)
}

/// Returns a sentence for each place at which a crate acts on a task by its bare number.
fn find_number_access(name: &str, house: &CrateModules) -> Vec<String> {
    let mut faults = BTreeSet::new();
    for (at, module) in house {
        let place = at.join("::");
        let may = |modules: &[&str]| name == "sys" && modules.contains(&place.as_str());
        let is_fault = |path: &PathSegments| {
            let called = leave_crate(house, at, path).unwrap_or_else(|| path.clone());
            match called.as_slice() {
                [first, call] if first == "libc" => CALLS.iter().any(|(known, modules)| known == call && !may(modules)),
                [.., last] => last == SET_MASK.0 && !may(&SET_MASK.1),
                [] => false,
            }
        };
        let found = module.paths.iter().filter(|path| is_fault(path));
        faults.extend(found.map(|path| format!("{place} acts on a task by its bare number: {}", path.join("::"))));
        let has_all = module.globs.iter().any(|glob| glob.as_slice() == ["libc"]);
        faults.extend(has_all.then(|| format!("{place} acts on a task by its bare number: libc::*")));
    }
    faults.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walls::house_of;

    fn found(name: &str, modules: &[(&str, &str)]) -> Vec<String> {
        let faults = find_number_access(name, &house_of(modules));
        let what = |fault: String| fault.rsplit_once("number: ").map(|(_, what)| what.to_owned());
        faults.into_iter().filter_map(what).collect()
    }

    #[test]
    fn calls_by_any_name_are_found_in_any_crate() {
        for (text, expected) in [
            ("fn a() { unsafe { libc::kill(7, 9) }; }", "libc::kill"),
            ("use libc as c; fn a() { unsafe { c::tgkill(7, 7, 9) }; }", "c::tgkill"),
            ("use libc::kill as end; fn a() { unsafe { end(7, 9) }; }", "end,libc::kill"),
            (
                "fn a() { unsafe { libc::syscall(libc::SYS_sched_setaffinity, 7, 8, words) }; }",
                "libc::SYS_sched_setaffinity",
            ),
            ("use corewise_sys::affinity; fn a() { affinity::set_affinity(7, &cpus); }", "affinity::set_affinity"),
            ("fn a() { list.iter().for_each(super::set_affinity); }", "crate::set_affinity"),
            ("use libc::*;", "libc::*"),
        ] {
            let expected: Vec<&str> = expected.split(',').collect();
            assert_eq!(found("lab", &[("crate", "mod b;"), ("crate::b", text)]), expected, "{text}");
        }
    }

    #[test]
    fn the_place_that_checks_identity_may_and_no_other_one_of_its_name() {
        let modules = [("crate", "mod linux;"), ("crate::linux", "mod signals;")];
        let signals = ("crate::linux::signals", "fn a() { unsafe { libc::kill(7, 9) }; }");
        assert!(found("sys", &[&modules[..], &[signals]].concat()).is_empty());
        assert_eq!(found("lab", &[&modules[..], &[signals]].concat()), ["libc::kill"]);
        let process = ("crate::linux::signals", "fn a() { unsafe { libc::syscall(libc::SYS_tkill, 7, 9) }; }");
        assert_eq!(found("sys", &[&modules[..], &[process]].concat()), ["libc::SYS_tkill"]);
    }

    #[test]
    fn reading_and_own_threads_are_left_alone() {
        let text = "fn a() { corewise_sys::affinity::set_current(&cpus); unsafe { libc::raise(9) }; child.kill(); }\n\
                    #[cfg(test)] mod tests { fn a() { unsafe { libc::kill(7, 9) }; } }";
        assert!(found("lab", &[("crate", text)]).is_empty());
    }
}
