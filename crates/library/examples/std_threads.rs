//! Threads of the standard library: `cargo run -p corewise --example std_threads -- 'spread(4, llc)'`.

use corewise::{Machine, PlaceError, Role};

fn main() -> Result<(), PlaceError> {
    let machine = Machine::this()?;
    let expression = std::env::args().nth(1).unwrap_or_else(|| "one-per-core".to_owned());
    let placement = machine.place(&expression)?;
    println!("{placement}");
    placement.notes().iter().for_each(|note| println!("  {note}"));
    println!("{}", machine.parallelism(Role::Compute));
    std::thread::scope(|scope| {
        for index in 0..placement.len() {
            let placement = &placement;
            scope.spawn(move || match placement.pin_this_thread(index) {
                Ok(pin) => println!("thread {index}: {}", pin.cpus()),
                Err(error) => println!("thread {index} runs anywhere: {error}"),
            });
        }
    });
    Ok(())
}
