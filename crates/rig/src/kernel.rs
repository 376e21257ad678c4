//! The machines' kernel, and the driver of their disk: a distribution's, fetched once and kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::RigError;

/// The variable that names another kernel to boot.
const VARIABLE: &str = "COREWISE_RIG_KERNEL";
/// Debian's package that depends on its newest kernel.
const PACKAGE: &str = "linux-image-amd64";
const NAME: &str = "vmlinuz";
/// The folder of the driver's modules beside it.
const MODULES_FOLDER: &str = "modules";
/// The modules of a virtio disk's driver, each after its dependencies. The distribution builds them into no kernel.
const MODULES: [&str; 6] =
    ["virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "virtio_blk"];

/// Returns the folder of the kept kernel.
fn kernel_folder() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| here.join("../../target"), PathBuf::from);
    target.join("rig")
}

/// Finds the kernel: the one in `COREWISE_RIG_KERNEL`, or the fetched one.
///
/// # Errors
///
/// [`RigError::Missing`] if there is none.
pub fn find_kernel() -> Result<PathBuf, RigError> {
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    let path = named.unwrap_or_else(|| kernel_folder().join(NAME));
    let cure = format!("`cargo xtask setup` fetches Debian's, {VARIABLE} names another");
    if path.is_file() {
        Ok(path)
    } else {
        Err(RigError::Missing { what: format!("the kernel {}", path.display()), cure })
    }
}

/// Returns the kernel's modules, in the order of loading; empty if there are none for this kernel.
pub fn list_modules() -> Vec<PathBuf> {
    let all = MODULES.map(|name| kernel_folder().join(MODULES_FOLDER).join(format!("{name}.ko")));
    let is_there = std::env::var_os(VARIABLE).is_none() && all.iter().all(|path| path.is_file());
    if is_there { all.into() } else { Vec::new() }
}

/// Fetches Debian's kernel with the modules, unless they are there. If the modules are not available, a kernel without them is enough.
///
/// # Errors
///
/// [`RigError::Missing`] if this host has no package of it, [`RigError::Host`] if it cannot be unpacked.
pub fn fetch_kernel() -> Result<PathBuf, RigError> {
    match find_kernel() {
        Ok(path) if std::env::var_os(VARIABLE).is_some() || !list_modules().is_empty() => Ok(path),
        Ok(path) => Ok(download_kernel().unwrap_or(path)),
        Err(_) => download_kernel(),
    }
}

fn download_kernel() -> Result<PathBuf, RigError> {
    let folder = kernel_folder();
    fs::create_dir_all(&folder).map_err(|source| RigError::file_error(&folder, source))?;
    let work = tempfile::tempdir_in(&folder).map_err(|source| RigError::file_error(&folder, source))?;
    let package = newest_package()?;
    run(Command::new("apt-get").args(["download", &package]).current_dir(work.path()))?;
    unpack_package(work.path())?;
    let path = folder.join(NAME);
    let image = only_file(&work.path().join("boot"), "vmlinuz-")?;
    keep_modules(work.path())?;
    // Renamed when complete, so that half a kernel is never booted.
    fs::rename(&image, &path).map_err(|source| RigError::file_error(&image, source))?;
    Ok(path)
}

/// Moves the modules beside their kernel.
fn keep_modules(unpacked: &Path) -> Result<(), RigError> {
    let release = only_file(&unpacked.join("lib/modules"), "")?;
    let kept = kernel_folder().join(MODULES_FOLDER);
    fs::create_dir_all(&kept).map_err(|source| RigError::file_error(&kept, source))?;
    for module in MODULES.map(|name| format!("{name}.ko")) {
        let folders = ["virtio", "block"].map(|folder| release.join("kernel/drivers").join(folder).join(&module));
        let found = folders.into_iter().find(|path| path.is_file());
        let found = found.ok_or_else(|| RigError::Missing {
            what: format!("the module {module} in Debian's package"),
            cure: format!("set {VARIABLE} to a kernel"),
        })?;
        fs::rename(&found, kept.join(&module)).map_err(|source| RigError::file_error(&found, source))?;
    }
    Ok(())
}

/// Returns the name of the newest kernel's package, such as "linux-image-6.1.0-56-amd64".
fn newest_package() -> Result<String, RigError> {
    let missing = |why: &str| RigError::Missing {
        what: format!("Debian's package {PACKAGE}"),
        cure: format!("{why}; set {VARIABLE} to a kernel for x86-64 that has its serial port built in"),
    };
    let output = Command::new("apt-cache").args(["depends", PACKAGE]).output();
    let output = output.map_err(|error| missing(&format!("apt-cache: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    find_dependency(&text).map(str::to_owned).ok_or_else(|| missing("apt-cache knows none; try `apt-get update`"))
}

fn find_dependency(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.trim().strip_prefix("Depends: ")).filter(|name| name.starts_with("linux-image-"))
}

/// Unpacks the kernel, and the modules of the disk's driver, from the package.
fn unpack_package(folder: &Path) -> Result<(), RigError> {
    let package = only_file(folder, "linux-image-")?;
    let failed = |why: String| RigError::Host { program: "dpkg-deb".to_owned(), why };
    let mut unpacker = Command::new("dpkg-deb");
    let unpacker = unpacker.arg("--fsys-tarfile").arg(&package).stdout(Stdio::piped()).spawn();
    let mut unpacker = unpacker.map_err(|error| failed(error.to_string()))?;
    let archive = unpacker.stdout.take().ok_or_else(|| failed("it has no output".to_owned()))?;
    let mut tar = Command::new("tar");
    let wanted = ["./boot/vmlinuz-*", "./lib/modules/*/kernel/drivers/virtio/*", "*/drivers/block/virtio_blk.ko"];
    run(tar.args(["--extract", "--wildcards"]).args(wanted).stdin(archive).current_dir(folder))?;
    let status = unpacker.wait().map_err(|error| failed(error.to_string()))?;
    if status.success() { Ok(()) } else { Err(failed(status.to_string())) }
}

fn only_file(folder: &Path, prefix: &str) -> Result<PathBuf, RigError> {
    let entries = fs::read_dir(folder).map_err(|source| RigError::file_error(folder, source))?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    let fits = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
    paths.find(fits).ok_or_else(|| RigError::Missing {
        what: format!("a file {prefix}… in {}", folder.display()),
        cure: format!("set {VARIABLE} to a kernel"),
    })
}

/// Runs a program of the host; if it fails, its output is part of the error.
fn run(command: &mut Command) -> Result<(), RigError> {
    let failed = |command: &Command, why| RigError::Host { program: format!("{:?}", command.get_program()), why };
    let output = command.output().map_err(|error| failed(command, error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(failed(command, format!("{}: {said}", output.status)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_of_the_newest_kernel_is_found() {
        let text =
            "linux-image-amd64\n  Depends: linux-image-6.1.0-56-amd64\n    linux-image-6.1.0-56-amd64-unsigned\n";
        assert_eq!(find_dependency(text), Some("linux-image-6.1.0-56-amd64"));
        assert_eq!(find_dependency("linux-image-amd64\n"), None);
    }
}
