//! Fixed pieces of work whose length in core cycles is known.

/// How many additions one turn of the loop makes; the counts passed to [`dependent_additions`] are multiples of it.
pub const ADDITIONS_PER_TURN: u32 = 20;

/// Makes `additions` dependent additions of two registers, one after the other: as many core cycles on every processor
/// of the last decades, since each needs the result of the one before.
///
/// Register operands matter: additions of a constant are done in the renamer on recent cores and take no cycle at all.
/// Counts that are no multiple of [`ADDITIONS_PER_TURN`] are rounded up; at least one turn is made.
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

/// Writes a value to all words past the caches: movnti on x86-64, stnp on 64-bit Arm. False, with nothing written, on other processors.
#[inline]
pub fn write_past_caches(words: &mut [u64], value: u64) -> bool {
    past::write(words, value)
}

#[cfg(target_arch = "x86_64")]
mod past {
    use std::arch::x86_64::{_mm_sfence, _mm_stream_si64};

    #[inline]
    pub fn write(words: &mut [u64], value: u64) -> bool {
        for word in words {
            // SAFETY: an aligned word that is borrowed exclusively; every x86-64 processor has the instruction (SSE2).
            unsafe { _mm_stream_si64(std::ptr::from_mut(word).cast(), value.cast_signed()) };
        }
        // SAFETY: orders what was written before what follows; nothing else.
        unsafe { _mm_sfence() };
        true
    }
}

#[cfg(target_arch = "aarch64")]
mod past {
    #[inline]
    pub fn write(words: &mut [u64], value: u64) -> bool {
        let (pairs, rest) = words.as_chunks_mut::<2>();
        for pair in pairs {
            // SAFETY: two aligned words that are borrowed exclusively.
            unsafe {
                std::arch::asm!("stnp {value}, {value}, [{at}]", value = in(reg) value, at = in(reg) pair.as_mut_ptr(), options(nostack));
            }
        }
        rest.fill(value);
        true
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod past {
    pub fn write(_: &mut [u64], _: u64) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_written_past_the_caches_are_there() {
        let mut words = vec![0; 1001];
        if write_past_caches(&mut words[1..], 7) {
            assert_eq!((words[0], words[1..].iter().all(|word| *word == 7)), (0, true));
        }
    }

    #[test]
    fn every_addition_is_made() {
        for additions in [20, 1000, 50_000] {
            assert_eq!(dependent_additions(additions, 7), 7 + u64::from(additions) * 7);
        }
        assert_eq!(dependent_additions(1, 1), 21);
    }
}
