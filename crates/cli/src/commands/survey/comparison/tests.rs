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

    Changed: p99.9 rose on cpu 0, by 7.1x; time lost to stalls rose on cpu 0, by
      4.4x; frequency rose on cpu 8, by 6.8 %; link cost rose between cpus of other
      llc, by 1.3x.
    Elsewhere no change of more than 2.1 % in p50, 1.8 % in frequency, 9.0 % in link
      cost (95 %).
    Elsewhere cannot be excluded: a change of up to 1.6x in p99.9, 2.3x in interrupt
      rate (95 %).

    cpus that are gone: 31

    fact                 before  after
    kernel               6.17.9  6.18.2
    other programs used  1 %     77 %

    number     of         times  [95 %]        before  after  unit
    p99.9      cpu 0      7.06x  [6.84, 7.27]     271  1,912  ns
    time lost  cpu 0      4.41x  [4.28, 4.55]    0.41   1.81  %
    frequency  cpu 8      1.07x  [1.04, 1.10]    5.33   5.69  GHz
    link cost  other llc  1.30x  [1.26, 1.34]      80    104  ns

    163 numbers compared. If nothing changed, any of them is called changed with a
    probability of at most 5 %. Intervals include the drift between surveys, by what
    each survey drifted within itself.
    ");
    assert_snapshot!(compose_story(&changed(), [3, 7]).screen_at_width(40).to_plain(), @r"
    From survey 3 to survey 7

    Changed: p99.9 rose on cpu 0, by 7.1x;
      time lost to stalls rose on cpu 0, by
      4.4x; frequency rose on cpu 8, by
      6.8 %; link cost rose between cpus of
      other llc, by 1.3x.
    Elsewhere no change of more than 2.1 %
      in p50, 1.8 % in frequency, 9.0 % in
      link cost (95 %).
    Elsewhere cannot be excluded: a change
      of up to 1.6x in p99.9, 2.3x in
      interrupt rate (95 %).

    cpus that are gone: 31

    fact                 before  after
    kernel               6.17.9  6.18.2
    other programs used  1 %     77 %

    number     of         times
    p99.9      cpu 0      7.06x
    time lost  cpu 0      4.41x
    frequency  cpu 8      1.07x
    link cost  other llc  1.30x
    Hidden at this width: interval, before,
      after, unit

    163 numbers compared. If nothing
    changed, any of them is called changed
    with a probability of at most 5 %.
    Intervals include the drift between
    surveys, by what each survey drifted
    within itself.
    ");
    let nothing = SurveyComparison { compared: 131, excluded: excluded(), ..SurveyComparison::default() };
    assert_snapshot!(compose_story(&nothing, [3, 7]).screen_at_width(80).to_plain(), @r"
    From survey 3 to survey 7  these are different machines, or the machine's cpus
      have changed

    No change of more than 2.1 % in p50, 1.8 % in frequency, 9.0 % in link cost
      (95 %).
    Cannot be excluded: a change of up to 1.6x in p99.9, 2.3x in interrupt rate
      (95 %).

    131 numbers compared. If nothing changed, any of them is called changed with a
    probability of at most 5 %. Intervals include the drift between surveys, by what
    each survey drifted within itself.
    ");
}

/// What could not be compared may have changed.
#[test]
fn what_could_not_be_compared_is_not_called_unchanged() {
    let gap = Gap::new("p50, p99.9, frequency of cpus 0-3", "one of the surveys has too few rounds");
    let some = SurveyComparison { same_machine: true, compared: 1, gaps: vec![gap], ..SurveyComparison::default() };
    assert_snapshot!(compose_story(&some, [3, 7]).screen_at_width(80).to_plain(), @r"
    From survey 3 to survey 7

    Not compared: p50, p99.9, frequency of cpus 0-3.

    1 numbers compared. If nothing changed, any of them is called changed with a
    probability of at most 5 %. Intervals include the drift between surveys, by what
    each survey drifted within itself.
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
