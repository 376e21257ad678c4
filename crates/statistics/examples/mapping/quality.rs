//! Problems of known kinds, and a slow search for their best assignment, to judge the fast one.

use corewise_machine::random::RandomGenerator;

use corewise_statistics::mapping::MappingProblem;

/// Kinds of graphs that programs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TalkShape {
    /// Groups of 4 or 8 that talk among themselves, and a little with others.
    Groups,
    /// Few random pairs with very different rates.
    Sparse,
    /// A pipeline with short cuts.
    Pipeline,
    /// All pairs.
    Dense,
    /// Few hubs with many partners each.
    Stars,
}

impl TalkShape {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Groups, Self::Sparse, Self::Pipeline, Self::Dense, Self::Stars];
}

/// Returns a problem of threads on a machine of packages, llcs in each, and cores in each; costs in nanoseconds with 2.5 % noise.
pub fn build_problem(shape: TalkShape, threads: usize, machine: [usize; 3], seed: u64) -> MappingProblem {
    let mut random = RandomGenerator::new(seed);
    let cpus = machine.iter().product();
    let mut problem = MappingProblem {
        busy: vec![0.0; threads],
        talk: draw_talk(shape, threads, &mut random),
        costs: draw_costs(machine, &mut random),
        cores: (0..cpus).collect(),
        seats: 1,
        anchors: Vec::new(),
    };
    problem.talk.sort_by_key(|pair| (pair.0, pair.1));
    problem
}

fn draw_costs([packages, llcs, cores]: [usize; 3], random: &mut RandomGenerator) -> Vec<f64> {
    let cpus = packages * llcs * cores;
    let mut costs = vec![1e-9; cpus * cpus];
    for a in 0..cpus {
        for b in 0..a {
            let (llc, other) = (a / cores, b / cores);
            let ns = match () {
                () if llc == other => 45.0,
                () if llc / llcs != other / llcs => 320.0,
                () if llc % 2 == other % 2 => 110.0,
                () => 140.0,
            };
            let cost = 1e-9 * ns * (1.0 + 0.025 * random.next_normal());
            costs[a * cpus + b] = cost;
            costs[b * cpus + a] = cost;
        }
    }
    costs
}

fn draw_talk(shape: TalkShape, threads: usize, random: &mut RandomGenerator) -> Vec<(usize, usize, f64)> {
    let mut names: Vec<usize> = (0..threads).collect();
    (1..threads).rev().for_each(|at| names.swap(at, random.next_below(at + 1)));
    let mut rates = std::collections::BTreeMap::new();
    let mut add = |a: usize, b: usize, rate: f64| {
        let (a, b) = (names[a % threads], names[b % threads]);
        if a != b {
            *rates.entry((a.min(b), a.max(b))).or_insert(0.0) += rate;
        }
    };
    let group = if threads >= 32 { 8 } else { 4 };
    let hubs = threads / 16 + 1;
    match shape {
        TalkShape::Groups => (0..threads).for_each(|a| {
            for b in 0..a {
                if a / group == b / group {
                    add(a, b, 50.0 * random.next_unit());
                } else if random.next_unit() < 0.1 {
                    add(a, b, 10.0 * random.next_unit());
                }
            }
        }),
        TalkShape::Sparse => (0..2 * threads).for_each(|_| {
            add(random.next_below(threads), random.next_below(threads), (1.5 * random.next_normal()).exp())
        }),
        TalkShape::Pipeline => {
            (0..threads).for_each(|a| add(a, a + 1, 100.0));
            (0..threads / 8).for_each(|_| add(random.next_below(threads), random.next_below(threads), 60.0));
        }
        TalkShape::Dense => (0..threads).for_each(|a| (0..a).for_each(|b| add(a, b, random.next_unit()))),
        TalkShape::Stars => (hubs..threads).for_each(|a| {
            add(a, random.next_below(hubs), 30.0 + 20.0 * random.next_unit());
            add(a, hubs + random.next_below(threads - hubs), 5.0 * random.next_unit());
        }),
    }
    rates.into_iter().map(|((a, b), rate)| (a, b, rate)).collect()
}

/// Returns the lowest cost that simulated annealing of some moves finds, for problems with one seat on a cpu and as many threads as cpus
/// or fewer.
pub fn anneal_assignment(problem: &MappingProblem, moves: u64, seed: u64) -> f64 {
    let (threads, cpus) = (problem.busy.len(), problem.cores.len());
    let mut random = RandomGenerator::new(seed ^ 0x5eed);
    let mut neighbours = vec![Vec::new(); cpus];
    for &(a, b, rate) in &problem.talk {
        neighbours[a].push((b, rate));
        neighbours[b].push((a, rate));
    }
    let mut place: Vec<usize> = (0..cpus).collect();
    let mut unit: Vec<usize> = (0..cpus).collect();
    let gain = |place: &[usize], a: usize, b: usize| {
        let one = |unit: usize, other: usize, from: usize, to: usize| -> f64 {
            let of = |&(partner, rate): &(usize, f64)| {
                rate * (problem.costs[to * cpus + place[partner]] - problem.costs[from * cpus + place[partner]])
            };
            neighbours[unit].iter().filter(|(partner, _)| *partner != other).map(of).sum()
        };
        one(a, b, place[a], place[b]) + one(b, a, place[b], place[a])
    };
    let hottest = (0..200).map(|_| gain(&place, random.next_below(threads), random.next_below(cpus)).abs());
    let hottest = hottest.fold(0.0, f64::max);
    let mut cost = problem.assignment_cost(&place[..threads]);
    let mut best = cost;
    for number in 0..moves {
        let heat = hottest * 1e-4_f64.powf(number as f64 / moves as f64);
        let (a, b) = (random.next_below(threads), unit[random.next_below(cpus)]);
        if a == b {
            continue;
        }
        let change = gain(&place, a, b);
        if change < 0.0 || random.next_unit() < (-change / heat).exp() {
            place.swap(a, b);
            (unit[place[a]], unit[place[b]]) = (a, b);
            cost += change;
            best = best.min(cost);
        }
    }
    best
}
