//! Nodes that memory comes from: the policy of the calling thread, which its children and the executed program inherit (set_mempolicy(2)),
//! and that of single mappings (mbind(2)).

use std::io;
use std::path::Path;
use std::ptr::NonNull;

use corewise_machine::CpuSet;

use corewise_machine::placement::memory::MemoryMode;

// From linux/mempolicy.h; the C library has no names for the last two.
const MPOL_PREFERRED: i32 = 1;
const MPOL_BIND: i32 = 2;
const MPOL_INTERLEAVE: i32 = 3;
const MPOL_LOCAL: i32 = 4;
/// Since Linux 5.15.
const MPOL_PREFERRED_MANY: i32 = 5;
/// Since Linux 6.9.
const MPOL_WEIGHTED_INTERLEAVE: i32 = 6;
/// Keeps the named nodes when the cpuset changes; otherwise the kernel replaces them.
const MPOL_F_STATIC_NODES: i32 = 1 << 15;
/// Flag of get_mempolicy: a node, not the policy.
const MPOL_F_NODE: i32 = 1;
/// Flag of get_mempolicy: of the page at an address, not of the thread.
const MPOL_F_ADDR: i32 = 1 << 1;
/// Flag of get_mempolicy: the nodes that the cpuset allows, not the policy.
const MPOL_F_MEMS_ALLOWED: i32 = 1 << 2;

/// A policy as the kernel has it: a mode with its flags, and node numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelMemoryPolicy {
    mode: i32,
    nodes: Vec<u32>,
}

impl KernelMemoryPolicy {
    /// Creates a policy on nodes by the system's numbers; `Local` has none.
    pub fn new(mode: MemoryMode, nodes: Vec<u32>) -> Self {
        let mode = match mode {
            MemoryMode::Local => MPOL_LOCAL,
            MemoryMode::Bind => MPOL_BIND,
            MemoryMode::Preferred if nodes.len() > 1 => MPOL_PREFERRED_MANY,
            MemoryMode::Preferred => MPOL_PREFERRED,
            MemoryMode::Interleave => MPOL_INTERLEAVE,
            MemoryMode::Weighted => MPOL_WEIGHTED_INTERLEAVE,
        };
        Self { mode, nodes }
    }

    /// Keeps the named nodes for a process that will enter another cpuset, as that of a control group. Not used otherwise, since numactl(8)
    /// does not know such a policy.
    #[must_use]
    pub fn through_cpusets(self) -> Self {
        let flag = if self.nodes.is_empty() { 0 } else { MPOL_F_STATIC_NODES };
        Self { mode: self.mode | flag, ..self }
    }

    /// Returns the nodes, by the system's numbers.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// Returns the first kernel version with this policy; `None` if every kernel has it.
    pub fn first_kernel(&self) -> Option<&'static str> {
        match self.mode & !MPOL_F_STATIC_NODES {
            MPOL_PREFERRED_MANY => Some("5.15"),
            MPOL_WEIGHTED_INTERLEAVE => Some("6.9"),
            _ => None,
        }
    }

    /// Returns the policy of the calling thread: get_mempolicy(2).
    ///
    /// # Errors
    /// ENOSYS if the kernel was built without NUMA.
    pub fn current_policy() -> io::Result<Self> {
        let (mode, nodes) = get_policy(0)?;
        Ok(Self { mode, nodes })
    }

    /// Makes this the policy of the calling thread: set_mempolicy(2).
    ///
    /// # Errors
    /// EINVAL if the kernel does not know the policy, or none of its nodes has memory and is allowed; ENOSYS if the kernel was built
    /// without NUMA.
    pub fn set_current(&self) -> io::Result<()> {
        self.prepare_setting()()
    }

    /// Prepares [`Self::set_current`], to be called later without allocating: safe between fork(2) and execve(2).
    pub fn prepare_setting(&self) -> impl Fn() -> io::Result<()> + Send + Sync + use<> {
        let (mode, words) = (self.mode, mask_words(&self.nodes));
        move || {
            let (mask, bits) = mask_argument(&words);
            // SAFETY: the kernel reads at most `bits` bits, rounded up to the words, which outlive the call.
            let result = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, mask, bits) };
            if result >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
        }
    }

    /// Checks that the kernel accepts it, on a thread that ends.
    ///
    /// # Errors
    /// As [`KernelMemoryPolicy::set_current`].
    pub fn check_accepted(&self) -> io::Result<()> {
        let set = self.prepare_setting();
        std::thread::spawn(set).join().unwrap_or_else(|_| Err(io::Error::other("its thread ended too early")))
    }
}

/// Returns the present weights of nodes in weighted interleaving (/sys/kernel/mm/mempolicy/weighted_interleave, Linux 6.9): 1 if a node has
/// none; `None` if the kernel has no such policy.
pub fn interleave_weights(nodes: &[u32]) -> Option<Vec<u32>> {
    let folder = Path::new("/sys/kernel/mm/mempolicy/weighted_interleave");
    let weight = |node: &u32| {
        let text = std::fs::read_to_string(folder.join(format!("node{node}"))).ok();
        text.and_then(|text| text.trim().parse().ok()).unwrap_or(1)
    };
    folder.is_dir().then(|| nodes.iter().map(weight).collect())
}

/// Returns the nodes, by the system's numbers, that this process may take memory from.
///
/// # Errors
/// ENOSYS if the kernel was built without NUMA.
pub fn allowed_nodes() -> io::Result<Vec<u32>> {
    get_policy(MPOL_F_MEMS_ALLOWED).map(|(_, nodes)| nodes)
}

fn get_policy(flags: i32) -> io::Result<(i32, Vec<u32>)> {
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
            return Ok((mode, node_numbers(&words)));
        }
        let error = io::Error::last_os_error();
        // EINVAL: the kernel has more nodes than the buffer has bits.
        if error.raw_os_error() != Some(libc::EINVAL) || words.len() > 1 << 10 {
            return Err(error);
        }
        words.resize(words.len() * 2, 0);
    }
}

/// Binds whole untouched pages to one node: mbind(2) with MPOL_BIND.
///
/// # Errors
/// A described reason for each error of mbind(2).
pub(super) fn bind_pages(start: NonNull<u8>, bytes: usize, node: u32) -> io::Result<()> {
    // No kernel takes a mask longer than a page.
    if node >= 1 << 15 {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("there is no node {node}")));
    }
    let words = mask_words(&[node]);
    let (mask, bits) = mask_argument(&words);
    // SAFETY: the kernel reads at most `bits` bits, rounded up to the words, which outlive the call; the memory's contents stay.
    let result = unsafe { libc::syscall(libc::SYS_mbind, start.as_ptr(), bytes, MPOL_BIND, mask, bits, 0) };
    if result >= 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    Err(io::Error::new(error.kind(), describe_refusal(&error, node)))
}

/// Describes why memory could not be bound to a node.
fn describe_refusal(error: &io::Error, node: u32) -> String {
    match error.raw_os_error() {
        Some(libc::EINVAL) => describe_missing_node(Path::new("/sys/devices/system/node"), node),
        Some(libc::EPERM) => {
            "this process may not bind memory to nodes (mbind is refused, as in many containers)".into()
        }
        Some(libc::ENOSYS) => "this kernel was built without NUMA".into(),
        Some(libc::ENOMEM) => format!("node {node} has no memory left"),
        _ => format!("memory cannot be bound to node {node}: {error}"),
    }
}

/// Describes why the kernel finds no memory on a node, from the kernel's folder of nodes.
fn describe_missing_node(nodes: &Path, node: u32) -> String {
    let list =
        |name| std::fs::read_to_string(nodes.join(name)).ok().and_then(|text| CpuSet::parse_list(text.trim()).ok());
    if list("online").is_some_and(|online| !online.contains(node)) {
        return format!("there is no node {node}");
    }
    if list("has_memory").is_some_and(|with_memory| !with_memory.contains(node)) {
        return format!("node {node} has no memory");
    }
    format!("this process may not use the memory of node {node}")
}

/// Returns the node of the page at an address; touches the page if it is untouched.
///
/// # Errors
/// ENOSYS if the kernel was built without NUMA; EPERM in many containers.
pub(super) fn node_of(address: NonNull<u8>) -> io::Result<u32> {
    let mut node = -1_i32;
    let (mask, flags) = (std::ptr::null_mut::<u64>(), MPOL_F_NODE | MPOL_F_ADDR);
    // SAFETY: the kernel writes one integer, and does not write to the address.
    let result = unsafe { libc::syscall(libc::SYS_get_mempolicy, &raw mut node, mask, 0, address.as_ptr(), flags) };
    match u32::try_from(node) {
        Ok(node) if result >= 0 => Ok(node),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns a mask in the kernel's form: it subtracts one from the given number of bits, and takes a null pointer for no nodes.
fn mask_argument(words: &[u64]) -> (*const u64, usize) {
    if words.is_empty() { (std::ptr::null(), 0) } else { (words.as_ptr(), words.len() * 64 + 1) }
}

fn mask_words(nodes: &[u32]) -> Vec<u64> {
    let mut words = vec![0; nodes.iter().max().map_or(0, |last| *last as usize / 64 + 1)];
    for node in nodes {
        words[*node as usize / 64] |= 1 << (node % 64);
    }
    words
}

fn node_numbers(words: &[u64]) -> Vec<u32> {
    (0..words.len() as u32 * 64).filter(|node| words[*node as usize / 64] & (1 << (node % 64)) != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_masks_have_any_width() {
        assert_eq!(mask_words(&[]), Vec::<u64>::new());
        assert_eq!(mask_words(&[0, 3, 130]), [0b1001, 0, 0b100]);
        assert_eq!(node_numbers(&mask_words(&[0, 3, 130])), [0, 3, 130]);
    }

    #[test]
    fn a_policy_is_set_read_back_and_given_back() {
        std::thread::spawn(|| {
            let before = match KernelMemoryPolicy::current_policy() {
                Ok(before) => before,
                // A kernel without NUMA has no policies to test.
                Err(error) => return assert_eq!(error.raw_os_error(), Some(libc::ENOSYS)),
            };
            let nodes = allowed_nodes().unwrap();
            for mode in [MemoryMode::Bind, MemoryMode::Interleave, MemoryMode::Preferred] {
                let policy = KernelMemoryPolicy::new(mode, vec![nodes[0]]);
                policy.set_current().unwrap();
                assert_eq!(KernelMemoryPolicy::current_policy().unwrap(), policy);
                let fixed = policy.clone().through_cpusets();
                fixed.set_current().unwrap();
                assert_eq!(KernelMemoryPolicy::current_policy().unwrap(), fixed);
                assert_ne!(fixed, policy);
            }
            assert_eq!(
                KernelMemoryPolicy::new(MemoryMode::Bind, vec![1_000]).set_current().unwrap_err().raw_os_error(),
                Some(libc::EINVAL)
            );
            before.set_current().unwrap();
            assert_eq!(KernelMemoryPolicy::current_policy().unwrap(), before);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn why_a_node_cannot_be_had_is_told_in_words() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("online"), "0-2\n").unwrap();
        std::fs::write(folder.path().join("has_memory"), "0,1\n").unwrap();
        assert_eq!(describe_missing_node(folder.path(), 3), "there is no node 3");
        assert_eq!(describe_missing_node(folder.path(), 2), "node 2 has no memory");
        assert_eq!(describe_missing_node(folder.path(), 1), "this process may not use the memory of node 1");
        let told = |number| describe_refusal(&io::Error::from_raw_os_error(number), 1);
        assert_eq!(told(libc::ENOMEM), "node 1 has no memory left");
        assert!(told(libc::EPERM).contains("may not bind"));
        assert!(told(libc::ENOSYS).contains("without NUMA"));
        assert!(told(libc::EIO).starts_with("memory cannot be bound to node 1: "));
    }

    #[test]
    fn several_preferred_nodes_are_another_policy_of_the_kernel() {
        assert_eq!(KernelMemoryPolicy::new(MemoryMode::Preferred, vec![1]).first_kernel(), None);
        assert_eq!(KernelMemoryPolicy::new(MemoryMode::Preferred, vec![0, 1]).first_kernel(), Some("5.15"));
        assert_eq!(KernelMemoryPolicy::new(MemoryMode::Weighted, vec![0]).first_kernel(), Some("6.9"));
    }
}
