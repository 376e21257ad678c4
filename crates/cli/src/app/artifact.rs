//! Operations on every kind of artifact: printing, also from the store, and comparing two of a kind.

use std::borrow::Cow;
use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use corewise_machine::Machine;
use corewise_machine::SuggestedCommand;
use corewise_model::Artifact;
use corewise_model::artifact::Origin;
use corewise_store::{Entry, Store};
use corewise_sys::input;
use jiff::tz::TimeZone;

use super::document::ArtifactDocument;
use super::failure::{Exit, Failure};
use super::history::broken;
use super::output::{print_form, show_story};
use super::settings::Settings;
use crate::draw::heat::depth::Depth;
use crate::draw::markdown;
use crate::draw::number::when;
use crate::draw::over_time::{self, Moment};
use crate::draw::story::Story;
use crate::draw::suggestion::for_others;
use crate::draw::survey::Kept;

/// Maximum number of results followed over time, the latest first: on machines of up to 128 cpus, and on larger ones,
/// since their results take long to read.
const MOST_FOLLOWED: [usize; 2] = [24, 8];

/// Form in which a stored artifact is printed; by default its screen, or JSON with `--json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct Form {
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

impl Form {
    /// Refuses the options that this kind does not support.
    pub fn only(&self, options: &[&str], kind: &str) -> Result<(), Failure> {
        let asked = [("--csv", self.csv), ("--svg", self.svg.is_some())];
        match asked.into_iter().find(|(option, is_asked)| *is_asked && !options.contains(option)) {
            Some((option, _)) => Err(Failure::usage(format!("{option} is not available for {kind}"))
                .next(format!("Leave it out, or use {}.", [options, &["--markdown", "--json"]].concat().join(" or ")))),
            None => Ok(()),
        }
    }
}

/// A kind of artifact as the program prints it.
pub trait Printed: Artifact + Clone {
    /// Prints it in a form other than Markdown, which is the same for all kinds.
    ///
    /// # Errors
    /// If the kind has no such form, or if there is no data to print.
    fn print(&self, kept: &Kept, form: &Form, settings: &Settings) -> Result<(), Failure>;

    /// Title that is shown with the number: "Survey".
    const TITLE: &'static str;

    /// Returns the command that makes one.
    fn first() -> SuggestedCommand;

    /// Composes the story of the artifact.
    fn story(&self, conclusions: &Self::Conclusions, kept: &Kept, settings: &Settings) -> Story;

    /// Composes the page's sections about several artifacts together. By default, that is what changed from each to
    /// the next.
    fn together(several: &[(i64, Self)]) -> Vec<Section> {
        let changed = |pair: &[(i64, Self)]| {
            let numbers = [pair[0].0, pair[1].0];
            let story = Self::changes(numbers, [&pair[0].1, &pair[1].1])?;
            let [before, after] = numbers;
            Some(Section::new(format!("{}-{before}-{after}", Self::KIND), "What changed".to_owned(), story))
        };
        several.windows(2).filter_map(changed).collect()
    }

    /// Name of the larger unit that it belongs to, such as the session of a suite.
    fn session(&self) -> Option<String> {
        None
    }

    /// Marks the artifact as imported from `file`.
    #[must_use]
    fn imported(self, _file: &str) -> Self {
        self
    }

    /// Composes the story of what changed between these two artifacts; `None` if they cannot be compared.
    fn changes(numbers: [i64; 2], artifacts: [&Self; 2]) -> Option<Story>;

    /// Prints what changed between these two artifacts.
    ///
    /// # Errors
    /// If they cannot be compared.
    fn compare(numbers: [i64; 2], artifacts: [&Self; 2], settings: &Settings) -> Result<(), Failure>;
}

/// Sections of a page for several results, or why these cannot be read.
pub type Sections = Result<Vec<Section>, Failure>;

/// Entry of a kind of artifact in the list of all kinds.
pub struct Kind {
    /// Name in the store.
    pub name: &'static str,
    /// Prints the stored artifact of this number; its conclusions are computed anew.
    pub show: fn(&Store, i64, &Form, &Settings) -> Result<(), Failure>,
    /// Prints what changed between the artifacts of two numbers.
    pub compare: fn(&Store, [i64; 2], &Settings) -> Result<(), Failure>,
    /// Returns the number of the latest in a list, with the numbers of its session.
    pub latest: fn(&Store, &[Entry]) -> Result<Vec<i64>, Failure>,
    /// Composes the page's sections for these numbers: together, each by itself, and over the history.
    pub report: fn(&Store, &[i64], &Settings) -> Sections,
    /// Reads an artifact from JSON and prints it in every form. An import thus proves that it can be shown.
    pub rehearse: fn(&mut dyn Read, &Settings) -> Result<(), String>,
    /// Reads an artifact from the JSON of a file of this name and adds it to a store. Returns its number there.
    pub import: fn(&mut Store, &mut dyn Read, &str) -> Result<i64, String>,
    /// Name of its JSON documents.
    pub schema: &'static str,
    /// Command that makes one.
    pub first: fn() -> SuggestedCommand,
}

/// Section of a page: one result, or several together.
#[derive(Clone, Debug)]
pub struct Section {
    /// Name in addresses within the page and in file names: "survey-3".
    pub id: String,
    /// Heading: "Experiment 12".
    pub title: String,
    /// Content.
    pub story: Story,
    /// The result; `None` if the section is about several.
    pub result: Option<Reported>,
}

/// Result on a page.
#[derive(Clone, Debug)]
pub struct Reported {
    /// Number in the store.
    pub number: i64,
    /// Name of its JSON documents.
    pub schema: &'static str,
    /// Machine that it was measured on.
    pub machine: Option<Machine>,
    /// Observations, as JSON.
    pub data: String,
}

impl Section {
    /// Returns a section about several results.
    pub fn new(id: String, title: String, story: Story) -> Self {
        Self { id, title, story, result: None }
    }
}

/// Returns the entry of a kind in the list of all kinds.
pub const fn kind<T: Printed>() -> Kind {
    Kind {
        name: T::KIND,
        show: again::<T>,
        compare: compared::<T>,
        latest: latest::<T>,
        report: reported::<T>,
        rehearse: rehearse::<T>,
        import: imported::<T>,
        schema: T::SCHEMA,
        first: T::first,
    }
}

/// Prints a stored artifact.
pub fn again<T: Printed>(store: &Store, number: i64, form: &Form, settings: &Settings) -> Result<(), Failure> {
    let artifact: T = store.get(number).map_err(broken)?;
    let made = when(artifact.origin().started_unix_ms, &TimeZone::system());
    let kept = Kept::Recalled(number, made);
    if form.markdown && form.svg.is_none() && !settings.json {
        let story = for_others(|| artifact.story(&artifact.conclude(), &kept, settings));
        return print_form(&markdown::story(&story, Some(number)));
    }
    artifact.print(&kept, form, settings)
}

fn compared<T: Printed>(store: &Store, numbers: [i64; 2], settings: &Settings) -> Result<(), Failure> {
    let of = |number| store.get::<T>(number).map_err(broken);
    T::compare(numbers, [&of(numbers[0])?, &of(numbers[1])?], settings)
}

fn latest<T: Printed>(store: &Store, entries: &[Entry]) -> Result<Vec<i64>, Failure> {
    let mut latest = entries.iter().rev().filter(|entry| entry.kind == T::KIND && !entry.is_deleted());
    let Some(last) = latest.next() else { return Ok(Vec::new()) };
    let mut numbers = vec![last.number];
    let session_of = |number| store.get::<T>(number).map_err(broken).map(|artifact| artifact.session());
    if let Some(session) = session_of(last.number)? {
        for entry in latest {
            if session_of(entry.number)?.as_ref() != Some(&session) {
                break;
            }
            numbers.push(entry.number);
        }
    }
    numbers.reverse();
    Ok(numbers)
}

fn reported<T: Printed>(store: &Store, numbers: &[i64], settings: &Settings) -> Sections {
    let artifact = |number: &i64| Ok((*number, store.get::<T>(*number).map_err(broken)?));
    let several = numbers.iter().map(artifact).collect::<Result<Vec<(i64, T)>, Failure>>()?;
    let mut sections = for_others(|| T::together(&several));
    for (number, artifact) in &several {
        let made = when(artifact.origin().started_unix_ms, &TimeZone::system());
        sections.push(Section {
            id: format!("{}-{number}", T::KIND),
            title: format!("{} {number}", T::TITLE),
            story: for_others(|| artifact.story(&artifact.conclude(), &Kept::Recalled(*number, made), settings)),
            result: Some(Reported {
                number: *number,
                schema: T::SCHEMA,
                machine: artifact.origin().machine.cloned(),
                data: serde_json::to_string(artifact).map_err(|error| Failure::new(Exit::Internal, error))?,
            }),
        });
    }
    sections.extend(followed(store, &several)?);
    Ok(sections)
}

/// Composes one section for each series of alike results: how its numbers changed over the history of its machine.
fn followed<T: Printed>(store: &Store, several: &[(i64, T)]) -> Sections {
    let mut sections: Vec<Section> = Vec::new();
    let mut done: Vec<i64> = Vec::new();
    // Name of a result within a sentence: "survey", "map".
    let name = T::TITLE.split(' ').next().unwrap_or_default().to_lowercase();
    for (number, artifact) in several.iter().rev() {
        let Some(machine) = artifact.origin().machine.filter(|_| !done.contains(number)) else { continue };
        let mut entries = store.entries(Some(&machine.fingerprint())).map_err(broken)?;
        entries.retain(|entry| {
            let is_alike = entry.summary.as_ref().is_none_or(|summary| artifact.is_followed_with(summary));
            entry.kind == T::KIND && !entry.is_deleted() && is_alike
        });
        done.extend(entries.iter().map(|entry| entry.number));
        // Results that this version cannot read are skipped.
        let most = MOST_FOLLOWED[usize::from(machine.online.len() > 128)];
        let latest = entries.split_off(entries.len().saturating_sub(most));
        let moments: Vec<Moment> = latest.iter().filter_map(|entry| moment::<T>(store, entry.number)).collect();
        if let Some(story) = over_time::story(&name, &moments, &TimeZone::system()) {
            let title = format!("{} {number} and others like it, over time", T::TITLE);
            sections.push(Section::new(format!("{}-{number}-over-time", T::KIND), title, story));
        }
    }
    sections.reverse();
    Ok(sections)
}

fn moment<T: Printed>(store: &Store, number: i64) -> Option<Moment> {
    Some(moment_of(number, &store.get::<T>(number).ok()?))
}

fn moment_of<T: Artifact>(number: i64, artifact: &T) -> Moment {
    let Origin { machine, started_unix_ms, .. } = artifact.origin();
    let environment = machine.map(Machine::environment).unwrap_or_default();
    Moment { number, started_unix_ms, environment, values: artifact.followed() }
}

fn imported<T: Printed>(store: &mut Store, data: &mut dyn Read, file: &str) -> Result<i64, String> {
    store.add(&read::<T>(data)?.imported(file)).map_err(|error| error.to_string())
}

fn read<T: Printed>(data: &mut dyn Read) -> Result<T, String> {
    let artifact: T = input::json(data).map_err(|error| error.to_string())?;
    artifact.check().map(|()| artifact)
}

/// Reads an artifact and makes all that can be made of it. That is its list entry, screen, documents, page section,
/// trend values, and a comparison.
fn rehearse<T: Printed>(data: &mut dyn Read, settings: &Settings) -> Result<(), String> {
    let artifact = read::<T>(data)?;
    let kept = Kept::Recalled(1, when(artifact.origin().started_unix_ms, &TimeZone::UTC));
    for json in [false, true] {
        let settings = Settings { json, ..settings.clone() };
        for csv in [false, true] {
            // A form that the kind does not have is refused with an error.
            let _ = artifact.print(&kept, &Form { csv, ..Form::default() }, &settings);
        }
        let _ = T::compare([1, 2], [&artifact, &artifact], &settings);
    }
    let moments: Vec<Moment> = [1, 2].into_iter().map(|number| moment_of(number, &artifact)).collect();
    let over_time = over_time::story(T::KIND, &moments, &TimeZone::UTC);
    let (_, own) = (artifact.summary(), artifact.story(&artifact.conclude(), &kept, settings));
    let together = T::together(&[(1, artifact.clone()), (2, artifact)]).into_iter().map(|section| section.story);
    together.chain(over_time).chain([own]).for_each(|story| render(&story, settings));
    Ok(())
}

/// Renders a story in every form.
fn render(story: &Story, settings: &Settings) {
    let _ = story.screen(settings.width, Depth::NoColour).styled();
    let _ = (story.markup(1).into_string(), markdown::story(story, Some(1)));
    let _ = (story.sentences(), story.commands(), story.notes());
}

/// Prints an artifact as JSON or as its screen.
pub fn print<T: Printed>(artifact: &T, kept: &Kept, settings: &Settings) -> Result<(), Failure> {
    print_story(artifact, kept, settings, |conclusions| artifact.story(conclusions, kept, settings))
}

/// Prints an artifact as JSON or as the screen of the given story.
pub fn print_story<T: Artifact + Clone>(
    artifact: &T,
    kept: &Kept,
    settings: &Settings,
    story: impl FnOnce(&T::Conclusions) -> Story,
) -> Result<(), Failure> {
    let conclusions = artifact.conclude();
    let story = story(&conclusions);
    let document = || ArtifactDocument::new(Cow::Borrowed(artifact), conclusions, &story, kept.number());
    show_story(settings, document, &story)
}
