//! Reads a recording of stalls; what is accepted can be replayed and concluded from.
#![no_main]

use corewise_model::Artifact;
use corewise_model::survey::SurveyRecording;
use corewise_sys::input;
use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(recording) = input::read_json::<SurveyRecording>(bytes)
        && recording.check_loaded().is_ok()
    {
        let _ = recording.replay_survey().draw_conclusions();
    }
});

fuzz_mutator!(|bytes: &mut [u8], length: usize, room: usize, seed: u32| {
    corewise_fuzz::mutate::mutate_json(bytes, length, room, seed)
});
