//! Markdown (CommonMark 0.31 with GitHub's tables) for pasting elsewhere. Text from outside never becomes markup.

use corewise_machine::suggested_command;

use super::grid::{ColumnHeading, WholeTable};
use super::printable::make_printable;
use super::story::{Story, StoryBlock, StoryPart, StoryRole};
use super::text::{StyledLine, TextTone};

/// Renders a story: warnings and the answer first, then the subject, evidence and notes. Figures are listed with the
/// command that draws them for result `number`.
pub fn write_story(story: &Story, number: Option<i64>) -> String {
    let head = story.parts_with_role(&[StoryRole::Head, StoryRole::Context]);
    let (warnings, head): (Vec<&StoryPart>, Vec<&StoryPart>) = head.into_iter().partition(|part| is_warning(part));
    let mut blocks = write_elements(&[warnings, story.parts_with_role(&[StoryRole::Answer])].concat());
    blocks.extend(write_elements(&head));
    blocks.extend(story.evidence_blocks().flat_map(write_evidence));
    let notes = write_list(&story.parts_with_role(&[StoryRole::Notes]));
    blocks.extend(notes.map(|notes| format!("### Checks and notes\n\n{notes}")));
    let figures: Vec<String> = story.list_figures().map(|figure| escape_text(&figure.title)).collect();
    if let Some(number) = number.filter(|_| !figures.is_empty()) {
        let command = suggested_command::report_figures(number).shell_line();
        blocks.push(format!("Figures ({}) are drawn by:\n\n{}", figures.join("; "), write_code(&command)));
    }
    blocks.push(format!("Make it again:\n\n{}", write_code(&story.command)));
    blocks.join("\n\n")
}

/// Renders lines as paragraphs.
pub fn write_paragraphs(lines: &[StyledLine]) -> Vec<String> {
    lines.iter().map(write_sentence).filter(|text| !text.is_empty()).collect()
}

fn is_warning(part: &StoryPart) -> bool {
    matches!(part, StoryPart::Sentence { line, .. } if line.first_tone() == Some(TextTone::Warn))
}

fn is_verbatim(part: &StoryPart) -> bool {
    matches!(part, StoryPart::Sentence { line, .. } if line.is_verbatim())
}

fn write_evidence(block: &StoryBlock) -> Vec<String> {
    let (heading, texts) = block.split_heading();
    let blocks = write_elements(&texts.iter().collect::<Vec<_>>());
    let heading = heading.filter(|_| !blocks.is_empty()).map(|heading| format!("### {}", escape_text(&heading)));
    heading.into_iter().chain(blocks).collect()
}

/// Renders a list; code belongs to the item before it.
fn write_list(parts: &[&StoryPart]) -> Option<String> {
    let mut items: Vec<String> = Vec::new();
    for run in parts.chunk_by(|one, other| is_verbatim(one) && is_verbatim(other)) {
        let block = write_elements(run).join("\n\n");
        match items.last_mut() {
            Some(item) if is_verbatim(run[0]) => item.push_str(&format!("\n\n  {}\n", block.replace('\n', "\n  "))),
            _ if is_verbatim(run[0]) => items.push(format!("-{}", &block[1..])),
            _ => items.push(format!("- {block}")),
        }
    }
    Some(items.join("\n")).filter(|list| !list.is_empty())
}

/// Renders paragraphs, code and tables.
fn write_elements(parts: &[&StoryPart]) -> Vec<String> {
    let mut blocks = Vec::new();
    for run in parts.chunk_by(|one, other| is_verbatim(one) && is_verbatim(other)) {
        match run {
            [StoryPart::Sentence { line, .. }, ..] if line.is_verbatim() => {
                let lines =
                    run.iter().flat_map(|part| part.draw_lines(usize::MAX, super::heat::depth::ColourDepth::NoColour));
                blocks.push(lines.map(|line| write_code(line.to_plain().trim_start())).collect::<Vec<_>>().join("\n"));
            }
            [StoryPart::Sentence { line, .. }] if line.is_heading() => {
                blocks.push(format!("### {}", write_sentence(line)))
            }
            [StoryPart::Sentence { line, .. } | StoryPart::Legend(line)] => blocks.push(write_sentence(line)),
            [StoryPart::Step { advice, command }] => {
                blocks.push(format!("{}\n\n{}", write_sentence(advice), write_code(&command.to_plain())));
            }
            [StoryPart::Table(grid)] => blocks.push(write_table(&grid.whole_table())),
            _ => {}
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// Renders a line of code. Only the end of the line can end it.
fn write_code(line: &str) -> String {
    format!("    {}", make_printable(line)).trim_end().to_owned()
}

/// Renders a sentence as a paragraph, with the text between backticks as code.
fn write_sentence(line: &StyledLine) -> String {
    let plain = line.to_plain();
    let pieces: Vec<&str> = plain.trim_start().split('`').collect();
    if pieces.len().is_multiple_of(2) || pieces.iter().skip(1).step_by(2).any(|piece| piece.trim().is_empty()) {
        return escape_paragraph(&plain);
    }
    let piece = |(place, piece): (usize, &&str)| match place {
        0 => escape_paragraph(piece),
        _ if place % 2 == 1 => format!("`{piece}`"),
        _ => escape_text(piece),
    };
    pieces.iter().enumerate().map(piece).collect()
}

/// Renders a table. A column without a heading joins the one before it, and pictures of characters are left out.
pub fn write_table(table: &WholeTable) -> String {
    let is_continued = |heading: &ColumnHeading| heading.title.is_empty() && heading.unit.is_empty();
    let mut columns: Vec<Vec<usize>> = Vec::new();
    for (place, heading) in table.headings.iter().enumerate() {
        match columns.last_mut().filter(|_| is_continued(heading)) {
            Some(last) => last.push(place),
            None => columns.push(vec![place]),
        }
    }
    let heading = |column: &Vec<usize>| {
        let heading @ ColumnHeading { title, unit, name, .. } = &table.headings[column[0]];
        let has_name = is_continued(heading) && !name.is_empty();
        escape_text(&single_spaced(&if has_name { name.clone() } else { format!("{title} {unit}") }))
    };
    let side = |column: &Vec<usize>| if table.headings[column[0]].is_number { "--:" } else { "---" };
    let mut lines = vec![
        join_cells(columns.iter().map(heading)),
        format!("|{}|", columns.iter().map(side).collect::<Vec<_>>().join("|")),
    ];
    for row in &table.rows {
        let cell = |column: &Vec<usize>| {
            let cells: Vec<String> = column.iter().map(|place| row[*place].to_plain()).collect();
            escape_text(&single_spaced(&cells.join(" ").replace(is_drawn, " ")))
        };
        let mut cells: Vec<String> = columns.iter().map(cell).collect();
        if row[0].is_heading() && cells[1..].iter().all(String::is_empty) {
            cells[0] = format!("**{}**", cells[0]);
        }
        lines.push(join_cells(cells.into_iter()));
    }
    lines.join("\n")
}

fn join_cells(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
}

/// Joins the words of a text with single spaces.
fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns true if a character is part of a picture: box drawing or a block.
fn is_drawn(character: char) -> bool {
    ('\u{2500}'..'\u{25a0}').contains(&character) || character == '●'
}

/// Escapes text inside a paragraph or a cell: no markup, link, HTML or end of the cell. Ordinary names and numbers
/// stay as they are.
pub fn escape_text(text: &str) -> String {
    let characters: Vec<char> = make_printable(text).chars().collect();
    let is_word =
        |place: Option<usize>| place.and_then(|place| characters.get(place)).is_some_and(|c| c.is_alphanumeric());
    let mut safe = String::new();
    for (place, &character) in characters.iter().enumerate() {
        let next = characters.get(place + 1).copied().unwrap_or(' ');
        let is_escaped = match character {
            '<' | '>' => {
                safe.push_str(if character == '<' { "&lt;" } else { "&gt;" });
                continue;
            }
            // It could begin an entity; in our placement language, spaces surround it.
            '&' if next != ' ' => {
                safe.push_str("&amp;");
                continue;
            }
            '\\' | '`' | '*' | '|' | '~' | '$' => true,
            '_' => !(is_word(place.checked_sub(1)) && is_word(Some(place + 1))),
            // A link or its definition; "[1.9, 3.0]" alone is not one.
            ']' => matches!(next, '(' | '[' | ':'),
            // An address that would become a link.
            ':' => next == '/',
            '.' => place >= 3 && characters[place - 3..place].iter().all(|c| c.eq_ignore_ascii_case(&'w')),
            _ => false,
        };
        if is_escaped {
            safe.push('\\');
        }
        safe.push(character);
    }
    safe
}

/// Escapes a paragraph: in addition, it must not begin a heading, list, quotation or rule.
pub fn escape_paragraph(line: &str) -> String {
    let safe = escape_text(line.trim_start());
    let digits = safe.chars().take_while(char::is_ascii_digit).count();
    match safe[digits..].chars().next() {
        Some('#' | '+' | '-' | '=') if digits == 0 => format!("\\{safe}"),
        Some('.' | ')') if digits > 0 => format!("{}\\{}", &safe[..digits], &safe[digits..]),
        _ => safe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text_and_ordinary_ones_stay() {
        for ordinary in ["all - core:0", "spread(4, llc)", "one_per_core & llc:0", "+8.3 % ↑ [7.3, 9.4]", "7-Zip (x86)"]
        {
            assert_eq!(escape_text(ordinary), ordinary);
        }
        for (name, safe) in [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("a|b`c`*d*_e_~f~$g$", r"a\|b\`c\`\*d\*\_e\_\~f\~\$g\$"),
            ("[x](https://a.b) ![y][z]", r"[x\](https\://a.b) ![y\][z]"),
            ("www.example.org &lt;", r"www\.example.org &amp;lt;"),
            ("a\nb\u{1b}", r"a\\u{a}b\\u{1b}"),
        ] {
            assert_eq!(escape_text(name), safe);
        }
    }

    #[test]
    fn a_paragraph_is_nothing_else() {
        for (name, safe) in
            [("# a", r"\# a"), ("- a", r"\- a"), ("1. a", r"1\. a"), ("> a", "&gt; a"), ("===", r"\===")]
        {
            assert_eq!(escape_paragraph(name), safe);
        }
        assert_eq!(escape_paragraph("7-Zip: better"), "7-Zip: better");
    }
}
