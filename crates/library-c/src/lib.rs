//! The library corewise for C: `include/corewise.h` declares these functions and says what they do.
//!
//! A placement is a pointer that [`corewise_free`] takes back. Texts of errors go into memory of the caller, so there is no global state.
//! No panic leaves a function: it counts as an error.
#![deny(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unreachable, clippy::unwrap_used)]
#![cfg_attr(test, allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used))]

use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use corewise::{Machine, PlaceError, Placement, Role};

/// Value of `how` that gives each thread a single cpu: `COREWISE_ONE_CPU`. Any other gives it the whole mask.
const ONE_CPU: c_int = 1;

/// Memory of the caller for the text of an error.
struct ErrorBuffer {
    text: *mut c_char,
    size: usize,
}

impl ErrorBuffer {
    /// Writes as much of the text as there is room for, with a zero at its end.
    ///
    /// # Safety
    /// `text` is null, or there are `size` writable bytes.
    unsafe fn write_text(&self, text: &str) {
        if self.text.is_null() || self.size == 0 {
            return;
        }
        let end = text.floor_char_boundary(self.size - 1);
        // SAFETY: `end` is less than `size`, which the caller vouches for; the text of a `str` is that long.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), self.text.cast(), end);
            self.text.add(end).write(0);
        }
    }

    /// Returns the value of a function, or `failed` after writing the reason.
    ///
    /// # Safety
    /// As [`Self::write_text`].
    unsafe fn or_else<T>(&self, failed: T, run: impl FnOnce() -> Result<T, String>) -> T {
        let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err("an internal error".to_owned()));
        result.unwrap_or_else(|why| {
            // SAFETY: the caller vouches for the buffer.
            unsafe { self.write_text(&why) };
            failed
        })
    }
}

/// Reads a text of the caller.
///
/// # Safety
/// `text` is null, or ends with a zero.
unsafe fn read_text<'a>(text: *const c_char) -> Result<&'a str, String> {
    if text.is_null() {
        return Err("the text is null".to_owned());
    }
    // SAFETY: the caller vouches for its end.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| "the text is not UTF-8".to_owned())
}

fn describe(error: PlaceError) -> String {
    error.to_string()
}

fn to_pointer(placement: Placement) -> *mut Placement {
    Box::into_raw(Box::new(placement))
}

fn share(placement: &Placement, how: c_int) -> Placement {
    let placement = placement.clone();
    if how == ONE_CPU { placement.one_cpu_each() } else { placement }
}

/// Selects cpus by an expression of the placement language.
///
/// # Safety
/// `expression` ends with a zero; `error` is null or has `error_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewise_place(
    expression: *const c_char,
    error: *mut c_char,
    error_size: usize,
) -> *mut Placement {
    let buffer = ErrorBuffer { text: error, size: error_size };
    // SAFETY: the caller vouches for both texts.
    unsafe {
        buffer.or_else(std::ptr::null_mut(), || {
            let expression = read_text(expression)?;
            Machine::this().and_then(|machine| machine.place(expression)).map(to_pointer).map_err(describe)
        })
    }
}

/// Returns the part of a rank of the usable cpus.
///
/// # Safety
/// `error` is null or has `error_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewise_split(
    rank: usize,
    ranks: usize,
    error: *mut c_char,
    error_size: usize,
) -> *mut Placement {
    let buffer = ErrorBuffer { text: error, size: error_size };
    let split = || {
        let parts = Machine::this().and_then(|machine| machine.split(ranks)).map_err(describe)?;
        let own = parts.into_iter().nth(rank);
        own.map(to_pointer).ok_or_else(|| format!("there is no rank {rank} of {ranks}: the first is 0"))
    };
    // SAFETY: the caller vouches for the buffer.
    unsafe { buffer.or_else(std::ptr::null_mut(), split) }
}

/// Returns the placement that an experiment proved for a program.
///
/// # Safety
/// `name` ends with a zero; `error` is null or has `error_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewise_proven(name: *const c_char, error: *mut c_char, error_size: usize) -> *mut Placement {
    let buffer = ErrorBuffer { text: error, size: error_size };
    // SAFETY: the caller vouches for both texts.
    unsafe {
        buffer.or_else(std::ptr::null_mut(), || {
            let name = read_text(name)?;
            corewise::proven(name).map(to_pointer).map_err(describe)
        })
    }
}

/// Returns the number of threads that makes sense for a role; 0 if the role or the machine is unknown.
#[unsafe(no_mangle)]
pub extern "C" fn corewise_parallelism(role: c_int) -> usize {
    let role = match role {
        0 => Role::Compute,
        1 => Role::Mixed,
        2 => Role::Io,
        _ => return 0,
    };
    catch_unwind(|| Machine::this().map_or(0, |machine| machine.parallelism(role).get())).unwrap_or(0)
}

/// Writes the cpus in the order in which threads take them, at most `capacity`; returns how many there are.
///
/// # Safety
/// `placement` is null or came from this library and was not freed; `cpus` has room for `capacity` numbers, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewise_cpus(placement: *const Placement, cpus: *mut u32, capacity: usize) -> usize {
    // SAFETY: the caller vouches for the pointer.
    let Some(placement) = (unsafe { placement.as_ref() }) else { return 0 };
    if !cpus.is_null() {
        let count = placement.len().min(capacity);
        // SAFETY: there is room for `capacity` numbers, and `order` has `len`.
        unsafe { std::ptr::copy_nonoverlapping(placement.order().as_ptr(), cpus, count) };
    }
    placement.len()
}

/// Places the calling thread as the one of an index; returns 0, or -1 after writing the reason.
///
/// # Safety
/// As [`corewise_cpus`] for the placement; `error` is null or has `error_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewise_pin(
    placement: *const Placement,
    index: usize,
    how: c_int,
    error: *mut c_char,
    error_size: usize,
) -> c_int {
    let buffer = ErrorBuffer { text: error, size: error_size };
    // SAFETY: the caller vouches for the pointers.
    unsafe {
        let placement = placement.as_ref();
        buffer.or_else(-1, || {
            let placement = placement.ok_or("the placement is null")?;
            share(placement, how).pin_this_thread(index).map(|_| 0).map_err(describe)
        })
    }
}

/// Places all threads of the process; returns how many were placed, or -1 after writing the reason if one was not.
///
/// # Safety
/// As [`corewise_pin`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewise_pin_threads(
    placement: *const Placement,
    how: c_int,
    error: *mut c_char,
    error_size: usize,
) -> c_int {
    let buffer = ErrorBuffer { text: error, size: error_size };
    // SAFETY: the caller vouches for the pointers.
    unsafe {
        let placement = placement.as_ref();
        buffer.or_else(-1, || {
            let placement = placement.ok_or("the placement is null")?;
            let report = share(placement, how).pin_all_threads().map_err(describe)?;
            match report.failures.first() {
                Some(why) => Err(format!("{} of {} threads: {why}", report.failed, report.failed + report.placed)),
                None => Ok(c_int::try_from(report.placed).unwrap_or(c_int::MAX)),
            }
        })
    }
}

/// Takes a placement back.
///
/// # Safety
/// `placement` is null, or came from this library and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewise_free(placement: *mut Placement) {
    if !placement.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller gives it away.
        drop(unsafe { Box::from_raw(placement) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls a function with a buffer, and returns its text.
    fn text_of(size: usize, call: impl Fn(*mut c_char, usize)) -> String {
        let mut buffer = [b'#'; 200];
        call(buffer.as_mut_ptr().cast(), size);
        assert!(buffer[size..].iter().all(|byte| *byte == b'#'), "it wrote behind the end");
        CStr::from_bytes_until_nul(&buffer).unwrap().to_str().unwrap().to_owned()
    }

    #[test]
    fn texts_of_errors_fit_into_any_buffer() {
        let place = |error, size| {
            // SAFETY: the text ends with a zero, and the buffer is that large.
            assert!(unsafe { corewise_place(c"\xC3\xA4 lcc".as_ptr(), error, size) }.is_null());
        };
        let whole = text_of(200, place);
        assert!(whole.contains("lcc"), "{whole}");
        assert_eq!(text_of(2, place), "", "half a character is left out");
        assert_eq!(text_of(1, place), "");
        // SAFETY: null is allowed.
        assert!(unsafe { corewise_place(std::ptr::null(), std::ptr::null_mut(), 0) }.is_null());
    }

    #[test]
    fn null_and_unknown_values_are_errors_and_no_crash() {
        // SAFETY: null is allowed.
        unsafe {
            assert_eq!(corewise_cpus(std::ptr::null(), std::ptr::null_mut(), 9), 0);
            assert_eq!(corewise_pin(std::ptr::null(), 0, 0, std::ptr::null_mut(), 0), -1);
            assert_eq!(corewise_pin_threads(std::ptr::null(), 0, std::ptr::null_mut(), 0), -1);
            corewise_free(std::ptr::null_mut());
            assert!(corewise_split(1, 1, std::ptr::null_mut(), 0).is_null());
        }
        assert_eq!(corewise_parallelism(7), 0);
        assert!(corewise_parallelism(0) >= 1);
    }

    #[test]
    fn a_panic_is_an_error() {
        let buffer = ErrorBuffer { text: std::ptr::null_mut(), size: 0 };
        std::panic::set_hook(Box::new(|_| ()));
        // SAFETY: null is allowed.
        assert_eq!(unsafe { buffer.or_else(-1, || panic!("now")) }, -1);
        let _ = std::panic::take_hook();
    }
}
