//! The command of tests that start this same test program again: threads with names and masks of their own, which tell what they find.
//!
//! An actor waits for masks, never for times, and gives up after longer than any test takes.

use std::io::Read as _;
use std::process::ExitCode;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use corewise_machine::CpuSet;
use corewise_sys::affinity;

/// Longer than any test waits.
const PATIENCE: Duration = Duration::from_secs(60);

/// The part to play, where this program was started as "PROGRAM act PART".
pub fn part() -> Option<String> {
    let mut words = std::env::args().skip(1);
    (words.next()? == "act").then(|| words.next()).flatten()
}

/// Plays a part, and prints what each thread found. The part may be told cpus: "narrow=0,1". An actor that asked for
/// itself which there are would start a thread, and go outside of its placement.
pub fn act(part: &str) -> ExitCode {
    let (part, cpus) = part.split_once('=').unwrap_or((part, ""));
    let cpus: Vec<CpuSet> = cpus.split(',').filter_map(|cpu| cpu.parse().ok()).map(CpuSet::from_cpu).collect();
    let (first, second) = (cpus.first().cloned().unwrap_or_default(), cpus.get(1).cloned().unwrap_or_default());
    match part {
        "mask" => tell("main", &current()),
        "roles" => roles(),
        "wander" => wander(&first.union(&second)),
        "narrow" => narrow(&second),
        "stubborn" => stubborn(&first),
        "turns" => turns(cpus),
        "starts" => starts(),
        "talk" => talk(),
        "hub" => hub(cpus),
        _ => return ExitCode::FAILURE,
    }
    ExitCode::SUCCESS
}

fn tell(name: &str, cpus: &CpuSet) {
    println!("{name} {cpus}");
}

fn current() -> CpuSet {
    affinity::current_affinity().expect("a thread has a mask")
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

/// Has two threads, and starts another one for each line of input, whose number it prints; all wait for the end of input.
fn starts() {
    let (end, ended) = mpsc::channel::<()>();
    let ended = Arc::new(std::sync::Mutex::new(ended));
    let start = || {
        let ended = Arc::clone(&ended);
        let (say, said) = mpsc::channel();
        let thread = thread::spawn(move || {
            say.send(std::fs::read_link("/proc/thread-self").expect("a thread has a number"))
                .expect("somebody listens");
            let _ = ended.lock().map(|ended| ended.recv());
        });
        let path = said.recv().expect("the thread says its number");
        (thread, path.file_name().expect("its number").to_string_lossy().into_owned())
    };
    let mut threads = vec![start().0];
    println!("ready");
    for _ in std::io::stdin().lines() {
        let (thread, number) = start();
        println!("{number}");
        threads.push(thread);
    }
    drop(end);
    threads.into_iter().for_each(|thread| thread.join().expect("the thread ended well"));
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

/// Two pairs of threads, each of which wakes its partner a thousand times, and gets its answer.
fn talk() {
    let pair = |one: &'static str, other: &'static str| {
        let (ask, asked) = mpsc::channel();
        let (answer, answered) = mpsc::channel();
        let start = |name: &str, act: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().name(name.to_owned()).spawn(act).expect("a thread can be started")
        };
        let asker = start(
            one,
            Box::new(move || {
                for _ in 0..1000 {
                    let _ = ask.send(());
                    let _ = answered.recv();
                }
            }),
        );
        let replier = start(other, Box::new(move || asked.iter().for_each(|()| answer.send(()).unwrap_or_default())));
        [asker, replier]
    };
    let threads = [pair("ask-a", "reply-a"), pair("ask-b", "reply-b")];
    threads.into_iter().flatten().for_each(|thread| thread.join().expect("the thread ended well"));
}

/// Three threads on these cpus: the first one answers both others, as long as it is wanted.
fn hub(cpus: Vec<CpuSet>) {
    let (ask, asked) = mpsc::channel();
    let start = |name: &str, cpus: CpuSet, act: Box<dyn FnOnce() + Send>| {
        let pinned = move || {
            affinity::set_current(&cpus).expect("the cpu is there");
            act();
        };
        thread::Builder::new().name(name.to_owned()).spawn(pinned).expect("a thread can be started")
    };
    let mut cpus = cpus.into_iter();
    let first = cpus.next().expect("the part names cpus");
    let mut answers = Vec::new();
    let begun = Instant::now();
    let mut threads = Vec::new();
    for (number, cpus) in cpus.enumerate() {
        let (answer, answered) = mpsc::channel();
        answers.push(answer);
        let ask = ask.clone();
        let act = move || while begun.elapsed() < PATIENCE && ask.send(number).is_ok() && answered.recv().is_ok() {};
        threads.push(start(&format!("ask-{number}"), cpus, Box::new(act)));
    }
    drop(ask);
    let act = move || asked.iter().for_each(|number: usize| answers[number].send(()).unwrap_or_default());
    threads.push(start("hub", first, Box::new(act)));
    threads.into_iter().for_each(|thread| thread.join().expect("the thread ended well"));
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

/// Twice as many threads as cpus, the main one among them, each waiting for its turn's cpu: a thread may begin on that of
/// its creator.
fn turns(cpus: Vec<CpuSet>) {
    let count = 2 * cpus.len();
    let everyone = Arc::new(Barrier::new(count));
    let mut threads = Vec::new();
    for (number, cpu) in (1..count).zip(cpus.iter().cloned().cycle().skip(1)) {
        let everyone = everyone.clone();
        let (ready, is_ready) = mpsc::channel();
        let body = move || {
            let _ = ready.send(());
            wait_for(&cpu);
            everyone.wait();
            current()
        };
        let thread = thread::Builder::new().name(format!("turn-{number}")).spawn(body);
        threads.push((number, thread.expect("a thread can be started")));
        let _ = is_ready.recv();
    }
    wait_for(&cpus[0]);
    everyone.wait();
    tell("main", &current());
    for (number, thread) in threads {
        tell(&number.to_string(), &thread.join().expect("the thread ended well"));
    }
}
