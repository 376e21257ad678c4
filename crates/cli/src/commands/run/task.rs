//! The task of `run`.

use corewise_lab::placement::{PlacementRequest, ThreadSpread, refuse_named};
use corewise_machine::placement::format_list;
use corewise_machine::placement::hold::MaskEnforcement;
use corewise_machine::placement::roles::parse_roles;
use corewise_model::keep::{Rule, ThreadRule};

use super::arguments::{EnforcementName, RunArguments};
use crate::app::child::task::RunTask;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::machine::this_machine;
use crate::app::placement;
use crate::app::placing::resolve_here;
use crate::app::ranks::{rank_expression, split_ranks};
use crate::app::rules::find_rules;
use crate::app::settings::ProgramSettings;

impl RunArguments {
    /// Returns the arguments with the placement of the named rule: this user's own, or the system's.
    ///
    /// # Errors
    /// There is no such rule.
    pub fn with_rule(self, settings: &ProgramSettings) -> Result<Self, CommandFailure> {
        let Some(name) = &self.rule else { return Ok(self) };
        let read =
            |of_system| -> Result<Rule, CommandFailure> { Ok(find_rules(None, of_system, settings)?.read_rule(name)?) };
        let rule = read(settings.is_root).or_else(|failure| read(!settings.is_root).map_err(|_| failure))?;
        let role = |(number, threads): (usize, &ThreadRule)| {
            format!("{number}={}:{}", threads.name.regex_text(), threads.on.0)
        };
        let roles: Vec<String> = rule.threads.iter().enumerate().map(role).collect();
        Ok(Self {
            on: Some(rule.on.0.to_string()),
            memory: rule.memory.map(|memory| memory.0),
            roles: (!roles.is_empty()).then(|| roles.join(",")),
            ..self
        })
    }

    /// Returns the arguments with the cpus of the rank.
    ///
    /// # Errors
    /// No launcher has said which rank this is, or there are more ranks than cpus.
    pub fn with_rank(self, settings: &ProgramSettings) -> Result<Self, CommandFailure> {
        let Some(rank) = self.rank else { return Ok(self) };
        let (rank, ranks) = rank.read_numbers(|name| std::env::var(name).ok())?;
        let machine = this_machine()?;
        let resolve = |text: &str| resolve_here(&placement::parse_expression(text)?, &machine, settings);
        let whole = resolve_here(&rank_expression(self.on.as_deref())?, &machine, settings)?;
        refuse_named(&whole.left_out)?;
        let parts = split_ranks(&machine, &whole.cpus, (ranks, self.near.is_some()), resolve)?;
        let own = parts.get(rank).map(|order| format_list(order));
        Ok(Self { on: own, ..self })
    }

    /// Interprets the arguments.
    ///
    /// # Errors
    /// An expression or a role cannot be read.
    pub fn into_task(self) -> Result<RunTask, CommandFailure> {
        let on = placement::parse_expression(self.on.as_deref().unwrap_or_default())?;
        let spread = match (self.one_per_thread, self.roles) {
            (true, _) => ThreadSpread::OnePerThread,
            (false, Some(text)) => ThreadSpread::Roles(
                parse_roles(&text).map_err(|error| placement::explain_placement_error(CommandExit::Usage, error))?,
            ),
            (false, None) => ThreadSpread::Together,
        };
        let mut command = self.command.into_iter();
        let program = command.next().ok_or_else(|| CommandFailure::usage_error("there is no command to run"))?;
        Ok(RunTask {
            wish: PlacementRequest { on, memory: self.memory, spread, in_group: self.cgroup },
            enforcement: self.enforce.map(|name| match name {
                EnforcementName::Boundary => MaskEnforcement::Boundary,
                EnforcementName::Exact => MaskEnforcement::Exact,
            }),
            is_soft: self.soft,
            at_full_speed: self.full_speed,
            verbose: self.verbose,
            program,
            arguments: command.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::run::parse_typed;

    fn task(words: &[&str]) -> Result<RunTask, String> {
        parse_typed::<RunArguments>(&[&["run"], words].concat())?.into_task().map_err(|failure| failure.what)
    }

    #[test]
    fn what_stands_behind_the_command_belongs_to_it() {
        for words in
            [&["--on", "0", "--", "ls", "-v", "--json", "--", "x"][..], &["--on", "0", "ls", "-v", "--json", "--", "x"]]
        {
            let task = task(words).unwrap();
            assert_eq!((task.program, task.verbose), ("ls".into(), false));
            assert_eq!(task.arguments, ["-v", "--json", "--", "x"]);
        }
        assert!(task(&["--on", "0", "--enforcee", "boundary", "--", "ls"]).unwrap_err().contains("--enforcee"));
    }

    #[test]
    fn nothing_is_watched_that_need_not_be() {
        let watched = |options: &[&str]| task(&[&["--on", "0"], options, &["ls"]].concat()).unwrap().is_watched();
        assert!(!watched(&[]) && !watched(&["--memory", "bind:0"]));
        for options in [&["-v"][..], &["--one-per-thread"], &["--roles", "a=b:0"], &["--enforce", "exact"]] {
            assert!(watched(options), "{options:?}");
        }
        let grouped = task(&["--on", "0", "--cgroup", "ls"]).unwrap();
        assert!(grouped.is_attended() && !grouped.is_watched());
    }

    #[test]
    fn mistakes_are_found_before_anything_starts() {
        assert!(task(&["--on", "lcc:0", "ls"]).unwrap_err().contains("lcc:0\n"));
        assert!(task(&["--on", "0", "--roles", "a=b", "ls"]).unwrap_err().contains("a=b\n"));
        assert!(task(&["--on", "0", "--memory", "near:0", "ls"]).unwrap_err().contains("expected local, bind:NODES"));
        assert!(
            task(&["--on", "0", "--roles", "a=b:0", "--one-per-thread", "ls"]).unwrap_err().contains("cannot be used")
        );
        assert!(task(&["--on", "0"]).unwrap_err().contains("<COMMAND>..."));
        assert!(task(&["ls"]).unwrap_err().contains("--on <EXPR>"));
    }
}
