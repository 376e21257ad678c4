//! The processes that descend from one, and their threads.

use super::missing::answers;
pub use crate::values::task::Process;

answers! {
    fn children(u32) -> Vec<u32> = Vec::new();
    fn descendants(u32) -> Vec<Process> = Vec::new();
    fn has_thread(u32, u32) -> bool = false;
    fn name(u32, u32) -> Option<String> = None;
    fn newest() -> Option<u32> = None;
    fn is_available() -> bool = false;
}
