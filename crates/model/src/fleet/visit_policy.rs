//! Limits of the visits to a fleet.

/// Limits of the visits to a fleet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VisitPolicy {
    /// Visits of every node before any is judged.
    pub first_visits: usize,
    /// Visits of every node in all, if more than that.
    pub visits_of_each: usize,
    /// Maximum number of visits of a node.
    pub most_visits: usize,
    /// Smallest difference of a node from its peers that matters: 0.02 is 2 %.
    pub margin: f64,
}

impl Default for VisitPolicy {
    fn default() -> Self {
        Self { first_visits: 2, visits_of_each: 2, most_visits: 24, margin: 0.02 }
    }
}
