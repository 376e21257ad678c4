//! Screens of `corewise history compare` of two surveys.

use corewise_machine::{CpuSet, Gap};
use corewise_model::compare::{Comparison, Estimate, FactChange, NumberChange, Quantity, Subject};
use corewise_model::links::Relation;
use insta::assert_snapshot;

use super::story;
use crate::draw::fixtures::hostile;
use crate::draw::story::forms::check_forms;

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
    assert_snapshot!(story(&changed(), [3, 7]).at(80).plain(), @r"
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
    assert_snapshot!(story(&changed(), [3, 7]).at(40).plain(), @r"
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
    assert_snapshot!(story(&nothing, [3, 7]).at(80).plain(), @r"
    From survey 3 to survey 7  these are different machines, or the machine's cpus
      have changed

    Nothing changed beyond its uncertainty.

    131 numbers compared. A number counts as changed if its 99 % intervals lie
    further apart than two surveys of one machine usually do, and further than it
    drifted in between.
    ");
}

/// What could not be compared may have changed.
#[test]
fn what_could_not_be_compared_is_not_called_unchanged() {
    let gap = Gap::new("p50, p99.9, frequency of cpus 0-3", "one of the surveys has too few rounds");
    let some = Comparison { same_machine: true, compared: 1, gaps: vec![gap], ..Comparison::default() };
    assert_snapshot!(story(&some, [3, 7]).at(80).plain(), @r"
    From survey 3 to survey 7

    Nothing that could be compared changed beyond its uncertainty. Not compared:
      p50, p99.9, frequency of cpus 0-3.

    1 numbers compared. A number counts as changed if its 99 % intervals lie further
    apart than two surveys of one machine usually do, and further than it drifted in
    between.
    Not compared: p50, p99.9, frequency of cpus 0-3 (one of the surveys has too few
      rounds).
    ");
    let none = Comparison { compared: 0, ..some };
    let said = story(&none, [3, 7]).at(200).plain();
    assert!(said.contains("Cannot tell whether anything changed: no number could be compared (p50, p99.9,"), "{said}");
}

#[test]
fn no_fact_steers_or_hides() {
    let all = hostile::names();
    for names in all.windows(3) {
        let mut comparison = changed();
        for fact in &mut comparison.facts {
            (fact.before, fact.after) = (Some(names[0].clone()), Some(names[1].clone()));
            fact.what = names[2].clone();
        }
        hostile::check_story(&story(&comparison, [3, 7]));
        hostile::check_json(&comparison);
    }
}

#[test]
fn every_sentence_is_in_every_form() {
    let gaps = vec![Gap::new("links", "they were not measured")];
    let other = Comparison { same_machine: false, gaps, ..changed() };
    let nothing = Comparison { compared: 3, ..Comparison::default() };
    [changed(), other, nothing].iter().for_each(|comparison| check_forms(&story(comparison, [3, 7])));
}
