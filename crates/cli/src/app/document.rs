//! The JSON document of anything that is kept.

use std::borrow::Cow;

use corewise_model::Artifact;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::draw::story::Story;

/// An artifact, and what it shows.
#[derive(Serialize, JsonSchema)]
#[schemars(transform = named::<T>)]
pub struct ArtifactDocument<'a, T: Artifact + Clone> {
    schema: &'static str,
    /// The sentences of the screen and the page.
    #[serde(flatten)]
    sentences: SentencesDocument,
    /// What was observed.
    observed: Cow<'a, T>,
    /// What it shows.
    conclusions: T::Conclusions,
    /// Its number in the history; null where it is not stored.
    stored: Option<i64>,
}

impl<'a, T: Artifact + Clone> ArtifactDocument<'a, T> {
    /// The document of an artifact, what it shows, and its number in the store.
    pub fn new(observed: Cow<'a, T>, conclusions: T::Conclusions, story: &Story, stored: Option<i64>) -> Self {
        Self { schema: T::SCHEMA, sentences: SentencesDocument::new(story), observed, conclusions, stored }
    }
}

/// The sentences of a result in a document: those of its screen and its page.
#[derive(Serialize, JsonSchema)]
pub struct SentencesDocument {
    /// The answer, a sentence or two each.
    sentences: Vec<String>,
    /// The commands that apply the answer, or go on with the result.
    commands: Vec<String>,
    /// The notes besides the answer: origin, caveats, gaps and checks.
    notes: Vec<String>,
}

impl SentencesDocument {
    /// The sentences of a story.
    pub fn new(story: &Story) -> Self {
        Self { sentences: story.sentences(), commands: story.commands(), notes: story.notes() }
    }
}

/// Names the schema after the kind.
fn named<T: Artifact>(schema: &mut Schema) {
    schema.insert("title".to_owned(), T::SCHEMA.into());
    if let Some(name) = schema.pointer_mut("/properties/schema").and_then(|name| name.as_object_mut()) {
        name.insert("const".to_owned(), T::SCHEMA.into());
    }
}
