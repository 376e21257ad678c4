//! The placements that an experiment is asked to try.

use corewise_machine::placement::memory::{MemoryError, MemoryPolicy};
use corewise_machine::placement::roles::{PlacedRole, placed_roles};
use corewise_machine::placement::{PlacementExpression, parse};
use corewise_model::trial::{MEMORY_SIGN, WITHOUT_ECO_QOS};

use super::error::ExperimentError;

/// The word for the operating system's choice.
pub(super) const OS_WORD: &str = "os";

/// A placement to try beside the OS default, which every experiment tries.
#[derive(Clone, Debug, PartialEq)]
pub enum PlacementChoice {
    /// The OS default once more, to see how two equal things compare.
    OsDefault,
    /// The OS default without EcoQoS, on Windows.
    WithoutEcoQos,
    /// A placement: as it was written, and its meaning.
    Placement(String, Box<PlacementExpression>),
    /// A memory policy on a placement, or on the OS default if there is none.
    WithMemory(Option<(String, Box<PlacementExpression>)>, MemoryPolicy),
    /// A placement for each of several roles: as they were written, and their meaning.
    Roles(String, Vec<PlacedRole>),
    /// Near a device, and away from it.
    Near(String),
    /// The candidates that are planned for this machine.
    Planned,
    /// A placement that something else than the user proposes: the choice, and the reason.
    Proposed(Box<PlacementChoice>, String),
}

impl PlacementChoice {
    /// Parses a placement: `0-3`, `llc:0 @ bind:0`, `server=0, load=1`, `EcoQoS off` or `os`.
    ///
    /// # Errors
    /// [`ExperimentError::Expression`] or [`ExperimentError::MemoryPolicy`].
    ///
    /// # Examples
    /// ```
    /// use corewise_lab::experiment::PlacementChoice;
    ///
    /// assert_eq!(PlacementChoice::parse("os")?, PlacementChoice::OsDefault);
    /// let PlacementChoice::WithMemory(Some((on, _)), memory) = PlacementChoice::parse("llc:0 @ bind:0")? else { panic!() };
    /// assert_eq!((on.as_str(), memory.to_string().as_str()), ("llc:0", "bind:0"));
    /// assert!(matches!(PlacementChoice::parse("server=0, load=1")?, PlacementChoice::Roles(_, roles) if roles.len() == 2));
    /// # Ok::<(), corewise_lab::experiment::ExperimentError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, ExperimentError> {
        if text.contains('=') {
            return Ok(Self::Roles(text.to_owned(), placed_roles(text)?));
        }
        if let Some((placement, policy)) = text.rsplit_once(MEMORY_SIGN) {
            return Self::parse_with_memory(placement.trim(), policy.trim());
        }
        Ok(match text.trim() {
            word if word.eq_ignore_ascii_case(WITHOUT_ECO_QOS) => Self::WithoutEcoQos,
            word if word.eq_ignore_ascii_case(OS_WORD) => Self::OsDefault,
            _ => Self::Placement(text.to_owned(), Box::new(parse(text)?)),
        })
    }

    fn parse_with_memory(placement: &str, policy: &str) -> Result<Self, ExperimentError> {
        let wrong = |source: MemoryError| ExperimentError::MemoryPolicy {
            placement: placement.to_owned(),
            policy: policy.to_owned(),
            source,
        };
        let memory: MemoryPolicy = policy.parse().map_err(wrong)?;
        let is_system = placement.eq_ignore_ascii_case(OS_WORD);
        let expression = (!is_system).then(|| parse(placement)).transpose()?;
        Ok(Self::WithMemory(expression.map(|expression| (expression.text().to_owned(), Box::new(expression))), memory))
    }

    /// Parses the placements of one experiment. The OS default is tried in any case, so the first `os` is that one, and a second one
    /// is a choice. A device comes first: of two placements with the same cpus the first is tried.
    ///
    /// # Errors
    /// Those of [`Self::parse`], and [`ExperimentError::OnlyOsDefault`].
    pub fn parse_all(texts: &[String], near: Option<&str>) -> Result<Vec<Self>, ExperimentError> {
        let mut choices: Vec<Self> = near.map(|device| Self::Near(device.to_owned())).into_iter().collect();
        if near.is_some() && texts.is_empty() {
            choices.push(Self::Planned);
        }
        let mut is_baseline_named = false;
        for text in texts {
            let choice = Self::parse(text)?;
            if choice != Self::OsDefault || std::mem::replace(&mut is_baseline_named, true) {
                choices.push(choice);
            }
        }
        if !texts.is_empty() && choices.is_empty() {
            return Err(ExperimentError::OnlyOsDefault);
        }
        Ok(choices)
    }
}
