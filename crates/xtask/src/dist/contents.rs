//! The files that packages have besides the program: manual pages, completions, units and licences. The program itself prints them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use xtask::repository_root;

use super::PROGRAM;
use super::archive::PackedFile;
use super::inventory::LibraryInventory;
use super::program::read_program;

/// Each shell that `corewise completions` knows, with the usual name of its file.
const SHELLS: [(&str, &str); 5] = [
    ("bash", "corewise"),
    ("elvish", "corewise.elv"),
    ("fish", "corewise.fish"),
    ("powershell", "_corewise.ps1"),
    ("zsh", "_corewise"),
];
/// Files of the repository that every package has.
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// The file with the licences of all libraries.
pub const THIRD_PARTY: &str = "THIRD-PARTY.txt";

/// Files that are the same in the packages of all systems.
#[derive(Clone, Debug)]
pub struct SharedContents {
    /// Description of corewise in a sentence.
    pub summary: String,
    /// Manual pages by their names, "corewise-try.1".
    pub pages: Vec<PackedFile>,
    /// Completions by the shell and the file, "zsh/_corewise".
    pub completions: Vec<PackedFile>,
    /// Units of systemd by their places below systemd's folder, "system/corewise-keep.service".
    pub units: Vec<PackedFile>,
    /// Licences of corewise and of its libraries, by their names.
    pub licences: Vec<PackedFile>,
}

impl SharedContents {
    /// Collects the files by running the program.
    pub fn collect(program: &Path, inventory: &LibraryInventory) -> Result<Self> {
        let mut licences = Vec::new();
        for name in LICENCES {
            licences.push(PackedFile::text(name, fs::read(repository_root().join(name))?));
        }
        licences.push(PackedFile::text(THIRD_PARTY, inventory.write_licences()?));
        let completions = SHELLS.into_iter().map(|(shell, file)| {
            Ok(PackedFile::text(format!("{shell}/{file}"), read_program(program, &["completions", shell])?))
        });
        Ok(Self {
            summary: inventory.summary.clone(),
            pages: read_pages(program)?,
            completions: completions.collect::<Result<_>>()?,
            units: ["system", "user"].into_iter().map(|manager| read_unit(program, manager)).collect::<Result<_>>()?,
            licences,
        })
    }

    /// Returns the files of an archive, by their places in it; only Linux has units.
    pub fn archive_files(&self, is_windows: bool) -> impl Iterator<Item = &PackedFile> {
        let units: &[PackedFile] = if is_windows { &[] } else { &self.units };
        [&self.licences, self.pages.as_slice(), &self.completions, units].into_iter().flatten()
    }

    /// Returns the licence of a name.
    pub fn licence(&self, name: &str) -> Result<&PackedFile> {
        self.licences.iter().find(|file| file.path == name).with_context(|| format!("no licence {name}"))
    }

    /// Returns the file that a shell completes by.
    pub fn completion_of(&self, shell: &str) -> Result<&PackedFile> {
        let found = self.completions.iter().find(|file| file.path.split('/').next() == Some(shell));
        found.with_context(|| format!("no completions of {shell}"))
    }
}

/// Returns the page of the program and of each command that it names.
fn read_pages(program: &Path) -> Result<Vec<PackedFile>> {
    let main = read_program(program, &["man"])?;
    let mut pages = Vec::new();
    for command in named_commands(&String::from_utf8_lossy(&main)) {
        pages.push(PackedFile::text(format!("{PROGRAM}-{command}.1"), read_program(program, &["man", &command])?));
    }
    pages.push(PackedFile::text(format!("{PROGRAM}.1"), main));
    Ok(pages)
}

/// Returns the commands in a page's section of subcommands: lines like `corewise\-try(1)`.
fn named_commands(page: &str) -> Vec<String> {
    let names = page.lines().filter_map(|line| line.strip_prefix("corewise\\-")?.strip_suffix("(1)"));
    names.map(|name| name.replace('\\', "")).filter(|name| name != "help").collect()
}

/// Returns the unit of the system's or of a user's manager, for the program at its place in a package, whatever rules this machine has.
fn read_unit(program: &Path, manager: &str) -> Result<PackedFile> {
    let unit =
        String::from_utf8(read_program(program, &["keep", "unit", &format!("--{manager}"), "--rules", "/no/rules"])?)?;
    let here = fs::canonicalize(program)?.display().to_string();
    // The first line has the place of a unit that was written by hand.
    let lines = unit.lines().skip(1).map(|line| line.replace(&here, "/usr/bin/corewise") + "\n");
    Ok(PackedFile::text(format!("{manager}/corewise-keep.service"), lines.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_those_of_the_section_of_subcommands() {
        let page = ".SH SUBCOMMANDS\n.TP\ncorewise\\-try(1)\nTry corewise\\-run(1)\n.TP\ncorewise\\-help(1)\n\\fBx\\fR";
        assert_eq!(named_commands(page), ["try"]);
    }
}
