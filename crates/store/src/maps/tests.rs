use corewise_model::links::map::{LinkMap, Origin, Provenance, Series, Spoiled, Unit};
use corewise_model::links::{Links, Pair, What};
use corewise_model::simulate::layout::Layout;

use crate::{Store, StoreError};

fn map(origin: Origin) -> LinkMap {
    let machine = Layout { packages: 1, caches: 2, cores: 2, threads: 1, adjacent: false }.machine();
    let pair = Pair { a: 0, b: 2, visits_ns: vec![80.5, 81.25], back_ns: vec![79.0] };
    LinkMap {
        provenance: Provenance {
            origin,
            corewise: "0.1.0".into(),
            started_unix_ms: 1_795_000_000_000,
            elapsed_s: 1.5,
            budget_s: 60.0,
            seed: 7,
            partial: false,
        },
        cpus: machine.allowed.clone(),
        machine: Some(machine),
        clock: None,
        searched: Vec::new(),
        unit: Unit::Nanoseconds,
        series: vec![Series {
            what: What::Channel { bound: Some(64) },
            links: Links { pairs: vec![pair], possible_pairs: 6, gaps: Vec::new() },
            held_out: Vec::new(),
        }],
        clocks: Vec::new(),
        spoiled: Spoiled::default(),
        parallel: None,
        gaps: Vec::new(),
    }
}

#[test]
fn a_map_comes_back_as_it_was_added() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path().join("history.db")).unwrap();
    let measured = map(Origin::Measured);
    let id = store.add_map(&measured).unwrap();
    assert_eq!(store.map(id).unwrap(), measured);
    let entries = store.maps(None).unwrap();
    assert_eq!((entries.len(), &*entries[0].kinds, entries[0].cpus, entries[0].pairs), (1, "channel", 4, 1));
    let missing = store.map(9).unwrap_err();
    assert!(matches!(missing, StoreError::NoMap { id: 9, .. }), "{missing}");
}

#[test]
fn the_latest_map_of_a_machine_was_measured_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path().join("history.db")).unwrap();
    let fingerprint = map(Origin::Measured).machine.unwrap().fingerprint();
    assert_eq!(store.latest_map(&fingerprint, |_| true).unwrap(), None);
    let measured = LinkMap { gaps: vec![corewise_model::Gap::new("a", "b")], ..map(Origin::Measured) };
    store.add_map(&map(Origin::Measured)).unwrap();
    store.add_map(&measured).unwrap();
    store.add_map(&map(Origin::Simulated { file: "matrix.csv".into() })).unwrap();
    assert_eq!(store.latest_map(&fingerprint, |_| true).unwrap(), Some(measured));
    assert_eq!(store.latest_map("another", |_| true).unwrap(), None);
    let first = store.latest_map(&fingerprint, |map| map.gaps.is_empty()).unwrap();
    assert_eq!(first, Some(map(Origin::Measured)), "one that will do");
}
