//! What pages cost: `cargo xtask page-cost` prints it. No test asserts a time.

use std::time::Instant;

use corewise_store::ArtifactStore;

use crate::browser::{browser, without_a_window};
use crate::made::{experiment, survey};
use crate::support::{TestPlace, text};
use crate::{page, printed};

/// Number of times that each is made, in turn.
const TIMES: usize = 11;

#[test]
#[ignore = "measures, and asserts nothing: cargo xtask page-cost"]
fn cost_of_pages() {
    let place = TestPlace::new();
    let path = place.path().join("history.db");
    let mut store = ArtifactStore::open(&path).unwrap();
    let mut large = survey(256, 1);
    large.links.pairs.truncate(500);
    store.add_artifact(&large).unwrap();
    store.add_artifact(&experiment(200, "1")).unwrap();
    drop(store);
    let followed = place.path().join("followed.db");
    let mut store = ArtifactStore::open(&followed).unwrap();
    for day in 0..24 {
        large.provenance.started_unix_ms += day;
        store.add_artifact(&large).unwrap();
    }
    drop(store);
    println!("load {}", std::fs::read_to_string("/proc/loadavg").unwrap().trim());
    println!("page                               bytes  made, ms  without the program's start, ms  painted, ms");
    let pages = [
        ("survey of 256 cpus", &path, "1"),
        ("the last of 24 such surveys", &followed, "24"),
        ("experiment of 400 runs", &path, "2"),
    ];
    let (mut starts, mut made) = (Vec::new(), [const { Vec::new() }; 3]);
    for _ in 0..TIMES {
        starts.push(timed(|| drop(printed(&place, &path, &["history", "--all"]))));
        for (page_ms, (_, store, number)) in made.iter_mut().zip(&pages) {
            page_ms.push(timed(|| drop(printed(&place, store, &["report", number, "-o", "page.html"]))));
        }
    }
    let start = median(&mut starts);
    for ((name, store, number), page_ms) in pages.into_iter().zip(&mut made) {
        let (bytes, made) = (page(&place, store, &[number]).len(), median(page_ms));
        let painted = browser().map(|browser| (0..TIMES).filter_map(|_| painted_ms(browser, &place)).collect());
        let painted = painted.map_or(f64::NAN, |mut times: Vec<f64>| median(&mut times));
        println!("{name:30} {bytes:>9} {made:>9.0} {:>32.0} {painted:>12.0}", made - start);
    }
}

/// How long something takes, in milliseconds.
fn timed(what: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    what();
    begun.elapsed().as_secs_f64() * 1e3
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// When the browser painted the page `page.html` for the first time, in milliseconds since it began to load it. The copy may run the one script
/// that asks for this.
fn painted_ms(browser: &str, place: &TestPlace) -> Option<f64> {
    let script = "<script>new PerformanceObserver(list => { console.log('painted ' + list.getEntries().pop().startTime + ' ms') })\
                  .observe({ type: 'paint', buffered: true })</script>";
    let page = std::fs::read_to_string(place.path().join("page.html")).unwrap();
    let open = page.replace("default-src 'none'; style-src 'unsafe-inline'; img-src data:", "");
    let path = place.path().join("painted.html");
    std::fs::write(&path, open.replace("</body>", &format!("{script}</body>"))).unwrap();
    let picture = place.path().join("painted.png");
    let mut command = without_a_window(browser, place);
    command.arg(format!("--screenshot={}", picture.display())).arg(format!("file://{}", path.display()));
    let said = text(&command.output().unwrap().stderr);
    said.split("\"painted ").nth(1)?.split(' ').next()?.parse().ok()
}
