//! Screens of articles: their list, the text before and after their steps, and the constructor of [`MadeArticle`].

use corewise_machine::suggested_command;
use corewise_model::article::Article;
use corewise_model::article::comparison::ComparedRow;

use super::comparison_table::draw_table;
use super::document::{MadeArticle, MadeStep};
use crate::draw::suggestion;
use crate::draw::suggestion::{quote_word, quote_words};
use crate::draw::text::{StyledLine, TextScreen, TextTone};
use crate::draw::wrap::wrap_line;

/// Width of the column of names in the list.
const NAME_WIDTH: usize = 10;

impl MadeArticle {
    /// Combines the text of an article, its steps and its table.
    pub fn new(article: &Article, steps: Vec<MadeStep>, table: Vec<ComparedRow>) -> Self {
        let Article { name, question, source, published, look, .. } = article.clone();
        Self { name, question, source, published, look, steps, table }
    }
}

/// Returns the list of articles.
pub fn draw_list(articles: &[Article], width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    for article in articles {
        let line = StyledLine::new().strong(format!("{:<NAME_WIDTH$}", article.name)).plain(&article.question);
        screen.extend(wrap_line(&line, width, NAME_WIDTH));
        screen.extend(wrap_line(&StyledLine::new().faint(&article.source).indent_by(NAME_WIDTH), width, NAME_WIDTH));
    }
    screen.add_block(wrap_line(
        &StyledLine::new().plain(format!(
            "{}; {}; {}",
            suggestion::format_typed(&suggested_command::article()),
            suggestion::format_typed(&suggested_command::article_quickly()),
            suggestion::format_typed(&suggested_command::article_all())
        )),
        width,
        2,
    ));
    screen
}

/// Returns the text above an article's steps.
pub fn draw_head(article: &Article, width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    screen.extend(wrap_line(&StyledLine::new().strong(&article.name).plain("  ").plain(&article.question), width, 2));
    screen.extend(wrap_line(&StyledLine::new().faint(&article.source), width, 2));
    screen
}

/// Returns the text above a step: its title and its command line, or why it is left out.
pub fn draw_step(step: &MadeStep, width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    let mut title = StyledLine::new().strong(format!("── {}", step.title));
    if let Some(remark) = &step.remark {
        title = title.plain(format!(": {remark}"));
    }
    screen.add_block(wrap_line(&title, width, 3));
    if let Some(why) = &step.left_out {
        screen.extend(wrap_line(&StyledLine::new().with(TextTone::Warn, "left out: ").plain(why), width, 2));
    } else {
        let variables: String =
            step.environment.iter().map(|(name, value)| format!("{name}={} ", quote_word(value))).collect();
        let words = quote_words(&step.command);
        screen.extend(wrap_line(&StyledLine::new().faint(format!("   {variables}corewise {words}")), width, 5));
    }
    screen.push(StyledLine::new());
    screen
}

/// Returns the text below an article's steps, with its table at the end.
pub fn draw_foot(article: &Article, table: &[ComparedRow], width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    for (word, text) in [("Published  ", &article.published), ("Look at  ", &article.look)] {
        screen.add_block(wrap_line(&StyledLine::new().strong(word).plain(text.trim()), width, 2));
    }
    screen.add_block(draw_table(table, width));
    screen
}

#[cfg(test)]
mod tests {
    use corewise_model::article::BUILT_IN;

    use super::*;
    use crate::commands::article::comparison_table::tests::sample_table;

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
            let table: Vec<ComparedRow> =
                article.rows.iter().flat_map(|row| sample_table(&row.what, &row.published, "a reason")).collect();
            for screen in [
                draw_head(&article, 40),
                draw_step(&made, 40),
                draw_foot(&article, &table, 40),
                draw_list(&[article], 40),
            ] {
                assert!(screen.width() <= 40, "{}", screen.to_plain());
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
        assert!(draw_step(&made, 80).to_plain().contains("left out: this machine does not have two modules"));
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
            let list = draw_list(std::slice::from_ref(&article), 40);
            let foot = draw_foot(&article, &sample_table(&name, &name, &name), 40);
            for screen in [draw_head(&article, 40), draw_step(&made, 40), draw_step(&left_out, 40), foot, list] {
                crate::draw::fixtures::hostile::check_screen(&screen, 40);
            }
        }
    }
}
