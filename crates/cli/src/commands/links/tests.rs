//! That no name in a map steers or hides, in whatever form the map is printed.

use std::borrow::Cow;

use corewise_machine::Gap;
use corewise_model::artifact::ArtifactOrigin;
use corewise_model::links::CpuRelation;

use super::*;
use crate::draw::fixtures::fabricated::{link_map, ryzen_9950x3d, small_guest};
use crate::draw::fixtures::hostile;
use crate::draw::story::forms::check_forms;

#[test]
fn no_map_steers_or_hides() {
    let cost = |relation: CpuRelation| if relation <= CpuRelation::SameLlc { 20.0 } else { 80.0 };
    let imported = LinkMap { gaps: vec![Gap::new("a", "b")], ..link_map(&small_guest(), cost) };
    let mut simulated = imported.clone();
    simulated.provenance.origin = ArtifactOrigin::Simulated { file: "a".into() };
    for map in [imported, simulated].iter().flat_map(hostile::copies) {
        let conclusions = conclude_map(&map);
        let told = screen::compose_story(&map, &conclusions, &StorageStatus::Recalled(1, "now".into()), true);
        hostile::check_story(&told);
        told.list_figures().for_each(|figure| hostile::check_xml(&figure.to_svg()));
        hostile::check_text(&long_csv(&map));
        hostile::check_json(&ArtifactDocument::new(Cow::Borrowed(&map), conclusions, &told, None));
    }
    for name in hostile::names() {
        let again =
            LinkMapSource::suggest_comparison([&LinkMapSource::File((&name).into()), &LinkMapSource::Stored(1)]);
        hostile::check_story(&comparison::compose_story(&[], again, [&name, &name]));
    }
}

#[test]
fn every_sentence_is_in_every_form() {
    let cost = |relation: CpuRelation| if relation <= CpuRelation::SameLlc { 20.0 } else { 80.0 };
    let remarks = vec!["two cpus were called alike".into()];
    let map = LinkMap { gaps: vec![Gap::new("a", "b")], ..link_map(&ryzen_9950x3d(), cost) };
    let mut imported = LinkMap { unfinished: true, ..map.clone() };
    imported.provenance.origin = ArtifactOrigin::Imported { file: "a".into(), format: "b".into(), remarks };
    for map in [&map, &imported] {
        check_forms(&screen::compose_story(map, &conclude_map(map), &StorageStatus::Recalled(1, "now".into()), true));
    }
    let kinds = compare_maps(&map, &imported, &conclude_map(&map));
    check_forms(&comparison::compose_story(&kinds, "corewise links compare a b".to_owned(), ["a", "b"]));
    check_forms(&comparison::compose_story(&[], "corewise links compare a b".to_owned(), ["a", "b"]));
}
