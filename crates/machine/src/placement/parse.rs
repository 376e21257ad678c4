//! Parser of the placement language.

mod arguments;

use std::ops::Range;
use std::str::FromStr;

use super::expression::{ExpressionTerm, TermNode};
use super::words::{self, LanguageWord};
use super::{ObjectIndices, PlacementError, PlacementExpression, SetOperator};
use crate::cpu_set::MAXIMUM_CPU;
use crate::{CpuSet, Level};

/// Maximum length of a text, in characters.
const LONGEST_TEXT: usize = 65_536;
/// Maximum nesting of terms.
const DEEPEST: usize = 64;
/// Maximum terms of an expression, including objects behind a dot.
const MOST_TERMS: usize = 1024;
/// Maximum numbers in the lists of an expression, including repeated ones.
const MOST_NUMBERS: usize = 1 << 20;

type Result<T> = std::result::Result<T, PlacementError>;

/// Parses a text of the placement language.
///
/// # Errors
/// [`PlacementError`] with the character of the first mistake, the expected text, and a suggestion. Whether the cpus and objects exist is
/// checked by [`PlacementExpression::resolve_on`].
///
/// # Examples
/// ```
/// use corewise_machine::placement;
///
/// assert_eq!(placement::parse("all-core:0")?.to_string(), "all - core:0");
/// assert_eq!(placement::parse("6,2")?.plain_cpus(), Some(vec![6, 2]));
/// let error = placement::parse("all - cores:0").unwrap_err();
/// assert_eq!(error.at, 6..11);
/// # Ok::<(), placement::PlacementError>(())
/// ```
pub fn parse(text: &str) -> Result<PlacementExpression> {
    let mut parser = ExpressionParser { characters: text.chars().collect(), place: 0, depth: 0, terms: 0, numbers: 0 };
    parser
        .parse_whole()
        .map(|term| PlacementExpression { text: text.to_owned(), term })
        .map_err(|error| error.about_text(text))
}

impl FromStr for PlacementExpression {
    type Err = PlacementError;

    fn from_str(text: &str) -> Result<Self> {
        parse(text)
    }
}

struct ExpressionParser {
    characters: Vec<char>,
    place: usize,
    depth: usize,
    /// Number of terms read.
    terms: usize,
    /// Number of list entries read.
    numbers: usize,
}

impl ExpressionParser {
    fn parse_whole(&mut self) -> Result<ExpressionTerm> {
        if self.characters.len() > LONGEST_TEXT {
            return Err(PlacementError::new(0..0, format!("the expression is longer than {LONGEST_TEXT} characters")));
        }
        if self.peek_past_space().is_none() {
            return Err(PlacementError::new(self.place..self.place, "the expression is empty").with_hint(EXAMPLES));
        }
        let term = self.parse_chain()?;
        match self.peek_past_space() {
            None => Ok(term),
            Some(found) => Err(self.unexpected_after_term(found, &term)),
        }
    }

    /// Reads terms joined by operators.
    fn parse_chain(&mut self) -> Result<ExpressionTerm> {
        let first = self.parse_term()?;
        let mut rest: Vec<(SetOperator, ExpressionTerm)> = Vec::new();
        while let Some(operator) = self.parse_operator() {
            let at = self.place;
            self.place += 1;
            let term = self.parse_term()?;
            let before = rest.last().map_or(&first, |(_, term)| term);
            self.refuse_spaced_range(before, operator, at, &term)?;
            rest.push((operator, term));
        }
        let Some((_, last)) = rest.last() else { return Ok(first) };
        let at = first.at.start..last.at.end;
        Ok(ExpressionTerm { node: TermNode::Chain(Box::new(first), rest), at })
    }

    fn parse_operator(&mut self) -> Option<SetOperator> {
        let found = self.peek_past_space()?;
        SetOperator::ALL.into_iter().find(|operator| operator.symbol() == found)
    }

    /// Refuses `0 - 3`, which could be the range or cpu 0 without cpu 3; `0-7 - 3` and `(0) - 3` cannot.
    fn refuse_spaced_range(
        &self,
        before: &ExpressionTerm,
        operator: SetOperator,
        minus: usize,
        after: &ExpressionTerm,
    ) -> Result<()> {
        let text = |at: &Range<usize>| self.characters[at.clone()].iter().collect::<String>();
        let (left, right) = (text(&before.at), text(&after.at));
        let lists = matches!((&before.node, &after.node), (TermNode::List(_), TermNode::List(_)));
        let number = left.rsplit(',').next().is_some_and(|piece| piece.trim().chars().all(|c| c.is_ascii_digit()));
        if operator != SetOperator::Without || !lists || !number || !right.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(());
        }
        let what = "this is ambiguous: a range, or one list without another";
        let hint = format!("write {left}-{right} for the range, or ({left}) - {right} for without");
        Err(PlacementError::new(minus..minus + 1, what).with_hint(hint))
    }

    /// Reads one term, with the objects after its dots.
    fn parse_term(&mut self) -> Result<ExpressionTerm> {
        self.depth += 1;
        if self.depth > DEEPEST {
            let at = self.place..self.place;
            return Err(PlacementError::new(at, format!("more than {DEEPEST} nested terms")));
        }
        self.peek_past_space();
        self.count_term()?;
        let mut term = self.simple_term()?;
        let mut dots = 0;
        while self.characters.get(self.place) == Some(&'.') {
            dots += 1;
            if self.depth + dots > DEEPEST {
                let at = self.place..self.place;
                return Err(PlacementError::new(at, format!("more than {DEEPEST} nested terms")));
            }
            self.place += 1;
            self.count_term()?;
            let (start, level, word) = self.level_after_dot()?;
            term = self.parse_objects(Some(Box::new(term)), level, start, &word)?;
        }
        self.depth -= 1;
        Ok(term)
    }

    /// Counts the term that begins here.
    fn count_term(&mut self) -> Result<()> {
        self.terms += 1;
        if self.terms <= MOST_TERMS {
            return Ok(());
        }
        let at = self.place..(self.place + 1).min(self.characters.len());
        Err(PlacementError::new(at, format!("an expression has at most {MOST_TERMS} terms, and another begins here")))
    }

    fn simple_term(&mut self) -> Result<ExpressionTerm> {
        let found = self.peek_past_space();
        let start = self.place;
        match found {
            Some('(') => {
                self.place += 1;
                let inner = self.parse_chain()?;
                self.expect_character(')', "to close \"(\"")?;
                Ok(ExpressionTerm { node: inner.node, at: start..self.place })
            }
            Some('!') => {
                self.place += 1;
                let inner = self.parse_term()?;
                Ok(ExpressionTerm { node: TermNode::Not(Box::new(inner)), at: start..self.place })
            }
            Some('0') if matches!(self.characters.get(start + 1), Some('x' | 'X')) => self.parse_mask(),
            Some(c) if c.is_ascii_digit() => {
                let numbers = self.parse_numbers("a cpu number")?;
                Ok(ExpressionTerm { node: TermNode::List(numbers), at: start..self.place })
            }
            Some(c) if c.is_ascii_alphabetic() => self.word_term(),
            Some(c) => Err(self.no_term(c)),
            None => Err(PlacementError::new(start..start, format!("the expression ends, but {TERM} was expected"))),
        }
    }

    fn no_term(&self, found: char) -> PlacementError {
        let error = PlacementError::new(
            self.place..self.place + 1,
            format!("expected {TERM}, found {}", quote_character(found)),
        );
        match found {
            '~' | '^' => error.with_hint("without is written as all - x, or !x"),
            '{' => error.with_hint("a list has no braces: 0-3,8"),
            '-' => error.with_hint("without is written between two terms: all - 0"),
            ':' | '.' => error.with_hint("a level's name comes first: llc:0"),
            _ => error,
        }
    }

    /// Reads a term that begins with a letter: a name, a level with an index, or a pattern.
    fn word_term(&mut self) -> Result<ExpressionTerm> {
        let (start, text) = (self.place, self.word_text());
        let Some((length, word)) = words::longest_word(&text) else {
            let at = start..start + text.chars().count();
            let error = PlacementError::new(at, format!("unknown word \"{text}\""));
            let known = || format!("the words are {}", words::all_words().join(", "));
            return Err(error.with_hint(words::suggest_word(&text).unwrap_or_else(known)));
        };
        self.place = start + length;
        match word {
            LanguageWord::Name(name) => {
                if self.characters.get(self.place) == Some(&':') {
                    let what = format!("\"{}\" is a name, not a level, and takes no index", name.word());
                    let hint = format!("the levels are {}", Level::ALL.map(Level::word).join(", "));
                    return Err(PlacementError::new(self.place..self.place + 1, what).with_hint(hint));
                }
                Ok(ExpressionTerm { node: TermNode::Name(name), at: start..self.place })
            }
            LanguageWord::Level(level) => self.parse_objects(None, level, start, &text[..length]),
            LanguageWord::Pattern(pattern) => self.parse_choice(Some(pattern), start),
            LanguageWord::Best => self.parse_choice(None, start),
            LanguageWord::Near => self.parse_near(start),
        }
    }

    /// Returns the word that begins here, including hyphens and digits.
    fn word_text(&self) -> String {
        let rest = &self.characters[self.place..];
        rest.iter().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')).collect()
    }

    fn level_after_dot(&mut self) -> Result<(usize, Level, String)> {
        let (start, text) = (self.place, self.word_text());
        if let Some((length, LanguageWord::Level(level))) = words::longest_word(&text) {
            self.place = start + length;
            return Ok((start, level, text[..length].to_owned()));
        }
        let at = start..start + text.chars().count();
        let what = "expected a level after the dot, such as core:0";
        let hint =
            words::suggest_word(&text).unwrap_or_else(|| "llc:1.core:0-3 is the first four cores of llc:1".into());
        Err(PlacementError::new(at, what).with_hint(hint))
    }

    fn parse_objects(
        &mut self,
        of: Option<Box<ExpressionTerm>>,
        level: Level,
        start: usize,
        word: &str,
    ) -> Result<ExpressionTerm> {
        if self.characters.get(self.place) != Some(&':') {
            let what = format!("\"{word}\" is a level and needs an index");
            let hint = format!("{level}:0 is the first, {level}:0-3 are the first four, {level}:all are all");
            return Err(PlacementError::new(start..self.place, what).with_hint(hint));
        }
        self.place += 1;
        let indices = self.parse_indices(level)?;
        let start = of.as_ref().map_or(start, |of| of.at.start);
        Ok(ExpressionTerm { node: TermNode::Objects { of, level, indices }, at: start..self.place })
    }

    fn parse_indices(&mut self, level: Level) -> Result<ObjectIndices> {
        let start = self.place;
        if self.characters.get(start).is_some_and(char::is_ascii_digit) {
            return self.parse_numbers("an index").map(ObjectIndices::Numbers);
        }
        let word: String = self.characters[start..].iter().take_while(|c| c.is_ascii_alphabetic()).collect();
        if let Some(indices) = ObjectIndices::of_word(&word) {
            self.place += word.len();
            return Ok(indices);
        }
        let at = start..(start + word.len()).max(start);
        let what = format!("expected an index after \"{level}:\", such as 0, 0-3, 0,2, all, even, odd or last");
        Err(PlacementError::new(at, what))
    }

    fn parse_mask(&mut self) -> Result<ExpressionTerm> {
        let start = self.place;
        self.place += 2;
        let rest = &self.characters[self.place..];
        let hexadecimal = |c: &&char| c.is_ascii_hexdigit() || **c == '_';
        let mut length = rest.iter().take_while(hexadecimal).count();
        // The kernel writes groups of eight digits: 0xff,ffffffff.
        while rest.get(length) == Some(&',') && rest[length + 1..].iter().take_while(hexadecimal).count() == 8 {
            length += 9;
        }
        let digits: String = rest[..length].iter().collect();
        self.place += length;
        let at = start..self.place;
        if !digits.contains(|c: char| c.is_ascii_hexdigit()) {
            return Err(PlacementError::new(at, "expected hexadecimal digits after 0x"));
        }
        if self.characters.get(self.place).is_some_and(char::is_ascii_alphanumeric) {
            let at = self.place..self.place + 1;
            return Err(PlacementError::new(
                at,
                format!("{} is not a hexadecimal digit", quote_character(self.characters[self.place])),
            ));
        }
        let cpus = CpuSet::parse_mask(&digits).map_err(|error| PlacementError::new(at.clone(), error.to_string()))?;
        Ok(ExpressionTerm { node: TermNode::Mask(cpus), at })
    }

    /// Reads a list: numbers, ranges, ranges with a stride (`0-31:2`, and the kernel's `0-31:2/8`); each number once.
    fn parse_numbers(&mut self, what: &str) -> Result<Vec<u32>> {
        let mut seen = CpuSet::new();
        let mut numbers = Vec::new();
        loop {
            let start = self.place;
            let piece = self.parse_range(what)?;
            self.numbers += piece.len();
            if self.numbers > MOST_NUMBERS {
                let what = "with these the expression names more than a million numbers, with many repetitions";
                return Err(PlacementError::new(start..self.place, what));
            }
            numbers.extend(piece.into_iter().filter(|number| seen.insert(*number)));
            let end = self.place;
            if self.peek_past_space() != Some(',') || !self.continues_list() {
                self.place = end;
                return Ok(numbers);
            }
        }
    }

    /// Skips the comma of a list; a comma that ends an argument stays.
    fn continues_list(&mut self) -> bool {
        let spaces = self.characters[self.place + 1..].iter().take_while(|c| c.is_whitespace()).count();
        let next = self.place + 1 + spaces;
        let digit = self.characters.get(next).is_some_and(char::is_ascii_digit);
        if digit {
            self.place = next;
        }
        digit
    }

    fn parse_range(&mut self, what: &str) -> Result<Vec<u32>> {
        let start = self.place;
        let first = self.parse_number(what)?;
        if !self.follows_digit('-') {
            return Ok(vec![first]);
        }
        self.place += 1;
        let last = self.parse_number(what)?;
        if last < first {
            let what = format!("the range {first}-{last} ends before it begins");
            let error = PlacementError::new(start..self.place, what);
            return Err(error.with_hint(suggest_rising_range(first, last)));
        }
        let (mut stride, mut group) = (1, 1);
        if self.follows_digit(':') {
            self.place += 1;
            stride = self.parse_number("a stride")?;
            if self.follows_digit('/') {
                self.place += 1;
                group = stride;
                stride = self.parse_number("the length of a group")?;
            }
        }
        if stride == 0 || group == 0 || group > stride {
            let what = "a stride is at least 1, and a group no larger than its stride";
            return Err(PlacementError::new(start..self.place, what));
        }
        if self.follows_digit('-') {
            let hint = "for without, put spaces around the minus: 0-7 - 3";
            return Err(PlacementError::new(self.place..self.place + 1, "a range has only one minus").with_hint(hint));
        }
        Ok((first..=last).filter(|number| (number - first) % stride < group).collect())
    }

    fn follows_digit(&self, sign: char) -> bool {
        self.characters.get(self.place) == Some(&sign)
            && self.characters.get(self.place + 1).is_some_and(char::is_ascii_digit)
    }

    fn parse_number(&mut self, what: &str) -> Result<u32> {
        let start = self.place;
        let digits: String = self.characters[start..].iter().take_while(|c| c.is_ascii_digit()).collect();
        self.place += digits.len();
        let at = start..self.place;
        if digits.is_empty() {
            let found = self.characters.get(start).map_or("the end".to_owned(), |c| quote_character(*c));
            return Err(PlacementError::new(start..start + 1, format!("expected {what}, found {found}")));
        }
        let Some(number) = digits.parse().ok().filter(|number| *number <= MAXIMUM_CPU) else {
            return Err(PlacementError::new(
                at,
                format!("{digits} is above {MAXIMUM_CPU}, the largest supported number"),
            ));
        };
        if let Some(letter) = self.characters.get(self.place).filter(|c| c.is_ascii_alphabetic()) {
            let word = self.word_text();
            let error =
                PlacementError::new(self.place..self.place + 1, format!("{} is not a digit", quote_character(*letter)));
            let hexadecimal = word.chars().all(|c| c.is_ascii_hexdigit());
            return Err(if hexadecimal { error.with_hint(format!("a mask has 0x: 0x{digits}{word}")) } else { error });
        }
        Ok(number)
    }

    fn expect_character(&mut self, wanted: char, meaning: &str) -> Result<()> {
        if self.peek_past_space() == Some(wanted) {
            self.place += 1;
            return Ok(());
        }
        let found = self.characters.get(self.place).map_or("the end".to_owned(), |c| quote_character(*c));
        let at = self.place..(self.place + 1).min(self.characters.len());
        Err(PlacementError::new(at, format!("expected \"{wanted}\" {meaning}; found {found}")))
    }

    fn unexpected_after_term(&self, found: char, term: &ExpressionTerm) -> PlacementError {
        let what = format!("expected +, - or & before another term, found {}", quote_character(found));
        let error = PlacementError::new(self.place..self.place + 1, what);
        match found {
            ',' if matches!(term.node, TermNode::List(_)) => {
                error.with_hint("a list continues with a number; join other terms with +")
            }
            ',' | ';' | '|' | '@' => error.with_hint("join terms with +"),
            ')' => error.with_hint("there is no \"(\" before it"),
            '/' | '\\' | '~' | '^' => error.with_hint("without is written as -"),
            c if c.is_ascii_alphanumeric() => self.second_word(error, term),
            _ => error,
        }
    }

    /// Suggests a correction for two adjacent words: a list, a mask, or terms with an operator.
    fn second_word(&self, error: PlacementError, term: &ExpressionTerm) -> PlacementError {
        let rest: String = self.characters[self.place..].iter().collect();
        let numbers = rest.chars().all(|c| c.is_ascii_digit() || c.is_whitespace() || matches!(c, '-' | ','));
        if matches!(term.node, TermNode::List(_)) && numbers {
            let first: String = self.characters[term.at.clone()].iter().collect();
            let numbers: Vec<&str> = rest.split([' ', ',', '\t', '\n']).filter(|number| !number.is_empty()).collect();
            return error.with_hint(format!("a list has commas: {first},{}", numbers.join(",")));
        }
        match self.word_text().chars().all(|c| c.is_ascii_hexdigit())
            && matches!(term.node, TermNode::List(_) | TermNode::Mask(_))
        {
            true => error.with_hint("a mask has 0x and no spaces: 0xfffc"),
            false => error.with_hint("join terms with +"),
        }
    }

    /// Skips white space; returns the next character.
    fn peek_past_space(&mut self) -> Option<char> {
        while self.characters.get(self.place).is_some_and(|c| c.is_whitespace()) {
            self.place += 1;
        }
        self.characters.get(self.place).copied()
    }
}

const TERM: &str = "a cpu list, a mask, a level with an index, a name or a pattern";
const EXAMPLES: &str = "for example: 0-3,8   0x55   llc:0   all - core:0   vcache - 0   spread(4, cluster)";

/// Suggests a correction of a descending range.
fn suggest_rising_range(first: u32, last: u32) -> String {
    let rising = format!("{last}-{first} is the range");
    if first - last >= 8 {
        return rising;
    }
    let list: Vec<String> = (last..=first).rev().map(|number| number.to_string()).collect();
    format!("{rising}; {} is a list in that order", list.join(","))
}

fn quote_character(found: char) -> String {
    if found.is_control() { format!("character {:#x}", found as u32) } else { format!("\"{found}\"") }
}
