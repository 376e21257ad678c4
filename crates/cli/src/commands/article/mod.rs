//! `corewise article`: makes the experiments of published articles, each step of which is a command line of corewise.

pub mod document;

pub mod arguments;
pub mod screen;

use std::cell::Cell;
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anstream::ColorChoice;
use corewise_model::Machine;
use corewise_model::article::{Article, BUILT_IN, Line as CommandLine};
use corewise_sys::input::{Input, SETTINGS_BYTES};
use corewise_sys::signals::Held;
use corewise_sys::spawn;
use serde_json::Value;

use crate::shell::child::supervise::{End, Look, Supervisor, UNWATCHED, came_early};
use crate::shell::failure::{Exit, Failure};
use crate::shell::machine::this_machine;
use crate::shell::output::{print_json, print_text, show};
use crate::shell::run::{Document, Run, document};
use crate::shell::settings::{History, Settings};
use crate::shell::trust::Commands;
use arguments::ArticleArguments;
use document::{ArticlesDocument, Made, MadeStep};
use screen::{foot, head, list, step as step_head};

/// The widths that can be asked for.
const WIDTHS: std::ops::RangeInclusive<usize> = 20..=1000;

impl Run for ArticleArguments {
    const DOCUMENTS: &'static [Document] = &[document::<ArticlesDocument<'_>>];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        let Some(name) = &self.name else {
            let articles: Vec<Article> =
                texts("all")?.0.iter().map(|(name, text)| read(name, text)).collect::<Result<_, _>>()?;
            let unmade: Vec<Made> = articles.iter().map(|article| Made::new(article, Vec::new())).collect();
            show(settings, || ArticlesDocument::new(false, &unmade), || list(&articles, settings.width))?;
            return Ok(Exit::Done);
        };
        let (texts, writers) = texts(name)?;
        if self.print {
            let all: Vec<&str> = texts.iter().map(|(_, text)| text.trim_end()).collect();
            return print_text(&all.join("\n\n")).map(|()| Exit::Done);
        }
        let articles: Vec<Article> = texts.iter().map(|(name, text)| read(name, text)).collect::<Result<_, _>>()?;
        let steps = articles.iter().flat_map(|article| &article.steps);
        let (content, lines) = (texts[0].1.as_bytes(), steps.map(|step| step.command.join(" ")).collect());
        Commands { file: Path::new(name), writers, content, lines }.check(settings)?;
        let held = Held::new().map_err(|error| Failure::new(Exit::Internal, error))?;
        let making =
            Making { machine: this_machine()?, quick: self.quick, held, is_interrupted: Cell::default(), settings };
        let mut made = Vec::new();
        for article in &articles {
            made.push(making.article(article)?);
            if making.is_interrupted() {
                break;
            }
        }
        if settings.json {
            print_json(&ArticlesDocument::new(self.quick, &made))?;
        }
        Ok(if making.is_interrupted() { Exit::Interrupted } else { exit(&made) })
    }
}

/// An article's name and its text.
type Text = (String, String);

/// The texts of what was named, each with its name; and who else can have written them, as [`Input::writers`] says.
fn texts(name: &str) -> Result<(Vec<Text>, Option<String>), Failure> {
    let held: Vec<Text> = BUILT_IN
        .iter()
        .filter(|(held, _)| name == "all" || name == *held)
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    if !held.is_empty() {
        return Ok((held, None));
    }
    let read = Input::open(Path::new(name), SETTINGS_BYTES).and_then(|input| Ok((input.writers(), input.text()?)));
    let (writers, text) = read.map_err(|error| {
        let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        Failure::usage(error).next(format!("Built-in articles: {}. Others are files.", names.join(", ")))
    })?;
    Ok((vec![(name.to_owned(), text)], writers))
}

fn read(name: &str, text: &str) -> Result<Article, Failure> {
    Article::parse(text).map_err(|error| {
        Failure::usage(format!("the article {name}: {error}"))
            .next("`corewise article core0 --print` shows an example.")
    })
}

/// 0 where every step that could be made has ended by itself; else what the first said that did not.
fn exit(made: &[Made]) -> Exit {
    let steps = made.iter().flat_map(|article| &article.steps).filter(|step| step.left_out.is_none());
    let failed = steps.map(|step| step.exit).find(|exit| !matches!(exit, Some(0 | 1)));
    match failed {
        None => Exit::Done,
        Some(Some(code)) if code == Exit::Usage as i32 => Exit::Usage,
        Some(Some(code)) if code == Exit::Unavailable as i32 => Exit::Unavailable,
        Some(_) => Exit::Internal,
    }
}

/// Takes note that the article is to end with the step that runs.
struct Told<'a>(&'a Cell<bool>);

impl Look for Told<'_> {
    fn look(&mut self) -> Duration {
        UNWATCHED
    }

    fn told_to_end(&mut self) {
        self.0.set(true);
    }
}

/// What all steps have in common.
struct Making<'a> {
    machine: Machine,
    quick: bool,
    held: Held,
    is_interrupted: Cell<bool>,
    settings: &'a Settings,
}

impl Making<'_> {
    fn article(&self, article: &Article) -> Result<Made, Failure> {
        let width = self.settings.width;
        self.say(|| head(article, width))?;
        let mut steps = Vec::new();
        for step in &article.steps {
            if self.is_interrupted() {
                break;
            }
            let line = step.on(&self.machine, self.quick);
            let mut made = MadeStep {
                title: step.title.clone(),
                command: line.as_ref().map(|line| line.words.clone()).unwrap_or_default(),
                environment: line.as_ref().map(|line| line.environment.clone()).unwrap_or_default(),
                remark: line.as_ref().ok().and_then(|line| line.remark.clone()),
                left_out: line.as_ref().err().cloned(),
                exit: None,
                document: Value::Null,
            };
            self.say(|| step_head(&made, width))?;
            if let Ok(line) = &line {
                (made.exit, made.document) = self.step(line)?;
            }
            steps.push(made);
        }
        self.say(|| foot(article, width))?;
        Ok(Made::new(article, steps))
    }

    /// Prints a part of the page, where a page is printed.
    fn say(&self, screen: impl FnOnce() -> crate::draw::text::Screen) -> Result<(), Failure> {
        if self.settings.json { Ok(()) } else { show(self.settings, || (), screen) }
    }

    /// Runs a command line of corewise: its exit status, and its document where that is wanted.
    fn step(&self, line: &CommandLine) -> Result<(Option<i32>, Value), Failure> {
        let internal = |error| Failure::new(Exit::Internal, error);
        let (mut reader, writer) = io::pipe().map_err(internal)?;
        let mut command = self.command(line)?;
        if self.settings.json {
            command.stdout(writer);
        }
        let child = spawn::start(&mut command, &self.held).map_err(internal)?;
        // Its end of the pipe is the child's alone.
        drop(command);
        std::thread::scope(|scope| {
            let document = scope.spawn(|| {
                let mut text = String::new();
                // What cannot be read is no document.
                let _ = if self.settings.json { reader.read_to_string(&mut text) } else { Ok(0) };
                serde_json::from_str(&text).unwrap_or(Value::Null)
            });
            let end = Supervisor { held: &self.held, child }.wait(Some(&mut Told(&self.is_interrupted)));
            let status = if let End::Exited(status) = end { Some(status) } else { None };
            Ok((status, document.join().unwrap_or(Value::Null)))
        })
    }

    /// Whether a signal came that ends who does nothing about it.
    fn is_interrupted(&self) -> bool {
        self.is_interrupted.get() || {
            self.is_interrupted.set(came_early(&self.held).is_some());
            self.is_interrupted.get()
        }
    }

    fn command(&self, line: &CommandLine) -> Result<Command, Failure> {
        let program = std::env::current_exe().map_err(|error| Failure::new(Exit::Internal, error))?;
        let mut command = Command::new(&program);
        command.arg(&line.words[0]).args(self.common()).args(&line.words[1..]).envs(&line.environment);
        // So that the programs that it tries find this one as `corewise`, wherever it lies.
        let folders = program.parent().map(OsString::from).into_iter();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = folders.map(Into::into).chain(std::env::split_paths(&path).collect::<Vec<_>>());
        if let Ok(joined) = std::env::join_paths(folders) {
            command.env("PATH", joined);
        }
        command.stdin(Stdio::null());
        Ok(command)
    }

    /// The options that every step shares with this command.
    fn common(&self) -> Vec<OsString> {
        let width = self.settings.width.clamp(*WIDTHS.start(), *WIDTHS.end());
        let mut words: Vec<OsString> = vec!["--width".into(), width.to_string().into()];
        // "auto" is what it does by itself.
        match self.settings.color {
            ColorChoice::Always | ColorChoice::AlwaysAnsi => words.extend(["--color".into(), "always".into()]),
            ColorChoice::Never => words.extend(["--color".into(), "never".into()]),
            ColorChoice::Auto => {}
        }
        match &self.settings.history {
            History::At(path) => words.extend(["--store".into(), path.into()]),
            History::Off => words.push("--no-store".into()),
            History::Homeless => {}
        }
        if self.settings.json {
            words.push("--json".into());
        }
        words
    }
}
