//! Reads what a store or a file may hold, each kind: what is accepted can be summed up, concluded from and written again.
#![no_main]

use corewise_model::conducted::Conducted;
use corewise_model::links::LinkMap;
use corewise_model::survey::Recording;
use corewise_model::{Artifact, Survey};
use corewise_sys::input;
use libfuzzer_sys::fuzz_target;

fn read<T: Artifact>(bytes: &[u8]) {
    if let Ok(artifact) = input::json::<T>(bytes)
        && artifact.check().is_ok()
    {
        let _ = (artifact.summary(), artifact.conclude());
        serde_json::to_string(&artifact).expect("it can be written again");
    }
}

fuzz_target!(|bytes: &[u8]| {
    read::<Survey>(bytes);
    read::<Conducted>(bytes);
    read::<LinkMap>(bytes);
    if let Ok(recording) = input::json::<Recording>(bytes)
        && recording.survey.check().is_ok()
    {
        let _ = recording.replayed().conclude();
    }
});
