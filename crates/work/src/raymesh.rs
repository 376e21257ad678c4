//! One million ray-mesh tests: three light tables, one after the other, saved to disk in between.

mod check;
mod plan;
pub mod reference;
mod scene;
mod table;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use corewise_model::metric_line::MetricLine;

use crate::picture::{OutputFolder, PictureSamples, write_pfm, write_png};
use crate::report::{WorkloadLimit, WorkloadReport};
use crate::rounds::{ThreadRounds, run_in_rounds};
use crate::settings::WorkloadHost;
use crate::{WorkError, WorkloadSettings};

use plan::RaymeshPlan;
pub use plan::{PASSES, TESTS};
use scene::RaymeshScene;
use table::LightTable;

/// The mesh between the floor and the lights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeshSource {
    /// A stone and seven balls around it, by formula.
    Procedural {
        /// Approximate number of triangles, 1 to 5,000,000.
        triangles: usize,
    },
    /// An OBJ or PLY file; y is up. It is scaled to the size of the procedural mesh.
    File(PathBuf),
}

/// Distribution of a table's rows over the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowSplit {
    /// Each thread takes an equal block of neighbouring rows, whatever their cost.
    Fixed,
    /// Each thread takes the next row as soon as it finishes one.
    Queue,
}

/// The workload's own options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaymeshOptions {
    /// The mesh.
    pub mesh: MeshSource,
    /// Distribution of the rows.
    pub split: RowSplit,
    /// Folder for the tables, created if missing; `None` for a temporary one, removed at the end.
    pub output: Option<PathBuf>,
}

impl Default for RaymeshOptions {
    fn default() -> Self {
        Self { mesh: MeshSource::Procedural { triangles: 100_000 }, split: RowSplit::Queue, output: None }
    }
}

/// Computes, for each of three lights, a table of how far the way from points of a floor to the light is free of a mesh. The main thread
/// coordinates, waits, and saves each table to disk before the next begins. `raymesh-N.pfm` has the mean length of the free way,
/// `raymesh-N.png` the share of free rays. This follows Inaki Ayucar's article "Parallel computing and processor affinity" (2009), which
/// had 975,065 tests a table and one to nine threads. Here the three tables have 975,065 cells in all.
///
/// Each cell is tested [`PASSES`] times in the usual size, at random points within it. A smaller share has fewer passes and then smaller
/// tables. A size in time repeats tables of a tenth of the cells, with one test per cell for each thread. Each test looks for the nearest
/// triangle in a hierarchy of boxes (crate obvhs).
///
/// The limit is arithmetic: some hundred boxes and triangles for each ray, from caches as long as they hold the hierarchy (9 MB with
/// 100,000 triangles). Rows cost differently, since rays that pass the mesh closely take longer, so fixed bands of rows end at different
/// times. While the main thread saves, all others sleep.
///
/// Each run checks that every cell was written, and that 200 cells drawn at random hold the same value when their rays are traced again.
/// One ray of each is tested against all triangles in double precision: no hit, or the same distance to a ten thousandth. Tests compare the
/// hierarchy with all triangles of random soups, and with the formula of a sphere.
///
/// # Errors
/// [`WorkError::Input`] for a mesh that cannot be read or numbers out of range, [`WorkError::System`] if threads cannot be started or a table
/// cannot be saved, [`WorkError::Wrong`], [`WorkError::Stopped`].
pub fn run(
    settings: &WorkloadSettings,
    options: &RaymeshOptions,
    company: &mut WorkloadHost<'_>,
) -> Result<WorkloadReport, WorkError> {
    let plan = RaymeshPlan::new(settings)?;
    let folder = OutputFolder::new(options.output.as_deref())?;
    (company.progress)("building the mesh and its hierarchy");
    let begun = Instant::now();
    let scene = RaymeshScene::new(&options.mesh)?;
    let build_seconds = begun.elapsed().as_secs_f64();
    company.check_stop()?;
    let job = RaymeshJob::new(settings, options.split, &plan, &scene, company.stop);
    let work = |thread, round| job.compute_rows(thread, (round - 1) % 3);
    let spent = run_in_rounds(settings, "raymesh", work, |rounds| job.lead_tables(rounds, &folder, company))?;
    (company.progress)("checking the tables");
    let checked = check::check_tables(&scene, &plan, &job.tables, settings.seed, company.stop)?;
    let metrics = vec![
        MetricLine::new("rays_per_second", spent.rays as f64 / spent.compute_seconds),
        MetricLine::new("total_seconds", spent.total_seconds),
        MetricLine::new("compute_seconds", spent.compute_seconds),
        MetricLine::new("save_seconds", spent.save_seconds),
        MetricLine::new("build_seconds", build_seconds),
    ];
    let checksum = plan.until.is_none().then(|| table::tables_checksum(&job.tables));
    Ok(WorkloadReport { metrics, limit: WorkloadLimit::Compute, checked, checksum })
}

/// Rays and time spent.
#[derive(Debug, Default)]
struct RaymeshTimes {
    rays: u64,
    compute_seconds: f64,
    save_seconds: f64,
    total_seconds: f64,
}

/// State shared by all threads.
struct RaymeshJob<'a> {
    split: RowSplit,
    threads: usize,
    plan: &'a RaymeshPlan,
    scene: &'a RaymeshScene,
    stop: &'a AtomicBool,
    tables: [LightTable; 3],
    /// The next row of a queue.
    next: AtomicUsize,
    /// Number of cells computed, in all rounds.
    computed: AtomicU64,
}

impl<'a> RaymeshJob<'a> {
    fn new(
        settings: &WorkloadSettings,
        split: RowSplit,
        plan: &'a RaymeshPlan,
        scene: &'a RaymeshScene,
        stop: &'a AtomicBool,
    ) -> Self {
        let tables = plan.cells.map(LightTable::new);
        Self {
            split,
            threads: settings.threads,
            plan,
            scene,
            stop,
            tables,
            next: AtomicUsize::new(0),
            computed: AtomicU64::new(0),
        }
    }

    /// Computes a thread's share of a table.
    fn compute_rows(&self, thread: usize, number: usize) -> Result<(), WorkError> {
        let table = &self.tables[number];
        match self.split {
            RowSplit::Fixed => {
                let first = |thread| table.row_count() * thread / self.threads;
                (first(thread)..first(thread + 1)).try_for_each(|row| self.compute_row(number, row))
            }
            RowSplit::Queue => loop {
                let row = self.next.fetch_add(1, Ordering::Relaxed);
                if row >= table.row_count() {
                    return Ok(());
                }
                self.compute_row(number, row)?;
            },
        }
    }

    fn compute_row(&self, number: usize, row: usize) -> Result<(), WorkError> {
        let table = &self.tables[number];
        for cell in table.row_cells(row) {
            if self.stop.load(Ordering::Relaxed) {
                return Err(WorkError::Stopped);
            }
            table.set_cell(cell, scene::trace_cell(self.scene, self.plan, table, number, cell));
        }
        self.computed.fetch_add(table.row_cells(row).len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Leads the main thread: has table after table computed, and saves each.
    fn lead_tables(
        &self,
        rounds: &ThreadRounds,
        folder: &OutputFolder,
        company: &mut WorkloadHost<'_>,
    ) -> Result<RaymeshTimes, WorkError> {
        let mut spent = RaymeshTimes::default();
        let begun = Instant::now();
        loop {
            for number in 0..3 {
                company.check_stop()?;
                if spent.rays < self.plan.ray_count() {
                    (company.progress)(&format!("table {} of 3", number + 1));
                }
                self.next.store(0, Ordering::Relaxed);
                let computed = Instant::now();
                rounds.run_round()?;
                spent.compute_seconds += computed.elapsed().as_secs_f64();
                let saved = Instant::now();
                save_table(&self.tables[number], number, self.plan.samples, folder)?;
                spent.save_seconds += saved.elapsed().as_secs_f64();
            }
            spent.rays += self.plan.ray_count();
            spent.total_seconds = begun.elapsed().as_secs_f64();
            if self.plan.until.is_none_or(|until| begun.elapsed() >= until) {
                let traced = self.computed.load(Ordering::Relaxed) * u64::from(self.plan.samples);
                if traced != spent.rays {
                    return Err(WorkError::Wrong(format!("{traced} of {} rays were traced", spent.rays)));
                }
                return Ok(spent);
            }
        }
    }
}

/// Writes both files of a table.
fn save_table(table: &LightTable, number: usize, samples: u32, folder: &OutputFolder) -> Result<(), WorkError> {
    let (mut ways, mut grey) = (Vec::new(), Vec::new());
    for light in (0..table.cell_count()).map(|cell| table.get_cell(cell)) {
        ways.push(light.way);
        grey.push((255.0 * f64::from(light.free) / f64::from(samples)).round() as u8);
    }
    let file = |kind: &str| folder.file_path(&format!("raymesh-{}.{kind}", number + 1));
    write_pfm(&file("pfm"), table.width(), &ways)?;
    write_png(&file("png"), table.width(), PictureSamples::Grey(&grey))
}

/// Builds the mesh of the options, for [`run`] and [`reference`].
fn build_mesh(mesh: &MeshSource) -> Result<crate::geometry::TriangleMesh, WorkError> {
    match mesh {
        MeshSource::Procedural { triangles } if (1..=5_000_000).contains(triangles) => {
            Ok(crate::geometry::shapes::stone_and_balls(*triangles))
        }
        MeshSource::Procedural { triangles } => Err(WorkError::Input {
            what: "triangles".into(),
            why: format!("{triangles} is not between 1 and 5,000,000"),
        }),
        MeshSource::File(path) => {
            crate::geometry::file::read_mesh(Path::new(path)).map(crate::geometry::TriangleMesh::fit_to_unit)
        }
    }
}

#[cfg(test)]
mod tests;
