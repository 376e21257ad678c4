//! Fixed pieces of work with a known length in core cycles.

/// Additions in one turn of the loop; the counts passed to [`dependent_additions`] are multiples of it.
pub const ADDITIONS_PER_TURN: u32 = 20;

/// Makes `additions` dependent additions of two registers, one after the other. They take as many core cycles on every processor of the
/// last decades, since each needs the result of the one before.
///
/// Register operands matter: additions of a constant are done in the renamer on recent cores and take no cycle at all. Counts that are no
/// multiple of [`ADDITIONS_PER_TURN`] are rounded up; at least one turn is made.
#[inline(always)]
pub fn dependent_additions(additions: u32, seed: u64) -> u64 {
    architecture::chain(additions.div_ceil(ADDITIONS_PER_TURN).max(1), seed)
}

#[cfg(target_arch = "x86_64")]
mod architecture {
    #[inline(always)]
    pub fn chain(turns: u32, seed: u64) -> u64 {
        let mut sum = seed;
        // SAFETY: plain register arithmetic; no memory, no stack; flags are declared clobbered by default.
        unsafe {
            std::arch::asm!(
                "2:",
                "add {sum}, {step}", "add {sum}, {step}", "add {sum}, {step}", "add {sum}, {step}", "add {sum}, {step}",
                "add {sum}, {step}", "add {sum}, {step}", "add {sum}, {step}", "add {sum}, {step}", "add {sum}, {step}",
                "add {sum}, {step}", "add {sum}, {step}", "add {sum}, {step}", "add {sum}, {step}", "add {sum}, {step}",
                "add {sum}, {step}", "add {sum}, {step}", "add {sum}, {step}", "add {sum}, {step}", "add {sum}, {step}",
                "dec {turns:e}",
                "jnz 2b",
                sum = inout(reg) sum,
                step = in(reg) seed | 1,
                turns = inout(reg) turns => _,
                options(nomem, nostack),
            );
        }
        sum
    }
}

#[cfg(target_arch = "aarch64")]
mod architecture {
    #[inline(always)]
    pub fn chain(turns: u32, seed: u64) -> u64 {
        let mut sum = seed;
        // SAFETY: plain register arithmetic; no memory, no stack; flags are declared clobbered by default.
        unsafe {
            std::arch::asm!(
                "2:",
                "add {sum}, {sum}, {step}", "add {sum}, {sum}, {step}", "add {sum}, {sum}, {step}",
                "add {sum}, {sum}, {step}", "add {sum}, {sum}, {step}", "add {sum}, {sum}, {step}",
                "add {sum}, {sum}, {step}", "add {sum}, {sum}, {step}", "add {sum}, {sum}, {step}",
                "add {sum}, {sum}, {step}", "add {sum}, {sum}, {step}", "add {sum}, {sum}, {step}",
                "add {sum}, {sum}, {step}", "add {sum}, {sum}, {step}", "add {sum}, {sum}, {step}",
                "add {sum}, {sum}, {step}", "add {sum}, {sum}, {step}", "add {sum}, {sum}, {step}",
                "add {sum}, {sum}, {step}", "add {sum}, {sum}, {step}",
                "subs {turns:w}, {turns:w}, #1",
                "b.ne 2b",
                sum = inout(reg) sum,
                step = in(reg) seed | 1,
                turns = inout(reg) turns => _,
                options(nomem, nostack),
            );
        }
        sum
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod architecture {
    #[inline(always)]
    pub fn chain(turns: u32, seed: u64) -> u64 {
        let step = seed | 1;
        (0..turns * super::ADDITIONS_PER_TURN).fold(seed, |sum, _| std::hint::black_box(sum.wrapping_add(step)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_addition_is_made() {
        for additions in [20, 1000, 50_000] {
            assert_eq!(dependent_additions(additions, 7), 7 + u64::from(additions) * 7);
        }
        assert_eq!(dependent_additions(1, 1), 21);
    }
}
