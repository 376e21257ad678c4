//! Room for held threads, and the order in which processes give way if there is not enough for all.
//!
//! A process is held as a whole or not at all. If there is no room for one more, the process that gives way is found in
//! four steps: the side with the most threads (root and services count a third), then the user, then the rule, then the
//! process. So no side, user or rule can take room that another needs, and unneeded room is free for all.

use std::collections::{BTreeMap, BTreeSet};

use super::process::ChargedUser;

/// Maximum number of threads held at the same time: each takes memory and an entry in the journal.
pub const MAX_HELD_THREADS: usize = 5_000;
/// Number of threads that root and services may have for each one of other users, if both need them.
const SYSTEM_WEIGHT: usize = 3;

/// A process and the threads for which it takes room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessClaim {
    pub process: u32,
    pub user: ChargedUser,
    pub rule: String,
    /// At least one: a process that is left alone is remembered, too.
    pub threads: usize,
}

/// The claims that have room.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadRoom {
    users: BTreeMap<ChargedUser, UserShare>,
    /// Threads of root and services.
    system_threads: usize,
    other_threads: usize,
}

#[derive(Clone, Debug, Default)]
struct UserShare {
    threads: usize,
    rules: BTreeMap<String, RuleShare>,
}

#[derive(Clone, Debug, Default)]
struct RuleShare {
    threads: usize,
    /// Ordered by number of threads.
    processes: BTreeSet<(usize, u32)>,
}

impl ThreadRoom {
    /// Returns the number of threads with room; a process that is left alone counts as one.
    pub(super) fn claimed_threads(&self) -> usize {
        self.system_threads + self.other_threads
    }

    pub(super) fn add_claim(&mut self, claim: &ProcessClaim) {
        *self.side_mut(claim.user.is_system) += claim.threads;
        let user = self.users.entry(claim.user.clone()).or_default();
        user.threads += claim.threads;
        let rule = user.rules.entry(claim.rule.clone()).or_default();
        rule.threads += claim.threads;
        rule.processes.insert((claim.threads, claim.process));
    }

    pub(super) fn remove_claim(&mut self, claim: &ProcessClaim) {
        let Some(user) = self.users.get_mut(&claim.user) else { return };
        let Some(rule) = user.rules.get_mut(&claim.rule) else { return };
        if !rule.processes.remove(&(claim.threads, claim.process)) {
            return;
        }
        rule.threads -= claim.threads;
        user.threads -= claim.threads;
        if rule.processes.is_empty() {
            user.rules.remove(&claim.rule);
        }
        if user.rules.is_empty() {
            self.users.remove(&claim.user);
        }
        *self.side_mut(claim.user.is_system) -= claim.threads;
    }

    /// Returns the claims that give way for another one, or `None` if that one would itself give way. Changes nothing.
    pub(super) fn claims_displaced_by(&mut self, claim: &ProcessClaim) -> Option<Vec<ProcessClaim>> {
        let mut displaced = Vec::new();
        self.add_claim(claim);
        let has_room = loop {
            if self.claimed_threads() <= MAX_HELD_THREADS {
                break true;
            }
            match self.largest_claim() {
                Some(largest) if largest.process != claim.process => {
                    self.remove_claim(&largest);
                    displaced.push(largest);
                }
                _ => break false,
            }
        };
        self.remove_claim(claim);
        displaced.iter().for_each(|displaced| self.add_claim(displaced));
        has_room.then_some(displaced)
    }

    fn side_mut(&mut self, is_system: bool) -> &mut usize {
        if is_system { &mut self.system_threads } else { &mut self.other_threads }
    }

    /// Returns the claim that gives way next.
    fn largest_claim(&self) -> Option<ProcessClaim> {
        let is_system = self.system_threads > SYSTEM_WEIGHT * self.other_threads;
        let side = self.users.iter().filter(|(user, _)| user.is_system == is_system);
        let (user, share) = side.max_by_key(|(_, share)| share.threads)?;
        let (rule, share) = share.rules.iter().max_by_key(|(_, share)| share.threads)?;
        let (threads, process) = *share.processes.last()?;
        Some(ProcessClaim { process, user: user.clone(), rule: rule.clone(), threads })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    fn claim(process: u32, user: &str, rule: &str, threads: usize) -> ProcessClaim {
        let user = ChargedUser { name: user.into(), is_system: ["root", "redis"].contains(&user) };
        ProcessClaim { process, user, rule: rule.into(), threads }
    }

    /// Claims room as a keeper does; returns true if there is some.
    fn claims_room(room: &mut ThreadRoom, claim: &ProcessClaim) -> bool {
        let displaced = room.claims_displaced_by(claim);
        let has_room = displaced.is_some();
        displaced.into_iter().flatten().for_each(|displaced| room.remove_claim(&displaced));
        if has_room {
            room.add_claim(claim);
        }
        has_room
    }

    fn threads_of(room: &ThreadRoom, user: &str) -> usize {
        room.users.iter().filter(|(known, _)| known.name == user).map(|(_, share)| share.threads).sum()
    }

    fn filled_by(claims: impl IntoIterator<Item = ProcessClaim>) -> ThreadRoom {
        let mut room = ThreadRoom::default();
        for claim in claims {
            claims_room(&mut room, &claim);
        }
        assert_eq!(room.claimed_threads(), MAX_HELD_THREADS);
        room
    }

    #[test]
    fn one_user_may_take_all_room_until_another_one_needs_it() {
        let mut room = filled_by((0..5_000).map(|process| claim(process, "ann", "builds", 1)));
        assert!(!claims_room(&mut room, &claim(5_000, "ann", "builds", 1)));
        assert!(claims_room(&mut room, &claim(6_000, "bob", "builds", 2_000)));
        assert_eq!((threads_of(&room, "ann"), threads_of(&room, "bob")), (3_000, 2_000));
        let mut room = filled_by((0..5_000).map(|process| claim(process, "ann", "builds", 1)));
        for (process, user) in (5_000..15_000).zip(["bob", "eve"].into_iter().cycle()) {
            claims_room(&mut room, &claim(process, user, "builds", 1));
        }
        let shares = ["ann", "bob", "eve"].map(|user| threads_of(&room, user));
        assert!(shares.iter().all(|share| (1_666..=1_668).contains(share)), "{shares:?}");
    }

    #[test]
    fn a_process_of_all_threads_gives_way_as_a_whole() {
        let mut room = filled_by([claim(1, "ann", "builds", 5_000)]);
        assert!(claims_room(&mut room, &claim(2, "bob", "builds", 1)));
        assert_eq!(room.claimed_threads(), 1);
        assert!(!claims_room(&mut room, &claim(3, "root", "web", 5_001)));
    }

    #[test]
    fn many_users_together_leave_three_quarters_to_root_and_services() {
        let name = |user: u32| format!("user{user}");
        let mut room = filled_by((0..5_000).map(|process| claim(process, &name(process), "open", 1)));
        for process in 0..35 {
            assert!(claims_room(&mut room, &claim(10_000 + process, "redis", "open", 100)), "{process}");
        }
        assert!(claims_room(&mut room, &claim(10_100, "root", "web", 250)));
        assert_eq!((room.system_threads, room.other_threads), (3_750, 1_250));
        assert!(claims_room(&mut room, &claim(10_101, "root", "web", 100)), "redis has more");
        assert_eq!((threads_of(&room, "redis"), room.other_threads), (3_400, 1_250));
        assert!(!claims_room(&mut room, &claim(10_102, "redis", "open", 100)));
    }

    #[test]
    fn services_leave_a_quarter_to_other_users() {
        let mut room = filled_by((0..50).map(|process| claim(process, "root", "web", 100)));
        for process in 0..12 {
            assert!(claims_room(&mut room, &claim(100 + process, "ann", "builds", 100)), "{process}");
        }
        assert!(!claims_room(&mut room, &claim(200, "ann", "builds", 100)));
        assert_eq!(threads_of(&room, "root"), 3_800);
    }

    #[test]
    fn a_rule_and_a_process_of_a_user_leave_room_to_others_of_the_same_user() {
        let mut room = filled_by((0..100).map(|process| claim(process, "root", "db", 50)));
        assert!(claims_room(&mut room, &claim(200, "root", "web", 2_000)));
        assert_eq!(threads_of(&room, "root"), 5_000);
        let mut leaking = claim(300, "root", "db", 2_900);
        assert!(!claims_room(&mut room, &leaking), "no other rule gives way for it");
        leaking.threads = 100;
        assert!(!claims_room(&mut room, &leaking), "nor does a smaller process");
        assert!(claims_room(&mut room, &claim(300, "root", "db", 49)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(5), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nobody_below_an_equal_share_is_turned_away(
            claims in prop::collection::vec((0..6_usize, 0..3_usize, 1..2_000_usize), 1..60),
        ) {
            let users = ["root", "redis", "ann", "bob", "eve", "joe"];
            let rules = ["a", "b", "c"];
            let mut room = ThreadRoom::default();
            for (process, (user, rule, threads)) in claims.into_iter().enumerate() {
                let claim = claim(process as u32, users[user], rules[rule], threads);
                let before = room.clone();
                let has_room = claims_room(&mut room, &claim);
                prop_assert!(room.claimed_threads() <= MAX_HELD_THREADS);
                let sides = room.users.values().map(|share| share.threads).sum::<usize>();
                prop_assert_eq!(sides, room.claimed_threads());
                // A sixth of a side's smaller share is small enough for any user.
                if threads_of(&before, users[user]) + threads <= MAX_HELD_THREADS / 4 / users.len() {
                    prop_assert!(has_room, "{:?}", claim);
                }
                if !has_room {
                    prop_assert_eq!(room.claimed_threads(), before.claimed_threads(), "nothing is lost for it");
                }
            }
        }
    }
}
