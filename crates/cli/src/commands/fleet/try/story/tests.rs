//! Screens of fleets whose truth is known.

use corewise_machine::random::RandomGenerator;
use corewise_model::Artifact as _;
use corewise_model::artifact::ArtifactProvenance;
use corewise_model::fleet::experiment::{FleetArm, TriedNode};
use corewise_model::fleet::{NodeProblem, ProblemKind};
use corewise_model::trial::{TrialMetric, TriedWorkload};
use corewise_statistics::experiment::JudgingPolicy;
use corewise_statistics::simulate::noise::RunNoise;
use corewise_statistics::simulate::{ProgramEffects, SimulatedTrials};
use insta::assert_snapshot;

use super::*;
use crate::draw::fixtures::fabricated::list;
use crate::draw::fixtures::hostile;
use crate::draw::story::forms::check_forms;

/// Visits a fleet with these gains to the end of its plan. Nodes with an even number have another microcode.
pub fn visited_fleet(gains: &[f64], seed: u64) -> FleetExperiment {
    let arm = |name: &str| FleetArm { name: name.to_owned(), reason: String::new() };
    let settings = |node: usize| [("processor", "EPYC 7713"), ("microcode", ["0xa001", "0xa000"][node % 2])];
    let node = |node: usize| TriedNode {
        name: format!("n{node:02}"),
        fingerprint: "f".to_owned(),
        settings: settings(node).map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        cpus: vec![None, Some(list("0-7"))],
        ..TriedNode::default()
    };
    let mut experiment = FleetExperiment {
        provenance: ArtifactProvenance {
            origin: ArtifactOrigin::Measured,
            corewise: "0.1.0".to_owned(),
            started_unix_ms: 0,
            elapsed_s: 95.0,
            budget_s: 3600.0,
            seed,
            partial: false,
        },
        workload: TriedWorkload::new(vec!["./app".into(), "two words".into()], "/".into(), TrialMetric::wall_time()),
        arms: ["OS default", "llc:0"].map(arm).into(),
        policy: JudgingPolicy::default(),
        blocks_per_node: None,
        looks: 0,
        nodes: (0..gains.len()).map(node).collect(),
        made_by: Vec::new(),
    };
    let mut random = RandomGenerator::new(seed);
    let mut programs: Vec<SimulatedTrials> = gains
        .iter()
        .map(|gain| SimulatedTrials::new(&ProgramEffects::from_gains(&[*gain]), &RunNoise::Typical, random.next_bits()))
        .collect();
    loop {
        let wave = experiment.plan_wave();
        if wave.is_empty() {
            return experiment;
        }
        for visit in wave {
            let place = experiment.nodes.iter().position(|node| node.name == visit.node).unwrap();
            for _ in 0..visit.blocks {
                let mut order = [0, 1];
                random.shuffle(&mut order);
                experiment.nodes[place].blocks.push(programs[place].make_block(&order));
            }
        }
    }
}

fn story(experiment: &FleetExperiment) -> Story {
    compose_story(experiment, &experiment.draw_conclusions(), &StorageStatus::Stored(7))
}

fn screen(experiment: &FleetExperiment) -> String {
    let story = story(experiment);
    check_forms(&story);
    story.screen_at_width(100).to_plain()
}

#[test]
fn an_effect_that_all_nodes_have_is_pinned_on_their_kind() {
    let mut experiment = visited_fleet(&[0.06; 8], 1);
    let problem = NodeProblem { kind: ProblemKind::TimedOut, reason: "no result within 90 s".to_owned() };
    experiment.add_problem("n99", problem);
    assert_snapshot!(screen(&experiment), @r"
    9 nodes · 8 answered · 4 blocks a node or more · 95 s
    ./app 'two words'

    Pin it on this kind of machine. llc:0 is at least 5.0 % faster than the OS default on the typical
    node of this kind, about 5.9 %; proven with 8 nodes (error rate 5 %).
        corewise run --on llc:0 -- ./app 'two words'
        srun --exclusive --cpu-bind=mask_cpu:0xff ./app 'two words'    (Slurm)

    placement  typical node  interval    nodes differ by   better  not  open
    llc:0      +5.9 %        [5.0, 9.0]  1.1 % [0.0, 3.3]       0    0     8

    node  processor  blocks  llc:0   interval  proven
    n99                   0                    no result within 90 s
    n02   EPYC 7713       4  +4.8 %  […, …]    open
    n07   EPYC 7713       4  +5.0 %  […, …]    open
    n04   EPYC 7713       4  +5.4 %  […, …]    open
    n03   EPYC 7713       4  +5.6 %  […, …]    open
    n01   EPYC 7713       4  +6.0 %  […, …]    open
    n00   EPYC 7713       4  +6.2 %  […, …]    open
    n06   EPYC 7713       4  +8.1 %  […, …]    open
    n05   EPYC 7713       4  +9.7 %  […, …]    open

    The error rate of 5 % is that of each kind of sentence: about this kind of machine, about these
      nodes, and about single nodes.
    1 node gave no result, or no further one; n99: no result within 90 s
    stored as fleet experiment 7
    ");
}

#[test]
fn an_effect_of_half_the_nodes_is_said_to_be_of_half_with_what_sets_them_apart() {
    let gains: Vec<f64> = (0..12).map(|node| if node % 2 == 0 { 0.06 } else { 0.0 }).collect();
    assert_snapshot!(screen(&visited_fleet(&gains, 2)), @r"
    12 nodes · 12 answered · 4 blocks a node or more · 95 s
    ./app 'two words'

    Half of the nodes. llc:0 is proven faster on 6 of 12 nodes, and proven not to be 3 % faster on 5; on
    1 neither is proven (error rate 5 %).
    Except: It does not hold on n01, n03, n05, n07, n11.
    What sets them apart: The effect of llc:0 differs with microcode: 0xa001 (6 nodes): +6.5 %; 0xa000
    (6 nodes): +0.1 % (p = 0.0010). That is no proof of a cause.
        corewise run --on llc:0 -- ./app 'two words'
        srun --exclusive --cpu-bind=mask_cpu:0xff ./app 'two words'    (Slurm)

    placement  typical node  interval     nodes differ by           better  not  open
    llc:0      +3.6 %        [-0.3, 8.2]  3.2 % [2.1, 6.1], proven       6    5     1

    node  processor  blocks  llc:0   interval     proven
    n11   EPYC 7713      16  -0.7 %  [-5.6, 2.3]  not better by the margin
    n09   EPYC 7713      16  -0.1 %  [-7.0, 4.0]  open
    n07   EPYC 7713      16  0.0 %   [-1.6, 1.8]  not better by the margin
    n01   EPYC 7713      32  +0.2 %  [-1.2, 2.0]  not better by the margin
    n03   EPYC 7713      16  +0.2 %  [-1.7, 1.5]  not better by the margin
    n05   EPYC 7713      16  +1.0 %  [-0.3, 2.5]  not better by the margin
    n00   EPYC 7713      16  +5.3 %  [4.4, 6.5]   better
    n10   EPYC 7713      16  +6.1 %  [3.6, 8.6]   better
    n04   EPYC 7713      16  +6.5 %  [2.9, 11.0]  better
    n06   EPYC 7713      16  +6.6 %  [4.5, 16.4]  better
    n08   EPYC 7713      16  +6.9 %  [3.3, 9.5]   better
    n02   EPYC 7713      16  +7.0 %  [5.0, 8.5]   better

    The error rate of 5 % is that of each kind of sentence: about this kind of machine, about these
      nodes, and about single nodes.
    stored as fleet experiment 7
    ");
}

#[test]
fn few_nodes_have_an_answer_of_their_own_and_the_kind_has_none() {
    assert_snapshot!(screen(&visited_fleet(&[0.06; 3], 3)), @r"
    3 nodes · 3 answered · 4 blocks a node or more · 95 s
    ./app 'two words'

    Pin it on these 3 nodes. llc:0 is at least 1.8 % faster than the OS default in the mean over these 3
    nodes, about 4.8 %; proven with 8 rounds (error rate 5 %).
    Nothing is proven for this kind of machine after 3 nodes. At least 5 nodes are needed.
        corewise run --on llc:0 -- ./app 'two words'
        srun --exclusive --cpu-bind=mask_cpu:0xff ./app 'two words'    (Slurm)

    placement  typical node  interval  nodes differ by    better  not  open
    llc:0      +3.2 %        […, …]    0.0 % [0.0, 14.7]       2    0     1

    node  processor  blocks  llc:0   interval     proven
    n02   EPYC 7713       8  +4.3 %  [-1.8, 8.8]  open
    n00   EPYC 7713       8  +4.7 %  [1.8, 7.6]   better
    n01   EPYC 7713       8  +6.1 %  [2.3, 9.3]   better

    The error rate of 5 % is that of each kind of sentence: about this kind of machine, about these
      nodes, and about single nodes.
    stored as fleet experiment 7
    ");
}

#[test]
fn no_difference_is_an_answer() {
    let answer = story(&visited_fleet(&[0.0; 16], 4)).answer_sentences();
    assert!(
        answer[0].starts_with("Leave it to the OS on this kind of machine. No placement is 3 % faster"),
        "{answer:?}"
    );
}

#[test]
fn a_large_fleet_has_twenty_rows_and_says_how_many_more() {
    let experiment = visited_fleet(&[0.06; 30], 5);
    let screen = screen(&experiment);
    assert!(screen.contains("and 10 more nodes") && screen.lines().count() < 45, "{screen}");
    assert!(story(&experiment).evidence_blocks().count() == 3, "all nodes are on the page");
}

#[test]
fn the_command_that_makes_it_again_reaches_the_nodes_as_the_first_one_did() {
    let mut experiment = visited_fleet(&[0.06; 3], 3);
    let command = |experiment: &FleetExperiment| story(experiment).command;
    assert_eq!(
        command(&experiment),
        "corewise fleet try --slurm --on llc:0 -- ./app 'two words'",
        "unknown: an example"
    );
    experiment.made_by = ["--hosts", "my hosts", "--on", "llc:0"].map(str::to_owned).to_vec();
    assert_eq!(
        command(&experiment),
        "corewise fleet try --hosts 'my hosts' --on llc:0 --nodes 3 --budget 1h -- ./app 'two words'"
    );
    experiment.provenance.budget_s = f64::MAX;
    assert!(command(&experiment).contains("--budget "), "a file may say anything");
}

#[test]
fn names_of_others_break_no_form() {
    for experiment in hostile::copies(&visited_fleet(&[0.06; 6], 6)) {
        if experiment.check_loaded().is_ok() {
            hostile::check_story(&story(&experiment));
        }
    }
}
