//! Loops that stream through memory, with the processor's widest registers: few instructions for a line leave room for more lines in
//! flight.

/// Loads every word; returns their sum.
#[inline(never)]
pub fn read(words: &[u64]) -> u64 {
    architecture::read(words)
}

/// Stores a different number to every word, derived from `value`: for equal ones a compiler makes a call that may choose other stores.
#[inline(never)]
pub fn write(words: &mut [u64], value: u64) {
    architecture::write(words, value);
}

/// Copies every word, changed by `change` so that a compiler does not make this a call; up to the shorter length.
#[inline(never)]
pub fn copy(from: &[u64], to: &mut [u64], change: u64) {
    architecture::copy(from, to, change);
}

/// Stores a value to all words past the caches: movntdq on x86-64, stnp on 64-bit Arm. Returns false, with nothing written, on other
/// processors.
#[inline(never)]
pub fn write_past_caches(words: &mut [u64], value: u64) -> bool {
    architecture::write_past_caches(words, value)
}

#[inline(always)]
fn read_any(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
}

#[inline(always)]
fn write_any(words: &mut [u64], value: u64) {
    for (place, word) in words.iter_mut().enumerate() {
        *word = value ^ place as u64;
    }
}

#[inline(always)]
fn copy_any(from: &[u64], to: &mut [u64], change: u64) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from ^ change;
    }
}

#[cfg(target_arch = "x86_64")]
mod architecture {
    use std::arch::x86_64::{__m128i, __m256i, _mm_set1_epi64x, _mm_sfence, _mm_stream_si128};
    use std::arch::x86_64::{_mm256_set1_epi64x, _mm256_stream_si256};

    use super::{copy_any, read_any, write_any};

    #[target_feature(enable = "avx2")]
    fn read_wide(words: &[u64]) -> u64 {
        read_any(words)
    }

    #[target_feature(enable = "avx2")]
    fn write_wide(words: &mut [u64], value: u64) {
        write_any(words, value);
    }

    #[target_feature(enable = "avx2")]
    fn copy_wide(from: &[u64], to: &mut [u64], change: u64) {
        copy_any(from, to, change);
    }

    /// Stores past the caches; words before and after whole registers are written as usual.
    #[target_feature(enable = "avx2")]
    fn write_past_wide(words: &mut [u64], value: u64) {
        // SAFETY: any bits are a valid register, and a register is any words.
        let (before, wide, behind) = unsafe { words.align_to_mut::<__m256i>() };
        let all = _mm256_set1_epi64x(value.cast_signed());
        for register in wide {
            // SAFETY: aligned, and borrowed exclusively.
            unsafe { _mm256_stream_si256(register, all) };
        }
        before.fill(value);
        behind.fill(value);
    }

    fn write_past_any(words: &mut [u64], value: u64) {
        // SAFETY: any bits are a valid register, and a register is any words.
        let (before, wide, behind) = unsafe { words.align_to_mut::<__m128i>() };
        for register in wide {
            // SAFETY: aligned, and borrowed exclusively; every x86-64 processor has the instructions (SSE2).
            unsafe { _mm_stream_si128(register, _mm_set1_epi64x(value.cast_signed())) };
        }
        before.fill(value);
        behind.fill(value);
    }

    fn is_wide() -> bool {
        std::arch::is_x86_feature_detected!("avx2")
    }

    pub fn read(words: &[u64]) -> u64 {
        // SAFETY: the processor has these registers, and the system saves them.
        if is_wide() { unsafe { read_wide(words) } } else { read_any(words) }
    }

    pub fn write(words: &mut [u64], value: u64) {
        // SAFETY: the processor has these registers, and the system saves them.
        if is_wide() { unsafe { write_wide(words, value) } } else { write_any(words, value) }
    }

    pub fn copy(from: &[u64], to: &mut [u64], change: u64) {
        // SAFETY: the processor has these registers, and the system saves them.
        if is_wide() { unsafe { copy_wide(from, to, change) } } else { copy_any(from, to, change) }
    }

    pub fn write_past_caches(words: &mut [u64], value: u64) -> bool {
        if is_wide() {
            // SAFETY: the processor has these registers, and the system saves them.
            unsafe { write_past_wide(words, value) }
        } else {
            write_past_any(words, value)
        }
        // SAFETY: only orders earlier writes before later ones.
        unsafe { _mm_sfence() };
        true
    }
}

#[cfg(target_arch = "aarch64")]
mod architecture {
    pub(super) use super::{copy_any as copy, read_any as read, write_any as write};

    pub fn write_past_caches(words: &mut [u64], value: u64) -> bool {
        let (pairs, rest) = words.as_chunks_mut::<2>();
        for pair in pairs {
            // SAFETY: two words that are borrowed exclusively; no other memory is touched.
            unsafe {
                std::arch::asm!("stnp {value}, {value}, [{at}]", value = in(reg) value, at = in(reg) pair.as_mut_ptr(), options(nostack));
            }
        }
        rest.fill(value);
        true
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod architecture {
    pub(super) use super::{copy_any as copy, read_any as read, write_any as write};

    pub fn write_past_caches(_: &mut [u64], _: u64) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_written_and_copied_once_wherever_the_first_one_lies() {
        for first in 0..5 {
            let mut words = vec![0; 1005];
            write(&mut words[first..], 8);
            assert!(words[first..].iter().enumerate().all(|(place, word)| *word == 8 ^ place as u64));
            assert_eq!(read(&words), words.iter().sum::<u64>());
            let mut others = vec![0; 1005];
            copy(&words[first..], &mut others[first..], 1);
            assert!(others[first..].iter().zip(&words[first..]).all(|(to, from)| *to == from ^ 1));
            if write_past_caches(&mut words[first..1000], 7) {
                assert!(words[first..1000].iter().all(|word| *word == 7));
                assert_eq!((words[..first].iter().sum::<u64>(), words[1000]), (0, 8 ^ (1000 - first as u64)));
            }
        }
    }
}
