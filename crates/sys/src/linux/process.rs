//! Identity of processes: a number alone is reused, a number with its start time in one boot is not.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use corewise_machine::CpuSet;
use corewise_machine::identity::hash_host;

use super::affinity;
use super::proc_files::{self, is_gone};
use super::task_handle::TaskHandle;
pub use crate::values::process::{ProcessIdentity, ProcessStat};

impl ProcessStat {
    /// Parses a line of /proc/PID/stat: proc_pid_stat(5). The name is in parentheses and may contain spaces and parentheses itself.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (head, tail) = text.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let mut fields = tail.split_whitespace();
        let state = fields.next()?;
        // The state is field 3, the parent field 4, the session field 6, its terminal field 7, the start time field 22.
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(6 - 5)?.parse().ok()?;
        let has_terminal = fields.next()? != "0";
        let start_ticks = fields.nth(22 - 8)?.parse().ok()?;
        let has_ended = matches!(state, "Z" | "X" | "x");
        Some(Self { name: name.to_owned(), has_ended, parent, session, has_terminal, start_ticks })
    }

    /// Parses from the same line if a thread runs or waits for a cpu (state R), and the cpu that it ran on last (field 39).
    pub(super) fn place_in(text: &str) -> Option<(bool, u32)> {
        let mut fields = text.rsplit_once(')')?.1.split_whitespace();
        let is_runnable = fields.next()? == "R";
        Some((is_runnable, fields.nth(39 - 4)?.parse().ok()?))
    }

    /// Reads the kernel's facts about a process or thread; `None` if there is none.
    ///
    /// # Errors
    /// If /proc is not the kernel's own.
    pub fn read_stat(id: u32) -> io::Result<Option<Self>> {
        // Its own line among the threads. For the process's line the kernel adds up the times of all threads, which takes seconds for
        // thousands.
        let path = format!("/proc/{id}/task/{id}/stat");
        match proc_files::read_file(&path) {
            Ok(bytes) => Self::parse(&String::from_utf8_lossy(&bytes))
                .map(Some)
                .ok_or_else(|| io::Error::other(format!("{path} is not in the kernel's format"))),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl ProcessIdentity {
    /// Returns the calling process.
    ///
    /// # Errors
    /// If /proc is not the kernel's own.
    pub fn this_process() -> io::Result<Self> {
        let id = std::process::id();
        let stat = ProcessStat::read_stat(id)?.ok_or_else(|| io::Error::other(format!("/proc has no process {id}")))?;
        Ok(Self { id, start_ticks: stat.start_ticks })
    }

    /// Returns the process or thread that has a number now.
    ///
    /// # Errors
    /// ESRCH if there is none, or it has ended.
    pub fn find_task(id: u32) -> io::Result<Self> {
        let stat = ProcessStat::read_stat(id)?.filter(|stat| !stat.has_ended).ok_or_else(gone_error)?;
        Ok(Self { id, start_ticks: stat.start_ticks })
    }

    /// Returns true if it still runs: a process of its number and start time exists and has not ended.
    pub fn is_alive(&self) -> bool {
        let stat = ProcessStat::read_stat(self.id).ok().flatten();
        stat.is_some_and(|stat| !stat.has_ended && stat.start_ticks == self.start_ticks)
    }

    /// Restricts it, a thread, to cpus, and returns its cpus afterwards.
    ///
    /// # Errors
    /// As [`Self::restrict_in_turn`].
    pub fn restrict_thread(&self, cpus: &CpuSet) -> io::Result<CpuSet> {
        self.restrict_in_turn(&[cpus])
    }

    /// Restricts it, a thread, to one set of cpus after the other, and returns its cpus afterwards.
    ///
    /// The kernel takes a number, so the identity is checked right before and right after: by a handle, which is opened before its start
    /// time is compared, or by its start time alone if there are no handles. If another thread was given the number in the microseconds
    /// between, that one gets back the mask that it inherited.
    ///
    /// # Errors
    /// ESRCH if it has ended ([`affinity::has_ended`]); the kernel's error.
    pub fn restrict_in_turn(&self, steps: &[&CpuSet]) -> io::Result<CpuSet> {
        let handle = TaskHandle::open_thread(self.id);
        if !self.is_alive() {
            return Err(gone_error());
        }
        // Asked again although it was alive: a handle answers in a microsecond, in which few numbers are given out.
        let has_ended = || handle.as_ref().map_or_else(|_| !self.is_alive(), TaskHandle::has_ended);
        steps.iter().try_for_each(|cpus| restrict_unless_ended(self.id, cpus, has_ended))?;
        affinity::affinity_of(self.id)
    }
}

/// Restricts the task of this number. If the task that was meant has ended by then, another one has its mask back.
fn restrict_unless_ended(id: u32, cpus: &CpuSet, has_ended: impl Fn() -> bool) -> io::Result<()> {
    if has_ended() {
        return Err(gone_error());
    }
    let set = affinity::set_affinity(id, cpus);
    if has_ended() {
        let _ = set.and_then(|()| give_inherited_mask(id, cpus));
        return Err(gone_error());
    }
    set
}

fn gone_error() -> io::Error {
    io::Error::from_raw_os_error(libc::ESRCH)
}

/// Gives the task that has a number now the mask of its creator, if it has what the kernel gave of the mask `given`. It was started
/// microseconds ago, so the creator's is what it inherited.
fn give_inherited_mask(id: u32, given: &CpuSet) -> io::Result<()> {
    let process = process_of(id)?.ok_or_else(gone_error)?;
    let creator = if process == id { ProcessStat::read_stat(id)?.ok_or_else(gone_error)?.parent } else { process };
    let inherited = affinity::affinity_of(creator)?;
    let now = affinity::affinity_of(id)?;
    if now != inherited && now.is_subset(given) {
        affinity::set_affinity(id, &inherited)?;
    }
    Ok(())
}

/// Returns the process of a thread; `None` if there is no such thread.
///
/// # Errors
/// If /proc is not the kernel's own.
pub fn process_of(thread: u32) -> io::Result<Option<u32>> {
    let status = match proc_files::read_file(&format!("/proc/{thread}/status")) {
        Err(error) if is_gone(&error) => return Ok(None),
        other => other?,
    };
    Ok(String::from_utf8_lossy(&status).lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok()))
}

/// Returns the time since boot, in the unit of a start time: ticks of 1/100 s, of CLOCK_BOOTTIME.
#[cfg(feature = "changes")]
pub(crate) fn ticks_since_boot() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the timespec, which outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    time.tv_sec.max(0) as u64 * 100 + time.tv_nsec.max(0) as u64 / 10_000_000
}

/// Returns true if this process descends from another.
pub fn is_descendant_of(process: u32) -> bool {
    let parents = std::iter::successors(Some(std::process::id()), |id| {
        Some(ProcessStat::read_stat(*id).ok()??.parent).filter(|id| *id > 0)
    });
    parents.skip(1).any(|id| id == process)
}

/// Returns the processes of other users with this name, with their users.
pub fn others_called(name: &str) -> Vec<(u32, u32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let other = |entry: fs::DirEntry| {
        let process = entry.file_name().to_str()?.parse().ok()?;
        let user = entry.metadata().ok()?.uid();
        (user != effective_user() && ProcessStat::read_stat(process).ok()??.name == name).then_some((process, user))
    };
    entries.filter_map(other).collect()
}

/// Returns the kernel's random name of the running boot.
///
/// # Errors
/// If /proc is not the kernel's own.
pub fn boot_id() -> io::Result<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned())
}

/// Returns the host name of this machine; empty if the kernel does not report one.
pub fn host_name() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// Returns the hash that distinguishes this machine from others of its model ([`hash_host`]); `None` if it has no id: machine-id(5).
pub fn host_hash() -> Option<String> {
    let id = fs::read_to_string("/etc/machine-id").ok()?;
    let is_id = id.trim().len() == 32 && id.trim().bytes().all(|digit| digit.is_ascii_hexdigit());
    is_id.then(|| hash_host(id.trim(), &host_name()))
}

/// Returns the process namespace, such as "pid:[4026531836]"; empty if there is none.
pub fn number_space() -> String {
    fs::read_link("/proc/self/ns/pid").map(|link| link.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns the number of the process namespace; 0 if there is none.
pub fn number_space_id() -> u64 {
    number_space().trim_matches(|letter: char| !letter.is_ascii_digit()).parse().unwrap_or_default()
}

/// Returns true if this is the initial process namespace, in which processes have the same numbers as in kernel events
/// (`PROC_PID_INIT_INO`, include/linux/proc_ns.h).
pub fn sees_all_numbers() -> bool {
    number_space() == "pid:[4026531836]"
}

/// Returns true if /proc shows the process numbers that system calls take. It does not if it was mounted in another process namespace: a
/// number read there means another process, or none, in a call.
pub fn reads_own_numbers() -> bool {
    fs::read_link("/proc/self").is_ok_and(|link| link.as_os_str() == std::process::id().to_string().as_str())
}

/// Returns true if this process has the rights of root.
pub fn is_root() -> bool {
    effective_user() == 0
}

/// Returns the effective user of this process; 0 is root.
pub fn effective_user() -> u32 {
    // SAFETY: takes no arguments, touches no memory of ours, and cannot fail.
    unsafe { libc::geteuid() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "4711 (a) (b) c) S 1 4711 4710 34816 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 2834432 214";

    #[test]
    fn names_with_parentheses_and_spaces_are_read() {
        let stat = ProcessStat::parse(LINE).unwrap();
        let name = "a) (b) c".into();
        let expected =
            ProcessStat { name, has_ended: false, parent: 1, session: 4710, has_terminal: true, start_ticks: 98765 };
        assert_eq!(stat, expected);
        assert!(!ProcessStat::parse(&LINE.replace(" 34816 ", " 0 ")).unwrap().has_terminal);
        assert!(ProcessStat::parse(&LINE.replace(" S ", " Z ")).unwrap().has_ended);
        assert_eq!(ProcessStat::parse("4711 (short) S 1 2"), None);
        let line = LINE.replace(" S ", " R ") + " 0 0 0 0 0 0 0 0 0 0 0 0 0 17 5 0";
        assert_eq!(ProcessStat::place_in(&line), Some((true, 5)), "{line}");
        assert_eq!(ProcessStat::place_in(LINE), None, "it ends before that field");
        assert_eq!(ProcessStat::parse(""), None);
    }

    #[test]
    fn a_number_alone_is_not_a_process() {
        let this = ProcessIdentity::this_process().unwrap();
        assert!(this.is_alive());
        assert!(!ProcessIdentity { start_ticks: this.start_ticks + 1, ..this }.is_alive());
    }

    #[test]
    fn a_mask_is_set_on_the_task_that_is_meant_and_no_other() {
        let all = affinity::current_affinity().unwrap();
        let one = CpuSet::from_cpu(all.highest().unwrap());
        if all == one {
            return println!("skipped: one cpu alone leaves nothing to set");
        }
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let process = ProcessIdentity::find_task(child.id()).unwrap();
        let earlier = ProcessIdentity { start_ticks: process.start_ticks - 1, ..process };
        assert!(affinity::has_ended(&earlier.restrict_thread(&one).unwrap_err()));
        assert_eq!(affinity::affinity_of(child.id()).unwrap(), all, "its number was given again");
        assert_eq!(process.restrict_thread(&one).unwrap(), one);
        process.restrict_thread(&all).unwrap();
        // As if it had been given the number of another one in the moment in which that one's mask was set.
        let asked = std::cell::Cell::new(false);
        let set = restrict_unless_ended(child.id(), &one, || asked.replace(true));
        assert!(affinity::has_ended(&set.unwrap_err()));
        assert_eq!(affinity::affinity_of(child.id()).unwrap(), all, "the mask of another task");
        process.restrict_thread(&one).unwrap();
        give_inherited_mask(child.id(), &all.difference(&one)).unwrap();
        assert_eq!(affinity::affinity_of(child.id()).unwrap(), one, "it has another mask by now");
        give_inherited_mask(child.id(), &one).unwrap();
        assert_eq!(affinity::affinity_of(child.id()).unwrap(), all);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(affinity::has_ended(&process.restrict_thread(&one).unwrap_err()));
    }

    #[test]
    fn an_ended_process_is_not_alive_even_before_its_parent_notices() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let stat = ProcessStat::read_stat(child.id()).unwrap().unwrap();
        let process = ProcessIdentity { id: child.id(), start_ticks: stat.start_ticks };
        assert!(process.is_alive());
        child.kill().unwrap();
        while process.is_alive() {
            std::thread::yield_now();
        }
        assert!(
            ProcessStat::read_stat(child.id()).unwrap().is_some_and(|stat| stat.has_ended),
            "nobody has waited for it yet"
        );
        child.wait().unwrap();
        assert_eq!(ProcessStat::read_stat(child.id()).unwrap(), None);
    }

    #[test]
    fn boot_machine_and_numbers_have_names() {
        assert_eq!(boot_id().unwrap().len(), 36);
        assert!(number_space().starts_with("pid:["), "{}", number_space());
    }
}
