//! Likeness of words, for "did you mean": Jaro's similarity with Winkler's bonus for a common beginning (Winkler, "String Comparator
//! Metrics and Enhanced Decision Rules in the Fellegi-Sunter Model of Record Linkage", 1990).

/// Jaro's similarity above which a common beginning counts.
const ALIKE: f64 = 0.7;
/// Maximum length of a common beginning that counts, in characters.
const LONGEST_BEGINNING: usize = 4;

/// Returns the likeness of two words, from 0 to 1 for equal ones.
pub(super) fn measure_likeness(a: &str, b: &str) -> f64 {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let similarity = jaro_similarity(&a, &b);
    if similarity <= ALIKE {
        return similarity;
    }
    let beginning = a.iter().zip(&b).take(LONGEST_BEGINNING).take_while(|(a, b)| a == b).count();
    similarity + 0.1 * beginning as f64 * (1.0 - similarity)
}

fn jaro_similarity(a: &[char], b: &[char]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return if a.len() == b.len() { 1.0 } else { 0.0 };
    }
    // Equal characters count as common if they are no farther apart than this.
    let reach = (a.len().max(b.len()) / 2).saturating_sub(1);
    let mut is_taken = vec![false; b.len()];
    let mut common_of_a = Vec::new();
    for (at, letter) in a.iter().enumerate() {
        let window = at.saturating_sub(reach)..(at + reach + 1).min(b.len());
        if let Some(partner) = window.into_iter().find(|place| !is_taken[*place] && b[*place] == *letter) {
            is_taken[partner] = true;
            common_of_a.push(*letter);
        }
    }
    let common_of_b = b.iter().zip(&is_taken).filter(|(_, is_taken)| **is_taken).map(|(letter, _)| letter);
    let swapped = common_of_a.iter().zip(common_of_b).filter(|(a, b)| a != b).count() / 2;
    let common = common_of_a.len() as f64;
    if common == 0.0 {
        return 0.0;
    }
    (common / a.len() as f64 + common / b.len() as f64 + (common - swapped as f64) / common) / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Winkler's own examples.
    #[test]
    fn likenesses_are_those_of_the_paper() {
        let rounded = |a, b| (1000.0 * measure_likeness(a, b)).round();
        assert_eq!(rounded("martha", "marhta"), 961.0);
        assert_eq!(rounded("dixon", "dicksonx"), 813.0);
        assert_eq!(rounded("dwayne", "duane"), 840.0);
        assert_eq!((rounded("", ""), rounded("a", ""), rounded("llc", "llc")), (1000.0, 0.0, 1000.0));
    }
}
