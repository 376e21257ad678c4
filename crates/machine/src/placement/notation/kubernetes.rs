//! The kubelet's static cpu manager policy, which counts cpus and chooses them itself.

use super::list::format_counted;
use super::{ChosenCpus, NotationLine};
use crate::CpuSet;

/// Prints the possible settings: the number of cpus, whole cores, and the cpus reserved from containers.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let ChosenCpus { cpus, machine, .. } = chosen;
    let count = cpus.len();
    let choice = "You cannot choose a container's cpus: the kubelet's static policy takes a number and chooses.";
    let resources = format!("resources: {{requests: {{cpu: \"{count}\"}}, limits: {{cpu: \"{count}\"}}}}");
    let mut lines = vec![
        NotationLine::new("container", resources)
            .with_remark(choice)
            .with_remark("A container has exclusive cpus only with cpuManagerPolicy: static, in a Guaranteed pod."),
    ];
    let partial: CpuSet = machine
        .cores
        .iter()
        .filter(|core| !core.cpus.is_disjoint(cpus) && !core.cpus.is_subset(cpus))
        .flat_map(|core| core.cpus.intersection(cpus).iter().collect::<Vec<_>>())
        .collect();
    lines.push(match partial.is_empty() {
        true => NotationLine::new("kubelet, whole cores", "cpuManagerPolicyOptions: {full-pcpus-only: \"true\"}")
            .with_remark("These are whole cores; with this option the kubelet assigns only whole cores."),
        false => {
            let verb = if partial.len() == 1 { "is one thread" } else { "are single threads" };
            let why = format!("full-pcpus-only does not fit: {} {verb} of a core.", format_counted(&partial));
            NotationLine::without_text("kubelet, whole cores", why)
        }
    });
    let others = machine.online.difference(cpus);
    lines.push(match others.is_empty() {
        true => NotationLine::without_text(
            "kubelet, the rest",
            "No cpu is left to reserve, and the static policy needs one.",
        ),
        false => NotationLine::new("kubelet, the rest", format!("reservedSystemCPUs: \"{others}\""))
            .with_remark("Reserves the other cpus for the system, so that exclusive cpus come only from these."),
    });
    lines
}
