//! The task of `workload`.

use std::time::Duration;

use corewise_machine::placement::PlacementExpression;
use corewise_machine::ring::RingSlots;
use corewise_work::{WorkloadSize, euler, image, particles, pingpong, pipeline, raymesh, render, tail};

use super::arguments::{SplitName, SwitchName, ViaName, WakeupName, WorkloadArguments, WorkloadCommand};
use crate::app::failure::CommandFailure;
use crate::app::option_values::SlotsName;
use crate::app::placement::parse_expression;

/// A workload to run.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadTask {
    /// The workload with its own options.
    pub which: WorkloadChoice,
    /// Number of threads; one for each cpu if not given.
    pub threads: Option<usize>,
    /// Amount of work.
    pub size: WorkloadSize,
    /// The seed.
    pub seed: u64,
    /// The cpus to which threads are pinned; the OS default if not given.
    pub pin: Option<PlacementExpression>,
}

/// A workload with its options.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkloadChoice {
    /// Random walks.
    Particles(particles::ParticlesOptions),
    /// Ray-mesh tests.
    Raymesh(raymesh::RaymeshOptions),
    /// JSON lines through channels.
    Pipeline(pipeline::PipelineOptions),
    /// Compressible flow.
    Euler(euler::EulerOptions),
    /// Image analysis.
    Image(image::ImageOptions),
    /// A path tracer.
    Render(render::RenderOptions),
    /// A server of short requests.
    Tail(tail::TailWorkOptions),
    /// Pairs that wake each other.
    Pingpong(pingpong::PingpongOptions),
    /// The second process of such a pair.
    Partner(pingpong::WakeupMeans),
}

impl WorkloadChoice {
    /// Returns the word behind `workload`.
    pub const fn workload_name(&self) -> &'static str {
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
    pub fn new(typed: WorkloadArguments) -> Result<Self, CommandFailure> {
        let size = match (typed.seconds, typed.size) {
            (Some(time), _) => WorkloadSize::Time(time),
            (None, share) => WorkloadSize::Share(share.unwrap_or(1.0)),
        };
        Ok(Self {
            which: choose_workload(typed.workload),
            threads: typed.threads.map(usize::from),
            size,
            seed: typed.seed,
            pin: typed.pin.as_deref().map(parse_expression).transpose()?,
        })
    }
}

fn choose_workload(command: WorkloadCommand) -> WorkloadChoice {
    match command {
        WorkloadCommand::Particles { steps } => {
            let usual = particles::ParticlesOptions::default();
            WorkloadChoice::Particles(particles::ParticlesOptions { steps: steps.unwrap_or(usual.steps) })
        }
        WorkloadCommand::Raymesh { mesh, triangles, split, output } => {
            let usual = raymesh::RaymeshOptions::default();
            let by_formula = triangles.map_or(usual.mesh, |triangles| raymesh::MeshSource::Procedural { triangles });
            let split = match split {
                Some(SplitName::Fixed) => raymesh::RowSplit::Fixed,
                Some(SplitName::Queue) | None => raymesh::RowSplit::Queue,
            };
            WorkloadChoice::Raymesh(raymesh::RaymeshOptions {
                mesh: mesh.map_or(by_formula, raymesh::MeshSource::File),
                split,
                output,
            })
        }
        WorkloadCommand::Pipeline { via, slots, batch, capacity, lane_threads, input } => {
            let usual = pipeline::PipelineOptions::default();
            let slots = match slots {
                SlotsName::Packed => RingSlots::Packed,
                SlotsName::Padded => RingSlots::Padded,
            };
            let via = match via {
                ViaName::Channel => pipeline::MessageTransport::Channel,
                ViaName::Ring => pipeline::MessageTransport::Ring(slots),
            };
            WorkloadChoice::Pipeline(pipeline::PipelineOptions {
                via,
                batch: batch.unwrap_or(usual.batch),
                capacity: capacity.unwrap_or(usual.capacity),
                lane_threads: lane_threads.unwrap_or(usual.lane_threads),
                input,
            })
        }
        WorkloadCommand::Euler { shape } => {
            let usual = euler::EulerOptions::default();
            WorkloadChoice::Euler(euler::EulerOptions { shape: shape.unwrap_or(usual.shape) })
        }
        WorkloadCommand::Image { input, columns, rows } => {
            let usual = image::ImageOptions::default();
            WorkloadChoice::Image(image::ImageOptions {
                input,
                width: columns.unwrap_or(usual.width),
                height: rows.unwrap_or(usual.height),
            })
        }
        WorkloadCommand::Render { numa_aware, samples, triangles, output } => {
            let usual = render::RenderOptions::default();
            WorkloadChoice::Render(render::RenderOptions {
                numa_aware: numa_aware == SwitchName::On,
                samples: samples.unwrap_or(usual.samples),
                triangles: triangles.unwrap_or(usual.triangles),
                output,
                ..usual
            })
        }
        WorkloadCommand::Tail { additions, gap } => {
            let usual = tail::TailWorkOptions::default();
            WorkloadChoice::Tail(tail::TailWorkOptions {
                additions: additions.unwrap_or(usual.additions),
                gap: gap.map_or(usual.gap, Duration::from_nanos),
            })
        }
        WorkloadCommand::Pingpong { by, processes, partner } => {
            let way = to_means(by);
            if partner {
                return WorkloadChoice::Partner(way);
            }
            let words = ["workload", "pingpong", "--partner", "--by", means_word(by)];
            let partner = processes.then(|| words.iter().map(Into::into).collect());
            WorkloadChoice::Pingpong(pingpong::PingpongOptions { by: way, partner })
        }
    }
}

const fn to_means(by: WakeupName) -> pingpong::WakeupMeans {
    match by {
        WakeupName::Futex => pingpong::WakeupMeans::Futex,
        WakeupName::Pipe => pingpong::WakeupMeans::Pipe,
        WakeupName::Socket => pingpong::WakeupMeans::Socket,
    }
}

const fn means_word(by: WakeupName) -> &'static str {
    match by {
        WakeupName::Futex => "futex",
        WakeupName::Pipe => "pipe",
        WakeupName::Socket => "socket",
    }
}
