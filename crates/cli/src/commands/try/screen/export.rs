//! An experiment for other programs: one line for each run.

use std::fmt::Write as _;

use corewise_model::trial::{Trial, TrialMetric, TrialOutcome, metric_units};
use corewise_statistics::quantity::{MeasuredQuantity, QuantityUnit};

use super::ShownExperiment;
use crate::draw::csv as comma;

/// The header line.
pub const NAMES: &str = "block,place,arm,placement,cpus,started_unix_ms,repeats,value,failure,wall_s,user_s,system_s,\
                         peak_memory_bytes,voluntary_switches,involuntary_switches,minor_faults,major_faults,migrations,gigahertz,\
                         used_cpus,own_mask,most_threads,interrupts,stolen_s,others_busy,energy_joules,left_behind,output_bytes,threads,guards,\
                         gigahertz_is_estimate,warm_up,unit";

/// Writes every run as a line of comma-separated values with a header (RFC 4180). The caveats are the first run's last value.
pub fn write_csv(shown: ShownExperiment<'_>, notes: &[String]) -> String {
    let mut text = NAMES.to_owned();
    for trial in shown.trials {
        let _ = write!(text, "\r\n{}", write_run(shown, trial));
    }
    comma::with_notes(&text, notes)
}

/// Writes a run as a line.
pub fn write_run(shown: ShownExperiment<'_>, trial: &Trial) -> String {
    let arm = &shown.experiment.arms[trial.arm];
    let seen = &trial.observed;
    let some = |value: Option<String>| value.unwrap_or_default();
    let units = metric_units(shown.experiment, shown.trials);
    let (value, failure) = match &trial.outcome {
        TrialOutcome::Value(value) => (value.to_string(), String::new()),
        TrialOutcome::Failed { why, .. } => (String::new(), comma::quote_text(why)),
    };
    let fields = [
        trial.block.to_string(),
        trial.place.to_string(),
        trial.arm.to_string(),
        comma::quote_text(&arm.name),
        some(arm.cpus.as_ref().map(|cpus| comma::quote_value(&cpus.to_string()))),
        trial.started_unix_ms.to_string(),
        trial.repeats.to_string(),
        value,
        failure,
        seen.wall_s.to_string(),
        seen.user_s.to_string(),
        seen.system_s.to_string(),
        seen.peak_memory_bytes.to_string(),
        seen.voluntary_switches.to_string(),
        seen.involuntary_switches.to_string(),
        seen.minor_faults.to_string(),
        seen.major_faults.to_string(),
        some(seen.migrations.map(|count| count.to_string())),
        some(seen.gigahertz.map(|rate| rate.to_string())),
        comma::quote_value(&seen.used.to_string()),
        some(seen.own_mask.as_ref().map(|mask| comma::quote_value(&mask.to_string()))),
        seen.most_threads.to_string(),
        some(seen.interrupts.map(|count| count.to_string())),
        some(seen.stolen_s.map(|time| time.to_string())),
        some(seen.others_busy.map(|share| share.to_string())),
        some(seen.energy_joules.map(|energy| energy.to_string())),
        seen.left_behind.to_string(),
        seen.output_bytes.to_string(),
        some(arm.threads.map(|threads| threads.to_string())),
        comma::quote_text(&format_guards(shown, trial, &units[1..])),
        some(seen.gigahertz.map(|_| seen.gigahertz_is_estimate.to_string())),
        (trial.block == 0).to_string(),
        comma::quote_text(&units[0].to_string()),
    ];
    fields.join(",")
}

/// Lists the guards, such as "errors=0;p99=12.5 ms"; a guard missing from the run's output has no value.
fn format_guards(shown: ShownExperiment<'_>, trial: &Trial, units: &[QuantityUnit]) -> String {
    let each = shown.experiment.workload.guards.iter().zip(&trial.guards).zip(units);
    let entry = |((guard, value), unit): ((&TrialMetric, &Option<f64>), &QuantityUnit)| {
        let value = value.map(|value| MeasuredQuantity { value, unit: unit.clone() }.to_string());
        format!("{}={}", guard.name, value.unwrap_or_default())
    };
    each.map(entry).collect::<Vec<_>>().join(";")
}
