//! What a user reads who types something: help, wrong usage, recorded machines, histories that are not there.
//!
//! The cases hold nothing of the machine they run on.

#[test]
fn the_program_answers_as_written() {
    trycmd::TestCases::new().env("NO_COLOR", "1").env("COLUMNS", "80").case("tests/cmd/*.trycmd").run();
}
