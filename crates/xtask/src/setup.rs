//! `cargo xtask setup`: installs the tools for tests, the test rig and comparisons besides Rust, and reports each step.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use corewise_rig::Rig;
use xtask::{cargo_command, cargo_of, command_succeeds, repository_root, run_command};

/// A package of Debian's, installed if its files exist.
struct DebianPackage {
    name: &'static str,
    /// Programs of `PATH`, or whole paths.
    files: &'static [&'static str],
}

const fn debian_package(name: &'static str, files: &'static [&'static str]) -> DebianPackage {
    DebianPackage { name, files }
}

/// Packages that the tests start, the rig boots with, Arm is built and emulated with, and Windows is built and imitated with. Services of
/// theirs are not started.
const FOR_TESTS: [DebianPackage; 19] = [
    debian_package("bsdutils", &["script"]),
    debian_package("busybox-static", &["busybox"]),
    debian_package("chromium", &["chromium"]),
    debian_package("g++", &["c++"]),
    debian_package("gcc-aarch64-linux-gnu", &["aarch64-linux-gnu-gcc"]),
    debian_package("gcc-mingw-w64-x86-64-win32", &["x86_64-w64-mingw32-gcc"]),
    debian_package("hwloc", &["hwloc-bind", "hwloc-calc"]),
    debian_package("libc6-dev-arm64-cross", &["/usr/aarch64-linux-gnu/lib/libc.so"]),
    debian_package("munge", &["/usr/sbin/munged"]),
    debian_package("numactl", &["numactl"]),
    debian_package("openssh-client", &["ssh", "ssh-keygen"]),
    debian_package("openssh-server", &["/usr/sbin/sshd"]),
    debian_package("qemu-system-x86", &["qemu-system-x86_64"]),
    debian_package("qemu-user", &["qemu-aarch64"]),
    debian_package("slurm-wlm", &["/usr/sbin/slurmctld", "/usr/sbin/slurmd", "sbatch"]),
    debian_package("tmux", &["tmux"]),
    debian_package("util-linux", &["lscpu", "setpriv", "setsid", "taskset", "unshare"]),
    debian_package("wine", &["/usr/share/wine"]),
    debian_package("wine64", &[WINE]),
];

/// The tools that corewise is compared with.
const FOR_COMPARISONS: [DebianPackage; 4] = [
    debian_package("hyperfine", &["hyperfine"]),
    debian_package("linux-perf", &["perf"]),
    debian_package("rt-tests", &["cyclictest", "oslat"]),
    debian_package("likwid", &["likwid-bench"]),
];

/// Tools that corewise is compared with, from the registry of crates.
const RIVALS: [&str; 2] = ["c2clat", "core-to-core-latency"];

/// What packages are built and tested with, besides the packages for tests: installers for Python, and fresh systems.
const FOR_PACKAGES: [DebianPackage; 7] = [
    debian_package("dpkg", &["dpkg-deb"]),
    debian_package("gcc-aarch64-linux-gnu", &["aarch64-linux-gnu-gcc"]),
    debian_package("gcc-mingw-w64-x86-64-win32", &["x86_64-w64-mingw32-gcc"]),
    debian_package("git", &["git"]),
    debian_package("mmdebstrap", &["mmdebstrap"]),
    debian_package("python3-pip", &["pip3"]),
    debian_package("qemu-user", &["qemu-aarch64"]),
];

/// The compiler for C of the static programs, from the registry of Python, and its folder.
const ZIG: &str = "ziglang==0.15.2";
/// The folder in the repository into which Zig is installed.
pub const ZIG_FOLDER: &str = "target/zig";

/// Arguments of npm that install the checker of pages.
const NPM: [&str; 6] = ["install", "--no-audit", "--no-fund", "--prefix", "target/axe", "axe-core@4"];

/// The target of the tests on Arm.
pub const ARM: &str = "aarch64-unknown-linux-gnu";
/// The program that imitates Windows. Debian's `wine` also requires the 32-bit one, which is not needed.
pub const WINE: &str = "/usr/lib/wine/wine64";
/// The target of tests under Wine.
pub const WINDOWS: &str = "x86_64-pc-windows-gnu";
/// The target of static programs in packages.
pub const STATIC: &str = "x86_64-unknown-linux-musl";
/// The target of static programs for Arm in packages.
pub const STATIC_ARM: &str = "aarch64-unknown-linux-musl";
/// All targets of packages.
const PACKAGED: [&str; 3] = [STATIC, STATIC_ARM, WINDOWS];

/// Installs the tools for tests, packages and comparisons; returns false if something is still missing.
pub fn install_all() -> bool {
    let (tests, packages) = (for_tests(), for_packages());
    for_comparisons() && tests && packages
}

/// Installs the tools for tests; returns false if something is still missing. Tests that need it are then skipped and say so.
pub fn for_tests() -> bool {
    let mut steps = SetupLog::default();
    steps.install_packages(&FOR_TESTS);
    steps.install_library(ARM);
    steps.install_library(WINDOWS);
    let had_kernel = Rig::has_kernel();
    steps.do_step("the rig's kernel", || Ok(Rig::fetch_kernel().map(|_| !had_kernel)?));
    let checker = repository_root().join("target/axe/node_modules/axe-core/axe.min.js");
    steps.do_step("axe-core, which checks pages", || match checker.exists() {
        true => Ok(false),
        false => run_command(Command::new("npm").args(NPM).current_dir(repository_root())).map(|()| true),
    });
    steps.finish_setup()
}

/// Checks for all tools that packages are built and tested with.
///
/// # Errors
/// The first that is missing.
pub fn check_package_tools() -> Result<()> {
    ensure!(cfg!(target_arch = "x86_64"), "packages are built on x86-64 only");
    const HOW: &str = "is missing: cargo xtask setup packages";
    let package = FOR_PACKAGES.iter().find(|package| !is_there(package));
    ensure!(package.is_none(), "{} {HOW}", package.map_or("", |package| package.name));
    let library = PACKAGED.iter().find(|target| !has_library(target));
    ensure!(library.is_none(), "the standard library for {} {HOW}", library.unwrap_or(&""));
    ensure!(has_zig(), "{ZIG} {HOW}");
    Ok(())
}

fn has_zig() -> bool {
    repository_root().join(ZIG_FOLDER).join("ziglang/zig").exists()
}

/// Installs the tools that packages are built and tested with; returns false if something is still missing.
pub fn for_packages() -> bool {
    let mut steps = SetupLog::default();
    steps.install_packages(&FOR_PACKAGES);
    PACKAGED.iter().for_each(|target| steps.install_library(target));
    steps.do_step(ZIG, || match has_zig() {
        true => Ok(false),
        false => run_quietly(
            Command::new("python3")
                .args(["-m", "pip", "install", "--quiet", "--target", ZIG_FOLDER, ZIG])
                .current_dir(repository_root()),
        )
        .map(|()| true),
    });
    steps.finish_setup()
}

/// Installs the tools that corewise is compared with; returns false if something is still missing.
pub fn for_comparisons() -> bool {
    let mut steps = SetupLog::default();
    steps.install_packages(&FOR_COMPARISONS);
    let is_missing = |rival: &&str| !repository_root().join("target/rivals/bin").join(rival).exists();
    let missing: Vec<&str> = RIVALS.into_iter().filter(is_missing).collect();
    steps.do_step("c2clat and core-to-core-latency", || match missing.is_empty() {
        true => Ok(false),
        false => run_command(cargo_command().args(["install", "--locked", "--root", "target/rivals"]).args(&missing))
            .map(|()| true),
    });
    steps.finish_setup()
}

/// Installs the tools for fuzzing: the sanitizers are not in the stable toolchain.
pub fn for_fuzzing() -> Result<()> {
    if command_succeeds(cargo_of("+nightly").args(["fuzz", "--version"])) {
        return Ok(());
    }
    run_command(cargo_of("+nightly").args(["install", "cargo-fuzz", "--locked"]))
        .context("fuzzing needs `rustup toolchain install nightly` and cargo-fuzz")
}

/// Returns true if the compiler has the standard library for a target.
pub fn has_library(target: &str) -> bool {
    let printed = xtask::read_output(
        Command::new("rustc").args(["--print", "target-libdir", "--target", target]).current_dir(repository_root()),
    );
    let is_std = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("libstd-");
    let Ok(mut entries) = printed.and_then(|folder| Ok(std::fs::read_dir(folder.trim())?)) else { return false };
    entries.any(|entry| entry.is_ok_and(is_std))
}

/// A policy that keeps installed packages from starting their services (invoke-rc.d(8)), unless the system has one of its own.
struct ServiceRefusal {
    is_ours: bool,
}

impl ServiceRefusal {
    const PATH: &str = "/usr/sbin/policy-rc.d";

    fn begin() -> Result<Self> {
        let is_ours = !Path::new(Self::PATH).exists();
        if is_ours {
            std::fs::write(Self::PATH, "#!/bin/sh\nexit 101\n")?;
            std::fs::set_permissions(Self::PATH, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        }
        Ok(Self { is_ours })
    }

    fn end(self) -> Result<()> {
        if self.is_ours {
            std::fs::remove_file(Self::PATH)?;
        }
        Ok(())
    }
}

/// Results of the steps.
#[derive(Default)]
struct SetupLog {
    missing: bool,
}

impl SetupLog {
    /// Installs missing packages, or prints the command for it.
    fn install_packages(&mut self, wanted: &[DebianPackage]) {
        let missing: Vec<&str> =
            wanted.iter().filter(|package| !is_there(package)).map(|package| package.name).collect();
        if missing.is_empty() {
            return println!("there already: {}", package_names(wanted));
        }
        let is_root = xtask::read_output(Command::new("id").arg("-u")).is_ok_and(|number| number.trim() == "0");
        if !is_root || !on_path("apt-get") {
            self.missing = true;
            let why = if is_root { "this system has no apt-get" } else { "only root may install packages" };
            return println!(
                "missing, because {why}: {names}\n    sudo apt-get install --no-install-recommends {names}",
                names = missing.join(" ")
            );
        }
        self.do_step(&missing.join(" "), || {
            // The lists of a fresh system are empty, and old lists name packages that no longer exist.
            run_quietly(Command::new("apt-get").args(["update", "-q"]))?;
            let mut install = Command::new("apt-get");
            install.args(["install", "-y", "-q", "--no-install-recommends"]).args(&missing);
            let refusal = ServiceRefusal::begin()?;
            let installed = run_quietly(install.env("DEBIAN_FRONTEND", "noninteractive")).map(|()| true);
            refusal.end()?;
            installed
        });
    }

    /// Installs the standard library of Rust for a target.
    fn install_library(&mut self, target: &str) {
        // On a half-working network it would wait forever.
        let mut add = Command::new("timeout");
        add.args(["300", "rustup", "target", "add", target]).current_dir(repository_root());
        self.do_step(&format!("the standard library for {target}"), || match has_library(target) {
            true => Ok(false),
            false => run_quietly(&mut add).map(|()| true),
        });
    }

    /// Runs a step, which returns true if it changed anything, and prints the result.
    fn do_step(&mut self, what: &str, work: impl FnOnce() -> Result<bool>) {
        match work() {
            Ok(true) => println!("installed: {what}"),
            Ok(false) => println!("there already: {what}"),
            Err(error) => {
                self.missing = true;
                println!("missing: {what}: {error:#}");
            }
        }
    }

    /// Returns true if everything is there.
    fn finish_setup(self) -> bool {
        !self.missing
    }
}

fn package_names(packages: &[DebianPackage]) -> String {
    packages.iter().map(|package| package.name).collect::<Vec<_>>().join(" ")
}

fn is_there(package: &DebianPackage) -> bool {
    package.files.iter().all(|file| if file.starts_with('/') { Path::new(file).exists() } else { on_path(file) })
}

/// Returns true if a program is in a folder of `PATH`.
pub fn on_path(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

/// Runs a command and shows its output only if it fails.
fn run_quietly(command: &mut Command) -> Result<()> {
    xtask::read_output(command).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_there_when_all_its_files_are() {
        assert!(is_there(&debian_package("a shell and its folder", &["sh", "/bin"])));
        assert!(!is_there(&debian_package("half", &["sh", "/no/such/file"])));
        assert!(!is_there(&debian_package("none", &["no-such-program"])));
    }
}
