//! Common parts of SVG pictures. Each is self-contained: no script, no fonts, no other files.

use std::fmt::Write as _;

use super::printable::make_printable;
use super::text::StyledLine;
use super::wrap::wrap_line;

/// Margin in pixels.
pub const EDGE: usize = 24;
/// Font size of labels, in pixels.
pub const SIZE: usize = 11;
/// Colour of text.
pub const TEXT: &str = "#1a1a1a";
/// Colour of explanations.
pub const FAINT: &str = "#5a5a5a";
/// Background of pictures, so that they look the same on light and dark pages.
pub const PAPER: [u8; 3] = [0xff; 3];

/// Appearance of text: size in pixels, weight and colour.
#[derive(Clone, Copy, Debug)]
pub struct SvgFont(usize, u16, &'static str);

/// Font of a picture's title.
pub const TITLE: SvgFont = SvgFont(20, 600, TEXT);
/// Font of the subtitle.
pub const SUBTITLE: SvgFont = SvgFont(13, 400, FAINT);
/// Font of the text at the foot.
pub const SOURCE: SvgFont = SvgFont(SIZE, 400, FAINT);

/// Text that begins `top` pixels below the picture's edge.
#[derive(Clone, Debug)]
pub struct SvgTextBlock {
    top: usize,
    font: SvgFont,
    lines: Vec<String>,
}

impl SvgTextBlock {
    /// Wraps a text to a width of about `width` pixels.
    pub fn new(top: usize, font: SvgFont, text: &str, width: usize) -> Self {
        // A letter is about 0.6 times as wide as high; bold ones are wider.
        let columns = (width * 3 / 2 / font.0).max(20);
        let lines = wrap_line(&StyledLine::new().plain(text), columns, 0).iter().map(StyledLine::to_plain).collect();
        Self { top, font, lines }
    }

    /// Returns its bottom, in pixels below the picture's edge.
    pub fn bottom_edge(&self) -> usize {
        self.top + self.lines.len() * self.font.0 * 7 / 5
    }

    /// Renders the text as SVG.
    pub fn draw_text(&self) -> String {
        let SvgFont(size, weight, fill) = self.font;
        let mut text = format!("<g font-size=\"{size}\" font-weight=\"{weight}\" fill=\"{fill}\">\n");
        for (index, line) in self.lines.iter().enumerate() {
            let y = self.top + size + index * size * 7 / 5;
            let _ = writeln!(text, "<text x=\"{EDGE}\" y=\"{y}\">{}</text>", escape_xml(line));
        }
        text + "</g>\n"
    }
}

/// Renders the whole picture: its size in pixels, its name for screen readers, and `body` on its background.
pub fn write_document(width: usize, height: usize, name: &str, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif\" fill=\"{TEXT}\">\n\
         <title>{name}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"{paper}\"/>\n{body}</svg>\n",
        name = escape_xml(name),
        paper = hex_colour(PAPER),
    )
}

/// Formats a colour for SVG.
pub fn hex_colour([red, green, blue]: [u8; 3]) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Escapes text for an element or attribute of XML 1.0; characters that XML does not allow are never [`printable`].
pub fn escape_xml(text: &str) -> String {
    let mut safe = String::new();
    for character in make_printable(text).chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}
