//! Rules that an experiment proved.

use std::fs;

use crate::stage::KeepStage;
use crate::support::text;

/// An experiment's winner becomes a rule, and is tried once more: it is proven again, until it makes no difference any more.
#[test]
fn a_winner_becomes_a_rule_with_what_proved_it() {
    let Some(stage) = KeepStage::new() else { return };
    let one = stage.one.to_string();
    let equal = stage.place.folder("flags", 0o700).join("equal");
    let script = format!(
        "if ! test -e {} && grep -q '^Cpus_allowed_list:.{one}$' /proc/self/status; then echo score 20.14; else echo score 10.0${{#COREWISE_PADDING}}; fi",
        equal.display()
    );
    let tried = [
        &["try", "--no-confirm", "--metric", "score", "--higher", "--on", &one, "--rest", "0s"][..],
        &["--", "sh", "-c", &script],
    ]
    .concat();
    let output = stage.corewise(&tried).output().unwrap();
    assert!(text(&output.stdout).starts_with("So far, in "), "{}{}", text(&output.stdout), text(&output.stderr));
    // Every shell would be held.
    let refused = stage.keep(&["add", "--from", "1"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("which runs many programs"), "{}", text(&refused.stderr));
    let added = stage.keep(&["add", "scores", "--from", "1", "--match", "argv=*score*"]);
    assert!(added.status.success() && text(&added.stderr).contains("a winner only so far"), "{}", text(&added.stderr));
    let proof = stage.place.path().join("corewise/proven/scores");
    let proven = || fs::read_to_string(&proof).unwrap_or_default();
    assert!(proven().contains("experiment = 1\n") && text(&added.stderr).contains("programs find it as scores"));
    let rule = fs::read_to_string(&stage.rules).unwrap();
    for words in ["experiment = 1", &format!("on = \"{one}\"")] {
        assert!(rule.contains(words), "{words}: {rule}");
    }
    assert!(stage.said(&[]).contains("scores"), "it is listed");
    let again = stage.said(&["prove", "scores"]);
    assert!(again.contains("Rule scores is proven again: ") && again.contains("experiment 2, so far."), "{again}");
    let evidence = || {
        fs::read_to_string(&stage.rules).unwrap().lines().find(|line| line.starts_with("evidence")).map(str::to_owned)
    };
    assert!(evidence().unwrap().contains("experiment = 2"));
    assert!(proven().contains("experiment = 2\n"), "{}", proven());
    let daemon = stage.daemon();
    let beside = stage.keep(&["prove", "scores"]);
    assert_eq!(beside.status.code(), Some(3));
    assert!(text(&beside.stderr).contains("keep disable scores"), "{}", text(&beside.stderr));
    stage.stop(daemon);
    fs::write(&equal, "").unwrap();
    let withdrawn = stage.said(&["prove", "scores"]);
    assert!(withdrawn.contains("withdrawn (experiment 3)"), "{withdrawn}");
    assert_eq!(evidence(), None);
    assert!(!proof.exists(), "what is withdrawn is not proven for the program either");
    let refused = stage.keep(&["prove", "scores"]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(text(&refused.stderr).contains("rests on no experiment"), "{}", text(&refused.stderr));
    evidence_is_not_deleted(&stage);
    let nowhere = stage.keep(&["add", "far", "--match", "name=x", "--on", "9999"]);
    assert!(nowhere.status.success() && text(&nowhere.stderr).contains("rule far holds nothing"), "{nowhere:?}");
}

/// Experiment 1 is the evidence of a rule in the user's own file.
fn evidence_is_not_deleted(stage: &KeepStage) {
    let config = stage.place.folder("config", 0o700);
    let corewise = |words: &[&str]| stage.corewise(words).env("XDG_CONFIG_HOME", &config).output().unwrap();
    let added = corewise(&["keep", "--user", "add", "rests", "--from", "1", "--match", "argv=*score*"]);
    assert!(added.status.success(), "{}", text(&added.stderr));
    let shown = corewise(&["history", "show", "1"]);
    assert!(text(&shown.stderr).contains("rule rests rests on experiment 1"), "{}", text(&shown.stderr));
    for words in [&["history", "delete", "2", "1"][..], &["history", "prune", "--older-than", "1s"]] {
        let refused = corewise(words);
        let why = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(3), "{why}");
        assert!(why.contains("experiment 1 is the evidence of rule rests") && why.contains("--anyway"), "{why}");
    }
    assert!(corewise(&["history", "show", "2"]).status.success(), "nothing was deleted");
    let rules = config.join("corewise/rules.toml");
    let good = fs::read_to_string(&rules).unwrap();
    fs::write(&rules, format!("{good}nam = 1\n")).unwrap();
    let refused = corewise(&["history", "delete", "2"]);
    assert_eq!(refused.status.code(), Some(3), "it is not known what broken rules rest on");
    fs::write(&rules, good).unwrap();
    assert!(corewise(&["history", "delete", "2"]).status.success());
    assert!(corewise(&["--anyway", "history", "delete", "1"]).status.success());
}
