//! The command of some tests: threads with names and masks of their own, which tell what they find.
//!
//! An actor waits for masks, never for times, and gives up after longer than any test takes.

use std::io::Read as _;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use corewise_model::CpuSet;
use corewise_sys::linux::{affinity, cpuset};

/// Longer than any test waits.
const PATIENCE: Duration = Duration::from_secs(60);

/// Plays a part, and prints what each thread found.
pub fn act(part: &str) -> ExitCode {
    match part {
        "mask" => tell("main", &current()),
        "roles" => roles(),
        "wander" => wander(),
        "narrow" => narrow(),
        "stubborn" => stubborn(),
        "turns" => turns(),
        _ => return ExitCode::FAILURE,
    }
    ExitCode::SUCCESS
}

fn tell(name: &str, cpus: &CpuSet) {
    println!("{name} {cpus}");
}

fn current() -> CpuSet {
    affinity::current().expect("a thread has a mask")
}

/// What is there, whatever the placement.
fn first_two() -> [CpuSet; 2] {
    let all = cpuset::reachable().expect("the kernel tells");
    let mut cpus = all.iter().map(CpuSet::of);
    [cpus.next(), cpus.next()].map(|cpu| cpu.expect("these parts are played on two cpus"))
}

/// Waits until the calling thread has another mask than this one, and gives that.
fn changed_from(cpus: &CpuSet) -> CpuSet {
    let begun = Instant::now();
    while current() == *cpus && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(1));
    }
    current()
}

fn wait_for_end_of_input() {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// Renames the calling thread, as programs do.
fn rename(name: &str) {
    std::fs::write("/proc/thread-self/comm", name).expect("a thread may rename itself");
}

/// Runs on a thread with a name.
fn on_thread<T: Send + 'static>(name: &str, act: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(act);
    thread.expect("a thread can be started").join().expect("the thread ended well")
}

/// A thread for input and output becomes a worker; another one has no role.
fn roles() {
    let all = current();
    let (io, work) = on_thread("io-1", move || {
        let io = changed_from(&all);
        rename("work-1");
        (io.clone(), changed_from(&io))
    });
    tell("io", &io);
    tell("work", &work);
    tell("main", &current());
}

/// Goes outside of the placement, and is brought back.
fn wander() {
    let outside: CpuSet = first_two().iter().flat_map(|cpu| cpu.iter().collect::<Vec<_>>()).collect();
    affinity::set_current(&outside).expect("there are two cpus");
    tell("main", &changed_from(&outside));
}

/// Stays inside the placement, on one cpu of two.
fn narrow() {
    let [_, second] = first_two();
    affinity::set_current(&second).expect("there are two cpus");
    wait_for_end_of_input();
    tell("main", &current());
}

/// Takes one cpu again and again until nobody takes it away.
fn stubborn() {
    let [first, _] = first_two();
    let (tell_end, end) = mpsc::channel();
    thread::spawn(move || {
        wait_for_end_of_input();
        let _ = tell_end.send(());
    });
    let mut corrections = 0;
    loop {
        affinity::set_current(&first).expect("there are two cpus");
        while current() == first {
            if end.recv_timeout(Duration::from_millis(1)) != Err(mpsc::RecvTimeoutError::Timeout) {
                println!("corrections {corrections}");
                return tell("main", &current());
            }
        }
        corrections += 1;
    }
}

/// Three threads beside the main one, each waiting to be pinned.
fn turns() {
    let all = current();
    let (pinned, everyone) = (mpsc::channel(), std::sync::Arc::new(std::sync::Barrier::new(4)));
    let mut threads = Vec::new();
    for name in ["a", "b", "c"] {
        let (all, everyone, tell_pinned) = (all.clone(), everyone.clone(), pinned.0.clone());
        let (ready, is_ready) = mpsc::channel();
        let body = move || {
            let _ = ready.send(());
            let _ = tell_pinned.send((name, changed_from(&all)));
            everyone.wait();
        };
        threads.push(thread::Builder::new().name(name.to_owned()).spawn(body).expect("a thread can be started"));
        let _ = is_ready.recv();
    }
    let mut found: Vec<(&str, CpuSet)> = vec![("main", changed_from(&all))];
    found.extend(pinned.1.iter().take(3));
    everyone.wait();
    found.sort_by_key(|(name, _)| (*name != "main", *name));
    for (name, cpus) in &found {
        tell(name, cpus);
    }
}
