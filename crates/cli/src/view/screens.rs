//! Whole screens as snapshots: what a user sees of fabricated surveys and machines.

use super::fabricated::*;
use super::survey::{Kept, screen};

#[test]
fn a_small_guest_at_80_columns() {
    let survey = small_guest_survey();
    println!("{}", screen(&survey, &nothing(&survey), &Kept::Stored(12), 80).plain());
    println!("{}", screen(&survey, &nothing(&survey), &Kept::Stored(12), 40).plain());
    let survey = ryzen_survey();
    for width in [140, 80, 40] {
    println!("{}", screen(&survey, &ryzen_conclusions(&survey), &Kept::Stored(12), width).plain());
    }
    let survey = large_survey();
    for width in [140, 80, 40] {
    println!("{}", screen(&survey, &nothing(&survey), &Kept::No, width).plain());
    }
    println!("{}", super::topology::screen(&survey.machine, 80).plain());
}
