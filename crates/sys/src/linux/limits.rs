//! Resource limits of this process, for reading untrusted files.

use std::io;

/// Limits this process to some bytes of address space and some seconds of processor time, permanently. An allocation beyond the first
/// fails, which aborts a Rust program; the kernel kills a process that exceeds the second.
///
/// # Errors
/// The kernel's error.
pub fn limit_this_process(address_space_bytes: u64, processor_s: u64) -> io::Result<()> {
    for (resource, most) in
        [(libc::RLIMIT_CORE, 0), (libc::RLIMIT_AS, address_space_bytes), (libc::RLIMIT_CPU, processor_s)]
    {
        let limit = libc::rlimit { rlim_cur: most as libc::rlim_t, rlim_max: most as libc::rlim_t };
        // SAFETY: the kernel reads the limit.
        if unsafe { libc::setrlimit(resource, &raw const limit) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
