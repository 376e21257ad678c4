//! Repeats a rule's experiment, and renews or withdraws the rule's evidence.

use std::collections::BTreeMap;

use corewise_keep::RuleFiles;
use corewise_machine::evidence::is_proof_name;
use corewise_machine::suggested_command;
use corewise_model::Artifact as _;
use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::keep::{ResolvedRule, Rule, RuleEvidence, UnprovenPolicy, set_disabled, set_evidence};
use corewise_statistics::experiment::Verdict;

use super::arguments::KeepProveArguments;
use super::document::{EvidenceFate, KeepProveDocument};
use super::screen;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::keeper::{self, KeeperState};
use crate::app::machine::this_machine;
use crate::app::output::show_result;
use crate::app::proof;
use crate::app::self_command::SelfCommand;
use crate::app::settings::{HistoryPlace, ProgramSettings};
use crate::app::user_store::{explain_store_error, open_existing_store};
use crate::draw::suggestion;

/// Runs `corewise keep prove`. The experiment is an ordinary one, made by `corewise try --again`.
pub fn prove_rule(
    typed: &KeepProveArguments,
    rules: &RuleFiles,
    settings: &ProgramSettings,
) -> Result<CommandExit, CommandFailure> {
    let rule = rules.read_rule(&typed.name)?;
    let on = rule.on.0.to_string();
    let Some(evidence) = &rule.evidence else {
        let what = format!("rule {} rests on no experiment that can be repeated", rule.name);
        return Err(CommandFailure::unavailable_error(what).with_hint(format!(
            "Make one with {}, and the rule with {}.",
            suggestion::format_mention(&suggested_command::try_placement(&on)),
            suggestion::format_mention(&suggested_command::keep_add_winner("N"))
        )));
    };
    if !matches!(settings.history, HistoryPlace::At(_)) {
        return Err(
            CommandFailure::usage_error("keep prove needs the store").with_hint("Name the store with --store PATH.")
        );
    }
    let is_running = KeeperState::read_state(settings).is_some_and(|state| state.keeps_rules(rules));
    let is_it = |here: &ResolvedRule| here.rule.name == rule.name && here.is_in_force();
    if is_running && rules.resolve_here(settings)?.iter().any(is_it) {
        let what = format!(
            "the running {} holds rule {}, and would place the tried processes",
            suggestion::format_mention(&suggested_command::keep_run()),
            rule.name
        );
        return Err(CommandFailure::unavailable_error(what).with_hint(format!(
            "Disable it meanwhile: {}",
            suggestion::format_typed(&suggested_command::keep_disable(&rule.name))
        )));
    }
    let before = latest_experiment(settings)?.map(|(number, _)| number);
    // The rule's own evidence was the first try.
    let mut words =
        ["try", "--no-confirm", "--again", &evidence.experiment.to_string(), "--on", &on].map(str::to_owned).to_vec();
    // The processes may have been restarted since: the experiment takes the processes that the rule matches now.
    if is_of_slots(evidence.experiment, settings) {
        words.extend(rule.matches.field_texts().into_iter().flat_map(|text| ["--match".to_owned(), text]));
    }
    if let Some(budget) = typed.budget {
        words.extend(["--budget".to_owned(), format!("{}ms", budget.as_millis())]);
    }
    let itself = SelfCommand::new(settings)?;
    let (exit, _) = itself.run(&words, &BTreeMap::new())?;
    let made = latest_experiment(settings)?.filter(|(number, _)| Some(*number) != before);
    // The command has printed the reason itself.
    let Some((experiment, made)) = made else {
        return Ok(match exit {
            Some(code) if code == CommandExit::Usage as i32 => CommandExit::Usage,
            _ if itself.is_interrupted() => CommandExit::Interrupted,
            _ => CommandExit::Unavailable,
        });
    };
    let fate = apply_verdict(&rule, experiment, &made, rules, settings)?;
    Ok(match exit {
        _ if fate != EvidenceFate::Unchanged => CommandExit::Done,
        Some(0) => CommandExit::Done,
        _ if itself.is_interrupted() => CommandExit::Interrupted,
        _ => CommandExit::Undecided,
    })
}

/// Returns true if an experiment placed running processes, slot by slot.
fn is_of_slots(number: i64, settings: &ProgramSettings) -> bool {
    let stored = open_existing_store(settings, &suggested_command::try_command()).ok();
    let made = stored.and_then(|store| store.get_artifact::<ExperimentRecord>(number).ok());
    made.is_some_and(|made| made.experiment.workload.live.is_some())
}

fn latest_experiment(settings: &ProgramSettings) -> Result<Option<(i64, ExperimentRecord)>, CommandFailure> {
    let store = open_existing_store(settings, &suggested_command::try_command())?;
    store.latest_own(&this_machine()?, |_| true).map_err(explain_store_error)
}

/// Stores and prints the result of the experiment for the rule.
fn apply_verdict(
    rule: &Rule,
    experiment: i64,
    made: &ExperimentRecord,
    rules: &RuleFiles,
    settings: &ProgramSettings,
) -> Result<EvidenceFate, CommandFailure> {
    let was_so_far = rule.evidence.as_ref().is_some_and(|evidence| evidence.so_far);
    let renewed = |evidence: RuleEvidence| RuleEvidence { so_far: evidence.so_far && was_so_far, ..evidence };
    let (fate, evidence) = match made.draw_conclusions().standing.verdict {
        Verdict::Wins { .. } => {
            (EvidenceFate::Renewed, RuleEvidence::of_winner(experiment, made).map(|(_, evidence)| renewed(evidence)))
        }
        Verdict::NoMaterialDifference | Verdict::RealButBelowMargin { .. } => (EvidenceFate::Withdrawn, None),
        Verdict::Undecided { .. } | Verdict::Better { .. } | Verdict::Unsound { .. } => {
            (EvidenceFate::Unchanged, rule.evidence.clone())
        }
    };
    let disabled = fate == EvidenceFate::Withdrawn && rule.unproven == UnprovenPolicy::Release;
    if fate != EvidenceFate::Unchanged {
        rules.edit_rule(&rule.name, |text| {
            let text = set_evidence(text, &rule.name, evidence.as_ref())?;
            if disabled { set_disabled(&text, &rule.name, true) } else { Ok(text) }
        })?;
    }
    let evidenced = evidence.clone().map(|evidence| Rule { evidence: Some(evidence), ..rule.clone() });
    match (fate, evidenced) {
        (EvidenceFate::Renewed, Some(rule)) => drop(super::keep_proof(&rule, rules.of_system, settings)),
        (EvidenceFate::Withdrawn, _) if is_proof_name(&rule.name) => {
            proof::remove_proof(&rule.name, rules.of_system, settings)?;
        }
        _ => {}
    }
    let reloaded = fate != EvidenceFate::Unchanged && keeper::reload_running(rules, settings);
    let schema = "corewise/keep-prove/1";
    let evidence = evidence.as_ref();
    let document = || KeepProveDocument { schema, rule: &rule.name, experiment, fate, evidence, disabled, reloaded };
    show_result(settings, document, || screen::draw_proof(&document(), settings.width))?;
    Ok(fate)
}
