//! The core-to-core map: the cost of communication between two cpus, as a heat map that fits the terminal.

use corewise_machine::{CpuSet, Level, Machine};
use corewise_model::Survey;
use corewise_model::links::{self, LinkClass, LinkFindings, measured_cpus};
use corewise_statistics::order::median;

use crate::draw::heat::{HeatMap, HeatSide, SvgText};
use crate::draw::machine::model_name;
use crate::draw::number::{format_brief, format_count, format_whole};
use crate::draw::shades::{FLAT, SHADES};
use crate::draw::story::{FigurePicture, StoryFigure, StoryPart};
use crate::draw::text::{HEAT_STEPS, StyledLine, TextTone};
use crate::draw::wrap::{glue_words, wrap_line};

/// With more cpus than this, SMT siblings share a row.
const FEW_CPUS: usize = 16;
/// A map with more rows than this is shown in blocks.
const MOST_ROWS: usize = 32;
/// Width in columns of a terminal that would show the same level of detail as a figure.
const FIGURE_COLUMNS: usize = 400;

/// Returns the cost classes and the map; empty if no pair was measured.
pub fn compose_links(survey: &Survey) -> Vec<StoryPart> {
    if survey.links.pairs.is_empty() {
        return Vec::new();
    }
    let (machine, links) = (survey.machine.clone(), survey.links.clone());
    let classes = compose_classes(&links, &links::link_classes(&machine, &links));
    let drawing = move |width, _| {
        choose_map(&machine, &links, width)
            .map_or_else(Vec::new, |map| [map.draw_map(), map.draw_legend(width)].concat())
    };
    let figure = link_figure(survey).map(StoryPart::Figure);
    [classes, StoryPart::from_drawing(drawing)].into_iter().chain(figure).collect()
}

fn link_figure(survey: &Survey) -> Option<StoryFigure> {
    let links = &survey.links;
    let map = choose_map(&survey.machine, links, FIGURE_COLUMNS)?;
    let (title, what) = ("Cost of talking between cpus", "compare-and-swap, ns one way");
    let text = SvgText {
        title: title.to_owned(),
        subtitle: format!("{}, {what}, {} measured", model_name(&survey.machine), format_pairs(links)),
        source: String::new(),
    };
    let cell = match map.unit {
        Level::Cpu => "A row and a column for each cpu.".to_owned(),
        Level::Core => {
            "A row and a column for each core, named by its first cpu; a cell is the median of its pairs.".to_owned()
        }
        level => format!("A row and a column for each {level}; a cell is the median of its pairs of cores."),
    };
    Some(StoryFigure {
        name: "links",
        title: title.to_owned(),
        caption: format!("{cell} Dark is cheap. Cpus of one last-level cache stand together."),
        picture: FigurePicture::Heat(Box::new(map.heat_map(&survey.machine)), text),
    })
}

/// Returns the cost classes in a line, and the number of measured pairs.
fn compose_classes(links: &LinkFindings, classes: &[LinkClass]) -> StoryPart {
    let mut line = StyledLine::new().strong("Links").plain("  ").faint("one way, ns:");
    for (place, class) in classes.iter().enumerate() {
        let range = if class.pairs > 1 {
            format!(" ({} to {})", format_brief(class.lowest_ns), format_brief(class.highest_ns))
        } else {
            String::new()
        };
        let joint = if place > 0 { "  ·  " } else { "  " };
        line = line.faint(joint).plain(glue_words(class.relation.relation_name())).plain("\u{a0}");
        line = line.strong(format_brief(class.median_ns)).faint(glue_words(&range));
    }
    line.plain("  ").faint(glue_words(&format!("({})", format_pairs(links)))).into_paragraph(2)
}

/// Formats the number of pairs, such as "338 of 1,128 pairs".
fn format_pairs(links: &LinkFindings) -> String {
    let measured = links.pairs.len();
    if (measured as u64) < links.possible_pairs {
        format!("{} of {} pairs", format_whole(measured as u64), format_whole(links.possible_pairs))
    } else {
        format_count(measured, "pair")
    }
}

/// Rows and columns of a map, with the cost of each pair of them.
struct SurveyHeatMap {
    labels: Vec<String>,
    /// The lowest cpu of each row.
    cpus: Vec<u32>,
    /// The level of a row: "cpu", "core", "llc". If it is a block, a cell is the median over its pairs.
    unit: Level,
    costs: Vec<Vec<Option<f64>>>,
    /// True if cells show figures, false if only shades.
    figures: bool,
}

/// Returns the most detailed map that fits: cpus, cores, then blocks of ever larger levels.
fn choose_map(machine: &Machine, links: &LinkFindings, width: usize) -> Option<SurveyHeatMap> {
    let measured = measured_cpus(links);
    let levels = [Level::Cpu, Level::Core, Level::Cluster, Level::Llc, Level::Die, Level::Node, Level::Package];
    for level in levels {
        let blocks = list_blocks(machine, level, &measured);
        let same_outside = levels.iter().skip_while(|other| **other != level).skip(1);
        let most = if level == Level::Cpu && machine.cores.len() < machine.online.len() { FEW_CPUS } else { MOST_ROWS };
        if blocks.len() > most || same_outside.clone().any(|&outer| have_same_cpus(machine, level, outer)) {
            continue;
        }
        let mut map = SurveyHeatMap::from_links(machine, links, level, &blocks);
        map.figures = map.width_with_figures() <= width && blocks.len() <= FEW_CPUS;
        if map.figures || map.width_with_shades() <= width {
            return Some(map);
        }
    }
    let all = vec![(0, measured)];
    let mut map = SurveyHeatMap::from_links(machine, links, Level::Package, &all);
    map.figures = true;
    Some(map)
}

/// Returns true if two levels cut the machine alike; the outer one then names the blocks.
fn have_same_cpus(machine: &Machine, inner: Level, outer: Level) -> bool {
    inner < Level::Core && machine.objects_of(inner) == machine.objects_of(outer)
}

/// Returns the objects of a level that hold a measured cpu, as index and cpus.
fn list_blocks(machine: &Machine, level: Level, measured: &CpuSet) -> Vec<(usize, CpuSet)> {
    let number = |index: usize, cpus: &CpuSet| match level {
        Level::Cpu | Level::Core => cpus.lowest().map_or(index, |cpu| cpu as usize),
        _ => index,
    };
    let objects = machine.objects_of(level).into_iter().enumerate();
    let measured = objects.map(|(index, cpus)| (number(index, &cpus), cpus.intersection(measured)));
    measured.filter(|(_, cpus)| !cpus.is_empty()).collect()
}

impl SurveyHeatMap {
    fn from_links(machine: &Machine, links: &LinkFindings, unit: Level, blocks: &[(usize, CpuSet)]) -> Self {
        let mut home = std::collections::HashMap::new();
        for (place, (_, cpus)) in blocks.iter().enumerate() {
            home.extend(cpus.iter().map(|cpu| (cpu, place)));
        }
        let mut values = vec![vec![Vec::new(); blocks.len()]; blocks.len()];
        for pair in &links.pairs {
            let (Some(&a), Some(&b)) = (home.get(&pair.a), home.get(&pair.b)) else { continue };
            let siblings = || machine.index_of(Level::Core, pair.a) == machine.index_of(Level::Core, pair.b);
            // A block of several cores is about its cores: links between SMT siblings have a class of their own.
            if a == b && unit != Level::Core && siblings() {
                continue;
            }
            let [there, back] = pair.drawn_ns();
            values[a][b].push(there);
            if a != b || there != back {
                values[b][a].push(back);
            }
        }
        let cell = |values: &Vec<f64>| Some(median(values)).filter(|cost| cost.is_finite());
        let prefix = if unit >= Level::Core { String::new() } else { format!("{unit}:") };
        Self {
            labels: blocks.iter().map(|(number, _)| format!("{prefix}{number}")).collect(),
            cpus: blocks.iter().filter_map(|(_, cpus)| cpus.lowest()).collect(),
            unit,
            costs: values.iter().map(|row| row.iter().map(cell).collect()).collect(),
            figures: false,
        }
    }

    /// Converts the map for pictures; rows of one last-level cache form a group.
    fn heat_map(&self, machine: &Machine) -> HeatMap {
        let llc = |row: &usize| machine.index_of(Level::Llc, self.cpus[*row]).unwrap_or_default();
        let mut order: Vec<usize> = (0..self.labels.len()).collect();
        order.sort_by_key(|row| (llc(row), *row));
        let of_llcs: Vec<&[usize]> = order.chunk_by(|one, other| llc(one) == llc(other)).collect();
        // "llc:3" is labelled 3, because the axis names the level.
        let label = |&row: &usize| self.labels[row].rsplit(':').next().unwrap_or_default().to_owned();
        let mut side = HeatSide::from_labels(self.unit.word(), order.iter().map(label).collect());
        if of_llcs.len() > 1 && self.unit > Level::Llc {
            let ends = of_llcs.iter().scan(0, |end, rows| {
                *end += rows.len();
                Some(*end)
            });
            side.groups = ends.zip(&of_llcs).map(|(end, rows)| end - rows.len()..end).collect();
            side.names = of_llcs.iter().map(|rows| format!("llc:{}", llc(&rows[0]))).collect();
        }
        let cost = |&row: &usize| order.iter().map(move |&column| self.costs[row][column].unwrap_or(f64::NAN));
        HeatMap {
            rows: side.clone(),
            columns: side,
            costs: order.iter().flat_map(cost).collect(),
            // Cores with siblings, and blocks of cores, have a cost among themselves.
            is_of_pairs: (0..self.costs.len()).all(|row| self.costs[row][row].is_none()),
            unit: "ns".to_owned(),
            ..HeatMap::default()
        }
    }

    fn label_width(&self) -> usize {
        self.labels.iter().map(String::len).max().unwrap_or(0)
    }

    /// Returns the width of a figure with its gap.
    fn figure_width(&self) -> usize {
        let cells = self.costs.iter().flatten().flatten().map(|&cost| format_brief(cost).chars().count());
        cells.chain(self.labels.iter().map(String::len)).max().unwrap_or(1) + 2
    }

    fn width_with_figures(&self) -> usize {
        self.label_width() + 1 + self.labels.len() * self.figure_width()
    }

    fn width_with_shades(&self) -> usize {
        self.label_width() + 1 + self.labels.len() * 2
    }

    fn cost_range(&self) -> (f64, f64) {
        let costs = || self.costs.iter().flatten().flatten().copied();
        (costs().fold(f64::INFINITY, f64::min), costs().fold(f64::NEG_INFINITY, f64::max))
    }

    /// Returns the heat step of a cost, on a logarithmic scale over all costs of the map.
    fn heat_step(&self, cost: f64) -> u8 {
        let (low, high) = self.cost_range();
        if low <= 0.0 || high / low < FLAT {
            return 0;
        }
        let place = (cost / low).ln() / (high / low).ln();
        ((place * f64::from(HEAT_STEPS)) as u8).min(HEAT_STEPS - 1)
    }

    fn draw_map(&self) -> Vec<StyledLine> {
        let margin = self.label_width();
        let mut lines = vec![self.draw_head(margin)];
        for (row, label) in self.labels.iter().enumerate() {
            let mut line = StyledLine::new().faint(format!("{label:>margin$} "));
            for (column, cost) in self.costs[row].iter().enumerate() {
                line = line.then(self.draw_cell(*cost, row == column));
            }
            lines.push(line);
        }
        lines
    }

    fn draw_head(&self, margin: usize) -> StyledLine {
        let mut text = " ".repeat(margin + 1);
        if self.figures {
            let cell = self.figure_width();
            text.extend(self.labels.iter().map(|label| format!("{label:>width$} ", width = cell - 1)));
        } else {
            // Every second label, if it fits over its own two cells of two columns.
            let label = |index: usize| self.labels[index].trim_start_matches(|c: char| !c.is_ascii_digit());
            text.extend((0..self.labels.len()).step_by(2).map(|index| format!("{:<4}", label(index))));
        }
        StyledLine::new().faint(text.trim_end())
    }

    fn draw_cell(&self, cost: Option<f64>, diagonal: bool) -> StyledLine {
        let width = if self.figures { self.figure_width() } else { 2 };
        let Some(cost) = cost else {
            let mark = if diagonal { "-" } else { "" };
            return StyledLine::new().faint(if self.figures {
                format!("{mark:>w$} ", w = width - 1)
            } else {
                format!("{mark:<2}")
            });
        };
        let step = self.heat_step(cost);
        let text = if self.figures {
            format!("{:>w$} ", format_brief(cost), w = width - 1)
        } else {
            SHADES[usize::from(step)].to_string().repeat(2)
        };
        StyledLine::new().with(TextTone::Heat(step), text)
    }

    /// Explains the shades, and cells that summarise several pairs.
    fn draw_legend(&self, width: usize) -> Vec<StyledLine> {
        let (low, high) = self.cost_range();
        let mut line = StyledLine::new();
        if !self.figures && low.is_finite() {
            line = line.faint("ns  ");
            let steps = if high / low < FLAT { 1 } else { HEAT_STEPS };
            for step in 0..steps {
                let edge = |step: u8| low * (high / low).powf(f64::from(step) / f64::from(steps));
                let shade = SHADES[usize::from(step)].to_string().repeat(2);
                let text = format!(" {} to {}", format_brief(edge(step)), format_brief(edge(step + 1)));
                line = line.with(TextTone::Heat(step), shade).plain(glue_words(&text)).plain("  ");
            }
        }
        match self.unit {
            Level::Cpu => {}
            Level::Core => {
                line = line.faint("a row is a core, named by its first cpu; a cell is the median of its pairs")
            }
            level => line = line.faint(format!("a row is one {level}; a cell is the median of its pairs of cores")),
        }
        wrap_line(&line, width, 0)
    }
}

#[cfg(test)]
mod tests {
    use corewise_model::links::LinkPair;

    use super::*;
    use crate::draw::fixtures::fabricated::{large, ryzen_9950x3d};

    fn drawn(machine: &Machine, pairs: &[(u32, u32, f64)], width: usize) -> Vec<String> {
        let pairs: Vec<LinkPair> = pairs.iter().map(|&(a, b, ns)| LinkPair::new(a, b, vec![ns])).collect();
        let links = LinkFindings { possible_pairs: pairs.len() as u64, pairs, gaps: Vec::new() };
        choose_map(machine, &links, width).unwrap().draw_map().iter().map(StyledLine::to_plain).collect()
    }

    /// Cpus 0 and 256 are siblings; 0 and 1 only share the cache. Three pairs of siblings would outweigh one of cores.
    #[test]
    fn what_siblings_say_to_each_other_is_not_a_block_s_cost() {
        let machine = large();
        let costs = [(0, 256, 7.0), (1, 257, 7.0), (2, 258, 7.0), (0, 1, 18.0), (0, 8, 80.0)];
        let pairs: Vec<LinkPair> = costs.iter().map(|&(a, b, ns)| LinkPair::new(a, b, vec![ns])).collect();
        let links = LinkFindings { possible_pairs: pairs.len() as u64, pairs, gaps: Vec::new() };
        let blocks = list_blocks(&machine, Level::Llc, &measured_cpus(&links));
        let map = SurveyHeatMap::from_links(&machine, &links, Level::Llc, &blocks);
        assert_eq!(map.costs, [[Some(18.0), Some(80.0)], [Some(80.0), None]]);
    }

    #[test]
    fn a_figure_has_the_costs_of_the_terminal_with_caches_as_groups() {
        let machine = ryzen_9950x3d();
        let costs = [(0, 1, 18.0), (0, 8, 80.0), (0, 9, 80.0), (1, 8, 80.0), (1, 9, 80.0), (8, 9, 18.0)];
        let pairs: Vec<LinkPair> = costs.iter().map(|&(a, b, ns)| LinkPair::new(a, b, vec![ns])).collect();
        let links = LinkFindings { possible_pairs: 6, pairs, gaps: Vec::new() };
        let heat = choose_map(&machine, &links, FIGURE_COLUMNS).unwrap().heat_map(&machine);
        assert_eq!(
            (&heat.rows.labels[..], &heat.rows.groups[..]),
            (&["0", "1", "8", "9"].map(str::to_owned)[..], &[0..2, 2..4][..])
        );
        assert_eq!(heat.rows.names, ["llc:0", "llc:1"]);
        assert!(
            heat.costs[0].is_nan() && heat.costs[1..4] == [18.0, 80.0, 80.0] && heat.costs[4] == 18.0,
            "{:?}",
            heat.costs
        );
        assert!(heat.is_of_pairs, "no cpu has a cost with itself");
    }

    #[test]
    fn pairs_that_were_not_measured_are_blank_and_noise_is_one_shade() {
        let map = drawn(&ryzen_9950x3d(), &[(0, 1, 18.0), (0, 2, 20.0), (1, 2, 19.0), (3, 4, 18.5)], 15);
        assert_eq!(
            map,
            ["  0   2   4", "0 - ····", "1 ··- ··", "2 ····- ", "3       - ··", "4       ··-"].map(str::trim_end)
        );
    }
}
