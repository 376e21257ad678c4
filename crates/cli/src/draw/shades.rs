//! Shades of heat maps.

use super::text::HEAT_STEPS;

/// Shades of the heat steps for terminals without colour, cheapest first.
pub const SHADES: [char; HEAT_STEPS as usize] = ['·', '░', '▒', '▓', '█'];

/// Costs that differ by less than this ratio get one shade: noise is not a pattern.
pub const FLAT: f64 = 1.3;
