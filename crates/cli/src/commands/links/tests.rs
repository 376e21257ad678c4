//! That no name in a map steers or hides, in whatever form the map is printed.

use corewise_machine::Gap;
use corewise_model::links::Relation;
use corewise_model::links::map::Origin;

use super::*;
use crate::draw::fabricated::{link_map, small_guest};
use crate::draw::heat::depth::Depth;
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
