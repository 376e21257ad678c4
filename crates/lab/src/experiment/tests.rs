//! Sessions with a runner that makes numbers up: what is run when, what is kept, and how a session ends.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};

use corewise_machine::random::RandomGenerator;
use corewise_machine::{CpuSet, generate};
use corewise_model::trial::{ConfirmationStretch, SHORTEST_TRIAL, TrialMetric, experiment_standing};
use corewise_statistics::experiment::{ExpectedNoise, ExperimentStanding, Verdict};

use super::*;

/// Candidate 1 is as good as the baseline, candidate 2 a fifth better, with 2 % of noise.
const EFFECTS: [f64; 3] = [0.0, 0.0, 0.2];

fn experiment(seed: u64) -> Experiment {
    let arm = |name: &str, cpus| PlacementArm::new(name, cpus, "");
    Experiment {
        corewise: "test".to_owned(),
        started_unix_ms: 0,
        seed,
        machine: generate::one_package_machine(4, false, &[(CpuSet::first_cpus(4), 32)]),
        workload: TriedWorkload::new(vec!["made-up".to_owned()], "/".into(), TrialMetric::wall_time()),
        arms: vec![
            arm("OS default", None),
            arm("0-1", Some(CpuSet::first_cpus(2))),
            arm("0", Some(CpuSet::from_cpu(0))),
        ],
        policy: JudgingPolicy::default(),
        suite: None,
        stretch: None,
        origin: corewise_model::artifact::ArtifactOrigin::Measured,
    }
}

/// Makes up numbers that depend on the arm and on the number of the trial alone, as a real machine's would on time.
struct MadeUp<'a> {
    seconds: f64,
    fails: Option<usize>,
    stop_at: u64,
    stop: &'a AtomicBool,
}

impl<'a> MadeUp<'a> {
    fn new(stop: &'a AtomicBool) -> Self {
        Self { seconds: 1.0, fails: None, stop_at: u64::MAX, stop }
    }
}

impl TrialRunner for MadeUp<'_> {
    fn run(&mut self, _: &PlacementArm, place: usize, request: TrialRequest) -> Result<TrialResult, RunnerEnd> {
        let TrialRequest { trial, repeats, .. } = request;
        if trial >= self.stop_at {
            self.stop.store(true, Ordering::SeqCst);
            return Err(RunnerEnd::Stopped);
        }
        let noise = 0.02 * RandomGenerator::new(trial).next_normal();
        let value = self.seconds * (noise - EFFECTS[place]).exp();
        let outcome = match self.fails {
            Some(fails) if fails == place => TrialOutcome::Failed { why: "made up".to_owned(), output: String::new() },
            _ => TrialOutcome::Value(value),
        };
        let observed = TrialObservations { wall_s: value, ..TrialObservations::default() };
        Ok(TrialResult { repeats, outcome, guards: Vec::new(), readings: Vec::new(), observed })
    }

    fn pause_before(&self, _: Duration) -> Duration {
        Duration::ZERO
    }
}

#[derive(Default)]
struct KeptTrials {
    trials: Vec<Trial>,
    begun: u32,
    standings: u32,
    forecasts: Vec<SessionForecast>,
}

impl ExperimentObserver for KeptTrials {
    type Error = Infallible;

    fn begin_trial(&mut self, _: u32, _: usize, _: &ExperimentTime) {
        self.begun += 1;
    }

    fn keep_trial(&mut self, trial: &Trial) -> Result<(), Infallible> {
        self.trials.push(trial.clone());
        Ok(())
    }

    fn show_forecast(&mut self, forecast: &SessionForecast) {
        self.forecasts.push(*forecast);
    }

    fn show_standing(&mut self, _: &TrialDesign) {
        self.standings += 1;
    }
}

/// Sixty blocks at most, and no other limit.
fn usual_limits(stop: &AtomicBool) -> ExperimentLimits<'_> {
    ExperimentLimits {
        blocks: 60,
        least_blocks: 0,
        budget: None,
        reserve: None,
        worse: None,
        rest: None,
        shortest_trial: SHORTEST_TRIAL,
        stop,
    }
}

/// A session; its standing, how it ended, and what was kept in it.
fn session(
    experiment: &Experiment,
    earlier: &[Trial],
    change: impl FnOnce(&mut MadeUp<'_>, &mut ExperimentLimits<'_>),
) -> (ExperimentStanding, ExperimentEnd, KeptTrials) {
    let stop = AtomicBool::new(false);
    let mut runner = MadeUp::new(&stop);
    let mut limits = usual_limits(&stop);
    change(&mut runner, &mut limits);
    let mut kept = KeptTrials::default();
    let Ok((design, ending)) = conduct_experiment(experiment, earlier, &mut runner, limits, &mut kept);
    (design.current_standing(), ending, kept)
}

#[test]
fn a_clear_winner_ends_it() {
    let (standing, ending, kept) = session(&experiment(7), &[], |_, _| {});
    assert_eq!((standing.verdict, ending), (Verdict::Wins { arm: 2 }, ExperimentEnd::Decided));
    let warm_ups: Vec<usize> = kept.trials.iter().filter(|trial| trial.block == 0).map(|trial| trial.arm).collect();
    assert_eq!(warm_ups, [0, 1, 2], "each arm runs once before the first block");
    assert_eq!(kept.begun as usize, kept.trials.len());
    assert_eq!(kept.standings, kept.trials.last().unwrap().block);
    for block in 1..=kept.standings {
        let places: Vec<u32> =
            kept.trials.iter().filter(|trial| trial.block == block).map(|trial| trial.place).collect();
        assert_eq!(places, (0..places.len() as u32).collect::<Vec<_>>());
    }
}

#[test]
fn a_budget_too_short_for_a_verdict_is_announced_extended_or_not_spent() {
    let second = Duration::from_secs(1);
    let short =
        |reserve| session(&experiment(7), &[], |_, limits| (limits.budget, limits.reserve) = (Some(second), reserve));
    let (_, ending, kept) = short(None);
    let [forecast] = kept.forecasts[..] else { panic!("one forecast: {:?}", kept.forecasts) };
    assert!(!forecast.fits_budget() && forecast.trials == 18, "six blocks of three: {forecast:?}");
    assert!(
        forecast.earliest > 10 * second && ending == ExperimentEnd::Decided,
        "made-up runs take no time: {forecast:?}"
    );
    let (_, ending, kept) = short(Some(second));
    assert!(
        matches!(ending, ExperimentEnd::TooShort(_)) && kept.trials.iter().all(|trial| trial.block == 0),
        "{ending:?}"
    );
    let (_, ending, kept) = short(Some(60 * second));
    assert!(ending == ExperimentEnd::Decided && kept.forecasts.is_empty(), "{ending:?}");
}

/// The verdict is a function of the stored trials: whoever reads them finds the same.
#[test]
fn the_trials_alone_give_the_standing() {
    let experiment = experiment(7);
    let (standing, _, kept) = session(&experiment, &[], |_, _| {});
    assert_eq!(experiment_standing(&experiment, &kept.trials), standing);
}

#[test]
fn a_session_that_was_cut_off_goes_on() {
    let experiment = experiment(11);
    for cut in [0, 1, 3, 5, 9, 14] {
        let (_, ending, first) = session(&experiment, &[], |runner, _| runner.stop_at = cut);
        assert_eq!((ending, first.trials.len() as u64), (ExperimentEnd::Stopped, cut));
        let (standing, ending, second) = session(&experiment, &first.trials, |_, _| {});
        assert_eq!((&standing.verdict, ending), (&Verdict::Wins { arm: 2 }, ExperimentEnd::Decided), "cut at {cut}");
        let last_of_first = first.trials.last().map_or(0, |trial| trial.block);
        let blocks: Vec<u32> = second.trials.iter().map(|trial| trial.block).filter(|block| *block > 0).collect();
        assert!(blocks.iter().all(|block| *block > last_of_first), "a block is not mended later: {blocks:?}");
        let all = [first.trials, second.trials].concat();
        assert_eq!(experiment_standing(&experiment, &all), standing, "cut at {cut}");
    }
}

#[test]
fn what_is_decided_is_not_run_again() {
    let experiment = experiment(7);
    let (_, _, kept) = session(&experiment, &[], |_, _| {});
    let (standing, ending, again) = session(&experiment, &kept.trials, |_, _| {});
    assert_eq!((standing.verdict, ending, again.trials.len()), (Verdict::Wins { arm: 2 }, ExperimentEnd::Decided, 0));
}

/// As `--resume --boots` does: blocks are added to what is decided.
#[test]
fn a_decided_experiment_goes_on_if_it_is_told_to() {
    let experiment = experiment(7);
    let (_, _, kept) = session(&experiment, &[], |_, _| {});
    let before = kept.trials.last().unwrap().block;
    let (standing, ending, more) = session(&experiment, &kept.trials, |_, limits| limits.least_blocks = 5);
    assert_eq!((standing.verdict, ending), (Verdict::Wins { arm: 2 }, ExperimentEnd::Decided));
    assert!(more.trials.last().unwrap().block >= before + 5, "{:?}", more.trials.last());
    let of_boots = Experiment { policy: JudgingPolicy { boots: Some(3), ..experiment.policy.clone() }, ..experiment };
    let begun = OpenExperiment { experiment: of_boots, trials: kept.trials.clone(), stored: None };
    let stop = AtomicBool::new(false);
    assert_eq!(ExperimentLimits::from_session(&begun, None, &stop).least_blocks, 6, "two candidates");
    let blocks = |budget| ExperimentLimits::from_session(&begun, budget, &stop).blocks;
    assert!(blocks(Some(Duration::from_secs(1))) > 3 * blocks(None), "a budget is the limit");
    let mut full = begun.experiment;
    full.policy.most_runs = Some(kept.trials.iter().filter(|trial| trial.block > 0).count() as u32);
    let (_, _, more) = session(&full, &kept.trials, |_, limits| limits.least_blocks = 5);
    assert_eq!(more.trials.len(), 0, "no run is left");
}

#[test]
fn limits_end_it() {
    let experiment = experiment(7);
    let (_, ending, kept) = session(&experiment, &[], |_, limits| limits.blocks = 2);
    assert_eq!((ending, kept.standings), (ExperimentEnd::Limit, 2));
    let (standing, ending, kept) = session(&experiment, &[], |_, limits| limits.budget = Some(Duration::ZERO));
    assert_eq!((ending, kept.trials.len()), (ExperimentEnd::Budget, 0));
    assert!(matches!(standing.verdict, Verdict::Undecided { .. }));
    let few = Experiment { policy: JudgingPolicy { most_runs: Some(8), ..JudgingPolicy::default() }, ..experiment };
    let (standing, ending, _) = session(&few, &[], |_, _| {});
    assert!(standing.runs <= 8 && ending == ExperimentEnd::Limit, "{} runs, {ending:?}", standing.runs);
}

#[test]
fn an_arm_that_fails_goes_and_never_looks_fast() {
    let (standing, _, kept) = session(&experiment(7), &[], |runner, _| runner.fails = Some(2));
    assert_eq!(standing.verdict, Verdict::NoMaterialDifference, "{standing:?}");
    let counted = kept.trials.iter().filter(|trial| trial.arm == 2 && trial.block > 0).count();
    assert!(counted <= 2, "{counted} runs of an arm that always fails");
}

#[test]
fn short_runs_make_a_trial_together() {
    let repeats = |seconds: f64| {
        let (_, _, kept) = session(&experiment(7), &[], |runner, _| runner.seconds = seconds);
        let of = |is_warm_up: bool| {
            let trials = kept.trials.iter().filter(|trial| (trial.block == 0) == is_warm_up);
            trials.map(|trial| trial.repeats).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(of(true), [1].into());
        of(false).into_iter().collect::<Vec<_>>()
    };
    assert_eq!(repeats(1.0), [1]);
    // The shortest run of the warm-up, a fifth shorter than usual, decides for all.
    assert!(matches!(repeats(0.01)[..], [22..=27]), "{:?}", repeats(0.01));
    assert_eq!(repeats(1e-6), [1_000]);
}

/// Runs whose time changes: the first of each arm takes one, all later ones the other, in seconds.
struct Changing {
    first_s: f64,
    later_s: f64,
    asked: Vec<TrialRequest>,
}

impl TrialRunner for Changing {
    fn run(&mut self, _: &PlacementArm, _: usize, request: TrialRequest) -> Result<TrialResult, RunnerEnd> {
        let wall_s = if self.asked.len() < EFFECTS.len() { self.first_s } else { self.later_s };
        self.asked.push(request);
        let observed = TrialObservations { wall_s, ..TrialObservations::default() };
        Ok(TrialResult {
            repeats: request.repeats,
            outcome: TrialOutcome::Value(1.0),
            guards: Vec::new(),
            readings: Vec::new(),
            observed,
        })
    }

    fn pause_before(&self, _: Duration) -> Duration {
        Duration::ZERO
    }
}

/// The runs in a row that were asked for in each block, of runs whose time changes after the first.
fn repeats_of_changing(first_s: f64, later_s: f64, earlier: &[Trial]) -> (Vec<u32>, Vec<Trial>) {
    let (stop, mut kept) = (AtomicBool::new(false), KeptTrials::default());
    let blocks = 4 + earlier.iter().map(|trial| trial.block).max().unwrap_or_default();
    let limits = ExperimentLimits { blocks, ..usual_limits(&stop) };
    let mut runner = Changing { first_s, later_s, asked: Vec::new() };
    let Ok(_) = conduct_experiment(&experiment(7), earlier, &mut runner, limits, &mut kept);
    assert!(runner.asked.iter().all(|request| request.longest.is_some()), "a trial without a limit");
    let repeats: Vec<u32> = runner.asked.chunks(EFFECTS.len()).map(|block| block[0].repeats).collect();
    for (block, repeats) in runner.asked.chunks(EFFECTS.len()).zip(&repeats) {
        assert!(block.iter().all(|request| request.repeats == *repeats), "the arms of a block are compared alike");
    }
    (repeats, kept.trials)
}

#[test]
fn repeats_follow_the_latest_runs() {
    let (repeats, trials) = repeats_of_changing(0.004, 2.0, &[]);
    assert_eq!(repeats, [1, 50, 1, 1, 1], "the first runs had nothing to do");
    let (repeats, _) = repeats_of_changing(5.0, 0.01, &[]);
    assert_eq!(repeats, [1, 1, 20, 20, 20], "the first runs had all to do");
    let (repeats, _) = repeats_of_changing(2.0, 2.0, &trials);
    assert!(repeats.len() > 2 && repeats.iter().all(|repeats| *repeats == 1), "a session that goes on: {repeats:?}");
}

/// Asks before each of its runs whether there is another, and counts them.
struct Repeating {
    runs: u32,
}

impl TrialRunner for Repeating {
    fn run(&mut self, _: &PlacementArm, _: usize, request: TrialRequest) -> Result<TrialResult, RunnerEnd> {
        let (began, mut made) = (Instant::now(), 0);
        while request.needs_run(made, began)? {
            made += 1;
            self.runs += 1;
            assert!(self.runs < 50_000_000, "neither the budget nor the limit of a trial ended it");
        }
        let observed = TrialObservations { wall_s: 1e-9, ..TrialObservations::default() };
        Ok(TrialResult {
            repeats: made,
            outcome: TrialOutcome::Value(1.0),
            guards: Vec::new(),
            readings: Vec::new(),
            observed,
        })
    }

    fn pause_before(&self, _: Duration) -> Duration {
        Duration::ZERO
    }
}

#[test]
fn the_budget_ends_a_trial_between_two_runs() {
    let (stop, mut kept) = (AtomicBool::new(false), KeptTrials::default());
    let stretch = ConfirmationStretch { runs: u32::MAX, skipped: 0, of: None, won: None };
    let experiment = Experiment { stretch: Some(stretch), ..experiment(7) };
    let budget = Some(Duration::from_millis(200));
    let limits = ExperimentLimits { budget, ..usual_limits(&stop) };
    let Ok((_, ending)) = conduct_experiment(&experiment, &[], &mut Repeating { runs: 0 }, limits, &mut kept);
    assert_eq!(ending, ExperimentEnd::Budget);
    assert!(kept.trials.iter().all(|trial| trial.block == 0), "a part of a trial is none");
}

#[test]
fn a_trial_that_takes_too_long_is_of_the_runs_that_were_made() {
    let request = |longest| TrialRequest { repeats: 3, trial: 0, longest, until: None };
    let began = Instant::now();
    let needs = |longest, made| request(longest).needs_run(made, began).unwrap();
    assert_eq!([0, 1, 2, 3].map(|made| needs(None, made)), [true, true, true, false]);
    assert_eq!([0, 1, 2].map(|made| needs(Some(Duration::ZERO), made)), [true, false, false], "one run is made always");
    let over = TrialRequest { until: Some(began), ..request(None) };
    assert_eq!(over.needs_run(0, began), Ok(true));
    assert_eq!([1, 2].map(|made| over.needs_run(made, began)), [Err(RunnerEnd::OutOfTime), Err(RunnerEnd::OutOfTime)]);
    assert_eq!(over.needs_run(3, began), Ok(false), "a trial that is whole counts");
}

#[test]
fn it_rests_before_each_trial() {
    let stop = AtomicBool::new(false);
    struct Usual<'a>(MadeUp<'a>);
    impl TrialRunner for Usual<'_> {
        fn run(&mut self, arm: &PlacementArm, number: usize, request: TrialRequest) -> Result<TrialResult, RunnerEnd> {
            self.0.run(arm, number, request)
        }
    }
    let pause = |seconds| Usual(MadeUp::new(&stop)).pause_before(Duration::from_secs(seconds));
    assert_eq!([pause(0), pause(3), pause(3_600)], [20, 300, 2_000].map(Duration::from_millis));
}

/// Knows that an earlier experiment had 1 % of noise if it was about "made-up".
struct NoiseOfMadeUp;

impl corewise_machine::placement::MachineKnowledge for NoiseOfMadeUp {}

impl ExperimentKnowledge for NoiseOfMadeUp {
    fn expected_noise(&self, experiment: &Experiment) -> Option<ExpectedNoise> {
        let is_known = experiment.workload.command == ["made-up"];
        is_known.then_some(ExpectedNoise { gain_deviation: 0.01, experiment: Some(12) })
    }
}

#[test]
fn an_experiment_is_composed_for_the_noise_that_is_known() {
    use corewise_statistics::simulate::ProgramEffects;
    use corewise_statistics::simulate::noise::RunNoise;
    use simulated::SimulatedTruth;
    let (stop, machine) = (AtomicBool::new(false), experiment(1).machine);
    let of = |name: &str, knowledge: &dyn ExperimentKnowledge| {
        let simulation = SimulatedTruth { effects: ProgramEffects::from_gains(&[0.0]), noise: RunNoise::Typical };
        let subject = SimulatedSubject { name: name.to_owned(), simulation };
        let context = ExperimentContext {
            machine: &machine,
            knowledge,
            journals: None,
            estimates_clock: false,
            budget: None,
            stop: &stop,
        };
        // A policy that was taken over from another experiment has that one's noise.
        let expected_noise = Some(ExpectedNoise { gain_deviation: 0.5, experiment: Some(3) });
        let builder = ExperimentBuilder::new().policy(JudgingPolicy { expected_noise, ..JudgingPolicy::default() });
        builder.build(&subject, &context, "", &mut |_| {}).expect("it can be tried").policy.expected_noise
    };
    assert_eq!(of("made-up", &NoiseOfMadeUp).and_then(|noise| noise.experiment), Some(12));
    assert_eq!(of("another", &NoiseOfMadeUp), None);
    assert_eq!(of("made-up", &NoKnowledge), None);
}

#[test]
fn a_simulated_program_is_judged_as_a_real_one() {
    use corewise_statistics::simulate::ProgramEffects;
    use corewise_statistics::simulate::noise::RunNoise;
    use simulated::{SimulatedRunner, SimulatedTruth};
    let simulation = SimulatedTruth { effects: ProgramEffects::from_gains(&[0.0, 0.2]), noise: RunNoise::Typical };
    let verdict = |seed: u64| {
        let stop = AtomicBool::new(false);
        let limits = usual_limits(&stop);
        let mut runner = SimulatedRunner::new(&simulation, seed);
        let Ok((design, _)) =
            conduct_experiment(&experiment(seed), &[], &mut runner, limits, &mut KeptTrials::default());
        design.current_standing()
    };
    assert_eq!(verdict(1).verdict, Verdict::Wins { arm: 2 });
    assert_eq!(verdict(1), verdict(1), "the same seed gives the same experiment");
}
