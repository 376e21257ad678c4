//! Maps of real machines: published matrices stand for them, with noise from published samples. Are the groups the caches that their vendors
//! publish, are few pairs enough to know the others, and is what the map says of its own error true?
//!
//! The data is looked for in `COREWISE_TESTDATA`, or in `../shared/data` beside the repository. Without it these tests are counted as
//! ignored, with the reason; with `COREWISE_REQUIRE_TESTDATA=1` its absence is a failure.

mod machines;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use corewise_lab::links::simulated::{SimulatedLinks, TimeModel};
use corewise_lab::links::{LinksPlan, map_links};
use corewise_machine::{CpuSet, Machine};
use corewise_model::links::conclude::{CostGroups, FilledSeries, PairTiers, conclude_map};
use corewise_model::links::explore::ExploreLimits;
use corewise_model::links::import::read_links;
use corewise_model::links::map::LinkMap;
use corewise_model::links::{CostMatrix, TalkWay};
use corewise_statistics::order::{median, quantile};
use corewise_testing::{find_test_data, requires_test_data};
use libtest_mimic::{Arguments, Failed, Trial};
use machines::{ExpectedGroups, MACHINES, RealMachine};

/// Raw samples of pairs, for noise.
const NOISE: &str = "hydroo/241204-0-m4pro-cntvct-el0-i-2000-r-300.log";
/// Three lines, ten samples of 2,000 round trips: what other tools would need for the same pairs.
const LONG_VISITS: TimeModel = TimeModel { round_trips: 60_000.0, besides: Duration::from_micros(400) };
/// The least machine of which few pairs are asked.
const LARGE: u32 = 32;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = match find_test_data("links", "published matrices") {
        Ok(folder) => trials(&folder),
        Err(why) => vec![absent(why)],
    };
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn absent(why: String) -> Trial {
    let message = why.clone();
    Trial::test(format!("link_maps skipped: {why}"), move || Err(message.into()))
        .with_ignored_flag(!requires_test_data())
}

fn trials(folder: &Path) -> Vec<Trial> {
    let mut trials = Vec::new();
    for real in MACHINES {
        let own = folder.to_owned();
        trials.push(Trial::test(format!("groups::{}", real.file), move || groups(&own, real)));
        if real.layout.cpu_count() >= LARGE {
            let own = folder.to_owned();
            trials.push(Trial::test(format!("few_pairs::{}", real.file), move || few_pairs(&own, real)));
        }
    }
    let own = folder.to_owned();
    trials.push(Trial::test("time::512 cpus one pair after the other", move || serial_time(&own)));
    let own = folder.to_owned();
    trials.push(Trial::test("unknown::512 cpus of which nothing is told", move || nothing_told(&own)));
    trials
}

fn text(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn matrix(folder: &Path, file: &str) -> CostMatrix {
    CostMatrix::from_links(&read_links(&text(folder, file)).expect("a matrix").series[0].links)
}

/// Samples of each pair, read once for all tests.
fn noise(folder: &Path) -> &'static [Vec<f64>] {
    static SAMPLES: OnceLock<Vec<Vec<f64>>> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        let imported = read_links(&text(folder, NOISE)).expect("samples");
        let pairs = imported.series.into_iter().flat_map(|series| series.links.pairs);
        pairs
            .flat_map(|pair| [pair.visits_ns().to_vec(), pair.back_ns().to_vec()])
            .filter(|samples| samples.len() >= 10)
            .collect()
    })
}

/// The groups that the matrix alone shows, without a word of the machine, are the caches that are published, by the first reading or by the
/// other one. Where siblings are read that the machine does not have, the other reading is there.
fn groups(folder: &Path, real: &RealMachine) -> Result<(), Failed> {
    let imported = read_links(&text(folder, real.file))?;
    let map = LinkMap {
        provenance: corewise_model::artifact::ArtifactProvenance {
            origin: corewise_model::artifact::ArtifactOrigin::Simulated { file: real.file.into() },
            corewise: "test".into(),
            started_unix_ms: 0,
            elapsed_s: 0.0,
            budget_s: 0.0,
            seed: 0,
            partial: false,
        },
        machine: None,
        clock: None,
        searched: Vec::new(),
        unfinished: false,
        unit: if imported.in_cycles { corewise_model::links::map::CostUnit::Cycles } else { Default::default() },
        cpus: imported.cpus.clone(),
        series: imported.series,
        clocks: Vec::new(),
        spoiled: Default::default(),
        parallel: None,
        gaps: Vec::new(),
    };
    let conclusions = conclude_map(&map);
    let of = |groups: Option<Vec<CpuSet>>| groups.unwrap_or_else(|| vec![map.cpus.clone()]);
    let found = of(conclusions.groups.map(|groups| groups.level.groups));
    let other = conclusions.other_reading.map(|other| of(other.groups.map(|level| level.groups)));
    if conclusions.siblings.is_some() && real.layout.threads == 1 && other.is_none() {
        return Err("siblings are read, and no other reading is given".into());
    }
    let expected = match real.expected {
        ExpectedGroups::Caches => caches(&real.layout.build_machine()),
        ExpectedGroups::One => vec![map.cpus.clone()],
        ExpectedGroups::These(lists) => lists.iter().map(|list| CpuSet::parse_list(list).unwrap()).collect(),
    };
    let index = adjusted_rand_index(&found, &expected);
    let told: Vec<String> = found.iter().map(CpuSet::to_string).collect();
    let is_other = other.is_some_and(|other| adjusted_rand_index(&other, &expected) == 1.0);
    if index == 1.0 || is_other { Ok(()) } else { Err(format!("{index:.3}: found {}", told.join(" | ")).into()) }
}

fn caches(machine: &Machine) -> Vec<CpuSet> {
    machine.llcs.iter().map(|llc| llc.cpus.clone()).collect()
}

/// How alike two divisions are, 1 where they are the same (Hubert and Arabie 1985).
fn adjusted_rand_index(one: &[CpuSet], other: &[CpuSet]) -> f64 {
    let pairs = |count: usize| (count * count.saturating_sub(1) / 2) as f64;
    let all: usize = one.iter().map(CpuSet::len).sum();
    assert_eq!(all, other.iter().map(CpuSet::len).sum::<usize>(), "both divide the same cpus");
    let both: f64 = one.iter().flat_map(|a| other.iter().map(|b| pairs(a.intersection(b).len()))).sum();
    let (a, b): (f64, f64) =
        (one.iter().map(|group| pairs(group.len())).sum(), other.iter().map(|group| pairs(group.len())).sum());
    let (expected, most) = (a * b / pairs(all), f64::midpoint(a, b));
    // Both have one group, or only groups of one.
    if most == expected { 1.0 } else { (both - expected) / (most - expected) }
}

/// What a map of a simulated machine knows, against the truth.
struct MapAccuracy {
    pairs: usize,
    /// How wrong predicted cells are; absent where all were measured.
    errors: Option<CostErrors>,
    /// What the map says of that itself.
    said: Option<CostErrors>,
    /// For each cost class that has predicted cells and an error beside it the errors of the cells, in rising order, and what is said of them.
    of_classes: Vec<(String, Vec<f64>, CostErrors)>,
    /// What is said of its groups.
    groups: String,
    elapsed_s: f64,
    partial: bool,
}

/// The median and the 95th percentile of errors, as shares of the cost.
type CostErrors = [f64; 2];

fn quantiles(errors: &[f64]) -> CostErrors {
    [median(errors), quantile(errors, 0.95)]
}

fn explored(machine: Option<&Machine>, mut talk: SimulatedLinks, seed: u64) -> MapAccuracy {
    let plan = LinksPlan {
        cpus: talk.true_costs().cpu_set(),
        kinds: vec![TalkWay::Cas],
        budget: Duration::from_secs(60),
        limits: ExploreLimits::default(),
        seed,
        choices: seed,
        corewise: "test",
    };
    let map = map_links(&plan, machine.cloned(), &mut talk, &AtomicBool::new(false), &mut |_| {});
    let series = &map.series[0];
    let filled = FilledSeries::from_series(series, &map);
    let conclusions = conclude_map(&map);
    let tiers = PairTiers::from_series(&filled, &conclusions, &map);
    let mut errors: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (i, j, cost) in talk.true_costs().known_pairs().filter(|&(i, j, _)| filled.measured.pair_cost(i, j).is_nan()) {
        errors
            .entry(tiers.tier_name(tiers.tier_of(i, j)))
            .or_default()
            .push((filled.all.pair_cost(i, j) / cost - 1.0).abs());
    }
    let classes = conclusions.kinds[0].classes.iter();
    let of_classes = classes.filter_map(|class| {
        let (said, errors) = (class.held_out?, errors.get(class.words.as_str())?);
        Some((class.words.clone(), errors.clone(), [said.median, said.p95]))
    });
    let of_classes = of_classes.collect();
    let all = errors.into_values().flatten().collect::<Vec<f64>>();
    MapAccuracy {
        pairs: series.links.pairs.len() + series.held_out.len(),
        errors: (!all.is_empty()).then(|| quantiles(&all)),
        said: filled.held_out.map(|held_out| [held_out.median, held_out.p95]),
        of_classes,
        groups: conclusions.groups.as_ref().map_or_else(String::new, CostGroups::describe_groups),
        elapsed_s: map.provenance.elapsed_s,
        partial: map.provenance.partial,
    }
}

/// How wrong predictions may be: 1.5 % in the median and 5 % at the 95th percentile, or 1.2 times what one pair of threads of two cores predicts
/// of the other pairs of these in the file itself, where that is more: below that there is nothing to know.
fn bounds(machine: &Machine, matrix: &CostMatrix) -> CostErrors {
    let cores = machine.cores.iter().map(|core| core.cpus.iter().filter_map(|cpu| matrix.place_of(cpu)).collect());
    let cores: Vec<Vec<usize>> = cores.collect();
    let mut errors = Vec::new();
    for (at, one) in cores.iter().enumerate() {
        for other in &cores[at + 1..] {
            let between: Vec<f64> = one
                .iter()
                .flat_map(|&i| other.iter().map(move |&j| matrix.pair_cost(i, j)))
                .filter(|cost| cost.is_finite())
                .collect();
            let pairs = between.iter().enumerate().flat_map(|(one, cost)| {
                between
                    .iter()
                    .enumerate()
                    .filter(move |(other, _)| *other != one)
                    .map(move |(_, other)| (cost / other - 1.0).abs())
            });
            errors.extend(pairs);
        }
    }
    let [median, p95] = if errors.is_empty() { [0.0; 2] } else { quantiles(&errors) };
    [(1.2 * median).max(0.015), (1.2 * p95).max(0.05)]
}

/// Few pairs are enough, and what is said of the error is true within a factor of two, or to a percent of the cost, for each class too.
fn few_pairs(folder: &Path, real: &RealMachine) -> Result<(), Failed> {
    let (machine, matrix, noise) = (real.layout.build_machine(), matrix(folder, real.file), noise(folder));
    let bounds = bounds(&machine, &matrix);
    let mut missed = 0;
    for seed in 0..3 {
        let talk = SimulatedLinks::new(real.file, matrix.clone(), noise, seed);
        let mut known = explored(Some(&machine), talk, seed);
        // Where predictions are wrong, the time that is left is used; the largest is known from few.
        let most = if real.layout.cpu_count() == 512 { 2_000 } else { usize::MAX };
        if known.partial || known.pairs > most {
            return Err(format!("{} pairs, partial {}", known.pairs, known.partial).into());
        }
        let (Some(errors), Some(said)) = (known.errors, known.said) else {
            if known.errors.is_some() {
                return Err("something is predicted and nothing held out".into());
            }
            continue;
        };
        println!(
            "{} seed {seed}: {} pairs, errors {errors:.4?} of {bounds:.4?}, said {said:.4?}",
            real.file, known.pairs
        );
        let mut wrong = Vec::new();
        if errors[0] > bounds[0] || errors[1] > bounds[1] {
            wrong.push(format!("errors {errors:.4?} of {bounds:.4?}, {} pairs", known.pairs));
        }
        let is_near = |said: f64, error: f64| (said - error).abs() < 0.01 || (0.5..=2.0).contains(&(said / error));
        if real.is_coarse {
            known.of_classes.clear();
        } else if !is_near(said[0], errors[0]) || !is_near(said[1], errors[1]) {
            wrong.push(format!("says {said:.4?}, errors are {errors:.4?}"));
        }
        for (words, errors, said) in &known.of_classes {
            // The 95th percentile of some sixty held-out pairs is one from the 92nd to the 98th of all.
            let [middle, low, p95, high] = [0.5, 0.92, 0.95, 0.98].map(|at| quantile(errors, at));
            println!("    {words}: errors {middle:.4} and {p95:.4} [{low:.4}, {high:.4}], said {said:.4?}");
            if !is_near(said[0], middle) {
                wrong.push(format!("{words}: says {said:.4?}, errors are {middle:.4} and {low:.4} to {high:.4}"));
            }
            missed += u32::from(!is_near(said[1], said[1].clamp(low, high)));
        }
        // By chance no held-out pair is one of those few that are predicted worst.
        if missed > 1 {
            wrong.push(format!("{missed} percentiles of classes are wrong"));
        }
        if !wrong.is_empty() {
            return Err(format!("seed {seed}: {}", wrong.join("; ")).into());
        }
    }
    Ok(())
}

/// Where pairs disturb each other at a time, and each visit is as long as other tools', a minute is still enough for 512 cpus.
fn serial_time(folder: &Path) -> Result<(), Failed> {
    let real = MACHINES.iter().find(|real| real.layout.cpu_count() == 512).expect("the largest");
    let talk = SimulatedLinks::new(real.file, matrix(folder, real.file), noise(folder), 1);
    let known = explored(Some(&real.layout.build_machine()), talk.with_time(LONG_VISITS).with_contention(0.1), 1);
    println!("{} pairs in {:.1} s, errors {:.4?}", known.pairs, known.elapsed_s, known.errors);
    let errors = known.errors.expect("most are predicted");
    let is_right = known.elapsed_s <= 60.1 && errors[0] <= 0.015 && errors[1] <= 0.05;
    if is_right { Ok(()) } else { Err(format!("{:.1} s, errors {errors:.4?}", known.elapsed_s).into()) }
}

/// Without a word of caches and siblings more pairs are needed, but not all, and the groups are found.
fn nothing_told(folder: &Path) -> Result<(), Failed> {
    let real = MACHINES.iter().find(|real| real.layout.cpu_count() == 512).expect("the largest");
    let matrix = matrix(folder, real.file);
    for seed in 0..3 {
        let known = explored(None, SimulatedLinks::new(real.file, matrix.clone(), noise(folder), seed), seed);
        println!("{} of 130,816 pairs, errors {:.4?}, said {:.4?}", known.pairs, known.errors, known.said);
        let errors = known.errors.expect("most are predicted");
        if known.pairs > 10_000 || errors[0] > 0.015 || errors[1] > 0.05 {
            return Err(format!("seed {seed}: {} pairs, {errors:.4?}", known.pairs).into());
        }
        // Which of them are siblings is known of few.
        if known.groups != "32 groups of 16 cpus" {
            return Err(format!("seed {seed}: {}", known.groups).into());
        }
    }
    Ok(())
}
