//! Parser of terms with arguments in parentheses: patterns, `best`, and `near`, which takes the system's name of a device.

use super::super::expression::{BEST, ExpressionTerm, NEAR, TermNode, WORTH};
use super::super::words::{self, LanguageWord};
use super::super::{PlacementError, PlacementPattern};
use super::{ExpressionParser, Result};
use crate::Level;

impl ExpressionParser {
    /// Reads `spread(4, llc)`, `pack(4, llc, node:0)` or, which is not a pattern, `best(4, worth)`, from the parenthesis on.
    pub(super) fn parse_choice(&mut self, pattern: Option<PlacementPattern>, start: usize) -> Result<ExpressionTerm> {
        let (word, by, what) =
            pattern.map_or((BEST, WORTH, WORTH), |pattern| (pattern.word(), Level::Llc.word(), "a level"));
        let form = format!("write {word}(4, {by}) or {word}(4, {by}, node:0)");
        let formed = |error: PlacementError| if error.hint.is_none() { error.with_hint(&form) } else { error };
        self.expect_character('(', "and the number of cpus").map_err(formed)?;
        let count = self.parse_count().map_err(formed)?;
        if self.peek_past_space() == Some(')') {
            let what = format!("{word} needs {what}: {word}({count}, {by})");
            return Err(PlacementError::new(self.place..self.place + 1, what));
        }
        self.expect_character(',', &format!("and {what}")).map_err(formed)?;
        let level = pattern.map(|_| self.level_argument()).transpose().map_err(formed)?;
        self.peek_past_space();
        let at = self.place;
        if level.is_none() && !self.word_text().eq_ignore_ascii_case(WORTH) {
            return Err(formed(PlacementError::new(at..at + self.word_text().len(), format!("expected {WORTH}"))));
        }
        self.place += if level.is_none() { WORTH.len() } else { 0 };
        let among = self.parse_pool()?;
        self.expect_character(')', "to close \"(\"").map_err(formed)?;
        let node = match pattern.zip(level) {
            Some((pattern, level)) => TermNode::Pattern { pattern, count, level, among },
            None => TermNode::Best { count, among },
        };
        Ok(ExpressionTerm { node, at: start..self.place })
    }

    /// Reads the cpus to choose from, if given.
    fn parse_pool(&mut self) -> Result<Option<Box<ExpressionTerm>>> {
        if self.peek_past_space() != Some(',') {
            return Ok(None);
        }
        self.place += 1;
        Ok(Some(Box::new(self.parse_chain()?)))
    }

    fn parse_count(&mut self) -> Result<u32> {
        self.peek_past_space();
        let start = self.place;
        let count = self.parse_number("how many cpus")?;
        if count == 0 {
            return Err(PlacementError::new(start..self.place, "a pattern needs at least one cpu"));
        }
        Ok(count)
    }

    fn level_argument(&mut self) -> Result<Level> {
        self.peek_past_space();
        let (start, text) = (self.place, self.word_text());
        let at = start..start + text.chars().count();
        match words::find_word(&text) {
            Some(LanguageWord::Level(level)) => {
                self.place = at.end;
                Ok(level)
            }
            _ => {
                let levels = Level::ALL.map(Level::word).join(", ");
                let error = PlacementError::new(at, format!("expected a level: one of {levels}"));
                Err(words::suggest_word(&text).into_iter().fold(error, PlacementError::with_hint))
            }
        }
    }

    /// Reads `near(eth0)`, `near(pci:0000:41:00.0)` from the parenthesis on. A device's name may hold any character but a parenthesis.
    pub(super) fn parse_near(&mut self, start: usize) -> Result<ExpressionTerm> {
        let formed = |error: PlacementError| {
            error.with_hint(format!("write {NEAR}(eth0), {NEAR}(nvme0n1), {NEAR}(pci:0000:41:00.0) or {NEAR}(gpu:0)"))
        };
        self.expect_character('(', "and a device").map_err(formed)?;
        self.peek_past_space();
        let begin = self.place;
        let name: String = self.characters[begin..].iter().take_while(|c| !matches!(c, '(' | ')')).collect();
        self.place += name.chars().count();
        let name = name.trim_end();
        if name.is_empty() {
            return Err(formed(PlacementError::new(begin..begin + 1, format!("{NEAR} needs a device"))));
        }
        self.expect_character(')', "to close \"(\"").map_err(formed)?;
        Ok(ExpressionTerm { node: TermNode::Near(name.to_owned()), at: start..self.place })
    }
}
