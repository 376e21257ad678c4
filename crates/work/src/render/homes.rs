//! Memory nodes from which threads read their scene, and the copies there.

use std::thread::{Builder, scope};

use corewise_machine::placement::memory::MemoryMode;
use corewise_machine::{CpuSet, Machine};
use corewise_sys::affinity;
use corewise_sys::memory_policy::{self, KernelMemoryPolicy};
use corewise_sys::{Root, topology};

use super::scene::RenderScene;
use crate::settings::WorkloadHost;
use crate::{WorkError, WorkloadSettings};

/// A node's cpus, and the memory node of their scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneHome {
    /// Memory node, by the system's number; `None` if the nearest is unknown.
    pub memory: Option<u32>,
    /// The cpus that read it.
    pub cpus: CpuSet,
}

/// The scenes, and their assignment to threads.
pub struct SceneHomes {
    /// Empty if there is one scene for all.
    homes: Vec<SceneHome>,
    scenes: Vec<RenderScene>,
    /// The kernel's error if it would not bind memory.
    refused: Option<String>,
}

impl SceneHomes {
    /// Copies a scene to each node if `numa_aware`, or else keeps the calling thread's.
    ///
    /// # Errors
    /// [`Error::System`] if a thread cannot be started or kept on a node's cpus; [`Error::Stopped`].
    pub fn new(
        scene: RenderScene,
        numa_aware: bool,
        settings: &WorkloadSettings,
        company: &mut WorkloadHost<'_>,
    ) -> Result<Self, WorkError> {
        if !numa_aware {
            return Ok(Self { homes: Vec::new(), scenes: vec![scene], refused: None });
        }
        // Pinned threads have their homes, so no unused copy is made.
        let allowed: CpuSet = match &settings.cpus[..] {
            [] => affinity::current_affinity().map_err(WorkError::from_system("reading the affinity mask"))?,
            pinned => pinned.iter().copied().collect(),
        };
        let machine = topology::read_machine(&Root::this_machine());
        let machine =
            machine.map_err(|error| WorkError::from_system("reading the topology")(std::io::Error::other(error)))?;
        let homes = machine_homes(&machine, &allowed, memory_policy::allowed_nodes().ok().as_deref());
        let mut made = Self { homes, scenes: Vec::new(), refused: None };
        for home in made.homes.clone() {
            company.check_stop()?;
            (company.progress)(&format!("copying the scene for cpus {}", home.cpus));
            let (copy, refused) = copy_scene(&scene, &home)?;
            made.scenes.push(copy);
            made.refused = made.refused.or(refused);
        }
        Ok(made)
    }

    /// Returns the number of scenes.
    pub fn len(&self) -> usize {
        self.scenes.len()
    }

    /// Returns a scene.
    ///
    /// # Panics
    /// If the number is not below [`SceneHomes::len`].
    pub fn scene_at(&self, number: usize) -> &RenderScene {
        &self.scenes[number]
    }

    /// Returns the number of a thread's scene.
    pub fn scene_of(&self, settings: &WorkloadSettings, thread: usize) -> usize {
        home_of(&self.homes, settings, thread)
    }

    /// Keeps the calling thread on the cpus of its node, unless it is pinned to a cpu.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn enter_home(&self, settings: &WorkloadSettings, thread: usize) -> Result<(), WorkError> {
        let Some(home) = self.homes.get(self.scene_of(settings, thread)) else { return Ok(()) };
        if settings.cpu_of(thread).is_some() {
            return Ok(());
        }
        affinity::set_current(&home.cpus)
            .map_err(WorkError::from_system(format!("keeping a thread on cpus {}", home.cpus)))
    }

    /// Describes the places of the copies.
    pub fn describe_homes(&self) -> String {
        let home = |home: &SceneHome| {
            let memory = home.memory.map_or("the nearest node".to_owned(), |node| format!("node {node}"));
            format!("on {memory} for cpus {}", home.cpus)
        };
        let copies: Vec<String> = self.homes.iter().map(home).collect();
        let refused = self.refused.as_ref().map_or(String::new(), |why| {
            format!("; memory cannot be bound here ({why}), so only the first touch placed them")
        });
        match copies.len() {
            0 => "one scene for all threads, touched first by the main thread".to_owned(),
            1 => format!("one copy of the scene, {}{refused}", copies[0]),
            count => format!("{count} copies of the scene, {}{refused}", copies.join(", ")),
        }
    }
}

/// Returns the homes of a machine: each node with allowed cpus, and the nearest node with allowed memory, itself first. `memory` are the
/// nodes that memory may come from, if known. Without a known node there is one home for all cpus.
pub fn machine_homes(machine: &Machine, allowed: &CpuSet, memory: Option<&[u32]>) -> Vec<SceneHome> {
    let cpus = |index: usize| machine.nodes[index].cpus.intersection(allowed);
    let with_cpus = (0..machine.nodes.len()).filter(|index| !cpus(*index).is_empty());
    let homes: Vec<SceneHome> =
        with_cpus.map(|index| SceneHome { memory: nearest_node(machine, index, memory), cpus: cpus(index) }).collect();
    if homes.is_empty() { vec![SceneHome { memory: None, cpus: allowed.clone() }] } else { homes }
}

/// Returns the system's number of the nearest node with allowed memory.
fn nearest_node(machine: &Machine, from: usize, memory: Option<&[u32]>) -> Option<u32> {
    let has_memory = |index: &usize| {
        let node = &machine.nodes[*index];
        node.memory_bytes != Some(0) && memory.is_none_or(|memory| memory.contains(&node.number))
    };
    // If the kernel reports no distances, a node is nearest to itself, and all others are equal.
    let distance = |index: &usize| (*index != from, machine.nodes[from].distances.get(*index).copied());
    let nodes = (0..machine.nodes.len()).filter(has_memory);
    nodes.min_by_key(distance).map(|index| machine.nodes[index].number)
}

/// Returns the home of a thread: its cpu's if it is pinned; otherwise threads are spread over homes in proportion to their cpus.
fn home_of(homes: &[SceneHome], settings: &WorkloadSettings, thread: usize) -> usize {
    if let Some(cpu) = settings.cpu_of(thread) {
        return homes.iter().position(|home| home.cpus.contains(cpu)).unwrap_or(0);
    }
    let cpus = || homes.iter().map(|home| home.cpus.len());
    let mut before = cpus().sum::<usize>() * thread / settings.threads;
    for (number, cpus) in cpus().enumerate() {
        if before < cpus {
            return number;
        }
        before -= cpus;
    }
    0
}

/// Copies a scene from a thread on the cpus that will read it; also returns the kernel's error if it would not bind the memory.
fn copy_scene(scene: &RenderScene, home: &SceneHome) -> Result<(RenderScene, Option<String>), WorkError> {
    let copy = || {
        let named = format!("keeping a thread on cpus {}", home.cpus);
        affinity::set_current(&home.cpus).map_err(WorkError::from_system(named))?;
        let bound =
            home.memory.map_or(Ok(()), |node| KernelMemoryPolicy::new(MemoryMode::Bind, vec![node]).set_current());
        Ok((scene.fresh_copy(), bound.err().map(|error| error.to_string())))
    };
    scope(|scope| {
        let thread = Builder::new().name("render copy".into()).spawn_scoped(scope, copy);
        let thread = thread.map_err(WorkError::from_system("starting a thread that copies"))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests;
