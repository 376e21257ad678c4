//! Pages in a real browser: it has nothing to say of them and asks for nothing else, everybody can read them, and their numbers are those
//! of the JSON.

use std::path::Path;
use std::process::Command;

use corewise_store::ArtifactStore;
use serde_json::Value;

use crate::made::{Everything, HOSTILE, experiment, live, parts, survey};
use crate::support::{TestPlace, text};
use crate::{page, printed};

/// As long as a page does something, at most 30 s, without waiting for it.
pub const VIRTUAL_TIME: &str = "--virtual-time-budget=30000";

/// A browser, where there is one.
pub fn browser() -> Option<&'static str> {
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok());
    if found.is_none() {
        println!("skipped: there is no chromium");
    }
    found
}

/// The browser without a window, with a profile of this place, and nothing that it does for itself.
pub fn without_a_window(browser: &str, place: &TestPlace) -> Command {
    let mut command = Command::new(browser);
    command
        .arg(format!("--user-data-dir={}", place.path().join("profile").display()))
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg("--enable-logging=stderr");
    command
}

/// What a browser makes of a page, what it says meanwhile, and the addresses that the page asks for.
struct Browsed {
    dom: String,
    said: String,
    asked: Vec<String>,
}

fn browsed(browser: &str, place: &TestPlace, page: &Path) -> Browsed {
    let log = place.path().join("net.json");
    let run = without_a_window(browser, place)
        .args([VIRTUAL_TIME.to_owned(), "--dump-dom".to_owned(), format!("--log-net-log={}", log.display())])
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let log = std::fs::read_to_string(log).unwrap();
    // What the browser asks for by itself has no key of a file.
    let of_pages = log.lines().filter(|event| event.contains("\"network_isolation_key\":\"file://"));
    let asked =
        of_pages.filter_map(|event| event.split("\"url\":\"").nth(1)?.split('"').next()).map(str::to_owned).collect();
    Browsed { dom: text(&run.stdout), said: text(&run.stderr), asked }
}

impl Browsed {
    /// The browser said nothing, and asked for nothing but the page.
    fn is_silent(&self) {
        assert!(!self.said.contains("CONSOLE"), "{}", self.said);
        assert!(self.asked.is_empty(), "{:?}", self.asked);
    }

    /// The text of every cell, row by row, of every table, headings included.
    fn tables(&self) -> Vec<Vec<Vec<String>>> {
        let cells = |row: &str| {
            let cells = row.split("<t").skip(1).filter(|cell| cell.starts_with("d") || cell.starts_with("h "));
            cells.map(|cell| plain(cell.split_once('>').unwrap().1)).collect()
        };
        let rows = |table: &str| table.split("</table>").next().unwrap().split("<tr").skip(1).map(cells).collect();
        self.dom.split("<table").skip(1).map(rows).collect()
    }

    /// The row that begins with this, of a table that has this heading.
    fn row(&self, heading: &str, first: &str) -> Vec<String> {
        let mut tables = self.tables().into_iter().filter(|table| table[0].iter().any(|cell| cell == heading));
        let row = tables.find_map(|table| table.into_iter().find(|row| row[0] == first));
        row.unwrap_or_else(|| panic!("{heading}, {first}: {:?}", self.tables()))
    }
}

/// The text of some HTML.
fn plain(html: &str) -> String {
    let mut words = String::new();
    for piece in html.split('<') {
        words.push_str(piece.split_once('>').map_or(piece, |(_, text)| text));
    }
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&nbsp;", " "), ("\u{a0}", " "), ("&amp;", "&")];
    entities.iter().fold(words, |words, (entity, character)| words.replace(entity, character)).trim().to_owned()
}

fn shown(place: &TestPlace, store: &Path, number: i64) -> Value {
    serde_json::from_str(&printed(place, store, &["history", "show", &number.to_string(), "--json"])).unwrap()
}

/// A number as tables have it: at least two digits, and no more than one decimal.
fn brief(value: f64) -> String {
    if value.abs() < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") }
}

#[test]
fn what_a_page_asks_for_is_seen() {
    let Some(browser) = browser() else { return };
    let place = TestPlace::new();
    let page = place.path().join("asks.html");
    std::fs::write(&page, "<img src=\"http://127.0.0.1:9/picture.png\"><script>console.log('a word')</script>")
        .unwrap();
    let browsed = browsed(browser, &place, &page);
    assert_eq!(browsed.asked, ["http://127.0.0.1:9/picture.png"]);
    assert!(browsed.said.contains("a word"), "{}", browsed.said);
}

#[test]
fn pages_of_every_kind_are_silent_readable_and_have_the_numbers_of_the_json() {
    let Some(browser) = browser() else { return };
    let place = TestPlace::new();
    let all = Everything::new(&place);
    let numbers: Vec<i64> = [&all.surveys[3..], &all.experiments[4..], &all.suite[..]]
        .concat()
        .into_iter()
        .chain([all.live, all.parts, all.threads, all.tail, all.links, all.memory])
        .collect();
    let typed: Vec<String> = numbers.iter().map(i64::to_string).collect();
    let html = page(&place, &all.store, &typed.iter().map(String::as_str).collect::<Vec<_>>());
    let browsed = browsed(browser, &place, &place.path().join("page.html"));
    browsed.is_silent();
    assert_eq!(browsed.dom.matches("<figure").count(), html.matches("<figure").count());
    everybody_can_read(browser, &place, &html);

    for number in [all.experiments[4], all.live, all.parts].iter().chain(&all.suite) {
        placements_are_those_of_the_json(&browsed, &shown(&place, &all.store, *number));
    }
    let suite = shown(&place, &all.store, all.suite[2]);
    let row = browsed.row("runs", "encode");
    assert_eq!(row[1], suite["conclusions"]["standing"]["runs"].to_string());
    assert!(row.contains(&gain(effect(&suite, 2))), "{row:?}");

    let survey = shown(&place, &all.store, all.surveys[4]);
    let course = browsed.row("the worst cpu ns", &all.surveys[4].to_string());
    assert_eq!(course.len(), 7, "{course:?}");
    let rounds = |cpu: &Value| {
        let mut values: Vec<f64> =
            cpu["rounds"].as_array().unwrap().iter().map(|round| round["tail"]["p99_9_ns"].as_f64().unwrap()).collect();
        values.sort_by(f64::total_cmp);
        (values[3] + values[4]) / 2.0
    };
    let worst = survey["observed"]["cpus"].as_array().unwrap().iter().map(rounds).fold(0.0, f64::max);
    assert!(course.contains(&brief(worst)), "{worst}: {course:?}");

    let links = shown(&place, &all.store, all.links);
    for class in links["conclusions"]["kinds"][0]["classes"].as_array().unwrap() {
        let words = class["words"].as_str().unwrap();
        let median = brief(class["median_ns"].as_f64().unwrap());
        let has = |row: &Vec<String>| row.iter().any(|cell| cell == words) && row.contains(&median);
        assert!(browsed.tables().concat().iter().any(has), "{words} {median}");
    }
    // Many costs stand in the figure alone, whose cells are text.
    let memory = shown(&place, &all.store, all.memory);
    let figure = browsed.dom.split("Latency of each node").skip(1).find(|part| part.contains("</text>")).unwrap();
    let costs: Vec<f64> =
        figure.split("</text>").filter_map(|cell| cell.rsplit('>').next()?.trim().parse().ok()).collect();
    for cost in memory["conclusions"]["costs"].as_array().unwrap() {
        let ns = cost["huge_ns"]["median"].as_f64().unwrap();
        assert!(costs.contains(&ns.round()), "{ns}: {costs:?}");
    }
}

#[test]
fn tables_are_whole_on_390_pixels_and_the_verdict_comes_first() {
    let Some(browser) = browser() else { return };
    let place = TestPlace::new();
    let all = Everything::new(&place);
    let numbers: Vec<String> =
        [all.experiments[4], all.suite[2], all.threads, all.surveys[4]].iter().map(i64::to_string).collect();
    let html = page(&place, &all.store, &numbers.iter().map(String::as_str).collect::<Vec<_>>());
    let script = "const wrong = []; let verdicts = 0; const above = cell => cell.getBoundingClientRect().top; \
                  for (const cell of document.querySelectorAll('.stacked td')) { const box = cell.getBoundingClientRect(); \
                  if (box.width && (box.right > innerWidth || cell.scrollWidth > cell.clientWidth)) wrong.push('cut: ' + cell.textContent) } \
                  for (const row of document.querySelectorAll('.stacked tbody tr')) { \
                  const [verdict, interval] = ['verdict', 'interval'].map(title => row.querySelector(`td[data-title=\"${title}\"]`)); \
                  if (!verdict || !interval || !interval.textContent) continue; verdicts += 1; \
                  if (above(verdict) > above(interval)) wrong.push('late: ' + verdict.textContent) } \
                  if (document.documentElement.scrollWidth > innerWidth) wrong.push('the page'); \
                  console.log(`${innerWidth} pixels, ${verdicts > 3} ${JSON.stringify(wrong)}`)";
    let open = html.replace("default-src 'none'; style-src 'unsafe-inline'; img-src data:", "");
    std::fs::write(
        place.path().join("open.html"),
        open.replace("</body>", &format!("<script>{script}</script></body>")),
    )
    .unwrap();
    let outer = place.path().join("outer.html");
    std::fs::write(&outer, "<iframe src=\"open.html\" width=390 height=844 style=\"border: 0\"></iframe>").unwrap();
    let said = browsed(browser, &place, &outer).said;
    assert!(said.contains("390 pixels, true []"), "{said}");
}

fn effect(shown: &Value, arm: usize) -> f64 {
    shown["conclusions"]["standing"]["arms"][arm]["effect"]["estimate"].as_f64().unwrap()
}

/// Runs, estimate and both ends of the interval of each placement stand in its row.
fn placements_are_those_of_the_json(browsed: &Browsed, shown: &Value) {
    let arms = shown["observed"]["experiment"]["arms"].as_array().unwrap();
    for (arm, standing) in shown["conclusions"]["standing"]["arms"].as_array().unwrap().iter().enumerate().skip(1) {
        let gain = gain(effect(shown, arm));
        let end = |end: &str| standing["effect"][end].as_f64().map(percent);
        let (name, runs) = (arms[arm]["name"].as_str().unwrap(), standing["runs"].to_string());
        let has = |row: &Vec<String>| {
            let said = row.join(" ");
            said.starts_with(name)
                && [&runs, &gain].iter().all(|cell| row.contains(cell))
                && ["low", "high"].iter().filter_map(|which| end(which)).all(|end| said.contains(&end))
        };
        assert!(browsed.tables().concat().iter().any(has), "{name} {gain}: {standing}");
    }
}

/// An effect below a half as tables have it.
fn gain(effect: f64) -> String {
    let text = percent(effect);
    let sign = if text.starts_with('-') || text == "0.0" { "" } else { "+" };
    format!("{sign}{text} %")
}

fn percent(effect: f64) -> String {
    let text = format!("{:.1}", 100.0 * (effect.exp() - 1.0));
    if text == "-0.0" { "0.0".to_owned() } else { text }
}

/// What those need who do not see it: nothing that axe-core knows is wrong, in light and in dark.
fn everybody_can_read(browser: &str, place: &TestPlace, page: &str) {
    let checker = crate::made::root().join("target/axe/node_modules/axe-core/axe.min.js");
    let Ok(checker) = std::fs::read_to_string(checker) else { return println!("skipped: axe-core is not installed") };
    for is_dark in [false, true] {
        // The copy may run scripts: the checker, which leaves what it finds in an element.
        let open = themed(page, is_dark).replace("default-src 'none'; style-src 'unsafe-inline'; img-src data:", "");
        let script = "axe.run().then(found => { const all = found.violations.map(one => one.id + ': ' + one.nodes.map(node => node.html).join(' ')); \
                      const element = document.createElement('pre'); element.id = 'found'; \
                      element.textContent = JSON.stringify(all); document.body.append(element) })";
        let checked = open.replace(
            "</body>",
            &format!("<script>{}</script><script>{script}</script></body>", checker.replace("</script", "<\\/script")),
        );
        let path = place.path().join("checked.html");
        std::fs::write(&path, checked).unwrap();
        let browsed = browsed(browser, place, &path);
        let found = browsed.dom.split("id=\"found\">").nth(1).and_then(|rest| rest.split("</pre>").next());
        let said: String = browsed.said.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert_eq!(found, Some("[]"), "dark: {is_dark}: {said}");
    }
}

/// A page that is light, or dark, whatever its reader prefers.
pub fn themed(page: &str, is_dark: bool) -> String {
    page.replace("prefers-color-scheme: dark", if is_dark { "min-width: 0" } else { "max-width: 0" })
}

/// Names of commands, placements, services, threads, devices and machines are text: they are shown as they are, and do nothing.
#[test]
fn names_of_others_do_nothing_in_a_browser() {
    let Some(browser) = browser() else { return };
    let place = TestPlace::new();
    let path = place.path().join("history.db");
    let mut survey = survey(4, 1);
    survey.machine.processor.model_name = Some(HOSTILE.to_owned());
    survey.machine.system.kernel = Some(HOSTILE.to_owned());
    survey.machine.system.scheduling.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
    let mut live = live();
    live.experiment.workload.thread_roles[0].name = HOSTILE.to_owned();
    live.experiment.workload.live.as_mut().unwrap().matches = vec![HOSTILE.to_owned()];
    live.experiment.workload.metric.name = HOSTILE.to_owned();
    let mut store = ArtifactStore::open(&path).unwrap();
    let mut suite = crate::made::suite();
    for made in &mut suite {
        let part = made.experiment.suite.as_mut().unwrap();
        (part.suite, part.benchmark) = (HOSTILE.to_owned(), format!("{}{HOSTILE}", part.benchmark));
    }
    let mut numbers = vec![
        store.add_artifact(&survey).unwrap(),
        store.add_artifact(&live).unwrap(),
        store.add_artifact(&parts(HOSTILE)).unwrap(),
    ];
    numbers.push(store.add_artifact(&experiment(12, HOSTILE)).unwrap());
    numbers.push(store.add_artifact(&experiment(13, HOSTILE)).unwrap());
    numbers.extend(suite.iter().map(|made| store.add_artifact(made).unwrap()));
    drop(store);
    let typed: Vec<String> = numbers.iter().map(i64::to_string).collect();
    let html = page(&place, &path, &typed.iter().map(String::as_str).collect::<Vec<_>>());
    // Without the policy that forbids all scripts: the names alone have to be harmless.
    let open = html.replace("default-src 'none'; style-src 'unsafe-inline'; img-src data:", "");
    std::fs::write(place.path().join("open.html"), open).unwrap();
    let browsed = browsed(browser, &place, &place.path().join("open.html"));
    browsed.is_silent();
    let elements = ["<img", "<b>", "onerror=\"", "alert(1)</script"];
    assert!(elements.iter().all(|element| !browsed.dom.contains(element)), "a name is an element");
    let words = plain(browsed.dom.split("<footer").next().unwrap());
    assert!(words.matches("<img src=x onerror=alert(1)>").count() > 20, "names are shown");
    let turned: Vec<&str> = words.lines().filter(|line| line.contains(['\u{202e}', '\u{2066}'])).collect();
    assert!(turned.is_empty(), "a name turns around what follows it: {turned:?}");
}
