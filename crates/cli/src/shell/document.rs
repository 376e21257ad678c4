//! The JSON document of anything that is kept.

use std::borrow::Cow;

use corewise_model::Artifact;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

/// An artifact, and what it shows.
#[derive(Serialize, JsonSchema)]
#[schemars(transform = named::<T>)]
pub struct ArtifactDocument<'a, T: Artifact + Clone> {
    schema: &'static str,
    /// The conclusion in a sentence or two; absent for kinds that have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    sentence: Option<String>,
    /// What was observed.
    observed: Cow<'a, T>,
    /// What it shows.
    conclusions: T::Conclusions,
    /// Its number in the history; null where it is not stored.
    stored: Option<i64>,
}

impl<'a, T: Artifact + Clone> ArtifactDocument<'a, T> {
    /// The document of an artifact and its number in the store.
    pub fn new(observed: Cow<'a, T>, stored: Option<i64>) -> Self {
        Self { schema: T::SCHEMA, sentence: None, conclusions: observed.conclude(), observed, stored }
    }

    /// The document, with the conclusion in words.
    #[must_use]
    pub fn with_sentence(self, sentence: String) -> Self {
        Self { sentence: Some(sentence), ..self }
    }
}

/// Names the schema after the kind.
fn named<T: Artifact>(schema: &mut Schema) {
    schema.insert("title".to_owned(), T::SCHEMA.into());
    if let Some(name) = schema.pointer_mut("/properties/schema").and_then(|name| name.as_object_mut()) {
        name.insert("const".to_owned(), T::SCHEMA.into());
    }
}
