//! The task of `workload`.

use std::time::Duration;

use corewise_machine::placement::Expression;
use corewise_machine::ring::Slots;
use corewise_work::{Size, euler, image, particles, pingpong, pipeline, raymesh, render, tail};

use super::arguments::{ByName, SplitName, Switch, ViaName, WorkloadArguments, WorkloadCommand};
use crate::app::failure::Failure;
use crate::app::placing::expression;
use crate::app::values::SlotsName;

/// A workload to run.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadTask {
    /// The workload with its own options.
    pub which: Which,
    /// Number of threads; one for each cpu if not given.
    pub threads: Option<usize>,
    /// Amount of work.
    pub size: Size,
    /// The seed.
    pub seed: u64,
    /// The cpus to which threads are pinned; the OS default if not given.
    pub pin: Option<Expression>,
}

/// A workload with its options.
#[derive(Clone, Debug, PartialEq)]
pub enum Which {
    /// Random walks.
    Particles(particles::Options),
    /// Ray-mesh tests.
    Raymesh(raymesh::Options),
    /// JSON lines through channels.
    Pipeline(pipeline::Options),
    /// Compressible flow.
    Euler(euler::Options),
    /// Image analysis.
    Image(image::Options),
    /// A path tracer.
    Render(render::Options),
    /// A server of short requests.
    Tail(tail::Options),
    /// Pairs that wake each other.
    Pingpong(pingpong::Options),
    /// The second process of such a pair.
    Partner(pingpong::By),
}

impl Which {
    /// Returns the word behind `workload`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Particles(_) => "particles",
            Self::Raymesh(_) => "raymesh",
            Self::Pipeline(_) => "pipeline",
            Self::Euler(_) => "euler",
            Self::Image(_) => "image",
            Self::Render(_) => "render",
            Self::Tail(_) => "tail",
            Self::Pingpong(_) | Self::Partner(_) => "pingpong",
        }
    }
}

impl WorkloadTask {
    /// Interprets the arguments.
    ///
    /// # Errors
    /// The expression cannot be read.
    pub fn new(typed: WorkloadArguments) -> Result<Self, Failure> {
        let size = match (typed.seconds, typed.size) {
            (Some(time), _) => Size::Time(time),
            (None, share) => Size::Share(share.unwrap_or(1.0)),
        };
        Ok(Self {
            which: which(typed.workload),
            threads: typed.threads.map(usize::from),
            size,
            seed: typed.seed,
            pin: typed.pin.as_deref().map(expression).transpose()?,
        })
    }
}

fn which(command: WorkloadCommand) -> Which {
    match command {
        WorkloadCommand::Particles { steps } => {
            let usual = particles::Options::default();
            Which::Particles(particles::Options { steps: steps.unwrap_or(usual.steps) })
        }
        WorkloadCommand::Raymesh { mesh, triangles, split, output } => {
            let usual = raymesh::Options::default();
            let by_formula = triangles.map_or(usual.mesh, |triangles| raymesh::Mesh::Procedural { triangles });
            let split = match split {
                Some(SplitName::Fixed) => raymesh::Split::Fixed,
                Some(SplitName::Queue) | None => raymesh::Split::Queue,
            };
            Which::Raymesh(raymesh::Options { mesh: mesh.map_or(by_formula, raymesh::Mesh::File), split, output })
        }
        WorkloadCommand::Pipeline { via, slots, batch, capacity, lane_threads, input } => {
            let usual = pipeline::Options::default();
            let slots = match slots {
                SlotsName::Packed => Slots::Packed,
                SlotsName::Padded => Slots::Padded,
            };
            let via = match via {
                ViaName::Channel => pipeline::Via::Channel,
                ViaName::Ring => pipeline::Via::Ring(slots),
            };
            Which::Pipeline(pipeline::Options {
                via,
                batch: batch.unwrap_or(usual.batch),
                capacity: capacity.unwrap_or(usual.capacity),
                lane_threads: lane_threads.unwrap_or(usual.lane_threads),
                input,
            })
        }
        WorkloadCommand::Euler { shape } => {
            let usual = euler::Options::default();
            Which::Euler(euler::Options { shape: shape.unwrap_or(usual.shape) })
        }
        WorkloadCommand::Image { input, columns, rows } => {
            let usual = image::Options::default();
            Which::Image(image::Options {
                input,
                width: columns.unwrap_or(usual.width),
                height: rows.unwrap_or(usual.height),
            })
        }
        WorkloadCommand::Render { numa_aware, samples, triangles, output } => {
            let usual = render::Options::default();
            Which::Render(render::Options {
                numa_aware: numa_aware == Switch::On,
                samples: samples.unwrap_or(usual.samples),
                triangles: triangles.unwrap_or(usual.triangles),
                output,
                ..usual
            })
        }
        WorkloadCommand::Tail { additions, gap } => {
            let usual = tail::Options::default();
            Which::Tail(tail::Options {
                additions: additions.unwrap_or(usual.additions),
                gap: gap.map_or(usual.gap, Duration::from_nanos),
            })
        }
        WorkloadCommand::Pingpong { by, processes, partner } => {
            let way = by_of(by);
            if partner {
                return Which::Partner(way);
            }
            let words = ["workload", "pingpong", "--partner", "--by", by_word(by)];
            let partner = processes.then(|| words.iter().map(Into::into).collect());
            Which::Pingpong(pingpong::Options { by: way, partner })
        }
    }
}

const fn by_of(by: ByName) -> pingpong::By {
    match by {
        ByName::Futex => pingpong::By::Futex,
        ByName::Pipe => pingpong::By::Pipe,
        ByName::Socket => pingpong::By::Socket,
    }
}

const fn by_word(by: ByName) -> &'static str {
    match by {
        ByName::Futex => "futex",
        ByName::Pipe => "pipe",
        ByName::Socket => "socket",
    }
}
