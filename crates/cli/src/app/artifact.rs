//! Operations on every kind of artifact: printing, also from the store, and comparing two of a kind.

use std::borrow::Cow;
use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use corewise_machine::Machine;
use corewise_machine::SuggestedCommand;
use corewise_model::Artifact;
use corewise_model::artifact::{ArtifactCircumstances, ArtifactOrigin, PAGE_FORMAT};
use corewise_store::{ArtifactStore, StoreResult, StoredEntry};
use corewise_sys::input;
use jiff::tz::TimeZone;

use super::document::ArtifactDocument;
use super::failure::{CommandExit, CommandFailure};
use super::origin::{describe_other_machine, mark_story, mark_together};
use super::output::{print_form, print_message, show_story};
use super::settings::ProgramSettings;
use super::user_store::explain_store_error;
use crate::draw::heat::depth::ColourDepth;
use crate::draw::json::to_json_line;
use crate::draw::machine::describe_circumstances;
use crate::draw::markdown;
use crate::draw::number::format_time;
use crate::draw::story::Story;
use crate::draw::suggestion::write_for_others;
use crate::draw::survey::StorageStatus;
use crate::draw::trends::{self, ResultMoment};

/// Maximum number of results followed over time, the latest first: on machines of up to 128 cpus, and on larger ones,
/// since their results take long to read.
const MOST_FOLLOWED: [usize; 2] = [24, 8];
/// Maximum number of results that are read for each followed one: others have other quantities.
const MOST_SEARCHED: usize = 4;

/// Form in which a stored artifact is printed; by default its screen, or JSON with `--json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct ArtifactForm {
    /// Print comma-separated values: one line per run of an experiment, or per visit of a map. The `notes` of the first
    /// line are the caveats
    #[arg(long, conflicts_with_all = ["markdown", "json"])]
    pub csv: bool,
    /// Print the result as Markdown: the answer, its caveats, and its tables
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Write a self-contained SVG picture of how an experiment's program scales with threads; replaces an existing file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

impl ArtifactForm {
    /// Refuses the options that this kind does not support.
    pub fn refuse_options(&self, options: &[&str], kind: &str) -> Result<(), CommandFailure> {
        let asked = [("--csv", self.csv), ("--svg", self.svg.is_some())];
        match asked.into_iter().find(|(option, is_asked)| *is_asked && !options.contains(option)) {
            Some((option, _)) => Err(CommandFailure::usage_error(format!("{option} is not available for {kind}"))
                .with_hint(format!(
                    "Leave it out, or use {}.",
                    [options, &["--markdown", "--json"]].concat().join(" or ")
                ))),
            None => Ok(()),
        }
    }
}

/// A kind of artifact as the program prints it.
pub trait PrintedArtifact: Artifact + Clone {
    /// Prints it in a form other than Markdown, which is the same for all kinds.
    ///
    /// # Errors
    /// If the kind has no such form, or if there is no data to print.
    fn print_in_form(
        &self,
        kept: &StorageStatus,
        form: &ArtifactForm,
        settings: &ProgramSettings,
    ) -> Result<(), CommandFailure>;

    /// Title that is shown with the number: "Survey".
    const TITLE: &'static str;

    /// Returns the command that makes one.
    fn first_command() -> SuggestedCommand;

    /// Composes the story of the artifact, without the sentence about its origin.
    fn compose_story(&self, conclusions: &Self::Conclusions, kept: &StorageStatus, settings: &ProgramSettings)
    -> Story;

    /// Composes the page's sections about several artifacts together. By default, that is what changed from each to
    /// the next.
    fn compose_sections(several: &[(i64, Self)]) -> Vec<PageSection> {
        let changed = |pair: &[(i64, Self)]| {
            let numbers = [pair[0].0, pair[1].0];
            let story = mark_together(
                Self::compose_changes(numbers, [&pair[0].1, &pair[1].1])?,
                Self::TITLE,
                pair.iter().map(|(number, artifact)| (*number, artifact)),
            );
            let [before, after] = numbers;
            Some(PageSection::new(format!("{}-{before}-{after}", Self::KIND), "What changed".to_owned(), story))
        };
        several.windows(2).filter_map(changed).collect()
    }

    /// Name of the larger unit that it belongs to, such as the session of a suite.
    fn session_name(&self) -> Option<String> {
        None
    }

    /// Composes the story of what changed between these two artifacts, without sentences about their origins; `None` if
    /// they cannot be compared.
    fn compose_changes(numbers: [i64; 2], artifacts: [&Self; 2]) -> Option<Story>;

    /// Prints what changed between these two artifacts.
    ///
    /// # Errors
    /// If they cannot be compared.
    fn print_comparison(
        numbers: [i64; 2],
        artifacts: [&Self; 2],
        settings: &ProgramSettings,
    ) -> Result<(), CommandFailure>;
}

/// Sections of a page for several results, or why these cannot be read.
pub type SectionsResult = Result<Vec<PageSection>, CommandFailure>;

/// Entry of a kind of artifact in the list of all kinds.
pub struct ArtifactKind {
    /// Name in the store.
    pub name: &'static str,
    /// Prints the stored artifact of this number; its conclusions are computed anew.
    pub show: fn(&ArtifactStore, i64, &ArtifactForm, &ProgramSettings) -> Result<(), CommandFailure>,
    /// Prints what changed between the artifacts of two numbers.
    pub compare: fn(&ArtifactStore, [i64; 2], &ProgramSettings) -> Result<(), CommandFailure>,
    /// Returns the number of the latest of a machine's own, with the numbers of its session.
    pub latest: fn(&ArtifactStore, &Machine) -> Result<Vec<i64>, CommandFailure>,
    /// Composes the page's sections for these numbers: together, each by itself, and over the history.
    pub report: fn(&ArtifactStore, &[i64], &ProgramSettings) -> SectionsResult,
    /// Reads an artifact from JSON and prints it in every form. An import thus proves that it can be shown.
    pub rehearse: fn(&mut dyn Read, &ProgramSettings) -> Result<(), String>,
    /// Reads an artifact from the JSON of a file of this name and adds it to a store that lacks it.
    pub import: fn(&mut ArtifactStore, &mut dyn Read, &str) -> Result<ImportedResult, String>,
    /// Name of its JSON documents.
    pub schema: &'static str,
    /// Command that makes one.
    pub first: fn() -> SuggestedCommand,
}

/// Section of a page: one result, or several together.
#[derive(Clone, Debug)]
pub struct PageSection {
    /// Name in addresses within the page and in file names: "survey-3".
    pub id: String,
    /// Heading: "Experiment 12".
    pub title: String,
    /// Content.
    pub story: Story,
    /// The result; `None` if the section is about several.
    pub result: Option<ReportedResult>,
}

/// Result on a page.
#[derive(Clone, Debug)]
pub struct ReportedResult {
    /// Number in the store.
    pub number: i64,
    /// Name of its JSON documents.
    pub schema: &'static str,
    /// Machine that it was measured on.
    pub machine: Option<Machine>,
    /// Its contents in a few words, if it is of many machines: "40 nodes, 80 visits".
    pub machines: Option<String>,
    /// Observations, as JSON.
    pub data: String,
}

impl PageSection {
    /// Returns a section about several results.
    pub fn new(id: String, title: String, story: Story) -> Self {
        Self { id, title, story, result: None }
    }
}

/// Returns the entry of a kind in the list of all kinds.
pub const fn artifact_kind<T: PrintedArtifact>() -> ArtifactKind {
    ArtifactKind {
        name: T::KIND,
        show: print_stored::<T>,
        compare: compare_stored::<T>,
        latest: latest_numbers::<T>,
        report: report_sections::<T>,
        rehearse: rehearse_artifact::<T>,
        import: import_artifact::<T>,
        schema: T::SCHEMA,
        first: T::first_command,
    }
}

/// Prints a stored artifact.
pub fn print_stored<T: PrintedArtifact>(
    store: &ArtifactStore,
    number: i64,
    form: &ArtifactForm,
    settings: &ProgramSettings,
) -> Result<(), CommandFailure> {
    let artifact: T = store.get_artifact(number).map_err(explain_store_error)?;
    if let Some(why) = describe_other_machine(&artifact) {
        print_message(&format!("note: number {number} {why}"));
    }
    let made = format_time(artifact.circumstances().started_unix_ms, &TimeZone::system());
    let kept = StorageStatus::Recalled(number, made);
    if form.markdown && form.svg.is_none() && !settings.json {
        let story = write_for_others(|| artifact.compose_story(&artifact.draw_conclusions(), &kept, settings));
        let story = mark_story(story, &artifact);
        return print_form(&markdown::write_story(&story, Some(number)));
    }
    artifact.print_in_form(&kept, form, settings)
}

fn compare_stored<T: PrintedArtifact>(
    store: &ArtifactStore,
    numbers: [i64; 2],
    settings: &ProgramSettings,
) -> Result<(), CommandFailure> {
    let of = |number| store.get_artifact::<T>(number).map_err(explain_store_error);
    T::print_comparison(numbers, [&of(numbers[0])?, &of(numbers[1])?], settings)
}

fn latest_numbers<T: PrintedArtifact>(store: &ArtifactStore, machine: &Machine) -> Result<Vec<i64>, CommandFailure> {
    if !T::OF_ONE_MACHINE {
        return Ok(latest_entry::<T>(store)?.into_iter().collect());
    }
    let own = store.own_artifacts(machine, |_| true).map_err(explain_store_error)?;
    let mut own = own.map(|read: StoreResult<(i64, T)>| read.map_err(explain_store_error));
    let Some((last, artifact)) = own.next().transpose()? else { return Ok(Vec::new()) };
    let mut numbers = vec![last];
    if let Some(session) = artifact.session_name() {
        for read in own {
            let (number, artifact) = read?;
            if artifact.session_name().as_ref() != Some(&session) {
                break;
            }
            numbers.push(number);
        }
    }
    numbers.reverse();
    Ok(numbers)
}

/// Returns the number of the latest of a kind in the history, wherever it was measured.
pub fn latest_entry<T: Artifact>(store: &ArtifactStore) -> Result<Option<i64>, CommandFailure> {
    let entries = store.list_entries().map_err(explain_store_error)?;
    Ok(entries.iter().filter(|entry| entry.kind == T::KIND && !entry.is_deleted()).map(|entry| entry.number).max())
}

fn report_sections<T: PrintedArtifact>(
    store: &ArtifactStore,
    numbers: &[i64],
    settings: &ProgramSettings,
) -> SectionsResult {
    let artifact = |number: &i64| Ok((*number, store.get_artifact::<T>(*number).map_err(explain_store_error)?));
    let several = numbers.iter().map(artifact).collect::<Result<Vec<(i64, T)>, CommandFailure>>()?;
    let mut sections = write_for_others(|| T::compose_sections(&several));
    for (number, artifact) in &several {
        let made = format_time(artifact.circumstances().started_unix_ms, &TimeZone::system());
        let own = write_for_others(|| {
            artifact.compose_story(&artifact.draw_conclusions(), &StorageStatus::Recalled(*number, made), settings)
        });
        sections.push(PageSection {
            id: format!("{}-{number}", T::KIND),
            title: format!("{} {number}", T::TITLE),
            story: mark_story(own, artifact),
            result: Some(ReportedResult {
                number: *number,
                schema: T::SCHEMA,
                machine: artifact.circumstances().machine.cloned(),
                machines: (!T::OF_ONE_MACHINE).then(|| artifact.describe_contents()),
                data: to_json_line(artifact).map_err(|error| CommandFailure::new(CommandExit::Internal, error))?,
            }),
        });
    }
    sections.extend(compose_followed(store, &several)?);
    Ok(sections)
}

/// Composes one section for each series of alike results: how its numbers changed over the history of its machine. A
/// result that was not measured here belongs to none.
fn compose_followed<T: PrintedArtifact>(store: &ArtifactStore, several: &[(i64, T)]) -> SectionsResult {
    let mut sections: Vec<PageSection> = Vec::new();
    let mut done: Vec<(String, &T)> = Vec::new();
    // Name of a result within a sentence: "survey", "map".
    let name = T::TITLE.split(' ').next().unwrap_or_default().to_lowercase();
    for (number, artifact) in several.iter().rev() {
        let Some(machine) = artifact.circumstances().machine else { continue };
        let (identity, own) = (machine.identity(), build_moment(*number, artifact));
        let is_done = |(of, earlier): &(String, &T)| {
            *of == identity
                && earlier.is_followed_with(&artifact.summarize_artifact())
                && build_moment(*number, *earlier).shares_quantity(&own)
        };
        if !artifact.is_evidence_for(&identity) || done.iter().any(is_done) {
            continue;
        }
        done.push((identity, artifact));
        let is_alike =
            |entry: &StoredEntry| entry.summary.as_ref().is_none_or(|summary| artifact.is_followed_with(summary));
        let alike = store.own_artifacts::<T>(machine, is_alike).map_err(explain_store_error)?;
        let most = MOST_FOLLOWED[usize::from(machine.online.len() > 128)];
        // Results that this version cannot read, or of other quantities, are skipped.
        let read = alike.take(MOST_SEARCHED * most).filter_map(Result::ok);
        let moments = read.map(|(number, alike)| build_moment(number, &alike));
        let mut moments: Vec<ResultMoment> = moments.filter(|moment| moment.shares_quantity(&own)).take(most).collect();
        moments.sort_by_key(|moment| (moment.started_unix_ms, moment.number));
        if let Some(mut story) = trends::compose_story(&name, &moments, &TimeZone::system()) {
            story.set_figure_source(&describe_circumstances(&artifact.circumstances(), artifact.origin()));
            let title = format!("{} {number} and others like it, over time", T::TITLE);
            sections.push(PageSection::new(format!("{}-{number}-over-time", T::KIND), title, story));
        }
    }
    sections.reverse();
    Ok(sections)
}

fn build_moment<T: Artifact>(number: i64, artifact: &T) -> ResultMoment {
    let ArtifactCircumstances { machine, started_unix_ms, .. } = artifact.circumstances();
    let environment = machine.map(Machine::environment).unwrap_or_default();
    ResultMoment { number, started_unix_ms, environment, values: artifact.trend_values() }
}

/// Number of an imported result.
pub struct ImportedResult {
    /// The number in the history.
    pub number: i64,
    /// False if the history had it before.
    pub is_new: bool,
}

fn import_artifact<T: PrintedArtifact>(
    store: &mut ArtifactStore,
    data: &mut dyn Read,
    file: &str,
) -> Result<ImportedResult, String> {
    let artifact = read_artifact::<T>(data, file)?;
    let found = match find_same(store, &artifact)? {
        Some(number) => Ok(ImportedResult { number, is_new: false }),
        None => store.add_artifact(&artifact).map(|number| ImportedResult { number, is_new: true }),
    };
    found.map_err(|error| error.to_string())
}

/// Finds a stored artifact that differs from this one in its origin at most.
fn find_same<T: PrintedArtifact>(store: &ArtifactStore, artifact: &T) -> Result<Option<i64>, String> {
    let text = |artifact: &T| {
        let mut artifact = artifact.clone();
        *artifact.origin_mut() = ArtifactOrigin::Measured;
        serde_json::to_string(&artifact).ok()
    };
    let (wanted, started) = (text(artifact), artifact.circumstances().started_unix_ms);
    let entries = store.list_entries().map_err(|error| error.to_string())?.into_iter();
    let may_be =
        entries.filter(|entry| entry.kind == T::KIND && entry.started_unix_ms == started && !entry.is_deleted());
    let mut numbers = may_be.map(|entry| entry.number);
    Ok(numbers.find(|number| store.get_artifact::<T>(*number).is_ok_and(|stored| text(&stored) == wanted)))
}

/// Reads an artifact of a page. It is imported, whatever the page says of its origin.
fn read_artifact<T: PrintedArtifact>(data: &mut dyn Read, file: &str) -> Result<T, String> {
    let mut artifact: T = input::read_json(data).map_err(|error| error.to_string())?;
    *artifact.origin_mut() = artifact.origin().after_import(file, PAGE_FORMAT);
    artifact.check_loaded().map(|()| artifact)
}

/// Reads an artifact and makes all that can be made of it. That is its list entry, screen, documents, page section,
/// trend values, and a comparison.
fn rehearse_artifact<T: PrintedArtifact>(data: &mut dyn Read, settings: &ProgramSettings) -> Result<(), String> {
    let artifact = read_artifact::<T>(data, "-")?;
    let kept = StorageStatus::Recalled(1, format_time(artifact.circumstances().started_unix_ms, &TimeZone::UTC));
    for json in [false, true] {
        let settings = ProgramSettings { json, ..settings.clone() };
        for csv in [false, true] {
            // A form that the kind does not have is refused with an error.
            let _ = artifact.print_in_form(&kept, &ArtifactForm { csv, ..ArtifactForm::default() }, &settings);
        }
        let _ = T::print_comparison([1, 2], [&artifact, &artifact], &settings);
    }
    let moments: Vec<ResultMoment> = [1, 2].into_iter().map(|number| build_moment(number, &artifact)).collect();
    let over_time = trends::compose_story(T::KIND, &moments, &TimeZone::UTC);
    let own = artifact.compose_story(&artifact.draw_conclusions(), &kept, settings);
    let (_, own) = (artifact.summarize_artifact(), mark_story(own, &artifact));
    let together =
        T::compose_sections(&[(1, artifact.clone()), (2, artifact)]).into_iter().map(|section| section.story);
    together.chain(over_time).chain([own]).for_each(|story| render_forms(&story, settings));
    Ok(())
}

/// Renders a story in every form.
fn render_forms(story: &Story, settings: &ProgramSettings) {
    let _ = story.to_screen(settings.width, ColourDepth::NoColour).to_styled();
    let _ = (story.to_markup(1).into_string(), markdown::write_story(story, Some(1)));
    let _ = (story.answer_sentences(), story.answer_commands(), story.note_sentences());
}

/// Prints an artifact as JSON or as its screen.
pub fn print_artifact<T: PrintedArtifact>(
    artifact: &T,
    kept: &StorageStatus,
    settings: &ProgramSettings,
) -> Result<(), CommandFailure> {
    print_story(artifact, kept, settings, |conclusions| artifact.compose_story(conclusions, kept, settings))
}

/// Prints an artifact as JSON or as the screen of the given story.
pub fn print_story<T: Artifact + Clone>(
    artifact: &T,
    kept: &StorageStatus,
    settings: &ProgramSettings,
    story: impl FnOnce(&T::Conclusions) -> Story,
) -> Result<(), CommandFailure> {
    let conclusions = artifact.draw_conclusions();
    let story = mark_story(story(&conclusions), artifact);
    let document = || ArtifactDocument::new(Cow::Borrowed(artifact), conclusions, &story, kept.stored_number());
    show_story(settings, document, &story)
}
