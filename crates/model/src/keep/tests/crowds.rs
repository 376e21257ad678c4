//! More threads than there is room for: who is held, who waits, and until when.

use std::time::Duration;

use super::{resolved, set};
use crate::keep::{
    ChargedUser, KeepActionOutcome, MAX_HELD_THREADS, MaskAuthor, ObservedProcess, ObservedThread, ProcessStanding,
    RuleKeeper,
};

const RULES: &str = r#"
[[rule]]
name = "db"
match = { exe = "*/matched" }
on = "1"
[[rule]]
name = "web"
match = { exe = "/opt/victim" }
on = "0"
"#;

/// A process with all cpus, whose threads have numbers of their own.
fn process(id: u32, user: &str, exe: &str, threads: u32) -> ObservedProcess {
    let thread = |index| ObservedThread { id: id * 10_000 + index, start_ticks: 1, name: "x".into(), cpus: set("0-7") };
    ObservedProcess {
        id,
        start_ticks: 1,
        name: exe.rsplit('/').next().unwrap().into(),
        exe: Some(exe.into()),
        user: user.into(),
        charged_to: ChargedUser { name: user.into(), is_system: user == "root" },
        reachable: set("0-7"),
        threads: (0..threads).map(thread).collect(),
        ..ObservedProcess::default()
    }
}

fn matched(id: u32, user: &str, threads: u32) -> ObservedProcess {
    process(id, user, "/home/x/matched", threads)
}

fn victim(id: u32) -> ObservedProcess {
    process(id, "root", "/opt/victim", 1)
}

/// Looks at a process and settles what is placed; how many threads are placed, and how many get back what they had.
fn look(keeper: &mut RuleKeeper, seen: &ObservedProcess) -> (usize, usize) {
    let actions = keeper.plan_actions(seen, Duration::ZERO, &|_| MaskAuthor::Unknown);
    let placed = actions.iter().filter_map(|action| Some((action, action.cpus.clone()?)));
    for (action, cpus) in placed.clone() {
        keeper.settle_action(action, KeepActionOutcome::Placed(cpus), Duration::ZERO);
    }
    let placed = placed.count();
    (placed, actions.len() - placed)
}

#[test]
fn no_user_keeps_processes_of_others_from_being_held() {
    let mut keeper = RuleKeeper::new(resolved(RULES));
    assert_eq!(look(&mut keeper, &matched(1, "eve", 5_000)), (5_000, 0));
    assert_eq!(look(&mut keeper, &victim(2)), (1, 5_000), "the rule of nobody else is off");
    assert_eq!(keeper.waiting()[&1].rule, "db");
    assert_eq!(look(&mut keeper, &matched(1, "eve", 5_000)), (0, 0));
    for id in 10..60 {
        look(&mut keeper, &matched(id, "eve", 200));
    }
    assert_eq!(look(&mut keeper, &matched(100, "ann", 300)), (300, 200), "nor of the same rule");
    assert!(keeper.room_taken() <= MAX_HELD_THREADS);
    assert!(keeper.processes().contains_key(&2) && keeper.processes().contains_key(&100));
}

#[test]
fn many_users_do_not_keep_services_from_being_held() {
    let mut keeper = RuleKeeper::new(resolved(RULES));
    for id in 1..=5_000 {
        look(&mut keeper, &matched(id, &format!("user{id}"), 1));
    }
    assert_eq!(look(&mut keeper, &process(9_000, "root", "/opt/victim", 3_000)), (3_000, 3_000));
    assert_eq!(keeper.waiting().len(), 3_000);
}

#[test]
fn a_process_that_grows_beyond_its_share_gives_way() {
    let mut keeper = RuleKeeper::new(resolved(RULES));
    look(&mut keeper, &victim(2));
    look(&mut keeper, &matched(1, "eve", 4_000));
    let mut grown = matched(1, "eve", 5_000);
    grown.threads[..4_000].iter_mut().for_each(|thread| thread.cpus = set("1"));
    assert_eq!(look(&mut keeper, &grown), (0, 4_000), "as a whole");
    assert_eq!((keeper.room_taken(), keeper.waiting()[&1].threads), (1, 5_000));
}

#[test]
fn a_process_waits_until_there_is_room_and_is_forgotten_when_it_ends() {
    let mut keeper = RuleKeeper::new(resolved(RULES));
    look(&mut keeper, &matched(1, "eve", 5_000));
    look(&mut keeper, &victim(2));
    let eve = matched(1, "eve", 5_000);
    assert!(keeper.turns_away(&eve, 5_000, Duration::from_secs(9)));
    assert_eq!(keeper.waiting()[&1].since, Duration::ZERO, "it waits since it gave way");
    keeper.forget_process(2);
    assert!(!keeper.turns_away(&eve, 5_000, Duration::ZERO));
    assert_eq!(look(&mut keeper, &eve), (5_000, 0));
    assert!(keeper.waiting().is_empty());
    assert!(keeper.turns_away(&matched(3, "eve", 1), 1, Duration::ZERO) || keeper.processes().contains_key(&1));
    look(&mut keeper, &victim(2));
    let renamed = process(1, "eve", "/home/x/other", 5_000);
    assert!(keeper.concerns_process(&renamed));
    look(&mut keeper, &renamed);
    assert!(keeper.waiting().is_empty(), "no rule matches it any more");
}

#[test]
fn processes_that_are_left_alone_take_room_too() {
    let mut keeper = RuleKeeper::new(resolved(RULES));
    for id in 1..=5_000 {
        look(&mut keeper, &matched(id, "eve", 1));
        keeper.release_process(id, Duration::ZERO);
    }
    assert!(keeper.processes().values().all(|held| held.standing != ProcessStanding::Held));
    assert_eq!(keeper.room_taken(), MAX_HELD_THREADS);
    assert_eq!(look(&mut keeper, &victim(6_000)), (1, 0));
    assert_eq!(keeper.room_taken(), MAX_HELD_THREADS);
}

#[test]
fn of_a_great_crowd_only_some_are_remembered() {
    let mut keeper = RuleKeeper::new(resolved(RULES));
    look(&mut keeper, &matched(1, "ann", 2_500));
    for id in 2..6_000 {
        assert!(keeper.turns_away(&matched(id, "eve", 0), 4_000, Duration::ZERO));
    }
    assert_eq!(keeper.waiting().len(), 5_000);
}
