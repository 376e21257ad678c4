use super::*;
use crate::simulate::layout::Layout;

/// One cache that the costs divide in four: what is measured further is judged by the groups by which the map will be predicted.
#[test]
fn groups_that_are_found_later_are_known_to_what_is_measured_further() {
    let machine = Layout { packages: 1, caches: 1, cores: 16, threads: 2, adjacent: true }.machine();
    let structure = Structure::new(Some(&machine), &machine.allowed);
    let mut explorer = Explorer::new(structure, Limits::default(), 1);
    let mut costs = Matrix::unknown(0..32);
    while let Some(wishes) = explorer.next(&costs) {
        for Wish { i, j, .. } in wishes {
            let cost = match (i / 2 == j / 2, i / 8 == j / 8) {
                (true, _) => 8.0,
                (_, true) => 25.0,
                _ => 100.0,
            };
            costs.set_both(i, j, cost);
        }
    }
    let (measured, _) = explorer.measured(&costs);
    assert_eq!(explorer.structure().caches(), 1);
    assert_eq!(explorer.with_hidden_groups(&measured).caches(), 4);
    assert_eq!(explorer.further(&costs), []);
}
