//! The entry, and the decision which way the program goes.

mod system_call;
mod words;

use core::arch::naked_asm;
use core::mem::MaybeUninit;

use system_call::{EACCES, ENOENT, ENOTDIR, MASK_WORDS, execute, get_mask, set_mask};
use words::{byte_at, is_word, pack_letters, read_cpus, starts_with};

/// Maximum length of a path, with its zero byte (`PATH_MAX`).
const LONGEST_PATH: usize = 4096;

type CpuMask = MaybeUninit<[u64; MASK_WORDS]>;

unsafe extern "C" {
    /// The C library's entry.
    fn _start();
}

/// The ELF entry. The stack holds the arguments and the environment, as the kernel (or the dynamic loader) leaves them.
///
/// # Safety
/// Only the kernel or the loader may jump here, once.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewise_entry() {
    // rdx is the loader's; the stack is aligned to 16 bytes, and must be at a call.
    naked_asm!(
        "mov rdi, rsp",
        "push rdx",
        "sub rsp, 8",
        "call {run_early}",
        "add rsp, 8",
        "pop rdx",
        "jmp {start}",
        run_early = sym run_early,
        start = sym _start,
    )
}

/// The ELF entry. The stack holds the arguments and the environment, as the kernel (or the dynamic loader) leaves them.
///
/// # Safety
/// Only the kernel or the loader may jump here, once.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewise_entry() {
    // x0 is the loader's.
    naked_asm!(
        "mov x1, sp",
        "stp x0, x30, [sp, #-16]!",
        "mov x0, x1",
        "bl {run_early}",
        "ldp x0, x30, [sp], #16",
        "b {start}",
        run_early = sym run_early,
        start = sym _start,
    )
}

/// Runs `corewise run --on CPUS -- COMMAND…` if the words are exactly these, and returns otherwise, with nothing changed.
unsafe extern "C" fn run_early(stack: *const usize) {
    // SAFETY: the kernel's layout: the number of arguments, the arguments, null, the environment, null.
    unsafe {
        let count = stack.read();
        let arguments = stack.add(1).cast::<*const u8>();
        let environment = arguments.add(count + 1);
        if count < 6
            || !is_word(arguments.add(1).read(), const { pack_letters(b"run") }, 3)
            || !is_word(arguments.add(2).read(), const { pack_letters(b"--on") }, 4)
            || !is_word(arguments.add(4).read(), const { pack_letters(b"--") }, 2)
        {
            return;
        }
        let (mut wanted, mut before) = (CpuMask::uninit(), CpuMask::uninit());
        let (wanted, before) = (wanted.as_mut_ptr().cast(), before.as_mut_ptr().cast());
        clear_mask(wanted);
        clear_mask(before);
        if read_cpus(arguments.add(3).read(), wanted) && get_mask(before) > 0 {
            if set_mask(wanted) >= 0 && is_in_force(wanted) {
                execute_command(arguments.add(5), environment);
            }
            set_mask(before);
        }
    }
}

#[inline(always)]
unsafe fn clear_mask(mask: *mut u64) {
    let mut word = 0;
    while word < MASK_WORDS {
        // SAFETY: the mask has MASK_WORDS words.
        unsafe { mask.add(word).write_volatile(0) };
        word += 1;
    }
}

/// Reads the mask back: the kernel silently leaves out cpus that are offline or outside the cpuset.
#[inline(always)]
unsafe fn is_in_force(wanted: *const u64) -> bool {
    let mut found = CpuMask::uninit();
    let found = found.as_mut_ptr().cast();
    // SAFETY: both masks have MASK_WORDS words.
    unsafe {
        clear_mask(found);
        if get_mask(found) < 0 {
            return false;
        }
        let mut word = 0;
        while word < MASK_WORDS {
            if found.add(word).read_volatile() != wanted.add(word).read_volatile() {
                return false;
            }
            word += 1;
        }
        true
    }
}

/// Executes a command, as `execvp(3)` finds it; returns if that fails.
#[inline(always)]
unsafe fn execute_command(arguments: *const *const u8, environment: *const *const u8) {
    // SAFETY: the kernel's layout.
    unsafe {
        let command = arguments.read();
        match length_of_name(command) {
            None => {
                execute(command, arguments, environment);
            }
            // An empty name is nobody's.
            Some(0) => {}
            Some(length) => {
                if let Some(folders) = find_path(environment) {
                    execute_in(folders, command, length, arguments, environment);
                }
            }
        }
    }
}

/// Returns the length of a name to be searched in PATH; `None` if it is a path.
#[inline(always)]
unsafe fn length_of_name(command: *const u8) -> Option<usize> {
    let mut length = 0;
    loop {
        // SAFETY: the bytes before were not zero.
        match unsafe { byte_at(command, length) } {
            0 => return Some(length),
            b'/' => return None,
            _ => length += 1,
        }
    }
}

/// Returns the value of PATH.
#[inline(always)]
unsafe fn find_path(environment: *const *const u8) -> Option<*const u8> {
    let mut at = 0;
    loop {
        // SAFETY: the environment ends with a null pointer.
        unsafe {
            let entry = environment.add(at).read();
            if entry.is_null() {
                return None;
            }
            if starts_with(entry, const { pack_letters(b"PATH=") }, 5) {
                return Some(entry.add(5));
            }
        }
        at += 1;
    }
}

/// Tries the name in each folder, until one fails for another reason than that it has no such program.
#[inline(always)]
unsafe fn execute_in(
    folders: *const u8,
    name: *const u8,
    length: usize,
    arguments: *const *const u8,
    environment: *const *const u8,
) {
    let mut path = MaybeUninit::<[u8; LONGEST_PATH]>::uninit();
    let path = path.as_mut_ptr().cast::<u8>();
    let (mut at, mut used) = (0, 0);
    loop {
        // SAFETY: no byte behind the zero byte of PATH is read, and at most LONGEST_PATH bytes are written.
        unsafe {
            // A slash, the name and its zero byte follow a folder.
            if used + length + 3 > LONGEST_PATH {
                return;
            }
            let byte = byte_at(folders, at);
            if byte != 0 && byte != b':' {
                path.add(used).write_volatile(byte);
                (at, used) = (at + 1, used + 1);
                continue;
            }
            // An empty folder is the current one.
            if used > 0 {
                path.add(used).write_volatile(b'/');
                used += 1;
            }
            let mut letter = 0;
            while letter <= length {
                path.add(used + letter).write_volatile(byte_at(name, letter));
                letter += 1;
            }
            let error = -execute(path, arguments, environment);
            if byte == 0 || (error != ENOENT && error != ENOTDIR && error != EACCES) {
                return;
            }
            (at, used) = (at + 1, 0);
        }
    }
}
