//! Tables and lines in which programs report where processes may run: launchers of MPI, `xl vcpu-list`, `nvidia-smi topo -m`, `tuna`, `cset`.

use super::choices::{NamedReading, one_for_each};
use super::list::{self, ListSyntax};
use super::text::{TextFault, TextPiece};
use super::{NotationReading, rankfile};
use crate::{CpuSet, Machine};

/// A line of a report.
struct ReportLine<'a> {
    /// The process, virtual cpu or device.
    name: &'a str,
    cpus: ReportedCpus<'a>,
}

/// Cpus as a report writes them.
enum ReportedCpus<'a> {
    List(TextPiece<'a>),
    /// Open MPI's words behind "bound to".
    Cores(TextPiece<'a>),
}

/// Line of Open MPI's `--report-bindings`.
const BOUND: &str = " bound to ";
/// Line of Intel MPI's `I_MPI_DEBUG=4`.
const STARTUP: &str = "MPI startup():";
/// Titles of columns with lists of cpus, one word each.
const TITLES: [&str; 3] = ["affinity", "CPUs-X", "CPUS"];

/// Returns true if a text has such a report.
pub(super) fn is_recognized(text: TextPiece<'_>) -> bool {
    !find_lines(text).is_empty()
}

/// Reads the reports of a text: the processes of a launcher together, lines of tables one by one.
pub(super) fn read_reports(text: TextPiece<'_>, machine: &Machine) -> Result<Vec<NamedReading>, TextFault> {
    let mut parts = Vec::new();
    let mut processes = Vec::new();
    for line in find_lines(text) {
        match line.cpus {
            ReportedCpus::List(list) if list.text.starts_with('{') => {
                processes.push(list::read_list(without_braces(list), ListSyntax::default())?.into_iter().collect());
            }
            ReportedCpus::List(list) => {
                let rules = list::kernel_syntax(machine.possible.highest());
                let read = NotationReading::from_order(list::read_list(list, rules)?);
                parts.push(NamedReading::new(line.name, read));
            }
            ReportedCpus::Cores(words) => processes.push(read_cores(words, machine)?),
        }
    }
    if !processes.is_empty() {
        parts.push(NamedReading::new("processes", one_for_each("process", &processes)));
    }
    Ok(parts)
}

/// Returns the lines that name cpus.
fn find_lines(text: TextPiece<'_>) -> Vec<ReportLine<'_>> {
    let mut found = Vec::new();
    let mut column = None;
    for line in text.split_lines() {
        let words = line.split_words();
        let Some(first) = words.first() else { continue };
        if let Some(place) = column_of(&words) {
            column = Some(place);
            continue;
        }
        let cpus = bound_cores(line)
            .map(ReportedCpus::Cores)
            .or_else(|| pinned_list(line, &words).map(ReportedCpus::List))
            .or_else(|| column.and_then(|place| words.get(place)).filter(is_list).copied().map(ReportedCpus::List));
        found.extend(cpus.map(|cpus| ReportLine { name: first.text, cpus }));
    }
    found
}

/// Returns the column of a table's header that has lists of cpus.
fn column_of(words: &[TextPiece<'_>]) -> Option<usize> {
    let is_header = words.len() > 2 && words.iter().all(|word| !word.text.contains(['=', ':', '/']));
    words.iter().position(|word| TITLES.contains(&word.text)).filter(|_| is_header)
}

fn is_list(word: &&TextPiece<'_>) -> bool {
    word.text.starts_with(|c: char| c.is_ascii_digit())
        && word.text.bytes().all(|c| c.is_ascii_digit() || b",-".contains(&c))
}

/// Returns the list of a line that has its form: Intel MPI's ranks, Xen's virtual cpus, the devices of `nvidia-smi topo -m`.
fn pinned_list<'a>(line: TextPiece<'a>, words: &[TextPiece<'a>]) -> Option<TextPiece<'a>> {
    if line.text.contains(STARTUP) {
        return words.last().copied().filter(|last| last.text.starts_with('{') && last.text.ends_with('}'));
    }
    if let [_, .., hard, slash, _] = words
        && slash.text == "/"
    {
        return Some(*hard).filter(|hard| hard.text == "all" || is_list(&hard));
    }
    let is_device = words.first().is_some_and(|word| word.text.starts_with("GPU")) && words.len() > 2;
    let is_range = |word: &&TextPiece<'_>| is_list(word) && word.text.contains([',', '-']);
    words.iter().find(is_range).copied().filter(|_| is_device)
}

/// Returns the words behind "bound to" that name sockets and cores.
fn bound_cores(line: TextPiece<'_>) -> Option<TextPiece<'_>> {
    let words = line.text_after(BOUND)?;
    let is_place = ["socket ", "package[", "core ["].iter().any(|begin| words.text.starts_with(begin));
    is_place.then_some(words)
}

fn without_braces(list: TextPiece<'_>) -> TextPiece<'_> {
    list.strip_prefix("{").and_then(|inner| inner.strip_suffix("}")).unwrap_or(list)
}

/// Reads `socket 0[core 0[hwt 0-1]], socket 0[core 1[hwt 0-1]]` of Open MPI 4, with cores counted over the machine, and
/// `package[0][core:0-1]` of Open MPI 5, with cores counted in the package.
fn read_cores(words: TextPiece<'_>, machine: &Machine) -> Result<CpuSet, TextFault> {
    let host = rankfile::HostCores::new(machine);
    let mut cpus = CpuSet::new();
    if let Some((package, rest)) = words.strip_prefix("package[").and_then(|rest| rest.split_once(']')) {
        let cores = rest.text_after("[core:").and_then(|rest| rest.split_once(']')).map(|(cores, _)| cores);
        return host.cpus_of_package(package, cores.ok_or_else(|| words.fault_here("expected [core:…]"))?);
    }
    for core in words.text.match_indices("core ").map(|(place, _)| words.sub_piece(place + 5, words.text.len())) {
        let (number, rest) = core.split_once('[').ok_or_else(|| core.fault_here("expected core 0[hwt 0]"))?;
        let threads = rest.strip_prefix("hwt ").and_then(|rest| rest.split_once(']')).map(|(threads, _)| threads);
        let threads = threads.ok_or_else(|| rest.fault_here("expected hwt and numbers"))?;
        let of_core: Vec<u32> = host.counted_cpus(number)?.iter().collect();
        for thread in list::read_list(threads, ListSyntax::default())? {
            cpus.extend(of_core.get(thread as usize).copied());
        }
    }
    Ok(cpus)
}
