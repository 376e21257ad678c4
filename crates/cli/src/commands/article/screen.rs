//! Screens of articles: their list, the text before and after their steps, and the constructor of [`Made`].

use corewise_machine::suggested_command;
use corewise_model::article::Article;

use super::document::{Made, MadeStep};
use crate::draw::suggestion;
use crate::draw::suggestion::{in_shell, words_in_shell};
use crate::draw::text::{Line, Screen, Tone};
use crate::draw::wrap::wrap;

/// Width of the column of names in the list.
const NAME_WIDTH: usize = 10;

impl Made {
    /// Combines the text of an article and its steps.
    pub fn new(article: &Article, steps: Vec<MadeStep>) -> Self {
        let Article { name, question, source, published, look, .. } = article.clone();
        Self { name, question, source, published, look, steps }
    }
}

/// Returns the list of articles.
pub fn list(articles: &[Article], width: usize) -> Screen {
    let mut screen = Screen::new();
    for article in articles {
        let line = Line::new().strong(format!("{:<NAME_WIDTH$}", article.name)).plain(&article.question);
        screen.extend(wrap(&line, width, NAME_WIDTH));
        screen.extend(wrap(&Line::new().faint(&article.source).indented(NAME_WIDTH), width, NAME_WIDTH));
    }
    screen.block(wrap(
        &Line::new().plain(format!(
            "{}; {}; {}",
            suggestion::typed(&suggested_command::article()),
            suggestion::typed(&suggested_command::article_quickly()),
            suggestion::typed(&suggested_command::article_all())
        )),
        width,
        2,
    ));
    screen
}

/// Returns the text above an article's steps.
pub fn head(article: &Article, width: usize) -> Screen {
    let mut screen = Screen::new();
    screen.extend(wrap(&Line::new().strong(&article.name).plain("  ").plain(&article.question), width, 2));
    screen.extend(wrap(&Line::new().faint(&article.source), width, 2));
    screen
}

/// Returns the text above a step: its title and its command line, or why it is left out.
pub fn step(step: &MadeStep, width: usize) -> Screen {
    let mut screen = Screen::new();
    let mut title = Line::new().strong(format!("── {}", step.title));
    if let Some(remark) = &step.remark {
        title = title.plain(format!(": {remark}"));
    }
    screen.block(wrap(&title, width, 3));
    if let Some(why) = &step.left_out {
        screen.extend(wrap(&Line::new().with(Tone::Warn, "left out: ").plain(why), width, 2));
    } else {
        let variables: String =
            step.environment.iter().map(|(name, value)| format!("{name}={} ", in_shell(value))).collect();
        let words = words_in_shell(&step.command);
        screen.extend(wrap(&Line::new().faint(format!("   {variables}corewise {words}")), width, 5));
    }
    screen.push(Line::new());
    screen
}

/// Returns the text below an article's steps.
pub fn foot(article: &Article, width: usize) -> Screen {
    let mut screen = Screen::new();
    for (word, text) in [("Published  ", &article.published), ("Look at  ", &article.look)] {
        screen.block(wrap(&Line::new().strong(word).plain(text.trim()), width, 2));
    }
    screen
}

#[cfg(test)]
mod tests {
    use corewise_model::article::BUILT_IN;

    use super::*;

    #[test]
    fn every_article_fits_into_40_columns() {
        for (_, text) in BUILT_IN {
            let article = Article::parse(text).unwrap();
            let made = MadeStep {
                title: article.steps[0].title.clone(),
                command: article.steps[0].command.clone(),
                environment: article.steps[0].environment.clone(),
                remark: Some("4 threads over 4 objects of the level cluster".into()),
                left_out: None,
                exit: None,
                document: serde_json::Value::Null,
            };
            for screen in [head(&article, 40), step(&made, 40), foot(&article, 40), list(&[article], 40)] {
                assert!(screen.width() <= 40, "{}", screen.plain());
            }
        }
    }

    #[test]
    fn a_step_that_can_show_nothing_says_why() {
        let made = MadeStep {
            title: "packed and spread".into(),
            command: Vec::new(),
            environment: std::collections::BTreeMap::new(),
            remark: None,
            left_out: Some("this machine does not have two modules".into()),
            exit: None,
            document: serde_json::Value::Null,
        };
        assert!(step(&made, 80).plain().contains("left out: this machine does not have two modules"));
    }

    #[test]
    fn no_article_steers_or_hides() {
        let mut article = Article::parse(BUILT_IN[0].1).unwrap();
        for name in crate::draw::fixtures::hostile::names() {
            let text = || name.clone();
            (article.name, article.question, article.source) = (text(), text(), text());
            (article.published, article.look) = (text(), text());
            let made = MadeStep {
                title: text(),
                command: vec![text(), text()],
                environment: [("A".to_owned(), text())].into(),
                remark: Some(text()),
                left_out: None,
                exit: None,
                document: serde_json::Value::Null,
            };
            let left_out = MadeStep { left_out: Some(text()), ..made.clone() };
            let list = list(std::slice::from_ref(&article), 40);
            for screen in [head(&article, 40), step(&made, 40), step(&left_out, 40), foot(&article, 40), list] {
                crate::draw::fixtures::hostile::check_screen(&screen, 40);
            }
        }
    }
}
