//! Exchangeability of NUMA nodes under the matrix of their distances.
//!
//! Distances nest if they form an ultrametric: among any three nodes the two largest distances are equal. This is the case for links of
//! packages in groups. They are then a tree, and every symmetry of the matrix is one of that tree. Other matrices, as of rings and meshes,
//! may have symmetries that move several nodes at once. Of these, only two kinds are found: nodes at the same distances from all
//! others, and whole packages of which one mirrors the other (Granite Rapids with sub-NUMA clusters). That finds fewer symmetries than
//! exist, never one too many.

use std::collections::BTreeSet;

use crate::machine::NumaNode;

/// Constraints from a matrix of distances.
pub struct DistanceSymmetry {
    /// The class of each node; only nodes of one class may be exchanged.
    pub classes: Vec<usize>,
    /// Further constraints.
    pub kept: SymmetryInvariant,
}

/// Constraints on a symmetry, apart from the classes of nodes.
pub enum SymmetryInvariant {
    /// No further constraint.
    Classes,
    /// Groups of nodes, by index, within a distance of each other; they nest.
    Nested(Vec<(u32, Vec<usize>)>),
}

impl DistanceSymmetry {
    /// Returns the constraints from the distances of some nodes; `packages` has the nodes inside each package, by index.
    pub fn from_nodes(nodes: &[NumaNode], packages: &[Vec<usize>]) -> Self {
        let matrix: Vec<&[u32]> = nodes.iter().map(|node| node.distances.as_slice()).collect();
        if matrix.iter().all(|row| row.is_empty()) {
            return Self { classes: vec![0; nodes.len()], kept: SymmetryInvariant::Classes };
        }
        if matrix.iter().any(|row| row.len() != matrix.len()) {
            // Incomplete distances: no node is like another.
            return Self { classes: (0..nodes.len()).collect(), kept: SymmetryInvariant::Classes };
        }
        match distances_nest(&matrix) {
            true => Self { classes: by_own(&matrix), kept: SymmetryInvariant::Nested(nested_groups(&matrix)) },
            false => {
                let mut classes = find_twins(&matrix);
                join_mirrored(&matrix, packages, &mut classes);
                Self { classes, kept: SymmetryInvariant::Classes }
            }
        }
    }
}

/// Returns true if the distances are symmetric, and among any three nodes the two largest are equal.
fn distances_nest(matrix: &[&[u32]]) -> bool {
    let nodes = 0..matrix.len();
    let of_three = |a: usize, b: usize, c: usize| matrix[a][c] <= matrix[a][b].max(matrix[b][c]);
    nodes.clone().all(|a| {
        nodes.clone().filter(|b| *b != a).all(|b| {
            matrix[a][b] == matrix[b][a] && nodes.clone().filter(|c| *c != a && *c != b).all(|c| of_three(a, b, c))
        })
    })
}

/// Assigns classes by the distance of a node to itself.
fn by_own(matrix: &[&[u32]]) -> Vec<usize> {
    matrix.iter().enumerate().map(|(index, row)| row[index] as usize).collect()
}

/// Returns, for every distance that occurs, the groups of nodes that lie no farther apart.
fn nested_groups(matrix: &[&[u32]]) -> Vec<(u32, Vec<usize>)> {
    let nodes = 0..matrix.len();
    let between = |a: usize| nodes.clone().filter(move |b| *b != a).map(move |b| matrix[a][b]);
    let distances: BTreeSet<u32> = nodes.clone().flat_map(between).collect();
    let mut groups = BTreeSet::new();
    for distance in distances {
        for a in nodes.clone() {
            let near = nodes.clone().filter(|b| *b == a || matrix[a][*b] <= distance).collect::<Vec<_>>();
            groups.insert((distance, near));
        }
    }
    groups.into_iter().collect()
}

/// Assigns classes so that any two nodes of one class can be exchanged alone: they have equal distances to every third node.
fn find_twins(matrix: &[&[u32]]) -> Vec<usize> {
    let are_twins = |a: usize, b: usize| {
        let as_far = |c: usize| matrix[a][c] == matrix[b][c] && matrix[c][a] == matrix[c][b];
        let others = (0..matrix.len()).filter(|c| *c != a && *c != b);
        matrix[a][a] == matrix[b][b] && matrix[a][b] == matrix[b][a] && others.into_iter().all(as_far)
    };
    (0..matrix.len()).map(|a| (0..a).find(|b| are_twins(a, *b)).unwrap_or(a)).collect()
}

/// Gives the nodes of packages that mirror each other the same classes. Nodes are inside packages, so no symmetry can then exchange two
/// nodes of different packages without exchanging the packages.
fn join_mirrored(matrix: &[&[u32]], packages: &[Vec<usize>], classes: &mut [usize]) {
    let mut done = vec![false; packages.len()];
    for first in 0..packages.len() {
        for other in first + 1..packages.len() {
            if done[other] {
                continue;
            }
            let Some(image) = find_image(matrix, classes, &packages[first], &packages[other]) else { continue };
            packages[first].iter().zip(image).for_each(|(node, mirrored)| classes[mirrored] = classes[*node]);
            done[other] = true;
        }
    }
}

/// Most nodes of a package for which images are looked for.
const MOST_IN_PACKAGE: usize = 8;

/// Returns the nodes of `other`, in the order of those of `first` that they can be exchanged with, all at once and no further node moved.
fn find_image(matrix: &[&[u32]], classes: &[usize], first: &[usize], other: &[usize]) -> Option<Vec<usize>> {
    if first.is_empty() || first.len() != other.len() || first.len() > MOST_IN_PACKAGE {
        return None;
    }
    let mut image = Vec::new();
    extend_image(matrix, classes, first, other, &mut image).then_some(image)
}

fn extend_image(
    matrix: &[&[u32]],
    classes: &[usize],
    first: &[usize],
    other: &[usize],
    image: &mut Vec<usize>,
) -> bool {
    if image.len() == first.len() {
        return keeps_distances(matrix, first, image);
    }
    other.iter().any(|candidate| {
        let pairs = first.iter().zip(image.iter());
        let node = first[image.len()];
        // Twins must have twins as images.
        let is_possible = pairs.into_iter().all(|(earlier, mirrored)| {
            let keeps = matrix[*earlier][node] == matrix[*mirrored][*candidate]
                && matrix[node][*earlier] == matrix[*candidate][*mirrored];
            let are_twins = classes[*earlier] == classes[node];
            keeps && are_twins == (classes[*mirrored] == classes[*candidate])
        });
        if !is_possible || image.contains(candidate) {
            return false;
        }
        image.push(*candidate);
        let is_found = extend_image(matrix, classes, first, other, image);
        if !is_found {
            image.pop();
        }
        is_found
    })
}

/// Returns true if the exchange of all `first` with their `image` keeps every distance.
fn keeps_distances(matrix: &[&[u32]], first: &[usize], image: &[usize]) -> bool {
    let mut moved: Vec<usize> = (0..matrix.len()).collect();
    for (a, b) in first.iter().zip(image) {
        (moved[*a], moved[*b]) = (*b, *a);
    }
    (0..matrix.len()).all(|a| (0..matrix.len()).all(|b| matrix[a][b] == matrix[moved[a]][moved[b]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distances(matrix: &[&[u32]]) -> DistanceSymmetry {
        let node = |(number, row): (usize, &&[u32])| NumaNode {
            number: number as u32,
            cpus: crate::CpuSet::from_cpu(number as u32),
            distances: row.to_vec(),
            ..NumaNode::default()
        };
        let nodes: Vec<NumaNode> = matrix.iter().enumerate().map(node).collect();
        let half: Vec<usize> = (0..nodes.len() / 2).collect();
        let other = (nodes.len() / 2..nodes.len()).collect();
        DistanceSymmetry::from_nodes(&nodes, &[half, other])
    }

    #[test]
    fn packages_that_mirror_each_other_have_the_same_classes() {
        let granite_rapids: [&[u32]; 6] = [
            &[10, 15, 17, 21, 28, 26],
            &[15, 10, 15, 23, 26, 23],
            &[17, 15, 10, 26, 23, 21],
            &[21, 28, 26, 10, 15, 17],
            &[23, 26, 23, 15, 10, 15],
            &[26, 23, 21, 17, 15, 10],
        ];
        assert_eq!(distances(&granite_rapids).classes, [0, 1, 2, 0, 1, 2]);
        let mirrored: [&[u32]; 4] = [&[10, 12, 32, 28], &[12, 10, 28, 24], &[32, 28, 10, 12], &[28, 24, 12, 10]];
        assert_eq!(distances(&mirrored).classes, [0, 1, 0, 1]);
        let by_reversal: [&[u32]; 4] = [&[10, 12, 28, 40], &[12, 10, 24, 28], &[28, 24, 10, 12], &[40, 28, 12, 10]];
        assert_eq!(distances(&by_reversal).classes, [0, 1, 1, 0], "the nodes of the second count backwards");
        let unlike: [&[u32]; 4] = [&[10, 12, 28, 40], &[12, 10, 24, 28], &[28, 24, 10, 13], &[40, 28, 13, 10]];
        assert_eq!(distances(&unlike).classes, [0, 1, 2, 3]);
    }

    #[test]
    fn two_groups_of_two_nest() {
        let matrix: [&[u32]; 4] = [&[10, 21, 31, 31], &[21, 10, 31, 31], &[31, 31, 10, 21], &[31, 31, 21, 10]];
        let SymmetryInvariant::Nested(groups) = distances(&matrix).kept else { panic!("these distances nest") };
        assert_eq!(groups, [(21, vec![0, 1]), (21, vec![2, 3]), (31, vec![0, 1, 2, 3])]);
    }

    #[test]
    fn of_a_ring_opposite_nodes_are_exchanged() {
        let ring = distances(&[&[10, 20, 30, 20], &[20, 10, 20, 30], &[30, 20, 10, 20], &[20, 30, 20, 10]]);
        assert_eq!(ring.classes, [0, 1, 0, 1]);
        assert!(matches!(ring.kept, SymmetryInvariant::Classes));
    }

    #[test]
    fn what_differs_by_direction_or_is_incomplete_is_not_exchanged() {
        assert_eq!(distances(&[&[10, 20, 20], &[21, 10, 20], &[20, 20, 10]]).classes, [0, 1, 2]);
        assert_eq!(distances(&[&[10, 20], &[20]]).classes, [0, 1]);
    }
}
