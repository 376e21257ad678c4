//! The processes that descend from one, and their threads.

use super::missing::answers;
use super::process;
pub use crate::values::task::{Others, Process};

answers! {
    fn children(u32) -> Vec<u32> = Vec::new();
    fn descendants(u32) -> Vec<Process> = Vec::new();
    fn threads(u32) -> Vec<u32> = Vec::new();
    fn thread_count(u32) -> Option<usize> = None;
    fn thread(u32, u32) -> Option<process::Process> = None;
    fn name(u32, u32) -> Option<String> = None;
    fn newest() -> Option<u32> = None;
    fn is_available() -> bool = false;
}
