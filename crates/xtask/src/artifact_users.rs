//! Only a command's room knows what an artifact is made of: elsewhere in the program no module names an artifact's type, but for those
//! listed here. The program's other modules take artifacts as `impl Artifact`, or the values that a command passes.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};

use crate::file_access::leave_crate;
use crate::walls::{CrateModules, PathSegments, read_crates};

/// The crate whose modules are looked through.
const PROGRAM: &str = "cli";
/// The crate that defines artifacts.
const MODEL: &str = "model";
/// Where artifacts are known: the rooms of commands.
const ROOMS: &str = "crate::commands";
/// Modules elsewhere, with what lies in them, that may name an artifact's type.
const EXCEPTIONS: [ArtifactException; 9] = [
    allow(
        "crate::app::placement",
        &["Survey", "LinkMap", "MemoryMap"],
        "tells the placement language what was measured",
    ),
    allow("crate::app::placing", &["ExperimentRecord", "LinkMap"], "tells experiments what was measured"),
    allow("crate::app::proof", &["ExperimentRecord"], "keeps the winner for `try`, `keep` and the program itself"),
    allow("crate::draw::findings", &["Survey"], "is on the screens of `survey` and `tail`"),
    allow("crate::draw::latency", &["Survey"], "is on the screens of `survey` and `tail`"),
    allow("crate::draw::repeat_survey", &["Survey"], "is suggested by `survey` and `tail`"),
    allow("crate::draw::stalls", &["Survey"], "is on the screens of `survey` and `tail`"),
    allow("crate::draw::survey", &["Survey"], "is on the screens of `survey` and `tail`"),
    allow("crate::draw::survey_row", &["Survey"], "is on the screens of `survey` and `tail`"),
];

/// A module that may name artifacts, and why.
struct ArtifactException {
    module: &'static str,
    artifacts: &'static [&'static str],
    reason: &'static str,
}

const fn allow(module: &'static str, artifacts: &'static [&'static str], reason: &'static str) -> ArtifactException {
    ArtifactException { module, artifacts, reason }
}

impl ArtifactException {
    fn covers(&self, module: &str, artifact: &str) -> bool {
        let is_inside = module.strip_prefix(self.module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
        is_inside && self.artifacts.contains(&artifact)
    }
}

/// Looks through the program; false if a module names an artifact that it may not, which is printed.
pub fn check() -> Result<bool> {
    let houses = read_crates()?;
    let house = |wanted: &str| houses.iter().find(|(name, _)| name == wanted).map(|(_, house)| house);
    let artifacts = find_artifacts(house(MODEL).context("there is no crate of artifacts")?);
    ensure!(!artifacts.is_empty(), "crates/model implements Artifact for no type: the wall would find nothing");
    let faults = find_faults(house(PROGRAM).context("there is no program")?, &artifacts, &EXCEPTIONS);
    faults.iter().for_each(|fault| println!("{PROGRAM}: {fault}"));
    Ok(faults.is_empty())
}

/// Returns the types that implement `Artifact`.
fn find_artifacts(model: &CrateModules) -> BTreeSet<String> {
    model.values().flat_map(|module| module.artifacts.iter().cloned()).collect()
}

fn find_faults(house: &CrateModules, artifacts: &BTreeSet<String>, exceptions: &[ArtifactException]) -> Vec<String> {
    let named = find_named(house, artifacts);
    let is_covered =
        |(module, name): &&(String, String)| exceptions.iter().any(|exception| exception.covers(module, name));
    let open = named.iter().filter(|use_of| !is_covered(use_of)).map(|(module, name)| {
        format!("{module} names {name}: what an artifact is made of is known in the rooms of commands alone")
    });
    let unused = exceptions.iter().flat_map(|exception| {
        let is_named =
            |artifact: &str| named.iter().any(|(module, name)| name == artifact && exception.covers(module, artifact));
        let artifacts = exception.artifacts.iter().filter(move |artifact| !is_named(artifact));
        artifacts.map(|artifact| {
            format!(
                "{} no longer names {artifact}, although it {}: take it off the list",
                exception.module, exception.reason
            )
        })
    });
    open.chain(unused).collect()
}

/// Returns the modules outside of the rooms, each with an artifact that it names by whatever path.
fn find_named(house: &CrateModules, artifacts: &BTreeSet<String>) -> BTreeSet<(String, String)> {
    let mut named = BTreeSet::new();
    for (at, module) in house {
        let place = at.join("::");
        if place.starts_with(ROOMS) {
            continue;
        }
        let outside =
            |path: &PathSegments| leave_crate(house, at, path).filter(|path| path[0] == format!("corewise_{MODEL}"));
        let names = module.paths.iter().filter_map(outside).flatten().filter(|name| artifacts.contains(name));
        named.extend(names.map(|name| (place.clone(), name)));
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walls::house_of;

    fn faults(modules: &[(&str, &str)], exceptions: &[ArtifactException]) -> Vec<String> {
        let model = house_of(&[("crate", "impl Artifact for Survey {} impl crate::Artifact for LinkMap {}")]);
        find_faults(&house_of(modules), &find_artifacts(&model), exceptions)
    }

    #[test]
    fn an_artifact_that_is_named_outside_the_rooms_is_found() {
        for text in [
            "use corewise_model::Survey;",
            "use corewise_model::survey; fn a(survey: &survey::Survey) {}",
            "fn a(map: &corewise_model::links::LinkMap) {}",
            "use corewise_model::{Survey as Other, Artifact};",
        ] {
            assert_eq!(faults(&[("crate::draw::a", text)], &[]).len(), 1, "{text}");
        }
        let renamed =
            [("crate::app::a", "pub use corewise_model::Survey;"), ("crate::b", "use crate::app::a::Survey;")];
        assert_eq!(faults(&renamed, &[]).len(), 2);
    }

    #[test]
    fn rooms_tests_and_exceptions_may_name_it() {
        for (module, text) in [
            ("crate::commands::survey::story", "use corewise_model::Survey;"),
            ("crate::draw::a", "#[cfg(test)] mod tests { use corewise_model::Survey; }"),
            ("crate::draw::a", "use corewise_model::survey::Tail; struct Survey; fn a() -> Survey { Survey }"),
        ] {
            assert_eq!(faults(&[(module, text)], &[]), [""; 0], "{text}");
        }
        let exception = || [allow("crate::draw::a", &["Survey"], "is drawn")];
        assert_eq!(faults(&[("crate::draw::a::inner", "use corewise_model::Survey;")], &exception()), [""; 0]);
        assert_eq!(faults(&[("crate::draw::ab", "use corewise_model::Survey;")], &exception()).len(), 2);
    }

    #[test]
    fn an_exception_that_is_not_needed_is_found() {
        let found = faults(&[("crate::draw::a", "fn a() {}")], &[allow("crate::draw::a", &["Survey"], "is drawn")]);
        assert_eq!(found, ["crate::draw::a no longer names Survey, although it is drawn: take it off the list"]);
    }
}
