//! The arrows between the workspace's crates, the files that they are compiled from, and the number of packages that the library pulls in.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result};
use toml::Value;
use xtask::{cargo_command, read_output, repository_root};

use crate::setup::WINDOWS;

/// Each shipped crate, and our crates that it may use.
const MAY_USE: [(&str, &[&str]); 13] = [
    ("entry", &[]),
    ("fourier", &[]),
    ("machine", &[]),
    ("statistics", &["machine"]),
    ("model", &["machine", "statistics"]),
    ("sys", &["machine"]),
    ("library", &["machine", "sys"]),
    ("library-c", &["library"]),
    ("lab", &["machine", "model", "statistics", "sys"]),
    ("keep", &["machine", "model", "sys"]),
    ("work", &["fourier", "machine", "model", "statistics", "sys"]),
    ("store", &["machine", "model", "sys"]),
    ("cli", &["entry", "machine", "model", "statistics", "sys", "lab", "keep", "work", "store"]),
];
/// Crates that are not shipped and may use all others.
const NOT_SHIPPED: [&str; 4] = ["compare", "rig", "testing", "xtask"];
/// The crate that a program needs to place its own threads.
const LIBRARY: &str = "corewise";
/// Maximum number of packages in [`LIBRARY`], itself included.
const MAX_LIBRARY_PACKAGES: usize = 12;
/// The systems for which the packages are counted.
const LIBRARY_TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", WINDOWS];

/// Returns the names of the shipped packages.
pub fn shipped_names() -> impl Iterator<Item = String> {
    MAY_USE.iter().map(|(folder, _)| match *folder {
        "library" => LIBRARY.to_owned(),
        "library-c" => format!("{LIBRARY}-c"),
        folder => format!("{LIBRARY}-{folder}"),
    })
}

/// Checks all crates; returns false if an arrow points up, a published crate is compiled from files that its package lacks, or the library has
/// grown, after printing it.
pub fn check_packages() -> Result<bool> {
    let mut faults = Vec::new();
    for entry in fs::read_dir(repository_root().join("crates"))? {
        let folder = entry?.path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let manifest = folder.join("Cargo.toml");
        let text = fs::read_to_string(&manifest).with_context(|| manifest.display().to_string())?;
        faults.extend(arrow_faults(&name, &toml::from_str(&text)?));
    }
    let sources = ["ls-files", "-co", "--exclude-standard", "crates/*/src/*.rs", "crates/*/build.rs"];
    for file in read_output(Command::new("git").args(sources).current_dir(repository_root()))?.lines() {
        // A file that was removed is still listed until the removal is committed.
        let source = fs::read_to_string(repository_root().join(file)).unwrap_or_default();
        faults.extend(outside_files(file, &source).into_iter().map(|path| format!("{file}: no package has {path}")));
    }
    for target in LIBRARY_TARGETS {
        let packages = package_names(&read_output(
            cargo_command().args(["tree", "--locked", "--prefix", "none", "--target", target]).args([
                "--edges",
                "normal,build",
                "--package",
                LIBRARY,
            ]),
        )?);
        if packages.len() > MAX_LIBRARY_PACKAGES {
            let (count, names) = (packages.len(), Vec::from_iter(packages).join(", "));
            faults.push(format!(
                "{LIBRARY} pulls in {count} packages for {target}, at most {MAX_LIBRARY_PACKAGES} may be: {names}"
            ));
        }
    }
    faults.iter().for_each(|fault| println!("{fault}"));
    Ok(faults.is_empty())
}

/// Returns the forbidden dependencies of the crate in a folder of `crates`; dependencies of tests are free.
fn arrow_faults(name: &str, manifest: &Value) -> Vec<String> {
    if NOT_SHIPPED.contains(&name) {
        return Vec::new();
    }
    let Some((_, may)) = MAY_USE.iter().find(|(listed, _)| *listed == name) else {
        return vec![format!("crates/{name}: crates/xtask/src/packages.rs does not say what it may use")];
    };
    let of_targets = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(|targets| targets.values());
    let tables = of_targets.chain([manifest]).filter_map(|owner| owner.get("dependencies")?.as_table());
    let ours = tables.flat_map(|table| table.keys()).filter_map(|package| name_crate(package));
    ours.filter(|used| !may.contains(used)).map(|used| format!("crates/{name} may not use {used}")).collect()
}

/// Returns the paths by which a source of a shipped crate includes files outside the crate's folder, which its package lacks. A build
/// script may name none.
fn outside_files<'a>(file: &str, source: &'a str) -> Vec<&'a str> {
    let parts: Vec<&str> = file.split('/').skip(1).collect();
    let [name, folders @ .., _] = parts.as_slice() else { return Vec::new() };
    if NOT_SHIPPED.contains(name) {
        return Vec::new();
    }
    let is_script = file.ends_with("/build.rs") && folders.is_empty();
    let lines = source.lines().filter(|line| is_script || line.contains("include") || line.contains("#[path"));
    let texts = lines.flat_map(|line| line.split('"').skip(1).step_by(2));
    texts.filter(|text| text.split('/').take_while(|part| *part == "..").count() > folders.len()).collect()
}

/// Returns the folder in `crates` of one of our packages; `None` for another's.
fn name_crate(package: &str) -> Option<&str> {
    package
        .strip_prefix("corewise-")
        .or((package == LIBRARY).then_some("library"))
        .map(|name| if name == "c" { "library-c" } else { name })
}

/// Returns the names of the packages in the output of `cargo tree`, each once.
fn package_names(tree: &str) -> BTreeSet<String> {
    tree.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_that_points_up_is_found() {
        let faults = |name: &str, text: &str| arrow_faults(name, &toml::from_str(text).unwrap());
        let up = "[dependencies]\ncorewise-machine.workspace = true\ncorewise-model.workspace = true\nlibc = '1'";
        assert_eq!(faults("sys", up), ["crates/sys may not use model"]);
        assert_eq!(faults("lab", up), [""; 0]);
        let of_target = "[target.'cfg(windows)'.dependencies]\ncorewise-sys.workspace = true";
        assert_eq!(faults("model", of_target), ["crates/model may not use sys"]);
        assert_eq!(faults("sys", "[dependencies]\ncorewise.workspace = true"), ["crates/sys may not use library"]);
        assert_eq!(faults("sys", "[dev-dependencies]\ncorewise-model.workspace = true"), [""; 0]);
        assert_eq!(faults("new", "").len(), 1);
        assert_eq!(faults("rig", up), [""; 0]);
    }

    #[test]
    fn a_file_outside_of_the_crate_is_found() {
        let included = "include_str!(\"../a\"), include_bytes!(concat!(\"../../b\"))\nopen(\"../../../c\")";
        assert_eq!(outside_files("crates/model/src/suite.rs", included), ["../../b"]);
        assert_eq!(outside_files("crates/model/src/talk/of.rs", included), [""; 0]);
        assert_eq!(outside_files("crates/cli/build.rs", included), ["../a", "../../b", "../../../c"]);
        assert_eq!(outside_files("crates/xtask/src/main.rs", included), [""; 0]);
    }

    #[test]
    fn a_package_counts_once() {
        let names = package_names("a v1.0.0 (/here)\nb v2.0.0 (proc-macro)\n\na v1.0.0 (/here) (*)\n");
        assert_eq!(Vec::from_iter(names), ["a", "b"]);
    }
}
