//! Scenarios: threads of one program, each placed by itself: by name, or in turn.

use corewise_rig::RigGuest;
use corewise_rig::cpus;
use libtest_mimic::Completion;

use crate::expressions::reachable;
use crate::found::{as_user, same, text};
use crate::groups::said;
use crate::placement::HAS_TWO;
use crate::{ONCE, Scenario, ScenarioOutcome};

pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "threads_are_placed_by_their_names", each_change: ONCE, applies: HAS_TWO, run: roles },
    Scenario { name: "threads_take_turns_on_the_cpus", each_change: ONCE, applies: HAS_TWO, run: turns },
];

/// Maximum number of cpus that take turns; the first, the last and some between them.
const TURNS: usize = 5;

fn roles(guest: &mut RigGuest) -> ScenarioOutcome {
    let all = reachable(guest.machine());
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return Err("there are no two cpus".into()) };
    let on = cpus::format_list(&all);
    for (io, work) in [(first, last), (last, first)] {
        let command = format!("corewise run --on {on} --roles 'io=^io-:{io},work=^work:{work}' -- actor act roles");
        let told = text(guest, &as_user(&command))?;
        let masks: Vec<Option<String>> = ["io", "work", "main"].map(|name| said(&told, name)).into();
        same(&format!("{command}\n{told}"), masks, [io.to_string(), work.to_string(), on.clone()].map(Some).into())?;
    }
    Ok(Completion::Completed)
}

/// The turns are those of the list as it was typed: here from the highest cpu down.
fn turns(guest: &mut RigGuest) -> ScenarioOutcome {
    let all: Vec<u32> = reachable(guest.machine()).into_iter().rev().collect();
    let some = all.iter().step_by(all.len().div_ceil(TURNS));
    let turns: Vec<String> = some.map(u32::to_string).collect();
    let list = turns.join(",");
    let command = format!("corewise run --on {list} --one-per-thread -- actor act turns={list}");
    let names = ["main".to_owned()].into_iter().chain((1..2 * turns.len()).map(|number| number.to_string()));
    let expected: String = names.zip(turns.iter().cycle()).map(|(name, cpu)| format!("{name} {cpu}\n")).collect();
    same(&command, text(guest, &as_user(&command))?, expected)?;
    Ok(Completion::Completed)
}
