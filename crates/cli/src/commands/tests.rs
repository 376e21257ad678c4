use corewise_machine::SuggestedCommand;

use super::*;

/// Parses a line with the program's definition; placeholders of numbers stand for one.
fn parse_back<T: AsRef<str>>(words: &[T]) -> Result<(), String> {
    let number = |word: &T| match word.as_ref() {
        "N" | "PID" => "1".to_owned(),
        other => other.to_owned(),
    };
    let parsed = build_definition().try_get_matches_from(words.iter().map(number));
    match parsed {
        Err(error) if error.use_stderr() => Err(error.to_string()),
        _ => Ok(()),
    }
}

#[test]
fn every_suggested_command_can_be_typed() {
    for (name, command) in suggested_command::examples() {
        if command.command().is_some() {
            parse_back(command.words()).unwrap_or_else(|error| panic!("{name}: {}\n{error}", command.shell_line()));
        }
    }
}

#[test]
fn what_suggestions_repeat_can_be_typed_with_them() {
    for (name, command) in suggested_command::examples() {
        let own = Some(("keep".to_owned(), ["--user", "--rules", "my.toml"].map(str::to_owned).into()));
        let carried = carried_options(Some(Path::new("a store.db")), Some(Path::new("journals")), own);
        if command.command().is_some() {
            let repeated = suggestion::repeat_options(&command, &carried);
            parse_back(repeated.words()).unwrap_or_else(|error| panic!("{name}: {}\n{error}", repeated.shell_line()));
        }
    }
}

#[test]
fn a_suggestion_repeats_the_places_that_its_command_uses() {
    let carried = carried_options(Some(Path::new("s.db")), Some(Path::new("j")), None);
    let line = |command: SuggestedCommand| suggestion::repeat_options(&command, &carried).shell_line();
    assert_eq!(line(suggested_command::first_survey()), "corewise --store s.db");
    assert_eq!(line(suggested_command::undo()), "corewise undo --journal j");
    assert_eq!(line(suggested_command::topology()), "corewise topology");
    assert_eq!(line(suggested_command::run_on("llc:0")), "corewise run --on llc:0 --store s.db --journal j -- ./app");
}

/// The examples of a command's help, and of the commands below it: lines of two spaces, up to what explains them.
fn examples_of_help(command: &clap::Command, found: &mut Vec<String>) {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let help = help.replace(" \\\n    ", " ");
    let lines = help.lines().filter(|line| line.starts_with("  corewise"));
    found.extend(lines.map(|line| line.trim().split("  ").next().unwrap_or_default().to_owned()));
    command.get_subcommands().for_each(|inner| examples_of_help(inner, found));
}

/// Calls `look` with each command whose help is printed, with the options that every command has.
fn each_command(definition: &clap::Command, look: &mut impl FnMut(&clap::Command)) {
    look(definition);
    definition.get_subcommands().for_each(|inner| each_command(inner, look));
}

#[test]
fn help_of_many_options_is_in_groups() {
    let mut program = build_definition();
    program.build();
    each_command(&program, &mut |command| {
        let visible = command.get_opts().filter(|option| !option.is_hide_set());
        let options: Vec<&clap::Arg> =
            visible.filter(|option| !["help", "version"].contains(&option.get_id().as_str())).collect();
        let group = |heading| options.iter().filter(|option| option.get_help_heading() == heading).count();
        if options.len() > 15 && command.get_name() != "corewise" {
            let name = command.get_bin_name().unwrap_or_default();
            assert_eq!(group(None), 0, "{name}: options without a heading");
            let largest = options.iter().map(|option| group(option.get_help_heading())).max();
            assert!(largest <= Some(15), "{name}: {largest:?} under one heading");
        }
    });
}

#[test]
fn one_word_stands_for_one_thing() {
    let mut program = build_definition();
    program.build();
    each_command(&program, &mut |command| {
        let name = command.get_bin_name().unwrap_or_default().to_owned();
        let option = |long: &str| command.get_opts().find(|option| option.get_long() == Some(long));
        assert!(option("for").is_none(), "{name}: how long is --budget");
        for option in ["anyway", "trust"] {
            let found = command.get_opts().find(|found| found.get_long() == Some(option));
            assert!(found.is_none_or(|found| !found.is_hide_set()), "{name}: messages recommend --{option}");
        }
        for long in ["format", "as"] {
            let values = option(long).map(clap::Arg::get_possible_values).unwrap_or_default();
            assert!(values.iter().all(|value| value.get_name() != "json"), "{name}: JSON is --json");
        }
    });
}

#[test]
fn every_example_in_help_can_be_typed() {
    let mut examples = Vec::new();
    examples_of_help(&build_definition(), &mut examples);
    assert!(examples.len() > 60, "{}", examples.len());
    for example in examples {
        let line = example.split(" > ").next().and_then(|line| line.split(" >> ").next()).unwrap_or_default();
        let words = shell_words(line);
        parse_back(&words).unwrap_or_else(|error| panic!("{example}\n{error}"));
    }
}

/// The words of a line, quotation marks taken away.
fn shell_words(line: &str) -> Vec<String> {
    let (mut words, mut is_quoted) = (vec![String::new()], false);
    for character in line.chars() {
        match character {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn words(line: &str) -> Vec<OsString> {
    line.split(' ').map(OsString::from).collect()
}

#[test]
fn the_definition_holds_together() {
    build_definition().debug_assert();
}

#[test]
fn help_lists_every_command_once_in_its_group() {
    let help = build_definition().render_help().to_string();
    for name in all_commands().map(ListedCommand::definition).filter(|command| !command.is_hide_set()) {
        let line = format!("\n  {:<9} ", name.get_name());
        assert_eq!(help.matches(&line).count(), 1, "{line} in\n{help}");
    }
    assert!(help.contains("\nRecords\n  history"), "{help}");
    assert!(!help.contains("schema"), "{help}");
}

#[test]
fn survey_options_stand_on_either_side_of_the_word() {
    for line in ["corewise --quick", "corewise survey --quick", "corewise --quick survey", "corewise history --all"] {
        assert!(TypedCommand::parse(&words(line)).is_ok(), "{line}");
    }
    let both = SurveyArguments { quick: true, ..SurveyArguments::default() };
    assert_eq!(both.clone().join_with(SurveyArguments::default()).unwrap(), both);
    let budget = SurveyArguments { budget: Some(std::time::Duration::from_secs(9)), ..SurveyArguments::default() };
    assert_eq!(both.join_with(budget).unwrap_err().exit, CommandExit::Usage);
}

/// Parses a line by its own definition and by all: the options, or the text that is printed instead.
fn both(line: &str) -> [String; 2] {
    let words = words(line);
    let together = build_definition().try_get_matches_from(&words).and_then(|matches| TypedCommand::of_line(&matches));
    [TypedCommand::parse(&words), together].map(|parsed| match parsed {
        Ok(typed) => format!("{:?} {:?}", typed.common, typed.own.filter(|(_, options)| !options.is_empty())),
        Err(error) => error.render().to_string(),
    })
}

#[test]
fn a_line_means_the_same_by_the_definition_of_its_command_and_by_all() {
    let run = [
        "--on 0 -- ls -l",
        "--on 0 --memory bind:0 --enforce exact -v --no-store ls --json",
        "--on 0 --one-per-thread --cgroup --color never ls",
        "--on 0 --one-per-thread --roles a=b:0 ls",
        "--on 0",
        "--onn 0 ls",
        "--on 0 --enforce hard ls",
        "--on 0 --memory far ls",
        "--width 5 --on 0 ls",
    ];
    let every =
        ["", " --help", " -h", " help", " --version", " --jsom", " --json --store x", " nothing of it", " --width 5"];
    let mut lines: Vec<String> = run.iter().map(|rest| format!("corewise run {rest}")).collect();
    lines.extend(all_commands().flat_map(|room| every.iter().map(move |rest| format!("corewise {}{rest}", room.name))));
    lines.extend(
        ["", " --quick", " --version", " -V", " --help", " surve", " --quik", " help try"]
            .map(|rest| format!("corewise{rest}")),
    );
    examples_of_help(&build_definition(), &mut lines);
    assert!(lines.len() > 300, "{}", lines.len());
    for line in lines {
        let [short, long] = both(&line);
        assert_eq!(short, long, "{line}");
    }
}
