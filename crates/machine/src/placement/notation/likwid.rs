//! likwid-pin's thread domains and expressions.

use super::choices::{NamedReading, agree, keep_speaking, one_for_each};
use super::command::find_commands;
use super::list::{self, ListSyntax};
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading, tree};
use crate::{CpuSet, Level, Machine};

/// Prints the prefix with the cpus in order. If this process may not use every cpu, likwid-pin counts along the cpus it may use, so they
/// are numbered that way.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let ChosenCpus { cpus, order, machine } = chosen;
    let per_thread = "One thread per cpu in this order; the program must link pthread_create dynamically.";
    if !is_confined(machine) {
        let text = format!("likwid-pin -c {}", list::in_order(order, ","));
        return vec![NotationLine::new("cpus", text).with_remark(per_thread)];
    }
    let domains = LikwidDomains::new(machine);
    let threads = domains.cores_first(&domains.domain_of_tag("N").unwrap_or_default());
    let place = |cpu: &u32| threads.iter().position(|thread| thread == cpu).map(|place| place as u32);
    match order.iter().map(place).collect::<Option<Vec<u32>>>() {
        Some(places) => {
            let text = format!("likwid-pin -c N:{}", list::in_order(&places, ","));
            let confined = "likwid-pin counts only the cpus that this process may use, physical cores first.";
            vec![NotationLine::new("cpus", text).with_remark(per_thread).with_remark(confined)]
        }
        None => {
            let outside = cpus.difference(&machine.allowed);
            let why =
                format!("likwid-pin cannot reach {}, which this process may not use.", list::format_counted(&outside));
            vec![NotationLine::without_text("cpus", why)]
        }
    }
}

/// Returns true if this process may not use every online cpu, so that likwid-pin takes plain numbers as logical ones.
fn is_confined(machine: &Machine) -> bool {
    machine.allowed != machine.online
}

/// Thread domains by their tags: N, S0, D0, C0, M0.
struct LikwidDomains<'a> {
    machine: &'a Machine,
    /// Usable cpus in the order of the tree.
    order: Vec<u32>,
    thread_indexes: std::collections::BTreeMap<u32, usize>,
}

impl<'a> LikwidDomains<'a> {
    fn new(machine: &'a Machine) -> Self {
        let mut order = tree::tree_order(machine);
        order.retain(|cpu| machine.allowed.contains(*cpu));
        Self { machine, order, thread_indexes: tree::thread_indexes(machine) }
    }

    /// Returns the cpus of all domains of a letter, each in the order of the tree.
    fn domains_of_letter(&self, letter: &str) -> Option<Vec<Vec<u32>>> {
        let level = match letter {
            "N" => return Some(vec![self.order.clone()]),
            "S" => Level::Package,
            "D" => Level::Die,
            "C" => Level::Llc,
            "M" => Level::Node,
            _ => return None,
        };
        let inside = |set: &CpuSet| self.order.iter().copied().filter(|cpu| set.contains(*cpu)).collect();
        Some(tree::sort_by_tree(self.machine.objects_of(level), self.machine).iter().map(inside).collect())
    }

    fn domain_of_tag(&self, tag: &str) -> Option<Vec<u32>> {
        let (letter, number) = tag.split_at_checked(1)?;
        let all = self.domains_of_letter(letter)?;
        let index = if letter == "N" && number.is_empty() { 0 } else { number.parse().ok()? };
        all.into_iter().nth(index).filter(|cpus: &Vec<u32>| !cpus.is_empty())
    }

    /// Sorts by thread index: the first thread of each core, then the second ones, as likwid counts "logically".
    fn cores_first(&self, cpus: &[u32]) -> Vec<u32> {
        let mut sorted = cpus.to_vec();
        sorted.sort_by_key(|cpu| self.thread_indexes.get(cpu).copied());
        sorted
    }
}

/// Returns true for a program that takes expressions.
pub(super) fn is_program(name: &str) -> bool {
    name.starts_with("likwid-")
}

/// Reads an expression, command lines with `-c`, or `-pin` of likwid-mpirun.
pub(super) fn read_text(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let read = |words: Vec<TextPiece<'_>>| {
        let (option, value) = find_expression(text, &words)?;
        let reading = if option == "-pin" { read_processes(value, machine)? } else { read_expression(value, machine)? };
        Ok(NamedReading::new(value.text, reading))
    };
    let parts = keep_speaking(find_commands(text, is_program).into_iter().map(read))?;
    if !parts.is_empty() {
        return agree(text, parts, || no_option(text));
    }
    match text.split_words().as_slice() {
        [only] => read_expression(only.without_quotes(), machine),
        words => {
            let (option, value) = find_expression(text, words)?;
            if option == "-pin" { read_processes(value, machine) } else { read_expression(value, machine) }
        }
    }
}

/// Reads `M0:0-3_M1:0-3`, an expression for each process.
fn read_processes(value: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let process = |part: TextPiece<'_>| Ok(read_expression(part, machine)?.cpus);
    let sets = value.split(|c| c == '_').into_iter().map(process).collect::<Result<Vec<_>, TextFault>>()?;
    Ok(one_for_each("process", &sets))
}

/// Reads an expression: parts joined by `@`.
fn read_expression(expression: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let domains = LikwidDomains::new(machine);
    let mut order = Vec::new();
    let mut remarks = Vec::new();
    for part in expression.split(|c| c == '@') {
        order.extend(part_of(part, &domains, &mut remarks)?);
        list::check_count(order.len(), part)?;
    }
    let mut once = CpuSet::new();
    let shared: CpuSet = order.iter().copied().filter(|cpu| !once.insert(*cpu)).collect();
    let several = format!("More than one thread runs on {}.", list::format_counted(&shared));
    let pinning = "Threads are pinned one by one in this order, and stay.";
    Ok(NotationReading::from_order(order)
        .with_remark(pinning)
        .with_remarks(remarks)
        .with_remarks((!shared.is_empty()).then_some(several)))
}

/// Options that choose cpus.
const OPTIONS: [&str; 3] = ["-pin", "-c", "-C"];

/// Returns the first option that chooses cpus, and its value.
fn find_expression<'a>(
    text: TextPiece<'a>,
    words: &[TextPiece<'a>],
) -> Result<(&'static str, TextPiece<'a>), TextFault> {
    for (index, word) in words.iter().enumerate() {
        let Some(option) = OPTIONS.into_iter().find(|option| word.text.starts_with(option)) else { continue };
        let attached = word.strip_prefix(option).filter(|value| !value.is_empty());
        let value = attached.or_else(|| words.get(index + 1).copied());
        return match value {
            Some(value) => Ok((option, value.without_quotes())),
            None => Err(text.fault_here(format!("{option} needs a value"))),
        };
    }
    Err(no_option(text))
}

fn no_option(text: TextPiece<'_>) -> TextFault {
    text.fault_here("no option -c here chooses cpus").with_hint("likwid-pin -c S0:0-3 ./app").into_silent()
}

/// Reads one part between `@`.
fn part_of(part: TextPiece<'_>, domains: &LikwidDomains<'_>, remarks: &mut Vec<String>) -> Result<Vec<u32>, TextFault> {
    if let Some(comma) = comma_before_domain(part) {
        let fault = comma.fault_here("domains are joined by @, not by a comma");
        return Err(fault.with_hint(with_at(part.text)));
    }
    let fields = part.split(|c| c == ':');
    let is_method = fields.get(1).is_some_and(|field| ["scatter", "balanced", "cbalanced"].contains(&field.text));
    match (fields[0].text, fields.as_slice()) {
        _ if is_method => read_method(&fields, domains),
        ("E", [_, tag, numbers @ ..]) => expression_of(part, read_domain(*tag, domains)?, numbers),
        ("L", [_, tag, list]) => read_logical_list(*list, &read_domain(*tag, domains)?, domains),
        ("L" | "E", _) => Err(part.fault_here("expected a domain").with_hint("L:S0:0-3, E:S0:4:1:2")),
        (_, [tag]) if tag.text.starts_with(|c: char| c.is_ascii_alphabetic()) => read_domain(*tag, domains),
        (_, [list]) => read_plain_list(*list, domains, remarks),
        (_, [tag, list]) => read_logical_list(*list, &read_domain(*tag, domains)?, domains),
        _ => Err(part.fault_here("expected a domain and a list").with_hint("S0:0-3, E:S0:4:1:2, M:scatter")),
    }
}

/// Finds the first comma before the tag of a domain.
fn comma_before_domain(part: TextPiece<'_>) -> Option<TextPiece<'_>> {
    let mut characters = part.split_characters().peekable();
    while let Some(character) = characters.next() {
        let tag_follows = characters.peek().is_some_and(|next| next.text.starts_with(|c: char| c.is_ascii_uppercase()));
        if character.text == "," && tag_follows {
            return Some(character);
        }
    }
    None
}

/// Replaces every comma before the tag of a domain by `@`.
fn with_at(text: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for item in text.split(',') {
        match parts.last_mut() {
            Some(part) if !item.starts_with(|c: char| c.is_ascii_uppercase()) => part.push_str(&format!(",{item}")),
            _ => parts.push(item.to_owned()),
        }
    }
    parts.join("@")
}

fn read_domain(tag: TextPiece<'_>, domains: &LikwidDomains<'_>) -> Result<Vec<u32>, TextFault> {
    domains.domain_of_tag(tag.text).ok_or_else(|| {
        let count = |letter: &str| domains.domains_of_letter(letter).map_or(0, |all| all.len()).saturating_sub(1);
        let (packages, dies, caches, nodes) = (count("S"), count("D"), count("C"), count("M"));
        let hint = format!("N, S0-S{packages}, D0-D{dies}, C0-C{caches}, M0-M{nodes}");
        tag.fault_here(format!("domain {} does not exist", tag.text)).with_hint(hint)
    })
}

/// Reads numbers without a domain: the system's own, or logical ones if not all cpus are usable.
fn read_plain_list(
    list: TextPiece<'_>,
    domains: &LikwidDomains<'_>,
    remarks: &mut Vec<String>,
) -> Result<Vec<u32>, TextFault> {
    if is_confined(domains.machine) {
        remarks.push("This process may not use every cpu, so likwid-pin reads plain numbers as logical ones.".into());
        return read_logical_list(list, &domains.order, domains);
    }
    list::read_list(list, ListSyntax { descending: true, ..ListSyntax::default() })
}

/// Reads logical numbers in a domain, physical cores first; they wrap around at its end.
fn read_logical_list(list: TextPiece<'_>, domain: &[u32], domains: &LikwidDomains<'_>) -> Result<Vec<u32>, TextFault> {
    let places = list::read_list(list, ListSyntax { descending: true, ..ListSyntax::default() })?;
    if places.len() > domain.len() {
        let what = format!(
            "{} places requested from a domain of {} cpus; likwid-pin refuses that",
            places.len(),
            domain.len()
        );
        return Err(list.fault_here(what));
    }
    let sorted = domains.cores_first(domain);
    Ok(places.into_iter().map(|place| sorted[place as usize % sorted.len()]).collect())
}

/// Reads `E:S0:4`, `E:S0:4:1:2`, `E:S0:4:1:2:1`: a count, in chunks at strides, from an offset, with siblings adjacent.
fn expression_of(part: TextPiece<'_>, domain: Vec<u32>, numbers: &[TextPiece<'_>]) -> Result<Vec<u32>, TextFault> {
    let number = |piece: &TextPiece<'_>| piece.read_number("a number of threads").map(|number| number as usize);
    let numbers = numbers.iter().map(number).collect::<Result<Vec<_>, _>>()?;
    let (count, chunk, stride, offset) = match numbers.as_slice() {
        [] => (domain.len(), 1, 1, 0),
        [count] => (*count, 1, 1, 0),
        [count, chunk, stride] => (*count, *chunk, *stride, 0),
        [count, chunk, stride, offset] => (*count, *chunk, *stride, *offset),
        _ => return Err(part.fault_here("expected a count, or a count, a chunk and a stride").with_hint("E:S0:4:1:2")),
    };
    if chunk == 0 || stride == 0 || count == 0 || offset >= domain.len() {
        return Err(part.fault_here("counts, chunks and strides must be at least 1, and an offset inside the domain"));
    }
    let mut order = Vec::new();
    let mut place = offset;
    while order.len() < count {
        order.extend(domain.iter().skip(place).take(chunk.min(count - order.len())));
        place += stride;
        if place >= domain.len() {
            place = offset;
        }
    }
    Ok(order)
}

/// Reads `S:scatter:4`, which deals threads to the domains of a letter in turn, `balanced`, which fills each with its share, and
/// `cbalanced`.
fn read_method(fields: &[TextPiece<'_>], domains: &LikwidDomains<'_>) -> Result<Vec<u32>, TextFault> {
    let letter = fields[0];
    let expected = || letter.fault_here(format!("expected N, S, D, C or M, found \"{}\"", letter.text));
    let mut all = domains.domains_of_letter(letter.text).ok_or_else(expected)?;
    all.retain(|domain| !domain.is_empty());
    let usable: usize = all.iter().map(Vec::len).sum();
    let count = match fields.get(2) {
        Some(count) => (count.read_number("a number of threads")? as usize).min(usable),
        None => usable,
    };
    let share = |index: usize| count / all.len() + usize::from(index < count % all.len());
    let order = match fields[1].text {
        "scatter" => {
            let sorted: Vec<Vec<u32>> = all.iter().map(|domain| domains.cores_first(domain)).collect();
            let longest = sorted.iter().map(Vec::len).max().unwrap_or(0);
            let rank = |place: usize| sorted.iter().filter_map(move |domain| domain.get(place).copied());
            (0..longest).flat_map(rank).take(count).collect()
        }
        "balanced" => {
            all.iter().enumerate().flat_map(|(index, domain)| domain.iter().take(share(index))).copied().collect()
        }
        _ => all.iter().enumerate().flat_map(|(index, domain)| by_cores(domain, share(index), domains)).collect(),
    };
    Ok(order)
}

/// Returns the first cpus of a domain: one per core while that suffices, otherwise both threads of as few cores as necessary.
fn by_cores(domain: &[u32], count: usize, domains: &LikwidDomains<'_>) -> Vec<u32> {
    let sorted = domains.cores_first(domain);
    let cores = domain.iter().filter(|cpu| domains.thread_indexes.get(cpu) == Some(&0)).count();
    if count <= cores || cores == 0 {
        return sorted.into_iter().take(count).collect();
    }
    let threads_per_core = domain.len() / cores;
    let shared = ((count - cores) * threads_per_core).min(count);
    let mut order: Vec<u32> = domain.iter().copied().take(shared).collect();
    let rest: Vec<u32> = sorted.into_iter().filter(|cpu| !order.contains(cpu)).take(count - shared).collect();
    order.extend(rest);
    order
}
