//! Kills the keeper with `kill -9` at random moments under load, followed by `undo` or another keeper that ends normally. All masks must be
//! as before, except for masks set by others meanwhile.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use corewise_machine::CpuSet;
use corewise_machine::random::RandomGenerator;
use corewise_sys::process::ProcessIdentity;
use corewise_sys::{affinity, task};

use super::ComparisonStage;
use super::keeper::{KeeperKind, RunningKeeper, SleeperCrowd};

/// Processes that live through it all, and threads of each.
const PROCESSES: usize = 12;
const THREADS: usize = 6;
/// Maximum life of the keeper: it begins to place within the first milliseconds.
const LONGEST: Duration = Duration::from_millis(1_500);

/// Expected masks of the threads.
type ThreadMasks = BTreeMap<u32, CpuSet>;

/// Kills it `times` times; returns false if a mask is wrong.
pub fn run(stage: &ComparisonStage, times: u32) -> Result<bool> {
    stage.write_rules(&["actor".to_owned()])?;
    let mut random = RandomGenerator::new(21);
    let mut crowd = SleeperCrowd(Vec::new());
    let mut masks = ThreadMasks::new();
    for _ in 0..PROCESSES {
        let process = crowd.add_sleeper(stage, "actor", THREADS)?;
        masks.extend(task::thread_numbers(process).into_iter().map(|thread| (thread, stage.all.clone())));
    }
    // Some had fewer cpus before.
    let first = CpuSet::from_cpu(stage.all.lowest().unwrap_or_default());
    for (thread, cpus) in masks.iter_mut().filter(|(thread, _)| **thread % 5 == 0) {
        ProcessIdentity::find_task(*thread).and_then(|task| task.restrict_thread(&first))?;
        *cpus = first.clone();
    }
    let (mut wrong, mut placed, mut set_by_others, mut born) = (0, 0_usize, 0, 0);
    for round in 0..times {
        let mut passing = SleeperCrowd(Vec::new());
        let keeper = RunningKeeper::start_keeper(KeeperKind::Corewise, stage)?;
        let end = Instant::now() + LONGEST.mul_f64(random.next_unit());
        // Load: programs that the rule matches come and go.
        while Instant::now() < end {
            passing.add_sleeper(stage, "actor", THREADS)?;
            born += 1;
            if passing.0.len() > 4 {
                passing.end_one()?;
            }
        }
        keeper.kill_keeper()?;
        placed += masks
            .iter()
            .filter(|(thread, cpus)| read_mask(**thread) == Some(stage.one.clone()) && **cpus != stage.one)
            .count();
        // Another program sets the masks of a few while no keeper runs.
        let others: Vec<u32> = masks.keys().copied().filter(|_| random.next_unit() < 0.05).collect();
        for thread in others {
            ProcessIdentity::find_task(thread).and_then(|task| task.restrict_thread(&first))?;
            masks.insert(thread, first.clone());
            set_by_others += 1;
        }
        if round % 2 == 0 {
            ensure!(stage.corewise(&["undo"]).output()?.status.success(), "undo failed");
        } else {
            let next = RunningKeeper::start_keeper(KeeperKind::Corewise, stage)?;
            std::thread::sleep(LONGEST.mul_f64(random.next_unit() / 3.0));
            next.stop_keeper()?;
        }
        let passing: ThreadMasks = passing
            .0
            .iter()
            .flat_map(|child| task::thread_numbers(child.id()))
            .map(|thread| (thread, stage.all.clone()))
            .collect();
        for (thread, expected) in masks.iter().chain(&passing) {
            if let Some(now) = read_mask(*thread).filter(|now| now != expected) {
                println!("round {round}: thread {thread} may use {now}, and has to have {expected}");
                wrong += 1;
            }
        }
        ensure!(wrong < 10, "that is enough");
        // Resets the masks set by others, for the next round.
        for (thread, cpus) in masks.iter_mut().filter(|(thread, _)| **thread % 5 != 0) {
            ProcessIdentity::find_task(*thread).and_then(|task| task.restrict_thread(&stage.all))?;
            cpus.clone_from(&stage.all);
        }
    }
    println!(
        "{times} times kill -9, then undo or another keeper in turn: {wrong} masks wrong ({} threads throughout, {placed} placed when it was killed, {born} programs came meanwhile, {set_by_others} masks were set by somebody else)",
        masks.len()
    );
    Ok(wrong == 0)
}

fn read_mask(thread: u32) -> Option<CpuSet> {
    affinity::affinity_of(thread).ok()
}
