//! Archives that depend on nothing but their files: no owner, no order of a folder, and the commit's time.

use std::io::Write as _;

use anyhow::{Context, Result};
use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc, GzBuilder};

/// A file of a package.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedFile {
    /// Path in the package, with slashes.
    pub path: String,
    /// Contents.
    pub bytes: Vec<u8>,
    /// Permissions: 0o755 for programs.
    pub mode: u32,
}

impl PackedFile {
    /// Returns a file that everyone may read.
    pub fn text(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: bytes.into(), mode: 0o644 }
    }

    /// Returns a program.
    pub fn executable(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { mode: 0o755, ..Self::text(path, bytes) }
    }

    /// Returns the same file in a folder.
    pub fn below(self, folder: &str) -> Self {
        Self { path: format!("{folder}/{}", self.path), ..self }
    }
}

/// Compresses bytes as gzip does, without a name and a time.
pub fn compress(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder: GzEncoder<Vec<u8>> = GzBuilder::new().write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// Returns a `.tar.gz`; its files are root's and of one time.
pub fn write_tar(files: &[PackedFile], time_s: u64) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for file in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(file.bytes.len() as u64);
        header.set_mode(file.mode);
        header.set_mtime(time_s);
        header.set_uid(0);
        header.set_gid(0);
        archive.append_data(&mut header, &file.path, file.bytes.as_slice())?;
    }
    compress(&archive.into_inner()?)
}

/// Returns a `.zip` (APPNOTE.TXT 6.3: local headers, central directory, its end) whose files are of one time, given as
/// 2026-11-26T12:47:23Z. Permissions are those of Unix.
pub fn write_zip(files: &[PackedFile], time_utc: &str) -> Result<Vec<u8>> {
    let time = dos_time(time_utc)?;
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for file in files {
        let offset = u32::try_from(archive.len())?;
        let entry = zip_entry(file, time)?;
        archive.extend(b"PK\x03\x04\x14\x00");
        archive.extend(&entry.fields);
        archive.extend([0, 0]);
        archive.extend(file.path.as_bytes());
        archive.extend(&entry.packed);
        // Made by version 2.0 on Unix.
        directory.extend(b"PK\x01\x02\x14\x03\x14\x00");
        directory.extend(&entry.fields);
        // No extra field, no comment, the first disk, binary.
        directory.extend([0; 8]);
        directory.extend(((0o100_000 | file.mode) << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(file.path.as_bytes());
    }
    let (start, count) = (u32::try_from(archive.len())?, u16::try_from(files.len())?.to_le_bytes());
    archive.extend(&directory);
    archive.extend(b"PK\x05\x06\x00\x00\x00\x00");
    archive.extend([count, count].concat());
    archive.extend(u32::try_from(directory.len())?.to_le_bytes());
    archive.extend(start.to_le_bytes());
    archive.extend([0, 0]);
    Ok(archive)
}

/// A compressed file of a zip archive.
struct ZipEntry {
    /// The fields that the local header and the directory share: from the flags to the length of the name.
    fields: Vec<u8>,
    packed: Vec<u8>,
}

fn zip_entry(file: &PackedFile, [time, date]: [u16; 2]) -> Result<ZipEntry> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&file.bytes)?;
    let packed = encoder.finish()?;
    let mut crc = Crc::new();
    crc.update(&file.bytes);
    // Names are UTF-8 (bit 11); method 8 is deflate.
    let words = [0x0800, 8, time, date].map(u16::to_le_bytes).concat();
    let sizes =
        [crc.sum(), u32::try_from(packed.len())?, u32::try_from(file.bytes.len())?].map(u32::to_le_bytes).concat();
    let name = u16::try_from(file.path.len())?.to_le_bytes();
    Ok(ZipEntry { fields: [words.as_slice(), &sizes, &name].concat(), packed })
}

/// Returns time and date of 2026-11-26T12:47:23Z as MS-DOS has them: steps of two seconds, years from 1980.
fn dos_time(time_utc: &str) -> Result<[u16; 2]> {
    let numbers: Vec<u16> = time_utc.split(['-', 'T', ':', 'Z']).filter_map(|part| part.parse().ok()).collect();
    let [year, month, day, hour, minute, second] = numbers[..] else {
        anyhow::bail!("expected a time like 2026-11-26T12:47:23Z, found {time_utc}")
    };
    let year = year.checked_sub(1980).context("a zip archive has no time before 1980")?;
    Ok([(hour << 11) | (minute << 5) | (second / 2), (year << 9) | (month << 5) | day])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> [PackedFile; 2] {
        [PackedFile::executable("a/corewise", vec![7; 100_000]), PackedFile::text("a/b/größe.txt", "text")]
    }

    #[test]
    fn a_tar_archive_has_its_files_with_permissions_and_the_given_time() {
        let packed = write_tar(&sample(), 1_700_000_000).unwrap();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(packed.as_slice()));
        let mut seen = Vec::new();
        for entry in archive.entries().unwrap() {
            let entry = entry.unwrap();
            let header = entry.header();
            assert_eq!((header.mtime().unwrap(), header.uid().unwrap()), (1_700_000_000, 0));
            seen.push((entry.path().unwrap().display().to_string(), header.size().unwrap(), header.mode().unwrap()));
        }
        assert_eq!(seen, [("a/corewise".into(), 100_000, 0o755), ("a/b/größe.txt".into(), 4, 0o644)]);
    }

    #[test]
    fn a_zip_archive_is_read_by_python() {
        if !crate::setup::on_path("python3") {
            return println!("skipped: python3 is not installed");
        }
        let path = std::env::temp_dir().join(format!("corewise-{}.zip", std::process::id()));
        std::fs::write(&path, write_zip(&sample(), "2026-11-26T12:47:23Z").unwrap()).unwrap();
        let script = "import sys, zipfile\nwith zipfile.ZipFile(sys.argv[1]) as z:\n  assert z.testzip() is None\n  \
                      for i in z.infolist(): print(i.filename, i.file_size, oct(i.external_attr >> 16), *i.date_time)";
        let printed = xtask::read_output(std::process::Command::new("python3").args(["-c", script]).arg(&path));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            printed.unwrap(),
            "a/corewise 100000 0o100755 2026 11 26 12 47 22\na/b/größe.txt 4 0o100644 2026 11 26 12 47 22\n"
        );
    }

    #[test]
    fn a_time_that_msdos_has_not_is_refused() {
        for wrong in ["1979-12-31T00:00:00Z", "yesterday", ""] {
            assert!(dos_time(wrong).is_err(), "{wrong}");
        }
    }
}
