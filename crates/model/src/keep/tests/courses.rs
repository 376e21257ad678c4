//! Who wins, one course of events after the other.

use std::time::Duration;

use super::system::TestSystem;
use super::{CpuSet, resolved, set};
use crate::keep::{
    KeepActionOutcome, LONGEST_PAUSE, LeftBecause, MaskAuthor, OriginalMask, ProcessStanding, RuleKeeper,
};

const RULE: &str = "[[rule]]\nname = \"game\"\nmatch = { name = \"game\" }\non = \"0-3\"\n";

/// A game of two threads that the rule holds.
fn held(rule: &str) -> TestSystem {
    let mut system = TestSystem::new(rule);
    system.start(10, "game", 1, None);
    system.thread(10, 11, "worker");
    assert_eq!(system.look(10).len(), 2);
    assert_eq!((system.cpus(10), system.cpus(11)), ("0-3".into(), "0-3".into()));
    assert_eq!(system.look(10), [], "what is done is not done again");
    system
}

fn exact() -> String {
    format!("{RULE}strength = \"exact\"\n")
}

fn other() -> MaskAuthor {
    MaskAuthor::Program { program: "gamed (99)".into() }
}

#[test]
fn what_narrows_inside_stays() {
    let mut system = held(RULE);
    system.choose(11, &set("2"));
    assert_eq!(system.look(10), []);
    system.author = MaskAuthor::Itself;
    system.choose(11, &set("1-2"));
    assert_eq!(system.look(10), []);
    system.stop();
    assert_eq!((system.cpus(10), system.cpus(11)), ("0-7".into(), "1,2".into()), "its own choice is not given back");
}

#[test]
fn what_leaves_the_boundary_releases_the_process() {
    let mut system = held(RULE);
    system.choose(11, &set("3-4"));
    assert_eq!(system.look(10).len(), 1);
    assert_eq!((system.cpus(10), system.cpus(11)), ("0-7".into(), "3,4".into()));
    assert!(system.said(10).starts_with("released: an unknown author (the kernel"), "{}", system.said(10));
    system.choose(10, &set("5"));
    assert_eq!(system.look(10), [], "it is left alone");
}

#[test]
fn exact_corrects_ten_times_an_hour_and_then_names_who_it_was() {
    let mut system = held(&exact());
    system.author = other();
    for minute in 0..10 {
        system.now = Duration::from_secs(60 * minute);
        system.choose(11, &set("1"));
        assert_eq!(system.look(10).len(), 1);
        assert_eq!(system.cpus(11), "0-3");
        assert_eq!(system.said(10), "gamed (99) set cpus 1; they are 0-3 again");
    }
    system.choose(11, &set("1"));
    system.look(10);
    assert_eq!((system.cpus(11), system.cpus(10)), ("1".into(), "0-7".into()));
    let said = "released: gamed (99) set cpus 1 again after 10 corrections by corewise within an hour";
    assert_eq!(system.said(10), said);
    let ProcessStanding::Left(LeftBecause::Fought { corrected, .. }) = &system.keeper.processes()[&10].standing else {
        panic!()
    };
    assert_eq!((corrected.len(), corrected[9]), (10, Duration::from_secs(540)));
}

/// A daemon that answers before it is looked what came of a correction is fought as long as others, and named.
#[test]
fn who_answers_a_correction_at_once_is_corrected_ten_times_and_named() {
    let mut system = held(&exact());
    system.author = other();
    system.choose(11, &set("1"));
    system.chosen_at_once = Some(set("1"));
    let corrections: usize = (0..10).map(|_| system.look(10).len()).sum();
    assert_eq!((corrections, system.cpus(11)), (10, "1".into()));
    system.chosen_at_once = None;
    system.look(10);
    let said = "released: gamed (99) set cpus 1 again after 10 corrections by corewise within an hour";
    assert_eq!(system.said(10), said);
}

/// Between the request for a mask and the look at what came of it, a busy machine may let others run for long.
#[test]
fn a_person_who_answers_a_placement_at_once_wins() {
    let mut system = TestSystem::new(RULE);
    system.author = MaskAuthor::Person { program: "taskset (7)".into() };
    system.start(10, "game", 1, None);
    system.chosen_at_once = Some(set("5"));
    assert_eq!(system.look(10).len(), 1);
    system.chosen_at_once = None;
    system.look(10);
    assert_eq!(
        (system.cpus(10), system.said(10)),
        ("5".into(), "released: a person set cpus 5 with taskset (7)".into())
    );
}

#[test]
fn corrections_of_an_hour_ago_do_not_count() {
    let mut system = held(&exact());
    for hour in 0..30 {
        system.now = Duration::from_secs(600 * hour);
        system.choose(11, &set("1"));
        system.look(10);
        assert_eq!(system.cpus(11), "0-3");
    }
    assert_eq!(system.keeper.processes()[&10].corrections, 30);
}

#[test]
fn another_daemon_is_corrected_at_the_boundary_too_and_a_person_wins() {
    let mut system = held(RULE);
    system.author = other();
    system.choose(11, &set("7"));
    assert_eq!(system.look(10).len(), 1);
    assert_eq!(system.cpus(11), "0-3");
    for rule in [RULE.to_owned(), exact()] {
        let mut system = held(&rule);
        system.author = MaskAuthor::Person { program: "taskset (7)".into() };
        system.choose(11, &set("2"));
        system.look(10);
        assert_eq!((system.cpus(10), system.cpus(11)), ("0-7".into(), "2".into()));
        assert_eq!(system.said(10), "released: a person set cpus 2 with taskset (7)");
    }
}

#[test]
fn once_is_once() {
    let mut system = held(&format!("{RULE}strength = \"once\"\n"));
    system.choose(11, &set("6"));
    assert_eq!(system.look(10), []);
    system.keeper.set_rules(resolved(&RULE.replace("0-3", "4").replace("on", "strength = \"once\"\non")));
    assert_eq!(system.look(10), []);
    system.stop();
    assert_eq!((system.cpus(10), system.cpus(11)), ("0-7".into(), "6".into()));
}

#[test]
fn a_cpu_goes_and_comes_back() {
    for remembers_masks in [true, false] {
        let mut system = held(RULE);
        system.remembers_masks = remembers_masks;
        system.change_cpuset(set("3-7"));
        assert_eq!(system.look(10), []);
        system.change_cpuset(set("4-7"));
        assert_eq!(system.look(10), []);
        assert_eq!(system.cpus(10), "4-7", "no cpu of the rule is there: the kernel decides");
        assert_eq!(system.said(10), "no cpu of 0-3 can be had: another program lets  use 4-7");
        system.change_cpuset(set("0-1,4-7"));
        system.look(10);
        assert_eq!(system.cpus(10), "0,1");
        system.change_cpuset(set("0-7"));
        system.look(10);
        assert_eq!((system.cpus(10), system.look(10)), ("0-3".into(), vec![]));
        system.stop();
        assert_eq!(system.cpus(10), "0-7");
    }
}

/// The rules are read again when cpus go offline: then the rule itself has none.
#[test]
fn a_rule_waits_for_its_cpus() {
    for remembers_masks in [true, false] {
        let mut system = held(RULE);
        system.remembers_masks = remembers_masks;
        let mut without = resolved(RULE);
        without[0].cpus = CpuSet::new();
        system.change_cpuset(set("4-7"));
        system.keeper.set_rules(without.clone());
        assert_eq!(system.look(10), []);
        assert_eq!(system.cpus(10), "4-7");
        assert_eq!(system.said(10), "rule game has no cpu here now: the kernel decides until there is one");
        system.start(20, "game", 1, None);
        assert_eq!(system.look(20), [], "it is not held before there is a cpu");
        system.change_cpuset(set("0-7"));
        system.keeper.set_rules(resolved(RULE));
        system.look_at_all();
        assert_eq!([10, 11, 20].map(|id| system.cpus(id)), ["0-3"; 3]);
        system.keeper.set_rules(without);
        system.keeper.set_rules(resolved(&format!("{RULE}disabled = true\n")));
        system.look_at_all();
        assert_eq!([10, 11, 20].map(|id| system.cpus(id)), ["0-7"; 3]);
    }
}

/// Older kernels give a process that comes into a control group all cpus that this has.
#[test]
fn a_process_in_another_group_is_held_there() {
    let mut system = held(RULE);
    system.group = "/other".into();
    system.choose(10, &set("0-7"));
    assert_eq!(system.look(10).len(), 1);
    assert_eq!(system.cpus(10), "0-3");
    system.choose(10, &set("0-7"));
    system.look(10);
    assert!(matches!(system.keeper.processes()[&10].standing, ProcessStanding::Left(_)), "nobody moved it this time");
}

#[test]
fn a_whole_cpuset_is_given_back_as_whole() {
    let mut system = TestSystem::new(RULE);
    system.change_cpuset(set("0,1"));
    system.start(10, "game", 1, None);
    system.look(10);
    assert_eq!(system.keeper.processes()[&10].threads[&10].original, OriginalMask::All);
    system.change_cpuset(set("0-5"));
    system.look(10);
    assert_eq!(system.cpus(10), "0-3");
    system.stop();
    assert_eq!(system.cpus(10), "0-5");
}

#[test]
fn nothing_becomes_wider_unless_the_rule_says_so() {
    let mut system = TestSystem::new(RULE);
    system.start(10, "game", 1, Some(set("3-4")));
    system.start(20, "game", 1, Some(set("6")));
    system.look_at_all();
    assert_eq!((system.cpus(10), system.cpus(20)), ("3".into(), "6".into()));
    assert!(system.said(20).ends_with("`widen = true` in rule game would give it others"), "{}", system.said(20));
    system.keeper.set_rules(resolved(&format!("{RULE}widen = true\n")));
    system.look_at_all();
    assert_eq!((system.cpus(10), system.cpus(20)), ("0-3".into(), "0-3".into()));
    system.stop();
    assert_eq!((system.cpus(10), system.cpus(20)), ("3,4".into(), "6".into()));
}

#[test]
fn an_exec_changes_what_matches_and_children_that_do_not_match_are_given_back() {
    let mut system = held(RULE);
    system.start(20, "game", 10, None);
    assert_eq!(system.cpus(20), "0-3", "inherited");
    assert_eq!(system.look(20), []);
    system.exec(20, "helper");
    assert_eq!(system.look(20).len(), 1);
    assert_eq!((system.cpus(20), system.look(20)), ("0-7".into(), vec![]));
    system.start(30, "sh", 10, None);
    assert_eq!(system.look(30).len(), 1);
    assert_eq!((system.cpus(30), system.look(30)), ("0-7".into(), vec![]));
    system.exec(10, "other");
    system.look(10);
    assert_eq!(system.cpus(10), "0-7");
}

#[test]
fn a_number_that_is_used_again_is_another_process() {
    let mut system = held(RULE);
    system.choose(11, &set("7"));
    system.look(10);
    assert!(matches!(system.keeper.processes()[&10].standing, ProcessStanding::Left(_)));
    system.processes.remove(&10);
    system.tasks.clear();
    system.start(10, "game", 1, None);
    assert_eq!(system.look(10).len(), 1, "the end of the first was not seen");
    assert_eq!(system.keeper.processes()[&10].standing, ProcessStanding::Held);
}

#[test]
fn threads_by_their_names_and_new_ones() {
    let rule = format!("{RULE}threads = [{{ name = \"io_*\", on = \"3\" }}]\n");
    let mut system = held(&rule);
    system.thread(10, 12, "io_1");
    system.look(10);
    assert_eq!(system.cpus(12), "3");
    system.thread(12, 13, "worker");
    assert_eq!(system.cpus(13), "3", "inherited");
    system.look(10);
    assert_eq!(system.cpus(13), "0-3");
    system.stop();
    assert!([10, 11, 12, 13].iter().all(|thread| system.cpus(*thread) == "0-7"));
}

/// Refuses the next placement of a process; returns the number of its actions.
fn refuse(system: &mut TestSystem, process: u32, why: &str) -> usize {
    let seen = system.seen(process).unwrap();
    let actions = system.keeper.plan_actions(&seen, system.now, &|_| MaskAuthor::Unknown);
    for action in &actions {
        system.keeper.settle_action(action, KeepActionOutcome::Refused(why.to_owned()), system.now);
    }
    actions.len()
}

/// A refusal is of the moment: a full disk, or a journal of too many changes.
#[test]
fn what_is_refused_is_tried_again_after_growing_pauses() {
    let mut system = TestSystem::new(RULE);
    system.start(10, "game", 1, None);
    assert_eq!(refuse(&mut system, 10, "no space left on device"), 1);
    let (mut attempts, second) = (Vec::new(), Duration::from_secs(1));
    for at in 1..2_000 {
        system.now = at * second;
        let is_due = system.keeper.processes_to_retry(system.now) == [10];
        let count = refuse(&mut system, 10, "no space left on device");
        assert_eq!(count, usize::from(is_due), "{at}");
        if is_due {
            attempts.push(at);
        }
    }
    assert_eq!(attempts, [1, 3, 7, 15, 31, 63, 127, 255, 511, 811, 1_111, 1_411, 1_711]);
    let held = &system.keeper.processes()[&10];
    assert_eq!((held.notes.len(), held.held_threads()), (2, 0), "said once: {:?}", held.notes);
    assert_eq!(held.refusal(), Some((1, "no space left on device")));
    system.now += LONGEST_PAUSE;
    assert_eq!(system.look(10).len(), 1);
    assert_eq!((system.cpus(10), system.said(10)), ("0-3".into(), "all its threads are placed now".into()));
    let held = &system.keeper.processes()[&10];
    assert_eq!((held.refusal(), held.held_threads()), (None, 1));
    assert!(system.keeper.processes_to_retry(Duration::MAX).is_empty());
}

#[test]
fn what_is_refused_has_nothing_to_give_back() {
    let mut system = TestSystem::new(RULE);
    system.start(10, "game", 1, None);
    assert_eq!(refuse(&mut system, 10, "no space left on device"), 1);
    assert_eq!(system.look(10), []);
    system.stop();
    assert_eq!(system.cpus(10), "0-7", "there is nothing to give back");
    system.look(10);
    system.start(20, "game", 1, None);
    refuse(&mut system, 20, "no space left on device");
    assert_eq!(system.said(20), "thread 20 was not placed: no space left on device");
    system.keeper.set_rules(resolved(&RULE.replace("0-3", "0-2")));
    assert_eq!(system.look(20).len(), 1, "other cpus are another wish");
}

#[test]
fn rules_are_replaced_and_processes_released() {
    let mut system = held(RULE);
    system.keeper.set_rules(resolved(&RULE.replace("0-3", "4-5")));
    system.look(10);
    assert_eq!((system.cpus(10), system.cpus(11)), ("4,5".into(), "4,5".into()));
    let actions = system.keeper.release_process(10, system.now);
    system.carry_out(&actions);
    assert_eq!((system.cpus(10), system.look(10)), ("0-7".into(), vec![]));
    let mut system = held(RULE);
    system.keeper.set_rules(resolved(&format!("{RULE}disabled = true\n")));
    system.look(10);
    assert_eq!(system.cpus(11), "0-7");
    assert!(system.keeper.processes().is_empty());
}

/// A keeper that was killed left masks behind; the next one takes them over, and nothing moves in between.
#[test]
fn the_next_keeper_takes_over_what_was_placed() {
    let mut system = held(RULE);
    system.start(20, "tool", 1, None);
    let placed: Vec<_> = [10, 11]
        .map(|thread| ((thread, system.tasks[&thread].start_ticks), OriginalMask::All, set("0-3")))
        .into_iter()
        .collect();
    system.thread(11, 12, "born meanwhile");
    system.keeper = RuleKeeper::new(resolved(RULE));
    system.keeper.take_over(placed.clone(), []);
    assert_eq!(system.look_at_all(), [], "all have what they should have");
    system.stop();
    assert!([10, 11, 12, 20].iter().all(|thread| system.cpus(*thread) == "0-7"));

    let mut system = held(RULE);
    system.choose(11, &set("6"));
    system.keeper = RuleKeeper::new(resolved(&RULE.replace("0-3", "4-5")));
    system.keeper.take_over(placed, []);
    system.look(10);
    let ProcessStanding::Left(LeftBecause::LeftBoundary { cpus, .. }) = &system.keeper.processes()[&10].standing else {
        panic!("somebody set it since")
    };
    assert_eq!((cpus, system.cpus(10), system.cpus(11)), (&set("6"), "0-7".into(), "6".into()));
}

#[test]
fn who_was_released_stays_so_until_it_is_to_be_held_again() {
    let mut system = held(RULE);
    let actions = system.keeper.release_process(10, system.now);
    system.carry_out(&actions);
    let left = system.keeper.processes().clone();
    let by_another_rule = RULE.replacen("game", "other", 1);
    for rules in [format!("{RULE}disabled = true\n{by_another_rule}"), by_another_rule, RULE.to_owned()] {
        system.keeper.set_rules(resolved(&rules));
        assert_eq!((system.look(10), system.cpus(10)), (vec![], "0-7".into()));
    }
    // By the keeper after this one, too.
    system.keeper = RuleKeeper::new(resolved(RULE));
    system.keeper.take_over([], left);
    assert_eq!((system.look(10), system.cpus(10)), (vec![], "0-7".into()));
    system.keeper.hold_again(10);
    system.look(10);
    assert_eq!(system.cpus(10), "0-3");
}

#[test]
fn who_was_corrected_before_is_named_where_the_last_author_is_lost() {
    let mut system = held(&exact());
    for round in 0..=10 {
        system.author = if round == 10 { MaskAuthor::Unknown } else { other() };
        system.choose(11, &set("1"));
        system.look(10);
    }
    assert!(system.said(10).starts_with("released: gamed (99) set cpus 1 again"), "{}", system.said(10));
}
