//! Tests of what the buffers mean, with small ones that are written here.

use super::*;
use crate::Root;

/// The digits of a relation with a body.
fn relation(relation: u8, body: &str) -> String {
    let body = body.replace(' ', "");
    format!("{relation:02x}000000{:02x}000000{body}", 8 + body.len() / 2)
}

fn mask(group: u8, bits: u8) -> String {
    format!("{bits:02x}00000000000000{group:02x}00000000000000")
}

/// A core of one group.
fn core(class: u8, group: u8, bits: u8) -> String {
    relation(0, &format!("00{class:02x}{}0100{}", "00".repeat(20), mask(group, bits)))
}

/// As versions before Server 2022 write it: no count, one mask.
fn node(number: u8, group: u8, bits: u8) -> String {
    relation(1, &format!("{number:02x}000000{}0000{}", "00".repeat(18), mask(group, bits)))
}

fn set(group: u8, index: u8, core: u8, class: u8, flags: u8) -> String {
    format!(
        "2000000000000000 00010000 {group:02x}00 {index:02x}{core:02x}00 00{class:02x}{flags:02x} {}",
        "00".repeat(12)
    )
}

fn read(relations: &[String], sets: &[String], about: &str) -> Result<MachineFacts, SysError> {
    let files =
        [(LOGICAL_PROCESSORS, relations.concat()), (CPU_SETS, sets.concat()), (ABOUT_WINDOWS, about.to_owned())];
    let root = Root::from_files(files);
    let facts = read_facts(&ValueReader::new(&root));
    facts.map(|facts| facts.expect("there are buffers"))
}

fn why(facts: &MachineFacts) -> String {
    facts.gaps.iter().map(|gap| format!("{}: {}\n", gap.what, gap.why)).collect()
}

#[test]
fn old_versions_are_read_without_groups_and_counts() {
    let facts = read(&[core(0, 0, 3), core(0, 0, 12), node(0, 0, 3), node(1, 0, 12)], &[], "memory: 8\n").unwrap();
    assert_eq!(
        facts.cpus.iter().map(|cpu| cpu.thread_siblings.clone().unwrap().to_string()).collect::<Vec<_>>(),
        ["0,1", "0,1", "2,3", "2,3"]
    );
    assert_eq!(facts.nodes.iter().map(|node| node.cpus.to_string()).collect::<Vec<_>>(), ["0,1", "2,3"]);
    assert!(why(&facts).contains("memory of each node"), "8 bytes are those of both");
}

#[test]
fn efficiency_classes_are_kinds_best_first() {
    let classes = |cores: &[String], sets: &[String]| {
        let facts = read(cores, sets, "").unwrap();
        let name = |kind: &NamedKind| format!("{} {} ({})", kind.core_type.word(), kind.cpus, kind.source);
        facts.named_kinds.iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(
        classes(&[core(0, 0, 1), core(2, 0, 2), core(1, 0, 4)], &[]),
        ["performance 1 (efficiency class 2)", "efficiency 2 (efficiency class 1)", "low-power 0 (efficiency class 0)"]
    );
    let sets = [set(0, 0, 0, 1, 0), set(0, 1, 1, 0, 0)];
    assert_eq!(
        classes(&[core(0, 0, 1), core(0, 0, 2)], &sets),
        ["performance 0 (efficiency class 1)", "efficiency 1 (efficiency class 0)"]
    );
}

#[test]
fn cpus_of_other_processes_are_not_allowed() {
    let cores = [core(0, 0, 1), core(0, 0, 2), core(0, 0, 4)];
    let facts = read(&cores, &[set(0, 1, 1, 0, 2)], "affinity group 0: 3\n").unwrap();
    assert_eq!(facts.allowed.unwrap().to_string(), "0");
    assert_eq!(read(&cores, &[], "").unwrap().allowed.unwrap().to_string(), "0-2");
}

#[test]
fn what_contradicts_is_named_and_relations_are_used() {
    let facts = read(&[core(0, 0, 3), core(0, 0, 4)], &[set(0, 0, 0, 0, 0), set(0, 1, 1, 0, 0)], "").unwrap();
    assert_eq!(facts.cpus[0].thread_siblings.as_ref().unwrap().to_string(), "0,1");
    assert!(why(&facts).contains("cpu sets: GetSystemCpuSetInformation says otherwise"), "{}", why(&facts));
    assert!(why(&facts).contains("of cores at cpus 0,1"), "{}", why(&facts));
    let twice = read(&[core(0, 0, 3), core(0, 0, 6)], &[], "").unwrap();
    assert!(why(&twice).contains("a core has cpus of another one"));
    assert_eq!(twice.cpus[2].thread_siblings.as_ref().unwrap().to_string(), "2");
}

#[test]
fn wine_is_named() {
    let facts = read(&[core(0, 0, 1)], &[], "wine: 8.0\nversion: 10.0.19043\n").unwrap();
    assert!(why(&facts).contains("this is Wine 8.0"));
    assert_eq!(facts.system.kernel.as_deref(), Some("Wine 8.0 Windows 10.0.19043"));
}

#[test]
fn what_is_no_buffer_is_an_error() {
    let error = |text: &str| read(&[text.to_owned()], &[], "").unwrap_err().to_string();
    assert!(error("xyz").contains("it is not hexadecimal"));
    assert!(error("").contains("no processor is in it"));
    assert!(error("0000000000000000").contains("no processor is in it"));
}
