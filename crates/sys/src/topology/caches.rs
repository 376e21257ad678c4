//! The caches of a cpu as sysfs lists them.

use corewise_model::CpuSet;
use corewise_model::facts::{CacheFacts, CacheKind};

use super::reader::Reader;

/// What `indexN` is on x86, for recordings that kept neither level nor type: Linux lists data, instructions, L2, L3.
const BY_INDEX: [(u8, CacheKind); 4] =
    [(1, CacheKind::Data), (1, CacheKind::Instruction), (2, CacheKind::Unified), (3, CacheKind::Unified)];

/// The caches of the cpu with this folder.
pub fn caches(reader: &Reader, cpu_folder: &str, cpu: u32) -> Vec<CacheFacts> {
    let folder = format!("{cpu_folder}/cache");
    reader.numbered(&folder, "index").into_iter().filter_map(|index| cache(reader, &folder, index, cpu)).collect()
}

fn cache(reader: &Reader, folder: &str, index: u32, cpu: u32) -> Option<CacheFacts> {
    let file = |name: &str| format!("{folder}/index{index}/{name}");
    let given = reader.number(&file("level")).zip(reader.word(&file("type")).and_then(|word| kind(&word)));
    let shared = reader.list_or_mask(&file("shared_cpu_list"), &file("shared_cpu_map"));
    let listed = shared.is_some().then(|| BY_INDEX.get(index as usize).copied()).flatten();
    let (level, kind) = given.or(listed)?;
    let size_bytes = reader.word(&file("size")).and_then(|word| size_bytes(&word)).filter(|size| *size > 0);
    (1..=4).contains(&level).then(|| CacheFacts {
        level,
        kind,
        size_bytes,
        shared_with: shared.unwrap_or_else(|| CpuSet::of(cpu)),
    })
}

fn kind(word: &str) -> Option<CacheKind> {
    match word {
        "Data" => Some(CacheKind::Data),
        "Instruction" => Some(CacheKind::Instruction),
        "Unified" => Some(CacheKind::Unified),
        _ => None,
    }
}

/// A size as the kernel writes it: "32K", "96M", or bare bytes.
fn size_bytes(word: &str) -> Option<u64> {
    let (digits, shift) = match word.char_indices().last()? {
        (at, 'K' | 'k') => (&word[..at], 10),
        (at, 'M' | 'm') => (&word[..at], 20),
        (at, 'G' | 'g') => (&word[..at], 30),
        _ => (word, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;

    #[test]
    fn sizes_are_in_bytes() {
        let sizes = ["32K", "96M", "1G", "512", "", "K", "-1K", "99999999999999999999K", "18446744073709551615K"];
        let found: Vec<_> = sizes.iter().map(|word| size_bytes(word)).collect();
        assert_eq!(found, [Some(32_768), Some(96 << 20), Some(1 << 30), Some(512), None, None, None, None, None]);
    }

    #[test]
    fn level_and_type_are_read_or_guessed_by_index() {
        let root = Root::from_files([
            ("c/cache/index0/level", "1\n"),
            ("c/cache/index0/type", "Data\n"),
            ("c/cache/index0/size", "0K\n"),
            ("c/cache/index2/shared_cpu_list", "0-1\n"),
            ("c/cache/index7/shared_cpu_list", "0-1\n"),
            ("c/cache/index3/id", "0"),
            ("c/cache/index4/level", "77"),
            ("c/cache/index4/type", "Unified"),
        ]);
        let found = caches(&Reader::new(&root), "c", 1);
        assert_eq!(
            found,
            [
                CacheFacts { level: 1, kind: CacheKind::Data, size_bytes: None, shared_with: CpuSet::of(1) },
                CacheFacts { level: 2, kind: CacheKind::Unified, size_bytes: None, shared_with: CpuSet::first(2) },
            ]
        );
    }
}
