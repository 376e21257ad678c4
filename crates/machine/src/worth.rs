//! Worth of each cpu now: its speed times the share of it that a new thread would get.
//!
//! The speed is that of the latest survey, relative to the fastest cpu of the machine. The share is what fair scheduling gives one more
//! thread. It is the larger of two: the idle share, or half of what interrupts, the host and real-time tasks leave. A busy sibling of the
//! same core takes [`SIBLING_LOSS`] of the speed. Nothing here depends on an operating system: [`WorthTable::update_records`] takes counters as they were read.

mod now;
mod record;

pub use now::WorthNow;
pub use record::{
    HEADER_BYTES, HEADER_WORDS, LAYOUT_VERSION, MAGIC, RECORD_BYTES, RECORD_WORDS, SpeedSource, WorthHeader,
    WorthRecord, WorthShares,
};

use crate::{CpuSet, Level, Machine};

/// Share of a cpu's speed that a busy sibling of the same core takes. Two threads of a core do together about 1.2 times the work of one
/// (Tuck and Tullsen, "Initial observations of the simultaneous multithreading Pentium 4 processor", 2003); measured values are between 1
/// and 1.5.
pub const SIBLING_LOSS: f32 = 0.4;

/// Time of a cpu since boot by use, in the system's ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// Programs, and the kernel on their behalf.
    pub busy: u64,
    /// Idle, or waiting for input and output.
    pub idle: u64,
    /// Interrupt handlers.
    pub interrupts: u64,
    /// Soft interrupts.
    pub soft_interrupts: u64,
    /// Time that the host gave to others.
    pub stolen: u64,
}

/// A relative speed and its source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuSpeed {
    /// Speed relative to the machine's fastest cpu, above 0 and at most 1.
    pub relative: f32,
    /// Source of the speed.
    pub source: SpeedSource,
}

/// A cpu and its worth, as printed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, schemars::JsonSchema))]
pub struct CpuWorth {
    /// The cpu.
    pub cpu: u32,
    /// Its record.
    #[cfg_attr(feature = "json", serde(flatten))]
    pub record: WorthRecord,
}

/// Returns the speed of each cpu of a machine, by number, relative to the fastest cpu. `measured` holds cpus and their times for a fixed
/// piece of work, in nanoseconds. Unmeasured cpus have the speeds of the hardware's own ranking.
pub fn relative_speeds(machine: &Machine, measured: &[(u32, f64)]) -> Vec<CpuSpeed> {
    let fastest = measured.iter().map(|(_, nanoseconds)| *nanoseconds).fold(f64::INFINITY, f64::min);
    let of = |cpu: u32| {
        let own = measured.iter().find(|(seen, _)| *seen == cpu);
        own.map_or_else(
            || ranked_speed(machine, cpu),
            |(_, nanoseconds)| CpuSpeed { relative: (fastest / nanoseconds) as f32, source: SpeedSource::Measured },
        )
    };
    (0..=machine.possible.union(&machine.online).highest().unwrap_or(0)).map(of).collect()
}

/// Returns the speed by the hardware's ranking. It is only a prior: some machines rank all cores alike, or the wrong way round.
fn ranked_speed(machine: &Machine, cpu: u32) -> CpuSpeed {
    match machine.ranking.as_ref().and_then(|ranking| ranking.relative_speed(cpu)) {
        Some(relative) => CpuSpeed { relative, source: SpeedSource::Hardware },
        None => CpuSpeed { relative: 1.0, source: SpeedSource::Unknown },
    }
}

/// Records of all cpus, kept up to date from counters.
#[derive(Clone, Debug)]
pub struct WorthTable {
    speeds: Vec<CpuSpeed>,
    places: Vec<(Option<u16>, Option<u16>, Option<u8>)>,
    /// Cores of several cpus.
    cores: Vec<CpuSet>,
    before: Vec<Option<CpuTicks>>,
    records: Vec<WorthRecord>,
}

impl WorthTable {
    /// Creates the board of a machine with these [speeds](relative_speeds); shares are unknown until the first update.
    pub fn new(machine: &Machine, speeds: Vec<CpuSpeed>) -> Self {
        let index = |level, cpu| machine.index_of(level, cpu).and_then(|index| u16::try_from(index).ok());
        let node = |cpu| machine.nodes.iter().find(|node| node.cpus.contains(cpu)).map(|node| node.number);
        let kind = |cpu| machine.kinds.iter().position(|kind| kind.cpus.contains(cpu));
        let place = |cpu: u32| {
            let node = node(cpu).and_then(|number| u16::try_from(number).ok());
            (index(Level::Llc, cpu), node, kind(cpu).and_then(|kind| u8::try_from(kind).ok()))
        };
        let places = (0..speeds.len() as u32).map(place).collect();
        let records = vec![WorthRecord::default(); speeds.len()];
        let cores = machine.objects_of(Level::Core).into_iter().filter(|core| core.len() > 1).collect();
        Self { before: vec![None; speeds.len()], speeds, places, cores, records }
    }

    /// Replaces the speeds, and the machine, which may have other cpus. Earlier counters stay.
    pub fn replace_speeds(&mut self, machine: &Machine, speeds: Vec<CpuSpeed>) {
        let Self { speeds, places, cores, .. } = Self::new(machine, speeds);
        self.before.resize(speeds.len(), None);
        self.records.resize(speeds.len(), WorthRecord::default());
        (self.speeds, self.places, self.cores) = (speeds, places, cores);
    }

    /// Returns the records, by cpu number.
    pub fn records(&self) -> &[WorthRecord] {
        &self.records
    }

    /// Takes the counters of each cpu (`None` for offline ones), and the times each was throttled, if known. Shares cover the time since
    /// the last update. A cpu with unchanged counters keeps its shares.
    pub fn update_records(&mut self, at_ns: u64, now: &[Option<CpuTicks>], throttled: impl Fn(u32) -> Option<u32>) {
        for (index, record) in self.records.iter_mut().enumerate() {
            let (speed, (llc, node, kind)) = (self.speeds[index], self.places[index]);
            let now = now.get(index).copied().flatten();
            let seen = self.before[index].zip(now).and_then(|(before, now)| time_shares(&before, &now));
            let (shares, confidence) = match (now, seen) {
                (None, _) => (WorthShares::default(), 0),
                (Some(_), Some((shares, ticks))) => (shares, confidence_percent(ticks, speed.source)),
                (Some(_), None) => (record.shares, record.confidence),
            };
            *record = WorthRecord {
                at_ns,
                online: now.is_some(),
                worth: if now.is_some() { speed.relative * available_share(&shares) } else { 0.0 },
                speed: speed.relative,
                speed_source: speed.source,
                shares,
                throttled: throttled(index as u32).unwrap_or(record.throttled),
                llc,
                node,
                kind,
                confidence,
                sibling: 0.0,
            };
            // Unchanged counters do not begin a new stretch.
            if now.is_none() || seen.is_some() || self.before[index].is_none() {
                self.before[index] = now;
            }
        }
        self.count_siblings();
    }

    /// Reduces the worth of each cpu by what its busiest sibling takes.
    fn count_siblings(&mut self) {
        let busy: Vec<f32> = self.records.iter().map(|record| record.shares.taken()).collect();
        let share = |cpu: u32| busy.get(cpu as usize).copied().unwrap_or_default();
        for core in &self.cores {
            for cpu in core.iter() {
                let Some(record) = self.records.get_mut(cpu as usize) else { continue };
                record.sibling = core.iter().filter(|other| *other != cpu).map(share).fold(0.0, f32::max);
                record.worth *= 1.0 - SIBLING_LOSS * record.sibling;
            }
        }
    }
}

/// Returns the shares of the time between two readings, and its length in ticks; `None` if no tick passed. Some kernel counters go back at
/// times (waiting for input and output); such a step counts as zero.
fn time_shares(before: &CpuTicks, now: &CpuTicks) -> Option<(WorthShares, u64)> {
    let passed = |of: fn(&CpuTicks) -> u64| of(now).saturating_sub(of(before));
    let parts = [
        passed(|ticks| ticks.busy),
        passed(|ticks| ticks.idle),
        passed(|ticks| ticks.interrupts),
        passed(|ticks| ticks.soft_interrupts),
        passed(|ticks| ticks.stolen),
    ];
    let all: u64 = parts.iter().sum();
    let share = |index: usize| parts[index] as f32 / all as f32;
    (all > 0).then(|| {
        let shares = WorthShares {
            busy: share(0),
            interrupts: share(2),
            soft_interrupts: share(3),
            stolen: share(4),
            realtime: None,
        };
        (shares, all)
    })
}

/// Returns the share of a cpu that fair scheduling gives to one more thread.
fn available_share(shares: &WorthShares) -> f32 {
    let left = 1.0 - shares.interrupts - shares.soft_interrupts - shares.stolen - shares.realtime.unwrap_or(0.0);
    (left - shares.busy).max(left / 2.0).max(0.0)
}

/// Returns the confidence in a record, in percent. Shares of few ticks are coarse, and an unmeasured speed leaves half of the worth
/// unknown.
fn confidence_percent(ticks: u64, source: SpeedSource) -> u8 {
    let shares = 100 - (100 / ticks.max(1)).min(100);
    let known = match source {
        SpeedSource::Measured => shares,
        SpeedSource::Hardware => shares * 3 / 4,
        SpeedSource::Unknown => shares / 2,
    };
    known as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuSet;
    use crate::machine::{HardwareRank, HardwareRanking, RankingSource};

    fn board(relative: &[f32]) -> WorthTable {
        let speed = |relative: &f32| CpuSpeed { relative: *relative, source: SpeedSource::Measured };
        let machine = Machine { online: CpuSet::first_cpus(relative.len() as u32), ..Machine::default() };
        WorthTable::new(&machine, relative.iter().map(speed).collect())
    }

    fn ticks(busy: u64, idle: u64, interrupts: u64, soft_interrupts: u64, stolen: u64) -> Option<CpuTicks> {
        Some(CpuTicks { busy, idle, interrupts, soft_interrupts, stolen })
    }

    fn close(a: f32, b: f32) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn worth_is_speed_times_what_a_new_thread_gets() {
        let mut board = board(&[1.0, 0.5, 1.0, 1.0, 1.0]);
        let zero = ticks(0, 0, 0, 0, 0);
        board.update_records(1, &[zero; 5], |_| None);
        assert!(board.records().iter().all(|record| record.confidence == 0), "one reading has no shares");
        let now =
            [ticks(0, 100, 0, 0, 0), ticks(0, 100, 0, 0, 0), ticks(100, 0, 0, 0, 0), ticks(0, 50, 10, 20, 20), None];
        board.update_records(2, &now, |cpu| (cpu == 3).then_some(7));
        let worth: Vec<f32> = board.records().iter().map(|record| record.worth).collect();
        for (found, expected) in worth.iter().zip([1.0, 0.5, 0.5, 0.5, 0.0]) {
            assert!(close(*found, expected), "{worth:?}");
        }
        let [.., flooded, gone] = board.records() else { panic!() };
        assert!(close(flooded.shares.interrupts, 0.1) && close(flooded.shares.stolen, 0.2));
        assert_eq!((flooded.throttled, flooded.confidence, flooded.at_ns), (7, 99, 2));
        assert!(!gone.online);
    }

    #[test]
    fn a_busy_sibling_takes_its_part() {
        let caches = [(CpuSet::first_cpus(4), 32)];
        let machine = crate::generate::one_package_machine(4, true, &caches);
        let speed = CpuSpeed { relative: 1.0, source: SpeedSource::Measured };
        let mut board = WorthTable::new(&machine, vec![speed; 4]);
        board.update_records(1, &[ticks(0, 0, 0, 0, 0); 4], |_| None);
        let now = [ticks(0, 100, 0, 0, 0), ticks(0, 100, 0, 0, 0), ticks(50, 50, 0, 0, 0), ticks(0, 100, 0, 0, 0)];
        board.update_records(2, &now, |_| None);
        let worth: Vec<f32> = board.records().iter().map(|record| record.worth).collect();
        for (found, expected) in worth.iter().zip([1.0 - SIBLING_LOSS / 2.0, 1.0, 0.5, 1.0]) {
            assert!(close(*found, expected), "{worth:?}");
        }
    }

    #[test]
    fn a_thief_is_seen_in_the_next_update() {
        let mut board = board(&[1.0]);
        board.update_records(0, &[ticks(0, 0, 0, 0, 0)], |_| None);
        board.update_records(100_000_000, &[ticks(0, 10, 0, 0, 0)], |_| None);
        assert!(close(board.records()[0].worth, 1.0));
        board.update_records(200_000_000, &[ticks(10, 10, 0, 0, 0)], |_| None);
        assert!(close(board.records()[0].worth, 0.5));
    }

    #[test]
    fn counters_that_stand_still_or_go_back_are_no_shares() {
        let mut board = board(&[1.0]);
        board.update_records(1, &[ticks(10, 10, 0, 0, 0)], |_| None);
        board.update_records(2, &[ticks(20, 20, 0, 0, 0)], |_| None);
        let before = board.records()[0];
        board.update_records(3, &[ticks(20, 20, 0, 0, 0)], |_| None);
        let after = board.records()[0];
        assert_eq!((after.shares, after.at_ns), (before.shares, 3));
        board.update_records(4, &[ticks(30, 15, 0, 0, 0)], |_| None);
        assert!(close(board.records()[0].shares.busy, 1.0), "idle went back");
    }

    #[test]
    fn the_hardwares_ranking_is_a_prior_alone() {
        let rank = |value, list: &str| HardwareRank { value, cpus: CpuSet::parse_list(list).unwrap() };
        let ranks = vec![rank(196, "0"), rank(186, "1"), rank(98, "2-3")];
        let ranking = Some(HardwareRanking { source: RankingSource::AcpiCppc, ranks });
        let machine = Machine { online: CpuSet::first_cpus(4), ranking, ..Machine::default() };
        let of = |machine: &Machine| {
            relative_speeds(machine, &[]).iter().map(|speed| (speed.relative, speed.source)).collect::<Vec<_>>()
        };
        let expected = [1.0, 186.0 / 196.0, 0.5, 0.5].map(|speed| (speed, SpeedSource::Hardware));
        assert_eq!(of(&machine), expected);
        let unranked = Machine { ranking: None, ..machine };
        assert_eq!(of(&unranked), [(1.0, SpeedSource::Unknown); 4]);
    }
}
