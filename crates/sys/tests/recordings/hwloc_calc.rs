//! The cpus that hwloc-calc gives for the objects of the same recordings, and where and why they differ from ours.
//!
//! Counts may agree where objects do not, so this compares sets of cpus. It needs hwloc-calc; where that is missing, these
//! tests are counted as ignored, with the reason.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use corewise_machine::{CpuSet, Machine};
use libtest_mimic::{Completion, Failed, Trial};
use tempfile::TempDir;

use super::{data, hwloc};

/// The program that is asked.
const PROGRAM: &str = "hwloc-calc";

/// The version for which [`DIFFERENCES`] is complete; another one may have mended some.
const LISTED_FOR: &str = "2.9.";

/// What is compared, by hwloc's words.
const LEVELS: [&str; 5] = ["package", "node", "L3", "L2", "core"];

const NVIDIA: &str = "hwloc/linux/nvidiagpunumanodes.tar.bz2";

const NEAREST: &str = "hwloc gives nodes of memory only the cpus nearest to them, as the kernel's `access` folders name them; \
    to the kernel these nodes have no cpu, and so they have none here";

/// All differences: recording, level, why. One that is not here fails its recording's test, and so does one that is gone.
const DIFFERENCES: [(&str, &str, &str); 8] = [
    ("hwloc/linux/256ppc-8n8s4t.tar.bz2", "package", hwloc::POWER7),
    ("hwloc/linux/fakeheterocpunuma.tar.bz2", "node", hwloc::NESTED),
    ("hwloc/linux/fakememinitiators-1np2c+1npp+gi.tar.bz2", "node", NEAREST),
    (NVIDIA, "package", hwloc::CONFIGURED),
    (NVIDIA, "node", hwloc::CONFIGURED),
    (NVIDIA, "L3", hwloc::CONFIGURED),
    (NVIDIA, "L2", hwloc::CONFIGURED),
    (NVIDIA, "core", hwloc::CONFIGURED),
];

/// One test for each recording that hwloc can load.
pub fn trials(folder: &Path, files: &[String]) -> Vec<Trial> {
    let missing = missing();
    let trial = |name: &String| {
        let (folder, name, missing) = (folder.to_owned(), name.clone(), missing.clone());
        let title = format!("{PROGRAM} agrees::{name}");
        let run = move || match missing {
            Some(why) => Ok(Completion::ignored_with(why)),
            None => compare(&folder, &name).map(|()| Completion::Completed),
        };
        Trial::ignorable_test(title, run).with_kind("recording")
    };
    files.iter().filter(|name| is_loadable(name)).map(trial).collect()
}

/// Why hwloc-calc cannot be asked; nothing where it can.
fn missing() -> Option<String> {
    match Command::new(PROGRAM).arg("--version").stderr(Stdio::null()).output() {
        Ok(output) if output.status.success() => None,
        _ => Some(format!("{PROGRAM} is not installed (Debian's package hwloc)")),
    }
}

/// hwloc has no reader for pepc's inline files, and that of Debian refuses the XML of its own next version.
fn is_loadable(name: &str) -> bool {
    let is_inline = name.starts_with("pepc/") || name.contains("SYNTH-1536cpu");
    name.contains(".tar.") && !is_inline
}

fn compare(folder: &Path, name: &str) -> Result<(), Failed> {
    let machine = data::machine(folder, name)?;
    let place = place()?;
    unpack(&folder.join(name), &place)?;
    let ours: Vec<Vec<CpuSet>> = LEVELS.iter().map(|level| ours(&machine, level)).collect();
    let theirs = AskedLocation::of(place.path())?.about(&ours)?;
    let mut wrong = Vec::new();
    for ((level, ours), theirs) in LEVELS.iter().zip(ours).zip(theirs) {
        let differ = ours.iter().collect::<BTreeSet<_>>() != theirs.iter().collect::<BTreeSet<_>>();
        match (differ, why(name, level)) {
            (true, None) => wrong.push(format!("{level}: {ours:?} here, {theirs:?} there, and not listed")),
            (false, Some(why)) if is_listed_version() => wrong.push(format!("{level}: no longer as listed: {why}")),
            _ => (),
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// Why the objects of a level differ, where that is known.
fn why(name: &str, level: &str) -> Option<&'static str> {
    DIFFERENCES.iter().find(|(recording, of, _)| (*recording, *of) == (name, level)).map(|(_, _, why)| *why)
}

fn is_listed_version() -> bool {
    let version = Command::new(PROGRAM).arg("--version").output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&version).contains(LISTED_FOR)
}

/// The cpus of our objects of a level that the recorded process may use; objects without one are left out, as hwloc does.
fn ours(machine: &Machine, level: &str) -> Vec<CpuSet> {
    let caches = |level: u8| machine.data_caches(level).map(|cache| cache.cpus.clone()).collect();
    let objects: Vec<CpuSet> = match level {
        "package" => machine.packages.iter().map(|package| package.cpus.clone()).collect(),
        "node" => machine.nodes.iter().map(|node| node.cpus.clone()).collect(),
        "core" => machine.cores.iter().map(|core| core.cpus.clone()).collect(),
        "L3" => caches(3),
        _ => caches(2),
    };
    objects.iter().map(|cpus| cpus.intersection(&machine.allowed)).filter(|cpus| !cpus.is_empty()).collect()
}

/// hwloc-calc with a recording.
struct AskedLocation {
    /// The variables that make it read the recording, not this machine.
    variables: [(&'static str, String); 3],
}

impl AskedLocation {
    /// Sysfs where the recording has it, a dump of cpuid otherwise.
    fn of(place: &Path) -> Result<Self, Failed> {
        let (variable, folder, component) = match (find(place, "sys/devices/system"), find(place, "pu0")) {
            (Some(folder), _) => ("HWLOC_FSROOT", folder, "linux,stop"),
            (None, Some(folder)) => ("HWLOC_CPUID_PATH", folder, "x86,stop"),
            (None, None) => return Err("neither sysfs nor cpuid in the archive".into()),
        };
        let folder = folder.to_string_lossy().into_owned();
        let components = ("HWLOC_COMPONENTS", component.to_owned());
        Ok(Self { variables: [(variable, folder), components, ("HWLOC_THISSYSTEM", "0".to_owned())] })
    }

    /// The cpus of hwloc's objects of each level. It is asked for one object more than we have, which must not be there.
    fn about(&self, ours: &[Vec<CpuSet>]) -> Result<Vec<Vec<CpuSet>>, Failed> {
        let counts = ours.iter().map(|objects| 2 * objects.len() + 1);
        let questions: Vec<(usize, String)> = LEVELS
            .iter()
            .zip(counts)
            .enumerate()
            .flat_map(|(at, (level, count))| (0..count).map(move |index| (at, format!("{level}:{index}"))))
            .collect();
        let answers = self.answers(&questions)?;
        let mut theirs = vec![Vec::new(); LEVELS.len()];
        for ((at, question), answer) in questions.iter().zip(answers) {
            let cpus = CpuSet::parse_mask(&answer).map_err(|error| format!("{question}: {answer}: {error}"))?;
            if !cpus.is_empty() {
                theirs[*at].push(cpus);
            }
        }
        Ok(theirs)
    }

    /// A line for each question; "0x0" where there is no such object.
    fn answers(&self, questions: &[(usize, String)]) -> Result<Vec<String>, Failed> {
        let mut command = Command::new(PROGRAM);
        command.arg("--taskset").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HWLOC_")) {
            command.env_remove(name);
        }
        let mut child = command.envs(self.variables.clone()).spawn()?;
        let mut input = child.stdin.take().ok_or("no standard input")?;
        let lines: String = questions.iter().map(|(_, question)| format!("{question}\n")).collect();
        let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
        let output = child.wait_with_output()?;
        let written = writer.join().map_err(|_| "the writer panicked")?;
        if !output.status.success() {
            return Err(format!("{PROGRAM} ended with {}", output.status).into());
        }
        written?;
        let answers: Vec<String> = String::from_utf8(output.stdout)?
            .lines()
            .filter(|line| line.starts_with("0x"))
            .map(str::to_owned)
            .collect();
        if answers.len() == questions.len() { Ok(answers) } else { Err("not one answer for each question".into()) }
    }
}

/// The folder below a place that holds a path: the shortest one.
fn find(place: &Path, wanted: &str) -> Option<PathBuf> {
    let mut folders = vec![place.to_owned()];
    for _ in 0..3 {
        if let Some(found) = folders.iter().find(|folder| folder.join(wanted).exists()) {
            return Some(found.clone());
        }
        let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
        folders = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        folders.sort_unstable();
    }
    None
}

/// A folder for the files of a recording: in memory where that can be had, since there may be twenty thousand.
fn place() -> std::io::Result<TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
}

fn unpack(archive: &Path, place: &TempDir) -> Result<(), Failed> {
    let file = BufReader::new(File::open(archive)?);
    let unpacked: Box<dyn Read> = match archive.extension().and_then(|extension| extension.to_str()) {
        Some("bz2") => Box::new(bzip2::bufread::MultiBzDecoder::new(file)),
        Some("gz") => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
        _ => Box::new(lzma_rust2::XzReader::new(file, true)),
    };
    Ok(tar::Archive::new(unpacked).unpack(place)?)
}

/// An entry whose recording is not asked about would never be looked at.
pub fn no_entry_is_stale(files: &[String]) -> Trial {
    let asked: Vec<String> = files.iter().filter(|name| is_loadable(name)).cloned().collect();
    Trial::test(format!("every listed difference from {PROGRAM} is of a file"), move || {
        match DIFFERENCES.iter().find(|(recording, ..)| !asked.iter().any(|name| name == recording)) {
            Some((recording, ..)) => Err(format!("{recording} is not asked about").into()),
            None => Ok(()),
        }
    })
}
