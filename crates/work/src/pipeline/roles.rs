//! Assignment of stages to threads.

use std::ops::Range;

/// The stages in their order; a lane has at most one thread for each.
pub const STAGES: [&str; LANE_THREADS] = ["source", "parse", "transform", "serialise", "sink"];
/// Maximum threads of a lane.
pub const LANE_THREADS: usize = 5;

/// Number of the source in [`STAGES`].
pub const SOURCE: usize = 0;
/// Number of the stage that parses a line into an event.
pub const PARSE: usize = 1;
/// Number of the stage that changes the event's fields.
pub const TRANSFORM: usize = 2;
/// Number of the stage that writes the event as a line.
pub const SERIALISE: usize = 3;
/// Number of the stage that counts the line.
pub const SINK: usize = 4;

/// Work of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageRole {
    /// Number of its lane.
    pub lane: usize,
    /// Numbers of its stages; never empty.
    pub stages: Range<usize>,
}

impl StageRole {
    /// Returns the name of its most expensive stage with its lane: "parse 0".
    pub fn role_name(&self) -> String {
        let dearest = [PARSE, SERIALISE].into_iter().find(|stage| self.stages.contains(stage));
        let name =
            if self.stages.len() == LANE_THREADS { "pipeline" } else { STAGES[dearest.unwrap_or(self.stages.start)] };
        format!("{name} {}", self.lane)
    }
}

/// Returns the role of each thread, lane by lane: the fewest lanes with at most `lane_threads` threads each, of nearly equal length.
pub fn assign_roles(threads: usize, lane_threads: usize) -> Vec<StageRole> {
    let lanes = threads.div_ceil(lane_threads);
    let length = |lane: usize| (lane + 1) * threads / lanes - lane * threads / lanes;
    let lane =
        |lane: usize| stage_cuts(length(lane)).windows(2).map(move |cut| StageRole { lane, stages: cut[0]..cut[1] });
    (0..lanes).flat_map(lane).collect()
}

/// Returns the cuts in the chain of stages for a number of threads. Parse and serialise are the most expensive, and are separated first.
const fn stage_cuts(threads: usize) -> &'static [usize] {
    match threads {
        1 => &[0, 5],
        2 => &[0, 2, 5],
        3 => &[0, 2, 3, 5],
        4 => &[0, 1, 2, 3, 5],
        _ => &[0, 1, 2, 3, 4, 5],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_does_each_stage_once_and_its_threads_follow_each_other() {
        for (threads, lane_threads) in (1..40).flat_map(|threads| (1..=5).map(move |most| (threads, most))) {
            let roles = assign_roles(threads, lane_threads);
            assert_eq!(roles.len(), threads);
            for lane in 0..=roles[threads - 1].lane {
                let stages: Vec<usize> =
                    roles.iter().filter(|role| role.lane == lane).flat_map(|role| role.stages.clone()).collect();
                assert_eq!(stages, [SOURCE, PARSE, TRANSFORM, SERIALISE, SINK], "{threads} in lanes of {lane_threads}");
            }
            assert!(roles.is_sorted_by_key(|role| role.lane));
        }
    }

    #[test]
    fn threads_are_named_after_what_they_do_and_their_lane() {
        let names = |threads, most| assign_roles(threads, most).iter().map(StageRole::role_name).collect::<Vec<_>>();
        assert_eq!(names(1, 3), ["pipeline 0"]);
        assert_eq!(names(3, 3), ["parse 0", "transform 0", "serialise 0"]);
        assert_eq!(names(4, 3), ["parse 0", "serialise 0", "parse 1", "serialise 1"]);
        assert_eq!(names(4, 5), ["source 0", "parse 0", "transform 0", "serialise 0"]);
        assert_eq!(names(5, 5), ["source 0", "parse 0", "transform 0", "serialise 0", "sink 0"]);
        let longest = names(256, 5).iter().map(String::len).max();
        assert!(longest <= Some(15), "Linux cuts longer ones off");
    }
}
