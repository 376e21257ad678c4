//! The root file system of the machines: the program under test, its libraries, busybox, and tools to compare with.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::archive::CpioArchive;
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
pub fn archive_root(programs: &[(&Path, &str)]) -> Result<Vec<u8>, RigError> {
    let busybox = on_path("busybox").ok_or_else(|| RigError::Missing {
        what: "busybox".to_owned(),
        cure: "install it (Debian: busybox-static)".to_owned(),
    })?;
    let mut archive = CpioArchive::default();
    EMPTY_FOLDERS.iter().for_each(|folder| archive.add_folder(folder, 0o755));
    archive.add_folder("root", 0o755);
    archive.add_file("init", 0o755, INIT.as_bytes());
    archive.add_file("etc/passwd", 0o644, USERS.as_bytes());
    archive.add_file("etc/group", 0o644, GROUPS.as_bytes());
    let mut present = BTreeSet::new();
    add_program(&mut archive, &mut present, &busybox, "bin/busybox")?;
    for (program, name) in programs {
        add_program(&mut archive, &mut present, &strip_program(program)?.path, &in_usr_bin(name))?;
    }
    for (name, tool) in TOOLS.iter().filter_map(|name| Some((name, on_path(name)?))) {
        add_program(&mut archive, &mut present, &tool, &in_usr_bin(name))?;
    }
    for module in kernel::list_modules() {
        let name = module.file_name().unwrap_or_default().to_string_lossy().into_owned();
        add_file(&mut archive, &module, &format!("{MODULES}/{name}"))?;
    }
    Ok(archive.finish_archive())
}

fn in_usr_bin(name: &str) -> String {
    format!("usr/bin/{name}")
}

/// Adds a program and its libraries, unless they are there.
fn add_program(
    archive: &mut CpioArchive,
    present: &mut BTreeSet<PathBuf>,
    program: &Path,
    path: &str,
) -> Result<(), RigError> {
    add_file(archive, program, path)?;
    for library in libraries::libraries_of(program)? {
        if present.insert(library.clone()) {
            add_file(archive, &library, library.to_string_lossy().trim_start_matches('/'))?;
        }
    }
    Ok(())
}

fn add_file(archive: &mut CpioArchive, file: &Path, path: &str) -> Result<(), RigError> {
    let data = fs::read(file).map_err(|source| RigError::file_error(file, source))?;
    let metadata = fs::metadata(file).map_err(|source| RigError::file_error(file, source))?;
    archive.add_file(path, metadata.permissions().mode() & 0o755, &data);
    Ok(())
}

/// A program's file, and the folder that it temporarily lies in.
struct StrippedProgram {
    path: PathBuf,
    _folder: Option<tempfile::TempDir>,
}

/// Returns the program without debug information, which is most of it; unchanged if there is no `strip`.
fn strip_program(program: &Path) -> Result<StrippedProgram, RigError> {
    let folder = tempfile::tempdir().map_err(|source| RigError::file_error(std::env::temp_dir(), source))?;
    let path = folder.path().join("program");
    let done = Command::new("strip").arg("-o").arg(&path).arg(program).status();
    match done {
        Ok(status) if status.success() => Ok(StrippedProgram { path, _folder: Some(folder) }),
        _ => Ok(StrippedProgram { path: program.to_owned(), _folder: None }),
    }
}
