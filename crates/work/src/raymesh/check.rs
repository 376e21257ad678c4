//! Checks of the tables.

use std::sync::atomic::{AtomicBool, Ordering};

use corewise_machine::random::Random;

use super::plan::Plan;
use super::scene::{Scene, rays, trace};
use super::table::Table;
use crate::Error;
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
/// [`Error::Wrong`]; [`Error::Input`] for a mesh of triangles too thin to check most rays; [`Error::Stopped`].
pub fn check(scene: &Scene, plan: &Plan, tables: &[Table], seed: u64, stop: &AtomicBool) -> Result<String, Error> {
    for (number, table) in tables.iter().enumerate() {
        if let Some(cell) = table.first_unwritten() {
            return wrong(number, cell, "was not computed");
        }
    }
    let mut random = Random::new(seed ^ DRAW);
    let (mut certain, mut uncertain) = (0, 0);
    while certain < CELLS && certain + uncertain < MOST_DRAWS * CELLS {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped);
        }
        let number = random.below(tables.len());
        let cell = random.below(tables[number].cells());
        let sample = random.below(plan.samples as usize);
        let is_certain = check_cell(scene, plan, &tables[number], number, cell, sample)?;
        (certain, uncertain) = (certain + usize::from(is_certain), uncertain + usize::from(!is_certain));
    }
    if certain < CELLS / 10 {
        let why = format!("{uncertain} of {} rays pass too close to an edge to be checked", certain + uncertain);
        return Err(Error::Input { what: "the mesh".into(), why });
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
    scene: &Scene,
    plan: &Plan,
    table: &Table,
    number: usize,
    cell: usize,
    sample: usize,
) -> Result<bool, Error> {
    if table.get(cell) != trace(scene, plan, table, number, cell) {
        return wrong(number, cell, "does not match its rays");
    }
    let Some(ray) = rays(scene, plan, table, number, cell).nth(sample) else {
        return wrong(number, cell, "has no such ray");
    };
    let (hit, answer) = (scene.hierarchy.nearest(&ray), exact::nearest(&scene.mesh, &ray));
    let distance = hit.map(|hit| hit.distance);
    if !answer.allows(distance) {
        return wrong(number, cell, &format!("has a ray that hits at {distance:?} instead of {answer:?}"));
    }
    Ok(answer.is_certain())
}

fn wrong<T>(number: usize, cell: usize, what: &str) -> Result<T, Error> {
    Err(Error::Wrong(format!("cell {cell} of table {} {what}", number + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Hierarchy, shapes};
    use crate::raymesh::Mesh;
    use crate::raymesh::table::Light;
    use crate::{Settings, Size};

    fn filled(scene: &Scene) -> (Plan, [Table; 3]) {
        let plan = Plan::new(&Settings { size: Size::Share(1e-4), ..Settings::new(1) }).unwrap();
        let tables = plan.cells.map(Table::new);
        for (number, table) in tables.iter().enumerate() {
            (0..table.cells()).for_each(|cell| table.set(cell, trace(scene, &plan, table, number, cell)));
        }
        (plan, tables)
    }

    #[test]
    fn right_tables_pass_and_spoiled_ones_do_not() {
        let mut scene = Scene::new(&Mesh::Procedural { triangles: 500 }).unwrap();
        let (plan, tables) = filled(&scene);
        let stop = AtomicBool::new(false);
        check(&scene, &plan, &tables, 1, &stop).unwrap();
        let is_wrong =
            |scene: &Scene, tables: &[Table; 3]| matches!(check(scene, &plan, tables, 1, &stop), Err(Error::Wrong(_)));
        let unwritten = Table::new(plan.cells[2]);
        (1..plan.cells[2]).for_each(|cell| unwritten.set(cell, tables[2].get(cell)));
        let [first, second, third] = tables;
        assert!(is_wrong(&scene, &[first, second, unwritten]), "one cell is missing");
        let (plan, tables) = filled(&scene);
        for cell in (0..plan.cells[1]).step_by(4) {
            tables[1].set(cell, Light { free: 1, ..third.get(0) });
        }
        assert!(is_wrong(&scene, &tables), "some cells of a table are wrong");
        // A hierarchy of something else, which the tables agree with.
        scene.hierarchy = Hierarchy::new(&shapes::sphere(20));
        let (_, tables) = filled(&scene);
        assert!(is_wrong(&scene, &tables), "the hierarchy is not the mesh's");
    }
}
