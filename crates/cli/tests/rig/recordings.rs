//! Recordings of the rig's machines, which `cargo xtask rig record` makes: read on any host, without an emulator.

use std::path::{Path, PathBuf};

use corewise_rig::{MACHINES, RigMachine};
use libtest_mimic::{Failed, Trial};

use crate::found::{as_expected, same};
use crate::topology::shown;

/// Each machine's recording shows the machine as it is described, and no recording is of a machine that is gone.
pub fn trials() -> Vec<Trial> {
    let trial = |machine: &'static RigMachine| {
        Trial::test(format!("{}::its_recording_is_as_described", machine.name), move || as_described(machine))
            .with_kind("recording")
    };
    let mut trials: Vec<Trial> = MACHINES.iter().map(trial).collect();
    trials.push(Trial::test("every_recording_is_of_a_machine", all_are_known).with_kind("recording"));
    trials
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../rig/recordings")
}

fn file_of(machine: &RigMachine) -> String {
    format!("{}.tar.xz", machine.name)
}

fn as_described(machine: &RigMachine) -> Result<(), Failed> {
    let found = shown(&folder().join(file_of(machine)))?;
    same("the machine", as_expected(&found), machine.expected_machine())?;
    same("its name", found["processor"]["model_name"].as_str(), Some(machine.processor.name))?;
    same("whether it is emulated", &found["system"]["emulated"], &true.into())
}

fn all_are_known() -> Result<(), Failed> {
    let names = std::fs::read_dir(folder())?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.collect::<std::io::Result<_>>()?;
    let mut expected: Vec<String> = MACHINES.iter().map(file_of).chain(["README.md".to_owned()]).collect();
    names.sort();
    expected.sort();
    same("the files", names, expected)
}
