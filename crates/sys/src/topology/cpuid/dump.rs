//! One cpu's registers: lines of `mask eax ebx ecx edx => eax ebx ecx edx`, all hexadecimal.

use std::collections::{BTreeMap, BTreeSet};

use corewise_machine::facts::CoreType;

/// Maximum number of leaves kept; a cpu has fewer than 200.
const MOST_LEAVES: usize = 2_000;

/// Answers of cpuid, by leaf (eax) and subleaf (ecx).
#[derive(Debug, Default)]
pub struct CpuidDump {
    answers: BTreeMap<(u32, u32), CpuidRegisters>,
}

/// The registers eax, ebx, ecx, edx of one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuidRegisters {
    pub eax: u32,
    pub ebx: u32,
    pub ecx: u32,
    pub edx: u32,
}

impl CpuidDump {
    /// Parses a dump; other lines are skipped.
    pub fn parse(text: &str) -> Self {
        let answers = text.lines().filter_map(parse_answer).take(MOST_LEAVES).collect();
        Self { answers }
    }

    /// Returns the answer to a leaf and subleaf.
    pub fn answer_of(&self, leaf: u32, subleaf: u32) -> Option<CpuidRegisters> {
        self.answers.get(&(leaf, subleaf)).copied()
    }

    /// Returns the leaves that are answered.
    pub fn leaves(&self) -> BTreeSet<u32> {
        self.answers.keys().map(|(leaf, _)| *leaf).collect()
    }

    /// Iterates over the subleaves of a leaf from 0 on, up to the first missing one.
    pub fn subleaves(&self, leaf: u32) -> impl Iterator<Item = CpuidRegisters> + '_ {
        (0..).map_while(move |subleaf| self.answer_of(leaf, subleaf))
    }

    /// Returns the vendor: "GenuineIntel", "AuthenticAMD".
    pub fn vendor_name(&self) -> Option<String> {
        let CpuidRegisters { ebx, ecx, edx, .. } = self.answer_of(0, 0)?;
        registers_text([ebx, edx, ecx])
    }

    /// Returns true if it follows AMD's leaves: AMD and Hygon.
    pub fn is_amd(&self) -> bool {
        matches!(self.vendor_name().as_deref(), Some("AuthenticAMD" | "HygonGenuine"))
    }

    /// Returns the processor's brand string.
    pub fn brand_name(&self) -> Option<String> {
        let parts: Vec<u32> = (0x8000_0002..=0x8000_0004)
            .filter_map(|leaf| self.answer_of(leaf, 0))
            .flat_map(|registers| [registers.eax, registers.ebx, registers.ecx, registers.edx])
            .collect();
        registers_text(parts)
            .map(|name| name.split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|name| !name.is_empty())
    }

    /// Returns family, model and stepping with the extended parts added.
    pub fn family_model_stepping(&self) -> Option<(u32, u32, u32)> {
        let eax = self.answer_of(1, 0)?.eax;
        let (base, extended) = (register_bits(eax, 8, 4), register_bits(eax, 20, 8));
        let family = if base == 0xf { base + extended } else { base };
        let extends_model = base == 0xf || base == 6;
        let model = register_bits(eax, 4, 4) + if extends_model { register_bits(eax, 16, 4) << 4 } else { 0 };
        Some((family, model, register_bits(eax, 0, 4)))
    }

    /// Returns the class of this core, if the processor has several.
    pub fn core_type(&self) -> Option<CoreType> {
        if self.is_amd() {
            let core = self.answer_of(0x8000_0026, 0).filter(|core| register_bits(core.eax, 30, 1) == 1)?;
            return [CoreType::Performance, CoreType::Efficiency].get(register_bits(core.ebx, 28, 4) as usize).copied();
        }
        match register_bits(self.answer_of(0x1a, 0)?.eax, 24, 8) {
            0x40 => Some(CoreType::Performance),
            0x20 => Some(CoreType::Efficiency),
            _ => None,
        }
    }

    /// Returns "x86_64" if the processor has long mode, else "i686".
    pub fn architecture(&self) -> &'static str {
        let long_mode = self.answer_of(0x8000_0001, 0).is_some_and(|leaf| register_bits(leaf.edx, 29, 1) == 1);
        if long_mode { "x86_64" } else { "i686" }
    }
}

/// Returns `count` bits of a register from bit `from` on.
pub fn register_bits(register: u32, from: u32, count: u32) -> u32 {
    (register >> from) & ((1 << count) - 1)
}

fn parse_answer(line: &str) -> Option<((u32, u32), CpuidRegisters)> {
    let (asked, answered) = line.split_once("=>")?;
    let numbers = |text: &str| -> Option<Vec<u32>> {
        text.split_whitespace().map(|word| u32::from_str_radix(word, 16).ok()).collect()
    };
    let (&[mask, leaf, _, subleaf, _], &[eax, ebx, ecx, edx]) = (&numbers(asked)?[..], &numbers(answered)?[..]) else {
        return None;
    };
    let counts = mask & 4 != 0; // the answer depends on ecx
    Some(((leaf, if counts { subleaf } else { 0 }), CpuidRegisters { eax, ebx, ecx, edx }))
}

fn registers_text(registers: impl IntoIterator<Item = u32>) -> Option<String> {
    let bytes: Vec<u8> = registers.into_iter().flat_map(u32::to_le_bytes).take_while(|byte| *byte != 0).collect();
    String::from_utf8(bytes).ok().filter(|text| !text.is_empty())
}
