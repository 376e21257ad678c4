//! Forms of the values by which programs name cpus.

use super::choices::{NamedReading, agree, one_for_each};
use super::keyed::ValueExtent;
use super::list::{self, ListSyntax};
use super::text::{TextFault, TextPiece};
use super::{NotationReading, mask, nodes, rankfile, windows};
use crate::{CpuSet, Machine};

/// Form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingValue {
    /// A list as people write them: see [`read_any_list`].
    List,
    /// A list, of which a single number is a number of cpus.
    CountOrList,
    /// A hexadecimal mask, with or without `0x` and commas.
    Mask,
    /// Hexadecimal masks, one for each process.
    Masks,
    /// A hexadecimal mask, or a list in brackets.
    MaskOrList,
    /// A mask as a whole number of C: decimal unless it begins with `0x`.
    Integer,
    /// Lists, one for each process, with this separator.
    ForEach(char),
    /// Pairs of something and its cpus: the separator of pairs, and the one before the cpus.
    Pairs(char, char),
    /// A cpu here and, behind a comma, one of the machine at the other end.
    LocalRemote,
    /// Pairs of a socket and its core, `0,0:0,1`.
    SocketCores,
    /// A list of NUMA nodes.
    Nodes,
    /// A mask as a whole number, with Windows' numbering.
    WindowsMask,
    /// Ranges such as `0 TO 7, 9` or `0-7,9`, with Windows' numbering.
    WindowsRanges,
    /// A list with Windows' numbering: its first cpu is 1.
    WindowsFromOne,
    /// A number of cpus or threads, which names none; the reason.
    Count(&'static str),
}

impl SettingValue {
    /// Returns where a value ends.
    pub fn extent(self) -> ValueExtent {
        match self {
            Self::List | Self::CountOrList | Self::Nodes => ValueExtent::Numbers,
            Self::WindowsRanges => ValueExtent::Line,
            Self::Pairs(' ', _) => ValueExtent::Line,
            _ => ValueExtent::Word,
        }
    }

    /// Returns true if a value may have this form at all: a word such as `false`, another setting or another option is none.
    pub fn may_be(self, text: TextPiece<'_>) -> bool {
        let is_list = matches!(self, Self::List | Self::CountOrList);
        let is_word = || {
            ["true", "false", "yes", "no", "on", "off", "auto", "ordered", "cpu"]
                .iter()
                .any(|word| text.text.eq_ignore_ascii_case(word))
        };
        !is_list || !text.text.starts_with('-') && !text.text.contains('=') && !is_word()
    }

    /// Reads a value.
    pub fn read(self, text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
        match self {
            Self::List | Self::CountOrList => read_any_list(text, machine),
            Self::Mask => mask::read_hexadecimal(text),
            Self::Integer => Ok(NotationReading::from_set(mask::of_word(mask::read_integer(text)?))),
            Self::Masks => read_masks(text),
            Self::MaskOrList => read_mask_or_list(text, machine),
            Self::ForEach(separator) => read_each(text.split(|c| c == separator), "process"),
            Self::Pairs(between, joint) => read_pairs(text, between, joint),
            Self::LocalRemote => read_local(text),
            Self::SocketCores => read_socket_cores(text, machine),
            Self::Nodes => {
                let numbers = list::read_list(text, ListSyntax::default())?.into_iter().collect();
                let cpus = nodes::cpus_of_nodes(text, &numbers, machine)?;
                Ok(NotationReading::from_set(cpus).with_remark("The numbers are NUMA nodes."))
            }
            Self::WindowsMask => {
                windows::read_numbers(text, mask::of_word(mask::read_integer(text.without_quotes())?).iter(), machine)
            }
            Self::WindowsRanges => windows::read_numbers(text, read_ranges(text)?, machine),
            Self::WindowsFromOne => {
                let numbers = list::read_list(text, ListSyntax::default())?;
                let from_zero = |number: &u32| number.checked_sub(1);
                let numbers: Option<Vec<u32>> = numbers.iter().map(from_zero).collect();
                let numbers = numbers.ok_or_else(|| text.fault_here("these numbers begin with 1"))?;
                Ok(windows::read_numbers(text, numbers, machine)?.with_remark("These numbers begin with 1."))
            }
            Self::Count(why) => Err(text.fault_here(why)),
        }
    }
}

/// Reads a list in any of the forms of configuration files: `0-3`, `0 1`, `2-5,^3`, `0,4..8`, `["2", "3"]`, `{0,1}`, `0xff`, `0+1`, `0-3;4-7`,
/// `0[0,2] 1[1,3]`.
fn read_any_list(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let text = without_brackets(text);
    if let Some(nodes) = ["nodes:", "node:"].iter().find_map(|word| text.strip_prefix(word)) {
        return SettingValue::Nodes.read(nodes, machine);
    }
    let text = text.strip_prefix("map:").unwrap_or(text);
    // 0-7:ordered
    let text = match text.split_once(':') {
        Some((list, word)) if !word.text.starts_with(|c: char| c.is_ascii_digit()) => list,
        _ => text,
    };
    if text.text.contains('[') {
        let lists = text.split(|c| c == '[').into_iter().skip(1);
        return read_each(lists.map(|list| list.split_once(']').map_or(list, |(list, _)| list)).collect(), "part");
    }
    if text.text.contains(';') {
        return read_each(text.split(|c| c == ';'), "part");
    }
    if text.text.starts_with("0x") {
        let groups = text.split(|c| c == ',');
        let is_grouped = groups[1..].iter().all(|group| group.text.trim_start_matches("0x").len() == 8);
        return if is_grouped { mask::read_hexadecimal(text) } else { read_masks(text) };
    }
    let rules =
        ListSyntax { spaces: true, exclusion: true, dots: true, ..list::kernel_syntax(machine.possible.highest()) };
    if !text.text.contains(['"', '\'', '+']) {
        return Ok(NotationReading::from_order(list::read_list(text, rules)?));
    }
    let mut order = Vec::new();
    for item in text.split(|c| matches!(c, ',' | '+')).into_iter().filter(|item| !item.is_empty()) {
        order.extend(list::read_list(item.trim().without_quotes(), rules)?);
        list::check_count(order.len(), item)?;
    }
    Ok(NotationReading::from_order(order))
}

/// Removes quotation marks and brackets around a value.
fn without_brackets(text: TextPiece<'_>) -> TextPiece<'_> {
    let text = text.trim();
    let inside = |open: &str, close: &str| {
        let inner = text.strip_prefix(open)?.strip_suffix(close)?;
        (!inner.text.contains([open.chars().next()?, close.chars().next()?])).then_some(inner)
    };
    let pairs = [("\"", "\""), ("'", "'"), ("[", "]"), ("{", "}"), ("(", ")")];
    pairs.iter().find_map(|(open, close)| inside(open, close)).map_or(text, without_brackets)
}

/// Reads a list for each process or part.
fn read_each(lists: Vec<TextPiece<'_>>, who: &str) -> Result<NotationReading, TextFault> {
    let read = |list: TextPiece<'_>| Ok(list::read_list(list, ListSyntax::default())?.into_iter().collect());
    let lists = lists.into_iter().filter(|list| !list.trim().is_empty());
    Ok(one_for_each(who, &lists.map(read).collect::<Result<Vec<CpuSet>, TextFault>>()?))
}

/// Reads hexadecimal masks, one for each process.
fn read_masks(text: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    let read = |part: TextPiece<'_>| Ok(mask::read_hexadecimal(part)?.cpus);
    let sets = text.split(|c| c == ',').into_iter().map(read).collect::<Result<Vec<_>, TextFault>>()?;
    Ok(one_for_each("process", &sets))
}

/// Reads a mask, or a list in brackets, which may be lost by now: a number alone is a question.
fn read_mask_or_list(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    if text.text.contains([',', '-', '[']) {
        return read_any_list(text, machine);
    }
    let parts = vec![NamedReading::new("a mask", mask::read_hexadecimal(text)?)];
    let is_mask = text.text.starts_with("0x") || text.text.contains(|c: char| c.is_ascii_alphabetic());
    let list = if is_mask { None } else { read_any_list(text, machine).ok() };
    let list = list.map(|read| NamedReading::new("in brackets, a list", read));
    agree(text, parts.into_iter().chain(list).collect(), || text.fault_here("no cpu is named here"))
}

/// Reads the cpus of pairs such as `0:4`.
fn read_pairs(text: TextPiece<'_>, between: char, joint: char) -> Result<NotationReading, TextFault> {
    let mut lists = Vec::new();
    for pair in text.split(|c| c == between).into_iter().map(TextPiece::trim).filter(|pair| !pair.is_empty()) {
        let Some(place) = pair.text.rfind(joint) else {
            return Err(pair.fault_here(format!("expected something, {joint} and its cpus")));
        };
        lists.push(pair.sub_piece(place + joint.len_utf8(), pair.text.len()));
    }
    read_each(lists, "pair")
}

/// Reads a cpu here; the other one is at the other end.
fn read_local(text: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    let (here, there) = text.split_once(',').map_or((text, None), |(here, there)| (here, Some(there)));
    if here.is_empty() {
        return Err(text.fault_here("this names only a cpu at the other end"));
    }
    let remark = there.map(|cpu| format!("Cpu {} is of the machine at the other end.", cpu.text));
    Ok(NotationReading::from_order(list::read_list(here, ListSyntax::default())?).with_remarks(remark))
}

/// Reads the cores of sockets, both counted in the machine's order.
fn read_socket_cores(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let host = rankfile::HostCores::new(machine);
    let read = |pair: TextPiece<'_>| {
        let (socket, core) =
            pair.split_once(',').ok_or_else(|| pair.fault_here("expected a socket, a comma and a core"))?;
        host.cpus_of_package(socket, core)
    };
    let cores = text.split(|c| c == ':').into_iter().map(read).collect::<Result<Vec<CpuSet>, TextFault>>()?;
    Ok(one_for_each("thread", &cores).with_remark("Cores are counted in their sockets."))
}

/// Reads `0 TO 7, 9`.
fn read_ranges(text: TextPiece<'_>) -> Result<Vec<u32>, TextFault> {
    let mut numbers = Vec::new();
    for item in text.split(|c| c == ',') {
        match item.split_words().as_slice() {
            [first, to, last] if to.text.eq_ignore_ascii_case("to") => {
                let what = "a cpu number";
                numbers.extend(first.read_number(what)?..=last.read_number(what)?);
            }
            [range] if range.text.contains('-') => numbers.extend(list::read_list(*range, ListSyntax::default())?),
            _ => numbers.push(item.read_number("a cpu number or a range such as 0 TO 7")?),
        }
        list::check_count(numbers.len(), item)?;
    }
    Ok(numbers)
}
