//! The planner against brute force, and its lists on machines that people know.

mod brute;
mod built;
mod counting;
mod lists;
mod roles;
mod rules;
