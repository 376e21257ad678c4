//! Reads every core-to-core file of other tools among the test data: each has the format, the cpus, the pairs and the costs that the
//! data's index states, or is refused for the right reason.
//!
//! The data is looked for in `COREWISE_TESTDATA`, or in `../shared/data` beside the repository. Without it these tests are counted as
//! ignored, with the reason; with `COREWISE_REQUIRE_TESTDATA=1` its absence is a failure.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use corewise_model::links::import::{ImportError, ImportedLinks, LinkFileFormat, read_links};
use corewise_statistics::order::quantile;
use corewise_testing::{find_test_data, requires_test_data};
use libtest_mimic::{Arguments, Failed, Trial};

/// The only file of the data that is none.
const PASTED: &str = "ibm-ppc970-2-2-1-8ghz-x2-by-nviennot.csv";

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = match find_test_data("links", "files of other tools") {
        Ok(folder) => trials(&folder),
        Err(why) => vec![absent(why)],
    };
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn absent(why: String) -> Trial {
    let message = why.clone();
    Trial::test(format!("links::import::files skipped: {why}"), move || Err(message.into()))
        .with_ignored_flag(!requires_test_data())
}

fn trials(folder: &Path) -> Vec<Trial> {
    let entries = index(folder);
    let of_file = |entry: &LinkFileEntry| {
        let (folder, entry) = (folder.to_owned(), entry.clone());
        Trial::test(format!("links::import::files::{}", entry.path()), move || entry.check(&folder))
    };
    let mut trials: Vec<Trial> = entries.iter().map(of_file).collect();
    let own = (folder.to_owned(), entries.clone());
    trials.push(Trial::test("links::import::files::the index names every file", move || named(&own.0, &own.1)));
    let own = (folder.to_owned(), entries);
    trials.push(Trial::test("links::import::files::remarks", move || remarks(&own.0, &own.1)));
    trials
}

/// A row of the data's index.
#[derive(Clone)]
struct LinkFileEntry {
    folder: String,
    file: String,
    /// The number of cpus, mctop's header, "not a matrix", or nothing.
    cpus: String,
    /// The number of cells, their lowest, median and highest cost; empty where the index does not say.
    numbers: Vec<String>,
}

/// The rows of the table at the end of `INDEX.md`.
fn index(folder: &Path) -> Vec<LinkFileEntry> {
    let text = std::fs::read_to_string(folder.join("INDEX.md")).expect("an index");
    let table = text.lines().skip_while(|line| !line.starts_with("| folder | file |")).skip(2);
    let entry = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [folder, file, cpus, numbers @ .., _distinct] = &cells[..] else { panic!("{line}") };
        let numbers = numbers.iter().filter(|cell| !cell.is_empty()).map(|&cell| cell.to_owned()).collect();
        LinkFileEntry { folder: (*folder).into(), file: (*file).into(), cpus: (*cpus).into(), numbers }
    };
    table.take_while(|line| line.starts_with('|')).map(entry).collect()
}

impl LinkFileEntry {
    fn path(&self) -> String {
        format!("{}/{}", self.folder, self.file)
    }

    fn text(&self, folder: &Path) -> String {
        std::fs::read_to_string(folder.join(self.path())).expect("a readable file")
    }

    fn check(&self, folder: &Path) -> Result<(), Failed> {
        let text = self.text(folder);
        if self.file == PASTED {
            let expected = Err(ImportError::Console { line: 1, found: "\"Num cores: 2\"".into() });
            return if read_links(&text) == expected && self.cpus == "not a matrix" {
                Ok(())
            } else {
                Err("not refused".into())
            };
        }
        let imported = read_links(&text)?;
        let format = match self.folder.as_str() {
            "kcores" | "nviennot" => LinkFileFormat::LowerTriangle,
            "soilros" => LinkFileFormat::FullMatrix,
            "mctop" => LinkFileFormat::Mctop,
            "hydroo" => LinkFileFormat::Samples,
            other => return Err(format!("no format is known for {other}").into()),
        };
        same("format", imported.format, format)?;
        let links = &imported.series[0].links;
        let count = imported.cpus.len();
        same("possible pairs", links.possible_pairs as usize, count * (count - 1) / 2)?;
        same(
            "order",
            links.pairs.is_sorted_by_key(|pair| (pair.a, pair.b)) && links.pairs.iter().all(|pair| pair.a < pair.b),
            true,
        )?;
        match format {
            LinkFileFormat::Mctop => self.check_mctop(&imported, &text),
            LinkFileFormat::Samples => check_samples(&imported, &text),
            _ => self.check_matrix(&imported),
        }
    }

    /// The index counts cells (of a full matrix both directions), with the zeros that are left out of the pairs.
    fn check_matrix(&self, imported: &ImportedLinks) -> Result<(), Failed> {
        let mut costs = costs(imported);
        let links = &imported.series[0].links;
        let zeros = links.possible_pairs as usize - links.pairs.len();
        costs.extend(std::iter::repeat_n(0.0, zeros));
        same("cpus", imported.cpus.len().to_string(), self.cpus.clone())?;
        let statistics = [0.0, 0.5, 1.0].map(|at| format!("{:.1}", quantile(&costs, at)));
        let found = [vec![costs.len().to_string()], statistics.to_vec()].concat();
        same("cells, lowest, median, highest", found, self.numbers.clone())
    }

    /// The index quotes the header; the rows of the file are counted and added up here by other means.
    fn check_mctop(&self, imported: &ImportedLinks, text: &str) -> Result<(), Failed> {
        let count = self.cpus.split_whitespace().skip_while(|&word| word != "#HWCs").nth(1).unwrap_or_default();
        same("cpus", imported.cpus.len().to_string(), count.to_owned())?;
        let links = &imported.series[0].links;
        same("pairs", links.pairs.len() as u64, links.possible_pairs)?;
        let latencies = text.lines().skip(1).take_while(|line| !line.starts_with('#'));
        let sum: u64 = latencies.map(|line| line.split_whitespace().nth(2).unwrap().parse::<u64>().unwrap()).sum();
        same("sum of both directions", 2 * costs(imported).iter().sum::<f64>() as u64, sum)?;
        same("cycles", imported.in_cycles, true)
    }
}

/// The index does not describe logs; their samples are counted and added up here by other means.
fn check_samples(imported: &ImportedLinks, text: &str) -> Result<(), Failed> {
    let cores = text.lines().filter(|line| line.starts_with("# Info: New core:")).count();
    same("cpus", imported.cpus.len(), cores)?;
    let links = &imported.series[0].links;
    same("pairs", links.pairs.len() as u64, links.possible_pairs)?;
    let samples: Vec<&str> = text.lines().filter(|line| line.contains("GHz")).collect();
    let costs = costs(imported);
    same("samples", costs.len(), samples.len())?;
    let hundredths = |line: &&str| {
        line.split("ns").next().unwrap().rsplit(',').next().unwrap().trim().replace('.', "").parse::<u64>()
    };
    let sum: u64 = samples.iter().map(hundredths).sum::<Result<u64, _>>()?;
    same("sum", (costs.iter().sum::<f64>() * 100.0).round() as u64, sum)
}

fn costs(imported: &ImportedLinks) -> Vec<f64> {
    imported.series[0]
        .links
        .pairs
        .iter()
        .flat_map(|pair| pair.visits_ns().iter().chain(pair.back_ns()))
        .copied()
        .collect()
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), Failed> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?}, not {expected:?}").into()) }
}

/// Each file is in the index, and each row of the index is a file.
fn named(folder: &Path, entries: &[LinkFileEntry]) -> Result<(), Failed> {
    let mut files = BTreeSet::new();
    for sub in std::fs::read_dir(folder)?.flatten().filter(|entry| entry.path().is_dir()) {
        for file in std::fs::read_dir(sub.path())?.flatten() {
            files.insert(format!("{}/{}", sub.file_name().to_string_lossy(), file.file_name().to_string_lossy()));
        }
    }
    same("files", files, entries.iter().map(LinkFileEntry::path).collect())
}

/// What is said of each file beyond "cpus are row numbers", which is said of files that name none.
fn remarks(folder: &Path, entries: &[LinkFileEntry]) -> Result<(), Failed> {
    let mut text = String::new();
    for entry in entries.iter().filter(|entry| entry.file != PASTED) {
        let imported = read_links(&entry.text(folder))?;
        let (rows, others): (Vec<String>, Vec<String>) =
            imported.remarks.into_iter().partition(|remark| remark.contains("row numbers"));
        same("row numbers", rows.len(), usize::from(!imported.names_cpus))?;
        if !others.is_empty() {
            text += &format!("{}\n", entry.path());
            text.extend(others.iter().map(|remark| format!("  {remark}\n")));
        }
    }
    insta::assert_snapshot!(text, @r"
    kcores/amd-ryzen-9-7950x-by-zamadatix.csv
      only 12 different values in 496 cells, 6.2 apart on average: a coarse clock, or rounded numbers
    kcores/dual-ibm-power9-8335-gth-16-core-2-7ghz-by-herver.csv
      9 of 8128 cells are 0, which is impossible: left out
      only 33 different values in 8119 cells, 27.1 apart on average: a coarse clock, or rounded numbers
    nviennot/amd-ryzen-9-7950x.csv
      only 12 different values in 496 cells, 6.2 apart on average: a coarse clock, or rounded numbers
    mctop/lpd48core.mct
      the numbers are cycles of the time stamp counter, not nanoseconds
      mctop has already grouped the numbers: each belongs to a group, not to a pair
    mctop/lpdpc4.mct
      the numbers are cycles of the time stamp counter, not nanoseconds
      mctop has already grouped the numbers: each belongs to a group, not to a pair
    mctop/lpdxeon2680.mct
      the numbers are cycles of the time stamp counter, not nanoseconds
      mctop has already grouped the numbers: each belongs to a group, not to a pair
    mctop/ol-collab1.mct
      the numbers are cycles of the time stamp counter, not nanoseconds
      mctop has already grouped the numbers: each belongs to a group, not to a pair
    hydroo/241204-0-m4pro-cntvct-el0-i-2000-r-300.log
      the cpus have the hardware's numbers, and the threads were not pinned but checked before and after each sample
    hydroo/241207-1-m1pro-steady-clock-i-2000-r-300.log
      the cpus have the hardware's numbers, and the threads were not pinned but checked before and after each sample
    ");
    Ok(())
}
