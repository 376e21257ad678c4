//! Trends: numbers of artifacts compared over the history, the same quantity of the same thing in each measurement.

/// A number that each artifact of a kind has.
#[derive(Clone, Debug, PartialEq)]
pub struct TrendValue {
    /// The quantity with its unit: "99.9th percentile of a piece, ns".
    pub quantity: String,
    /// The thing it belongs to: "the worst cpu", "same llc", "cpu 3".
    pub of: String,
    /// The value, in the quantity's unit.
    pub value: f64,
    /// The ends of its interval, each absent if open; absent without an interval.
    pub interval: Option<[Option<f64>; 2]>,
}

impl TrendValue {
    /// Creates a value with both ends of its interval, if it has one.
    pub fn new(quantity: impl Into<String>, of: impl Into<String>, value: f64, interval: Option<(f64, f64)>) -> Self {
        let interval = interval.map(|(low, high)| [Some(low), Some(high)]);
        Self { quantity: quantity.into(), of: of.into(), value, interval }
    }
}

#[cfg(test)]
mod tests {
    use crate::Artifact as _;
    use crate::experiment_record::ExperimentRecord;
    use crate::simulate::{CpuTruth, MachineNoise, simulate_survey};
    use crate::trial::{Experiment, PlacementArm, Trial, TrialMetric, TrialOutcome, TriedWorkload};
    use corewise_machine::CpuSet;
    use corewise_machine::generate::one_package_machine;
    use corewise_statistics::experiment::JudgingPolicy;

    #[test]
    fn a_survey_is_followed_by_its_worst_cpu_and_its_median_cpu() {
        let truth =
            |cpu| CpuTruth { piece_ns: 260.0, interrupts_per_s: 40.0, lost: if cpu == 2 { 0.1 } else { 0.001 } };
        let survey = simulate_survey(one_package_machine(3, false, &[]), 24, 1, MachineNoise::Quiet, truth);
        let followed = survey.trend_values();
        assert_eq!([&followed[0].of, &followed[1].of], ["the worst cpu", "the median cpu"]);
        assert!(followed[0].value > 5.0 * followed[1].value, "{followed:?}");
        let [low, high] = followed[0].interval.unwrap();
        assert!(low.unwrap() < followed[0].value && followed[0].value < high.unwrap());
    }

    /// Of equal cpus the worst is the one with bad luck: its interval holds the value that all have.
    #[test]
    fn the_interval_of_the_worst_cpu_holds_the_truth() {
        let truth = |_| CpuTruth { piece_ns: 260.0, interrupts_per_s: 40.0, lost: 0.001 };
        for noise in MachineNoise::ALL {
            let holds = |seed| {
                let survey = simulate_survey(one_package_machine(16, false, &[]), 24, seed, noise, truth);
                let [low, high] = survey.trend_values()[0].interval.unwrap();
                low.unwrap() <= 286.0 && 286.0 <= high.unwrap()
            };
            let held = (0..50).filter(|&seed| holds(seed)).count();
            assert!(held >= 47, "{noise:?}: {held} of 50");
        }
    }

    #[test]
    fn an_experiment_is_followed_by_its_effects_and_only_with_its_command() {
        let of = |command: &str| {
            let arm = |name: &str, cpus| PlacementArm::new(name, cpus, "");
            let experiment = Experiment {
                corewise: "0.1.0".to_owned(),
                started_unix_ms: 0,
                seed: 1,
                machine: one_package_machine(2, false, &[]),
                workload: TriedWorkload::new(vec![command.to_owned()], "/".into(), TrialMetric::wall_time()),
                arms: vec![arm("OS default", None), arm("1", Some(CpuSet::from_cpu(1)))],
                policy: JudgingPolicy::default(),
                suite: None,
                stretch: None,
                origin: crate::artifact::ArtifactOrigin::Measured,
            };
            let seconds = |block: u32, arm: usize| [1.0, 0.5][arm] + f64::from(block * 7 % 5) / 1000.0;
            let trial = |block, arm| Trial::new(block, 0, arm, TrialOutcome::Value(seconds(block, arm)));
            let trials = (1..=20).flat_map(|block| [0, 1].map(|arm| trial(block, arm))).collect();
            ExperimentRecord { experiment, trials }
        };
        let (made, numbers) = (of("a"), of("a").draw_conclusions().numbers.unwrap());
        let followed = made.trend_values();
        assert_eq!((followed.len(), followed[0].of.as_str()), (1, "cpu 1"));
        let percent = |ratio: f64| 100.0 * (ratio - 1.0);
        assert!((followed[0].value - percent(numbers.arms[1].ratio.unwrap())).abs() < 1e-9, "{followed:?}");
        assert!((followed[0].interval.unwrap()[0].unwrap() - percent(numbers.arms[1].at_least.unwrap())).abs() < 1e-9);
        assert!(
            made.is_followed_with(&of("a").summarize_artifact())
                && !made.is_followed_with(&of("b").summarize_artifact())
        );
    }
}
