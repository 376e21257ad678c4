//! System calls without libc. A result from -4095 to -1 is an error number with its sign changed.

use core::arch::asm;

#[cfg(target_arch = "x86_64")]
mod numbers {
    pub const SCHED_SETAFFINITY: usize = 203;
    pub const SCHED_GETAFFINITY: usize = 204;
    pub const EXECVE: usize = 59;
}
#[cfg(target_arch = "aarch64")]
mod numbers {
    pub const SCHED_SETAFFINITY: usize = 122;
    pub const SCHED_GETAFFINITY: usize = 123;
    pub const EXECVE: usize = 221;
}

/// The path does not exist.
pub const ENOENT: isize = 2;
/// The file may not be executed, or a folder may not be searched.
pub const EACCES: isize = 13;
/// A part of the path is no folder.
pub const ENOTDIR: isize = 20;

/// 64-bit words of a mask: cpus 0 to 1023. A kernel with more answers `EINVAL`.
pub const MASK_WORDS: usize = 16;

/// Sets the mask of the calling thread (`sched_setaffinity(2)`).
///
/// # Safety
/// `mask` points to [`MASK_WORDS`] words.
#[inline(always)]
pub unsafe fn set_mask(mask: *const u64) -> isize {
    // SAFETY: the kernel reads MASK_WORDS words.
    unsafe { call_kernel(numbers::SCHED_SETAFFINITY, 0, MASK_WORDS * 8, mask as usize) }
}

/// Reads the mask of the calling thread; returns the number of bytes that the kernel wrote (`sched_getaffinity(2)`).
///
/// # Safety
/// `mask` points to [`MASK_WORDS`] words.
#[inline(always)]
pub unsafe fn get_mask(mask: *mut u64) -> isize {
    // SAFETY: the kernel writes MASK_WORDS words at most.
    unsafe { call_kernel(numbers::SCHED_GETAFFINITY, 0, MASK_WORDS * 8, mask as usize) }
}

/// Replaces the program (`execve(2)`); returns only an error.
///
/// # Safety
/// `path` ends with a zero byte, `arguments` and `environment` with a null pointer.
#[inline(always)]
pub unsafe fn execute(path: *const u8, arguments: *const *const u8, environment: *const *const u8) -> isize {
    // SAFETY: as promised by the caller.
    unsafe { call_kernel(numbers::EXECVE, path as usize, arguments as usize, environment as usize) }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn call_kernel(number: usize, first: usize, second: usize, third: usize) -> isize {
    let result: isize;
    // SAFETY: the convention of x86-64; the callers answer for the pointers.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result, in("rdi") first, in("rsi") second, in("rdx") third,
            out("rcx") _, out("r11") _, options(nostack));
    }
    result
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn call_kernel(number: usize, first: usize, second: usize, third: usize) -> isize {
    let result: isize;
    // SAFETY: the convention of 64-bit Arm; the callers answer for the pointers.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") first as isize => result, in("x1") second, in("x2") third,
            options(nostack));
    }
    result
}
