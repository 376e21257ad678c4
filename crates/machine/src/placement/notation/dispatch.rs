//! Dispatch of notations to the modules that print and read them.

use super::clean::clean_text;
use super::command::has_command;
use super::keyed::has_value;
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, Notation, NotationError, NotationLine, NotationReading};
use super::{
    cgroup, dpdk, gamemode, haproxy, hwloc, kernel_command_line, kubernetes, libvirt, likwid, list, mask, nginx,
    numactl, openmp, peeled, powershell, process_lasso, rankfile, redis, setting, slurm, steam, systemd, taskset,
    windows,
};
use crate::{CpuSet, Machine};

/// Maximum length of a text, in bytes. Machines of 8,192 cpus, with one element each, need a third of it.
const LONGEST_TEXT: usize = 1 << 20;

/// Prints cpus in a notation: the most useful line first, secondary ones last.
///
/// `order` holds the same cpus in the order in which threads get them; notations that pin thread by thread follow it. Lines that could not
/// be written have no text and give the reason.
///
/// # Examples
/// ```
/// use corewise_machine::placement::{self, ResolveContext};
/// use corewise_machine::placement::notation::{Notation, print_notation};
/// use corewise_machine::{CpuSet, generate::one_package_machine};
///
/// let machine = one_package_machine(8, false, &[(CpuSet::first_cpus(8), 16)]);
/// let context = ResolveContext { machine: &machine, reachable: &machine.allowed, quiet: None, worth: None };
/// let found = placement::parse("all - core:0")?.resolve_on(&context)?;
/// let first = |notation| print_notation(notation, &found.cpus, &found.order, &machine)[0].text.clone();
/// assert_eq!(first(Notation::Taskset).as_deref(), Some("taskset -c 1-7"));
/// assert_eq!(first(Notation::Numactl).as_deref(), Some("numactl --physcpubind=1-7"));
/// assert_eq!(first(Notation::Systemd).as_deref(), Some("AllowedCPUs=1-7"));
/// # Ok::<(), placement::PlacementError>(())
/// ```
pub fn print_notation(notation: Notation, cpus: &CpuSet, order: &[u32], machine: &Machine) -> Vec<NotationLine> {
    if cpus.is_empty() {
        return vec![NotationLine::without_text(notation.word(), "There is no cpu to write.")];
    }
    (tool_of(notation).print)(ChosenCpus { cpus, order, machine })
}

/// Functions of a notation.
struct NotationTool {
    print: fn(ChosenCpus<'_>) -> Vec<NotationLine>,
    read: fn(TextPiece<'_>, &Machine) -> Result<NotationReading, TextFault>,
    /// Returns true if a text has the notation's commands, keys or marks.
    recognize: fn(TextPiece<'_>) -> bool,
}

/// Returns the functions of a notation: the one list of them.
fn tool_of(notation: Notation) -> NotationTool {
    let tool = |print, read, recognize| NotationTool { print, read, recognize };
    match notation {
        Notation::List => tool(list::print_lines, list::read_text, |_| false),
        Notation::Hexadecimal => {
            tool(|chosen| mask::print_hexadecimal(chosen.cpus), |text, _| mask::read_hexadecimal(text), |_| false)
        }
        Notation::Binary => {
            tool(|chosen| mask::print_binary(chosen.cpus), |text, _| mask::read_binary(text), |_| false)
        }
        Notation::Decimal => tool(|chosen| mask::print_decimal(chosen.cpus), mask::read_decimal, |_| false),
        Notation::Taskset => tool(
            |chosen| taskset::print_lines(chosen.cpus),
            |text, _| taskset::read_text(text),
            |text| {
                has_command(text, taskset::is_program)
                    || [" affinity list:", " affinity mask:"].iter().any(|mark| text.text.contains(mark))
            },
        ),
        Notation::Numactl => tool(numactl::print_lines, numactl::read_text, |text| {
            has_command(text, numactl::is_program) || has_value(text, numactl::KEYS)
        }),
        Notation::Hwloc => tool(
            |chosen| hwloc::print_lines(chosen.cpus),
            hwloc::read_text,
            |text| has_command(text, hwloc::is_program),
        ),
        Notation::Likwid => tool(likwid::print_lines, likwid::read_text, |text| has_command(text, likwid::is_program)),
        Notation::Systemd => tool(systemd::print_lines, systemd::read_text, |text| has_value(text, systemd::KEYS)),
        Notation::Cgroup => tool(cgroup::print_lines, cgroup::read_text, |text| has_value(text, cgroup::KEYS)),
        Notation::Docker => tool(
            cgroup::print_docker,
            |text, _| cgroup::read_docker(text),
            |text| has_value(text, cgroup::DOCKER_KEYS) && !text.text.contains('<'),
        ),
        Notation::Kubernetes => {
            tool(kubernetes::print_lines, kubernetes::read_text, |text| has_value(text, kubernetes::KEYS))
        }
        Notation::Slurm => tool(slurm::print_lines, slurm::read_text, |text| {
            has_value(text, slurm::KEYS) || slurm::KINDS.iter().any(|kind| text.text.starts_with(kind))
        }),
        Notation::OpenMp => {
            tool(|chosen| openmp::print_lines(chosen.order), openmp::read_text, |text| has_value(text, openmp::KEYS))
        }
        Notation::Libvirt => tool(libvirt::print_lines, |text, _| libvirt::read_text(text), libvirt::is_recognized),
        Notation::KernelCommandLine => tool(kernel_command_line::print_lines, kernel_command_line::read_text, |text| {
            kernel_command_line::KEYS.iter().any(|key| text.text.contains(&format!("{key}=")))
        }),
        Notation::Windows => tool(windows::print_lines, windows::read_text, windows::is_recognized),
        Notation::PowerShell => tool(powershell::print_lines, powershell::read_text, powershell::is_recognized),
        Notation::ProcessLasso => {
            tool(process_lasso::print_lines, process_lasso::read_text, process_lasso::is_recognized)
        }
        Notation::Nginx => tool(nginx::print_lines, nginx::read_text, |text| text.text.contains(nginx::KEY)),
        Notation::Redis => {
            tool(redis::print_lines, |text, _| redis::read_text(text), |text| has_value(text, redis::keys()))
        }
        Notation::Haproxy => tool(haproxy::print_lines, |text, _| haproxy::read_text(text), haproxy::is_recognized),
        Notation::Steam => tool(steam::print_lines, steam::read_text, |text| has_value(text, [steam::TOPOLOGY])),
        Notation::GameMode => {
            tool(gamemode::print_lines, gamemode::read_text, |text| has_value(text, [gamemode::PIN, gamemode::PARK]))
        }
        Notation::Rankfile => tool(rankfile::print_lines, rankfile::read_text, |text| {
            text.split_lines().iter().any(|line| rankfile::is_rank(line.text))
        }),
        Notation::Dpdk => tool(
            dpdk::print_lines,
            |text, _| dpdk::read_text(text),
            |text| has_command(text, dpdk::is_program) || dpdk::has_options(text.text),
        ),
        Notation::Setting => tool(setting::print_lines, setting::read_text, setting::is_recognized),
    }
}

/// Returns true if a text has the commands, keys or marks of a notation.
pub(super) fn is_recognized(notation: Notation, text: TextPiece<'_>) -> bool {
    (tool_of(notation).recognize)(text)
}

/// Reads a text in a notation: a bare value, or a whole line as typed.
///
/// # Errors
/// If the text does not follow the notation, or names something that this machine lacks.
///
/// # Examples
/// ```
/// use corewise_machine::placement::notation::{Notation, read_notation};
/// use corewise_machine::{CpuSet, generate::one_package_machine};
///
/// let machine = one_package_machine(8, false, &[(CpuSet::first_cpus(8), 16)]);
/// let read = |notation, text| read_notation(notation, text, &machine).map(|read| read.cpus.to_string());
/// assert_eq!(read(Notation::Taskset, "taskset 0x32")?, "1,4,5");
/// assert_eq!(read(Notation::List, "2-3,N")?, "2,3,7");
/// assert_eq!(read(Notation::Taskset, "taskset 0xq").unwrap_err().position, 10);
/// # Ok::<(), corewise_machine::placement::notation::NotationError>(())
/// ```
pub fn read_notation(notation: Notation, text: &str, machine: &Machine) -> Result<NotationReading, NotationError> {
    read_whole(text, machine, |piece| Ok((notation, read_piece(notation, piece, machine)?))).map(|(_, reading)| reading)
}

/// Reads a whole text without its surroundings; adds what is true of every notation.
pub(super) fn read_whole(
    text: &str,
    machine: &Machine,
    read: impl FnOnce(TextPiece<'_>) -> Result<(Notation, NotationReading), TextFault>,
) -> Result<(Notation, NotationReading), NotationError> {
    if text.len() > LONGEST_TEXT {
        return Err(notation_error(text, text, too_long(text)));
    }
    let clean = clean_text(text);
    let piece = TextPiece::new(&clean.text).trim();
    let (notation, read) = read(piece).map_err(|fault| notation_error(text, &clean.text, fault))?;
    if read.cpus.is_empty() {
        return Err(notation_error(text, &clean.text, piece.fault_here("this names no cpu")));
    }
    let beyond = read.cpus.difference(&machine.present);
    let offline = read.cpus.intersection(&machine.offline_cpus());
    let remark = |cpus: CpuSet, what: &str| {
        let verb = if cpus.len() == 1 { "is" } else { "are" };
        (!cpus.is_empty()).then(|| format!("On this machine {} {verb} {what}.", list::format_counted(&cpus)))
    };
    let read = read
        .with_remarks(clean.remarks)
        .with_remarks(remark(beyond, "missing"))
        .with_remarks(remark(offline, "offline"));
    Ok((notation, read))
}

/// Reads a text in a notation. A value alone may have a key, quotation marks and brackets around it.
pub(super) fn read_piece(
    notation: Notation,
    text: TextPiece<'_>,
    machine: &Machine,
) -> Result<NotationReading, TextFault> {
    if text.is_empty() {
        return Err(text.fault_here("there is nothing to read"));
    }
    let read = tool_of(notation).read;
    let fault = match read(text, machine) {
        Ok(reading) => return Ok(reading),
        Err(fault) => fault,
    };
    let is_value = matches!(notation, Notation::List | Notation::Hexadecimal | Notation::Binary | Notation::Decimal);
    let peeled = peeled::peel_value(text).value;
    let is_other = is_value && peeled.text != text.text && !peeled.is_empty();
    let again = is_other.then(|| read(peeled, machine).ok()).flatten().filter(|reading| !reading.cpus.is_empty());
    again.ok_or(fault)
}

/// Creates the fault for a text that is too long, at the first excess character.
fn too_long(text: &str) -> TextFault {
    let at = text.floor_char_boundary(LONGEST_TEXT);
    let what = format!("the text is longer than {LONGEST_TEXT} bytes");
    TextFault { at, length: 1, what, hint: None, choices: Vec::new(), is_silent: false }
}

/// Creates the error of a fault in the clean form of a text, which has the same characters in the same places.
fn notation_error(text: &str, clean: &str, fault: TextFault) -> NotationError {
    let position = clean.get(..fault.at).map_or(0, |before| before.chars().count());
    let TextFault { length, what, hint, choices, .. } = fault;
    NotationError { text: text.to_owned(), position, length, what, hint, choices }
}
