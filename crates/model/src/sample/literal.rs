//! The text that every match of a regular expression contains, for a check that costs less than the expression.

/// The longest text that each match contains; empty if none is known.
pub(super) fn required_literal(pattern: &str) -> String {
    // Flags may make letters match others, "\\x41" is a letter by its number, and a choice needs none of its parts.
    if has_flags(pattern) || [r"\x", r"\u", r"\U"].iter().any(|sign| pattern.contains(sign)) || has_choice(pattern) {
        return String::new();
    }
    let (mut longest, mut run) = (String::new(), String::new());
    let mut rest = pattern.chars().peekable();
    while let Some(next) = rest.next() {
        let literal = match next {
            '\\' => rest.next().filter(|escaped| escaped.is_ascii_punctuation()),
            '[' => skip_class(&mut rest),
            '(' => skip_group(&mut rest),
            '.' | '^' | '$' => None,
            '*' | '?' | '{' | '+' => {
                skip_counts(next, &mut rest);
                None
            }
            other => Some(other),
        };
        match literal {
            // What may be missing, or come several times, ends a run.
            Some(_) if rest.peek().is_some_and(|sign| "*?{+".contains(*sign)) => keep_longest(&mut longest, &mut run),
            Some(literal) => run.push(literal),
            None => keep_longest(&mut longest, &mut run),
        }
    }
    keep_longest(&mut longest, &mut run);
    longest
}

fn has_flags(pattern: &str) -> bool {
    pattern.split("(?").skip(1).any(|behind| !behind.starts_with([':', 'P', '<']))
}

fn keep_longest(longest: &mut String, run: &mut String) {
    let run = std::mem::take(run);
    if run.len() > longest.len() {
        *longest = run;
    }
}

type PatternRest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Whether a "|" stands outside of all groups and classes.
fn has_choice(pattern: &str) -> bool {
    let mut rest = pattern.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '\\' => drop(rest.next()),
            '[' => drop(skip_class(&mut rest)),
            '(' => drop(skip_group(&mut rest)),
            '|' => return true,
            _ => {}
        }
    }
    false
}

/// Passes over a class of characters, whose "[" was read.
fn skip_class(rest: &mut PatternRest<'_>) -> Option<char> {
    rest.next_if_eq(&'^');
    rest.next_if_eq(&']');
    while let Some(next) = rest.next() {
        match next {
            '\\' => drop(rest.next()),
            '[' => drop(skip_class(rest)),
            ']' => break,
            _ => {}
        }
    }
    None
}

/// Passes over a group, whose "(" was read.
fn skip_group(rest: &mut PatternRest<'_>) -> Option<char> {
    while let Some(next) = rest.next() {
        match next {
            '\\' => drop(rest.next()),
            '[' => drop(skip_class(rest)),
            '(' => drop(skip_group(rest)),
            ')' => break,
            _ => {}
        }
    }
    None
}

/// Passes over the counts of "{2,3}".
fn skip_counts(sign: char, rest: &mut PatternRest<'_>) {
    if sign == '{' {
        let _ = rest.find(|next| *next == '}');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_longest_text_that_must_be_there_is_found() {
        for (pattern, literal) in [
            ("fps=([0-9]+) frames", " frames"),
            (r"p99\.9: (\d+)", "p99.9: "),
            ("(?:a|b)Latency +([0-9]+)", "Latency"),
            ("real[0-9] *x?yz{2}w", "real"),
            ("a|bcd", ""),
            ("(?i)abc", ""),
            ("[]abc]def", "def"),
            ("([0-9]+)", ""),
        ] {
            assert_eq!(required_literal(pattern), literal, "{pattern}");
        }
        assert_eq!(required_literal(&crate::metric_line::pattern("p99.9_ns")), "p99.9_ns");
    }

    proptest! {
        /// No line that matches lacks the text.
        #[test]
        fn what_matches_contains_it(pattern in r"[ab.()|*+?\[\]{},2\\d^$-]{1,12}", lines in prop::collection::vec("[ab2d,]{0,8}", 1..20)) {
            if let Ok(regex) = regex_lite::Regex::new(&pattern) {
                let literal = required_literal(&pattern);
                for line in lines.iter().filter(|line| regex.is_match(line)) {
                    prop_assert!(line.contains(&literal), "{pattern:?} needs {literal:?}, and matches {line:?}");
                }
            }
        }
    }
}
