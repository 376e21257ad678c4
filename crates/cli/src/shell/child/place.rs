//! Where a command is to run on this machine, and making it so for the calling thread, from which the command inherits it.

use std::io::ErrorKind;

use corewise_model::placement::hold::{Role, Threads};
use corewise_model::placement::memory::{MemoryPolicy, Mode};
use corewise_model::placement::roles::TypedRole;
use corewise_model::placement::{LeftOut, Resolution};
use corewise_model::{CpuSet, Machine};
use corewise_sys::linux::memory_policy::{self, Policy};
use corewise_sys::linux::{affinity, cpuset};

use crate::shell::child::task::{RunTask, Spread};
use crate::shell::failure::{Exit, Failure};
use crate::shell::machine::this_machine;
use crate::shell::placing::resolve_here;
use crate::shell::settings::Settings;

/// Where a command is to run.
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

/// Puts a list or mask in force without looking at the machine; false where more must be known, and then nothing has
/// changed.
pub fn at_once(task: &RunTask) -> Result<bool, Failure> {
    let is_plain_memory = task.memory.as_ref().is_none_or(|memory| memory.mode == Mode::Local);
    let Some(cpus) = task.on.plain_cpus().filter(|_| is_plain_memory) else { return Ok(false) };
    let cpus: CpuSet = cpus.into_iter().collect();
    let before = affinity::current().map_err(unreadable_mask)?;
    // The kernel leaves out cpus that are offline or not in the cpuset without a word.
    if affinity::set_current(&cpus).is_err() || affinity::current().map_err(unreadable_mask)? != cpus {
        let _ = affinity::set_current(&before);
        return Ok(false);
    }
    if let Some(memory) = &task.memory {
        put_memory_in_force(memory, &Policy::new(memory.mode, Vec::new()))?;
    }
    Ok(true)
}

/// Finds out where a command is to run; nothing is changed.
pub fn find(task: &RunTask, settings: &Settings) -> Result<Place, Failure> {
    let machine = this_machine()?;
    let resolution = resolve_here(&task.on, &machine, settings)?;
    refuse_named(&resolution.left_out)?;
    let threads = threads(task, &resolution, &machine, settings)?;
    let memory = task.memory.as_ref().map(|memory| find_memory(memory, &machine)).transpose()?;
    let memory = memory.map(|(memory, policy)| (memory, if task.cgroup { policy.through_cpusets() } else { policy }));
    Ok(Place { resolution, threads, memory })
}

fn find_memory(memory: &MemoryPolicy, machine: &Machine) -> Result<(MemoryPolicy, Policy), Failure> {
    let allowed = memory_policy::allowed_nodes().ok();
    match memory.node_numbers(machine, allowed.as_deref()) {
        Ok(nodes) => Ok((memory.clone(), Policy::new(memory.mode, nodes))),
        Err(error) => Err(Failure::unavailable(format!("--memory {memory}: {error}"))
            .next("`corewise topology` shows the nodes and their memory.")),
    }
}

/// Cpus that the user named and nobody can reach are no cpus to leave out in silence.
pub fn refuse_named(left_out: &[LeftOut]) -> Result<(), Failure> {
    let named: Vec<&LeftOut> = left_out.iter().filter(|out| !out.named.is_empty()).collect();
    if named.is_empty() {
        return Ok(());
    }
    let is = |out: &&LeftOut| {
        let (noun, verb) = if out.named.len() == 1 { ("cpu", "is") } else { ("cpus", "are") };
        format!("{noun} {} {verb} {}", out.named, out.reason.words())
    };
    let what = named.iter().map(is).collect::<Vec<_>>().join(", ");
    let failure = Failure::unavailable(what);
    Err(match cpuset::reachable() {
        Ok(reachable) => failure.next(format!("This process can reach {reachable}; nothing was started.")),
        Err(_) => failure.next("Nothing was started."),
    })
}

fn threads(
    task: &RunTask,
    resolution: &Resolution,
    machine: &Machine,
    settings: &Settings,
) -> Result<Threads, Failure> {
    Ok(match &task.spread {
        Spread::Together => Threads::Together,
        Spread::OnePerThread => Threads::OnePerThread(resolution.order.clone()),
        Spread::Roles(roles) => {
            let role = |typed| role(typed, &resolution.cpus, machine, settings);
            Threads::Roles(roles.iter().map(role).collect::<Result<_, Failure>>()?)
        }
    })
}

fn role(typed: &TypedRole, boundary: &CpuSet, machine: &Machine, settings: &Settings) -> Result<Role, Failure> {
    let found = resolve_here(&typed.expression, machine, settings)?;
    refuse_named(&found.left_out)?;
    let cpus = found.cpus.intersection(boundary);
    if cpus.is_empty() {
        let what = format!("role {}: no cpu of {} is in {boundary}", typed.name, found.cpus);
        return Err(Failure::unavailable(what).next("The cpus of a role lie inside those of --on."));
    }
    Ok(Role { name: typed.name.clone(), pattern: typed.regex.clone(), cpus })
}

impl Place {
    /// The memory nodes that the command is bound to, where it is bound to some.
    pub fn bound_nodes(&self) -> Option<CpuSet> {
        let (_, policy) = self.memory.as_ref().filter(|(memory, _)| memory.mode == Mode::Bind)?;
        Some(policy.nodes().iter().copied().collect())
    }

    /// Makes this the mask and memory policy of the calling thread, checked; returns what they were.
    pub fn put_in_force(&self) -> Result<Before, Failure> {
        let before = Before { cpus: affinity::current().map_err(unreadable_mask)?, memory: Policy::current().ok() };
        let cpus = &self.resolution.cpus;
        let refused = |error| Failure::unavailable(format!("cannot restrict the command to cpus {cpus}: {error}"));
        affinity::set_current(cpus).map_err(refused)?;
        let got = affinity::current().map_err(unreadable_mask)?;
        if got != *cpus {
            let what = format!("the kernel allows cpus {got} where {cpus} were asked for");
            return Err(Failure::unavailable(what).next("Its cpus or its cpuset changed just now; try again."));
        }
        if let Some((memory, policy)) = &self.memory {
            put_memory_in_force(memory, policy)?;
        }
        Ok(before)
    }
}

impl Before {
    /// Gives the calling thread back what it had, but keeps it off the cpus of the command where it has others: who
    /// watches should not be in the way.
    pub fn give_back(&self, placement: &CpuSet) {
        let others = self.cpus.difference(placement);
        let cpus = if others.is_empty() { &self.cpus } else { &others };
        // The command runs already: a mask that is no longer to be had is nothing to end it for.
        let _ = affinity::set_current(cpus);
        if let Some(memory) = &self.memory {
            let _ = memory.set_current();
        }
    }
}

fn put_memory_in_force(memory: &MemoryPolicy, policy: &Policy) -> Result<(), Failure> {
    policy.set_current().map_err(|error| {
        let failure = Failure::unavailable(format!("--memory {memory}: {error}"));
        match policy.since().filter(|_| error.kind() == ErrorKind::InvalidInput) {
            Some(since) => failure.next(format!("It needs Linux {since} or newer.")),
            None => failure.next("Is this kernel built with NUMA, and may this process use set_mempolicy(2)?"),
        }
    })
}

fn unreadable_mask(error: std::io::Error) -> Failure {
    Failure::new(Exit::Internal, format!("cannot read the affinity mask: {error}"))
}
