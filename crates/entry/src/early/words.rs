//! Words of the command line: comparison, and the cpus of a list or mask.

use super::system_call::MASK_WORDS;

/// Reads a byte of a word.
///
/// # Safety
/// `word` ends with a zero byte, and none of the bytes before `at` is zero.
#[inline(always)]
pub unsafe fn byte_at(word: *const u8, at: usize) -> u8 {
    // SAFETY: as promised by the caller.
    unsafe { word.add(at).read_volatile() }
}

/// Packs up to eight letters into a number, so that no string lies in memory.
pub const fn pack_letters(letters: &[u8]) -> u64 {
    let (mut packed, mut at) = (0, 0);
    while at < letters.len() {
        packed |= (letters[at] as u64) << (8 * at);
        at += 1;
    }
    packed
}

/// Returns true if a word consists of these letters, of which there are `length`.
///
/// # Safety
/// `word` ends with a zero byte.
#[inline(always)]
pub unsafe fn is_word(word: *const u8, letters: u64, length: usize) -> bool {
    // SAFETY: the next byte is read only if this one is not the last.
    unsafe { starts_with(word, letters, length) && byte_at(word, length) == 0 }
}

/// Returns true if a word begins with these letters, of which there are `length`.
///
/// # Safety
/// `word` ends with a zero byte.
#[inline(always)]
pub unsafe fn starts_with(word: *const u8, letters: u64, length: usize) -> bool {
    let mut at = 0;
    while at < length {
        // SAFETY: the bytes before were letters, so none was zero.
        if u64::from(unsafe { byte_at(word, at) }) != (letters >> (8 * at)) & 0xff {
            return false;
        }
        at += 1;
    }
    true
}

/// Reads a list such as `0,2,4-7`, or a mask such as `0x55`, into `mask`; returns false if the text is anything else, or names a cpu above
/// 1023.
///
/// # Safety
/// `text` ends with a zero byte, and `mask` points to [`MASK_WORDS`] words of zero.
#[inline(always)]
pub unsafe fn read_cpus(text: *const u8, mask: *mut u64) -> bool {
    // SAFETY: as promised by the caller.
    unsafe {
        if starts_with(text, const { pack_letters(b"0x") }, 2) {
            read_mask(text.add(2), mask)
        } else {
            read_list(text, mask)
        }
    }
}

#[inline(always)]
unsafe fn read_list(text: *const u8, mask: *mut u64) -> bool {
    let mut at = 0;
    loop {
        // SAFETY: `read_number` stops at the zero byte, and so do the steps below.
        let Some(first) = (unsafe { read_number(text, &mut at) }) else { return false };
        let mut last = first;
        // SAFETY: this byte is the zero byte at the latest.
        if unsafe { byte_at(text, at) } == b'-' {
            at += 1;
            // SAFETY: likewise.
            let Some(number) = (unsafe { read_number(text, &mut at) }) else { return false };
            last = number;
        }
        if last < first {
            return false;
        }
        let mut cpu = first;
        while cpu <= last {
            // SAFETY: numbers are below 64 · MASK_WORDS.
            unsafe { add_bits(mask, cpu / 64, 1 << (cpu % 64)) };
            cpu += 1;
        }
        // SAFETY: this byte is the zero byte at the latest.
        match unsafe { byte_at(text, at) } {
            0 => return true,
            b',' => at += 1,
            _ => return false,
        }
    }
}

/// Reads a number below 64 · [`MASK_WORDS`], and moves behind it.
#[inline(always)]
unsafe fn read_number(text: *const u8, at: &mut usize) -> Option<usize> {
    let (mut number, begin) = (0, *at);
    loop {
        // SAFETY: the bytes before were digits.
        let digit = unsafe { byte_at(text, *at) };
        if !digit.is_ascii_digit() {
            return if *at == begin { None } else { Some(number) };
        }
        number = number * 10 + (digit - b'0') as usize;
        if number >= 64 * MASK_WORDS {
            return None;
        }
        *at += 1;
    }
}

#[inline(always)]
unsafe fn read_mask(digits: *const u8, mask: *mut u64) -> bool {
    let mut count = 0;
    // SAFETY: the bytes before were digits.
    while hexadecimal_value(unsafe { byte_at(digits, count) }).is_some() {
        count += 1;
    }
    // SAFETY: this byte is the zero byte at the latest.
    if count == 0 || count > 16 * MASK_WORDS || unsafe { byte_at(digits, count) } != 0 {
        return false;
    }
    let mut place = 0;
    while place < count {
        // SAFETY: `place` is below `count`, and four bits for each digit fit into the mask.
        unsafe {
            if let Some(value) = hexadecimal_value(byte_at(digits, count - 1 - place)) {
                add_bits(mask, place / 16, value << (4 * (place % 16)));
            }
        }
        place += 1;
    }
    true
}

#[inline(always)]
const fn hexadecimal_value(digit: u8) -> Option<u64> {
    match digit {
        b'0'..=b'9' => Some((digit - b'0') as u64),
        b'a'..=b'f' => Some((digit - b'a') as u64 + 10),
        b'A'..=b'F' => Some((digit - b'A') as u64 + 10),
        _ => None,
    }
}

#[inline(always)]
unsafe fn add_bits(mask: *mut u64, word: usize, bits: u64) {
    // SAFETY: the callers stay within MASK_WORDS words.
    unsafe {
        let word = mask.add(word);
        word.write_volatile(word.read_volatile() | bits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(text: &str) -> Option<Vec<usize>> {
        let text = std::ffi::CString::new(text).expect("no zero byte");
        let mut mask = [0_u64; MASK_WORDS];
        // SAFETY: the text ends with a zero byte, and the mask has its words.
        let is_read = unsafe { read_cpus(text.as_ptr().cast(), mask.as_mut_ptr()) };
        is_read.then(|| (0..64 * MASK_WORDS).filter(|cpu| mask[cpu / 64] >> (cpu % 64) & 1 == 1).collect())
    }

    #[test]
    fn lists_and_masks_are_read() {
        assert_eq!(cpus("0"), Some(vec![0]));
        assert_eq!(cpus("1023,63-65,63"), Some(vec![63, 64, 65, 1023]));
        assert_eq!(cpus("0x55"), Some(vec![0, 2, 4, 6]));
        assert_eq!(cpus("0xA0000000000000000"), Some(vec![65, 67]));
        assert_eq!(cpus(&format!("0x8{}", "0".repeat(255))), Some(vec![1023]));
    }

    #[test]
    fn everything_else_is_left_to_the_ordinary_way() {
        let digits = format!("0x1{}", "0".repeat(256));
        for text in [
            "", "0x", "x1", "1024", "0-1024", "2-1", "0,", ",0", "0-", "-1", "0-1:2", "0x1,1", "0xg", "0 ", "all",
            &digits,
        ] {
            assert_eq!(cpus(text), None, "{text:?}");
        }
    }

    #[test]
    fn words_are_compared_to_their_end() {
        // SAFETY: a C string ends with a zero byte.
        let is_run = |word: &core::ffi::CStr| unsafe { is_word(word.as_ptr().cast(), pack_letters(b"run"), 3) };
        assert_eq!([c"run", c"ru", c"runs", c"", c"nur"].map(is_run), [true, false, false, false, false]);
    }
}
