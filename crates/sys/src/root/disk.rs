//! Files and folders on disk.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use crate::input::InputKind;
use crate::os::files::open_to_read;

/// Reads a file of the machine, up to the size limit.
pub fn read_file(path: &Path) -> Option<String> {
    read_open_file(open_to_read(path, true).ok()?)
}

/// Reads an open file, up to the size limit.
pub fn read_open_file(file: File) -> Option<String> {
    let mut bytes = Vec::new();
    file.take(InputKind::MachineFolderFile.most_bytes()).read_to_end(&mut bytes).ok()?;
    Some(text_of(bytes))
}

/// Converts bytes to text, without a copy if they are UTF-8.
pub fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

pub fn list_folder(path: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}
