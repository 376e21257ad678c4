//! `cargo xtask dist`: builds the files of a release from one commit: static programs for Linux and a program for Windows in archives,
//! Debian packages, Python wheels, the licences and the list of all libraries, and SHA-256 sums. Two builds of one commit give the same
//! bytes.

mod archive;
mod contents;
mod debian;
mod inventory;
mod library;
mod program;
mod verify;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use sha2::{Digest as _, Sha256};
use xtask::{read_output, repository_root};

use archive::PackedFile;
use contents::SharedContents;
use inventory::LibraryInventory;

use crate::setup;

/// The program, and the name of the packages that install it.
pub const PROGRAM: &str = "corewise";
/// Cargo's package of the program.
pub const PACKAGE: &str = "corewise-cli";
/// Version of the workspace.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The file with the sums of all other files.
const SUMS: &str = "SHA256SUMS";
/// Profile of a release's programs.
const PROFILE: &str = "dist";
/// Maximum size of each file of a release.
const MAX_FILE_BYTES: u64 = 10_000_000;
/// Maximum size of an installed program.
const MAX_PROGRAM_BYTES: u64 = 16_000_000;

/// A system and processor that packages are built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackageTarget {
    /// Rust's name of the target.
    pub triple: &'static str,
    /// Zig's name of the target, whose C library SQLite is compiled for; `None` if Debian has the compiler.
    zig: Option<&'static str>,
    /// Beginning of the names of linker and archiver; `None` for those of the host.
    binutils: Option<&'static str>,
    /// Debian's name of the processor; `None` for another system.
    debian: Option<&'static str>,
    /// The library for other languages: Rust's name of the target, and Zig's name with the oldest C library that it runs on; `None` if it
    /// is the program's target.
    library: Option<(&'static str, &'static str)>,
    /// Platforms of a wheel, as pip names them: <https://packaging.python.org/specifications/platform-compatibility-tags/>.
    wheel: &'static str,
}

/// The static program that runs on the machines that packages are built on: its pages and completions are those of all packages.
pub const NATIVE: PackageTarget = PackageTarget {
    triple: setup::STATIC,
    zig: Some("x86_64-linux-musl"),
    binutils: None,
    debian: Some("amd64"),
    library: Some(("x86_64-unknown-linux-gnu", "x86_64-linux-gnu.2.17")),
    wheel: "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
};
/// The static program for 64-bit Arm.
pub const ARM: PackageTarget = PackageTarget {
    triple: setup::STATIC_ARM,
    zig: Some("aarch64-linux-musl"),
    binutils: Some("aarch64-linux-gnu"),
    debian: Some("arm64"),
    library: Some(("aarch64-unknown-linux-gnu", "aarch64-linux-gnu.2.17")),
    wheel: "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
};
const WINDOWS: PackageTarget = PackageTarget {
    triple: setup::WINDOWS,
    zig: None,
    binutils: Some("x86_64-w64-mingw32"),
    debian: None,
    library: None,
    wheel: "win_amd64",
};
/// All targets, the native one first.
pub const TARGETS: [PackageTarget; 3] = [NATIVE, ARM, WINDOWS];

impl PackageTarget {
    /// Returns the name of the program's archive, without its extension, and of the folder in it.
    pub fn archive_name(self) -> String {
        format!("{PROGRAM}-{VERSION}-{}", self.triple)
    }

    fn is_windows(self) -> bool {
        self.debian.is_none()
    }

    /// Returns the name of a tool for its files: "aarch64-linux-gnu-ar".
    fn tool_name(self, tool: &str) -> String {
        self.binutils.map_or_else(|| tool.to_owned(), |prefix| format!("{prefix}-{tool}"))
    }

    fn program_name(self) -> &'static str {
        if self.is_windows() { "corewise.exe" } else { "corewise" }
    }
}

/// The commit that packages are built from.
#[derive(Clone, Debug)]
pub struct SourceCommit {
    /// Time of the commit in seconds since 1970: the time of every packed file.
    pub time_s: u64,
    /// The same in UTC, as 2026-11-26T12:47:23Z.
    pub time_utc: String,
    /// The same as in letters, which a Debian changelog has.
    pub time_letter: String,
    /// Name and address of the author, the maintainer of the packages.
    pub author: String,
}

impl SourceCommit {
    /// Reads the checked-out commit.
    pub fn read() -> Result<Self> {
        let format = ["log", "-1", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%ct%n%cd%n%an <%ae>%n%cD"];
        let printed = read_output(Command::new("git").args(format).env("TZ", "UTC").current_dir(repository_root()))?;
        let lines: Vec<&str> = printed.lines().collect();
        let [time, utc, author, letter] = lines[..] else { bail!("git describes the commit as {printed}") };
        let [time_utc, author, time_letter] = [utc, author, letter].map(str::to_owned);
        Ok(Self { time_s: time.parse()?, time_utc, time_letter, author })
    }
}

/// Arguments of the chore.
#[derive(Debug, PartialEq)]
struct DistArguments {
    /// Folder of the files, relative to the repository; `target/release-files` if none is given.
    folder: PathBuf,
    /// Compare two builds instead.
    verify: bool,
    targets: Vec<PackageTarget>,
}

impl DistArguments {
    fn parse(words: &[&str]) -> Result<Self> {
        let mut asked = Self { folder: "target/release-files".into(), verify: false, targets: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--out" => asked.folder = words.next().context("--out needs a folder")?.into(),
                "--verify" => asked.verify = true,
                triple => asked.targets.push(find_target(triple)?),
            }
        }
        if asked.targets.is_empty() {
            asked.targets = if asked.verify { vec![NATIVE] } else { TARGETS.to_vec() };
        }
        Ok(asked)
    }
}

fn find_target(triple: &str) -> Result<PackageTarget> {
    let names = TARGETS.map(|target| target.triple).join(", ");
    TARGETS
        .into_iter()
        .find(|target| target.triple == triple)
        .with_context(|| format!("no package is built for {triple}, only for {names}"))
}

/// Builds the packages; with `--verify`, builds them twice and returns false if a file differs.
pub fn run(words: &[&str]) -> Result<bool> {
    let asked = DistArguments::parse(words)?;
    let folder = repository_root().join(&asked.folder);
    if asked.verify {
        return verify::compare_builds(&asked.targets, &folder);
    }
    build_packages(&asked.targets, PROFILE, &folder)?;
    print_sizes(&folder)
}

/// Writes all files for some targets into a new folder, and their sums. The native program is built in any case: it prints the pages.
///
/// # Errors
/// If a tool is missing, or anything does not build.
pub fn build_packages(targets: &[PackageTarget], profile: &str, folder: &Path) -> Result<()> {
    setup::check_package_tools()?;
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let commit = SourceCommit::read()?;
    let inventory = LibraryInventory::read()?;
    fs::write(folder.join(format!("{PROGRAM}-{VERSION}.cdx.json")), inventory.write_bill(&commit)?)?;
    let native = program::build_program(NATIVE, profile, &commit)?;
    let shared = SharedContents::collect(&native, &inventory)?;
    for target in targets {
        let program = match *target {
            NATIVE => native.clone(),
            other => program::build_program(other, profile, &commit)?,
        };
        let program = PackedFile::executable(target.program_name(), fs::read(&program)?);
        let library = library::build_library(*target, profile, &commit)?;
        let files = [&program].into_iter().chain(shared.archive_files(target.is_windows()));
        write_archive(&target.archive_name(), *target, files, &commit, folder)?;
        let files = library.files.iter().chain(&shared.licences);
        write_archive(&format!("{}-{VERSION}-{}", library::PACKAGE, library.triple), *target, files, &commit, folder)?;
        wheel::write_wheel(*target, &program, &library, &shared, &commit, folder)?;
        if let Some(architecture) = target.debian {
            debian::write_package(architecture, &program, &shared, &commit, folder)?;
        }
    }
    write_sums(folder)
}

/// Writes an archive that is unpacked by hand: a folder of its name with some files.
fn write_archive<'a>(
    name: &str,
    target: PackageTarget,
    files: impl Iterator<Item = &'a PackedFile>,
    commit: &SourceCommit,
    folder: &Path,
) -> Result<()> {
    let files: Vec<PackedFile> = files.map(|file| file.clone().below(name)).collect();
    if target.is_windows() {
        fs::write(folder.join(format!("{name}.zip")), archive::write_zip(&files, &commit.time_utc)?)?;
    } else {
        fs::write(folder.join(format!("{name}.tar.gz")), archive::write_tar(&files, commit.time_s)?)?;
    }
    Ok(())
}

/// Returns the names of a folder's files, sorted.
fn list_files(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut names: Vec<String> =
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<Result<_>>()?;
    names.sort();
    Ok(names)
}

/// Writes the SHA-256 sums of a folder's files, as `sha256sum --check` reads them.
fn write_sums(folder: &Path) -> Result<()> {
    let mut sums = String::new();
    for name in list_files(folder)? {
        sums += &format!("{}  {name}\n", hash_bytes(&fs::read(folder.join(&name))?));
    }
    fs::write(folder.join(SUMS), sums)?;
    Ok(())
}

/// Returns the SHA-256 sum in hexadecimal digits.
fn hash_bytes(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Prints the size of each file, and of the programs that it installs; returns false if one is too large.
fn print_sizes(folder: &Path) -> Result<bool> {
    let mut are_small = true;
    let mut print_size = |name: &str, bytes: u64, most: u64| {
        let remark = if bytes > most { ", too large" } else { "" };
        are_small &= bytes <= most;
        println!("{:>7.2} MB  {name}{remark}", bytes as f64 / 1e6);
    };
    for name in list_files(folder)? {
        print_size(&name, fs::metadata(folder.join(&name))?.len(), MAX_FILE_BYTES);
    }
    for target in TARGETS {
        let program = program::program_path(target, PROFILE)?;
        if let Ok(metadata) = fs::metadata(&program) {
            print_size(&format!("{} for {}", target.program_name(), target.triple), metadata.len(), MAX_PROGRAM_BYTES);
        }
    }
    Ok(are_small)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_folder_and_verification_are_read() {
        let parse = |words: &[&str]| DistArguments::parse(words).map_err(|error| error.to_string());
        let all = parse(&[]).unwrap();
        assert_eq!((all.folder, all.verify, all.targets), ("target/release-files".into(), false, TARGETS.to_vec()));
        let one = parse(&["--out", "here", ARM.triple]).unwrap();
        assert_eq!((one.folder, one.targets), ("here".into(), vec![ARM]));
        let verified = parse(&["--verify"]).unwrap();
        assert_eq!((verified.verify, verified.targets), (true, vec![NATIVE]));
        assert!(parse(&["--out"]).is_err());
        assert!(parse(&["riscv64"]).unwrap_err().contains(ARM.triple));
    }
}
