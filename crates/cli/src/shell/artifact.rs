//! What the program does with every kind of artifact: it prints them, from the store too, and compares two of a kind.

use std::borrow::Cow;
use std::path::PathBuf;

use clap::Args;
use corewise_model::{Artifact, Machine};
use corewise_store::Store;
use corewise_sys::input;
use jiff::tz::TimeZone;

use super::document::ArtifactDocument;
use super::failure::{Exit, Failure};
use super::history::broken;
use super::output::show;
use super::settings::Settings;
use crate::draw::number::when;
use crate::draw::page::Story;
use crate::draw::survey::Kept;
use crate::draw::text::{Line, Screen};

/// In which form a stored artifact is printed; as its screen, or as JSON, where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct Form {
    /// Print comma-separated values: one line per run of an experiment, or per visit of a link map
    #[arg(long, conflicts_with_all = ["markdown", "json"])]
    pub csv: bool,
    /// Print the result of an experiment as Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Write a self-contained SVG picture of how an experiment's program scales with threads; replaces an existing file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

impl Form {
    /// Refuses the options that a kind has nothing for.
    pub fn only(&self, options: &[&str], kind: &str) -> Result<(), Failure> {
        let asked = [("--csv", self.csv), ("--markdown", self.markdown), ("--svg", self.svg.is_some())];
        match asked.into_iter().find(|(option, is_asked)| *is_asked && !options.contains(option)) {
            Some((option, _)) => Err(Failure::usage(format!("{option} is not available for {kind}"))
                .next(format!("Leave it out, or use {}.", [options, &["--json"]].concat().join(" or ")))),
            None => Ok(()),
        }
    }
}

/// A kind of artifact as the program prints it.
pub trait Printed: Artifact {
    /// Prints it.
    ///
    /// # Errors
    /// Where it has no such form, or nothing can be printed.
    fn print(&self, kept: &Kept, form: &Form, settings: &Settings) -> Result<(), Failure>;

    /// What it is called with its number: "Survey".
    const TITLE: &'static str;

    /// What a page says of it.
    fn story(&self, kept: &Kept, settings: &Settings) -> Story;

    /// It as it is stored that comes from a file.
    #[must_use]
    fn imported(self, file: &str) -> Self;

    /// What changed between two of these numbers, in the lines of the terminal at a page's width; nothing where two of this kind, or these
    /// two, cannot be compared.
    fn changes(numbers: [i64; 2], artifacts: [&Self; 2]) -> Option<Vec<Line>>;

    /// Prints what changed between two of these numbers.
    ///
    /// # Errors
    /// Where two of this kind, or these two, cannot be compared.
    fn compare(numbers: [i64; 2], artifacts: [&Self; 2], settings: &Settings) -> Result<(), Failure>;
}

/// What changed between two of a kind, in the lines of the terminal; nothing where they cannot be compared.
pub type Changes = Option<Vec<Line>>;

/// A kind of artifact in the list of all.
pub struct Kind {
    /// Its name in the store.
    pub name: &'static str,
    /// Prints the one of a number again; what it shows is computed anew.
    pub show: fn(&Store, i64, &Form, &Settings) -> Result<(), Failure>,
    /// Prints what changed between those of two numbers.
    pub compare: fn(&Store, [i64; 2], &Settings) -> Result<(), Failure>,
    /// What a page has of the one of a number.
    pub report: fn(&Store, i64, &Settings) -> Result<Reported, Failure>,
    /// What a page has of what changed between those of two numbers.
    pub changes: fn(&Store, [i64; 2]) -> Result<Changes, Failure>,
    /// What is wrong with one in JSON, if anything.
    pub check: fn(&str) -> Result<(), String>,
    /// Takes one into a store whose JSON is in a file of that name; its number there.
    pub import: fn(&mut Store, &str, &str) -> Result<i64, String>,
    /// The name of its documents.
    pub schema: &'static str,
}

/// What a page has of one thing that is stored.
pub struct Reported {
    /// Its kind's name.
    pub kind: &'static str,
    /// The name of its documents.
    pub schema: &'static str,
    /// Its number.
    pub number: i64,
    /// What it is called: "Experiment 12".
    pub title: String,
    /// The machine that it is of.
    pub machine: Option<Machine>,
    /// What is said of it.
    pub story: Story,
    /// What was observed, as JSON.
    pub data: String,
}

/// The entry of a kind in the list of all.
pub const fn kind<T: Printed>() -> Kind {
    Kind {
        name: T::KIND,
        show: again::<T>,
        compare: compared::<T>,
        report: reported::<T>,
        changes: changed::<T>,
        check: |data| read::<T>(data).map(drop),
        import: imported::<T>,
        schema: T::SCHEMA,
    }
}

/// Prints a stored artifact again.
pub fn again<T: Printed>(store: &Store, number: i64, form: &Form, settings: &Settings) -> Result<(), Failure> {
    let artifact: T = store.get(number).map_err(broken)?;
    let made = when(artifact.origin().started_unix_ms, &TimeZone::system());
    artifact.print(&Kept::Recalled(number, made), form, settings)
}

fn compared<T: Printed>(store: &Store, numbers: [i64; 2], settings: &Settings) -> Result<(), Failure> {
    let of = |number| store.get::<T>(number).map_err(broken);
    T::compare(numbers, [&of(numbers[0])?, &of(numbers[1])?], settings)
}

fn reported<T: Printed>(store: &Store, number: i64, settings: &Settings) -> Result<Reported, Failure> {
    let artifact: T = store.get(number).map_err(broken)?;
    let made = when(artifact.origin().started_unix_ms, &TimeZone::system());
    let data = serde_json::to_string(&artifact).map_err(|error| Failure::new(Exit::Internal, error))?;
    Ok(Reported {
        kind: T::KIND,
        schema: T::SCHEMA,
        number,
        title: format!("{} {number}", T::TITLE),
        machine: artifact.origin().machine.cloned(),
        story: artifact.story(&Kept::Recalled(number, made), settings),
        data,
    })
}

fn changed<T: Printed>(store: &Store, numbers: [i64; 2]) -> Result<Changes, Failure> {
    let of = |number| store.get::<T>(number).map_err(broken);
    Ok(T::changes(numbers, [&of(numbers[0])?, &of(numbers[1])?]))
}

fn imported<T: Printed>(store: &mut Store, data: &str, file: &str) -> Result<i64, String> {
    store.add(&read::<T>(data)?.imported(file)).map_err(|error| error.to_string())
}

fn read<T: Printed>(data: &str) -> Result<T, String> {
    let artifact: T = input::json(data.as_bytes()).map_err(|error| error.to_string())?;
    artifact.check().map(|()| artifact)
}

/// Prints an artifact as JSON, or as the screen of what it shows.
pub fn print<T: Artifact + Clone>(
    artifact: &T,
    kept: &Kept,
    settings: &Settings,
    screen: impl FnOnce(&T::Conclusions) -> Screen,
) -> Result<(), Failure> {
    show(settings, || ArtifactDocument::new(Cow::Borrowed(artifact), kept.number()), || screen(&artifact.conclude()))
}
