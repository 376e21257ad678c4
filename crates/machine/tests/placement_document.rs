//! docs/placement.md holds what it says: its expressions are valid, and mean what stands beside them.

use std::collections::BTreeSet;

use corewise_machine::machine_file::BUILT_IN;
use corewise_machine::placement::notation::{Notation, read_notation};
use corewise_machine::placement::{PlacementError, ResolveContext, ResolvedExpression, parse};
use corewise_machine::{CpuSet, Machine};

const DOCUMENT: &str = include_str!("../../../docs/placement.md");

/// A row of a table: the last heading, the header's cells, and its own.
struct DocumentRow {
    heading: &'static str,
    header: Vec<&'static str>,
    cells: Vec<&'static str>,
}

fn cells(line: &'static str) -> Vec<&'static str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

fn rows() -> Vec<DocumentRow> {
    let (mut rows, mut heading, mut header) = (Vec::new(), "", None);
    for line in DOCUMENT.lines() {
        match line.strip_prefix('#') {
            Some(rest) => heading = rest.trim_start_matches('#').trim(),
            None if !line.starts_with('|') => header = None,
            None if line.starts_with("|---") => {}
            None => match &header {
                None => header = Some(cells(line)),
                Some(header) => rows.push(DocumentRow { heading, header: header.clone(), cells: cells(line) }),
            },
        }
    }
    rows
}

/// What stands between backquotes, outside blocks of code; a line's end is a space.
fn code_spans(text: &str) -> Vec<String> {
    let flowing: Vec<&str> = text.lines().filter(|line| !line.starts_with("    ")).collect();
    let spans = flowing.join(" ");
    spans.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn only_span(cell: &str) -> String {
    code_spans(cell).first().unwrap_or_else(|| panic!("no code in {cell}")).clone()
}

fn resolve(expression: &str, machine: &Machine) -> Result<ResolvedExpression, PlacementError> {
    parse(expression)?.resolve_on(&ResolveContext { machine, reachable: &machine.allowed, quiet: None, worth: None })
}

#[test]
fn other_tools_texts_are_the_cpus_of_the_expressions_beside_them() {
    // Other tools do not leave out isolated cpus as our words do.
    let machines = BUILT_IN.iter().map(|built_in| built_in.read_machine().unwrap().machine);
    let machines: Vec<Machine> = machines.filter(|machine| machine.isolated.is_empty()).collect();
    let mut tools = BTreeSet::new();
    for row in rows().into_iter().filter(|row| row.header[1] == "EXPR" && row.header[0] != "machine") {
        let notation: Notation = row.heading.parse().unwrap();
        let (theirs, ours) = (only_span(row.cells[0]), only_span(row.cells[1]));
        parse(&ours).unwrap_or_else(|error| panic!("{ours}: {error}"));
        let mut compared = 0;
        for machine in &machines {
            let (Ok(theirs), Ok(ours)) = (read_notation(notation, &theirs, machine), resolve(&ours, machine)) else {
                continue;
            };
            // Threads to a core and missing cpus are what the two sides may take differently; the text says so.
            let beyond = !theirs.cpus.is_subset(&machine.online) || !ours.left_out.is_empty();
            let threads_matter = row.cells[2].starts_with("with two threads to a core");
            let two_threads = machine.cores.iter().all(|core| core.cpus.len() == 2);
            // Nodes that have no memory are nodes here and none for hwloc.
            let no_memory = machine.nodes.iter().any(|node| node.memory_bytes == Some(0) && !node.cpus.is_empty());
            if beyond || (threads_matter && !two_threads) || (no_memory && row.cells[2].contains("memory")) {
                continue;
            }
            assert_eq!(theirs.cpus, ours.cpus, "{} and {}", row.cells[0], row.cells[1]);
            compared += 1;
        }
        assert!(compared > 0, "no built-in machine has both {theirs} and {ours}");
        tools.insert(notation);
    }
    let expected =
        [Notation::Taskset, Notation::Numactl, Notation::Hwloc, Notation::Likwid, Notation::Slurm, Notation::OpenMp];
    assert_eq!(tools, expected.into_iter().collect());
}

#[test]
fn examples_are_the_cpus_they_say() {
    let mut seen = 0;
    for row in rows().into_iter().filter(|row| row.header[0] == "machine") {
        let built_in = BUILT_IN.iter().find(|built_in| built_in.name == row.cells[0]).unwrap();
        let machine = built_in.read_machine().unwrap().machine;
        let expression = only_span(row.cells[1]);
        let cpus = resolve(&expression, &machine).unwrap_or_else(|error| panic!("{expression}: {error}")).cpus;
        assert_eq!(cpus, CpuSet::parse_list(row.cells[2]).unwrap(), "{expression} on {}", row.cells[0]);
        seen += 1;
    }
    assert!(seen >= 10);
}

/// The words of a command line, quotation marks taken away.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], false);
    for character in line.chars() {
        match character {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn commands_hold_valid_expressions_and_names() {
    let blocks = DOCUMENT.lines().filter(|line| line.starts_with("    corewise"));
    let typed = |line: &str| line.trim().split("   ").next().unwrap_or("").to_owned();
    let mut seen = 0;
    for command in blocks.map(typed).chain(code_spans(DOCUMENT)) {
        let Some(start) = command.find("corewise place ").or_else(|| command.find("corewise run ")) else { continue };
        let words = words(command[start..].split(")\"").next().unwrap());
        let after = |option: &str| words.iter().position(|word| word == option).and_then(|place| words.get(place + 1));
        // Text of other tools is tested where it is read.
        if after("--from").is_some_and(|name| name == "auto") {
            continue;
        }
        for name in
            [after("--as"), after("--from")].into_iter().flatten().filter(|name| *name != "TOOL" && *name != "NAME")
        {
            name.parse::<Notation>().unwrap_or_else(|error| panic!("{command}: {error}"));
        }
        let skipped =
            |word: &&String| word.starts_with("--") || Some(*word) == after("--as") || Some(*word) == after("--from");
        let expression = match words[1].as_str() {
            "run" => after("--on"),
            // A list of candidates is asked for without an expression.
            _ if words.iter().any(|word| word == "--candidates") => continue,
            _ => words[2..].iter().find(|word| !skipped(word)),
        };
        let Some(expression) = expression else { continue };
        match after("--from") {
            Some(from) if from != "TOOL" => {
                let machine = BUILT_IN[7].read_machine().unwrap().machine;
                read_notation(from.parse().unwrap(), expression, &machine)
                    .unwrap_or_else(|error| panic!("{command}: {error}"));
            }
            Some(_) => {}
            None => drop(parse(expression).unwrap_or_else(|error| panic!("{command}: {error}"))),
        }
        seen += 1;
    }
    assert!(seen >= 20, "{seen}");
}
