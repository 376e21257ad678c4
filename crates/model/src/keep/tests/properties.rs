//! What holds for any course of events on any cpuset.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::system::TestSystem;
use super::{CpuSet, resolved, set};
use crate::keep::{KeepAction, MaskAuthor};

#[derive(Clone, Debug)]
enum PropertyEvent {
    Start(u32, usize, u32, u8),
    Thread(u32, u32, bool),
    Exec(u32, usize),
    End(u32),
    Choose(u32, u8),
    Cpuset(u8),
    Rules(usize),
    Look,
    Release(u32),
}

const NAMES: [&str; 3] = ["game", "tool", "other"];

fn cpus(bits: u8) -> CpuSet {
    (0..8).filter(|cpu| bits >> cpu & 1 == 1).collect()
}

fn event() -> impl Strategy<Value = PropertyEvent> {
    let process = || (1_u32..5).prop_map(|number| number * 10);
    let thread = || (10_u32..50).boxed();
    prop_oneof![
        4 => (process(), 0..3_usize, process(), 1..=255_u8).prop_map(|(a, b, c, d)| PropertyEvent::Start(a, b, c, d)),
        4 => (thread(), thread(), any::<bool>()).prop_map(|(a, b, c)| PropertyEvent::Thread(a, b, c)),
        1 => (process(), 0..3_usize).prop_map(|(a, b)| PropertyEvent::Exec(a, b)),
        1 => process().prop_map(PropertyEvent::End),
        2 => (thread(), 1..=255_u8).prop_map(|(a, b)| PropertyEvent::Choose(a, b)),
        2 => (1..=255_u8).prop_map(PropertyEvent::Cpuset),
        1 => (0..4_usize).prop_map(PropertyEvent::Rules),
        6 => Just(PropertyEvent::Look),
        1 => process().prop_map(PropertyEvent::Release),
    ]
}

fn rules(kind: usize, strength: &str) -> String {
    let on = ["0-3", "2-5", "7", "0-3"][kind];
    let disabled = kind == 3;
    format!(
        "[[rule]]\nname = \"game\"\nmatch = {{ name = \"game\" }}\non = \"{on}\"\nstrength = \"{strength}\"\ndisabled = {disabled}\n\
         threads = [{{ name = \"io_*\", on = \"1-4,7\" }}]\n\
         [[rule]]\nname = \"tool\"\nmatch = {{ name = \"tool\" }}\non = \"4-7\"\n"
    )
}

/// Plays an event; what was done about it.
fn play(system: &mut TestSystem, event: &PropertyEvent, strength: &str) -> Vec<KeepAction> {
    match event.clone() {
        PropertyEvent::Start(id, name, parent, bits) => {
            if system.processes.contains_key(&id) {
                return Vec::new();
            }
            // A mask of one's own that is all of the cpuset cannot be distinguished from none.
            let own = cpus(bits).intersection(&system.cpuset);
            let own = if own.is_empty() || own == system.cpuset { None } else { Some(own) };
            system.start(id, NAMES[name], parent, own);
            system.look(id)
        }
        PropertyEvent::Thread(creator, id, io) => {
            if system.tasks.contains_key(&creator) && !system.tasks.contains_key(&id) && id % 10 != 0 {
                system.thread(creator, id, if io { "io_1" } else { "main" });
            }
            Vec::new()
        }
        PropertyEvent::Exec(id, name) => {
            if system.processes.contains_key(&id) {
                system.exec(id, NAMES[name]);
            }
            system.look(id)
        }
        PropertyEvent::End(id) => {
            system.end(id);
            Vec::new()
        }
        PropertyEvent::Choose(id, bits) => {
            if system.tasks.contains_key(&id) {
                system.choose(id, &cpus(bits));
            }
            Vec::new()
        }
        PropertyEvent::Cpuset(bits) => {
            // Masks that somebody else set before are given as they were meant, not as they were cut.
            system.change_cpuset(cpus(bits));
            system.look_at_all()
        }
        PropertyEvent::Rules(kind) => {
            system.keeper.set_rules(resolved(&rules(kind, strength)));
            system.look_at_all()
        }
        PropertyEvent::Look => system.look_at_all(),
        PropertyEvent::Release(id) => {
            let actions = system.keeper.release_process(id, system.now);
            system.carry_out(&actions);
            actions
        }
    }
}

fn author() -> impl Strategy<Value = MaskAuthor> {
    let program = || "x (1)".to_owned();
    prop_oneof![
        Just(MaskAuthor::Unknown),
        Just(MaskAuthor::Itself),
        Just(MaskAuthor::Person { program: program() }),
        Just(MaskAuthor::Program { program: program() }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, rng_seed: RngSeed::Fixed(21), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_converges_stays_inside_and_gives_everything_back(
        events in prop::collection::vec(event(), 1..40),
        strength in prop::sample::select(vec!["once", "boundary", "exact"]),
        author in author(),
        remembers_masks in any::<bool>(),
    ) {
        let mut system = TestSystem::new(&rules(0, strength));
        (system.author, system.remembers_masks) = (author, remembers_masks);
        let inside = [set("0-3"), set("2-5"), set("7"), set("4-7")];
        for event in &events {
            for action in play(&mut system, event, strength) {
                if let Some(cpus) = &action.cpus {
                    prop_assert!(!cpus.is_empty() && inside.iter().any(|boundary| cpus.is_subset(boundary)), "{:?}", action);
                    prop_assert_eq!(&action.original.restrict_to(cpus), cpus, "never wider than it was");
                    prop_assert!(cpus.is_subset(&system.cpuset));
                }
            }
            let threads: usize = system.keeper.processes().values().map(|held| held.threads.len().max(1)).sum();
            prop_assert_eq!(system.keeper.room_taken(), threads);
        }
        system.look_at_all();
        let again = system.look_at_all();
        prop_assert_eq!(again, vec![], "nothing is done twice");
        system.stop();
        for (id, task) in system.tasks.iter().filter(|(_, task)| !task.is_touched && remembers_masks) {
            prop_assert_eq!(&task.mask, &task.shadow, "thread {} has what it would have without us", id);
        }
    }
}
