//! `corewise man`: prints manual pages, made from the definition of the command line.

use std::io::{self, Write};

use clap::{Command, Parser};
use clap_mangen::Man;

use super::build_definition;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output::print_text;
use crate::app::run::RunnableCommand;
use crate::app::settings::ProgramSettings;
use crate::draw::printable::make_printable;

const EXAMPLES: &str = "Examples:
  corewise man > corewise.1            the page of the program; `man ./corewise.1` shows it
  corewise man try > ~/.local/share/man/man1/corewise-try.1";

/// Print a manual page
#[derive(Clone, Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub struct ManArguments {
    /// Command to print the page of [default: the program]
    #[arg(value_name = "NAME")]
    pub command_name: Option<String>,
}

impl RunnableCommand for ManArguments {
    fn run(self, _: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let page = match write_page(self.command_name.as_deref()) {
            Some(page) => page.map_err(|error| CommandFailure::new(CommandExit::Internal, error))?,
            None => {
                let name = make_printable(self.command_name.as_deref().unwrap_or_default());
                return Err(CommandFailure::usage_error(format!("corewise has no command {name}")));
            }
        };
        print_text(page.trim_end())?;
        Ok(CommandExit::Done)
    }
}

/// Returns the page of the program or of a command; `None` if there is no such command.
fn write_page(command_name: Option<&str>) -> Option<io::Result<String>> {
    let mut definition = build_definition();
    definition.build();
    let definition = match command_name {
        Some(name) => definition.find_subcommand(name)?.clone().version(env!("CARGO_PKG_VERSION")),
        None => definition,
    };
    Some(render_page(&definition))
}

fn render_page(definition: &Command) -> io::Result<String> {
    let man = Man::new(definition.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if definition.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(examples) = definition.get_after_help() {
        render_as_typed(&examples.to_string(), &mut page)?;
    }
    man.render_version_section(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// Writes examples with their columns: lines that begin at the margin are headings of sections.
fn render_as_typed(text: &str, page: &mut Vec<u8>) -> io::Result<()> {
    for line in text.lines() {
        let escaped = line.replace('\\', "\\e").replace('-', "\\-");
        if line.starts_with([' ', '\t']) || line.is_empty() {
            // A line that begins with a dot or a quote would be a request.
            writeln!(page, "\\&{escaped}")?;
        } else {
            writeln!(page, ".fi\n.SH \"{}\"\n.nf", escaped.trim_end_matches(':').to_uppercase())?;
        }
    }
    writeln!(page, ".fi")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::all_commands;

    #[test]
    fn every_command_has_a_page_with_its_options_and_examples() {
        for name in all_commands().map(|room| room.name) {
            let page = write_page(Some(name)).expect("a listed command").unwrap();
            assert!(
                page.contains(&format!(".TH corewise\\-{name} 1")) || page.contains(&format!(".TH corewise-{name} 1")),
                "{page}"
            );
            assert!(page.contains("\\-\\-json") || page.contains("\\-\\-store"), "{name}: {page}");
        }
        let page = write_page(Some("try")).expect("a command").unwrap();
        assert!(page.contains("\\-\\-margin") && page.contains("EXAMPLES"), "{page}");
        assert!(write_page(Some("nothing")).is_none());
    }
}
