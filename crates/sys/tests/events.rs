//! The running kernel's events, where this user may have them: they fall where they happened, what had no room is counted, and nothing
//! of ours is left behind.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use corewise_machine::Gap;
use corewise_machine::event::{EventKind, EventSource};
use corewise_sys::affinity;
use corewise_sys::events::{
    DrainedEvents, EnabledEvents, EventInterest, EventRecorder, TraceFolder, left_instances, remove_left_instance,
};
use corewise_sys::process::number_space_id;
use corewise_sys::thread::monotonic_raw_ns;
use libtest_mimic::{Arguments, Completion, Failed, Trial};

type Outcome = Result<Completion, Failed>;

const SWITCHES: [EventInterest; 1] = [EventInterest::Switches];
/// Says what this program is to do instead of its tests.
const PART: &str = "COREWISE_EVENTS_PART";

fn main() -> ExitCode {
    if let Some(part) = std::env::var_os(PART) {
        return play(&part.to_string_lossy());
    }
    let mut arguments = Arguments::from_args();
    // They make code of the kernel live and take it back.
    arguments.test_threads = Some(1);
    let trial = |name: &str, test: fn() -> Outcome| Trial::ignorable_test(name, test);
    let trials = vec![
        trial("a_sleep_is_seen_by_perf", seen_by_perf),
        trial("a_sleep_is_seen_by_ftrace_and_its_instance_goes_again", seen_by_ftrace),
        trial("what_has_no_room_in_perfs_ring_is_counted", lost_by_perf),
        trial("what_has_no_room_in_ftraces_buffer_is_counted", lost_by_ftrace),
        trial("an_instance_that_a_killed_process_left_is_removed", || starting_itself(|| left_by_killed(true))),
        trial("an_instance_that_a_killed_process_left_can_be_removed", || starting_itself(|| left_by_killed(false))),
        trial("what_another_namespace_holds_is_left_alone", held_elsewhere),
        trial("where_perf_is_refused_ftrace_serves", || {
            starting_itself(|| refused(EventSource::Perf, EventSource::Ftrace))
        }),
        trial("where_ftrace_is_refused_perf_serves", || {
            starting_itself(|| refused(EventSource::Ftrace, EventSource::Perf))
        }),
        trial("ftrace_records_the_cpus_that_are_read_and_no_other", only_what_is_read),
        trial("who_may_not_is_told_what_would_help", || starting_itself(not_permitted)),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn ignored(gap: &Gap) -> Completion {
    Completion::ignored_with(gap.why.clone())
}

fn by_perf() -> Result<EventRecorder, Completion> {
    by(EventSource::Perf)
}

fn by_ftrace() -> Result<EventRecorder, Completion> {
    by(EventSource::Ftrace)
}

fn by(source: EventSource) -> Result<EventRecorder, Completion> {
    match EventRecorder::open(source, &[&SWITCHES]) {
        Ok(recorder) if recorder.event_source() == source => Ok(recorder),
        Ok(_) => Err(Completion::ignored_with(format!("{source:?} is refused"))),
        Err(gap) => Err(ignored(&gap)),
    }
}

fn seen_by_perf() -> Outcome {
    match by_perf() {
        Ok(recorder) => on_one_cpu(|cpu| sees_a_sleep(&recorder, cpu)),
        Err(ignored) => Ok(ignored),
    }
}

fn seen_by_ftrace() -> Outcome {
    let recorder = match by_ftrace() {
        Ok(recorder) => recorder,
        Err(ignored) => return Ok(ignored),
    };
    let instance = instance_of(std::process::id());
    if !instance()? {
        return Err("there is no instance".into());
    }
    on_one_cpu(|cpu| sees_a_sleep(&recorder, cpu))?;
    drop(recorder);
    if instance()? { Err("the instance is still there".into()) } else { Ok(Completion::Completed) }
}

/// Whether a process's instance is there.
fn instance_of(process: u32) -> impl Fn() -> Result<bool, Failed> {
    move || {
        let tracefs = TraceFolder::open().map_err(|gap| gap.why)?;
        let start = format!("corewise-{}-{process}-", number_space_id());
        let mut entries = std::fs::read_dir(tracefs.inner_path("instances"))?;
        Ok(entries.any(|entry| entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(&start))))
    }
}

/// Runs something on a thread that is on one cpu.
fn on_one_cpu(test: impl FnOnce(u32) -> Outcome + Send) -> Outcome {
    let pinned = move || {
        let cpu = affinity::current_affinity()?.lowest().ok_or("no cpu is allowed")?;
        affinity::pin_current(cpu)?;
        test(cpu)
    };
    std::thread::scope(|scope| scope.spawn(pinned).join()).map_err(|_| "the thread died")?
}

/// A thread that sleeps is switched away from and back to, between the clock's readings around the sleep.
fn sees_a_sleep(recorder: &EventRecorder, cpu: u32) -> Outcome {
    let enabled = recorder.enable_events(&SWITCHES)?;
    let mut stream = enabled.stream_events(cpu, &SWITCHES, 1 << 20)?;
    let mut events = Vec::new();
    let before_ns = monotonic_raw_ns();
    std::thread::sleep(Duration::from_millis(5));
    let after_ns = monotonic_raw_ns();
    let own = stream.drain_events(&mut events).own_task;
    let inside: Vec<_> = events.iter().filter(|event| (before_ns..=after_ns).contains(&event.at_ns)).collect();
    let away = inside.iter().find_map(|event| match &event.what {
        EventKind::Switch { from, preempted: false, .. } if own == 0 || *from == own => Some((event.at_ns, *from)),
        _ => None,
    });
    let (away_ns, me) = away.ok_or("the switch to whoever ran meanwhile is missing")?;
    let is_back = |event: &&&_| {
        let event: &corewise_machine::event::KernelEvent = event;
        matches!(&event.what, EventKind::Switch { to, .. } if *to == me) && event.at_ns > away_ns
    };
    if !inside.iter().any(|event| is_back(&event)) {
        return Err(format!("the switch back is missing: {events:?}").into());
    }
    let in_order = events.windows(2).all(|pair| pair[0].at_ns <= pair[1].at_ns);
    if in_order { Ok(Completion::Completed) } else { Err(format!("out of order: {events:?}").into()) }
}

/// Two threads on one cpu that hand something to each other: at least two switches a turn.
fn hand_over(cpu: u32, turns: u32) -> Result<(), Failed> {
    let ((there, from_here), (back, from_there)) = (mpsc::sync_channel(0), mpsc::sync_channel(0));
    let other = std::thread::spawn(move || -> std::io::Result<()> {
        affinity::pin_current(cpu)?;
        while from_here.recv().is_ok() && back.send(()).is_ok() {}
        Ok(())
    });
    for _ in 0..turns {
        there.send(())?;
        from_there.recv()?;
    }
    drop(there);
    Ok(other.join().map_err(|_| "the thread died")??)
}

/// More switches than have room: all are either told or counted as lost.
fn counts_lost(enabled: &EnabledEvents<'_>, cpu: u32, buffer_bytes: usize, turns: u32) -> Outcome {
    let mut stream = enabled.stream_events(cpu, &SWITCHES, buffer_bytes)?;
    let mut events = Vec::new();
    hand_over(cpu, turns)?;
    let DrainedEvents { lost, .. } = stream.drain_events(&mut events);
    let seen = events.len() as u64 + lost;
    println!("{} told, {lost} lost", events.len());
    if lost == 0 || seen < 2 * u64::from(turns) {
        return Err(format!("{} told, {lost} lost, of {} at least", events.len(), 2 * turns).into());
    }
    events.clear();
    let DrainedEvents { lost, .. } = stream.drain_events(&mut events);
    if lost == 0 { Ok(Completion::Completed) } else { Err(format!("{lost} were lost a second time").into()) }
}

fn lost_by_perf() -> Outcome {
    match by_perf() {
        Ok(recorder) => on_one_cpu(|cpu| counts_lost(&recorder.enable_events(&SWITCHES)?, cpu, 1 << 16, 3_000)),
        Err(ignored) => Ok(ignored),
    }
}

fn lost_by_ftrace() -> Outcome {
    match by_ftrace() {
        Ok(recorder) => {
            // Its buffer is as large as it is: some 60,000 switches.
            on_one_cpu(|cpu| counts_lost(&recorder.enable_events(&SWITCHES)?, cpu, 1 << 16, 60_000))
        }
        Err(ignored) => Ok(ignored),
    }
}

/// A test that starts this program once more, which the host cannot run where it is emulated.
fn starting_itself(test: impl FnOnce() -> Outcome) -> Outcome {
    match std::env::var_os("COREWISE_EMULATED") {
        Some(_) => Ok(Completion::ignored_with("an emulated program starts no other of its kind")),
        None => test(),
    }
}

/// This program once more, with a part to play.
fn started(part: &str) -> std::io::Result<Child> {
    Command::new(std::env::current_exe()?).env(PART, part).stdout(Stdio::piped()).spawn()
}

/// What a part had to say.
fn told_by(part: &str) -> Result<String, Failed> {
    let mut child = started(part)?;
    let mut told = String::new();
    child.stdout.take().ok_or("no output")?.read_to_string(&mut told)?;
    child.wait()?;
    Ok(told.trim().to_owned())
}

fn left_by_killed(next_one: bool) -> Outcome {
    if let Err(ignored) = by_ftrace() {
        return Ok(ignored);
    }
    let mut child = started("hold")?;
    let mut ready = String::new();
    BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut ready)?;
    let instance = instance_of(child.id());
    let was_there = instance()?;
    let start = format!("corewise-{}-{}-", number_space_id(), child.id());
    let left = || left_instances().into_iter().find(|name| name.starts_with(&start));
    let left_early = left().is_some();
    let lasts = instance()?;
    child.kill()?;
    child.wait()?;
    let name = left().ok_or("nothing was left")?;
    let is_left = instance()?;
    // Whoever makes the next instance removes it, or whoever is asked to.
    if next_one {
        drop(by_ftrace());
    } else {
        remove_left_instance(&name)?;
    }
    let found = (ready.trim(), was_there, left_early, lasts, is_left, instance()?);
    let expected = ("ready", true, false, true, true, false);
    if found == expected { Ok(Completion::Completed) } else { Err(format!("{found:?}, not {expected:?}").into()) }
}

/// Where one source is refused, the other serves.
fn refused(preferred: EventSource, instead: EventSource) -> Outcome {
    for source in [preferred, instead] {
        if let Err(ignored) = by(source) {
            return Ok(ignored);
        }
    }
    match told_by(&format!("without {preferred:?}"))? {
        told if told == format!("{instead:?} seen") => Ok(Completion::Completed),
        told if told.starts_with("no filter") => Ok(Completion::ignored_with(told)),
        told => Err(told.into()),
    }
}

/// A cpu of which there is no stream, or none any more, has an empty buffer, whatever happens there.
fn only_what_is_read() -> Outcome {
    let recorder = match by_ftrace() {
        Ok(recorder) => recorder,
        Err(ignored) => return Ok(ignored),
    };
    let name = own_instance()?.ok_or("there is no instance")?;
    on_one_cpu(|cpu| {
        let tracefs = TraceFolder::open().map_err(|gap| gap.why)?;
        let entries = || -> Result<u64, Failed> {
            let stats =
                std::fs::read_to_string(tracefs.inner_path(&format!("instances/{name}/per_cpu/cpu{cpu}/stats")))?;
            let entries = stats.lines().find_map(|line| line.strip_prefix("entries:")).ok_or("no count of entries")?;
            Ok(entries.trim().parse()?)
        };
        let enabled = recorder.enable_events(&SWITCHES)?;
        hand_over(cpu, 50)?;
        let before = entries()?;
        let (stream, second) =
            (enabled.stream_events(cpu, &SWITCHES, 1 << 16)?, enabled.stream_events(cpu, &SWITCHES, 1 << 16)?);
        drop(second);
        hand_over(cpu, 50)?;
        let meanwhile = entries()?;
        drop(stream);
        hand_over(cpu, 50)?;
        let after = entries()? - meanwhile;
        // A switch may come between a count and what turns the recording off.
        if before == 0 && meanwhile >= 100 && after < 50 {
            return Ok(Completion::Completed);
        }
        Err(format!("{before} records before, {meanwhile} meanwhile, {after} after").into())
    })
}

/// No process of this number lives here, and elsewhere it may.
fn held_elsewhere() -> Outcome {
    if let Err(ignored) = by_ftrace() {
        return Ok(ignored);
    }
    let tracefs = TraceFolder::open().map_err(|gap| gap.why)?;
    let name = format!("corewise-7-{}-1-0", std::process::id());
    let path = tracefs.inner_path(&format!("instances/{name}"));
    let held = loop {
        std::fs::create_dir(&path)?;
        // Until it is held, whoever makes an instance may remove it.
        match std::fs::File::open(path.join("tracing_on")) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            opened => break opened?,
        }
    };
    drop(by_ftrace());
    let found = (left_instances().contains(&name), path.exists());
    drop(held);
    drop(by_ftrace());
    match (found, path.exists()) {
        ((false, true), false) => Ok(Completion::Completed),
        other => Err(format!("listed, there, there when nobody held it: {other:?}").into()),
    }
}

/// The name of this process's instance.
fn own_instance() -> Result<Option<String>, Failed> {
    let tracefs = TraceFolder::open().map_err(|gap| gap.why)?;
    let start = format!("corewise-{}-{}-", number_space_id(), std::process::id());
    let names = std::fs::read_dir(tracefs.inner_path("instances"))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.into_iter().find(|name| name.starts_with(&start)))
}

fn not_permitted() -> Outcome {
    match told_by("nobody")?.as_str() {
        "not root" => Ok(Completion::ignored_with("only root can become somebody who may not")),
        told if told.starts_with("gap causes of stalls: ") && told.contains(" cure run as root") => {
            Ok(Completion::Completed)
        }
        told => Err(told.into()),
    }
}

/// What this program does when it is started for a test.
fn play(part: &str) -> ExitCode {
    match part {
        "hold" => {
            let _recorder = by_ftrace();
            println!("ready");
            std::thread::sleep(Duration::from_secs(600));
        }
        "without Perf" => seen_without(EventSource::Perf, &[libc::SYS_perf_event_open]),
        // It makes no folder.
        #[cfg(target_arch = "x86_64")]
        "without Ftrace" => seen_without(EventSource::Ftrace, &[libc::SYS_mkdir, libc::SYS_mkdirat]),
        #[cfg(not(target_arch = "x86_64"))]
        "without Ftrace" => seen_without(EventSource::Ftrace, &[libc::SYS_mkdirat]),
        "nobody" => match become_nobody() {
            Ok(()) => match EventRecorder::open(EventSource::Perf, &[&SWITCHES]) {
                Ok(recorder) => println!("nobody may: {:?}", recorder.event_source()),
                Err(gap) => println!("gap {}: {} cure {}", gap.what, gap.why, gap.cure.unwrap_or_default()),
            },
            Err(_) => println!("not root"),
        },
        _ => println!("nothing to play"),
    }
    ExitCode::SUCCESS
}

/// Says which source serves where these system calls are refused.
fn seen_without(preferred: EventSource, calls: &[libc::c_long]) {
    match refuse(calls) {
        Ok(()) => println!("{}", seen_by(preferred).unwrap_or_else(|why| why)),
        Err(error) => println!("no filter of system calls: {error}"),
    }
}

fn seen_by(preferred: EventSource) -> Result<String, String> {
    let recorder = EventRecorder::open(preferred, &[&SWITCHES]).map_err(|gap| gap.why)?;
    let event_source = recorder.event_source();
    match on_one_cpu(|cpu| sees_a_sleep(&recorder, cpu)) {
        Ok(_) => Ok(format!("{event_source:?} seen")),
        Err(failed) => Err(failed.message().unwrap_or_default().to_owned()),
    }
}

/// From now on this process may not make some system calls: a filter (seccomp(2)) of two instructions for each, and two.
fn refuse(calls: &[libc::c_long]) -> std::io::Result<()> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    // The call's number is the first of what a filter sees.
    let mut steps = vec![step(LOAD, 0, 0, 0)];
    for call in calls {
        steps.push(step(IF_EQUAL, 0, 1, *call as u32));
        steps.push(step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32));
    }
    steps.push(step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW));
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the kernel copies the filter, which outlives the calls.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) != 0
    };
    if refused { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

/// From now on this process has no rights of root.
fn become_nobody() -> std::io::Result<()> {
    const NOBODY: libc::uid_t = 65_534;
    // SAFETY: these calls take numbers, or no groups at all.
    let refused =
        unsafe { libc::setgroups(0, std::ptr::null()) != 0 || libc::setgid(NOBODY) != 0 || libc::setuid(NOBODY) != 0 };
    if refused { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}
