//! Checks of the tables.

use std::sync::atomic::{AtomicBool, Ordering};

use corewise_machine::random::RandomGenerator;

use super::plan::RaymeshPlan;
use super::scene::{RaymeshScene, cell_rays, trace_cell};
use super::table::LightTable;
use crate::WorkError;
use crate::geometry::exact;

/// Number of cells checked closely; each must have a ray with one right answer.
const CELLS: usize = 200;
/// Limit of the cells drawn, as a multiple of [`CELLS`].
const MOST_DRAWS: usize = 10;
/// Makes the draw of cells independent of the draw of points.
const DRAW: u64 = 0x6365_6c6c_7321;

/// Checks that all cells were written, and that some drawn at random are right. Traced again they hold the same, and one ray of each has
/// the same hit in double precision with all triangles.
///
/// # Errors
/// [`WorkError::Wrong`]; [`WorkError::Input`] for a mesh of triangles too thin to check most rays; [`WorkError::Stopped`].
pub fn check_tables(
    scene: &RaymeshScene,
    plan: &RaymeshPlan,
    tables: &[LightTable],
    seed: u64,
    stop: &AtomicBool,
) -> Result<String, WorkError> {
    for (number, table) in tables.iter().enumerate() {
        if let Some(cell) = table.first_unwritten() {
            return wrong_cell(number, cell, "was not computed");
        }
    }
    let mut random = RandomGenerator::new(seed ^ DRAW);
    let (mut certain, mut uncertain) = (0, 0);
    while certain < CELLS && certain + uncertain < MOST_DRAWS * CELLS {
        if stop.load(Ordering::Relaxed) {
            return Err(WorkError::Stopped);
        }
        let number = random.next_below(tables.len());
        let cell = random.next_below(tables[number].cell_count());
        let sample = random.next_below(plan.samples as usize);
        let is_certain = check_cell(scene, plan, &tables[number], number, cell, sample)?;
        (certain, uncertain) = (certain + usize::from(is_certain), uncertain + usize::from(!is_certain));
    }
    if certain < CELLS / 10 {
        let why = format!("{uncertain} of {} rays pass too close to an edge to be checked", certain + uncertain);
        return Err(WorkError::Input { what: "the mesh".into(), why });
    }
    let triangles = scene.mesh.len();
    Ok(format!(
        "{certain} rays against all {triangles} triangles in double precision: same hits, distances within {}; \
            {uncertain} too close to an edge to check",
        exact::TOLERANCE
    ))
}

/// Checks a cell; returns false if its ray has more than one right answer.
fn check_cell(
    scene: &RaymeshScene,
    plan: &RaymeshPlan,
    table: &LightTable,
    number: usize,
    cell: usize,
    sample: usize,
) -> Result<bool, WorkError> {
    if table.get_cell(cell) != trace_cell(scene, plan, table, number, cell) {
        return wrong_cell(number, cell, "does not match its rays");
    }
    let Some(ray) = cell_rays(scene, plan, table, number, cell).nth(sample) else {
        return wrong_cell(number, cell, "has no such ray");
    };
    let (hit, answer) = (scene.hierarchy.nearest_hit(&ray), exact::nearest_exact(&scene.mesh, &ray));
    let distance = hit.map(|hit| hit.distance);
    if !answer.allows_distance(distance) {
        return wrong_cell(number, cell, &format!("has a ray that hits at {distance:?} instead of {answer:?}"));
    }
    Ok(answer.is_certain())
}

fn wrong_cell<T>(number: usize, cell: usize, what: &str) -> Result<T, WorkError> {
    Err(WorkError::Wrong(format!("cell {cell} of table {} {what}", number + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{BoxHierarchy, shapes};
    use crate::raymesh::MeshSource;
    use crate::raymesh::table::CellLight;
    use crate::{WorkloadSettings, WorkloadSize};

    fn filled(scene: &RaymeshScene) -> (RaymeshPlan, [LightTable; 3]) {
        let plan = RaymeshPlan::new(&WorkloadSettings { size: WorkloadSize::Share(1e-4), ..WorkloadSettings::new(1) })
            .unwrap();
        let tables = plan.cells.map(LightTable::new);
        for (number, table) in tables.iter().enumerate() {
            (0..table.cell_count())
                .for_each(|cell| table.set_cell(cell, trace_cell(scene, &plan, table, number, cell)));
        }
        (plan, tables)
    }

    #[test]
    fn right_tables_pass_and_spoiled_ones_do_not() {
        let mut scene = RaymeshScene::new(&MeshSource::Procedural { triangles: 500 }).unwrap();
        let (plan, tables) = filled(&scene);
        let stop = AtomicBool::new(false);
        check_tables(&scene, &plan, &tables, 1, &stop).unwrap();
        let is_wrong = |scene: &RaymeshScene, tables: &[LightTable; 3]| {
            matches!(check_tables(scene, &plan, tables, 1, &stop), Err(WorkError::Wrong(_)))
        };
        let unwritten = LightTable::new(plan.cells[2]);
        (1..plan.cells[2]).for_each(|cell| unwritten.set_cell(cell, tables[2].get_cell(cell)));
        let [first, second, third] = tables;
        assert!(is_wrong(&scene, &[first, second, unwritten]), "one cell is missing");
        let (plan, tables) = filled(&scene);
        for cell in (0..plan.cells[1]).step_by(4) {
            tables[1].set_cell(cell, CellLight { free: 1, ..third.get_cell(0) });
        }
        assert!(is_wrong(&scene, &tables), "some cells of a table are wrong");
        // A hierarchy of something else, which the tables agree with.
        scene.hierarchy = BoxHierarchy::new(&shapes::make_sphere(20));
        let (_, tables) = filled(&scene);
        assert!(is_wrong(&scene, &tables), "the hierarchy is not the mesh's");
    }
}
