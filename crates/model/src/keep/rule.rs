//! A rule as it is written (TOML), and its matching of processes.

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::str::FromStr;

use corewise_machine::machine_file::line_of;
use corewise_machine::placement::PlacementExpression;
use corewise_machine::placement::memory::MemoryPolicy;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::evidence::RuleEvidence;
use super::glob::GlobPattern;
use super::process::ObservedProcess;
use corewise_machine::vocabulary::{one_of, vocabulary};

/// Length of a process's name that the kernel keeps, in bytes (TASK_COMM_LEN without its end).
const LONGEST_NAME: usize = 15;
/// Maximum number of rules in a file.
const MOST_RULES: usize = 1_000;

/// A placement for the processes that match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name, unique among the rules of a user.
    pub name: String,
    /// Conditions on processes; all that are given must hold.
    #[serde(rename = "match")]
    pub matches: RuleMatch,
    /// Its cpus, in the placement language.
    pub on: WrittenValue<PlacementExpression>,
    /// Cpus of threads with certain names, within `on`; the first that matches counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadRule>,
    /// Memory policy of programs launched by `corewise run --rule`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<WrittenValue<MemoryPolicy>>,
    /// Reaction to masks that others set.
    #[serde(default, skip_serializing_if = "is_default")]
    pub strength: RuleStrength,
    /// True if threads may get cpus outside their original mask, which may have been restricted on purpose.
    #[serde(default, skip_serializing_if = "is_default")]
    pub widen: bool,
    /// Reaction to evidence that no longer counts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unproven: UnprovenPolicy,
    /// True if the rule is ignored.
    #[serde(default, skip_serializing_if = "is_default")]
    pub disabled: bool,
    /// The experiment that proved it; absent for a rule without proof.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<RuleEvidence>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

vocabulary! {
    /// The property of a process that a rule compares.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MatchField {
        Name "name": "the process's name, at most 15 bytes; the process can change it";
        Exe "exe": "the file that it executes; for another user's process this needs CAP_SYS_PTRACE, and `keep` says if that is missing. A rule of the system matches only if the path leads to the same file in the mount namespace of `keep run`";
        Argv "argv": "any one of its arguments; useful for interpreters, Wine and Proton, where `exe` is always the same";
        User "user": "the name of its user, or the number if it has no name";
        Unit "unit": "its systemd unit; for a user's service, the user unit in that user's rules, and `user@N.service` in the system's";
        Cgroup "cgroup": "the path of its control group; in rules of the system, only up to `user@N.service`";
        Parent "parent": "the name of the process that started it";
    }
}

/// Conditions on processes. Each is a pattern for the whole text, and all that are given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleMatch {
    /// The process's name, at most 15 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<GlobPattern>,
    /// The file that it executes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exe: Option<GlobPattern>,
    /// Any of its arguments: for interpreters and Wine, since their file is not specific.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<GlobPattern>,
    /// Its user, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<GlobPattern>,
    /// Its systemd unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<GlobPattern>,
    /// Its control group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<GlobPattern>,
    /// The name of the process that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<GlobPattern>,
}

/// Result of matching a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchFit {
    /// All given conditions hold.
    Yes,
    /// A condition does not hold.
    No,
    /// All other conditions hold, and the file that it executes cannot be read.
    Unreadable,
}

impl RuleMatch {
    /// Matches a process.
    pub fn fit_process(&self, process: &ObservedProcess) -> MatchFit {
        let holds = |glob: &Option<GlobPattern>, text: &str| glob.as_ref().is_none_or(|glob| glob.matches_text(text));
        let fits = holds(&self.name, &process.name)
            && holds(&self.user, &process.user)
            && holds(&self.unit, process.unit.as_deref().unwrap_or_default())
            && holds(&self.cgroup, process.matched_cgroup())
            && holds(&self.parent, &process.parent_name)
            && self.argv.as_ref().is_none_or(|glob| process.argv.iter().any(|word| glob.matches_text(word)));
        match (&self.exe, &process.exe) {
            _ if !fits => MatchFit::No,
            (None, _) => MatchFit::Yes,
            (Some(_), None) => MatchFit::Unreadable,
            (Some(_), Some(_)) if process.is_exe_elsewhere => MatchFit::No,
            // The kernel appends this to a file that was replaced after it was executed, as by an update.
            (Some(glob), Some(exe)) => match glob.matches_text(exe.strip_suffix(" (deleted)").unwrap_or(exe)) {
                true => MatchFit::Yes,
                false => MatchFit::No,
            },
        }
    }

    /// Says why no process can ever match, if a pattern cannot be what it is compared with, and what to write instead.
    pub fn explain_impossible(&self) -> Option<String> {
        let fixed = |glob: &Option<GlobPattern>| {
            glob.as_ref().map(GlobPattern::text).filter(|text| !text.contains(['*', '?', '\\'])).map(str::to_owned)
        };
        let bare = fixed(&self.exe).filter(|text| !text.contains('/'));
        let long = fixed(&self.name).filter(|text| text.len() > LONGEST_NAME);
        let of_exe = bare.map(|text| format!("exe is the whole path of a file, which {text} is not: exe=*/{text}"));
        of_exe
            .or(long
                .map(|text| format!("the kernel cuts names to {LONGEST_NAME} bytes, so none is {text}: exe=*/{text}")))
    }

    /// Returns each field as it is typed, "FIELD=PATTERN", the input of [`RuleMatch::of_texts`].
    pub fn field_texts(&self) -> Vec<String> {
        self.given_fields().map(|(field, glob)| format!("{field}={glob}")).collect()
    }

    /// Parses conditions of the form "FIELD=PATTERN".
    ///
    /// # Errors
    /// If a text has no "=", or if there is no such field.
    pub fn of_texts(texts: &[String]) -> Result<Self, String> {
        let mut found = Self::default();
        for text in texts {
            let (field, glob) = text
                .split_once('=')
                .ok_or_else(|| format!("--match {text}: expected FIELD=PATTERN, such as 'exe=*/redis-server'"))?;
            found.set_field(field.trim(), GlobPattern::new(glob))?;
        }
        Ok(found)
    }

    /// Returns the given patterns, in the order of the fields.
    pub fn given_fields(&self) -> impl Iterator<Item = (&'static str, &GlobPattern)> {
        MatchField::ALL.into_iter().filter_map(|field| Some((field.word(), self.pattern_of(field)?)))
    }

    const fn pattern_of(&self, field: MatchField) -> Option<&GlobPattern> {
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

    const fn pattern_mut(&mut self, field: MatchField) -> &mut Option<GlobPattern> {
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

    pub(super) fn set_field(&mut self, field: &str, glob: GlobPattern) -> Result<(), String> {
        let found = MatchField::ALL.into_iter().find(|known| known.word() == field).ok_or_else(|| {
            format!("a rule matches by {}, not by \"{field}\"", one_of(&MatchField::ALL.map(MatchField::word)))
        })?;
        *self.pattern_mut(found) = Some(glob);
        Ok(())
    }

    /// Returns true if it has a condition that the system guarantees and that names something: users choose names and
    /// arguments of their processes freely, and `user = "*"` is everybody.
    pub fn is_trustworthy(&self) -> bool {
        [&self.exe, &self.user, &self.unit, &self.cgroup].into_iter().flatten().any(|glob| !glob.is_vague())
    }
}

impl Display for RuleMatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.field_texts().join(" "))
    }
}

/// Placement of certain threads of a rule's processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadRule {
    /// Pattern of their names.
    pub name: GlobPattern,
    /// Their cpus.
    pub on: WrittenValue<PlacementExpression>,
}

/// Reaction to masks that others set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RuleStrength {
    /// Each thread is placed once, and later changes are left alone.
    Once,
    /// Masks within the rule's cpus are left alone.
    #[default]
    Boundary,
    /// The rule's cpus, all of them and no other.
    Exact,
}

/// Reaction to evidence that no longer counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnprovenPolicy {
    /// It stays in force.
    #[default]
    Hold,
    /// The masks of its processes are restored.
    Release,
}

/// A value that is written as a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenValue<T>(pub T);

impl<T: Display> Serialize for WrittenValue<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for WrittenValue<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|error| D::Error::custom(format!("\"{text}\": {error}")))
    }
}

impl<T> JsonSchema for WrittenValue<T> {
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

/// Reason why a text is not a valid rules file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct RulesError {
    /// The line of the error, counted from 1.
    pub line: usize,
    /// Description of the error.
    pub what: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesDocument {
    #[serde(default, rename = "rule")]
    rules: Vec<toml::Spanned<Rule>>,
}

/// Reads a rules file; rules keep their order.
///
/// # Errors
/// [`RulesError`] with the line: invalid TOML, unknown keys or values, two rules of one name, a rule that matches
/// everything.
pub fn parse_rules(text: &str) -> Result<Vec<Rule>, RulesError> {
    let at = |offset: usize, what: String| RulesError { line: line_of(text, offset), what };
    let file: RulesDocument = toml::from_str(text)
        .map_err(|error| at(error.span().map_or(0, |span| span.start), error.message().trim().to_owned()))?;
    let mut names = BTreeSet::new();
    for rule in &file.rules {
        let wrong = rule.get_ref().find_error().or_else(|| {
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
    /// Creates a rule of these three, with defaults for all else.
    pub fn new(name: String, matches: RuleMatch, on: PlacementExpression) -> Self {
        Self {
            name,
            matches,
            on: WrittenValue(on),
            threads: Vec::new(),
            memory: None,
            strength: RuleStrength::default(),
            widen: false,
            unproven: UnprovenPolicy::default(),
            disabled: false,
            evidence: None,
        }
    }

    /// Returns the expressions of its cpus and of its threads' cpus.
    pub fn placement_expressions(&self) -> impl Iterator<Item = &PlacementExpression> {
        self.threads.iter().map(|threads| &threads.on.0).chain([&self.on.0])
    }

    /// Returns the first problem of the rule, if any.
    pub fn find_error(&self) -> Option<String> {
        let is_plain = |character: char| character.is_ascii_alphanumeric() || "._-@".contains(character);
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(is_plain) {
            return Some(format!("\"{}\" is no name of a rule: 1 to 64 letters, digits and . _ - @", self.name));
        }
        if self.matches.given_fields().all(|(_, glob)| glob.is_vague()) {
            return Some(format!("rule {} would match every process", self.name));
        }
        let evidence = self.evidence.as_ref()?;
        let [low, high] = evidence.interval;
        let is_possible =
            low <= evidence.effect && evidence.effect <= high && (0.0..1.0).contains(&evidence.error_rate);
        (!is_possible).then(|| format!("the evidence of rule {} is impossible", self.name))
    }
}
