//! What is folded: the stalls of each visit to a cpu that no source explains yet.

/// What one cpu showed in one stretch of watching it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Visit {
    /// When the watching began, in seconds on a clock that all visits share.
    pub begin_s: f64,
    /// When it ended.
    pub end_s: f64,
    /// When each unexplained stall began, rising, in seconds on the same clock.
    pub times_s: Vec<f64>,
}

/// The stalls of one visit that no source explains yet, in seconds from its beginning, rising.
#[derive(Clone, Debug, Default)]
pub struct Track {
    pub begin_s: f64,
    pub length_s: f64,
    pub times_s: Vec<f64>,
    /// Each one's index in the visit.
    pub indices: Vec<usize>,
}

/// The stalls of all visits that no source explains yet: a visit's stalls have a source's index where one does.
pub fn tracks(visits: &[Visit], membership: &[Vec<Option<usize>>]) -> Vec<Track> {
    let track = |(visit, taken): (&Visit, &Vec<Option<usize>>)| {
        let free = (0..visit.times_s.len()).filter(|&index| taken[index].is_none());
        let inside = free.filter(|&index| (visit.begin_s..=visit.end_s).contains(&visit.times_s[index]));
        let mut indices: Vec<usize> = inside.collect();
        indices.sort_by(|&a, &b| visit.times_s[a].total_cmp(&visit.times_s[b]));
        Track {
            begin_s: visit.begin_s,
            length_s: visit.end_s - visit.begin_s,
            times_s: indices.iter().map(|&index| visit.times_s[index] - visit.begin_s).collect(),
            indices,
        }
    };
    visits.iter().zip(membership).map(track).collect()
}
