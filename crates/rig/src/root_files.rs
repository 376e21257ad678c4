//! The root file system of the machines: the program under test, its libraries, busybox, and tools to compare with.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::archive::Archive;
use crate::emulator::on_path;
use crate::{RigError, kernel, libraries};

/// Script of the first process.
const INIT: &str = include_str!("init.sh");
/// Other programs that scenarios compare with; included if the host has them.
const TOOLS: [&str; 9] = [
    "lscpu",
    "taskset",
    "setpriv",
    "lstopo-no-graphics",
    "hwloc-calc",
    "hwloc-bind",
    "hwloc-info",
    "hwloc-ps",
    "numactl",
];
/// The folder of the disk driver's modules; scenarios load them.
const MODULES: &str = "lib/modules";
const EMPTY_FOLDERS: [&str; 6] = ["proc", "sys", "dev", "run", "tmp", "sbin"];
const USERS: &str = "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n";
const GROUPS: &str = "root:x:0:\nuser:x:1000:\n";

/// Builds the whole file system with programs in /usr/bin, each under a name.
///
/// # Errors
///
/// [`RigError::Missing`] if the host has no busybox, [`RigError::File`] and [`RigError::Host`] if a program, a library or a tool cannot be
/// read.
pub fn archive(programs: &[(&Path, &str)]) -> Result<Vec<u8>, RigError> {
    let busybox = on_path("busybox").ok_or_else(|| RigError::Missing {
        what: "busybox".to_owned(),
        cure: "install it (Debian: busybox-static)".to_owned(),
    })?;
    let mut archive = Archive::default();
    EMPTY_FOLDERS.iter().for_each(|folder| archive.folder(folder, 0o755));
    archive.folder("root", 0o755);
    archive.file("init", 0o755, INIT.as_bytes());
    archive.file("etc/passwd", 0o644, USERS.as_bytes());
    archive.file("etc/group", 0o644, GROUPS.as_bytes());
    let mut present = BTreeSet::new();
    add_program(&mut archive, &mut present, &busybox, "bin/busybox")?;
    for (program, name) in programs {
        add_program(&mut archive, &mut present, &stripped(program)?.path, &in_usr_bin(name))?;
    }
    for (name, tool) in TOOLS.iter().filter_map(|name| Some((name, on_path(name)?))) {
        add_program(&mut archive, &mut present, &tool, &in_usr_bin(name))?;
    }
    for module in kernel::modules() {
        let name = module.file_name().unwrap_or_default().to_string_lossy().into_owned();
        add(&mut archive, &module, &format!("{MODULES}/{name}"))?;
    }
    Ok(archive.finish())
}

fn in_usr_bin(name: &str) -> String {
    format!("usr/bin/{name}")
}

/// Adds a program and its libraries, unless they are there.
fn add_program(
    archive: &mut Archive,
    present: &mut BTreeSet<PathBuf>,
    program: &Path,
    path: &str,
) -> Result<(), RigError> {
    add(archive, program, path)?;
    for library in libraries::of(program)? {
        if present.insert(library.clone()) {
            add(archive, &library, library.to_string_lossy().trim_start_matches('/'))?;
        }
    }
    Ok(())
}

fn add(archive: &mut Archive, file: &Path, path: &str) -> Result<(), RigError> {
    let data = fs::read(file).map_err(|source| RigError::file(file, source))?;
    let metadata = fs::metadata(file).map_err(|source| RigError::file(file, source))?;
    archive.file(path, metadata.permissions().mode() & 0o755, &data);
    Ok(())
}

/// A program's file, and the folder that it temporarily lies in.
struct Stripped {
    path: PathBuf,
    _folder: Option<tempfile::TempDir>,
}

/// Returns the program without debug information, which is most of it; unchanged if there is no `strip`.
fn stripped(program: &Path) -> Result<Stripped, RigError> {
    let folder = tempfile::tempdir().map_err(|source| RigError::file(std::env::temp_dir(), source))?;
    let path = folder.path().join("program");
    let done = Command::new("strip").arg("-o").arg(&path).arg(program).status();
    match done {
        Ok(status) if status.success() => Ok(Stripped { path, _folder: Some(folder) }),
        _ => Ok(Stripped { path: program.to_owned(), _folder: None }),
    }
}
