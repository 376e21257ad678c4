//! `cargo xtask words`: measures how names and comments of product code read, against aims and limits.

mod source_facts;

use std::cmp::Reverse;

use anyhow::{Result, bail};
use regex_lite::Regex;
use xtask::repository_root;

use WordingMeasure::{OneWordFunctions, OneWordTypes, PhraseRate, SharedTypes};
use source_facts::{CommentLine, SourceFacts, read_product_code};

/// Figures with their aims. The gate enforces `limit`: the aim, or the figure as it was when the row was last changed, rounded up.
/// Lower a limit when its figure falls; never raise one.
const FIGURES: [WordingFigure; 11] = [
    WordingFigure { name: "begins with \"What\"", measure: PhraseRate(r"^(What|Whatever)\b"), aim: 1.0, limit: 32.0 },
    WordingFigure {
        name: "who, whom, whose",
        measure: PhraseRate(r"\b(who|whom|whose|whoever)\b"),
        aim: 2.0,
        limit: 6.0,
    },
    WordingFigure {
        name: "so many, so long, so much, so often",
        measure: PhraseRate(r"\bso (many|long|much|often|few|far)\b"),
        aim: 1.0,
        limit: 7.0,
    },
    WordingFigure {
        name: "those that, that which, one that",
        measure: PhraseRate(r"\b(those (that|of|who)|that which|one that)\b"),
        aim: 1.0,
        limit: 6.0,
    },
    WordingFigure {
        name: "somebody, nobody, anybody",
        measure: PhraseRate(r"\b(some|no|any)body\b"),
        aim: 0.5,
        limit: 3.0,
    },
    WordingFigure {
        name: "where (for if, when)",
        measure: PhraseRate(r"(^|[.,;:] )[Ww]here\b"),
        aim: 3.0,
        limit: 15.0,
    },
    WordingFigure { name: "told, tells", measure: PhraseRate(r"\b(told|tells?)\b"), aim: 0.5, limit: 4.0 },
    WordingFigure {
        name: "nothing, none where",
        measure: PhraseRate(r"\b(nothing|none|absent)\b[^.]{0,20}\bwhere\b"),
        aim: 0.5,
        limit: 4.0,
    },
    WordingFigure { name: "types of one word, %", measure: OneWordTypes, aim: 20.0, limit: 72.0 },
    WordingFigure { name: "types that share their name, %", measure: SharedTypes, aim: 5.0, limit: 45.0 },
    WordingFigure { name: "functions of one word, %", measure: OneWordFunctions, aim: 40.0, limit: 67.0 },
];

/// A figure of the table.
#[derive(Clone, Copy, Debug)]
struct WordingFigure {
    name: &'static str,
    measure: WordingMeasure,
    /// Value to reach; `cargo xtask words` fails above it.
    aim: f64,
    /// Value above which the gate fails.
    limit: f64,
}

/// Formula of a figure.
#[derive(Clone, Copy, Debug)]
enum WordingMeasure {
    /// Lines that match a pattern, per 1,000 lines of comments.
    PhraseRate(&'static str),
    /// Share of types whose name has one capital letter, in percent.
    OneWordTypes,
    /// Share of types whose name another type has too, in percent.
    SharedTypes,
    /// Share of functions without `_` in the name, in percent.
    OneWordFunctions,
}

impl WordingMeasure {
    fn compute(self, facts: &SourceFacts) -> f64 {
        let places = |matches: &dyn Fn(&str, &[String]) -> bool| -> usize {
            facts.types.iter().filter(|(name, places)| matches(name, places)).map(|(_, places)| places.len()).sum()
        };
        let types = places(&|_, _| true);
        match self {
            PhraseRate(pattern) => 1000.0 * ratio(find_phrases(pattern, facts).len(), facts.comments.len()),
            OneWordTypes => 100.0 * ratio(places(&|name, _| is_one_word_type(name)), types),
            SharedTypes => 100.0 * ratio(places(&|_, places| places.len() > 1), types),
            OneWordFunctions => {
                let count = facts.functions.iter().filter(|name| !name.contains('_')).count();
                100.0 * ratio(count, facts.functions.len())
            }
        }
    }
}

fn is_one_word_type(name: &str) -> bool {
    name.matches(|letter: char| letter.is_ascii_uppercase()).count() == 1
}

/// Returns `part / whole`, or 0 if `whole` is 0.
#[expect(clippy::cast_precision_loss, reason = "counts of lines are small")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Returns the comment lines that match a pattern.
fn find_phrases<'a>(pattern: &str, facts: &'a SourceFacts) -> Vec<&'a CommentLine> {
    let pattern = Regex::new(pattern).expect("patterns of the table are valid");
    facts.comments.iter().filter(|comment| pattern.is_match(&comment.text)).collect()
}

/// Prints the table of all crates or of one, or a list; returns false if a figure is above its aim, with `--limits` above its limit.
pub fn run(arguments: &[&str]) -> Result<bool> {
    if arguments == ["--limits"] {
        return check_limits();
    }
    let (list, crates) = match arguments {
        ["--list", list, crates @ ..] => (Some(*list), crates),
        crates => (None, crates),
    };
    let folder = match crates {
        [] => repository_root().join("crates"),
        [name] if !name.starts_with('-') => repository_root().join("crates").join(name),
        _ => bail!("expected words [--list names|words] [CRATE], or words --limits"),
    };
    let facts = read_product_code(&folder)?;
    match list {
        None => {
            print!("{}", format_table(&facts));
            return Ok(find_excesses(&facts, |figure| figure.aim).is_empty());
        }
        Some("names") => print!("{}", list_shared_names(&facts)),
        Some("words") => print!("{}", list_phrases(&facts)),
        Some(other) => bail!("expected --list names or --list words, found \"{other}\""),
    }
    Ok(true)
}

/// Checks all crates against the limits of the gate; returns false if a figure is above its limit, after printing it.
pub fn check_limits() -> Result<bool> {
    let excesses = find_excesses(&read_product_code(&repository_root().join("crates"))?, |figure| figure.limit);
    excesses.iter().for_each(|excess| println!("{excess}; see `cargo xtask words --list names|words`"));
    Ok(excesses.is_empty())
}

/// Returns a sentence for each figure above a bound.
fn find_excesses(facts: &SourceFacts, bound: impl Fn(&WordingFigure) -> f64) -> Vec<String> {
    let measured = FIGURES.iter().map(|figure| (figure, figure.measure.compute(facts)));
    let above = measured.filter(|(figure, value)| *value > bound(figure));
    above.map(|(figure, value)| format!("{}: {value:.2}, at most {}", figure.name, bound(figure))).collect()
}

fn format_table(facts: &SourceFacts) -> String {
    let mut table = format!("{:<37}{:>8}{:>7}{:>7}\n", "per 1,000 lines of comments, or %", "figure", "limit", "aim");
    for figure in &FIGURES {
        let value = figure.measure.compute(facts);
        let mark = if value > figure.aim { "  above the aim" } else { "" };
        table += &format!("{:<37}{value:>8.1}{:>7}{:>7}{mark}\n", figure.name, figure.limit, figure.aim);
    }
    let types: usize = facts.types.values().map(Vec::len).sum();
    table + &format!("{} lines of comments, {types} types, {} functions\n", facts.comments.len(), facts.functions.len())
}

/// Lists the names that several types have, the most frequent first, with places.
fn list_shared_names(facts: &SourceFacts) -> String {
    let mut shared: Vec<_> = facts.types.iter().filter(|(_, places)| places.len() > 1).collect();
    shared.sort_by_key(|(_, places)| Reverse(places.len()));
    shared.iter().map(|(name, places)| format!("{name} {} {}\n", places.len(), places.join(" "))).collect()
}

/// Lists the comment lines that each rate counts.
fn list_phrases(facts: &SourceFacts) -> String {
    let mut list = String::new();
    for figure in &FIGURES {
        let PhraseRate(pattern) = figure.measure else { continue };
        let found = find_phrases(pattern, facts);
        list += &format!("== {}: {}\n", figure.name, found.len());
        list.extend(found.iter().map(|comment| format!("{}: {}\n", comment.place, comment.text)));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hit of each rate, in the order of the table.
    const HITS: [&str; 8] = [
        "/// What it returns.",
        "//! A user whose mask it is.",
        "// Runs so often in a row.",
        "/// The last one that answers.",
        "// Waits for nobody.",
        "/// Stops, where it can.",
        "// The kernel tells the time.",
        "/// Returns none at all where it fails.",
    ];

    fn facts_of(text: &str) -> SourceFacts {
        let mut facts = SourceFacts::default();
        facts.add_file("a.rs", text);
        facts
    }

    fn values_of(text: &str) -> Vec<f64> {
        let facts = facts_of(text);
        FIGURES.iter().map(|figure| figure.measure.compute(&facts)).collect()
    }

    #[test]
    fn each_rate_counts_its_own_phrase() {
        assert_eq!(values_of(&HITS.join("\n"))[..8], [125.0; 8]);
        for (at, hit) in HITS.iter().enumerate() {
            let mut expected = [0.0; 8];
            expected[at] = 500.0;
            assert_eq!(values_of(&format!("{hit}\n    // Plain.\n"))[..8], expected, "{hit}");
        }
    }

    #[test]
    fn similar_phrases_do_not_count() {
        let text = "// Says What.\n// whole\n// so that\n// those\n// a body\n// the place where it is\n// teller\n// None. It is where\n";
        assert_eq!(values_of(text)[..8], [0.0; 8]);
        assert_eq!(values_of("let tells = 1; // who tells\nlet text = \"who\";\n")[..8], [0.0; 8]);
    }

    #[test]
    fn types_of_one_word_are_a_share() {
        assert_eq!(values_of("struct Place;\npub enum PlaceKind {}\n")[8], 50.0);
        assert_eq!(values_of("pub(crate) trait Place {}\n    union Word {}\n")[8], 100.0);
        assert_eq!(values_of("struct CpuSet;\nstruct NUMA;\nstruct cpu_mask;\n")[8], 0.0);
    }

    #[test]
    fn every_owner_of_a_shared_name_counts() {
        assert_eq!(values_of("struct Aa;\nstruct Bb;\nmod c {\n    struct Aa;\n}\nenum Cc {}\n")[9], 50.0);
    }

    #[test]
    fn functions_of_one_word_are_a_share() {
        let text = "fn of() {}\n    pub(super) const unsafe fn look() {}\npub async fn read_all() {}\n\
            extern \"C\" fn on_signal() {}\nlet a: fn (u8);\n";
        assert_eq!(values_of(text)[10], 50.0);
    }

    #[test]
    fn figures_above_their_bound_are_found() {
        let facts = facts_of("// What it is.\nstruct Place;\nfn of() {}\n");
        let above_limits = find_excesses(&facts, |figure| figure.limit);
        let names =
            ["begins with \"What\": 1000.00", "types of one word, %: 100.00", "functions of one word, %: 100.00"];
        assert_eq!(above_limits.len(), names.len(), "{above_limits:?}");
        assert!(above_limits.iter().zip(names).all(|(found, name)| found.starts_with(name)), "{above_limits:?}");
        assert!(find_excesses(&facts, |_| 1000.0).is_empty(), "a figure may equal its bound");
        assert_eq!(find_excesses(&facts, |_| 999.9).len(), 1);
    }

    #[test]
    fn no_limit_is_below_its_aim() {
        for figure in &FIGURES {
            assert!(figure.limit >= figure.aim, "{figure:?}");
        }
    }

    #[test]
    fn the_table_marks_figures_above_their_aim() {
        let table = format_table(&facts_of("struct Place;\nstruct CpuSet;\nstruct CpuList;\nfn read_all() {}\n"));
        let marked: Vec<&str> = table.lines().filter(|line| line.ends_with("above the aim")).collect();
        assert!(matches!(marked[..], [line] if line.starts_with("types of one word")), "{table}");
    }

    #[test]
    fn lists_say_where() {
        let facts = facts_of("struct Aa;\nstruct Bb;\nstruct Aa;\n/// What it is.\n");
        assert_eq!(list_shared_names(&facts), "Aa 2 a.rs:1 a.rs:3\n");
        assert!(list_phrases(&facts).starts_with("== begins with \"What\": 1\na.rs:4: What it is.\n== who"));
    }
}
