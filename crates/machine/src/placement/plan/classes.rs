//! Counts the equivalence classes of sets of cpus under the symmetries of a machine, without enumerating sets.
//!
//! Two sets are in one class if a symmetry takes one to the other. A polynomial counts the classes of a subtree's sets: its coefficient of
//! x^k is the number of classes of sets of k cpus. A usable cpu has 1 + x, any other 1. Subtrees of different shapes cannot be exchanged,
//! so their polynomials are multiplied. For m subtrees of one shape with the polynomial f, only the number of times each class occurs among
//! them matters. These are multisets of m classes. By Pólya's theorem for the symmetric group, the coefficient of y^m in the product over j
//! of 1 / (1 - y x^j)^f_j counts them. Taking the complement of a set keeps classes, so half of the sizes are enough.

use std::collections::{BTreeMap, HashMap};

use super::count::ExactCount;
use super::tree::MachineTree;

/// Number of classes by the size of the sets, up to the degree computed.
type ClassPolynomial = Vec<ExactCount>;

/// Returns the number of classes of sets of `size` cpus.
pub fn classes_of(tree: &MachineTree, size: usize) -> ExactCount {
    let usable = tree.usable_count();
    if size > usable {
        return ExactCount::ZERO;
    }
    let size = size.min(usable - size);
    class_polynomial(tree, size).get(size).copied().unwrap_or(ExactCount::ZERO)
}

/// Returns the number of classes of sets of all sizes, without the empty set.
pub fn all_classes(tree: &MachineTree) -> ExactCount {
    let usable = tree.usable_count();
    let half = class_polynomial(tree, usable / 2);
    (1..=usable).map(|size| half[size.min(usable - size)]).fold(ExactCount::ZERO, ExactCount::plus)
}

/// Computes the polynomial of the whole machine up to x^degree.
fn class_polynomial(tree: &MachineTree, degree: usize) -> ClassPolynomial {
    let mut of_shape: HashMap<usize, ClassPolynomial> = HashMap::new();
    for branch in &tree.branches {
        if of_shape.contains_key(&branch.shape) {
            continue;
        }
        let own = if branch.cpu.is_some() { vec![ExactCount::ONE; 2.min(degree + 1)] } else { vec![ExactCount::ONE] };
        let mut shapes: BTreeMap<usize, usize> = BTreeMap::new();
        branch.children.iter().for_each(|child| *shapes.entry(tree.branches[*child].shape).or_default() += 1);
        let product = shapes.into_iter().fold(own, |product, (shape, number)| {
            let of_equals =
                if number == 1 { of_shape[&shape].clone() } else { count_multisets(&of_shape[&shape], number, degree) };
            multiply_polynomials(&product, &of_equals, degree)
        });
        of_shape.insert(branch.shape, product);
    }
    of_shape.remove(&tree.branches[tree.root_index()].shape).unwrap_or_default()
}

fn multiply_polynomials(a: &[ExactCount], b: &[ExactCount], degree: usize) -> ClassPolynomial {
    let mut product = vec![ExactCount::ZERO; (a.len() + b.len() - 1).min(degree + 1)];
    for (i, of_a) in a.iter().enumerate().filter(|(_, count)| !count.is_zero()) {
        for (j, of_b) in b.iter().enumerate().take(product.len().saturating_sub(i)) {
            product[i + j] = product[i + j].plus(of_a.times(*of_b));
        }
    }
    product
}

/// Counts the multisets of classes of `number` subtrees with the same polynomial, by total cpus.
fn count_multisets(of_one: &[ExactCount], number: usize, degree: usize) -> ClassPolynomial {
    let length = ((of_one.len() - 1) * number).min(degree) + 1;
    // `ways[y][x]`: y of the subtrees have cpus, x in all. A subtree without cpus has one class, so the others are settled.
    let most = number.min(length - 1);
    let mut ways = vec![vec![ExactCount::ZERO; length]; most + 1];
    ways[0][0] = ExactCount::ONE;
    for (size, classes) in of_one.iter().enumerate().skip(1).filter(|(_, classes)| !classes.is_zero()) {
        ways = with_size(&ways, size, *classes);
    }
    (0..length).map(|x| ways.iter().fold(ExactCount::ZERO, |sum, row| sum.plus(row[x]))).collect()
}

/// Extends the counts by any number of the remaining subtrees with `size` cpus each, each in one of `classes` classes.
fn with_size(ways: &[Vec<ExactCount>], size: usize, classes: ExactCount) -> Vec<Vec<ExactCount>> {
    let mut more = ways.to_vec();
    let most = (ways.len() - 1).min((ways[0].len() - 1) / size);
    let repeated = count_repetitions(classes, most);
    for (y, row) in ways.iter().enumerate() {
        for (x, before) in row.iter().enumerate().filter(|(_, count)| !count.is_zero()) {
            for times in 1..=most.min(ways.len() - 1 - y).min((row.len() - 1 - x) / size) {
                let place = &mut more[y + times][x + times * size];
                *place = place.plus(before.times(repeated[times]));
            }
        }
    }
    more
}

/// Returns the number of multisets of 0, 1, … `most` elements from `classes` classes.
fn count_repetitions(classes: ExactCount, most: usize) -> Vec<ExactCount> {
    let mut ways = vec![ExactCount::ONE];
    for times in 0..most {
        let next = classes.exact().and_then(|classes| (classes - 1).checked_add(times as u128));
        ways.push(next.map_or(ExactCount::BEYOND, |n| ways[times].next_combination(n, times)));
    }
    ways
}
