//! `corewise survey`: measures this machine, keeps the result, and shows what it means.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use corewise_lab::survey::{Plan, TailPlan, survey};
use corewise_model::Survey;
use corewise_model::finding::conclude;
use corewise_store::Store;

use super::this_machine;
use crate::args::SurveyArguments;
use crate::document::SurveyDocument;
use crate::error::{Exit, Failure};
use crate::interruption::Interruption;
use crate::output::{say, show};
use crate::placing::reachable_here;
use crate::progress::Bar;
use crate::settings::{History, Settings, budget, cpus};
use crate::view::survey::{Kept, screen};

/// Surveys this machine.
pub fn run(options: &SurveyArguments, settings: &Settings) -> Result<Exit, Failure> {
    let machine = this_machine()?;
    let cpus = cpus(options, &machine, &reachable_here(&machine))?;
    let budget = budget(options, cpus.len());
    let seed = options.seed.unwrap_or_else(seed_of_the_clock);
    let plan = Plan { cpus, budget, seed, corewise: env!("CARGO_PKG_VERSION"), tail: TailPlan::of_survey() };
    let interruption = Interruption::watch()?;
    let bar = Bar::new(settings.progress);
    let survey = survey(&plan, machine, interruption.stop(), &mut |progress| bar.show(progress)).survey;
    bar.clear();
    let is_interrupted = survey.provenance.partial && interruption.was_seen();
    if survey.cpus.is_empty() && survey.links.pairs.is_empty() {
        return Err(nothing_measured(&survey, is_interrupted));
    }
    let kept = keep(&survey, settings);
    let conclusions = conclude(&survey);
    let stored = if let Kept::Stored(number) = kept { Some(number) } else { None };
    show(
        settings,
        || SurveyDocument::new(&survey, &conclusions, stored),
        || screen(&survey, &conclusions, &kept, settings.width),
    )?;
    Ok(if is_interrupted { Exit::Interrupted } else { Exit::Done })
}

/// There is nothing to show then, and nothing to store: it would say only what `corewise topology` says.
pub(super) fn nothing_measured(survey: &Survey, is_interrupted: bool) -> Failure {
    if is_interrupted {
        let what = "nothing was measured: the survey was ended before its first measurement";
        return Failure::new(Exit::Interrupted, what).next("Nothing is stored.");
    }
    let why = survey.gaps.first().map_or_else(
        || "the time was over before the first measurement".to_owned(),
        |gap| format!("{}: {}", gap.what, gap.why),
    );
    Failure::unavailable(format!("nothing was measured ({why})")).next("Nothing is stored; see `corewise doctor`.")
}

pub(super) fn seed_of_the_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Microseconds: unlike nanoseconds they stay below 2^53, so that a seed survives readers of JSON that use doubles.
    u64::try_from(since.as_micros()).unwrap_or_default()
}

/// Stores the survey. A history that fails is said once, and the survey is shown all the same.
pub(super) fn keep(survey: &Survey, settings: &Settings) -> Kept {
    kept(settings, "survey", |path| Store::open(path).and_then(|mut store| store.add(survey)))
}

/// Stores what was made, a survey or a map. A history that fails is said once.
pub(super) fn kept(settings: &Settings, what: &str, store: impl FnOnce(&Path) -> corewise_store::Result<i64>) -> Kept {
    let path = match &settings.history {
        History::At(path) => path,
        History::Off => return Kept::No,
        History::Homeless => {
            say(&format!(
                "warning: the {what} is not stored: neither XDG_DATA_HOME nor HOME says where\n  --store PATH stores it"
            ));
            return Kept::Failed;
        }
    };
    match store(path) {
        Ok(number) => Kept::Stored(number),
        Err(error) => {
            say(&format!(
                "warning: the {what} is not stored: {error}\n  --store PATH stores it elsewhere, --no-store nowhere"
            ));
            Kept::Failed
        }
    }
}

#[cfg(test)]
mod tests {
    use corewise_model::Gap;

    use super::*;
    use crate::view::fabricated::small_guest_survey;

    #[test]
    fn a_survey_without_a_measurement_says_so_and_why() {
        let mut survey = small_guest_survey();
        survey.gaps = vec![Gap::new("cpu 0", "the thread cannot be placed there")];
        let interrupted = nothing_measured(&survey, true);
        assert_eq!(interrupted.exit, Exit::Interrupted);
        assert_eq!(
            interrupted.to_string(),
            "error: nothing was measured: the survey was ended before its first measurement\n  Nothing is stored."
        );
        let denied = nothing_measured(&survey, false);
        assert_eq!(denied.exit, Exit::Unavailable);
        assert_eq!(denied.what, "nothing was measured (cpu 0: the thread cannot be placed there)");
        survey.gaps.clear();
        let late = nothing_measured(&survey, false);
        assert_eq!(late.what, "nothing was measured (the time was over before the first measurement)");
    }
}
