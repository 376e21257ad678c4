//! The JSON output of `corewise workload`.

use corewise_model::metric_line::{self, MetricLine};
use corewise_work::{WorkloadReport as WorkReport, WorkloadSettings as WorkSettings, WorkloadSize};
use schemars::JsonSchema;
use serde::Serialize;

/// The output of `corewise workload --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/workload/1")]
pub struct WorkloadDocument<'a> {
    #[schemars(extend("const" = "corewise/workload/1"))]
    schema: &'static str,
    /// The workload.
    workload: &'a str,
    /// The number of threads.
    threads: usize,
    /// The cpu of each thread in order. If there are more threads than cpus, the list starts again. Empty if the operating system chooses.
    cpus: &'a [u32],
    /// The amount of work; 1.0 is the workload's usual size. Null if a duration was given.
    size: Option<f64>,
    /// The minimum duration in seconds; null if a size was given.
    seconds: Option<f64>,
    /// The seed.
    seed: u64,
    /// The metrics, the most important first.
    metrics: Vec<WorkloadMetric<'a>>,
    /// Limit of the speed: "compute", "memory", "cache sharing", "communication" or "waiting".
    limited_by: &'static str,
    /// Reference that the result was checked against.
    checked: &'a str,
    /// A checksum of the whole result, 64 bits in hexadecimal; null if a duration was given.
    checksum: Option<String>,
}

impl<'a> WorkloadDocument<'a> {
    /// Creates the document of a finished workload.
    pub fn new(workload: &'a str, settings: &'a WorkSettings, report: &'a WorkReport) -> Self {
        let (size, seconds) = match settings.size {
            WorkloadSize::Share(share) => (Some(share), None),
            WorkloadSize::Time(time) => (None, Some(time.as_secs_f64())),
        };
        let metric = |line: &'a MetricLine| WorkloadMetric {
            name: &line.name,
            value: line.value,
            higher_is_better: metric_line::more_is_better(&line.name, "").unwrap_or_default(),
        };
        Self {
            schema: "corewise/workload/1",
            workload,
            threads: settings.threads,
            cpus: &settings.cpus,
            size,
            seconds,
            seed: settings.seed,
            metrics: report.metrics.iter().map(metric).collect(),
            limited_by: report.limit.describe_limit(),
            checked: &report.checked,
            checksum: report.checksum.map(|checksum| format!("{checksum:016x}")),
        }
    }
}

/// A metric of a workload.
#[derive(Serialize, JsonSchema)]
pub struct WorkloadMetric<'a> {
    /// Its name, which ends in its unit.
    name: &'a str,
    /// The value.
    value: f64,
    /// True if more is better, judged by the name; false also for a name that does not show it.
    higher_is_better: bool,
}
