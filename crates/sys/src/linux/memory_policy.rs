//! The memory policy of the calling thread, which its children and the program it becomes inherit: set_mempolicy(2).

use std::io;

use corewise_model::placement::memory::Mode;

// From linux/mempolicy.h; the C library has no names for the last two.
const MPOL_PREFERRED: i32 = 1;
const MPOL_BIND: i32 = 2;
const MPOL_INTERLEAVE: i32 = 3;
const MPOL_LOCAL: i32 = 4;
/// Since Linux 5.15.
const MPOL_PREFERRED_MANY: i32 = 5;
/// Since Linux 6.9.
const MPOL_WEIGHTED_INTERLEAVE: i32 = 6;
/// Of get_mempolicy: the nodes that the cpuset allows, not the policy.
const MPOL_F_MEMS_ALLOWED: i32 = 1 << 2;

/// A policy as the kernel has it: a mode with its flags, and node numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    mode: i32,
    nodes: Vec<u32>,
}

impl Policy {
    /// A policy on nodes by the system's numbers; `Local` has none.
    pub fn new(mode: Mode, nodes: Vec<u32>) -> Self {
        let mode = match mode {
            Mode::Local => MPOL_LOCAL,
            Mode::Bind => MPOL_BIND,
            Mode::Preferred if nodes.len() > 1 => MPOL_PREFERRED_MANY,
            Mode::Preferred => MPOL_PREFERRED,
            Mode::Interleave => MPOL_INTERLEAVE,
            Mode::Weighted => MPOL_WEIGHTED_INTERLEAVE,
        };
        Self { mode, nodes }
    }

    /// The nodes, by the system's numbers.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// The first kernel that has the policy, where not every kernel has it.
    pub fn since(&self) -> Option<&'static str> {
        match self.mode {
            MPOL_PREFERRED_MANY => Some("5.15"),
            MPOL_WEIGHTED_INTERLEAVE => Some("6.9"),
            _ => None,
        }
    }

    /// The policy of the calling thread: get_mempolicy(2).
    ///
    /// # Errors
    /// ENOSYS where the kernel was built without NUMA.
    pub fn current() -> io::Result<Self> {
        let (mode, nodes) = get(0)?;
        Ok(Self { mode, nodes })
    }

    /// Makes this the policy of the calling thread: set_mempolicy(2).
    ///
    /// # Errors
    /// EINVAL where the kernel does not know the policy, or no node of it has memory and is allowed; ENOSYS where the
    /// kernel was built without NUMA.
    pub fn set_current(&self) -> io::Result<()> {
        let words = words(&self.nodes);
        // The kernel takes one off the number of bits that it is given, and no mask at all for no nodes.
        let (mask, bits) =
            if words.is_empty() { (std::ptr::null(), 0) } else { (words.as_ptr(), words.len() * 64 + 1) };
        // SAFETY: the kernel reads at most `bits` bits, rounded up to the words, which outlive the call.
        let result = unsafe { libc::syscall(libc::SYS_set_mempolicy, self.mode, mask, bits) };
        if result >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// The nodes, by the system's numbers, that this process may take memory from.
///
/// # Errors
/// ENOSYS where the kernel was built without NUMA.
pub fn allowed_nodes() -> io::Result<Vec<u32>> {
    get(MPOL_F_MEMS_ALLOWED).map(|(_, nodes)| nodes)
}

fn get(flags: i32) -> io::Result<(i32, Vec<u32>)> {
    let mut words = vec![0_u64; 16];
    loop {
        let mut mode = 0_i32;
        let bits = words.len() * 64;
        // SAFETY: the kernel writes one integer and at most `bits` bits into the words; the address is not used.
        let result = unsafe {
            libc::syscall(
                libc::SYS_get_mempolicy,
                &raw mut mode,
                words.as_mut_ptr(),
                bits,
                std::ptr::null::<u8>(),
                flags,
            )
        };
        if result >= 0 {
            return Ok((mode, numbers(&words)));
        }
        let error = io::Error::last_os_error();
        // EINVAL: the kernel has more nodes than the buffer has bits.
        if error.raw_os_error() != Some(libc::EINVAL) || words.len() > 1 << 10 {
            return Err(error);
        }
        words.resize(words.len() * 2, 0);
    }
}

fn words(nodes: &[u32]) -> Vec<u64> {
    let mut words = vec![0; nodes.iter().max().map_or(0, |last| *last as usize / 64 + 1)];
    for node in nodes {
        words[*node as usize / 64] |= 1 << (node % 64);
    }
    words
}

fn numbers(words: &[u64]) -> Vec<u32> {
    (0..words.len() as u32 * 64).filter(|node| words[*node as usize / 64] & (1 << (node % 64)) != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_masks_have_any_width() {
        assert_eq!(words(&[]), Vec::<u64>::new());
        assert_eq!(words(&[0, 3, 130]), [0b1001, 0, 0b100]);
        assert_eq!(numbers(&words(&[0, 3, 130])), [0, 3, 130]);
    }

    #[test]
    fn a_policy_is_set_read_back_and_given_back() {
        std::thread::spawn(|| {
            let before = match Policy::current() {
                Ok(before) => before,
                // A kernel without NUMA has no policies to test.
                Err(error) => return assert_eq!(error.raw_os_error(), Some(libc::ENOSYS)),
            };
            let nodes = allowed_nodes().unwrap();
            for mode in [Mode::Bind, Mode::Interleave, Mode::Preferred] {
                let policy = Policy::new(mode, vec![nodes[0]]);
                policy.set_current().unwrap();
                assert_eq!(Policy::current().unwrap(), policy);
            }
            assert_eq!(
                Policy::new(Mode::Bind, vec![1_000]).set_current().unwrap_err().raw_os_error(),
                Some(libc::EINVAL)
            );
            before.set_current().unwrap();
            assert_eq!(Policy::current().unwrap(), before);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn several_preferred_nodes_are_another_policy_of_the_kernel() {
        assert_eq!(Policy::new(Mode::Preferred, vec![1]).since(), None);
        assert_eq!(Policy::new(Mode::Preferred, vec![0, 1]).since(), Some("5.15"));
        assert_eq!(Policy::new(Mode::Weighted, vec![0]).since(), Some("6.9"));
    }
}
