//! Check that no form of a result lacks a sentence that another form has.

use super::{Story, StoryPart, StoryRole};
use crate::draw::{csv, markdown};

/// Checks that every sentence of a story is in each of its forms.
pub fn check_forms(story: &Story) {
    let page = plain_letters(&without_tags(&story.to_markup(0).into_string()));
    let document = plain_letters(&markdown::write_story(story, Some(1)));
    let terminals = [60, 80, 120, 400].map(|width| plain_letters(&story.screen_at_width(width).to_plain()));
    let fields =
        plain_letters(&[story.answer_sentences(), story.answer_commands(), story.note_sentences()].concat().join(" "));
    let table = plain_letters(&csv::with_notes("a\n1", &story.note_sentences()).replace("\"\"", "\""));
    let mut checked = 0;
    for block in &story.blocks {
        for sentence in block.parts.iter().filter_map(StoryPart::sentence_line) {
            let sentence = plain_letters(&sentence.to_plain());
            assert!(page.contains(&sentence), "not on the page: {sentence}\n{page}");
            assert!(document.contains(&sentence), "not in Markdown: {sentence}\n{document}");
            let is_on_terminals = !matches!(block.role, StoryRole::Context | StoryRole::Details);
            for terminal in terminals.iter().filter(|_| is_on_terminals) {
                assert!(terminal.contains(&sentence), "not on the terminal: {sentence}\n{terminal}");
            }
            let is_field = matches!(block.role, StoryRole::Head | StoryRole::Answer | StoryRole::Notes);
            assert!(
                !is_field || fields.contains(&sentence) || sentence == "Whatthismeans",
                "no field: {sentence}\n{fields}"
            );
            let is_caveat = matches!(block.role, StoryRole::Head | StoryRole::Notes);
            assert!(!is_caveat || table.contains(&sentence), "not in the table: {sentence}\n{table}");
            checked += 1;
        }
    }
    assert!(checked > 0, "nothing is said");
}

/// Returns the letters of a text, without spaces and the escapes of each form.
fn plain_letters(text: &str) -> String {
    let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
    plain.chars().filter(|letter| !letter.is_whitespace() && !"\\`*|".contains(*letter)).collect()
}

fn without_tags(page: &str) -> String {
    let pieces = page.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
    pieces.collect::<Vec<_>>().join("")
}
