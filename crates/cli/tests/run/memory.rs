//! Memory policies, as the kernel tells them in /proc/self/numa_maps.

use libtest_mimic::{Completion, Trial};

use crate::stage::*;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("the_memory_policy_is_in_force_and_inherited", in_force),
        trial("weighted_interleaving_works_or_says_which_kernel_has_it", weighted),
    ]
}

/// The policies that a process's memory has, none twice.
fn policies(memory: &str, way: &[&str]) -> std::result::Result<Vec<String>, libtest_mimic::Failed> {
    let shell = "sh -c 'cat /proc/self/numa_maps'; true";
    let maps = said(&mut run(&[way, &["--on", one_cpu(), "--memory", memory, "sh", "-c", shell]].concat()))?;
    let mut policies: Vec<String> =
        maps.lines().filter_map(|line| line.split_whitespace().nth(1)).map(str::to_owned).collect();
    policies.sort();
    policies.dedup();
    Ok(policies)
}

fn in_force() -> RunTestResult {
    if std::fs::read("/proc/self/numa_maps").is_err() {
        return Ok(Completion::ignored_with("there is no /proc/self/numa_maps: the kernel has no NUMA"));
    }
    for way in WAYS {
        for (memory, expected) in
            [("local", "local"), ("bind:0", "bind:"), ("interleave:all", "interleave:"), ("preferred:0", "prefer:")]
        {
            let found = policies(memory, way)?;
            // The kernel's own pages ([vdso]) keep the default.
            let others = found.iter().filter(|policy| !policy.starts_with(expected) && *policy != "default").count();
            let has = found.iter().any(|policy| policy.starts_with(expected));
            same((has, others), (true, 0), &format!("{memory}: {found:?}"))?;
        }
    }
    Ok(Completion::Completed)
}

fn weighted() -> RunTestResult {
    if std::fs::read("/proc/self/numa_maps").is_err() {
        return Ok(Completion::ignored_with("there is no /proc/self/numa_maps: the kernel has no NUMA"));
    }
    let output = done(&mut run(&["--on", one_cpu(), "--memory", "weighted:all", "true"]));
    if output.status.success() {
        let found = policies("weighted:all", &[])?;
        let has = found.iter().any(|policy| policy.starts_with("weighted interleave:") || policy == "weighted");
        return same(has, true, &format!("{found:?}")).map(|()| Completion::Completed);
    }
    let told = text(&output.stderr);
    same(output.status.code(), Some(3), &told)?;
    same(told.contains("It needs Linux 6.9 or newer."), true, &told).map(|()| Completion::Completed)
}
