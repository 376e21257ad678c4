//! The sentence of a result that is no evidence about this machine: simulated, imported, or of another machine.

use std::sync::OnceLock;

use corewise_model::Artifact;

use super::artifact::PrintedArtifact;
use super::machine::this_machine;
use crate::draw::story::{Story, StoryBlock, StoryPart, StoryRole};
use crate::draw::text::{StyledLine, TextTone};

/// Returns why an artifact is no evidence about this machine: "was imported from page.html"; `None` if it is this machine's own.
pub fn describe_elsewhere<T: Artifact>(artifact: &T) -> Option<String> {
    static HERE: OnceLock<Option<String>> = OnceLock::new();
    describe_origin(artifact).or_else(|| {
        let here = HERE.get_or_init(|| this_machine().ok().map(|machine| machine.fingerprint())).as_ref()?;
        let machine = artifact.circumstances().machine?;
        (machine.fingerprint() != *here).then(|| "was measured on another machine, or on this one with other cpus".into())
    })
}

/// Returns the same by the artifact alone, for readers who are at any machine.
fn describe_origin<T: Artifact>(artifact: &T) -> Option<String> {
    artifact.origin().describe_origin().map(|origin| format!("was {origin}"))
}

/// Adds the sentence to a story that is shown here.
pub fn mark_story<T: Artifact>(story: Story, artifact: &T) -> Story {
    with_sentences(story, describe_elsewhere(artifact).map(|why| format_sentence("This result", &why)))
}

/// Adds the sentence to a story that is read elsewhere. A page names the machine of each result.
pub fn mark_page_story<T: Artifact>(story: Story, artifact: &T) -> Story {
    with_sentences(story, describe_origin(artifact).map(|why| format_sentence("This result", &why)))
}

/// Adds a sentence for each of several numbered artifacts to a story about them together.
pub fn mark_together<'a, T: PrintedArtifact + 'a>(
    story: Story,
    several: impl IntoIterator<Item = (i64, &'a T)>,
) -> Story {
    let of = |(number, artifact): (i64, &T)| {
        let title = format!("{} {number}", T::TITLE);
        describe_origin(artifact).map(|why| format_sentence(&title, &why))
    };
    with_sentences(story, several.into_iter().filter_map(of))
}

fn format_sentence(what: &str, why: &str) -> String {
    format!("{what} {why}, so it is no evidence about this machine.")
}

/// Adds sentences below the head of a story.
fn with_sentences(mut story: Story, sentences: impl IntoIterator<Item = String>) -> Story {
    let parts: Vec<StoryPart> = sentences
        .into_iter()
        .map(|sentence| StyledLine::new().with(TextTone::Warn, sentence).into_paragraph(2))
        .collect();
    let heads = story.blocks.iter().take_while(|block| block.role == StoryRole::Head).count();
    if !parts.is_empty() {
        story.blocks.insert(heads, StoryBlock { role: StoryRole::Head, title: None, parts });
    }
    story
}
