//! Sentences about winners that are not confirmed, and about their confirmation.

use corewise_machine::suggested_command;
use corewise_model::trial::ConfirmationStretch;
use corewise_statistics::experiment::{OpenPoint, Verdict};

use super::ShownExperiment;
use crate::draw::gain::format_size;
use crate::draw::number::{format_count, format_duration};
use crate::draw::suggestion;
use crate::draw::text::StyledLine;

/// Returns the beginning of a winner's sentence, such as "So far, in 12 s:".
pub fn head_sentence(points: &[OpenPoint]) -> String {
    let boots = points.iter().find_map(|point| match point {
        OpenPoint::FewBoots { boots, wanted } => Some(format!(", over {boots} of {wanted} boots")),
        _ => None,
    });
    let span = points.iter().find_map(|point| match point {
        OpenPoint::ShortSpan { seconds } => Some(format!(", in {}", format_span(*seconds))),
        _ => None,
    });
    format!("So far{}{}:", span.unwrap_or_default(), boots.unwrap_or_default())
}

/// Describes the points that the beginning does not name.
pub fn describe_points(points: &[OpenPoint]) -> String {
    let unseen = points.iter().find_map(|point| match point {
        OpenPoint::CarryOverUnseen { visible: None } => {
            Some(" Whether one run affects the next is not checked: too few runs.".to_owned())
        }
        OpenPoint::CarryOverUnseen { visible: Some(visible) } => Some(format!(
            " An effect of one run on the next of less than {} would not have shown.",
            format_size(*visible)
        )),
        _ => None,
    });
    unseen.unwrap_or_default()
}

/// Describes the open points of several winners; empty without any.
pub fn describe_in_several(points: &[OpenPoint]) -> &'static str {
    match points {
        [] => "",
        _ => {
            " Whether one run affects the next is not checked, or the runs are of less than a minute: try a winner alone."
        }
    }
}

/// Describes a win that was tried again.
pub fn describe_confirmation(shown: ShownExperiment<'_>, stretch: ConfirmationStretch) -> String {
    stretch.won.map_or_else(String::new, |won| {
        format!(
            " It had won before: {} in {}, begun {} earlier.",
            format_runs(shown, won.runs),
            format_span(won.span_s),
            format_span(won.after_s)
        )
    })
}

/// Describes a win that did not come again.
pub fn describe_loss(shown: ShownExperiment<'_>, stretch: ConfirmationStretch) -> String {
    let again = match shown.standing.verdict {
        Verdict::Undecided { .. } => "not yet again afterwards",
        _ => "not again afterwards",
    };
    stretch.won.map_or_else(String::new, |won| {
        format!("It won {} in {}, and {again}. ", format_runs(shown, won.runs), format_span(won.span_s))
    })
}

/// Returns the command that tries a provisional winner again.
pub fn draw_next_command(shown: ShownExperiment<'_>) -> Option<StyledLine> {
    let number = shown.resumable().filter(|_| !shown.standing.open_points.is_empty())?;
    if shown.experiment.suite.is_some() || shown.experiment.stretch.is_some() {
        return None;
    }
    let wanted = shown.standing.open_points.iter().find_map(|point| match point {
        OpenPoint::FewBoots { wanted, .. } => Some(*wanted),
        _ => None,
    });
    let (command, why) = match wanted {
        Some(wanted) => (suggested_command::try_resume_over_boots(number, wanted), "after a reboot"),
        None => (suggested_command::try_resume(number), "tries it again"),
    };
    Some(StyledLine::new().plain("    ").strong(format!("{}    ({why})", suggestion::format_typed(&command))))
}

fn format_runs(shown: ShownExperiment<'_>, runs: u32) -> String {
    format_count(runs as usize, if shown.experiment.workload.live.is_some() { "slot" } else { "run" })
}

/// Formats a span in whole seconds, or in milliseconds if it is shorter.
fn format_span(seconds: f64) -> String {
    if seconds >= 1.0 { format!("{seconds:.0} s") } else { format_duration(seconds * 1e9) }
}
