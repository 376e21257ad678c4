//! `corewise place EXPR --who`: the processes and rules that may run on the cpus, and who did in the last second.

use std::time::Duration;

use corewise_machine::{CpuSet, Machine};
use corewise_model::keep::ResolvedRule;
use schemars::JsonSchema;
use serde::Serialize;

use super::task::PlaceRequest;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output::show_result;
use crate::app::placement::parse_expression;
use crate::app::placing::resolve_for_all;
use crate::app::rules::find_rules;
use crate::app::settings::ProgramSettings;
use crate::app::tenants::{CpuTenant, list_tenants};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{format_brief, format_count};
use crate::draw::printable::printable_name;
use crate::draw::text::{StyledLine, TextScreen};
use crate::draw::wrap::wrap_line;

/// Duration of the look at all processes.
const LOOK: Duration = Duration::from_secs(1);
/// Maximum number of idle processes that are listed.
const MOST_IDLE: usize = 10;

/// The output of `corewise place --who --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/tenants/1")]
pub struct TenantsDocument {
    #[schemars(extend("const" = "corewise/tenants/1"))]
    schema: &'static str,
    /// The cpus.
    cpus: CpuSet,
    /// Those of them that the scheduler leaves to programs that are placed there.
    isolated: CpuSet,
    /// The processes that may run there: first any that did, the longest before others.
    processes: Vec<CpuTenant>,
    /// The rules of `keep` that select some of the cpus.
    rules: Vec<TenantRule>,
}

/// A rule that selects some of the cpus.
#[derive(Serialize, JsonSchema)]
struct TenantRule {
    /// Its name.
    name: String,
    /// True for a rule of the system.
    of_system: bool,
    /// Its cpus.
    cpus: CpuSet,
}

/// Looks at all processes for a second, and shows which may run on the cpus.
pub fn run(
    request: &PlaceRequest,
    machine: &Machine,
    settings: &ProgramSettings,
) -> Result<CommandExit, CommandFailure> {
    let cpus = resolve_for_all(&parse_expression(&request.text)?, machine, settings)?.cpus;
    let rules = [false, true].into_iter().flat_map(|of_system| list_rules(&cpus, of_system, settings));
    let document = TenantsDocument {
        schema: "corewise/tenants/1",
        isolated: cpus.intersection(&machine.isolated),
        rules: rules.collect(),
        processes: list_tenants(&cpus, LOOK),
        cpus,
    };
    show_result(settings, || &document, || draw_screen(&document, settings.width))?;
    Ok(CommandExit::Done)
}

/// Returns the rules that select some of the cpus; none if their files cannot be read.
fn list_rules(cpus: &CpuSet, of_system: bool, settings: &ProgramSettings) -> Vec<TenantRule> {
    let resolved = find_rules(None, of_system, settings).and_then(|files| Ok(files.resolve_here(settings)?));
    let rules = resolved.unwrap_or_default().into_iter();
    let own = |ResolvedRule { rule, cpus, .. }: ResolvedRule| TenantRule { name: rule.name, of_system, cpus };
    rules.filter(|resolved| !resolved.cpus.is_disjoint(cpus)).map(own).collect()
}

fn draw_screen(document: &TenantsDocument, width: usize) -> TextScreen {
    let TenantsDocument { cpus, isolated, processes, rules, .. } = document;
    let (ran, idle): (Vec<_>, Vec<_>) = processes.iter().partition(|tenant| tenant.ran_ms > 0.0);
    let (of_kernel, programs): (Vec<_>, Vec<_>) = idle.into_iter().partition(|tenant| tenant.is_kernel);
    let mut screen = TextScreen::new();
    let noun = if cpus.len() == 1 { "cpu" } else { "cpus" };
    let head = StyledLine::new().strong(format!("Who may run on {noun} {cpus}"));
    let counts = format!(
        "  {} ran there in the last second; {} more may, and {} of the kernel",
        ran.len(),
        format_count(programs.len(), "program"),
        format_count(of_kernel.len(), "thread")
    );
    screen.extend(wrap_line(&head.plain(counts), width, 2));
    if !isolated.is_empty() {
        let text = format!("Isolated: {isolated}. The scheduler moves no process there that was not placed there.");
        screen.extend(wrap_line(&StyledLine::new().plain(text), width, 2));
    }
    let listed: Vec<&CpuTenant> = ran.into_iter().chain(programs.iter().copied().take(MOST_IDLE)).collect();
    screen.add_block(draw_table(&listed, width));
    let hidden = programs.len().saturating_sub(MOST_IDLE);
    if hidden > 0 {
        let text = format!("{} more did not run there; --json lists all.", format_count(hidden, "program"));
        screen.extend(wrap_line(&StyledLine::new().faint(text), width, 2));
    }
    let of_rule = |rule: &TenantRule| {
        let whose = if rule.of_system { " (of the system)" } else { "" };
        let text = format!("Rule {}{whose} keeps its processes on {}.", printable_name(&rule.name), rule.cpus);
        wrap_line(&StyledLine::new().plain(text), width, 2)
    };
    screen.add_block(rules.iter().flat_map(of_rule).collect());
    screen
}

fn draw_table(listed: &[&CpuTenant], width: usize) -> Vec<StyledLine> {
    let mut grid = TextGrid::new(vec![
        GridColumn::number("process", "", 0),
        GridColumn::text("name", 0).shrinking_to(8),
        GridColumn::number("ran", "ms/s", 0),
        GridColumn::number("threads", "", 2),
        GridColumn::text("may use", 1).shrinking_to(8),
    ])
    .with_indent(2);
    for tenant in listed {
        let name = StyledLine::new().strong(printable_name(&tenant.name));
        grid.add_row(vec![
            StyledLine::new().plain(tenant.process.to_string()),
            if tenant.is_kernel { name.faint(" (kernel)") } else { name },
            StyledLine::new().plain(if tenant.ran_ms > 0.0 { format_brief(tenant.ran_ms) } else { "–".to_owned() }),
            StyledLine::new().plain(tenant.threads.to_string()),
            StyledLine::new().plain(tenant.cpus.to_string()),
        ]);
    }
    if listed.is_empty() { Vec::new() } else { grid.draw_lines(width) }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::parse_list(list).unwrap()
    }

    fn tenant(process: u32, name: &str, ran_ms: f64, is_kernel: bool) -> CpuTenant {
        CpuTenant {
            process,
            name: name.into(),
            is_kernel,
            threads: 3,
            cpus: set("0-7"),
            seen_on: CpuSet::new(),
            ran_ms,
        }
    }

    #[test]
    fn who_ran_comes_first_and_rules_last() {
        let document = TenantsDocument {
            schema: "corewise/tenants/1",
            cpus: set("2,3"),
            isolated: set("3"),
            processes: vec![
                tenant(812, "redis-server", 913.4, false),
                tenant(17, "ksoftirqd/2", 0.2, true),
                tenant(1, "systemd", 0.0, false),
                tenant(2, "kthreadd", 0.0, true),
            ],
            rules: vec![TenantRule { name: "cache".into(), of_system: true, cpus: set("2-5") }],
        };
        assert_snapshot!(draw_screen(&document, 80).to_plain(), @r"
        Who may run on cpus 2,3  2 ran there in the last second; 1 program more may, and
          1 thread of the kernel
        Isolated: 3. The scheduler moves no process there that was not placed there.

          process  name                   ran  threads  may use
                                         ms/s
              812  redis-server           913        3  0-7
               17  ksoftirqd/2 (kernel)   0.2        3  0-7
                1  systemd                  –        3  0-7

        Rule cache (of the system) keeps its processes on 2-5.
        ");
    }
}
