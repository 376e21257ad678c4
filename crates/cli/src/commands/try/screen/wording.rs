//! How what is tried is called: placements beside the OS default, or variants of the program beside the first one.

use corewise_model::trial::PlacementArm;

use super::ShownExperiment;
use crate::draw::printable::printable_name;

/// How the arms of experiments are called in sentences.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArmWords<'a>(pub &'a [PlacementArm]);

impl ArmWords<'_> {
    /// Returns true if variants of programs are compared.
    pub fn has_variants(self) -> bool {
        self.0.first().is_some_and(|arm| arm.variant.is_some())
    }

    /// Returns "placement" or "variant".
    pub fn candidate_word(self) -> &'static str {
        if self.has_variants() { "variant" } else { "placement" }
    }

    /// Returns what to do without a winner: "leave it to the operating system" or "keep old".
    pub fn staying_words(self) -> String {
        match self.0.first().filter(|_| self.has_variants()) {
            Some(baseline) => format!("keep {}", printable_name(&baseline.name)),
            None => "leave it to the operating system".to_owned(),
        }
    }

    /// Returns what to do with a winner: "Pin it" or "Take new".
    pub fn taking_words(self, arm: usize) -> String {
        match self.0.get(arm).filter(|_| self.has_variants()) {
            Some(arm) => format!("Take {}", printable_name(&arm.name)),
            None => "Pin it".to_owned(),
        }
    }
}

impl ShownExperiment<'_> {
    pub(super) fn arm_words(&self) -> ArmWords<'_> {
        ArmWords(&self.experiment.arms)
    }

    /// Returns true if variants of the program are compared.
    pub(super) fn has_variants(&self) -> bool {
        self.arm_words().has_variants()
    }

    /// Returns what the others are compared with: "the OS default", or the name of the first variant.
    pub(super) fn baseline_words(&self) -> String {
        printable_name(&self.experiment.baseline_words())
    }

    /// Returns "placement" or "variant".
    pub(super) fn candidate_word(&self) -> &'static str {
        self.arm_words().candidate_word()
    }

    /// Returns what to do without a winner: "leave it to the operating system" or "keep old".
    pub(super) fn staying_words(&self) -> String {
        self.arm_words().staying_words()
    }

    /// Returns the same as a sentence.
    pub(super) fn staying_sentence(&self) -> String {
        begin_sentence(&self.staying_words()) + "."
    }

    /// Returns what to do with a winner: "Pin it" or "Take new".
    pub(super) fn taking_words(&self, arm: usize) -> String {
        self.arm_words().taking_words(arm)
    }
}

/// Returns words with a capital letter: the beginning of a sentence.
pub(super) fn begin_sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
