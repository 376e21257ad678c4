//! A rule as it is written (TOML), and which processes it matches.

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::str::FromStr;

use corewise_machine::machine_file::line_of;
use corewise_machine::placement::Expression;
use corewise_machine::placement::memory::MemoryPolicy;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::evidence::Evidence;
use super::glob::Glob;
use super::process::Process;
use corewise_machine::vocabulary::{one_of, vocabulary};

/// A file of more rules is none.
const MOST_RULES: usize = 1_000;

/// A placement for the processes that match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name, which no other rule of the same user has.
    pub name: String,
    /// Which processes; all that is given must hold.
    #[serde(rename = "match")]
    pub matches: Match,
    /// On which cpus, in the placement language.
    pub on: Written<Expression>,
    /// Where threads with certain names belong, inside of `on`; the first that matches counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadRule>,
    /// The memory policy of what is launched by `corewise run --rule`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Written<MemoryPolicy>>,
    /// What is done about masks that others set.
    #[serde(default, skip_serializing_if = "is_default")]
    pub strength: Strength,
    /// Whether threads may get cpus that they did not have before, which somebody may have taken from them on purpose.
    #[serde(default, skip_serializing_if = "is_default")]
    pub widen: bool,
    /// What is done where the evidence does not count any more.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unproven: Unproven,
    /// Whether it is left out.
    #[serde(default, skip_serializing_if = "is_default")]
    pub disabled: bool,
    /// What proved it; absent for a rule that somebody believes in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

vocabulary! {
    /// The property of a process that a rule compares.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MatchField {
        Name "name": "the process's name, at most 15 bytes, which it may change";
        Exe "exe": "the file that it executes; another user's needs CAP_SYS_PTRACE, and `keep` says where that is missing";
        Argv "argv": "any of its words: for interpreters, Wine and Proton, whose file says nothing";
        User "user": "the name of its user, or the number if it has no name";
        Unit "unit": "its systemd unit; in a user's own service manager, that one";
        Cgroup "cgroup": "the path of its control group";
        Parent "parent": "the name of the process that started it";
    }
}

/// Which processes a rule is about. Each is a pattern for the whole text, and all that are given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Match {
    /// The process's name, at most 15 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Glob>,
    /// The file that it executes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exe: Option<Glob>,
    /// Any of its words: for interpreters and Wine, whose file says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Glob>,
    /// Its user, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<Glob>,
    /// Its systemd unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Glob>,
    /// Its control group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<Glob>,
    /// The name of the process that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Glob>,
}

/// Whether a process matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// All that is given holds.
    Yes,
    /// Something does not.
    No,
    /// All else holds, and the file that it executes cannot be read.
    Unreadable,
}

impl Match {
    /// Whether a process matches.
    pub fn fit(&self, process: &Process) -> Fit {
        let holds = |glob: &Option<Glob>, text: &str| glob.as_ref().is_none_or(|glob| glob.matches(text));
        let fits = holds(&self.name, &process.name)
            && holds(&self.user, &process.user)
            && holds(&self.unit, process.unit.as_deref().unwrap_or_default())
            && holds(&self.cgroup, &process.cgroup)
            && holds(&self.parent, &process.parent_name)
            && self.argv.as_ref().is_none_or(|glob| process.argv.iter().any(|word| glob.matches(word)));
        match (&self.exe, &process.exe) {
            _ if !fits => Fit::No,
            (None, _) => Fit::Yes,
            (Some(_), None) => Fit::Unreadable,
            // The kernel says so of a file that was replaced, as by an update, since it was executed.
            (Some(glob), Some(exe)) => match glob.matches(exe.strip_suffix(" (deleted)").unwrap_or(exe)) {
                true => Fit::Yes,
                false => Fit::No,
            },
        }
    }

    /// Each field as it is typed, "FIELD=PATTERN": what [`Match::of_texts`] reads.
    pub fn texts(&self) -> Vec<String> {
        self.given().map(|(field, glob)| format!("{field}={glob}")).collect()
    }

    /// What is given as "FIELD=PATTERN".
    ///
    /// # Errors
    /// Where a text has no "=", or there is no such field.
    pub fn of_texts(texts: &[String]) -> Result<Self, String> {
        let mut found = Self::default();
        for text in texts {
            let (field, glob) = text
                .split_once('=')
                .ok_or_else(|| format!("--match {text}: expected FIELD=PATTERN, such as 'exe=*/redis-server'"))?;
            found.set(field.trim(), Glob::new(glob))?;
        }
        Ok(found)
    }

    /// What is given, in the order of the fields.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &Glob)> {
        MatchField::ALL.into_iter().filter_map(|field| Some((field.word(), self.pattern(field)?)))
    }

    const fn pattern(&self, field: MatchField) -> Option<&Glob> {
        let pattern = match field {
            MatchField::Name => &self.name,
            MatchField::Exe => &self.exe,
            MatchField::Argv => &self.argv,
            MatchField::User => &self.user,
            MatchField::Unit => &self.unit,
            MatchField::Cgroup => &self.cgroup,
            MatchField::Parent => &self.parent,
        };
        pattern.as_ref()
    }

    const fn pattern_mut(&mut self, field: MatchField) -> &mut Option<Glob> {
        match field {
            MatchField::Name => &mut self.name,
            MatchField::Exe => &mut self.exe,
            MatchField::Argv => &mut self.argv,
            MatchField::User => &mut self.user,
            MatchField::Unit => &mut self.unit,
            MatchField::Cgroup => &mut self.cgroup,
            MatchField::Parent => &mut self.parent,
        }
    }

    pub(super) fn set(&mut self, field: &str, glob: Glob) -> Result<(), String> {
        let found = MatchField::ALL.into_iter().find(|known| known.word() == field).ok_or_else(|| {
            format!("a rule matches by {}, not by \"{field}\"", one_of(&MatchField::ALL.map(MatchField::word)))
        })?;
        *self.pattern_mut(found) = Some(glob);
        Ok(())
    }

    /// Whether only what the system vouches for can make a process match: names and words are chosen by whoever starts it.
    pub fn is_trustworthy(&self) -> bool {
        self.exe.is_some() || self.user.is_some() || self.unit.is_some() || self.cgroup.is_some()
    }
}

impl Display for Match {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.texts().join(" "))
    }
}

/// Where threads of a rule's processes belong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadRule {
    /// What their names look like.
    pub name: Glob,
    /// On which cpus.
    pub on: Written<Expression>,
}

/// What is done about masks that others set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strength {
    /// Nothing: each thread is placed once.
    Once,
    /// What stays inside the rule's cpus is left alone.
    #[default]
    Boundary,
    /// The rule's cpus, all of them and no other.
    Exact,
}

/// What is done with a rule whose evidence does not count any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unproven {
    /// It stays in force.
    #[default]
    Hold,
    /// Its processes are given back.
    Release,
}

/// A value that is written as a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written<T>(pub T);

impl<T: Display> Serialize for Written<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|error| D::Error::custom(format!("\"{text}\": {error}")))
    }
}

impl<T> JsonSchema for Written<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// Why a text is no file of rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct RulesError {
    /// The line where it is, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "rule")]
    rules: Vec<toml::Spanned<Rule>>,
}

/// Reads a file of rules, in their order.
///
/// # Errors
/// [`RulesError`] with the line: no TOML, keys or values that a rule does not have, two rules of one name, a rule that matches
/// everything.
pub fn rules(text: &str) -> Result<Vec<Rule>, RulesError> {
    let at = |offset: usize, what: String| RulesError { line: line_of(text, offset), what };
    let file: File = toml::from_str(text)
        .map_err(|error| at(error.span().map_or(0, |span| span.start), error.message().trim().to_owned()))?;
    let mut names = BTreeSet::new();
    for rule in &file.rules {
        let wrong = rule.get_ref().wrong().or_else(|| {
            let name = rule.get_ref().name.as_str();
            (!names.insert(name)).then(|| format!("another rule is named \"{name}\""))
        });
        if let Some(what) = wrong {
            return Err(at(rule.span().start, what));
        }
    }
    if file.rules.len() > MOST_RULES {
        return Err(at(0, format!("it has more than {MOST_RULES} rules")));
    }
    Ok(file.rules.into_iter().map(toml::Spanned::into_inner).collect())
}

impl Rule {
    /// A rule of these three, and all else as by default.
    pub fn new(name: String, matches: Match, on: Expression) -> Self {
        Self {
            name,
            matches,
            on: Written(on),
            threads: Vec::new(),
            memory: None,
            strength: Strength::default(),
            widen: false,
            unproven: Unproven::default(),
            disabled: false,
            evidence: None,
        }
    }

    /// Returns the expressions of its cpus and of its threads' cpus.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.threads.iter().map(|threads| &threads.on.0).chain([&self.on.0])
    }

    /// What is wrong with it, if anything.
    pub fn wrong(&self) -> Option<String> {
        let is_plain = |character: char| character.is_ascii_alphanumeric() || "._-@".contains(character);
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(is_plain) {
            return Some(format!("\"{}\" is no name of a rule: 1 to 64 letters, digits and . _ - @", self.name));
        }
        if self.matches.given().all(|(_, glob)| glob.text().chars().all(|character| character == '*')) {
            return Some(format!("rule {} would match every process", self.name));
        }
        let evidence = self.evidence.as_ref()?;
        let [low, high] = evidence.interval;
        let is_possible =
            low <= evidence.effect && evidence.effect <= high && (0.0..1.0).contains(&evidence.error_rate);
        (!is_possible).then(|| format!("the evidence of rule {} is impossible", self.name))
    }
}
