//! Prints what a send through a channel costs, in nanoseconds, by a plain loop: one thread sends as fast as it can for 0.3 s, another
//! receives, and the sends are counted. First through a channel of 64, then through one without a bound.
//!
//! `channel_straight [A B]`: from the first to the second of two cpus. The clock is read once in 64 sends; `--each` reads it for every
//! send, as the loop of <https://github.com/Licenser/trb> does.

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use corewise_sys::affinity;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

const TIME: Duration = Duration::from_millis(300);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let sends_a_look = if words.iter().any(|word| word == "--each") { 1 } else { 64 };
    let mut cpus: Vec<u32> = words.iter().filter_map(|word| word.parse().ok()).collect();
    if cpus.is_empty() {
        cpus = affinity::current().map(|cpus| cpus.iter().take(2).collect()).unwrap_or_default();
    }
    let [first, second] = cpus[..] else {
        eprintln!("channel_straight: two allowed cpus are needed");
        return ExitCode::from(3);
    };
    for channel in [bounded(64), unbounded()] {
        println!("{:.1}", send_ns(channel, first, second, sends_a_look));
    }
    ExitCode::SUCCESS
}

fn send_ns((sender, receiver): (Sender<u64>, Receiver<u64>), first: u32, second: u32, sends_a_look: u64) -> f64 {
    let sending = thread::spawn(move || {
        affinity::pin_current(first).expect("the first cpu is allowed");
        let (start, mut sends) = (Instant::now(), 0_u64);
        while start.elapsed() < TIME {
            for _ in 0..sends_a_look {
                sends += 1;
                sender.send(sends).expect("the receiver is there");
            }
        }
        start.elapsed().as_nanos() as f64 / sends as f64
    });
    let receiving = thread::spawn(move || {
        affinity::pin_current(second).expect("the second cpu is allowed");
        receiver.into_iter().for_each(drop);
    });
    receiving.join().expect("the receiver ends with the sender");
    sending.join().expect("the sender ends")
}
