//! The cpus worth most at a moment, and the reasons.

use super::{CpuWorth, SIBLING_LOSS, SpeedSource};
use crate::suggested_command;

/// Smallest difference in worth that counts: shares of a second are not more accurate. Among equals, cpus on cores without a chosen cpu
/// come first.
const STEP: f32 = 0.05;
/// Smallest share that is named as a reason.
const LEAST_SHARE: f32 = 0.05;

/// Worth of a machine's cpus at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorthNow {
    /// Online cpus.
    pub cpus: Vec<CpuWorth>,
    /// Origin of the data, as the beginning of a sentence: "a look of one second".
    pub from: String,
    /// Doubts about the data, as sentences: a map that is stale.
    pub doubts: Vec<String>,
}

impl WorthNow {
    /// Returns the cpus of a pool that are worth most, best first; among equals the first of the pool.
    ///
    /// # Errors
    /// If fewer cpus are known.
    pub fn best_cpus(&self, count: usize, pool: &[u32]) -> Result<Vec<u32>, String> {
        let mut known: Vec<(u32, f32)> =
            pool.iter().filter_map(|cpu| Some((*cpu, self.worth_of(*cpu)?.worth()))).collect();
        if known.len() < count {
            let there = if known.len() == 1 { "1 cpu".to_owned() } else { format!("{} cpus", known.len()) };
            return Err(format!("only {there} can be used"));
        }
        known.sort_by(|(_, a), (_, b)| (b / STEP).round().total_cmp(&(a / STEP).round()));
        Ok(known.into_iter().take(count).map(|(cpu, _)| cpu).collect())
    }

    /// Explains the choice and lists the doubts, as sentences.
    pub fn reason_sentences(&self, chosen: &[u32], pool: &[u32]) -> Vec<String> {
        let worth = |cpu: u32| self.worth_of(cpu).map(|cpu| 100.0 * cpu.worth());
        let least = chosen.iter().filter_map(|cpu| worth(*cpu)).fold(100.0, f32::min);
        let others = pool.iter().filter(|cpu| !chosen.contains(cpu)).filter_map(|cpu| self.worth_of(*cpu));
        let next = others.max_by(|a, b| a.worth().total_cmp(&b.worth())).map(|cpu| {
            let why = cpu.main_reason();
            let why = if why.is_empty() { String::new() } else { format!(": {why}") };
            format!("; the best of the others, cpu {}, {:.0} %{why}", cpu.cpu, 100.0 * cpu.worth())
        });
        let from = if self.from.is_empty() { String::new() } else { format!(", by {}", self.from) };
        let these = if chosen.len() == 1 { "this one is worth" } else { "each of these is worth at least" };
        let reason = format!("{these} {least:.0} %{from}{}.", next.unwrap_or_default());
        let is = |cpu: &u32, source| self.worth_of(*cpu).is_none_or(|cpu| cpu.record.speed_source == source);
        let unmeasured = format!(
            "speeds are not measured, so cpus count as equally fast; {} measures them.",
            suggested_command::survey().quoted_line()
        );
        let prior = match () {
            () if pool.iter().all(|cpu| is(cpu, SpeedSource::Measured)) => None,
            () if pool.iter().any(|cpu| is(cpu, SpeedSource::Hardware)) => {
                Some("speeds are the hardware's own ranking if no survey measured them.")
            }
            () => Some(unmeasured.as_str()),
        };
        [reason].into_iter().chain(prior.map(str::to_owned)).chain(self.doubts.iter().cloned()).collect()
    }

    fn worth_of(&self, cpu: u32) -> Option<&CpuWorth> {
        self.cpus.iter().find(|known| known.cpu == cpu)
    }
}

impl CpuWorth {
    fn worth(&self) -> f32 {
        self.record.worth
    }

    /// Lists the largest losses: "52 % busy".
    fn main_reason(&self) -> String {
        let shares = &self.record.shares;
        let taken = [
            (1.0 - self.record.speed, "slower"),
            (shares.busy, "busy"),
            (SIBLING_LOSS * self.record.sibling, "taken by a busy sibling"),
            (shares.interrupts, "interrupts"),
            (shares.soft_interrupts, "soft interrupts"),
            (shares.stolen, "taken by the host"),
        ];
        let named = taken.into_iter().filter(|(share, _)| *share >= LEAST_SHARE);
        named.map(|(share, what)| format!("{:.0} % {what}", 100.0 * share)).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worth::{WorthRecord, WorthShares};

    fn now(worth: &[f32], source: SpeedSource) -> WorthNow {
        let cpu = |(cpu, worth): (u32, &f32)| CpuWorth {
            cpu,
            record: WorthRecord {
                online: true,
                worth: *worth,
                speed: 1.0,
                speed_source: source,
                shares: WorthShares { busy: 1.0 - worth, ..WorthShares::default() },
                ..WorthRecord::default()
            },
        };
        WorthNow { cpus: (0..).zip(worth).map(cpu).collect(), from: "a look of one second".into(), doubts: Vec::new() }
    }

    #[test]
    fn the_best_come_first_and_small_differences_do_not_count() {
        let now = now(&[0.5, 0.99, 1.0, 0.98], SpeedSource::Measured);
        assert_eq!(now.best_cpus(2, &[0, 1, 2, 3]), Ok(vec![1, 2]));
        assert_eq!(now.best_cpus(2, &[0, 3]), Ok(vec![3, 0]));
        assert_eq!(now.best_cpus(4, &[0, 1, 7]), Err("only 2 cpus can be used".to_owned()));
    }

    #[test]
    fn the_reason_and_the_doubts_are_said() {
        let mut now = now(&[0.5, 1.0], SpeedSource::Unknown);
        now.doubts.push("the map is stale.".into());
        let reasons = now.reason_sentences(&[1], &[0, 1]);
        assert_eq!(
            reasons,
            [
                "this one is worth 100 %, by a look of one second; the best of the others, cpu 0, 50 %: 50 % busy.",
                "speeds are not measured, so cpus count as equally fast; `corewise survey` measures them.",
                "the map is stale."
            ]
        );
    }
}
