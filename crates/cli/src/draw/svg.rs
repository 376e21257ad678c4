//! What SVG pictures have in common. Each needs nothing else: no script, no fonts, no other files.

use std::fmt::Write as _;

use super::printable::printable;
use super::text::Line;
use super::wrap::wrap;

/// Empty pixels around everything.
pub const EDGE: usize = 24;
/// The size of labels, in pixels.
pub const SIZE: usize = 11;
/// The colour of text.
pub const TEXT: &str = "#1a1a1a";
/// The colour of what explains.
pub const FAINT: &str = "#5a5a5a";
/// A picture brings its own background, so that it is the same on light and dark pages.
pub const PAPER: [u8; 3] = [0xff; 3];

/// How text looks: its size in pixels, its weight and its colour.
#[derive(Clone, Copy, Debug)]
pub struct Font(usize, u16, &'static str);

/// The font of a picture's title.
pub const TITLE: Font = Font(20, 600, TEXT);
/// The font of what stands below the title.
pub const SUBTITLE: Font = Font(13, 400, FAINT);
/// The font of what stands at the foot.
pub const SOURCE: Font = Font(SIZE, 400, FAINT);

/// Text that begins `top` pixels below the picture's edge.
#[derive(Clone, Debug)]
pub struct Block {
    top: usize,
    font: Font,
    lines: Vec<String>,
}

impl Block {
    /// A text, wrapped so that it is about `width` pixels wide.
    pub fn new(top: usize, font: Font, text: &str, width: usize) -> Self {
        // A letter is about six tenths as wide as high; bold ones are wider.
        let columns = (width * 3 / 2 / font.0).max(20);
        let lines = wrap(&Line::new().plain(text), columns, 0).iter().map(Line::to_plain).collect();
        Self { top, font, lines }
    }

    /// Where it ends, in pixels below the picture's edge.
    pub fn bottom(&self) -> usize {
        self.top + self.lines.len() * self.font.0 * 7 / 5
    }

    /// The text as SVG.
    pub fn draw(&self) -> String {
        let Font(size, weight, fill) = self.font;
        let mut text = format!("<g font-size=\"{size}\" font-weight=\"{weight}\" fill=\"{fill}\">\n");
        for (index, line) in self.lines.iter().enumerate() {
            let y = self.top + size + index * size * 7 / 5;
            let _ = writeln!(text, "<text x=\"{EDGE}\" y=\"{y}\">{}</text>", escaped(line));
        }
        text + "</g>\n"
    }
}

/// The whole picture: its size in pixels, its name for those who do not see it, and what is drawn on its background.
pub fn document(width: usize, height: usize, name: &str, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif\" fill=\"{TEXT}\">\n\
         <title>{name}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"{paper}\"/>\n{body}</svg>\n",
        name = escaped(name),
        paper = hex(PAPER),
    )
}

/// A colour as SVG writes it.
pub fn hex([red, green, blue]: [u8; 3]) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Text as it may stand in XML 1.0, in an element or an attribute; what XML does not have is never [`printable`].
pub fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for character in printable(text).chars() {
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
