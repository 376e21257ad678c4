//! `corewise article`: repeats the experiments of published articles. Each step is a command line of corewise.

pub mod document;

pub mod arguments;
pub mod screen;

use std::path::Path;

use corewise_machine::Machine;
use corewise_machine::suggested_command;
use corewise_model::article::{Article, BUILT_IN};
use corewise_sys::file_place::FileOrigin;
use corewise_sys::input::{Input, InputKind};
use serde_json::Value;

use crate::app::failure::{Exit, Failure};
use crate::app::itself::Itself;
use crate::app::machine::this_machine;
use crate::app::output::{print_json, print_text, show};
use crate::app::run::{Document, Run, document};
use crate::app::settings::Settings;
use crate::app::trust::Commands;
use crate::draw::suggestion;
use arguments::ArticleArguments;
use document::{ArticlesDocument, Made, MadeStep};
use screen::{foot, head, list, step as step_head};

impl Run for ArticleArguments {
    const DOCUMENTS: &'static [Document] = &[document::<ArticlesDocument<'_>>(&["article"])];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        let Some(name) = &self.name else {
            let articles: Vec<Article> =
                texts("all")?.0.iter().map(|(name, text)| read(name, text)).collect::<Result<_, _>>()?;
            let unmade: Vec<Made> = articles.iter().map(|article| Made::new(article, Vec::new())).collect();
            show(settings, || ArticlesDocument::new(false, &unmade), || list(&articles, settings.width))?;
            return Ok(Exit::Done);
        };
        let (texts, origin) = texts(name)?;
        if self.print {
            let all: Vec<&str> = texts.iter().map(|(_, text)| text.trim_end()).collect();
            return print_text(&all.join("\n\n")).map(|()| Exit::Done);
        }
        let articles: Vec<Article> = texts.iter().map(|(name, text)| read(name, text)).collect::<Result<_, _>>()?;
        let steps = articles.iter().flat_map(|article| &article.steps);
        if let Some(origin) = &origin {
            let (content, lines) = (texts[0].1.as_bytes(), steps.map(|step| step.command.join(" ")).collect());
            Commands { file: Path::new(name), origin, imported: None, content, lines }.check(settings)?;
        }
        let making = Making { machine: this_machine()?, quick: self.quick, itself: Itself::new(settings)?, settings };
        let mut made = Vec::new();
        for article in &articles {
            made.push(making.article(article)?);
            if making.itself.is_interrupted() {
                break;
            }
        }
        if settings.json {
            print_json(&ArticlesDocument::new(self.quick, &made))?;
        }
        Ok(if making.itself.is_interrupted() { Exit::Interrupted } else { exit(&made) })
    }
}

type Text = (String, String);

/// Returns the named articles with their texts, and the file if they were read from one.
fn texts(name: &str) -> Result<(Vec<Text>, Option<FileOrigin>), Failure> {
    let held: Vec<Text> = BUILT_IN
        .iter()
        .filter(|(held, _)| name == "all" || name == *held)
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    if !held.is_empty() {
        return Ok((held, None));
    }
    let read = Input::open(Path::new(name), InputKind::Article).and_then(Input::text_with_origin);
    let (text, origin) = read.map_err(|error| {
        let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        Failure::usage(error).next(format!("Built-in articles: {}. Others are files.", names.join(", ")))
    })?;
    Ok((vec![(name.to_owned(), text)], Some(origin)))
}

fn read(name: &str, text: &str) -> Result<Article, Failure> {
    Article::parse(text).map_err(|error| {
        Failure::usage(format!("the article {name}: {error}"))
            .next(format!("{} shows an example.", suggestion::mention(&suggested_command::article_printed())))
    })
}

/// Returns 0 if every executed step ended by itself with status 0 or 1; otherwise the status of the first other step.
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

/// State that all steps share.
struct Making<'a> {
    machine: Machine,
    quick: bool,
    itself: Itself<'a>,
    settings: &'a Settings,
}

impl Making<'_> {
    fn article(&self, article: &Article) -> Result<Made, Failure> {
        let width = self.settings.width;
        self.say(|| head(article, width))?;
        let mut steps = Vec::new();
        for step in &article.steps {
            if self.itself.is_interrupted() {
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
                (made.exit, made.document) = self.itself.run(&line.words, &line.environment)?;
            }
            steps.push(made);
        }
        self.say(|| foot(article, width))?;
        Ok(Made::new(article, steps))
    }

    /// Prints a part of the page, unless the output is JSON.
    fn say(&self, screen: impl FnOnce() -> crate::draw::text::Screen) -> Result<(), Failure> {
        if self.settings.json { Ok(()) } else { show(self.settings, || (), screen) }
    }
}
