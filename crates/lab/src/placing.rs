//! Where a program is to run: from an expression to cpus on this machine, and in force for the calling thread, from which the program
//! inherits it.

use std::io::{self, ErrorKind};

use corewise_machine::placement::hold::{Role, Threads};
use corewise_machine::placement::memory::{MemoryPolicy, Mode};
use corewise_machine::placement::roles::TypedRole;
use corewise_machine::placement::{Expression, KnownMachine, LeftOut, MachineKnowledge, PlacementError, Resolution};
use corewise_machine::suggested_command;
use corewise_machine::{CpuSet, Machine};
use corewise_model::trial::ArmMemory;
use corewise_sys::memory_policy::{self, Policy};
use corewise_sys::{affinity, cpuset};

/// The cpus of an expression on the machine that this program runs on.
///
/// # Errors
/// Where an expression selects no cpu that this process can use.
pub fn resolve_here(
    expression: &Expression,
    machine: &Machine,
    known: &dyn MachineKnowledge,
) -> Result<Resolution, PlacementError> {
    let loaded = KnownMachine::load(machine, [expression], known);
    expression.resolve(&loaded.context(&reachable_here(machine)))
}

/// The cpus of an expression on this machine, where it does not matter which of them this process may use.
///
/// # Errors
/// Where an expression selects no cpu that is online.
pub fn resolve_for_all(
    expression: &Expression,
    machine: &Machine,
    known: &dyn MachineKnowledge,
) -> Result<Resolution, PlacementError> {
    let loaded = KnownMachine::load(machine, [expression], known).with_allowed_cpus(machine.online.clone());
    expression.resolve(&loaded.context(&machine.online))
}

/// The cpus of an expression on this machine that a process may use, by what its cpuset has.
///
/// # Errors
/// Where an expression selects none of these, or names one of others by its number.
pub fn resolve_for_process(
    expression: &Expression,
    machine: &Machine,
    process: u32,
    known: &dyn MachineKnowledge,
) -> Result<Resolution, PlacingError> {
    let reachable = cpuset::of(process);
    let loaded = KnownMachine::load(machine, [expression], known).with_allowed_cpus(reachable.clone());
    let found = expression.resolve(&loaded.context(&reachable))?;
    refuse_named_outside(&found.left_out, || Some(reachable))?;
    Ok(found)
}

/// The cpus that the cpuset lets this process use. Where the kernel does not answer, the mask that was inherited is what
/// is known to be allowed.
pub fn reachable_here(machine: &Machine) -> CpuSet {
    cpuset::reachable().unwrap_or_else(|_| machine.allowed.clone())
}

/// How threads are spread over a placement.
#[derive(Clone, Debug, PartialEq)]
pub enum Spread {
    /// Each may use all of it.
    Together,
    /// Each on a cpu of its own.
    OnePerThread,
    /// By their names.
    Roles(Vec<TypedRole>),
}

/// Where a program is asked to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish {
    /// On which cpus.
    pub on: Expression,
    /// Where its memory comes from; unchanged where this is absent.
    pub memory: Option<MemoryPolicy>,
    /// How its threads are spread.
    pub spread: Spread,
    /// Whether a control group holds it, with the same nodes.
    pub in_group: bool,
}

/// Where a program is to run.
#[derive(Debug)]
pub struct Place {
    /// On which cpus, and who was left out.
    pub resolution: Resolution,
    /// How its threads are spread over them.
    pub threads: Threads,
    memory: Option<(MemoryPolicy, Policy)>,
}

/// What a thread had before a [`Place`] was put in force.
#[derive(Debug)]
pub struct Before {
    cpus: CpuSet,
    memory: Option<Policy>,
}

/// Why a program cannot be placed.
#[derive(Debug, thiserror::Error)]
pub enum PlacingError {
    /// An expression selects nothing here.
    #[error(transparent)]
    Expression(#[from] PlacementError),
    /// Cpus that were named by their numbers, which nobody here can use.
    #[error("{}", named(left_out))]
    Unusable {
        /// Those cpus.
        left_out: Vec<LeftOut>,
        /// What this process can use, where the kernel says so.
        reachable: Option<CpuSet>,
    },
    /// A role without a cpu.
    #[error("role {name}: no cpu of {cpus} is in {boundary}")]
    Role {
        /// Its name.
        name: String,
        /// The cpus of its expression.
        cpus: CpuSet,
        /// The cpus of the whole program.
        boundary: CpuSet,
    },
    /// Nodes that are not there.
    #[error("--memory {policy}: {why}")]
    Nodes {
        /// The policy.
        policy: MemoryPolicy,
        /// Why it cannot be had.
        why: String,
    },
    /// A memory policy that the kernel refuses.
    #[error("--memory {policy}: {error}")]
    Memory {
        /// The policy.
        policy: MemoryPolicy,
        /// The first kernel that has it, where this one may be older.
        since: Option<&'static str>,
        /// What the kernel said.
        error: io::Error,
    },
    /// A mask that the kernel refuses.
    #[error("cannot restrict the command to cpus {cpus}: {error}")]
    Mask {
        /// The cpus.
        cpus: CpuSet,
        /// What the kernel said.
        error: io::Error,
    },
    /// A mask that the kernel gave only in part.
    #[error("the kernel allows cpus {got}, not {asked}")]
    Changed {
        /// What it gave.
        got: CpuSet,
        /// What was asked for.
        asked: CpuSet,
    },
    /// The mask of the calling thread cannot be read.
    #[error("cannot read the affinity mask: {0}")]
    Unreadable(io::Error),
}

fn named(left_out: &[LeftOut]) -> String {
    let is = |out: &LeftOut| {
        let (noun, verb) = if out.named.len() == 1 { ("cpu", "is") } else { ("cpus", "are") };
        format!("{noun} {} {verb} {}", out.named, out.reason.words())
    };
    left_out.iter().map(is).collect::<Vec<_>>().join(", ")
}

impl PlacingError {
    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Expression(error) => return error.hint.clone(),
            Self::Unusable { reachable: Some(reachable), .. } => {
                format!("This process may use {reachable}; nothing was started.")
            }
            Self::Unusable { reachable: None, .. } => "Nothing was started.".to_owned(),
            Self::Role { .. } => "The cpus of a role must be inside those of --on.".to_owned(),
            Self::Nodes { .. } => {
                format!("{} shows the nodes and their memory.", suggested_command::topology().mention())
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
                    suggested_command::run_softly().mention()
                )
            }
            Self::Mask { .. } | Self::Unreadable(_) => return None,
        })
    }
}

/// Cpus that somebody named by their numbers must not be left out in silence.
///
/// # Errors
/// [`PlacingError::Unusable`] where there are some.
pub fn refuse_named(left_out: &[LeftOut]) -> Result<(), PlacingError> {
    refuse_named_outside(left_out, || cpuset::reachable().ok())
}

fn refuse_named_outside(left_out: &[LeftOut], reachable: impl FnOnce() -> Option<CpuSet>) -> Result<(), PlacingError> {
    let named: Vec<LeftOut> = left_out.iter().filter(|out| !out.named.is_empty()).cloned().collect();
    if named.is_empty() { Ok(()) } else { Err(PlacingError::Unusable { left_out: named, reachable: reachable() }) }
}

impl Wish {
    /// Puts a list or mask in force without looking at the machine; false where more must be known, and then nothing has
    /// changed.
    ///
    /// # Errors
    /// Where the mask cannot be read, or the memory policy is refused.
    pub fn at_once(&self) -> Result<bool, PlacingError> {
        let is_plain_memory = self.memory.as_ref().is_none_or(|memory| memory.mode == Mode::Local);
        let Some(cpus) = self.on.plain_cpus().filter(|_| is_plain_memory) else { return Ok(false) };
        let cpus: CpuSet = cpus.into_iter().collect();
        let before = affinity::current().map_err(PlacingError::Unreadable)?;
        // The kernel leaves out cpus that are offline or not in the cpuset without a word.
        if affinity::set_current(&cpus).is_err() || affinity::current().map_err(PlacingError::Unreadable)? != cpus {
            let _ = affinity::set_current(&before);
            return Ok(false);
        }
        if let Some(memory) = &self.memory {
            put_memory_in_force(memory, &Policy::new(memory.mode, Vec::new()))?;
        }
        Ok(true)
    }

    /// Finds out where that is; nothing is changed.
    ///
    /// # Errors
    /// Where the machine has no such cpus, nodes or roles, or this process may not use them.
    pub fn find(&self, machine: &Machine, known: &dyn MachineKnowledge) -> Result<Place, PlacingError> {
        let resolution = resolve_here(&self.on, machine, known)?;
        refuse_named(&resolution.left_out)?;
        let threads = match &self.spread {
            Spread::Together => Threads::Together,
            Spread::OnePerThread => Threads::OnePerThread(resolution.order.clone()),
            Spread::Roles(roles) => {
                let role = |typed| role(typed, &resolution.cpus, machine, known);
                Threads::Roles(roles.iter().map(role).collect::<Result<_, _>>()?)
            }
        };
        let memory = self.memory.as_ref().map(|memory| find_memory(memory, machine)).transpose()?;
        let memory =
            memory.map(|(memory, policy)| (memory, if self.in_group { policy.through_cpusets() } else { policy }));
        Ok(Place { resolution, threads, memory })
    }
}

/// A memory policy as an experiment tries it, with the nodes that it has on this machine.
///
/// # Errors
/// Where a node is not there, has no memory or is not allowed; where the kernel refuses the policy.
pub fn memory_to_try(memory: &MemoryPolicy, machine: &Machine) -> Result<ArmMemory, PlacingError> {
    let (memory, policy) = find_memory(memory, machine)?;
    policy.check().map_err(|error| refused(&memory, &policy, error))?;
    Ok(ArmMemory { policy: memory.to_string(), nodes: policy.nodes().iter().copied().collect() })
}

fn find_memory(memory: &MemoryPolicy, machine: &Machine) -> Result<(MemoryPolicy, Policy), PlacingError> {
    let allowed = memory_policy::allowed_nodes().ok();
    match memory.node_numbers(machine, allowed.as_deref()) {
        Ok(nodes) => Ok((memory.clone(), Policy::new(memory.mode, nodes))),
        Err(error) => Err(PlacingError::Nodes { policy: memory.clone(), why: error.to_string() }),
    }
}

fn role(
    typed: &TypedRole,
    boundary: &CpuSet,
    machine: &Machine,
    known: &dyn MachineKnowledge,
) -> Result<Role, PlacingError> {
    let found = resolve_here(&typed.expression, machine, known)?;
    refuse_named(&found.left_out)?;
    let cpus = found.cpus.intersection(boundary);
    if cpus.is_empty() {
        return Err(PlacingError::Role { name: typed.name.clone(), cpus: found.cpus, boundary: boundary.clone() });
    }
    Ok(Role { name: typed.name.clone(), pattern: typed.regex.clone(), cpus })
}

impl Place {
    /// The memory nodes that the program is bound to, where it is bound to some.
    pub fn bound_nodes(&self) -> Option<CpuSet> {
        let (_, policy) = self.memory.as_ref().filter(|(memory, _)| memory.mode == Mode::Bind)?;
        Some(policy.nodes().iter().copied().collect())
    }

    /// Makes this the mask and memory policy of the calling thread, checked; returns what they were.
    ///
    /// # Errors
    /// Where the kernel refuses, or gives less than was asked for.
    pub fn put_in_force(&self) -> Result<Before, PlacingError> {
        let cpus = affinity::current().map_err(PlacingError::Unreadable)?;
        let before = Before { cpus, memory: Policy::current().ok() };
        let asked = &self.resolution.cpus;
        affinity::set_current(asked).map_err(|error| PlacingError::Mask { cpus: asked.clone(), error })?;
        let got = affinity::current().map_err(PlacingError::Unreadable)?;
        if got != *asked {
            return Err(PlacingError::Changed { got, asked: asked.clone() });
        }
        if let Some((memory, policy)) = &self.memory {
            put_memory_in_force(memory, policy)?;
        }
        Ok(before)
    }
}

impl Before {
    /// Gives the calling thread back what it had, but keeps it off the cpus of the program where it has others: who
    /// watches should not be in the way.
    pub fn give_back(&self, placement: &CpuSet) {
        let others = self.cpus.difference(placement);
        let cpus = if others.is_empty() { &self.cpus } else { &others };
        // The program runs already: a mask that is no longer to be had is nothing to end it for.
        let _ = affinity::set_current(cpus);
        if let Some(memory) = &self.memory {
            let _ = memory.set_current();
        }
    }
}

fn put_memory_in_force(memory: &MemoryPolicy, policy: &Policy) -> Result<(), PlacingError> {
    policy.set_current().map_err(|error| refused(memory, policy, error))
}

fn refused(memory: &MemoryPolicy, policy: &Policy, error: io::Error) -> PlacingError {
    let since = policy.since().filter(|_| error.kind() == ErrorKind::InvalidInput);
    PlacingError::Memory { policy: memory.clone(), since, error }
}
