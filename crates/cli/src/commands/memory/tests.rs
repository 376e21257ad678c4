//! That no name in a map steers or hides, in whatever form the map is printed.

use std::borrow::Cow;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use corewise_machine::{Gap, machine_file};
use corewise_model::artifact::ArtifactOrigin;

use super::*;
use crate::draw::fixtures::hostile;
use crate::draw::story::forms::check_forms;

/// Two nodes of two cpus, simulated with small buffers.
fn two_nodes() -> MemoryMap {
    let text = "name = \"x\"\ncpus = \"0-3\"\ncores = \"0 x4\"\npackages = \"0-1 x2\"\n\
                caches = [{ cache = \"L3\", size = \"256 KiB\", per = \"package\" }]\nnodes = [{ cpus = \"0-1 x2\" }]\n";
    let machine = machine_file::parse(text).unwrap().machine;
    let request = MemoryRequest {
        cpus: machine.allowed.clone(),
        budget: Duration::from_secs(60),
        buffer_bytes: Some(1 << 20),
        seed: 1,
        corewise: "0.1.0",
    };
    let stop = AtomicBool::new(false);
    let map = make_map(&request, machine, &mut DescribedMemory::new("x".into(), 1), &stop, &mut |_| {});
    MemoryMap { gaps: vec![Gap::new("a", "b")], ..map }
}

#[test]
fn no_map_steers_or_hides() {
    let simulated = two_nodes();
    let mut imported = simulated.clone();
    imported.provenance.origin =
        ArtifactOrigin::Imported { file: "a".into(), format: "b".into(), remarks: vec!["c".into()] };
    for map in [simulated, imported].iter().flat_map(hostile::copies) {
        let conclusions = map.draw_conclusions();
        let told = screen::compose_story(&map, &conclusions, &StorageStatus::Recalled(1, "now".into()));
        hostile::check_story(&told);
        told.list_figures().for_each(|figure| hostile::check_xml(&figure.to_svg()));
        hostile::check_xml(&screen::draw_picture(&map, &conclusions).unwrap());
        hostile::check_text(&write_visits(&map));
        hostile::check_json(&ArtifactDocument::new(Cow::Borrowed(&map), conclusions, &told, None));
    }
}

/// Without a whole round, equal costs and missing ones look alike.
#[test]
fn a_map_without_a_whole_round_says_nothing_about_nodes() {
    let mut map = two_nodes();
    map.rounds = 0;
    map.cells.iter_mut().for_each(|cell| {
        cell.huge_ns.clear();
        cell.small_ns.clear();
        cell.bandwidth.clear();
    });
    let told = screen::compose_story(&map, &map.draw_conclusions(), &StorageStatus::No).screen_at_width(80).to_plain();
    assert!(told.contains("The time was too short") && !told.contains("leave memory to the system"), "{told}");
}

#[test]
fn every_sentence_is_in_every_form() {
    let map = two_nodes();
    let mut imported = map.clone();
    imported.provenance.partial = true;
    imported.provenance.origin =
        ArtifactOrigin::Imported { file: "a".into(), format: "b".into(), remarks: vec!["c".into()] };
    for map in [&map, &imported] {
        check_forms(&screen::compose_story(map, &map.draw_conclusions(), &StorageStatus::Recalled(1, "now".into())));
    }
    check_forms(&screen::compose_comparison([1, 2], &compare_memory_maps(&map, &imported)));
}
