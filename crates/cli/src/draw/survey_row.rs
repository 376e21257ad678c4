//! Figures of each cpu, and the table rows that show them: similar cpus share one if there are many.

use std::collections::BTreeMap;

use corewise_machine::counts::EventCounts;
use corewise_machine::{CpuSet, Level};

use corewise_model::Survey;
use corewise_model::finding::FindingTopic;
use corewise_model::survey::conclude::{SurveyConclusions, interrupts_per_second};
use corewise_model::survey::{CpuObservation, CpuRound, FrequencySource, TailSummary};
use corewise_statistics::order::{half_range, median};

/// Maximum number of surveyed cpus with a row for each.
const FEW_CPUS: usize = 16;
/// Maximum number of rows: the tolerance is raised until it holds.
const MOST_ROWS: usize = 28;
/// Maximum number of last-level caches that rows never cross.
const FEW_LLCS: usize = 8;

/// A table row: one cpu, or the medians of several.
#[derive(Clone, Debug)]
pub struct SurveyRow {
    /// Its cpus.
    pub cpus: CpuSet,
    /// Their durations: median over rounds, then over cpus; the last ones (p99.99 and beyond) over all pieces, of the
    /// worst cpu.
    pub tail: TailSummary,
    /// The spread over rounds of the median duration, in nanoseconds.
    pub p50_spread_ns: Option<f64>,
    /// The spread over rounds of the 99.9th percentile, in nanoseconds.
    pub p99_9_spread_ns: Option<f64>,
    /// The clock rate in gigahertz, and true for an estimate.
    pub frequency: Option<(f64, bool)>,
    /// The spread over rounds of the clock rate, in gigahertz.
    pub frequency_spread: Option<f64>,
    /// Interrupts per second: the median over rounds, as in comparisons.
    pub interrupt_rate: f64,
    /// Interrupts per second by source, on average over all rounds, most first.
    pub sources: Vec<(String, f64)>,
    /// Soft interrupts per second.
    pub softirq_rate: f64,
    /// Soft interrupts per second by kind, most first.
    pub softirq_sources: Vec<(String, f64)>,
    /// Voluntary and involuntary switches of the thread per second.
    pub switch_rates: (f64, f64),
    /// Shares of the time, 0 to 1: user, system, off the cpu, and stolen if the kernel reports it.
    pub shares: TimeShares,
    /// Findings about these cpus: the quantity, and true if they are better in it than their peers.
    pub marks: Vec<(String, bool)>,
    /// Durations as clock ticks and counts, over all rounds and cpus of the row.
    pub counts: Vec<(u64, u64)>,
}

/// TimeShares of the time of the visits, 0 to 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeShares {
    /// In user mode.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
    /// Not on a cpu.
    pub off_cpu: f64,
    /// Taken by the hypervisor, if the kernel reports it.
    pub stolen: Option<f64>,
    /// Spent in interrupts, if the system reports it.
    pub interrupts: Option<f64>,
    /// Spent in soft interrupts, if the system reports it.
    pub softirqs: Option<f64>,
}

/// Returns the rows of a survey, by their lowest cpu.
pub fn survey_rows(survey: &Survey, conclusions: &SurveyConclusions) -> Vec<SurveyRow> {
    let single: Vec<SurveyRow> = survey.cpus.iter().map(|cpu| row_of(cpu, survey.clock.step_ns, conclusions)).collect();
    if single.len() <= FEW_CPUS {
        return single;
    }
    let classes: Vec<String> = survey.cpus.iter().map(|cpu| row_class(survey, conclusions, cpu.cpu)).collect();
    let mut tolerance = RowTolerance { steady: 1.05, restless: 1.5 };
    loop {
        let groups = gather_alike(&single, &classes, tolerance);
        if groups.len() <= MOST_ROWS || tolerance.restless > 1e6 {
            return groups.into_iter().map(|group| merged(survey, &single, &group)).collect();
        }
        tolerance = tolerance.widen_limits();
    }
}

/// Maximum ratios between figures of cpus in one row: `steady` for p50, p90, p99 and clock rate, `restless` for p99.9
/// and the interrupt rate, which differ more between equal cpus.
#[derive(Clone, Copy)]
struct RowTolerance {
    steady: f64,
    restless: f64,
}

impl RowTolerance {
    fn widen_limits(self) -> Self {
        Self { steady: self.steady * 1.05, restless: self.restless * self.restless }
    }

    fn are_alike(self, a: &SurveyRow, b: &SurveyRow) -> bool {
        // A figure measured on neither cpu does not separate them.
        let near =
            |a: f64, b: f64, ratio: f64| a.max(b) <= a.min(b) * ratio || a.max(b) < 1.0 || (a.is_nan() && b.is_nan());
        let clock = |row: &SurveyRow| row.frequency.map_or(0.0, |(gigahertz, _)| gigahertz * 1e3);
        let steady = [
            (a.tail.p50_ns, b.tail.p50_ns),
            (a.tail.p90_ns, b.tail.p90_ns),
            (a.tail.p99_ns, b.tail.p99_ns),
            (clock(a), clock(b)),
        ];
        // A few interrupts per second more or less are no difference: 5 is added to both rates.
        let restless = [(a.tail.p99_9_ns, b.tail.p99_9_ns), (a.interrupt_rate + 5.0, b.interrupt_rate + 5.0)];
        steady.iter().all(|&(a, b)| near(a, b, self.steady)) && restless.iter().all(|&(a, b)| near(a, b, self.restless))
    }
}

/// Returns a key of the cpu's class: cpus with another kind of core, another cache, or other findings never share a
/// row.
fn row_class(survey: &Survey, conclusions: &SurveyConclusions, cpu: u32) -> String {
    let machine = &survey.machine;
    let kind = machine.kind_of(cpu).map(|kind| kind.core_type);
    let llc = machine.index_of(Level::Llc, cpu);
    let cache = llc.map(|index| (machine.llcs[index].size_bytes, machine.llcs[index].vcache));
    let own = llc.filter(|_| machine.llcs.len() <= FEW_LLCS);
    let named: Vec<usize> = (0..conclusions.findings.len())
        .filter(|&index| {
            let finding = &conclusions.findings[index];
            !matches!(finding.topic, FindingTopic::Links | FindingTopic::Causes) && finding.cpus.contains(cpu)
        })
        .collect();
    format!("{kind:?} {cache:?} {own:?} {named:?}")
}

/// Puts each cpu into the first group with a similar first member.
fn gather_alike(single: &[SurveyRow], classes: &[String], tolerance: RowTolerance) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for index in 0..single.len() {
        let fits = |group: &&mut Vec<usize>| {
            classes[group[0]] == classes[index] && tolerance.are_alike(&single[group[0]], &single[index])
        };
        match groups.iter_mut().find(fits) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

fn row_of(observation: &CpuObservation, step_ns: f64, conclusions: &SurveyConclusions) -> SurveyRow {
    let rounds = &observation.rounds;
    let elapsed: f64 = rounds.iter().map(|round| round.elapsed_s).sum();
    let per_round = |of: fn(&TailSummary) -> f64| rounds.iter().map(|round| of(&round.tail)).collect::<Vec<f64>>();
    let rate = |count: u64| if elapsed > 0.0 { count as f64 / elapsed } else { f64::NAN };
    let share = |of: fn(&CpuRound) -> f64| rounds.iter().map(of).sum::<f64>() / elapsed;
    let clock: Vec<_> = rounds.iter().filter_map(|round| round.frequency.as_ref()).collect();
    let gigahertz: Vec<f64> = clock.iter().map(|frequency| frequency.gigahertz).collect();
    let estimate = clock.iter().any(|frequency| frequency.source == FrequencySource::Estimate);
    let interrupts = rates(rounds.iter().filter_map(|round| round.interrupts.as_ref()));
    let softirqs = rates(rounds.iter().filter_map(|round| round.softirqs.as_ref()));
    let total = |rates: &Option<Vec<(String, f64)>>| {
        rates.as_ref().map_or(f64::NAN, |rates| rates.iter().map(|(_, rate)| rate).sum())
    };
    SurveyRow {
        cpus: CpuSet::from_cpu(observation.cpu),
        tail: middle_tail(observation, step_ns),
        p50_spread_ns: half_range(&per_round(|tail| tail.p50_ns)),
        p99_9_spread_ns: half_range(&per_round(|tail| tail.p99_9_ns)),
        frequency: (!gigahertz.is_empty()).then(|| (median(&gigahertz), estimate)),
        frequency_spread: half_range(&gigahertz),
        interrupt_rate: interrupts_per_second(rounds),
        sources: interrupts.unwrap_or_default(),
        softirq_rate: total(&softirqs),
        softirq_sources: softirqs.unwrap_or_default(),
        switch_rates: (
            rate(rounds.iter().map(|round| round.thread.voluntary_switches).sum()),
            rate(rounds.iter().map(|round| round.thread.involuntary_switches).sum()),
        ),
        shares: TimeShares {
            user: share(|round| round.thread.user_s),
            system: share(|round| round.thread.system_s),
            off_cpu: share(|round| round.thread.off_cpu_s),
            stolen: stolen_share(rounds),
            interrupts: time_share(rounds.iter().filter_map(|round| round.interrupts.as_ref())),
            softirqs: time_share(rounds.iter().filter_map(|round| round.softirqs.as_ref())),
        },
        marks: finding_marks(conclusions, observation.cpu),
        counts: observation.tail.bucket_counts(),
    }
}

/// Returns medians over rounds; p99.99 and beyond are over all pieces, for a round has too few.
fn middle_tail(observation: &CpuObservation, step_ns: f64) -> TailSummary {
    let rounds = &observation.rounds;
    let middle =
        |of: fn(&TailSummary) -> f64| median(&rounds.iter().map(|round| of(&round.tail)).collect::<Vec<f64>>());
    let all = TailSummary::from_histogram(&observation.tail, step_ns);
    let known = |value: f64| if all.count > 0 { value } else { f64::NAN };
    TailSummary {
        count: all.count,
        mean_ns: middle(|tail| tail.mean_ns),
        p50_ns: middle(|tail| tail.p50_ns),
        p90_ns: middle(|tail| tail.p90_ns),
        p99_ns: middle(|tail| tail.p99_ns),
        p99_9_ns: middle(|tail| tail.p99_9_ns),
        p99_99_ns: known(all.p99_99_ns),
        p99_999_ns: known(all.p99_999_ns),
        max_ns: known(all.max_ns),
        lost: middle(|tail| tail.lost),
    }
}

fn stolen_share(rounds: &[CpuRound]) -> Option<f64> {
    let told: Vec<(f64, f64)> = rounds.iter().filter_map(|round| Some((round.stolen_s?, round.elapsed_s))).collect();
    let elapsed: f64 = told.iter().map(|(_, elapsed)| elapsed).sum();
    (elapsed > 0.0).then(|| told.iter().map(|(stolen, _)| stolen).sum::<f64>() / elapsed)
}

/// Returns the share of the time taken by the counted interrupts.
fn time_share<'a>(visits: impl Iterator<Item = &'a EventCounts>) -> Option<f64> {
    let timed = visits.filter_map(|counted| Some((counted.time_s?, counted.elapsed_s)));
    let (time_s, elapsed_s) = timed.fold((0.0, 0.0), |sum, visit| (sum.0 + visit.0, sum.1 + visit.1));
    (elapsed_s > 0.0).then(|| time_s / elapsed_s)
}

/// Returns counts per second by source, most first; equal ones by name. `None` without counts.
fn rates<'a>(visits: impl Iterator<Item = &'a EventCounts>) -> Option<Vec<(String, f64)>> {
    let mut sums = BTreeMap::<&str, u64>::new();
    let mut elapsed_s = 0.0;
    for counted in visits {
        elapsed_s += counted.elapsed_s;
        for count in &counted.sources {
            *sums.entry(&count.source).or_default() += count.count;
        }
    }
    if elapsed_s == 0.0 {
        return None;
    }
    let struck = sums.into_iter().filter(|(_, count)| *count > 0);
    let mut rates: Vec<(String, f64)> =
        struck.map(|(source, count)| (source.to_owned(), count as f64 / elapsed_s)).collect();
    rates.sort_by(|a, b| b.1.total_cmp(&a.1));
    Some(rates)
}

fn finding_marks(conclusions: &SurveyConclusions, cpu: u32) -> Vec<(String, bool)> {
    let named = conclusions.findings.iter().filter(|finding| finding.cpus.contains(cpu));
    let effects = named.filter(|finding| finding.topic != FindingTopic::Links).flat_map(|finding| &finding.effects);
    // Of all compared quantities, only a higher clock rate is better.
    effects.map(|effect| (effect.quantity.clone(), (effect.ratio > 1.0) == (effect.quantity == "frequency"))).collect()
}

/// Merges several cpus into one row: the median of each figure, and the worst maximum.
fn merged(survey: &Survey, single: &[SurveyRow], group: &[usize]) -> SurveyRow {
    let members: Vec<&SurveyRow> = group.iter().map(|&index| &single[index]).collect();
    if let [only] = members.as_slice() {
        return (*only).clone();
    }
    let middle = |of: &dyn Fn(&SurveyRow) -> f64| median(&members.iter().map(|row| of(row)).collect::<Vec<f64>>());
    let known = |value: f64| value.is_finite().then_some(value);
    let worst = |of: fn(&SurveyRow) -> f64| members.iter().map(|row| of(row)).fold(f64::NAN, f64::max);
    let cpus: CpuSet = members.iter().flat_map(|row| row.cpus.iter()).collect();
    let estimate = members.iter().any(|row| row.frequency.is_some_and(|(_, estimate)| estimate));
    SurveyRow {
        tail: TailSummary {
            count: members.iter().map(|row| row.tail.count).sum(),
            mean_ns: middle(&|row| row.tail.mean_ns),
            p50_ns: middle(&|row| row.tail.p50_ns),
            p90_ns: middle(&|row| row.tail.p90_ns),
            p99_ns: middle(&|row| row.tail.p99_ns),
            p99_9_ns: middle(&|row| row.tail.p99_9_ns),
            p99_99_ns: worst(|row| row.tail.p99_99_ns),
            p99_999_ns: worst(|row| row.tail.p99_999_ns),
            max_ns: worst(|row| row.tail.max_ns),
            lost: middle(&|row| row.tail.lost),
        },
        p50_spread_ns: known(middle(&|row| row.p50_spread_ns.unwrap_or(f64::NAN))),
        p99_9_spread_ns: known(middle(&|row| row.p99_9_spread_ns.unwrap_or(f64::NAN))),
        frequency: known(middle(&|row| row.frequency.map_or(f64::NAN, |(gigahertz, _)| gigahertz)))
            .map(|gigahertz| (gigahertz, estimate)),
        frequency_spread: known(middle(&|row| row.frequency_spread.unwrap_or(f64::NAN))),
        interrupt_rate: middle(&|row| row.interrupt_rate),
        sources: group_rates(survey, &cpus, |round| round.interrupts.as_ref()),
        softirq_rate: middle(&|row| row.softirq_rate),
        softirq_sources: group_rates(survey, &cpus, |round| round.softirqs.as_ref()),
        switch_rates: (middle(&|row| row.switch_rates.0), middle(&|row| row.switch_rates.1)),
        shares: TimeShares {
            user: middle(&|row| row.shares.user),
            system: middle(&|row| row.shares.system),
            off_cpu: middle(&|row| row.shares.off_cpu),
            stolen: known(middle(&|row| row.shares.stolen.unwrap_or(f64::NAN))),
            interrupts: known(middle(&|row| row.shares.interrupts.unwrap_or(f64::NAN))),
            softirqs: known(middle(&|row| row.shares.softirqs.unwrap_or(f64::NAN))),
        },
        marks: members[0].marks.clone(),
        counts: members.iter().flat_map(|row| row.counts.iter().copied()).collect(),
        cpus,
    }
}

/// Returns average rates by source of a cpu of the group.
fn group_rates(survey: &Survey, cpus: &CpuSet, of: fn(&CpuRound) -> Option<&EventCounts>) -> Vec<(String, f64)> {
    let members = survey.cpus.iter().filter(|cpu| cpus.contains(cpu.cpu)).flat_map(|cpu| &cpu.rounds);
    rates(members.filter_map(of)).unwrap_or_default()
}
