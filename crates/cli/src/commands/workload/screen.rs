//! The screen of a finished workload.

use corewise_work::{WorkloadReport, WorkloadSettings, WorkloadSize};

use crate::draw::number::format_count;
use crate::draw::text::{StyledLine, TextScreen};
use crate::draw::wrap::wrap_line;

/// Returns a head, the metric lines that `try --metric` finds, and the check of the result.
pub fn draw_screen(name: &str, settings: &WorkloadSettings, report: &WorkloadReport, width: usize) -> TextScreen {
    let size = match settings.size {
        WorkloadSize::Share(share) => format!("size {share}"),
        WorkloadSize::Time(time) => format!("{} s", time.as_secs_f64()),
    };
    let threads = format_count(settings.threads, "thread");
    let pinned = if settings.cpus.is_empty() { "" } else { ", pinned" };
    let rest = format!(
        " · {threads}{pinned} · {size} · seed {} · limited by {}",
        settings.seed,
        report.limit.describe_limit()
    );
    let mut screen = TextScreen::default();
    screen.extend(wrap_line(&StyledLine::new().strong(name).plain(rest), width, 2));
    // Never wrapped, because programs read these lines.
    screen.extend(report.metrics.iter().map(|metric| StyledLine::new().plain(metric.to_string())));
    let checksum = report.checksum.map_or(String::new(), |checksum| format!("; checksum {checksum:016x}"));
    screen.extend(wrap_line(&StyledLine::new().plain(format!("checked: {}{checksum}", report.checked)), width, 2));
    screen
}

#[cfg(test)]
mod tests {
    use corewise_model::metric_line::MetricLine;
    use corewise_work::WorkloadLimit;

    use super::*;

    #[test]
    fn metric_lines_are_whole_in_a_narrow_terminal() {
        let long = "a_very_long_name_of_a_metric_that_does_not_fit_into_forty_columns_per_second";
        let report = WorkloadReport {
            metrics: vec![MetricLine::new("p99_ns", 812.5), MetricLine::new(long, 1.0)],
            limit: WorkloadLimit::CacheSharing,
            checked: "the sum of all, which is known".into(),
            checksum: Some(0xab),
        };
        let settings = WorkloadSettings { cpus: vec![0], ..WorkloadSettings::new(2) };
        insta::assert_snapshot!(draw_screen("tail", &settings, &report, 40).to_plain(), @r"
        tail · 2 threads, pinned · size 1 · seed
          1 · limited by cache sharing
        metric p99_ns 812.5
        metric a_very_long_name_of_a_metric_that_does_not_fit_into_forty_columns_per_second 1
        checked: the sum of all, which is known;
          checksum 00000000000000ab
        ");
    }
}
