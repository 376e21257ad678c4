//! Whole screens of experiments whose truth is known.

mod lasting;
mod live;
mod proven;
mod wording;

use corewise_machine::CpuSet;
use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::trial::{
    Experiment, PlacementArm, Trial, TrialMetric, TrialObservations, TrialOutcome, TriedWorkload, experiment_standing,
};
use corewise_statistics::experiment::{ExpectedNoise, ExperimentStanding, JudgingPolicy, PlacementRace};
use corewise_statistics::simulate::noise::RunNoise;
use corewise_statistics::simulate::{ProgramEffects, SimulatedTrials};
use insta::assert_snapshot;

use super::*;
use crate::draw::fixtures::fabricated::ryzen_9950x3d;
use crate::draw::fixtures::hostile;
use crate::draw::markdown;
use crate::draw::story::forms::check_forms;

/// An experiment on the 9950X3D, with the runs that it took.
pub struct MadeExperiment {
    pub experiment: Experiment,
    pub trials: Vec<Trial>,
    pub standing: ExperimentStanding,
}

/// The names and cpus of the candidates.
const CANDIDATES: [(&str, &str); 4] =
    [("all - core:0", "1-15,17-31"), ("vcache", "0-7,16-23"), ("frequency", "8-15,24-31"), ("1", "1")];

fn made(gains: &[f64], noise: &RunNoise, seed: u64, most_blocks: u32) -> MadeExperiment {
    made_of(&ProgramEffects::from_gains(gains), noise, seed, most_blocks)
}

fn made_of(effects: &ProgramEffects, noise: &RunNoise, seed: u64, most_blocks: u32) -> MadeExperiment {
    made_by(JudgingPolicy::default(), effects, noise, seed, most_blocks)
}

pub fn made_by(
    policy: JudgingPolicy,
    effects: &ProgramEffects,
    noise: &RunNoise,
    seed: u64,
    most_blocks: u32,
) -> MadeExperiment {
    let arm = |(name, cpus): &(&str, &str)| PlacementArm::new(*name, CpuSet::parse_list(cpus).ok(), "");
    let baseline = PlacementArm::new("OS default", None, "");
    let experiment = Experiment {
        corewise: "0.1.0".into(),
        started_unix_ms: 0,
        seed,
        machine: ryzen_9950x3d(),
        workload: TriedWorkload::new(
            vec!["./app".into(), "--level".into(), "3".into()],
            "/".into(),
            TrialMetric::wall_time(),
        ),
        arms: std::iter::once(baseline).chain(CANDIDATES.iter().take(effects.gains.len()).map(arm)).collect(),
        policy,
        suite: None,
        stretch: None,
        origin: corewise_model::artifact::ArtifactOrigin::Measured,
    };
    let mut source = SimulatedTrials::new(effects, noise, !seed);
    let mut race = PlacementRace::new(effects.gains.len(), &experiment.policy);
    let mut trials = Vec::new();
    for block in 1..=most_blocks {
        if race.is_decided() {
            break;
        }
        let whole = source.make_block(&race.next_block(seed));
        for (place, run) in whole.runs.iter().enumerate() {
            trials.push(trial(block, place as u32, run.arm, run.x));
        }
        race.add_block(&whole);
    }
    let standing = experiment_standing(&experiment, &trials);
    MadeExperiment { experiment, trials, standing }
}

/// A second or so; who is pinned to a cpu never moves.
fn trial(block: u32, place: u32, arm: usize, x: Option<f64>) -> Trial {
    let outcome = match x {
        Some(x) => TrialOutcome::Value(1.25 * x.exp()),
        None => TrialOutcome::Failed { why: "exit status 1".into(), output: "cannot allocate\nout of memory".into() },
    };
    let observed = TrialObservations {
        wall_s: 1.25,
        migrations: Some(if arm == 4 { 0 } else { 1_200 }),
        voluntary_switches: 40_000,
        others_busy: Some(0.02),
        ..TrialObservations::default()
    };
    Trial { observed, ..Trial::new(block, place, arm, outcome) }
}

impl MadeExperiment {
    /// Shows it as experiment 3 of the store.
    pub fn shown(&self) -> ShownExperiment<'_> {
        ShownExperiment {
            experiment: &self.experiment,
            trials: &self.trials,
            standing: &self.standing,
            threads: None,
            stored: Some(3),
        }
    }

    fn at(&self, width: usize) -> String {
        compose_story(self.shown(), Vec::new()).screen_at_width(width).to_plain()
    }
}

#[test]
fn a_winner_comes_with_the_commands_that_apply_it() {
    let made = made(&[0.0, 0.01, -0.05, 0.88], &RunNoise::Typical, 42, 60);
    assert_snapshot!(made.at(110), @r"
    So far, in 25 s: cpu 1 is at least 2.0x faster than the OS default in its typical run, about 2.4x; proven
    after 20 runs (error rate 5 %). Whether one run affects the next is not checked: too few runs.
    In 7 blocks: 3.77 s against 9.12 s as the OS chose; faster in 7 of 7 pairs. None of 7 was slow, so up to 35 of
    100 may be.
        corewise run --on 1 -- ./app --level 3
        taskset -c 1 ./app --level 3
        AllowedCPUs=1    (systemd)
        start /affinity 4    (Windows)
        corewise try --resume=3    (tries it again)

    placement     cpus  runs  median   vs OS       interval                 verdict
                                      paired
    OS default             7  1.26 s    1.00
    cpu 1            1     7  525 ms    2.4x  ↑  [2.0, 2.9]        │   ├●┤  wins
    all - core:0    30     2  1.26 s  +0.6 %  ?      […, …]  ──────●──────  behind, given up
    vcache          16     2  1.28 s  -1.2 %  ?      […, …]  ──────●──────  behind, given up
    frequency       16     2  1.35 s  -6.1 %  ?      […, …]  ──────●──────  behind, given up

    Also different, per run: moves to another cpu 1,200 → 0

    Checks: no failure in 7 runs: a rate above 34.8 % is excluded · carry-over not checked: too few runs · 7
      blocks, seed 42 · stored as experiment 3
    ");
    assert_snapshot!(made.at(60), @r"
    So far, in 25 s: cpu 1 is at least 2.0x faster than the OS
    default in its typical run, about 2.4x; proven after 20 runs
    (error rate 5 %). Whether one run affects the next is not
    checked: too few runs.
    In 7 blocks: 3.77 s against 9.12 s as the OS chose; faster
    in 7 of 7 pairs. None of 7 was slow, so up to 35 of 100 may
    be.
        corewise run --on 1 -- ./app --level 3
        taskset -c 1 ./app --level 3
        AllowedCPUs=1    (systemd)
        start /affinity 4    (Windows)
        corewise try --resume=3    (tries it again)

    placement     median   vs OS       interval  verdict
                          paired
    OS default    1.26 s    1.00
    cpu 1         525 ms    2.4x  ↑  [2.0, 2.9]  wins
    all - core:0  1.26 s  +0.6 %  ?      […, …]  behind, given …
    vcache        1.28 s  -1.2 %  ?      […, …]  behind, given …
    frequency     1.35 s  -6.1 %  ?      […, …]  behind, given …
    Hidden at this width: cpus, runs, its picture

    Also different, per run: moves to another cpu 1,200 → 0

    Checks: no failure in 7 runs: a rate above 34.8 % is
      excluded · carry-over not checked: too few runs · 7
      blocks, seed 42 · stored as experiment 3
    ");
}

/// The shares of the bets belong to the evidence, so their source is named.
#[test]
fn the_checks_say_from_which_experiment_the_bets_are() {
    let expected_noise = Some(ExpectedNoise { gain_deviation: 1.018_f64.ln(), experiment: Some(12) });
    let policy = JudgingPolicy { expected_noise, ..JudgingPolicy::default() };
    let made = made_by(policy, &ProgramEffects::from_gains(&[0.05]), &RunNoise::Typical, 42, 60);
    let screen = made.at(300);
    assert!(screen.contains("bets from the noise of experiment 12: 1.8 % · "), "{screen}");
}

/// A verdict holds for the boots that its runs were made in; who does not know them says nothing of them.
#[test]
fn the_sentence_says_over_how_many_boots_the_runs_were_made() {
    let mut made = made(&[0.2], &RunNoise::Quiet, 42, 60);
    let mut told = |boot: &dyn Fn(u32) -> Option<u32>| {
        made.trials.iter_mut().for_each(|trial| trial.boot = boot(trial.block));
        made.at(200).lines().next().unwrap().to_owned()
    };
    assert!(told(&|_| Some(7)).contains(" runs in one boot "));
    assert!(told(&|block| Some(block % 2)).contains(" runs over 2 boots "));
    assert!(!told(&|_| None).contains("boot"));
}

/// A few percent of the clock rate and of the power are said, and nothing of less.
#[test]
fn a_higher_clock_of_the_winner_is_told() {
    // Five runs have no 95 % interval of their median.
    let policy = JudgingPolicy { least_blocks: 6, ..JudgingPolicy::default() };
    let mut made = made_by(policy, &ProgramEffects::from_gains(&[0.2]), &RunNoise::Quiet, 42, 60);
    let told = |made: &mut MadeExperiment, gigahertz: f64, watts: f64, is_estimate: bool| {
        for trial in &mut made.trials {
            let is_other = trial.arm == 1;
            trial.repeats = 2;
            trial.observed.gigahertz = Some(if is_other { gigahertz } else { 3.9 });
            trial.observed.gigahertz_is_estimate = is_estimate;
            trial.observed.energy_joules = Some(2.0 * 1.25 * if is_other { watts } else { 88.0 });
            trial.observed.energy_s = Some(2.0 * 1.25);
        }
        let text = made.at(110);
        text.lines().find(|line| line.starts_with("Also different")).map(str::to_owned)
    };
    let said = |text: &str| Some(format!("Also different, per run: {text}"));
    assert_eq!(told(&mut made, 4.2, 95.0, true), said("GHz ~3.90 → ~4.20 · watts 88.0 → 95.0"));
    assert_eq!(told(&mut made, 4.2, 90.0, false), said("GHz 3.90 → 4.20"));
    assert_eq!(told(&mut made, 3.96, 90.0, true), None);
    // As much as runs of one placement differ by themselves is no difference.
    told(&mut made, 4.2, 88.0, true);
    for (number, trial) in made.trials.iter_mut().enumerate() {
        trial.observed.gigahertz = trial.observed.gigahertz.map(|rate| rate + if number % 4 < 2 { 0.3 } else { -0.3 });
    }
    assert!(!made.at(110).contains("Also different"), "{}", made.at(110));
}

/// A program that gets its cpus is to set masks within them; any other mask means that its placement did not hold.
#[test]
fn a_mask_of_the_programs_own_is_told_unless_it_was_asked_for() {
    let mut made = made(&[0.2], &RunNoise::Quiet, 42, 60);
    let mut told = |own: CpuSet, pins_as: &[&str]| {
        made.experiment.workload.pins_as = pins_as.iter().map(|name| (*name).to_owned()).collect();
        for trial in made.trials.iter_mut().filter(|trial| trial.arm == 1) {
            trial.observed.own_mask = Some(own.clone());
        }
        made.at(100).contains("the program set its own cpus")
    };
    let given = made_cpus();
    assert!(told(given.clone(), &[]) && !told(given.clone(), &["CPUS"]));
    let beyond = CpuSet::first_cpus(given.highest().unwrap() + 2);
    assert!(told(beyond.clone(), &["CPUS"]));
    // Two programs as they are: there is no placement that could not hold.
    for arm in &mut made.experiment.arms {
        (arm.cpus, arm.variant) = (None, Some(arm.name.clone()));
    }
    assert!(!made.at(100).contains("the program set its own cpus"));
}

/// The cpus of the first placement of [`made`].
fn made_cpus() -> CpuSet {
    made(&[0.2], &RunNoise::Quiet, 42, 1).experiment.arms[1].cpus.clone().unwrap()
}

#[test]
fn no_difference_is_an_answer() {
    assert_snapshot!(made(&[0.0, 0.005], &RunNoise::Quiet, 1, 60).at(100), @r"
    Leave it to the operating system. None of 2 placements is 3 % faster in its typical run: at most
    +1.0 % (95 % each) (17 runs).

    placement     cpus  runs  median   vs OS        interval              verdict
                                      paired
    OS default             7   1.2 s    1.00
    vcache          16     5   1.3 s  +0.3 %  ≈  [-0.9, 1.0]     ├───●─┤  no difference
    all - core:0    30     5   1.3 s  -0.5 %  ≈  [-1.6, 0.0]   ├───●┤     no difference

    Checks: carry-over not checked: too few runs · 7 blocks, seed 1 · stored as experiment 3
    ");
}

#[test]
fn what_is_not_decided_says_what_would_decide_it() {
    assert_snapshot!(made(&[0.05, 0.0], &RunNoise::Typical, 5, 4).at(100), @r"
    Not decided after 12 runs; until it is, leave it to the operating system. Best so far: all - core:0,
    +6.4 % (too few runs for an interval). About 8 more runs would decide it.
        corewise try --resume=3

    placement     cpus  runs  median   vs OS     interval                 verdict
                                      paired
    OS default             4  1.26 s    1.00
    all - core:0    30     4  1.18 s  +6.4 %  ?    […, …]  ────────────●  undecided
    vcache          16     4  1.22 s  +2.7 %  ?    […, …]  ─────────●───  behind, given up

    Checks: carry-over not checked: too few runs · 4 blocks, seed 5 · stored as experiment 3
    ");
}

#[test]
fn failures_are_shown_with_what_was_written() {
    let effects = ProgramEffects { failures: vec![0.0, 1.0], ..ProgramEffects::from_gains(&[0.1, 0.0]) };
    assert_snapshot!(made_of(&effects, &RunNoise::Quiet, 5, 60).at(100), @r"
    Leave it to the operating system. 1 of 2 placements is proven not to be 3 % faster in its typical
    run: at most +2.1 % (95 %); 1 failed (12 runs).

    placement     cpus  runs  median   vs OS        interval               verdict
                                      paired
    OS default             5   1.3 s    1.00
    vcache          16     5   1.2 s   0.0 %  ?  [-3.0, 2.1]  ├─────●───┤  not 3 % better
    all - core:0    30     2       –       –  ?                            failed

    2 failed runs of all - core:0: exit status 1
        cannot allocate
        out of memory

    Checks: carry-over not checked: too few runs · 5 blocks, seed 5 · stored as experiment 3
    ");
}

#[test]
fn failures_of_the_warm_up_count_only_without_others() {
    let effects = ProgramEffects { failures: vec![0.0, 1.0], ..ProgramEffects::from_gains(&[0.1, 0.0]) };
    let mut made = made_of(&effects, &RunNoise::Quiet, 5, 60);
    let is_failed = |trial: &Trial| matches!(trial.outcome, TrialOutcome::Failed { .. });
    let failed = made.trials.iter().find(|trial| is_failed(trial)).unwrap().clone();
    made.trials.push(Trial { block: 0, ..failed });
    assert!(made.at(100).contains("2 failed runs of all - core:0"), "{}", made.at(100));
    made.trials.retain(|trial| trial.block == 0 || !is_failed(trial));
    assert!(made.at(100).contains("1 failed run of all - core:0"), "{}", made.at(100));
}

#[test]
fn no_screen_is_wider_than_the_terminal() {
    let made = made(&[0.0, 0.01, -0.05, 0.88], &RunNoise::Typical, 42, 60);
    for width in [20, 40, 60, 80, 132] {
        for line in made.at(width).lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

/// The texts of an experiment that fails, has guards and belongs to a suite; the numbers stay, so that the standing does.
#[test]
fn no_name_steers_hides_or_computes_in_any_form() {
    for gains in [[0.0, 0.01, -0.05, 0.88], [0.0, 0.0, 0.0, 0.0]] {
        let MadeExperiment { mut experiment, mut trials, standing } = made(&gains, &RunNoise::Typical, 42, 12);
        let metric = |name: &str| TrialMetric {
            name: name.into(),
            pattern: Some("([0-9]+)".into()),
            higher_is_better: true,
            reading: None,
        };
        experiment.workload.guards = vec![metric("errors")];
        trials[1].outcome = TrialOutcome::Failed { why: "exit status 1".into(), output: "one\ntwo".into() };
        trials.iter_mut().for_each(|trial| trial.guards = vec![Some(1.5)]);
        let mut conducted = ExperimentRecord { experiment, trials };
        for has_metric in [false, true] {
            if has_metric {
                conducted.experiment.workload.metric = metric("rate");
            }
            for ExperimentRecord { experiment, trials } in hostile::copies(&conducted) {
                let (experiment, trials, standing) = (&experiment, &trials[..], &standing);
                let shown = ShownExperiment { experiment, trials, standing, threads: None, stored: Some(3) };
                let told = compose_story(shown, Vec::new());
                hostile::check_story(&told);
                hostile::check_csv(&write_csv(shown, &told.note_sentences()));
                hostile::check_json(experiment);
            }
        }
    }
}

/// All that can be said against runs, in every form.
#[test]
fn every_sentence_is_in_every_form() {
    for gains in [[0.0, 0.88], [0.0, 0.0]] {
        let MadeExperiment { mut experiment, mut trials, .. } = made(&gains, &RunNoise::Typical, 42, 12);
        let guard =
            TrialMetric { name: "errors".into(), pattern: Some("x".into()), higher_is_better: true, reading: None };
        experiment.workload.guards = vec![guard];
        for trial in &mut trials {
            trial.guards = vec![Some(1.5)];
            trial.observed.others_busy = Some(0.8);
            trial.observed.own_mask = Some(CpuSet::from_cpu(3));
            trial.observed.left_behind = 1;
            trial.repeats = 4;
        }
        trials[1].outcome = TrialOutcome::Failed { why: "exit status 1".into(), output: "one\ntwo".into() };
        let standing = experiment_standing(&experiment, &trials);
        let (experiment, trials, standing) = (&experiment, &trials[..], &standing);
        let shown = ShownExperiment { experiment, trials, standing, threads: None, stored: Some(3) };
        let told =
            compose_story(shown, vec![StyledLine::new().faint("With this command this machine has 2 experiments.")]);
        check_forms(&told);
        for said in ["other programs used 80 % of the machine", "set its own cpus in", "left processes behind"] {
            assert!(
                told.note_sentences().iter().any(|note| note.contains(said)),
                "{said}: {:?}",
                told.note_sentences()
            );
        }
    }
}

/// Who loses everywhere is not the best.
#[test]
fn the_best_so_far_may_be_the_os_default() {
    let screen = made(&[-0.05, -0.08], &RunNoise::Typical, 5, 4).at(100);
    assert!(screen.replace("\n", " ").contains("Best so far: the OS default."), "{screen}");
}

/// 60 frames a second, give or take one: what such numbers cannot show is marked as open in every form.
#[test]
fn coarse_numbers_leave_an_arm_open_in_every_form() {
    let MadeExperiment { mut experiment, mut trials, .. } = made(&[0.0, -0.5], &RunNoise::Quiet, 1, 60);
    experiment.workload.metric =
        TrialMetric { name: "fps".into(), pattern: Some("x".into()), higher_is_better: true, reading: None };
    for trial in &mut trials {
        trial.outcome = TrialOutcome::Value(f64::from(trial.block % 2) + if trial.arm == 2 { 30.0 } else { 60.0 });
    }
    let standing = experiment_standing(&experiment, &trials);
    let made = MadeExperiment { experiment, trials, standing };
    assert_snapshot!(made.at(100), @r"
    Not decided. The numbers of fps are 1.7 % apart, too coarse to show a difference of 3 %. Use a
    metric with more digits, or accept that smaller differences do not count: --margin 3.4%. Until then,
    leave it to the operating system.

    placement     cpus  runs  median   vs OS         interval           verdict
                                 fps  paired
    OS default             8    60.5    1.00
    all - core:0    30     5    61.0   0.0 %  ?    [0.0, 0.0]        ●  numbers too coarse
    vcache          16     5    30.0   0.50x  ↓  [0.50, 0.51]  ●     │  worse

    Checks: fps: more is better · carry-over not checked: too few runs · 8 blocks, seed 1 · stored as
      experiment 3
    ");
    let (experiment, trials, standing) = (&made.experiment, &made.trials[..], &made.standing);
    let shown = ShownExperiment { experiment, trials, standing, threads: None, stored: None };
    let text = markdown::write_story(&compose_story(shown, Vec::new()), None);
    assert!(text.contains("| numbers too coarse |"), "{text}");
    let json = serde_json::to_value(standing).unwrap();
    assert_eq!(json["arms"][1]["verdict"], "undecided");
    assert_eq!(json["arms"][2]["verdict"], "worse");
}
