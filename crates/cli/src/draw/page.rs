//! What a page says of something that is kept: sentences and tables of the terminal as elements, and figures.

mod machine;

use std::sync::Arc;

use maud::{Markup, PreEscaped, html};

use super::text::{Line, Part, Table, Tone, printable};

pub use machine::machine;

/// Sentences on a page are wrapped by whoever shows it; what looks at the terminal's width finds room for everything.
pub const WIDTH: usize = 400;

/// A figure: a picture that says how it is read, and how it is made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Its name among the figures of what it is of, as a part of a file's name: "runs".
    pub name: &'static str,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// The picture, as an SVG document of its own.
    pub svg: String,
}

/// A part of what is said.
#[derive(Clone, Debug)]
pub enum Block {
    /// Lines as the terminal has them: paragraphs and tables, with a heading where the first begins with a strong word.
    Lines(Vec<Line>),
    /// A figure.
    Figure(Figure),
}

/// What a page says of one thing.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// Of what it is, and what is to be known before the first number.
    pub head: Vec<Line>,
    /// The answer, in the sentences of the terminal.
    pub answer: Vec<Line>,
    /// What it rests on.
    pub evidence: Vec<Block>,
    /// What is to be known besides: gaps, seeds, checks.
    pub besides: Vec<Line>,
    /// The command that makes it again.
    pub command: String,
}

impl Story {
    /// Its figures.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.evidence.iter().filter_map(|block| match block {
            Block::Figure(figure) => Some(figure),
            Block::Lines(_) => None,
        })
    }

    /// It as elements; `number` makes names unique on the page.
    pub fn markup(&self, number: usize) -> Markup {
        html! {
            @if !self.head.is_empty() { div.head { (sentences(&self.head, None)) } }
            @if !self.answer.is_empty() { div.answer { (sentences(&self.answer, None)) } }
            (again(&self.command))
            @for (place, block) in self.evidence.iter().enumerate() { (block.markup(&format!("part-{number}-{place}"), &self.command)) }
            @if !self.besides.is_empty() {
                section.besides { h3 { "Checks and notes" } (sentences(&self.besides, None)) }
            }
        }
    }
}

impl Block {
    fn markup(&self, id: &str, command: &str) -> Markup {
        match self {
            Self::Lines(lines) => {
                let (heading, rest) = headed(lines);
                html! {
                    section {
                        @if let Some(heading) = &heading { h3 { (heading) } }
                        (sentences(&rest, heading.as_deref()))
                    }
                }
            }
            Self::Figure(figure) => html! {
                figure id=(id) {
                    // The picture says its title itself, to whoever sees it.
                    h3.hidden { (figure.title) }
                    div.picture tabindex="0" role="group" aria-label=(figure.title) { (PreEscaped(&figure.svg)) }
                    figcaption { (figure.caption) }
                    (again(command))
                }
            },
        }
    }
}

fn again(command: &str) -> Markup {
    html! { p.again { "Make it again: " code { (printable(command)) } } }
}

/// The heading that a block begins with, and its lines without it.
fn headed(lines: &[Line]) -> (Option<String>, Vec<Line>) {
    let Some((first, rest)) = lines.split_first() else { return (None, Vec::new()) };
    let begins = (*first.part() == Part::Alone).then(|| first.spans().next()).flatten();
    let Some((Tone::Strong, heading)) = begins.filter(|(_, text)| !text.starts_with(' ')) else {
        return (None, lines.to_vec());
    };
    let after = first.spans().skip(1).fold(Line::new(), |line, (tone, text)| {
        let text = if line.is_empty() { text.trim_start() } else { text };
        line.with(tone, text)
    });
    let after = Some(after).filter(|line| !line.to_plain().is_empty());
    (Some(heading.trim_end().to_owned()), after.into_iter().chain(rest.iter().cloned()).collect())
}

/// Paragraphs and tables without a heading.
pub fn paragraphs(lines: &[Line]) -> Markup {
    sentences(lines, None)
}

/// Paragraphs and tables; a table is named by `caption`.
fn sentences(lines: &[Line], caption: Option<&str>) -> Markup {
    let mut parts: Vec<Markup> = Vec::new();
    let mut paragraph = Line::new();
    let mut known: Option<Arc<Table>> = None;
    for line in lines {
        let begins = *line.part() != Part::Paragraph;
        if begins {
            parts.extend(said(&std::mem::take(&mut paragraph)));
        }
        match line.part() {
            Part::Table(own) if known.as_ref().is_some_and(|known| Arc::ptr_eq(known, own)) => {}
            Part::Table(own) => {
                parts.push(table(own, caption));
                known = Some(own.clone());
            }
            Part::Alone => paragraph = line.clone(),
            Part::Paragraph => {
                let rest = line.spans().map(|(tone, text)| (tone, text.to_owned())).collect::<Vec<_>>();
                let rest = rest.iter().skip_while(|(_, text)| text.trim().is_empty());
                paragraph = rest.enumerate().fold(paragraph.plain(" "), |line, (place, (tone, text))| {
                    line.with(*tone, if place == 0 { text.trim_start() } else { text })
                });
            }
            Part::Narrow => {}
        }
    }
    parts.extend(said(&paragraph));
    html! { @for part in &parts { (part) } }
}

/// A paragraph; a command where it is all that the line says.
fn said(line: &Line) -> Option<Markup> {
    let text = line.to_plain();
    if text.is_empty() {
        return None;
    }
    let mut spans_of = line.spans().filter(|(_, text)| !text.trim().is_empty());
    let is_command =
        matches!(spans_of.next(), Some((Tone::Strong, _))) && spans_of.next().is_none() && text.starts_with("    ");
    let begins = text.trim_start();
    Some(if is_command {
        html! { p.command { code { (begins) } } }
    } else {
        html! { p { (spans(line)) } }
    })
}

fn table(table: &Table, caption: Option<&str>) -> Markup {
    let side = |is_number: bool| is_number.then_some("number");
    // Box drawing and blocks need columns of one width.
    let is_drawn = |text: &str| text.contains(|character| ('\u{2500}'..'\u{25a0}').contains(&character));
    let class = |cell: &Line, is_number| if is_drawn(&cell.to_plain()) { Some("drawn") } else { side(is_number) };
    html! {
        div.table tabindex="0" role="group" aria-label=(caption.unwrap_or("table")) {
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
                        tr { @for (cell, heading) in row.iter().zip(&table.headings) { td class=[class(cell, heading.is_number)] { (spans(cell)) } } }
                    }
                }
            }
        }
    }
}

/// A text with what stands between backticks as code.
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

/// The pieces of a line, each with its tone as a class.
fn spans(line: &Line) -> Markup {
    html! {
        @for (tone, text) in line.spans() {
            @match tone {
                Tone::Plain => { (with_code(text)) },
                Tone::Paint { .. } | Tone::Heat(_) => { (text) },
                Tone::Strong => { strong { (text) } },
                Tone::Faint => { span.faint { (text) } },
                Tone::Warn => { strong.warn { (text) } },
                Tone::Good => { strong.good { (text) } },
            }
        }
    }
}
