//! JSON documents of stored artifacts.

use std::borrow::Cow;

use corewise_model::Artifact;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::draw::story::Story;

/// An artifact and its conclusions.
#[derive(Serialize, JsonSchema)]
#[schemars(transform = name_schema::<T>)]
pub struct ArtifactDocument<'a, T: Artifact + Clone> {
    schema: &'static str,
    /// Sentences of the screen and the page.
    #[serde(flatten)]
    sentences: SentencesDocument,
    /// Observations.
    observed: Cow<'a, T>,
    /// Conclusions from the observations.
    conclusions: T::Conclusions,
    /// Number in the history; null if it is not stored.
    stored: Option<i64>,
}

impl<'a, T: Artifact + Clone> ArtifactDocument<'a, T> {
    /// Returns the document of an artifact, its conclusions, and its number in the store.
    pub fn new(observed: Cow<'a, T>, conclusions: T::Conclusions, story: &Story, stored: Option<i64>) -> Self {
        Self { schema: T::SCHEMA, sentences: SentencesDocument::new(story), observed, conclusions, stored }
    }
}

/// Sentences of a result, as on its screen and its page.
#[derive(Serialize, JsonSchema)]
pub struct SentencesDocument {
    /// Answers, one or two sentences each.
    sentences: Vec<String>,
    /// Commands that apply the answer or continue with the result.
    commands: Vec<String>,
    /// Notes beside the answer: origin, caveats, gaps and checks.
    notes: Vec<String>,
}

impl SentencesDocument {
    /// Returns the sentences of a story.
    pub fn new(story: &Story) -> Self {
        Self { sentences: story.answer_sentences(), commands: story.answer_commands(), notes: story.note_sentences() }
    }
}

/// Names the schema after the kind of artifact.
fn name_schema<T: Artifact>(schema: &mut Schema) {
    schema.insert("title".to_owned(), T::SCHEMA.into());
    if let Some(name) = schema.pointer_mut("/properties/schema").and_then(|name| name.as_object_mut()) {
        name.insert("const".to_owned(), T::SCHEMA.into());
    }
}
