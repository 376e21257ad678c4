//! The libraries in the programs of packages: their licences as one text, and the bill of materials. Both are computed from `cargo metadata`,
//! the lock file and the libraries' sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use xtask::{cargo_command, read_output, repository_root};

use super::{PACKAGE, PROGRAM, SourceCommit, TARGETS, VERSION};
use crate::setup::ZIG_FOLDER;

/// Beginnings of the names of files with a licence.
const LICENCE_FILES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];
/// The text of a library without one, if its licence may be this one.
const COMMON_LICENCE: (&str, &str) = ("Apache-2.0", "LICENSE-APACHE");
/// The C library of the static programs: its licence, and its text in Zig's folder.
const C_LIBRARY: (&str, &str, &str) = ("musl", "MIT", "ziglang/lib/libc/musl/COPYRIGHT");

/// A library, or corewise itself or one of its own crates.
#[derive(Clone, Debug)]
struct LinkedLibrary {
    name: String,
    version: String,
    /// Expression of SPDX.
    licence: String,
    /// Folder of the sources; `None` if they come with the compiler.
    sources: Option<PathBuf>,
    /// SHA-256 of the archive in the registry; `None` for crates of this repository.
    checksum: Option<String>,
    /// Keys of the libraries that it uses.
    uses: Vec<String>,
}

/// All libraries of the program on all targets, by their keys in cargo's metadata.
#[derive(Debug)]
pub struct LibraryInventory {
    libraries: BTreeMap<String, LinkedLibrary>,
    /// Key of corewise.
    program: String,
    /// Description of corewise in a sentence.
    pub summary: String,
}

impl LibraryInventory {
    /// Reads what the lock file selects for the targets.
    pub fn read() -> Result<Self> {
        let mut cargo = cargo_command();
        cargo.args(["metadata", "--format-version", "1", "--locked"]);
        cargo.args(TARGETS.iter().flat_map(|target| ["--filter-platform", target.triple]));
        let lock = toml::from_str(&fs::read_to_string(repository_root().join("Cargo.lock"))?)?;
        Self::from_metadata(&serde_json::from_str(&read_output(&mut cargo)?)?, &lock)
    }

    fn from_metadata(metadata: &Value, lock: &toml::Value) -> Result<Self> {
        let (packages, uses) = (index_values(&metadata["packages"]), index_values(&metadata["resolve"]["nodes"]));
        let checksums = read_checksums(lock);
        let is_program = |(_, package): &(&String, &&Value)| package["name"] == PACKAGE;
        let (program, package) = packages.iter().find(is_program).context("cargo knows no corewise")?;
        let summary = package["description"].as_str().unwrap_or_default().to_owned();
        let program = program.clone();
        let (mut waiting, mut libraries) = (vec![program.clone()], BTreeMap::new());
        while let Some(key) = waiting.pop() {
            if libraries.contains_key(&key) {
                continue;
            }
            let package = packages.get(&key).context("a package that is used and not listed")?;
            let used = uses.get(&key).map_or_else(Vec::new, |node| linked_packages(node));
            waiting.extend(used.iter().cloned());
            libraries.insert(key, LinkedLibrary::read(package, used, &checksums)?);
        }
        Ok(Self { libraries, program, summary })
    }

    /// Returns all libraries but corewise and its crates, with what the compiler brings.
    fn third_party(&self) -> Vec<LinkedLibrary> {
        let (name, licence, _) = C_LIBRARY;
        let of_compiler = |name: &str, version: &str, licence: &str| LinkedLibrary {
            name: name.into(),
            version: version.into(),
            licence: licence.into(),
            sources: None,
            checksum: None,
            uses: Vec::new(),
        };
        let others = self.libraries.values().filter(|library| library.checksum.is_some()).cloned();
        let rust = of_compiler("std", env!("CARGO_PKG_RUST_VERSION"), "MIT OR Apache-2.0");
        others.chain([rust, of_compiler(name, "1.2.5", licence)]).collect()
    }

    /// Returns the licences of all libraries: a list, then each text with the libraries that have it.
    ///
    /// # Errors
    /// If a library has no text, and its licence cannot be the common one.
    pub fn write_licences(&self) -> Result<String> {
        let mut text = format!("{PROGRAM} {VERSION} contains these libraries:\n\n");
        let mut by_text = BTreeMap::<String, BTreeSet<String>>::new();
        for library in self.third_party() {
            let name = format!("{} {}", library.name, library.version);
            text += &format!("{name}: {}\n", library.licence);
            for licence in read_texts(&library)? {
                by_text.entry(licence).or_default().insert(name.clone());
            }
        }
        for (licence, names) in by_text {
            let names = Vec::from_iter(names).join(", ");
            text += &format!("\n{}\n{names}\n\n{}\n", "=".repeat(80), licence.trim_end());
        }
        Ok(text)
    }

    /// Returns the bill of materials in JSON, CycloneDX 1.5: <https://cyclonedx.org/docs/1.5/json/>.
    pub fn write_bill(&self, commit: &SourceCommit) -> Result<String> {
        let program = &self.libraries[&self.program];
        let others = self.libraries.iter().filter(|(key, _)| **key != self.program);
        let components: Vec<Value> = others.map(|(_, library)| library.describe("library")).collect();
        let reference = |key: &String| self.libraries[key].reference();
        let dependencies = self.libraries.iter().map(|(key, library)| {
            let uses: BTreeSet<String> = library.uses.iter().map(reference).collect();
            json!({ "ref": reference(key), "dependsOn": uses })
        });
        let bill = json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": { "timestamp": commit.time_utc, "component": program.describe("application") },
            "components": components,
            "dependencies": dependencies.collect::<Vec<_>>(),
        });
        Ok(serde_json::to_string_pretty(&bill)? + "\n")
    }
}

impl LinkedLibrary {
    fn read(package: &Value, uses: Vec<String>, checksums: &BTreeMap<[String; 2], String>) -> Result<Self> {
        let text = |name: &str| package[name].as_str().unwrap_or_default().to_owned();
        let [name, version] = ["name", "version"].map(text);
        let manifest = text("manifest_path");
        Ok(Self {
            licence: text("license").replace('/', " OR "),
            sources: Some(Path::new(&manifest).parent().context("a manifest without a folder")?.to_owned()),
            checksum: checksums.get(&[name.clone(), version.clone()]).cloned(),
            name,
            version,
            uses,
        })
    }

    /// Returns the package URL: <https://github.com/package-url/purl-spec>.
    fn reference(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }

    fn describe(&self, kind: &str) -> Value {
        let mut component = json!({
            "type": kind,
            "bom-ref": self.reference(),
            "name": self.name,
            "version": self.version,
            "purl": self.reference(),
            "licenses": [{ "expression": self.licence }],
        });
        if let Some(checksum) = &self.checksum {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
        }
        component
    }
}

/// Returns the entries of a list by their keys.
fn index_values(list: &Value) -> BTreeMap<String, &Value> {
    let entries = list.as_array().into_iter().flatten();
    entries.filter_map(|entry| Some((entry["id"].as_str()?.to_owned(), entry))).collect()
}

/// Returns the keys of the packages that are linked to one, or whose macros it uses: not those of its tests and of its build script.
fn linked_packages(node: &Value) -> Vec<String> {
    let is_linked = |used: &&Value| {
        used["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
    };
    let used = node["deps"].as_array().into_iter().flatten().filter(is_linked);
    used.filter_map(|used| used["pkg"].as_str().map(str::to_owned)).collect()
}

/// Returns the checksums in a lock file by name and version.
fn read_checksums(lock: &toml::Value) -> BTreeMap<[String; 2], String> {
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let text = |package: &toml::Value, name: &str| Some(package.get(name)?.as_str()?.to_owned());
    packages
        .filter_map(|package| Some(([text(package, "name")?, text(package, "version")?], text(package, "checksum")?)))
        .collect()
}

/// Returns the texts of a library's licences.
fn read_texts(library: &LinkedLibrary) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    match &library.sources {
        Some(folder) => {
            for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
                let path = entry?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
                if path.is_file() && LICENCE_FILES.iter().any(|start| name.starts_with(start)) {
                    texts.push(String::from_utf8_lossy(&fs::read(&path)?).replace('\r', ""));
                }
            }
        }
        None if library.name == C_LIBRARY.0 => {
            texts.push(fs::read_to_string(repository_root().join(ZIG_FOLDER).join(C_LIBRARY.2))?);
        }
        None => {}
    }
    if texts.is_empty() {
        let (licence, file) = COMMON_LICENCE;
        if !library.licence.contains(licence) {
            bail!("{} {} has no text of its licence, {}", library.name, library.version, library.licence);
        }
        texts.push(fs::read_to_string(repository_root().join(file))?);
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> LibraryInventory {
        let package = |name: &str| json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0", "manifest_path": "/none/Cargo.toml" });
        let metadata = json!({
            "packages": [package("corewise-cli"), package("used"), package("of-tests"), package("below")],
            "resolve": { "nodes": [
                { "id": "corewise-cli", "deps": [
                    { "pkg": "used", "dep_kinds": [{ "kind": null }] },
                    { "pkg": "of-tests", "dep_kinds": [{ "kind": "dev" }] },
                ] },
                { "id": "used", "deps": [{ "pkg": "below", "dep_kinds": [{ "kind": "build" }, { "kind": null }] }] },
            ] },
        });
        let lock = toml::from_str("[[package]]\nname = 'used'\nversion = '1.0.0'\nchecksum = 'abc'\n").unwrap();
        LibraryInventory::from_metadata(&metadata, &lock).unwrap()
    }

    #[test]
    fn what_is_linked_is_listed_and_what_only_tests_use_is_not() {
        let names: Vec<String> = sample().libraries.into_keys().collect();
        assert_eq!(names, ["below", "corewise-cli", "used"]);
        let third_party: Vec<String> = sample().third_party().into_iter().map(|library| library.name).collect();
        assert_eq!(third_party, ["used", "std", "musl"]);
    }

    #[test]
    fn a_bill_names_each_library_with_its_sum_and_its_users() {
        let commit =
            SourceCommit { time_s: 0, time_utc: "T".into(), time_letter: String::new(), author: String::new() };
        let bill: Value = serde_json::from_str(&sample().write_bill(&commit).unwrap()).unwrap();
        assert_eq!(bill["metadata"]["component"]["purl"], "pkg:cargo/corewise-cli@1.0.0");
        assert_eq!(bill["components"].as_array().unwrap().len(), 2);
        assert_eq!(bill["components"][1]["hashes"][0]["content"], "abc");
        assert_eq!(bill["components"][1]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(
            bill["dependencies"][1],
            json!({ "ref": "pkg:cargo/corewise-cli@1.0.0", "dependsOn": ["pkg:cargo/used@1.0.0"] })
        );
    }

    #[test]
    fn a_library_without_a_text_that_could_be_passed_on_is_an_error() {
        let mut library = sample().libraries["used"].clone();
        library.sources = None;
        assert!(read_texts(&library).unwrap()[0].contains("Apache License"));
        library.licence = "Zlib".into();
        assert!(read_texts(&library).unwrap_err().to_string().contains("Zlib"));
    }
}
