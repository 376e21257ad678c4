//! Panics in a program that does not unwind: what destructors would undo is undone before the end.

use std::panic;
use std::process;

use corewise_machine::suggested_command;
use corewise_sys::change::{UndoOutcome, undo_own_changes};

use super::output::print_message;
use super::settings::ProgramSettings;
use crate::draw::suggestion;

/// Exit status after a panic: that of a program that unwinds.
const PANIC_STATUS: i32 = 101;

/// Makes a panic of any thread undo this process's changes and end it, in builds that do not unwind. The others, for tests, undo by dropping
/// their journals.
pub fn undo_on_panic(settings: &ProgramSettings) {
    if cfg!(not(panic = "abort")) {
        return;
    }
    let journals = settings.journals.clone();
    let print_panic = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        print_panic(panic);
        let undone = journals.as_deref().map_or_else(|| Ok(Vec::new()), undo_own_changes);
        if undone.is_ok_and(|undone| !undone.iter().any(|undone| matches!(undone.outcome, UndoOutcome::Failed(_)))) {
            process::exit(PANIC_STATUS);
        }
        let undo = suggestion::format_mention(&suggested_command::undo());
        print_message(&format!("changes to the machine remain; {undo} reverts them"));
        process::exit(PANIC_STATUS);
    }));
}
