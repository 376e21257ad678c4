//! Variants of a program: what stands in its command in place of a placeholder, or what is set in its environment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Placeholder for a variant's text in the words of a command and in the scripts of services.
pub const VARIANT_PLACE: &str = "{variant}";
/// Environment variable with the name of a run's variant, for the program and for scripts.
pub const VARIANT_VARIABLE: &str = "COREWISE_VARIANT";

/// Characters that mean something to a shell, besides quotes and spaces.
const OF_SHELL: &str = "|&;<>()$`*?[#~\n\\!";

/// A variant of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandVariant {
    /// Its name: "old".
    pub name: String,
    /// Text in place of `{variant}` in the command: a part of it, or a whole command line. Without the placeholder, variables of
    /// the environment with their values: "CC=gcc".
    pub text: String,
}

/// Reason why variants cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VariantError {
    /// The text has no name.
    #[error("expected NAME=COMMAND, found \"{0}\"")]
    NoName(String),
    /// Only one variant is given.
    #[error("there is only one variant: two or more are compared")]
    OnlyOne,
    /// Two variants have one name.
    #[error("two variants are named \"{0}\"")]
    SameName(String),
    /// A variant of a command without the placeholder is no list of variables.
    #[error("the command has no {VARIANT_PLACE}, and \"{0}\" sets no variables of its environment")]
    NoPlace(String),
}

impl CommandVariant {
    /// Parses a variant as it is typed, NAME=TEXT; a name alone is its own text.
    ///
    /// # Errors
    /// [`VariantError::NoName`].
    pub fn parse(typed: &str) -> Result<Self, VariantError> {
        let (name, text) = typed.split_once('=').unwrap_or((typed, typed));
        match name.trim() {
            "" => Err(VariantError::NoName(typed.to_owned())),
            name => Ok(Self { name: name.to_owned(), text: text.trim().to_owned() }),
        }
    }

    /// Returns the variant as it is typed.
    pub fn typed_text(&self) -> String {
        format!("{}={}", self.name, self.text)
    }

    /// Returns the words of a command with its text in place of the placeholder. A command that is only the placeholder becomes the
    /// whole command line: its words, or a shell with it if it needs one.
    pub fn fill_command(&self, command: &[String]) -> Vec<String> {
        match command {
            [only] if only == VARIANT_PLACE => self.split_command(),
            words => words.iter().map(|word| self.fill_text(word)).collect(),
        }
    }

    /// Returns a script or a word with its text in place of the placeholder.
    pub fn fill_text(&self, text: &str) -> String {
        text.replace(VARIANT_PLACE, &self.text)
    }

    fn split_command(&self) -> Vec<String> {
        let words = shlex::split(&self.text).filter(|words| !words.is_empty() && !self.text.contains(is_of_shell));
        let is_plain = |words: &Vec<String>| parse_assignment(&words[0]).is_none();
        words.filter(is_plain).unwrap_or_else(|| vec!["sh".to_owned(), "-c".to_owned(), self.text.clone()])
    }

    /// Returns the variables that it sets; `None` if its text is something else.
    pub fn list_assignments(&self) -> Option<Vec<(String, String)>> {
        shlex::split(&self.text)?.iter().map(|word| parse_assignment(word)).collect()
    }
}

/// Checks variants of a command. `has_place` is true if its words, or its services' scripts, have the placeholder.
///
/// # Errors
/// The first [`VariantError`].
pub fn check_variants(variants: &[CommandVariant], has_place: bool) -> Result<(), VariantError> {
    if variants.len() == 1 {
        return Err(VariantError::OnlyOne);
    }
    for (at, variant) in variants.iter().enumerate() {
        if variants[..at].iter().any(|other| other.name == variant.name) {
            return Err(VariantError::SameName(variant.name.clone()));
        }
        if !has_place && variant.list_assignments().is_none() {
            return Err(VariantError::NoPlace(variant.text.clone()));
        }
    }
    Ok(())
}

fn is_of_shell(character: char) -> bool {
    OF_SHELL.contains(character)
}

/// Parses a word such as "CC=gcc"; `None` if no name of a variable stands before its first "=".
fn parse_assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_set = is_name(name) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    is_set.then(|| (name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(typed: &str, command: &[&str]) -> Vec<String> {
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        CommandVariant::parse(typed).unwrap().fill_command(&command)
    }

    #[test]
    fn a_whole_command_runs_without_a_shell_unless_it_needs_one() {
        let whole = |typed: &str| filled(typed, &[VARIANT_PLACE]);
        assert_eq!(whole("old=./a.out -n 3"), ["./a.out", "-n", "3"]);
        assert_eq!(whole("old='./a b' \"x y\" --set=1"), ["./a b", "x y", "--set=1"]);
        for text in ["a | b", "A=1 ./a", "cd x && ./a", "echo $HOME", "./a > /dev/null", "ls *.c", "./a 'unclosed", ""]
        {
            assert_eq!(whole(&format!("v={text}")), ["sh", "-c", text], "{text}");
        }
    }

    #[test]
    fn a_part_of_a_command_stands_where_the_placeholder_is() {
        assert_eq!(filled("gcc", &["make", "CC={variant}", "{variant}.o"]), ["make", "CC=gcc", "gcc.o"]);
        assert_eq!(filled("fast=-O3 -g", &["cc", "{variant}"]), ["cc", "-O3 -g"], "one word stays one");
        assert_eq!(filled("a=B=1", &["./x"]), ["./x"]);
    }

    #[test]
    fn variables_are_read_and_nothing_else_is() {
        let of = |text: &str| CommandVariant { name: "v".to_owned(), text: text.to_owned() }.list_assignments();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(of("A=1 _B2='two words'"), Some(vec![pair("A", "1"), pair("_B2", "two words")]));
        assert_eq!(of(""), Some(Vec::new()), "the program as it is");
        assert_eq!([of("./a"), of("A=1 ./a"), of("2A=1"), of("=1"), of("A='")], [None, None, None, None, None]);
    }

    #[test]
    fn what_cannot_be_compared_is_named() {
        let all = |typed: &[&str]| typed.iter().map(|typed| CommandVariant::parse(typed).unwrap()).collect::<Vec<_>>();
        assert_eq!(check_variants(&all(&["a=x"]), true), Err(VariantError::OnlyOne));
        assert_eq!(check_variants(&all(&["a=x", "b=y", "a=z"]), true), Err(VariantError::SameName("a".to_owned())));
        assert_eq!(check_variants(&all(&["a=x", "b=y"]), false), Err(VariantError::NoPlace("x".to_owned())));
        assert_eq!(check_variants(&all(&["a=", "b=X=1"]), false), Ok(()));
        assert_eq!(CommandVariant::parse(" =x"), Err(VariantError::NoName(" =x".to_owned())));
    }
}
