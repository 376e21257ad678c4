//! Snapshots of whole screens of fabricated surveys and machines.

mod hard;
mod large;
mod small;

use corewise_model::Survey;
use corewise_model::survey::conclude::Conclusions;

use super::story;
use crate::draw::fixtures::fabricated::*;
use crate::draw::fixtures::hostile;
use crate::draw::story::forms::check_forms;
use crate::draw::survey::Kept;
use crate::draw::text::Line;

fn shown(survey: &Survey, conclusions: &Conclusions, width: usize) -> String {
    story(survey, conclusions, &Kept::Stored(12), Vec::new()).at(width).plain()
}

/// Returns the screen of a survey in which nothing stands out.
fn quiet(survey: &Survey, width: usize) -> String {
    shown(survey, &nothing(survey), width)
}

/// Returns the screen of a survey that was too short, or of too few cpus, for any test.
fn too_short(survey: &Survey) -> String {
    shown(survey, &untested(survey), 80)
}

/// Returns the screen of the article's 9950X3D.
fn article(width: usize) -> String {
    let survey = ryzen_survey();
    shown(&survey, &ryzen_conclusions(&survey), width)
}

/// Returns a survey without the counts of interrupts of some rounds.
fn uncounted(mut survey: Survey, is_lost: fn(u32) -> bool) -> Survey {
    let rounds = survey.cpus.iter_mut().flat_map(|cpu| &mut cpu.rounds);
    for round in rounds.filter(|round| is_lost(round.round)) {
        (round.interrupts, round.softirqs) = (None, None);
    }
    survey
}

/// Returns the parts of a screen that begin with one of these words.
fn parts(screen: &str, beginnings: &[&str]) -> String {
    let is_wanted = |part: &&str| beginnings.iter().any(|beginning| part.starts_with(beginning));
    screen.split("\n\n").filter(is_wanted).collect::<Vec<_>>().join("\n\n")
}

/// Returns every fabricated survey with its conclusions.
fn all() -> Vec<(Survey, Conclusions)> {
    let quiet = [small_guest_survey(), partial_survey(), single_cpu_survey(), large_survey()];
    let mut all: Vec<(Survey, Conclusions)> = Vec::new();
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
    for (survey, conclusions) in all() {
        for width in [20, 30, 40, 41, 57, 79, 80, 100, 140] {
            let screen = story(&survey, &conclusions, &Kept::Stored(12), Vec::new()).at(width);
            assert!(screen.width() <= width, "{} columns at {width}:\n{}", screen.width(), screen.plain());
        }
    }
}

#[test]
fn colour_adds_nothing_to_the_text() {
    for (survey, conclusions) in all() {
        let screen = story(&survey, &conclusions, &Kept::Stored(12), Vec::new()).at(80);
        let stripped = anstream::adapter::strip_str(&screen.styled()).to_string();
        let tidy = |text: &str| text.lines().map(|line| line.trim_end().to_owned() + "\n").collect::<String>();
        assert_eq!(tidy(&stripped), screen.plain());
    }
}

#[test]
fn every_sentence_is_in_every_form() {
    for (mut survey, conclusions) in all() {
        survey.provenance.others_busy = Some(0.8);
        survey.gaps.push(corewise_machine::Gap::new("clock rates", "the kernel counts none"));
        let memory = vec![Line::new().faint("memory: a load costs 90 ns")];
        check_forms(&story(&survey, &conclusions, &Kept::Recalled(3, "today".into()), memory));
    }
}

#[test]
fn no_name_steers_or_hides() {
    for survey in [small_guest_survey(), partial_survey()].iter().flat_map(hostile::copies) {
        hostile::check_story(&story(&survey, &nothing(&survey), &Kept::Stored(12), Vec::new()));
        hostile::check_json(&survey);
    }
}
