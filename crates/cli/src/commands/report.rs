//! `corewise report`: writes stored results as one self-contained page.

pub mod arguments;
mod page;

use std::path::Path;

use corewise_machine::Machine;
use corewise_machine::suggested_command;
use corewise_model::keep::Rule;
use corewise_store::Store;
use corewise_sys::output::{self, OutputPlace};
use schemars::JsonSchema;
use serde::Serialize;

use super::KINDS;
use crate::app::artifact::{Kind, Section};
use crate::app::failure::{Exit, Failure};
use crate::app::history::{broken, existing};
use crate::app::machine::this_machine;
use crate::app::output::{print_form, show};
use crate::app::rules::find_rules;
use crate::app::run::{Document, Run, document};
use crate::app::settings::Settings;
use crate::draw::number::{bytes, count};
use crate::draw::suggestion;
use crate::draw::text::{Line, Screen};
use crate::draw::wrap::wrap;
use arguments::ReportArguments;
use page::Page;

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

impl Run for ReportArguments {
    const DOCUMENTS: &'static [Document] = &[document::<ReportDocument>(&["report"])];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        let store = existing(settings, &suggested_command::first_survey())?;
        let numbers = if self.numbers.is_empty() { latest(&store)? } else { self.numbers.clone() };
        let usual = if self.markdown { "report.md" } else { "report.html" };
        let output = self.output.unwrap_or_else(|| usual.into());
        let is_piped = output == Path::new("-");
        let file = if is_piped { None } else { Some(place("--output", &output)?) };
        let page = made(&store, &numbers, settings)?;
        let text = if self.markdown { page.markdown() } else { page.html() };
        let figures = self.figures.as_deref().map(|folder| write_figures(&page, folder)).transpose()?;
        let Some(file) = file else {
            print_form(text.trim_end())?;
            return Ok(Exit::Done);
        };
        file.replace(text.as_bytes())
            .map_err(|error| Failure::unavailable(format!("cannot write {}: {error}", file.path().display())))?;
        let figures = figures.unwrap_or_default();
        let name = output.display().to_string();
        let screen = || {
            let what = format!("{name}: {}, {}", count(numbers.len(), "result"), bytes(text.len() as u64));
            let mut screen = Screen::new();
            screen.extend(wrap(&Line::new().plain(what), settings.width, 2));
            if !figures.is_empty() {
                let what = format!("{} beside it: {}", count(figures.len(), "figure"), figures.join(", "));
                screen.extend(wrap(&Line::new().plain(what), settings.width, 2));
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
        show(settings, document, screen)?;
        Ok(Exit::Done)
    }
}

/// Checks that a file can be written there, without creating it.
fn place(option: &str, path: &Path) -> Result<OutputPlace, Failure> {
    OutputPlace::find(path).map_err(|why| {
        Failure::unavailable(format!("{option} {}: {why}", path.display()))
            .next("Choose a file in a folder that you may write to.")
    })
}

/// Returns the numbers of the latest artifacts of each kind of this machine.
fn latest(store: &Store) -> Result<Vec<i64>, Failure> {
    let entries = store.entries(Some(&this_machine()?.fingerprint())).map_err(broken)?;
    let numbers =
        KINDS.iter().map(|kind| (kind.latest)(store, &entries)).collect::<Result<Vec<_>, Failure>>()?.concat();
    match numbers.is_empty() {
        true => Err(Failure::unavailable("nothing is stored of this machine").next(format!(
            "Name the results to report by their numbers; {} lists everything.",
            suggestion::mention(&suggested_command::history_all())
        ))),
        false => Ok(numbers),
    }
}

fn kind_of(store: &Store, number: i64) -> Result<&'static Kind, Failure> {
    let entry = store.entry(number).map_err(broken)?;
    KINDS.iter().find(|kind| kind.name == entry.kind).ok_or_else(|| {
        Failure::unavailable(format!(
            "number {number} is of the kind {}, which this corewise does not know",
            entry.kind
        ))
    })
}

/// Reads the artifacts, grouped by kind in the order in which the kinds first occur.
fn made(store: &Store, numbers: &[i64], settings: &Settings) -> Result<Page, Failure> {
    let mut of_kinds: Vec<(&Kind, Vec<i64>)> = Vec::new();
    for &number in numbers {
        let kind = kind_of(store, number)?;
        match of_kinds.iter_mut().find(|(known, _)| known.name == kind.name) {
            Some((_, numbers)) if numbers.contains(&number) => {}
            Some((_, numbers)) => numbers.push(number),
            None => of_kinds.push((kind, vec![number])),
        }
    }
    let report = |(kind, numbers): &(&Kind, Vec<i64>)| (kind.report)(store, numbers, settings);
    let sections = of_kinds.iter().map(report).collect::<Result<Vec<_>, Failure>>()?.concat();
    let rules = rules(&sections, settings);
    Ok(Page { sections, rules })
}

/// Returns the rules of this user if the report covers this machine. Only `corewise keep` reports unreadable rules.
fn rules(sections: &[Section], settings: &Settings) -> Option<(Vec<Rule>, Machine)> {
    let rules =
        find_rules(None, settings.is_root, settings).ok().and_then(|rules| rules.read().ok()).unwrap_or_default();
    let machine = if rules.is_empty() { None } else { this_machine().ok() }?;
    let fingerprint = machine.fingerprint();
    let mut machines = sections.iter().filter_map(|section| section.result.as_ref()?.machine.as_ref());
    machines.any(|machine| machine.fingerprint() == fingerprint).then_some((rules, machine))
}

/// Writes each figure to a separate file, and returns the names of the files.
fn write_figures(page: &Page, folder: &Path) -> Result<Vec<String>, Failure> {
    let refused = |error| Failure::unavailable(format!("cannot write to {}: {error}", folder.display()));
    output::make_folder(folder).map_err(refused)?;
    let mut names: Vec<String> = Vec::new();
    for section in &page.sections {
        for figure in section.story.figures() {
            let stem = format!("{}-{}", section.id, figure.name);
            let again = names.iter().filter(|name| name.starts_with(&stem)).count();
            let name = if again == 0 { format!("{stem}.svg") } else { format!("{stem}-{}.svg", again + 1) };
            output::replace(&folder.join(&name), figure.svg().as_bytes()).map_err(refused)?;
            names.push(name);
        }
    }
    Ok(names)
}
