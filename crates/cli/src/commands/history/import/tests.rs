//! That no kind of result is taken for this machine's own unless it was measured here.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use corewise_lab::experiment::create_experiment;
use corewise_lab::memory::{DescribedMemory, MemoryRequest, map_memory};
use corewise_machine::{CpuSet, Machine};
use corewise_model::artifact::{Artifact, ArtifactOrigin};
use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::fleet::experiment::FleetExperiment;
use corewise_model::talk::TalkGraph;
use corewise_model::talk::import::read_talk;
use corewise_model::trial::{PlacementArm, TrialMetric, TriedWorkload};
use corewise_statistics::experiment::JudgingPolicy;
use corewise_store::ArtifactStore;

use super::*;
use crate::draw::fixtures::fabricated::{link_map, small_guest, small_guest_survey};
use crate::draw::fixtures::fleet::small_fleet;

/// Adds a sample of one kind with an origin to a store.
type SampleAdder = Box<dyn Fn(&mut ArtifactStore, &ArtifactOrigin)>;

/// A kind's sample of [`small_guest`]: its JSON, and how it is stored.
struct KindSample {
    json: String,
    /// False for a kind that is about many machines: the latest is shown, wherever it was made.
    is_of_machine: bool,
    add: SampleAdder,
}

fn new_sample<T: Artifact + Clone + 'static>(mut artifact: T) -> KindSample {
    *artifact.origin_mut() = ArtifactOrigin::Measured;
    let json = serde_json::to_string(&artifact).unwrap();
    let add = move |store: &mut ArtifactStore, origin: &ArtifactOrigin| {
        let mut artifact = artifact.clone();
        *artifact.origin_mut() = origin.clone();
        store.add_artifact(&artifact).unwrap();
    };
    KindSample { json, is_of_machine: T::OF_ONE_MACHINE, add: Box::new(add) }
}

/// Returns the sample of a kind. A new kind needs one here.
fn sample_of_kind(kind: &str) -> KindSample {
    let machine = small_guest();
    match kind {
        "survey" => new_sample(small_guest_survey()),
        "links" => new_sample(link_map(&machine, |_| 57.0)),
        "memory" => {
            let request = MemoryRequest {
                cpus: machine.allowed.clone(),
                budget: Duration::from_secs(60),
                buffer_bytes: Some(1 << 20),
                seed: 1,
                corewise: "0.1.0",
            };
            let (stop, mut memory) = (AtomicBool::new(false), DescribedMemory::new("x".into(), 1));
            new_sample(map_memory(&request, machine, &mut memory, &stop, &mut |_| {}))
        }
        "experiment" => {
            let arms = [("OS default", None), ("0", Some(CpuSet::from_cpu(0)))];
            let arms = arms.map(|(name, cpus)| PlacementArm::new(name, cpus, "a test"));
            let workload = TriedWorkload::new(vec!["./app".into()], "/".into(), TrialMetric::wall_time());
            let policy = JudgingPolicy::default();
            new_sample(ExperimentRecord::from(create_experiment("0.1.0", machine, workload, arms.into(), policy, None)))
        }
        "fleet-experiment" => {
            let arms = [("OS default", None), ("0", Some(CpuSet::from_cpu(0)))];
            let arms = arms.map(|(name, cpus)| PlacementArm::new(name, cpus, "a test"));
            let workload = TriedWorkload::new(vec!["./app".into()], "/".into(), TrialMetric::wall_time());
            let first = create_experiment("0.1.0", machine, workload, arms.into(), JudgingPolicy::default(), None);
            let provenance = link_map(&first.machine, |_| 57.0).provenance;
            new_sample(FleetExperiment::new(provenance, &first, &["n0".to_owned()]))
        }
        "talk" => {
            let graph = read_talk("reader,writer,10\n", "x", (0, "0.1.0")).unwrap();
            new_sample(TalkGraph { machine: Some(machine), ..graph })
        }
        "fleet" => new_sample(small_fleet()),
        other => panic!("{other} has no sample: is it never taken for this machine's own if it was made elsewhere?"),
    }
}

/// Returns the numbers of a kind that count as a machine's own, after `fill` filled a store.
fn own_numbers(kind: &ArtifactKind, machine: &Machine, fill: impl FnOnce(&mut ArtifactStore)) -> Vec<i64> {
    let folder = tempfile::tempdir().unwrap();
    let mut store = ArtifactStore::open(folder.path().join("history.db")).unwrap();
    fill(&mut store);
    (kind.latest)(&store, machine).unwrap()
}

#[test]
fn no_kind_is_this_machines_own_unless_it_was_measured_here() {
    let here = small_guest();
    let mut other = here.clone();
    other.present = other.present.union(&CpuSet::from_cpu(99));
    for kind in &KINDS {
        let KindSample { json, is_of_machine, add } = sample_of_kind(kind.name);
        if !is_of_machine {
            continue;
        }
        let own = |machine: &Machine, fill: &dyn Fn(&mut ArtifactStore)| own_numbers(kind, machine, fill);
        let measured = |store: &mut ArtifactStore| add(store, &ArtifactOrigin::Measured);
        assert_eq!(own(&here, &measured), [1], "{}: measured here", kind.name);
        assert_eq!(own(&other, &measured), [0; 0], "{}: measured on another machine", kind.name);
        let simulated = ArtifactOrigin::Simulated { file: "x".into() };
        assert_eq!(own(&here, &|store| add(store, &simulated)), [0; 0], "{}: simulated", kind.name);
        // The page claims that it was measured, on a machine with this one's fingerprint.
        let import = |store: &mut ArtifactStore| {
            (kind.import)(store, &mut json.as_bytes(), "page.html").unwrap();
        };
        assert_eq!(own(&here, &import), [0; 0], "{}: imported", kind.name);
        // Even the latest does not hide an earlier one of this machine.
        let both = |store: &mut ArtifactStore| {
            measured(store);
            import(store);
        };
        assert_eq!(own(&here, &both), [1], "{}: measured, then imported", kind.name);
    }
}

/// The mark is stored, exported with the next page, and kept by an import of that.
#[test]
fn an_import_of_any_kind_is_marked_in_the_list_and_when_it_is_exported_again() {
    for kind in &KINDS {
        let KindSample { json, is_of_machine, .. } = sample_of_kind(kind.name);
        let folder = tempfile::tempdir().unwrap();
        let mut store = ArtifactStore::open(folder.path().join("history.db")).unwrap();
        (kind.import)(&mut store, &mut json.as_bytes(), "page.html").unwrap();
        let listed = store.list_entries().unwrap().remove(0).summary.unwrap().origin;
        assert_eq!(listed.imported_file(), Some("page.html"), "{}", kind.name);
        let settings = ProgramSettings::from_environment(&crate::app::settings::ProgramEnvironment::default());
        let section = (kind.report)(&store, &[1], &settings).unwrap().remove(0);
        let consequence = if is_of_machine { ", so it is no evidence about this machine" } else { "" };
        let sentence = format!("This result was imported from page.html{consequence}.");
        assert!(section.story.note_sentences().contains(&sentence), "{}", kind.name);
        let exported = section.result.unwrap().data;
        let same = (kind.import)(&mut store, &mut exported.as_bytes(), "other.html").unwrap();
        assert!((same.number, same.is_new) == (1, false), "{} is stored twice", kind.name);
        let mut another = ArtifactStore::open(folder.path().join("another.db")).unwrap();
        (kind.import)(&mut another, &mut exported.as_bytes(), "other.html").unwrap();
        let again = another.list_entries().unwrap().remove(0).summary.unwrap().origin;
        assert_eq!(again, listed.after_import("other.html", corewise_model::artifact::PAGE_FORMAT), "{}", kind.name);
    }
}
