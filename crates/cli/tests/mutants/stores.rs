//! Stores with changed bytes.

use std::fs;

use corewise_machine::random::RandomGenerator;

use crate::support::{TestPlace, text};
use crate::{choose, cost_matrix, mutants, run};

/// Size of a page of the database: most changes stay in one.
const PAGE_BYTES: usize = 4_096;

/// Makes a store with a result of three kinds, in one file.
fn make_store(place: &TestPlace) -> Vec<u8> {
    fs::write(place.path().join("matrix.csv"), cost_matrix()).unwrap();
    fs::write(place.path().join("truth.toml"), "gains = [0.5, 0.0]\nnoise = \"quiet\"\n").unwrap();
    for command in [
        &["links", "--simulate", "matrix.csv", "--seed", "5"][..],
        &["memory", "--simulate", "2990wx", "--seed", "1"],
        &["try", "--simulate", "truth.toml", "--seed", "1"],
    ] {
        let made = place.corewise(&[command, &["--store", "whole.db"]].concat()).output().unwrap();
        assert!(matches!(made.status.code(), Some(0 | 1)), "{command:?}: {}", text(&made.stderr));
    }
    // The last connection moves what is in the log of changes into the file.
    fs::read(place.path().join("whole.db")).unwrap()
}

/// Changes some bytes, moves or repeats a part of a page, or cuts the end off.
fn change_bytes(store: &mut Vec<u8>, random: &mut RandomGenerator) {
    for _ in 0..1 + random.next_below(4) {
        let at = match random.next_below(3) {
            // The header of the file and the schema.
            0 => random.next_below(PAGE_BYTES.min(store.len())),
            // The header of a page.
            1 => random.next_below(store.len() / PAGE_BYTES) * PAGE_BYTES + random.next_below(16),
            _ => random.next_below(store.len()),
        };
        match random.next_below(5) {
            0 => store[at] ^= 1 << random.next_below(8),
            1 => store[at] = *choose(random, &[0, 1, 0x7f, 0x80, 0xff]),
            2 => {
                let length = random.next_below(PAGE_BYTES).min(store.len() - at);
                let from = random.next_below(store.len() - length);
                store.copy_within(from..from + length, at);
            }
            3 => {
                let length = random.next_below(64).min(store.len() - at);
                store[at..at + length].fill(*choose(random, b"\0\xff9[\""));
            }
            _ if random.next_below(8) == 0 => store.truncate(at.max(PAGE_BYTES)),
            _ => store[at] = store[at].wrapping_add(1),
        }
    }
}

#[test]
fn mutated_stores_are_read_or_refused() {
    let place = TestPlace::new();
    let whole = make_store(&place);
    let commands: [&[&str]; 9] = [
        &["history"],
        &["history", "--json"],
        &["history", "show", "1"],
        &["history", "show", "2", "--json"],
        &["history", "show", "3", "--markdown"],
        &["report", "1", "2", "3", "-o", "-"],
        &["place", "pack(2, group)"],
        &["try", "--resume", "--runs-max", "1"],
        &["history", "delete", "2"],
    ];
    let mut random = RandomGenerator::new(4);
    let mut readable = 0;
    for mutant in 0..mutants().div_ceil(4) {
        let mut store = whole.clone();
        change_bytes(&mut store, &mut random);
        for file in ["mutant.db-wal", "mutant.db-shm", "mutant.db-journal"] {
            let _ = fs::remove_file(place.path().join(file));
        }
        fs::write(place.path().join("mutant.db"), &store).unwrap();
        for command in [commands[mutant % commands.len()], commands[0]] {
            let (status, output) = run(&place, &[command, &["--store", "mutant.db"]].concat());
            let said = String::from_utf8_lossy(&output.stderr);
            let is_well = matches!(status, 0..=3) && !said.contains("panicked");
            if !is_well {
                let kept = std::env::temp_dir().join(format!("corewise-mutant-{}.db", std::process::id()));
                fs::write(&kept, &store).unwrap();
                panic!("{command:?} ended with {status}: {said}\nthe store is {}", kept.display());
            }
            readable += usize::from(status == 0);
        }
    }
    assert!(readable > 0, "none was read");
}
