//! Ratios that published results are compared with, computed from the results of steps.

use corewise_machine::placement::{ResolveContext, parse};
use corewise_machine::ring::RingSlots;
use corewise_machine::{CpuSet, Level, Machine};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ArticleLine;
use crate::Survey;
use crate::experiment_record::ExperimentRecord;
use crate::finding::CONFIDENCE;
use crate::links::conclude::series_ratios;
use crate::links::map::{LinkMap, LinkSeries};
use crate::links::{LinkPair, TalkWay};
use crate::survey::CpuRound;
use crate::survey::conclude::interrupts_per_second;
use crate::trial::{experiment_standing, trial_blocks};
use corewise_statistics::experiment::{
    BlockRun, JudgingPolicy, MeanEffect, PlacementRace, RunBlock, ThreadsCell, Verdict, mean_effect,
};
use corewise_statistics::order::{median, median_interval};

/// A ratio found here.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FoundRatio {
    /// The estimate.
    pub ratio: f64,
    /// The lower end of the 95 % interval; null if there are too few values.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// A ratio to compute from a step's result. A placement may contain "{level}" and "{n}", as the step's command.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ArticleMeasure {
    /// Performance on a placement relative to another: of one experiment, of a benchmark of a suite, or the geometric
    /// mean over a suite.
    Effect {
        /// The placement.
        on: String,
        /// The other placement; by default the OS default.
        against: Option<String>,
        /// The benchmark.
        benchmark: Option<String>,
    },
    /// Clock rate on a placement relative to another: the median over a suite's benchmarks.
    Clock {
        /// The placement.
        on: String,
        /// The other placement.
        against: String,
    },
    /// Throughput of a number of threads relative to another, left to the operating system.
    Threads {
        /// Both numbers.
        threads: Option<[u32; 2]>,
        /// Both numbers for each usable cpu, instead.
        per_cpu: Option<[u32; 2]>,
    },
    /// Throughput of pinned threads relative to the same number left to the operating system.
    Pinned {
        /// Number of threads for each usable cpu.
        per_cpu: u32,
    },
    /// A quantity of some cpus relative to that of others, round by round of a survey.
    Survey {
        /// The quantity.
        quantity: SurveyedQuantity,
        /// An expression.
        cpus: String,
        /// The other cpus.
        against: String,
    },
    /// Cost of a send relative to another, by pairs of cores of a map of links.
    Send {
        /// The way to send.
        by: SendWay,
        /// The pairs of cores.
        between: SendPlace,
        /// The other way; by default the same.
        against_by: Option<SendWay>,
        /// The other pairs; by default the same.
        against_between: Option<SendPlace>,
    },
}

/// A quantity of a cpu in a round of a survey.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SurveyedQuantity {
    /// Mean time of a piece.
    Mean,
    /// Clock rate.
    Clock,
    /// Interrupts per second.
    Interrupts,
}

/// A way to send messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SendWay {
    /// A bounded channel.
    Channel,
    /// A ring with packed slots.
    Packed,
    /// A ring with padded slots.
    Padded,
}

/// Pairs of different cores by their last-level caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SendPlace {
    /// Both cores share one.
    Inside,
    /// They have different ones.
    Across,
}

impl ArticleMeasure {
    /// Computes the ratio from a step's document, or says why it cannot be computed.
    pub(super) fn find_ratio(&self, document: &Value, line: &ArticleLine) -> Result<FoundRatio, String> {
        match self {
            Self::Effect { on, against, benchmark } => {
                let records = read_records(document, benchmark.as_deref())?;
                let arms = |record: &ExperimentRecord| {
                    let against = against.as_ref().map_or(Ok(0), |name| find_arm(record, &line.fill_in(name)))?;
                    Ok([find_arm(record, &line.fill_in(on))?, against])
                };
                compare_arms(&records, &arms)
            }
            Self::Clock { on, against } => compare_clocks(document, [on, against].map(|name| line.fill_in(name))),
            Self::Threads { threads, per_cpu } => {
                let wanted = move |record: &ExperimentRecord| {
                    let cpus = usable_cpus(record);
                    let counts = threads.or(per_cpu.map(|counts| counts.map(|count| count * cpus)));
                    Ok(counts.ok_or("its numbers are missing")?.map(|threads| ThreadsCell { threads, pinned: false }))
                };
                compare_cells(document, &wanted)
            }
            Self::Pinned { per_cpu } => {
                let cell =
                    |record: &ExperimentRecord, pinned| ThreadsCell { threads: per_cpu * usable_cpus(record), pinned };
                compare_cells(document, &|record| Ok([cell(record, true), cell(record, false)]))
            }
            Self::Survey { quantity, cpus, against } => compare_cpus(document, *quantity, [cpus, against]),
            Self::Send { by, between, against_by, against_between } => {
                let map = read_observed::<LinkMap>(document)?;
                let sides = [(*by, *between), (against_by.unwrap_or(*by), against_between.unwrap_or(*between))];
                compare_sends(&map, sides)
            }
        }
    }
}

/// Reads the observations of an artifact's document.
fn read_observed<T: DeserializeOwned>(document: &Value) -> Result<T, String> {
    T::deserialize(&document["observed"]).map_err(|_| "the step has another kind of result".to_owned())
}

/// Reads the experiments of a document: one, or all of a suite with runs.
fn read_records(document: &Value, benchmark: Option<&str>) -> Result<Vec<ExperimentRecord>, String> {
    let Some(benchmarks) = document["benchmarks"].as_array() else { return Ok(vec![read_observed(document)?]) };
    let is_wanted = |entry: &&Value| benchmark.is_none_or(|name| entry["name"] == name);
    let tried = benchmarks.iter().filter(is_wanted).map(|entry| &entry["experiment"]).filter(|tried| !tried.is_null());
    let records: Vec<ExperimentRecord> = tried.map(read_observed).collect::<Result<_, _>>()?;
    match (records.is_empty(), benchmark) {
        (false, _) => Ok(records),
        (true, Some(name)) => Err(format!("\"{name}\" was not run")),
        (true, None) => Err("no benchmark was run".to_owned()),
    }
}

fn find_arm(record: &ExperimentRecord, name: &str) -> Result<usize, String> {
    let arm = record.experiment.arms.iter().position(|arm| arm.placement_text() == name);
    arm.ok_or_else(|| format!("{name} was not among the placements"))
}

fn usable_cpus(record: &ExperimentRecord) -> u32 {
    u32::try_from(record.experiment.machine.allowed.len()).unwrap_or(u32::MAX)
}

/// Returns the performance on one arm relative to another, or its geometric mean over several experiments; those that
/// cannot be trusted take no part.
fn compare_arms(
    records: &[ExperimentRecord],
    arms: &dyn Fn(&ExperimentRecord) -> Result<[usize; 2], String>,
) -> Result<FoundRatio, String> {
    let mut races = Vec::new();
    for record in records {
        let arms = arms(record)?;
        if !matches!(experiment_standing(&record.experiment, &record.trials).verdict, Verdict::Unsound { .. }) {
            races.push(race_between(record, arms));
        }
    }
    if races.is_empty() {
        return Err("the result cannot be trusted; its doubts are above".to_owned());
    }
    let error_rate = records[0].experiment.policy.error_rate;
    let mean = mean_effect(&races.iter().collect::<Vec<_>>(), 1, error_rate);
    let MeanEffect { effect, .. } = mean.ok_or("no block has a run of both")?;
    Ok(FoundRatio { ratio: effect.estimate.exp(), low: effect.low.map(f64::exp), high: effect.high.map(f64::exp) })
}

/// Returns the race of an arm against another, which never ends: it only collects the blocks that both are in.
fn race_between(record: &ExperimentRecord, [arm, against]: [usize; 2]) -> PlacementRace {
    let policy = JudgingPolicy { least_blocks: u32::MAX, ..record.experiment.policy.clone() };
    let mut race = PlacementRace::new(1, &policy);
    for block in trial_blocks(&record.trials, &record.experiment.workload.metric) {
        let of_both = |run: &BlockRun| {
            let place = [against, arm].iter().position(|wanted| *wanted == run.arm)?;
            Some(BlockRun { arm: place, x: run.x })
        };
        race.add_block(&RunBlock { runs: block.runs.iter().filter_map(of_both).collect() });
    }
    race
}

fn compare_cells(
    document: &Value,
    cells: &dyn Fn(&ExperimentRecord) -> Result<[ThreadsCell; 2], String>,
) -> Result<FoundRatio, String> {
    compare_arms(&read_records(document, None)?, &|record| {
        let all = record.experiment.thread_cells().ok_or("no numbers of threads were tried")?;
        let find = |wanted: ThreadsCell| {
            let how = if wanted.pinned { "pinned threads" } else { "threads" };
            let found = all.iter().position(|cell| *cell == wanted);
            found.ok_or_else(|| format!("{} {how} were not tried", wanted.threads))
        };
        let [cell, against] = cells(record)?;
        Ok([find(cell)?, find(against)?])
    })
}

fn compare_clocks(document: &Value, names: [String; 2]) -> Result<FoundRatio, String> {
    let mut ratios = Vec::new();
    for record in read_records(document, None)? {
        let clock = |name: &String| -> Result<f64, String> {
            let arm = find_arm(&record, name)?;
            let trials = record.trials.iter().filter(|trial| trial.block > 0 && trial.arm == arm);
            Ok(median(&trials.filter_map(|trial| trial.observed.gigahertz).collect::<Vec<f64>>()))
        };
        ratios.push(clock(&names[0])? / clock(&names[1])?);
    }
    summarize_ratios(ratios).ok_or_else(|| "no clock rate was measured".to_owned())
}

/// Returns the median of ratios with its interval; `None` without a finite one.
fn summarize_ratios(mut ratios: Vec<f64>) -> Option<FoundRatio> {
    ratios.retain(|ratio| ratio.is_finite());
    let (low, high) = median_interval(&ratios, CONFIDENCE).unzip();
    (!ratios.is_empty()).then(|| FoundRatio { ratio: median(&ratios), low, high })
}

impl SurveyedQuantity {
    /// Returns its value in a visit; NaN without one.
    fn of_round(self, round: &CpuRound) -> f64 {
        match self {
            Self::Mean => round.tail.mean_ns,
            Self::Clock => round.frequency.as_ref().map_or(f64::NAN, |found| found.gigahertz),
            Self::Interrupts => interrupts_per_second([round]),
        }
    }
}

fn compare_cpus(document: &Value, quantity: SurveyedQuantity, typed: [&String; 2]) -> Result<FoundRatio, String> {
    let survey = read_observed::<Survey>(document)?;
    let mut sides = Vec::new();
    for text in typed {
        sides.push(find_cpus(&survey.machine, text)?);
    }
    let rounds = survey.cpus.iter().flat_map(|seen| &seen.rounds).map(|round| round.round + 1).max().unwrap_or(0);
    let value = |cpus: &CpuSet, number: u32| {
        let of_cpus = survey.cpus.iter().filter(|seen| cpus.contains(seen.cpu)).flat_map(|seen| &seen.rounds);
        let values = of_cpus.filter(|round| round.round == number).map(|round| quantity.of_round(round));
        median(&values.filter(|value| value.is_finite()).collect::<Vec<f64>>())
    };
    let ratios = (0..rounds).map(|number| value(&sides[0], number) / value(&sides[1], number)).collect();
    summarize_ratios(ratios).ok_or_else(|| "it was not measured on both sides".to_owned())
}

fn find_cpus(machine: &Machine, text: &str) -> Result<CpuSet, String> {
    let expression = parse(text).map_err(|error| error.what)?;
    let context = ResolveContext { machine, reachable: &machine.allowed, quiet: None, worth: None };
    expression.resolve_on(&context).map(|found| found.cpus).map_err(|error| format!("{text}: {}", error.what))
}

impl SendWay {
    const fn is_way(self, way: TalkWay) -> bool {
        match self {
            Self::Channel => matches!(way, TalkWay::Channel { bound: Some(_) }),
            Self::Packed => matches!(way, TalkWay::Queue { slots: RingSlots::Packed }),
            Self::Padded => matches!(way, TalkWay::Queue { slots: RingSlots::Padded }),
        }
    }
}

impl SendPlace {
    fn has_pair(self, machine: &Machine, a: u32, b: u32) -> bool {
        let is_same = |level| machine.index_of(level, a) == machine.index_of(level, b);
        !is_same(Level::Core) && is_same(Level::Llc) == (self == Self::Inside)
    }
}

/// Compares pair by pair if only the way differs, otherwise with the median of the other pairs.
fn compare_sends(map: &LinkMap, sides: [(SendWay, SendPlace); 2]) -> Result<FoundRatio, String> {
    let machine = map.machine.as_ref().ok_or("the machine of the map is unknown")?;
    let find_series =
        |way: SendWay| map.series.iter().find(|series| way.is_way(series.what)).ok_or("this way was not measured");
    let [(way, place), (other_way, other_place)] = sides;
    let (of, against) = (find_series(way)?, find_series(other_way)?);
    let ratios = if place == other_place {
        series_ratios(against, of, &|a, b| place.has_pair(machine, a, b))
    } else {
        let costs = |series: &LinkSeries, place: SendPlace| {
            let pairs = series.links.pairs.iter().filter(|pair| place.has_pair(machine, pair.a, pair.b));
            pairs.map(LinkPair::one_way_ns).collect::<Vec<f64>>()
        };
        let usual = median(&costs(against, other_place));
        costs(of, place).into_iter().map(|cost| cost / usual).collect()
    };
    summarize_ratios(ratios).ok_or_else(|| match machine.llcs.len() {
        0 | 1 => "this machine does not have two last-level caches".to_owned(),
        _ => "no such pair of cores was measured".to_owned(),
    })
}
