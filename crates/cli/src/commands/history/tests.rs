//! Screens of `corewise history` and `history compare`.

use corewise_model::CpuSet;
use corewise_model::compare::{Comparison, Estimate, FactChange, NumberChange, Quantity, Subject};
use corewise_model::links::Relation;
use corewise_model::survey::Scope as SurveyScope;
use corewise_store::{Entry, ExperimentEntry};
use insta::assert_snapshot;
use jiff::tz::TimeZone;

use super::comparison as compare;
use super::screen::{Scope, screen};

fn entry(id: i64, partial: bool) -> Entry {
    Entry {
        id,
        started_unix_ms: 1_763_700_000_000 + id * 3_600_000,
        elapsed_s: 30.0,
        fingerprint: "86c4f951bb913509".into(),
        model_name: Some("AMD Ryzen 9 9950X3D 16-Core Processor".into()),
        kernel: Some("6.18.2".into()),
        microcode: Some("0xb404032".into()),
        corewise: "0.1.0".into(),
        cpus: 32,
        rounds: if partial { 3 } else { 24 },
        partial,
        scope: if id == 7 { SurveyScope::Tail } else { SurveyScope::Machine },
    }
}

fn experiment(id: i64, command: &str) -> ExperimentEntry {
    ExperimentEntry {
        id,
        started_unix_ms: 1_763_700_000_000 + id * 3_600_000,
        fingerprint: "86c4f951bb913509".into(),
        command: command.into(),
        corewise: "0.1.0".into(),
        trials: 33,
    }
}

#[test]
fn stored_experiments_stand_below() {
    let experiments = [experiment(3, "./app --level 3"), experiment(4, "sh -c a\nb")];
    let shown = |width| screen(&[], &experiments, Scope::All, &TimeZone::UTC, width).plain();
    assert_snapshot!(shown(60), @r"
    No survey is stored yet. Next:  corewise

    experiment  begun             runs  command
             3  2025-11-21 07:40    33  ./app --level 3
             4  2025-11-21 08:40    33  sh -c a?b
    ");
    assert_snapshot!(shown(24), @r"
    No survey is stored yet.
      Next:  corewise

    experiment  command
             3  ./app --lev…
             4  sh -c a?b
    Hidden at this width:
      begun, runs
    ");
}

#[test]
fn stored_surveys_stand_by_their_number() {
    let entries = [entry(1, false), entry(12, true)];
    let shown = |scope, width| screen(&entries, &[], scope, &TimeZone::UTC, width).plain();
    assert_snapshot!(shown(Scope::ThisMachine { others: 1 }, 80), @r"
    survey  made              cpus  seconds  rounds           kernel  microcode
         1  2025-11-21 05:40    32       30      24           6.18.2  0xb404032
        12  2025-11-21 16:40    32       30       3  partial  6.18.2  0xb404032
    Hidden at this width: corewise

    1 more of other machines, or of this one with other cpus:  corewise history
      --all
    ");
    assert_snapshot!(shown(Scope::All, 140), @r"
    survey  made              cpus  seconds  rounds           kernel  microcode  corewise  processor
         1  2025-11-21 05:40    32       30      24           6.18.2  0xb404032  0.1.0     AMD Ryzen 9 9950X3D 16-Core Processor
        12  2025-11-21 16:40    32       30       3  partial  6.18.2  0xb404032  0.1.0     AMD Ryzen 9 9950X3D 16-Core Processor
    ");
    assert_snapshot!(shown(Scope::All, 40), @r"
    survey  made
         1  2025-11-21 05:40
        12  2025-11-21 16:40  partial
    Hidden at this width: cpus, seconds,
      rounds, kernel, microcode, corewise,
      processor
    ");
    assert_snapshot!(screen(&[], &[], Scope::ThisMachine { others: 3 }, &TimeZone::UTC, 80).plain(), @r"
    No survey of this machine is stored yet. Next:  corewise

    3 more of other machines, or of this one with other cpus:  corewise history
      --all
    ");
}

fn changed() -> Comparison {
    let estimate = |median: f64| Estimate { median, low: median * 0.99, high: median * 1.01, count: 24, drift: 1.0 };
    let fact = |what: &str, before: &str, after: &str| FactChange {
        what: what.into(),
        before: Some(before.into()),
        after: Some(after.into()),
    };
    let number = |quantity, subject, before: f64, after: f64| NumberChange {
        quantity,
        subject,
        before: estimate(before),
        after: estimate(after),
        ratio: Some(after / before),
    };
    Comparison {
        same_machine: true,
        gone: CpuSet::of(31),
        facts: vec![fact("kernel", "6.17.9", "6.18.2"), fact("other programs used", "1 %", "77 %")],
        numbers: vec![
            number(Quantity::P99_9, Subject::Cpu(0), 271.0, 1912.0),
            number(Quantity::Lost, Subject::Cpu(0), 0.41, 1.81),
            number(Quantity::Frequency, Subject::Cpu(8), 5.33, 5.69),
            number(Quantity::LinkCost, Subject::Links(Relation::OtherLlc), 80.0, 104.0),
        ],
        compared: 163,
        quantities: vec![
            Quantity::P50,
            Quantity::P99_9,
            Quantity::Lost,
            Quantity::Frequency,
            Quantity::InterruptRate,
            Quantity::LinkCost,
        ],
        ..Comparison::default()
    }
}

#[test]
fn what_changed_stands_with_both_intervals() {
    assert_snapshot!(compare::screen(&changed(), (3, 7), 80).plain(), @r"
    From survey 3 to survey 7

    cpus that are gone: 31

    fact                 before  after
    kernel               6.17.9  6.18.2
    other programs used  1 %     77 %

    number     of         times  before  [99 %]        after  [99 %]          unit
    p99.9      cpu 0      7.06x     271  [268, 274]    1,912  [1,893, 1,931]  ns
    time lost  cpu 0      4.41x    0.41  [0.41, 0.41]   1.81  [1.79, 1.83]    %
    frequency  cpu 8      1.07x    5.33  [5.28, 5.38]   5.69  [5.63, 5.75]    GHz
    link cost  other llc  1.30x      80  [79, 81]        104  [103, 105]      ns

    163 numbers compared (p50, p99.9, time lost to stalls, frequency, interrupt
    rate, link cost). A number counts as changed if its 99 % intervals lie further
    apart than two surveys of one machine usually do, and further than it drifted in
    between.
    ");
    assert_snapshot!(compare::screen(&changed(), (3, 7), 40).plain(), @r"
    From survey 3 to survey 7

    cpus that are gone: 31

    fact                 before  after
    kernel               6.17.9  6.18.2
    other programs used  1 %     77 %

    number     of         times  before
    p99.9      cpu 0      7.06x     271
    time lost  cpu 0      4.41x    0.41
    frequency  cpu 8      1.07x    5.33
    link cost  other llc  1.30x      80
    Hidden at this width: interval before,
      after, interval after, unit

    163 numbers compared (p50, p99.9, time
    lost to stalls, frequency, interrupt
    rate, link cost). A number counts as
    changed if its 99 % intervals lie
    further apart than two surveys of one
    machine usually do, and further than it
    drifted in between.
    ");
    let nothing = Comparison { compared: 131, ..Comparison::default() };
    assert_snapshot!(compare::screen(&nothing, (3, 7), 80).plain(), @r"
    From survey 3 to survey 7  these are different machines, or the machine's cpus
      have changed

    Nothing changed beyond its uncertainty.

    131 numbers compared. A number counts as changed if its 99 % intervals lie
    further apart than two surveys of one machine usually do, and further than it
    drifted in between.
    ");
}
