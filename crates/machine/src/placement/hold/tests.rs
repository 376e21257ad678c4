//! Courses of events, played against a simulated system.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::*;

/// A system with threads that have names and masks; it gives of a mask what is reachable.
struct HoldSystem {
    hold: ThreadHold,
    threads: BTreeMap<u32, (u32, String, CpuSet)>,
    /// Masks are looked up in order of appearance, which numbers do not tell.
    order: Vec<u32>,
    reachable: CpuSet,
    now: Duration,
    asked: Cell<u32>,
    /// What threads choose again after they were placed, before it is looked what they have.
    chosen_at_once: Option<CpuSet>,
}

fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

fn role(name: &str, pattern: &str, cpus: &str) -> HoldRole {
    HoldRole { name: name.into(), pattern: Regex::new(pattern).unwrap(), cpus: set(cpus) }
}

fn system(boundary: &str, threads: HoldSpread, enforcement: Option<MaskEnforcement>) -> HoldSystem {
    let policy = HoldPolicy { boundary: set(boundary), threads, enforcement };
    HoldSystem {
        hold: ThreadHold::new(policy),
        threads: BTreeMap::new(),
        order: Vec::new(),
        reachable: CpuSet::first_cpus(16),
        now: Duration::ZERO,
        asked: Cell::new(0),
        chosen_at_once: None,
    }
}

impl HoldSystem {
    fn start(&mut self, process: u32, thread: u32, name: &str, cpus: &str) {
        self.threads.insert(thread, (process, name.into(), set(cpus)));
        self.order.push(thread);
    }

    fn end(&mut self, thread: u32) {
        self.threads.remove(&thread);
        self.order.retain(|known| *known != thread);
    }

    fn choose(&mut self, thread: u32, cpus: &str) {
        self.threads.get_mut(&thread).unwrap().2 = set(cpus);
    }

    fn rename(&mut self, thread: u32, name: &str) {
        self.threads.get_mut(&thread).unwrap().1 = name.into();
    }

    fn cpus(&self, thread: u32) -> String {
        self.threads[&thread].2.to_string()
    }

    /// Looks once and does what comes of it.
    fn look(&mut self) -> HoldStep {
        let threads = &self.threads;
        let seen = |thread: &u32| {
            let (process, name, cpus) = &threads[thread];
            SeenThread { process: *process, parent: process - 1, thread: *thread, name, cpus: cpus.clone() }
        };
        let seen: Vec<SeenThread<'_>> = self.order.iter().map(seen).collect();
        let reachable = || {
            self.asked.set(self.asked.get() + 1);
            self.reachable.clone()
        };
        let step = self.hold.plan_step(&HoldView { seen: &seen, now: self.now, reachable: &reachable });
        for action in &step.actions {
            let got = action.cpus.intersection(&self.reachable);
            let got = self.chosen_at_once.clone().unwrap_or(got);
            self.threads.get_mut(&action.thread).unwrap().2 = got.clone();
            assert_eq!(self.hold.settle_action(action.thread, MaskOutcome::Placed(got)), None);
        }
        step
    }

    /// Looks until nothing is done any more; it must come to that.
    fn rest(&mut self) {
        self.look();
        assert_eq!(self.look(), HoldStep::default(), "a second look finds nothing to do");
    }
}

fn noticed(thread: u32, cpus: &str, response: MaskResponse) -> HoldEvent {
    HoldEvent::Noticed { process: 1, thread, cpus: set(cpus), response }
}

#[test]
fn threads_that_keep_their_mask_are_left_and_nothing_is_asked() {
    for enforcement in [None, Some(MaskEnforcement::Boundary), Some(MaskEnforcement::Exact)] {
        let mut system = system("0-3", HoldSpread::Together, enforcement);
        system.start(1, 1, "main", "0-3");
        system.start(1, 2, "worker", "0-3");
        let step = system.look();
        assert_eq!(step, HoldStep { is_new: true, ..HoldStep::default() });
        system.rest();
        assert_eq!(system.asked.get(), 0);
    }
}

#[test]
fn inside_the_boundary_a_thread_may_choose() {
    let mut system = system("0-3", HoldSpread::Together, Some(MaskEnforcement::Boundary));
    system.start(1, 1, "main", "0-3");
    system.rest();
    system.choose(1, "2,3");
    let step = system.look();
    assert_eq!((step.actions, step.events), (vec![], vec![noticed(1, "2,3", MaskResponse::Left)]));
    system.rest();
    system.choose(1, "1");
    assert_eq!(system.look().events, [], "a thread is told of once");
    assert_eq!(system.cpus(1), "1");
}

#[test]
fn what_reaches_outside_the_boundary_is_put_back_to_what_is_inside() {
    for (chosen, back) in [("2-8", "2,3"), ("0-15", "0-3"), ("8-9", "0-3")] {
        let mut system = system("0-3", HoldSpread::Together, Some(MaskEnforcement::Boundary));
        system.start(1, 1, "main", "0-3");
        system.rest();
        system.choose(1, chosen);
        assert_eq!(system.look().events, [noticed(1, chosen, MaskResponse::PutBack(set(back)))]);
        assert_eq!(system.cpus(1), back);
        system.rest();
    }
}

#[test]
fn exact_puts_back_every_choice() {
    let mut system = system("0-3", HoldSpread::Together, Some(MaskEnforcement::Exact));
    system.start(1, 1, "main", "0-3");
    system.rest();
    system.choose(1, "2");
    assert_eq!(system.look().events, [noticed(1, "2", MaskResponse::PutBack(set("0-3")))]);
    assert_eq!(system.cpus(1), "0-3");
}

#[test]
fn without_enforcement_a_choice_is_noticed_and_stands() {
    let mut system = system("0-3", HoldSpread::Together, None);
    system.start(1, 1, "main", "0-3");
    system.rest();
    system.choose(1, "0-15");
    assert_eq!(system.look().events, [noticed(1, "0-15", MaskResponse::Left)]);
    system.rest();
    assert_eq!(system.cpus(1), "0-15");
}

#[test]
fn after_ten_corrections_it_gives_up_once_and_for_that_thread_only() {
    let mut system = system("0-3", HoldSpread::Together, Some(MaskEnforcement::Exact));
    system.start(1, 1, "main", "0-3");
    system.start(1, 2, "worker", "0-3");
    system.rest();
    for correction in 0..CORRECTIONS {
        system.choose(1, "1");
        assert_eq!(system.look().events.len(), usize::from(correction == 0));
        assert_eq!(system.cpus(1), "0-3");
    }
    system.choose(1, "1");
    assert_eq!(system.look().events, [HoldEvent::GaveUp { process: 1, thread: 1, cpus: set("1") }]);
    system.choose(1, "2");
    system.rest();
    assert_eq!(system.cpus(1), "2");
    system.choose(2, "2");
    system.look();
    assert_eq!(system.cpus(2), "0-3");
}

/// Who chooses again before it is looked what came of a correction is corrected as often as others, and reported.
#[test]
fn who_answers_a_correction_at_once_has_no_more_of_them_and_no_fewer() {
    let mut system = system("0-3", HoldSpread::Together, Some(MaskEnforcement::Exact));
    system.start(1, 1, "main", "0-3");
    system.rest();
    system.chosen_at_once = Some(set("1"));
    system.choose(1, "1");
    let steps: Vec<HoldStep> = (0..CORRECTIONS + 5).map(|_| system.look()).collect();
    assert_eq!(steps.iter().map(|step| step.actions.len()).sum::<usize>(), CORRECTIONS as usize);
    let told: Vec<&HoldEvent> = steps.iter().flat_map(|step| &step.events).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[1], &HoldEvent::GaveUp { process: 1, thread: 1, cpus: set("1") });
}

#[test]
fn threads_that_inherit_a_choice_are_put_back_and_not_told_of() {
    let mut system = system("0-3", HoldSpread::Together, Some(MaskEnforcement::Boundary));
    system.start(1, 1, "main", "0-3");
    system.rest();
    system.choose(1, "4-7");
    system.start(1, 2, "worker", "4-7");
    system.start(2, 3, "child", "4-7");
    assert_eq!(system.look().events, [noticed(1, "4-7", MaskResponse::PutBack(set("0-3")))]);
    assert_eq!([1, 2, 3].map(|thread| system.cpus(thread)), ["0-3", "0-3", "0-3"]);
}

#[test]
fn a_role_is_had_by_name_and_the_first_that_matches_wins() {
    let roles = vec![role("io", "^io", "0"), role("any-1", "1$", "1"), role("work", "work", "2,3")];
    let mut system = system("0-3", HoldSpread::Roles(roles), None);
    for (thread, name) in [(1, "app"), (2, "io-1"), (3, "worker-1"), (4, "worker-2"), (5, "other")] {
        system.start(1, thread, name, "0-3");
    }
    assert_eq!(system.look().events, [], "nobody chose anything");
    assert_eq!([1, 2, 3, 4, 5].map(|thread| system.cpus(thread)), ["0-3", "0", "1", "2,3", "0-3"]);
    system.rest();
}

#[test]
fn a_thread_that_changes_its_name_changes_its_role_and_may_lose_it() {
    let roles = vec![role("io", "^io", "0"), role("work", "^work", "2,3")];
    let mut system = system("0-3", HoldSpread::Roles(roles), Some(MaskEnforcement::Exact));
    system.start(1, 1, "io", "0-3");
    system.rest();
    // A new thread has the name and the mask of its creator, until it is named.
    system.start(1, 2, "io", "0");
    system.rest();
    for (name, cpus) in [("work-1", "2,3"), ("other", "0-3"), ("io", "0")] {
        system.rename(2, name);
        let step = system.look();
        assert_eq!((system.cpus(2).as_str(), step.events), (cpus, vec![]), "{name}");
    }
    for _ in 0..=CORRECTIONS {
        system.rename(2, "work");
        system.rest();
        system.rename(2, "io");
        system.rest();
    }
    assert_eq!(system.cpus(2), "0", "changes of role are no corrections");
}

#[test]
fn a_role_is_the_boundary_of_its_threads() {
    let roles = vec![role("work", "^work", "2,3")];
    let mut system = system("0-3", HoldSpread::Roles(roles), Some(MaskEnforcement::Boundary));
    system.start(1, 1, "work", "0-3");
    system.rest();
    system.choose(1, "3");
    system.rest();
    assert_eq!(system.cpus(1), "3");
    system.choose(1, "0-3");
    system.rest();
    assert_eq!(system.cpus(1), "2,3");
    // What was chosen before the first look stands as well, where it is inside.
    system.start(1, 2, "work", "2");
    assert_eq!(system.look().events, [noticed(2, "2", MaskResponse::Left)]);
    system.start(1, 3, "work", "1");
    assert_eq!(system.look().events, [noticed(3, "1", MaskResponse::PutBack(set("2,3")))]);
}

#[test]
fn a_role_is_given_once_without_enforcement() {
    let roles = vec![role("work", "^work", "2,3")];
    let mut system = system("0-3", HoldSpread::Roles(roles), None);
    system.start(1, 1, "work", "1");
    assert_eq!(system.look().events, [noticed(1, "1", MaskResponse::PutBack(set("2,3")))]);
    system.choose(1, "0");
    assert_eq!(system.look().events, [noticed(1, "0", MaskResponse::Left)]);
    system.rest();
    assert_eq!(system.cpus(1), "0");
}

#[test]
fn threads_take_turns_in_order_of_appearance_and_the_ended_leave_no_place() {
    let mut system = system("0-3", HoldSpread::OnePerThread(vec![0, 2, 1]), None);
    system.start(1, 9, "main", "0-3");
    system.start(1, 5, "a", "0-3");
    system.start(1, 7, "b", "0-3");
    system.rest();
    system.end(5);
    system.start(1, 3, "c", "0");
    system.start(1, 4, "d", "0");
    assert_eq!(system.look().events, []);
    assert_eq!([9, 7, 3, 4].map(|thread| system.cpus(thread)), ["0", "1", "0", "2"]);
    system.rest();
}

#[test]
fn a_single_thread_is_pinned_when_it_has_company_or_after_a_while() {
    let mut system = system("0-3", HoldSpread::OnePerThread(vec![0, 1]), Some(MaskEnforcement::Exact));
    system.start(1, 1, "main", "0-3");
    system.rest();
    assert_eq!(system.cpus(1), "0-3", "it may be asking how many threads to start");
    system.start(2, 2, "child", "0-3");
    system.rest();
    assert_eq!(system.cpus(2), "0-3", "so may its child");
    system.start(2, 3, "thread", "0-3");
    system.rest();
    assert_eq!([1, 2, 3].map(|thread| system.cpus(thread)), ["0-3", "1", "0"]);
    system.now = ALONE;
    system.rest();
    system.end(3);
    system.rest();
    assert_eq!([1, 2].map(|thread| system.cpus(thread)), ["0", "1"], "and stays so");
}

#[test]
fn a_thread_with_a_turn_may_choose_inside_the_placement() {
    let mut system = system("0-3", HoldSpread::OnePerThread(vec![0, 1, 2, 3]), Some(MaskEnforcement::Boundary));
    system.start(1, 1, "main", "0-3");
    system.start(1, 2, "worker", "0-3");
    system.rest();
    assert_eq!(system.cpus(2), "1");
    system.choose(2, "2,3");
    assert_eq!(system.look().events, [noticed(2, "2,3", MaskResponse::Left)]);
    system.rest();
    assert_eq!(system.cpus(2), "2,3");
    system.choose(2, "3-5");
    assert_eq!(system.look().events, [noticed(2, "3-5", MaskResponse::PutBack(set("1")))]);
    assert_eq!(system.cpus(2), "1", "what reaches outside goes back to its turn");
    // What was chosen before the first look stands as well.
    system.start(1, 3, "worker", "0,1");
    assert_eq!(system.look().events, [noticed(3, "0,1", MaskResponse::Left)]);
    system.rest();
}

#[test]
fn exact_and_no_enforcement_give_a_turn_to_who_chose_before_the_first_look() {
    for enforcement in [None, Some(MaskEnforcement::Exact)] {
        let mut system = system("0-3", HoldSpread::OnePerThread(vec![0, 1, 2, 3]), enforcement);
        system.start(1, 1, "main", "0-3");
        system.start(1, 2, "worker", "2,3");
        assert_eq!(system.look().events, [noticed(2, "2,3", MaskResponse::PutBack(set("1")))]);
        assert_eq!(system.cpus(2), "1");
    }
}

#[test]
fn an_offline_cpu_among_the_turns_explains_no_choice() {
    let mut system = system("0-3", HoldSpread::OnePerThread(vec![0, 1, 2, 3]), Some(MaskEnforcement::Exact));
    system.reachable.remove(3);
    system.start(1, 1, "main", "0-2");
    system.start(1, 2, "worker", "0-2");
    assert_eq!(system.look().events, [], "what is left of the placement is what they were given");
    assert_eq!([1, 2].map(|thread| system.cpus(thread)), ["0", "1"]);
    system.start(1, 3, "worker", "8,9");
    assert_eq!(system.look().events, [noticed(3, "8,9", MaskResponse::PutBack(set("2")))]);
    // The turn of the fourth is the offline cpu: whatever the system gives instead is left.
    system.start(1, 4, "worker", "0");
    assert_eq!(system.look().actions, []);
}

#[test]
fn what_the_system_takes_is_nobodys_choice() {
    for enforcement in [None, Some(MaskEnforcement::Boundary), Some(MaskEnforcement::Exact)] {
        let mut system = system("0-3", HoldSpread::Together, enforcement);
        system.start(1, 1, "main", "0-3");
        system.rest();
        // A cpu goes offline, and comes back.
        system.reachable.remove(3);
        system.choose(1, "0-2");
        system.start(1, 2, "new", "0-2");
        assert_eq!(system.look().events, []);
        system.rest();
        assert_eq!(system.cpus(2), "0-2");
        system.reachable.insert(3);
        system.choose(1, "0-3");
        assert_eq!(system.look().events, []);
        // Everything it had goes: the system chooses.
        system.reachable = set("8-15");
        system.choose(1, "8-15");
        assert_eq!(system.look(), HoldStep::default());
    }
}

#[test]
fn what_the_system_gives_in_part_is_not_asked_for_again() {
    let roles = vec![role("work", "^work", "2,3")];
    let mut system = system("0-3", HoldSpread::Roles(roles), Some(MaskEnforcement::Exact));
    system.start(1, 1, "work", "0-3");
    // The thread's own cpuset is narrower than ours, which nobody tells.
    let step = system.look();
    assert_eq!(step.actions, [MaskAction { thread: 1, cpus: set("2,3") }]);
    system.hold.settle_action(1, MaskOutcome::Placed(set("2")));
    system.choose(1, "2");
    assert_eq!(system.look(), HoldStep::default());
}

#[test]
fn a_refusal_is_told_once_and_the_thread_is_left() {
    let mut system = system("0-3", HoldSpread::OnePerThread(vec![1]), None);
    system.start(1, 1, "main", "0-3");
    system.start(1, 2, "other", "0-3");
    system.look();
    let refused = system.hold.settle_action(2, MaskOutcome::Refused("Operation not permitted".into()));
    assert_eq!(refused, Some(HoldEvent::Refused { process: 1, thread: 2, why: "Operation not permitted".into() }));
    system.choose(2, "0-3");
    assert_eq!(system.look(), HoldStep::default());
    assert_eq!(system.hold.settle_action(7, MaskOutcome::Ended), None);
}
