//! Makes a machine of what a reader found: the rules by which cpus form cores, clusters, caches, dies and kinds.

use crate::Machine;
use crate::facts::MachineFacts;

/// Makes a machine of the facts.
pub fn assemble(facts: MachineFacts) -> Machine {
    let _ = facts;
    todo!("the topology reader's issue")
}
