//! How what is tried is called: placements beside the OS default, or variants of the program beside the first one.

use super::ShownExperiment;
use crate::draw::printable::printable_name;

impl ShownExperiment<'_> {
    /// Returns true if variants of the program are compared.
    pub(super) fn has_variants(&self) -> bool {
        !self.experiment.workload.variants.is_empty()
    }

    /// Returns what the others are compared with: "the OS default", or the name of the first variant.
    pub(super) fn baseline_words(&self) -> String {
        printable_name(&self.experiment.baseline_words())
    }

    /// Returns "placement" or "variant".
    pub(super) fn candidate_word(&self) -> &'static str {
        if self.has_variants() { "variant" } else { "placement" }
    }

    /// Returns what to do without a winner: "leave it to the operating system" or "keep old".
    pub(super) fn staying_words(&self) -> String {
        match self.has_variants() {
            true => format!("keep {}", self.baseline_words()),
            false => "leave it to the operating system".to_owned(),
        }
    }

    /// Returns the same as a sentence.
    pub(super) fn staying_sentence(&self) -> String {
        begin_sentence(&self.staying_words()) + "."
    }

    /// Returns what to do with a winner: "Pin it" or "Take new".
    pub(super) fn taking_words(&self, arm: usize) -> String {
        match self.experiment.arms.get(arm).filter(|_| self.has_variants()) {
            Some(arm) => format!("Take {}", printable_name(&arm.name)),
            None => "Pin it".to_owned(),
        }
    }
}

/// Returns words with a capital letter: the beginning of a sentence.
pub(super) fn begin_sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
