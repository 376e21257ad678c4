//! Installed programs on PATH, and the distribution that packages the others.

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::os::files;

/// Returns true if a program can be run by its name: see [`find`].
pub fn is_installed(program: &str, path: Option<&OsStr>) -> bool {
    find_program(program, path).is_some()
}

/// Finds the file that a program's name runs: the name itself if it is a path to an executable file, or the first match in the folders of
/// `path`, which is the value of `PATH`. The system's extension of executable files may be left out.
pub fn find_program(program: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let with_ending = |file: PathBuf| [file.clone(), file.with_added_extension(std::env::consts::EXE_EXTENSION)];
    let first = |file: PathBuf| with_ending(file).into_iter().find(|file| is_executable(file));
    if program.contains(std::path::is_separator) {
        return first(program.into());
    }
    std::env::split_paths(path?).find_map(|folder| first(folder.join(program)))
}

/// Says why nothing is found for a program's name.
pub fn explain_missing(program: &str) -> &'static str {
    let path = Path::new(program);
    match (program.contains(std::path::is_separator), path.is_dir(), path.exists()) {
        (true, true, _) => "it is a folder",
        (true, _, true) => "the file may not be executed (chmod +x)",
        _ if program.contains(char::is_whitespace) => {
            "no such program: type its arguments as words of their own, without quotes"
        }
        _ => "no such program",
    }
}

/// Returns the file that a path leads to, as processes that execute it show it: links are followed, and `/` separates folders.
pub fn as_executed(file: &Path) -> Option<PathBuf> {
    let file = dunce::canonicalize(file).ok()?;
    Some(file.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/").into())
}

/// Returns true if an executable file is a script, so that its interpreter is executed.
pub fn is_script(file: &Path) -> bool {
    let mut begin = [0; 2];
    is_executable(file)
        && std::fs::File::open(file).is_ok_and(|mut file| file.read_exact(&mut begin).is_ok())
        && begin == *b"#!"
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|file| files::is_executable(&file))
}

/// Returns the names of the distribution from os-release(5), its own first and then similar ones ("ubuntu", "debian"). Empty if there is no
/// such file.
pub fn distribution_names() -> Vec<String> {
    let read = |file| std::fs::read_to_string(file).ok();
    let text = read("/etc/os-release").or_else(|| read("/usr/lib/os-release"));
    text.map(|text| parse_distributions(&text)).unwrap_or_default()
}

fn parse_distributions(text: &str) -> Vec<String> {
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='))?;
        Some(line.trim_matches(['"', '\'']).split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    };
    ["ID", "ID_LIKE"].into_iter().filter_map(value).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_a_file_that_may_be_run() {
        let path = OsStr::new("/nowhere:/usr/bin:/bin");
        assert!(is_installed("sh", Some(path)) && is_installed("/bin/sh", None));
        assert!(!is_installed("sh", Some(OsStr::new("/nowhere"))) && !is_installed("sh", None));
        assert!(
            !is_installed("/etc/passwd", Some(path))
                && !is_installed("/bin", Some(path))
                && !is_installed("", Some(path))
        );
    }

    #[test]
    fn a_program_is_named_as_the_processes_show_it() {
        let own = as_executed(&std::env::current_exe().unwrap()).unwrap();
        assert!(own.is_file() && !own.to_string_lossy().contains('\\'), "{}", own.display());
        #[cfg(unix)]
        {
            let folder = tempfile::tempdir().unwrap();
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&own, &link).unwrap();
            assert_eq!(as_executed(&link), Some(own));
        }
    }

    #[test]
    fn a_distribution_is_like_others() {
        assert_eq!(parse_distributions("NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\n"), ["ubuntu", "debian"]);
        assert_eq!(
            parse_distributions("ID_LIKE=\"rhel centos fedora\"\nID='rocky'"),
            ["rocky", "rhel", "centos", "fedora"]
        );
        assert!(parse_distributions("").is_empty() && parse_distributions("VERSION_ID=12").is_empty());
    }
}
