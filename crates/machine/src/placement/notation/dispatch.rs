//! Dispatch of notations to the modules that print and read them.

use super::text::{Fault, Piece};
use super::{Chosen, Notation, NotationLine, Read, ReadError};
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
pub fn print(notation: Notation, cpus: &CpuSet, order: &[u32], machine: &Machine) -> Vec<NotationLine> {
    if cpus.is_empty() {
        return vec![NotationLine::absent(notation.word(), "There is no cpu to write.")];
    }
    let chosen = Chosen { cpus, order, machine };
    match notation {
        Notation::List => vec![NotationLine::new("list", cpus.to_string())],
        Notation::Hexadecimal => mask::print_hexadecimal(cpus),
        Notation::Binary => vec![NotationLine::new("binary", mask::binary(cpus))],
        Notation::Decimal => mask::print_decimal(cpus),
        Notation::Taskset => taskset::print(cpus),
        Notation::Numactl => numactl::print(chosen),
        Notation::Hwloc => hwloc::print(cpus),
        Notation::Likwid => likwid::print(chosen),
        Notation::Systemd => systemd::print(chosen),
        Notation::Cgroup => cgroup::print(chosen),
        Notation::Docker => cgroup::print_docker(chosen),
        Notation::Kubernetes => kubernetes::print(chosen),
        Notation::Slurm => slurm::print(chosen),
        Notation::OpenMp => openmp::print(order),
        Notation::Libvirt => libvirt::print(chosen),
        Notation::KernelCommandLine => kernel_command_line::print(chosen),
        Notation::Windows => windows::print(chosen),
        Notation::PowerShell => powershell::print(chosen),
        Notation::ProcessLasso => process_lasso::print(chosen),
    }
}

/// Reads a text in a notation: a bare value, or a whole line as typed.
///
/// # Errors
/// If the text does not follow the notation, or names something that this machine lacks.
pub fn read(notation: Notation, text: &str, machine: &Machine) -> Result<Read, ReadError> {
    if text.len() > LONGEST_TEXT {
        return Err(error(text, too_long(text)));
    }
    let piece = Piece::new(text).trim();
    let read = dispatch(notation, piece, machine).map_err(|fault| error(text, fault))?;
    if read.cpus.is_empty() {
        return Err(error(text, piece.fault("this names no cpu")));
    }
    let beyond = read.cpus.difference(&machine.present);
    let offline = read.cpus.intersection(&machine.offline());
    let remark = |cpus: CpuSet, what: &str| {
        let verb = if cpus.len() == 1 { "is" } else { "are" };
        (!cpus.is_empty()).then(|| format!("On this machine {} {verb} {what}.", list::counted(&cpus)))
    };
    Ok(read.remarks(remark(beyond, "missing")).remarks(remark(offline, "offline")))
}

/// Creates the fault for a text that is too long, at the first excess character.
fn too_long(text: &str) -> Fault {
    let at = text.floor_char_boundary(LONGEST_TEXT);
    Fault { at, length: 1, what: format!("the text is longer than {LONGEST_TEXT} bytes"), hint: None }
}

fn dispatch(notation: Notation, text: Piece<'_>, machine: &Machine) -> Result<Read, Fault> {
    if text.is_empty() {
        return Err(text.fault("there is nothing to read"));
    }
    match notation {
        Notation::List => Ok(Read::ordered(list::read(text, list::kernel(machine.possible.highest()))?)),
        Notation::Hexadecimal => mask::read_hexadecimal(text),
        Notation::Binary => mask::read_binary(text),
        Notation::Decimal => mask::read_decimal(text, machine),
        Notation::Taskset => taskset::read(text),
        Notation::Numactl => numactl::read(text, machine),
        Notation::Hwloc => hwloc::read(text, machine),
        Notation::Likwid => likwid::read(text, machine),
        Notation::Systemd => systemd::read(text, machine),
        Notation::Cgroup => cgroup::read(text, machine),
        Notation::Docker => cgroup::read_docker(text),
        Notation::Kubernetes => Err(text.fault("Kubernetes has no notation for chosen cpus")),
        Notation::Slurm => slurm::read(text),
        Notation::OpenMp => openmp::read(text, machine),
        Notation::Libvirt => libvirt::read(text),
        Notation::KernelCommandLine => kernel_command_line::read(text, machine),
        Notation::Windows => windows::read(text, machine),
        Notation::PowerShell => powershell::read(text, machine),
        Notation::ProcessLasso => process_lasso::read(text, machine),
    }
}

fn error(text: &str, fault: Fault) -> ReadError {
    let position = text.get(..fault.at).map_or(0, |before| before.chars().count());
    ReadError { text: text.to_owned(), position, length: fault.length, what: fault.what, hint: fault.hint }
}
