//! The oldest question about cpus: is the first one, where most interrupts go, worse than the others?

use super::quantity::{Quantity, ROUNDS_ENOUGH};
use super::{FirstCpu, words};
use crate::Survey;
use crate::finding::Effect;

/// The cpu that is asked about: the first of the machine, where it was visited.
pub fn asked(survey: &Survey) -> Option<u32> {
    let first = survey.machine.online.lowest()?;
    survey.cpus.iter().any(|seen| seen.cpu == first).then_some(first)
}

/// A quantity in which the cpu was tested among its peers.
pub struct Asked {
    pub quantity: Quantity,
    /// On how many rounds.
    pub rounds: usize,
    /// Whether it is worse in it, but by how much is too uncertain.
    pub is_unsure: bool,
}

/// The answer, from what was tested and in what the cpu differs; none where it has no peers, or rounds were too few.
pub fn answer(cpu: u32, asked: &[Asked], differing: &[(Quantity, Effect)]) -> Option<FirstCpu> {
    let tested: Vec<&Asked> = asked.iter().filter(|asked| asked.rounds >= ROUNDS_ENOUGH).collect();
    if tested.is_empty() {
        return None;
    }
    let told = |worse: bool| -> Vec<String> {
        let of_kind = differing.iter().filter(|(_, effect)| (effect.ratio > 1.0) == worse);
        of_kind.map(|(quantity, effect)| in_words(*quantity, effect)).collect()
    };
    let names = |unsure: bool| {
        let names: Vec<&str> =
            tested.iter().filter(|asked| asked.is_unsure == unsure).map(|asked| asked.quantity.words()).collect();
        names.join(", ")
    };
    let (worse, better) = (told(true), told(false));
    let answer = if !worse.is_empty() {
        format!("Yes: {}.", worse.join(", "))
    } else if tested.iter().any(|asked| asked.is_unsure) {
        format!("Possibly: {} is worse, but the size is too uncertain.", names(true))
    } else if !better.is_empty() {
        format!("No, it is better: {}.", better.join(", "))
    } else {
        format!("No, not in any of: {}.", names(false))
    };
    Some(FirstCpu { cpu, is_worse: !worse.is_empty(), answer })
}

fn in_words(quantity: Quantity, effect: &Effect) -> String {
    match quantity {
        Quantity::Median => words::slower(effect),
        _ => format!("{} {}", quantity.words(), effect.times()),
    }
}
