//! Suggested commands, each built in one place: [`examples`] has one of each, and a test of the program parses them.

use std::fmt::Display;
use std::time::Duration;

use crate::CpuSet;
/// A suggested command line: the program and its arguments, not yet quoted for a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "json",
    derive(serde::Serialize, schemars::JsonSchema),
    schemars(with = "String"),
    serde(into = "String")
)]
pub struct SuggestedCommand {
    words: Vec<String>,
}

/// Characters that need no quotes in a shell, besides letters and digits.
const PLAIN_CHARACTERS: &str = "-_./=,:@%+";

impl SuggestedCommand {
    /// Returns the program and its arguments.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns the command of corewise, such as "history"; `None` for another program.
    pub fn command(&self) -> Option<&str> {
        match &self.words[..] {
            [program] if program == PROGRAM => Some(DEFAULT_COMMAND),
            [program, command, ..] if program == PROGRAM && command.starts_with("--") => Some(DEFAULT_COMMAND),
            [program, command, ..] if program == PROGRAM => Some(command),
            _ => None,
        }
    }

    /// Returns the line as it is typed in a shell.
    ///
    /// # Examples
    /// ```
    /// use corewise_machine::suggested_command;
    ///
    /// let command = suggested_command::run_on("all - core:0");
    /// assert_eq!(command.words()[..4], ["corewise", "run", "--on", "all - core:0"]);
    /// assert_eq!(command.shell_line(), "corewise run --on 'all - core:0' -- ./app");
    /// assert_eq!(command.command(), Some("run"));
    /// ```
    pub fn shell_line(&self) -> String {
        self.words.iter().map(|word| quote_word(word)).collect::<Vec<_>>().join(" ")
    }

    /// Returns the line between backquotes, for use in a sentence.
    pub fn quoted_line(&self) -> String {
        format!("`{}`", self.shell_line())
    }

    /// Adds options before `--` and the words after it.
    #[must_use]
    pub fn with_options(mut self, options: impl IntoIterator<Item = String>) -> Self {
        let end = self.words.iter().position(|word| word == "--").unwrap_or(self.words.len());
        self.words.splice(end..end, options);
        self
    }

    fn with_flag(self, name: &str) -> Self {
        self.with_options([name.to_owned()])
    }

    fn flag_if(self, is_set: bool, name: &str) -> Self {
        if is_set { self.with_flag(name) } else { self }
    }

    fn with_option(self, name: &str, value: impl Display) -> Self {
        self.with_options([name.to_owned(), value.to_string()])
    }

    fn option_if(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.with_option(name, value),
            None => self,
        }
    }

    fn with_argument(mut self, value: impl Display) -> Self {
        self.words.push(value.to_string());
        self
    }

    fn with_program<T: AsRef<str>>(mut self, program: &[T]) -> Self {
        self.words.push("--".to_owned());
        self.words.extend(program.iter().map(|word| word.as_ref().to_owned()));
        self
    }
}

impl From<SuggestedCommand> for String {
    fn from(command: SuggestedCommand) -> Self {
        command.shell_line()
    }
}

/// Name of the program.
pub const PROGRAM: &str = "corewise";
/// The command that runs if none is named.
const DEFAULT_COMMAND: &str = "survey";
/// Placeholder for the user's program.
const APP: [&str; 1] = ["./app"];
/// Placeholder for the user's program in messages about the command line.
const COMMAND: [&str; 1] = ["COMMAND"];

fn corewise_command(command: &str) -> SuggestedCommand {
    other_program(&format!("{PROGRAM} {command}"))
}

fn other_program(line: &str) -> SuggestedCommand {
    SuggestedCommand { words: line.split(' ').map(str::to_owned).collect() }
}

/// Quotes a word for a POSIX shell, which then reads it as it is.
pub fn quote_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || PLAIN_CHARACTERS.contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Options of an earlier `tail`, to run it again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TailOptions {
    /// The cpus, if not all allowed ones.
    pub cpus: Option<CpuSet>,
    /// True if tracepoints named the causes.
    pub explains: bool,
    /// True if the loop ran before all other tasks.
    pub is_fifo: bool,
    /// Threshold in nanoseconds, if not the default.
    pub threshold_ns: Option<u64>,
    /// The piece of work, if not the default.
    pub work: Option<String>,
}

/// Formats a duration in its largest unit that needs no fraction, as options take it.
fn format_duration(nanoseconds: u64) -> String {
    let units =
        [(3_600_000_000_000, "h"), (60_000_000_000, "m"), (1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    match units.into_iter().find(|(size, _)| nanoseconds.is_multiple_of(*size)) {
        Some((size, unit)) => format!("{}{unit}", nanoseconds / size),
        None => format!("{nanoseconds}ns"),
    }
}

/// Defines the constructors of suggested commands, each with an example of its arguments, and [`examples`] of all.
macro_rules! suggestions {
    ($($name:ident($($argument:ident: $type:ty = $example:expr),*) => $command:expr;)+) => {
        $(
            #[doc = concat!("Suggests `", stringify!($command), "`.")]
            pub fn $name($($argument: $type),*) -> SuggestedCommand {
                $command
            }
        )+

        /// Returns an example of each suggested command, with the name of its constructor.
        pub fn examples() -> Vec<(&'static str, SuggestedCommand)> {
            vec![$((stringify!($name), $name($($example),*))),+]
        }
    };
}

suggestions! {
    // Survey
    help() => corewise_command("--help");
    first_survey() => other_program(PROGRAM);
    survey() => corewise_command("survey");
    survey_longer(cpus: Option<&CpuSet> = Some(&CpuSet::from_cpu(1)), budget: &str = "2m") =>
        corewise_command("survey").option_if("--cpus", cpus).with_option("--budget", budget);
    survey_of_cpus(cpus: &str = "LIST") => corewise_command("survey").with_option("--cpus", cpus);
    topology() => corewise_command("topology");
    topology_devices() => corewise_command("topology --devices");
    topology_machines() => corewise_command("topology --machine list");
    topology_of(machine: &str = "2990wx") => corewise_command("topology").with_option("--machine", machine);
    tail() => corewise_command("tail");
    tail_explain() => corewise_command("tail --explain");
    tail_explain_cpus(cpus: &str = "0-3") => corewise_command("tail --explain").with_option("--cpus", cpus);
    tail_record() => corewise_command("tail --explain --record FILE");
    tail_again(how: &TailOptions = &TailOptions { work: Some("syscall".to_owned()), threshold_ns: Some(5000), ..TailOptions::default() }, budget: &str = "40s") =>
        corewise_command("tail")
            .option_if("--cpus", how.cpus.as_ref())
            .flag_if(how.explains, "--explain")
            .flag_if(how.is_fifo, "--fifo")
            .option_if("--threshold", how.threshold_ns.map(format_duration))
            .with_option("--budget", budget)
            .option_if("--work", how.work.as_ref());
    links() => corewise_command("links");
    links_json() => corewise_command("links --json");
    links_simulated(file: &str = "map.csv", seed: u64 = 1) =>
        corewise_command("links").with_option("--simulate", file).with_option("--seed", seed);
    links_import(file: &str = "map.csv") => corewise_command("links import").with_argument(file);
    links_compare(before: &str = "before.csv", after: &str = "after.csv") =>
        corewise_command("links compare").with_argument(before).with_argument(after);
    links_import_in(unit: &str = "us") => corewise_command("links import FILE").with_option("--unit", unit);
    links_show(number: &str = "N") => corewise_command("links show").with_argument(number);
    memory() => corewise_command("memory");
    memory_longer(budget: &str = "5m") => corewise_command("memory").with_option("--budget", budget);
    memory_import(file: &str = "mlc.txt") => corewise_command("memory").with_option("--import", file);
    memory_simulated(machine: &str = "fx-8150", seed: u64 = 1) =>
        corewise_command("memory").with_option("--simulate", machine).with_option("--seed", seed);
    talk(program: &[String] = &["./app".to_owned()]) => corewise_command("talk").with_program(program);
    talk_running(processes: &[u32] = &[4711]) =>
        processes.iter().fold(corewise_command("talk"), |command, process| command.with_option("--pid", process));
    talk_plan(file: &str = "app.json") => corewise_command("talk").with_option("--plan", file);
    worth() => corewise_command("worth");
    fleet_survey_hosts(hosts: &str = "hosts.txt") => corewise_command("fleet survey").with_option("--hosts", hosts);
    fleet_survey_slurm() => corewise_command("fleet survey --slurm");
    fleet_again(words: &[String] = &["survey".to_owned(), "--hosts".to_owned(), "hosts.txt".to_owned(), "--budget".to_owned(), "30s".to_owned()]) =>
        corewise_command("fleet").with_options(words.iter().cloned());
    fleet_again_with_visits(words: &[String] = &["survey".to_owned(), "--slurm".to_owned()], visits: usize = 9) =>
        corewise_command("fleet").with_options(words.iter().cloned()).with_option("--visits", visits);
    fleet_visit(budget: Duration = Duration::from_secs(30)) =>
        corewise_command("fleet visit").with_option("--budget", format_duration(budget.as_nanos() as u64));
    fleet_report() => corewise_command("fleet report");
    fleet_add_from_pipe() => corewise_command("fleet add -");
    fleet_add_files(files: &[String] = &["visits-1.txt".to_owned(), "visits-2.txt".to_owned()]) =>
        files.iter().fold(corewise_command("fleet add"), |command, file| command.with_argument(file));
    watch_and_save() => corewise_command("watch --save FILE");
    doctor() => corewise_command("doctor");

    // Try
    try_command() => corewise_command("try").with_program(&COMMAND);
    try_on(places: &[String] = &["llc:0".to_owned(), "pack(4, group)".to_owned()]) =>
        places.iter().fold(corewise_command("try"), |command, place| command.with_option("--on", place)).with_program(&APP);
    try_talk(program: &[String] = &["./app".to_owned()]) => corewise_command("try --talk").with_program(program);
    try_talk_running(processes: &[u32] = &[4711]) =>
        processes.iter().fold(corewise_command("try --talk"), |command, process| command.with_option("--pid", process)).with_option("--metric", "run-delay");
    try_variants() => corewise_command("try").with_option("--variant", "old=./a.out").with_option("--variant", "new=./b.out");
    try_both_of() => corewise_command("try --on A --on B").with_program(&COMMAND);
    try_near(device: &str = "eth0") => corewise_command("try").with_option("--near", device).with_program(&APP);
    try_threads(counts: [usize; 2] = [4, 8]) =>
        corewise_command("try").with_option("--threads", counts.map(|count| count.to_string()).join(",")).with_program(&["./app", "-t", "{threads}"]);
    try_threads_drawn() =>
        corewise_command("try --threads 1,2,4,8 --svg scaling.svg").with_program(&["./app", "-t", "{threads}"]);
    try_process(process: u32 = 4711) => corewise_command("try").with_option("--pid", process).with_option("--metric", "run-delay");
    try_suite(suite: &str = "review", places: &[String] = &["all - core:0".to_owned()]) =>
        places.iter().fold(corewise_command("try").with_option("--suite", suite), |command, place| command.with_option("--on", place));
    try_suite_install() => corewise_command("try --suite review --install");
    try_suite_resume() => corewise_command("try --suite SUITE --resume");
    try_resume(number: i64 = 12) => corewise_command("try").with_flag(&format!("--resume={number}"));
    try_resume_over_boots(number: i64 = 12, boots: u32 = 3) => corewise_command("try").with_flag(&format!("--resume={number}")).with_option("--boots", boots);
    try_again(number: i64 = 12) => corewise_command("try").with_option("--again", number);
    try_with(options: &[String] = &["--on".to_owned(), "all - core:0".to_owned(), "--higher".to_owned(), "--metric".to_owned(), "fps".to_owned()], program: &[String] = &["./game".to_owned(), "two words".to_owned()]) =>
        corewise_command("try").with_options(options.iter().cloned()).with_program(program);
    try_with_options(options: &[String] = &["--variant".to_owned(), "old=./a.out".to_owned(), "--variant".to_owned(), "new=./b.out".to_owned()]) =>
        corewise_command("try").with_options(options.iter().cloned());
    try_placement(place: &str = "llc:0") => corewise_command("try").with_option("--on", place).with_program(&COMMAND);
    try_to_prove(name: &str = "my-server") => corewise_command("try").with_option("--prove", name).with_program(&APP);
    place_help() => corewise_command("place --help");
    doctor_isolation(cpus: &str = "2-7") => corewise_command("doctor").with_option("--isolation", cpus);
    place_who(cpus: &str = "llc:0") => corewise_command("place").with_argument(cpus).with_flag("--who");
    place_json() => corewise_command("place EXPR --json");
    place_cpus(cpus: &CpuSet = &CpuSet::first_cpus(4)) => corewise_command("place").with_argument(cpus);
    place_cpus_of(expression: &str = "core:0") => corewise_command("place").with_argument(expression);
    place_from(options: &[String] = &["--from".to_owned(), "taskset".to_owned()], text: &[String] = &["-c".to_owned(), "0-3".to_owned()]) =>
        corewise_command("place").with_options(options.iter().cloned()).with_program(text);
    article() => corewise_command("article NAME");
    article_quickly() => corewise_command("article NAME --quick");
    article_all() => corewise_command("article all");
    article_printed() => corewise_command("article core0 --print");

    fleet_try_with(options: &[String] = &["--hosts".to_owned(), "hosts.txt".to_owned(), "--on".to_owned(), "llc:0".to_owned()], nodes: usize = 16, budget: Duration = Duration::from_hours(1), program: &[String] = &["./app".to_owned()]) =>
        corewise_command("fleet try").with_options(options.iter().cloned()).with_option("--nodes", nodes).with_option("--budget", format_duration(budget.as_nanos() as u64)).with_program(program);
    fleet_try_hosts() => corewise_command("fleet try --hosts hosts.txt --on llc:0").with_program(&APP);
    fleet_try(places: &[String] = &["llc:0".to_owned()], program: &[String] = &["./app".to_owned()]) =>
        places.iter().fold(corewise_command("fleet try --slurm"), |command, place| command.with_option("--on", place)).with_program(program);

    // Keep
    run_on(place: &str = "all - core:0") => corewise_command("run").with_option("--on", place).with_program(&APP);
    run_with_memory(policy: &str = "bind:0") => corewise_command("run --on all").with_option("--memory", policy).with_program(&APP);
    run_winner(on: &str = "llc:0", memory: Option<&str> = Some("bind:0"), roles: Option<&str> = Some("io=^io-:0"), program: &[String] = &["./app".to_owned(), "-v".to_owned()]) =>
        corewise_command("run").with_option("--on", on).option_if("--memory", memory).option_if("--roles", roles).with_program(program);
    run_at_full_speed(program: &[String] = &["./app".to_owned()]) => corewise_command("run --on all --full-speed").with_program(program);
    run_somewhere() => corewise_command("run --on EXPR").with_program(&COMMAND);
    run_enforced() => corewise_command("run --on EXPR --enforce exact").with_program(&COMMAND);
    run_softly() => corewise_command("run --on EXPR --soft").with_program(&COMMAND);
    run_in_group() => corewise_command("run --on EXPR --cgroup").with_program(&COMMAND);
    run_rank() => corewise_command("run --rank auto").with_program(&COMMAND);
    torchrun_ranks(ranks: usize = 4) =>
        other_program("torchrun").with_option("--nproc-per-node", ranks).with_options(["--no-python"].into_iter().chain("corewise run --rank auto -- python train.py".split(' ')).map(str::to_owned));
    run_process(on: &str = "llc:0", process: u32 = 4711) => corewise_command("run").with_option("--on", on).with_option("--pid", process);
    keep() => corewise_command("keep");
    keep_add() => corewise_command("keep add NAME --match exe=*/PROGRAM --on EXPR");
    keep_add_winner(number: &str = "N") => corewise_command("keep add").with_option("--from", number);
    keep_add_winner_for(number: i64 = 12, matches: &[String] = &["unit=nginx.service".to_owned()]) =>
        matches.iter().fold(corewise_command("keep add").with_option("--from", number), |command, text| command.with_option("--match", text));
    keep_plan() => corewise_command("keep plan");
    keep_run() => corewise_command("keep run");
    keep_why(process: &str = "PID") => corewise_command("keep why").with_argument(process);
    keep_release(process: &str = "PID") => corewise_command("keep release").with_argument(process);
    keep_remove(rule: &str = "redis") => corewise_command("keep remove").with_argument(rule);
    keep_disable(rule: &str = "redis") => corewise_command("keep disable").with_argument(rule);
    keep_prove(rule: &str = "redis") => corewise_command("keep prove").with_argument(rule);
    keep_reload() => corewise_command("keep reload");
    irq() => corewise_command("irq");
    irq_away_from(cpus: &str = "all - core:0") => corewise_command("irq").with_option("--away-from", cpus);
    irq_see_away_from(cpus: &str = "3") => corewise_command("irq").with_option("--away-from", cpus).with_flag("--dry-run");
    irq_near(device: &str = "eth0") => corewise_command("irq").with_option("--near", device);
    irq_see_near(device: &str = "eth0") => corewise_command("irq").with_option("--near", device).with_flag("--dry-run");
    irq_spread(device: &str = "eth0") => corewise_command("irq").with_option("--spread", device);
    irq_see_spread(device: &str = "eth0") => corewise_command("irq").with_option("--spread", device).with_flag("--dry-run");
    irq_spread_over(device: &str = "eth0", cpus: &str = "node:1") => corewise_command("irq").with_option("--spread", device).with_option("--over", cpus);
    irq_set(cpus: &str = "45=2") => cpus.split_whitespace().fold(corewise_command("irq --set"), |command, one| command.with_argument(one));
    undo() => corewise_command("undo");

    // Records
    history() => corewise_command("history");
    history_all() => corewise_command("history --all");
    history_of_kind(kind: &str = "links") => corewise_command("history").with_option("--kind", kind);
    history_show(number: &str = "N") => corewise_command("history show").with_argument(number);
    history_show_json(number: i64 = 12) => corewise_command("history show").with_argument(number).with_flag("--json");
    history_draw() => corewise_command("history show N --svg FILE");
    history_compare(numbers: [i64; 2] = [3, 7]) => corewise_command("history compare").with_argument(numbers[0]).with_argument(numbers[1]);
    history_import() => corewise_command("history import FILE");
    history_import_page(file: &str = "report.html") => corewise_command("history import").with_argument(file);
    report() => corewise_command("report");
    report_on(number: i64 = 12) => corewise_command("report").with_argument(number);
    report_figures(number: i64 = 12) => corewise_command("report").with_argument(number).with_option("--figures", "FOLDER");
    record() => corewise_command("record --output FILE");
    record_to_pipe() => corewise_command("record -o -");

    // Other programs
    ethtool_queues(device: &str = "eth0") => other_program("ethtool -l").with_argument(device);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(run_on("all - core:0").shell_line(), "corewise run --on 'all - core:0' -- ./app");
        assert_eq!(try_threads([4, 8]).shell_line(), "corewise try --threads 4,8 -- ./app -t '{threads}'");
        assert_eq!(run_winner("0", None, None, &["it's".to_owned()]).shell_line(), r"corewise run --on 0 -- 'it'\''s'");
        assert_eq!(history_show("3").quoted_line(), "`corewise history show 3`");
    }

    #[test]
    fn options_stand_before_the_program() {
        let options = ["--store".to_owned(), "x.db".to_owned()];
        assert_eq!(run_on("0").with_options(options.clone()).shell_line(), "corewise run --on 0 --store x.db -- ./app");
        assert_eq!(doctor().with_options(options).shell_line(), "corewise doctor --store x.db");
        assert_eq!((doctor().command(), ethtool_queues("eth0").command()), (Some("doctor"), None));
    }
}
