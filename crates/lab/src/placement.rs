//! Placing a program: from an expression to cpus on this machine, and into force for the calling thread, which the
//! program inherits from.

use std::io::{self, ErrorKind};

use corewise_machine::placement::hold::{HoldRole, HoldSpread};
use corewise_machine::placement::memory::{MemoryMode, MemoryPolicy};
use corewise_machine::placement::roles::TypedRole;
use corewise_machine::placement::{
    ExcludedCpus, KnownMachine, MachineKnowledge, PlacementError, PlacementExpression, ResolvedExpression,
};
use corewise_machine::suggested_command;
use corewise_machine::{CpuSet, Machine};
use corewise_model::trial::ArmMemory;
use corewise_sys::memory_policy::{self, KernelMemoryPolicy};
use corewise_sys::{affinity, cpuset};

/// Resolves an expression on the machine that this program runs on.
///
/// # Errors
/// If an expression selects no cpu that this process can use.
pub fn resolve_here(
    expression: &PlacementExpression,
    machine: &Machine,
    known: &dyn MachineKnowledge,
) -> Result<ResolvedExpression, PlacementError> {
    let loaded = KnownMachine::load_knowledge(machine, [expression], known);
    expression.resolve_on(&loaded.resolve_context(&reachable_here(machine)))
}

/// Resolves an expression on this machine, regardless of which cpus this process may use.
///
/// # Errors
/// If an expression selects no cpu that is online.
///
/// # Examples
/// ```
/// use corewise_lab::{experiment::NoKnowledge, placement::resolve_for_all};
/// use corewise_machine::{CpuSet, generate::one_package_machine, placement};
///
/// let machine = one_package_machine(8, true, &[(CpuSet::first_cpus(8), 16)]);
/// let resolved = resolve_for_all(&placement::parse("core:1-2")?, &machine, &NoKnowledge)?;
/// assert_eq!(resolved.order, [1, 2, 5, 6]);
/// # Ok::<(), placement::PlacementError>(())
/// ```
pub fn resolve_for_all(
    expression: &PlacementExpression,
    machine: &Machine,
    known: &dyn MachineKnowledge,
) -> Result<ResolvedExpression, PlacementError> {
    let loaded = KnownMachine::load_knowledge(machine, [expression], known).with_allowed_cpus(machine.online.clone());
    expression.resolve_on(&loaded.resolve_context(&machine.online))
}

/// Resolves an expression on this machine to cpus that a process may use, by its cpuset.
///
/// # Errors
/// If an expression selects none of these, or names other cpus by number.
pub fn resolve_for_process(
    expression: &PlacementExpression,
    machine: &Machine,
    process: u32,
    known: &dyn MachineKnowledge,
) -> Result<ResolvedExpression, PlacingError> {
    let reachable = cpuset::cpuset_of(process);
    let loaded = KnownMachine::load_knowledge(machine, [expression], known).with_allowed_cpus(reachable.clone());
    let found = expression.resolve_on(&loaded.resolve_context(&reachable))?;
    refuse_named_outside(&found.left_out, || Some(reachable))?;
    Ok(found)
}

/// Returns the cpus that the cpuset lets this process use. If the kernel does not answer, it is the inherited mask,
/// which is known to be allowed.
pub fn reachable_here(machine: &Machine) -> CpuSet {
    cpuset::reachable_cpus().unwrap_or_else(|_| machine.allowed.clone())
}

/// Distribution of threads over a placement.
#[derive(Clone, Debug, PartialEq)]
pub enum ThreadSpread {
    /// Each may use all of it.
    Together,
    /// Each on a cpu of its own.
    OnePerThread,
    /// By their names.
    Roles(Vec<TypedRole>),
}

/// Requested placement of a program.
///
/// # Examples
/// ```no_run
/// use corewise_lab::placement::{PlacementRequest, ThreadSpread};
/// use corewise_lab::{experiment::NoKnowledge, this_machine};
///
/// let (on, memory) = ("llc:0 - core:0".parse()?, Some("bind:0".parse()?));
/// let request = PlacementRequest { on, memory, spread: ThreadSpread::Together, in_group: false };
/// let placement = request.resolve_placement(&this_machine()?, &NoKnowledge)?;
/// let before = placement.apply_to_thread()?;
/// let status = std::process::Command::new("./app").status()?;
/// before.restore_outside(&placement.resolution.cpus);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PlacementRequest {
    /// Cpus.
    pub on: PlacementExpression,
    /// Memory policy; unchanged if `None`.
    pub memory: Option<MemoryPolicy>,
    /// Distribution of its threads.
    pub spread: ThreadSpread,
    /// Whether a control group holds it, with the same nodes.
    pub in_group: bool,
}

/// Resolved placement of a program.
#[derive(Debug)]
pub struct ResolvedPlacement {
    /// Cpus, and the cpus that were left out.
    pub resolution: ResolvedExpression,
    /// Distribution of its threads over them.
    pub threads: HoldSpread,
    memory: Option<(MemoryPolicy, KernelMemoryPolicy)>,
}

/// Cpus and memory policy of a thread before a [`ResolvedPlacement`] was put in force.
#[derive(Debug)]
pub struct SavedAffinity {
    cpus: CpuSet,
    memory: Option<KernelMemoryPolicy>,
}

/// Reason why a program cannot be placed.
#[derive(Debug, thiserror::Error)]
pub enum PlacingError {
    /// An expression selects no cpus here.
    #[error(transparent)]
    Expression(#[from] PlacementError),
    /// Cpus were named by number that are not available.
    #[error("{}", name_left_out(left_out))]
    Unusable {
        /// Those cpus.
        left_out: Vec<ExcludedCpus>,
        /// Cpus that this process can use, if the kernel reports them.
        reachable: Option<CpuSet>,
    },
    /// A role has no cpu.
    #[error("role {name}: no cpu of {cpus} is in {boundary}")]
    Role {
        /// Name of the role.
        name: String,
        /// Cpus of its expression.
        cpus: CpuSet,
        /// Cpus of the whole program.
        boundary: CpuSet,
    },
    /// Nodes do not exist.
    #[error("--memory {policy}: {why}")]
    Nodes {
        /// The policy.
        policy: MemoryPolicy,
        /// The reason.
        why: String,
    },
    /// The kernel refuses a memory policy.
    #[error("--memory {policy}: {error}")]
    Memory {
        /// The policy.
        policy: MemoryPolicy,
        /// First kernel with this policy, if this one may be older.
        since: Option<&'static str>,
        /// Error of the kernel.
        error: io::Error,
    },
    /// The kernel refuses a mask.
    #[error("cannot restrict the command to cpus {cpus}: {error}")]
    Mask {
        /// The cpus.
        cpus: CpuSet,
        /// Error of the kernel.
        error: io::Error,
    },
    /// The kernel grants only a part of a mask.
    #[error("the kernel allows cpus {got}, not {asked}")]
    Changed {
        /// Granted cpus.
        got: CpuSet,
        /// Requested cpus.
        asked: CpuSet,
    },
    /// The mask of the calling thread cannot be read.
    #[error("cannot read the affinity mask: {0}")]
    Unreadable(io::Error),
}

fn name_left_out(left_out: &[ExcludedCpus]) -> String {
    left_out.iter().map(ExcludedCpus::describe_named).collect::<Vec<_>>().join(", ")
}

impl PlacingError {
    /// Returns advice on what to do next, or `None` if there is none.
    pub fn suggest_hint(&self) -> Option<String> {
        Some(match self {
            Self::Expression(error) => return error.hint.clone(),
            Self::Unusable { reachable: Some(reachable), .. } => {
                format!("This process may use {reachable}; nothing was started.")
            }
            Self::Unusable { reachable: None, .. } => "Nothing was started.".to_owned(),
            Self::Role { .. } => "The cpus of a role must be inside those of --on.".to_owned(),
            Self::Nodes { .. } => {
                format!("{} shows the nodes and their memory.", suggested_command::topology().quoted_line())
            }
            Self::Memory { since: Some(since), .. } => format!("It needs Linux {since} or newer."),
            Self::Memory { since: None, error, .. } if error.kind() == ErrorKind::Unsupported => {
                "Without --memory, memory comes from the node of the thread that first touches it.".to_owned()
            }
            Self::Memory { since: None, .. } => {
                "Check that this kernel is built with NUMA, and that this process may use set_mempolicy(2).".to_owned()
            }
            Self::Changed { .. } => "Its cpus or its cpuset have just changed; try again.".to_owned(),
            Self::Mask { error, .. } if error.kind() == ErrorKind::Unsupported => {
                format!(
                    "Nothing was started. {} prefers cpus of several groups.",
                    suggested_command::run_softly().quoted_line()
                )
            }
            Self::Mask { .. } | Self::Unreadable(_) => return None,
        })
    }
}

/// Refuses to leave out cpus that were named by number.
///
/// # Errors
/// [`PlacingError::Unusable`] if there are any.
pub fn refuse_named(left_out: &[ExcludedCpus]) -> Result<(), PlacingError> {
    refuse_named_outside(left_out, || cpuset::reachable_cpus().ok())
}

fn refuse_named_outside(
    left_out: &[ExcludedCpus],
    reachable: impl FnOnce() -> Option<CpuSet>,
) -> Result<(), PlacingError> {
    let named: Vec<ExcludedCpus> = left_out.iter().filter(|out| !out.named.is_empty()).cloned().collect();
    if named.is_empty() { Ok(()) } else { Err(PlacingError::Unusable { left_out: named, reachable: reachable() }) }
}

impl PlacementRequest {
    /// Puts a list or mask in force without reading the machine. Returns false, without any change, if more must be
    /// known.
    ///
    /// # Errors
    /// If the mask cannot be read, or the memory policy is refused.
    pub fn try_apply_plain_list(&self) -> Result<bool, PlacingError> {
        let is_plain_memory = self.memory.as_ref().is_none_or(|memory| memory.mode == MemoryMode::Local);
        let Some(cpus) = self.on.plain_cpus().filter(|_| is_plain_memory) else { return Ok(false) };
        let cpus: CpuSet = cpus.into_iter().collect();
        let before = affinity::current_affinity().map_err(PlacingError::Unreadable)?;
        // The kernel silently leaves out cpus that are offline or not in the cpuset.
        if affinity::set_current(&cpus).is_err()
            || affinity::current_affinity().map_err(PlacingError::Unreadable)? != cpus
        {
            let _ = affinity::set_current(&before);
            return Ok(false);
        }
        if let Some(memory) = &self.memory {
            put_memory_in_force(memory, &KernelMemoryPolicy::new(memory.mode, Vec::new()))?;
        }
        Ok(true)
    }

    /// Resolves the placement without any change.
    ///
    /// # Errors
    /// If the machine has no such cpus, nodes or roles, or this process may not use them.
    pub fn resolve_placement(
        &self,
        machine: &Machine,
        known: &dyn MachineKnowledge,
    ) -> Result<ResolvedPlacement, PlacingError> {
        let resolution = resolve_here(&self.on, machine, known)?;
        refuse_named(&resolution.left_out)?;
        let threads = match &self.spread {
            ThreadSpread::Together => HoldSpread::Together,
            ThreadSpread::OnePerThread => HoldSpread::OnePerThread(resolution.order.clone()),
            ThreadSpread::Roles(roles) => {
                let role = |typed| resolve_role(typed, &resolution.cpus, machine, known);
                HoldSpread::Roles(roles.iter().map(role).collect::<Result<_, _>>()?)
            }
        };
        let memory = self.memory.as_ref().map(|memory| find_memory(memory, machine)).transpose()?;
        let memory =
            memory.map(|(memory, policy)| (memory, if self.in_group { policy.through_cpusets() } else { policy }));
        Ok(ResolvedPlacement { resolution, threads, memory })
    }
}

/// Resolves a memory policy for an experiment, with its nodes on this machine.
///
/// # Errors
/// If a node does not exist, has no memory or is not allowed; if the kernel refuses the policy.
pub fn memory_to_try(memory: &MemoryPolicy, machine: &Machine) -> Result<ArmMemory, PlacingError> {
    let (memory, policy) = find_memory(memory, machine)?;
    policy.check_accepted().map_err(|error| explain_refusal(&memory, &policy, error))?;
    Ok(ArmMemory { policy: memory.to_string(), nodes: policy.nodes().iter().copied().collect() })
}

fn find_memory(memory: &MemoryPolicy, machine: &Machine) -> Result<(MemoryPolicy, KernelMemoryPolicy), PlacingError> {
    let allowed = memory_policy::allowed_nodes().ok();
    match memory.node_numbers(machine, allowed.as_deref()) {
        Ok(nodes) => Ok((memory.clone(), KernelMemoryPolicy::new(memory.mode, nodes))),
        Err(error) => Err(PlacingError::Nodes { policy: memory.clone(), why: error.to_string() }),
    }
}

fn resolve_role(
    typed: &TypedRole,
    boundary: &CpuSet,
    machine: &Machine,
    known: &dyn MachineKnowledge,
) -> Result<HoldRole, PlacingError> {
    let found = resolve_here(&typed.expression, machine, known)?;
    refuse_named(&found.left_out)?;
    let cpus = found.cpus.intersection(boundary);
    if cpus.is_empty() {
        return Err(PlacingError::Role { name: typed.name.clone(), cpus: found.cpus, boundary: boundary.clone() });
    }
    Ok(HoldRole { name: typed.name.clone(), pattern: typed.regex.clone(), cpus })
}

impl ResolvedPlacement {
    /// Returns the numbers of the memory nodes that the program is bound to, or `None` if it is not bound.
    pub fn bound_nodes(&self) -> Option<CpuSet> {
        let (_, policy) = self.memory.as_ref().filter(|(memory, _)| memory.mode == MemoryMode::Bind)?;
        Some(policy.nodes().iter().copied().collect())
    }

    /// Sets the mask and memory policy of the calling thread, and checks them. Returns the previous ones.
    ///
    /// # Errors
    /// If the kernel refuses, or grants less than was requested.
    pub fn apply_to_thread(&self) -> Result<SavedAffinity, PlacingError> {
        let cpus = affinity::current_affinity().map_err(PlacingError::Unreadable)?;
        let before = SavedAffinity { cpus, memory: KernelMemoryPolicy::current_policy().ok() };
        let asked = &self.resolution.cpus;
        affinity::set_current(asked).map_err(|error| PlacingError::Mask { cpus: asked.clone(), error })?;
        let got = affinity::current_affinity().map_err(PlacingError::Unreadable)?;
        if got != *asked {
            return Err(PlacingError::Changed { got, asked: asked.clone() });
        }
        if let Some((memory, policy)) = &self.memory {
            put_memory_in_force(memory, policy)?;
        }
        Ok(before)
    }
}

impl SavedAffinity {
    /// Restores the calling thread, but off the cpus of the program if it has others: a watcher should not be in the
    /// way.
    pub fn restore_outside(&self, placement: &CpuSet) {
        let others = self.cpus.difference(placement);
        let cpus = if others.is_empty() { &self.cpus } else { &others };
        // The program runs already: failing to restore a mask is no reason to end it.
        let _ = affinity::set_current(cpus);
        if let Some(memory) = &self.memory {
            let _ = memory.set_current();
        }
    }
}

fn put_memory_in_force(memory: &MemoryPolicy, policy: &KernelMemoryPolicy) -> Result<(), PlacingError> {
    policy.set_current().map_err(|error| explain_refusal(memory, policy, error))
}

fn explain_refusal(memory: &MemoryPolicy, policy: &KernelMemoryPolicy, error: io::Error) -> PlacingError {
    let since = policy.first_kernel().filter(|_| error.kind() == ErrorKind::InvalidInput);
    PlacingError::Memory { policy: memory.clone(), since, error }
}
