//! The library for C and Python: shared and static, with its header, the file of pkg-config and the module of Python.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xtask::{read_output, repository_root, run_command};

use super::archive::PackedFile;
use super::program::{NO_TIMESTAMP, prepare_build, target_folder, write_compiler};
use super::{PROFILE, PackageTarget, SourceCommit, VERSION};

/// Cargo's package of the library.
pub const PACKAGE: &str = "corewise-c";

/// Profile of the library in a release: a panic in it does not end the program of a caller.
const UNWINDING_PROFILE: &str = "dist-library";

/// The compiled library with its files.
#[derive(Clone, Debug)]
pub struct PackedLibrary {
    /// Rust's name of its target.
    pub triple: &'static str,
    /// Files of an archive, by their places: "lib/libcorewise_c.so".
    pub files: Vec<PackedFile>,
    /// The shared library alone.
    pub shared: PackedFile,
    /// The module of Python that loads it from the same folder.
    pub module: PackedFile,
}

/// Compiles the library for a target.
pub fn build_library(target: PackageTarget, profile: &str, commit: &SourceCommit) -> Result<PackedLibrary> {
    let profile = if profile == PROFILE { UNWINDING_PROFILE } else { profile };
    let (triple, _) = target.library.unwrap_or((target.triple, ""));
    let options = if target.is_windows() { vec![format!("-Clink-arg={NO_TIMESTAMP}")] } else { Vec::new() };
    let mut cargo = prepare_build(PACKAGE, triple, profile, &options, commit)?;
    if let Some((triple, zig)) = target.library {
        cargo.env(format!("CARGO_TARGET_{}_LINKER", triple.replace('-', "_").to_uppercase()), write_compiler(zig)?);
    }
    run_command(&mut cargo)?;
    let built = target_folder()?.join(triple).join(profile);
    // Rust keeps its intermediate code in static libraries: four fifths of their bytes.
    let archive = built.join("libcorewise_c.a");
    remove_split_debugging(target, &archive)?;
    let options = ["--strip-debug", "--remove-section=.llvmbc", "--remove-section=.llvmcmd"];
    run_command(Command::new(target.tool_name("objcopy")).args(options).arg(&archive))?;
    let read = |name: &str| {
        let path = built.join(name);
        Ok::<_, anyhow::Error>(PackedFile::text(name, fs::read(&path).with_context(|| path.display().to_string())?))
    };
    let (shared, others) = if target.is_windows() {
        (read("corewise_c.dll")?, vec![read("libcorewise_c.dll.a")?, read("libcorewise_c.a")?])
    } else {
        (read("libcorewise_c.so")?, vec![read("libcorewise_c.a")?])
    };
    let mut files: Vec<PackedFile> = others.into_iter().map(|file| file.below("lib")).collect();
    files.push(shared.clone().below(if target.is_windows() { "bin" } else { "lib" }));
    files.push(PackedFile::text("include/corewise.h", read_source("crates/library-c/include/corewise.h")?));
    files.push(PackedFile::text("lib/pkgconfig/corewise.pc", describe_library(target)?));
    Ok(PackedLibrary {
        triple,
        files,
        shared,
        module: PackedFile::text("corewise.py", read_source("packaging/python/corewise.py")?),
    })
}

/// Removes the members of a static library that hold debugging information alone, as Rust's library for Windows has them: objcopy refuses
/// files without sections.
fn remove_split_debugging(target: PackageTarget, archive: &Path) -> Result<()> {
    let archiver = target.tool_name("ar");
    let members = read_output(Command::new(&archiver).arg("t").arg(archive))?;
    let members: Vec<&str> = members.lines().filter(|name| name.ends_with(".dwo")).collect();
    if members.is_empty() {
        return Ok(());
    }
    // Its warnings, one a member with Rust's intermediate code, are of no use.
    let output = Command::new(&archiver).arg("d").arg(archive).args(members).output()?;
    ensure!(output.status.success(), "{}: {}", archive.display(), String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Returns the file of pkg-config, whose folders are relative to its own.
fn describe_library(target: PackageTarget) -> Result<String> {
    let private = if target.is_windows() { "-lws2_32 -luserenv -lntdll" } else { "-lpthread -ldl -lm -lgcc_s" };
    let template = String::from_utf8(read_source("crates/library-c/corewise.pc.in")?)?;
    Ok(template.replace("@version@", VERSION).replace("@private@", private))
}

fn read_source(path: &str) -> Result<Vec<u8>> {
    fs::read(repository_root().join(path)).with_context(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::TARGETS;

    #[test]
    fn nothing_is_left_to_fill_in() {
        for target in TARGETS {
            let description = describe_library(target).unwrap();
            assert!(!description.contains('@') && description.contains(VERSION), "{description}");
        }
    }
}
