//! Small effects under white noise with the default policy: what sessions of 60 blocks conclude, and how many blocks a proof
//! takes, next to a bettor who knows the effect and the noise.

use corewise_machine::random::RandomGenerator;
use corewise_statistics::experiment::{BlockOutcome, EffectEvidence, ExpectedNoise, JudgingPolicy};
use corewise_statistics::simulate::noise::RunNoise;
use corewise_statistics::simulate::{ProgramEffects, run_experiment};

use super::{
    ErrorBounds, count_repetitions, find_winner, is_better, is_no_difference, is_small, is_undecided, is_wrong,
    log_gains, percent_of, repeat_simulation, run_counts,
};

/// Blocks of a session.
const SESSION_BLOCKS: u32 = 60;
/// Blocks after which no proof is awaited.
const MOST_BLOCKS: u32 = 3000;
/// Largest number of blocks to a proof, in blocks of the bettor who knows everything; 1.25 is the aim.
const MOST_RATIO: f64 = 1.27;

/// One candidate with a true gain, or that and six equal ones.
#[derive(Clone, Copy)]
struct EffectRow {
    candidates: usize,
    /// True gain, in percent.
    size: f64,
    /// Standard deviation of a run, in percent.
    noise: f64,
}

const fn one_candidate(size: f64, noise: f64) -> EffectRow {
    EffectRow { candidates: 1, size, noise }
}

const ROWS: [EffectRow; 10] = [
    one_candidate(3.0, 1.2),
    one_candidate(3.0, 5.0),
    one_candidate(3.0, 10.0),
    one_candidate(5.0, 5.0),
    one_candidate(10.0, 10.0),
    one_candidate(2.0, 2.0),
    EffectRow { candidates: 7, size: 5.0, noise: 1.2 },
    one_candidate(0.0, 1.2),
    one_candidate(0.0, 5.0),
    one_candidate(0.0, 10.0),
];

impl EffectRow {
    fn true_gains(self) -> Vec<f64> {
        let mut sizes = vec![0.0; self.candidates];
        sizes[0] = self.size;
        log_gains(&sizes)
    }

    /// Returns the policy of an experiment that follows another one.
    fn later_policy(self) -> JudgingPolicy {
        let expected_noise = ExpectedNoise { gain_deviation: self.gain_deviation(), experiment: None };
        JudgingPolicy { expected_noise: Some(expected_noise), ..JudgingPolicy::default() }
    }

    fn gain_deviation(self) -> f64 {
        self.noise / 100.0 * 2.0_f64.sqrt()
    }

    /// Returns the hypothesis that is to be refuted: "equal", or "better by the margin" if that is true.
    fn refuted_gain(self) -> f64 {
        if self.size > 0.0 { 0.0 } else { JudgingPolicy::default().margin_ln() }
    }

    fn needed_evidence(self) -> f64 {
        let candidates = if self.size > 0.0 { self.candidates } else { 1 };
        candidates as f64 * JudgingPolicy::default().needed_evidence()
    }

    fn label(self) -> String {
        format!("| {} | +{} % | {} % |", self.candidates, self.size, self.noise)
    }
}

/// Prints the tables.
pub fn print_tables(share: f64, bounds: &mut ErrorBounds) {
    print_verdicts(share, bounds);
    print_proofs(share, bounds);
}

fn print_verdicts(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(2000.0, share);
    println!("\n## Small effects under white noise, margin 3 %, {SESSION_BLOCKS} blocks: {count} experiments each\n");
    println!(
        "| candidates | true | noise | earlier experiment | wins % | better % | below the margin % | no difference % | \
         undecided % | wrong % | runs, mean | runs, median |"
    );
    println!("|---|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    for row in ROWS {
        print_verdict(row, ("no", &JudgingPolicy::default()), count, bounds);
        print_verdict(row, ("yes", &row.later_policy()), count, bounds);
    }
}

fn print_verdict(row: EffectRow, (word, policy): (&str, &JudgingPolicy), count: u64, bounds: &mut ErrorBounds) {
    let most_runs = Some(SESSION_BLOCKS * (row.candidates as u32 + 1));
    let policy = JudgingPolicy { most_runs, ..policy.clone() };
    let gains = row.true_gains();
    let effects = ProgramEffects::from_gains(&gains);
    let standings =
        repeat_simulation(count, |seed| run_experiment(&effects, &white_noise(row.noise, seed), seed, &policy));
    let (mean, median) = run_counts(&standings);
    let wrong = percent_of(&standings, |standing| {
        find_winner(standing).is_some_and(|arm| arm > 1) || is_wrong(standing, gains[0], policy.margin_ln())
    });
    println!(
        "{} {word} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {wrong:.1} | {mean:.0} | {median:.0} |",
        row.label(),
        percent_of(&standings, |standing| find_winner(standing) == Some(1)),
        percent_of(&standings, is_better),
        percent_of(&standings, is_small),
        percent_of(&standings, is_no_difference),
        percent_of(&standings, is_undecided),
    );
    bounds.at_most(&format!("wrong proofs about +{} % at {} % noise", row.size, row.noise), wrong, 5.0);
}

fn white_noise(percent: f64, seed: u64) -> RunNoise {
    let mut random = RandomGenerator::new(seed);
    RunNoise::Trace((0..10_007).map(|_| percent / 100.0 * random.next_normal()).collect())
}

fn print_proofs(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(4000.0, share);
    println!("\n## Blocks until a proof, margin 3 %, white noise, {count} experiments each\n");
    println!(
        "| candidates | true | noise | proof | bettor who knows all | later experiment | ratio | first experiment | \
         ratio |"
    );
    println!("|---|---|---|---|--:|--:|--:|--:|--:|");
    for row in ROWS {
        let mean = |blocks: Vec<u32>| blocks.into_iter().map(f64::from).sum::<f64>() / count as f64;
        let least = mean(repeat_simulation(count, |seed| count_least_blocks(row, seed)));
        let [later, first] = [row.later_policy(), JudgingPolicy::default()]
            .map(|policy| mean(repeat_simulation(count, |seed| count_blocks(row, &policy, seed))));
        println!(
            "{} {} | {least:.1} | {later:.1} | {:.2} | {first:.1} | {:.2} |",
            row.label(),
            if row.size > 0.0 { "better" } else { "not better by 3 %" },
            later / least,
            first / least,
        );
        let what = format!("blocks for +{} % at {} % noise, of those of who knows all", row.size, row.noise);
        bounds.at_most(&what, later / least, MOST_RATIO);
    }
}

/// Returns the blocks until the evidence refutes the row's hypothesis.
fn count_blocks(row: EffectRow, policy: &JudgingPolicy, seed: u64) -> u32 {
    let mut evidence = EffectEvidence::for_policy(policy, row.refuted_gain());
    count_until(row, seed, |gain| {
        evidence.add_outcome(&BlockOutcome::from_pair(Some(-gain), Some(0.0)));
        let side = if row.size > 0.0 { evidence.above() } else { evidence.below() };
        side.current_wealth()
    })
}

/// Returns the same for the bettor whose wealth grows fastest of all: each factor is the probability of the block's sign, at
/// the true effect and noise, by that of a coin.
fn count_least_blocks(row: EffectRow, seed: u64) -> u32 {
    let effect = row.true_gains()[0] - row.refuted_gain();
    let mut wealth = 1.0;
    count_until(row, seed, |gain| {
        let distance = gain - row.refuted_gain();
        wealth *= 2.0 / (1.0 + (-2.0 * effect * distance / row.gain_deviation().powi(2)).exp());
        wealth
    })
}

fn count_until(row: EffectRow, seed: u64, mut wealth_after: impl FnMut(f64) -> f64) -> u32 {
    let (mut random, gain) = (RandomGenerator::new(seed), row.true_gains()[0]);
    let proof = (1..MOST_BLOCKS)
        .find(|_| wealth_after(gain + row.gain_deviation() * random.next_normal()) >= row.needed_evidence());
    proof.unwrap_or(MOST_BLOCKS)
}
