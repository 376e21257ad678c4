//! A pool of rayon: `cargo run -p corewise --example rayon_pool -- 'spread(4, llc)'`.

use rayon::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let expression = std::env::args().nth(1).unwrap_or_else(|| "one-per-core".to_owned());
    let placement = corewise::Machine::this()?.place(&expression)?;
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(placement.len()).start_handler(placement.pin_by_index()).build()?;
    let sum: u64 = pool.install(|| (0..1_000_000_u64).into_par_iter().map(|number| number % 7).sum());
    println!("{sum}, by {} threads on {}", pool.current_num_threads(), placement.cpus());
    placement.report().failures.iter().for_each(|why| println!("not placed: {why}"));
    Ok(())
}
