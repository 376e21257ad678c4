//! Snapshots of whole screens of fabricated surveys and machines.

mod hard;
mod large;
mod small;

use corewise_model::Survey;
use corewise_model::survey::conclude::SurveyConclusions;

use super::story::compose_story;
use crate::draw::fixtures::fabricated::*;
use crate::draw::fixtures::hostile;
use crate::draw::story::forms::check_forms;
use crate::draw::survey::StorageStatus;
use crate::draw::text::StyledLine;

fn draw_survey(survey: &Survey, conclusions: &SurveyConclusions, width: usize) -> String {
    compose_story(survey, conclusions, &StorageStatus::Stored(12), Vec::new()).screen_at_width(width).to_plain()
}

/// Returns the screen of a survey in which nothing stands out.
fn draw_quiet(survey: &Survey, width: usize) -> String {
    draw_survey(survey, &nothing(survey), width)
}

/// Returns the screen of a survey that was too short, or of too few cpus, for any test.
fn draw_too_short(survey: &Survey) -> String {
    draw_survey(survey, &untested(survey), 80)
}

/// Returns the screen of the article's 9950X3D.
fn draw_article(width: usize) -> String {
    let survey = ryzen_survey();
    draw_survey(&survey, &ryzen_conclusions(&survey), width)
}

/// Returns a survey without the counts of interrupts of some rounds.
fn without_counts(mut survey: Survey, is_lost: fn(u32) -> bool) -> Survey {
    let rounds = survey.cpus.iter_mut().flat_map(|cpu| &mut cpu.rounds);
    for round in rounds.filter(|round| is_lost(round.round)) {
        (round.interrupts, round.softirqs) = (None, None);
    }
    survey
}

/// Returns the parts of a screen that begin with one of these words.
fn find_parts(screen: &str, beginnings: &[&str]) -> String {
    let is_wanted = |part: &&str| beginnings.iter().any(|beginning| part.starts_with(beginning));
    screen.split("\n\n").filter(is_wanted).collect::<Vec<_>>().join("\n\n")
}

/// Returns every fabricated survey with its conclusions.
fn all_surveys() -> Vec<(Survey, SurveyConclusions)> {
    let quiet = [small_guest_survey(), partial_survey(), single_cpu_survey(), large_survey()];
    let mut all: Vec<(Survey, SurveyConclusions)> = Vec::new();
    for survey in quiet {
        let conclusions = nothing(&survey);
        all.push((survey, conclusions));
    }
    let survey = ryzen_survey();
    let conclusions = ryzen_conclusions(&survey);
    all.push((survey, conclusions));
    all
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for (survey, conclusions) in all_surveys() {
        for width in [20, 30, 40, 41, 57, 79, 80, 100, 140] {
            let screen =
                compose_story(&survey, &conclusions, &StorageStatus::Stored(12), Vec::new()).screen_at_width(width);
            assert!(screen.width() <= width, "{} columns at {width}:\n{}", screen.width(), screen.to_plain());
        }
    }
}

#[test]
fn colour_adds_nothing_to_the_text() {
    for (survey, conclusions) in all_surveys() {
        let screen = compose_story(&survey, &conclusions, &StorageStatus::Stored(12), Vec::new()).screen_at_width(80);
        let stripped = anstream::adapter::strip_str(&screen.to_styled()).to_string();
        let tidy = |text: &str| text.lines().map(|line| line.trim_end().to_owned() + "\n").collect::<String>();
        assert_eq!(tidy(&stripped), screen.to_plain());
    }
}

#[test]
fn every_sentence_is_in_every_form() {
    for (mut survey, conclusions) in all_surveys() {
        survey.provenance.others_busy = Some(0.8);
        survey.gaps.push(corewise_machine::Gap::new("clock rates", "the kernel counts none"));
        let memory = vec![StyledLine::new().faint("memory: a load costs 90 ns")];
        check_forms(&compose_story(&survey, &conclusions, &StorageStatus::Recalled(3, "today".into()), memory));
    }
}

#[test]
fn no_name_steers_or_hides() {
    for survey in [small_guest_survey(), partial_survey()].iter().flat_map(hostile::copies) {
        hostile::check_story(&compose_story(&survey, &nothing(&survey), &StorageStatus::Stored(12), Vec::new()));
        hostile::check_json(&survey);
    }
}
