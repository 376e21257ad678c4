//! Edits of a rules file that preserve all other text, including comments.

use std::fmt::Write as _;

use super::evidence::RuleEvidence;
use super::rule::{Rule, RuleStrength, RulesError, UnprovenPolicy, parse_rules};
use crate::artifact::ArtifactOrigin;

/// Reason why a file was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It is not a valid rules file.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// It has no such rule.
    #[error("there is no rule {0}")]
    NoSuchRule(String),
    /// It has one already.
    #[error("there is a rule {0} already")]
    Exists(String),
    /// The rule is written in a way that this module cannot edit.
    #[error("rule {0} is not written as a table [[rule]] of its own: change the file by hand")]
    ByHand(String),
}

/// Returns the text with another rule at its end.
///
/// # Errors
/// If there is a rule of that name, or if the text is not a valid rules file.
pub fn add_rule(text: &str, rule: &Rule) -> Result<String, EditError> {
    let mut wanted = parse_rules(text)?;
    if wanted.iter().any(|known| known.name == rule.name) {
        return Err(EditError::Exists(rule.name.clone()));
    }
    wanted.push(rule.clone());
    with_its_ends(text, |text| {
        let gap = if text.is_empty() || text.ends_with("\n\n") { "" } else { "\n" };
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        check_edit(format!("{text}{end}{gap}{}", format_rule(rule)), &wanted, &rule.name)
    })
}

/// Edits a text and preserves its line ends: with a carriage return, as editors of Windows write them, or without.
fn with_its_ends(text: &str, edit: impl FnOnce(&str) -> Result<String, EditError>) -> Result<String, EditError> {
    let [all, with_return] = ["\n", "\r\n"].map(|end| text.matches(end).count());
    if all == 0 || all != with_return {
        return edit(text);
    }
    edit(&text.replace("\r\n", "\n")).map(|edited| edited.replace('\n', "\r\n"))
}

/// Returns the text without a rule, and without the comment right above it.
///
/// # Errors
/// If there is no rule of that name, or if its lines are not found.
pub fn remove_rule(text: &str, name: &str) -> Result<String, EditError> {
    with_its_ends(text, |text| {
        let (wanted, lines, [from, to]) = find_block(text, name)?;
        let wanted: Vec<Rule> = wanted.into_iter().filter(|rule| rule.name != name).collect();
        let comments = lines[..from].iter().rev().take_while(|line| line.trim_start().starts_with('#')).count();
        let rest = [&lines[..from - comments], &lines[to..]].concat().concat();
        check_edit(rest, &wanted, name)
    })
}

/// Returns the text with a rule disabled or enabled.
///
/// # Errors
/// If there is no rule of that name, or if its lines are not found.
pub fn set_disabled(text: &str, name: &str, disabled: bool) -> Result<String, EditError> {
    let line = disabled.then(|| "disabled = true\n".to_owned());
    with_line(text, name, "disabled", line, |rule| rule.disabled = disabled)
}

/// Returns the text with other evidence of a rule, or with none.
///
/// # Errors
/// If there is no rule of that name, or if its lines are not found.
pub fn set_evidence(text: &str, name: &str, evidence: Option<&RuleEvidence>) -> Result<String, EditError> {
    let line = evidence.map(|evidence| format!("evidence = {}\n", format_evidence(evidence)));
    with_line(text, name, "evidence", line, |rule| rule.evidence = evidence.cloned())
}

/// Replaces or removes the line of a key in a rule; `change` does the same to the rule.
fn with_line(
    text: &str,
    name: &str,
    key: &str,
    line: Option<String>,
    change: impl Fn(&mut Rule),
) -> Result<String, EditError> {
    with_its_ends(text, |text| {
        let (mut wanted, mut lines, [from, to]) = find_block(text, name)?;
        wanted.iter_mut().filter(|rule| rule.name == name).for_each(change);
        let is_it = |line: &String| line.split('=').next().is_some_and(|found| found.trim() == key);
        match (lines[from..to].iter().position(is_it), line) {
            (Some(at), Some(line)) => lines[from + at] = line,
            (Some(at), None) => drop(lines.remove(from + at)),
            (None, Some(line)) => lines.insert(from + 1, line),
            (None, None) => {}
        }
        check_edit(lines.concat(), &wanted, name)
    })
}

/// All rules of a text, its lines, and the range of one rule's lines.
type RulesBlock = (Vec<Rule>, Vec<String>, [usize; 2]);

/// Returns all rules of a text, its lines, and the range of one rule's lines.
fn find_block(text: &str, name: &str) -> Result<RulesBlock, EditError> {
    let all = parse_rules(text)?;
    let index = all.iter().position(|rule| rule.name == name).ok_or_else(|| EditError::NoSuchRule(name.to_owned()))?;
    let lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let heads: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].trim_start().starts_with("[[rule]]")).collect();
    let from = *heads.get(index).ok_or_else(|| EditError::ByHand(name.to_owned()))?;
    // The comment above the next rule is that rule's.
    let next = heads.get(index + 1).map_or(lines.len(), |next| {
        let comments = lines[..*next].iter().rev().take_while(|line| line.trim_start().starts_with('#'));
        next - comments.count()
    });
    Ok((all, lines, [from, next.max(from + 1)]))
}

/// Verifies that the edited text parses to the wanted rules, since lines were found by pattern only.
fn check_edit(text: String, wanted: &[Rule], name: &str) -> Result<String, EditError> {
    match parse_rules(&text) {
        Ok(found) if found == wanted => Ok(text),
        _ => Err(EditError::ByHand(name.to_owned())),
    }
}

/// Formats a rule as a table of TOML.
fn format_rule(rule: &Rule) -> String {
    let mut text = format!("[[rule]]\nname = {}\n", quote_text(&rule.name));
    let given: Vec<String> =
        rule.matches.given_fields().map(|(field, glob)| format!("{field} = {}", quote_text(glob.text()))).collect();
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(text, "{key} = {value}");
    };
    line("match", &format!("{{ {} }}", given.join(", ")));
    line("on", &quote_text(&rule.on.0.to_string()));
    if !rule.threads.is_empty() {
        let threads = rule.threads.iter().map(|threads| {
            format!("{{ name = {}, on = {} }}", quote_text(threads.name.text()), quote_text(&threads.on.0.to_string()))
        });
        line("threads", &format!("[{}]", threads.collect::<Vec<_>>().join(", ")));
    }
    if let Some(memory) = &rule.memory {
        line("memory", &quote_text(&memory.0.to_string()));
    }
    match rule.strength {
        RuleStrength::Boundary => {}
        RuleStrength::Once => line("strength", "\"once\""),
        RuleStrength::Exact => line("strength", "\"exact\""),
    }
    if rule.unproven == UnprovenPolicy::Release {
        line("unproven", "\"release\"");
    }
    for (key, is_set) in [("widen", rule.widen), ("disabled", rule.disabled)] {
        if is_set {
            line(key, "true");
        }
    }
    if let Some(evidence) = &rule.evidence {
        line("evidence", &format_evidence(evidence));
    }
    text
}

/// Formats evidence on one line, so that lines added below it belong to the rule.
fn format_evidence(evidence: &RuleEvidence) -> String {
    let [low, high] = evidence.interval.map(format_number);
    let environment =
        evidence.environment.iter().map(|(what, is)| format!("{} = {}", quote_text(what), quote_text(is)));
    let so_far = if evidence.so_far { ", so_far = true" } else { "" };
    format!(
        "{{ experiment = {}, effect = {}, interval = [{low}, {high}], error_rate = {}{so_far}, fingerprint = {}, environment = {{ {} }}{} }}",
        evidence.experiment,
        format_number(evidence.effect),
        format_number(evidence.error_rate),
        quote_text(&evidence.fingerprint),
        environment.collect::<Vec<_>>().join(", "),
        format_origin(&evidence.origin)
    )
}

/// Formats an origin as a further key of the evidence; empty for a measured one.
fn format_origin(origin: &ArtifactOrigin) -> String {
    match origin {
        ArtifactOrigin::Measured => String::new(),
        ArtifactOrigin::Simulated { file } => {
            format!(", origin = {{ from = \"simulated\", file = {} }}", quote_text(file))
        }
        ArtifactOrigin::Imported { file, format, remarks } => format!(
            ", origin = {{ from = \"imported\", file = {}, format = {}, remarks = [{}] }}",
            quote_text(file),
            quote_text(format),
            remarks.iter().map(|remark| quote_text(remark)).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// Formats a number as a TOML float, never as an integer; infinities become `inf` and `-inf`.
fn format_number(value: f64) -> String {
    format!("{value:?}")
}

fn quote_text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted + "\""
}
