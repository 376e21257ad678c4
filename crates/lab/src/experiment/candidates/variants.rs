//! Variants of a program, each on every placement.

use corewise_model::trial::{CommandVariant, PlacementArm};

use super::{CandidatePlanner, CandidateRequest, baseline_arm};
use crate::experiment::error::ExperimentError;

impl CandidatePlanner<'_> {
    /// Returns every variant with the OS default, the first one first, and then with each placement that the request names.
    ///
    /// # Errors
    /// Those of [`Self::arms`].
    pub fn arms_with_variants(
        &mut self,
        request: &CandidateRequest,
        variants: &[CommandVariant],
        threads: Option<u32>,
        roles: &[&str],
    ) -> Result<Vec<PlacementArm>, ExperimentError> {
        let names_none = request.choices.is_empty() && request.memory.is_empty();
        let placements = if names_none { vec![baseline_arm()] } else { self.arms(request, threads, roles)? };
        let cross =
            |arm: &PlacementArm| variants.iter().map(|variant| arm.with_variant(&variant.name)).collect::<Vec<_>>();
        Ok(placements.iter().flat_map(cross).collect())
    }
}
