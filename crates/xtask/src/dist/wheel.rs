//! A Python wheel that brings the program (<https://packaging.python.org/specifications/binary-distribution-format/>), which pip copies into
//! the folder of the environment's programs, and the library. The module loads the library by ctypes, so one wheel fits every Python 3.

use std::fs;
use std::path::Path;

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::archive::{PackedFile, write_zip};
use super::contents::SharedContents;
use super::library::PackedLibrary;
use super::{PROGRAM, PackageTarget, SourceCommit, VERSION};

/// Writes the wheel of a target into a folder.
pub fn write_wheel(
    target: PackageTarget,
    program: &PackedFile,
    library: &PackedLibrary,
    shared: &SharedContents,
    commit: &SourceCommit,
    folder: &Path,
) -> Result<()> {
    let info = format!("{PROGRAM}-{VERSION}.dist-info");
    let mut files = vec![program.clone().below(&format!("{PROGRAM}-{VERSION}.data/scripts"))];
    files.push(PackedFile { path: format!("{PROGRAM}/__init__.py"), ..library.module.clone() });
    files.push(library.shared.clone().below(PROGRAM));
    files.extend(shared.licences.iter().map(|file| file.clone().below(&format!("{info}/licenses"))));
    files.push(PackedFile::text(format!("{info}/METADATA"), write_metadata(shared)));
    files.push(PackedFile::text(format!("{info}/WHEEL"), describe_wheel(target.wheel)));
    files.push(write_record(&format!("{info}/RECORD"), &files));
    let name = format!("{PROGRAM}-{VERSION}-py3-none-{}.whl", target.wheel);
    fs::write(folder.join(name), write_zip(&files, &commit.time_utc)?)?;
    Ok(())
}

/// Returns the core metadata, version 2.4: <https://packaging.python.org/specifications/core-metadata/>.
fn write_metadata(shared: &SharedContents) -> String {
    let licences: String = shared.licences.iter().map(|file| format!("License-File: {}\n", file.path)).collect();
    format!(
        "Metadata-Version: 2.4\nName: {PROGRAM}\nVersion: {VERSION}\nSummary: {}\nLicense-Expression: MIT OR Apache-2.0\n\
         {licences}Requires-Python: >=3.8\n",
        shared.summary
    )
}

/// Returns the description of the wheel; each platform has a line of its own.
fn describe_wheel(platforms: &str) -> String {
    let tags: String = platforms.split('.').map(|platform| format!("Tag: py3-none-{platform}\n")).collect();
    format!("Wheel-Version: 1.0\nGenerator: corewise-xtask {VERSION}\nRoot-Is-Purelib: false\n{tags}")
}

/// Returns the list of all files with their sums; it lists itself without one.
fn write_record(path: &str, files: &[PackedFile]) -> PackedFile {
    let line = |file: &PackedFile| {
        let sum = URL_SAFE_NO_PAD.encode(Sha256::digest(&file.bytes));
        format!("{},sha256={sum},{}\n", file.path, file.bytes.len())
    };
    PackedFile::text(path, files.iter().map(line).collect::<String>() + &format!("{path},,\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_lists_every_file_with_its_sum_and_itself_without() {
        let record = write_record("i/RECORD", &[PackedFile::text("a", "hello")]);
        let expected = "a,sha256=LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ,5\ni/RECORD,,\n";
        assert_eq!(String::from_utf8(record.bytes).unwrap(), expected);
    }

    #[test]
    fn a_wheel_names_each_of_its_platforms() {
        assert!(describe_wheel("one.two").ends_with("Tag: py3-none-one\nTag: py3-none-two\n"));
    }
}
