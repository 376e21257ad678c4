//! The report of one visit: the file that `corewise fleet visit` writes on a node.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FleetQuantity;
use crate::artifact::check_numbers;
use crate::compare::ComparedQuantity;
use crate::digest::memory_map_digest::MemoryMapDigest;
use crate::digest::survey_digest::{QuantityDigest, SurveyDigest};
use crate::digest::{fits_digest, shorten_text};
use crate::links::CpuRelation;

/// Name of the report's JSON documents.
pub const VISIT_SCHEMA: &str = "corewise/fleet-visit/1";
/// Maximum length of a node's name, in bytes: that of a host name with a user, a domain and a port.
const LONGEST_NAME_BYTES: usize = 320;
/// Maximum length of other texts that come from a file, in bytes.
const LONGEST_TEXT_BYTES: usize = 4096;
/// Maximum number of settings, objects, classes and quantities of a report that comes from a file.
const MOST_PARTS: usize = 256;

/// One visit of a node, in at most 4 KB of compact JSON after [`VisitReport::fit`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "corewise/fleet-visit/1")]
pub struct VisitReport {
    /// Name of the document: `corewise/fleet-visit/1`.
    pub schema: String,
    /// The node's name, as Slurm or ssh knows it.
    pub node: String,
    /// Its rack, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
    /// The kernel's identifier of the time since the node was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// The beginning, in milliseconds since 1970-01-01 UTC by the node's clock.
    pub started_unix_ms: i64,
    /// The survey's digest.
    pub survey: SurveyDigest,
    /// The memory map's digest; absent if there was no time for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryMapDigest>,
    /// Settings that the digest's `settings` lack, by name: BIOS date, NUMA balancing, huge pages, command line, memory modules.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub configuration: BTreeMap<String, String>,
}

impl VisitReport {
    /// Makes it fit into [`crate::digest::MOST_DIGEST_BYTES`]: drops the values of single cpus, then levels of the memory, then shortens long
    /// settings, then drops settings.
    #[must_use]
    pub fn fit(mut self) -> Self {
        let drops: [fn(&mut Self) -> bool; 5] = [drop_steps, drop_levels, shorten_setting, drop_cpus, drop_setting];
        for drop_part in drops {
            while !fits_digest(&self) && drop_part(&mut self) {}
        }
        self
    }

    /// Checks a report that comes from a file: names that are safe to paste, bounded sizes and finite numbers.
    ///
    /// # Errors
    /// One sentence about the first problem.
    pub fn check(&self) -> Result<(), String> {
        if self.schema != VISIT_SCHEMA {
            return Err(format!("it is no {VISIT_SCHEMA}, but {}", shorten_text(&self.schema)));
        }
        check_node_name(&self.node)?;
        self.rack.iter().try_for_each(|rack| check_rack_name(rack))?;
        check_numbers(self)?;
        self.check_values()?;
        let sizes = [self.survey.settings.len(), self.survey.objects.len(), self.configuration.len()];
        let sizes = sizes.into_iter().chain([self.survey.links.len(), self.survey.quantities.len()]);
        if sizes.max().is_some_and(|most| most > MOST_PARTS) {
            return Err(format!("it has more than {MOST_PARTS} settings"));
        }
        let settings = self.survey.settings.iter().chain(&self.configuration);
        let settings = settings.flat_map(|(name, value)| [name, value]);
        let texts = [&self.survey.fingerprint, &self.survey.corewise].into_iter().chain(&self.survey.processor);
        texts.chain(settings).try_for_each(|text| check_text("text", text))
    }

    /// Reads the value of a quantity; `None` if it was not measured.
    pub fn read_quantity(&self, quantity: FleetQuantity) -> Option<f64> {
        let typical = |quantity| find_quantity(&self.survey, quantity).map(|digest| digest.typical);
        let memory = |read: fn(&MemoryMapDigest) -> Option<f64>| self.memory.as_ref().and_then(read);
        match quantity {
            FleetQuantity::Speed => typical(ComparedQuantity::P50),
            FleetQuantity::SlowestCpu => find_quantity(&self.survey, ComparedQuantity::P50).and_then(compare_slowest),
            FleetQuantity::Tail => typical(ComparedQuantity::P99_9),
            FleetQuantity::LostTime => typical(ComparedQuantity::Lost),
            FleetQuantity::Interrupts => typical(ComparedQuantity::InterruptRate),
            FleetQuantity::LinkCost => nearest_cost(&self.survey),
            FleetQuantity::MemoryLatency => memory(|memory| memory.nearest_ns),
            FleetQuantity::MemoryBandwidth => memory(|memory| memory.nearest_read_gb_s),
        }
    }

    /// Checks that the numbers which are compared can have been measured.
    fn check_values(&self) -> Result<(), String> {
        let survey = &self.survey;
        if survey.additions == 0 || survey.elapsed_s < 0.0 {
            return Err("it has no work, or a negative time".to_owned());
        }
        check_share_of_others(survey.others_busy)?;
        for quantity in FleetQuantity::ALL {
            self.read_quantity(quantity).map_or(Ok(()), |value| quantity.check_value(value))?;
        }
        let typical =
            survey.quantities.iter().map(|digest| (digest.lowest.value, digest.typical, digest.highest.value));
        let costs = survey.links.iter().map(|class| (class.lowest_ns, class.median_ns, class.highest_ns));
        match typical
            .chain(costs)
            .all(|(lowest, typical, highest)| 0.0 <= lowest && lowest <= typical && typical <= highest)
        {
            true => Ok(()),
            false => {
                Err("it has a negative value, or a median that is not between the lowest and the highest value"
                    .to_owned())
            }
        }
    }
}

fn find_quantity(survey: &SurveyDigest, quantity: ComparedQuantity) -> Option<&QuantityDigest> {
    survey.quantities.iter().find(|digest| digest.quantity == quantity)
}

/// Returns the slowest cpu's time against the typical one; `None` with one cpu.
fn compare_slowest(digest: &QuantityDigest) -> Option<f64> {
    let has_others = digest.lowest.cpu != digest.highest.cpu;
    (has_others && digest.typical > 0.0).then(|| digest.highest.value / digest.typical)
}

/// Returns the cost of the nearest class between different cores: equal machines have the same one, with SMT or without.
fn nearest_cost(survey: &SurveyDigest) -> Option<f64> {
    let between_cores = survey.links.iter().filter(|class| class.relation != CpuRelation::SameCore);
    between_cores.min_by_key(|class| class.relation).map(|class| class.median_ns)
}

/// Checks the share of cpu time that others used.
pub(super) fn check_share_of_others(share: Option<f64>) -> Result<(), String> {
    match share.is_none_or(|share| (0.0..=1.0).contains(&share)) {
        true => Ok(()),
        false => Err("others used less than nothing of it, or more than all".to_owned()),
    }
}

/// Checks a node's name: letters of any language, digits and `.-_:@` without a leading `-`, so that it can be pasted into a command line.
///
/// # Errors
/// One sentence, with the allowed characters.
pub fn check_node_name(name: &str) -> Result<(), String> {
    check_name("node", name)
}

/// Checks the name of a rack, which has the characters of a node's name.
///
/// # Errors
/// One sentence, with the allowed characters.
pub fn check_rack_name(name: &str) -> Result<(), String> {
    check_name("rack", name)
}

fn check_name(what: &str, name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_alphanumeric() || ".-_:@".contains(c);
    if name.is_empty() || name.len() > LONGEST_NAME_BYTES || name.starts_with('-') || !name.chars().all(is_plain) {
        let name = shorten_text(name);
        return Err(format!(
            "{name:?} is no name of a {what}: letters, digits and . - _ : @ are allowed, but no - at the beginning"
        ));
    }
    Ok(())
}

/// Checks the length of another text, and that it is one line.
pub(super) fn check_text(what: &str, text: &str) -> Result<(), String> {
    if text.len() > LONGEST_TEXT_BYTES || text.chars().any(char::is_control) {
        return Err(format!("its {what} {:?} is too long, or has control characters", shorten_text(text)));
    }
    Ok(())
}

/// Drops the values of single cpus of the last quantity that has some.
fn drop_steps(report: &mut VisitReport) -> bool {
    let longest = report.survey.quantities.iter_mut().rev().find(|quantity| !quantity.steps.is_empty());
    longest.map(|quantity| quantity.steps.clear()).is_some()
}

fn drop_levels(report: &mut VisitReport) -> bool {
    report.memory.as_mut().is_some_and(|memory| memory.levels.pop().is_some())
}

/// Shortens the longest setting to its beginning and a hash of all of it, so that different ones stay different.
fn shorten_setting(report: &mut VisitReport) -> bool {
    let longest = report.configuration.values_mut().max_by_key(|value| value.len());
    longest.is_some_and(|value| {
        let short = format!("{} #{:08x}", shorten_text(value), hash_text(value));
        let is_shorter = short.len() < value.len();
        if is_shorter {
            *value = short;
        }
        is_shorter
    })
}

fn drop_cpus(report: &mut VisitReport) -> bool {
    let has_cpus = !report.survey.cpus.is_empty();
    report.survey.cpus = corewise_machine::CpuSet::new();
    has_cpus
}

/// Drops the last setting: of the report's own first, then of the survey.
fn drop_setting(report: &mut VisitReport) -> bool {
    report.configuration.pop_last().or_else(|| report.survey.settings.pop_last()).is_some()
}

/// Returns a 32-bit FNV-1a hash.
fn hash_text(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
