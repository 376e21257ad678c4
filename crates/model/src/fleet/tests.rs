//! Reports, fleets of a few nodes, and what differs between them.

use corewise_machine::generate::one_package_machine;

use super::drift::SettingSpeed;
use super::visit_report::VISIT_SCHEMA;
use super::*;
use crate::Artifact as _;
use crate::digest::MOST_DIGEST_BYTES;
use crate::digest::survey_digest::SurveyDigest;
use crate::simulate::{CpuTruth, FleetWorld, MachineNoise, SimulatedFleet, simulate_survey};

fn report(node: &str, cpus: u32, started_unix_ms: i64) -> VisitReport {
    let truth =
        |cpu: u32| CpuTruth { piece_ns: if cpu == 1 { 300.0 } else { 250.0 }, interrupts_per_s: 100.0, lost: 0.001 };
    let survey = simulate_survey(one_package_machine(cpus, false, &[]), 8, 1, MachineNoise::Quiet, truth);
    VisitReport {
        schema: VISIT_SCHEMA.to_owned(),
        node: node.to_owned(),
        rack: Some("r1".to_owned()),
        boot_id: None,
        started_unix_ms,
        survey: SurveyDigest::from_survey(&survey),
        memory: None,
        configuration: BTreeMap::from([("bios_date".to_owned(), "2025-03-01".to_owned())]),
    }
}

fn empty_fleet() -> Fleet {
    Fleet { nodes: Vec::new(), ..SimulatedFleet::new(FleetWorld { nodes: 0, ..FleetWorld::default() }, 1).fleet }
}

/// A visited fleet of one model and two racks, without slow nodes.
fn even_fleet(nodes: usize) -> Fleet {
    fleet_with_visits(nodes, 0.005, 6)
}

fn fleet_with_visits(nodes: usize, noise: f64, visits: usize) -> Fleet {
    let world =
        FleetWorld { nodes, models: 1, rack: nodes / 2, slow: 0.0, spikes: 0.0, noise, ..FleetWorld::default() };
    let mut made = SimulatedFleet::new(world, 9);
    for _ in 0..visits {
        (0..nodes).for_each(|node| made.visit(node));
    }
    made.fleet
}

fn slow_down(fleet: &mut Fleet, node: usize, factor: f64) {
    for visit in &mut fleet.nodes[node].visits {
        visit.values[0] = visit.values[0].map(|value| value * factor);
    }
}

/// Gives some nodes a configuration of their own.
fn reconfigure(fleet: &mut Fleet, nodes: impl IntoIterator<Item = usize>, change: impl FnOnce(&mut NodeConfiguration)) {
    let mut odd = fleet.configurations[0].clone();
    change(&mut odd);
    fleet.configurations.push(odd);
    let last = fleet.configurations.len() - 1;
    for node in nodes {
        fleet.nodes[node].visits.iter_mut().for_each(|visit| visit.configuration = last);
    }
}

#[test]
fn visits_are_rows_in_order_and_count_once() {
    let mut fleet = Fleet::new(empty_fleet().provenance);
    fleet.add_problem("n2", NodeProblem { kind: ProblemKind::Refused, reason: "no rights".to_owned() });
    assert!(fleet.add_visit(&report("n2", 4, 20)) && fleet.add_visit(&report("n1", 4, 5)));
    assert!(fleet.add_visit(&report("n2", 4, 10)) && !fleet.add_visit(&report("n2", 4, 20)));
    fleet.set_rack("n3", Some("r9".to_owned()));
    let rows: Vec<(&str, usize)> = fleet.nodes.iter().map(|node| (node.name.as_str(), node.visits.len())).collect();
    assert_eq!(rows, [("n1", 1), ("n2", 2), ("n3", 0)]);
    assert_eq!(fleet.configurations.len(), 1, "equal machines share a configuration");
    assert!(fleet.nodes[1].problem.is_none(), "it answered");
    assert_eq!(fleet.configurations[0].settings["bios_date"], "2025-03-01");
    let value = |quantity| fleet.node_value(&fleet.nodes[0], quantity);
    assert!((value(FleetQuantity::SlowestCpu).unwrap() - 1.2).abs() < 0.01);
    assert_eq!(value(FleetQuantity::MemoryBandwidth), None);
    fleet.check_loaded().unwrap();
    assert_eq!(fleet.describe_contents(), "3 nodes, 3 visits");
}

#[test]
fn a_report_fits_and_different_settings_stay_different() {
    let fitted = |end: &str| {
        let mut large = report("n1", 512, 1);
        large.configuration.insert("command_line".to_owned(), format!("{}{end}", "root=x ".repeat(600)));
        for number in 0..24 {
            large.survey.settings.insert(format!("{number:048}"), "y".repeat(48));
        }
        let fitted = large.fit();
        assert!(serde_json::to_vec(&fitted).unwrap().len() <= MOST_DIGEST_BYTES);
        fitted.check().unwrap();
        fitted
    };
    let small = report("n1", 4, 1);
    assert_eq!(small.clone().fit(), small, "a small one loses nothing");
    let [one, other] = ["quiet", "nosmt"].map(|end| {
        let mut report = report("n1", 64, 1);
        report.configuration.insert("command_line".to_owned(), format!("{}{end}", "root=x ".repeat(600)));
        report.fit().configuration["command_line"].clone()
    });
    assert!(one != other && one.len() < 80, "{one}");
    assert_eq!(
        fitted("a").read_quantity(FleetQuantity::Speed),
        report("n1", 512, 1).read_quantity(FleetQuantity::Speed)
    );
}

#[test]
fn hostile_reports_and_fleets_are_refused() {
    report("rack-1.n_2", 2, 1).check().unwrap();
    let broken: [fn(&mut VisitReport); 12] = [
        |report| report.node = String::new(),
        |report| report.rack = Some("a b".to_owned()),
        |report| report.survey.quantities[0].typical = -5.0,
        |report| report.survey.quantities[0].highest.value = 1e40,
        |report| report.survey.additions = 0,
        |report| report.survey.others_busy = Some(7.0),
        |report| report.node = "n1; reboot".to_owned(),
        |report| report.node = "-w".to_owned(),
        |report| report.rack = Some("a\u{1b}[31m".to_owned()),
        |report| report.schema = "corewise/survey/2".to_owned(),
        |report| report.started_unix_ms = i64::MAX,
        |report| report.configuration = (0..300).map(|number| (number.to_string(), String::new())).collect(),
    ];
    for break_report in broken {
        let mut report = report("n1", 2, 1);
        break_report(&mut report);
        assert!(report.check().is_err(), "{report:?}");
    }
    let broken: [fn(&mut Fleet); 6] = [
        |fleet| fleet.nodes[0].visits[0].values[0] = Some(-5.0),
        |fleet| fleet.nodes[0].visits[0].configuration = 7,
        |fleet| fleet.nodes[0].visits[0].values.clear(),
        |fleet| fleet.nodes[1].name = fleet.nodes[0].name.clone(),
        |fleet| fleet.nodes[0].visits.swap(0, 1),
        |fleet| fleet.quantities = vec![FleetQuantity::Speed; 2],
    ];
    for break_fleet in broken {
        let mut fleet = even_fleet(10);
        break_fleet(&mut fleet);
        assert!(fleet.check_loaded().is_err());
    }
}

#[test]
fn worse_is_below_zero_and_changes_are_of_the_value() {
    let judged = |quantity: FleetQuantity, value| quantity.judge_value(value).unwrap();
    for quantity in FleetQuantity::ALL {
        let is_better = judged(quantity, 2.0) > judged(quantity, 1.0);
        assert_eq!(is_better, quantity.is_higher_better(), "{quantity}");
        let worse = judged(quantity, 100.0) - judged(quantity, if is_better { 90.0 } else { 110.0 });
        let change = if quantity.is_difference_judged() {
            10.0
        } else if is_better {
            -0.1
        } else {
            0.1
        };
        assert!((quantity.change_of(worse) - change).abs() < 0.001, "{quantity}: {}", quantity.change_of(worse));
        assert_eq!(quantity.judge_value(f64::NAN), None);
    }
    assert_eq!(FleetQuantity::Speed.judge_value(0.0), None);
    assert!(FleetQuantity::Speed.least_deviation(0.05) > FleetQuantity::Speed.least_deviation(0.02));
}

#[test]
fn a_slow_node_comes_with_what_differs() {
    let mut fleet = even_fleet(80);
    slow_down(&mut fleet, 5, 1.1);
    reconfigure(&mut fleet, [5], |odd| {
        odd.memory_bytes = Some(192 << 30);
        odd.settings.insert("governor".to_owned(), "powersave".to_owned());
    });
    fleet.nodes[5].visits.iter_mut().for_each(|visit| visit.others_busy = Some(0.3));
    fleet.nodes[6].visits.iter_mut().for_each(|visit| visit.others_busy = Some(0.01));
    let found = fleet.draw_conclusions();
    assert_eq!(found.outliers.len(), 1);
    let slow = &found.outliers[0];
    assert_eq!((&slow.node, slow.quantity), (&fleet.nodes[5].name, FleetQuantity::Speed));
    assert!((0.09..0.11).contains(&slow.change), "{slow:?}");
    assert!(slow.at_least.unwrap() >= 0.02 && slow.at_most.unwrap() > slow.change, "{slow:?}");
    let causes: Vec<&str> = slow.causes.iter().map(|cause| cause.what.as_str()).collect();
    assert_eq!(causes, ["governor", "memory", "others use"]);
}

/// SMT off makes another machine of it, and the only one of its kind: it is compared with those of its processor.
#[test]
fn a_machine_with_cpus_offline_is_judged_with_its_processor() {
    let mut fleet = even_fleet(80);
    slow_down(&mut fleet, 3, 1.1);
    reconfigure(&mut fleet, [3], |odd| {
        odd.fingerprint = "half".to_owned();
        odd.objects.insert("cpu".to_owned(), 32);
    });
    let found = fleet.draw_conclusions();
    assert_eq!((found.models.len(), found.judged, found.outliers.len()), (1, 80, 1));
    let cause = &found.outliers[0].causes[0];
    assert_eq!((cause.what.as_str(), cause.own.as_str(), cause.peers.as_str()), ("cpus", "32", "64"));
}

#[test]
fn visits_of_other_work_are_left_out_and_said() {
    let mut fleet = even_fleet(80);
    slow_down(&mut fleet, 3, 2.0);
    reconfigure(&mut fleet, [3], |odd| odd.additions = 2000);
    let found = fleet.draw_conclusions();
    assert_eq!((found.outliers.len(), found.judged), (0, 79));
    assert!(
        found.caveats.iter().any(|caveat| caveat.contains("6 visits timed another amount of work")),
        "{:?}",
        found.caveats
    );
}

#[test]
fn few_machines_of_a_model_are_said_to_prove_nothing() {
    let found = even_fleet(6).draw_conclusions();
    assert_eq!((found.judged, found.caveats.len()), (0, 1));
    // Alone, eight machines may just prove one of them slow; beside many others they may not.
    assert_eq!(even_fleet(8).draw_conclusions().caveats, Vec::<String>::new());
    let mut fleet = even_fleet(80);
    reconfigure(&mut fleet, 0..8, |odd| {
        odd.fingerprint = "other".to_owned();
        odd.processor = Some("Other".to_owned());
    });
    let found = fleet.draw_conclusions();
    assert_eq!(found.judged, 80);
    assert_eq!(found.caveats, ["8 nodes of Other are too few to prove one slow in 24 visits."]);
}

/// Four racks of twenty nodes, equally fast, and one of four nodes.
fn fleet_of_racks() -> Fleet {
    let mut fleet = even_fleet(84);
    let levels = [0, 42].map(|first| fleet.node_value(&fleet.nodes[first], FleetQuantity::Speed).unwrap());
    (42..84).for_each(|node| slow_down(&mut fleet, node, levels[0] / levels[1]));
    for (place, node) in fleet.nodes.iter_mut().enumerate() {
        node.rack = Some(format!("r{}", place / 20));
    }
    fleet
}

/// Without names of their own, the reports of many machines melt into one node.
#[test]
fn visits_of_different_machines_under_one_name_are_said() {
    let mut fleet = empty_fleet();
    for (cpus, at) in [(4, 1), (4, 2), (8, 3)] {
        assert!(fleet.add_visit(&report("vm", cpus, at)));
    }
    fleet.add_visit(&report("other", 4, 1));
    let caveats = fleet.draw_conclusions().caveats;
    let said = caveats.iter().find(|caveat| caveat.starts_with("The visits of vm are of different machines")).unwrap();
    assert!(said.contains("with 4 cpus") && said.contains("with 8 cpus"), "{said}");
    assert!(!caveats.iter().any(|caveat| caveat.contains("other are")), "{caveats:?}");
}

#[test]
fn too_few_visits_say_how_many_more_prove_the_closest_node() {
    let visited = |visits: usize| {
        let mut fleet = even_fleet(30);
        slow_down(&mut fleet, 5, 1.1);
        fleet.nodes.iter_mut().for_each(|node| node.visits.truncate(visits));
        fleet
    };
    let few = visited(2).draw_conclusions();
    let outlook = few.outlook.unwrap();
    assert!(few.outliers.is_empty() && outlook.is_out_of_reach() && outlook.needs_visits(), "{outlook:?}");
    let closest = outlook.closest.unwrap();
    assert_eq!(closest.node, visited(2).nodes[5].name);
    let more = closest.more_visits.unwrap();
    assert_eq!(2 + more, outlook.least_visits, "it is the worst in each visit");
    let enough = visited(2 + more).draw_conclusions();
    assert_eq!((enough.outliers.len(), enough.outlook), (1, None));
    assert!(visited(1 + more).draw_conclusions().outliers.is_empty(), "one visit fewer is too few");
}

/// Makes the distance of each visit of a node from its level larger by a factor.
fn spread_out(fleet: &mut Fleet, node: usize, factor: f64) {
    let level = fleet.node_value(&fleet.nodes[node], FleetQuantity::Speed).unwrap();
    for visit in &mut fleet.nodes[node].visits {
        visit.values[0] = visit.values[0].map(|value| level * (value / level).powf(factor));
    }
}

#[test]
fn a_node_of_wild_visits_is_uneven_and_a_slow_one_is_not() {
    // Among few peers no visit is very unlikely.
    for (nodes, factor) in [(30, 12.0), (80, 4.0)] {
        let mut fleet = fleet_with_visits(nodes, 0.01, 24);
        slow_down(&mut fleet, 3, 1.06);
        spread_out(&mut fleet, 5, factor);
        let found = fleet.draw_conclusions();
        let names = |listed: &[conclude::DeviatingNode]| -> Vec<String> {
            listed.iter().map(|node| node.node.clone()).collect()
        };
        let name = |node: usize| vec![fleet.nodes[node].name.clone()];
        assert_eq!((names(&found.outliers), names(&found.noisy)), (name(3), name(5)), "{nodes} nodes");
        let noisy = &found.noisy[0];
        let farther = (factor - 1.0) * 0.01 * 0.524;
        assert!((noisy.change / farther - 1.0).abs() < 0.5, "its visits are {factor} times as far away: {noisy:?}");
        assert!(noisy.at_least.unwrap() < noisy.change, "{noisy:?}");
    }
    // Four times as far as its peers, which is less than the margin.
    let mut fleet = fleet_with_visits(80, 0.002, 24);
    spread_out(&mut fleet, 5, 4.0);
    assert!(fleet.draw_conclusions().noisy.is_empty());
}

#[test]
fn all_nodes_are_visited_as_often_as_wanted() {
    let mut fleet = even_fleet(40);
    let planned = |fleet: &Fleet, visits_of_each: usize| {
        next_visits(fleet, &VisitPolicy { visits_of_each, ..VisitPolicy::default() })
    };
    assert!(planned(&fleet, 6).is_empty());
    assert_eq!(planned(&fleet, 7).len(), 40);
    fleet.nodes[3].visits.truncate(5);
    assert_eq!(planned(&fleet, 6), [3]);
}

/// The estimate is for half of such nodes; a third of the visits proves few of them.
#[test]
fn about_the_visits_that_are_named_prove_a_slow_node() {
    for nodes in [30, 80] {
        let enough = fleet_with_visits(nodes, 0.02, 2).draw_conclusions().outlook.unwrap().enough_visits.unwrap();
        let proven = |visits: usize| {
            let mut fleet = fleet_with_visits(nodes, 0.02, visits);
            let mut is_proven = |node: usize| {
                slow_down(&mut fleet, node, 1.05);
                let found = !fleet.draw_conclusions().outliers.is_empty();
                slow_down(&mut fleet, node, 1.0 / 1.05);
                found
            };
            (0..30).filter(|node| is_proven(*node)).count()
        };
        let [few, enough, many] = [enough / 3, enough, 2 * enough].map(proven);
        assert!(
            few <= 5 && (6..=27).contains(&enough) && many >= 24,
            "{nodes} nodes: {few}, {enough} and {many} of 30"
        );
    }
}

#[test]
fn a_comparison_without_a_proof_names_the_closest_nodes() {
    let mut before = even_fleet(30);
    before.nodes.iter_mut().for_each(|node| node.visits.truncate(2));
    let mut after = before.clone();
    slow_down(&mut after, 5, 1.1);
    let changes = compare::compare_fleets(&before, &after);
    assert!(changes.worse.is_empty());
    assert_eq!(changes.closest[0].node, before.nodes[5].name);
    assert_eq!(changes.outlook.unwrap().closest.unwrap().node, before.nodes[5].name);
    after.nodes.iter_mut().for_each(|node| node.name.insert_str(0, "new-"));
    let changes = compare::compare_fleets(&before, &after);
    assert_eq!((changes.compared, changes.outlook, changes.closest.len()), (0, None, 0));
}

#[test]
fn a_slow_rack_is_named_and_none_of_its_nodes() {
    let mut fleet = fleet_of_racks();
    (20..40).for_each(|node| slow_down(&mut fleet, node, 1.04));
    let found = fleet.draw_conclusions();
    assert!(found.outliers.is_empty());
    let [rack] = &found.models[0].racks[..] else { panic!("{:?}", found.models[0].racks) };
    assert_eq!((rack.rack.as_str(), rack.nodes), ("r1", 20));
    assert!((0.03..0.05).contains(&rack.change), "{rack:?}");
    (20..40).for_each(|node| slow_down(&mut fleet, node, 0.92));
    let racks = &fleet.draw_conclusions().models[0].racks;
    assert!(racks.len() == 1 && racks[0].change < -0.03, "a fast one too: {racks:?}");
}

#[test]
fn even_racks_small_racks_and_those_that_differ_by_less_than_two_percent_are_not_named() {
    let mut fleet = fleet_of_racks();
    let racks = |fleet: &Fleet| fleet.draw_conclusions().models.remove(0).racks;
    assert_eq!(racks(&fleet), []);
    (20..40).for_each(|node| slow_down(&mut fleet, node, 1.01));
    (80..84).for_each(|node| slow_down(&mut fleet, node, 1.2));
    assert_eq!(racks(&fleet), []);
    fleet.nodes.iter_mut().for_each(|node| node.rack = None);
    assert_eq!(racks(&fleet), []);
}

/// As many configurations as nodes, of which a file brings some: each is there once.
#[test]
fn equal_configurations_are_stored_once() {
    let mut fleet = Fleet::new(empty_fleet().provenance);
    let add = |fleet: &mut Fleet, node: u32, line: u32| {
        let mut report = report(&format!("n{node}"), 2, 1);
        report.configuration.insert("command_line".to_owned(), line.to_string());
        assert!(fleet.add_visit(&report));
        fleet.nodes.iter().find(|known| known.name == report.node).unwrap().visits[0].configuration
    };
    let places: Vec<usize> = (0..6).map(|node| add(&mut fleet, node, node % 3)).collect();
    assert_eq!(places, [0, 1, 2, 0, 1, 2]);
    let text = serde_json::to_string(&fleet).unwrap();
    let mut read: Fleet = serde_json::from_str(&text).unwrap();
    assert_eq!((&read, text.contains("index")), (&fleet, false));
    assert_eq!([add(&mut read, 6, 1), add(&mut read, 7, 9), add(&mut read, 8, 9)], [1, 3, 3]);
    assert_eq!(read.configurations.len(), 4);
}

#[test]
fn a_setting_goes_with_speed_only_if_a_test_says_so() {
    let speed_of = |slow: f64, odd: &[usize]| {
        let mut fleet = even_fleet(120);
        odd.iter().for_each(|node| slow_down(&mut fleet, *node, slow));
        reconfigure(&mut fleet, odd.iter().copied(), |odd| {
            odd.settings.insert("governor".to_owned(), "powersave".to_owned());
        });
        let drift = fleet.draw_conclusions().drift;
        assert_eq!((drift.len(), drift[0].setting.as_str()), (1, "governor"));
        assert_eq!((drift[0].values[0].speed, drift[0].values[1].nodes), (None, odd.len()));
        drift[0].values[1].speed.unwrap()
    };
    let odd: Vec<usize> = (0..120).step_by(10).collect();
    let SettingSpeed::Differs { change } = speed_of(1.04, &odd) else { panic!("a real difference is not found") };
    assert!((change - 0.04).abs() < 0.01, "{change}");
    assert_eq!(speed_of(1.0, &odd), SettingSpeed::NoDifference);
    assert_eq!(speed_of(1.04, &[1, 2]), SettingSpeed::Untested, "two nodes prove nothing");
    // A whole rack: the setting and the rack cannot be told apart.
    assert_eq!(speed_of(1.04, &(0..60).collect::<Vec<_>>()), SettingSpeed::Untested);
}

#[test]
fn a_name_of_each_node_is_no_drift() {
    let mut fleet = even_fleet(40);
    for node in 0..40 {
        reconfigure(&mut fleet, [node], |odd| {
            odd.settings.insert("machine_id".to_owned(), node.to_string());
        });
    }
    assert!(fleet.draw_conclusions().drift.is_empty());
}

#[test]
fn nodes_with_a_problem_are_not_visited_again() {
    let mut fleet = even_fleet(40);
    fleet.nodes[3].visits.truncate(1);
    assert_eq!(next_visits(&fleet, &VisitPolicy::default()), [3]);
    let problem = NodeProblem { kind: ProblemKind::Died, reason: "killed".to_owned() };
    let name = fleet.nodes[3].name.clone();
    fleet.add_problem(&name, problem);
    assert!(!next_visits(&fleet, &VisitPolicy::default()).contains(&3));
    let found = fleet.draw_conclusions();
    assert_eq!((found.problems.len(), &found.problems[0].nodes[0]), (1, &name));
}
