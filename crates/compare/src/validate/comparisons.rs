//! Two surveys of one machine, which changed or did not: claims, exclusions, and intervals; and values of trends.

use corewise_model::Artifact;
use corewise_model::compare::{ComparedQuantity, SurveyComparison, compare_surveys};
use corewise_model::simulate::{CpuTruth, MachineNoise};

use super::surveys::{SurveyShape, USUAL, lowest_share};
use super::{ErrorBounds, count_repetitions, percent_of, repeat_simulation};

const SHAPES: [SurveyShape; 4] = [
    SurveyShape { cpus: 2, caches: 1, rounds: 24 },
    SurveyShape { cpus: 4, caches: 1, rounds: 8 },
    SurveyShape { cpus: 4, caches: 1, rounds: 24 },
    SurveyShape { cpus: 16, caches: 2, rounds: 24 },
];

/// Prints what comparisons claim and exclude.
pub fn print_tables(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(1000.0, share);
    println!("\n## Two surveys of a machine: {count} comparisons each\n");
    println!(
        "| machine | noise | unchanged: any claim % | p50 +5 % on all cpus: named % | or not excluded % | not excluded \
         beyond, median % | p50 +20 %: named % | holds % |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|");
    for shape in SHAPES {
        for noise in MachineNoise::ALL {
            print_row(shape, noise, count, bounds);
        }
    }
    worst_cpu(share, bounds);
}

fn print_row(shape: SurveyShape, noise: MachineNoise, count: u64, bounds: &mut ErrorBounds) {
    let compare = |slower: f64| {
        repeat_simulation(count, |seed| {
            let survey = |seed, slower: f64| {
                shape.simulate(seed, noise, |_| CpuTruth { piece_ns: slower * USUAL.piece_ns, ..USUAL })
            };
            compare_surveys(&survey(2 * seed, 1.0), &survey(2 * seed + 1, slower))
        })
    };
    let claims = percent_of(&compare(1.0), |comparison| !comparison.numbers.is_empty());
    let changed = compare(1.05);
    let named = percent_of(&changed, |comparison| count_named(comparison) == u64::from(shape.cpus));
    let is_open = |comparison: &SurveyComparison| possible_change(comparison).is_none_or(|beyond| beyond >= 1.05);
    let said = percent_of(&changed, is_open);
    let beyond: Vec<f64> = changed.iter().filter_map(possible_change).collect();
    let much = compare(1.2);
    let much_named = percent_of(&much, |comparison| count_named(comparison) == u64::from(shape.cpus));
    let intervals: Vec<[f64; 2]> = much.iter().flat_map(p50_intervals).collect();
    let holds = percent_of(&intervals, |[low, high]| *low <= 1.2 && 1.2 <= *high);
    println!(
        "| {} | {noise:?} | {claims:.1} | {named:.1} | {said:.1} | {:.1} | {much_named:.1} | {holds:.1} |",
        shape.describe(),
        (corewise_statistics::order::median(&beyond) - 1.0) * 100.0
    );
    let what = |what: &str| format!("{what}: {}, {noise:?}", shape.describe());
    bounds.at_most(&what("an unchanged machine is called changed"), claims, 5.0);
    bounds.at_least(&what("a change of 5 % is named or not excluded"), said, 90.0);
    if much_named > 50.0 {
        bounds.at_least(&what("the interval of a change holds it"), holds, lowest_share(94.0, much.len()));
    }
}

fn count_named(comparison: &SurveyComparison) -> u64 {
    p50_intervals(comparison).len() as u64
}

fn p50_intervals(comparison: &SurveyComparison) -> Vec<[f64; 2]> {
    let of_speed = comparison.numbers.iter().filter(|change| change.quantity == ComparedQuantity::P50);
    of_speed.filter_map(|change| change.interval).collect()
}

/// Returns the largest ratio of p50 that is not excluded for the numbers that are not called changed; `None` if all are.
fn possible_change(comparison: &SurveyComparison) -> Option<f64> {
    let of_speed = comparison.excluded.iter().find(|excluded| excluded.quantity == ComparedQuantity::P50);
    of_speed.map(|excluded| excluded.beyond)
}

/// Prints how often the intervals of a trend's values hold the truth, for equal cpus.
fn worst_cpu(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(1000.0, share);
    println!("\n## A survey's p99.9 in a trend, equal cpus: intervals that hold the truth %, {count} surveys each\n");
    println!("| machine | noise | the worst cpu | the median cpu |");
    println!("|---|---|--:|--:|");
    let truth = USUAL.piece_ns * (1.0 + 100.0 * USUAL.lost);
    for shape in SHAPES.into_iter().chain([SurveyShape { cpus: 64, caches: 8, rounds: 24 }]) {
        for noise in MachineNoise::ALL {
            let values = repeat_simulation(count, |seed| shape.simulate(seed, noise, |_| USUAL).trend_values());
            let shares = [0, 1].map(|place| {
                percent_of(&values, |values| {
                    let [low, high] = values[place].interval.unwrap_or([None, None]);
                    low.is_some_and(|low| low <= truth) && high.is_some_and(|high| truth <= high)
                })
            });
            println!("| {} | {noise:?} | {:.1} | {:.1} |", shape.describe(), shares[0], shares[1]);
            for (name, share) in ["worst", "median"].into_iter().zip(shares) {
                let what = format!("the {name} cpu's interval holds the truth: {}, {noise:?}", shape.describe());
                bounds.at_least(&what, share, lowest_share(94.0, values.len()));
            }
        }
    }
}
