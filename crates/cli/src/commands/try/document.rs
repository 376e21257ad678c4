//! The JSON document of an experiment.

use std::borrow::Cow;

use corewise_model::conducted::Conducted;

use super::screen::{Shown, in_words};
use crate::shell::document::ArtifactDocument;

/// What `corewise try --json` prints.
pub fn printed<'a>(made: Cow<'a, Conducted>, shown: Shown<'_>) -> ArtifactDocument<'a, Conducted> {
    ArtifactDocument::new(made, shown.stored).with_sentence(in_words(shown).to_plain())
}
