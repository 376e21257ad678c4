//! Results of nodes become one experiment, and missing ones are said.

use corewise_machine::Machine;

use super::*;
use crate::Artifact as _;
use crate::artifact::ArtifactOrigin;
use crate::fleet::ProblemKind;
use crate::trial::{FolderText, Trial, TrialMetric, TrialOutcome};
use corewise_statistics::experiment::{ArmVerdict, BlockRun};

/// A node's experiment with these placements and four blocks, in which the last placement takes `slower` times as long.
fn record(arms: &[&str], slower: f64) -> ExperimentRecord {
    let arm = |name: &&str| PlacementArm::new(*name, (*name != "OS default").then(|| CpuSet::first_cpus(2)), "");
    let experiment = Experiment {
        corewise: "0".to_owned(),
        started_unix_ms: 0,
        seed: 1,
        machine: Machine::default(),
        workload: TriedWorkload::new(vec!["./app".to_owned()], "/home/a".into(), TrialMetric::wall_time()),
        arms: arms.iter().map(arm).collect(),
        policy: JudgingPolicy { least_blocks: 4, most_runs: Some(8), ..JudgingPolicy::default() },
        suite: None,
        stretch: None,
        origin: ArtifactOrigin::Measured,
    };
    let last = arms.len() - 1;
    let seconds = |block: u32, arm: usize| (1.0 + 0.001 * f64::from(block)) * if arm == last { slower } else { 1.0 };
    let trials = (1..=4).flat_map(|block| {
        let trial = move |arm| Trial::new(block, arm as u32, arm, TrialOutcome::Value(seconds(block, arm)));
        (0..=last).map(trial).collect::<Vec<_>>()
    });
    ExperimentRecord { experiment, trials: trials.collect() }
}

fn experiment(nodes: &[&str]) -> FleetExperiment {
    let provenance = ArtifactProvenance {
        origin: ArtifactOrigin::Measured,
        corewise: "0".to_owned(),
        started_unix_ms: 0,
        elapsed_s: 0.0,
        budget_s: 0.0,
        seed: 1,
        partial: false,
    };
    let nodes: Vec<String> = nodes.iter().map(|node| (*node).to_owned()).collect();
    FleetExperiment::new(provenance, &record(&["OS default", "llc:0", "llc:1"], 1.0).experiment, &nodes)
}

#[test]
fn placements_are_the_same_by_their_names_and_one_that_a_node_lacks_is_absent_there() {
    let mut fleet = experiment(&["a", "b"]);
    fleet.add_record("a", &record(&["OS default", "llc:0", "llc:1"], 0.5)).unwrap();
    fleet.add_record("b", &record(&["OS default", "llc:1", "other"], 0.5)).unwrap();
    let [first, second] = [0, 1].map(|node| fleet.nodes[node].run_arms());
    assert_eq!((first, second), (vec![0, 1, 2], vec![0, 2]));
    assert_eq!(fleet.nodes[1].cpus, [None, None, Some(CpuSet::first_cpus(2))]);
    let found = conclude_fleet_experiment(&fleet);
    let units: Vec<usize> = found.this_kind.arms.iter().map(|arm| arm.units).collect();
    assert_eq!((found.counted, units), (2, vec![1, 2]));
    assert!(fleet.check_loaded().is_ok());
}

#[test]
fn further_visits_add_blocks_and_take_back_a_problem() {
    let mut fleet = experiment(&["a"]);
    let problem = NodeProblem { kind: ProblemKind::TimedOut, reason: "too slow".to_owned() };
    fleet.add_problem("a", problem.clone());
    assert_eq!(conclude_fleet_experiment(&fleet).nodes[0].problem.as_deref(), Some("too slow"));
    for visits in [1, 2] {
        fleet.add_record("a", &record(&["OS default", "llc:0", "llc:1"], 0.5)).unwrap();
        assert_eq!((fleet.nodes[0].blocks.len(), &fleet.nodes[0].problem), (4 * visits, &None));
    }
}

#[test]
fn another_command_metric_or_margin_is_not_this_experiment_but_another_folder_is() {
    let mut fleet = experiment(&["a"]);
    let first = record(&["OS default", "llc:0"], 1.0);
    let change = |change: &dyn Fn(&mut Experiment)| {
        let mut record = first.clone();
        change(&mut record.experiment);
        record
    };
    for other in [
        change(&|experiment| experiment.workload.command.push("--fast".to_owned())),
        change(&|experiment| experiment.workload.metric.name = "fps".to_owned()),
        change(&|experiment| experiment.policy.margin = 0.1),
    ] {
        assert_eq!(fleet.add_record("a", &other), Err(ForeignRecord::OtherWorkload));
    }
    assert_eq!(fleet.add_record("a", &record(&["OS default", "x"], 1.0)), Err(ForeignRecord::OtherPlacements));
    assert!(fleet.nodes[0].blocks.is_empty());
    let elsewhere = change(&|experiment| experiment.workload.folder = FolderText::from("/home/b"));
    assert_eq!(fleet.add_record("a", &elsewhere), Ok(()));
}

#[test]
fn a_placement_that_fails_on_a_node_counts_as_worse_there_and_a_baseline_that_fails_leaves_no_row_empty() {
    let mut fleet = experiment(&["a", "b"]);
    fleet.add_record("a", &record(&["OS default", "llc:0"], 0.5)).unwrap();
    fleet.add_record("b", &record(&["OS default", "llc:0"], 0.5)).unwrap();
    let fail = |fleet: &mut FleetExperiment, node: usize, arm: usize| {
        let runs = fleet.nodes[node].blocks.iter_mut().flat_map(|block| &mut block.runs);
        runs.filter(|run| run.arm == arm).for_each(|run| run.x = None);
    };
    fail(&mut fleet, 0, 1);
    let found = conclude_fleet_experiment(&fleet);
    assert_eq!(found.nodes[0].arms[0].verdict, ArmVerdict::Failed);
    assert_eq!((found.counted, found.arms[0].not_better), (2, 1));
    fail(&mut fleet, 1, 0);
    let found = conclude_fleet_experiment(&fleet);
    assert_eq!(found.nodes[1].problem.as_deref(), Some("the baseline keeps failing there"));
    assert_eq!(found.counted, 1);
}

#[test]
fn a_file_of_others_is_checked_before_it_is_judged() {
    let mut good = experiment(&["a"]);
    good.add_record("a", &record(&["OS default", "llc:0"], 0.5)).unwrap();
    assert_eq!(good.check_loaded(), Ok(()));
    let broken = |change: &dyn Fn(&mut FleetExperiment)| {
        let mut fleet = good.clone();
        change(&mut fleet);
        fleet.check_loaded().is_err()
    };
    assert!(broken(&|fleet| fleet.nodes[0].blocks[0].runs[0].arm = 9));
    assert!(broken(&|fleet| fleet.nodes[0].blocks[0].runs.push(BlockRun { arm: 0, x: None })));
    assert!(broken(&|fleet| fleet.nodes[0].name = "../a".to_owned()));
    assert!(broken(&|fleet| fleet.policy.error_rate = 0.0));
    assert!(broken(&|fleet| fleet.arms.truncate(1)));
}

#[test]
fn a_node_that_is_still_at_work_is_not_overtaken() {
    let mut fleet = experiment(&["a", "b", "c"]);
    for node in ["b", "c"] {
        fleet.add_record(node, &record(&["OS default", "llc:0"], 0.5)).unwrap();
    }
    assert_eq!(conclude_fleet_experiment(&fleet).counted, 0);
    fleet.add_problem("a", NodeProblem { kind: ProblemKind::Died, reason: "gone".to_owned() });
    assert_eq!(conclude_fleet_experiment(&fleet).counted, 2);
}
