//! What must hold of every machine that a reader makes, whatever it was given to read; and changes of JSON documents.

pub mod mutate;

use corewise_machine::{CpuSet, Level, Machine};

/// Checks a machine.
///
/// # Panics
/// When it breaks one of the promises that the rest of corewise relies on.
pub fn check(machine: &Machine) {
    assert!(machine.online.is_subset(&machine.present), "online beyond present");
    assert!(machine.present.is_subset(&machine.possible), "present beyond possible");
    assert!(machine.allowed.is_subset(&machine.online), "allowed beyond online");
    for level in Level::ALL.into_iter().filter(|&level| level != Level::Node) {
        let mut seen = CpuSet::new();
        for cpus in machine.objects_of(level) {
            assert!(!cpus.is_empty(), "an empty {level}");
            assert!(cpus.is_disjoint(&seen), "a cpu in two objects of level {level}");
            seen.extend(cpus.iter());
        }
        assert_eq!(seen, machine.online, "level {level} does not hold the online cpus");
    }
    let text = serde_json::to_string(machine).expect("a machine is JSON");
    let back: Machine = serde_json::from_str(&text).expect("a machine is read back");
    assert_eq!(&back, machine);
    assert_eq!(back.fingerprint(), machine.fingerprint());
}
