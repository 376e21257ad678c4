//! The JSON document.

use corewise_model::metric_line::{self, MetricLine};
use corewise_work::{Report as WorkReport, Settings as WorkSettings, Size};
use schemars::JsonSchema;
use serde::Serialize;

/// What `corewise workload --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/workload/1")]
pub struct WorkloadDocument<'a> {
    #[schemars(extend("const" = "corewise/workload/1"))]
    schema: &'static str,
    /// The workload.
    workload: &'a str,
    /// How many threads did the work.
    threads: usize,
    /// The cpu of each thread, from the beginning again where there are fewer; empty where the operating system chose.
    cpus: &'a [u32],
    /// How much work there was, as a share of the usual size; null where it was a time.
    size: Option<f64>,
    /// How long it worked at least, in seconds; null where the size was a share.
    seconds: Option<f64>,
    /// The seed.
    seed: u64,
    /// The metrics, the most telling first.
    metrics: Vec<WorkloadMetric<'a>>,
    /// What limits it: "compute", "memory", "cache sharing", "communication" or "waiting".
    limited_by: &'static str,
    /// What its result was checked against.
    checked: &'a str,
    /// A number of 64 bits, hexadecimal, that depends on the whole result; null where the size was a time.
    checksum: Option<String>,
}

impl<'a> WorkloadDocument<'a> {
    /// The document of a workload's end.
    pub fn new(workload: &'a str, settings: &'a WorkSettings, report: &'a WorkReport) -> Self {
        let (size, seconds) = match settings.size {
            Size::Share(share) => (Some(share), None),
            Size::Time(time) => (None, Some(time.as_secs_f64())),
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
            limited_by: report.limit.words(),
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
    /// Whether more is better.
    higher_is_better: bool,
}
