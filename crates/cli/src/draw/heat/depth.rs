//! Colour depths of terminals, and the colour scale for each.

use anstyle::{Ansi256Color, AnsiColor, Color, RgbColor};

use super::scale::{self, is_light};
use crate::draw::shades::SHADES;
use crate::draw::text::TextTone;

/// Scale in the 256-colour palette: entries of the colour cube near viridis, each lighter than the one before.
const PALETTE: [u8; 10] = [53, 54, 24, 25, 30, 36, 72, 77, 149, 220];
/// First entry on which black is easier to read than white.
const PALETTE_LIGHT: usize = 4;
/// Scale in 16 colours from blue to yellow, which nearly all readers can distinguish. Each is lighter than the one
/// before in the usual palettes.
const ANSI: [AnsiColor; 5] =
    [AnsiColor::Blue, AnsiColor::BrightBlue, AnsiColor::Cyan, AnsiColor::BrightCyan, AnsiColor::BrightYellow];
const ANSI_LIGHT: usize = 2;

/// Number of colours of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColourDepth {
    /// 8 bits each for red, green and blue.
    TrueColour,
    /// The 256-colour palette.
    Palette256,
    /// The 16 colours that every terminal has.
    Ansi16,
    /// No colour: shades of characters.
    NoColour,
}

impl ColourDepth {
    /// Returns the depth of a terminal from the variables `COLORTERM` and `TERM`; `NoColour` if `colour` is false.
    pub fn from_terminal(colorterm: Option<&str>, term: Option<&str>, colour: bool) -> Self {
        if !colour {
            Self::NoColour
        } else if matches!(colorterm, Some("truecolor" | "24bit")) {
            Self::TrueColour
        } else if term.is_some_and(|term| term.contains("256color")) {
            Self::Palette256
        } else {
            Self::Ansi16
        }
    }

    /// Returns the number of steps of the scale; `None` if it is smooth.
    pub fn scale_steps(self) -> Option<usize> {
        match self {
            Self::TrueColour | Self::Palette256 => None,
            Self::Ansi16 => Some(ANSI.len()),
            Self::NoColour => Some(SHADES.len()),
        }
    }

    /// Returns the colour of a position on the scale, from 0 to 1; `None` without colour.
    pub fn colour_at(self, position: f64) -> Option<Color> {
        match self {
            Self::TrueColour => Some(to_colour(scale::colour_at(position))),
            Self::Palette256 => Some(Ansi256Color(PALETTE[step_at(position, PALETTE.len())]).into()),
            Self::Ansi16 => Some(ANSI[step_at(position, ANSI.len())].into()),
            Self::NoColour => None,
        }
    }

    /// Returns the tone of text on the colour of a position.
    pub fn text_tone_on(self, position: f64) -> TextTone {
        let light = match self {
            Self::TrueColour => is_light(scale::colour_at(position)),
            Self::Palette256 => step_at(position, PALETTE.len()) >= PALETTE_LIGHT,
            Self::Ansi16 => step_at(position, ANSI.len()) >= ANSI_LIGHT,
            Self::NoColour => return TextTone::Plain,
        };
        let text = match (self, light) {
            (Self::TrueColour, true) => to_colour([0; 3]),
            (Self::TrueColour, false) => to_colour([255; 3]),
            (Self::Palette256, true) => Ansi256Color(16).into(),
            (Self::Palette256, false) => Ansi256Color(231).into(),
            (_, true) => AnsiColor::Black.into(),
            (_, false) => AnsiColor::BrightWhite.into(),
        };
        TextTone::Paint { text: Some(text), behind: self.colour_at(position) }
    }
}

/// Returns the character for a position on the scale without colour.
pub fn shade_at(position: f64) -> char {
    SHADES[step_at(position, SHADES.len())]
}

fn step_at(position: f64, steps: usize) -> usize {
    ((position * steps as f64) as usize).min(steps - 1)
}

fn to_colour([red, green, blue]: [u8; 3]) -> Color {
    RgbColor(red, green, blue).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_depth_is_what_the_terminal_says() {
        let of = |colorterm, term| ColourDepth::from_terminal(colorterm, term, true);
        assert_eq!(of(Some("truecolor"), Some("xterm-256color")), ColourDepth::TrueColour);
        assert_eq!(of(Some("24bit"), None), ColourDepth::TrueColour);
        assert_eq!(of(Some("yes"), Some("screen-256color")), ColourDepth::Palette256);
        assert_eq!(of(None, Some("linux")), ColourDepth::Ansi16);
        assert_eq!(of(None, None), ColourDepth::Ansi16);
        assert_eq!(ColourDepth::from_terminal(Some("truecolor"), Some("xterm-256color"), false), ColourDepth::NoColour);
    }

    /// The luminance of an entry of the cube of 6 x 6 x 6.
    fn cube(index: u8) -> f64 {
        const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
        let place = usize::from(index - 16);
        scale::relative_luminance([LEVELS[place / 36], LEVELS[place / 6 % 6], LEVELS[place % 6]])
    }

    #[test]
    fn dearer_is_lighter_in_every_palette() {
        assert!(PALETTE.map(cube).is_sorted_by(|a, b| a < b), "{:?}", PALETTE.map(cube));
        // xterm's own: see `XTerm-col.ad` in its source.
        let xterm = [[0, 0, 0xee], [0x5c, 0x5c, 0xff], [0, 0xcd, 0xcd], [0, 0xff, 0xff], [0xff, 0xff, 0]];
        assert!(xterm.map(scale::relative_luminance).is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn every_place_has_a_colour() {
        for depth in [ColourDepth::TrueColour, ColourDepth::Palette256, ColourDepth::Ansi16] {
            assert_ne!(depth.colour_at(0.0), depth.colour_at(1.0));
            assert_eq!(depth.colour_at(1.0), depth.colour_at(1.5));
        }
        assert_eq!(ColourDepth::NoColour.colour_at(0.5), None);
        assert_eq!([0.0, 0.5, 1.0].map(shade_at), ['·', '▒', '█']);
    }
}
