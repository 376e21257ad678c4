//! Notation of `start /affinity` of the Windows command prompt. Its masks belong to one processor group each.

mod group;

use super::choices::{NamedReading, agree};
use super::list::format_counted;
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading, mask};
use crate::{CpuSet, Machine};
pub(super) use group::{Group, group_bits, groups_of_machine, of_bits};
use group::{GroupNode, node_span};

/// Returns remarks about numbers and groups, the same for the command prompt and PowerShell.
pub(super) fn numbering_remarks(chosen: ChosenCpus<'_>, groups: &[Group]) -> Vec<String> {
    let ChosenCpus { cpus, machine, .. } = chosen;
    let mut remarks = Vec::new();
    if let [group] = groups {
        let there = mask::of_word(group_bits(group, cpus));
        if there != *cpus {
            remarks.push(format!(
                "Windows numbers the threads of a core consecutively: {} here are {} there.",
                format_counted(cpus),
                format_counted(&there)
            ));
        }
    } else {
        let touched = groups.iter().enumerate().filter(|(_, group)| group_bits(group, cpus) != 0);
        let table = touched.map(|(number, group)| {
            format!("group {number} = {}", format_counted(&group.cpus.iter().copied().collect()))
        });
        let table = table.collect::<Vec<_>>().join(", ");
        remarks.push(match machine.processor_groups.len() {
            0 => format!(
                "{} groups are assumed, of whole packages or nodes, with consecutive siblings ({table}); coreinfo -g shows them.",
                groups.len(),
            ),
            count => format!("Masks count from the first cpu of their group, of which Windows has {count} here ({table})."),
        });
    }
    let missing = cpus.difference(&machine.online);
    if !missing.is_empty() {
        remarks.push(format!(
            "Left out: {}, which are not online here and so have no number there.",
            format_counted(&missing)
        ));
    }
    remarks
}

/// Prints a line for each group that has cpus of the set.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let groups = groups_of_machine(chosen.machine);
    let mut remarks = numbering_remarks(chosen, &groups);
    let mut lines = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        let bits = group_bits(group, chosen.cpus);
        if bits == 0 {
            continue;
        }
        lines.push(match groups.len() {
            1 => NotationLine::new("start", format!("start /affinity {bits:X}")),
            _ => in_group(number, group, bits),
        });
    }
    if lines.len() > 1 {
        remarks.push("start gives a process one mask in one group; the lines are alternatives.".into());
    }
    if groups.len() > 1 {
        let spanning = "From Windows 11 and Server 2022 on, a process without a mask spans all groups; a mask still \
                        keeps it in one.";
        remarks.push(spanning.into());
    }
    match lines.first_mut() {
        Some(first) => first.remarks.extend(remarks),
        None => lines.push(NotationLine { label: "start".into(), text: None, secondary: false, remarks }),
    }
    lines
}

/// Prints the line for one of several groups. If the bits are in one node, it names the node, which chooses the group. The title of the
/// window names the group, so that a pasted line still shows it.
fn in_group(number: usize, group: &Group, bits: u64) -> NotationLine {
    let label = format!("group {number}");
    let inside = |node: &&GroupNode| bits & !node_span(node) == 0;
    match group.nodes.iter().find(inside).and_then(|node| Some((node, node.number?))) {
        Some((node, windows_node)) => {
            let text = format!("start \"{label}\" /node {windows_node} /affinity {:X}", bits >> node.first_bit);
            NotationLine::new(label, text).with_remark("With /node the mask counts from the node's first cpu.")
        }
        None => NotationLine::new(&*label, format!("start \"{label}\" /affinity {bits:X}")).with_remark(
            "start cannot choose this group: the mask applies in the group where Windows starts the process.",
        ),
    }
}

/// Returns true for a line that calls `start` with a mask or a node.
pub(super) fn is_recognized(text: TextPiece<'_>) -> bool {
    let lower = text.text.to_ascii_lowercase();
    lower.contains("start") && (lower.contains("/affinity") || lower.contains("/node"))
}

/// Reads masks and `start` lines; `group N:` before a line, or the title `"group N"`, names its group.
pub(super) fn read_text(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let groups = groups_of_machine(machine);
    let mut cpus = CpuSet::new();
    let mut remarks = Vec::new();
    let (starts, others): (Vec<TextPiece<'_>>, Vec<TextPiece<'_>>) =
        text.split_lines().into_iter().partition(|line| is_recognized(*line));
    // A batch file has other commands beside.
    let lines = if starts.is_empty() { others } else { starts };
    let mut programs = Vec::new();
    for line in lines {
        let (number, rest) = group_of(line, &groups, &mut remarks)?;
        let found = read_start_line(rest, number, &groups, &mut remarks)?;
        // Several groups of one program are named; other lines are of other programs.
        match named_group(line) {
            Some(_) => cpus = cpus.union(&found),
            None => programs.push(NamedReading::new(line.text, NotationReading::from_set(found))),
        }
    }
    if !programs.is_empty() {
        cpus = cpus.union(&agree(text, programs, || text.fault_here("no line here names cpus"))?.cpus);
    }
    Ok(finish_reading(cpus, &groups).with_remarks(remarks))
}

/// Returns the set, with a remark on its numbering.
pub(super) fn finish_reading(cpus: CpuSet, groups: &[Group]) -> NotationReading {
    let rising = |group: &Group| group.cpus.is_sorted();
    let remark = "Read with Windows' numbering: the threads of a core are consecutive, unlike on this machine.";
    let differs = groups.iter().any(|group| !rising(group));
    NotationReading::from_set(cpus).with_remarks(differs.then(|| remark.to_owned()))
}

/// Reads numbers of cpus in Windows' first group.
///
/// # Errors
/// If the group lacks one.
pub(super) fn read_numbers(
    text: TextPiece<'_>,
    numbers: impl IntoIterator<Item = u32>,
    machine: &Machine,
) -> Result<NotationReading, TextFault> {
    let groups = groups_of_machine(machine);
    let group = &groups[0];
    let at = |number: u32| {
        let missing = || text.fault_here(format!("{number} is no cpu: this group has {}", group.cpus.len()));
        group.cpus.get(number as usize).copied().ok_or_else(missing)
    };
    let cpus = numbers.into_iter().map(at).collect::<Result<CpuSet, TextFault>>()?;
    Ok(finish_reading(cpus, &groups))
}

/// Splits a line into the group that it names, and the rest.
pub(super) fn named_group(line: TextPiece<'_>) -> Option<(TextPiece<'_>, TextPiece<'_>)> {
    let before_colon = line.strip_word("group ").and_then(|rest| rest.split_once(':'));
    let in_title = || {
        let (number, _) = line.text_after("\"group ")?.split_once('"')?;
        number.text.parse::<usize>().is_ok().then_some((number, line))
    };
    let in_comment = || {
        let (before, comment) = line.split_once('#')?;
        Some((comment.trim().strip_word("group ")?, before))
    };
    before_colon.or_else(in_title).or_else(in_comment)
}

/// Returns the group of a line (before a colon, in the title or in a comment; by default the first), and the rest of the line.
pub(super) fn group_of<'a>(
    line: TextPiece<'a>,
    groups: &[Group],
    remarks: &mut Vec<String>,
) -> Result<(usize, TextPiece<'a>), TextFault> {
    let Some((number, rest)) = named_group(line) else {
        let assumed = "No group is named: read in group 0.";
        if groups.len() > 1 && !line.text.contains("/node") && !remarks.iter().any(|remark| remark == assumed) {
            remarks.push(assumed.into());
        }
        return Ok((0, line));
    };
    let index = number.read_number("a number of a group")? as usize;
    if index >= groups.len() {
        return Err(
            number.fault_here(format!("group {index} does not exist: {} are assumed on this machine", groups.len()))
        );
    }
    Ok((index, rest.trim()))
}

/// Reads the cpus of one `start` line or bare mask.
fn read_start_line(
    line: TextPiece<'_>,
    group: usize,
    groups: &[Group],
    remarks: &mut Vec<String>,
) -> Result<CpuSet, TextFault> {
    // Other words may come before it: cmd /c start …
    let is_start = |word: &TextPiece<'_>| word.text.trim_start_matches('"').eq_ignore_ascii_case("start");
    let words = line.split_words();
    let Some(place) = words.iter().position(is_start) else {
        return cpus_of(line, word_of(line)?, &groups[group]);
    };
    let mut words = words.into_iter().skip(place + 1).peekable();
    let (mut node, mut mask) = (None, None);
    while let Some(word) = words.next_if(|word| word.text.starts_with(['/', '"'])) {
        let is = |name: &str| word.text.eq_ignore_ascii_case(name);
        if is("/d") {
            words.next();
        }
        if !is("/node") && !is("/affinity") {
            continue;
        }
        let first = words.next().ok_or_else(|| word.fault_here(format!("{} needs a value", word.text)))?;
        if is("/node") {
            node = Some(first.read_number("a number of a node")? as usize);
            continue;
        }
        let mut last = first;
        while let Some(next) = words.next_if(|next| is_four_digits(last.text) && is_four_digits(next.text)) {
            last = next;
        }
        let whole = first.up_to(last, line);
        if whole.text != first.text {
            remarks.push("start reads a mask only up to the first space: write it without spaces.".into());
        }
        mask = Some(whole);
    }
    match (node, mask) {
        (Some(node), mask) => in_node(line, node, mask, groups, remarks),
        (None, Some(mask)) => cpus_of(mask, word_of(mask)?, &groups[group]),
        (None, None) => Err(line.fault_here("neither /affinity nor /node chooses cpus here")),
    }
}

/// Returns true if a word is four hexadecimal digits, as people group long masks.
fn is_four_digits(word: &str) -> bool {
    word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the cpus of a mask that counts from a node's first cpu, or the whole node if the mask has none of its cpus.
fn in_node(
    line: TextPiece<'_>,
    number: usize,
    mask: Option<TextPiece<'_>>,
    groups: &[Group],
    remarks: &mut Vec<String>,
) -> Result<CpuSet, TextFault> {
    let nodes = || groups.iter().flat_map(|group| group.nodes.iter().map(move |node| (group, node)));
    let Some((group, node)) = nodes().find(|(_, node)| node.number == Some(number)) else {
        let known: CpuSet = nodes().filter_map(|(_, node)| Some(node.number? as u32)).collect();
        return Err(
            line.fault_here(format!("node {number} does not exist: Windows is assumed to have node {known} here"))
        );
    };
    remarks.push("With /node the mask counts from the node's first cpu.".into());
    let chosen = match mask {
        Some(mask) => word_of(mask)?.checked_shl(node.first_bit as u32).unwrap_or(0) & node_span(node),
        None => node_span(node),
    };
    if chosen == 0 {
        remarks.push("The mask has no cpu of the node, so the process may run on the whole node.".into());
    }
    let chosen = if chosen == 0 { node_span(node) } else { chosen };
    cpus_of(line, chosen, group)
}

/// Reads a mask of at most 64 bits.
fn word_of(text: TextPiece<'_>) -> Result<u64, TextFault> {
    let read = mask::read_hexadecimal(text)?;
    mask::mask_word(&read.cpus)
        .ok_or_else(|| text.fault_here("this mask has more than 64 bits, and a group has at most 64 cpus"))
}

fn cpus_of(text: TextPiece<'_>, bits: u64, group: &Group) -> Result<CpuSet, TextFault> {
    let highest = 63 - bits.leading_zeros().min(63);
    let what = || format!("bit {highest} is no cpu: this group has {}", group.cpus.len());
    of_bits(group, bits).ok_or_else(|| text.fault_here(what()))
}
