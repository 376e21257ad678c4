//! The whole page: the sections, each with its answer first, and the data at the end.

use corewise_machine::Machine;
use corewise_machine::suggested_command;
use corewise_model::keep::{Change, Evidence, Rule};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::app::artifact::Section;
use crate::app::embedded::element;
use crate::draw::grid::{Column, Grid};
use crate::draw::machine::{details, model_name};
use crate::draw::number::{count, decimal};
use crate::draw::printable::printable;
use crate::draw::text::Line;
use crate::draw::{markdown, page};

/// The style sheet, for windows of any width, dark mode, and paper.
const STYLE: &str = include_str!("page.css");

const RULES: &str = "Rules that keep placements";

/// The content of a page.
pub struct Page {
    /// The reported results.
    pub sections: Vec<Section>,
    /// The rules of this user, and the machine as it is now; `None` if the report does not cover this machine.
    pub rules: Option<(Vec<Rule>, Machine)>,
}

impl Page {
    /// Renders the page as HTML, without scripts or external resources.
    pub fn html(&self) -> String {
        let title = self.title();
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:";
                    meta name="generator" content=(format!("corewise {}", env!("CARGO_PKG_VERSION")));
                    title { (title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    header { h1 { (title) } (self.contents()) }
                    main {
                        @for (index, section) in self.sections.iter().enumerate() {
                            article id=(section.id) {
                                h2 { (section.title) }
                                (section.story.markup(index))
                            }
                        }
                        (self.machines())
                        (self.rules())
                    }
                    footer {
                        p {
                            "Made by corewise " (env!("CARGO_PKG_VERSION")) ". This page holds the observations that everything on it was computed from; "
                            code { (suggested_command::history_import().line()) } " takes them into another history."
                        }
                        @for section in &self.sections {
                            @if let Some(result) = &section.result {
                                @match element(result.schema, &result.data) {
                                    Some(element) => { (PreEscaped(element)) },
                                    None => { p { "The observations of " (section.title) " are too large for a page: " code { (suggested_command::history_show_json(result.number).line()) } " prints them." } },
                                }
                            }
                        }
                    }
                }
            }
        };
        page.into_string()
    }

    /// Renders the page as Markdown. Figures are replaced by the command that draws them.
    pub fn markdown(&self) -> String {
        let mut blocks = vec![format!("# {}", markdown::text(&self.title()))];
        for section in &self.sections {
            blocks.push(format!("## {}", markdown::text(&section.title)));
            blocks.push(markdown::story(&section.story, section.result.as_ref().map(|result| result.number)));
        }
        for machine in self.machines_of() {
            blocks.push(format!("## The machine: {}", markdown::text(&name(machine))));
            blocks.extend(markdown::paragraphs(&details(machine, usize::MAX)));
            let facts = environment(machine)
                .into_iter()
                .map(|(name, value)| format!("- {}: {}", markdown::text(&name), markdown::text(&value)));
            blocks.push(facts.collect::<Vec<_>>().join("\n"));
        }
        if let Some((rules, machine)) = &self.rules {
            blocks.push(format!("## {RULES}"));
            blocks.push(markdown::table(&rules_grid(rules, machine).whole()));
        }
        blocks.retain(|block| !block.is_empty());
        blocks.join("\n\n") + "\n"
    }

    fn title(&self) -> String {
        let machines = self.machines_of();
        let machine = machines.first().map_or_else(|| "unknown machine".to_owned(), |machine| name(machine));
        let several = if machines.len() > 1 { " and others" } else { "" };
        match self.sections.iter().filter(|section| section.result.is_some()).collect::<Vec<_>>().as_slice() {
            [one] => format!("{} · {machine}", one.title),
            results => format!("{} · {machine}{several}", count(results.len(), "result")),
        }
    }

    /// Returns the table of contents if there are several sections.
    fn contents(&self) -> Markup {
        html! {
            @if self.sections.len() > 1 {
                nav aria-label="Contents" { ul {
                    @for section in &self.sections { li { a href=(format!("#{}", section.id)) { (section.title) } } }
                } }
            }
        }
    }

    /// Returns the machines of the results, each once.
    fn machines_of(&self) -> Vec<&Machine> {
        let mut known: Vec<(String, &Machine)> = Vec::new();
        for machine in self.sections.iter().filter_map(|section| section.result.as_ref()?.machine.as_ref()) {
            let fingerprint = machine.fingerprint();
            if !known.iter().any(|(own, _)| *own == fingerprint) {
                known.push((fingerprint, machine));
            }
        }
        known.into_iter().map(|(_, machine)| machine).collect()
    }

    fn machines(&self) -> Markup {
        html! {
            @for machine in self.machines_of() {
                article {
                    h2 { "The machine: " (name(machine)) }
                    (page::machine(machine))
                    (page::paragraphs(&details(machine, usize::MAX)))
                    dl { @for (name, value) in environment(machine) { dt { (name) } dd { (value) } } }
                }
            }
        }
    }

    fn rules(&self) -> Markup {
        html! {
            @if let Some((rules, machine)) = &self.rules {
                article {
                    h2 { (RULES) }
                    (page::table(&rules_grid(rules, machine).whole(), Some("Rules")))
                }
            }
        }
    }
}

/// Returns the rules with their evidence, and whether the evidence holds today.
fn rules_grid(rules: &[Rule], machine: &Machine) -> Grid {
    let titles = ["rule", "placement", "evidence", "today"];
    let mut grid = Grid::new(titles.into_iter().map(|title| Column::text(title, 0)).collect());
    for rule in rules {
        let evidence = rule.evidence.as_ref().map_or_else(|| "none".to_owned(), proof);
        let cells = [rule.name.clone(), rule.on.0.to_string(), evidence, today(rule, machine)];
        grid.row(cells.into_iter().map(|cell| Line::new().plain(cell)).collect());
    }
    grid
}

/// Returns the printable name of a machine. The name of its processor is foreign input.
fn name(machine: &Machine) -> String {
    printable(&model_name(machine))
}

/// Formats evidence as "experiment 12: +6.1 % [4.2, 8.0]".
fn proof(evidence: &Evidence) -> String {
    let percent = |share: f64| if share.is_finite() { decimal(100.0 * share, 1) } else { "?".to_owned() };
    let sign = if evidence.effect > 0.0 { "+" } else { "" };
    let [low, high] = evidence.interval.map(percent);
    format!("experiment {}: {sign}{} % [{low}, {high}]", evidence.experiment, percent(evidence.effect))
}

/// Describes whether a rule's evidence holds on the machine as it is now, and what has changed since.
fn today(rule: &Rule, machine: &Machine) -> String {
    let changes = rule.evidence.as_ref().map(|evidence| evidence.changes(machine));
    let words = match changes.as_deref() {
        None => "unproven".to_owned(),
        Some([]) => "proven".to_owned(),
        Some(changes) => {
            let of = |change: &Change| format!("{} was {}, is {}", change.what, change.was, change.is);
            format!("unproven: {}", changes.iter().map(of).collect::<Vec<_>>().join("; "))
        }
    };
    printable(&if rule.disabled { format!("disabled; {words}") } else { words })
}

/// Returns the scheduling environment, as names and values.
fn environment(machine: &Machine) -> Vec<(String, String)> {
    let mut facts = machine.environment();
    facts.extend(machine.system.hypervisor.clone().map(|name| ("hypervisor".to_owned(), name)));
    facts.into_iter().map(|(name, value)| (printable(&name.replace('_', " ")), printable(&value))).collect()
}
