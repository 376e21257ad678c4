//! Rules for dependencies: licences, duplicates and sources, from deny.toml.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// The only registry, by its name in a lock file.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks all packages in the lock file; returns true if all are allowed.
pub fn check_packages() -> Result<bool> {
    let rules: toml::Value = toml::from_str(&std::fs::read_to_string("deny.toml")?)?;
    let list = |section: &str, name: &str| -> Vec<String> {
        let list = rules.get(section).and_then(|section| section.get(name)).and_then(toml::Value::as_array);
        list.into_iter().flatten().filter_map(|entry| entry.as_str().map(str::to_owned)).collect()
    };
    let (allowed, skipped) = (list("licenses", "allow"), list("bans", "skip"));
    let metadata = Command::new(env!("CARGO")).args(["metadata", "--format-version", "1", "--locked"]).output()?;
    ensure!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: Value = serde_json::from_slice(&metadata.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let mut versions = BTreeMap::<&str, BTreeSet<&str>>::new();
    let mut wrong = Vec::new();
    for package in packages {
        let text = |name: &str| package[name].as_str().unwrap_or_default();
        let (name, licence) = (text("name"), text("license"));
        versions.entry(name).or_default().insert(text("version"));
        if !is_allowed(licence, &allowed) {
            wrong.push(format!("{name}: the licence \"{licence}\" is not allowed"));
        }
        if !matches!(text("source"), "" | REGISTRY) {
            wrong.push(format!("{name}: it comes from {}", text("source")));
        }
    }
    for (name, versions) in
        versions.iter().filter(|(name, versions)| versions.len() > 1 && !skipped.iter().any(|skip| skip == *name))
    {
        wrong.push(format!("{name}: several versions, {versions:?}"));
    }
    for skip in skipped.iter().filter(|skip| versions.get(skip.as_str()).is_none_or(|versions| versions.len() < 2)) {
        wrong.push(format!("{skip}: no longer there twice; take it out of deny.toml"));
    }
    wrong.iter().for_each(|line| eprintln!("{line}"));
    Ok(wrong.is_empty())
}

/// Returns true if the allowed licences satisfy a licence expression: one alternative of `OR` (or `/`), all parts of `AND`. Parentheses are
/// not nested, and an exception only allows more.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let parts =
        |text: &str, word: &str| -> Vec<String> { text.split(word).map(|part| part.trim().to_owned()).collect() };
    let (mut whole, mut depth) = (vec![String::new()], 0);
    for word in expression.replace('(', " ( ").replace(')', " ) ").split_whitespace() {
        match word {
            "(" => depth += 1,
            ")" => depth -= 1,
            "AND" if depth == 0 => whole.push(String::new()),
            word => whole.last_mut().iter_mut().for_each(|last| **last += &format!("{word} ")),
        }
    }
    whole.iter().all(|part| {
        let choices = parts(&part.replace('/', " OR "), " OR ");
        choices.iter().any(|choice| {
            let all = parts(choice.split(" WITH ").next().unwrap_or_default(), " AND ");
            all.iter().all(|name| allowed.contains(name))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_are_met_by_one_choice_and_by_all_parts() {
        let allowed = ["MIT", "Zlib", "Unicode-3.0"].map(str::to_owned);
        let is_allowed = |expression| is_allowed(expression, &allowed);
        for met in [
            "MIT",
            "Apache-2.0 OR MIT",
            "Unlicense/MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "MIT WITH LLVM-exception",
        ] {
            assert!(is_allowed(met), "{met}");
        }
        for unmet in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND NCSA", "Apache-2.0/GPL-2.0"] {
            assert!(!is_allowed(unmet), "{unmet}");
        }
    }
}
