//! `corewise article`: repeats the experiments of published articles. Each step is a command line of corewise.

pub mod document;

pub mod arguments;
mod comparison_table;
pub mod screen;

use std::path::Path;

use corewise_machine::Machine;
use corewise_machine::suggested_command;
use corewise_model::article::comparison::StepOutcome;
use corewise_model::article::{Article, ArticleLine, BUILT_IN};
use corewise_sys::file_place::FileOrigin;
use corewise_sys::input::{InputFile, InputKind};
use serde_json::Value;

use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::file_commands::FileCommands;
use crate::app::machine::this_machine;
use crate::app::output::{print_json, print_text, show_result};
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::self_command::SelfCommand;
use crate::app::settings::ProgramSettings;
use crate::draw::suggestion;
use arguments::ArticleArguments;
use document::{ArticlesDocument, MadeArticle, MadeStep};
use screen::{draw_foot, draw_head, draw_list, draw_step as step_head};

impl RunnableCommand for ArticleArguments {
    const DOCUMENTS: &'static [CommandDocument] = &[command_document::<ArticlesDocument<'_>>("article", &["article"])];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let Some(name) = &self.name else {
            let articles: Vec<Article> =
                read_texts("all")?.0.iter().map(|(name, text)| parse_article(name, text)).collect::<Result<_, _>>()?;
            let unmade: Vec<MadeArticle> =
                articles.iter().map(|article| MadeArticle::new(article, Vec::new(), Vec::new())).collect();
            show_result(settings, || ArticlesDocument::new(false, &unmade), || draw_list(&articles, settings.width))?;
            return Ok(CommandExit::Done);
        };
        let (texts, origin) = read_texts(name)?;
        if self.print {
            let all: Vec<&str> = texts.iter().map(|(_, text)| text.trim_end()).collect();
            return print_text(&all.join("\n\n")).map(|()| CommandExit::Done);
        }
        let articles: Vec<Article> =
            texts.iter().map(|(name, text)| parse_article(name, text)).collect::<Result<_, _>>()?;
        let steps = articles.iter().flat_map(|article| &article.steps);
        if let Some(origin) = &origin {
            let (content, lines) = (texts[0].1.as_bytes(), steps.map(|step| step.command.join(" ")).collect());
            FileCommands { file: Path::new(name), origin, imported: None, content, lines }.check_trust(settings)?;
        }
        let making = ArticleContext {
            machine: this_machine()?,
            quick: self.quick,
            itself: SelfCommand::new(settings)?,
            settings,
        };
        let mut made = Vec::new();
        for article in &articles {
            made.push(making.run_article(article)?);
            if making.itself.is_interrupted() {
                break;
            }
        }
        if settings.json {
            print_json(&ArticlesDocument::new(self.quick, &made))?;
        }
        Ok(if making.itself.is_interrupted() { CommandExit::Interrupted } else { choose_exit(&made) })
    }
}

type ArticleText = (String, String);

/// Returns the named articles with their texts, and the file if they were read from one.
fn read_texts(name: &str) -> Result<(Vec<ArticleText>, Option<FileOrigin>), CommandFailure> {
    let held: Vec<ArticleText> = BUILT_IN
        .iter()
        .filter(|(held, _)| name == "all" || name == *held)
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    if !held.is_empty() {
        return Ok((held, None));
    }
    let read = InputFile::open(Path::new(name), InputKind::Article).and_then(InputFile::text_with_origin);
    let (text, origin) = read.map_err(|error| {
        let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        CommandFailure::usage_error(error)
            .with_hint(format!("Built-in articles: {}. Others are files.", names.join(", ")))
    })?;
    Ok((vec![(name.to_owned(), text)], Some(origin)))
}

fn parse_article(name: &str, text: &str) -> Result<Article, CommandFailure> {
    Article::parse(text).map_err(|error| {
        CommandFailure::usage_error(format!("the article {name}: {error}")).with_hint(format!(
            "{} shows an example.",
            suggestion::format_mention(&suggested_command::article_printed())
        ))
    })
}

/// Returns 0 if every executed step ended by itself with status 0 or 1; otherwise the status of the first other step.
fn choose_exit(made: &[MadeArticle]) -> CommandExit {
    let steps = made.iter().flat_map(|article| &article.steps).filter(|step| step.left_out.is_none());
    let failed = steps.map(|step| step.exit).find(|exit| !matches!(exit, Some(0 | 1)));
    match failed {
        None => CommandExit::Done,
        Some(Some(code)) if code == CommandExit::Usage as i32 => CommandExit::Usage,
        Some(Some(code)) if code == CommandExit::Unavailable as i32 => CommandExit::Unavailable,
        Some(_) => CommandExit::Internal,
    }
}

fn step_outcome<'a>(made: &'a MadeStep, line: &'a Result<ArticleLine, String>) -> StepOutcome<'a> {
    StepOutcome { title: &made.title, line: line.as_ref().map_err(String::as_str), document: &made.document }
}

/// State that all steps share.
struct ArticleContext<'a> {
    machine: Machine,
    quick: bool,
    itself: SelfCommand<'a>,
    settings: &'a ProgramSettings,
}

impl ArticleContext<'_> {
    fn run_article(&self, article: &Article) -> Result<MadeArticle, CommandFailure> {
        let width = self.settings.width;
        self.print_part(|| draw_head(article, width))?;
        let (mut steps, mut lines) = (Vec::new(), Vec::new());
        for step in &article.steps {
            if self.itself.is_interrupted() {
                break;
            }
            let line = step.step_for_machine(&self.machine, self.quick);
            let mut made = MadeStep {
                title: step.title.clone(),
                command: line.as_ref().map(|line| line.words.clone()).unwrap_or_default(),
                environment: line.as_ref().map(|line| line.environment.clone()).unwrap_or_default(),
                remark: line.as_ref().ok().and_then(|line| line.remark.clone()),
                left_out: line.as_ref().err().cloned(),
                exit: None,
                document: Value::Null,
            };
            self.print_part(|| step_head(&made, width))?;
            if let Ok(line) = &line {
                (made.exit, made.document) = self.itself.run(&line.words, &line.environment)?;
            }
            steps.push(made);
            lines.push(line);
        }
        let outcomes: Vec<StepOutcome<'_>> =
            steps.iter().zip(&lines).map(|(made, line)| step_outcome(made, line)).collect();
        let table = article.compare_results(&self.machine, &outcomes);
        self.print_part(|| draw_foot(article, &table, width))?;
        Ok(MadeArticle::new(article, steps, table))
    }

    /// Prints a part of the page, unless the output is JSON.
    fn print_part(&self, screen: impl FnOnce() -> crate::draw::text::TextScreen) -> Result<(), CommandFailure> {
        if self.settings.json { Ok(()) } else { show_result(self.settings, || (), screen) }
    }
}
