//! Stories as parts of a web page: sentences and tables as elements, and figures.

mod machine;

use maud::{Markup, PreEscaped, html};

use super::grid::WholeTable;
use super::story::{Story, StoryBlock, StoryFigure, StoryPart, StoryRole};
use super::text::{StyledLine, TextTone, make_printable};

pub use machine::machine_markup;

impl Story {
    /// Renders the story; `number` makes element ids unique on the page.
    pub fn to_markup(&self, number: usize) -> Markup {
        let head = self.parts_with_role(&[StoryRole::Head, StoryRole::Context]);
        let (answer, notes) = (self.parts_with_role(&[StoryRole::Answer]), self.parts_with_role(&[StoryRole::Notes]));
        html! {
            @if !head.is_empty() { div.head { (elements_markup(&head, None)) } }
            @if !answer.is_empty() { div.answer { (elements_markup(&answer, None)) } }
            (again_markup(&self.command))
            @for (place, block) in self.evidence_blocks().enumerate() { (block.to_markup(&format!("part-{number}-{place}"), &self.command)) }
            @if !notes.is_empty() {
                section.besides { h3 { "Checks and notes" } (elements_markup(&notes, None)) }
            }
        }
    }
}

impl StoryBlock {
    fn to_markup(&self, id: &str, command: &str) -> Markup {
        let (heading, texts) = self.split_heading();
        let texts: Vec<&StoryPart> = texts.iter().collect();
        html! {
            @if !texts.is_empty() {
                section {
                    @if let Some(heading) = &heading { h3 { (heading) } }
                    (elements_markup(&texts, heading.as_deref()))
                }
            }
            @for (place, figure) in self.list_figures().enumerate() {
                @if place == 0 { (figure.to_markup(id, command)) } @else { (figure.to_markup(&format!("{id}-{place}"), command)) }
            }
        }
    }
}

impl StoryFigure {
    fn to_markup(&self, id: &str, command: &str) -> Markup {
        html! {
            figure id=(id) {
                // The picture itself shows the title, so the heading is for screen readers only.
                h3.hidden { (self.title) }
                div.picture tabindex="0" role="group" aria-label=(self.title) { (PreEscaped(self.to_svg())) }
                figcaption { (self.caption) }
                (again_markup(command))
            }
        }
    }
}

fn again_markup(command: &str) -> Markup {
    html! { p.again { "Make it again: " code { (make_printable(command)) } } }
}

/// Renders lines as paragraphs.
pub fn paragraphs_markup(lines: &[StyledLine]) -> Markup {
    html! { @for line in lines { (line_markup(line)) } }
}

/// Renders paragraphs and tables; `caption` names a table.
fn elements_markup(parts: &[&StoryPart], caption: Option<&str>) -> Markup {
    html! {
        @for part in parts {
            @match part {
                StoryPart::Sentence { line, .. } | StoryPart::Legend(line) => { (line_markup(line)) },
                StoryPart::Step { advice, command } => { (line_markup(&advice.clone().plain("  ").then(command.clone()))) },
                StoryPart::Table(grid) => { (table_markup(&grid.whole_table(), caption)) },
                StoryPart::Figure(_) | StoryPart::Drawing(_) => {},
            }
        }
    }
}

/// Renders a paragraph, or a command if the line is only that.
fn line_markup(line: &StyledLine) -> Markup {
    let text = line.to_plain();
    html! {
        @if !text.is_empty() {
            @if line.is_verbatim() && line.last_tone() == Some(TextTone::Strong) { p.command { code { (text.trim_start()) } } } @else { p { (spans_markup(line)) } }
        }
    }
}

/// Maximum number of rows of a table that is stacked on narrow screens; larger ones are scrolled there.
const MOST_STACKED_ROWS: usize = 16;

/// Renders a table that is named by `caption`.
pub fn table_markup(table: &WholeTable, caption: Option<&str>) -> Markup {
    let side = |is_number: bool| is_number.then_some("number");
    // Box drawing and blocks need a monospaced font.
    let is_drawn = |text: &str| text.contains(|character| ('\u{2500}'..'\u{25a0}').contains(&character));
    let class = |cell: &StyledLine, is_number| if is_drawn(&cell.to_plain()) { Some("drawn") } else { side(is_number) };
    let is_short = table.rows.len() <= MOST_STACKED_ROWS && table.headings.len() > 2;
    html! {
        div.table.stacked[is_short] tabindex="0" role="group" aria-label=(caption.unwrap_or("table")) {
            table {
                thead { tr {
                    @for heading in &table.headings {
                        th scope="col" class=[side(heading.is_number)] {
                            @match (&heading.title[..], &heading.unit[..]) {
                                ("", "") => { span.hidden { (if heading.name.is_empty() { "mark" } else { &heading.name }) } },
                                (title, "") => { (title) },
                                ("", unit) => { span.hidden { (heading.name) " " } small { (unit) } },
                                (title, unit) => { (title) " " small { (unit) } },
                            }
                        }
                    }
                } }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (cell, heading) in row.iter().zip(&table.headings) {
                                td class=[class(cell, heading.is_number)] data-title=(heading.spoken_title()) { (spans_markup(cell)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Renders text, with the parts between backticks as code.
fn with_code(text: &str) -> Markup {
    let pieces: Vec<&str> = text.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (place, piece) in pieces.iter().enumerate() {
            @if place % 2 == 1 { code { (piece) } } @else { (piece) }
        }
    }
}

/// Renders the spans of a line, each with its tone as a class.
fn spans_markup(line: &StyledLine) -> Markup {
    html! {
        @for (tone, text) in line.spans() {
            @match tone {
                TextTone::Plain => { (with_code(text)) },
                TextTone::Paint { .. } | TextTone::Heat(_) => { (text) },
                TextTone::Strong => { strong { (text) } },
                TextTone::Faint => { span.faint { (text) } },
                TextTone::Warn => { strong.warn { (text) } },
                TextTone::Good => { strong.good { (text) } },
            }
        }
    }
}
