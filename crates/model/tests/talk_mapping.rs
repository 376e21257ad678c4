//! How good the mapping of threads onto cpus is: the optimum of small problems, and close to the best that is known of larger ones.

#[path = "../examples/talk_mapping/quality.rs"]
#[allow(dead_code, reason = "the example uses all of it")]
mod quality;

use corewise_model::talk::mapping::MappingProblem;
use quality::{TalkShape, build_problem};

/// Returns the lowest cost of all assignments of as many threads as cpus (Heap's algorithm).
fn find_optimum(problem: &MappingProblem) -> f64 {
    let size = problem.cores.len();
    let mut cpus: Vec<usize> = (0..size).collect();
    let (mut counters, mut best, mut at) = (vec![0; size], problem.talk_cost(&cpus), 0);
    while at < size {
        if counters[at] < at {
            cpus.swap(if at % 2 == 0 { 0 } else { counters[at] }, at);
            best = best.min(problem.talk_cost(&cpus));
            counters[at] += 1;
            at = 0;
        } else {
            counters[at] = 0;
            at += 1;
        }
    }
    best
}

#[test]
fn small_problems_are_solved() {
    let machines = [[1, 2, 4], [2, 2, 2], [1, 4, 2]];
    for number in 0..60_usize {
        let shape = TalkShape::ALL[number % TalkShape::ALL.len()];
        let problem = build_problem(shape, 8, machines[number % machines.len()], number as u64 + 1);
        let own = problem.assignment_cost(&problem.assign_threads());
        let best = find_optimum(&problem);
        assert!(own <= best * (1.0 + 1e-9), "problem {number}, {shape:?}: {own} where {best} is possible");
    }
}
