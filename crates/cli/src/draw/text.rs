//! Styled lines and screens: what every view is made of.

use std::fmt::Write as _;

use anstyle::{Ansi256Color, AnsiColor, Color, Style};

pub use super::printable::printable;
use super::printable::{split, width as columns};

/// A space at which no line is broken; it prints as a space.
pub const NO_BREAK: char = '\u{a0}';

/// What a piece of text is to the reader. Colour never carries what the text does not also say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Ordinary text.
    #[default]
    Plain,
    /// A heading, or the thing that a line is about.
    Strong,
    /// What is common, or a remark.
    Faint,
    /// What matters and is worse than its peers.
    Warn,
    /// What matters and is better than its peers.
    Good,
    /// A step of the heat scale, 0 for the cheapest, up to [`HEAT_STEPS`] - 1.
    Heat(u8),
    /// A colour of a picture's own; the picture knows how many the terminal has.
    Paint {
        /// Of the text.
        text: Option<Color>,
        /// Behind the text.
        behind: Option<Color>,
    },
}

/// How many steps the heat scale has.
pub const HEAT_STEPS: u8 = 5;

/// Background and foreground of each heat step in the 256-colour palette: dark violet to yellow, in rising lightness, so
/// that the order is also seen without seeing hues.
const HEAT: [(u8, u8); HEAT_STEPS as usize] = [(54, 255), (61, 255), (31, 255), (72, 16), (221, 16)];

impl Tone {
    fn style(self) -> Style {
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

/// A line of text with tones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    spans: Vec<(Tone, String)>,
}

impl Line {
    /// The empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// The line with more text at its end, made [`printable`].
    #[must_use]
    pub fn with(mut self, tone: Tone, text: impl AsRef<str>) -> Self {
        let text = printable(text.as_ref());
        match self.spans.last_mut() {
            _ if text.is_empty() => {}
            Some((last, own)) if *last == tone => own.push_str(&text),
            _ => self.spans.push((tone, text)),
        }
        self
    }

    /// The line with plain text at its end.
    #[must_use]
    pub fn plain(self, text: impl AsRef<str>) -> Self {
        self.with(Tone::Plain, text)
    }

    /// The line with faint text at its end.
    #[must_use]
    pub fn faint(self, text: impl AsRef<str>) -> Self {
        self.with(Tone::Faint, text)
    }

    /// The line with strong text at its end.
    #[must_use]
    pub fn strong(self, text: impl AsRef<str>) -> Self {
        self.with(Tone::Strong, text)
    }

    /// The line with all of another at its end.
    #[must_use]
    pub fn then(self, other: Self) -> Self {
        other.spans.into_iter().fold(self, |line, (tone, text)| line.with(tone, text))
    }

    /// The line after so many spaces.
    #[must_use]
    pub fn indented(self, columns: usize) -> Self {
        Self::new().plain(" ".repeat(columns)).then(self)
    }

    /// Its pieces of text, each with its tone.
    pub fn spans(&self) -> impl Iterator<Item = (Tone, &str)> {
        self.spans.iter().map(|(tone, text)| (*tone, text.as_str()))
    }

    /// The line with its text changed, tones kept.
    #[must_use]
    pub fn map_text(mut self, change: impl Fn(&str) -> String) -> Self {
        for (_, text) in &mut self.spans {
            *text = change(text);
        }
        self
    }

    /// Its width in terminal columns.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|(_, text)| columns(text)).sum()
    }

    /// Whether there is no text in it.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The line cut to a width; "…" says that it was cut.
    #[must_use]
    pub fn cut(self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let (head, _) = self.split_at(width.saturating_sub(1));
        if width > 0 { head.faint("…") } else { head }
    }

    /// The words of the line with their tones, each with the number of spaces before it.
    pub fn words(&self) -> Vec<(usize, Self)> {
        let mut words = vec![(0, Self::new())];
        for (tone, text) in &self.spans {
            for (index, piece) in text.split(' ').enumerate() {
                match words.last_mut() {
                    Some((gap, last)) if index > 0 && last.is_empty() => *gap += 1,
                    _ if index > 0 => words.push((1, Self::new())),
                    _ => {}
                }
                if let Some((_, last)) = words.last_mut() {
                    *last = std::mem::take(last).with(*tone, piece);
                }
            }
        }
        words.retain(|(_, word)| !word.is_empty());
        words
    }

    /// The tone of its first text.
    pub fn first_tone(&self) -> Option<Tone> {
        self.spans.first().map(|(tone, _)| *tone)
    }

    /// The tone of its last text.
    pub fn last_tone(&self) -> Option<Tone> {
        self.spans.last().map(|(tone, _)| *tone)
    }

    /// Splits it so that the first part is no wider than that; a character and its marks stay together.
    pub fn split_at(self, width: usize) -> (Self, Self) {
        let (mut head, mut rest) = (Self::new(), Self::new());
        for (tone, text) in self.spans {
            let left = if rest.is_empty() { width - head.width() } else { 0 };
            let (own, others) = split(&text, left);
            head = head.with(tone, own);
            rest = rest.with(tone, others);
        }
        (head, rest)
    }

    /// Splits what is to stay together and is wider than a line between the last of its words that fit.
    pub fn split_at_no_break(self, width: usize) -> Option<(Self, Self)> {
        let text: String = self.spans.iter().map(|(_, text)| text.as_str()).collect();
        let breaks = text.match_indices(NO_BREAK).map(|(place, _)| columns(&text[..place]));
        let place = breaks.take_while(|place| *place <= width).last().filter(|place| *place > 0)?;
        let (head, rest) = self.split_at(place);
        Some((head, rest.split_at(1).1))
    }

    /// The text alone.
    pub fn to_plain(&self) -> String {
        let text: String = self.spans.iter().map(|(_, text)| text.as_str()).collect();
        text.replace(NO_BREAK, " ").trim_end().to_owned()
    }

    fn write_styled(&self, out: &mut String) {
        let last = self.spans.len().saturating_sub(1);
        for (index, (tone, text)) in self.spans.iter().enumerate() {
            let text = text.replace(NO_BREAK, " ");
            let is_picture = matches!(tone, Tone::Heat(_) | Tone::Paint { .. });
            let text = if index == last && !is_picture { text.trim_end() } else { &text };
            let style = tone.style();
            let _ = write!(out, "{style}{text}{style:#}");
        }
    }
}

/// A whole screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    lines: Vec<Line>,
}

impl Screen {
    /// The empty screen.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a line.
    pub fn push(&mut self, line: Line) {
        self.lines.push(line);
    }

    /// Adds lines.
    pub fn extend(&mut self, lines: impl IntoIterator<Item = Line>) {
        self.lines.extend(lines);
    }

    /// Adds a block of lines after an empty one; adds nothing for an empty block.
    pub fn block(&mut self, lines: Vec<Line>) {
        if !lines.is_empty() {
            if !self.lines.is_empty() {
                self.push(Line::new());
            }
            self.extend(lines);
        }
    }

    /// The screen with escape sequences for tones; the stream that prints it takes them out where there is no colour.
    pub fn styled(&self) -> String {
        let mut out = String::new();
        for line in &self.lines {
            line.write_styled(&mut out);
            out.push('\n');
        }
        out
    }

    /// The text alone.
    #[cfg(test)]
    pub fn plain(&self) -> String {
        self.lines.iter().map(|line| line.to_plain() + "\n").collect()
    }

    /// The width of the widest line.
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
        assert_eq!(Line::new().plain("AMD\u{1b}[2JRyzen\n").to_plain(), r"AMD\u{1b}[2JRyzen\u{a}");
    }

    #[test]
    fn a_cut_line_says_so() {
        let line = Line::new().plain("virtio").strong("1-req.0");
        assert_eq!(line.clone().cut(9).to_plain(), "virtio1-…");
        assert_eq!(line.cut(13).to_plain(), "virtio1-req.0");
    }

    #[test]
    fn wide_characters_and_marks_are_measured_in_columns() {
        let line = Line::new().plain("日本").strong("e\u{301}語");
        assert_eq!(line.width(), 7);
        assert_eq!(line.clone().cut(6).to_plain(), "日本e\u{301}…");
        assert_eq!(line.clone().cut(4).to_plain(), "日…");
        let (head, rest) = line.split_at(3);
        assert_eq!([head.to_plain(), rest.to_plain()], ["日", "本e\u{301}語"]);
    }
}
