//! The screen of `corewise undo`: each corewise with open changes, and the result of each change.

use corewise_machine::suggested_command;

use jiff::tz::TimeZone;

use super::document::{ChangeFate, ChangeReport, JournalReport, JournalState};
use crate::draw::number::format_time;
use crate::draw::suggestion;
use crate::draw::suggestion::quote_word;
use crate::draw::text::{StyledLine, TextScreen, TextTone};
use crate::draw::wrap::wrap_line;

/// Width of the words before a change.
const FATE_WIDTH: usize = 15;

impl JournalReport {
    /// Creates a report with only a state.
    pub const fn new(state: JournalState) -> Self {
        let (journal, process, host) = (None, None, None);
        let (kept_by, started_unix_ms, why) = (None, None, None);
        Self { journal, process, host, kept_by, started_unix_ms, state, why, changes: Vec::new() }
    }

    /// Returns true if something in it could not be undone.
    pub fn has_remains(&self) -> bool {
        self.why.is_some()
            || matches!(self.state, JournalState::Unreadable | JournalState::Unknown)
            || self.changes.iter().any(|item| item.fate == ChangeFate::Failed)
    }
}

impl ChangeFate {
    const fn describe_fate(self) -> (&'static str, TextTone) {
        match self {
            Self::Reverted => ("reverted", TextTone::Good),
            Self::WouldRevert => ("would", TextTone::Plain),
            Self::NothingToDo => ("nothing to do", TextTone::Faint),
            Self::LeftAlone => ("left alone", TextTone::Plain),
            Self::Failed => ("failed", TextTone::Warn),
            Self::InForce => ("in force", TextTone::Plain),
            Self::Gone => ("gone", TextTone::Faint),
            Self::Unknown => ("unknown", TextTone::Warn),
        }
    }
}

/// Returns the reports of a folder of journals, and a summary.
pub fn draw_screen(
    folder: &str,
    dry_run: bool,
    reports: &[JournalReport],
    zone: &TimeZone,
    width: usize,
) -> TextScreen {
    let mut screen = TextScreen::new();
    for report in reports {
        screen.extend(wrap_line(&draw_headline(report, zone), width, 2));
        for item in &report.changes {
            screen.extend(wrap_line(&draw_item(item), width, 2 + FATE_WIDTH));
        }
    }
    let mut last =
        StyledLine::new().plain(describe_summary(reports, dry_run).unwrap_or(format!("Nothing to undo in {folder}.")));
    for report in reports {
        if let (Some(journal), Some(words)) = (&report.journal, report.why_it_stays()) {
            last = last.plain(words).strong(format!("rm {}", quote_word(journal)));
        }
    }
    if dry_run && reports.iter().any(|report| report.count_fate(ChangeFate::WouldRevert) > 0) {
        last = last.plain(" Next:  ").strong(suggestion::format_typed(&suggested_command::undo()));
    }
    screen.add_block(wrap_line(&last, width, 0));
    screen
}

fn draw_headline(report: &JournalReport, zone: &TimeZone) -> StyledLine {
    let command = report.kept_by.as_deref().unwrap_or("corewise");
    let name = match report.process {
        Some(process) => format!("{command} {process}"),
        None => "a corewise".to_owned(),
    };
    let begun = report.started_unix_ms.map(|moment| format!(" ({})", format_time(moment, zone))).unwrap_or_default();
    let host = report.host.as_deref().unwrap_or_default();
    let state = match report.state {
        JournalState::Kept => " made changes that were meant to stay".to_owned(),
        JournalState::Left => " ended without undoing its changes".to_owned(),
        JournalState::InForce => " is running, and will undo its changes itself".to_owned(),
        JournalState::OtherBoot => " ran before the last boot, which undid its changes".to_owned(),
        JournalState::OtherMachine => format!(" ran on {host}: undo its changes there"),
        JournalState::Unknown => " runs, or ran, in another container: undo its changes there".to_owned(),
        JournalState::Unreadable if report.why.is_some() => " left a damaged journal".to_owned(),
        JournalState::Unreadable => " left a journal that this version cannot read".to_owned(),
    };
    let mut line = StyledLine::new().strong(name).plain(format!("{begun}{state}"));
    if let Some(why) = &report.why {
        line = line.plain(": ").with(TextTone::Warn, why);
    }
    match &report.journal {
        Some(journal) if report.has_remains() => line.faint(format!(" ({journal})")),
        _ => line,
    }
}

fn draw_item(item: &ChangeReport) -> StyledLine {
    let (words, tone) = item.fate.describe_fate();
    let line = StyledLine::new().plain("  ").with(tone, format!("{words:<FATE_WIDTH$}")).plain(&item.what);
    match &item.why {
        Some(why) => line.plain(format!(": {why}")),
        None => line,
    }
}

impl JournalReport {
    /// Returns why the journal stays until it is removed; `None` if it can be undone.
    fn why_it_stays(&self) -> Option<&'static str> {
        match self.state {
            JournalState::Unreadable if self.why.is_some() => {
                Some(" A damaged journal is not believed, and stays until you remove it:  ")
            }
            JournalState::Unknown => {
                Some(" If its container is gone, the journal stays until the next boot, or until you remove it:  ")
            }
            _ => None,
        }
    }

    fn count_fate(&self, fate: ChangeFate) -> usize {
        self.changes.iter().filter(|item| item.fate == fate).count()
    }
}

/// Counts the changes by result; `None` without reports.
fn describe_summary(reports: &[JournalReport], dry_run: bool) -> Option<String> {
    let all = |fate| reports.iter().map(|report| report.count_fate(fate)).sum::<usize>();
    let parts = [
        (all(ChangeFate::Reverted), "reverted"),
        (all(ChangeFate::WouldRevert), "would be reverted"),
        (all(ChangeFate::NothingToDo), "already as before"),
        (all(ChangeFate::LeftAlone), if dry_run { "would be left alone" } else { "left alone" }),
        (all(ChangeFate::Failed), if dry_run { "could not be undone" } else { "not undone, still in the journal" }),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, words)| format!("{count} {words}")).collect();
    match parts.as_slice() {
        [] if reports.is_empty() => None,
        [] => Some("Nothing to undo here.".to_owned()),
        _ if dry_run => Some(format!("Changes: {}; nothing was changed.", parts.join(", "))),
        _ => Some(format!("Changes: {}.", parts.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::super::document::UndoDocument;
    use super::*;
    use crate::draw::fixtures::hostile;

    fn item(what: &str, fate: ChangeFate, why: Option<&str>) -> ChangeReport {
        ChangeReport { what: what.to_owned(), fate, why: why.map(str::to_owned) }
    }

    fn of(state: JournalState, process: u32, changes: Vec<ChangeReport>) -> JournalReport {
        let journal = Some(format!("/run/corewise/b0-{process}-1.corewise-journal"));
        let (host, started_unix_ms) = (Some("node7".to_owned()), Some(1_795_233_108_000));
        JournalReport { journal, process: Some(process), host, started_unix_ms, changes, ..JournalReport::new(state) }
    }

    fn plain(dry_run: bool, reports: &[JournalReport], width: usize) -> String {
        draw_screen("/run/corewise", dry_run, reports, &TimeZone::UTC, width).to_plain()
    }

    #[test]
    fn nothing_is_said_in_one_line() {
        assert_eq!(plain(false, &[], 80), "Nothing to undo in /run/corewise.\n");
    }

    #[test]
    fn every_change_has_its_fate() {
        let group = "control group /sys/fs/cgroup/box/corewise-4711 made";
        let left = vec![
            item("cpus of sleep (4712): 0,1 to 0", ChangeFate::NothingToDo, Some("it has ended")),
            item(group, ChangeFate::Reverted, Some("process 4713 was moved back to /sys/fs/cgroup/box")),
            item("controller cpuset enabled for the groups in /sys/fs/cgroup/box", ChangeFate::Reverted, None),
            item(
                "file /proc/irq/9/smp_affinity: \"f\" to \"1\"",
                ChangeFate::LeftAlone,
                Some("someone else has changed it since: it is now \"2\""),
            ),
        ];
        let running = vec![item("cpus of make (4801): 0-3 to 2", ChangeFate::InForce, None)];
        let reports = [of(JournalState::Left, 4711, left), of(JournalState::InForce, 4800, running)];
        assert_snapshot!(plain(false, &reports, 80), @r#"
        corewise 4711 (2026-11-21 03:51) ended without undoing its changes
          nothing to do  cpus of sleep (4712): 0,1 to 0: it has ended
          reverted       control group /sys/fs/cgroup/box/corewise-4711 made: process
                         4713 was moved back to /sys/fs/cgroup/box
          reverted       controller cpuset enabled for the groups in /sys/fs/cgroup/box
          left alone     file /proc/irq/9/smp_affinity: "f" to "1": someone else has
                         changed it since: it is now "2"
        corewise 4800 (2026-11-21 03:51) is running, and will undo its changes itself
          in force       cpus of make (4801): 0-3 to 2

        Changes: 2 reverted, 1 already as before, 1 left alone.
        "#);
        assert!(plain(false, &reports, 40).lines().all(|line| line.chars().count() <= 40));
    }

    #[test]
    fn changes_that_were_to_stay_are_told_with_their_command() {
        let file = "set file /proc/irq/26/smp_affinity_list from \"1-3\" back to \"0-3\"";
        let kept_by = Some("corewise irq".to_owned());
        let report =
            JournalReport { kept_by, ..of(JournalState::Kept, 4711, vec![item(file, ChangeFate::WouldRevert, None)]) };
        assert_snapshot!(plain(true, &[report], 80), @r#"
        corewise irq 4711 (2026-11-21 03:51) made changes that were meant to stay
          would          set file /proc/irq/26/smp_affinity_list from "1-3" back to
                         "0-3"

        Changes: 1 would be reverted; nothing was changed. Next:  corewise undo
        "#);
    }

    #[test]
    fn what_remains_is_told_with_its_journal() {
        let failed = vec![item("control group /g/corewise-1 made", ChangeFate::Failed, Some("Permission denied"))];
        let damaged = "line 3 of the journal cannot be read".to_owned();
        let unreadable = JournalReport { why: Some(damaged), ..of(JournalState::Unreadable, 2, vec![]) };
        let reports = [of(JournalState::Left, 1, failed), unreadable];
        assert!(reports.iter().all(JournalReport::has_remains));
        assert_snapshot!(plain(false, &reports, 80), @r"
        corewise 1 (2026-11-21 03:51) ended without undoing its changes
          (/run/corewise/b0-1-1.corewise-journal)
          failed         control group /g/corewise-1 made: Permission denied
        corewise 2 (2026-11-21 03:51) left a damaged journal: line 3 of the journal
          cannot be read (/run/corewise/b0-2-1.corewise-journal)

        Changes: 1 not undone, still in the journal. A damaged journal is not believed,
        and stays until you remove it:  rm /run/corewise/b0-2-1.corewise-journal
        ");
    }

    #[test]
    fn a_dry_run_says_how_to_do_it() {
        let reports = [of(
            JournalState::Left,
            1,
            vec![item("set cpus of sleep (2) from 0 back to 0,1", ChangeFate::WouldRevert, None)],
        )];
        assert_snapshot!(plain(true, &reports, 80), @r"
        corewise 1 (2026-11-21 03:51) ended without undoing its changes
          would          set cpus of sleep (2) from 0 back to 0,1

        Changes: 1 would be reverted; nothing was changed. Next:  corewise undo
        ");
    }

    #[test]
    fn journals_that_are_not_for_this_machine_are_told_apart() {
        let reports = [
            of(JournalState::OtherBoot, 1, vec![item("cpus of sleep (2): 0,1 to 0", ChangeFate::Gone, None)]),
            of(JournalState::OtherMachine, 3, vec![]),
            of(JournalState::Unknown, 4, vec![item("cpus of sleep (5): 0,1 to 0", ChangeFate::Unknown, None)]),
            of(JournalState::Unreadable, 6, vec![]),
        ];
        assert_snapshot!(plain(false, &reports, 80), @r"
        corewise 1 (2026-11-21 03:51) ran before the last boot, which undid its changes
          gone           cpus of sleep (2): 0,1 to 0
        corewise 3 (2026-11-21 03:51) ran on node7: undo its changes there
        corewise 4 (2026-11-21 03:51) runs, or ran, in another container: undo its
          changes there (/run/corewise/b0-4-1.corewise-journal)
          unknown        cpus of sleep (5): 0,1 to 0
        corewise 6 (2026-11-21 03:51) left a journal that this version cannot read
          (/run/corewise/b0-6-1.corewise-journal)

        Nothing to undo here. If its container is gone, the journal stays until the next
        boot, or until you remove it:  rm /run/corewise/b0-4-1.corewise-journal
        ");
    }

    #[test]
    fn no_journal_steers_or_hides() {
        for name in hostile::names() {
            let why = Some(name.as_str());
            let changes = vec![item(&name, ChangeFate::Reverted, why), item(&name, ChangeFate::Failed, why)];
            let left = of(JournalState::Left, 1, changes);
            let kept_by = Some(name.clone());
            let (journal, host) = (Some(format!("/run/{name}")), Some(name.clone()));
            let broken =
                JournalReport { kept_by, journal, host, why: Some(name.clone()), ..of(JournalState::Kept, 2, vec![]) };
            let elsewhere = JournalReport { host: Some(name.clone()), ..of(JournalState::OtherMachine, 3, vec![]) };
            let reports = [left, broken, elsewhere];
            let drawn = |width| draw_screen(&name, true, &reports, &TimeZone::UTC, width);
            [40, 80].into_iter().for_each(|width| hostile::check_screen(&drawn(width), width));
            hostile::check_json(&UndoDocument::new(name.clone(), true, &reports));
        }
    }

    #[test]
    fn what_is_to_be_pasted_is_quoted() {
        let journal = Some("/run/a b; id.journal".to_owned());
        let report = JournalReport {
            journal,
            why: Some("cannot read line 1".into()),
            ..of(JournalState::Unreadable, 2, vec![])
        };
        assert!(plain(false, &[report], 200).contains("remove it:  rm '/run/a b; id.journal'"));
    }
}
