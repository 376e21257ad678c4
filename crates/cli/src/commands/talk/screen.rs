//! The screen of a talk graph: groups, the heat map, the strongest edges, and where the threads would go.

use corewise_machine::placement::describe_cpus;
use corewise_machine::{CpuSet, Level, Machine, SuggestedCommand, suggested_command};
use corewise_model::Artifact as _;
use corewise_model::artifact::ArtifactOrigin;
use corewise_model::credentials::join_words;
use corewise_model::talk::compare::TalkChange;
use corewise_model::talk::conclude::TalkConclusions;
use corewise_model::talk::costs::CostSource;
use corewise_model::talk::plan::{TalkPlan, TalkProposal};
use corewise_model::talk::{TalkGraph, TalkSource};

use super::dot::{describe_vertex, label_vertex};
use crate::draw::findings::compose_gaps;
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::heat::{HeatMap, HeatSide, SvgText};
use crate::draw::machine::compose_headline;
use crate::draw::number::{format_brief, format_count, format_decimal, format_duration, format_whole};
use crate::draw::printable::{make_printable, printable_name, printable_prefix};
use crate::draw::story::StoryRole::{Answer, Details, Evidence, Head, Notes};
use crate::draw::story::{FigurePicture, Story, StoryFigure, StoryPart};
use crate::draw::suggestion;
use crate::draw::survey::StorageStatus;
use crate::draw::text::{StyledLine, TextTone};

/// Maximum height of the heat map in lines.
const MOST_ROWS: usize = 24;
/// Maximum number of vertices of the heat map.
const MOST_VERTICES: usize = 96;
/// Number of edges in the table.
const MOST_EDGES: usize = 12;
/// Maximum columns of a label.
const LONGEST_LABEL: usize = 20;
/// Maximum columns of a sentence, whatever the threads in it are called.
const LONGEST_SENTENCE: usize = 1000;

/// Composes the story of a graph. The plan is for `machine`.
pub fn compose_story(
    graph: &TalkGraph,
    conclusions: &TalkConclusions,
    machine: Option<&Machine>,
    kept: &StorageStatus,
) -> Story {
    Story::new(repeat_talk(graph).shell_line())
        .with(Head, compose_head(graph, conclusions, machine, kept))
        .with(Answer, compose_answer(graph, conclusions))
        .with(Evidence, compose_heat(graph, conclusions))
        .with(Evidence, compose_edges(graph, conclusions, MOST_EDGES))
        .with(Evidence, compose_groups(conclusions, machine))
        .with_titled(Details, "All edges", compose_edges(graph, conclusions, usize::MAX))
        .with(Notes, compose_foot(graph, conclusions, kept))
}

/// Returns the command that makes such a graph again.
fn repeat_talk(graph: &TalkGraph) -> SuggestedCommand {
    match (&graph.provenance.origin, &graph.command[..]) {
        (ArtifactOrigin::Imported { file, .. }, _) => suggested_command::talk_plan(file),
        _ if !graph.running.is_empty() => suggested_command::talk_running(&graph.running),
        (_, []) => suggested_command::talk(&["./app".to_owned()]),
        (_, command) => suggested_command::talk(command),
    }
}

fn compose_head(
    graph: &TalkGraph,
    conclusions: &TalkConclusions,
    machine: Option<&Machine>,
    kept: &StorageStatus,
) -> Vec<StoryPart> {
    let mut lines = Vec::new();
    if graph.provenance.partial {
        let text = StyledLine::new().with(TextTone::Warn, "PARTIAL: ended early").plain("; partial results follow.");
        lines.push(text.into_paragraph(2));
    }
    if let StorageStatus::Recalled(number, when) = kept {
        lines.push(StyledLine::new().faint(format!("talk graph {number}, made {when}")).into_paragraph(2));
    }
    let threads: u32 = graph.vertices.iter().map(|vertex| vertex.kind.count_threads()).sum();
    let more = [
        format_count(threads as usize, "thread"),
        format!("{} {}", format_whole(conclusions.wakes_per_s.round() as u64), unit_of_wakes(graph)),
        describe_source(graph),
    ];
    match machine {
        Some(machine) => lines.push(compose_headline(machine, &more)),
        None => lines.push(StyledLine::new().strong(more.join(" · ")).into_paragraph(2)),
    }
    if !graph.command.is_empty() {
        let command = printable_prefix(&join_words(&graph.command), LONGEST_SENTENCE);
        lines.push(StyledLine::new().faint(command).into_paragraph(2));
    }
    lines
}

/// Returns the unit of wakes: files do not say in what time they were counted.
fn unit_of_wakes(graph: &TalkGraph) -> &'static str {
    if graph.source == TalkSource::File { "wakes" } else { "wakes/s" }
}

fn describe_source(graph: &TalkGraph) -> String {
    let seconds = format_duration(1e9 * graph.seconds);
    match (graph.source, &graph.provenance.origin) {
        (_, ArtifactOrigin::Imported { file, format, .. }) => {
            format!("{} by {}", printable_name(file), printable_name(format))
        }
        (TalkSource::Bpf, _) => format!("counted for {seconds}"),
        (TalkSource::PerfRing, _) => format!("recorded for {seconds}"),
        (TalkSource::OwnSwitches, _) => format!("guessed from switches in {seconds}"),
        (TalkSource::File, _) => seconds,
    }
}

fn compose_answer(graph: &TalkGraph, conclusions: &TalkConclusions) -> Vec<StoryPart> {
    let mut parts = vec![StyledLine::new().strong("What this means").into_paragraph(0)];
    for statement in &conclusions.statements {
        let text = printable_prefix(&make_printable(&statement.statement), LONGEST_SENTENCE);
        parts.push(StyledLine::new().plain(format!(" {text}")).into_paragraph(1));
    }
    let Some(plan) = &conclusions.plan else {
        parts.push(
            StyledLine::new().plain(" There is nothing to place: no two threads wake each other.").into_paragraph(1),
        );
        return parts;
    };
    let Some(first) = plan.proposals.first() else {
        parts.push(
            StyledLine::new().plain(" Every placement costs the same here: leave it to the system.").into_paragraph(1),
        );
        return parts;
    };
    parts.push(StyledLine::new().plain(format!(" {}", describe_plan(plan, first))).into_paragraph(1));
    let advice = StyledLine::new().plain(" Nothing of this is proven yet:");
    let command = StyledLine::new().strong(suggestion::format_typed(&suggest_trial(graph, first)));
    parts.push(StoryPart::Step { advice, command });
    parts
}

/// Describes what a plan gains: "Proposed: llc:0, where a message costs 45 ns instead of 110 ns (assumed by the topology).".
fn describe_plan(plan: &TalkPlan, first: &TalkProposal) -> String {
    let source = match plan.costs {
        CostSource::Map { way } => format!("by the map of links, {}", way.describe_way()),
        CostSource::Topology => "assumed from the topology".to_owned(),
    };
    let more = match plan.proposals.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more with narrower places"),
    };
    format!(
        "Proposed: {}{more}; each thread on its cheapest cpu, a message costs {} instead of {} on random cpus ({source}).",
        printable_prefix(&first.choice_text(), LONGEST_SENTENCE),
        format_duration(plan.message_ns),
        format_duration(plan.random_ns),
    )
}

/// Suggests the trial of what is proposed: anew for a command, by name for running processes.
fn suggest_trial(graph: &TalkGraph, first: &TalkProposal) -> SuggestedCommand {
    match (&graph.provenance.origin, &graph.command[..]) {
        (ArtifactOrigin::Measured, _) if !graph.running.is_empty() => {
            suggested_command::try_talk_running(&graph.running)
        }
        (ArtifactOrigin::Measured, command) if !command.is_empty() => suggested_command::try_talk(command),
        _ => match &first.on {
            Some(on) => suggested_command::try_on(std::slice::from_ref(on)),
            None => suggested_command::try_talk(&["./app".to_owned()]),
        },
    }
}

/// Returns the vertices of the heat map, in the order of the groups, with the range of each group.
fn order_by_groups(conclusions: &TalkConclusions) -> (Vec<usize>, Vec<std::ops::Range<usize>>) {
    let (mut order, mut ranges) = (Vec::new(), Vec::new());
    for group in &conclusions.groups.groups {
        let start = order.len();
        order.extend(group.iter().copied().take(MOST_VERTICES - start));
        ranges.push(start..order.len());
    }
    ranges.retain(|range| !range.is_empty());
    (order, ranges)
}

fn compose_heat(graph: &TalkGraph, conclusions: &TalkConclusions) -> Vec<StoryPart> {
    let (order, groups) = order_by_groups(conclusions);
    if order.len() < 3 {
        return Vec::new();
    }
    let folded = &conclusions.folded;
    let place = |vertex: usize| order.iter().position(|known| *known == vertex);
    let mut costs = vec![f64::NAN; order.len() * order.len()];
    for edge in &folded.edges {
        let (Some(row), Some(column)) = (place(edge.waker), place(edge.wakee)) else { continue };
        let cell = &mut costs[row * order.len() + column];
        *cell = edge.wakes / graph.seconds + if cell.is_nan() { 0.0 } else { *cell };
    }
    let label = |vertex: &usize| {
        StyledLine::new().plain(label_vertex(&folded.vertices[*vertex])).cut_to(LONGEST_LABEL).to_plain()
    };
    let labels: Vec<String> = order.iter().map(label).collect();
    let side = |title: &str| HeatSide {
        title: title.to_owned(),
        labels: labels.clone(),
        groups: groups.clone(),
        names: (1..=groups.len()).map(|number| format!("group {number}")).collect(),
    };
    let heat = HeatMap {
        rows: side("waker"),
        columns: side("woken"),
        costs,
        predicted: Vec::new(),
        is_of_pairs: true,
        unit: unit_of_wakes(graph).to_owned(),
        unknown: Some("no wakes"),
        ends: None,
    };
    let figure = StoryFigure {
        name: "talk",
        title: "Which threads wake which".to_owned(),
        caption: "A row for each thread that wakes, a column for each that is woken, in groups. A light cell is many wakes; an empty one none."
            .to_owned(),
        picture: FigurePicture::Heat(
            Box::new(heat.clone()),
            SvgText { title: "Which threads wake which".to_owned(), ..SvgText::default() },
        ),
    };
    let drawing = StoryPart::from_drawing(move |width, depth| heat.draw_lines(depth, width, MOST_ROWS));
    vec![StoryPart::Figure(figure), drawing]
}

fn compose_edges(graph: &TalkGraph, conclusions: &TalkConclusions, most: usize) -> Vec<StoryPart> {
    let folded = &conclusions.folded;
    if folded.edges.is_empty() || most > MOST_EDGES && folded.edges.len() <= MOST_EDGES {
        return Vec::new();
    }
    let columns = vec![
        GridColumn::text("waker", 0).shrinking_to(8),
        GridColumn::text("wakes", 0).shrinking_to(8),
        GridColumn::number(if graph.source == TalkSource::File { "number" } else { "per second" }, "", 0),
        GridColumn::number("waits", "µs", 1),
        GridColumn::text("by", 1),
    ];
    let mut grid = TextGrid::new(columns);
    for edge in folded.edges.iter().take(most) {
        let waiting = edge.waiting_ns.map_or_else(String::new, |ns| format_decimal(1e-3 * ns, 1));
        let name = |vertex: usize| StyledLine::new().plain(describe_vertex(&folded.vertices[vertex]));
        grid.add_row(vec![
            name(edge.waker),
            name(edge.wakee),
            StyledLine::new().strong(format_brief(edge.wakes / graph.seconds)),
            StyledLine::new().plain(waiting),
            StyledLine::new().plain(edge.means.word()),
        ]);
    }
    let mut parts = vec![grid.into()];
    if folded.edges.len() > most {
        let rest = format!("and {} weaker edges", folded.edges.len() - most);
        parts.push(StyledLine::new().faint(rest).into_paragraph(2));
    }
    parts
}

/// Composes the groups with the machine under them: a row for each group, with the object of the machine that holds its cpus; without that
/// if no place is better than another.
fn compose_groups(conclusions: &TalkConclusions, machine: Option<&Machine>) -> Vec<StoryPart> {
    let (Some(plan), Some(machine)) = (&conclusions.plan, machine) else { return Vec::new() };
    let mut columns = vec![GridColumn::text("group", 0), GridColumn::text("threads", 0).shrinking_to(16)];
    if !plan.proposals.is_empty() {
        columns.extend([GridColumn::text("proposed place", 0), GridColumn::text("cpus", 1).shrinking_to(8)]);
    }
    let shown = columns.len();
    let mut grid = TextGrid::new(columns);
    for (number, group) in conclusions.groups.groups.iter().enumerate() {
        let of_group = plan.places.iter().filter(|place| group.contains(&place.vertex));
        let cpus = of_group.fold(CpuSet::new(), |all, place| all.union(&place.cpus));
        let names: Vec<String> =
            group.iter().map(|vertex| describe_vertex(&conclusions.folded.vertices[*vertex])).collect();
        let names = count_alike(&names);
        let cells = [
            StyledLine::new().plain((number + 1).to_string()),
            StyledLine::new().plain(printable_prefix(&names.join(", "), LONGEST_SENTENCE)),
            StyledLine::new().strong(describe_shared(&cpus, machine)),
            StyledLine::new().plain(cpus.to_string()),
        ];
        grid.add_row(cells.into_iter().take(shown).collect());
    }
    if conclusions.groups.groups.is_empty() { Vec::new() } else { vec![grid.into()] }
}

/// Returns names once each, with their number: "bash x26".
fn count_alike(names: &[String]) -> Vec<String> {
    let mut counted: Vec<(&String, usize)> = Vec::new();
    for name in names {
        match counted.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counted.push((name, 1)),
        }
    }
    let text = |(name, count): (&String, usize)| if count > 1 { format!("{name} x{count}") } else { name.clone() };
    counted.into_iter().map(text).collect()
}

/// Returns the innermost object of the machine that has all of some cpus: "core:0", "llc:3", or "2 llcs".
fn describe_shared(cpus: &CpuSet, machine: &Machine) -> String {
    let levels = [Level::Core, Level::Cluster, Level::Llc, Level::Die, Level::Node, Level::Package];
    let holds = |level: &Level| {
        let index = machine.objects_of(*level).iter().position(|object| cpus.is_subset(object))?;
        Some(format!("{level}:{index}"))
    };
    if cpus.is_empty() {
        return String::new();
    }
    if cpus.len() == 1 {
        return format!("cpu {cpus}");
    }
    levels.iter().find_map(holds).unwrap_or_else(|| describe_cpus(cpus, machine))
}

fn compose_foot(graph: &TalkGraph, conclusions: &TalkConclusions, kept: &StorageStatus) -> Vec<StoryPart> {
    let mut lines = Vec::new();
    let faint = |text: String| StyledLine::new().faint(text).into_paragraph(2);
    if let Some(plan) = conclusions.plan.as_ref().filter(|plan| plan.left_out > 0) {
        lines.push(faint(format!(
            "without a place of their own in the plan: {}",
            format_count(plan.left_out, "thread")
        )));
    }
    if graph.lost > 0 {
        let seen: f64 = graph.edges.iter().map(|edge| edge.wakes).sum();
        let share = 100.0 * graph.lost as f64 / (graph.lost as f64 + seen);
        let text = format!("{} wakes were lost", format_whole(graph.lost));
        let rest = format!(", {share:.0} % of all: rates are too low by that. A shorter --budget loses fewer.");
        lines.push(StyledLine::new().with(TextTone::Warn, text).plain(rest).into_paragraph(2));
    }
    lines.extend(compose_gaps(&graph.gaps));
    let stored = match kept {
        StorageStatus::Stored(number) => Some(format!("stored as talk graph {number}")),
        StorageStatus::No => Some("not stored".to_owned()),
        StorageStatus::Failed | StorageStatus::Recalled(..) => None,
    };
    lines.extend(stored.map(faint));
    lines
}

/// Composes the story of what changed between two graphs.
pub fn compose_comparison(numbers: [i64; 2], [before, after]: [&TalkGraph; 2], changes: &[TalkChange]) -> Story {
    let changed: Vec<&TalkChange> = changes.iter().filter(|change| change.is_change).collect();
    let mut head = vec![
        StyledLine::new()
            .strong(format!(
                "{} of {} changed by half or more between talk graph {} and talk graph {}.",
                changed.len(),
                format_count(changes.len(), "strong edge"),
                numbers[0],
                numbers[1]
            ))
            .into_paragraph(2),
    ];
    head.extend(changed.first().map(|first| StyledLine::new().plain(describe_change(first)).into_paragraph(2)));
    let note = "Each graph is of one run: how much runs differ by themselves is not known.";
    let mut notes = vec![StyledLine::new().faint(note).into_paragraph(2)];
    if before.draw_conclusions().folded.vertices.is_empty() || before.source != after.source {
        let text = "The two were seen in different ways, which alone changes rates.";
        notes.push(StyledLine::new().with(TextTone::Warn, text).into_paragraph(2));
    }
    let story = Story::new(suggested_command::history_compare(numbers)).with(Answer, head).with(Notes, notes);
    if changed.is_empty() { story } else { story.with(Evidence, vec![draw_changes(&changed).into()]) }
}

/// Describes a change: "writer wakes reader 3.0 times as often".
fn describe_change(change: &TalkChange) -> String {
    let (waker, wakee) = (printable_name(&change.waker), printable_name(&change.wakee));
    match (change.before_per_s, change.after_per_s) {
        (before, _) if before <= 0.0 => format!("{waker} wakes {wakee}, as it did not before."),
        (_, after) if after <= 0.0 => format!("{waker} no longer wakes {wakee}."),
        _ => format!("{waker} wakes {wakee} {} times as often.", format_brief(change.ratio)),
    }
}

fn draw_changes(changed: &[&TalkChange]) -> TextGrid {
    let mut grid = TextGrid::new(vec![
        GridColumn::text("waker", 0).shrinking_to(8),
        GridColumn::text("wakes", 0).shrinking_to(8),
        GridColumn::number("before", "/s", 0),
        GridColumn::number("after", "/s", 0),
    ]);
    for change in changed {
        grid.add_row(vec![
            StyledLine::new().plain(printable_name(&change.waker)),
            StyledLine::new().plain(printable_name(&change.wakee)),
            StyledLine::new().plain(format_brief(change.before_per_s)),
            StyledLine::new().strong(format_brief(change.after_per_s)),
        ]);
    }
    grid
}
