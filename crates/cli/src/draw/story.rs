//! Results as sentences, tables and figures without a width. The terminal, pages, Markdown, and the notes in JSON and
//! CSV are renderings of it.

#[cfg(test)]
pub mod forms;

use std::fmt;
use std::rc::Rc;

use super::grid::TextGrid;
use super::heat::depth::ColourDepth;
use super::heat::{HeatMap, SvgText};
use super::plot::FigurePlot;
use super::text::{StyledLine, TextScreen, TextTone};
use super::wrap::wrap_line;

/// Labels wider than this stand alone if few columns are left beside them.
const DEEP: usize = 10;
/// Number of columns that counts as few.
const FEW_COLUMNS: usize = 20;

/// All parts of one result, in the order of the terminal.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// Blocks in order.
    pub blocks: Vec<StoryBlock>,
    /// Command that makes the result again.
    pub command: String,
}

/// Purpose of a block: it decides where each form shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoryRole {
    /// The machine and the run of the result, before the first number.
    Head,
    /// The command that was typed; a terminal leaves it out.
    Context,
    /// The answer, and the commands that apply it.
    Answer,
    /// Evidence for the answer.
    Evidence,
    /// Evidence that does not fit on a terminal: left out there.
    Details,
    /// Caveats, gaps, checks, seeds.
    Notes,
}

/// Parts that belong together: a paragraph or two, or a table under its caption.
#[derive(Clone, Debug)]
pub struct StoryBlock {
    /// Its purpose.
    pub role: StoryRole,
    /// Its heading in documents, if the terminal needs none.
    pub title: Option<&'static str>,
    /// Its parts.
    pub parts: Vec<StoryPart>,
}

/// A sentence, a table or a figure.
#[derive(Clone, Debug)]
pub enum StoryPart {
    /// A paragraph; on the terminal its lines after the first begin with `hanging` spaces.
    Sentence {
        /// The text.
        line: StyledLine,
        /// The spaces.
        hanging: usize,
    },
    /// Advice and the command to type, on one line if both fit.
    Step {
        /// Advice.
        advice: StyledLine,
        /// Command.
        command: StyledLine,
    },
    /// A table.
    Table(TextGrid),
    /// Help for reading a table; only in documents.
    Legend(StyledLine),
    /// A figure; only in documents.
    Figure(StoryFigure),
    /// A picture of characters; only on the terminal.
    Drawing(StoryDrawing),
}

/// Picture with help for reading it.
#[derive(Clone, Debug)]
pub struct StoryFigure {
    /// Its name among the figures of its result, as a part of a file's name: "runs".
    pub name: &'static str,
    /// The title.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// Picture.
    pub picture: FigurePicture,
}

/// Picture before it is drawn.
#[derive(Clone, Debug)]
pub enum FigurePicture {
    /// A plot.
    Plot(Box<FigurePlot>),
    /// A heat map with its texts.
    Heat(Box<HeatMap>, SvgText),
    /// Drawn picture, as an SVG document of its own.
    Svg(String),
}

/// Draws a picture of characters in the given width and colours.
#[derive(Clone)]
pub struct StoryDrawing(Rc<dyn Fn(usize, ColourDepth) -> Vec<StyledLine>>);

impl fmt::Debug for StoryDrawing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StoryDrawing")
    }
}

impl Story {
    /// Returns an empty story of a result that `command` makes again.
    pub fn new(command: impl Into<String>) -> Self {
        Self { blocks: Vec::new(), command: command.into() }
    }

    /// Adds a block, unless it has no part.
    #[must_use]
    pub fn with(self, role: StoryRole, parts: Vec<StoryPart>) -> Self {
        self.with_block(StoryBlock { role, title: None, parts })
    }

    /// Adds a block under a heading that only documents show.
    #[must_use]
    pub fn with_titled(self, role: StoryRole, title: &'static str, parts: Vec<StoryPart>) -> Self {
        self.with_block(StoryBlock { role, title: Some(title), parts })
    }

    fn with_block(mut self, block: StoryBlock) -> Self {
        if !block.parts.is_empty() {
            self.blocks.push(block);
        }
        self
    }

    /// Returns the parts of all blocks with one of these roles, in order.
    pub fn parts_with_role(&self, roles: &[StoryRole]) -> Vec<&StoryPart> {
        self.blocks.iter().filter(|block| roles.contains(&block.role)).flat_map(|block| &block.parts).collect()
    }

    /// Returns the blocks of evidence.
    pub fn evidence_blocks(&self) -> impl Iterator<Item = &StoryBlock> {
        self.blocks.iter().filter(|block| matches!(block.role, StoryRole::Evidence | StoryRole::Details))
    }

    /// Returns its figures.
    pub fn list_figures(&self) -> impl Iterator<Item = &StoryFigure> {
        self.blocks.iter().flat_map(StoryBlock::list_figures)
    }

    /// Names the source of the values below its figures; finished drawings have their own.
    pub fn set_figure_source(&mut self, source: &str) {
        for part in self.blocks.iter_mut().flat_map(|block| &mut block.parts) {
            if let StoryPart::Figure(figure) = part {
                figure.set_source(source);
            }
        }
    }

    /// Renders the screen of a terminal.
    pub fn to_screen(&self, width: usize, depth: ColourDepth) -> TextScreen {
        let mut screen = TextScreen::new();
        let is_left_out = |block: &&StoryBlock| matches!(block.role, StoryRole::Context | StoryRole::Details);
        for block in self.blocks.iter().filter(|block| !is_left_out(block)) {
            screen.add_block(block.parts.iter().flat_map(|part| part.draw_lines(width, depth)).collect());
        }
        screen
    }

    /// Renders the screen of a terminal of this width without colours.
    #[cfg(test)]
    pub fn screen_at_width(&self, width: usize) -> TextScreen {
        self.to_screen(width, ColourDepth::NoColour)
    }

    /// Returns the sentences of the answer.
    pub fn answer_sentences(&self) -> Vec<String> {
        self.sentences_of(&[StoryRole::Answer], |line| !line.is_heading() && !line.is_verbatim())
    }

    /// Returns the commands that apply the answer or continue with the result.
    pub fn answer_commands(&self) -> Vec<String> {
        self.sentences_of(&[StoryRole::Answer], StyledLine::is_verbatim)
    }

    /// Returns the notes beside the answer: origin, caveats, gaps and checks.
    pub fn note_sentences(&self) -> Vec<String> {
        self.sentences_of(&[StoryRole::Head, StoryRole::Notes], |_| true)
    }

    /// Returns the sentences of blocks with one of these roles, without indentation.
    fn sentences_of(&self, roles: &[StoryRole], is_wanted: impl Fn(&StyledLine) -> bool) -> Vec<String> {
        let sentences = self.parts_with_role(roles).into_iter().filter_map(StoryPart::sentence_line).filter(is_wanted);
        sentences.map(|line| line.to_plain().trim_start().to_owned()).collect()
    }
}

impl StoryPart {
    /// Returns a drawing by a function of the width and the colours.
    pub fn from_drawing(draw: impl Fn(usize, ColourDepth) -> Vec<StyledLine> + 'static) -> Self {
        Self::Drawing(StoryDrawing(Rc::new(draw)))
    }

    /// Renders its lines on a terminal.
    pub fn draw_lines(&self, width: usize, depth: ColourDepth) -> Vec<StyledLine> {
        match self {
            Self::Sentence { line, hanging } => {
                let is_too_deep = *hanging > DEEP && hanging + FEW_COLUMNS > width;
                wrap_line(line, width, if is_too_deep { 2 } else { *hanging })
            }
            Self::Step { advice, command } => {
                let together = advice.clone().plain("  ").then(command.clone());
                if together.width() <= width {
                    return vec![together];
                }
                let apart = StyledLine::new().plain("        ").then(command.clone());
                [wrap_line(advice, width, 4), wrap_line(&apart, width, 8)].concat()
            }
            Self::Table(grid) => grid.draw_lines(width),
            Self::Drawing(StoryDrawing(draw)) => draw(width, depth),
            Self::Legend(_) | Self::Figure(_) => Vec::new(),
        }
    }

    /// Returns the text of a sentence or a step.
    fn sentence_line(&self) -> Option<StyledLine> {
        match self {
            Self::Sentence { line, .. } => Some(line.clone()).filter(|line| !line.to_plain().is_empty()),
            Self::Step { advice, command } => Some(advice.clone().plain("  ").then(command.clone())),
            _ => None,
        }
    }
}

impl From<TextGrid> for StoryPart {
    fn from(grid: TextGrid) -> Self {
        Self::Table(grid)
    }
}

impl StoryFigure {
    /// Returns the figure of a plot; `None` if no value can be drawn.
    pub fn from_plot(name: &'static str, plot: FigurePlot, caption: &str) -> Option<Self> {
        let (title, is_drawn) = (plot.title.clone(), plot.is_drawn());
        let picture = FigurePicture::Plot(Box::new(plot));
        is_drawn.then(|| Self { name, title, caption: caption.to_owned(), picture })
    }

    /// Sets the source of the values, for below the picture. A finished drawing has its own.
    pub fn set_source(&mut self, source: &str) {
        match &mut self.picture {
            FigurePicture::Plot(plot) => source.clone_into(&mut plot.source),
            FigurePicture::Heat(_, text) => source.clone_into(&mut text.source),
            FigurePicture::Svg(_) => {}
        }
    }

    /// Renders the picture as an SVG document of its own.
    #[cfg(feature = "measuring")]
    pub fn to_svg(&self) -> String {
        match &self.picture {
            FigurePicture::Plot(plot) => plot.to_svg().unwrap_or_default(),
            FigurePicture::Heat(map, text) => map.to_svg(text),
            FigurePicture::Svg(svg) => svg.clone(),
        }
    }
}

impl StyledLine {
    /// Makes a paragraph of the line; its lines after the first begin with `hanging` spaces.
    pub fn into_paragraph(self, hanging: usize) -> StoryPart {
        StoryPart::Sentence { line: self, hanging }
    }

    /// Returns true if it is a heading: strong as a whole, not indented, and not a sentence.
    pub fn is_heading(&self) -> bool {
        let is_sentence = self.to_plain().ends_with('.');
        !self.is_empty()
            && !is_sentence
            && self.spans().all(|(tone, text)| tone == TextTone::Strong && !text.starts_with(' '))
    }

    /// Returns true if it is a command or another program's output: indented, and in one tone.
    pub fn is_verbatim(&self) -> bool {
        let mut tones = self.spans().filter(|(_, text)| !text.trim().is_empty()).map(|(tone, _)| tone);
        self.to_plain().starts_with("    ")
            && matches!(tones.next(), Some(TextTone::Strong | TextTone::Faint))
            && tones.next().is_none()
    }
}

/// Makes a paragraph of each line.
pub fn compose_paragraphs(lines: Vec<StyledLine>, hanging: usize) -> Vec<StoryPart> {
    lines.into_iter().map(|line| line.into_paragraph(hanging)).collect()
}

/// Renders parts as lines of a terminal without colours.
pub fn draw_parts(parts: &[StoryPart], width: usize) -> Vec<StyledLine> {
    parts.iter().flat_map(|part| part.draw_lines(width, ColourDepth::NoColour)).collect()
}

impl StoryBlock {
    /// Returns its figures.
    pub fn list_figures(&self) -> impl Iterator<Item = &StoryFigure> {
        self.parts.iter().filter_map(|part| if let StoryPart::Figure(figure) = part { Some(figure) } else { None })
    }

    /// Returns its heading in documents, and its texts and tables without that. The heading is its title, or the
    /// strong words that its first sentence begins with.
    pub fn split_heading(&self) -> (Option<String>, Vec<StoryPart>) {
        let is_text = |part: &&StoryPart| !matches!(part, StoryPart::Figure(_) | StoryPart::Drawing(_));
        let mut texts: Vec<StoryPart> = self.parts.iter().filter(is_text).cloned().collect();
        if self.title.is_some() {
            return (self.title.map(str::to_owned), texts);
        }
        let Some(StoryPart::Sentence { line, hanging }) = texts.first() else { return (None, texts) };
        let Some((TextTone::Strong, heading)) = line.spans().next().filter(|(_, text)| !text.starts_with(' ')) else {
            return (None, texts);
        };
        let heading = heading.trim_end().to_owned();
        let rest = line.spans().skip(1).fold(StyledLine::new(), |line, (tone, text)| {
            line.clone().with(tone, if line.is_empty() { text.trim_start() } else { text })
        });
        let rest = Some(rest).filter(|line| !line.to_plain().is_empty()).map(|line| line.into_paragraph(*hanging));
        texts.splice(..1, rest);
        (Some(heading), texts)
    }
}
