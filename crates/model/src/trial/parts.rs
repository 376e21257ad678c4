//! Services that run beside a command, which is their load: their start, and the roles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The role of the command itself.
pub const LOAD: &str = "load";
/// The role of all threads without another role, if running processes are placed.
pub const REST: &str = "rest";

/// Maximum time for a service to be ready, in seconds: a day.
const LONGEST_READY_S: f64 = 86_400.0;
/// Maximum number of services.
const MOST_SERVICES: usize = 100;

/// Services that run beside a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceParts {
    /// The services in the order of their start; they are ended in reverse order.
    pub services: Vec<WorkloadService>,
    /// True if they are started once a session, and move from placement to placement; otherwise they are restarted for
    /// every trial.
    pub keep_started: bool,
    /// Time limit for a service to be ready, in seconds.
    pub ready_within_s: f64,
}

/// A service that is started before the command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadService {
    /// Its name, which is its role.
    pub name: String,
    /// Shell command that starts it.
    pub start: String,
    /// Shell command that succeeds once it is ready; absent if a service counts as ready after half a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
}

/// Threads that are a role of their own, by their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadRole {
    /// Name of the role.
    pub name: String,
    /// A regular expression that matches anywhere in the name of a thread; the kernel keeps 15 bytes of a name.
    pub pattern: String,
}

impl ServiceParts {
    /// Checks services that come from a file.
    pub(super) fn check_loaded(&self) -> Result<(), String> {
        if self.services.is_empty() || self.services.len() > MOST_SERVICES {
            return Err("it has no services, or too many".to_owned());
        }
        if !(self.ready_within_s > 0.0 && self.ready_within_s <= LONGEST_READY_S) {
            return Err("its services have an impossible time to be ready".to_owned());
        }
        Ok(())
    }
}
