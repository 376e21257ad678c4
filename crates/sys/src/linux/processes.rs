//! All processes, and facts about each: /proc/PID/{stat,status,cmdline,cgroup,exe}.
//!
//! A look at one process reads four files and a link, each in one call; its threads cost a file and a system call each. A caller that has
//! matched a process keeps the numbers of its threads, and reads only their masks: [`super::affinity::of`], one system call a thread.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use super::affinity;
use super::proc_files::{ProcFolder, is_gone};
use super::process::{ProcessIdentity, ProcessStat};
use super::task::list_numbers;
pub use crate::values::processes::{ExecutableFile, ProcessFacts, ThreadFacts};

/// Maximum that is read of a command line, in bytes.
const LONGEST_ARGUMENTS_BYTES: u64 = 64 << 10;
/// Suffixes of units that have processes of their own: systemd.unit(5).
const WITH_PROCESSES: [&str; 5] = [".service", ".scope", ".socket", ".mount", ".swap"];

/// True if processes are in control groups, and in units of a service manager.
pub const HAVE_CONTROL_GROUPS: bool = true;

/// Returns the numbers of all processes that this one can see, in ascending order.
pub fn all_processes() -> Vec<u32> {
    list_numbers("/proc")
}

impl ProcessFacts {
    /// Reads the facts about a process; `None` if there is none, or it has ended.
    ///
    /// # Errors
    /// If /proc is not the kernel's own, or hides this process.
    pub fn read_facts(id: u32) -> io::Result<Option<Self>> {
        read_parts(id, LONGEST_ARGUMENTS_BYTES)
    }

    /// As [`Self::read_facts`], without the arguments: they lie in the memory of the process, and reading them waits while it maps files, as it
    /// does when it starts.
    ///
    /// # Errors
    /// As [`Self::read_facts`].
    pub fn read_without_arguments(id: u32) -> io::Result<Option<Self>> {
        read_parts(id, 0)
    }
}

impl ExecutableFile {
    /// Returns true if its path leads to this very file, as seen by this process. It need not: any user can mount another file over a path
    /// in a mount namespace of its own. False if the file was removed or replaced since.
    pub fn is_at_its_path(&self) -> bool {
        let Self::File { path, device, inode } = self else { return false };
        fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == (*device, *inode))
    }
}

fn read_parts(id: u32, most_arguments: u64) -> io::Result<Option<ProcessFacts>> {
    match ProcFolder::open(&format!("/proc/{id}")).and_then(|folder| in_folder(id, &folder, most_arguments)) {
        Err(error) if is_gone(&error) => Ok(None),
        other => other,
    }
}

/// Reads all facts through one handle, so that they are of one process even if its number is reused.
fn in_folder(id: u32, folder: &ProcFolder, most_arguments: u64) -> io::Result<Option<ProcessFacts>> {
    let text = |file| folder.read_file(file, u64::MAX).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let stat = || ProcessStat::parse(&text("stat")?).ok_or_else(|| unreadable_error(id));
    let ProcessStat { name, has_ended: false, parent, session, has_terminal, start_ticks } = stat()? else {
        return Ok(None);
    };
    let [real_user, user] = users_in(&text("status")?).ok_or_else(|| unreadable_error(id))?;
    let executable = read_executable(folder);
    // A process that has ended meanwhile and was not waited for has no executable either.
    if executable == ExecutableFile::Kernel && stat()?.has_ended {
        return Ok(None);
    }
    let cgroup = cgroup_in(&text("cgroup")?);
    let (unit, user_unit) = units_in(&cgroup);
    let arguments = if most_arguments > 0 { folder.read_file("cmdline", most_arguments)? } else { Vec::new() };
    Ok(Some(ProcessFacts {
        process: ProcessIdentity { id, start_ticks },
        parent,
        name,
        executable,
        arguments: arguments_in(&arguments),
        user,
        real_user,
        cgroup,
        unit,
        user_unit,
        session,
        has_terminal,
    }))
}

fn unreadable_error(id: u32) -> io::Error {
    io::Error::other(format!("/proc/{id} is not in the kernel's format"))
}

/// Returns the threads of a process, in the order of their starts; none if it has ended.
pub fn process_threads(process: u32) -> Vec<ThreadFacts> {
    let Ok(folder) = ProcFolder::open(&format!("/proc/{process}/task")) else { return Vec::new() };
    let seen = |id: u32| {
        let stat =
            ProcessStat::parse(&String::from_utf8_lossy(&folder.read_file(&format!("{id}/stat"), u64::MAX).ok()?))?;
        let identity = ProcessIdentity { id, start_ticks: stat.start_ticks };
        Some(ThreadFacts { identity, name: stat.name, cpus: affinity::affinity_of(id).ok()? })
    };
    super::task::thread_numbers(process).into_iter().filter_map(seen).collect()
}

/// Returns the name of a user (passwd(5)): only of this machine's own users, not of a directory service.
pub fn user_name(user: u32) -> Option<String> {
    user_name_in(&fs::read_to_string("/etc/passwd").ok()?, user)
}

/// Returns true if a user is root or a system service, by the usual ranges of numbers: up to 999 (SYS_UID_MAX of login.defs(5)), and those
/// of `DynamicUser=` (systemd.exec(5)).
pub fn is_system_user(user: u32) -> bool {
    matches!(user, 0..=999 | 61_184..=65_519)
}

fn user_name_in(passwd: &str, user: u32) -> Option<String> {
    let lines = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    lines.filter(|fields| fields.get(2).and_then(|id| id.parse().ok()) == Some(user)).find_map(|fields| {
        let name = *fields.first()?;
        (!name.is_empty()).then(|| name.to_owned())
    })
}

/// Reads the link to the executable. A kernel thread's leads nowhere.
fn read_executable(folder: &ProcFolder) -> ExecutableFile {
    match folder.follow_link("exe") {
        Ok((path, device, inode)) => ExecutableFile::File { path, device, inode },
        Err(error) if error.kind() == io::ErrorKind::NotFound => ExecutableFile::Kernel,
        Err(error) => ExecutableFile::Unreadable(error.to_string()),
    }
}

/// Returns the real and the effective user: the first numbers of the line "Uid:" (proc_pid_status(5)). The owner of /proc/PID would not do:
/// it is root for processes that may not be dumped.
fn users_in(status: &str) -> Option<[u32; 2]> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let mut users = line.split_whitespace().map(|word| word.parse().ok());
    Some([users.next()??, users.next()??])
}

/// Splits a command line: each argument ends with a zero. A process that overwrites them may leave no zero at all.
fn arguments_in(bytes: &[u8]) -> Vec<String> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Returns the path in the hierarchy of version 2, or in systemd's own of version 1 if the first has none: cgroups(7), "/proc/pid/cgroup".
fn cgroup_in(text: &str) -> String {
    let path = |names: &str| {
        text.lines().find_map(|line| line.split_once(':')?.1.split_once(':').filter(|(name, _)| *name == names))
    };
    let second = path("").map(|(_, path)| path);
    let systemd = path("name=systemd").map(|(_, path)| path);
    second.filter(|path| *path != "/").or(systemd).or(second).unwrap_or_default().to_owned()
}

/// Returns the unit of the system's manager, and the unit of a user's manager: the first name below slices only, and the first below the
/// user manager's own group. Further down, the owner of a delegated group may choose names.
fn units_in(cgroup: &str) -> (Option<String>, Option<String>) {
    let mut names = cgroup.split('/').filter(|name| !name.is_empty());
    let mut unit = || -> Option<String> {
        let name = names.find(|name| !name.ends_with(".slice"))?;
        // Names that look like kernel files are prefixed with "_" (systemd's cg_escape).
        let name = name.strip_prefix('_').unwrap_or(name);
        WITH_PROCESSES.iter().any(|end| name.ends_with(end)).then(|| name.to_owned())
    };
    let system = unit();
    let is_user_manager = system.as_ref().is_some_and(|name| name.starts_with("user@"));
    let user = if is_user_manager { unit() } else { None };
    (system, user)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_is_known_by_its_program_words_and_user() {
        let words = ["-c", "read line", "a b", ""];
        let mut child = Command::new("sh").args(words).stdin(std::process::Stdio::piped()).spawn().unwrap();
        // Its name comes before its words.
        let is_there = |facts: &ProcessFacts| facts.name == "sh" && !facts.arguments.is_empty();
        let facts = std::iter::repeat_with(|| ProcessFacts::read_facts(child.id()).unwrap().unwrap()).find(is_there);
        let facts = facts.unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((facts.process.id, facts.parent), (child.id(), std::process::id()));
        assert_eq!(facts.arguments, ["sh", "-c", "read line", "a b", ""]);
        assert_eq!(facts.user, super::super::process::effective_user());
        let ExecutableFile::File { path, inode, device } = facts.executable else { panic!("{:?}", facts.executable) };
        let file = fs::metadata(&path).unwrap();
        assert_eq!((device, inode), (file.dev(), file.ino()));
        assert!(facts.cgroup.starts_with('/'), "{}", facts.cgroup);
        assert_eq!(ProcessFacts::read_facts(child.id()).unwrap(), None, "it has ended");
        let own = ProcessFacts::read_without_arguments(std::process::id()).unwrap().unwrap();
        let with_arguments = ProcessFacts::read_facts(std::process::id()).unwrap().unwrap();
        assert!(!with_arguments.arguments.is_empty());
        assert_eq!(own, ProcessFacts { arguments: Vec::new(), ..with_arguments });
    }

    #[test]
    fn a_file_is_at_its_path_until_another_one_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        fs::write(&path, "one").unwrap();
        let found = fs::metadata(&path).unwrap();
        let file = ExecutableFile::File { path: path.clone(), device: found.dev(), inode: found.ino() };
        assert!(file.is_at_its_path());
        fs::rename(&path, folder.path().join("moved")).unwrap();
        assert!(!file.is_at_its_path(), "none is there");
        fs::write(&path, "one").unwrap();
        assert!(!file.is_at_its_path(), "another one is there");
        assert!(!ExecutableFile::Kernel.is_at_its_path());
    }

    #[test]
    fn threads_have_names_and_masks_of_their_own() {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("a (thread)".into()).spawn(move || {
            let cpu = affinity::current_affinity().unwrap().highest().unwrap();
            affinity::pin_current(cpu).unwrap();
            let own = super::super::thread::own_number();
            let seen = process_threads(std::process::id());
            let seen = seen.iter().find(|thread| thread.identity.id == own).unwrap();
            assert_eq!((seen.name.as_str(), &seen.cpus), ("a (thread)", &corewise_machine::CpuSet::from_cpu(cpu)));
            let _ = receiver.recv();
        });
        drop(sender);
        thread.unwrap().join().unwrap();
        assert!(process_threads(u32::MAX).is_empty() && all_processes().contains(&std::process::id()));
    }

    #[test]
    fn a_thread_of_the_kernel_executes_no_file() {
        let Some(kernel) = ProcessFacts::read_facts(2).unwrap().filter(|facts| facts.name == "kthreadd") else {
            return println!("skipped: the kernel's threads cannot be seen here");
        };
        assert!(!matches!(kernel.executable, ExecutableFile::File { .. }), "{kernel:?}");
        assert!(kernel.arguments.is_empty() && !kernel.has_terminal);
    }

    #[test]
    fn the_rights_of_a_process_count_and_not_who_started_it() {
        assert_eq!(users_in("Name:\tsudo\nUid:\t1000\t0\t0\t0\nGid:\t1\t2\t3\t4\n"), Some([1000, 0]));
        assert_eq!(users_in("Name:\tx\n"), None);
        let services = [0, 1, 999, 61_184, 65_519];
        let others = [1_000, 60_000, 65_534, 100_000];
        assert!(services.into_iter().all(is_system_user) && !others.into_iter().any(is_system_user));
        let passwd = "root:x:0:0::/:/bin/sh\n:x:7:7::/:\nredis:x:7:7::/:\nodd\n";
        assert_eq!((user_name_in(passwd, 7), user_name_in(passwd, 8)), (Some("redis".into()), None));
    }

    #[test]
    fn words_are_cut_at_zeros() {
        assert_eq!(arguments_in(b"a\0b c\0\0"), ["a", "b c", ""]);
        assert_eq!(arguments_in(b"nginx: worker"), ["nginx: worker"]);
        assert!(arguments_in(b"").is_empty());
    }

    #[test]
    fn the_control_group_is_that_of_systemd() {
        assert_eq!(cgroup_in("0::/user.slice/a.scope\n"), "/user.slice/a.scope");
        assert_eq!(
            cgroup_in("9:name=systemd:/system.slice/a:b.service\n3:cpuset:/\n0::/\n"),
            "/system.slice/a:b.service"
        );
        assert_eq!(cgroup_in("3:cpuset:/\n0::/\n"), "/");
        assert_eq!(cgroup_in(""), "");
    }

    #[test]
    fn a_unit_is_one_that_nobody_else_could_name() {
        let units = |path: &str| units_in(path);
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(units("/system.slice/redis.service"), (some("redis.service"), None));
        assert_eq!(units("/system.slice/system-getty.slice/getty@tty1.service"), (some("getty@tty1.service"), None));
        assert_eq!(units("/system.slice/docker.service/evil/redis.service"), (some("docker.service"), None));
        let of_user = "/user.slice/user-1000.slice/user@1000.service/app.slice/_cpu.service/redis.service";
        assert_eq!(units(of_user), (some("user@1000.service"), some("cpu.service")));
        assert_eq!(units("/user.slice/user-1000.slice/session-3.scope"), (some("session-3.scope"), None));
        assert_eq!(units("/kubepods/pod1/redis.service"), (None, None));
        assert_eq!(units("/"), (None, None));
    }
}
