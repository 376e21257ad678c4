//! Reads what a store, a page or a file may hold, each kind: what is accepted can be listed, concluded from, followed, compared and written
//! again. How it is printed is the program's: `crates/cli/tests/mutants.rs` does that.
#![no_main]

use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::links::{self, LinkMap};
use corewise_model::memory::{self, MemoryMap};
use corewise_model::survey::SurveyRecording;
use corewise_model::{Artifact, Survey, compare};
use corewise_sys::input;
use libfuzzer_sys::fuzz_target;

/// Reads an artifact and makes all of it that the model makes; the artifact, if it is accepted.
fn read<T: Artifact>(bytes: &[u8]) -> Option<(T, T::Conclusions)> {
    let artifact = input::read_json::<T>(bytes).ok().filter(|artifact| artifact.check_loaded().is_ok())?;
    let conclusions = artifact.draw_conclusions();
    let _ = (artifact.summarize_artifact(), artifact.trend_values());
    serde_json::to_string(&artifact).expect("it can be written again");
    serde_json::to_string(&conclusions).expect("its conclusions can be written");
    Some((artifact, conclusions))
}

fuzz_target!(|bytes: &[u8]| {
    if let Some((survey, _)) = read::<Survey>(bytes) {
        let _ = compare::compare_surveys(&survey, &survey);
    }
    if let Some((map, conclusions)) = read::<LinkMap>(bytes) {
        let _ = links::compare::compare_link_maps(&map, &map, &conclusions);
    }
    if let Some((map, _)) = read::<MemoryMap>(bytes) {
        let _ = (memory::compare::compare_memory_maps(&map, &map), memory::hwloc::hwloc_xml(&map));
    }
    let _ = read::<ExperimentRecord>(bytes);
    if let Ok(recording) = input::read_json::<SurveyRecording>(bytes)
        && recording.check_loaded().is_ok()
    {
        let _ = recording.replay_survey().draw_conclusions();
    }
});
