//! The trails: the cpus on which each thread ran, moment by moment, as far back as a screen is wide.

use std::collections::{HashMap, VecDeque};

use corewise_model::watch::WatchFrame;

/// Maximum number of moments of a trail: no screen is wider.
pub const LONGEST_TRAIL: usize = 240;

/// The trails of all threads.
#[derive(Debug, Default)]
pub struct ThreadTrails(HashMap<u32, VecDeque<Option<u32>>>);

impl ThreadTrails {
    /// Adds a moment, and drops threads that no longer exist.
    pub fn add_frame(&mut self, frame: &WatchFrame) {
        let mut before = std::mem::take(&mut self.0);
        for thread in &frame.threads {
            let mut trail = before.remove(&thread.thread).unwrap_or_default();
            if trail.len() == LONGEST_TRAIL {
                trail.pop_front();
            }
            let ran = thread.running.map_or(thread.is_runnable, |share| share > 0.0);
            trail.push_back(ran.then_some(thread.cpu));
            self.0.insert(thread.thread, trail);
        }
    }

    /// Formats the end of a trail in at most `columns` columns. A number is a cpu that the thread moved to, "─" means
    /// that it stayed, and a space that it did not run.
    pub fn format_trail(&self, thread: u32, columns: usize) -> String {
        let mut text = String::new();
        let mut at = None;
        for cpu in self.0.get(&thread).into_iter().flatten() {
            match cpu {
                None => text.push(' '),
                Some(_) if *cpu == at => text.push('─'),
                Some(number) => {
                    // Two adjacent numbers would read as a third.
                    if text.ends_with(|last: char| last.is_ascii_digit()) {
                        text.push('›');
                    }
                    text.push_str(&number.to_string());
                }
            }
            at = cpu.or(at);
        }
        let all = text.chars().count();
        text.chars().skip(all.saturating_sub(columns)).collect()
    }
}

#[cfg(test)]
mod tests {
    use corewise_model::watch::ThreadNow;

    use super::*;

    fn frame(running: f32, cpu: u32) -> WatchFrame {
        let thread = ThreadNow { thread: 8, cpu, running: Some(running), ..ThreadNow::default() };
        WatchFrame { threads: vec![thread], ..WatchFrame::default() }
    }

    #[test]
    fn a_trail_shows_moves_and_pauses() {
        let mut trails = ThreadTrails::default();
        for (running, cpu) in [(0.1, 1), (0.1, 1), (0.1, 12), (0.1, 3), (0.0, 3), (0.1, 3), (0.1, 1)] {
            trails.add_frame(&frame(running, cpu));
        }
        assert_eq!(trails.format_trail(8, 80), "1─12›3 ─1");
        assert_eq!(trails.format_trail(8, 4), "3 ─1");
        trails.add_frame(&WatchFrame::default());
        assert_eq!(trails.format_trail(8, 80), "", "it has ended");
        (0..LONGEST_TRAIL + 9).for_each(|_| trails.add_frame(&frame(0.5, 2)));
        assert_eq!(trails.format_trail(8, 1_000).chars().count(), LONGEST_TRAIL - 1 + 1);
    }
}
