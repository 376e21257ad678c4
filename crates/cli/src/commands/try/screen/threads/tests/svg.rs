//! That pictures are XML and tell what was measured.

use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::trial::TrialMetric;
use corewise_statistics::experiment::ThreadsCell;
use corewise_statistics::simulate::noise::RunNoise;

use super::chart::{COUNTS, NEAR};
use super::{BOTH, MadeThreadsExperiment, ProgramTruth, USUAL, cells, made};
use crate::commands::r#try::screen::threads::svg::draw_svg;
use crate::commands::r#try::screen::{compose_story, write_csv};
use crate::draw::fixtures::hostile;

impl MadeThreadsExperiment {
    fn picture(&self) -> String {
        draw_svg(self.shown(), &self.report).unwrap()
    }
}

/// The texts of all elements with a name.
fn texts(picture: &str, tag: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(picture).unwrap();
    let nodes = document.descendants().filter(|node| node.has_tag_name(tag));
    nodes.filter_map(|node| node.text()).map(str::to_owned).collect()
}

#[test]
fn every_point_tells_its_numbers() {
    let made = made(&mut cells(&COUNTS, &BOTH), &NEAR, &RunNoise::Typical, 42, 60);
    let picture = made.picture();
    let points = texts(&picture, "title");
    assert_eq!(points.len(), 1 + 2 * COUNTS.len());
    assert_eq!(points[0], "./app '--jobs={threads}': how it scales");
    assert_eq!(points[1], "24 threads, pinned: 13.7x, 726 ms; interquartile range of its runs 13.5x to 13.8x");
    let words = texts(&picture, "text");
    let expected = ["./app '--jobs={threads}'", "pinned", "ideal", "threads", "wall time", "24", "18", "16", "10x"];
    assert!(expected.iter().all(|word| words.iter().any(|text| text == word)), "{words:?}");
}

#[test]
fn a_higher_point_does_more_whatever_the_metric() {
    let of = || made(&mut cells(&[1, 4, 16], &[false]), &USUAL, &RunNoise::Quiet, 42, 60);
    for picture in [of().picture(), of().judged_by_rate().picture()] {
        let document = roxmltree::Document::parse(&picture).unwrap();
        let heights: Vec<f64> =
            document.descendants().filter_map(|node| node.attribute("cy")?.parse().ok()).filter(|y| *y > 0.0).collect();
        // The most threads come first; heights are counted from the top.
        assert!(heights.len() == 3 && heights.is_sorted_by(|above, below| above < below), "{heights:?}");
    }
}

#[test]
fn wide_ranges_are_doublings_and_cpus_are_marked() {
    let counts = [1, 2, 4, 8, 16, 32, 64];
    let truth = ProgramTruth { failing: Some(ThreadsCell { threads: 64, pinned: false }), ..USUAL };
    let picture = made(&mut cells(&counts, &BOTH), &truth, &RunNoise::Typical, 5, 60).picture();
    let words = texts(&picture, "text");
    let expected = ["1", "2", "64", "threads, logarithmic", "32 cpus", "8x", "failed"];
    assert!(expected.iter().all(|word| words.iter().any(|text| text == word)), "{words:?}");
    assert!(texts(&picture, "title").contains(&"64 threads, OS default: failed".to_owned()));
}

#[test]
fn a_long_command_is_told_by_its_beginning() {
    let mut made = made(&mut cells(&[1, 4, 16], &[false]), &USUAL, &RunNoise::Quiet, 42, 60);
    made.experiment.workload.command = std::iter::repeat_n("--size".to_owned(), 40).collect();
    let title = texts(&made.picture(), "text").concat();
    assert!(title.starts_with("--size --size") && title.contains('…'), "{title}");
}

#[test]
fn a_command_cannot_write_into_the_picture() {
    let mut made = made(&mut cells(&[1, 4], &[false]), &USUAL, &RunNoise::Quiet, 5, 60).judged_by_rate();
    made.experiment.workload.command = vec!["a".into(), "</svg><script>\u{1b}&\u{ffff}".into()];
    made.experiment.workload.metric.name = "<script>".into();
    let picture = made.picture();
    assert!(!picture.contains("<script") && texts(&picture, "text").contains(&"<script>".to_owned()), "{picture}");
}

#[test]
fn one_number_of_threads_is_no_picture() {
    let made = made(&mut cells(&[4], &BOTH), &USUAL, &RunNoise::Quiet, 5, 60);
    assert_eq!(draw_svg(made.shown(), &made.report), None);
}

#[test]
fn no_name_steers_or_hides_in_any_form() {
    let MadeThreadsExperiment { experiment, trials, standing, report } =
        made(&mut cells(&[1, 4, 16], &BOTH), &USUAL, &RunNoise::Quiet, 42, 12);
    let made = ExperimentRecord { experiment, trials };
    let mut rated = made.clone();
    let pattern = Some("([0-9]+)".into());
    rated.experiment.workload.metric =
        TrialMetric { name: "rate".into(), pattern, higher_is_better: true, reading: None };
    for ExperimentRecord { experiment, trials } in [made, rated].iter().flat_map(hostile::copies) {
        let made = MadeThreadsExperiment { experiment, trials, standing: standing.clone(), report: report.clone() };
        hostile::check_xml(&made.picture());
        let told = compose_story(made.shown(), Vec::new());
        hostile::check_story(&told);
        hostile::check_csv(&write_csv(made.shown(), &told.note_sentences()));
    }
}
