//! The first instructions of the program: `corewise run --on LIST|MASK -- COMMAND` without starting corewise.
//!
//! Half of the time that such a small program takes goes to relocations, libc and `main`. So the program's ELF entry (the linker option `-e`,
//! in the build script of the program) is `corewise_entry`. For exactly these words it sets the mask, reads it back and executes the
//! command. In every other case, also if the kernel refuses something, it undoes what it did and jumps to `_start`, so that the ordinary way
//! gives the answer or the message.
//!
//! This code runs before relocation: no libc, no static data with addresses, no thread-local storage, no panic, no call that could go
//! through a table. Hence `no_builtins` (no loop becomes a call of `memset`), reads and writes that are volatile, and a profile of its own
//! in Cargo.toml that optimises it in every build. Linux on x86-64 and on 64-bit Arm; elsewhere the crate is empty.
#![cfg_attr(not(test), no_std)]
#![no_builtins]

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod early;
