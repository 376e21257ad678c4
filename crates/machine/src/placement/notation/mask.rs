//! Masks: hexadecimal, binary, and as decimal numbers.

use super::list::format_counted;
use super::text::{TextFault, TextPiece};
use super::{NotationLine, NotationReading};
use crate::cpu_set::MAXIMUM_CPU;
use crate::{CpuSet, Machine};

/// Prints the mask without commas, and in the kernel's groups of 32 bits.
pub(super) fn print_hexadecimal(cpus: &CpuSet) -> Vec<NotationLine> {
    vec![
        NotationLine::new("mask", format!("0x{}", cpus.to_hexadecimal())),
        NotationLine::new("with commas", format_grouped(cpus))
            .into_secondary()
            .with_remark("Files of /proc/irq and /sys use groups of 32 bits."),
    ]
}

/// Formats the mask in groups of eight digits separated by commas.
pub(super) fn format_grouped(cpus: &CpuSet) -> String {
    let digits = cpus.to_hexadecimal();
    let first = (digits.len() - 1) % 8 + 1;
    let mut text = digits[..first].to_owned();
    for place in (first..digits.len()).step_by(8) {
        text.push(',');
        text.push_str(&digits[place..place + 8]);
    }
    text
}

/// Formats the mask bit by bit, highest first, in groups of four.
pub(super) fn format_binary(cpus: &CpuSet) -> String {
    let nibbles = cpus.to_hexadecimal();
    let bits = nibbles.chars().filter_map(|digit| digit.to_digit(16)).map(|nibble| format!("{nibble:04b}"));
    bits.collect::<Vec<_>>().join(" ")
}

/// Prints the mask bit by bit.
pub(super) fn print_binary(cpus: &CpuSet) -> Vec<NotationLine> {
    vec![NotationLine::new("binary", format_binary(cpus))]
}

/// Returns the mask as one word; `None` if the set has a cpu above 63.
pub(super) fn mask_word(cpus: &CpuSet) -> Option<u64> {
    match cpus.to_words().as_slice() {
        [] => Some(0),
        [word] => Some(*word),
        _ => None,
    }
}

/// Returns the cpus of one word.
pub(super) fn of_word(word: u64) -> CpuSet {
    CpuSet::from_words(&[word])
}

/// Prints the mask as a signed number of 64 and of 32 bits; one line if neither holds it.
pub(super) fn print_decimal(cpus: &CpuSet) -> Vec<NotationLine> {
    let too_wide = |bits: u32| {
        let highest = cpus.highest().unwrap_or(0);
        format!("cpu {highest} does not fit: a mask of {bits} bits ends at cpu {}.", bits - 1)
    };
    let negative = |value: i64| (value < 0).then(|| "The highest bit is set, so the number is negative.".to_owned());
    let Some(word) = mask_word(cpus) else { return vec![NotationLine::without_text("signed 64-bit", too_wide(64))] };
    let wide = NotationLine::new("signed 64-bit", (word as i64).to_string()).with_remarks(negative(word as i64));
    let narrow = match u32::try_from(word) {
        Ok(word) => {
            NotationLine::new("signed 32-bit", (word as i32).to_string()).with_remarks(negative((word as i32).into()))
        }
        Err(_) => NotationLine::without_text("signed 32-bit", too_wide(32)),
    };
    vec![wide, narrow.into_secondary()]
}

/// Reads a mask with or without `0x`, with the kernel's commas or with spaces.
pub(super) fn read_hexadecimal(text: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    // hwloc writes 0x before every group.
    let bare = |group: TextPiece<'_>| digits_of(group.trim().strip_word("0x").unwrap_or(group));
    let digits = text.split(|c| c == ',').into_iter().map(bare).collect::<Result<Vec<_>, _>>()?;
    Ok(NotationReading::from_set(of_digits(text, &digits.join(","))?))
}

/// Returns the hexadecimal digits of a mask without commas; white space and `_` are ignored.
pub(super) fn digits_of(text: TextPiece<'_>) -> Result<String, TextFault> {
    let mut digits = String::new();
    for character in text.split_characters().filter(|c| c.text != "_" && !c.text.trim().is_empty()) {
        if !character.text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(character.fault_here(format!("expected a hexadecimal digit, found \"{}\"", character.text)));
        }
        digits.push_str(character.text);
    }
    Ok(digits)
}

/// Parses hexadecimal digits; commas separate the kernel's groups.
pub(super) fn of_digits(text: TextPiece<'_>, digits: &str) -> Result<CpuSet, TextFault> {
    if digits.trim_matches(',').is_empty() {
        return Err(text.fault_here("expected a mask such as 0x55, found no digit"));
    }
    CpuSet::parse_mask(digits).map_err(|_| text.fault_here(format!("this mask goes beyond cpu {MAXIMUM_CPU}")))
}

/// Reads a mask bit by bit, with or without `0b`; white space and `_` are ignored.
pub(super) fn read_binary(text: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    let mut bits = Vec::new();
    for character in text.strip_word("0b").unwrap_or(text).split_characters() {
        match character.text {
            "0" => bits.push(false),
            "1" => bits.push(true),
            "_" => {}
            other if other.trim().is_empty() => {}
            other => return Err(character.fault_here(format!("expected 0 or 1, found \"{other}\""))),
        }
    }
    if bits.len() > MAXIMUM_CPU as usize + 1 {
        return Err(text.fault_here(format!("this mask goes beyond cpu {MAXIMUM_CPU}")));
    }
    let set = |(place, bit): (usize, &bool)| bit.then_some(place as u32);
    Ok(NotationReading::from_set(bits.iter().rev().enumerate().filter_map(set).collect()))
}

/// Reads a mask written as a decimal number. A negative number fills 32 bits on a machine with cpus that fit them, and 64 bits elsewhere.
pub(super) fn read_decimal(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let fits_in_32_bits = machine.possible.highest().is_none_or(|cpu| cpu < 32);
    let word = read_integer(text)?;
    match i32::try_from(word as i64) {
        Ok(narrow) if narrow < 0 => {
            let (read, other) = (of_word(u64::from(narrow as u32)), of_word(word));
            let (cpus, bits, other, others) =
                if fits_in_32_bits { (read, 32, other, 64) } else { (other, 64, read, 32) };
            let remark =
                format!("Read as a mask of {bits} bits; with {others} bits it would be {}.", format_counted(&other));
            Ok(NotationReading::from_set(cpus).with_remark(remark))
        }
        _ => Ok(NotationReading::from_set(of_word(word))),
    }
}

/// Reads a whole number of 64 bits, signed or not; hexadecimal with `0x`, binary with `0b`.
pub(super) fn read_integer(text: TextPiece<'_>) -> Result<u64, TextFault> {
    let text = text.trim();
    let digits = |prefix: &str, radix: u32| Some((text.strip_word(prefix)?.text, radix));
    let value: Option<i128> = match digits("0x", 16).or_else(|| digits("0b", 2)) {
        Some((digits, radix)) => i128::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with(['+', '-'])),
        None => text.text.parse().ok(),
    };
    let value = value.ok_or_else(|| text.fault_here(format!("expected a whole number, found \"{}\"", text.text)))?;
    let signed = i64::try_from(value).map(|value| value as u64);
    signed.or_else(|_| u64::try_from(value)).map_err(|_| text.fault_here("this number has more than 64 bits"))
}
