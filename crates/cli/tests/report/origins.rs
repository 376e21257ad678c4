//! Results that were made elsewhere are shown with a mark, and count nowhere as this machine's own.

use std::fs;
use std::path::Path;
use std::process::Output;

use corewise_machine::{CpuSet, Machine};
use corewise_store::ArtifactStore;
use serde_json::Value;

use super::made::{experiment_on, survey};
use super::support::{TestPlace, text};
use super::{page, printed};

const SENTENCE: &str = "This result was imported from stranger.html, so it is no evidence about this machine.";

fn this_machine() -> Machine {
    corewise_sys::topology::read_machine(&corewise_sys::Root::this_machine()).unwrap()
}

/// Writes a page of a stranger with one result, and returns its name.
fn write_page(place: &TestPlace, schema: &str, data: &Value) -> &'static str {
    let data = data.to_string().replace('<', "\\u003c");
    let element = format!("<script type=\"application/json\" data-corewise=\"{schema}\">{data}</script>");
    fs::write(place.path().join("stranger.html"), element).unwrap();
    "stranger.html"
}

fn json(place: &TestPlace, store: &Path, words: &[&str]) -> Value {
    serde_json::from_str(&printed(place, store, &[words, &["--json"]].concat())).unwrap()
}

/// A page of a report shows the fingerprint of its machine, so a stranger can write a survey that claims to be of it.
#[test]
fn a_survey_of_a_stranger_with_this_machines_fingerprint_is_not_its_latest() {
    let place = TestPlace::new();
    let store = place.path().join("history.db");
    let machine = this_machine();
    let mut own = survey(2, 1);
    own.cpus.retain(|seen| machine.possible.contains(seen.cpu));
    own.links.pairs.clear();
    own.machine = machine;
    ArtifactStore::open(&store).unwrap().add_artifact(&own).unwrap();
    let speeds = || {
        let worth = json(&place, &store, &["worth"]);
        worth["cpus"]
            .as_array()
            .unwrap()
            .iter()
            .map(|cpu| (cpu["cpu"].clone(), cpu["speed"].clone()))
            .collect::<Vec<_>>()
    };
    let before = speeds();
    let mut data = json(&place, &store, &["history", "show", "1"])["observed"].clone();
    data["provenance"]["origin"] = serde_json::json!({ "from": "measured" });
    for round in data["cpus"][0]["rounds"].as_array_mut().unwrap() {
        let tail = round["tail"].as_object_mut().unwrap();
        tail.values_mut()
            .filter(|value| value.is_f64())
            .for_each(|value| *value = (value.as_f64().unwrap() * 20.0).into());
    }
    let page = write_page(&place, "corewise/survey/3", &data);
    printed(&place, &store, &["history", "import", page]);
    assert_eq!(speeds(), before, "worth, and so best(…), rest on this machine's own survey");
    let report = printed(&place, &store, &["report", "-o", "-"]);
    assert!(report.contains("Survey 1") && !report.contains("Survey 2"), "the report's latest is this machine's own");
    assert!(printed(&place, &store, &["history"]).contains("imported: "), "the list marks it");
    let compared = json(&place, &store, &["history", "compare", "1", "2"])["notes"].to_string();
    assert!(compared.contains("Survey 2 was imported from stranger.html"), "{compared}");
    let page = printed(&place, &store, &["report", "2", "-o", "-"]);
    assert!(super::without_tags(&page).contains(SENTENCE) && !page.contains("over time</h2>"), "no trend has it");
    for form in [&["--markdown"][..], &["--json"], &["--width", "200"]] {
        let shown = printed(&place, &store, &[&["history", "show", "2"], form].concat());
        assert!(shown.contains(SENTENCE), "{form:?}: {shown}");
    }
}

/// An imported experiment is no proof: it is said when a rule is made of it, and the rule counts as unproven.
#[test]
fn an_imported_experiment_proves_no_rule_and_no_run_is_added_to_it() {
    let place = TestPlace::new();
    let (own, store) = (place.path().join("own.db"), place.path().join("history.db"));
    let machine = this_machine();
    let cpu = machine.allowed.iter().next().unwrap().to_string();
    let mut made = experiment_on(machine, 20, &cpu);
    made.experiment.arms[1].cpus = Some(cpu.parse::<CpuSet>().unwrap());
    ArtifactStore::open(&own).unwrap().add_artifact(&made).unwrap();
    page(&place, &own, &["1"]);
    fs::rename(place.path().join("page.html"), place.path().join("stranger.html")).unwrap();
    printed(&place, &store, &["history", "import", "stranger.html"]);
    let csv = printed(&place, &store, &["history", "show", "1", "--csv"]);
    assert!(csv.contains("imported from stranger.html"), "{csv}");
    let shown = printed(&place, &store, &["history", "show", "1", "--width", "200"]);
    assert!(shown.contains(SENTENCE) && !shown.contains("With this command"), "{shown}");
    let keep = |words: &[&str]| -> Output {
        let rules = place.path().join("rules.toml");
        let words =
            [&["keep", "--user", "--rules", rules.to_str().unwrap(), "--store", store.to_str().unwrap()], words]
                .concat();
        place.corewise(&words).current_dir(place.path()).output().unwrap()
    };
    let added = keep(&["add", "stolen", "--from", "1", "--match", "exe=*/postgres"]);
    let said = text(&added.stderr);
    assert!(added.status.success(), "{said}");
    let why = "stolen is unproven here: evidence was imported from stranger.html, is not measured here";
    assert!(said.contains(why) && said.contains("keep prove stolen"), "{said}");
    let rules = fs::read_to_string(place.path().join("rules.toml")).unwrap();
    assert!(rules.contains("origin = { from = \"imported\", file = \"stranger.html\""), "{rules}");
    let listed = text(&keep(&["--width", "200"]).stdout);
    assert!(listed.contains(why) && listed.contains("experiment 1, imported"), "{listed}");
    let released = keep(&["add", "careful", "--from", "1", "--match", "exe=*/x", "--release-unproven"]);
    assert!(released.status.success() && text(&keep(&[]).stdout).contains("unproven, released"), "it holds nothing");
    for words in [&["try", "--resume=1"][..], &["try", "--again", "1"]] {
        let refused = place.corewise(words).arg("--store").arg(&store).output().unwrap();
        assert_eq!(refused.status.code(), Some(3), "{words:?}");
        assert!(text(&refused.stderr).contains("imported from stranger.html"), "{}", text(&refused.stderr));
    }
    // Even with its commands accepted, its runs and new ones are not judged together.
    let trusted = ["try", "--resume=1", "--trust", store.to_str().unwrap(), "--store", store.to_str().unwrap()];
    let refused = text(&place.corewise(&trusted).output().unwrap().stderr);
    assert!(refused.contains("its runs and new ones cannot be compared") && refused.contains("--again 1"), "{refused}");
    // "The last one" is this machine's own, and there is none.
    let last = place.corewise(&["try", "--resume", "--store"]).arg(&store).output().unwrap();
    assert!(
        text(&last.stderr).contains("there is no such stored experiment of this machine"),
        "{}",
        text(&last.stderr)
    );
}
