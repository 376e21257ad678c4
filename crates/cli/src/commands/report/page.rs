//! The whole page: the sections, each with its answer first, and the data at the end.

use corewise_machine::Machine;
use corewise_machine::suggested_command;
use corewise_model::keep::{EvidenceChange, Rule, RuleEvidence};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::app::artifact::PageSection;
use crate::app::page_data::write_element;
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::machine::{draw_details, model_name};
use crate::draw::number::{format_count, format_decimal};
use crate::draw::printable::make_printable;
use crate::draw::text::StyledLine;
use crate::draw::{markdown, page};

/// The style sheet, for windows of any width, dark mode, and paper.
const STYLE: &str = include_str!("page.css");

/// Name and begin of the element that says what made a page.
const GENERATOR: (&str, &str) = ("generator", "corewise ");
const RULES: &str = "Rules that keep placements";

/// The content of a page.
pub struct ReportPage {
    /// The reported results.
    pub sections: Vec<PageSection>,
    /// The rules of this user, and the machine as it is now; `None` if the report does not cover this machine.
    pub rules: Option<(Vec<Rule>, Machine)>,
}

/// Returns the text by which a page is recognised as a report.
pub fn generator_mark() -> String {
    format!("<meta name=\"{}\" content=\"{}", GENERATOR.0, GENERATOR.1)
}

impl ReportPage {
    /// Renders the page as HTML, without scripts or external resources.
    pub fn to_html(&self) -> String {
        let title = self.page_title();
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:";
                    meta name=(GENERATOR.0) content=(format!("{}{}", GENERATOR.1, env!("CARGO_PKG_VERSION")));
                    title { (title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    header { h1 { (title) } (self.contents_markup()) }
                    main {
                        @for (index, section) in self.sections.iter().enumerate() {
                            article id=(section.id) {
                                h2 { (section.title) }
                                (section.story.to_markup(index))
                            }
                        }
                        (self.machines_markup())
                        (self.rules_markup())
                    }
                    footer {
                        p {
                            "Made by corewise " (env!("CARGO_PKG_VERSION")) ". This page holds the observations that everything on it was computed from; "
                            code { (suggested_command::history_import().shell_line()) } " takes them into another history."
                        }
                        @for section in &self.sections {
                            @if let Some(result) = &section.result {
                                @match write_element(result.schema, &result.data) {
                                    Some(element) => { (PreEscaped(element)) },
                                    None => { p { "The observations of " (section.title) " are too large for a page: " code { (suggested_command::history_show_json(result.number).shell_line()) } " prints them." } },
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
    pub fn to_markdown(&self) -> String {
        let mut blocks = vec![format!("# {}", markdown::escape_text(&self.page_title()))];
        for section in &self.sections {
            blocks.push(format!("## {}", markdown::escape_text(&section.title)));
            blocks.push(markdown::write_story(&section.story, section.result.as_ref().map(|result| result.number)));
        }
        for machine in self.list_machines() {
            blocks.push(format!("## The machine: {}", markdown::escape_text(&machine_name(machine))));
            blocks.extend(markdown::write_paragraphs(&draw_details(machine, usize::MAX)));
            let facts = list_environment(machine)
                .into_iter()
                .map(|(name, value)| format!("- {}: {}", markdown::escape_text(&name), markdown::escape_text(&value)));
            blocks.push(facts.collect::<Vec<_>>().join("\n"));
        }
        if let Some((rules, machine)) = &self.rules {
            blocks.push(format!("## {RULES}"));
            blocks.push(markdown::write_table(&rules_grid(rules, machine).whole_table()));
        }
        blocks.retain(|block| !block.is_empty());
        blocks.join("\n\n") + "\n"
    }

    fn page_title(&self) -> String {
        let machines = self.list_machines();
        let of_many = || self.sections.iter().find_map(|section| section.result.as_ref()?.machines.clone());
        let unknown = || of_many().unwrap_or_else(|| "unknown machine".to_owned());
        let machine = machines.first().map_or_else(unknown, |machine| machine_name(machine));
        let several = if machines.len() > 1 { " and others" } else { "" };
        match self.sections.iter().filter(|section| section.result.is_some()).collect::<Vec<_>>().as_slice() {
            [one] => format!("{} · {machine}", one.title),
            results => format!("{} · {machine}{several}", format_count(results.len(), "result")),
        }
    }

    /// Returns the table of contents if there are several sections.
    fn contents_markup(&self) -> Markup {
        html! {
            @if self.sections.len() > 1 {
                nav aria-label="Contents" { ul {
                    @for section in &self.sections { li { a href=(format!("#{}", section.id)) { (section.title) } } }
                } }
            }
        }
    }

    /// Returns the machines of the results, each once.
    fn list_machines(&self) -> Vec<&Machine> {
        let mut known: Vec<(String, &Machine)> = Vec::new();
        for machine in self.sections.iter().filter_map(|section| section.result.as_ref()?.machine.as_ref()) {
            let fingerprint = machine.fingerprint();
            if !known.iter().any(|(own, _)| *own == fingerprint) {
                known.push((fingerprint, machine));
            }
        }
        known.into_iter().map(|(_, machine)| machine).collect()
    }

    fn machines_markup(&self) -> Markup {
        html! {
            @for machine in self.list_machines() {
                article {
                    h2 { "The machine: " (machine_name(machine)) }
                    (page::machine_markup(machine))
                    (page::paragraphs_markup(&draw_details(machine, usize::MAX)))
                    dl { @for (name, value) in list_environment(machine) { dt { (name) } dd { (value) } } }
                }
            }
        }
    }

    fn rules_markup(&self) -> Markup {
        html! {
            @if let Some((rules, machine)) = &self.rules {
                article {
                    h2 { (RULES) }
                    (page::table_markup(&rules_grid(rules, machine).whole_table(), Some("Rules")))
                }
            }
        }
    }
}

/// Returns the rules with their evidence, and whether the evidence holds today.
fn rules_grid(rules: &[Rule], machine: &Machine) -> TextGrid {
    let titles = ["rule", "placement", "evidence", "today"];
    let mut grid = TextGrid::new(titles.into_iter().map(|title| GridColumn::text(title, 0)).collect());
    for rule in rules {
        let evidence = rule.evidence.as_ref().map_or_else(|| "none".to_owned(), format_proof);
        let cells = [rule.name.clone(), rule.on.0.to_string(), evidence, describe_validity(rule, machine)];
        grid.add_row(cells.into_iter().map(|cell| StyledLine::new().plain(cell)).collect());
    }
    grid
}

/// Returns the printable name of a machine. The name of its processor is foreign input.
fn machine_name(machine: &Machine) -> String {
    make_printable(&model_name(machine))
}

/// Formats evidence as "experiment 12: +6.1 % [4.2, 8.0]", with a word if it was not measured here.
fn format_proof(evidence: &RuleEvidence) -> String {
    let percent = |share: f64| if share.is_finite() { format_decimal(100.0 * share, 1) } else { "?".to_owned() };
    let sign = if evidence.effect > 0.0 { "+" } else { "" };
    let [low, high] = evidence.interval.map(percent);
    let elsewhere = evidence.origin.origin_word().map_or_else(String::new, |word| format!(", {word}"));
    format!("experiment {}: {sign}{} % [{low}, {high}]{elsewhere}", evidence.experiment, percent(evidence.effect))
}

/// Describes whether a rule's evidence holds on the machine as it is now, and what has changed since.
fn describe_validity(rule: &Rule, machine: &Machine) -> String {
    let changes = rule.evidence.as_ref().map(|evidence| evidence.changes_since(machine));
    let words = match changes.as_deref() {
        None => "unproven".to_owned(),
        Some([]) => "proven".to_owned(),
        Some(changes) => {
            let of = |change: &EvidenceChange| format!("{} was {}, is {}", change.what, change.was, change.is);
            format!("unproven: {}", changes.iter().map(of).collect::<Vec<_>>().join("; "))
        }
    };
    make_printable(&if rule.disabled { format!("disabled; {words}") } else { words })
}

/// Returns the scheduling environment, as names and values.
fn list_environment(machine: &Machine) -> Vec<(String, String)> {
    let mut facts = machine.environment();
    facts.extend(machine.system.hypervisor.clone().map(|name| ("hypervisor".to_owned(), name)));
    facts.into_iter().map(|(name, value)| (make_printable(&name.replace('_', " ")), make_printable(&value))).collect()
}
