//! `corewise completions`: prints the script with which a shell completes commands and options.

use clap::Parser;
use clap_complete::{Shell, generate};

use super::build_definition;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output::print_text;
use crate::app::run::RunnableCommand;
use crate::app::settings::ProgramSettings;

const EXAMPLES: &str = "Examples:
  corewise completions bash > ~/.local/share/bash-completion/completions/corewise
  corewise completions zsh > ~/.zfunc/_corewise        if fpath has ~/.zfunc
  corewise completions fish > ~/.config/fish/completions/corewise.fish
  corewise completions powershell >> $PROFILE          in PowerShell";

/// Print completions of commands and options for a shell
#[derive(Clone, Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub struct CompletionsArguments {
    /// Shell to print completions for
    pub shell: Shell,
}

impl RunnableCommand for CompletionsArguments {
    fn run(self, _: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let mut script = Vec::new();
        generate(self.shell, &mut build_definition(), "corewise", &mut script);
        print_text(String::from_utf8_lossy(&script).trim_end())?;
        Ok(CommandExit::Done)
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn every_shell_completes_commands_and_their_options() {
        for shell in Shell::value_variants() {
            let mut script = Vec::new();
            generate(*shell, &mut build_definition(), "corewise", &mut script);
            let script = String::from_utf8(script).unwrap();
            for word in ["survey", "completions", "per-thread", "explain"] {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
    }
}
