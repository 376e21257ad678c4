//! `corewise worth`: shows the present worth of each cpu, from the map of a daemon or from a look of its own.

pub mod document;
pub mod screen;

use clap::Parser;

use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::interruption::InterruptionWatch;
use crate::app::machine::this_machine;
use crate::app::output::{has_no_reader, show_result};
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::ProgramSettings;
use crate::app::worth::{LOOK, WorthOrigin, WorthSource, sleep_unless};
use document::WorthDocument;
use screen::draw_screen;

const AFTER: &str = "Worth is the cpu's speed, relative to the fastest cpu, times the share that one more thread would get. That share \
is the idle time, or half of the time that interrupts and the host leave, whichever is more. Speeds come from the \
latest survey of this machine. Without a survey they come from the hardware's ranking, or count as equal; the output \
says which.

If `corewise keep run` is running, its map is shown. docs/worth.md describes the file, which any program may read. \
Otherwise corewise measures for a second.";

/// Show the worth of each cpu now: its speed, and the share of it that is free
#[derive(Clone, Debug, Parser)]
#[command(after_help = AFTER)]
pub struct WorthArguments {
    /// Show it again every second, until Ctrl-C
    #[arg(long)]
    pub watch: bool,
}

impl RunnableCommand for WorthArguments {
    const DOCUMENTS: &'static [CommandDocument] = &[command_document::<WorthDocument>("worth", &["worth"])];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let machine = this_machine()?;
        let mut source = WorthSource::open(settings);
        let interruption = if self.watch { Some(InterruptionWatch::watch_signals()?) } else { None };
        let is_interrupted = || interruption.as_ref().is_some_and(InterruptionWatch::was_seen);
        loop {
            let (origin, cpus) = source.read_records(&machine, settings, &is_interrupted)?;
            if is_interrupted() {
                return Ok(CommandExit::Done);
            }
            show_result(
                settings,
                || WorthDocument::new(origin.clone(), &cpus),
                || draw_screen(&machine, &origin, &cpus, settings.width),
            )?;
            if !self.watch || has_no_reader() {
                return Ok(CommandExit::Done);
            }
            if matches!(origin, WorthOrigin::Map { .. }) {
                sleep_unless(LOOK, &is_interrupted);
            }
        }
    }
}
