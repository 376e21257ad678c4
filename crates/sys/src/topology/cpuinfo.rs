//! /proc/cpuinfo, in the forms of x86, Arm, POWER and Itanium.

pub mod arm;

use std::collections::BTreeMap;

use corewise_machine::CpuSet;
use corewise_machine::facts::{CpuFacts, NamedKind};
use corewise_machine::machine::ProcessorFacts;

use super::limits::{CPUS, LARGEST_CPU};
use super::reader::ValueReader;

/// Contents of /proc/cpuinfo.
#[derive(Debug, Default)]
pub struct CpuInfo {
    cpus: BTreeMap<u32, CpuInfoEntry>,
    /// The fields of the first cpu, by their names; for fields that name the processor, the most common values.
    first: BTreeMap<String, String>,
    /// True if it names cpus above the largest that is read.
    pub has_larger_cpus: bool,
}

/// The fields that name the processor.
const IDENTITY: [&str; 6] = ["vendor_id", "cpu family", "model", "model name", "stepping", "microcode"];

/// Facts about one cpu.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuInfoEntry {
    pub package: Option<i64>,
    pub core: Option<i64>,
    /// Arm's implementer and part number.
    pub part: Option<(u32, u32)>,
}

impl CpuInfo {
    /// Parses the text. Every "processor" line with a number begins a cpu; malformed lines are skipped.
    pub fn parse(text: &str) -> Self {
        let mut info = Self::default();
        let mut current = None;
        let mut identities: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
            let (name, value) = (name.trim_end(), value.trim());
            if name == "processor" {
                let number: Option<u32> = value.parse().ok();
                current = number.filter(|cpu| *cpu <= LARGEST_CPU);
                info.has_larger_cpus |= number.is_some() && current.is_none();
            }
            if let Some(cpu) = current {
                info.cpus.entry(cpu).or_default().set_field(name, value);
            }
            if IDENTITY.contains(&name) {
                *identities.entry(name).or_default().entry(value).or_default() += 1;
            }
            if info.cpus.len() <= 1 && !info.first.contains_key(name) {
                info.first.insert(name.to_owned(), value.to_owned());
            }
        }
        for (name, values) in identities {
            let all: usize = values.values().sum();
            let most = values.into_iter().max_by_key(|(_, count)| *count).filter(|(_, count)| 2 * count > all);
            most.into_iter().for_each(|(value, _)| _ = info.first.insert(name.to_owned(), value.to_owned()));
        }
        info
    }

    pub fn entry_of(&self, cpu: u32) -> Option<&CpuInfoEntry> {
        self.cpus.get(&cpu)
    }

    /// Returns the listed cpus, which are the online ones.
    pub fn listed_cpus(&self) -> CpuSet {
        self.cpus.keys().copied().collect()
    }

    /// Returns true if the machine is a guest; `None` if the architecture has no flag for it.
    pub fn is_guest(&self) -> Option<bool> {
        self.first.get("flags").map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
    }

    /// Returns the architecture, concluded from the form of the text.
    pub fn architecture(&self) -> Option<&'static str> {
        let has = |name: &str| self.first.contains_key(name);
        let value = |name: &str| self.first.get(name).map(String::as_str).unwrap_or_default();
        if value("arch") == "IA-64" {
            Some("ia64")
        } else if has("vendor_id") && has("flags") {
            Some(if value("flags").split_whitespace().any(|flag| flag == "lm") { "x86_64" } else { "i686" })
        } else if has("CPU implementer") {
            Some(if value("CPU architecture") == "8" { "aarch64" } else { "arm" })
        } else if value("cpu").starts_with("POWER") {
            Some("ppc64")
        } else {
            None
        }
    }

    /// Returns the kinds of Arm's cores by their designs; empty if they are not known to differ.
    pub fn kinds_by_design(&self, cpus: &CpuSet, reader: &ValueReader) -> Vec<NamedKind> {
        arm::kinds_of_parts(|cpu| self.part_of(cpu, reader), cpus)
    }

    fn part_of(&self, cpu: u32, reader: &ValueReader) -> Option<(u32, u32)> {
        self.entry_of(cpu).and_then(|entry| entry.part).or_else(|| midr_part(reader, cpu))
    }

    /// Returns the processor's names and numbers. The microcode's revision may be in sysfs instead.
    pub fn read_processor(&self, cpus: &[CpuFacts], reader: &ValueReader) -> ProcessorFacts {
        let value = |names: &[&str]| names.iter().find_map(|name| self.first.get(*name)).cloned();
        let number = |name: &str| self.first.get(name)?.parse().ok();
        let part_of = |cpu| self.part_of(cpu, reader);
        let microcode = || reader.read_word(&format!("{CPUS}/cpu{}/microcode/version", cpus.first()?.number));
        let name = value(&["model name", "cpu"]).map(|name| name.split_whitespace().collect::<Vec<_>>().join(" "));
        ProcessorFacts {
            model_name: name.filter(|name| !name.is_empty()).or_else(|| arm::model_name(part_of, cpus)),
            vendor: value(&["vendor_id", "vendor"]).or_else(|| arm::vendor_of_part(part_of, cpus)),
            family: number("cpu family").or_else(|| number("family")),
            model: number("model"),
            stepping: number("stepping"),
            microcode: value(&["microcode"]).or_else(microcode),
        }
    }
}

impl CpuInfoEntry {
    fn set_field(&mut self, name: &str, value: &str) {
        match name {
            "physical id" => self.package = value.parse().ok(),
            "core id" => self.core = value.parse().ok(),
            "CPU implementer" => self.part = Some((parse_hexadecimal(value), 0)),
            "CPU part" => self.part = self.part.map(|(implementer, _)| (implementer, parse_hexadecimal(value))),
            _ => (),
        }
    }
}

/// Returns implementer and part number from the register itself, which the kernel shows on arm64: bits 31-24 and 15-4.
fn midr_part(reader: &ValueReader, cpu: u32) -> Option<(u32, u32)> {
    let word = reader.read_word(&format!("{CPUS}/cpu{cpu}/regs/identification/midr_el1"))?;
    let register = u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()? as u32;
    Some((register >> 24, register >> 4 & 0xfff))
}

fn parse_hexadecimal(text: &str) -> u32 {
    u32::from_str_radix(text.trim_start_matches("0x"), 16).unwrap_or_default()
}

#[cfg(test)]
mod tests;
