//! `corewise report` as a user meets it: a page that needs nothing else, says what the terminal says, and can be taken apart again.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use corewise_lab::experiment::begun_now;
use corewise_model::conducted::Conducted;
use corewise_model::experiment::Policy;
use corewise_model::simulate::{self, Noise, Truth};
use corewise_model::trial::{Arm, ArmMemory, Metric, Observed, Outcome, Parts, RolePlace, Service, Trial, Workload};
use corewise_model::{CpuSet, Survey};
use corewise_store::Store;
use serde_json::Value;
use support::{Place, text};

/// A name that would do something on a page that does not escape.
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>&<b>";

fn survey(cpus: u32, seed: u64) -> Survey {
    let machine = simulate::machine(cpus, false, &[(CpuSet::first(cpus), 32)]);
    let truth = Truth { piece_ns: 260.0, interrupts_per_s: 120.0, lost: 0.001 };
    let mut survey = simulate::survey(machine, if cpus > 32 { 6 } else { 24 }, seed, Noise::Quiet, |_| truth);
    for seen in &mut survey.cpus {
        (0..20_000_u64).for_each(|piece| seen.tail.record(250 + (piece * 7 + seed) % 13 + (piece % 997).pow(2) / 50));
    }
    survey.links = simulate::links(&survey.machine, seed, |_| 57.0);
    survey
}

/// An experiment of so many blocks in which the candidate is 8 % better.
fn experiment(blocks: u32, name: &str) -> Conducted {
    let machine = simulate::machine(4, false, &[(CpuSet::first(4), 32)]);
    let arm = |name: &str, cpus: Option<CpuSet>| Arm::new(name, cpus, "a test");
    let arms = vec![arm("OS default", None), arm(name, Some(CpuSet::of(1)))];
    let workload = Workload::new(vec!["./program".to_owned(), name.to_owned()], "/".into(), Metric::wall_time());
    let experiment = begun_now("0.1.0", machine, workload, arms, Policy::default(), Some(7));
    let trial = |block: u32, arm: usize| {
        let noise = f64::from(block * 37 % 11) / 1000.0 + f64::from(block * 17 % 5) / 2000.0;
        let seconds = if arm == 0 { 1.0 } else { 0.92 } + noise;
        let observed = Observed {
            wall_s: seconds,
            user_s: seconds,
            peak_memory_bytes: 1 << 24,
            used: CpuSet::of(1),
            ..Observed::default()
        };
        let started_unix_ms = 1_760_000_000_000 + i64::from(block) * 2_000 + arm as i64 * 1_000;
        Trial { started_unix_ms, boot: Some(1), observed, ..Trial::new(block, 0, arm, Outcome::Value(seconds)) }
    };
    let trials = (1..=blocks).flat_map(|block| [0, 1].map(|arm| trial(block, arm))).collect();
    Conducted { experiment, trials }
}

/// A history with a survey, an experiment, and a second survey.
fn history(place: &Place) -> PathBuf {
    let path = place.path().join("history.db");
    let mut store = Store::open(&path).unwrap();
    assert_eq!(store.add(&survey(4, 1)).unwrap(), 1);
    assert_eq!(store.add(&experiment(20, "1")).unwrap(), 2);
    assert_eq!(store.add(&survey(4, 2)).unwrap(), 3);
    path
}

fn printed(place: &Place, store: &Path, arguments: &[&str]) -> String {
    let run = place.corewise(arguments).arg("--store").arg(store).current_dir(place.path()).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{arguments:?}: {}", text(&run.stderr));
    text(&run.stdout)
}

fn page(place: &Place, store: &Path, numbers: &[&str]) -> String {
    printed(place, store, &[&["report", "-o", "page.html"], numbers].concat());
    std::fs::read_to_string(place.path().join("page.html")).unwrap()
}

#[test]
fn a_page_says_what_the_terminal_says() {
    let place = Place::new();
    let store = history(&place);
    let page = page(&place, &store, &["2", "1", "3"]);
    let shown: Value = serde_json::from_str(&printed(&place, &store, &["history", "show", "2", "--json"])).unwrap();
    let sentence = shown["sentence"].as_str().unwrap();
    let words = without_tags(&page);
    assert!(words.contains(sentence), "{sentence}");
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
    let place = Place::new();
    let mut conducted = experiment(20, "server=0@bind:0, load=1");
    let service =
        Service { name: "server".to_owned(), start: "./server <1>".to_owned(), ready: Some("./ask".to_owned()) };
    conducted.experiment.workload.parts =
        Some(Parts { services: vec![service], keep_started: false, ready_within_s: 30.0 });
    let memory = Some(ArmMemory { policy: "bind:0".to_owned(), nodes: CpuSet::of(0) });
    let place_of = |role: &str, cpu: u32, memory| RolePlace {
        role: role.to_owned(),
        expression: cpu.to_string(),
        cpus: CpuSet::of(cpu),
        memory,
    };
    conducted.experiment.arms[1].roles = vec![place_of("server", 0, memory), place_of("load", 1, None)];
    let path = place.path().join("history.db");
    Store::open(&path).unwrap().add(&conducted).unwrap();
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
    let place = Place::new();
    let store = history(&place);
    let page = page(&place, &store, &["1", "2"]);
    for outside in ["src=", "href=\"http", "@import", "url(", "<link", "<script>", "text/javascript", "onload"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn names_of_others_stay_text() {
    let place = Place::new();
    let path = place.path().join("history.db");
    Store::open(&path).unwrap().add(&experiment(12, HOSTILE)).unwrap();
    let page = page(&place, &path, &["1"]);
    assert!(!page.contains("<img") && !page.contains("<b>"), "the name is an element");
    let data = page.split("data-corewise").nth(1).unwrap();
    assert_eq!(data.matches("</script>").count(), 1, "the name ends the data");
    let other = place.path().join("other.db");
    printed(&place, &other, &["history", "import", "page.html"]);
    let taken: Conducted = Store::open(&other).unwrap().get(1).unwrap();
    assert_eq!(taken.experiment.arms[1].name, HOSTILE);
}

#[test]
fn a_page_is_taken_into_another_history_and_its_commands_are_not_run() {
    let place = Place::new();
    let store = history(&place);
    page(&place, &store, &["1", "2"]);
    let other = place.path().join("other.db");
    assert_eq!(printed(&place, &other, &["history", "import", "page.html"]), "2 results imported: 1, 2\n");
    let (before, after) = (Store::open(&store).unwrap(), Store::open(&other).unwrap());
    assert_eq!(before.get::<Survey>(1).unwrap(), after.get::<Survey>(1).unwrap());
    let (made, taken) = (before.get::<Conducted>(2).unwrap(), after.get::<Conducted>(2).unwrap());
    assert_eq!(made.trials, taken.trials);
    assert_eq!(taken.experiment.imported.as_deref(), Some("page.html"));
    let run = place.corewise(&["try", "--again", "2", "--store"]).arg(&other).output().unwrap();
    assert_eq!(run.status.code(), Some(3));
    let said = text(&run.stderr);
    assert!(said.contains("the experiment was imported from page.html") && said.contains("./program"), "{said}");
}

#[test]
fn what_is_no_page_is_refused_and_changes_nothing() {
    let place = Place::new();
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
    assert_eq!(Store::open(&store).unwrap().entries(None).unwrap().len(), 3, "all are taken, or none");
    refused(&["report", "9"], "there is no number 9");
    refused(&["report", "1", "-o", "no/such/folder/page.html"], "no/such/folder");
}

#[test]
fn large_machines_and_long_experiments_make_small_pages() {
    let place = Place::new();
    let path = place.path().join("history.db");
    let mut store = Store::open(&path).unwrap();
    let mut large = survey(256, 1);
    // As many as a survey visits of a machine of this size.
    large.links.pairs.truncate(500);
    store.add(&large).unwrap();
    store.add(&experiment(200, "1")).unwrap();
    drop(store);
    assert!(page(&place, &path, &["1"]).len() <= 1_000_000, "{}", page(&place, &path, &["1"]).len());
    assert!(page(&place, &path, &["2"]).len() <= 400_000, "{}", page(&place, &path, &["2"]).len());
}

#[test]
fn figures_are_files_of_their_own() {
    let place = Place::new();
    let store = history(&place);
    let said = printed(&place, &store, &["report", "1", "2", "-o", "page.html", "--figures", "figures"]);
    assert!(said.contains("5 figures beside it"), "{said}");
    for name in [
        "survey-1-percentiles",
        "survey-1-cpus",
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

/// A browser, where there is one.
fn browser() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok())
}

/// What a browser makes of a page, and what it says meanwhile.
fn browsed(browser: &str, place: &Place, page: &Path) -> (String, String) {
    let profile = format!("--user-data-dir={}", place.path().join("profile").display());
    let options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        "--virtual-time-budget=30000",
        "--dump-dom",
    ];
    let run =
        Command::new(browser).args(options).arg(profile).arg(format!("file://{}", page.display())).output().unwrap();
    (text(&run.stdout), text(&run.stderr))
}

#[test]
fn a_browser_shows_it_without_a_word_and_everybody_can_read_it() {
    let Some(browser) = browser() else { return println!("skipped: there is no chromium") };
    let place = Place::new();
    let store = history(&place);
    let page = page(&place, &store, &["2", "1", "3"]);
    let (shown, said) = browsed(browser, &place, &place.path().join("page.html"));
    assert!(!said.contains("CONSOLE"), "{said}");
    assert_eq!(shown.matches("<figure").count(), page.matches("<figure").count());
    let checker = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/axe/node_modules/axe-core/axe.min.js");
    let Ok(checker) = std::fs::read_to_string(checker) else { return println!("skipped: axe-core is not installed") };
    for theme in ["light", "dark"] {
        let forced =
            page.replace("prefers-color-scheme: dark", if theme == "dark" { "min-width: 0" } else { "max-width: 0" });
        // The copy may run scripts: the checker, which leaves what it finds in an element.
        let open = forced.replace("default-src 'none'; style-src 'unsafe-inline'; img-src data:", "");
        let script = "axe.run().then(found => { const all = found.violations.map(one => one.id + ': ' + one.nodes.map(node => node.html).join(' ')); \
                      document.title = 'checked ' + found.passes.length + ' passed'; const element = document.createElement('pre'); element.id = 'found'; \
                      element.textContent = JSON.stringify(all); document.body.append(element) })";
        let checked = open.replace(
            "</body>",
            &format!("<script>{}</script><script>{script}</script></body>", checker.replace("</script", "<\\/script")),
        );
        let path = place.path().join(format!("checked-{theme}.html"));
        std::fs::write(&path, checked).unwrap();
        let (shown, said) = browsed(browser, &place, &path);
        let found = shown.split("id=\"found\">").nth(1).and_then(|rest| rest.split("</pre>").next());
        assert_eq!(
            found,
            Some("[]"),
            "{theme}: {}",
            said.lines().filter(|line| line.contains("CONSOLE")).collect::<String>()
        );
    }
}
