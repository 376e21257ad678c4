//! The whole page: what it reports one after the other, each with its answer first, and the data at the end.

use corewise_model::keep::Rule;
use corewise_model::{CpuSet, Machine};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::draw::machine::model_name;
use crate::draw::number::count;
use crate::draw::page;
use crate::draw::text::Line;
use crate::shell::artifact::Reported;
use crate::shell::embedded::element;

/// How it looks: in a window of any width, in the dark, and on paper.
const STYLE: &str = include_str!("page.css");

/// What a page is made of.
pub struct Page {
    /// What it reports.
    pub results: Vec<Reported>,
    /// What changed between two of a kind.
    pub changes: Vec<Changes>,
    /// The rules of this user.
    pub rules: Vec<Rule>,
}

/// What changed between two of a kind.
pub struct Changes {
    /// In the lines of the terminal.
    pub lines: Vec<Line>,
}

impl Page {
    /// The page as HTML: without a script, and with nothing that lies elsewhere.
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
                        @for (index, result) in self.results.iter().enumerate() {
                            article id=(anchor(result)) {
                                h2 { (result.title) }
                                (result.story.markup(index))
                            }
                        }
                        @for changes in &self.changes { article { h2 { "What changed" } (page::paragraphs(&changes.lines)) } }
                        (self.machines())
                        (self.rules())
                    }
                    footer {
                        p {
                            "Made by corewise " (env!("CARGO_PKG_VERSION")) ". This page holds the observations that everything on it was computed from; "
                            code { "corewise history import FILE" } " takes them into another history."
                        }
                    }
                    @for result in &self.results {
                        @match element(result.schema, &result.data) {
                            Some(element) => { (PreEscaped(element)) },
                            None => { p { "The observations of " (result.title) " are too large for a page: " code { "corewise history show " (result.number) " --json" } " prints them." } },
                        }
                    }
                }
            }
        };
        page.into_string()
    }

    fn title(&self) -> String {
        match self.results.as_slice() {
            [one] => format!(
                "{} · {}",
                one.title,
                one.machine.as_ref().map_or_else(|| "unknown machine".to_owned(), model_name)
            ),
            several => format!("corewise: {}", count(several.len(), "result")),
        }
    }

    /// Where everything is, where there is more than one thing.
    fn contents(&self) -> Markup {
        html! {
            @if self.results.len() > 1 {
                nav aria-label="Contents" { ul {
                    @for result in &self.results { li { a href=(format!("#{}", anchor(result))) { (result.title) } } }
                } }
            }
        }
    }

    /// The machines that it is about, each once.
    fn machines(&self) -> Markup {
        let mut known: Vec<(String, &Machine)> = Vec::new();
        for machine in self.results.iter().filter_map(|result| result.machine.as_ref()) {
            let fingerprint = machine.fingerprint();
            if !known.iter().any(|(own, _)| *own == fingerprint) {
                known.push((fingerprint, machine));
            }
        }
        html! {
            @for (_, machine) in &known {
                article {
                    h2 { "The machine: " (model_name(machine)) }
                    (page::machine(machine))
                    @for (word, cpus) in left_out(machine) { p { (word) ": " (cpus) } }
                    (environment(machine))
                }
            }
        }
    }

    fn rules(&self) -> Markup {
        html! {
            @if !self.rules.is_empty() {
                article {
                    h2 { "Rules that keep placements" }
                    div.table tabindex="0" role="group" aria-label="Rules" { table {
                        thead { tr { th scope="col" { "rule" } th scope="col" { "placement" } th scope="col" { "evidence" } } }
                        tbody { @for rule in &self.rules { tr {
                            td { (rule.name) }
                            td { code { (rule.on.0) } }
                            td { @match &rule.evidence {
                                Some(evidence) => { "experiment " (evidence.experiment) },
                                None => { "none: unproven" },
                            } }
                        } } }
                    } }
                }
            }
        }
    }
}

/// What is switched off, set apart, or not for whoever measured.
fn left_out(machine: &Machine) -> impl Iterator<Item = (&'static str, CpuSet)> {
    let sets = [
        ("Offline", machine.offline()),
        ("Isolated", machine.isolated.clone()),
        ("Not allowed", machine.online.difference(&machine.allowed)),
    ];
    sets.into_iter().filter(|(_, cpus)| !cpus.is_empty())
}

/// What decides how the system schedules.
fn environment(machine: &Machine) -> Markup {
    let system = &machine.system;
    let facts = [
        ("Kernel", system.kernel.clone()),
        ("Hypervisor", system.hypervisor.clone()),
        ("Microcode", machine.processor.microcode.clone()),
    ];
    html! {
        dl { @for (name, value) in facts.into_iter().filter_map(|(name, value)| Some((name, value?))) { dt { (name) } dd { (value) } } }
    }
}

fn anchor(result: &Reported) -> String {
    format!("{}-{}", result.kind, result.number)
}
