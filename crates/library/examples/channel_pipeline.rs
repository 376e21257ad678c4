//! A pipeline of three threads that pass messages through channels; with an expression it places them itself: `cargo run --release -p corewise
//! --example channel_pipeline -- 'pack(3, llc)'`. docs/library.md compares it with the same placement from outside.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use corewise::{Machine, PlaceError, Placement};

const MESSAGES: u64 = 150_000;
/// Number of messages that may wait between two threads.
const ROOM: usize = 4;

fn main() -> Result<(), PlaceError> {
    let placement = std::env::args().nth(1).map(|expression| Machine::this()?.place(&expression)).transpose()?;
    let (to_parse, parsing) = sync_channel(ROOM);
    let (to_write, writing) = sync_channel(ROOM);
    let written = std::thread::scope(|scope| {
        let placement = placement.as_ref();
        scope.spawn(move || read_numbers(&to_parse, placement));
        scope.spawn(move || parse_numbers(&parsing, &to_write, placement));
        scope.spawn(move || sum_numbers(&writing, placement)).join().unwrap_or_default()
    });
    println!("{written}");
    Ok(())
}

/// Places the calling thread, the first, second or third of the pipeline. Without a placement it runs anywhere.
fn place_thread(index: usize, placement: Option<&Placement>) {
    if let Some(Err(error)) = placement.map(|placement| placement.pin_this_thread(index)) {
        eprintln!("thread {index} runs anywhere: {error}");
    }
}

fn read_numbers(to_parse: &SyncSender<String>, placement: Option<&Placement>) {
    place_thread(0, placement);
    let mut lines = (0..MESSAGES).map(|number| number.to_string());
    let _ = lines.try_for_each(|line| to_parse.send(line));
}

fn parse_numbers(lines: &Receiver<String>, to_write: &SyncSender<u64>, placement: Option<&Placement>) {
    place_thread(1, placement);
    let mut numbers = lines.iter().filter_map(|line| line.parse().ok());
    let _ = numbers.try_for_each(|number| to_write.send(number));
}

fn sum_numbers(numbers: &Receiver<u64>, placement: Option<&Placement>) -> u64 {
    place_thread(2, placement);
    numbers.iter().sum()
}
