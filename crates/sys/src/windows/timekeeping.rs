//! Whether the kernel lets this process read the TSC, and believes it itself: the processor's word is enough.

pub fn tsc_is_trusted() -> bool {
    true
}
