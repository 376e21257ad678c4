//! Which artifacts count as a machine's own.

use corewise_machine::Gap;
use corewise_machine::identity::hash_host;

use super::*;

#[test]
fn the_latest_of_a_kind_is_the_last_that_will_do() {
    let folder = folder();
    let mut store = ArtifactStore::open(folder.path().join("history.db")).unwrap();
    let machine = links(ArtifactOrigin::Measured).machine.unwrap();
    let latest = |store: &ArtifactStore, will_do: fn(&LinkMap) -> bool| store.latest_own(&machine, will_do).unwrap();
    assert_eq!(latest(&store, |_| true), None);
    let gaps = LinkMap { gaps: vec![Gap::new("a", "b")], ..links(ArtifactOrigin::Measured) };
    store.add_artifact(&links(ArtifactOrigin::Measured)).unwrap();
    // Its clock was set back meanwhile.
    let mut earlier = gaps.clone();
    earlier.provenance.started_unix_ms -= 1_000_000;
    store.add_artifact(&earlier).unwrap();
    store.add_artifact(&links(ArtifactOrigin::Measured)).unwrap();
    store.connection.execute("UPDATE artifact SET observed = '{}' WHERE id = 3", []).unwrap();
    assert_eq!(latest(&store, |_| true), Some((2, earlier)), "and not one that cannot be read");
    assert_eq!(latest(&store, |map| map.gaps.is_empty()), Some((1, links(ArtifactOrigin::Measured))));
    assert_eq!(store.latest_own(&sample_survey(2, 0).machine, |_: &LinkMap| true).unwrap(), None);
    assert_eq!(store.latest_own(&machine, |_: &Survey| true).unwrap(), None);
}

/// Machines of one model may share a history. Results of earlier versions have no host.
#[test]
fn results_of_another_host_of_the_same_model_are_not_own() {
    let folder = folder();
    let mut store = ArtifactStore::open(folder.path().join("history.db")).unwrap();
    let made_on = |host: Option<&str>| {
        let mut map = links(ArtifactOrigin::Measured);
        map.machine.as_mut().unwrap().system.host = host.map(|name| hash_host("id", name));
        map
    };
    for host in [None, Some("n1"), Some("n2")] {
        store.add_artifact(&made_on(host)).unwrap();
    }
    let own = |host| {
        let machine = made_on(host).machine.unwrap();
        let own = store.own_artifacts::<LinkMap>(&machine, |_| true).unwrap();
        let listed = store.list_entries().unwrap().iter().filter(|entry| entry.is_about(&machine)).count();
        let own: Vec<i64> = own.map(|read| read.unwrap().0).collect();
        assert_eq!(own.len(), listed);
        own
    };
    assert_eq!(own(Some("n1")), [2, 1]);
    assert_eq!(own(Some("n2")), [3, 1]);
    assert_eq!(own(Some("n3")), [1]);
    assert_eq!(own(None), [3, 2, 1], "without an id, all of the model count");
}

/// Earlier versions wrote no origin into summaries, and only the name of the file into experiments.
#[test]
fn an_import_of_an_earlier_version_stays_one() {
    let folder = folder();
    let mut store = ArtifactStore::open(folder.path().join("history.db")).unwrap();
    let (made, machine) = (experiment(2), experiment(2).experiment.machine);
    for _ in 0..2 {
        store.add_artifact(&made).unwrap();
    }
    let sql = "UPDATE artifact SET observed = json_set(observed, '$.experiment.imported', 'page.html') WHERE id = 2";
    store.connection.execute(sql, []).unwrap();
    assert_eq!(store.latest_own(&machine, |_| true).unwrap(), Some((1, made)));
    let taken = store.get_artifact::<ExperimentRecord>(2).unwrap();
    assert_eq!(taken.experiment.origin.imported_file(), Some("page.html"));
}
