use corewise_machine::assemble::assemble_machine;
use corewise_machine::facts::{CpuFacts, MachineFacts, NodeFacts};

use super::*;

/// Nodes by number, cpus, whether they have memory, and distances.
fn machine(nodes: &[(u32, &str, bool, &[u32])]) -> Machine {
    let cpus = |list: &str| if list.is_empty() { CpuSet::new() } else { CpuSet::parse_list(list).unwrap() };
    let node = |(number, list, has_memory, distances): &(u32, &str, bool, &[u32])| NodeFacts {
        number: *number,
        cpus: cpus(list),
        memory_bytes: Some(u64::from(*has_memory) << 30),
        distances: distances.to_vec(),
        ..NodeFacts::default()
    };
    let all = nodes.iter().flat_map(|(_, list, ..)| cpus(list).iter().collect::<Vec<_>>());
    assemble_machine(MachineFacts {
        cpus: all.map(|number| CpuFacts { number, ..CpuFacts::default() }).collect(),
        nodes: nodes.iter().map(node).collect(),
        ..MachineFacts::default()
    })
}

fn told(machine: &Machine, allowed: &str, memory: Option<&[u32]>) -> Vec<(Option<u32>, String)> {
    let homes = machine_homes(machine, &CpuSet::parse_list(allowed).unwrap(), memory);
    homes.into_iter().map(|home| (home.memory, home.cpus.to_string())).collect()
}

fn home(memory: u32, cpus: &str) -> (Option<u32>, String) {
    (Some(memory), cpus.to_owned())
}

#[test]
fn each_node_with_allowed_cpus_is_a_home() {
    let two = machine(&[(0, "0-3", true, &[10, 20]), (1, "4-7", true, &[20, 10])]);
    assert_eq!(told(&two, "0-7", None), [home(0, "0-3"), home(1, "4-7")]);
    assert_eq!(told(&two, "0-7", Some(&[0, 1])), [home(0, "0-3"), home(1, "4-7")]);
    assert_eq!(told(&two, "5,6", None), [home(1, "5,6")]);
    assert_eq!(told(&two, "0,4", Some(&[0])), [home(0, "0"), home(0, "4")], "memory of node 1 is not allowed");
    assert_eq!(told(&two, "0", Some(&[])), [(None, "0".to_owned())]);
}

#[test]
fn a_node_without_memory_has_it_from_the_nearest() {
    let three = machine(&[(0, "0", true, &[10, 30, 20]), (2, "1", false, &[30, 10, 15]), (8, "", true, &[20, 15, 10])]);
    assert_eq!(told(&three, "0,1", None), [home(0, "0"), home(8, "1")], "node 8 has memory and no cpus");
    let untold = machine(&[(0, "0", true, &[]), (1, "1", true, &[])]);
    assert_eq!(told(&untold, "0,1", None), [home(0, "0"), home(1, "1")]);
    assert_eq!(told(&machine(&[]), "0-3", None), [(None, "0-3".to_owned())], "no node is known");
}

#[test]
fn threads_read_at_home() {
    let two = machine(&[(0, "0-3", true, &[]), (1, "4,5", true, &[])]);
    let homes = machine_homes(&two, &CpuSet::first_cpus(6), None);
    let spread = |threads: usize, cpus: &[u32]| {
        let settings = WorkloadSettings { cpus: cpus.to_vec(), ..WorkloadSettings::new(threads) };
        (0..threads).map(|thread| home_of(&homes, &settings, thread)).collect::<Vec<_>>()
    };
    assert_eq!(spread(6, &[]), [0, 0, 0, 0, 1, 1]);
    assert_eq!(spread(1, &[]), [0]);
    assert_eq!(spread(3, &[]), [0, 0, 1]);
    assert_eq!(spread(12, &[]).iter().filter(|home| **home == 1).count(), 4);
    assert_eq!(spread(4, &[5, 0, 9]), [1, 0, 0, 1], "cpu 9 is at home nowhere");
    assert_eq!(home_of(&[], &WorkloadSettings::new(2), 1), 0);
}

#[test]
fn a_copy_is_made_here_and_its_readers_stay() {
    let stop = std::sync::atomic::AtomicBool::new(false);
    let mut company = WorkloadHost { stop: &stop, progress: &mut |_| {} };
    let before = affinity::current_affinity().unwrap();
    let homes = SceneHomes::new(RenderScene::stone_scene(500), true, &WorkloadSettings::new(1), &mut company).unwrap();
    assert_eq!(affinity::current_affinity().unwrap(), before, "the calling thread stays as it was");
    assert_eq!(homes.len(), homes.homes.len());
    assert!(homes.describe_homes().contains(&homes.homes[0].cpus.to_string()), "{}", homes.describe_homes());
    let settings = WorkloadSettings::new(1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            homes.enter_home(&settings, 0).unwrap();
            assert_eq!(affinity::current_affinity().unwrap(), homes.homes[0].cpus);
        });
    });
    let one = SceneHomes::new(RenderScene::stone_scene(500), false, &WorkloadSettings::new(1), &mut company).unwrap();
    assert_eq!((one.len(), one.describe_homes().starts_with("one scene for all")), (1, true));
}

#[test]
fn a_node_that_cannot_be_bound_is_told_and_the_copy_is_made_all_the_same() {
    let scene = RenderScene::stone_scene(500);
    let cpus = affinity::current_affinity().unwrap();
    let (copy, refused) = copy_scene(&scene, &SceneHome { memory: Some(1_000), cpus: cpus.clone() }).unwrap();
    assert_eq!((copy.size_bytes(), refused.is_some()), (scene.size_bytes(), true));
    assert!(copy_scene(&scene, &SceneHome { memory: None, cpus: CpuSet::from_cpu(8_000) }).is_err());
}
