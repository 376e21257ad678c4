//! Tries a closure on two placements beside the OS default, without the program `corewise`:
//! `cargo run --release -p corewise-lab --example try_closure`

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use corewise_lab::experiment::{ClosureSubject, ExperimentBuilder};
use corewise_model::Artifact as _;

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<u64> = (0..4_000_000).collect();
    let subject = ClosureSubject::timed(|| black_box(numbers.iter().fold(0_u64, |sum, x| sum.rotate_left(3) ^ x)));
    let experiment = ExperimentBuilder::new().on("0")?.on("1")?.budget(Duration::from_secs(20));
    let record = experiment.run(&subject)?;
    for (arm, standing) in record.experiment.arms.iter().zip(record.draw_conclusions().standing.arms) {
        println!(
            "{:<12} median {:.6} s in {} runs",
            arm.name,
            standing.median.unwrap_or_default().exp(),
            standing.runs
        );
    }
    println!("{:?}", record.draw_conclusions().standing.verdict);
    Ok(())
}
