//! Measures how good and how fast the mapping of threads onto cpus is: against the best of long annealing.
//!
//! cargo run --release -p corewise-statistics --example mapping [MOVES OF ANNEALING [FIRST SEED]]

mod quality;

use std::time::Instant;

use quality::{TalkShape, anneal_assignment, build_problem};

fn main() {
    let argument = |at| std::env::args().nth(at).and_then(|word| word.parse::<u64>().ok());
    let (moves, first) = (argument(1).unwrap_or(20_000_000), argument(2).unwrap_or(1));
    println!("threads on llcs x cores          graph      cost           best known     gap      time");
    for (name, threads, machine) in [
        ("24 on 8 x 3", 24, [1, 8, 3]),
        ("64 on 8 x 8", 64, [1, 8, 8]),
        ("64 on 2 x 8 x 8", 64, [2, 8, 8]),
        ("128 on 2 x 8 x 8", 128, [2, 8, 8]),
    ] {
        for shape in TalkShape::ALL {
            for seed in first..first + 3 {
                let problem = build_problem(shape, threads, machine, seed);
                let begun = Instant::now();
                let cpus = problem.assign_threads();
                let took = begun.elapsed();
                let own = problem.assignment_cost(&cpus);
                let known = anneal_assignment(&problem, moves, seed).min(own);
                let gap = 100.0 * (own / known - 1.0);
                println!("{name:<32} {shape:<10?} {own:<14.9} {known:<14.9} {gap:5.2} % {took:9.1?}");
            }
        }
    }
}
