//! Parser of roles: `io=^io-:0,work=worker|pool:llc:0 - 0`.
//!
//! A role is `NAME=REGEX:EXPR`, and commas join roles. The regex ends at the first colon outside parentheses and brackets that has no
//! backslash before it, so a regex that matches a colon has `\:`. The expression ends before a comma that a name and `=` follow; an
//! expression never holds `=`. So every text has one meaning: `a=x:0,2,b=y:1` are two roles, the first on cpus 0 and 2.
//!
//! Roles declared elsewhere are placed by name alone, and each may have a memory policy: `server=node:0@bind:0, load=1`.

use regex_lite::Regex;

use super::memory::MemoryPolicy;
use super::{PlacementError, PlacementExpression, parse};

/// A role as typed; its cpus depend on the machine.
#[derive(Clone, Debug)]
pub struct TypedRole {
    /// The user's name for it.
    pub name: String,
    /// Pattern of its threads' names, as typed.
    pub pattern: String,
    /// The same pattern, to be matched anywhere in a name.
    pub regex: Regex,
    /// Placement of its threads.
    pub expression: PlacementExpression,
}

/// Patterns are compared as text.
impl PartialEq for TypedRole {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.pattern, &self.expression) == (&other.name, &other.pattern, &other.expression)
    }
}

const FORM: &str = "a role is NAME=REGEX:EXPR, as in 'io=^io-:0,work=worker:2-7'";

/// Placement of a role that is declared elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedRole {
    /// Name of the role.
    pub name: String,
    /// Its cpus.
    pub expression: PlacementExpression,
    /// Its memory policy; `None` keeps the current one.
    pub memory: Option<MemoryPolicy>,
}

const FORM_OF_PLACED: &str =
    "placements of roles are NAME=EXPR or NAME=EXPR@MEMORY, as in 'server=node:0@bind:0, load=1'";

type Result<T> = std::result::Result<T, PlacementError>;

/// Parses roles.
///
/// # Errors
/// [`PlacementError`] with the wrong characters.
///
/// # Examples
/// ```
/// use corewise_machine::placement::roles::parse_roles;
///
/// let roles = parse_roles("io=^io-:0,2, work=worker|pool:llc:0 - 0")?;
/// assert_eq!((roles[0].name.as_str(), roles[0].expression.plain_cpus()), ("io", Some(vec![0, 2])));
/// assert!(roles[1].regex.is_match("pool-3") && !roles[0].regex.is_match("pool-3"));
/// # Ok::<(), corewise_machine::placement::PlacementError>(())
/// ```
pub fn parse_roles(text: &str) -> Result<Vec<TypedRole>> {
    let mut reader = RoleParser { text: text.chars().collect(), place: 0 };
    reader.read_roles().map_err(|error| error.about_text(text))
}

/// Parses placements of roles.
///
/// # Errors
/// [`PlacementError`] with the wrong characters.
pub fn placed_roles(text: &str) -> Result<Vec<PlacedRole>> {
    let mut reader = RoleParser { text: text.chars().collect(), place: 0 };
    reader.skip_space();
    reader.read_all(RoleParser::placed_role, |role| &role.name).map_err(|error| error.about_text(text))
}

struct RoleParser {
    text: Vec<char>,
    place: usize,
}

impl RoleParser {
    fn read_roles(&mut self) -> Result<Vec<TypedRole>> {
        self.read_all(Self::read_role, |role| &role.name)
    }

    /// Reads one role after the other; no two have the same name.
    fn read_all<T>(&mut self, one: impl Fn(&mut Self) -> Result<T>, name: impl Fn(&T) -> &str) -> Result<Vec<T>> {
        let mut roles: Vec<T> = Vec::new();
        loop {
            let from = self.place;
            let role = one(self)?;
            if roles.iter().any(|known| name(known) == name(&role)) {
                let at = from..from + name(&role).chars().count();
                return Err(PlacementError::new(at, format!("two roles are named {}", name(&role))));
            }
            roles.push(role);
            if self.place >= self.text.len() {
                return Ok(roles);
            }
            // The comma.
            self.place += 1;
            self.skip_space();
        }
    }

    fn read_role(&mut self) -> Result<TypedRole> {
        let Some(equals) = name_end(&self.text[self.place..]) else {
            let found = self.place..self.text.len();
            return Err(PlacementError::new(found, "expected the name of a role and \"=\"").with_hint(FORM));
        };
        let name = self.slice_text(self.place..self.place + equals);
        let from = self.place + equals + 1;
        let to = self.regex_end(from)?;
        let pattern = self.slice_text(from..to);
        let regex = self.compile_regex(from, to, &pattern)?;
        self.place = self.expression_end(to + 1);
        let expression = parse(&self.slice_text(to + 1..self.place)).map_err(|mut error| {
            error.at = error.at.start + to + 1..error.at.end + to + 1;
            error
        })?;
        Ok(TypedRole { name, pattern, regex, expression })
    }

    fn placed_role(&mut self) -> Result<PlacedRole> {
        let Some(equals) = name_end(&self.text[self.place..]) else {
            let found = self.place..self.text.len();
            return Err(PlacementError::new(found, "expected the name of a role and \"=\"").with_hint(FORM_OF_PLACED));
        };
        let name = self.slice_text(self.place..self.place + equals);
        let from = self.place + equals + 1;
        self.place = self.expression_end(from);
        let memory_at = (from..self.place).find(|place| self.text[*place] == '@');
        let to = memory_at.unwrap_or(self.place);
        if self.slice_text(from..to).trim().eq_ignore_ascii_case("os") {
            let what = format!("{name} is left to the operating system if it is not named");
            return Err(PlacementError::new(from..to, what).with_hint("leave the role out, or name cpus: all"));
        }
        let expression = parse(&self.slice_text(from..to)).map_err(|mut error| {
            error.at = error.at.start + from..error.at.end + from;
            error
        })?;
        let memory = memory_at.map(|at| {
            let wrong = |error: super::memory::MemoryError| PlacementError::new(at + 1..self.place, error.to_string());
            self.slice_text(at + 1..self.place).trim().parse().map_err(wrong)
        });
        Ok(PlacedRole { name, expression, memory: memory.transpose()? })
    }

    fn compile_regex(&self, from: usize, to: usize, pattern: &str) -> Result<Regex> {
        if pattern.is_empty() {
            return Err(
                PlacementError::new(from..to, "expected a regular expression").with_hint("every name matches .*")
            );
        }
        Regex::new(pattern)
            .map_err(|error| PlacementError::new(from..to, format!("invalid regular expression: {error}")))
    }

    /// Returns the end of the regex that begins here: its colon.
    fn regex_end(&self, from: usize) -> Result<usize> {
        let (mut parentheses, mut brackets, mut place) = (0_u32, 0_u32, from);
        while let Some(&character) = self.text.get(place) {
            match character {
                '\\' => place += 1,
                '[' => {
                    brackets += 1;
                    place += self.literal_bracket(place + 1);
                }
                ']' => brackets = brackets.saturating_sub(1),
                '(' if brackets == 0 => parentheses += 1,
                ')' if brackets == 0 => parentheses = parentheses.saturating_sub(1),
                ':' if brackets == 0 && parentheses == 0 => return Ok(place),
                _ => {}
            }
            place += 1;
        }
        let at = from..self.text.len();
        Err(PlacementError::new(at, "expected a colon and cpus behind the regular expression").with_hint(FORM))
    }

    /// Returns the number of characters that belong to an opening bracket: a `^`, and a literal closing bracket.
    fn literal_bracket(&self, place: usize) -> usize {
        let caret = usize::from(self.text.get(place) == Some(&'^'));
        caret + usize::from(self.text.get(place + caret) == Some(&']'))
    }

    /// Returns the end of the expression that begins here: a comma before another role, or the end of the text.
    fn expression_end(&self, from: usize) -> usize {
        let begins_role = |place: &usize| {
            let rest = &self.text[place + 1..];
            let space = rest.iter().take_while(|character| character.is_whitespace()).count();
            self.text[*place] == ',' && name_end(&rest[space..]).is_some()
        };
        (from..self.text.len()).find(begins_role).unwrap_or(self.text.len())
    }

    fn skip_space(&mut self) {
        self.place += self.text[self.place..].iter().take_while(|character| character.is_whitespace()).count();
    }

    fn slice_text(&self, range: std::ops::Range<usize>) -> String {
        self.text[range].iter().collect()
    }
}

/// Returns the length of the name before a `=` that begins here, or `None`: letters, digits, `-` and `_`, a letter first.
fn name_end(text: &[char]) -> Option<usize> {
    let is_part = |character: &char| character.is_alphanumeric() || matches!(character, '-' | '_');
    let length = text.iter().take_while(|character| is_part(character)).count();
    let is_name = text.first().is_some_and(|first| first.is_alphabetic()) && text.get(length) == Some(&'=');
    is_name.then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken_apart(text: &str) -> Vec<[String; 3]> {
        let typed = |role: TypedRole| [role.name, role.pattern, role.expression.to_string()];
        parse_roles(text)
            .unwrap_or_else(|error| panic!("{text}: {error} at {:?}", error.at))
            .into_iter()
            .map(typed)
            .collect()
    }

    #[test]
    fn commas_and_colons_have_one_meaning() {
        for (text, expected) in [
            ("io=^io:0", vec![["io", "^io", "0"]]),
            ("io=^io:0,2,4", vec![["io", "^io", "0,2,4"]]),
            ("io=^io:0,2,work=w:1,3", vec![["io", "^io", "0,2"], ["work", "w", "1,3"]]),
            ("io=io:llc:0, work=w:node:1 - 4", vec![["io", "io", "llc:0"], ["work", "w", "node:1 - 4"]]),
            (
                "a=x:0-31:2,b=y:spread(2, llc, package:0)",
                vec![["a", "x", "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30"], ["b", "y", "spread(2, llc, package:0)"]],
            ),
            ("a=x{1,2}:0,b-2_x=y,c=z:1", vec![["a", "x{1,2}", "0"], ["b-2_x", "y,c=z", "1"]]),
            (r"a=tokio\:rt:0", vec![["a", r"tokio\:rt", "0"]]),
            ("a=[:]x:0", vec![["a", "[:]x", "0"]]),
            ("a=[]:]x:0", vec![["a", "[]:]x", "0"]]),
            ("a=[^]:]x:0", vec![["a", "[^]:]x", "0"]]),
            ("a=(?:x|y)z:core:1", vec![["a", "(?:x|y)z", "core:1"]]),
            (r"a=\(:0", vec![["a", r"\(", "0"]]),
            ("Ä=x:0x55", vec![["Ä", "x", "0x55"]]),
        ] {
            assert_eq!(taken_apart(text), expected, "{text}");
        }
    }

    #[test]
    fn roles_are_placed_by_name_with_their_memory() {
        let placed = |text: &str| {
            let each = |role: PlacedRole| {
                let memory = role.memory.map_or_else(String::new, |memory| memory.to_string());
                [role.name, role.expression.to_string(), memory]
            };
            placed_roles(text).map(|roles| roles.into_iter().map(each).collect::<Vec<_>>())
        };
        for (text, expected) in [
            ("server=0", vec![["server", "0", ""]]),
            (" server=0,2, load=1", vec![["server", "0,2", ""], ["load", "1", ""]]),
            (
                "server=llc:0@bind:0,1, load=all - llc:0",
                vec![["server", "llc:0", "bind:0,1"], ["load", "all - llc:0", ""]],
            ),
            ("a=spread(2, llc)@local,b=0", vec![["a", "spread(2, llc)", "local"], ["b", "0", ""]]),
        ] {
            assert_eq!(placed(text).unwrap(), expected, "{text}");
        }
        for (text, at, what) in [
            ("0-3", 0..3, "expected the name of a role and \"=\""),
            ("server=", 7..7, "the expression is empty"),
            ("server=0@bond:0", 9..15, "expected local, bind:NODES"),
            ("server=0, server=1", 10..16, "two roles are named server"),
            ("server=lcc:0", 7..10, ""),
            ("server=OS@local, load=1", 7..9, "server is left to the operating system if it is not named"),
        ] {
            let error = placed(text).unwrap_err();
            assert!(error.at == at && error.what.starts_with(what), "{text}: {error} at {:?}", error.at);
        }
    }

    #[test]
    fn mistakes_are_shown_where_they_are() {
        for (text, at, what) in [
            ("", 0..0, "expected the name of a role and \"=\""),
            ("0-3", 0..3, "expected the name of a role and \"=\""),
            ("io=io", 3..5, "expected a colon and cpus behind the regular expression"),
            ("io=(x:0", 3..7, "expected a colon and cpus behind the regular expression"),
            ("io=:0", 3..3, "expected a regular expression"),
            ("io=x:0,io=y:1", 7..9, "two roles are named io"),
            ("io=x:", 5..5, "the expression is empty"),
        ] {
            let error = parse_roles(text).unwrap_err();
            assert_eq!((error.at, error.what.as_str(), error.text.as_str()), (at, what, text), "{text}");
        }
        let error = parse_roles("io=x:0,work=y:lcc:0").unwrap_err();
        assert_eq!(error.at, 14..17, "a word that is not known is an error, not a part of the regex: {error}");
        let error = parse_roles("io=+x:0").unwrap_err();
        assert!(error.what.starts_with("invalid regular expression: "), "{error}");
        assert_eq!(error.at, 3..5);
    }
}
