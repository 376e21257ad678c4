//! A suite whose truth is known.

use corewise_model::suite::BenchmarkSuite;
use corewise_model::suite::results::TriedBenchmark;
use corewise_model::trial;
use corewise_statistics::experiment::{ExperimentDoubt, JudgingPolicy, Verdict};
use corewise_statistics::simulate::ProgramEffects;
use corewise_statistics::simulate::noise::RunNoise;
use insta::assert_snapshot;

use super::*;
use crate::commands::r#try::screen::tests::{MadeExperiment, made_by};
use crate::draw::fixtures::hostile;
use crate::draw::markdown;
use crate::draw::story::draw_parts;
use crate::draw::story::forms::check_forms;

const TEXT: &str = r#"
name = "small"
[[benchmark]]
name = "7-Zip"
category = "encoding"
command = ["7z"]
[[benchmark]]
name = "x264"
category = "encoding"
command = ["x264"]
[[benchmark]]
name = "compile"
category = "development"
command = ["gcc"]
[[benchmark]]
name = "POV-Ray"
category = "rendering"
command = ["povray"]
[[benchmark]]
name = "a|b"
category = "rendering"
command = ["broken"]
"#;

fn tried(made: MadeExperiment, stored: i64) -> RowResult {
    let MadeExperiment { experiment, trials, standing } = made;
    let race = trial::race_of_trials(&experiment, &trials);
    RowResult::Tried(Box::new(TriedBenchmark { experiment, trials, standing, race, stored: Some(stored) }))
}

/// The rows: two tried ones, a missing program, one without time, and a failed one.
fn results(gains: [[f64; 2]; 3], blocks: u32) -> [RowResult; 5] {
    let policy =
        JudgingPolicy { least_blocks: JudgingPolicy::default().blocks_of_a_mean(2), ..JudgingPolicy::default() };
    let made =
        |gains: [f64; 2]| made_by(policy.clone(), &ProgramEffects::from_gains(&gains), &RunNoise::Quiet, 1, blocks);
    let [first, second, third] = gains.map(made);
    [
        tried(first, 7),
        tried(second, 8),
        tried(third, 9),
        RowResult::Missing(vec!["povray".into()]),
        RowResult::Failed {
            why: "its set-up failed: exit status: 3".into(),
            output: "no space\nleft".into(),
            stored: None,
        },
    ]
}

fn with<T>(results: [RowResult; 5], look: impl Fn(&SuiteResults<'_>) -> T) -> T {
    let suite = BenchmarkSuite::parse(TEXT).unwrap();
    let rows: Vec<SuiteRow<'_>> =
        suite.benchmarks.iter().zip(results).map(|(benchmark, result)| SuiteRow { benchmark, result }).collect();
    let tried = rows[0].tried_benchmark().unwrap();
    let installation = Some("apt install povray".to_owned());
    let (arms, policy) = (&tried.experiment.arms, &tried.experiment.policy);
    look(&SuiteResults { suite: &suite, arms, policy, rows: &rows, installation })
}

#[test]
fn a_row_a_benchmark_and_means_of_categories() {
    let screens = with(results([[0.10, -0.2], [0.08, 0.0], [0.06, -0.1]], 12), |shown| {
        [110, 60].map(|width| compose_story(shown).screen_at_width(width).to_plain())
    });
    assert_snapshot!(screens[0], @r"
    So far: all - core:0 is better over all 3 benchmarks; look at each before you pin it. Whether one run affects
      the next is not checked, or the runs are of less than a minute: try a winner alone.
    all - core:0: proven better in 3 of 3 benchmarks, worse in 0, each by about 3 % or more; geometric mean
      +8.3 % [7.3, 9.4].
    vcache: proven better in 0 of 3 benchmarks, worse in 2, each by about 3 % or more; geometric mean
      -9.8 % [-10.7, -8.5].

                               runs  OS default  all - core:0                   vcache
    encoding
      7-Zip                      24       1.2 s       +10.5 %  ↑  [9.6, 11.3]  -18.4 %  ↓  [-19.1, -17.4]
      x264                       24       1.2 s        +8.3 %  ↑   [7.4, 9.1]   -0.3 %  ≈     [-1.2, 0.9]
      geometric mean of 2                              +9.4 %  ↑  [8.3, 10.5]   -9.8 %  ↓   [-10.7, -8.5]
    development
      compile                    24       1.2 s        +6.1 %  ↑   [5.3, 7.0]   -9.8 %  ↓   [-10.6, -8.7]
    rendering
      POV-Ray (not installed)
      a|b (failed)
    all
      geometric mean of 3                              +8.3 %  ↑   [7.3, 9.4]   -9.8 %  ↓   [-10.7, -8.5]

    failed a|b: its set-up failed: exit status: 3
        no space
        left
    Not installed: povray. Next, to install them:  apt install povray
    Stored as experiments 7 to 9; each row's error rate is 5 %.
    ");
    assert_snapshot!(screens[1], @r"
    So far: all - core:0 is better over all 3 benchmarks; look
      at each before you pin it. Whether one run affects the
      next is not checked, or the runs are of less than a
      minute: try a winner alone.
    all - core:0: proven better in 3 of 3 benchmarks, worse in
      0, each by about 3 % or more; geometric mean
      +8.3 % [7.3, 9.4].
    vcache: proven better in 0 of 3 benchmarks, worse in 2, each
      by about 3 % or more; geometric mean -9.8 % [-10.7, -8.5].

                               all - core:0      vcache
    encoding
      7-Zip                         +10.5 %  ↑  -18.4 %  ↓
      x264                           +8.3 %  ↑   -0.3 %  ≈
      geometric mean of 2            +9.4 %  ↑   -9.8 %  ↓
    development
      compile                        +6.1 %  ↑   -9.8 %  ↓
    rendering
      POV-Ray (not installed)
      a|b (failed)
    all
      geometric mean of 3            +8.3 %  ↑   -9.8 %  ↓
    Hidden at this width: runs, OS default, interval of all -
      core:0, interval of vcache

    failed a|b: its set-up failed: exit status: 3
        no space
        left
    Not installed: povray. Next, to install them:  apt install
      povray
    Stored as experiments 7 to 9; each row's error rate is 5 %.
    ");
}

#[test]
fn where_nothing_is_better_over_all_it_is_said() {
    let first = |gains| with(results(gains, 12), |shown| draw_sentences(shown)[0].to_plain());
    assert_eq!(
        first([[0.3, 0.0], [-0.1, 0.0], [0.3, 0.0]]),
        "It depends on the program. all - core:0 is better over 3 benchmarks, but is worse in 1: pin the 2 that gain."
    );
    assert!(
        first([[0.1, 0.0], [-0.1, 0.0], [-0.1, 0.0]])
            .ends_with("no placement is 3 % better. Some programs gain: see ↑.")
    );
    let told = first([[0.0, 0.0]; 3]);
    assert_snapshot!(told, @r"
    Leave it to the operating system. Over 3 benchmarks no placement is 3 % better.
    ");
}

#[test]
fn no_screen_is_wider_than_the_terminal() {
    let mut results = results([[0.10, -0.2], [0.08, 0.0], [0.06, -0.1]], 12);
    running_at(&mut results[0], [Some(3.87), Some(4.20), Some(3.90)], Some(88.0), true);
    with(results, |shown| {
        for width in [20, 40, 60, 80, 132] {
            for line in compose_story(shown).screen_at_width(width).to_plain().lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    });
}

/// The clock and the power of a benchmark's runs, by placement; without a clock they were too short.
fn running_at(result: &mut RowResult, clocks: [Option<f64>; 3], watts: Option<f64>, is_estimate: bool) {
    let RowResult::Tried(tried) = result else { panic!("it was not tried") };
    for trial in &mut tried.trials {
        let seen = &mut trial.observed;
        seen.gigahertz = clocks[trial.arm].map(|clock| clock + 0.01 * f64::from(trial.block % 3));
        seen.gigahertz_is_estimate = is_estimate && seen.gigahertz.is_some();
        seen.energy_joules = watts.map(|watts| (watts + trial.arm as f64) * seen.wall_s);
        seen.energy_s = Some(seen.wall_s);
    }
}

#[test]
fn a_second_table_has_clock_and_power() {
    let clocks = [Some(3.87), Some(4.20), Some(3.90)];
    let made = |watts: Option<f64>, is_estimate: bool| {
        let mut results = results([[0.10, -0.2], [0.08, 0.0], [0.06, -0.1]], 8);
        running_at(&mut results[0], clocks, watts, is_estimate);
        running_at(&mut results[1], [None; 3], watts, is_estimate);
        running_at(&mut results[2], [Some(4.0), None, Some(3.0)], watts, is_estimate);
        results
    };
    let at = |shown: &SuiteResults<'_>, width: usize| {
        draw_parts(&clock::compose_table(shown), width).iter().map(StyledLine::to_plain).collect::<Vec<_>>().join("\n")
    };
    let wide = with(made(Some(88.0), true), |shown| [at(shown, 80), at(shown, 60)]);
    assert_snapshot!(wide[0], @r"
    Clock and power while they ran  medians; ~ is estimated, not counted
                 OS default        all - core:0              vcache
                        GHz   W    GHz    vs OS   W    GHz    vs OS   W
    encoding
      7-Zip           ~3.88  88  ~4.21   +8.5 %  89  ~3.91   +0.8 %  90
      x264                –  88      –           89      –           90
    development
      compile         ~4.01  88      –           89  ~3.01  -24.9 %  90
    ");
    assert_snapshot!(wide[1], @r"
    Clock and power while they ran  medians; ~ is estimated, not
      counted
                 OS default        all - core:0          vcache
                        GHz   W    GHz    vs OS    GHz    vs OS
    encoding
      7-Zip           ~3.88  88  ~4.21   +8.5 %  ~3.91   +0.8 %
      x264                –  88      –               –
    development
      compile         ~4.01  88      –           ~3.01  -24.9 %
    Hidden at this width: power of all - core:0, power of vcache
    ");
    assert_snapshot!(with(made(None, false), |shown| at(shown, 80)), @r"
    Clock while they ran  medians
                 OS default   all - core:0         vcache
                        GHz   GHz    vs OS   GHz    vs OS
    encoding
      7-Zip            3.88  4.21   +8.5 %  3.91   +0.8 %
      x264                –     –              –
    development
      compile          4.01     –           3.01  -24.9 %
    ");
    // Power alone has the names of the placements too.
    let mut powered = made(Some(88.0), false);
    for result in &mut powered[..3] {
        running_at(result, [None; 3], Some(88.0), false);
    }
    let powered = with(powered, |shown| at(shown, 80));
    assert!(powered.starts_with("Power while they ran") && powered.contains("OS default"), "{powered}");
    let [screen, text] = with(made(Some(88.0), true), |shown| {
        [compose_story(shown).screen_at_width(80).to_plain(), markdown::write_story(&compose_story(shown), None)]
    });
    assert!(
        screen.contains("\n\nClock and power while they ran")
            && text.contains("### Clock and power while they ran\n\n"),
        "{text}"
    );
}

#[test]
fn every_sentence_is_in_every_form() {
    let mut results = results([[0.10, -0.2], [0.08, 0.0], [0.06, -0.1]], 8);
    running_at(&mut results[0], [Some(3.0), Some(3.1), None], Some(20.0), true);
    with(results, |shown| check_forms(&compose_story(shown)));
}

#[test]
fn without_clock_and_power_there_is_no_second_table() {
    let told =
        with(results([[0.10, -0.2], [0.08, 0.0], [0.06, -0.1]], 8), |shown| clock::compose_table(shown).is_empty());
    assert!(told);
}

#[test]
fn other_programs_can_read_it() {
    let [text, runs] = with(results([[0.10, -0.2], [0.08, 0.0], [0.06, -0.1]], 8), |shown| {
        [markdown::write_story(&compose_story(shown), None), write_csv(shown, &compose_story(shown).note_sentences())]
    });
    assert_snapshot!(text, @r"
    So far: all - core:0 is better over all 3 benchmarks; look at each before you pin it. Whether one run affects the next is not checked, or the runs are of less than a minute: try a winner alone.

    all - core:0: proven better in 3 of 3 benchmarks, worse in 0, each by about 3 % or more; geometric mean +8.3 % [7.3, 9.4].

    vcache: proven better in 0 of 3 benchmarks, worse in 2, each by about 3 % or more; geometric mean -9.8 % [-10.7, -8.5].

    ### Benchmarks

    | benchmark | runs | OS default | all - core:0 | vcache |
    |---|--:|--:|--:|--:|
    | **encoding** |  |  |  |  |
    | 7-Zip | 24 | 1.2 s | +10.5 % ↑ [9.6, 11.3] | -18.4 % ↓ [-19.1, -17.4] |
    | x264 | 24 | 1.2 s | +8.3 % ↑ [7.4, 9.1] | -0.3 % ≈ [-1.2, 0.9] |
    | geometric mean of 2 |  |  | +9.4 % ↑ [8.3, 10.5] | -9.8 % ↓ [-10.7, -8.5] |
    | **development** |  |  |  |  |
    | compile | 24 | 1.2 s | +6.1 % ↑ [5.3, 7.0] | -9.8 % ↓ [-10.6, -8.7] |
    | **rendering** |  |  |  |  |
    | POV-Ray (not installed) |  |  |  |  |
    | a\|b (failed) |  |  |  |  |
    | **all** |  |  |  |  |
    | geometric mean of 3 |  |  | +8.3 % ↑ [7.3, 9.4] | -9.8 % ↓ [-10.7, -8.5] |

    ### Checks and notes

    - failed a\|b: its set-up failed: exit status: 3

          no space
          left

    - Not installed: povray. Next, to install them:  apt install povray
    - Stored as experiments 7 to 9; each row's error rate is 5 %.

    Make it again:

        corewise try --suite small --on 'all - core:0' --on vcache
    ");
    let lines: Vec<&str> = runs.split("\r\n").collect();
    assert!(lines[0].starts_with("category,benchmark,block,") && lines[1].starts_with("encoding,7-Zip,1,0,"));
}

/// What cannot be trusted has no part in the mean, and the mean with it stands beside.
#[test]
fn means_are_told_with_and_without_what_is_in_doubt() {
    let gains = [[0.10, -0.2], [0.08, 0.0], [0.30, -0.1]];
    let sentence = |results| {
        with(results, |shown| compose_story(shown).screen_at_width(200).to_plain().lines().nth(1).unwrap().to_owned())
    };
    let sound = sentence(results(gains, 12));
    assert!(sound.contains("3 of 3") && !sound.contains("doubtful"), "{sound}");
    let mut results = results(gains, 12);
    let RowResult::Tried(last) = &mut results[2] else { panic!("it was tried") };
    last.standing.verdict = Verdict::Unsound { why: vec![ExperimentDoubt::BaselineFails { failures: 2 }] };
    let doubted = sentence(results);
    let [without, with] = doubted.split("; with the doubtful ones (!), mean of 3 ").collect::<Vec<_>>()[..] else {
        panic!("no second mean: {doubted}")
    };
    assert!(without.contains("2 of 2 benchmarks") && without.contains("geometric mean +9."), "{doubted}");
    // As if nothing were in doubt.
    assert!(sound.ends_with(&format!("geometric mean {with}")), "{doubted}\n{sound}");
}

/// Who fails somewhere has no part in the mean there, and is no winner.
#[test]
fn a_placement_that_fails_is_not_pinned() {
    let effects = ProgramEffects { failures: vec![0.0, 1.0, 0.0], ..ProgramEffects::from_gains(&[0.0, 0.0]) };
    let failing = tried(made_by(JudgingPolicy::default(), &effects, &RunNoise::Quiet, 1, 12), 8);
    let [first, _, third, missing, failed] = results([[0.3, 0.0]; 3], 12);
    let told = with([first, failing, third, missing, failed], |shown| {
        draw_sentences(shown)[..2].iter().map(StyledLine::to_plain).collect::<Vec<_>>().join("\n")
    });
    assert_snapshot!(told, @r"
    It depends on the program. all - core:0 is better over 2 benchmarks, but fails in 1: pin the 2 that gain.
    all - core:0: proven better in 2 of 3 benchmarks, worse in 0, each by about 3 % or more, failed in 1; geometric mean of the 2 finished +34.9 % [33.7, 36.3].
    ");
}

#[test]
fn no_benchmark_is_named_so_that_it_steers_hides_or_computes() {
    let mut results = results([[0.10, -0.2], [0.08, 0.0], [0.06, -0.1]], 4);
    running_at(&mut results[0], [Some(3.0), Some(3.1), None], Some(20.0), true);
    let [first, second, third, missing, failed] = results;
    let [first, second, third] = [first, second, third].map(|result| match result {
        RowResult::Tried(tried) => tried,
        _ => panic!("these were tried"),
    });
    let names = hostile::names();
    for part in names.chunks(10) {
        let mut left = part.iter().cycle();
        let mut name = || left.next().unwrap().clone();
        let mut suite = BenchmarkSuite::parse(TEXT).unwrap();
        for benchmark in &mut suite.benchmarks {
            (benchmark.name, benchmark.category) = (name(), name());
        }
        let tried = [&first, &second, &third].map(|made| {
            let TriedBenchmark { experiment, trials, standing, race, stored } = &**made;
            let (mut experiment, trials, stored) = (experiment.clone(), trials.clone(), *stored);
            experiment.arms.iter_mut().for_each(|arm| arm.name = name());
            RowResult::Tried(Box::new(TriedBenchmark {
                experiment,
                trials,
                standing: standing.clone(),
                race: race.clone(),
                stored,
            }))
        });
        let others = [
            RowResult::Missing(vec![name(), name()]),
            RowResult::Failed { why: name(), output: [name(), name()].join("\n"), stored: None },
        ];
        assert!(matches!((&missing, &failed), (RowResult::Missing(_), RowResult::Failed { .. })));
        let results = tried.into_iter().chain(others);
        let rows: Vec<SuiteRow<'_>> =
            suite.benchmarks.iter().zip(results).map(|(benchmark, result)| SuiteRow { benchmark, result }).collect();
        let tried = rows[0].tried_benchmark().unwrap();
        let (arms, policy) = (&tried.experiment.arms, &tried.experiment.policy);
        let shown = SuiteResults { suite: &suite, arms, policy, rows: &rows, installation: None };
        let told = compose_story(&shown);
        hostile::check_story(&told);
        hostile::check_csv(&write_csv(&shown, &told.note_sentences()));
    }
}
