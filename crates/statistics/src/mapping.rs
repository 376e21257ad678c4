//! Assigns threads to cpus so that partners are near each other and none has to wait for its cpu.
//!
//! The cost is the time of talk in a second, in seconds: rates of wakes times costs of pairs, plus a penalty for load
//! beyond what a cpu and a core can do. This is a quadratic assignment problem. A greedy start is improved by swaps; then an iterated local
//! search shakes a few threads and improves again, until a number of steps is spent. The result depends on the input alone.

use corewise_machine::random::RandomGenerator;

/// Seed of the search.
const SEED: u64 = 0x7a1c;
/// Number of table cells that the search may touch for each thread, up to [`FEW_THREADS`]: 30 to 150 ms for these. More threads
/// get more.
const STEPS: u64 = 400_000;
const FEW_THREADS: usize = 64;
/// Largest number of table cells: about 2 s.
const MOST_STEPS: u64 = 200_000_000;
/// A greedy start that leaves out weak talk: less than this share of the strongest of either thread. Otherwise it puts groups beside each other
/// that hardly talk, though there is room.
const STRONG_SHARE: f64 = 0.1;
/// Number of starts with all threads in line.
const LINES: usize = 7;
/// Smallest improvement that counts, relative to the cost.
const LEAST_GAIN: f64 = 1e-9;
/// Share of the cost by which a worse assignment may still be followed, at the beginning; it falls to none.
const HEAT: f64 = 0.002;
/// Number of cpus near another.
const NEARBY: usize = 8;
/// Threads that are moved before each descent, beside two.
const LONGEST_CHAIN: usize = 6;
/// Weight of load beyond one second in a second, on one cpu: a thread that waits for its cpu cannot do anything else.
const CPU_OVERLOAD: f64 = 4.0;
/// The same for the cpus of one core, which share its units.
const CORE_OVERLOAD: f64 = 1.0;
/// Cost of the square of a load: threads without much talk are spread.
const LOAD_COST: f64 = 1e-4;

/// Threads, and the cpus they are assigned to.
#[derive(Clone, Debug, Default)]
pub struct MappingProblem {
    /// Share of the time in which each thread computes.
    pub busy: Vec<f64>,
    /// Pairs of threads that talk, with their rate per second, both directions together. No pair twice.
    pub talk: Vec<(usize, usize, f64)>,
    /// Costs of one message between two cpus in seconds, row by row: symmetric, with the cost on one cpu in the diagonal.
    pub costs: Vec<f64>,
    /// The core of each cpu, as any number.
    pub cores: Vec<usize>,
    /// Number of threads that may share a cpu.
    pub seats: usize,
    /// Cost of each thread by itself on each cpu, in seconds, row by row: of talk with something that has a place already. Empty for none.
    pub anchors: Vec<f64>,
}

impl MappingProblem {
    /// Returns the number of threads.
    fn threads(&self) -> usize {
        self.busy.len()
    }

    /// Returns the number of cpus.
    fn cpus(&self) -> usize {
        self.cores.len()
    }

    /// Returns the cost of an assignment: a cpu for each thread, by its place in the list of cpus.
    pub fn assignment_cost(&self, cpus: &[usize]) -> f64 {
        self.talk_cost(cpus) + self.load_cost(cpus)
    }

    /// Returns the part of the cost that is talk: seconds in a second.
    pub fn talk_cost(&self, cpus: &[usize]) -> f64 {
        let pairs = self.talk.iter().map(|&(a, b, rate)| rate * self.costs[cpus[a] * self.cpus() + cpus[b]]);
        let anchored = |(thread, cpu): (usize, &usize)| self.anchors.get(thread * self.cpus() + cpu).unwrap_or(&0.0);
        pairs.sum::<f64>() + cpus.iter().enumerate().map(anchored).sum::<f64>()
    }

    fn load_cost(&self, cpus: &[usize]) -> f64 {
        let (mut of_cpus, mut of_cores) = (vec![0.0; self.cpus()], vec![0.0; self.count_cores()]);
        for (&cpu, busy) in cpus.iter().zip(&self.busy) {
            of_cpus[cpu] += busy;
            of_cores[self.cores[cpu]] += busy;
        }
        let of_cpus: f64 = of_cpus.into_iter().map(|load| overload_cost(load, CPU_OVERLOAD)).sum();
        of_cpus + of_cores.into_iter().map(|load| overload_cost(load, CORE_OVERLOAD)).sum::<f64>()
    }

    /// Returns the cpus that a message from this one reaches at least cost.
    fn nearest_cpus(&self, cpu: usize) -> Vec<usize> {
        let row = &self.costs[cpu * self.cpus()..][..self.cpus()];
        let mut others: Vec<usize> = (0..self.cpus()).filter(|other| self.seats > 1 || *other != cpu).collect();
        others.sort_by(|a, b| row[*a].total_cmp(&row[*b]));
        others.truncate(NEARBY);
        others
    }

    fn count_cores(&self) -> usize {
        self.cores.iter().max().map_or(0, |most| most + 1)
    }

    /// Returns an assignment: a cpu for each thread, by its place in the list of cpus. There must be a seat for each thread.
    ///
    /// # Panics
    /// If there are more threads than seats.
    pub fn assign_threads(&self) -> Vec<usize> {
        assert!(self.threads() <= self.cpus() * self.seats, "each thread needs a seat");
        if self.threads() == 0 {
            return Vec::new();
        }
        let mut search = AssignmentSearch::new(self);
        let mut starts = vec![search.place_greedily(0.0), search.place_greedily(STRONG_SHARE)];
        starts.extend((0..LINES).map(|_| search.place_in_line()));
        search.iterate(&starts);
        search.list_cpus()
    }
}

/// Returns the cost of a load.
fn overload_cost(load: f64, weight: f64) -> f64 {
    weight * (load - 1.0).max(0.0) + LOAD_COST * load * load
}

/// An assignment that is improved. Seats that no thread takes are taken by dummies, so that every move is a swap.
struct AssignmentSearch<'a> {
    problem: &'a MappingProblem,
    neighbours: Vec<Vec<(usize, f64)>>,
    /// Rates of all pairs, row by row.
    rates: Vec<f64>,
    /// The unit on each seat, and the seat of each: threads first, then dummies.
    unit_at: Vec<usize>,
    seat_of: Vec<usize>,
    /// Cost of the talk of each thread if it were on each cpu and all others where they are, row by row.
    pulls: Vec<f64>,
    of_cpus: Vec<f64>,
    of_cores: Vec<f64>,
    has_load: bool,
    /// The nearest cpus of each.
    nearest: Vec<Vec<usize>>,
    steps_left: u64,
    random: RandomGenerator,
}

impl<'a> AssignmentSearch<'a> {
    fn new(problem: &'a MappingProblem) -> Self {
        let (threads, cpus) = (problem.threads(), problem.cpus());
        let mut neighbours = vec![Vec::new(); threads];
        let mut rates = vec![0.0; threads * threads];
        for &(a, b, rate) in &problem.talk {
            neighbours[a].push((b, rate));
            neighbours[b].push((a, rate));
            rates[a * threads + b] = rate;
            rates[b * threads + a] = rate;
        }
        let seats = cpus * problem.seats;
        Self {
            problem,
            neighbours,
            rates,
            unit_at: (0..seats).collect(),
            seat_of: (0..seats).collect(),
            pulls: vec![0.0; threads * cpus],
            of_cpus: vec![0.0; cpus],
            of_cores: vec![0.0; problem.count_cores()],
            nearest: (0..cpus).map(|cpu| problem.nearest_cpus(cpu)).collect(),
            has_load: problem.busy.iter().any(|busy| *busy > 0.0),
            steps_left: (STEPS * (threads * threads.div_ceil(FEW_THREADS)) as u64).min(MOST_STEPS),
            random: RandomGenerator::new(SEED),
        }
    }

    fn cpu_of(&self, unit: usize) -> usize {
        self.seat_of[unit] / self.problem.seats
    }

    fn list_cpus(&self) -> Vec<usize> {
        (0..self.problem.threads()).map(|thread| self.cpu_of(thread)).collect()
    }

    fn spend(&mut self, steps: usize) {
        self.steps_left = self.steps_left.saturating_sub(steps as u64);
    }

    fn busy_of(&self, unit: usize) -> f64 {
        self.problem.busy.get(unit).copied().unwrap_or(0.0)
    }

    /// Returns seats: for the thread with the most talk first, and then always for the one with the most talk with placed ones, where that
    /// is cheapest. Of several such cpus it takes the one with the most free seats nearby. Talk below a share of the strongest of both threads
    /// does not count.
    fn place_greedily(&mut self, least_share: f64) -> Vec<usize> {
        let (threads, cpus, seats) = (self.problem.threads(), self.problem.cpus(), self.problem.seats);
        self.of_cpus.fill(0.0);
        self.of_cores.fill(0.0);
        let mut free: Vec<usize> = vec![seats; cpus];
        let mut room: Vec<f64> = (0..cpus).map(|cpu| (0..cpus).map(|other| self.nearness(cpu, other)).sum()).collect();
        let most_room = room.iter().fold(0.0, |most: f64, own| most.max(*own)).max(f64::MIN_POSITIVE);
        let mut costs = self.problem.anchors.clone();
        costs.resize(threads * cpus, 0.0);
        let strongest =
            |of: &Vec<(usize, f64)>| least_share * of.iter().fold(0.0, |most: f64, (_, rate)| most.max(*rate));
        let least: Vec<f64> = self.neighbours.iter().map(strongest).collect();
        let total = |thread: usize| self.neighbours[thread].iter().map(|(_, rate)| rate).sum::<f64>();
        let mut drawn: Vec<(f64, f64)> = (0..threads).map(|thread| (0.0, total(thread))).collect();
        let mut waiting: Vec<usize> = (0..threads).collect();
        let mut placed = vec![0; threads];
        let scale = self.problem.costs.iter().fold(0.0, |most: f64, cost| most.max(*cost));
        while !waiting.is_empty() {
            let best = (0..waiting.len()).max_by(|&a, &b| {
                let key = |at: usize| drawn[waiting[at]];
                key(a).0.total_cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1)).then(waiting[b].cmp(&waiting[a]))
            });
            let thread = waiting.swap_remove(best.unwrap_or(0));
            let price = |cpu: usize| {
                let load = self.load_gain(cpu, self.busy_of(thread));
                costs[thread * cpus + cpu] + load - LEAST_GAIN * scale * room[cpu] / most_room
            };
            let open = (0..cpus).filter(|cpu| free[*cpu] > 0);
            let cpu = open.min_by(|&a, &b| price(a).total_cmp(&price(b))).unwrap_or(0);
            placed[thread] = cpu * seats + seats - free[cpu];
            free[cpu] -= 1;
            self.of_cpus[cpu] += self.busy_of(thread);
            self.of_cores[self.problem.cores[cpu]] += self.busy_of(thread);
            (0..cpus).for_each(|other| room[other] -= self.nearness(other, cpu) / seats as f64);
            let strong = self.neighbours[thread].iter();
            for &(partner, rate) in strong.filter(|(partner, rate)| *rate >= least[thread].min(least[*partner])) {
                drawn[partner].0 += rate;
                (0..cpus).for_each(|other| costs[partner * cpus + other] += rate * self.cost(other, cpu));
            }
        }
        placed
    }

    /// Returns seats for threads in line from a random one, each beside its partners, along a line of cpus that are near each other.
    fn place_in_line(&mut self) -> Vec<usize> {
        let (threads, cpus, seats) = (self.problem.threads(), self.problem.cpus(), self.problem.seats);
        let [first, first_cpu] = [threads, cpus].map(|number| self.random.next_below(number));
        let line_of_threads = arrange_line(first, threads, |a, b| self.rates[a * threads + b]);
        let line_of_cpus = arrange_line(first_cpu, cpus, |a, b| self.nearness(a, b));
        let mut placed = vec![0; threads];
        for (at, thread) in line_of_threads.into_iter().enumerate() {
            placed[thread] = line_of_cpus[at / seats] * seats + at % seats;
        }
        placed
    }

    /// Returns the penalty for more load on a cpu.
    fn load_gain(&self, cpu: usize, busy: f64) -> f64 {
        let (own, core) = (self.of_cpus[cpu], self.of_cores[self.problem.cores[cpu]]);
        let more = |load: f64, weight| overload_cost(load + busy, weight) - overload_cost(load, weight);
        more(own, CPU_OVERLOAD) + more(core, CORE_OVERLOAD)
    }

    fn cost(&self, a: usize, b: usize) -> f64 {
        self.problem.costs[a * self.problem.cpus() + b]
    }

    fn nearness(&self, a: usize, b: usize) -> f64 {
        if a == b { 0.0 } else { 1.0 / self.cost(a, b).max(f64::MIN_POSITIVE) }
    }

    /// Puts each thread on its seat, and dummies on all others; computes all tables anew.
    fn take_seats(&mut self, seats: &[usize]) {
        let cpus = self.problem.cpus();
        self.unit_at.fill(usize::MAX);
        for (thread, &seat) in seats.iter().enumerate() {
            (self.seat_of[thread], self.unit_at[seat]) = (seat, thread);
        }
        let mut dummy = seats.len();
        for seat in 0..self.unit_at.len() {
            if self.unit_at[seat] == usize::MAX {
                (self.seat_of[dummy], self.unit_at[seat]) = (seat, dummy);
                dummy += 1;
            }
        }
        self.of_cpus.fill(0.0);
        self.of_cores.fill(0.0);
        self.pulls = self.problem.anchors.clone();
        self.pulls.resize(seats.len() * cpus, 0.0);
        for thread in 0..seats.len() {
            let cpu = self.cpu_of(thread);
            self.of_cpus[cpu] += self.busy_of(thread);
            self.of_cores[self.problem.cores[cpu]] += self.busy_of(thread);
            for &(partner, rate) in &self.neighbours[thread] {
                add_row(&mut self.pulls[partner * cpus..][..cpus], &self.problem.costs[cpu * cpus..][..cpus], rate);
            }
        }
        self.spend(self.neighbours.iter().map(Vec::len).sum::<usize>() * cpus);
    }

    /// Returns the change of the cost if a thread and a unit swap their seats.
    fn swap_gain(&self, thread: usize, unit: usize) -> f64 {
        let (cpus, threads) = (self.problem.cpus(), self.problem.threads());
        let (here, there) = (self.cpu_of(thread), self.cpu_of(unit));
        let own = &self.pulls[thread * cpus..][..cpus];
        let mut gain = own[there] - own[here];
        if unit < threads {
            let other = &self.pulls[unit * cpus..][..cpus];
            gain += other[here] - other[there];
            let rate = self.rates[thread * threads + unit];
            gain += rate * (2.0 * self.cost(here, there) - self.cost(here, here) - self.cost(there, there));
        }
        if self.has_load {
            gain + self.load_change(here, there, self.busy_of(thread) - self.busy_of(unit))
        } else {
            gain
        }
    }

    /// Returns the change of the penalties if load goes from one cpu to another.
    fn load_change(&self, here: usize, there: usize, busy: f64) -> f64 {
        let change = |load: f64, by: f64, weight| overload_cost(load + by, weight) - overload_cost(load, weight);
        let (core, other) = (self.problem.cores[here], self.problem.cores[there]);
        let of_cpus = change(self.of_cpus[here], -busy, CPU_OVERLOAD) + change(self.of_cpus[there], busy, CPU_OVERLOAD);
        if core == other {
            return of_cpus;
        }
        let of_cores = change(self.of_cores[core], -busy, CORE_OVERLOAD);
        of_cpus + of_cores + change(self.of_cores[other], busy, CORE_OVERLOAD)
    }

    fn swap_seats(&mut self, thread: usize, unit: usize) {
        let (here, there) = (self.cpu_of(thread), self.cpu_of(unit));
        let (seat, other) = (self.seat_of[thread], self.seat_of[unit]);
        (self.seat_of[thread], self.seat_of[unit]) = (other, seat);
        (self.unit_at[other], self.unit_at[seat]) = (thread, unit);
        if here == there {
            return;
        }
        self.move_pull(thread, here, there);
        self.move_pull(unit, there, here);
        let busy = self.busy_of(thread) - self.busy_of(unit);
        self.of_cpus[here] -= busy;
        self.of_cpus[there] += busy;
        self.of_cores[self.problem.cores[here]] -= busy;
        self.of_cores[self.problem.cores[there]] += busy;
    }

    /// Updates what a unit's partners pay, after it went from one cpu to another.
    fn move_pull(&mut self, unit: usize, from: usize, to: usize) {
        let cpus = self.problem.cpus();
        let costs = &self.problem.costs;
        let Some(neighbours) = self.neighbours.get(unit) else { return };
        for &(partner, rate) in neighbours {
            let row = &mut self.pulls[partner * cpus..][..cpus];
            let (old, new) = (&costs[from * cpus..][..cpus], &costs[to * cpus..][..cpus]);
            row.iter_mut().zip(old.iter().zip(new)).for_each(|(pull, (old, new))| *pull += rate * (new - old));
        }
        let steps = neighbours.len() * cpus;
        self.spend(steps);
    }

    /// Swaps each of these threads with its best partner as long as that lowers the cost, and then its partners. Returns the
    /// change of the cost.
    fn descend(&mut self, mut active: Vec<usize>, least: f64) -> f64 {
        let mut is_active = vec![false; self.problem.threads()];
        active.iter().for_each(|thread| is_active[*thread] = true);
        let mut change = 0.0;
        while let Some(thread) = active.pop() {
            is_active[thread] = false;
            let Some((unit, gain)) = self.best_swap(thread).filter(|(_, gain)| *gain < -least) else { continue };
            self.swap_seats(thread, unit);
            change += gain;
            let partners = self.neighbours.get(unit).into_iter().chain([&self.neighbours[thread]]).flatten();
            let touched: Vec<usize> = partners.map(|(partner, _)| *partner).chain([thread, unit]).collect();
            for other in touched {
                if is_active.get(other) == Some(&false) {
                    is_active[other] = true;
                    active.push(other);
                }
            }
            if self.steps_left == 0 {
                break;
            }
        }
        change
    }

    fn best_swap(&mut self, thread: usize) -> Option<(usize, f64)> {
        self.spend(self.unit_at.len());
        let here = self.cpu_of(thread);
        let others = self.unit_at.iter().enumerate().filter(|(seat, _)| seat / self.problem.seats != here);
        others.map(|(_, &unit)| (unit, self.swap_gain(thread, unit))).min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Descends from each start; then shakes a few threads of the best and descends, again and again, and keeps what is better.
    fn iterate(&mut self, starts: &[Vec<usize>]) {
        let threads = self.problem.threads();
        let mut best = (f64::INFINITY, Vec::new());
        for start in starts {
            self.take_seats(start);
            let begun = self.problem.assignment_cost(&self.list_cpus());
            let cost = begun + self.descend((0..threads).rev().collect(), LEAST_GAIN * begun.max(f64::MIN_POSITIVE));
            if cost < best.0 {
                best = (cost, self.seat_of[..threads].to_vec());
            }
        }
        let (mut cost, mut current) = best.clone();
        let least = LEAST_GAIN * cost.max(f64::MIN_POSITIVE);
        self.return_to(&current);
        let budget = self.steps_left.max(1) as f64;
        while self.steps_left > 0 {
            self.spend(self.unit_at.len());
            let (shaken, change) = self.shake();
            let now = cost + change + self.descend(shaken, least);
            let heat = HEAT * best.0 * self.steps_left as f64 / budget;
            if now < cost - least || self.random.next_unit() < ((cost - now) / heat.max(f64::MIN_POSITIVE)).exp() {
                cost = now;
                current.copy_from_slice(&self.seat_of[..threads]);
            } else {
                self.return_to(&current);
            }
            if cost < best.0 - least {
                best = (cost, current.clone());
            }
        }
        self.return_to(&best.1);
    }

    /// Moves a few threads near a random partner of theirs, each displaced thread after its displacer; returns the
    /// threads, and the change of the cost.
    fn shake(&mut self) -> (Vec<usize>, f64) {
        let threads = self.problem.threads();
        let count = 2 + self.random.next_below(LONGEST_CHAIN);
        let (mut shaken, mut change) = (Vec::new(), 0.0);
        let mut next = self.random.next_below(threads);
        for _ in 0..count {
            let thread = if next < threads { next } else { self.random.next_below(threads) };
            let seat = self.draw_seat(thread);
            let unit = self.unit_at[seat];
            next = unit;
            if self.cpu_of(thread) != self.cpu_of(unit) {
                change += self.swap_gain(thread, unit);
                self.swap_seats(thread, unit);
                shaken.extend([thread, unit].into_iter().filter(|unit| *unit < threads));
            }
        }
        (shaken, change)
    }

    /// Returns a random seat near a random partner of a thread, or any if it has none.
    fn draw_seat(&mut self, thread: usize) -> usize {
        let partners = self.neighbours[thread].len();
        if partners == 0 {
            return self.random.next_below(self.unit_at.len());
        }
        let (partner, _) = self.neighbours[thread][self.random.next_below(partners)];
        let near = &self.nearest[self.cpu_of(partner)];
        if near.is_empty() {
            return self.seat_of[thread];
        }
        let cpu = near[self.random.next_below(near.len())];
        cpu * self.problem.seats + self.random.next_below(self.problem.seats)
    }

    /// Restores seats by swaps of the threads that have moved.
    fn return_to(&mut self, seats: &[usize]) {
        for (thread, &seat) in seats.iter().enumerate() {
            if self.seat_of[thread] != seat {
                self.swap_seats(thread, self.unit_at[seat]);
            }
        }
    }
}

/// Arranges units in a line from a first one: always the next with the most weight to those in line, less the weight to the others.
fn arrange_line(first: usize, units: usize, weight: impl Fn(usize, usize) -> f64) -> Vec<usize> {
    let total = |unit: usize| (0..units).filter(|other| *other != unit).map(|other| weight(unit, other)).sum::<f64>();
    let mut gains: Vec<f64> = (0..units).map(|unit| -total(unit)).collect();
    gains[first] = f64::INFINITY;
    let mut waiting: Vec<usize> = (0..units).collect();
    let mut line = Vec::with_capacity(units);
    while let Some(at) = (0..waiting.len()).max_by(|&a, &b| gains[waiting[a]].total_cmp(&gains[waiting[b]])) {
        let unit = waiting.swap_remove(at);
        waiting.iter().for_each(|other| gains[*other] += 2.0 * weight(unit, *other));
        line.push(unit);
    }
    line
}

fn add_row(row: &mut [f64], costs: &[f64], rate: f64) {
    row.iter_mut().zip(costs).for_each(|(pull, cost)| *pull += rate * cost);
}
