//! Table of the language: its forms by example, and the cpus that each selects. Help and documents print this table.

use super::expression::CpuSetName;
use crate::Level;

/// A form of the language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanguageForm {
    /// Examples, each a complete expression, or the words of a list.
    pub examples: Vec<String>,
    /// The cpus that they select.
    pub selects: String,
}

/// Column of the meaning in [`language_table`].
const MEANING_COLUMN: usize = 36;
/// Width of [`language_table`].
const TABLE_COLUMNS: usize = 96;

/// Returns all forms, the simplest first.
pub fn language_forms() -> Vec<LanguageForm> {
    let levels = Level::ALL.map(Level::word).join(", ");
    let form = |examples: &[&str], selects: &str| LanguageForm {
        examples: examples.iter().map(|&example| example.to_owned()).collect(),
        selects: selects.to_owned(),
    };
    let objects =
        format!("objects of a level, counted as `topology` shows them; also all and odd; the levels are {levels}");
    vec![
        form(&["0,2,4-7", "0x55"], "cpus by the system's numbers: a list, a mask (a mask always has 0x)"),
        form(
            &["0-31:2", "0-31:2/8"],
            "every second of a range; the first two of every eight, as in the kernel's lists",
        ),
        form(&["core:0-3", "llc:last", "node:even"], &objects),
        form(&["group:0", "pack(3, group)"], "groups that the latest map of links proved; an error without one"),
        form(
            &["llc:1.core:0-3", "core:all.cpu:0"],
            "nested objects: the first four cores of llc:1; the first thread of each core",
        ),
        form(&CpuSetName::ALL.map(CpuSetName::word), "names"),
        form(&["spread(4, cluster)", "pack(4, llc)"], "4 cpus over as many, or as few, objects of a level as possible"),
        form(&["spread(4, core, llc:0)"], "only among these cpus"),
        form(
            &["near(eth0)", "near(nvme0n1)", "near(gpu:0)", "near(pci:0000:41:00.0)"],
            "the cpus near a device, by what the system reports",
        ),
        form(&["best(4, worth)", "best(4, worth, llc:0)"], "the 4 that are worth most now, as `worth` shows them"),
        form(
            &["0 + llc:1", "all - core:0", "llc:0 & core:0-3", "!node:0"],
            "union, without, both, all but; from left to right; ( ) group",
        ),
    ]
}

/// Formats the forms as a table of text; each line is indented by `indentation` columns.
pub fn language_table(indentation: usize) -> String {
    language_forms().iter().map(|form| form_lines(form, indentation)).collect::<Vec<_>>().join("\n")
}

fn form_lines(form: &LanguageForm, indentation: usize) -> String {
    let fill = |words: &[String], gap: &str, columns: usize| {
        let mut lines: Vec<String> = vec![String::new()];
        for word in words {
            let last = lines.last_mut().expect("it begins with a line");
            if last.is_empty() {
                last.push_str(word);
            } else if last.len() + gap.len() + word.len() <= columns {
                *last += &format!("{gap}{word}");
            } else {
                lines.push(word.clone());
            }
        }
        lines
    };
    let meaning: Vec<String> = form.selects.split(' ').map(str::to_owned).collect();
    let written = fill(&form.examples, "  ", MEANING_COLUMN - 2);
    let meaning = fill(&meaning, " ", TABLE_COLUMNS - MEANING_COLUMN);
    let rows = written.len().max(meaning.len());
    let cell = |cells: &[String], row: usize| cells.get(row).cloned().unwrap_or_default();
    let line = |row| format!("{:indentation$}{:MEANING_COLUMN$}{}", "", cell(&written, row), cell(&meaning, row));
    (0..rows).map(|row| line(row).trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::{parse, words};

    #[test]
    fn every_example_is_of_the_language() {
        for example in language_forms().into_iter().flat_map(|form| form.examples) {
            parse(&example).unwrap_or_else(|error| panic!("{example}: {error}"));
        }
    }

    #[test]
    fn every_word_is_in_the_table() {
        let table = language_table(0);
        for word in words::all_words() {
            let mut words = table.split(|c: char| !c.is_alphanumeric() && c != '-');
            assert!(words.any(|found| found == word), "{word} is missing in\n{table}");
        }
    }
}
