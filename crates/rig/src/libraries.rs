//! The shared libraries that a program needs, from `ldd`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::RigError;

/// Returns the libraries of a program, including its loader; empty for a static one.
///
/// # Errors
///
/// [`RigError::Host`] if `ldd` cannot be started, or a library cannot be found.
pub fn libraries_of(program: &Path) -> Result<Vec<PathBuf>, RigError> {
    let failed = |why: String| RigError::Host { program: "ldd".to_owned(), why };
    let output = Command::new("ldd").arg(program).env("LC_ALL", "C").output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    // For a static program ldd fails with a message; other files than programs would not have been built.
    let text = String::from_utf8_lossy(&output.stdout);
    match missing_library(&text) {
        Some(line) => Err(failed(format!("{}: {line}", program.display()))),
        None => Ok(library_paths(&text)),
    }
}

fn missing_library(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| line.ends_with("not found"))
}

/// Returns the paths in lines such as "libc.so.6 => /lib/libc.so.6 (0x7f…)" and "/lib64/ld-linux.so.2 (0x7f…)".
fn library_paths(text: &str) -> Vec<PathBuf> {
    let path = |line: &str| {
        let found = line.split_once("=>").map_or(line, |(_, found)| found).trim();
        found.split_whitespace().next().filter(|path| path.starts_with('/')).map(PathBuf::from)
    };
    text.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_and_every_library_are_found() {
        let text = "\tlinux-vdso.so.1 (0x00007f00f8145000)\n\
                    \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f00f761e000)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f00f8147000)\n";
        let found = [PathBuf::from("/lib/x86_64-linux-gnu/libc.so.6"), "/lib64/ld-linux-x86-64.so.2".into()];
        assert_eq!(library_paths(text), found);
        assert!(library_paths("\tnot a dynamic executable\n").is_empty());
        assert_eq!(missing_library("\tlibx.so => not found\n"), Some("libx.so => not found"));
    }
}
