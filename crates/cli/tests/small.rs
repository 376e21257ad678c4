//! The commands of a small build (`--no-default-features --features keep`): the daemon from its first rule to its last. Every build has them.

#[path = "keep/stage.rs"]
#[allow(dead_code)]
mod stage;
mod support;

use stage::KeepStage;
use support::text;

#[test]
fn rules_are_added_kept_explained_and_undone() {
    let Some(stage) = KeepStage::new() else { return };
    stage.add();
    assert!(stage.said(&["plan"]).contains("nap"));
    let nap = stage.nap();
    let daemon = stage.daemon();
    stage.wait_for_mask(&nap, &stage.one);
    let why = stage.said(&["why", &nap.0.id().to_string()]);
    assert!(why.contains("napper") && why.contains("nap"), "{why}");
    // Killed, it leaves its journal.
    let mut killed = daemon;
    killed.0.kill().unwrap();
    killed.0.wait().unwrap();
    assert!(stage.corewise(&["undo"]).output().unwrap().status.success());
    stage.wait_for_mask(&nap, &stage.all);
    stage.assert_nothing_left();
    stage.said(&["remove", "nap"]);
}

#[test]
fn help_lists_what_there_is() {
    let Some(stage) = KeepStage::new() else { return };
    let help = text(&stage.corewise(&["--help"]).output().unwrap().stdout);
    assert!(help.contains("  keep ") && help.contains("  undo "), "{help}");
    assert_eq!(help.contains("  survey "), cfg!(feature = "measuring"), "{help}");
}
