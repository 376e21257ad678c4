//! Reads core-to-core files of other tools; what is accepted are costs between the cpus it names, what is not is told by its line.
#![no_main]

use corewise_model::links::import::read_links;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| match read_links(text) {
    Ok(imported) => {
        assert!(imported.cpus.len() >= 2, "no pair");
        assert!(!imported.series.is_empty(), "no costs");
        for series in &imported.series {
            let pairs = &series.links.pairs;
            assert!(pairs.len() as u64 <= series.links.possible_pairs, "more pairs than there are");
            assert!(pairs.is_sorted_by(|one, next| (one.a, one.b) < (next.a, next.b)), "a pair twice, or out of order");
            for pair in pairs {
                assert!(
                    pair.a < pair.b && imported.cpus.contains(pair.a) && imported.cpus.contains(pair.b),
                    "{pair:?}"
                );
                assert!(
                    pair.visits_ns().iter().chain(pair.back_ns()).all(|cost| cost.is_finite() && *cost > 0.0),
                    "{pair:?}"
                );
                assert!(pair.one_way_ns().is_finite(), "a pair without a visit");
            }
        }
    }
    Err(error) =>
        assert!(error.line_number().is_none_or(|line| (1..=text.lines().count().max(1)).contains(&line)), "{error}"),
});
