//! `corewise worth`: shows the present worth of each cpu, from the map of a daemon or from a look of its own.

pub mod document;
pub mod screen;

use clap::Parser;

use crate::app::failure::{Exit, Failure};
use crate::app::interruption::Interruption;
use crate::app::machine::this_machine;
use crate::app::output::{has_no_reader, show};
use crate::app::run::{Document, Run, document};
use crate::app::settings::Settings;
use crate::app::worth::{LOOK, Origin, Source, pause};
use document::WorthDocument;
use screen::screen;

const AFTER: &str = "Worth is the cpu's speed, relative to the fastest cpu, times the share that one more thread would get. That share \
is the idle time, or half of the time that interrupts and the host leave, whichever is more. Speeds come from the \
latest survey of this machine. Without a survey they come from the hardware's ranking, or count as equal; the output \
says which.

If `corewise keep run` is running, its map is shown. docs/worth.md describes the file, which any program may read. \
Otherwise corewise measures for a second.";

/// Show the worth of each cpu now: its speed, and the share of it that is free
#[derive(Clone, Debug, Parser)]
#[command(name = "worth", after_help = AFTER)]
pub struct WorthArguments {
    /// Show it again every second, until Ctrl-C
    #[arg(long)]
    pub watch: bool,
}

impl Run for WorthArguments {
    const DOCUMENTS: &'static [Document] = &[document::<WorthDocument>(&["worth"])];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        let machine = this_machine()?;
        let mut source = Source::open(settings);
        let interruption = if self.watch { Some(Interruption::watch()?) } else { None };
        let is_interrupted = || interruption.as_ref().is_some_and(Interruption::was_seen);
        loop {
            let (origin, cpus) = source.look(&machine, settings, &is_interrupted)?;
            if is_interrupted() {
                return Ok(Exit::Done);
            }
            show(
                settings,
                || WorthDocument::new(origin.clone(), &cpus),
                || screen(&machine, &origin, &cpus, settings.width),
            )?;
            if !self.watch || has_no_reader() {
                return Ok(Exit::Done);
            }
            if matches!(origin, Origin::Map { .. }) {
                pause(LOOK, &is_interrupted);
            }
        }
    }
}
