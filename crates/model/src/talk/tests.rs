//! Graphs with known pools, groups and costs.

use corewise_machine::machine_file::{MachineMatch, find_built_in};
use corewise_machine::placement::roles::parse_roles;
use corewise_machine::random::RandomGenerator;
use corewise_machine::{CpuSet, Level, Machine};

use super::compare::compare_talk;
use super::conclude::TalkConclusions;
use super::costs::{CostSource, MessageCosts};
use super::fold::FoldedTalk;
use super::groups::find_talk_groups;
use super::import::read_talk;
use super::plan::{pattern_of_name, plan_talk};
use super::waits::{PlacedWaits, SummedWaits, WaitSlot};
use super::*;
use crate::Artifact as _;
use crate::artifact::{ArtifactOrigin, ArtifactProvenance};
use crate::links::LinkMap;
use crate::links::LinkPair;

/// A graph of named threads of one program, with edges by name; each edge has so many wakes each way in ten seconds.
fn graph(names: &[&str], edges: &[(&str, &str, f64)]) -> TalkGraph {
    let vertex = |(thread, name): (usize, &&str)| TalkVertex {
        name: (*name).to_owned(),
        kind: VertexKind::Thread { process: 7, thread: thread as u32 },
        program: "app".to_owned(),
        busy_share: 0.2,
        cpus: CpuSet::new(),
    };
    let place = |name: &str| names.iter().position(|known| *known == name).unwrap();
    let both = |(a, b, wakes): &(&str, &str, f64)| {
        let edge =
            |waker, wakee| TalkEdge { waker, wakee, wakes: *wakes, waiting_ns: Some(4000.0), means: WakeMeans::Futex };
        [edge(place(a), place(b)), edge(place(b), place(a))]
    };
    TalkGraph {
        provenance: ArtifactProvenance {
            origin: ArtifactOrigin::Measured,
            corewise: "test".to_owned(),
            started_unix_ms: 0,
            elapsed_s: 10.0,
            budget_s: 10.0,
            seed: 1,
            partial: false,
        },
        machine: None,
        command: vec!["./app".to_owned()],
        running: Vec::new(),
        seconds: 10.0,
        source: TalkSource::Bpf,
        vertices: names.iter().enumerate().map(vertex).collect(),
        edges: edges.iter().flat_map(both).collect(),
        placed_waits: None,
        lost: 0,
        gaps: Vec::new(),
    }
}

/// The planted graph: four pairs, a star and a ring, with noise between random threads.
fn planted(noise: f64) -> TalkGraph {
    const NAMES: [&str; 17] = [
        "p0a", "p0b", "p1a", "p1b", "p2a", "p2b", "p3a", "p3b", "hub", "leaf0", "leaf1", "leaf2", "leaf3", "line0",
        "line1", "line2", "line3",
    ];
    let mut edges = vec![("p0a", "p0b", 9e4), ("p1a", "p1b", 8e4), ("p2a", "p2b", 9e4), ("p3a", "p3b", 7e4)];
    edges.extend(["leaf0", "leaf1", "leaf2", "leaf3"].map(|leaf| ("hub", leaf, 3e4)));
    edges.extend([("line0", "line1", 5e4), ("line1", "line2", 5e4), ("line2", "line3", 5e4), ("line3", "line0", 5e4)]);
    let mut random = RandomGenerator::new(5);
    let mut draw = || NAMES[random.next_below(NAMES.len())];
    edges.extend((0..30).map(|_| (draw(), draw(), noise)));
    graph(&NAMES, &edges.into_iter().filter(|(a, b, wakes)| a != b && *wakes > 0.0).collect::<Vec<_>>())
}

fn names_of(folded: &FoldedTalk, vertices: &[usize]) -> Vec<String> {
    let mut names: Vec<String> = vertices.iter().map(|vertex| folded.vertices[*vertex].name.clone()).collect();
    names.sort();
    names
}

fn built_in(name: &str) -> Machine {
    let MachineMatch::Exactly(machine) = find_built_in(name) else { panic!("{name} is held") };
    machine.read_machine().unwrap().machine
}

/// Eight last-level caches of three cores, without SMT.
fn eight_by_three() -> Machine {
    let llcs: Vec<(CpuSet, u64)> = (0..8).map(|llc| ((3 * llc..3 * llc + 3).collect(), 16)).collect();
    corewise_machine::generate::one_package_machine(24, false, &llcs)
}

#[test]
fn threads_with_the_same_part_are_a_pool_and_others_of_like_names_are_not() {
    let mut workers: Vec<String> = (0..32).map(|number| format!("worker-{number}")).collect();
    workers.push("main".to_owned());
    let names: Vec<&str> = workers.iter().map(String::as_str).collect();
    let edges: Vec<(&str, &str, f64)> = names[..32].iter().map(|name| ("main", *name, 100.0)).collect();
    let folded = FoldedTalk::new(&graph(&names, &edges));
    assert_eq!(folded.vertices.len(), 2);
    let pool = folded.vertices.iter().find(|vertex| vertex.name == "worker-*").unwrap();
    assert_eq!(pool.kind, VertexKind::Pool { threads: 32 });
    assert_eq!(folded.edges.iter().map(|edge| edge.wakes).collect::<Vec<_>>(), [3200.0, 3200.0]);
    let folded = FoldedTalk::new(&planted(0.0));
    let mut pools: Vec<&str> =
        folded.vertices.iter().map(|vertex| vertex.name.as_str()).filter(|name| name.contains('*')).collect();
    pools.sort_unstable();
    assert_eq!(pools, ["leaf*"], "pairs and the ring talk with different threads");
}

#[test]
fn planted_groups_are_found_under_noise_and_proven() {
    for noise in [0.0, 300.0, 1000.0] {
        let folded = FoldedTalk::new(&planted(noise));
        let groups = find_talk_groups(&folded);
        let mut found: Vec<Vec<String>> = groups.groups.iter().map(|group| names_of(&folded, group)).collect();
        found.sort();
        let mut expected: Vec<Vec<&str>> = vec![vec!["hub", "leaf*"], vec!["line0", "line1", "line2", "line3"]];
        expected.extend([vec!["p0a", "p0b"], vec!["p1a", "p1b"], vec!["p2a", "p2b"], vec!["p3a", "p3b"]]);
        if noise > 0.0 && found.iter().any(|group| group.contains(&"leaf0".to_owned())) {
            expected[0] = vec!["hub", "leaf0", "leaf1", "leaf2", "leaf3"];
        }
        assert_eq!(found, expected, "noise {noise}");
        assert!(groups.is_proven && groups.inside_share > 0.9, "{groups:?}");
    }
}

#[test]
fn random_talk_has_no_proven_groups() {
    let names: Vec<String> = (0..16).map(|number| format!("t{}", (b'a' + number) as char)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut proven = 0;
    for seed in 0..60 {
        let mut random = RandomGenerator::new(seed);
        let mut edges: Vec<(&str, &str, f64)> = Vec::new();
        while edges.len() < 40 {
            let (a, b) = (names[random.next_below(16)], names[random.next_below(16)]);
            if a != b {
                edges.push((a, b, 1000.0 * random.next_unit()));
            }
        }
        proven += usize::from(find_talk_groups(&FoldedTalk::new(&graph(&names, &edges))).is_proven);
    }
    assert!(proven <= 3, "{proven} of 60 random graphs, where at most 1 of 100 is expected");
}

#[test]
fn a_statement_about_groups_comes_with_its_test() {
    let concluded = TalkConclusions::new(&planted(300.0), None, None);
    let of_groups = &concluded.statements[0];
    assert!(of_groups.statement.contains("% of all wakes between threads are inside groups of"), "{of_groups:?}");
    assert!(of_groups.p_value.unwrap() <= 0.01);
    let one = TalkConclusions::new(&graph(&["a", "b", "c"], &[("a", "b", 10.0), ("b", "c", 10.0)]), None, None);
    assert_eq!(one.statements[0].statement, "All wakes between threads are inside one group of 3.");
}

#[test]
fn a_pipeline_is_proposed_for_one_last_level_cache() {
    let pipeline = graph(&["reader", "parser", "writer"], &[("reader", "parser", 2e6), ("parser", "writer", 2e6)]);
    let busy = |vertex: TalkVertex| TalkVertex { busy_share: 0.9, ..vertex };
    let pipeline = TalkGraph { vertices: pipeline.vertices.into_iter().map(busy).collect(), ..pipeline };
    for machine in [eight_by_three(), built_in("threadripper-3960x")] {
        let plan = TalkConclusions::new(&pipeline, Some(&machine), None).plan.unwrap();
        let first = plan.proposals.iter().find(|proposal| proposal.on.is_some()).unwrap();
        assert!(first.on.as_ref().unwrap().starts_with("llc:"), "{plan:?}");
        assert!(plan.message_ns < plan.random_ns && plan.costs == CostSource::Topology, "{plan:?}");
        let cores: Vec<Option<usize>> =
            plan.places.iter().map(|place| machine.index_of(Level::Core, place.cpus.lowest().unwrap())).collect();
        let distinct: std::collections::BTreeSet<_> = cores.iter().collect();
        assert_eq!(distinct.len(), 3, "threads that compute get a core each: {plan:?}");
    }
}

#[test]
fn threads_that_alternate_may_share_a_cpu_and_threads_that_compute_may_not() {
    let machine = eight_by_three();
    let places = |busy: f64| {
        let mut pair = graph(&["ping", "pong"], &[("ping", "pong", 1e6)]);
        pair.vertices.iter_mut().for_each(|vertex| vertex.busy_share = busy);
        let plan = TalkConclusions::new(&pair, Some(&machine), None).plan.unwrap();
        plan.places.iter().fold(CpuSet::new(), |all, place| all.union(&place.cpus)).len()
    };
    assert_eq!((places(0.45), places(0.95)), (1, 2));
}

#[test]
fn measured_costs_decide_where_topology_does_not() {
    let machine = eight_by_three();
    // The cores of the last cache are the only ones that are cheap.
    let cost = |a: u32, b: u32| if a >= 21 && b >= 21 { 20.0 } else { 200.0 };
    let pairs = (0..24).flat_map(|b| (0..b).map(move |a| LinkPair::new(a, b, vec![cost(a, b)]))).collect();
    let map = LinkMap::of_pairs(machine.clone(), pairs);
    let trio = graph(&["a", "b", "c"], &[("a", "b", 1e5), ("b", "c", 1e5), ("a", "c", 1e5)]);
    let trio = TalkGraph {
        vertices: trio.vertices.into_iter().map(|vertex| TalkVertex { busy_share: 0.9, ..vertex }).collect(),
        ..trio
    };
    let plan = TalkConclusions::new(&trio, Some(&machine), Some(&map)).plan.unwrap();
    assert!(matches!(plan.costs, CostSource::Map { .. }));
    assert_eq!(plan.proposals.iter().find_map(|proposal| proposal.on.clone()).unwrap(), "llc:7");
    assert!((plan.message_ns - 20.0).abs() < 0.5, "{plan:?}");
}

#[test]
fn threads_that_serve_an_interrupt_are_placed_near_its_cpu() {
    let machine = eight_by_three();
    let mut served = graph(&["net", "work"], &[("net", "work", 1e4)]);
    served.vertices.push(TalkVertex {
        name: "eth0".to_owned(),
        kind: VertexKind::Interrupt { number: 33 },
        program: String::new(),
        busy_share: 0.0,
        cpus: CpuSet::from_cpu(17),
    });
    served.edges.push(TalkEdge { waker: 2, wakee: 0, wakes: 5e5, waiting_ns: None, means: WakeMeans::Interrupt });
    let plan = TalkConclusions::new(&served, Some(&machine), None).plan.unwrap();
    let all = plan.places.iter().fold(CpuSet::new(), |all, place| all.union(&place.cpus));
    assert!(all.is_subset(&"15-17".parse().unwrap()), "{plan:?}");
}

#[test]
fn names_of_an_attacker_give_roles_that_parse_and_match_nothing_else() {
    let names = ["a:b,c=d", "(x", "[^]:]", "\u{1b}[31m\"'`$(rm)", "ü\u{202e}", "load", "", "9 lives", "a*b", "x\ny"];
    let edges: Vec<(&str, &str, f64)> = names.windows(2).map(|pair| (pair[0], pair[1], 1e5)).collect();
    let hostile = graph(&names, &edges);
    let machine = eight_by_three();
    let plan = TalkConclusions::new(&hostile, Some(&machine), None).plan.unwrap();
    let exact = plan.proposals.iter().find(|proposal| proposal.roles.len() == names.len()).unwrap();
    let text = exact.roles_text();
    assert!(text.chars().all(|character| (' '..='~').contains(&character)), "{text}");
    let roles = parse_roles(&text).unwrap();
    for (name, vertex) in names
        .iter()
        .map(|name| (*name, FoldedTalk::new(&hostile).vertices.iter().position(|v| v.name == *name).unwrap()))
    {
        let matching = roles.iter().filter(|role| role.regex.is_match(name)).count();
        assert_eq!(matching, 1, "{name:?} of vertex {vertex}: {text}");
    }
    corewise_machine::placement::roles::placed_roles(&exact.choice_text()).unwrap();
    assert_eq!(pattern_of_name("worker-*", true), "^worker-[0-9]+$");
    assert_eq!(pattern_of_name("a*", false), "^a\\x{2a}$");
}

#[test]
fn a_rate_that_triples_is_a_change_and_one_that_varies_by_chance_is_not() {
    let before = graph(&["reader", "writer", "log"], &[("writer", "reader", 3000.0), ("writer", "log", 200.0)]);
    let after = graph(&["reader", "writer", "log"], &[("writer", "reader", 9000.0), ("writer", "log", 220.0)]);
    let changes = compare_talk(&before, &after);
    let changed: Vec<(&str, &str, f64)> = changes
        .iter()
        .filter(|change| change.is_change)
        .map(|change| (&*change.waker, &*change.wakee, change.ratio))
        .collect();
    assert_eq!(changed.len(), 2, "{changes:?}");
    assert!(changed.contains(&("writer", "reader", 3.0)), "{changes:?}");
    let gone = graph(&["reader", "writer", "log"], &[("writer", "reader", 3000.0)]);
    let gone: Vec<_> = compare_talk(&before, &gone).into_iter().filter(|change| change.is_change).collect();
    assert!(gone.len() == 2 && gone.iter().all(|change| change.after_per_s == 0.0), "{gone:?}");
}

#[test]
fn files_of_three_kinds_are_read_and_mistakes_are_named() {
    let read = |text: &str| read_talk(text, "f", (1, "test")).map_err(|error| error.to_string());
    let table = read("waker,wakee,wakes,waiting_ns,means\nreader,\"par,ser\",100\nwriter,reader,5,200,pipe\n").unwrap();
    assert_eq!((table.vertices.len(), table.vertices[1].name.as_str()), (3, "par,ser"));
    assert_eq!((table.edges[1].waiting_ns, table.edges[1].means), (Some(200.0), WakeMeans::Pipe));
    let matrix = read("0 5 0\n5 0 1.5\n0 1.5 0\n").unwrap();
    assert_eq!((matrix.vertices.len(), matrix.edges.len()), (3, 4));
    assert!(matrix.check_loaded().is_ok() && matrix.origin().is_imported());
    let json = serde_json::to_string(&serde_json::json!({ "schema": "corewise/talk/1", "observed": matrix })).unwrap();
    assert_eq!(read(&json).unwrap().edges, matrix.edges);
    for text in [
        ",a,b,c\na,0,5,0\nb,5,0,1.5\nc,0,1.5,0\n",
        "\u{feff}a;b;c\na;0;5;0\nb;5;0;1.5\nc;0;1.5;0\n",
        "  a b c\na 0 5 0\nb 5 0 1.5\nc 0 1.5 0\n",
        "\ta\tb\tc\na\t0\t5\t0\nb\t5\t0\t1.5\nc\t0\t1.5\t0\n",
    ] {
        let named = read(text).unwrap();
        let names: Vec<&str> = named.vertices.iter().map(|vertex| vertex.name.as_str()).collect();
        assert_eq!((names, &named.edges), (vec!["a", "b", "c"], &matrix.edges), "{text}");
    }
    let ring = "0,1,0,0,1\n1,0,1,0,0\n0,1,0,1,0\n0,0,1,0,1\n1,0,0,1,0\n";
    let headed = read(&format!("a,b,c,d,e\n{ring}")).unwrap();
    assert_eq!((read(ring).unwrap().edges.len(), headed.edges.len(), headed.vertices[2].name.as_str()), (10, 10, "e"));
    let numbered = read("waker,wakee,wakes\n0,1,100\n1,2,50\n2,0,7\n").unwrap();
    assert_eq!((numbered.vertices.len(), numbered.edges[2].wakes), (3, 7.0), "three edges of numbered threads");
    for (text, what) in [
        ("0,5,1\n5,0,1\n1,1,0\n", "line 1: 3 lines of 3 numbers can be edges or a matrix"),
        ("a,b\n", "line 1: expected WAKER,WAKEE,WAKES"),
        ("a,b,1\na,b,x\n", "line 2: expected a number of wakes, found \"x\""),
        ("a,b,1,,smoke\n", "found \"smoke\""),
        ("1 2\n3\n", "line 2: expected 2 numbers, as many as lines, found 1"),
        ("0 -1\n1 0\n", "expected a number, found \"-1\""),
        ("{}", "it is JSON, but no talk graph"),
        ("", "it has no edges"),
        ("0 0\n0 0\n", "it has no edges"),
    ] {
        let said = read(text).unwrap_err();
        assert!(said.contains(what), "{text:?}: {said}");
    }
}

#[test]
fn graphs_of_files_are_checked() {
    let good = graph(&["a", "b"], &[("a", "b", 1.0)]);
    good.check_loaded().unwrap();
    let mut outside = good.clone();
    outside.edges[0].wakee = 9;
    let mut endless = good.clone();
    endless.edges[0].wakes = f64::INFINITY;
    let mut crowd = good.clone();
    crowd.vertices[0].kind = VertexKind::Pool { threads: u32::MAX };
    for wrong in [outside, endless, crowd, TalkGraph { seconds: 0.0, ..good }] {
        assert!(wrong.check_loaded().is_err(), "{wrong:?}");
    }
}

#[test]
fn ten_thousand_threads_are_folded_and_planned() {
    let names: Vec<String> = (0..10_000).map(|number| format!("conn{number}")).chain(["main".to_owned()]).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut crowd = graph(&names, &[]);
    let main = names.len() - 1;
    crowd.edges = (0..main)
        .map(|wakee| TalkEdge { waker: main, wakee, wakes: 3.0, waiting_ns: None, means: WakeMeans::Futex })
        .collect();
    let machine = eight_by_three();
    let costs = MessageCosts::new(&machine, &machine.allowed, None);
    let folded = FoldedTalk::new(&crowd);
    assert_eq!(folded.vertices.len(), 2);
    let plan = plan_talk(&crowd, &folded, &machine, &costs).unwrap();
    assert_eq!(plan.left_out, 10_001 - 512);
}

#[test]
fn waits_across_caches_are_a_sentence_with_its_test() {
    let sum = |waits: f64, us: f64| SummedWaits { waits, waiting_ns: 1e3 * waits * us };
    let slot = WaitSlot { inside: sum(30.0, 2.4), across: sum(10.0, 48.0) };
    let mut talk = graph(&["reader", "writer"], &[("reader", "writer", 1e4)]);
    talk.placed_waits = Some(PlacedWaits { wakee: 0, slots: vec![slot; 12] });
    talk.check_loaded().unwrap();
    let stated = TalkConclusions::new(&talk, None, None).statements;
    let distance = stated.iter().find(|stated| stated.statement.contains("last-level")).unwrap();
    assert_eq!(
        distance.statement,
        "reader waits 48.0 µs after a wake from another last-level cache, 20.0 times as long as from its own."
    );
    assert!(distance.p_value.unwrap() < 0.001);
    talk.placed_waits = Some(PlacedWaits { wakee: 2, slots: vec![slot] });
    assert!(talk.check_loaded().unwrap_err().contains("waits of a thread"));
    talk.placed_waits =
        Some(PlacedWaits { wakee: 0, slots: vec![WaitSlot { inside: sum(-1.0, 1.0), across: slot.across }] });
    assert!(talk.check_loaded().is_err());
}

#[test]
fn a_ring_of_many_threads_of_one_name_stays_apart() {
    let names: Vec<String> = (0..128).map(|number| format!("rank-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let edges: Vec<(&str, &str, f64)> = (0..128).map(|at| (names[at], names[(at + 1) % 128], 1e4)).collect();
    assert_eq!(FoldedTalk::new(&graph(&names, &edges)).vertices.len(), 128);
    let workers: Vec<(&str, &str, f64)> = names[1..].iter().map(|name| (names[0], *name, 1e3)).collect();
    let folded = FoldedTalk::new(&graph(&names, &workers));
    assert!(folded.vertices.len() <= 2, "workers of one hub: {}", folded.vertices.len());
}

#[test]
fn a_placement_that_saves_nothing_is_not_proposed() {
    let text = "name = \"x\"\ncpus = \"0-3\"\ncores = \"0 x4\"\npackages = \"0-3\"\nnodes = [{ cpus = \"0-3\" }]\n\
                caches = [{ cache = \"L3\", size = \"8 MiB\", per = \"package\" }]\n";
    let machine = corewise_machine::machine_file::parse(text).unwrap().machine;
    let two = TalkGraph { source: TalkSource::File, ..graph(&["a", "b"], &[("a", "b", 1e3)]) };
    let plan = TalkConclusions::new(&two, Some(&machine), None).plan.unwrap();
    assert!(plan.proposals.is_empty(), "{} instead of {} ns: {:?}", plan.message_ns, plan.random_ns, plan.proposals);
}

/// A machine of one last-level cache; the costs of pairs vary by a fifth from visit to visit, as those of channels do.
#[test]
fn threads_are_placed_by_costs_that_last_and_not_by_the_luck_of_pairs() {
    let text = "name = \"x\"\ncpus = \"0-15\"\ncores = \"0 x16\"\npackages = \"0-15\"\nnodes = [{ cpus = \"0-15\" }]\n\
                caches = [{ cache = \"L3\", size = \"300 MiB\", per = \"package\" }]\n";
    let machine = corewise_machine::machine_file::parse(text).unwrap().machine;
    let pipelines =
        graph(&["a", "b", "c", "d", "e", "f"], &[("a", "b", 1e5), ("b", "c", 1e5), ("d", "e", 1e5), ("e", "f", 1e5)]);
    let pipelines = TalkGraph { source: TalkSource::File, ..pipelines };
    let plan = |seed: u64, cost: &dyn Fn(u32, u32) -> f64| {
        let mut random = RandomGenerator::new(seed);
        let mut visits =
            |cost: f64| vec![cost * (0.2 * random.next_normal()).exp(), cost * (0.2 * random.next_normal()).exp()];
        let all: Vec<(u32, u32)> = (0..16).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
        let pairs =
            all.into_iter().map(|(a, b)| LinkPair::of_both(a, b, visits(cost(a, b)), visits(cost(a, b)))).collect();
        let map = LinkMap::of_pairs(machine.clone(), pairs);
        TalkConclusions::new(&pipelines, Some(&machine), Some(&map)).plan.unwrap()
    };
    let unknown = plan(0, &|a, b| if (a, b) == (0, 1) { 0.0 } else { 60.0 });
    assert!(unknown.proposals.is_empty() && unknown.message_ns.is_finite(), "a cost of 0 is unknown: {unknown:?}");
    for seed in 0..20 {
        let even = plan(seed, &|_, _| 60.0);
        assert!(even.proposals.is_empty(), "{} instead of {} ns", even.message_ns, even.random_ns);
        let grouped = plan(seed, &|a, b| if a / 4 == b / 4 { 30.0 } else { 120.0 });
        assert!(!grouped.proposals.is_empty(), "{} instead of {} ns", grouped.message_ns, grouped.random_ns);
        assert!(grouped.message_ns < 45.0 && grouped.random_ns > 90.0, "{grouped:?}");
    }
}
