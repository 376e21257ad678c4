//! Services that are started for a command, which is their load: how each is started, and which roles there are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The role of the command itself.
pub const LOAD: &str = "load";
/// The role of all threads that no other role has, where running processes are placed.
pub const REST: &str = "rest";

/// No service may take longer to be ready, in seconds: a day.
const LONGEST_READY_S: f64 = 86_400.0;
/// More services are none.
const MOST_SERVICES: usize = 100;

/// Services that run beside a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parts {
    /// In the order in which they are started; they are ended in the other.
    pub services: Vec<Service>,
    /// Whether they are started once a session, and move from placement to placement; otherwise they are started anew for every trial.
    pub keep_started: bool,
    /// A service that takes more seconds to be ready has failed.
    pub ready_within_s: f64,
}

/// A service that is started before the command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Service {
    /// Its name, which is its role.
    pub name: String,
    /// How it is started, for a shell.
    pub start: String,
    /// What succeeds once it is ready, for a shell; absent where a service counts as ready that has run for half a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
}

/// Threads that are a role of their own, by their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadRole {
    /// What the role is called.
    pub name: String,
    /// A regular expression that matches anywhere in the name of a thread; the kernel keeps 15 bytes of a name.
    pub pattern: String,
}

impl Parts {
    /// What is wrong with those that come from a file, if anything.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.services.is_empty() || self.services.len() > MOST_SERVICES {
            return Err("it has no services, or too many".to_owned());
        }
        if !(self.ready_within_s > 0.0 && self.ready_within_s <= LONGEST_READY_S) {
            return Err("its services have an impossible time to be ready".to_owned());
        }
        Ok(())
    }
}
