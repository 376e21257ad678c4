use corewise_model::metric_line;

use super::*;
use crate::app::run::parse_typed;

fn task(words: &[&str]) -> Result<TryTask, String> {
    TryTask::new(parse_typed(&[&["try"], words].concat())?).map_err(|failure| failure.what)
}

fn new(words: &[&str]) -> NewExperiment {
    match task(words).unwrap().subject {
        TrySubject::One(ExperimentSource::New(new)) => *new,
        other => panic!("{other:?}"),
    }
}

fn command(words: &[&str]) -> CommandSubject {
    match new(words).subject {
        SubjectTask::Command(command) => command,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_suggested_line_of_try_is_understood() {
    for (name, command) in suggested_command::examples() {
        // A and B stand for placements that the reader has.
        if command.command() != Some("try") || name == "try_both_of" {
            continue;
        }
        let words: Vec<&str> = command.words()[1..].iter().map(String::as_str).collect();
        let task = parse_typed::<TryArguments>(&words).map(TryTask::new);
        let failure = task.unwrap_or_else(|error| panic!("{name}: {error}")).err();
        assert!(failure.is_none(), "{name}: {}: {failure:?}", command.shell_line());
    }
}

#[test]
fn the_operating_systems_choice_is_one_of_them_only_where_it_is_named_twice() {
    assert!(task(&["--on", "os", "--", "ls"]).is_err());
    let choices = |words: &[&str]| new(words).builder.candidates.choices;
    assert_eq!(choices(&["--on", "os", "--on", "OS", "--", "ls"]), [PlacementChoice::OsDefault]);
    let of_two = ["--on", "0", "--on", "os", "--", "ls", "-l", "--on", "9"];
    assert!(matches!(&choices(&of_two)[..], [PlacementChoice::Placement(text, _)] if text == "0"));
    assert_eq!(command(&of_two).command, ["ls", "-l", "--on", "9"]);
    assert!(choices(&["--", "ls"]).is_empty());
}

#[test]
fn a_metric_has_a_name_and_a_pattern() {
    let metric = new(&["--metric", "rate=([0-9.]+) MB/s", "--higher", "ls"]).builder.metric;
    assert_eq!((metric.name.as_str(), metric.pattern.as_deref()), ("rate", Some("([0-9.]+) MB/s")));
    assert!(metric.higher_is_better);
    let direction = |words: &[&str]| {
        let new = new(words);
        (new.builder.metric.higher_is_better, new.direction_question.map(|question| question.ask_direction("").what))
    };
    assert_eq!(direction(&["--metric", "fps=([0-9]+)", "ls"]), (true, None));
    assert_eq!(direction(&["--metric", "x=([0-9]+) ms", "ls"]), (false, None));
    assert_eq!(direction(&["--metric", "fps=([0-9]+)", "--lower", "ls"]), (false, None));
    let question = || Some("--metric: is more of \"x\" better, or less?".to_owned());
    assert_eq!(direction(&["--metric", "x=([0-9]+)", "ls"]), (false, question()));
    for wrong in ["=x", "rate=", "rate=(", "rate=["] {
        assert!(task(&["--metric", wrong, "ls"]).unwrap_err().starts_with("--metric: "), "{wrong}");
    }
    assert!(task(&["--higher", "ls"]).is_err());
}

#[test]
fn a_metric_line_is_found_by_its_name_and_the_name_says_whether_more_is_better() {
    let metric = |name| new(&["--metric", name, "ls"]).builder.metric;
    assert!(metric("rays_per_second").higher_is_better && !metric("p99_ns").higher_is_better);
    assert_eq!(metric("p99.9_ns").pattern, Some(metric_line::metric_pattern("p99.9_ns")));
    assert_eq!(metric("Requests/sec").pattern, Some(metric_line::metric_pattern("Requests/sec")));
    let question = new(&["--metric", "result", "ls"]).direction_question;
    assert!(question.is_some(), "NAME: 12 may be anything");
    assert!(metric("p99.9_ns").is_tail() && metric("max_ns").is_tail() && !metric("p50_ns").is_tail());
}

#[test]
fn a_metric_file_needs_to_know_what_is_looked_for() {
    let file = |words: &[&str]| task(&[words, &["--metric-file", "out.json", "ls"]].concat());
    assert_eq!(
        command(&["--metric", "fps", "--metric-file", "out.json", "ls"]).metric_file.as_deref(),
        Some("out.json")
    );
    assert!(file(&["--guard", "errors"]).is_ok());
    assert!(file(&[]).unwrap_err().starts_with("--metric-file needs --metric"));
    assert!(file(&["--suite", "review"]).is_err() && file(&["--resume"]).is_err());
}

#[test]
fn slow_runs_are_not_confirmed_in_stretches() {
    assert!(task(&["--confirm", "--what", "mean", "--", "ls"]).is_ok());
    assert!(task(&["--confirm", "--what", "tail", "--", "ls"]).unwrap_err().contains("--what tail"));
}

#[test]
fn tails_have_a_margin_of_their_own() {
    let margin = |words: &[&str]| new(words).builder.policy.margin;
    assert_eq!(margin(&["ls"]), 0.03);
    assert_eq!(margin(&["--metric", "p99.9=([0-9]+)", "ls"]), 0.10);
    assert_eq!(margin(&["--metric", "p99.9=([0-9]+)", "--margin", "2%", "ls"]), 0.02);
    assert_eq!(margin(&["--metric", "p50=([0-9]+)", "ls"]), 0.03);
}

#[test]
fn a_stored_experiment_has_its_command() {
    assert_eq!(task(&["--resume"]).unwrap().subject, TrySubject::One(ExperimentSource::Stored(None)));
    assert_eq!(
        task(&["--resume=7", "--budget", "2m"]).unwrap().subject,
        TrySubject::One(ExperimentSource::Stored(Some(7)))
    );
    assert!(task(&["--resume", "ls"]).is_err() && task(&[]).is_err());
}

#[test]
fn a_picture_is_of_numbers_of_threads() {
    let svg = |words: &[&str]| task(&[&["--svg", "a.svg"], words].concat()).map(|task| task.svg);
    let drawn = Ok(Some(PathBuf::from("a.svg")));
    assert_eq!(svg(&["--threads", "1,2", "--", "ls", "{threads}"]), drawn);
    assert_eq!(svg(&["--resume"]), drawn);
    let others = [&["ls"][..], &["--threads", "2", "ls", "{threads}"], &["--on", "0", "ls"], &["--suite", "review"]];
    for words in others.into_iter().chain([&["--simulate", "truth.toml"][..]]) {
        let told = svg(words).unwrap_err();
        assert!(told.starts_with("--svg needs at least two numbers"), "{words:?}: {told}");
    }
}

#[test]
fn a_suite_has_its_commands_and_goes_on_as_a_whole() {
    let suite = |words: &[&str]| match task(words)?.subject {
        TrySubject::Suite(suite) => Ok(*suite),
        other => Err(format!("{other:?}")),
    };
    let resumed = suite(&["--suite", "review", "--resume"]).unwrap();
    assert!(resumed.resumes && resumed.source == "review" && !suite(&["--suite", "review"]).unwrap().resumes);
    assert_eq!(suite(&["--suite", "review", "--on", "0"]).unwrap().candidates.choices.len(), 1);
    for wrong in [&["--suite", "review", "ls"][..], &["--suite", "review", "--resume=3"], &["--install", "ls"]] {
        assert!(task(wrong).is_err(), "{wrong:?}");
    }
}
