//! What the program does with every kind of artifact: it prints them, from the store too, and compares two of a kind.

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

/// So many results of a kind are followed at most: the latest. Those of machines of more than 128 cpus take long to read.
const MOST_FOLLOWED: [usize; 2] = [24, 8];

/// In which form a stored artifact is printed; as its screen, or as JSON, where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct Form {
    /// Print comma-separated values: one line per run of an experiment, or per visit of a map; the first line's `notes` are the caveats
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
    /// Refuses the options that a kind has nothing for.
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
    /// Prints it in a form other than Markdown, which all kinds have alike.
    ///
    /// # Errors
    /// Where it has no such form, or nothing can be printed.
    fn print(&self, kept: &Kept, form: &Form, settings: &Settings) -> Result<(), Failure>;

    /// What it is called with its number: "Survey".
    const TITLE: &'static str;

    /// The command that makes one.
    fn first() -> SuggestedCommand;

    /// Composes its story.
    fn story(&self, conclusions: &Self::Conclusions, kept: &Kept, settings: &Settings) -> Story;

    /// What a page says of several of these numbers together: what changed from each to the next, unless the kind says more.
    fn together(several: &[(i64, Self)]) -> Vec<Section> {
        let changed = |pair: &[(i64, Self)]| {
            let numbers = [pair[0].0, pair[1].0];
            let story = Self::changes(numbers, [&pair[0].1, &pair[1].1])?;
            let [before, after] = numbers;
            Some(Section::new(format!("{}-{before}-{after}", Self::KIND), "What changed".to_owned(), story))
        };
        several.windows(2).filter_map(changed).collect()
    }

    /// What it is a part of, where several of a kind were made as one: the session of a suite.
    fn session(&self) -> Option<String> {
        None
    }

    /// It as it is stored that comes from a file.
    #[must_use]
    fn imported(self, _file: &str) -> Self {
        self
    }

    /// Composes the story of what changed between two of these numbers; `None` if two of this kind, or these two, cannot be compared.
    fn changes(numbers: [i64; 2], artifacts: [&Self; 2]) -> Option<Story>;

    /// Prints what changed between two of these numbers.
    ///
    /// # Errors
    /// Where two of this kind, or these two, cannot be compared.
    fn compare(numbers: [i64; 2], artifacts: [&Self; 2], settings: &Settings) -> Result<(), Failure>;
}

/// What a page has of several results, or why they cannot be read.
pub type Sections = Result<Vec<Section>, Failure>;

/// A kind of artifact in the list of all.
pub struct Kind {
    /// Its name in the store.
    pub name: &'static str,
    /// Prints the one of a number again; what it shows is computed anew.
    pub show: fn(&Store, i64, &Form, &Settings) -> Result<(), Failure>,
    /// Prints what changed between those of two numbers.
    pub compare: fn(&Store, [i64; 2], &Settings) -> Result<(), Failure>,
    /// The numbers of the latest in a list, with those that were made with it as one.
    pub latest: fn(&Store, &[Entry]) -> Result<Vec<i64>, Failure>,
    /// What a page has of those of these numbers: what they show together, each of them, and how they changed over the history.
    pub report: fn(&Store, &[i64], &Settings) -> Sections,
    /// Reads the JSON of one and prints it in every form, so that what is imported is known to be shown.
    pub rehearse: fn(&mut dyn Read, &Settings) -> Result<(), String>,
    /// Reads the JSON of one from a file of that name and adds it to a store. Returns its number there.
    pub import: fn(&mut Store, &mut dyn Read, &str) -> Result<i64, String>,
    /// The name of its documents.
    pub schema: &'static str,
    /// The command that makes one.
    pub first: fn() -> SuggestedCommand,
}

/// A section of a page: one result, or what several show together.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its name in addresses within the page, and in names of files: "survey-3".
    pub id: String,
    /// Its heading: "Experiment 12".
    pub title: String,
    /// What is said.
    pub story: Story,
    /// The result; absent where it is about several.
    pub result: Option<Reported>,
}

/// A result on a page.
#[derive(Clone, Debug)]
pub struct Reported {
    /// Its number.
    pub number: i64,
    /// The name of its documents.
    pub schema: &'static str,
    /// The machine that it is of.
    pub machine: Option<Machine>,
    /// What was observed, as JSON.
    pub data: String,
}

impl Section {
    /// A section about several results.
    pub fn new(id: String, title: String, story: Story) -> Self {
        Self { id, title, story, result: None }
    }
}

/// The entry of a kind in the list of all.
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

/// Prints a stored artifact again.
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

/// How numbers of these changed over the history of their machines: a section for each that is followed by itself.
fn followed<T: Printed>(store: &Store, several: &[(i64, T)]) -> Sections {
    let mut sections: Vec<Section> = Vec::new();
    let mut done: Vec<i64> = Vec::new();
    // What results of one kind are called in a sentence: "survey", "map".
    let name = T::TITLE.split(' ').next().unwrap_or_default().to_lowercase();
    for (number, artifact) in several.iter().rev() {
        let Some(machine) = artifact.origin().machine.filter(|_| !done.contains(number)) else { continue };
        let mut entries = store.entries(Some(&machine.fingerprint())).map_err(broken)?;
        entries.retain(|entry| {
            let is_alike = entry.summary.as_ref().is_none_or(|summary| artifact.is_followed_with(summary));
            entry.kind == T::KIND && !entry.is_deleted() && is_alike
        });
        done.extend(entries.iter().map(|entry| entry.number));
        // Those that this corewise cannot read are not followed.
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

/// Reads an artifact and makes all that is ever made of one: its line in lists, its screen, its documents, its part of a page, what is followed
/// of it, and what changed between two.
fn rehearse<T: Printed>(data: &mut dyn Read, settings: &Settings) -> Result<(), String> {
    let artifact = read::<T>(data)?;
    let kept = Kept::Recalled(1, when(artifact.origin().started_unix_ms, &TimeZone::UTC));
    for json in [false, true] {
        let settings = Settings { json, ..settings.clone() };
        for csv in [false, true] {
            // A form that a kind does not have, or that has nothing to print, is refused in words.
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

/// Prints an artifact as JSON, or as its screen.
pub fn print<T: Printed>(artifact: &T, kept: &Kept, settings: &Settings) -> Result<(), Failure> {
    print_story(artifact, kept, settings, |conclusions| artifact.story(conclusions, kept, settings))
}

/// Prints an artifact as JSON, or as the screen of a story of its own.
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
