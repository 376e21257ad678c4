//! Input of folding: the stalls of each visit to a cpu that no source explains yet.

/// Unexplained stalls of one visit to a cpu.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchedStretch {
    /// Begin of the visit, in seconds on a clock that all visits share.
    pub begin_s: f64,
    /// End of the visit, on the same clock.
    pub end_s: f64,
    /// Begin of each unexplained stall, rising, in seconds on the same clock.
    pub times_s: Vec<f64>,
}

/// The stalls of one visit that no source explains yet, in seconds from its beginning, rising.
#[derive(Clone, Debug, Default)]
pub struct StallTrack {
    pub begin_s: f64,
    pub length_s: f64,
    pub times_s: Vec<f64>,
    /// Index of each in the visit.
    pub indices: Vec<usize>,
}

/// Collects the stalls of all visits that no source explains yet; `membership` has the source's index for all others.
pub fn unexplained_tracks(visits: &[WatchedStretch], membership: &[Vec<Option<usize>>]) -> Vec<StallTrack> {
    let track = |(visit, taken): (&WatchedStretch, &Vec<Option<usize>>)| {
        let free = (0..visit.times_s.len()).filter(|&index| taken[index].is_none());
        let inside = free.filter(|&index| (visit.begin_s..=visit.end_s).contains(&visit.times_s[index]));
        let mut indices: Vec<usize> = inside.collect();
        indices.sort_by(|&a, &b| visit.times_s[a].total_cmp(&visit.times_s[b]));
        StallTrack {
            begin_s: visit.begin_s,
            length_s: visit.end_s - visit.begin_s,
            times_s: indices.iter().map(|&index| visit.times_s[index] - visit.begin_s).collect(),
            indices,
        }
    };
    visits.iter().zip(membership).map(track).collect()
}
