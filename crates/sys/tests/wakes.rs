//! Wakes counted in the kernel, where this user may count them: each has its threads, calls and descriptor, children are followed, and
//! nothing is left attached.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use corewise_machine::{CpuSet, Gap};
use corewise_sys::affinity::{current_affinity, pin_current};
use corewise_sys::thread::own_number;
use corewise_sys::wakes::{CallKind, DescriptorKind, WakeCounter, WakeCounts, WakeOrigin, descriptor_kinds};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

type Outcome = Result<Completion, Failed>;

/// Says what this program is to do instead of its tests.
const PART: &str = "COREWISE_WAKES_PART";
const ROUND_TRIPS: u64 = 2_000;
/// A user without rights.
const NOBODY: u32 = 65_534;

fn main() -> ExitCode {
    match std::env::var(PART).as_deref() {
        Ok("attach") => return attach_and_wait(),
        Ok("open") => return report_gap(),
        Ok("play") => {
            play_pipes();
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let mut arguments = Arguments::from_args();
    // They count what is attached.
    arguments.test_threads = Some(1);
    let trial = |name: &str, test: fn() -> Outcome| Trial::ignorable_test(name, test);
    let trials = vec![
        trial("each_wake_has_its_threads_its_calls_and_its_pipe", pipes_are_seen),
        trial("a_child_is_counted_from_its_first_wake", a_child_is_counted_from_its_first_wake),
        trial("a_program_that_is_not_watched_is_not_counted", a_program_that_is_not_watched_is_not_counted),
        trial("waits_are_timed_only_while_it_is_asked_for", waits_are_timed),
        trial("waits_across_groups_of_cpus_are_told_apart", distant_waits_are_told_apart),
        trial("a_killed_process_leaves_nothing_attached", a_killed_process_leaves_nothing_attached),
        trial("a_user_without_rights_is_told_what_would_help", refused_with_a_cure),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn open_counter() -> Result<WakeCounter, Completion> {
    WakeCounter::open(&[]).map_err(|Gap { why, .. }| Completion::ignored_with(why))
}

fn itself(part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(PART, part);
    command
}

/// Passes a byte to and fro between two threads; returns their numbers.
fn play_pipes() -> [u32; 2] {
    play_pipes_on(None)
}

/// The same with the partner on a cpu.
fn play_pipes_on(cpu: Option<u32>) -> [u32; 2] {
    let (mut here, mut there_out) = std::io::pipe().unwrap();
    let (mut there, mut here_out) = std::io::pipe().unwrap();
    let partner = std::thread::Builder::new().name("partner".into()).spawn(move || {
        if let Some(cpu) = cpu {
            pin_current(cpu).unwrap();
        }
        let mut byte = [0];
        while there.read(&mut byte).unwrap() == 1 {
            there_out.write_all(&byte).unwrap();
        }
        own_number()
    });
    for _ in 0..ROUND_TRIPS {
        here_out.write_all(&[1]).unwrap();
        here.read_exact(&mut [0]).unwrap();
    }
    drop(here_out);
    [own_number(), partner.unwrap().join().unwrap()]
}

fn wakes_of(counts: &WakeCounts, waker: u32, wakee: u32) -> u64 {
    let is_wanted =
        |edge: &&corewise_sys::wakes::WakeCount| (edge.origin, edge.wakee) == (WakeOrigin::Task(waker), wakee);
    counts.edges.iter().filter(is_wanted).map(|edge| edge.wakes).sum()
}

fn pipes_are_seen() -> Outcome {
    let mut counter = match open_counter() {
        Ok(counter) => counter,
        Err(ignored) => return Ok(ignored),
    };
    counter.watch_process(std::process::id())?;
    let (reader, _writer) = std::io::pipe()?;
    let kinds = descriptor_kinds(std::process::id(), 1_000);
    drop(reader);
    counter.start_counting()?;
    let [one, other] = play_pipes();
    let counts = counter.take_counts();
    let seen = [wakes_of(&counts, one, other), wakes_of(&counts, other, one)];
    // On a busy machine many a byte comes before its reader sleeps.
    assert!(seen.iter().all(|wakes| (ROUND_TRIPS / 10..=ROUND_TRIPS + 2).contains(wakes)), "{seen:?}");
    let all: u64 = counts.edges.iter().map(|edge| edge.wakes).sum();
    assert!(seen[0] + seen[1] >= all * 99 / 100, "{seen:?} of {all}");
    let most = counts.edges.iter().max_by_key(|edge| edge.wakes).unwrap();
    assert_eq!((most.waker_call, most.wakee_call), (CallKind::File, CallKind::File));
    assert!(most.descriptor.is_some() && counts.lost == 0);
    assert!(kinds.iter().any(|(_, kind)| *kind == DescriptorKind::Pipe));
    let partner = counts.tasks.iter().find(|task| task.thread == other).unwrap();
    assert_eq!((partner.process, partner.name.as_str()), (std::process::id(), "partner"));
    Ok(Completion::Completed)
}

fn a_child_is_counted_from_its_first_wake() -> Outcome {
    let mut counter = match open_counter() {
        Ok(counter) => counter,
        Err(ignored) => return Ok(ignored),
    };
    counter.watch_children_of(std::process::id())?;
    counter.start_counting()?;
    let mut child = itself("play").spawn()?;
    let id = child.id();
    assert!(child.wait()?.success());
    let counts = counter.take_counts();
    let partner = counts.tasks.iter().find(|task| task.name == "partner").unwrap();
    assert_eq!((partner.process, counts.processes.as_slice()), (id, &[id][..]));
    assert!(wakes_of(&counts, id, partner.thread) >= ROUND_TRIPS / 10, "{counts:?}");
    let between_others = counts.edges.iter().filter(|edge| edge.wakee != partner.thread && edge.wakee != id);
    let by_child = |edge: &&corewise_sys::wakes::WakeCount| matches!(edge.origin, WakeOrigin::Task(waker) if waker == id || waker == partner.thread);
    assert!(between_others.clone().all(|edge| by_child(&edge)), "the parent is not watched itself");
    Ok(Completion::Completed)
}

fn a_program_that_is_not_watched_is_not_counted() -> Outcome {
    let mut counter = match open_counter() {
        Ok(counter) => counter,
        Err(ignored) => return Ok(ignored),
    };
    counter.watch_process(u32::MAX >> 1)?;
    counter.start_counting()?;
    play_pipes();
    let nobody = vec![u32::MAX >> 1];
    assert_eq!(counter.take_counts(), WakeCounts { processes: nobody, ..WakeCounts::default() });
    Ok(Completion::Completed)
}

fn waits_are_timed() -> Outcome {
    let mut counter = match open_counter() {
        Ok(counter) => counter,
        Err(ignored) => return Ok(ignored),
    };
    counter.watch_process(std::process::id())?;
    counter.start_counting()?;
    play_pipes();
    counter.time_waits(true)?;
    let [one, other] = play_pipes();
    counter.time_waits(false)?;
    play_pipes();
    let counts = counter.take_counts();
    let wait = counts.waits.iter().find(|wait| (wait.waker, wait.wakee) == (one, other)).unwrap();
    assert!((ROUND_TRIPS / 10..=ROUND_TRIPS + 2).contains(&wait.waits), "{wait:?}");
    assert!((1..1_000_000_000).contains(&(wait.waiting_ns / wait.waits)), "{wait:?}");
    let partners = counts.tasks.iter().filter(|task| task.name == "partner").count();
    assert_eq!(partners, 3, "each game had one");
    Ok(Completion::Completed)
}

/// The two threads run on the first and the last cpu, which are in different groups, in one, and in none.
fn distant_waits_are_told_apart() -> Outcome {
    let cpus = current_affinity()?;
    let (Some(first), Some(last)) = (cpus.lowest(), cpus.highest().filter(|last| cpus.lowest() != Some(*last))) else {
        return Ok(Completion::ignored_with("it needs two cpus"));
    };
    let each = [CpuSet::from_iter([first]), CpuSet::from_iter([last])];
    for (groups, is_across) in [(&each[..], true), (&[cpus.clone()][..], false), (&[], false), (&each[..1], true)] {
        let mut counter = match WakeCounter::open(groups) {
            Ok(counter) => counter,
            Err(gap) => return Ok(Completion::ignored_with(gap.why)),
        };
        counter.watch_process(std::process::id())?;
        counter.start_counting()?;
        counter.time_waits(true)?;
        let own = std::thread::spawn(move || {
            pin_current(first).unwrap();
            play_pipes_on(Some(last))
        });
        let [one, other] = own.join().unwrap();
        assert!(!counter.read_waits().is_empty());
        let counts = counter.take_counts();
        let between =
            counts.waits.iter().filter(|wait| [(one, other), (other, one)].contains(&(wait.waker, wait.wakee)));
        let of = |side: bool| between.clone().filter(|wait| wait.is_across == side).map(|wait| wait.waits).sum::<u64>();
        // Another cpu may have begun the partner before it was pinned.
        assert!(of(is_across) >= ROUND_TRIPS / 10 && of(!is_across) <= 2, "{groups:?}: {:?}", counts.waits);
    }
    Ok(Completion::Completed)
}

fn attach_and_wait() -> ExitCode {
    let mut counter = WakeCounter::open(&[]).unwrap();
    counter.watch_process(std::process::id()).unwrap();
    counter.start_counting().unwrap();
    counter.time_waits(true).unwrap();
    println!("attached");
    loop {
        std::thread::park();
    }
}

fn a_killed_process_leaves_nothing_attached() -> Outcome {
    if let Err(ignored) = open_counter() {
        return Ok(ignored);
    }
    let before = wait_until(|programs| programs == 0);
    let mut child = itself("attach").stdout(Stdio::piped()).spawn()?;
    await_line(&mut child);
    assert_eq!(own_programs(), before + 8, "the kernel lists them");
    child.kill()?;
    child.wait()?;
    assert_eq!(wait_until(|programs| programs == before), before);
    Ok(Completion::Completed)
}

fn await_line(child: &mut Child) {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "attached\n");
}

/// Waits, at most a minute, until the number of corewise's programs is as wanted; the kernel frees them a little later.
fn wait_until(is_wanted: impl Fn(usize) -> bool) -> usize {
    let counts = std::iter::repeat_with(own_programs).take(6_000);
    let mut last = 0;
    for count in counts {
        last = count;
        if is_wanted(count) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    last
}

/// Returns the number of programs in the kernel with a name of corewise's.
fn own_programs() -> usize {
    let command = |number: libc::c_long, attributes: &mut [u32; 32]| {
        // SAFETY: the kernel reads and writes the attributes, which outlive the call, and the buffer that they name.
        unsafe { libc::syscall(libc::SYS_bpf, number, attributes.as_mut_ptr(), size_of_val(attributes)) }
    };
    let (mut id, mut own) = (0, 0);
    loop {
        // BPF_PROG_GET_NEXT_ID: the number before, the number after.
        let mut next = [0; 32];
        next[0] = id;
        if command(11, &mut next) != 0 {
            return own;
        }
        id = next[1];
        // BPF_PROG_GET_FD_BY_ID.
        let mut by_id = [0; 32];
        by_id[0] = id;
        let file = command(13, &mut by_id);
        if file < 0 {
            continue;
        }
        // BPF_OBJ_GET_INFO_BY_FD: descriptor, length, address. The name begins at byte 64 of `struct bpf_prog_info`.
        let mut information = [0_u8; 80];
        let address = information.as_mut_ptr().expose_provenance() as u64;
        let mut about = [0; 32];
        (about[0], about[1]) = (file as u32, information.len() as u32);
        (about[2], about[3]) = (address as u32, (address >> 32) as u32);
        let found = command(15, &mut about);
        own += usize::from(found == 0 && information[64..].starts_with(b"corewise_"));
        // SAFETY: this descriptor has no other owner.
        unsafe { libc::close(file as i32) };
    }
}

fn report_gap() -> ExitCode {
    match WakeCounter::open(&[]) {
        Ok(_) => println!("it may"),
        Err(gap) => println!("{}: {}", gap.why, gap.cure.unwrap_or_default()),
    }
    ExitCode::SUCCESS
}

fn refused_with_a_cure() -> Outcome {
    if !corewise_sys::process::is_root() {
        return Ok(Completion::ignored_with("only root can become another user"));
    }
    // Another user may not reach this program's folder.
    let folder = tempfile::tempdir_in("/tmp")?;
    let copy = folder.path().join("wakes");
    std::fs::copy(std::env::current_exe()?, &copy)?;
    let open_to_all =
        |path: &std::path::Path| std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755));
    open_to_all(folder.path())?;
    open_to_all(&copy)?;
    let output = Command::new(&copy).env(PART, "open").uid(NOBODY).gid(NOBODY).output()?;
    let said = String::from_utf8(output.stdout)?;
    assert!(
        said.contains("run as root, or with CAP_BPF and CAP_PERFMON") || said.contains("in this container"),
        "{said}"
    );
    Ok(Completion::Completed)
}
