//! `corewise report`: writes stored results as one self-contained page.

pub mod arguments;
mod page;

use std::path::Path;

use corewise_machine::Machine;
use corewise_machine::identity::is_same_machine;
use corewise_machine::suggested_command;
use corewise_model::keep::Rule;
use corewise_store::ArtifactStore;
use corewise_sys::input::{InputFile, InputKind};
use corewise_sys::output::{self, OutputPlace};
use schemars::JsonSchema;
use serde::Serialize;

use super::KINDS;
use crate::app::artifact::{ArtifactKind, PageSection};
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::machine::this_machine;
use crate::app::output::{print_form, show_result};
use crate::app::rules::find_rules;
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::ProgramSettings;
use crate::app::user_store::{explain_store_error, open_existing_store};
use crate::draw::number::{format_bytes, format_count};
use crate::draw::suggestion;
use crate::draw::text::{StyledLine, TextScreen};
use crate::draw::wrap::wrap_line;
use arguments::ReportArguments;
use page::ReportPage;

/// End of a Markdown file, by which a later report may replace it.
const MARKDOWN_MARK: &str = concat!("\n<!-- ", "generator=corewise", " -->\n");

/// The output of `corewise report --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/report/1")]
pub struct ReportDocument {
    #[schemars(extend("const" = "corewise/report/1"))]
    schema: &'static str,
    /// The file that was written.
    file: String,
    /// Its size in bytes.
    bytes: usize,
    /// The numbers of the reported artifacts.
    numbers: Vec<i64>,
    /// The files of the figures.
    figures: Vec<String>,
}

impl RunnableCommand for ReportArguments {
    const DOCUMENTS: &'static [CommandDocument] = &[command_document::<ReportDocument>("report", &["report"])];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let store = open_existing_store(settings, &suggested_command::first_survey())?;
        let numbers = if self.numbers.is_empty() { latest_of_kinds(&store)? } else { self.numbers.clone() };
        let usual = if self.markdown { "report.md" } else { "report.html" };
        let output = self.output.unwrap_or_else(|| usual.into());
        let is_piped = output == Path::new("-");
        let file = if is_piped { None } else { Some(reach_place("--output", &output)?) };
        if file.is_some() {
            refuse_foreign_file(&output)?;
        }
        let page = make_page(&store, &numbers, settings)?;
        let text = match (self.markdown, is_piped) {
            (true, true) => page.to_markdown(),
            (true, false) => page.to_markdown() + MARKDOWN_MARK,
            (false, _) => page.to_html(),
        };
        let figures = self.figures.as_deref().map(|folder| write_figures(&page, folder)).transpose()?;
        let Some(file) = file else {
            print_form(text.trim_end())?;
            return Ok(CommandExit::Done);
        };
        file.replace_file(text.as_bytes()).map_err(|error| {
            CommandFailure::unavailable_error(format!("cannot write {}: {error}", file.path().display()))
        })?;
        let figures = figures.unwrap_or_default();
        let name = output.display().to_string();
        let screen = || {
            let what =
                format!("{name}: {}, {}", format_count(numbers.len(), "result"), format_bytes(text.len() as u64));
            let mut screen = TextScreen::new();
            screen.extend(wrap_line(&StyledLine::new().plain(what), settings.width, 2));
            if !figures.is_empty() {
                let what = format!("{} beside it: {}", format_count(figures.len(), "figure"), figures.join(", "));
                screen.extend(wrap_line(&StyledLine::new().plain(what), settings.width, 2));
            }
            screen
        };
        let (file, bytes) = (name.clone(), text.len());
        let document = || ReportDocument {
            schema: "corewise/report/1",
            file,
            bytes,
            numbers: numbers.clone(),
            figures: figures.clone(),
        };
        show_result(settings, document, screen)?;
        Ok(CommandExit::Done)
    }
}

/// Refuses to replace a file that is no report.
fn refuse_foreign_file(path: &Path) -> Result<(), CommandFailure> {
    if !path.exists() {
        return Ok(());
    }
    let text = InputFile::open(path, InputKind::ReportPage).and_then(InputFile::read_text);
    let is_report = |text: String| text.ends_with(MARKDOWN_MARK) || text.contains(&page::generator_mark());
    if text.is_ok_and(is_report) {
        return Ok(());
    }
    let what = format!("cannot write {}: it exists, and no report is in it", path.display());
    Err(CommandFailure::unavailable_error(what)
        .with_hint("Only an earlier report is replaced: choose another name with --output, or remove the file."))
}

/// Checks that a file can be written there, without creating it.
fn reach_place(option: &str, path: &Path) -> Result<OutputPlace, CommandFailure> {
    OutputPlace::find_place(path).map_err(|why| {
        CommandFailure::unavailable_error(format!("{option} {}: {why}", path.display()))
            .with_hint("Choose a file in a folder that you may write to.")
    })
}

/// Returns the numbers of the latest artifacts of each kind that were measured on this machine, and of the latest fleets.
fn latest_of_kinds(store: &ArtifactStore) -> Result<Vec<i64>, CommandFailure> {
    let machine = this_machine()?;
    let numbers =
        KINDS.iter().map(|kind| (kind.latest)(store, &machine)).collect::<Result<Vec<_>, CommandFailure>>()?.concat();
    match numbers.is_empty() {
        true => Err(CommandFailure::unavailable_error("nothing that is stored was measured on this machine")
            .with_hint(format!(
                "Name the results to report by their numbers; {} lists everything.",
                suggestion::format_mention(&suggested_command::history_all())
            ))),
        false => Ok(numbers),
    }
}

fn find_kind(store: &ArtifactStore, number: i64) -> Result<&'static ArtifactKind, CommandFailure> {
    let entry = store.find_entry(number).map_err(explain_store_error)?;
    KINDS.iter().find(|kind| kind.name == entry.kind).ok_or_else(|| {
        CommandFailure::unavailable_error(format!(
            "number {number} is of the kind {}, which this corewise does not know",
            entry.kind
        ))
    })
}

/// Reads the artifacts, grouped by kind in the order in which the kinds first occur.
fn make_page(store: &ArtifactStore, numbers: &[i64], settings: &ProgramSettings) -> Result<ReportPage, CommandFailure> {
    let mut of_kinds: Vec<(&ArtifactKind, Vec<i64>)> = Vec::new();
    for &number in numbers {
        let kind = find_kind(store, number)?;
        match of_kinds.iter_mut().find(|(known, _)| known.name == kind.name) {
            Some((_, numbers)) if numbers.contains(&number) => {}
            Some((_, numbers)) => numbers.push(number),
            None => of_kinds.push((kind, vec![number])),
        }
    }
    let report = |(kind, numbers): &(&ArtifactKind, Vec<i64>)| (kind.report)(store, numbers, settings);
    let sections = of_kinds.iter().map(report).collect::<Result<Vec<_>, CommandFailure>>()?.concat();
    let rules = read_rules(&sections, settings);
    Ok(ReportPage { sections, rules })
}

/// Returns the rules of this user if the report covers this machine. Only `corewise keep` reports unreadable rules.
fn read_rules(sections: &[PageSection], settings: &ProgramSettings) -> Option<(Vec<Rule>, Machine)> {
    let rules =
        find_rules(None, settings.is_root, settings).ok().and_then(|rules| rules.read_rules().ok()).unwrap_or_default();
    let machine = if rules.is_empty() { None } else { this_machine().ok() }?;
    let here = machine.identity();
    let mut machines = sections.iter().filter_map(|section| section.result.as_ref()?.machine.as_ref());
    machines.any(|machine| is_same_machine(&machine.identity(), &here)).then_some((rules, machine))
}

/// Writes each figure to a separate file, and returns the names of the files.
fn write_figures(page: &ReportPage, folder: &Path) -> Result<Vec<String>, CommandFailure> {
    let refused = |error| CommandFailure::unavailable_error(format!("cannot write to {}: {error}", folder.display()));
    output::make_folder(folder).map_err(refused)?;
    let mut names: Vec<String> = Vec::new();
    for section in &page.sections {
        for figure in section.story.list_figures() {
            let stem = format!("{}-{}", section.id, figure.name);
            let again = names.iter().filter(|name| name.starts_with(&stem)).count();
            let name = if again == 0 { format!("{stem}.svg") } else { format!("{stem}-{}.svg", again + 1) };
            output::replace_file(&folder.join(&name), figure.to_svg().as_bytes()).map_err(refused)?;
            names.push(name);
        }
    }
    Ok(names)
}
