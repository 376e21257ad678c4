//! Dispatch of notations to the modules that print and read them.

use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, Notation, NotationError, NotationLine, NotationReading};
use super::{
    cgroup, hwloc, kernel_command_line, kubernetes, libvirt, likwid, list, mask, numactl, openmp, powershell,
    process_lasso, slurm, systemd, taskset, windows,
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
    let chosen = ChosenCpus { cpus, order, machine };
    match notation {
        Notation::List => vec![NotationLine::new("list", cpus.to_string())],
        Notation::Hexadecimal => mask::print_hexadecimal(cpus),
        Notation::Binary => vec![NotationLine::new("binary", mask::format_binary(cpus))],
        Notation::Decimal => mask::print_decimal(cpus),
        Notation::Taskset => taskset::print_lines(cpus),
        Notation::Numactl => numactl::print_lines(chosen),
        Notation::Hwloc => hwloc::print_lines(cpus),
        Notation::Likwid => likwid::print_lines(chosen),
        Notation::Systemd => systemd::print_lines(chosen),
        Notation::Cgroup => cgroup::print_lines(chosen),
        Notation::Docker => cgroup::print_docker(chosen),
        Notation::Kubernetes => kubernetes::print_lines(chosen),
        Notation::Slurm => slurm::print_lines(chosen),
        Notation::OpenMp => openmp::print_lines(order),
        Notation::Libvirt => libvirt::print_lines(chosen),
        Notation::KernelCommandLine => kernel_command_line::print_lines(chosen),
        Notation::Windows => windows::print_lines(chosen),
        Notation::PowerShell => powershell::print_lines(chosen),
        Notation::ProcessLasso => process_lasso::print_lines(chosen),
    }
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
    if text.len() > LONGEST_TEXT {
        return Err(notation_error(text, too_long(text)));
    }
    let piece = TextPiece::new(text).trim();
    let read = dispatch_reading(notation, piece, machine).map_err(|fault| notation_error(text, fault))?;
    if read.cpus.is_empty() {
        return Err(notation_error(text, piece.fault_here("this names no cpu")));
    }
    let beyond = read.cpus.difference(&machine.present);
    let offline = read.cpus.intersection(&machine.offline_cpus());
    let remark = |cpus: CpuSet, what: &str| {
        let verb = if cpus.len() == 1 { "is" } else { "are" };
        (!cpus.is_empty()).then(|| format!("On this machine {} {verb} {what}.", list::format_counted(&cpus)))
    };
    Ok(read.with_remarks(remark(beyond, "missing")).with_remarks(remark(offline, "offline")))
}

/// Creates the fault for a text that is too long, at the first excess character.
fn too_long(text: &str) -> TextFault {
    let at = text.floor_char_boundary(LONGEST_TEXT);
    TextFault { at, length: 1, what: format!("the text is longer than {LONGEST_TEXT} bytes"), hint: None }
}

fn dispatch_reading(notation: Notation, text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    if text.is_empty() {
        return Err(text.fault_here("there is nothing to read"));
    }
    match notation {
        Notation::List => {
            Ok(NotationReading::from_order(list::read_list(text, list::kernel_syntax(machine.possible.highest()))?))
        }
        Notation::Hexadecimal => mask::read_hexadecimal(text),
        Notation::Binary => mask::read_binary(text),
        Notation::Decimal => mask::read_decimal(text, machine),
        Notation::Taskset => taskset::read_text(text),
        Notation::Numactl => numactl::read_text(text, machine),
        Notation::Hwloc => hwloc::read_text(text, machine),
        Notation::Likwid => likwid::read_text(text, machine),
        Notation::Systemd => systemd::read_text(text, machine),
        Notation::Cgroup => cgroup::read_text(text, machine),
        Notation::Docker => cgroup::read_docker(text),
        Notation::Kubernetes => Err(text.fault_here("Kubernetes has no notation for chosen cpus")),
        Notation::Slurm => slurm::read_text(text),
        Notation::OpenMp => openmp::read_text(text, machine),
        Notation::Libvirt => libvirt::read_text(text),
        Notation::KernelCommandLine => kernel_command_line::read_text(text, machine),
        Notation::Windows => windows::read_text(text, machine),
        Notation::PowerShell => powershell::read_text(text, machine),
        Notation::ProcessLasso => process_lasso::read_text(text, machine),
    }
}

fn notation_error(text: &str, fault: TextFault) -> NotationError {
    let position = text.get(..fault.at).map_or(0, |before| before.chars().count());
    NotationError { text: text.to_owned(), position, length: fault.length, what: fault.what, hint: fault.hint }
}
