//! Arguments of `fleet try`, and the command line of `try` that each node runs.

use std::borrow::Cow;
use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use corewise_model::credentials::hide_in_words;

use crate::app::failure::CommandFailure;
use crate::app::option_values::parse_budget;
use crate::commands::check_try_words;
use crate::commands::fleet::engine_arguments::FleetEngineArguments;

/// Arguments of `fleet try`.
#[derive(Clone, Debug, Args)]
pub struct FleetTryArguments {
    /// How nodes are reached.
    #[command(flatten)]
    pub engine: FleetEngineArguments,
    /// Number of nodes, drawn at random
    #[arg(short = 'N', long = "nodes", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), default_value_t = 16)]
    pub count: u32,
    /// Maximum duration of the whole experiment, such as 30m
    #[arg(help_heading = "How it ends", long, value_name = "DURATION", value_parser = parse_budget, default_value = "1h")]
    pub budget: Duration,
    /// The seed of the random choice and order of nodes [default: from the clock]
    #[arg(help_heading = "How it ends", long, value_name = "N")]
    pub seed: Option<u64>,
    /// The options of `try`.
    #[command(flatten)]
    pub tried: NodeTryArguments,
}

/// Options that every node's `corewise try` gets as they are typed.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "As for `corewise try`")]
pub struct NodeTryArguments {
    /// Placement to try, such as 'all - core:0'; may be repeated. Each node resolves it for itself [default: the placements of `corewise
    /// place --candidates` on the first node]
    #[arg(long, value_name = "EXPR")]
    pub on: Vec<String>,
    /// Memory policy to try; may be repeated
    #[arg(long, value_name = "POLICY")]
    pub memory: Vec<String>,
    /// Number to compare, from the output [default: wall time]
    #[arg(long, value_name = "NAME[=REGEX]")]
    pub metric: Option<String>,
    /// Read the metric and the guards from this file
    #[arg(long, value_name = "FILE")]
    pub metric_file: Option<String>,
    /// Prefer higher values of the metric
    #[arg(long, requires = "metric", conflicts_with = "lower")]
    pub higher: bool,
    /// Prefer lower values of the metric
    #[arg(long, requires = "metric")]
    pub lower: bool,
    /// Metric that must not get worse; lower is better; may be repeated
    #[arg(long, value_name = "NAME[=REGEX]")]
    pub guard: Vec<String>,
    /// Metric that must not get worse; higher is better; may be repeated
    #[arg(long, value_name = "NAME[=REGEX]")]
    pub guard_higher: Vec<String>,
    /// A guard may get worse by less than this [default: 10%]
    #[arg(long, value_name = "PERCENT")]
    pub guard_margin: Option<String>,
    /// Smallest difference that matters, such as 3% [default: 3%; 10% for a metric named like a tail]
    #[arg(long, value_name = "PERCENT")]
    pub margin: Option<String>,
    /// False-positive rate of each kind of claim, such as 5% [default: 5%]
    #[arg(long, value_name = "PERCENT")]
    pub error_rate: Option<String>,
    /// End a run that takes longer than this, and count it as failed [default: never]
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<String>,
    /// Run this in a shell before each run, without timing it
    #[arg(long, value_name = "SCRIPT")]
    pub prepare: Option<String>,
    /// Exit statuses of a run that has not failed, such as 0,2 [default: 0]
    #[arg(long, value_name = "STATUS")]
    pub ok: Option<String>,
    /// Let the node rest this long before each trial [default: a tenth of a trial, from 0.02s to 2s]
    #[arg(long, value_name = "DURATION")]
    pub rest: Option<String>,
    /// Repeat the command until a trial takes this long, and average its runs [default: 0.2s]
    #[arg(long, value_name = "DURATION")]
    pub trial_time: Option<String>,
    /// The command and its arguments, as on the nodes
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

impl NodeTryArguments {
    /// Returns the words that every node gets: options of `try`, and the command.
    ///
    /// # Errors
    /// If `try` would refuse them, or the command is not UTF-8 text.
    pub fn shared_words(&self) -> Result<NodeTryWords, CommandFailure> {
        let command = self.command.iter().map(|word| word.clone().into_string().map_err(refuse_word));
        let (values, flags) = (self.list_values().into_iter(), self.list_flags());
        let options = values.map(|(name, value)| format!("{name}={value}")).chain(flags);
        let words = NodeTryWords { options: options.collect(), command: command.collect::<Result<_, _>>()? };
        words.check_words()?;
        Ok(words)
    }

    /// Returns the options as they are typed.
    pub fn typed_words(&self) -> Vec<String> {
        let values = self.list_values().into_iter().flat_map(|(name, value)| match value.starts_with('-') {
            true => vec![format!("{name}={value}")],
            false => vec![name.to_owned(), value.clone()],
        });
        values.chain(self.list_flags()).collect()
    }

    fn list_values(&self) -> Vec<(&'static str, &String)> {
        let several = [
            ("--on", &self.on),
            ("--memory", &self.memory),
            ("--guard", &self.guard),
            ("--guard-higher", &self.guard_higher),
        ];
        let single = [
            ("--metric", &self.metric),
            ("--metric-file", &self.metric_file),
            ("--guard-margin", &self.guard_margin),
            ("--margin", &self.margin),
            ("--error-rate", &self.error_rate),
            ("--timeout", &self.timeout),
            ("--prepare", &self.prepare),
            ("--ok", &self.ok),
            ("--rest", &self.rest),
            ("--trial-time", &self.trial_time),
        ];
        let values = several.into_iter().flat_map(|(name, values)| values.iter().map(move |value| (name, value)));
        values.chain(single.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)))).collect()
    }

    fn list_flags(&self) -> impl Iterator<Item = String> {
        let flags = [("--higher", self.higher), ("--lower", self.lower)];
        flags.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name.to_owned())
    }
}

/// Words that every node's `corewise try` gets.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct NodeTryWords {
    options: Vec<String>,
    command: Vec<String>,
}

impl NodeTryWords {
    /// Returns the arguments of a visit with this many blocks and this maximum duration.
    pub fn visit_arguments(&self, blocks: u32, budget: Duration) -> Vec<String> {
        let own = ["try", "--json", "--no-store", "--no-confirm", "--blocks"].map(str::to_owned);
        let numbers = [blocks.to_string(), "--budget".to_owned(), format!("{}ms", budget.as_millis())];
        let words = own.into_iter().chain(numbers).chain(self.options.iter().cloned());
        words.chain(std::iter::once("--".to_owned())).chain(self.command.iter().cloned()).collect()
    }

    /// Returns the words as they are stored.
    pub fn hide_credentials(&self) -> Self {
        let hide = |words: &[String]| hide_in_words(words.iter().map(String::as_str)).map(Cow::into_owned).collect();
        Self { options: hide(&self.options), command: hide(&self.command) }
    }

    /// Refuses here what each node would refuse.
    fn check_words(&self) -> Result<(), CommandFailure> {
        let words = ["try".to_owned()].into_iter().chain(self.options.iter().cloned());
        let words = words.chain(std::iter::once("--".to_owned())).chain(self.command.iter().cloned());
        check_try_words(words)
    }
}

fn refuse_word(word: OsString) -> CommandFailure {
    CommandFailure::usage_error(format!("the command is not UTF-8 text: {}", word.display()))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct TypedLine {
        #[command(flatten)]
        tried: NodeTryArguments,
    }

    fn words(line: &[&str]) -> Result<NodeTryWords, CommandFailure> {
        TypedLine::try_parse_from([&["x"], line].concat()).unwrap().tried.shared_words()
    }

    #[test]
    fn every_node_gets_what_was_typed_and_its_own_number_of_blocks() {
        let line =
            ["--on", "all - core:0", "--on", "llc:0", "--metric", "fps", "--margin", "5%", "--", "./app", "--on", "x"];
        let visit = words(&line).unwrap().visit_arguments(4, Duration::from_secs(60));
        let typed = crate::commands::parse_try(visit.iter().cloned()).unwrap();
        assert_eq!(typed.on, ["all - core:0", "llc:0"]);
        assert_eq!(typed.command, ["./app", "--on", "x"].map(OsString::from));
        assert!(typed.blocks == Some(4) && typed.margin == Some(0.05) && typed.no_confirm);
        assert_eq!(visit[..3], ["try", "--json", "--no-store"].map(str::to_owned));
    }

    #[test]
    fn typed_words_are_read_as_the_same_options() {
        let typed = |words: &[String]| {
            let words = ["x"].map(str::to_owned).into_iter().chain(words.iter().cloned());
            TypedLine::try_parse_from(words).unwrap().tried
        };
        let line = ["--on", "all - core:0", "--metric", "fps", "--higher", "--prepare=-v", "--rest", "1s", "./app"];
        let first = typed(&line.map(str::to_owned));
        let words = first.typed_words();
        assert_eq!(words[..2], ["--on", "all - core:0"].map(str::to_owned));
        let again = typed(&[words, ["--", "./app"].map(str::to_owned).to_vec()].concat());
        assert_eq!(again.shared_words().unwrap(), first.shared_words().unwrap());
    }

    #[test]
    fn a_folder_has_no_credentials() {
        let stored = words(&["--prepare", "PGPASSWORD=x psql", "./app", "--password", "x"]).unwrap().hide_credentials();
        let text = serde_json::to_string(&stored).unwrap();
        assert!(text.contains("PGPASSWORD=*** psql") && text.ends_with(r#"["./app","--password","***"]}"#), "{text}");
    }

    #[test]
    fn what_a_node_would_refuse_is_refused_here() {
        for (line, said) in [
            (&["--on", "llc:", "./app"][..], "llc"),
            (&["--margin", "3", "--metric", "speed=(", "./app"], "open group"),
            (&["--timeout", "soon", "./app"], "--timeout"),
        ] {
            let failure = words(line).unwrap_err();
            assert!(failure.what.contains(said), "{line:?}: {}", failure.what);
        }
    }
}
