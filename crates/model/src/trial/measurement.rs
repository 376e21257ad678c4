//! Validity of a metric's values: the same value in every run measures nothing, and values that are far apart may be
//! misread.

use super::{Experiment, Trial, TrialOutcome, TriedWorkload};
use corewise_statistics::experiment::{ExperimentDoubt, QuestionKind};
use corewise_statistics::quantity::{MeasuredQuantity, QuantityUnit, QuotedQuantity};

/// Minimum number of equal runs for a constant metric.
const LEAST_RUNS: usize = 4;
/// Ratio of two values from which one of them may be misread.
const FAR_APART: f64 = 20.0;
/// Factor for the ratio of two placements' cpus, which also explains differences.
const OF_SIZES: f64 = 2.0;
/// Maximum number of least and of greatest values compared with each other.
const MAX_COMPARED: usize = 50;
/// Largest ratio of two wall times that count as equal.
const EQUAL_TIMES: f64 = 2.0;

/// The values, with their lines.
#[derive(Clone, Debug)]
pub(super) struct MeasurementCheck {
    is_wall_time: bool,
    /// True if medians of placements are compared: rare values, and short slots, vary much from run to run.
    compares_medians: bool,
    /// Number of cpus, or threads, of each arm.
    sizes: Vec<f64>,
    unit: QuantityUnit,
    /// Each value with its arm.
    values: Vec<(usize, f64)>,
    runs: Vec<MeasuredRun>,
}

/// One value with its line and its circumstances.
#[derive(Clone, Debug)]
struct MeasuredRun {
    arm: usize,
    wall_s: f64,
    run: QuotedQuantity,
}

impl MeasuredRun {
    fn run_value(&self) -> f64 {
        self.run.quantity.value
    }
}

impl MeasurementCheck {
    pub(super) fn new(experiment: &Experiment) -> Self {
        let TriedWorkload { metric, live, .. } = &experiment.workload;
        let all = experiment.machine.allowed.len();
        let size = |arm: &super::PlacementArm| match arm.threads {
            Some(threads) => f64::from(threads),
            None => arm.cpus.as_ref().map_or(all, corewise_machine::CpuSet::len).max(1) as f64,
        };
        Self {
            is_wall_time: metric.is_wall_time(),
            compares_medians: metric.is_tail() || live.is_some() || experiment.policy.what != QuestionKind::Typical,
            sizes: experiment.arms.iter().map(size).collect(),
            unit: metric.usual_unit(),
            values: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Takes the trials of a block into account.
    pub(super) fn add_block(&mut self, trials: &[&Trial]) {
        for trial in trials {
            let TrialOutcome::Value(value) = trial.outcome else { continue };
            self.values.push((trial.arm, value));
            let Some(reading) = trial.readings.first() else { continue };
            let (arm, wall_s) = (trial.arm, trial.observed.wall_s);
            self.unit = reading.unit.clone();
            self.runs.extend(reading.runs.iter().map(|run| MeasuredRun { arm, wall_s, run: run.clone() }));
        }
    }

    /// Returns a doubt about the values, if any.
    pub(super) fn find_doubt(&self) -> Option<ExperimentDoubt> {
        if self.is_wall_time { None } else { self.constant_doubt().or_else(|| self.far_apart()) }
    }

    fn constant_doubt(&self) -> Option<ExperimentDoubt> {
        let (arm, first) = *self.values.first().filter(|_| self.values.len() >= LEAST_RUNS)?;
        let (is_same, is_compared) =
            (self.values.iter().all(|(_, value)| *value == first), self.values.iter().any(|(other, _)| *other != arm));
        let unread = || QuotedQuantity {
            quantity: MeasuredQuantity { value: first, unit: self.unit.clone() },
            line: String::new(),
        };
        let run = self.runs.first().map_or_else(unread, |run| run.run.clone());
        (is_same && is_compared).then_some(ExperimentDoubt::ConstantMetric { run })
    }

    fn far_apart(&self) -> Option<ExperimentDoubt> {
        let mut runs: Vec<&MeasuredRun> = match self.compares_medians {
            true => (0..self.sizes.len()).filter_map(|arm| self.median_of(arm)).collect(),
            false => self.runs.iter().collect(),
        };
        // Counts of rare events range from zero up, and values without a line cannot be misread.
        runs.retain(|run| run.run_value() > 0.0 && !run.run.line.is_empty());
        runs.sort_by(|a, b| a.run_value().total_cmp(&b.run_value()));
        let is_pair = |pair: &(&MeasuredRun, &MeasuredRun)| self.is_far(pair.0, pair.1);
        let highest = || runs.iter().rev().take(MAX_COMPARED);
        let mut pairs = runs.iter().take(MAX_COMPARED).flat_map(|low| highest().map(|high| (*low, *high)));
        let (least, greatest) = pairs.find(is_pair)?;
        Some(ExperimentDoubt::FarApartMetric {
            times: greatest.run_value() / least.run_value(),
            least: least.run.clone(),
            greatest: greatest.run.clone(),
        })
    }

    /// Returns true if two runs of about the same time differ by more than their placements explain.
    fn is_far(&self, low: &MeasuredRun, high: &MeasuredRun) -> bool {
        let [a, b] = [low, high].map(|run| self.sizes.get(run.arm).copied().unwrap_or(1.0));
        let enough = FAR_APART.max(OF_SIZES * a.max(b) / a.min(b));
        let is_equal_time = low.wall_s.max(high.wall_s) <= EQUAL_TIMES * low.wall_s.min(high.wall_s);
        is_equal_time && high.run_value() >= enough * low.run_value()
    }

    /// Returns the median run of an arm.
    fn median_of(&self, arm: usize) -> Option<&MeasuredRun> {
        let mut runs: Vec<&MeasuredRun> = self.runs.iter().filter(|run| run.arm == arm).collect();
        runs.sort_by(|a, b| a.run_value().total_cmp(&b.run_value()));
        runs.get(runs.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Artifact as _;
    use crate::experiment_record::ExperimentRecord;
    use crate::sample::MetricReading;
    use crate::trial::{PlacementArm, TrialMetric, TrialObservations, UnitLedger};
    use corewise_statistics::experiment::{ArmVerdict, JudgingPolicy, Verdict};

    fn experiment(name: &str) -> Experiment {
        let pattern = Some(crate::metric_line::metric_pattern(name));
        let metric = TrialMetric { name: name.to_owned(), pattern, higher_is_better: false, reading: None };
        Experiment {
            corewise: String::new(),
            started_unix_ms: 0,
            seed: 1,
            machine: corewise_machine::generate::one_package_machine(2, false, &[]),
            workload: TriedWorkload {
                guards: vec![TrialMetric { name: "guard".to_owned(), ..metric.clone() }],
                ..TriedWorkload::new(vec!["app".into()], "/".into(), metric)
            },
            arms: vec![PlacementArm::new("0", None, ""); 2],
            policy: JudgingPolicy::default(),
            suite: None,
            stretch: None,
            origin: crate::artifact::ArtifactOrigin::Measured,
        }
    }

    fn read(line: &str) -> QuotedQuantity {
        let quantity = MeasuredQuantity::read_prefix(line.rsplit_once(' ').unwrap().1).unwrap();
        QuotedQuantity::new(quantity, line, 0)
    }

    /// A run of a second that printed a line for the metric and one for the guard.
    fn trial(block: u32, arm: usize, line: &str, guard: &str) -> Trial {
        let runs = [read(line), read(guard)];
        Trial {
            guards: vec![Some(runs[1].quantity.value)],
            readings: runs.iter().cloned().map(MetricReading::from_run).collect(),
            observed: TrialObservations { wall_s: 1.0, ..TrialObservations::default() },
            ..Trial::new(block, arm as u32, arm, TrialOutcome::Value(runs[0].quantity.value))
        }
    }

    /// Trials of several blocks as the session makes them, the first ones being warm-ups.
    fn made(name: &str, line: impl Fn(u32, usize) -> [String; 2]) -> ExperimentRecord {
        let experiment = experiment(name);
        let mut units = UnitLedger::from_trials(&experiment.workload, &[]);
        let mut trials = Vec::new();
        for (block, arm) in (0..=20).flat_map(|block| [(block, block as usize % 2), (block, 1 - block as usize % 2)]) {
            let [line, guard] = line(block, arm);
            let mut trial = trial(block, arm, &line, &guard);
            units.unify_units(&mut trial);
            trials.push(trial);
        }
        ExperimentRecord { experiment, trials }
    }

    fn doubts(made: &ExperimentRecord) -> Vec<ExperimentDoubt> {
        made.draw_conclusions().standing.checks.doubts
    }

    #[test]
    fn all_values_are_in_the_unit_of_the_first() {
        let made = made("Latency", |block, arm| {
            let noise = f64::from(block % 7) * 0.0005;
            let latency =
                if arm == 0 { format!("Latency {}ms", 1.02 + noise) } else { format!("Latency {}us", 994.0 + noise) };
            [latency, format!("guard {}k", if arm == 0 { 1.1 } else { 1.1 + noise })]
        });
        let conclusions = made.draw_conclusions();
        assert_eq!(conclusions.unit.to_string(), "ms");
        let effect = conclusions.standing.arms[1].effect.unwrap();
        assert!((0.02..0.04).contains(&effect.estimate), "{effect:?}");
        assert!(
            matches!(made.trials[1].outcome, TrialOutcome::Value(value) if (value - 0.994).abs() < 0.001),
            "{:?}",
            made.trials[1]
        );
        assert_eq!(made.trials[1].readings[0].runs[0].line, "Latency 994us", "lines stay as they were printed");
        assert_eq!(made.trials[1].guards, [Some(1_100.0)]);
        assert!(conclusions.standing.checks.doubts.is_empty());
    }

    #[test]
    fn a_unit_that_changes_fails_a_run_and_quotes_both_lines() {
        let why = |line: &'static str, guard: &'static str| {
            let made = made("Latency", |_, arm| {
                if arm == 0 {
                    ["Latency 1.02ms", "guard 3"].map(str::to_owned)
                } else {
                    [line, guard].map(str::to_owned)
                }
            });
            made.trials.iter().find_map(|trial| match &trial.outcome {
                TrialOutcome::Failed { why, .. } => Some((trial.arm, why.clone())),
                TrialOutcome::Value(_) => None,
            })
        };
        let expected = "its metric Latency changed its unit from ms to MB, which cannot be converted: \"Latency 1.02ms\", then \"Latency 3MB\"";
        assert_eq!(why("Latency 3MB", "guard 3"), Some((1, expected.to_owned())));
        let bare = why("Latency 3", "guard 3").unwrap().1;
        assert!(bare.contains("from ms to none"), "{bare}");
        let guard = why("Latency 1ms", "guard 3ms").unwrap().1;
        assert!(guard.starts_with("its guard guard changed its unit from none to ms"), "{guard}");
        assert_eq!(why("Latency 1us", "guard 3.1k"), None);
    }

    #[test]
    fn a_line_of_any_length_is_refused_in_a_file() {
        let mut made = made("x", |block, _| [format!("x {block}"), "guard 0".to_owned()]);
        assert_eq!(made.check_loaded(), Ok(()));
        made.trials[3].readings[0].runs[0].line = "x".repeat(161);
        assert_eq!(made.check_loaded(), Err("one of its lines is too long".to_owned()));
    }

    #[test]
    fn a_metric_that_never_changes_is_no_measurement() {
        for line in ["x 1234.5678", "x 0", "x 5ms"] {
            let made = made("x", |block, _| [line.to_owned(), format!("guard {block}")]);
            let standing = made.draw_conclusions().standing;
            let Verdict::Unsound { why } = &standing.verdict else { panic!("{line}: {:?}", standing.verdict) };
            assert!(
                matches!(&why[..], [ExperimentDoubt::ConstantMetric { run }] if run.line == line),
                "{line}: {why:?}"
            );
            assert_eq!(standing.arms[1].verdict, Some(ArmVerdict::Undecided), "{line}: it is never \"no difference\"");
        }
        let changes = made("x", |block, _| [format!("x {}", 1000 + block % 3), "guard 0".to_owned()]);
        assert!(doubts(&changes).is_empty(), "a guard may well be 0 all the time");
    }

    #[test]
    fn values_that_are_far_apart_are_doubted_with_both_lines() {
        let with = |name: &str, far: f64, wall_s: f64| {
            let mut made = made(name, |block, arm| {
                let noise = f64::from(block % 7) * 0.001;
                [format!("x {}", if arm == 0 { 10.0 + noise } else { 10.0 * far + noise }), "guard 0".to_owned()]
            });
            made.trials.iter_mut().filter(|trial| trial.arm == 1).for_each(|trial| trial.observed.wall_s = wall_s);
            doubts(&made)
        };
        let found = with("x", 21.0, 1.0);
        let [ExperimentDoubt::FarApartMetric { times, least, greatest }] = &found[..] else { panic!("{found:?}") };
        assert!((20.0..22.0).contains(times), "{times}");
        assert!(least.line.starts_with("x 10") && greatest.line.starts_with("x 210"), "{least:?} {greatest:?}");
        assert!(with("x", 19.0, 1.0).is_empty() && with("x", 21.0, 21.0).is_empty());
        assert_eq!(with("p99", 21.0, 1.0).len(), 1, "medians of a tail are compared, too");
        let one_run = |name: &str| {
            let line = |block: u32, arm: usize| {
                if (block, arm) == (9, 1) { 500.0 } else { 10.0 + f64::from(block % 7) * 0.001 }
            };
            doubts(&made(name, |block, arm| [format!("x {}", line(block, arm)), "guard 0".to_owned()])).len()
        };
        assert_eq!((one_run("x"), one_run("p99")), (1, 0), "a tail may have a slow run");
    }

    #[test]
    fn a_placement_of_more_cpus_may_do_more() {
        let of_cpus = |name: &str, cpus: usize| {
            let mut made = made("x", |block, arm| {
                [format!("x {}", if arm == 0 { 40_000 + block % 7 } else { 1_000 + block % 3 }), "guard 0".to_owned()]
            });
            made.experiment.arms[0].cpus = Some((0..cpus as u32).collect());
            made.experiment.arms[1].cpus = Some(std::iter::once(0).collect());
            made.experiment.workload.metric.name = name.to_owned();
            doubts(&made).len()
        };
        assert_eq!((of_cpus("x", 2), of_cpus("x", 64)), (1, 0));
    }
}
