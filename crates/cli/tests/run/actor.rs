//! The command of some tests: threads with names and masks of their own, which tell what they find.
//!
//! An actor waits for masks, never for times, and gives up after longer than any test takes.

use std::io::Read as _;
use std::process::ExitCode;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use corewise_model::CpuSet;
use corewise_sys::linux::affinity;

/// Longer than any test waits.
const PATIENCE: Duration = Duration::from_secs(60);

/// Plays a part, and prints what each thread found. The part may be told two cpus: "narrow=0,1". An actor that asked for
/// itself which there are would start a thread, and go outside of its placement.
pub fn act(part: &str) -> ExitCode {
    let (part, cpus) = part.split_once('=').unwrap_or((part, ""));
    let mut cpus = cpus.split(',').filter_map(|cpu| cpu.parse().ok()).map(CpuSet::of);
    let (first, second) = (cpus.next().unwrap_or_default(), cpus.next().unwrap_or_default());
    match part {
        "mask" => tell("main", &current()),
        "roles" => roles(),
        "wander" => wander(&first.union(&second)),
        "narrow" => narrow(&second),
        "stubborn" => stubborn(&first),
        "turns" => turns(&first, &second),
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

/// Waits until the calling thread has another mask than this one, and gives that.
fn changed_from(cpus: &CpuSet) -> CpuSet {
    let begun = Instant::now();
    while current() == *cpus && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(1));
    }
    current()
}

/// Waits until the calling thread has this mask.
fn wait_for(cpus: &CpuSet) {
    let begun = Instant::now();
    while current() != *cpus && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(1));
    }
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
fn wander(outside: &CpuSet) {
    affinity::set_current(outside).expect("there are two cpus");
    tell("main", &changed_from(outside));
}

/// Stays inside the placement, on one cpu of two.
fn narrow(second: &CpuSet) {
    affinity::set_current(second).expect("there are two cpus");
    wait_for_end_of_input();
    tell("main", &current());
}

/// Takes one cpu again and again until nobody takes it away.
fn stubborn(first: &CpuSet) {
    let (tell_end, end) = mpsc::channel();
    thread::spawn(move || {
        wait_for_end_of_input();
        let _ = tell_end.send(());
    });
    let mut corrections = 0;
    loop {
        affinity::set_current(first).expect("there are two cpus");
        while current() == *first {
            if end.recv_timeout(Duration::from_millis(1)) != Err(mpsc::RecvTimeoutError::Timeout) {
                println!("corrections {corrections}");
                return tell("main", &current());
            }
        }
        corrections += 1;
    }
}

/// Three threads beside the main one, each waiting for its turn's cpu: a thread may begin on that of its creator.
fn turns(first: &CpuSet, second: &CpuSet) {
    let everyone = Arc::new(Barrier::new(4));
    let mut threads = Vec::new();
    for (name, cpu) in [("a", first), ("b", second), ("c", first)] {
        let (everyone, cpu) = (everyone.clone(), cpu.clone());
        let (ready, is_ready) = mpsc::channel();
        let body = move || {
            let _ = ready.send(());
            wait_for(&cpu);
            everyone.wait();
            current()
        };
        threads
            .push((name, thread::Builder::new().name(name.to_owned()).spawn(body).expect("a thread can be started")));
        let _ = is_ready.recv();
    }
    wait_for(second);
    everyone.wait();
    tell("main", &current());
    for (name, thread) in threads {
        tell(name, &thread.join().expect("the thread ended well"));
    }
}
