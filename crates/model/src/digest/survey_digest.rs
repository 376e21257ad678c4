//! Digest of a survey: the machine's settings, the level of each quantity, and how each cpu differs from it.

use std::collections::BTreeMap;

use corewise_machine::{CpuSet, Level, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{fits_digest, round_value, shorten_text};
use crate::Survey;
use crate::compare::{ComparedQuantity, value_of};
use crate::links::{LinkClass, link_classes};
use crate::survey::CpuObservation;
use corewise_statistics::order::median;

/// Quantities of each cpu. The clock rate is not among them: the p50 of a fixed number of cycles shows it.
const QUANTITIES: [ComparedQuantity; 4] =
    [ComparedQuantity::P50, ComparedQuantity::P99_9, ComparedQuantity::Lost, ComparedQuantity::InterruptRate];

/// Levels that may share one value, finest first.
const LEVELS: [Level; 7] =
    [Level::Cpu, Level::Core, Level::Cluster, Level::Llc, Level::Die, Level::Node, Level::Package];

/// Maximum number of settings.
const MOST_SETTINGS: usize = 24;

/// Largest number of steps from the median, up or down.
const MOST_STEPS: f64 = 999.0;

/// A survey in at most 4 KB of JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SurveyDigest {
    /// Short name of the processor with its topology: equal for equal machines.
    pub fingerprint: String,
    /// The processor's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<String>,
    /// Number of objects of each level, offline cpus excluded.
    pub objects: BTreeMap<String, u64>,
    /// Memory of all nodes in bytes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Kernel, microcode, governor, SMT and other settings by name, among them the state of each vulnerability of this processor.
    pub settings: BTreeMap<String, String>,
    /// corewise's version.
    pub corewise: String,
    /// Number of dependent additions of a timed piece of work.
    pub additions: u32,
    /// Number of complete rounds over all cpus.
    pub rounds: u32,
    /// Duration in seconds.
    pub elapsed_s: f64,
    /// True if it was ended before its plan was complete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The share of the machine's cpu time that other programs used meanwhile, 0 to 1, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_busy: Option<f64>,
    /// The surveyed cpus.
    pub cpus: CpuSet,
    /// The level of the values: `cpu`, or the finest level at which the digest is small enough.
    pub level: Level,
    /// The quantities.
    pub quantities: Vec<QuantityDigest>,
    /// Costs of talking, by the relation of two cpus.
    pub links: Vec<LinkClass>,
}

/// One quantity on all cpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuantityDigest {
    /// The quantity.
    pub quantity: ComparedQuantity,
    /// Its unit.
    pub unit: String,
    /// The median over all cpus.
    pub typical: f64,
    /// The median over the cpus of each kind of core; empty if all cores are alike.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_kind: BTreeMap<String, f64>,
    /// The cpu with the lowest value.
    pub lowest: CpuExtreme,
    /// The cpu with the highest value.
    pub highest: CpuExtreme,
    /// Ratio of one step.
    pub step: f64,
    /// Amount that is added to both sides of a ratio.
    pub floor: f64,
    /// Steps of each value from `typical`: of the surveyed cpus in rising order, or of the level's objects in machine order. An object of
    /// several cpus has the median of them; null if none was surveyed.
    pub steps: Vec<Option<i16>>,
}

/// A cpu and its value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuExtreme {
    /// The operating system's number.
    pub cpu: u32,
    /// The value.
    pub value: f64,
}

impl SurveyDigest {
    /// Makes the digest of a survey. Values are of single cpus if these fit into [`super::MOST_DIGEST_BYTES`], otherwise of larger objects.
    pub fn from_survey(survey: &Survey) -> Self {
        let values = QUANTITIES.map(|quantity| (quantity, CpuValues::from_survey(quantity, survey)));
        let mut digest = Self::without_values(survey);
        for level in LEVELS {
            let objects = value_objects(level, survey, &digest.cpus);
            let quantity =
                |(quantity, values): &(ComparedQuantity, CpuValues)| values.digest(*quantity, &objects, survey);
            (digest.level, digest.quantities) = (level, values.iter().filter_map(quantity).collect());
            if fits_digest(&digest) {
                return digest;
            }
        }
        // More packages than fit, or cpus whose list does not.
        digest.quantities.iter_mut().for_each(|quantity| quantity.steps.clear());
        if !fits_digest(&digest) {
            digest.cpus = CpuSet::new();
        }
        digest
    }

    fn without_values(survey: &Survey) -> Self {
        let (machine, provenance) = (&survey.machine, &survey.provenance);
        let objects = |level: Level| (level.to_string(), machine.objects_of(level).len() as u64);
        let memory: Option<Vec<u64>> = machine.nodes.iter().map(|node| node.memory_bytes).collect();
        Self {
            fingerprint: machine.fingerprint(),
            processor: machine.processor.model_name.as_deref().map(shorten_text),
            objects: machine.levels_present().map(objects).collect(),
            memory_bytes: memory.map(|bytes| bytes.iter().sum()),
            settings: machine_settings(machine),
            corewise: shorten_text(&provenance.corewise),
            additions: survey.work.additions,
            rounds: provenance.rounds,
            elapsed_s: round_value(provenance.elapsed_s, 3),
            partial: provenance.partial,
            others_busy: provenance.others_busy.map(|share| round_value(share, 2)),
            cpus: survey.cpus.iter().map(|seen| seen.cpu).collect(),
            level: Level::Cpu,
            quantities: Vec::new(),
            links: link_classes(machine, &survey.links).into_iter().map(round_class).collect(),
        }
    }
}

impl QuantityDigest {
    /// Returns the values that the steps stand for, each within half a step of what was measured.
    pub fn values(&self) -> impl Iterator<Item = Option<f64>> {
        let value = |steps: i16| (self.typical + self.floor) * self.step.powi(steps.into()) - self.floor;
        self.steps.iter().map(move |steps| steps.map(value))
    }
}

/// The median of a quantity over the rounds of each cpu that has one.
struct CpuValues(BTreeMap<u32, f64>);

impl CpuValues {
    fn from_survey(quantity: ComparedQuantity, survey: &Survey) -> Self {
        let value = |seen: &CpuObservation| {
            let rounds: Vec<f64> = seen.rounds.iter().filter_map(|round| value_of(quantity, round)).collect();
            (!rounds.is_empty()).then(|| (seen.cpu, median(&rounds)))
        };
        Self(survey.cpus.iter().filter_map(value).collect())
    }

    /// Returns the median over the cpus that have a value.
    fn median_of(&self, cpus: &CpuSet) -> Option<f64> {
        let values: Vec<f64> = cpus.iter().filter_map(|cpu| self.0.get(&cpu).copied()).collect();
        (!values.is_empty()).then(|| median(&values))
    }

    fn digest(&self, quantity: ComparedQuantity, objects: &[CpuSet], survey: &Survey) -> Option<QuantityDigest> {
        let digits = if quantity == ComparedQuantity::P50 { 4 } else { 3 };
        let typical = round_value(self.median_of(&self.0.keys().copied().collect())?, digits);
        let extreme = |(cpu, value): (&u32, &f64)| CpuExtreme { cpu: *cpu, value: round_value(*value, digits) };
        let by_value = |one: &(&u32, &f64), other: &(&u32, &f64)| one.1.total_cmp(other.1);
        let kind = |kind: &corewise_machine::machine::CoreKind| {
            Some((kind.core_type.word().to_owned(), round_value(self.median_of(&kind.cpus)?, digits)))
        };
        let (step, floor) = (step_of(quantity), quantity.comparison_floor());
        let steps = |value: f64| {
            let ratio = (value + floor).max(f64::MIN_POSITIVE) / (typical + floor).max(f64::MIN_POSITIVE);
            (ratio.ln() / step.ln()).round().clamp(-MOST_STEPS, MOST_STEPS) as i16
        };
        Some(QuantityDigest {
            quantity,
            unit: quantity.unit().to_owned(),
            typical,
            by_kind: survey.machine.kinds.iter().filter_map(kind).collect(),
            lowest: extreme(self.0.iter().min_by(by_value)?),
            highest: extreme(self.0.iter().max_by(by_value)?),
            step,
            floor,
            steps: objects.iter().map(|cpus| self.median_of(cpus).map(steps)).collect(),
        })
    }
}

/// Returns the ratio of one step: half of the smallest difference that [`ComparedQuantity::least_ratio`] counts, or finer.
const fn step_of(quantity: ComparedQuantity) -> f64 {
    match quantity {
        ComparedQuantity::P50 | ComparedQuantity::Frequency => 1.005,
        ComparedQuantity::P99_9 | ComparedQuantity::LinkCost => 1.05,
        ComparedQuantity::Lost | ComparedQuantity::InterruptRate => 1.2,
    }
}

/// Returns the sets of cpus with one value each.
fn value_objects(level: Level, survey: &Survey, surveyed: &CpuSet) -> Vec<CpuSet> {
    match level {
        Level::Cpu => surveyed.iter().map(CpuSet::from_cpu).collect(),
        level => survey.machine.objects_of(level),
    }
}

/// Returns the machine's environment, its architecture and hypervisor, special cpus, and the vulnerabilities that affect it.
fn machine_settings(machine: &Machine) -> BTreeMap<String, String> {
    let sets = [("isolated", &machine.isolated), ("nohz_full", &machine.nohz_full)];
    let sets = sets.into_iter().filter(|(_, cpus)| !cpus.is_empty()).map(|(name, cpus)| (name, cpus.to_string()));
    let system = [("architecture", &machine.system.architecture), ("hypervisor", &machine.system.hypervisor)];
    let system = system.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
    let named = sets.chain(system).map(|(name, value)| (name.to_owned(), value));
    let affecting = machine.system.vulnerabilities.clone().into_iter().filter(|(_, state)| state != "Not affected");
    let all = machine.environment().into_iter().chain(named).chain(affecting);
    all.take(MOST_SETTINGS).map(|(name, value)| (shorten_text(&name), shorten_text(&value))).collect()
}

fn round_class(class: LinkClass) -> LinkClass {
    LinkClass {
        median_ns: round_value(class.median_ns, 3),
        lowest_ns: round_value(class.lowest_ns, 3),
        highest_ns: round_value(class.highest_ns, 3),
        ..class
    }
}
