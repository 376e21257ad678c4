//! The report of made-up fleets.

use corewise_model::Artifact as _;
use corewise_model::artifact::ArtifactOrigin;
use corewise_model::fleet::compare::compare_fleets;
use corewise_model::fleet::{Fleet, VisitPolicy};
use corewise_model::simulate::{FleetWorld, SimulatedFleet};
use insta::assert_snapshot;

use super::*;
use crate::draw::fixtures::fleet::small_fleet;
use crate::draw::fixtures::fleet_conclusions::{full_changes, full_conclusions};
use crate::draw::story::forms::check_forms;

fn report(fleet: &Fleet) -> Story {
    compose_story(fleet, &fleet.draw_conclusions(), &StorageStatus::Stored(4))
}

#[test]
fn every_form_has_every_sentence() {
    let fleet = small_fleet();
    check_forms(&report(&fleet));
    check_forms(&changes::compose_changes([1, 2], &compare_fleets(&fleet, &fleet), &fleet.made_by));
}

#[test]
fn each_finding_has_its_numbers() {
    let text = compose_story(&small_fleet(), &full_conclusions(), &StorageStatus::Stored(4)).screen_at_width(170);
    assert_snapshot!(text.to_plain(), @r#"
    40 nodes · 38 answered · 150 visits

    What this means
     3 of 36 nodes are worse than their peers: n[03-05].
     The surest: n03, speed: 7.0 % slower (5.1 to 9.0 %) in 6 visits, by chance under 1 in a million; governor powersave (peers performance).
     1 node differs from visit to visit more than its peers: n20.
     2 nodes gave no result; the reasons are below.

    With Slurm, drain them, or leave them out of a job:
        scontrol update NodeName=n03 State=DRAIN Reason="corewise: speed 7.0 % slower, at least 5.1 % slower than its peers, 6 visits; governor powersave"
        scontrol update NodeName=n04 State=DRAIN Reason="corewise: lost-time 1.2 points more, at least 0.8 points more than its peers, 6 visits"
        scontrol update NodeName=n05 State=DRAIN Reason="corewise: memory-bandwidth 25 % less, at least 10 % less than its peers, 6 visits"
        --exclude=n[03-05]

    Worse than their peers
    node  rack  quantity          than its peers   interval             visits  by chance             what differs
    n03   r1    speed             7.0 % slower     5.1 to 9.0 %              6  under 1 in a million  governor powersave (peers performance)
    n04   r1    lost-time         1.2 points more  at least 0.8 points       6  1 in 8,100
    n05   r1    memory-bandwidth  25 % less        10 to 40 %                6  1 in 240

    Uneven from visit to visit
    node  rack  quantity  than its peers  visits  by chance
    n20   r1    tail      3.1x as much         6  1 in 160,000

    Not proven, but closest to it
    node  rack  quantity     than its peers  visits  by chance
    n30   r1    slowest-cpu  4.0 % slower         6  –

    Models of machine
    processor   nodes  speed   spread of 90 % of them  memory   compared
    Example 64     36  250 ns  -1.0 to +4.0 %          95.0 ns  yes

    Racks at another speed than their model
    rack  processor   nodes  than its model
    r2    Example 64     24  3.4 % slower
    r1    Example 64     12  2.1 % faster

    Settings that differ within a model
    setting    odd value  nodes  usual value  nodes  odd nodes are        names of odd nodes
    governor   powersave      1  performance     33  7.0 % slower         n03
    governor   schedutil      2  performance     33  no difference found  n[06-07]
    microcode  not set        1  0x2c            35  not tested           n09

    Nodes without a result
    nodes  which     problem                          reason
        2  n[10-11]  No result within the time limit  no result within 60 s

    2 nodes cannot be compared: there are fewer than 8 machines of their model.
    Of each list at most 5 % are there by chance, and each end of an interval is wrong for at most 5 % of the nodes.
    A setting that differs may be the cause; nothing here proves it.
    stored as fleet 4
    "#);
}

#[test]
fn each_change_has_its_numbers() {
    let made_by = ["survey", "--slurm"].map(str::to_owned);
    let text = changes::compose_changes([1, 2], &full_changes(), &made_by).screen_at_width(170);
    assert_snapshot!(text.to_plain(), @r"
    Of 36 nodes, 1 became worse than their peers did, and 2 better.
    That says little: 2 visits a node in each fleet cannot prove any single change, at least 6 are needed.
    About 9 visits a node in each fleet would prove one that became 5.0 % slower.
    Closest to a proof is n06: about 5 more visits of it and its peers in each fleet would decide, if they are like those so far.
    The earlier visits cannot be repeated now; make the next fleets with `corewise fleet survey --slurm --visits 9`.
    No longer visited: n38.
    New: n[40-41].

    Worse than before
    node  quantity  than before   at least      by chance
    n03   speed     8.0 % slower  5.0 % slower  1 in 8,100

    Better than before
    node  quantity        than before      at least         by chance
    n04   lost-time       1.5 points less  0.5 points less  1 in 2,900
    n05   memory-latency  20 % less                         1 in 400

    Not proven, but closest to it
    node  quantity  than before  by chance
    n06   tail      30 % more    1 in 7

    Changes that all nodes of a model or rack share are not among them. Of each list at most 5 % are there by chance.
    ");
}

#[test]
fn slow_nodes_come_with_their_cause_and_the_line_to_paste() {
    let fleet = small_fleet();
    let found = fleet.draw_conclusions();
    let text = report(&fleet).screen_at_width(160).to_plain();
    let first = &found.outliers[0];
    assert!(text.contains("120 nodes · 118 answered"), "{text}");
    assert!(text.contains("governor powersave (peers performance): another governor"), "{text}");
    assert!(text.contains("memory 192.0 GiB (peers 256.0 GiB): a memory module may be missing"), "{text}");
    assert!(
        text.contains(&format!("scontrol update NodeName={} State=DRAIN Reason=\"corewise: speed ", first.node)),
        "{text}"
    );
    assert!(text.contains("--exclude=n["), "{text}");
    assert!(text.contains("n[010-011]") && text.contains("no result within 60 s"), "{text}");
}

/// Names and settings come from files of others, and the lines are made to be pasted.
#[test]
fn a_line_to_paste_holds_nothing_that_a_shell_would_run() {
    let mut node = small_fleet().draw_conclusions().outliers[0].clone();
    node.causes[0].own = "$(reboot)`x`\" ; rm -rf / \\ \u{1b}[31m".to_owned();
    let reason = drain_reason(&node);
    assert!(!reason.contains(['$', '`', '"', '\\', '\u{1b}', '\n']), "{reason}");
    node.node = "user@host:22".to_owned();
    let found = FleetConclusions { outliers: vec![node], ..small_fleet().draw_conclusions() };
    assert!(compose_steps(&found).is_empty());
}

#[test]
fn ten_thousand_nodes_fit_on_a_screen() {
    let world = FleetWorld { nodes: 3000, noise: 0.01, slow: 0.1, ..FleetWorld::default() };
    let mut made = SimulatedFleet::new(world, 5);
    made.visit_all(&VisitPolicy::default());
    let story = report(&made.fleet);
    let listed = made.fleet.draw_conclusions().outliers.len();
    assert!(listed > 200);
    let text = story.screen_at_width(120).to_plain();
    assert!(text.lines().count() < 150, "{} lines", text.lines().count());
    assert!(text.contains(&format!("and {} more", listed - MOST_ROWS)), "{text}");
}

#[test]
fn what_cannot_be_said_is_said() {
    let world = FleetWorld { nodes: 6, models: 1, ..FleetWorld::default() };
    let mut made = SimulatedFleet::new(world, 1);
    made.visit_all(&VisitPolicy::default());
    let text = report(&made.fleet).screen_at_width(120).to_plain();
    assert!(text.contains("No node can be compared with its peers yet."), "{text}");
    assert!(text.contains("6 nodes cannot be compared: there are fewer than 8 machines of their model."), "{text}");
}

/// A fleet of 30 nodes with two visits each, as `fleet add` made it.
fn added_fleet() -> Fleet {
    let world = FleetWorld { nodes: 30, models: 1, slow: 0.0, spikes: 0.0, ..FleetWorld::default() };
    let mut made = SimulatedFleet::new(world, 1);
    (0..2).for_each(|_| (0..30).for_each(|node| made.visit(node)));
    let mut fleet = made.fleet;
    fleet.provenance.origin = ArtifactOrigin::Imported { file: "a".into(), format: "b".into(), remarks: Vec::new() };
    fleet.made_by = ["add", "a.txt"].map(str::to_owned).to_vec();
    fleet
}

#[test]
fn too_few_visits_are_no_all_clear() {
    let mut fleet = added_fleet();
    let shown = |fleet: &Fleet| report(fleet).screen_at_width(200).to_plain();
    let text = shown(&fleet);
    assert!(text.contains("None of 30 nodes is proven to be worse than its peers."), "{text}");
    assert!(text.contains("2 visits a node cannot prove any single one, at least 6 are needed."), "{text}");
    assert!(text.contains("then `corewise fleet add a.txt` with the earlier files and the new ones."), "{text}");
    fleet.provenance.origin = ArtifactOrigin::Measured;
    assert!(!shown(&fleet).contains("are needed"), "a complete survey visits again what can be proven");
    fleet.provenance.partial = true;
    assert!(shown(&fleet).contains("are needed"), "one that was ended early has not");
    fleet.nodes.iter_mut().for_each(|node| node.name.insert_str(0, "x-"));
    let text = shown_changes(&added_fleet(), &fleet);
    assert!(text.contains("none has visits of its model in both fleets") && !text.contains("None of 0"), "{text}");
}

fn shown_changes(before: &Fleet, after: &Fleet) -> String {
    changes::compose_changes([1, 2], &compare_fleets(before, after), &after.made_by).screen_at_width(250).to_plain()
}

#[test]
fn a_comparison_of_few_visits_says_how_many_prove_a_change_and_how_they_are_made() {
    let (before, mut after) = (added_fleet(), added_fleet());
    let text = shown_changes(&before, &after);
    assert!(
        text.contains("2 visits a node in each fleet cannot prove any single change, at least 6 are needed."),
        "{text}"
    );
    let (_, enough) = text.split_once("About ").unwrap();
    let (enough, rest) = enough.split_once(' ').unwrap();
    let enough: usize = enough.parse().unwrap();
    assert!((6..=24).contains(&enough), "{text}");
    assert!(rest.starts_with("visits a node in each fleet would prove one that became 5.0 % slower."), "{text}");
    assert!(!text.contains("make the next fleets"), "visits were made by other means: {text}");
    after.made_by = ["survey", "--slurm", "--budget", "30s", "--visits", "3"].map(str::to_owned).to_vec();
    let command = format!("`corewise fleet survey --slurm --budget 30s --visits {enough}`");
    assert!(shown_changes(&before, &after).contains(&command), "{}", shown_changes(&before, &after));
}

#[test]
fn the_command_that_makes_a_fleet_again_is_the_one_that_made_it() {
    let mut fleet = added_fleet();
    let command = |fleet: &Fleet| crate::draw::markdown::write_story(&report(fleet), Some(4));
    assert!(command(&fleet).contains("corewise fleet add a.txt"), "{}", command(&fleet));
    fleet.made_by = ["survey", "--slurm", "--nodelist", "n[0-3]"].map(str::to_owned).to_vec();
    assert!(command(&fleet).contains("corewise fleet survey --slurm --nodelist 'n[0-3]'"), "{}", command(&fleet));
}

#[test]
fn one_node_is_and_several_are() {
    let mut found = small_fleet().draw_conclusions();
    assert!(describe_outliers(&found).contains("nodes are worse than their peers"));
    found.outliers.truncate(1);
    assert!(
        describe_outliers(&found).contains("1 of 118 nodes is worse than its peers: "),
        "{}",
        describe_outliers(&found)
    );
}
