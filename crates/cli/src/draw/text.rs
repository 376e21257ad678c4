//! Styled lines and screens, which all views consist of.

use std::fmt::Write as _;

use anstyle::{Ansi256Color, AnsiColor, Color, Style};

pub use super::printable::make_printable;
use super::printable::{split_at_width, text_width as columns};

/// Space at which no line is broken; it prints as a space.
pub const NO_BREAK: char = '\u{a0}';

/// Importance of text for the reader. Colour never carries information that the text lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextTone {
    /// Ordinary text.
    #[default]
    Plain,
    /// A heading, or the subject of a line.
    Strong,
    /// Common values and remarks.
    Faint,
    /// Important, and worse than its peers.
    Warn,
    /// Important, and better than its peers.
    Good,
    /// Step of the heat scale, from 0 for the cheapest to [`HEAT_STEPS`] - 1.
    Heat(u8),
    /// Colours of a picture, which respects the terminal's colour depth.
    Paint {
        /// Colour of the text.
        text: Option<Color>,
        /// Colour behind the text.
        behind: Option<Color>,
    },
}

/// Number of steps of the heat scale.
pub const HEAT_STEPS: u8 = 5;

/// Background and foreground of each heat step in the 256-colour palette: dark violet to yellow. Lightness rises, so
/// the order is also visible without hues.
const HEAT: [(u8, u8); HEAT_STEPS as usize] = [(54, 255), (61, 255), (31, 255), (72, 16), (221, 16)];

impl TextTone {
    fn ansi_style(self) -> Style {
        let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        match self {
            Self::Plain => Style::new(),
            Self::Strong => Style::new().bold(),
            Self::Faint => Style::new().dimmed(),
            Self::Warn => colour(AnsiColor::Yellow).bold(),
            Self::Good => colour(AnsiColor::Green).bold(),
            Self::Heat(step) => {
                let (background, foreground) = HEAT[usize::from(step.min(HEAT_STEPS - 1))];
                let palette = |index| Some(Color::Ansi256(Ansi256Color(index)));
                Style::new().bg_color(palette(background)).fg_color(palette(foreground))
            }
            Self::Paint { text, behind } => Style::new().fg_color(text).bg_color(behind),
        }
    }
}

/// Line of text with tones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyledLine {
    spans: Vec<(TextTone, String)>,
}

impl StyledLine {
    /// Returns the empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds text at the end, made [`printable`].
    #[must_use]
    pub fn with(self, tone: TextTone, text: impl AsRef<str>) -> Self {
        self.add_printable(tone, &make_printable(text.as_ref()))
    }

    /// Adds text that is part of another line.
    fn add_printable(mut self, tone: TextTone, text: &str) -> Self {
        match self.spans.last_mut() {
            _ if text.is_empty() => {}
            Some((last, own)) if *last == tone => own.push_str(text),
            _ => self.spans.push((tone, text.to_owned())),
        }
        self
    }

    /// Adds plain text at the end.
    #[must_use]
    pub fn plain(self, text: impl AsRef<str>) -> Self {
        self.with(TextTone::Plain, text)
    }

    /// Adds faint text at the end.
    #[must_use]
    pub fn faint(self, text: impl AsRef<str>) -> Self {
        self.with(TextTone::Faint, text)
    }

    /// Adds strong text at the end.
    #[must_use]
    pub fn strong(self, text: impl AsRef<str>) -> Self {
        self.with(TextTone::Strong, text)
    }

    /// Adds another line at the end.
    #[must_use]
    pub fn then(self, other: Self) -> Self {
        other.spans.iter().fold(self, |line, (tone, text)| line.add_printable(*tone, text))
    }

    /// Indents the line by this many spaces.
    #[must_use]
    pub fn indent_by(self, columns: usize) -> Self {
        Self::new().plain(" ".repeat(columns)).then(self)
    }

    /// Returns its pieces of text, each with its tone.
    pub fn spans(&self) -> impl Iterator<Item = (TextTone, &str)> {
        self.spans.iter().map(|(tone, text)| (*tone, text.as_str()))
    }

    /// Changes the text and keeps the tones.
    #[must_use]
    pub fn map_text(mut self, change: impl Fn(&str) -> String) -> Self {
        for (_, text) in &mut self.spans {
            *text = change(text);
        }
        self
    }

    /// Returns its width in terminal columns.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|(_, text)| columns(text)).sum()
    }

    /// Returns true if it has no text.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Cuts the line to a width, with "…" if it was cut.
    #[must_use]
    pub fn cut_to(self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let (head, _) = self.split_at(width.saturating_sub(1));
        if width > 0 { head.faint("…") } else { head }
    }

    /// Returns the words with their tones, each with the number of spaces before it.
    pub fn split_words(&self) -> Vec<(usize, Self)> {
        let mut words = vec![(0, Self::new())];
        for (tone, text) in &self.spans {
            for (index, piece) in text.split(' ').enumerate() {
                match words.last_mut() {
                    Some((gap, last)) if index > 0 && last.is_empty() => *gap += 1,
                    _ if index > 0 => words.push((1, Self::new())),
                    _ => {}
                }
                if let Some((_, last)) = words.last_mut() {
                    *last = std::mem::take(last).add_printable(*tone, piece);
                }
            }
        }
        words.retain(|(_, word)| !word.is_empty());
        words
    }

    /// Returns the tone of its first text.
    pub fn first_tone(&self) -> Option<TextTone> {
        self.spans.first().map(|(tone, _)| *tone)
    }

    /// Returns the tone of its last text.
    pub fn last_tone(&self) -> Option<TextTone> {
        self.spans.last().map(|(tone, _)| *tone)
    }

    /// Splits it so that the first part fits in `width`; a character keeps its marks.
    pub fn split_at(self, width: usize) -> (Self, Self) {
        let (mut head, mut rest) = (Self::new(), Self::new());
        for (tone, text) in self.spans {
            let left = if rest.is_empty() { width - head.width() } else { 0 };
            let (own, others) = split_at_width(&text, left);
            head = head.add_printable(tone, own);
            rest = rest.add_printable(tone, others);
        }
        (head, rest)
    }

    /// Splits unbreakable text wider than a line after the last of its words that fit.
    pub fn split_at_no_break(self, width: usize) -> Option<(Self, Self)> {
        let text: String = self.spans.iter().map(|(_, text)| text.as_str()).collect();
        let breaks = text.match_indices(NO_BREAK).map(|(place, _)| columns(&text[..place]));
        let place = breaks.take_while(|place| *place <= width).last().filter(|place| *place > 0)?;
        let (head, rest) = self.split_at(place);
        Some((head, rest.split_at(1).1))
    }

    /// Returns the text alone.
    pub fn to_plain(&self) -> String {
        let text: String = self.spans.iter().map(|(_, text)| text.as_str()).collect();
        text.replace(NO_BREAK, " ").trim_end().to_owned()
    }

    fn write_styled(&self, out: &mut String) {
        let last = self.spans.len().saturating_sub(1);
        for (index, (tone, text)) in self.spans.iter().enumerate() {
            let text = text.replace(NO_BREAK, " ");
            let is_picture = matches!(tone, TextTone::Heat(_) | TextTone::Paint { .. });
            let text = if index == last && !is_picture { text.trim_end() } else { &text };
            let style = tone.ansi_style();
            let _ = write!(out, "{style}{text}{style:#}");
        }
    }
}

/// Lines of a whole screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextScreen {
    lines: Vec<StyledLine>,
}

impl TextScreen {
    /// Returns the empty screen.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a line.
    pub fn push(&mut self, line: StyledLine) {
        self.lines.push(line);
    }

    /// Adds lines.
    pub fn extend(&mut self, lines: impl IntoIterator<Item = StyledLine>) {
        self.lines.extend(lines);
    }

    /// Adds a block of lines after an empty line; an empty block adds nothing.
    pub fn add_block(&mut self, lines: Vec<StyledLine>) {
        if !lines.is_empty() {
            if !self.lines.is_empty() {
                self.push(StyledLine::new());
            }
            self.extend(lines);
        }
    }

    /// Renders the screen with escape sequences for tones; the output stream strips them if there is no colour.
    pub fn to_styled(&self) -> String {
        let mut out = String::new();
        for line in &self.lines {
            line.write_styled(&mut out);
            out.push('\n');
        }
        out
    }

    /// Returns the text alone.
    #[cfg(test)]
    pub fn to_plain(&self) -> String {
        self.lines.iter().map(|line| line.to_plain() + "\n").collect()
    }

    /// Returns the width of the widest line.
    #[cfg(test)]
    pub fn width(&self) -> usize {
        self.lines.iter().map(|line| columns(&line.to_plain())).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_cannot_steer_the_terminal() {
        assert_eq!(StyledLine::new().plain("AMD\u{1b}[2JRyzen\n").to_plain(), r"AMD\u{1b}[2JRyzen\u{a}");
    }

    #[test]
    fn a_cut_line_says_so() {
        let line = StyledLine::new().plain("virtio").strong("1-req.0");
        assert_eq!(line.clone().cut_to(9).to_plain(), "virtio1-…");
        assert_eq!(line.cut_to(13).to_plain(), "virtio1-req.0");
    }

    #[test]
    fn wide_characters_and_marks_are_measured_in_columns() {
        let line = StyledLine::new().plain("日本").strong("e\u{301}語");
        assert_eq!(line.width(), 7);
        assert_eq!(line.clone().cut_to(6).to_plain(), "日本e\u{301}…");
        assert_eq!(line.clone().cut_to(4).to_plain(), "日…");
        let (head, rest) = line.split_at(3);
        assert_eq!([head.to_plain(), rest.to_plain()], ["日", "本e\u{301}語"]);
    }
}
