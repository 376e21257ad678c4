//! Reads a journal of changes: nothing of it is undone, only looked at.
#![no_main]

use std::fs;
use std::sync::LazyLock;

use corewise_sys::change::{UndoForecast, left_in};
use libfuzzer_sys::fuzz_target;

static FOLDER: LazyLock<std::path::PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("corewise-fuzz-{}", std::process::id()));
    corewise_sys::files::make_private_folder(&folder).expect("a folder for the journal");
    folder
});

fuzz_target!(|bytes: &[u8]| {
    fs::write(FOLDER.join("x.corewise-journal"), bytes).expect("the journal is written");
    for left in left_in(&FOLDER).expect("the folder is ours").into_iter().flatten() {
        let _ = (left.standing(), left.preview_undo(&mut UndoForecast::default()), left.damage_reason());
    }
});
