//! The command that repeats an experiment, complete if possible, so that it works without the history.

use corewise_machine::suggested_command;
use corewise_model::trial::{Experiment, TrialMetric, VARIANT_PLACE};
use corewise_statistics::experiment::{ExperimentGate, GateRule, JudgingPolicy, QuestionKind};

use super::ShownExperiment;
use crate::draw::gain::format_percent;
use crate::draw::suggestion::quote_words;

/// Returns the command. Experiments with services, running processes, numbers of threads or stretches are repeated by their number in
/// the history.
pub fn repeat_command(shown: ShownExperiment<'_>) -> String {
    let Experiment { workload, arms, policy, .. } = shown.experiment;
    let is_whole = workload.live.is_none()
        && workload.parts.is_none()
        && workload.thread_roles.is_empty()
        && arms.iter().all(|arm| arm.threads.is_none());
    if let Some(number) = shown.stored.filter(|_| !is_whole || shown.experiment.stretch.is_some()) {
        return suggested_command::try_again(number).shell_line();
    }
    let mut words: Vec<String> = Vec::new();
    let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
    workload.variants.iter().for_each(|variant| add("--variant", variant.typed_text()));
    let of_first = arms.iter().skip(1).filter(|arm| arm.variant == arms[0].variant);
    of_first.for_each(|arm| add("--on", arm.choice_text().to_owned()));
    if !workload.metric.is_wall_time() {
        add("--metric", format_metric(&workload.metric));
    }
    for guard in &workload.guards {
        add(if guard.higher_is_better { "--guard-higher" } else { "--guard" }, format_metric(guard));
    }
    let options = [
        ("--metric-file", &workload.metric_file),
        ("--input", &workload.input),
        ("--vary", &workload.vary),
        ("--prepare", &workload.prepare),
        ("--ok", &(!workload.accepted.is_empty()).then(|| join_numbers(&workload.accepted))),
        ("--follow", &workload.follow),
        ("--timeout", &workload.timeout_s.map(|seconds| format!("{seconds}s"))),
    ];
    options.into_iter().for_each(|(option, value)| value.iter().for_each(|value| add(option, value.clone())));
    match policy.what {
        QuestionKind::Typical => {}
        QuestionKind::Mean => add("--what", "mean".to_owned()),
        QuestionKind::Tail => add("--what", "tail".to_owned()),
    }
    let usual = JudgingPolicy { what: policy.what, ..JudgingPolicy::default() };
    if let Some(gate) = &policy.gate {
        add("--gate", format_gate(gate, policy.margin));
    } else if policy.margin != workload.metric.usual_margin(&usual) {
        add("--margin", format_percent(policy.margin).replace(' ', ""));
    }
    for (option, times, usual) in [("--slow", policy.slow, usual.slow), ("--cap", policy.cap, usual.cap)] {
        if times != usual {
            add(option, times.to_string());
        }
    }
    if policy.guard_margin != usual.guard_margin {
        add("--guard-margin", format_percent(policy.guard_margin).replace(' ', ""));
    }
    if policy.error_rate != usual.error_rate {
        add("--error-rate", format_percent(policy.error_rate).replace(' ', ""));
    }
    if !workload.metric.is_wall_time() {
        words.push(if workload.metric.higher_is_better { "--higher" } else { "--lower" }.to_owned());
    }
    for (flag, is_set) in [("--tty", workload.on_terminal), ("--leave", workload.leaves_processes)] {
        words.extend(is_set.then(|| flag.to_owned()));
    }
    let is_whole_line = workload.command == [VARIANT_PLACE];
    let repeat = match is_whole_line {
        true => suggested_command::try_with_options(&words),
        false => suggested_command::try_with(&words, &workload.command),
    };
    quote_words(repeat.words())
}

/// Formats a gate as an argument: "new not worse by 2%".
fn format_gate(gate: &ExperimentGate, margin: f64) -> String {
    let rule = match gate.rule {
        GateRule::Better => "better by",
        GateRule::NotWorse => "not worse by",
    };
    let name = gate.of.as_ref().map_or_else(String::new, |name| format!("{name} "));
    format!("{name}{rule} {}", format_percent(margin).replace(' ', ""))
}

fn join_numbers(numbers: &[i32]) -> String {
    numbers.iter().map(i32::to_string).collect::<Vec<_>>().join(",")
}

/// Formats a metric as an argument.
fn format_metric(metric: &TrialMetric) -> String {
    match &metric.pattern {
        Some(pattern) if !corewise_model::metric_line::is_by_name(&metric.name, pattern) => {
            format!("{}={pattern}", metric.name)
        }
        _ => metric.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use corewise_machine::{CpuSet, generate};
    use corewise_model::Artifact as _;
    use corewise_model::experiment_record::ExperimentRecord;
    use corewise_model::trial::{PlacementArm, TriedWorkload};

    use super::*;

    #[test]
    fn a_command_says_all_that_the_experiment_was_made_of() {
        let metric = TrialMetric {
            name: "fps".to_owned(),
            pattern: Some("([0-9]+) frames".to_owned()),
            higher_is_better: true,
            reading: None,
        };
        let workload = TriedWorkload {
            timeout_s: Some(30.0),
            ..TriedWorkload::new(vec!["./game".to_owned(), "two words".to_owned()], "/".into(), metric)
        };
        let arms = vec![
            PlacementArm::new("OS default", None, ""),
            PlacementArm::new("all - core:0", Some(CpuSet::from_cpu(1)), ""),
        ];
        let experiment = Experiment {
            corewise: String::new(),
            started_unix_ms: 0,
            seed: 1,
            machine: generate::one_package_machine(2, false, &[]),
            workload,
            arms,
            policy: JudgingPolicy { margin: 0.05, what: QuestionKind::Mean, ..JudgingPolicy::default() },
            suite: None,
            stretch: None,
            origin: corewise_model::artifact::ArtifactOrigin::Measured,
        };
        let made = ExperimentRecord { experiment, trials: Vec::new() };
        let standing = made.draw_conclusions().standing;
        let shown = ShownExperiment {
            experiment: &made.experiment,
            trials: &[],
            standing: &standing,
            threads: None,
            stored: Some(7),
        };
        assert_eq!(
            repeat_command(shown),
            "corewise try --on 'all - core:0' --metric 'fps=([0-9]+) frames' --timeout 30s --what mean --margin 5% --higher -- ./game 'two words'"
        );
        let arms = vec![PlacementArm { threads: Some(2), ..PlacementArm::new("2", None, "") }];
        let threads = Experiment { arms, ..made.experiment.clone() };
        assert_eq!(repeat_command(ShownExperiment { experiment: &threads, ..shown }), "corewise try --again 7");
    }
}
