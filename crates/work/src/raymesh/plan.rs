//! Number of tests of a run.

use std::time::Duration;

use crate::{WorkError, WorkloadSettings, WorkloadSize};

/// Cells of the three tables together, equal to the tests in one of the article's tables.
pub const TESTS: u64 = 975_065;
/// Tests of each cell in the usual size.
pub const PASSES: u32 = 40;
/// Cells of the three tables together for a size in time. Each is tested once for each thread, up to `MOST_SAMPLES` times.
const ROUND: u64 = TESTS / 10;
const MOST_SAMPLES: usize = 400;
/// Largest share.
const MOST: f64 = 1_000.0;

/// Tests of a run, or of one of its rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct RaymeshPlan {
    /// Cells of each table.
    pub cells: [usize; 3],
    /// Tests of each cell.
    pub samples: u32,
    /// Seed of the points within cells.
    pub seed: u64,
    /// Time for which it is repeated; `None` for once.
    pub until: Option<Duration>,
}

impl RaymeshPlan {
    /// Plans the tests of a size.
    ///
    /// # Errors
    /// [`WorkError::Input`] for no threads, or a share that is not a number above zero or is too large.
    pub fn new(settings: &WorkloadSettings) -> Result<Self, WorkError> {
        let wrong = |what: &str, why: String| Err(WorkError::Input { what: what.into(), why });
        if settings.threads == 0 {
            return wrong("threads", "there are none".into());
        }
        let (tests, samples, until) = match settings.size {
            // Long enough that saving and waking are a small part of it with many threads too.
            WorkloadSize::Time(time) => (ROUND, settings.threads.clamp(1, MOST_SAMPLES) as u32, Some(time)),
            WorkloadSize::Share(share) if share > 0.0 && share <= MOST => {
                let wanted = share * f64::from(PASSES);
                let tests = if wanted < 1.0 { (wanted * TESTS as f64).ceil() as u64 } else { TESTS };
                (tests, (wanted.round() as u32).max(1), None)
            }
            WorkloadSize::Share(share) => return wrong("size", format!("{share} is not above 0 and at most {MOST}")),
        };
        let cells = [0, 1, 2].map(|number| (tests.saturating_sub(number).div_ceil(3) as usize).max(1));
        Ok(Self { cells, samples, seed: settings.seed, until })
    }

    /// Returns the number of tests of all cells.
    pub fn ray_count(&self) -> u64 {
        self.cells.iter().sum::<usize>() as u64 * u64::from(self.samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(size: WorkloadSize) -> Result<RaymeshPlan, WorkError> {
        RaymeshPlan::new(&WorkloadSettings { size, ..WorkloadSettings::new(1) })
    }

    #[test]
    fn the_usual_size_has_the_tests_of_the_article_in_each_pass() {
        let usual = plan(WorkloadSize::Share(1.0)).unwrap();
        assert_eq!((usual.cells, usual.samples), ([325_022, 325_022, 325_021], PASSES));
        assert_eq!(usual.ray_count(), TESTS * u64::from(PASSES));
        assert_eq!(plan(WorkloadSize::Share(2.0)).unwrap().ray_count(), 2 * usual.ray_count());
    }

    #[test]
    fn less_than_a_pass_has_smaller_tables() {
        let tenth = plan(WorkloadSize::Share(0.1 / f64::from(PASSES))).unwrap();
        assert_eq!((tenth.ray_count(), tenth.samples), (97_507, 1));
        assert_eq!(plan(WorkloadSize::Share(1e-300)).unwrap().cells, [1, 1, 1]);
    }

    #[test]
    fn sizes_out_of_range_are_told() {
        for share in [0.0, -1.0, f64::NAN, f64::INFINITY, 1_001.0] {
            assert!(matches!(plan(WorkloadSize::Share(share)), Err(WorkError::Input { .. })), "{share}");
        }
        let none = RaymeshPlan::new(&WorkloadSettings { threads: 0, ..WorkloadSettings::new(1) });
        assert!(matches!(none, Err(WorkError::Input { .. })));
    }
}
