//! The screen of `worth`: the cpus of each last-level cache, their worth, and the reasons.

use corewise_machine::Machine;
use corewise_machine::suggested_command;
use corewise_machine::worth::CpuWorth;

use crate::app::worth::{WorthOrigin, describe_speeds};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::suggestion;
use crate::draw::text::{StyledLine, TextScreen};
use crate::draw::wrap::wrap_line;

const BAR: usize = 20;
/// Shares below this are not shown.
const LEAST_SHARE: f32 = 0.005;

/// Returns the cpus by last-level cache, and a line on the origin of the records.
pub fn draw_screen(machine: &Machine, origin: &WorthOrigin, cpus: &[CpuWorth], width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    let mut rest: Vec<&CpuWorth> = cpus.iter().collect();
    for (index, llc) in machine.llcs.iter().enumerate() {
        let (own, others) = rest.into_iter().partition(|cpu| llc.cpus.contains(cpu.cpu));
        rest = others;
        draw_block(&mut screen, &format!("llc {index}"), &own, width);
    }
    draw_block(&mut screen, "no last-level cache known", &rest, width);
    let source = match origin {
        WorthOrigin::Map { writer, interval_ms, age_ms } => {
            format!("From the map that process {writer} updates every {interval_ms} ms; {age_ms} ms old.")
        }
        WorthOrigin::Look { instead_of } if instead_of.is_empty() => {
            format!(
                "From a look of one second; no running {} writes a map here.",
                suggestion::format_mention(&suggested_command::keep_run())
            )
        }
        WorthOrigin::Look { instead_of } => {
            format!("From a look of one second. A map that is there is not used: {}.", instead_of.join("; "))
        }
    };
    let speeds = describe_speeds(cpus.iter().map(|cpu| cpu.record.speed_source));
    screen.add_block(
        [source, speeds].iter().flat_map(|text| wrap_line(&StyledLine::new().plain(text), width, 0)).collect(),
    );
    screen
}

fn draw_block(screen: &mut TextScreen, title: &str, cpus: &[&CpuWorth], width: usize) {
    if cpus.is_empty() {
        return;
    }
    let columns = vec![
        GridColumn::number("cpu", "", 0),
        GridColumn::number("worth", "%", 0),
        GridColumn::text("", 6).with_name("bar"),
        GridColumn::number("speed", "%", 1),
        GridColumn::number("busy", "%", 2),
        GridColumn::number("sibling", "%", 3).with_name("busiest sibling"),
        GridColumn::number("interrupts", "%", 3),
        GridColumn::number("soft", "%", 4).with_name("soft interrupts"),
        GridColumn::number("host", "%", 3),
        GridColumn::number("throttled", "times", 5),
    ];
    let mut grid = TextGrid::new(columns).with_indent(2);
    for cpu in cpus {
        let record = &cpu.record;
        let percent = |share: f32| StyledLine::new().plain(format!("{:.0}", 100.0 * share));
        let some = |share: f32| if share < LEAST_SHARE { StyledLine::new() } else { percent(share) };
        let bar = "█".repeat((record.worth.clamp(0.0, 1.0) * BAR as f32).round() as usize);
        let throttled = if record.throttled == 0 {
            StyledLine::new()
        } else {
            StyledLine::new().plain(record.throttled.to_string())
        };
        grid.add_row(vec![
            StyledLine::new().strong(cpu.cpu.to_string()),
            percent(record.worth),
            StyledLine::new().plain(bar),
            percent(record.speed),
            some(record.shares.busy),
            some(record.sibling),
            some(record.shares.interrupts),
            some(record.shares.soft_interrupts),
            some(record.shares.stolen),
            throttled,
        ]);
    }
    let mut lines = vec![StyledLine::new().strong(title)];
    lines.extend(grid.draw_lines(width));
    screen.add_block(lines);
}

#[cfg(test)]
mod tests {
    use corewise_machine::worth::{SpeedSource, WorthRecord, WorthShares};
    use insta::assert_snapshot;

    use super::*;

    fn cpus(count: u32) -> Vec<CpuWorth> {
        let record = |cpu: u32| {
            let shares = WorthShares { interrupts: if cpu == 1 { 0.2 } else { 0.0 }, ..WorthShares::default() };
            let worth = if cpu == 1 { 0.8 } else { 1.0 };
            let record = WorthRecord {
                online: true,
                worth,
                speed: 1.0,
                speed_source: SpeedSource::Measured,
                shares,
                ..WorthRecord::default()
            };
            CpuWorth { cpu, record }
        };
        (0..count).map(record).collect()
    }

    #[test]
    fn cpus_stand_with_their_cache() {
        let machine = crate::draw::fixtures::fabricated::ryzen_9950x3d();
        let some: Vec<CpuWorth> = cpus(32).into_iter().filter(|cpu| cpu.cpu % 8 < 2 && cpu.cpu < 16).collect();
        let origin = WorthOrigin::Map { writer: 7, interval_ms: 100, age_ms: 12 };
        assert_snapshot!(draw_screen(&machine, &origin, &some, 80).to_plain(), @r"
        llc 0
          cpu  worth                        speed  interrupts
                   %                            %           %
            0    100  ████████████████████    100
            1     80  ████████████████        100          20

        llc 1
          cpu  worth                        speed
                   %                            %
            8    100  ████████████████████    100
            9    100  ████████████████████    100

        From the map that process 7 updates every 100 ms; 12 ms old.
        Speeds: measured by the latest survey.
        ");
    }

    #[test]
    fn every_width_takes_it() {
        let machine = crate::draw::fixtures::fabricated::ryzen_9950x3d();
        let look = WorthOrigin::Look { instead_of: vec!["/run/corewise: process 7 has ended".to_owned()] };
        for width in [40, 60, 120] {
            assert!(draw_screen(&machine, &look, &cpus(32), width).width() <= width);
        }
    }
}
