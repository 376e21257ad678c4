//! The processes of the comparison: programs that read their own masks, crowds of threads, and pollers.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail, ensure};
use corewise_machine::CpuSet;
use corewise_sys::process::ProcessIdentity;
use corewise_sys::process_events::{ProcessEvent, ProcessEventKind, ProcessEvents};
use corewise_sys::thread::monotonic_ns;
use corewise_sys::{affinity, processes, task};
use xtask::parse_number;

use super::ACTOR;

/// Interval at which a program reads its own mask.
const LOOK: Duration = Duration::from_micros(20);

/// Runs a process of the comparison, by its arguments.
pub fn act_by_words(words: &[&str]) -> Result<()> {
    match words {
        ["launch", program, life_us, threads] => launch_program(program, life_us, threads),
        ["look", begun_ns, life_us, threads] => {
            look_at_masks(parse_number(begun_ns)?, parse_number(life_us)?, parse_number(threads)?)
        }
        ["sleep", threads] => sleep_threads(parse_number(threads)?),
        ["storm", forks] => start_storm(parse_number(forks)?),
        ["listen", programs, cpus] => listen_events(programs, &CpuSet::parse_list(cpus)?),
        ["poll", programs, cpus, interval_ms] => {
            poll_processes(programs, &CpuSet::parse_list(cpus)?, Duration::from_millis(parse_number(interval_ms)?))
        }
        _ => bail!("{ACTOR} {words:?}"),
    }
}

/// Executes a program that reads its masks; passes it the time of the exec.
fn launch_program(program: &str, life_us: &str, threads: &str) -> Result<()> {
    let mut command = Command::new(program);
    command.args([ACTOR, "look"]);
    Err(command.arg(monotonic_ns().to_string()).args([life_us, threads]).exec().into())
}

/// Lives for a time after its exec; then prints the microseconds until its first thread had one cpu, -1 if never, and the number of its
/// threads with more.
fn look_at_masks(begun_ns: u64, life_us: u64, threads: usize) -> Result<()> {
    let end_ns = begun_ns + 1_000 * life_us;
    let rest = move || Duration::from_nanos(end_ns.saturating_sub(monotonic_ns()));
    // They stay until this process ends.
    (1..threads).for_each(|_| drop(std::thread::spawn(move || std::thread::sleep(rest() + Duration::from_secs(9)))));
    let mut placed_us = -1.0;
    while !rest().is_zero() {
        if affinity::current_affinity()?.len() == 1 {
            placed_us = (monotonic_ns() - begun_ns) as f64 / 1e3;
            break;
        }
        std::thread::sleep(LOOK);
    }
    std::thread::sleep(rest());
    let is_elsewhere = |thread: &u32| affinity::affinity_of(*thread).is_ok_and(|cpus| cpus.len() > 1);
    let elsewhere = task::thread_numbers(std::process::id()).iter().filter(|thread| is_elsewhere(thread)).count();
    println!("{placed_us} {elsewhere}");
    Ok(())
}

/// Starts threads that sleep until standard input ends.
fn sleep_threads(threads: usize) -> Result<()> {
    (1..threads).for_each(|_| drop(std::thread::spawn(|| std::thread::sleep(Duration::from_secs(86_400)))));
    println!("ready");
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}

/// Starts `forks` programs, four at a time.
fn start_storm(forks: usize) -> Result<()> {
    let all: Vec<Result<()>> = std::thread::scope(|scope| {
        let some = || {
            (0..forks / 4).try_for_each(|_| {
                ensure!(Command::new("true").stdin(Stdio::null()).status()?.success(), "true failed");
                Ok(())
            })
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(some)).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    all.into_iter().collect()
}

/// Does the minimum: kernel events, the executed file, and the masks. The only rule is one path. It keeps no journal, checks no thread's
/// identity, and restores nothing.
fn listen_events(programs: &str, cpus: &CpuSet) -> Result<()> {
    let mut events = ProcessEvents::open(&[ProcessEventKind::Exec]).map_err(|gap| anyhow!("{}", gap.why))?;
    println!("ready");
    let mut batch = Vec::new();
    loop {
        events.wait_for_events(Duration::from_secs(1), &mut batch)?;
        for event in batch.drain(..) {
            if let ProcessEvent::Executed { process } = event {
                place_process(process, programs, cpus);
            }
        }
    }
}

fn place_process(process: u32, programs: &str, cpus: &CpuSet) {
    let Ok(file) = std::fs::read_link(format!("/proc/{process}/exe")) else { return };
    if !file.starts_with(Path::new(programs)) || file.ends_with("launcher") {
        return;
    }
    for thread in task::thread_numbers(process) {
        if affinity::affinity_of(thread).is_ok_and(|now| now != *cpus) {
            let _ = ProcessIdentity::find_task(thread).and_then(|task| task.restrict_thread(cpus));
        }
    }
}

/// Polls in the simplest way: all processes, the file that each executes, and the mask of each matching process's threads.
fn poll_processes(programs: &str, cpus: &CpuSet, interval: Duration) -> Result<()> {
    println!("ready");
    loop {
        let begun = Instant::now();
        processes::all_processes().into_iter().for_each(|process| place_process(process, programs, cpus));
        std::thread::sleep(interval.saturating_sub(begun.elapsed()));
    }
}
