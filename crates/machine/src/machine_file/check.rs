//! Checks of a machine file: each cpu is in one object of each level, each object in one of the level around it.

use std::ops::Range;

use toml::Spanned;

use super::document::MachineDocument;
use super::objects::{LARGEST_CPU, ObjectList};
use crate::CpuSet;

/// A mistake in a part of the text, before its line is looked up.
#[derive(Debug)]
pub struct DocumentProblem {
    pub span: Range<usize>,
    pub what: String,
}

/// Runs the checks that do not need the assembled machine.
pub fn check_document(document: &MachineDocument) -> Result<(), DocumentProblem> {
    let cpus = document.cpus.get_ref();
    let problem = |what: String| DocumentProblem { span: document.cpus.span(), what };
    match cpus.highest() {
        None => return Err(problem("a machine has at least one cpu".to_owned())),
        Some(highest) if highest > LARGEST_CPU => {
            return Err(problem(format!("cpu {highest} is above {LARGEST_CPU}, the largest supported number")));
        }
        Some(_) => (),
    }
    check_sets(document)?;
    for (level, objects) in named_levels(document) {
        check_partition(level, objects.get_ref().object_sets(), cpus, objects.span())?;
    }
    check_nesting(document)
}

/// Returns the levels that the file names, innermost first.
fn named_levels(document: &MachineDocument) -> Vec<(&'static str, &Spanned<ObjectList>)> {
    let levels = [
        ("core", &document.cores),
        ("cluster", &document.clusters),
        ("die", &document.dies),
        ("package", &document.packages),
    ];
    levels.into_iter().filter_map(|(level, objects)| Some((level, objects.as_ref()?))).collect()
}

/// Checks that sets name only cpus of the machine, and that at least one is online.
fn check_sets(document: &MachineDocument) -> Result<(), DocumentProblem> {
    let cpus = document.cpus.get_ref();
    let named = [&document.offline, &document.isolated, &document.nohz_full, &document.allowed];
    for set in named.into_iter().flatten() {
        check_known(set.get_ref(), cpus, set.span())?;
    }
    if let Some(offline) = document.offline.as_ref().filter(|offline| cpus.is_subset(offline.get_ref())) {
        return Err(DocumentProblem { span: offline.span(), what: "at least one cpu is online".to_owned() });
    }
    match document.possible.as_ref().and_then(|possible| Some((possible, possible.get_ref().highest()?))) {
        Some((possible, highest)) if highest > LARGEST_CPU => {
            Err(DocumentProblem { span: possible.span(), what: format!("cpu {highest} is above {LARGEST_CPU}") })
        }
        _ => Ok(()),
    }
}

/// Checks that a set names only cpus of the machine.
pub fn check_known(set: &CpuSet, cpus: &CpuSet, span: Range<usize>) -> Result<(), DocumentProblem> {
    let unknown = set.difference(cpus);
    if unknown.is_empty() {
        return Ok(());
    }
    Err(DocumentProblem { span, what: format!("{unknown} is not among the cpus of this machine ({cpus})") })
}

/// Checks that objects are disjoint and made of the machine's cpus; returns their union.
pub fn check_disjoint<'a>(
    level: &str,
    objects: impl Iterator<Item = &'a CpuSet>,
    cpus: &CpuSet,
    span: Range<usize>,
) -> Result<CpuSet, DocumentProblem> {
    let mut all = CpuSet::new();
    for object in objects {
        check_known(object, cpus, span.clone())?;
        if let Some(cpu) = all.intersection(object).lowest() {
            return Err(DocumentProblem { span, what: format!("cpu {cpu} is in more than one {level}") });
        }
        all.extend(object.iter());
    }
    Ok(all)
}

/// Checks that each cpu is in exactly one of the objects.
pub fn check_partition<'a>(
    level: &str,
    objects: impl Iterator<Item = &'a CpuSet>,
    cpus: &CpuSet,
    span: Range<usize>,
) -> Result<(), DocumentProblem> {
    let missing = cpus.difference(&check_disjoint(level, objects, cpus, span.clone())?);
    if missing.is_empty() {
        return Ok(());
    }
    Err(DocumentProblem { span, what: format!("{missing} is in no {level}; each cpu must be in exactly one") })
}

/// Checks that objects are inside one object of the next level outwards that the file names.
fn check_nesting(document: &MachineDocument) -> Result<(), DocumentProblem> {
    let levels = named_levels(document);
    for pair in levels.windows(2) {
        let [(inner, inner_objects), (outer, outer_objects)] = pair else { continue };
        check_inside(inner, inner_objects, outer, outer_objects.get_ref())?;
    }
    Ok(())
}

fn check_inside(
    inner: &str,
    objects: &Spanned<ObjectList>,
    outer: &str,
    around: &ObjectList,
) -> Result<(), DocumentProblem> {
    let highest = around.object_sets().filter_map(CpuSet::highest).max().unwrap_or_default() as usize;
    let mut owner = vec![usize::MAX; highest + 1];
    for (at, set) in around.object_sets().enumerate() {
        set.iter().for_each(|cpu| owner[cpu as usize] = at);
    }
    for set in objects.get_ref().object_sets() {
        let mut owners = set.iter().map(|cpu| owner.get(cpu as usize));
        let first = owners.next();
        if !owners.all(|next| Some(next) == first) {
            let what = format!("{inner} {set} is not inside one {outer}");
            return Err(DocumentProblem { span: objects.span(), what });
        }
    }
    Ok(())
}
