//! Paths as bytes, for values that are kept and printed as JSON.

use std::path::{Path, PathBuf};

/// The bytes of a path.
pub fn to_bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_encoded_bytes().to_vec()
}

/// The path of some bytes; where paths are no bytes, what is not UTF-8 in them is lost.
pub fn of_bytes(bytes: &[u8]) -> PathBuf {
    #[cfg(unix)]
    return PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes));
    #[cfg(not(unix))]
    return PathBuf::from(String::from_utf8_lossy(bytes).into_owned());
}
