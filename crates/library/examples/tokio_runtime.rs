//! A runtime of tokio that was proven, or the usual one: `cargo run -p corewise --example tokio_runtime -- my-server`.

use tokio::runtime::Builder;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "my-server".to_owned());
    let mut builder = Builder::new_multi_thread();
    match corewise::proven(&name) {
        Ok(placement) => {
            println!("{placement}");
            builder.worker_threads(placement.len()).on_thread_start(placement.pin_in_turn());
        }
        Err(error) => println!("Threads are left alone: {error}."),
    }
    let runtime = builder.build()?;
    let answer = runtime.block_on(async { tokio::spawn(async { 6 * 7 }).await })?;
    println!("{answer}");
    Ok(())
}
