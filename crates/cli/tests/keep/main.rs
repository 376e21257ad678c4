//! `corewise keep` as a user meets it: rules, the loop with real processes, and what is left when it ends.
//!
//! The processes are copies of sleep(1) in the test's own folder, by whose path the rule matches: no other process is touched.

mod crowd;
mod evidence;
mod held;
mod namespaces;
mod service;
mod stage;
#[path = "../support/mod.rs"]
mod support;
mod trust;
