//! The report of made-up fleets.

use corewise_model::Artifact as _;
use corewise_model::fleet::compare::compare_fleets;
use corewise_model::fleet::{Fleet, VisitPolicy};
use corewise_model::simulate::{FleetWorld, SimulatedFleet};

use super::*;
use crate::draw::fixtures::fleet::small_fleet;
use crate::draw::story::forms::check_forms;

fn report(fleet: &Fleet) -> Story {
    compose_story(fleet, &fleet.draw_conclusions(), &StorageStatus::Stored(4))
}

#[test]
fn every_form_has_every_sentence() {
    let fleet = small_fleet();
    check_forms(&report(&fleet));
    check_forms(&changes::compose_changes([1, 2], &compare_fleets(&fleet, &fleet)));
}

#[test]
fn slow_nodes_come_with_their_cause_and_the_line_to_paste() {
    let fleet = small_fleet();
    let found = fleet.draw_conclusions();
    let text = report(&fleet).screen_at_width(160).to_plain();
    let first = &found.outliers[0];
    assert!(text.contains("120 nodes asked · 118 answered"), "{text}");
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
    assert!(made.fleet.draw_conclusions().outliers.len() > 200);
    let text = story.screen_at_width(120).to_plain();
    assert!(text.lines().count() < 150, "{} lines", text.lines().count());
    assert!(text.contains("and "), "{text}");
}

#[test]
fn what_cannot_be_said_is_said() {
    let world = FleetWorld { nodes: 6, models: 1, ..FleetWorld::default() };
    let mut made = SimulatedFleet::new(world, 1);
    made.visit_all(&VisitPolicy::default());
    let text = report(&made.fleet).screen_at_width(120).to_plain();
    assert!(text.contains("No node can be judged yet."), "{text}");
    assert!(text.contains("6 nodes cannot be judged: there are fewer than 8 machines of their model."), "{text}");
}
