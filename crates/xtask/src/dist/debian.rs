//! The Debian package: the program with its pages, completions and units at their places, and the scripts that dpkg runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use xtask::{repository_root, run_command};

use super::archive::{PackedFile, compress};
use super::contents::{SharedContents, THIRD_PARTY};
use super::{PROGRAM, SourceCommit, VERSION};

/// The folder in which the package's files lie before they are packed.
const STAGE: &str = "target/debian";
/// Scripts that dpkg runs: after installation, before removal, and after removal.
const SCRIPTS: [(&str, &str); 3] = [
    ("postinst", include_str!("debian/postinst")),
    ("prerm", include_str!("debian/prerm")),
    ("postrm", include_str!("debian/postrm")),
];
/// Writes the package for a processor, by Debian's name, into a folder.
pub fn write_package(
    architecture: &str,
    program: &PackedFile,
    shared: &SharedContents,
    commit: &SourceCommit,
    folder: &Path,
) -> Result<()> {
    let stage = repository_root().join(STAGE);
    if stage.exists() {
        fs::remove_dir_all(&stage)?;
    }
    let files = installed_files(program, shared, commit)?;
    let control = PackedFile::text("DEBIAN/control", write_control(architecture, &files, shared, commit));
    let scripts = SCRIPTS.map(|(name, script)| PackedFile::executable(format!("DEBIAN/{name}"), script));
    for file in files.iter().chain([&control]).chain(&scripts) {
        write_staged(&stage, file)?;
    }
    let path = folder.join(format!("{PROGRAM}_{VERSION}_{architecture}.deb"));
    let mut pack = Command::new("dpkg-deb");
    pack.args(["--root-owner-group", "-Zxz", "--build"]).arg(&stage).arg(path);
    // Times after it become it: those of all files, which were written just now.
    run_command(pack.env("SOURCE_DATE_EPOCH", commit.time_s.to_string()).stdout(std::process::Stdio::null()))
}

/// Writes a file and its folders, readable by everyone whatever the umask is.
fn write_staged(stage: &Path, file: &PackedFile) -> Result<()> {
    let path = stage.join(&file.path);
    let folder = path.parent().context("a file without a folder")?;
    fs::create_dir_all(folder)?;
    for folder in folder.ancestors().take_while(|folder| folder.starts_with(stage)) {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    }
    fs::write(&path, &file.bytes).with_context(|| path.display().to_string())?;
    fs::set_permissions(&path, fs::Permissions::from_mode(file.mode))?;
    Ok(())
}

/// Returns all files that the package installs.
fn installed_files(program: &PackedFile, shared: &SharedContents, commit: &SourceCommit) -> Result<Vec<PackedFile>> {
    let mut files = vec![program.clone().below("usr/bin")];
    for page in &shared.pages {
        files.push(PackedFile::text(format!("usr/share/man/man1/{}.gz", page.path), compress(&page.bytes)?));
    }
    for (shell, place) in [
        ("bash", "usr/share/bash-completion/completions/corewise"),
        ("zsh", "usr/share/zsh/vendor-completions/_corewise"),
        ("fish", "usr/share/fish/vendor_completions.d/corewise.fish"),
    ] {
        files.push(PackedFile::text(place, shared.completion_of(shell)?.bytes.clone()));
    }
    files.extend(shared.units.iter().map(|unit| unit.clone().below("usr/lib/systemd")));
    let documents = format!("usr/share/doc/{PROGRAM}");
    files.push(PackedFile::text(format!("{documents}/copyright"), write_copyright(shared)?));
    files.push(PackedFile::text(
        format!("{documents}/{THIRD_PARTY}.gz"),
        compress(&shared.licence(THIRD_PARTY)?.bytes)?,
    ));
    files.push(PackedFile::text(format!("{documents}/changelog.gz"), compress(write_changelog(commit).as_bytes())?));
    Ok(files)
}

/// Returns the control file: <https://www.debian.org/doc/debian-policy/ch-controlfields.html>.
fn write_control(architecture: &str, files: &[PackedFile], shared: &SharedContents, commit: &SourceCommit) -> String {
    let installed_kib: usize = files.iter().map(|file| file.bytes.len().div_ceil(1024)).sum();
    let summary = shared.summary.trim_end_matches(['.', '?']);
    format!(
        "Package: {PROGRAM}\nVersion: {VERSION}\nArchitecture: {architecture}\nMaintainer: {}\nInstalled-Size: {installed_kib}\n\
         Section: utils\nPriority: optional\nDescription: {summary}\n\
         \x20corewise surveys the cpus of a machine, tries a program on the placements\n\
         \x20that differ, says with its error rate whether one of them wins, and keeps\n\
         \x20the winner in force. It gives everything back on removal.\n",
        commit.author
    )
}

/// Returns the licence of corewise. Those of its libraries are in a file of their own, since the policy wants no text of Apache's here.
fn write_copyright(shared: &SharedContents) -> Result<Vec<u8>> {
    let notice = format!(
        "Copyright: the authors of corewise.\n\ncorewise is licensed under MIT (below) or Apache-2.0 \
         (/usr/share/common-licenses/Apache-2.0), at your choice.\nThe licences of its libraries: \
         /usr/share/doc/{PROGRAM}/{THIRD_PARTY}.gz\n\n"
    );
    Ok([notice.as_bytes(), &shared.licence("LICENSE-MIT")?.bytes].concat())
}

/// Returns Debian's list of changes: that there is a new version.
fn write_changelog(commit: &SourceCommit) -> String {
    format!(
        "{PROGRAM} ({VERSION}) unstable; urgency=medium\n\n  * Version {VERSION}: its changes are in CHANGELOG.md of the sources.\n\n \
         -- {}  {}\n",
        commit.author, commit.time_letter
    )
}
