//! The pictures of the documentation: `cargo xtask pictures` makes them, of simulated results on described machines with fixed seeds.

use std::path::{Path, PathBuf};

use crate::browser::{VIRTUAL_TIME, browser, themed, without_a_window};
use crate::made::{Everything, root};
use crate::page;
use crate::support::TestPlace;

/// A picture takes no more bytes.
const MOST_BYTES: u64 = 200_000;

#[test]
#[ignore = "makes files in docs/pictures: cargo xtask pictures"]
fn pictures_of_pages() {
    let Some(browser) = browser() else { return };
    let place = TestPlace::new();
    let all = Everything::new(&place);
    let folder = root().join("docs/pictures");
    std::fs::create_dir_all(&folder).unwrap();
    let numbers = [all.experiments[2], all.surveys[4], all.links, all.memory].map(|number| number.to_string());
    let figures = place.path().join("figures");
    let html =
        page(&place, &all.store, &[&numbers.each_ref().map(String::as_str)[..], &["--figures", "figures"]].concat());
    for (from, to) in [
        (format!("experiment-{}-effects", numbers[0]), "effects"),
        (format!("experiment-{}-runs", numbers[0]), "runs"),
        (format!("survey-{}-over-time-values", numbers[1]), "over-time"),
    ] {
        std::fs::copy(figures.join(format!("{from}.svg")), folder.join(format!("{to}.svg"))).unwrap();
    }
    let suite: Vec<String> = all.suite.iter().map(i64::to_string).collect();
    let pages = [
        ("page-light", false, 1000, html.clone()),
        ("page-dark", true, 1400, page(&place, &all.store, &[&numbers[2]])),
        ("suite", false, 700, page(&place, &all.store, &suite.iter().map(String::as_str).collect::<Vec<_>>())),
    ];
    for (name, is_dark, height, html) in &pages {
        pictured(browser, &place, &written(&place, html, *is_dark), [1280, *height], &folder.join(name));
    }
    narrow(browser, &place, &html, &folder.join("narrow"));
}

/// Both looks beside each other in windows of 390 pixels, which is less than a browser's own.
fn narrow(browser: &str, place: &TestPlace, html: &str, picture: &Path) {
    let frames = [false, true].map(|is_dark| {
        format!("<iframe src=\"file://{}\" width=390 height=844></iframe>", written(place, html, is_dark).display())
    });
    let both = place.path().join("both.html");
    let style = "body { margin: 10px; display: flex; gap: 10px; background: #777 } iframe { border: 0 }";
    std::fs::write(&both, format!("<style>{style}</style>{}", frames.concat())).unwrap();
    pictured(browser, place, &both, [810, 864], picture);
}

fn written(place: &TestPlace, html: &str, is_dark: bool) -> PathBuf {
    let path = place.path().join(if is_dark { "dark.html" } else { "light.html" });
    std::fs::write(&path, themed(html, is_dark)).unwrap();
    path
}

fn pictured(browser: &str, place: &TestPlace, page: &Path, [width, height]: [u32; 2], picture: &Path) {
    let picture = picture.with_extension("png");
    let run = without_a_window(browser, place)
        .arg(VIRTUAL_TIME)
        .arg(format!("--window-size={width},{height}"))
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    let size = std::fs::metadata(&picture).unwrap().len();
    println!("{}: {size} bytes", picture.display());
    assert!(size <= MOST_BYTES, "{} has {size} bytes", picture.display());
}
