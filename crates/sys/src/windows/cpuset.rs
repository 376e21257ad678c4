//! The cpus that are online, and those that this process may use, whatever affinity mask it inherited.

use std::io;

use corewise_model::CpuSet;

use super::missing::missing;

pub fn online() -> CpuSet {
    CpuSet::default()
}

pub fn reachable() -> io::Result<CpuSet> {
    missing()
}
