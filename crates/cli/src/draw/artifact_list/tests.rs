use corewise_machine::suggested_command;
use corewise_model::artifact::{ArtifactOrigin, ArtifactSummary};
use insta::assert_snapshot;

use super::*;
use crate::draw::fixtures::hostile;

const HOUR: i64 = 3_600_000;

fn entry(number: i64, kind: &str, what: &str) -> StoredEntry {
    StoredEntry {
        number,
        kind: kind.into(),
        started_unix_ms: 1_763_700_000_000 + number * HOUR,
        fingerprint: Some("86c4f951bb913509".into()),
        deleted_unix_ms: None,
        trials: if kind == "experiment" { 33 } else { 0 },
        summary: Some(ArtifactSummary {
            what: what.into(),
            origin: ArtifactOrigin::Measured,
            partial: number == 12,
            processor: Some("AMD Ryzen 9 9950X3D 16-Core Processor".into()),
            kernel: Some("6.18.2".into()),
            microcode: Some("0xb404032".into()),
            corewise: "0.1.0".into(),
            seed: 7,
        }),
    }
}

fn deleted(number: i64) -> StoredEntry {
    StoredEntry {
        deleted_unix_ms: Some(1_763_900_000_000),
        summary: None,
        trials: 0,
        ..entry(number, "experiment", "")
    }
}

fn shown(entries: &[StoredEntry], all: bool, others: usize, width: usize) -> String {
    draw_screen(
        entries,
        &ListContext { kind: None, first: suggested_command::first_survey(), all, others, here: None },
        &TimeZone::UTC,
        width,
    )
    .to_plain()
}

#[test]
fn every_kind_stands_in_one_table() {
    let entries = [
        entry(1, "survey", "32 cpus, 24 rounds in 30 s"),
        entry(2, "experiment", "./app -l 3 a\nb"),
        entry(11, "links", "496 pairs of 32 cpus (cas)"),
        entry(12, "survey", "tail: 32 cpus, 3 rounds in 30 s"),
    ];
    assert_snapshot!(shown(&entries, false, 1, 100), @r"
    number  kind        made              what                                      kernel  microcode
         1  survey      2025-11-21 05:40  32 cpus, 24 rounds in 30 s                6.18.2  0xb404032
         2  experiment  2025-11-21 06:40  33 trials: ./app -l 3 a\u{a}b             6.18.2  0xb404032
        11  links       2025-11-21 15:40  496 pairs of 32 cpus (cas)                6.18.2  0xb404032
        12  survey      2025-11-21 16:40  tail: 32 cpus, 3 rounds in 30 s  partial  6.18.2  0xb404032
    Hidden at this width: corewise

    1 more of other machines, or of this one with other cpus:  corewise history --all
    ");
    assert_snapshot!(shown(&entries, true, 0, 150), @r"
    number  kind        made              what                                      kernel  microcode  corewise  processor
         1  survey      2025-11-21 05:40  32 cpus, 24 rounds in 30 s                6.18.2  0xb404032  0.1.0     AMD Ryzen 9 9950X3D 16-Core Processor
         2  experiment  2025-11-21 06:40  33 trials: ./app -l 3 a\u{a}b             6.18.2  0xb404032  0.1.0     AMD Ryzen 9 9950X3D 16-Core Processor
        11  links       2025-11-21 15:40  496 pairs of 32 cpus (cas)                6.18.2  0xb404032  0.1.0     AMD Ryzen 9 9950X3D 16-Core Processor
        12  survey      2025-11-21 16:40  tail: 32 cpus, 3 rounds in 30 s  partial  6.18.2  0xb404032  0.1.0     AMD Ryzen 9 9950X3D 16-Core Processor
    ");
    assert_snapshot!(shown(&entries, true, 0, 40), @r"
    number  kind        what
         1  survey      32 cpus, 24 rounds …
         2  experiment  33 trials: ./app -l…
        11  links       496 pairs of 32 cpu…
        12  survey      tail: 32 cpus, 3 ro…
    Hidden at this width: made, partial,
      kernel, microcode, corewise, processor
    ");
}

#[test]
fn what_was_not_measured_here_is_marked_and_the_mark_is_not_cut() {
    let with = |number, origin| {
        let mut entry = entry(number, "survey", "32 cpus, 24 rounds in 30 s");
        entry.summary.as_mut().unwrap().origin = origin;
        entry
    };
    let file = "a/long/path/page.html".to_owned();
    let entries = [
        with(1, ArtifactOrigin::Measured),
        with(2, ArtifactOrigin::Measured.after_import(&file, "x")),
        with(3, ArtifactOrigin::Simulated { file }),
        StoredEntry { fingerprint: Some("another".into()), ..with(4, ArtifactOrigin::Measured) },
    ];
    let table = |width| {
        let lines = draw_table(&entries, false, Some("86c4f951bb913509"), &TimeZone::UTC, width);
        lines.iter().map(|line| line.to_plain() + "\n").collect::<String>()
    };
    assert_snapshot!(table(100), @r"
    number  kind    made              what                                   kernel  microcode  corewise
         1  survey  2025-11-21 05:40  32 cpus, 24 rounds in 30 s             6.18.2  0xb404032  0.1.0
         2  survey  2025-11-21 06:40  imported: 32 cpus, 24 rounds in 30 s…  6.18.2  0xb404032  0.1.0
         3  survey  2025-11-21 07:40  simulated: 32 cpus, 24 rounds in 30 …  6.18.2  0xb404032  0.1.0
         4  survey  2025-11-21 08:40  other machine: 32 cpus, 24 rounds in…  6.18.2  0xb404032  0.1.0
    ");
    for words in ["imported: ", "simulated: ", "other machine: "] {
        assert!(table(40).contains(words), "{}", table(40));
    }
}

#[test]
fn what_was_deleted_leaves_a_line_and_many_only_their_number() {
    let few: Vec<StoredEntry> = [entry(1, "survey", "32 cpus, 24 rounds in 30 s"), deleted(2)].into();
    assert_snapshot!(shown(&few, false, 0, 80), @r"
    number  kind        made              what                        kernel
         1  survey      2025-11-21 05:40  32 cpus, 24 rounds in 30 s  6.18.2
         2  experiment  2025-11-21 06:40  deleted 2025-11-23 12:13
    Hidden at this width: microcode, corewise
    ");
    let many: Vec<StoredEntry> = (2..40).map(deleted).chain([entry(41, "links", "6 pairs of 4 cpus (cas)")]).collect();
    assert_snapshot!(shown(&many, false, 0, 80), @r"
    number  kind   made              what                     kernel  microcode
                                     38 deleted
        41  links  2025-11-22 21:40  6 pairs of 4 cpus (cas)  6.18.2  0xb404032
    Hidden at this width: corewise
    ");
}

#[test]
fn where_nothing_is_stored_it_says_what_to_type() {
    assert_snapshot!(shown(&[], false, 3, 80), @r"
    Nothing is stored for this machine yet. Next:  corewise

    3 more of other machines, or of this one with other cpus:  corewise history
      --all
    ");
    let of_links =
        ListContext { kind: Some("links"), first: suggested_command::links(), all: true, others: 0, here: None };
    assert_snapshot!(draw_screen(&[], &of_links, &TimeZone::UTC, 80).to_plain(), @r"
    Nothing of the kind links is stored yet. Next:  corewise links
    ");
}

#[test]
fn no_stored_name_steers_or_hides() {
    for name in hostile::names() {
        let mut entry = entry(1, &name, &name);
        let summary = entry.summary.as_mut().unwrap();
        summary.origin = ArtifactOrigin::Simulated { file: name.clone() };
        (summary.processor, summary.kernel) = (Some(name.clone()), Some(name.clone()));
        (summary.microcode, summary.corewise) = (Some(name.clone()), name.clone());
        let (first, here) = (suggested_command::links(), None);
        let listed = ListContext { kind: Some(&name), first, all: true, others: 1, here };
        for width in [60, 100, 200] {
            hostile::check_screen(&draw_screen(std::slice::from_ref(&entry), &listed, &TimeZone::UTC, width), width);
            hostile::check_screen(&draw_screen(&[], &listed, &TimeZone::UTC, width), width);
        }
        hostile::check_json(&entry);
    }
}
