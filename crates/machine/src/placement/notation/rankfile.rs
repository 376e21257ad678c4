//! Open MPI's rank files: `rank 0=host slot=0:2`, a socket and its core, both counted as hwloc counts them. `slot=2` is a core of the host,
//! or with the parameter `rmaps_rank_file_physical` the core that holds cpu 2. Ranks are bound to whole cores.

use super::choices::{NamedReading, agree, one_for_each};
use super::list::{self, ListSyntax, format_counted};
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading, tree};
use crate::{CpuSet, Level, Machine};

/// Prints a rank for each core, in order.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let ChosenCpus { cpus, order, machine } = chosen;
    let host = HostCores::new(machine);
    let partial: CpuSet =
        cpus.iter().filter(|cpu| !host.core_of(*cpu).is_some_and(|core| core.is_subset(cpus))).collect();
    if !partial.is_empty() {
        let why = format!("Open MPI binds ranks to whole cores, and not to {} alone.", format_counted(&partial));
        return vec![NotationLine::without_text("file", why)];
    }
    let mut placed = CpuSet::new();
    let mut lines = Vec::new();
    for cpu in order {
        let Some((socket, core)) = host.address_of(*cpu).filter(|_| !placed.contains(*cpu)) else { continue };
        host.core_of(*cpu).into_iter().for_each(|core| placed = placed.union(core));
        lines.push(NotationLine::new("file", format!("rank {}=localhost slot={socket}:{core}", lines.len())));
    }
    match lines.first_mut() {
        Some(first) => first.remarks.push("For mpirun --rankfile FILE: one rank for each core.".into()),
        None => lines.push(NotationLine::without_text("file", "These cpus are in no known core.")),
    }
    lines
}

/// Returns true for a line of a rank file.
pub(super) fn is_rank(line: &str) -> bool {
    line.trim_start().starts_with("rank ") && line.contains('=') && line.contains("slot")
}

/// Reads ranks, one set for each.
pub(super) fn read_text(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let host = HostCores::new(machine);
    let (mut counted, mut physical) = (Vec::new(), Vec::new());
    for line in text.split_lines() {
        if !is_rank(line.text) {
            return Err(line.fault_here("expected a rank").with_hint("rank 0=localhost slot=0:2"));
        }
        let slot = line.text_after("slot").map(TextPiece::trim).and_then(|rest| rest.strip_prefix("="));
        let slot = slot.ok_or_else(|| line.fault_here("expected slot="))?.trim().without_quotes();
        let by_socket = slot.text.contains(':');
        let as_counted = host.counted_cpus(slot);
        physical.push(if by_socket { as_counted.as_ref().ok().cloned() } else { host.holding_cpus(slot).ok() });
        counted.push(as_counted?);
    }
    let read = one_for_each("rank", &counted).with_remark("Cores are counted as hwloc counts them.");
    let mut parts = vec![NamedReading::new("cores as hwloc counts them, the default", read)];
    if let Some(physical) = physical.into_iter().collect::<Option<Vec<CpuSet>>>() {
        let read = one_for_each("rank", &physical);
        parts.push(NamedReading::new("the system's numbers, with rmaps_rank_file_physical", read));
    }
    agree(text, parts, || text.fault_here("no rank is named here"))
}

/// Cores of a machine by their addresses.
pub(super) struct HostCores {
    /// In the order of the tree.
    cores: Vec<CpuSet>,
    packages: Vec<CpuSet>,
    /// Index of each cpu in `cores`, by its number.
    core_of_cpu: Vec<Option<usize>>,
}

impl HostCores {
    pub fn new(machine: &Machine) -> Self {
        let cores = tree::sort_by_tree(machine.objects_of(Level::Core), machine);
        let end = cores.iter().filter_map(CpuSet::highest).max().map_or(0, |highest| highest as usize + 1);
        let mut core_of_cpu = vec![None; end];
        for (index, core) in cores.iter().enumerate() {
            core.iter().for_each(|cpu| core_of_cpu[cpu as usize] = Some(index));
        }
        Self { packages: tree::sort_by_tree(machine.objects_of(Level::Package), machine), core_of_cpu, cores }
    }

    fn core_of(&self, cpu: u32) -> Option<&CpuSet> {
        self.cores.get((*self.core_of_cpu.get(cpu as usize)?)?)
    }

    /// Returns the socket of a cpu, and its core's place there.
    fn address_of(&self, cpu: u32) -> Option<(usize, usize)> {
        let socket = self.packages.iter().position(|package| package.contains(cpu))?;
        let here = self.cores_of_package(&self.packages[socket]);
        Some((socket, here.iter().position(|core| core.contains(cpu))?))
    }

    /// Returns the numbers of cores as a list, if the cpus are whole cores.
    pub fn numbers_of(&self, cpus: &CpuSet) -> Option<CpuSet> {
        let number = |cpu: u32| {
            let core = (*self.core_of_cpu.get(cpu as usize)?)?;
            self.cores.get(core)?.is_subset(cpus).then_some(core as u32)
        };
        cpus.iter().map(number).collect()
    }

    fn cores_of_package(&self, package: &CpuSet) -> Vec<CpuSet> {
        self.cores.iter().filter(|core| core.is_subset(package)).cloned().collect()
    }

    /// Returns the cpus of cores that are counted in a package.
    pub fn cpus_of_package(&self, package: TextPiece<'_>, cores: TextPiece<'_>) -> Result<CpuSet, TextFault> {
        let here = self.cores_of_package(&pick_objects(package, package, &self.packages, "package")?);
        pick_objects(cores, cores, &here, "core")
    }

    /// Returns the cpus of `0`, `1-2`, `0:1-2`, `1:*`, `0:0,1:3`.
    pub fn counted_cpus(&self, slot: TextPiece<'_>) -> Result<CpuSet, TextFault> {
        if !slot.text.contains(':') {
            return pick_objects(slot, slot, &self.cores, "core");
        }
        let mut cpus = CpuSet::new();
        let mut here: Vec<CpuSet> = Vec::new();
        for part in slot.split(|c| c == ',') {
            let numbers = match part.split_once(':') {
                Some((socket, numbers)) => {
                    here = self.cores_of_package(&pick_objects(socket, socket, &self.packages, "socket")?);
                    numbers
                }
                None => part,
            };
            cpus = cpus.union(&pick_objects(part, numbers, &here, "core")?);
        }
        Ok(cpus)
    }

    /// Returns the cores that hold cpus by the system's numbers.
    fn holding_cpus(&self, slot: TextPiece<'_>) -> Result<CpuSet, TextFault> {
        let numbers = list::read_list(slot.strip_prefix("p").unwrap_or(slot), ListSyntax::default())?;
        let core = |cpu: u32| self.core_of(cpu).cloned().unwrap_or_else(|| CpuSet::from_cpu(cpu));
        Ok(numbers.into_iter().fold(CpuSet::new(), |all, cpu| all.union(&core(cpu))))
    }
}

/// Returns the objects of a list, or all for `*`.
fn pick_objects(part: TextPiece<'_>, list: TextPiece<'_>, objects: &[CpuSet], what: &str) -> Result<CpuSet, TextFault> {
    if list.text == "*" {
        return Ok(objects.iter().fold(CpuSet::new(), |all, object| all.union(object)));
    }
    let mut cpus = CpuSet::new();
    for number in list::read_list(list, ListSyntax::default())? {
        let object = objects.get(number as usize);
        let missing = || part.fault_here(format!("{what} {number} does not exist: there are {}", objects.len()));
        cpus = cpus.union(object.ok_or_else(missing)?);
    }
    Ok(cpus)
}
