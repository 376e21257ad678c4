//! How good the mapping of threads onto cpus is: the optimum of small problems, and close to the best that is known of larger ones.

#[path = "../examples/mapping/quality.rs"]
#[allow(dead_code, reason = "the example uses all of it")]
mod quality;

use corewise_statistics::mapping::MappingProblem;
use corewise_testing::count_cases;
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
    for number in 0..count_cases(60) {
        let shape = TalkShape::ALL[number % TalkShape::ALL.len()];
        let problem = build_problem(shape, 8, machines[number % machines.len()], number as u64 + 1);
        let own = problem.assignment_cost(&problem.assign_threads());
        let best = find_optimum(&problem);
        assert!(own <= best * (1.0 + 1e-9), "problem {number}, {shape:?}: {own} where {best} is possible");
    }
}

/// The lowest known costs of a graph of each shape, of seed 101: the least of all searches and of annealing of 20 million moves.
const BEST_KNOWN: [(usize, [usize; 3], [f64; 5]); 4] = [
    (64, [1, 8, 8], [3.59903e-4, 2.7629e-5, 3.82373e-4, 1.15183e-4, 1.75373e-4]),
    (24, [1, 8, 3], [7.304e-5, 9.66e-6, 1.76905e-4, 1.5306e-5, 8.9648e-5]),
    (64, [2, 8, 8], [3.61134e-4, 2.7765e-5, 3.82659e-4, 1.15183e-4, 1.77389e-4]),
    (128, [2, 8, 8], [1.357972e-3, 5.8638e-5, 9.00575e-4, 8.43684e-4, 3.88899e-4]),
];

#[test]
fn large_problems_are_close_to_the_best_known() {
    for (threads, machine, known) in BEST_KNOWN.into_iter().take(count_cases(BEST_KNOWN.len())) {
        let gap = |(shape, best): (&TalkShape, f64)| {
            let problem = build_problem(*shape, threads, machine, 101);
            problem.assignment_cost(&problem.assign_threads()) / best - 1.0
        };
        let gaps: Vec<f64> = TalkShape::ALL.iter().zip(known).map(gap).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!(mean <= 0.01 && gaps.iter().all(|gap| *gap <= 0.03), "{threads} on {machine:?}: {gaps:?}");
    }
}

/// Four groups of four on eight caches of three cores with two cpus each: a core for each thread. Each group has room on two caches of one die, but
/// weak talk with all others draws the groups together.
#[test]
fn weak_talk_does_not_split_groups() {
    let cpus = 48;
    let cost = |a: usize, b: usize| match [2, 6, 12].map(|size| a / size == b / size) {
        _ if a == b => 10e-9,
        [true, ..] => 20e-9,
        [_, true, _] => 45e-9,
        [.., true] => 110e-9,
        _ => 140e-9,
    };
    let pairs = || (0..16_usize).flat_map(|b| (0..b).map(move |a| (a, b)));
    let problem = MappingProblem {
        busy: vec![1.0; 16],
        talk: pairs().map(|(a, b)| (a, b, if a / 4 == b / 4 { 2000.0 } else { 2.0 })).collect(),
        costs: (0..cpus * cpus).map(|at| cost(at / cpus, at % cpus)).collect(),
        cores: (0..cpus).map(|cpu| cpu / 2).collect(),
        seats: 2,
        anchors: Vec::new(),
    };
    let own = problem.assignment_cost(&problem.assign_threads());
    let on_own_die: Vec<usize> = (0..16).map(|thread| thread / 4 * 12 + thread % 4 * 2).collect();
    let known = problem.assignment_cost(&on_own_die);
    assert!(own <= known * 1.001, "{own} where {known} is possible");
}
