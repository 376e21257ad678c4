//! Scenarios: a survey visits the cpus it may use, and nothing else; whatever it finds under emulation is not looked at.

use corewise_rig::Guest;
use corewise_rig::cpus::{self, Cpus};
use libtest_mimic::{Completion, Failed};
use serde_json::Value;

use crate::found::{entries, json, list_of, same};
use crate::{EVERYWHERE, Outcome, Scenario};

pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "a_survey_visits_the_allowed_cpus", applies: EVERYWHERE, run: allowed },
    Scenario { name: "a_user_may_survey", applies: EVERYWHERE, run: user },
];

fn allowed(guest: &mut Guest) -> Outcome {
    let document = json(guest, "corewise survey --json --no-store --budget 2s --seed 7")?;
    check(&document, guest)?;
    Ok(Completion::Completed)
}

fn user(guest: &mut Guest) -> Outcome {
    let document = json(guest, "su user -c 'corewise survey --json --no-store --budget 1s --seed 7'")?;
    check(&document, guest)?;
    Ok(Completion::Completed)
}

/// Every cpu that was visited may be used; those that may be used were visited, unless the survey says that it is partial.
fn check(document: &Value, guest: &Guest) -> Result<(), Failed> {
    let survey = &document["survey"];
    let allowed = cpus::parse(&guest.machine().expected().allowed);
    let number = |cpu: &Value| cpu["cpu"].as_u64().map(|cpu| cpu as u32);
    let has_rounds = |cpu: &&Value| entries(&cpu["rounds"]).next().is_some();
    let visited: Cpus = entries(&survey["cpus"]).filter(has_rounds).filter_map(number).collect();
    same("visited cpus that are not allowed", cpus::list(&(&visited - &allowed)), String::new())?;
    if survey["provenance"]["partial"] == false {
        same("visited cpus", cpus::list(&visited), cpus::list(&allowed))?;
    }
    same("allowed cpus", list_of(&survey["machine"]["allowed"]), cpus::list(&allowed))
}
