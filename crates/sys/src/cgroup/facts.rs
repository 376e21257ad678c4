//! Facts about a control group, and the steps needed for a new group below it: decisions by the kernel's rules, on plain values.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::values::cgroup::CgroupRefusal;

/// Controllers that can be distributed between the threads of a process.
const THREADED: [&str; 4] = ["cpu", "cpuset", "perf_event", "pids"];

/// State of a control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupFacts {
    /// Its cgroup.type: "domain", "domain threaded", "domain invalid" or "threaded"; `None` for the root of the hierarchy.
    pub kind: Option<String>,
    /// Controllers available to it (cgroup.controllers).
    pub controllers: Vec<String>,
    /// Controllers that it passes on to its children (cgroup.subtree_control).
    pub enabled: Vec<String>,
    /// Child groups that have processes and are not threaded.
    pub populated_domains: Vec<PathBuf>,
}

/// Steps needed to make a group below another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CgroupPlan {
    /// Turn the controller cpuset on.
    pub enable: bool,
    /// Make the new group a threaded one.
    pub threaded: bool,
}

impl CgroupFacts {
    /// Reads the state of a group from its folder.
    ///
    /// # Errors
    /// If its files cannot be read.
    pub fn read_group(group: &Path) -> io::Result<Self> {
        let words = |name: &str| -> io::Result<Vec<String>> {
            Ok(fs::read_to_string(group.join(name))?.split_whitespace().map(str::to_owned).collect())
        };
        let kind = match fs::read_to_string(group.join("cgroup.type")) {
            Ok(text) => Some(text.trim().to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let (controllers, enabled) = (words("cgroup.controllers")?, words("cgroup.subtree_control")?);
        Ok(Self { kind, controllers, enabled, populated_domains: populated_domains(group)? })
    }

    /// Plans a group for a command below this one, which contains corewise itself.
    ///
    /// # Errors
    /// [`CgroupRefusal::NotDelegated`], [`CgroupRefusal::HasDomains`], [`CgroupRefusal::SharesDomains`].
    pub fn plan_group(&self, group: &Path) -> Result<CgroupPlan, CgroupRefusal> {
        let group = || group.to_owned();
        if !self.controllers.iter().any(|name| name == "cpuset") {
            return Err(CgroupRefusal::NotDelegated { group: group() });
        }
        let enable = !self.enabled.iter().any(|name| name == "cpuset");
        // The root may have processes and ordinary groups both.
        let Some(kind) = &self.kind else { return Ok(CgroupPlan { enable, threaded: false }) };
        if kind != "threaded" {
            let domain: Vec<&str> =
                self.enabled.iter().map(String::as_str).filter(|name| !THREADED.contains(name)).collect();
            if !domain.is_empty() {
                return Err(CgroupRefusal::SharesDomains { group: group(), controllers: domain.join(" ") });
            }
            if let Some(other) = self.populated_domains.first() {
                return Err(CgroupRefusal::HasDomains { group: group(), other: other.clone() });
            }
        }
        Ok(CgroupPlan { enable, threaded: true })
    }
}

fn populated_domains(group: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(group)? {
        let path = entry?.path();
        let line = |name: &str| fs::read_to_string(path.join(name)).unwrap_or_default();
        if line("cgroup.type").starts_with("domain") && line("cgroup.events").lines().any(|line| line == "populated 1")
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with the files of a group.
    fn group(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn planned(files: &[(&str, &str)]) -> Result<CgroupPlan, String> {
        let folder = group(files);
        let refused = |refusal: CgroupRefusal| refusal.to_string().replace(folder.path().to_str().unwrap(), "GROUP");
        CgroupFacts::read_group(folder.path()).unwrap().plan_group(folder.path()).map_err(refused)
    }

    #[test]
    fn the_root_gets_an_ordinary_group() {
        let root = [("cgroup.controllers", "cpuset cpu memory\n"), ("cgroup.subtree_control", "memory\n")];
        assert_eq!(planned(&root), Ok(CgroupPlan { enable: true, threaded: false }));
        let shared = [root[0], ("cgroup.subtree_control", "cpuset memory\n")];
        assert_eq!(planned(&shared), Ok(CgroupPlan { enable: false, threaded: false }));
    }

    #[test]
    fn below_processes_a_group_is_threaded() {
        let files = |kind, enabled| {
            [("cgroup.type", kind), ("cgroup.controllers", "cpuset cpu\n"), ("cgroup.subtree_control", enabled)]
        };
        assert_eq!(planned(&files("domain\n", "\n")), Ok(CgroupPlan { enable: true, threaded: true }));
        assert_eq!(
            planned(&files("domain threaded\n", "cpu cpuset\n")),
            Ok(CgroupPlan { enable: false, threaded: true })
        );
        assert_eq!(planned(&files("threaded\n", "\n")), Ok(CgroupPlan { enable: true, threaded: true }));
    }

    #[test]
    fn what_the_kernel_would_refuse_is_refused_before_anything_is_made() {
        let domain = ("cgroup.type", "domain\n");
        let none = ("cgroup.subtree_control", "\n");
        let cpuset = ("cgroup.controllers", "cpuset memory\n");
        assert_eq!(
            planned(&[domain, none, ("cgroup.controllers", "cpu memory pids\n")]),
            Err("the controller cpuset is not delegated to GROUP".into())
        );
        assert_eq!(
            planned(&[domain, cpuset, ("cgroup.subtree_control", "cpu memory\n")]),
            Err("GROUP has memory enabled for its child groups, so it cannot contain processes itself".into())
        );
        let other = [("other/cgroup.type", "domain\n"), ("other/cgroup.events", "populated 1\nfrozen 0\n")];
        assert_eq!(
            planned(&[domain, cpuset, none, other[0], other[1]]),
            Err("GROUP contains processes and also groups with processes".into())
        );
        let empty = ("other/cgroup.events", "populated 0\nfrozen 0\n");
        assert!(planned(&[domain, cpuset, none, other[0], empty]).is_ok());
        let threaded = ("other/cgroup.type", "threaded\n");
        assert!(planned(&[domain, cpuset, none, threaded, other[1]]).is_ok());
    }
}
