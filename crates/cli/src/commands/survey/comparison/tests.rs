//! Screens of `corewise history compare` of two surveys.

use corewise_machine::{CpuSet, Gap};
use corewise_model::compare::{
    ComparedQuantity, ComparedSubject, ExcludedChange, FactChange, MedianEstimate, NumberChange, SurveyComparison,
};
use corewise_model::links::CpuRelation;
use insta::assert_snapshot;

use super::compose_story;
use crate::draw::fixtures::hostile;
use crate::draw::story::forms::check_forms;

/// Small changes of speed and links are excluded, of stalls and interrupts not.
fn excluded() -> Vec<ExcludedChange> {
    let of = |quantity, beyond| ExcludedChange { quantity, numbers: 32, beyond };
    vec![
        of(ComparedQuantity::P50, 1.021),
        of(ComparedQuantity::P99_9, 1.62),
        of(ComparedQuantity::Frequency, 1.018),
        of(ComparedQuantity::InterruptRate, 2.31),
        of(ComparedQuantity::LinkCost, 1.09),
    ]
}

fn changed() -> SurveyComparison {
    let estimate = |median: f64| MedianEstimate { median, low: median * 0.99, high: median * 1.01, count: 24 };
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
        interval: Some([0.97 * after / before, 1.03 * after / before]),
    };
    SurveyComparison {
        same_machine: true,
        gone: CpuSet::from_cpu(31),
        facts: vec![fact("kernel", "6.17.9", "6.18.2"), fact("other programs used", "1 %", "77 %")],
        numbers: vec![
            number(ComparedQuantity::P99_9, ComparedSubject::Cpu(0), 271.0, 1912.0),
            number(ComparedQuantity::Lost, ComparedSubject::Cpu(0), 0.41, 1.81),
            number(ComparedQuantity::Frequency, ComparedSubject::Cpu(8), 5.33, 5.69),
            number(ComparedQuantity::LinkCost, ComparedSubject::Links(CpuRelation::OtherLlc), 80.0, 104.0),
        ],
        compared: 163,
        excluded: excluded(),
        ..SurveyComparison::default()
    }
}

#[test]
fn what_changed_stands_with_its_interval_and_what_is_excluded() {
    assert_snapshot!(compose_story(&changed(), [3, 7]).screen_at_width(80).to_plain(), @r"
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
    assert_snapshot!(compose_story(&changed(), [3, 7]).screen_at_width(40).to_plain(), @r"
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
    let nothing = SurveyComparison { compared: 131, excluded: excluded(), ..SurveyComparison::default() };
    assert_snapshot!(compose_story(&nothing, [3, 7]).screen_at_width(80).to_plain(), @r"
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
    let some = SurveyComparison { same_machine: true, compared: 1, gaps: vec![gap], ..SurveyComparison::default() };
    assert_snapshot!(compose_story(&some, [3, 7]).screen_at_width(80).to_plain(), @r"
    From survey 3 to survey 7

    Nothing that could be compared changed beyond its uncertainty. Not compared:
      p50, p99.9, frequency of cpus 0-3.

    1 numbers compared. A number counts as changed if its 99 % intervals lie further
    apart than two surveys of one machine usually do, and further than it drifted in
    between.
    Not compared: p50, p99.9, frequency of cpus 0-3 (one of the surveys has too few
      rounds).
    ");
    let none = SurveyComparison { compared: 0, ..some };
    let said = compose_story(&none, [3, 7]).screen_at_width(200).to_plain();
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
        hostile::check_story(&compose_story(&comparison, [3, 7]));
        hostile::check_json(&comparison);
    }
}

#[test]
fn every_sentence_is_in_every_form() {
    let gaps = vec![Gap::new("links", "they were not measured")];
    let other = SurveyComparison { same_machine: false, gaps, ..changed() };
    let nothing = SurveyComparison { compared: 3, ..SurveyComparison::default() };
    [changed(), other, nothing].iter().for_each(|comparison| check_forms(&compose_story(comparison, [3, 7])));
}
