//! `corewise report` as a user meets it: a page that needs nothing else, says what the terminal says, and can be taken apart again.

#[path = "../support/mod.rs"]
mod support;

mod browser;
mod cost;
mod made;
mod origins;
mod pictures;

use std::path::Path;

use corewise_model::Survey;
use corewise_model::artifact::ArtifactOrigin;
use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::survey::WorkKind;
use corewise_store::ArtifactStore;
use made::{HOSTILE, experiment, history, parts, survey};
use serde_json::Value;
use support::{TestPlace, text};

fn printed(place: &TestPlace, store: &Path, arguments: &[&str]) -> String {
    let run = place.corewise(arguments).arg("--store").arg(store).current_dir(place.path()).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{arguments:?}: {}", text(&run.stderr));
    text(&run.stdout)
}

fn page(place: &TestPlace, store: &Path, numbers: &[&str]) -> String {
    printed(place, store, &[&["report", "-o", "page.html"], numbers].concat());
    std::fs::read_to_string(place.path().join("page.html")).unwrap()
}

#[test]
fn a_page_says_what_the_terminal_says() {
    let place = TestPlace::new();
    let store = history(&place);
    let page = page(&place, &store, &["2", "1", "3"]);
    let shown: Value = serde_json::from_str(&printed(&place, &store, &["history", "show", "2", "--json"])).unwrap();
    let words = without_tags(&page);
    for sentence in ["sentences", "notes"].iter().flat_map(|kind| shown[kind].as_array().unwrap()) {
        assert!(words.contains(sentence.as_str().unwrap()), "{sentence}");
    }
    let arm = &shown["conclusions"]["standing"]["arms"][1];
    let gain = (arm["effect"]["estimate"].as_f64().unwrap().exp() - 1.0) * 100.0;
    for number in [format!("{gain:+.1} %"), arm["runs"].to_string()] {
        assert!(words.contains(&number), "{number}");
    }
    assert!(words.contains("From survey 1 to survey 3"), "two surveys are compared");
    for title in
        ["Every run over time", "What each placement changes", "Differences within each block", "Latency by percentile"]
    {
        assert!(page.contains(title), "{title}");
    }
}

#[test]
fn a_page_shows_what_was_started_and_where_each_role_stood() {
    let place = TestPlace::new();
    let path = place.path().join("history.db");
    ArtifactStore::open(&path).unwrap().add_artifact(&parts("<1>")).unwrap();
    let page = page(&place, &path, &["1"]);
    let words = without_tags(&page);
    for part in [
        "Service server, started anew for each run: ./server &lt;1&gt;; ready when this succeeds: ./ask",
        "Roles",
        "0 @ bind:0",
        "corewise run --on 0 --memory bind:0 -- sh -c './server &lt;1&gt;'",
        "NUMAPolicy=bind",
        "NUMAMask=0",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
}

/// The text of a page, as a reader of its words has it.
fn without_tags(page: &str) -> String {
    let mut words = String::new();
    let mut inside = false;
    for character in page.chars() {
        match character {
            '<' => inside = true,
            '>' => inside = false,
            other if !inside => words.push(other),
            _ => {}
        }
    }
    words.replace('\u{a0}', " ")
}

#[test]
fn a_page_needs_nothing_else() {
    let place = TestPlace::new();
    let store = history(&place);
    let page = page(&place, &store, &["1", "2"]);
    for outside in ["src=", "href=\"http", "@import", "url(", "<link", "<script>", "text/javascript", "onload"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn names_of_others_stay_text() {
    let place = TestPlace::new();
    let path = place.path().join("history.db");
    ArtifactStore::open(&path).unwrap().add_artifact(&experiment(12, HOSTILE)).unwrap();
    let page = page(&place, &path, &["1"]);
    assert!(!page.contains("<img") && !page.contains("<b>"), "the name is an element");
    let data = page.split("data-corewise").nth(1).unwrap();
    assert_eq!(data.matches("</script>").count(), 1, "the name ends the data");
    let other = place.path().join("other.db");
    printed(&place, &other, &["history", "import", "page.html"]);
    let taken: ExperimentRecord = ArtifactStore::open(&other).unwrap().get_artifact(1).unwrap();
    assert_eq!(taken.experiment.arms[1].name, HOSTILE);
}

#[test]
fn a_page_is_taken_into_another_history_and_its_commands_are_not_run() {
    let place = TestPlace::new();
    let store = history(&place);
    page(&place, &store, &["1", "2"]);
    let other = place.path().join("other.db");
    assert_eq!(printed(&place, &other, &["history", "import", "page.html"]), "2 results imported: 1, 2\n");
    let (before, after) = (ArtifactStore::open(&store).unwrap(), ArtifactStore::open(&other).unwrap());
    let (survey, mut same) = (before.get_artifact::<Survey>(1).unwrap(), after.get_artifact::<Survey>(1).unwrap());
    assert_eq!(same.provenance.origin.imported_file(), Some("page.html"));
    same.provenance.origin = survey.provenance.origin.clone();
    assert_eq!(survey, same);
    let (made, taken) =
        (before.get_artifact::<ExperimentRecord>(2).unwrap(), after.get_artifact::<ExperimentRecord>(2).unwrap());
    assert_eq!(made.trials, taken.trials);
    assert_eq!(taken.experiment.origin.imported_file(), Some("page.html"));
    let run = place.corewise(&["try", "--again", "2", "--store"]).arg(&other).output().unwrap();
    assert_eq!(run.status.code(), Some(3));
    let said = text(&run.stderr);
    assert!(said.contains("the experiment was imported from page.html") && said.contains("./program"), "{said}");
}

#[test]
fn what_is_no_page_is_refused_and_changes_nothing() {
    let place = TestPlace::new();
    let store = history(&place);
    let refused = |arguments: &[&str], words: &str| {
        let run = place.corewise(arguments).arg("--store").arg(&store).current_dir(place.path()).output().unwrap();
        assert_eq!(run.status.code(), Some(3), "{arguments:?}: {}", text(&run.stdout));
        assert!(text(&run.stderr).contains(words), "{}", text(&run.stderr));
    };
    std::fs::write(place.path().join("other.html"), "<html><p>nothing").unwrap();
    refused(&["history", "import", "other.html"], "holds no result");
    refused(&["history", "import", "missing.html"], "missing.html");
    let mut broken = page(&place, &store, &["1", "2"]);
    broken = broken.replacen("\"block\":", "\"blok\":", 1);
    std::fs::write(place.path().join("broken.html"), broken).unwrap();
    refused(&["history", "import", "broken.html"], "Nothing was imported");
    assert_eq!(ArtifactStore::open(&store).unwrap().list_entries().unwrap().len(), 3, "all are taken, or none");
    refused(&["report", "9"], "there is no number 9");
    refused(&["report", "1", "-o", "no/such/folder/page.html"], "no/such/folder");
}

#[test]
fn large_machines_and_long_experiments_make_small_pages() {
    let place = TestPlace::new();
    let path = place.path().join("history.db");
    let mut store = ArtifactStore::open(&path).unwrap();
    let mut large = survey(256, 1);
    // As many as a survey visits of a machine of this size.
    large.links.pairs.truncate(500);
    store.add_artifact(&large).unwrap();
    store.add_artifact(&experiment(200, "1")).unwrap();
    drop(store);
    assert!(page(&place, &path, &["1"]).len() <= 1_000_000, "{}", page(&place, &path, &["1"]).len());
    assert!(page(&place, &path, &["2"]).len() <= 400_000, "{}", page(&place, &path, &["2"]).len());
}

#[test]
fn figures_are_files_of_their_own() {
    let place = TestPlace::new();
    let store = history(&place);
    let said = printed(&place, &store, &["report", "1", "2", "-o", "page.html", "--figures", "figures"]);
    assert!(said.contains("7 figures beside it"), "{said}");
    for name in [
        "survey-1-percentiles",
        "survey-1-cpus",
        "survey-1-links",
        "survey-1-over-time-values",
        "experiment-2-effects",
        "experiment-2-runs",
        "experiment-2-differences",
    ] {
        let svg = std::fs::read_to_string(place.path().join(format!("figures/{name}.svg"))).unwrap();
        roxmltree::Document::parse(&svg).unwrap();
    }
    let document: Value =
        serde_json::from_str(&printed(&place, &store, &["report", "2", "-o", "page.html", "--json"])).unwrap();
    assert_eq!(document["numbers"], serde_json::json!([2]));
    let piped = printed(&place, &store, &["report", "2", "-o", "-"]);
    assert!(piped.starts_with("<!DOCTYPE html>"), "{piped}");
}

/// A picture that is shown alone says of which machine and which day it is, and that it is simulated.
#[test]
fn every_figure_names_its_machine_its_day_and_that_it_is_simulated() {
    let place = TestPlace::new();
    let all = made::Everything::new(&place);
    let mut store = ArtifactStore::open(&all.store).unwrap();
    let mut simulated = experiment(20, "2");
    simulated.experiment.origin = ArtifactOrigin::Simulated { file: "effects.toml".to_owned() };
    let simulated = store.add_artifact(&simulated).unwrap();
    drop(store);
    let numbers: Vec<String> =
        [all.surveys[4], all.experiments[4], all.live, all.threads, all.tail, all.links, all.memory, simulated]
            .iter()
            .map(i64::to_string)
            .collect();
    let words = [&["report"], &numbers.iter().map(String::as_str).collect::<Vec<_>>()[..], &["--figures", "figures"]];
    printed(&place, &all.store, &words.concat());
    let mut seen = 0;
    for file in std::fs::read_dir(place.path().join("figures")).unwrap() {
        let name = file.as_ref().unwrap().file_name().into_string().unwrap();
        let svg = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let words = without_tags(&svg).replace('\n', " ");
        assert!(words.contains(" cpus") && words.contains("corewise ") && words.contains(", seed"), "{name}: {words}");
        assert!(words.contains("20") && words.matches('-').count() >= 2, "{name} has no day: {words}");
        let is_simulated = name.starts_with(&format!("experiment-{simulated}-"));
        assert_eq!(words.contains("simulated from effects.toml"), is_simulated, "{name}: {words}");
        seen += usize::from(is_simulated);
    }
    assert!(seen >= 2, "{seen} figures of the simulated experiment");
}

/// `survey` times `compute`, `tail` times `spin`: both are surveys, but their times are not one line.
#[test]
fn what_was_measured_of_other_work_is_not_followed() {
    let place = TestPlace::new();
    let path = history(&place);
    let mut store = ArtifactStore::open(&path).unwrap();
    let spin = [3, 4].map(|seed| {
        let mut spin = survey(4, seed);
        (spin.work.kind, spin.provenance.started_unix_ms) = (WorkKind::Spin, 1_000_000 * seed as i64);
        store.add_artifact(&spin).unwrap().to_string()
    });
    drop(store);
    let whole = without_tags(&page(&place, &path, &["3"]));
    assert!(whole.contains("a piece of compute") && !whole.contains("a piece of spin"), "{whole}");
    let both = page(&place, &path, &["3", &spin[1]]);
    assert!(both.contains("survey-3-over-time") && both.contains(&format!("survey-{}-over-time", spin[1])));
}

/// A suite's latest session is reported as a whole, with its table first.
#[test]
fn the_experiments_of_a_suite_make_a_table() {
    let place = TestPlace::new();
    let path = place.path().join("history.db");
    let mut store = ArtifactStore::open(&path).unwrap();
    for made in made::suite() {
        store.add_artifact(&made).unwrap();
    }
    drop(store);
    let whole = page(&place, &path, &["1", "2", "3", "4"]);
    let words = without_tags(&whole);
    for part in
        ["Suite review, begun", "geometric mean of 4", "experiments 1 to 4", "--suite review --on 'all - core:0'"]
    {
        assert!(words.contains(&part.replace('\'', "&#39;")) || words.contains(part), "{part}: {words}");
    }
    assert!(whole.find("suite-1").unwrap() < whole.find("experiment-1").unwrap(), "the table comes first");
    assert!(!page(&place, &path, &["1"]).contains("geometric mean"), "one experiment is no suite");
}

/// Without numbers: all experiments of the latest session, and nothing of the one before.
#[test]
fn the_latest_of_this_machine_is_a_whole_session() {
    let place = TestPlace::new();
    let path = place.path().join("history.db");
    let mut store = ArtifactStore::open(&path).unwrap();
    let machine = corewise_sys::topology::read_machine(&corewise_sys::Root::this_machine()).unwrap();
    for begun_unix_ms in [1, 2] {
        for mut made in made::suite() {
            made.experiment.machine = machine.clone();
            made.experiment.suite.as_mut().unwrap().begun_unix_ms = 86_400_000 * begun_unix_ms;
            store.add_artifact(&made).unwrap();
        }
    }
    drop(store);
    let document: Value =
        serde_json::from_str(&printed(&place, &path, &["report", "-o", "page.html", "--json"])).unwrap();
    assert_eq!(document["numbers"], serde_json::json!([5, 6, 7, 8]));
}

/// What is stored of the same machine is followed, whether or not it is named.
#[test]
fn numbers_are_followed_over_the_history() {
    let place = TestPlace::new();
    let path = place.path().join("history.db");
    let mut store = ArtifactStore::open(&path).unwrap();
    for (day, seed) in [(0, 1), (1, 2), (2, 3)] {
        let mut survey = survey(4, seed);
        survey.provenance.started_unix_ms = day * 86_400_000;
        survey.machine.system.kernel = Some(format!("7.{day}"));
        store.add_artifact(&survey).unwrap();
    }
    store.add_artifact(&experiment(20, "1")).unwrap();
    drop(store);
    let page = page(&place, &path, &["3"]);
    let words = without_tags(&page);
    for part in [
        "Survey 3 and others like it, over time",
        "3 surveys of this machine, from 1970-01-01",
        "the worst cpu",
        "kernel 7.1",
        "kernel 7.2",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    let one = self::page(&place, &path, &["4"]);
    assert!(!one.contains("over time</h2>"), "one experiment on a command has no course");
}

/// Rules stand on pages of their machine, with their evidence and whether it still holds; on pages of others they do not.
#[test]
fn rules_stand_on_pages_of_their_machine() {
    let place = TestPlace::new();
    let machine = corewise_sys::topology::read_machine(&corewise_sys::Root::this_machine()).unwrap();
    let path = place.path().join("history.db");
    let mut store = ArtifactStore::open(&path).unwrap();
    store.add_artifact(&Survey { machine: machine.clone(), ..survey(2, 1) }).unwrap();
    store.add_artifact(&survey(4, 1)).unwrap();
    drop(store);
    page(&place, &path, &["1", "2"]);
    // Rules of root are the system's.
    let home = place.folder("home", 0o755);
    let rules = home.join("corewise");
    std::fs::create_dir(&rules).unwrap();
    let rule = format!(
        "[[rule]]\nname = \"scores\"\nmatch = {{ name = \"x\" }}\non = \"0\"\nevidence = {{ experiment = 1, effect = 0.061, \
         interval = [0.042, inf], error_rate = 0.05, fingerprint = \"{}\", environment = {{ kernel = \"5.0\" }} }}\n",
        machine.fingerprint()
    );
    std::fs::write(rules.join("rules.toml"), rule).unwrap();
    if support::is_root() {
        for path in [&home, &rules, &rules.join("rules.toml")] {
            std::os::unix::fs::chown(path, Some(65_534), Some(65_534)).unwrap();
        }
    }
    let run = |words: &[&str]| {
        let mut command = place.ordinary_user(words);
        let run =
            command.env("XDG_DATA_HOME", &home).env("XDG_CONFIG_HOME", &home).current_dir(&home).output().unwrap();
        assert!(run.status.success(), "{words:?}: {}", text(&run.stderr));
        text(&run.stdout)
    };
    run(&["history", "import", place.path().join("page.html").to_str().unwrap()]);
    let words = without_tags(&run(&["report", "1", "-o", "-"]));
    for part in ["scores", "experiment 1: +6.1 % [4.2, ?]", "unproven: kernel was 5.0, is"] {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert!(!run(&["report", "2", "-o", "-"]).contains("scores"), "rules of this machine say nothing of another");
}
