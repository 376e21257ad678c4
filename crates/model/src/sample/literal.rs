//! A text that every match of a regular expression contains, searched for before the expression runs.

use std::iter::Peekable;
use std::str::Chars;

/// Returns the longest text that every match contains, or `None` if the expression has none outside of its groups.
///
/// The expression is a valid one of `regex-lite`. Groups, classes and alternatives are skipped.
pub fn required_literal(pattern: &str) -> Option<String> {
    let mut reader = LiteralReader { rest: pattern.chars().peekable(), run: String::new(), longest: String::new() };
    reader.read_all()?;
    (!reader.longest.is_empty()).then_some(reader.longest)
}

/// Reads an expression from its beginning; `None` from its methods means that no literal can be relied on.
struct LiteralReader<'a> {
    rest: Peekable<Chars<'a>>,
    /// Consecutive literal characters.
    run: String,
    longest: String,
}

impl LiteralReader<'_> {
    fn read_all(&mut self) -> Option<()> {
        while let Some(letter) = self.rest.next() {
            match letter {
                '|' => return None,
                '(' => self.pass_group()?,
                '[' => self.pass_class(),
                '\\' => self.read_escape()?,
                '?' | '*' | '+' | '{' => self.read_repetition(letter),
                '.' | '^' | '$' => self.end_run(),
                letter => self.run.push(letter),
            }
        }
        self.end_run();
        Some(())
    }

    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        if run.len() > self.longest.len() {
            self.longest = run;
        }
    }

    /// Reads the character after a backslash. Codes of characters are not decoded.
    fn read_escape(&mut self) -> Option<()> {
        match self.rest.next()? {
            't' => self.run.push('\t'),
            'x' | 'u' | 'U' => return None,
            letter if letter.is_alphanumeric() => self.end_run(),
            letter => self.run.push(letter),
        }
        Some(())
    }

    /// Reads a repetition, which applies only to the last character; that is optional if zero times are allowed.
    fn read_repetition(&mut self, sign: char) {
        let least: String =
            std::iter::from_fn(|| self.rest.next_if(|_| sign == '{').filter(|next| *next != '}')).collect();
        let least = least.split(',').next().unwrap_or_default().trim();
        let is_required = sign == '+' || least.parse::<u32>().is_ok_and(|least| least > 0);
        if !is_required {
            self.run.pop();
        }
        self.end_run();
    }

    /// Skips a group; `(?i)` and `(?x)` change the meaning of the rest.
    fn pass_group(&mut self) -> Option<()> {
        self.end_run();
        let flags = self.rest.next_if_eq(&'?').is_some();
        let (mut depth, mut words) = (1, String::new());
        while depth > 0 {
            match self.rest.next()? {
                '\\' => {
                    self.rest.next()?;
                }
                '[' => self.pass_class(),
                '(' => depth += 1,
                ')' => depth -= 1,
                letter => words.push(letter),
            }
        }
        let are_flags = flags && words.chars().all(|letter| letter.is_ascii_alphabetic() || letter == '-');
        if are_flags { None } else { Some(()) }
    }

    /// Skips a class of characters. A closing bracket that comes first is one of them.
    fn pass_class(&mut self) {
        self.end_run();
        self.rest.next_if_eq(&'^');
        self.rest.next_if_eq(&']');
        while let Some(letter) = self.rest.next() {
            match letter {
                ']' => return,
                '\\' => {
                    self.rest.next();
                }
                '[' if self.rest.next_if_eq(&':').is_some() => {
                    while self.rest.next().is_some_and(|letter| letter != ']') {}
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_longest_text_of_every_match_is_found() {
        let by_name = crate::metric_line::metric_pattern("p99.9 (read)");
        for (pattern, literal) in [
            (by_name.as_str(), "p99.9 (read)"),
            ("throughput=([0-9.]+) MB/s", "throughput="),
            (r"^took:\s+([0-9]+) milliseconds$", " milliseconds"),
            ("x=n:([0-9]+)", "x=n:"),
            ("a+bc?", "a"),
            ("abc{0,3}d", "ab"),
            ("abc{2}d", "abc"),
            (r"\[a\]\.\t(x)", "[a].\t"),
            ("(?:fps|rate): ([0-9]+)", ": "),
            ("[[:alpha:]]]x", "]x"),
            ("[]a-z]b", "b"),
            ("((a)(b))cd", "cd"),
        ] {
            assert!(regex_lite::Regex::new(pattern).is_ok(), "{pattern}");
            assert_eq!(required_literal(pattern).as_deref(), Some(literal), "{pattern}");
        }
        for pattern in ["([0-9]+)", "a|bc", "(?i)abc", "(?ix) a b", r"\x41b", r"\x{41}", "a?", ".*", "", r"\d+\b"] {
            assert!(regex_lite::Regex::new(pattern).is_ok(), "{pattern}");
            assert_eq!(required_literal(pattern), None, "{pattern}");
        }
    }

    /// An expression of a few parts, and a text that it may match.
    fn part() -> impl Strategy<Value = String> {
        let atom = prop_oneof![
            "[ab=:]{1,3}",
            Just(r"\.".to_owned()),
            Just("[a=]".to_owned()),
            Just("(a|b)".to_owned()),
            Just("(?:=b)".to_owned()),
            Just(".".to_owned()),
            Just(r"\w".to_owned()),
            Just("|".to_owned()),
            Just("(?i)".to_owned()),
        ];
        (atom, prop_oneof![4 => Just(""), 1 => Just("?"), 1 => Just("*"), 1 => Just("+?"), 1 => Just("{0,2}"), 1 => Just("{2}")])
            .prop_map(|(atom, repetition)| atom + repetition)
    }

    proptest! {
        #[test]
        fn no_match_is_without_its_literal(parts in prop::collection::vec(part(), 1..5), text in "[ab=:.A]{0,12}") {
            let pattern = parts.concat();
            if let Ok(regex) = regex_lite::Regex::new(&pattern)
                && let (Some(literal), true) = (required_literal(&pattern), regex.is_match(&text))
            {
                prop_assert!(text.contains(&literal), "{} matches {} without {}", pattern, text, literal);
            }
        }
    }
}
