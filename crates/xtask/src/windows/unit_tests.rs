//! The unit tests of the crates, compiled for Windows and run under Wine.

use std::path::Path;

use anyhow::{Context, Result};
use xtask::cargo_command;

use super::PROFILE;
use crate::programs::{self, ProgramOptions};
use crate::setup::{WINDOWS, WINE};
use crate::summary::TestSummary;

/// The crates with tests that depend on the system; `machine` and `model` are the same everywhere, and testing `model` takes minutes.
const PACKAGES: [&str; 7] =
    ["corewise", "corewise-cli", "corewise-keep", "corewise-lab", "corewise-store", "corewise-sys", "corewise-work"];
/// Tests that are not run, by parts of their names, with the reason.
const LEFT_OUT: [(&str, &[&str]); 7] = [
    (
        "it is about files, links, pipes and programs as Unix has them",
        &[
            "change::tests",
            "artifacts::tests::special_names_of_sqlite_are_files",
            "commands::keep::tests::a_program_that_was_tried_is_matched_as_the_system_shows_it",
            "commands::keep::tests::units_",
            "mask_journal::tests::a_thread_has_one_change_however_often_it_is_placed",
            "installed::tests::a_program_is_a_file_that_may_be_run",
            "picture::tests::a_full_disk_and_a_folder_that_cannot_be_are_told",
            "app::settings::tests::the_history_lies_in_the_data_folder",
            "app::settings::tests::the_journals_of_root_go_with_the_boot",
        ],
    ),
    (
        "it starts programs that Windows does not have; checks of keep and undo do the same with their own",
        &[
            "change::affinity::tests",
            "change::descendants::tests",
            "process_watcher::tests::another_mask_and_an_end_are_drift",
            "app::child::watch::tests::what_is_no_longer_the_commands_is_left_alone",
            "fleet::slurm::commands::tests::a_cancelled_job_ends_when_its_program_has",
            "fleet::slurm::commands::tests::words_of_a_job_reach_the_program_as_they_are",
            "fleet::ssh::copied_program::tests",
            "fleet::ssh::remote::tests",
            "fleet::tests::a_child_is_bounded_in_time_and_output",
            "fleet::tests::results_that_cannot_be_stored_end_the_run_and_its_jobs",
        ],
    ),
    ("Windows has no control groups", &["cgroup::place::tests", "change::kernel_file::tests"]),
    (
        "Wine reports no command lines",
        &["app::keeper::tests::a_state_is_believed_only_if_a_keeper_of_this_boot_wrote_it"],
    ),
    ("corewise does not move interrupts on Windows", &["irq::mover::tests::a_move_is_a_change_with_a_way_back"]),
    (
        "corewise shares no worth with other programs on Windows yet",
        &[
            "worth::tests::a_writer_that_was_killed_in_the_middle_holds_nobody_up",
            "worth::tests::no_record_is_torn",
            "worth::tests::what_is_written_is_read_and_an_end_is_seen",
        ],
    ),
    (
        "corewise has neither pairs that talk nor `watch` on Windows yet",
        &["pingpong::", "watch::tests::this_machine_is_seen_with_the_threads_of_this_process"],
    ),
];

/// Builds and runs them.
pub fn run(prefix: &Path) -> Result<TestSummary> {
    let packages = PACKAGES.iter().flat_map(|name| ["--package", name]);
    let mut test = cargo_command();
    test.args(["test", "--lib", "--bins", "--target", WINDOWS, "--profile", PROFILE]).args(packages);
    let programs = programs::build_programs(&mut test)?;
    let left_out = || LEFT_OUT.iter().flat_map(|(why, names)| names.iter().map(move |name| (*name, *why)));
    let prefix = prefix.to_str().context("the folder of Wine is no text")?;
    let how = ProgramOptions {
        under: &[WINE],
        arguments: &left_out().flat_map(|(name, _)| ["--skip", name]).collect::<Vec<_>>(),
        variables: &[("WINEPREFIX", prefix), ("WINEARCH", "win64"), ("WINEDEBUG", "-all")],
        at_once: 2,
    };
    let mut summary = programs::run(&programs, &how)?;
    summary.skips.extend(left_out().map(|(name, why)| (name.to_owned(), Some(why.to_owned()))));
    Ok(summary)
}
