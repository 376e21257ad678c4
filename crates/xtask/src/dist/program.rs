//! Compiles the programs of packages. Nothing of this machine gets into them: paths are replaced, and the time is that of the commit.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use xtask::{cargo_command, read_output, repository_root, run_command};

use super::{PACKAGE, PROFILE, PackageTarget, SourceCommit};
use crate::setup::ZIG_FOLDER;

/// Parts of SQLite that corewise does not use: a quarter of a megabyte.
const UNUSED_SQLITE: [&str; 5] = ["FTS3", "FTS3_PARENTHESIS", "FTS5", "RTREE", "DBSTAT_VTAB"];

/// Script of the linker that leaves out the tables for unwinding, relative to the repository. Windows requires them.
const WITHOUT_UNWINDING: &str = "crates/xtask/src/dist/without_unwinding.ld";

/// Keeps the time of linking out of a file for Windows.
pub const NO_TIMESTAMP: &str = "-Wl,--no-insert-timestamp";

/// Returns the folder of Zig and of the compilers that call it.
fn zig_folder() -> PathBuf {
    repository_root().join(ZIG_FOLDER)
}

/// Compiles the program for a target and returns its path.
pub fn build_program(target: PackageTarget, profile: &str, commit: &SourceCommit) -> Result<PathBuf> {
    let mut options = link_options(target)?;
    if profile == PROFILE && !target.is_windows() {
        let script = repository_root().join(WITHOUT_UNWINDING);
        options.extend([format!("-Clink-arg=-Wl,-T,{}", script.display()), "-Clink-arg=-Wl,--no-eh-frame-hdr".into()]);
    }
    let mut cargo = prepare_build(PACKAGE, target.triple, profile, &options, commit)?;
    let variable = target.triple.replace('-', "_");
    cargo.env("LIBSQLITE3_FLAGS", UNUSED_SQLITE.map(|name| format!("-USQLITE_ENABLE_{name}")).join(" "));
    if let Some(zig) = target.zig {
        cargo.env(format!("CC_{variable}"), write_compiler(zig)?);
    }
    if target.binutils.is_some() {
        cargo.env(format!("AR_{variable}"), target.tool_name("ar"));
        cargo.env(format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase()), target.tool_name("gcc"));
    }
    run_command(&mut cargo)?;
    program_path(target, profile)
}

/// Returns the command that compiles a package for a triple, with the compiler's options besides the replacements of paths.
pub fn prepare_build(
    package: &str,
    triple: &str,
    profile: &str,
    options: &[String],
    commit: &SourceCommit,
) -> Result<Command> {
    let built = target_folder()?;
    let mut cargo = cargo_command();
    cargo.args(["build", "--locked", "--package", package, "--profile", profile, "--target", triple]);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", [&replace_paths(&built)?, options].concat().join("\x1f"));
    cargo.env("SOURCE_DATE_EPOCH", commit.time_s.to_string()).env("ZIG_GLOBAL_CACHE_DIR", built.join("zig"));
    Ok(cargo)
}

/// Returns the path of the compiled program.
pub fn program_path(target: PackageTarget, profile: &str) -> Result<PathBuf> {
    Ok(target_folder()?.join(target.triple).join(profile).join(target.program_name()))
}

/// Returns the folder that cargo builds in.
pub fn target_folder() -> Result<PathBuf> {
    let metadata = read_output(cargo_command().args(["metadata", "--format-version", "1", "--no-deps", "--locked"]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    Ok(metadata["target_directory"].as_str().context("cargo names no target folder")?.into())
}

/// Returns the options of the linker: Rust's own one makes static programs, and keeps each function once that several types have alike;
/// that for Windows keeps its time to itself.
fn link_options(target: PackageTarget) -> Result<Vec<String>> {
    let options = if target.is_windows() {
        vec![NO_TIMESTAMP.into()]
    } else {
        let libraries =
            read_output(Command::new("rustc").args(["--print", "target-libdir"]).current_dir(repository_root()))?;
        let linker = Path::new(libraries.trim()).with_file_name("bin").join("gcc-ld");
        ensure!(linker.exists(), "{} is missing, which comes with Rust", linker.display());
        vec![
            format!("-B{}", linker.display()),
            "-fuse-ld=lld".into(),
            "-Wl,--icf=all".into(),
            "-Wl,-zpack-relative-relocs".into(),
        ]
    };
    Ok(options.into_iter().map(|option| format!("-Clink-arg={option}")).collect())
}

/// Returns the compiler's options that replace the paths of this machine, which panics would name.
fn replace_paths(built: &Path) -> Result<Vec<String>> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo"))).context("cargo has no home")?;
    // The last that fits counts, and the target folder is often in the repository.
    let mut options = vec![replace_path(&repository_root(), "corewise"), replace_path(built, "target")];
    let sources = home.join("registry/src");
    let (library, rustc) = standard_library()?;
    options.push(replace_path(&library, &rustc));
    for registry in fs::read_dir(&sources).with_context(|| sources.display().to_string())? {
        options.push(replace_path(&registry?.path(), "crates"));
    }
    Ok(options)
}

/// Returns the folder of the sources of Rust's standard library, if they are installed, and the name that it has without them.
fn standard_library() -> Result<(PathBuf, String)> {
    let read_rustc = |option: &[&str]| read_output(Command::new("rustc").args(option).current_dir(repository_root()));
    let described = read_rustc(&["-vV"])?;
    let commit =
        described.lines().find_map(|line| line.strip_prefix("commit-hash: ")).context("rustc has no commit")?;
    // The compiler names the folder behind links.
    let root = fs::canonicalize(read_rustc(&["--print", "sysroot"])?.trim())?;
    Ok((root.join("lib/rustlib/src/rust"), format!("rustc/{commit}")))
}

fn replace_path(path: &Path, name: &str) -> String {
    format!("--remap-path-prefix={}=/{name}", path.display())
}

/// Writes the compiler for C that calls Zig, and returns its path. The crate `cc` adds Rust's name of the target, which Zig does not know;
/// rustc names the unwinder of GCC, for which Zig has one of its own.
pub fn write_compiler(zig_target: &str) -> Result<PathBuf> {
    let path = zig_folder().join(format!("cc-{zig_target}"));
    let script = format!(
        "#!/bin/sh\nfor word; do\n    shift\n    case $word in --target=*) ;; -lgcc_s) set -- \"$@\" -lunwind ;; \
         *) set -- \"$@\" \"$word\" ;; esac\ndone\n\
         exec \"$(dirname \"$0\")/ziglang/zig\" cc -target {zig_target} \"$@\"\n"
    );
    fs::write(&path, script).with_context(|| path.display().to_string())?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

/// Runs the program and returns what it prints.
pub fn read_program(program: &Path, words: &[&str]) -> Result<Vec<u8>> {
    let output = Command::new(program).args(words).output().with_context(|| program.display().to_string())?;
    if !output.status.success() {
        bail!("corewise {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.stdout)
}
