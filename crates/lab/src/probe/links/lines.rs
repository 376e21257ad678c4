//! Choice of the lines of a page through which two threads communicate.

use corewise_machine::random::RandomGenerator;

/// Lines of the smallest page.
const LINES: usize = 64;

/// Chooses random lines of a page, each in its own pair of lines (128 bytes). The hardware fetches lines in pairs, and the partner may
/// still be answering on the last one.
pub fn choose_lines<const COUNT: usize>(random: &mut RandomGenerator) -> [usize; COUNT] {
    let mut pairs: [usize; LINES / 2] = std::array::from_fn(|pair| pair);
    random.shuffle(&mut pairs);
    std::array::from_fn(|turn| 2 * pairs[turn] + random.next_below(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_visit_are_in_pairs_of_their_own_and_any_line_is_taken() {
        let (mut random, mut taken) = (RandomGenerator::new(5), [false; LINES]);
        for _ in 0..200 {
            let mut lines = choose_lines::<8>(&mut random);
            lines.iter().for_each(|&line| taken[line] = true);
            lines.sort_unstable();
            assert!(lines.windows(2).all(|pair| pair[0] / 2 < pair[1] / 2));
        }
        assert!(taken.iter().all(|&is_taken| is_taken));
    }
}
