//! `corewise article`: makes the experiments of published articles, each step of which is a command line of corewise.

pub mod document;

pub mod arguments;
pub mod screen;

use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anstream::ColorChoice;
use corewise_model::Machine;
use corewise_model::article::{Article, HELD, Line as CommandLine};
use corewise_sys::linux::signals;
use serde_json::Value;

use crate::shell::failure::{Exit, Failure};
use crate::shell::interruption::Interruption;
use crate::shell::machine::this_machine;
use crate::shell::output::{print_json, print_text, show};
use crate::shell::run::{Document, Run, document};
use crate::shell::settings::{History, Settings};
use arguments::ArticleArguments;
use document::ArticlesDocument;
use screen::{Made, MadeStep, foot, head, list, step as step_head};

/// The widths that can be asked for.
const WIDTHS: std::ops::RangeInclusive<usize> = 20..=1000;
/// How often it is looked whether a step has ended.
const LOOK: Duration = Duration::from_millis(20);

impl Run for ArticleArguments {
    const DOCUMENTS: &'static [Document] = &[document::<ArticlesDocument<'_>>];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        let Some(name) = &self.name else {
            let articles: Vec<Article> =
                texts("all")?.iter().map(|(name, text)| read(name, text)).collect::<Result<_, _>>()?;
            let unmade: Vec<Made> = articles.iter().map(|article| Made::new(article, Vec::new())).collect();
            show(settings, || ArticlesDocument::new(false, &unmade), || list(&articles, settings.width))?;
            return Ok(Exit::Done);
        };
        let texts = texts(name)?;
        if self.print {
            let all: Vec<&str> = texts.iter().map(|(_, text)| text.trim_end()).collect();
            return print_text(&all.join("\n\n")).map(|()| Exit::Done);
        }
        let articles: Vec<Article> = texts.iter().map(|(name, text)| read(name, text)).collect::<Result<_, _>>()?;
        let making =
            Making { machine: this_machine()?, quick: self.quick, interruption: Interruption::watch()?, settings };
        let mut made = Vec::new();
        for article in &articles {
            made.push(making.article(article)?);
            if making.interruption.was_seen() {
                break;
            }
        }
        if settings.json {
            print_json(&ArticlesDocument::new(self.quick, &made))?;
        }
        Ok(if making.interruption.was_seen() { Exit::Interrupted } else { exit(&made) })
    }
}

/// The texts of what was named, each with its name.
fn texts(name: &str) -> Result<Vec<(String, String)>, Failure> {
    let held: Vec<(String, String)> = HELD
        .iter()
        .filter(|(held, _)| name == "all" || name == *held)
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    if !held.is_empty() {
        return Ok(held);
    }
    let text = fs::read_to_string(name).map_err(|error| {
        let names: Vec<&str> = HELD.iter().map(|(name, _)| *name).collect();
        Failure::usage(format!("the article {name}: {error}"))
            .next(format!("corewise holds {}; others are files.", names.join(", ")))
    })?;
    Ok(vec![(name.to_owned(), text)])
}

fn read(name: &str, text: &str) -> Result<Article, Failure> {
    Article::parse(text).map_err(|error| {
        Failure::usage(format!("the article {name}: {error}"))
            .next("`corewise article core0 --print` shows what one looks like.")
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

/// What all steps have in common.
struct Making<'a> {
    machine: Machine,
    quick: bool,
    interruption: Interruption,
    settings: &'a Settings,
}

impl Making<'_> {
    fn article(&self, article: &Article) -> Result<Made, Failure> {
        let width = self.settings.width;
        self.say(|| head(article, width))?;
        let mut steps = Vec::new();
        for step in &article.steps {
            if self.interruption.was_seen() {
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
        let mut child = self.command(line)?.spawn().map_err(|error| Failure::new(Exit::Internal, error))?;
        let mut output = child.stdout.take();
        let mut text = String::new();
        let status = std::thread::scope(|scope| {
            let reader = output.as_mut().map(|output| {
                let text = &mut text;
                // What cannot be read is no document.
                scope.spawn(move || drop(output.read_to_string(text)))
            });
            let status = self.wait(&mut child);
            reader.map(std::thread::ScopedJoinHandle::join);
            status
        })?;
        Ok((status.code(), serde_json::from_str(&text).unwrap_or(Value::Null)))
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
        if self.settings.json {
            command.stdout(Stdio::piped());
        }
        // In a group of its own, so that a signal from the terminal reaches it once, from here.
        command.process_group(0);
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

    /// Waits for a step; tells it once that it is to end.
    fn wait(&self, child: &mut Child) -> Result<ExitStatus, Failure> {
        let mut is_told = false;
        loop {
            match child.try_wait().map_err(|error| Failure::new(Exit::Internal, error))? {
                Some(status) => return Ok(status),
                None if self.interruption.was_seen() && !is_told => {
                    signals::send(child.id(), signals::INTERRUPT);
                    is_told = true;
                }
                None => std::thread::sleep(LOOK),
            }
        }
    }
}
