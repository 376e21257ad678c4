//! The story of an experiment over many machines: the answer, where it does not hold, how nodes differ, and how to apply it.

mod nodes;
#[cfg(test)]
mod tests;

use std::time::Duration;

use corewise_machine::placement::notation::{Notation, print_notation};
use corewise_machine::{CpuSet, Machine, suggested_command};
use corewise_model::artifact::ArtifactOrigin;
use corewise_model::fleet::experiment::{
    FleetArmConclusion, FleetExperiment, FleetExperimentConclusions, FleetVerdict, SettingSplit,
};
use corewise_statistics::experiment::{ExperimentDoubt, UnitArmStanding, UnitJudgement, Verdict};
use jiff::tz::TimeZone;

use crate::draw::gain::{
    EffectScale, format_bounds, format_gain_in, format_interval_in, format_least, format_percent, format_size,
};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{format_count, format_decimal, format_duration, format_time};
use crate::draw::printable::{make_printable, printable_name, printable_prefix};
use crate::draw::story::StoryRole::{Answer, Context, Details, Evidence, Head, Notes};
use crate::draw::story::{Story, StoryPart};
use crate::draw::suggestion::{self, quote_words};
use crate::draw::survey::StorageStatus;
use crate::draw::text::{StyledLine, TextTone};

/// Maximum columns of a command and of a list of nodes.
const LONGEST_SENTENCE: usize = 300;
/// Longest budget that an experiment from a file can say it had.
const LONGEST_BUDGET_S: f64 = 1e9;
/// Maximum number of nodes in a sentence.
const MOST_NAMED: usize = 8;

/// Composes the story.
pub fn compose_story(
    experiment: &FleetExperiment,
    conclusions: &FleetExperimentConclusions,
    kept: &StorageStatus,
) -> Story {
    let shown = ShownFleet { experiment, found: conclusions };
    Story::new(shown.repeat_command())
        .with(Head, shown.compose_head(kept))
        .with(Context, shown.compose_context())
        .with(Answer, shown.compose_answer())
        .with_titled(Evidence, "Placements", shown.compose_placements())
        .with_titled(Evidence, "Nodes", nodes::compose_nodes(shown))
        .with_titled(Details, "All nodes", nodes::compose_all(shown))
        .with(Notes, shown.compose_notes(kept))
}

/// An experiment with its conclusions.
#[derive(Clone, Copy)]
struct ShownFleet<'a> {
    experiment: &'a FleetExperiment,
    found: &'a FleetExperimentConclusions,
}

fn paragraph(line: StyledLine) -> StoryPart {
    line.into_paragraph(0)
}

impl ShownFleet<'_> {
    fn repeat_command(self) -> String {
        let FleetExperiment { made_by, arms, nodes, workload, provenance, .. } = self.experiment;
        let command = if made_by.is_empty() {
            let places: Vec<String> = arms.iter().skip(1).map(|arm| arm.name.clone()).collect();
            suggested_command::fleet_try(&places, &workload.command)
        } else {
            let budget = Duration::from_secs_f64(provenance.budget_s.clamp(0.0, LONGEST_BUDGET_S));
            suggested_command::fleet_try_with(made_by, nodes.len(), budget, &workload.command)
        };
        command.shell_line()
    }

    fn command(self) -> String {
        printable_prefix(&make_printable(&quote_words(&self.experiment.workload.command)), LONGEST_SENTENCE)
    }

    fn name(self, arm: usize) -> String {
        self.experiment.arms.get(arm).map_or_else(String::new, |arm| printable_name(&arm.spoken_name()))
    }

    fn baseline(self) -> String {
        format!("the {}", self.name(0))
    }

    fn better_word(self) -> String {
        let metric = &self.experiment.workload.metric;
        if metric.is_wall_time() { "faster".to_owned() } else { format!("better in {}", printable_name(&metric.name)) }
    }

    fn margin(self) -> String {
        format_percent(self.experiment.policy.margin)
    }

    fn counted_nodes(self) -> String {
        format_count(self.found.counted, "node")
    }

    fn compose_head(self, kept: &StorageStatus) -> Vec<StoryPart> {
        let provenance = &self.experiment.provenance;
        let mut parts = Vec::new();
        if provenance.partial {
            let text =
                StyledLine::new().with(TextTone::Warn, "PARTIAL: ended early").plain("; partial results follow.");
            parts.push(text.into_paragraph(2));
        }
        if let StorageStatus::Recalled(number, when) = kept {
            parts.push(StyledLine::new().faint(format!("fleet experiment {number}, made {when}")).into_paragraph(2));
        }
        let answered = self.experiment.nodes.iter().filter(|node| !node.blocks.is_empty()).count();
        let mut head = vec![
            format_count(self.experiment.nodes.len(), "node"),
            format!("{answered} answered"),
            format!("{} a node or more", format_count(self.found.blocks_per_node as usize, "block")),
        ];
        if provenance.elapsed_s > 0.0 {
            head.push(format_duration(1e9 * provenance.elapsed_s));
        }
        if let ArtifactOrigin::Imported { file, .. } = &provenance.origin {
            head.push(format!("from {}", printable_name(file)));
        }
        parts.push(StyledLine::new().strong(head.join(" · ")).into_paragraph(2));
        parts.push(StyledLine::new().faint(self.command()).into_paragraph(2));
        parts
    }

    fn compose_context(self) -> Vec<StoryPart> {
        let begun = format_time(self.experiment.provenance.started_unix_ms, &TimeZone::system());
        vec![StyledLine::new().plain(format!("Begun {begun}.")).into_paragraph(2)]
    }

    fn compose_answer(self) -> Vec<StoryPart> {
        let (first, others) = match &self.found.verdict {
            FleetVerdict::PartOfNodes { arm, .. } => (self.draw_part(*arm), Vec::new()),
            FleetVerdict::ThisKind { verdict } => {
                let is_open = matches!(verdict, Verdict::Undecided { .. });
                (self.draw_kind(), if is_open { self.draw_these().into_iter().collect() } else { Vec::new() })
            }
            FleetVerdict::TheseNodes { .. } => (self.draw_these().unwrap_or_default(), vec![self.draw_kind()]),
            FleetVerdict::Unsound { why } => (self.draw_unsound(why), Vec::new()),
        };
        let mut parts = vec![paragraph(first)];
        parts.extend(others.into_iter().map(paragraph));
        if !matches!(self.found.verdict, FleetVerdict::Unsound { .. }) {
            parts.extend(self.draw_exceptions().map(paragraph));
            parts.extend(self.draw_splits().into_iter().map(paragraph));
            parts.extend(self.draw_commands().into_iter().map(|line| line.into_paragraph(6)));
        }
        parts
    }

    /// Returns the answer for this kind of machine.
    fn draw_kind(self) -> StyledLine {
        let kind = &self.found.this_kind;
        let nodes = self.counted_nodes();
        let place = "on the typical node of this kind";
        match &kind.verdict {
            Verdict::Undecided { .. } => self.draw_open_kind(kind),
            verdict => self.draw_verdict(verdict, kind, ("on this kind of machine", place), &nodes),
        }
    }

    fn draw_open_kind(self, kind: &UnitJudgement) -> StyledLine {
        let more = match kind.more_units {
            _ if kind.units < kind.fewest => format!(" At least {} are needed.", format_count(kind.fewest, "node")),
            Some(more) => format!(" About {} would decide it.", format_count(more as usize, "more node")),
            None => String::new(),
        };
        let sentence = format!(" for this kind of machine after {}.{more}", self.counted_nodes());
        StyledLine::new().with(TextTone::Warn, "Nothing is proven").plain(sentence)
    }

    /// Returns the answer for the mean over exactly these nodes.
    fn draw_these(self) -> Option<StyledLine> {
        let these = self.found.these_nodes.as_ref()?;
        let nodes = self.counted_nodes();
        let place = format!("in the mean over these {nodes}");
        let after = format_count(these.units, "round");
        Some(match &these.verdict {
            Verdict::Undecided { .. } => StyledLine::new()
                .with(TextTone::Warn, "Not decided")
                .plain(format!(" {place} after {after}: leave it to the OS.")),
            verdict => self.draw_verdict(verdict, these, (&format!("on these {nodes}"), &place), &after),
        })
    }

    /// Returns a verdict in words. `places` are the ones of the heading and of the sentence.
    fn draw_verdict(
        self,
        verdict: &Verdict,
        judged: &UnitJudgement,
        (heading, place): (&str, &str),
        after: &str,
    ) -> StyledLine {
        let rate = format_percent(self.experiment.policy.error_rate);
        let arm = |arm: usize| judged.arms.get(arm.wrapping_sub(1));
        let (tone, head, sentence) = match verdict {
            Verdict::Wins { arm: winner } => {
                let how = arm(*winner).map_or_else(String::new, |arm| self.describe_size(arm, place));
                (
                    TextTone::Good,
                    self.describe_pinning(arm(*winner).and_then(|arm| arm.effect?.low), heading),
                    format!("{how}; proven with {after} (error rate {rate})."),
                )
            }
            Verdict::RealButBelowMargin { arm: winner } => {
                let how = arm(*winner).map_or_else(String::new, |arm| self.describe_bounds(arm, place));
                let sentence = format!("{how}: proven, but less than the margin of {} ({after}).", self.margin());
                (TextTone::Good, "Leave it to the OS.".to_owned(), sentence)
            }
            Verdict::Better { arm: winner, .. } => {
                let how = arm(*winner).map_or_else(String::new, |arm| self.describe_size(arm, place));
                let more = self.describe_more(judged, "would tell");
                let sentence = format!("{how}. Whether it reaches {} is open after {after}.{more}", self.margin());
                (TextTone::Good, format!("Better {heading}:"), sentence)
            }
            Verdict::NoMaterialDifference => {
                let most = judged.arms.iter().filter_map(|arm| arm.effect?.high).reduce(f64::max);
                let most = most.filter(|most| *most > 0.0).map_or_else(String::new, |most| {
                    format!(": at most {}", format_gain_in(self.experiment.policy.what, most))
                });
                let sentence =
                    format!("No placement is {} {} {place}{most} ({after}).", self.margin(), self.better_word());
                (TextTone::Good, format!("Leave it to the OS {heading}."), sentence)
            }
            Verdict::Undecided { .. } | Verdict::Unsound { .. } => {
                (TextTone::Warn, "Not decided".to_owned(), format!("after {after}."))
            }
        };
        StyledLine::new().with(tone, head).plain(format!(" {sentence}"))
    }

    /// Returns the heading of a winner: "Pin it on this kind of machine.", with a condition if the proven bound is small.
    fn describe_pinning(self, low: Option<f64>, heading: &str) -> String {
        let policy = &self.experiment.policy;
        match format_least(policy.what, low) {
            _ if policy.is_material(low) => format!("Pin it {heading}."),
            Some(least) => format!("Pin it {heading} if {least} matters."),
            None => format!("Pin it {heading} if any gain matters."),
        }
    }

    fn describe_more(self, judged: &UnitJudgement, what: &str) -> String {
        let more = judged.more_units.map(|more| format_count(more as usize, "more node"));
        more.map_or_else(String::new, |more| format!(" About {more} {what}."))
    }

    /// Describes a proven effect: "llc:0 is at least 2.1 % faster than the OS default on the typical node, about 4.9 %".
    fn describe_size(self, arm: &UnitArmStanding, place: &str) -> String {
        let what = self.experiment.policy.what;
        let (name, word, baseline) = (self.name(arm.arm), self.better_word(), self.baseline());
        let Some(effect) = arm.effect else { return format!("{name} is {word} than {baseline} {place}") };
        let scale = EffectScale::from_estimate(what, effect.estimate);
        let about = scale.format_size(effect.estimate);
        match scale.format_least(effect.low) {
            Some(least) => format!("{name} is at least {least} {word} than {baseline} {place}, about {about}"),
            None => format!("{name} is {word} than {baseline} {place}, by how much is open (about {about})"),
        }
    }

    fn describe_bounds(self, arm: &UnitArmStanding, place: &str) -> String {
        let bounds = arm
            .effect
            .map_or_else(String::new, |effect| format!(" by {}", format_bounds(self.experiment.policy.what, &effect)));
        format!("{} is {}{bounds} {place}", self.name(arm.arm), self.better_word())
    }

    /// Returns the answer if only a part of the nodes has the effect.
    fn draw_part(self, arm: usize) -> StyledLine {
        let Some(found) = self.found.arms.get(arm - 1) else { return StyledLine::new() };
        let all = found.better + found.not_better + found.open;
        let open = if found.open > 0 { format!("; on {} neither is proven", found.open) } else { String::new() };
        let sentence = format!(
            " {} is proven {} on {} of {}, and proven not to be {} {} on {}{open} (error rate {}).",
            self.name(arm),
            self.better_word(),
            found.better,
            format_count(all, "node"),
            self.margin(),
            self.better_word(),
            found.not_better,
            format_percent(self.experiment.policy.error_rate),
        );
        StyledLine::new().with(TextTone::Warn, self.describe_share(found, all)).plain(sentence)
    }

    /// Describes the share of nodes: "Half of the nodes.", "Between 5 and 7 of 16 nodes.".
    fn describe_share(self, found: &FleetArmConclusion, all: usize) -> String {
        let (least, most) = (found.better, found.better + found.open);
        match () {
            () if 2 * least <= all && all <= 2 * most => "Half of the nodes.".to_owned(),
            () if least == most => format!("{least} of {}.", format_count(all, "node")),
            () => format!("Between {least} and {most} of {}.", format_count(all, "node")),
        }
    }

    fn draw_unsound(self, why: &[ExperimentDoubt]) -> StyledLine {
        let reason = |doubt: &ExperimentDoubt| match doubt {
            ExperimentDoubt::CarryOver(carry) => {
                let after = carry.after_arm.map_or_else(
                    || "another placement".to_owned(),
                    |arm| match arm {
                        0 => self.baseline(),
                        arm => self.name(arm),
                    },
                );
                let (size, word) = (format_size(carry.slower), if carry.slower > 0.0 { "worse" } else { "better" });
                format!("Over all nodes, runs after {after} are about {size} {word}: it leaves an effect behind.")
            }
            _ => "The runs cannot be compared.".to_owned(),
        };
        let reasons: Vec<String> = why.iter().map(reason).collect();
        let sentence = format!(" {} Leave it to the OS.", reasons.join(" "));
        StyledLine::new().with(TextTone::Warn, "Nothing can be recommended.").plain(sentence)
    }

    /// Returns the candidate that the answer is about, or the best one.
    fn shown_arm(self) -> Option<usize> {
        let of_verdict = |verdict: &Verdict| match verdict {
            Verdict::Wins { arm } | Verdict::RealButBelowMargin { arm } | Verdict::Better { arm, .. } => Some(*arm),
            _ => None,
        };
        let named = match &self.found.verdict {
            FleetVerdict::PartOfNodes { arm, .. } => Some(*arm),
            FleetVerdict::ThisKind { verdict } | FleetVerdict::TheseNodes { verdict } => of_verdict(verdict),
            FleetVerdict::Unsound { .. } => None,
        };
        let estimate = |arm: &&UnitArmStanding| arm.effect.map_or(f64::NEG_INFINITY, |effect| effect.estimate);
        let best = || self.found.this_kind.arms.iter().max_by(|a, b| estimate(a).total_cmp(&estimate(b)));
        named.or_else(|| best().map(|arm| arm.arm))
    }

    /// Returns the candidate that is recommended, for all nodes or for a part of them.
    fn recommended_arm(self) -> Option<usize> {
        match &self.found.verdict {
            FleetVerdict::PartOfNodes { arm, .. }
            | FleetVerdict::ThisKind { verdict: Verdict::Wins { arm } }
            | FleetVerdict::TheseNodes { verdict: Verdict::Wins { arm } } => Some(*arm),
            _ => None,
        }
    }

    /// Returns the nodes on which a recommendation does not hold.
    fn draw_exceptions(self) -> Option<StyledLine> {
        let arm = self.recommended_arm()?;
        let names = nodes::exceptions(self, arm);
        if names.is_empty() {
            return None;
        }
        let left = names.len().saturating_sub(MOST_NAMED);
        let listed: Vec<String> = names.iter().take(MOST_NAMED).map(|name| printable_name(name)).collect();
        let more = if left > 0 { format!(" and {left} more") } else { String::new() };
        let sentence = format!(" It does not hold on {}{more}.", listed.join(", "));
        Some(StyledLine::new().with(TextTone::Warn, "Except:").plain(sentence))
    }

    /// Returns the settings that go with the effect of the shown candidate.
    fn draw_splits(self) -> Vec<StyledLine> {
        let Some(found) = self.shown_arm().and_then(|arm| self.found.arms.get(arm - 1)) else { return Vec::new() };
        found.splits.iter().take(2).map(|split| self.draw_split(found.arm, split)).collect()
    }

    fn draw_split(self, arm: usize, split: &SettingSplit) -> StyledLine {
        let group = |group: &corewise_model::fleet::experiment::SettingGroup| {
            let values: Vec<String> = group.values.iter().map(|value| printable_name(value)).collect();
            let effect = format_gain_in(self.experiment.policy.what, group.effect);
            format!("{} ({}): {effect}", values.join(", "), format_count(group.nodes, "node"))
        };
        let groups: Vec<String> = split.groups.iter().take(MOST_NAMED).map(group).collect();
        let names: Vec<String> = split.settings.iter().map(|name| printable_name(name)).collect();
        let sentence = format!(
            " The effect of {} differs with {}: {} (p = {}). That is no proof of a cause.",
            self.name(arm),
            names.join(", "),
            groups.join("; "),
            format_decimal(split.probability, 4),
        );
        StyledLine::new().strong("What sets them apart:").plain(sentence)
    }

    fn draw_commands(self) -> Vec<StyledLine> {
        let Some(arm) = self.recommended_arm() else { return Vec::new() };
        let Some(name) = self.experiment.arms.get(arm).map(|arm| arm.name.as_str()) else { return Vec::new() };
        let (on, memory) = match name.rsplit_once(corewise_model::trial::MEMORY_SIGN) {
            Some((on, memory)) => (on.trim(), Some(memory.trim())),
            None => (name, None),
        };
        let on = if on == "os" || on.is_empty() { "all" } else { on };
        let command = self.command();
        let mut lines = vec![suggestion::run_line(on, memory, None, &command)];
        if memory.is_none() {
            lines.extend(self.common_cpus(arm).map(|cpus| {
                let order: Vec<u32> = cpus.iter().collect();
                let lines = print_notation(Notation::Slurm, &cpus, &order, &Machine::default());
                let bind = lines.into_iter().find_map(|line| line.text.filter(|_| !line.secondary)).unwrap_or_default();
                format!("srun --exclusive {bind} {command}    (Slurm)")
            }));
        }
        lines.into_iter().map(|line| StyledLine::new().plain("    ").strong(line)).collect()
    }

    /// Returns the cpus of a placement if they are the same on all nodes.
    fn common_cpus(self, arm: usize) -> Option<CpuSet> {
        let mut found = self.experiment.nodes.iter().filter(|node| !node.blocks.is_empty());
        let cpus = found.next()?.cpus.get(arm)?.clone()?;
        found.all(|node| node.cpus.get(arm) == Some(&Some(cpus.clone()))).then_some(cpus)
    }

    fn compose_placements(self) -> Vec<StoryPart> {
        let mut grid = TextGrid::new(vec![
            GridColumn::text("placement", 0).shrinking_to(12),
            GridColumn::text("typical node", 0),
            GridColumn::text("interval", 0),
            GridColumn::text("nodes differ by", 1),
            GridColumn::number("better", "", 0),
            GridColumn::number("not", "", 0),
            GridColumn::number("open", "", 0),
        ]);
        for (kind, found) in self.found.this_kind.arms.iter().zip(&self.found.arms) {
            let what = self.experiment.policy.what;
            let plain = |text: String| StyledLine::new().plain(text);
            let effect = kind.effect;
            let spread = found.spread.map_or_else(String::new, |spread| {
                let [middle, low, high] =
                    [spread.deviation, spread.low, spread.high].map(|each| format_decimal(100.0 * each, 1));
                format!("{middle} % [{low}, {high}]{}", if found.differs { ", proven" } else { "" })
            });
            grid.add_row(vec![
                StyledLine::new().strong(self.name(kind.arm)),
                plain(effect.map_or_else(|| "unknown".to_owned(), |effect| format_gain_in(what, effect.estimate))),
                plain(effect.map_or_else(String::new, |effect| format_interval_in(what, &effect))),
                plain(spread),
                plain(found.better.to_string()),
                plain(found.not_better.to_string()),
                plain(found.open.to_string()),
            ]);
        }
        let legend = format!(
            "The typical node, with its interval; the standard deviation of the true effects; and the nodes on which it is proven better, \
             proven not to be {} better, or neither.",
            self.margin()
        );
        vec![grid.into(), StoryPart::Legend(StyledLine::new().faint(legend))]
    }

    fn compose_notes(self, kept: &StorageStatus) -> Vec<StoryPart> {
        let faint = |text: String| StyledLine::new().faint(text).into_paragraph(2);
        let mut notes = vec![faint(format!(
            "The error rate of {} is that of each kind of sentence: about this kind of machine, about these nodes, and about single nodes.",
            format_percent(self.experiment.policy.error_rate)
        ))];
        notes.extend(
            nodes::problem_sentence(self)
                .map(|sentence| StyledLine::new().with(TextTone::Warn, sentence).into_paragraph(2)),
        );
        notes.extend(match kept {
            StorageStatus::Stored(number) => Some(faint(format!("stored as fleet experiment {number}"))),
            StorageStatus::No => Some(faint("not stored".to_owned())),
            StorageStatus::Failed | StorageStatus::Recalled(..) => None,
        });
        notes
    }
}
