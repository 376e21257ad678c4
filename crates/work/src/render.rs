//! A path tracer with a copy of its scene on each memory node: each thread reads a near copy.

mod canvas;
mod check;
mod homes;
mod path;
mod plan;
mod scene;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use corewise_model::metric_line::MetricLine;

use crate::picture::{OutputFolder, PictureSamples, write_png};
use crate::report::{WorkloadLimit, WorkloadReport};
use crate::rounds::{ThreadRounds, run_in_rounds};
use crate::settings::WorkloadHost;
use crate::{WorkError, WorkloadSettings};

use canvas::LightCanvas;
use homes::SceneHomes;
use plan::RenderPlan;
use scene::RenderScene;

/// The workload's own options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderOptions {
    /// True to give each memory node with usable cpus its own copy of the scene, and to keep threads on the cpus of a node. Otherwise there
    /// is one scene, which the main thread touches first.
    pub numa_aware: bool,
    /// Points in a row, 1 to 16,384.
    pub width: u32,
    /// Number of rows, 1 to 16,384.
    pub height: u32,
    /// Paths of each point in the usual size, 1 to 100,000.
    pub samples: u32,
    /// Approximate number of triangles in the scene, 1 to 5,000,000.
    pub triangles: usize,
    /// Folder for the picture, created if missing; `None` for no file.
    pub output: Option<PathBuf>,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self { numa_aware: true, width: 400, height: 300, samples: 32, triangles: 600_000, output: None }
    }
}

/// Renders a picture by following light backwards: from the camera through each point of the picture, off matt surfaces and mirrors, to
/// lamps and the sky. Threads take squares of 8 times 8 points. Each point has its own random numbers, so the picture does not depend on
/// threads or memory. A share has fewer or more paths for each point, and below one path a smaller picture. A size in time repeats pictures
/// of one path for each point, and sums them.
///
/// The limit is memory if caches do not hold the scene (55 MB in the usual size). After the first reflection neighbouring paths diverge,
/// and each step of one waits for boxes and triangles from somewhere. With 4,000 triangles, which a second-level cache holds, paths are
/// about twice as fast, partly because there are fewer steps. With memory on several nodes half of these reads or more are remote, unless
/// each node has a copy, which is the purpose of `numa_aware`.
///
/// A thread on the node's cpus makes the node's copy, under a policy that binds its memory to the node. If the node has no memory, the
/// nearest with memory is used. A pinned thread reads the copy of its cpu's node; others are spread over the nodes and kept on their cpus.
/// If the kernel refuses the policy, the first touch places the copy, and the report says so. On a machine with one node there is one copy,
/// and nothing to gain.
///
/// Each run checks the tracer, with the same code, against two closed forms, each within five standard errors. In a closed sphere that
/// glows all over (furnace test), emission e and albedo r give e (1 - r^n) / (1 - r) for paths of n points. A matt floor of albedo r below
/// a round lamp of radiance l, radius a and height h gives r l (a / h)^2. It also checks that all points of the picture are finite, no
/// brighter than lamps allow, and complete, and that 50 of them are the same when traced again.
///
/// # Errors
/// [`WorkError::Input`] for numbers out of range, [`WorkError::System`] if threads cannot be started or placed or the picture cannot be saved,
/// [`WorkError::Wrong`], [`WorkError::Stopped`].
pub fn run(
    settings: &WorkloadSettings,
    options: &RenderOptions,
    company: &mut WorkloadHost<'_>,
) -> Result<WorkloadReport, WorkError> {
    let plan = RenderPlan::new(settings, options)?;
    let folder = options.output.as_deref().map(|path| OutputFolder::new(Some(path))).transpose()?;
    (company.progress)("building the scene");
    let begun = Instant::now();
    let scene = RenderScene::stone_scene(options.triangles);
    company.check_stop()?;
    let homes = SceneHomes::new(scene, options.numa_aware, settings, company)?;
    let build_seconds = begun.elapsed().as_secs_f64();
    let job = RenderJob::new(settings, &plan, &homes, company.stop);
    let spent = run_in_rounds(
        settings,
        "render",
        |thread, round| job.render_round(thread, round),
        |rounds| job.lead_rounds(rounds, company),
    )?;
    (company.progress)("checking the picture");
    let checked = check::check_render(homes.scene_at(0), &plan, &job.canvas, spent.rounds, company.stop)?;
    if let Some(folder) = folder {
        write_png(&folder.file_path("render.png"), plan.width, PictureSamples::Colour(&job.canvas.to_bytes()))?;
    }
    let samples = plan.samples_of_a_round() * spent.rounds;
    let metrics = vec![
        MetricLine::new("samples_per_second", samples as f64 / spent.compute_seconds),
        MetricLine::new("compute_seconds", spent.compute_seconds),
        MetricLine::new("build_seconds", build_seconds),
        MetricLine::new("scene_copies", homes.len() as f64),
        MetricLine::new("scene_bytes", homes.scene_at(0).size_bytes() as f64),
    ];
    let checksum = plan.until.is_none().then(|| job.canvas.canvas_checksum());
    Ok(WorkloadReport {
        metrics,
        limit: WorkloadLimit::Memory,
        checked: format!("{checked}; {}", homes.describe_homes()),
        checksum,
    })
}

/// Rounds and time spent.
#[derive(Debug, Default)]
struct RenderTimes {
    rounds: u64,
    compute_seconds: f64,
}

/// State shared by all threads.
struct RenderJob<'a> {
    settings: &'a WorkloadSettings,
    plan: &'a RenderPlan,
    homes: &'a SceneHomes,
    stop: &'a AtomicBool,
    canvas: LightCanvas,
    /// The next square.
    next: AtomicUsize,
}

impl<'a> RenderJob<'a> {
    fn new(settings: &'a WorkloadSettings, plan: &'a RenderPlan, homes: &'a SceneHomes, stop: &'a AtomicBool) -> Self {
        Self {
            settings,
            plan,
            homes,
            stop,
            canvas: LightCanvas::new(plan.width, plan.height),
            next: AtomicUsize::new(0),
        }
    }

    /// Runs a thread's round: in the first it moves to its copy of the scene, then it takes square after square.
    fn render_round(&self, thread: usize, round: usize) -> Result<(), WorkError> {
        if round == 1 {
            return self.homes.enter_home(self.settings, thread);
        }
        let scene = self.homes.scene_at(self.homes.scene_of(self.settings, thread));
        loop {
            let square = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(points) = self.canvas.square_points(square) else { return Ok(()) };
            for point in points {
                if self.stop.load(Ordering::Relaxed) {
                    return Err(WorkError::Stopped);
                }
                self.canvas.add_light(point, self.plan.trace_point(scene, point, round as u64 - 2));
            }
        }
    }

    /// Leads the main thread: begins each round, and waits.
    fn lead_rounds(&self, rounds: &ThreadRounds, company: &mut WorkloadHost<'_>) -> Result<RenderTimes, WorkError> {
        rounds.run_round()?;
        (company.progress)("tracing paths");
        let mut spent = RenderTimes::default();
        let begun = Instant::now();
        loop {
            company.check_stop()?;
            self.next.store(0, Ordering::Relaxed);
            let computed = Instant::now();
            rounds.run_round()?;
            spent.compute_seconds += computed.elapsed().as_secs_f64();
            spent.rounds += 1;
            if self.plan.until.is_none_or(|until| begun.elapsed() >= until) {
                return Ok(spent);
            }
        }
    }
}

#[cfg(test)]
mod tests;
