//! The cpus that are online, and those that this process may use, whatever affinity mask it inherited.

use std::io;

use corewise_model::CpuSet;

use super::missing::{answers, missing};

answers! {
    fn of(u32) -> CpuSet = CpuSet::default();
    fn every() -> CpuSet = CpuSet::default();
    fn online() -> CpuSet = CpuSet::default();
    fn reachable() -> io::Result<CpuSet> = missing();
}
