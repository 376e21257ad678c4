//! Solver for the gas in a box that is a ring in each direction; each thread has some of its layers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::exchange::LayerExchange;
use super::gas::{PrimitiveState, larger_or_nan};
use super::gate::{GateMember, StepGate};
use super::slab::{GasSlab, PARTS};
use crate::amount::WorkSpan;
use crate::crew::run_crew;
use crate::{WorkError, WorkloadSettings};

/// Cells that a wave may cross in a step. Below one half, so that the flow through a cell's two edges never exceeds its contents.
const COURANT: f64 = 0.4;

/// Initial state of the box, and when to end.
pub struct EulerProblem<'a> {
    /// Cells along x, y and z; at most as many threads work as there are cells along z.
    pub shape: [usize; 3],
    /// Width of a cell.
    pub width: f64,
    /// Returns the initial state of a cell, by its number along x, y and z.
    pub gas: &'a (dyn Fn([usize; 3]) -> PrimitiveState + Sync),
    /// End of the simulation.
    pub until: SolverEnd,
}

/// End of a simulation.
#[derive(Clone, Copy, Debug)]
pub enum SolverEnd {
    /// After this many steps.
    Steps(u64),
    /// At this time of the simulated gas; the last step is shortened to end there.
    Moment(f64),
    /// After this much computing time; at least one step.
    Elapsed(Duration),
}

/// Result of a simulation.
pub struct EulerSolution {
    /// Number of steps.
    pub steps: u64,
    /// Elapsed seconds.
    pub seconds: f64,
    /// Layers, in the order of z.
    pub slabs: Vec<GasSlab>,
    /// Sums of the variables over all cells, before and after, in an order that does not depend on the number of threads.
    pub sums: [[f64; PARTS]; 2],
}

/// State shared by the threads.
struct SolverState<'a> {
    problem: &'a EulerProblem<'a>,
    exchange: LayerExchange,
    gate: StepGate,
    /// Fastest wave of each thread, as bits, by the step's parity.
    speeds: [Vec<AtomicU64>; 2],
    /// True if the first thread's clock says that it is enough, by the step's parity.
    is_over: [AtomicBool; 2],
    stop: &'a AtomicBool,
}

/// Runs the simulation.
///
/// # Errors
/// See [`WorkError`]; [`WorkError::Wrong`] if the gas reaches an impossible state.
pub fn solve_problem(
    settings: &WorkloadSettings,
    problem: &EulerProblem<'_>,
    stop: &AtomicBool,
) -> Result<EulerSolution, WorkError> {
    // A thread without a layer would only delay the others.
    let threads = settings.threads.min(problem.shape[2]);
    let settings = &WorkloadSettings { threads, ..settings.clone() };
    let shared = SolverState {
        problem,
        exchange: LayerExchange::new(problem.shape[2]),
        gate: StepGate::new(threads),
        speeds: [(); 2].map(|()| (0..threads).map(|_| AtomicU64::new(0)).collect()),
        is_over: Default::default(),
        stop,
    };
    let parts = run_crew(settings, "euler", |thread| shared.run_thread(thread, threads))?;
    let Some(parts) = parts.into_iter().collect::<Option<Vec<SolverPart>>>() else { return Err(WorkError::Stopped) };
    let sums = [0, 1].map(|when| add_sums(parts.iter().flat_map(|part| &part.sums[when])));
    let (steps, seconds) = (parts[0].steps, WorkSpan::total_seconds(parts.iter().map(|part| part.span)));
    Ok(EulerSolution { steps, seconds, slabs: parts.into_iter().map(|part| part.slab).collect(), sums })
}

/// Final state of one thread.
struct SolverPart {
    slab: GasSlab,
    steps: u64,
    /// Sums of each layer, before and after.
    sums: [Vec<[f64; PARTS]>; 2],
    span: WorkSpan,
}

fn add_sums<'a>(sums: impl Iterator<Item = &'a [f64; PARTS]>) -> [f64; PARTS] {
    sums.fold([0.0; PARTS], |all, sums| std::array::from_fn(|part| all[part] + sums[part]))
}

fn layer_sums(slab: &GasSlab) -> Vec<[f64; PARTS]> {
    let sums = |layer| std::array::from_fn(|part| slab.layer_part(layer, part).iter().sum());
    slab.layers().map(sums).collect()
}

impl SolverState<'_> {
    /// Runs one thread's work; `None` if it was stopped, or if another thread has gone.
    fn run_thread(&self, thread: usize, threads: usize) -> Result<Option<SolverPart>, WorkError> {
        let member = self.gate.new_member();
        let until = |thread: usize| self.problem.shape[2] * thread / threads;
        let mut slab = GasSlab::new(self.problem.shape, until(thread)..until(thread + 1), self.problem.gas);
        let before = layer_sums(&slab);
        // A step of zero time finds the fastest wave. Not along z, since the neighbours' layers are still missing.
        let Some(speed) = slab.step_along(0, 0.0, self.stop) else { return Ok(None) };
        if !member.wait_for_all() {
            return Ok(None);
        }
        let (steps, span) = WorkSpan::time_work(|| self.run_steps(&mut slab, thread, speed, &member));
        let Some(steps) = steps? else { return Ok(None) };
        member.leave_gate();
        let sums = [before, layer_sums(&slab)];
        Ok(Some(SolverPart { slab, steps, sums, span }))
    }

    /// Makes all steps; returns their number. Even steps go along x, y and z, odd ones back, so that two are exact to the second order (G.
    /// Strang, SIAM Journal on Numerical Analysis 5, 1968).
    fn run_steps(
        &self,
        slab: &mut GasSlab,
        thread: usize,
        mut speed: f64,
        member: &GateMember<'_>,
    ) -> Result<Option<u64>, WorkError> {
        let (begin, mut moment) = (std::time::Instant::now(), 0.0);
        for step in 0.. {
            let goes_back = step % 2 == 1;
            if goes_back {
                self.exchange.publish_ends(slab, step);
            }
            if thread == 0
                && let SolverEnd::Elapsed(time) = self.problem.until
            {
                self.is_over[step as usize % 2].store(step > 0 && begin.elapsed() >= time, Ordering::Relaxed);
            }
            self.speeds[step as usize % 2][thread].store(speed.to_bits(), Ordering::Relaxed);
            if !member.wait_for_all() {
                return Ok(None);
            }
            let time = self.step_time(step)?;
            let Some(time) = self.time_left(step, moment, time) else { return Ok(Some(step)) };
            moment += time;
            let ratio = time / self.problem.width;
            let Some(fastest) = self.run_step(slab, step, ratio, member) else { return Ok(None) };
            speed = fastest;
        }
        Ok(None)
    }

    /// Returns the longest step that the fastest wave of all allows.
    fn step_time(&self, step: u64) -> Result<f64, WorkError> {
        let speeds = self.speeds[step as usize % 2].iter().map(|bits| f64::from_bits(bits.load(Ordering::Relaxed)));
        let fastest = speeds.fold(0.0, larger_or_nan);
        if fastest.is_finite() && fastest > 0.0 {
            return Ok(COURANT * self.problem.width / fastest);
        }
        Err(WorkError::Wrong(format!("the fastest wave of the gas is {fastest} after {step} steps")))
    }

    /// Returns the length of the step; `None` if it was enough.
    fn time_left(&self, step: u64, moment: f64, time: f64) -> Option<f64> {
        let (is_enough, time) = match self.problem.until {
            SolverEnd::Steps(steps) => (step >= steps, time),
            SolverEnd::Moment(end) => (moment >= end, time.min(end - moment)),
            SolverEnd::Elapsed(_) => (self.is_over[step as usize % 2].load(Ordering::Relaxed), time),
        };
        (!is_enough).then_some(time)
    }

    /// Makes one step; returns the fastest wave afterwards.
    fn run_step(&self, slab: &mut GasSlab, step: u64, ratio: f64, member: &GateMember<'_>) -> Option<f64> {
        if step % 2 == 1 {
            self.exchange.fetch_beyond(slab, step);
            slab.step_along(2, ratio, self.stop)?;
            slab.step_along(1, ratio, self.stop)?;
            return slab.step_along(0, ratio, self.stop);
        }
        slab.step_along(0, ratio, self.stop)?;
        slab.step_along(1, ratio, self.stop)?;
        self.exchange.publish_ends(slab, step);
        if !member.wait_for_all() {
            return None;
        }
        self.exchange.fetch_beyond(slab, step);
        slab.step_along(2, ratio, self.stop)
    }
}
