//! That bars tell at once which number of threads does most, whatever the metric, and fit.

use corewise_model::trial::{TrialMetric, TrialOutcome, experiment_standing, threads_report};
use corewise_statistics::experiment::ThreadsCell;
use corewise_statistics::simulate::noise::RunNoise;
use insta::assert_snapshot;

use super::{BOTH, MadeThreadsExperiment, ProgramTruth, USUAL, cells, lawful, made};
use crate::commands::r#try::screen::threads::chart::compose_chart;
use crate::draw::heat::depth::ColourDepth;
use crate::draw::text::StyledLine;

impl MadeThreadsExperiment {
    fn chart(&self, width: usize) -> String {
        let chart = compose_chart(self.shown(), &self.report);
        let lines = chart.map_or_else(Vec::new, |chart| chart.draw_lines(width, ColourDepth::NoColour));
        lines.iter().map(StyledLine::to_plain).collect::<Vec<_>>().join("\n")
    }

    /// The same program, judged by what it does in a second.
    pub fn judged_by_rate(mut self) -> Self {
        let metric = TrialMetric {
            name: "rays_per_second".into(),
            pattern: Some("x".into()),
            higher_is_better: true,
            reading: None,
        };
        self.experiment.workload.metric = metric;
        for trial in &mut self.trials {
            if let TrialOutcome::Value(value) = &mut trial.outcome {
                *value = 5e6 / *value;
            }
        }
        self.standing = experiment_standing(&self.experiment, &self.trials);
        self.report = threads_report(&self.experiment, &self.trials).unwrap();
        self
    }
}

/// On one chip of 16 cpus it does more than on two.
pub fn near(cell: ThreadsCell) -> f64 {
    let gain = if cell.pinned && (2..=16).contains(&cell.threads) { 0.12 } else { 0.0 };
    lawful(cell) + gain
}

pub const NEAR: ProgramTruth = ProgramTruth { does: near, ..USUAL };
pub const COUNTS: [u32; 8] = [1, 2, 3, 5, 9, 16, 18, 24];

#[test]
fn a_bar_for_each_way_is_as_long_as_what_it_does() {
    let made = made(&mut cells(&COUNTS, &BOTH), &NEAR, &RunNoise::Quiet, 42, 60);
    assert_snapshot!(made.chart(80), @r"
    Speed-up  against 1 thread, OS default; longer is better
     1  OS      1.00x  ██◆
        pinned  1.00x  ▒▒│
     2  OS      1.96x  █████◆
        pinned  2.20x  ▒▒▒▒▒│▒
     3  OS      2.86x  ████████◆
        pinned  3.24x  ▒▒▒▒▒▒▒▒│▒
     5  OS      4.57x  █████████████◆│
        pinned  5.15x  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒│
     9  OS      7.51x  ██████████████████████◆   │
        pinned  8.45x  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ │
    16  OS      11.2x  █████████████████████████████████◆             │
        pinned  12.7x  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒          │
    18  OS      12.1x  ███████████████████████████████████◆                │
        pinned  12.0x  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒                │
    24  OS      13.8x  ████████████████████████████████████████◆                   ›
        pinned  13.8x  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒                   ›
    █ OS   ▒ pinned   ◆ Universal Scalability Law   │ ideal
      › ideal is off the scale
    ");
    assert_snapshot!(made.chart(40), @r"
    Speed-up  against 1 thread, OS default;
      longer is better
     1  OS      1.00x  █◆
        pinned  1.00x  ▒│
     2  OS      1.96x  █◆│
        pinned  2.20x  ▒▒│
     3  OS      2.86x  ██◆│
        pinned  3.24x  ▒▒▒│
     5  OS      4.57x  ████◆│
        pinned  5.15x  ▒▒▒▒▒│
     9  OS      7.51x  ███████◆ │
        pinned  8.45x  ▒▒▒▒▒▒▒▒▒│
    16  OS      11.2x  ███████████◆    │
        pinned  12.7x  ▒▒▒▒▒▒▒▒▒▒▒▒▒   │
    18  OS      12.1x  ████████████◆     │
        pinned  12.0x  ▒▒▒▒▒▒▒▒▒▒▒▒      │
    24  OS      13.8x  ██████████████◆     ›
        pinned  13.8x  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒      ›
    █ OS   ▒ pinned
      ◆ Universal Scalability Law   │ ideal
      › ideal is off the scale
    ");
    assert_snapshot!(made.chart(120), @r"
    Speed-up  against 1 thread, OS default; longer is better
     1  OS      1.00x  ████◆
        pinned  1.00x  ▒▒▒▒│
     2  OS      1.96x  █████████◆
        pinned  2.20x  ▒▒▒▒▒▒▒▒▒│▒
     3  OS      2.86x  █████████████◆│
        pinned  3.24x  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒│▒
     5  OS      4.57x  ██████████████████████◆ │
        pinned  5.15x  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│
     9  OS      7.51x  ████████████████████████████████████◆      │
        pinned  8.45x  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒  │
    16  OS      11.2x  ██████████████████████████████████████████████████████◆                       │
        pinned  12.7x  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒                │
    18  OS      12.1x  ██████████████████████████████████████████████████████████◆                            │
        pinned  12.0x  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒                            │
    24  OS      13.8x  ███████████████████████████████████████████████████████████████████◆                                ›
        pinned  13.8x  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒                                 ›
    █ OS   ▒ pinned   ◆ Universal Scalability Law   │ ideal   › ideal is off the scale
    ");
    assert_eq!(made.chart(39), "");
}

#[test]
fn more_of_a_rate_and_less_of_a_time_are_the_same_bars() {
    let of = || made(&mut cells(&[1, 4, 16], &BOTH), &NEAR, &RunNoise::Quiet, 42, 60);
    let (time, rate) = (of().chart(100), of().judged_by_rate().chart(100));
    let bars = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(bars(&time), bars(&rate));
    assert!(rate.starts_with("Speed-up in rays_per_second  against 1 thread, OS default"), "{rate}");
    let lengths: Vec<usize> = bars(&time)[..6].iter().map(|bar| bar.matches(['█', '▒']).count()).collect();
    assert!(lengths.is_sorted() && lengths[0] < lengths[5], "{time}");
}

#[test]
fn what_failed_has_no_bar_and_says_so() {
    let failing = |cell| ProgramTruth { failing: Some(cell), ..USUAL };
    let at = |cell| made(&mut cells(&[1, 8, 64], &BOTH), &failing(cell), &RunNoise::Quiet, 5, 60).chart(60);
    assert_snapshot!(at(ThreadsCell { threads: 8, pinned: true }), @r"
    Speed-up  against 1 thread, OS default; longer is better
     1  OS       1.00x  █│
        pinned   1.00x  ▒│
     8  OS       6.81x  ████████████  │
        pinned  failed                │
    64  OS       15.1x  ██████████████████████████▋            ›
    █ OS   ▒ pinned   │ ideal   › ideal is off the scale
    ");
    // Without the fewest threads, the next are what others are compared with.
    assert_snapshot!(at(ThreadsCell { threads: 1, pinned: false }), @r"
    Speed-up  against 8 threads, OS default; longer is better
     1  OS      failed              │
        pinned   0.15x  ▒▒          │
     8  OS       1.00x  ████████████│
        pinned   1.01x  ▒▒▒▒▒▒▒▒▒▒▒▒│
    64  OS       2.21x  ██████████████████████████▋            ›
    █ OS   ▒ pinned   │ ideal   › ideal is off the scale
    ");
}

#[test]
fn what_failed_twice_has_no_bar_though_it_gave_numbers_before() {
    let mut made = made(&mut cells(&[1, 4, 16], &[false]), &USUAL, &RunNoise::Quiet, 5, 60);
    let arm = made.experiment.arms.iter().position(|arm| arm.threads == Some(4)).unwrap();
    for trial in made.trials.iter_mut().filter(|trial| trial.arm == arm).rev().take(2) {
        trial.outcome = TrialOutcome::Failed { why: "exit status 1".into(), output: String::new() };
    }
    made.report = threads_report(&made.experiment, &made.trials).unwrap();
    assert!(made.report.standing.cells[arm].median.is_some());
    let chart = made.chart(60);
    let row = chart.lines().find(|line| line.starts_with(" 4 ")).unwrap();
    assert!(row.contains("failed") && !row.contains('█'), "{chart}");
}

#[test]
fn where_nothing_scales_the_ideal_is_beyond_the_edge() {
    let truth = ProgramTruth { does: |cell| if cell.threads > 8 { -0.7 } else { 0.0 }, ..USUAL };
    assert_snapshot!(made(&mut cells(&[1, 8, 16, 32], &[false]), &truth, &RunNoise::Quiet, 5, 60).chart(60), @r"
    Speed-up  against 1 thread, OS default; longer is better
     1  1.00x  ████████████████████████████████│  ◆
     8  0.99x  █████████████████████████████◆██▍               ›
    16  0.49x  ████████████████▏     ◆                         ›
    32  0.49x  ███████████████◆▏                               ›
    ◆ Universal Scalability Law   │ ideal
      › ideal is off the scale
    ");
}

#[test]
fn one_number_of_threads_is_no_chart() {
    assert_eq!(made(&mut cells(&[4], &BOTH), &USUAL, &RunNoise::Quiet, 5, 60).chart(80), "");
}
