//! The kubelet's static cpu manager policy, which counts cpus and chooses them itself.

use super::list::counted;
use super::{Chosen, NotationLine};
use crate::CpuSet;

/// Prints the possible settings: the number of cpus, whole cores, and the cpus reserved from containers.
pub(super) fn print(chosen: Chosen<'_>) -> Vec<NotationLine> {
    let Chosen { cpus, machine, .. } = chosen;
    let count = cpus.len();
    let choice = "You cannot choose a container's cpus: the kubelet's static policy takes a number and chooses.";
    let resources = format!("resources: {{requests: {{cpu: \"{count}\"}}, limits: {{cpu: \"{count}\"}}}}");
    let mut lines = vec![
        NotationLine::new("container", resources)
            .remark(choice)
            .remark("A container has exclusive cpus only with cpuManagerPolicy: static, in a Guaranteed pod."),
    ];
    let partial: CpuSet = machine
        .cores
        .iter()
        .filter(|core| !core.cpus.is_disjoint(cpus) && !core.cpus.is_subset(cpus))
        .flat_map(|core| core.cpus.intersection(cpus).iter().collect::<Vec<_>>())
        .collect();
    lines.push(match partial.is_empty() {
        true => NotationLine::new("kubelet, whole cores", "cpuManagerPolicyOptions: {full-pcpus-only: \"true\"}")
            .remark("These are whole cores; with this option the kubelet assigns only whole cores."),
        false => {
            let verb = if partial.len() == 1 { "is one thread" } else { "are single threads" };
            let why = format!("full-pcpus-only does not fit: {} {verb} of a core.", counted(&partial));
            NotationLine::absent("kubelet, whole cores", why)
        }
    });
    let others = machine.online.difference(cpus);
    lines.push(match others.is_empty() {
        true => {
            NotationLine::absent("kubelet, the rest", "No cpu is left to reserve, and the static policy needs one.")
        }
        false => NotationLine::new("kubelet, the rest", format!("reservedSystemCPUs: \"{others}\""))
            .remark("Reserves the other cpus for the system, so that exclusive cpus come only from these."),
    });
    lines
}
