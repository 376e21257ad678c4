//! The planner against brute force, and its lists on machines that people know.
