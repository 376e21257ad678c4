//! Reads every recorded machine of the test data: each loads, its levels are sound, hwloc counts the same and
//! gives the same cpus, recording it again gives the same machine, as do the buffers that Windows would write of it and the tables of
//! lscpu, no changed file goes unnoticed, and sets of its cpus come back from every notation.
//!
//! The data is looked for in `COREWISE_TESTDATA`, or in `../shared/data` beside the repository. Without it these tests
//! are counted as ignored, with the reason; with `COREWISE_REQUIRE_TESTDATA=1` its absence is a failure.

mod again;
mod data;
mod famous;
mod hwloc;
mod hwloc_calc;
mod invariants;
mod mutants;
mod notations;
mod pasted;
mod placements;
mod windows;

use std::path::Path;
use std::process::ExitCode;

use corewise_testing::{find_test_data, requires_test_data};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = match find_test_data("topology", "recorded machines") {
        Ok(folder) => trials(&folder),
        Err(why) => vec![absent(why)],
    };
    trials.push(Trial::test("placements on built-in machines", placements::check_built_in));
    trials.push(Trial::test("notations on built-in machines", notations::come_back_on_built_in));
    trials.push(Trial::test("a thousand mutants", mutants::of_made_up));
    trials.extend(windows::built_in());
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trials(folder: &Path) -> Vec<Trial> {
    let files = data::files(folder);
    let recordings = files.iter().filter(|name| data::not_a_recording(name).is_none());
    let mut trials: Vec<Trial> = recordings.flat_map(|name| trials_of(folder, name)).collect();
    trials.push(hwloc::no_entry_is_stale(files.clone()));
    trials.extend(hwloc_calc::trials(folder, &files));
    trials.push(hwloc_calc::no_entry_is_stale(&files));
    trials.push(data::every_exclusion_is_used(files));
    trials.extend(famous::trials(folder));
    trials.extend(famous::agreements(folder));
    trials
}

fn trials_of(folder: &Path, name: &str) -> Vec<Trial> {
    let trial = |what: &str, test: fn(&Path, &str) -> Result<(), Failed>| {
        let (folder, name) = (folder.to_owned(), name.to_owned());
        Trial::test(format!("{what}::{name}"), move || test(&folder, &name)).with_kind("recording")
    };
    vec![
        trial("sound", |folder, name| invariants::check(&data::machine(folder, name)?)),
        trial("counts", hwloc::compare),
        trial("again", again::check),
        trial("mutants", mutants::of_recorded),
        trial("placements", placements::check),
        trial("notations", notations::come_back),
        trial("Windows' buffers", windows::check),
        trial("pasted", pasted::check),
    ]
}

fn absent(why: String) -> Trial {
    let message = why.clone();
    Trial::test(format!("recordings skipped: {why}"), move || Err(message.into()))
        .with_ignored_flag(!requires_test_data())
}
