//! The sentence of a result that is no evidence about this machine: simulated, imported, or of another machine.

use corewise_model::Artifact;

use super::machine::this_machine;
use crate::draw::machine::describe_circumstances;
use crate::draw::story::{Story, StoryBlock, StoryPart, StoryRole};
use crate::draw::text::{StyledLine, TextTone};

/// Returns why an artifact is no evidence, by itself: "was imported from page.html".
fn describe_origin<T: Artifact>(artifact: &T) -> Option<String> {
    artifact.origin().describe_origin().map(|origin| format!("was {origin}"))
}

/// Describes that a measured artifact is of another machine than this one.
pub fn describe_other_machine<T: Artifact>(artifact: &T) -> Option<&'static str> {
    let is_measured_elsewhere = T::OF_ONE_MACHINE
        && artifact.origin().is_measured()
        && !artifact.is_evidence_for(&this_machine().ok()?.identity());
    is_measured_elsewhere.then_some("was measured on another machine, or on this one with other cpus")
}

/// Adds the sentence about an artifact's origin to its story, and its circumstances to each figure. The story is the same
/// wherever it is read.
pub fn mark_story<T: Artifact>(mut story: Story, artifact: &T) -> Story {
    name_source(&mut story, artifact);
    with_sentences(story, describe_origin(artifact).map(|why| format_sentence::<T>("This result", &why)))
}

fn name_source<T: Artifact>(story: &mut Story, artifact: &T) {
    let source = describe_circumstances(&artifact.circumstances(), artifact.origin());
    story.set_figure_source(&source);
}

/// Adds a sentence for each of several numbered artifacts of a title, such as "Survey", to a story about them together.
/// Its figures name the first that was not measured, or the first.
pub fn mark_together<'a, T: Artifact + 'a>(
    mut story: Story,
    title: &str,
    several: impl IntoIterator<Item = (i64, &'a T)>,
) -> Story {
    let several: Vec<(i64, &T)> = several.into_iter().collect();
    let named = several.iter().find(|(_, artifact)| !artifact.origin().is_measured()).or(several.first());
    if let Some((_, artifact)) = named {
        name_source(&mut story, *artifact);
    }
    let of = |(number, artifact): (i64, &T)| {
        describe_origin(artifact).map(|why| format_sentence::<T>(&format!("{title} {number}"), &why))
    };
    with_sentences(story, several.into_iter().filter_map(of))
}

fn format_sentence<T: Artifact>(what: &str, why: &str) -> String {
    let consequence = if T::OF_ONE_MACHINE { ", so it is no evidence about this machine" } else { "" };
    format!("{what} {why}{consequence}.")
}

/// Adds sentences below the head of a story.
fn with_sentences(mut story: Story, sentences: impl IntoIterator<Item = String>) -> Story {
    let warn = |sentence| StyledLine::new().with(TextTone::Warn, sentence).into_paragraph(2);
    let parts: Vec<StoryPart> = sentences.into_iter().map(warn).collect();
    let heads = story.blocks.iter().take_while(|block| block.role == StoryRole::Head).count();
    if !parts.is_empty() {
        story.blocks.insert(heads, StoryBlock { role: StoryRole::Head, title: None, parts });
    }
    story
}
