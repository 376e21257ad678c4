//! Kernel accounting: times of processes as a whole, in ticks of 1 to 16 ms.

use super::opened_task::OpenedTask;
pub use crate::values::account::ThreadAccount;

impl ThreadAccount {
    /// Reads the account of a process; both arguments are its number. `None` for single threads; their switches are not counted either.
    pub fn read_account(process: u32, thread: u32) -> Option<Self> {
        if thread != process {
            return None;
        }
        let [_, _, system, user] = OpenedTask::to_look(process).ok()?.read_times().ok()?;
        Some(Self { on_cpu_ns: (system + user).saturating_mul(100), ..Self::default() })
    }
}

pub fn has_waiting_time() -> bool {
    false
}
