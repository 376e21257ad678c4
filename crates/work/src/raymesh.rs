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

use crate::picture::{Folder, Samples, write_pfm, write_png};
use crate::report::{Limit, Report};
use crate::rounds::{Rounds, in_rounds};
use crate::settings::Company;
use crate::{Error, Settings};

use plan::Plan;
pub use plan::{PASSES, TESTS};
use scene::Scene;
use table::Table;

/// The mesh between the floor and the lights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mesh {
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
pub enum Split {
    /// Each thread takes an equal block of neighbouring rows, whatever their cost.
    Fixed,
    /// Each thread takes the next row as soon as it finishes one.
    Queue,
}

/// The workload's own options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The mesh.
    pub mesh: Mesh,
    /// Distribution of the rows.
    pub split: Split,
    /// Folder for the tables, created if missing; `None` for a temporary one, removed at the end.
    pub output: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { mesh: Mesh::Procedural { triangles: 100_000 }, split: Split::Queue, output: None }
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
/// [`Error::Input`] for a mesh that cannot be read or numbers out of range, [`Error::System`] if threads cannot be started or a table
/// cannot be saved, [`Error::Wrong`], [`Error::Stopped`].
pub fn run(settings: &Settings, options: &Options, company: &mut Company<'_>) -> Result<Report, Error> {
    let plan = Plan::new(settings)?;
    let folder = Folder::new(options.output.as_deref())?;
    (company.progress)("building the mesh and its hierarchy");
    let begun = Instant::now();
    let scene = Scene::new(&options.mesh)?;
    let build_seconds = begun.elapsed().as_secs_f64();
    company.go_on()?;
    let job = Job::new(settings, options.split, &plan, &scene, company.stop);
    let work = |thread, round| job.work(thread, (round - 1) % 3);
    let spent = in_rounds(settings, "raymesh", work, |rounds| job.lead(rounds, &folder, company))?;
    (company.progress)("checking the tables");
    let checked = check::check(&scene, &plan, &job.tables, settings.seed, company.stop)?;
    let metrics = vec![
        MetricLine::new("rays_per_second", spent.rays as f64 / spent.compute_seconds),
        MetricLine::new("total_seconds", spent.total_seconds),
        MetricLine::new("compute_seconds", spent.compute_seconds),
        MetricLine::new("save_seconds", spent.save_seconds),
        MetricLine::new("build_seconds", build_seconds),
    ];
    let checksum = plan.until.is_none().then(|| table::checksum(&job.tables));
    Ok(Report { metrics, limit: Limit::Compute, checked, checksum })
}

/// Rays and time spent.
#[derive(Debug, Default)]
struct Spent {
    rays: u64,
    compute_seconds: f64,
    save_seconds: f64,
    total_seconds: f64,
}

/// State shared by all threads.
struct Job<'a> {
    split: Split,
    threads: usize,
    plan: &'a Plan,
    scene: &'a Scene,
    stop: &'a AtomicBool,
    tables: [Table; 3],
    /// The next row of a queue.
    next: AtomicUsize,
    /// Number of cells computed, in all rounds.
    computed: AtomicU64,
}

impl<'a> Job<'a> {
    fn new(settings: &Settings, split: Split, plan: &'a Plan, scene: &'a Scene, stop: &'a AtomicBool) -> Self {
        let tables = plan.cells.map(Table::new);
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
    fn work(&self, thread: usize, number: usize) -> Result<(), Error> {
        let table = &self.tables[number];
        match self.split {
            Split::Fixed => {
                let first = |thread| table.rows() * thread / self.threads;
                (first(thread)..first(thread + 1)).try_for_each(|row| self.row(number, row))
            }
            Split::Queue => loop {
                let row = self.next.fetch_add(1, Ordering::Relaxed);
                if row >= table.rows() {
                    return Ok(());
                }
                self.row(number, row)?;
            },
        }
    }

    fn row(&self, number: usize, row: usize) -> Result<(), Error> {
        let table = &self.tables[number];
        for cell in table.row(row) {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            table.set(cell, scene::trace(self.scene, self.plan, table, number, cell));
        }
        self.computed.fetch_add(table.row(row).len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Leads the main thread: has table after table computed, and saves each.
    fn lead(&self, rounds: &Rounds, folder: &Folder, company: &mut Company<'_>) -> Result<Spent, Error> {
        let mut spent = Spent::default();
        let begun = Instant::now();
        loop {
            for number in 0..3 {
                company.go_on()?;
                if spent.rays < self.plan.rays() {
                    (company.progress)(&format!("table {} of 3", number + 1));
                }
                self.next.store(0, Ordering::Relaxed);
                let computed = Instant::now();
                rounds.round()?;
                spent.compute_seconds += computed.elapsed().as_secs_f64();
                let saved = Instant::now();
                save(&self.tables[number], number, self.plan.samples, folder)?;
                spent.save_seconds += saved.elapsed().as_secs_f64();
            }
            spent.rays += self.plan.rays();
            spent.total_seconds = begun.elapsed().as_secs_f64();
            if self.plan.until.is_none_or(|until| begun.elapsed() >= until) {
                let traced = self.computed.load(Ordering::Relaxed) * u64::from(self.plan.samples);
                if traced != spent.rays {
                    return Err(Error::Wrong(format!("{traced} of {} rays were traced", spent.rays)));
                }
                return Ok(spent);
            }
        }
    }
}

/// Writes both files of a table.
fn save(table: &Table, number: usize, samples: u32, folder: &Folder) -> Result<(), Error> {
    let (mut ways, mut grey) = (Vec::new(), Vec::new());
    for light in (0..table.cells()).map(|cell| table.get(cell)) {
        ways.push(light.way);
        grey.push((255.0 * f64::from(light.free) / f64::from(samples)).round() as u8);
    }
    let file = |kind: &str| folder.file(&format!("raymesh-{}.{kind}", number + 1));
    write_pfm(&file("pfm"), table.width(), &ways)?;
    write_png(&file("png"), table.width(), Samples::Grey(&grey))
}

/// Builds the mesh of the options, for [`run`] and [`reference`].
fn mesh_of(mesh: &Mesh) -> Result<crate::geometry::Mesh, Error> {
    match mesh {
        Mesh::Procedural { triangles } if (1..=5_000_000).contains(triangles) => {
            Ok(crate::geometry::shapes::stone_and_balls(*triangles))
        }
        Mesh::Procedural { triangles } => {
            Err(Error::Input { what: "triangles".into(), why: format!("{triangles} is not between 1 and 5,000,000") })
        }
        Mesh::File(path) => crate::geometry::file::read(Path::new(path)).map(crate::geometry::Mesh::fitted),
    }
}

#[cfg(test)]
mod tests;
