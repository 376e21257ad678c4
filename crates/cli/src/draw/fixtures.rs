//! Fixtures of the tests of views: machines and surveys made by hand, and names as an attacker chooses them.

pub mod fabricated;
pub mod fleet;
pub mod fleet_conclusions;
pub mod hostile;
pub mod machines;
