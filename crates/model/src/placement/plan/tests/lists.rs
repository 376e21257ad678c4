//! The lists of candidates on machines that people know, as they are read.

use insta::assert_snapshot;

use super::built::built_in;
use crate::Machine;
use crate::placement::plan::{Plan, USUAL_MOST, plan};
use crate::placement::sample::{bulldozer, hybrid};

/// A line for each candidate: its expression, its cpus, how many it stands for, and why.
pub fn shown(plan: &Plan) -> String {
    let mut text = format!("{} of {} classes of {} subsets\n", plan.classes_here, plan.classes, plan.subsets);
    plan.remarks.iter().for_each(|remark| text += &format!("{remark}\n"));
    for candidate in &plan.candidates {
        let expression = candidate.expression.as_deref().unwrap_or("-");
        let (cpus, stands_for, of) = (&candidate.cpus, candidate.stands_for, candidate.of);
        text += &format!("{expression:<30} {cpus:<20} {stands_for} of {of}: {}\n", candidate.reason);
    }
    text
}

fn of(machine: &Machine, threads: Option<u32>) -> String {
    shown(&plan(machine, &machine.online, threads, None, USUAL_MOST))
}

#[test]
fn print() {
    for name in [
        "fx-8150",
        "threadripper-2990wx",
        "threadripper-3960x",
        "ryzen-9-9950x3d",
        "simulated-hybrid",
        "simulated-2-packages",
        "core2-quad-q6600",
        "simulated-sparse",
    ] {
        for threads in [None, Some(1), Some(2), Some(4), Some(8), Some(16), Some(100)] {
            let begun = std::time::Instant::now();
            let machine = built_in(name);
            let text = of(&machine, threads);
            println!("## {name} {threads:?} {:?}\n{text}", begun.elapsed());
        }
    }
    let machine = built_in("simulated-1536-cpus");
    for threads in [None, Some(16), Some(768)] {
        let begun = std::time::Instant::now();
        let text = of(&machine, threads);
        println!("## 1536 {threads:?} {:?}\n{text}", begun.elapsed());
    }
}
