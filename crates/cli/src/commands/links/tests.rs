//! That no name in a map steers or hides, in whatever form the map is printed.

use corewise_model::Gap;
use corewise_model::links::Relation;
use corewise_model::links::map::Origin;
use corewise_model::simulate::layout::Layout;

use super::*;
use crate::draw::fabricated::{link_map, small_guest};
use crate::draw::hostile;

#[test]
fn no_map_steers_or_hides() {
    let cost = |relation: Relation| if relation <= Relation::SameLlc { 20.0 } else { 80.0 };
    let imported = LinkMap { gaps: vec![Gap::new("a", "b")], ..link_map(&small_guest(), cost) };
    let mut simulated = imported.clone();
    simulated.provenance.origin = Origin::Simulated { file: "a".into() };
    for map in [imported, simulated].iter().flat_map(hostile::copies) {
        let conclusions = conclude(&map);
        let filled = Filled::of(&map.series[0], &map);
        let picture_of = Picture { depth: Depth::NoColour, by_group: true };
        for width in [40, 80, 140] {
            let drawn = screen(&map, &filled, &conclusions, &Kept::Recalled(1, "now".into()), picture_of, width);
            hostile::check_screen(&drawn, width);
        }
        hostile::check_xml(&picture(&map, &filled, &conclusions, true));
        hostile::check_text(&long_csv(&map));
        hostile::check_json(&ArtifactDocument::new(Cow::Borrowed(&map), None));
    }
    for name in hostile::names() {
        hostile::check_screen(&comparison::screen(&[], &name, &name, 80), 80);
    }
}

/// The texts of a picture: the title and all that stands around the cells.
fn texts(map: &LinkMap) -> (String, String) {
    let picture = picture(map, &Filled::of(&map.series[0], map), &conclude(map), true);
    let document = roxmltree::Document::parse(&picture).unwrap();
    let title = document.root_element().children().find(|node| node.has_tag_name("title")).unwrap();
    // A text that is broken into lines is one all the same.
    let all = document.descendants().filter(|node| node.is_text()).filter_map(|node| node.text());
    (title.text().unwrap().to_owned(), all.map(str::trim).collect::<Vec<_>>().join(" "))
}

/// A picture says of what it is, how that was measured, and how certain what was not measured is.
#[test]
fn pictures_say_what_they_are_of() {
    let cost = |relation: Relation| if relation <= Relation::SameLlc { 20.0 } else { 80.0 };
    let mut machine = Layout { packages: 1, caches: 4, cores: 4, threads: 1, adjacent: false }.machine();
    machine.processor.model_name = Some("AMD EPYC 7351P 16-Core Processor".into());
    let whole = link_map(&machine, cost);
    let (title, all) = texts(&whole);
    assert_eq!(title, "AMD EPYC 7351P, 16 cpus");
    for words in ["compare-and-swap, one way", "120 pairs measured", "corewise 0.1.0, seed 7", "4 groups of 4 cores"] {
        assert!(all.contains(words), "{words} in {all}");
    }
    assert!(!all.contains("predicted") && !all.contains("error"), "{all}");
    // A third was not measured, and some were held out.
    let mut some = whole.clone();
    let pairs = std::mem::take(&mut some.series[0].links.pairs);
    for (place, pair) in pairs.into_iter().enumerate() {
        match place % 6 {
            0 | 3 => {}
            1 => some.series[0].held_out.push(pair),
            _ => some.series[0].links.pairs.push(pair),
        }
    }
    let (title, all) = texts(&some);
    assert_eq!(title, "AMD EPYC 7351P, 16 cpus");
    for words in ["80 of 120 pairs measured", "40 predicted, error median ", "95th percentile ", "predicted"] {
        assert!(all.contains(words), "{words} in {all}");
    }
    // Nothing is known of the machine of a file but the file.
    let mut imported = whole;
    imported.machine = None;
    imported.provenance.origin =
        Origin::Imported { file: "a/my-machine.csv".into(), format: "matrix".into(), remarks: Vec::new() };
    let (title, all) = texts(&imported);
    assert_eq!(title, "my-machine, 16 cpus");
    assert!(all.contains("imported from a/my-machine.csv"), "{all}");
}
