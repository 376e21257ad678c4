//! `corewise survey`: measures this machine, keeps the result, and shows what it means.

use std::time::{SystemTime, UNIX_EPOCH};

use corewise_lab::survey::{Plan, survey};
use corewise_model::Survey;
use corewise_model::finding::conclude;
use corewise_store::Store;

use super::this_machine;
use crate::args::SurveyArguments;
use crate::document::SurveyDocument;
use crate::error::{Exit, Failure};
use crate::interruption::Interruption;
use crate::output::{say, show};
use crate::progress::Bar;
use crate::settings::{History, Settings, budget, cpus};
use crate::view::survey::{Kept, screen};

/// Surveys this machine.
pub fn run(options: &SurveyArguments, settings: &Settings) -> Result<Exit, Failure> {
    let machine = this_machine()?;
    let cpus = cpus(options, &machine)?;
    let budget = budget(options, cpus.len());
    let seed = options.seed.unwrap_or_else(seed_of_the_clock);
    let plan = Plan { cpus, budget, seed, corewise: env!("CARGO_PKG_VERSION") };
    let interruption = Interruption::watch()?;
    let bar = Bar::new(settings.progress);
    let survey = survey(&plan, machine, interruption.stop(), &mut |progress| bar.show(progress));
    interruption.measured();
    bar.clear();
    let kept = keep(&survey, settings);
    let conclusions = conclude(&survey);
    let stored = if let Kept::Stored(number) = kept { Some(number) } else { None };
    show(
        settings,
        || SurveyDocument::new(&survey, &conclusions, stored),
        || screen(&survey, &conclusions, &kept, settings.width),
    )?;
    Ok(if survey.provenance.partial { Exit::Interrupted } else { Exit::Done })
}

fn seed_of_the_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Microseconds: unlike nanoseconds they stay below 2^53, so that a seed survives readers of JSON that use doubles.
    u64::try_from(since.as_micros()).unwrap_or_default()
}

/// Stores the survey. A history that fails is said once, and the survey is shown all the same.
fn keep(survey: &Survey, settings: &Settings) -> Kept {
    let path = match &settings.history {
        History::At(path) => path,
        History::Off => return Kept::No,
        History::Homeless => {
            say(
                &"warning: the survey is not stored: neither XDG_DATA_HOME nor HOME says where\n  --store PATH stores it",
            );
            return Kept::Failed;
        }
    };
    match Store::open(path).and_then(|mut store| store.add(survey)) {
        Ok(number) => Kept::Stored(number),
        Err(error) => {
            say(&format!(
                "warning: the survey is not stored: {error}\n  --store PATH stores it elsewhere, --no-store nowhere"
            ));
            Kept::Failed
        }
    }
}
