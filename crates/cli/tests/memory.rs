//! `corewise memory` as a user meets it: this machine with a small buffer, described machines, the history, hwloc's form, and what cannot be.

mod support;

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;
use support::{TestPlace, text};

fn printed(place: &TestPlace, arguments: &[&str]) -> String {
    let run = place.corewise(arguments).output().unwrap();
    assert_eq!((run.status.code(), support::said(&run.stderr)), (Some(0), String::new()), "{arguments:?}");
    text(&run.stdout)
}

fn refused(place: &TestPlace, arguments: &[&str]) -> (Option<i32>, String) {
    let run = place.corewise(arguments).output().unwrap();
    assert_eq!(text(&run.stdout), "", "{arguments:?}");
    (run.status.code(), text(&run.stderr))
}

#[test]
fn this_machine_has_a_map_of_memory_that_is_kept_shown_and_compared() {
    // A busy machine needs more time.
    let within = |budget| {
        let place = TestPlace::new();
        let map = ["memory", "--buffer", "4MiB", "--budget", budget, "--width", "120"];
        let screen = printed(&place, &map);
        (place, map, screen)
    };
    let mut tried = ["1s", "5s", "60s"].into_iter().map(within);
    let (place, map, screen) = tried.find(|(.., screen)| !screen.contains("PARTIAL")).unwrap();
    for words in ["Latency", "Bandwidth", "What this means", "stored as map 1"] {
        assert!(screen.contains(words), "{words} in\n{screen}");
    }
    let document: Value = serde_json::from_str(&printed(&place, &[&map[..], &["--json"]].concat())).unwrap();
    assert_eq!((&document["schema"], &document["stored"]), (&"corewise/memory/1".into(), &2.into()));
    assert_eq!(document["observed"]["buffer_bytes"], 4 << 20);
    let again = printed(&place, &["history", "show", "1"]);
    assert!(again.contains("map 1 of memory, made"), "{again}");
    let csv = printed(&place, &["history", "show", "1", "--csv"]);
    assert!(csv.starts_with("measure,cpus,node,bytes,pause_ns,visit,value,unit,notes\nworking-set,"), "{csv}");
    let compared = printed(&place, &["history", "compare", "1", "2"]);
    assert!(compared.contains("changed by more than 5 % between map 1 and map 2"), "{compared}");
    let list = printed(&place, &["history"]);
    assert!(list.contains("memory"), "{list}");
}

#[test]
fn a_described_machine_says_what_the_article_needed_two_pages_for() {
    let place = TestPlace::new();
    let screen = printed(&place, &["memory", "--simulate", "2990wx", "--no-store", "--seed", "1", "--width", "120"]);
    for words in ["have no memory of their own", "Memory of another node takes", "simulated with made-up costs"] {
        assert!(screen.contains(words), "{words} in\n{screen}");
    }
    for width in ["40", "60", "80"] {
        let narrow =
            printed(&place, &["memory", "--simulate", "2990wx", "--no-store", "--seed", "1", "--width", width]);
        let most = narrow.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(most <= width.parse().unwrap(), "{most} columns in\n{narrow}");
    }
}

/// Each cell of the picture says whose cost it is: those of the own node are the least.
#[test]
fn the_costs_of_all_nodes_are_a_picture() {
    let place = TestPlace::new();
    let simulated = ["memory", "--simulate", "2990wx", "--seed", "1"];
    let picture = printed(&place, &[&simulated[..], &["--no-store", "--format", "svg"]].concat());
    let document = roxmltree::Document::parse(&picture).unwrap();
    let cells =
        document.descendants().filter(|node| node.has_tag_name("rect")).filter_map(|node| node.children().next());
    let costs: Vec<(String, f64)> = cells
        .filter_map(|title| {
            let (whose, cost) = title.text()?.split_once(": ")?;
            Some((whose.to_owned(), cost.strip_suffix(" ns")?.parse().ok()?))
        })
        .collect();
    assert_eq!(costs.len(), 16, "{picture}");
    let cost =
        |whose: &str| costs.iter().find(|(known, _)| known == whose).unwrap_or_else(|| panic!("{whose}: {costs:?}")).1;
    assert!(cost("cpus 0-7 to node 2") > 1.3 * cost("cpus 0-7 to node 0"), "{costs:?}");
    assert!(cost("cpus 32-39 to node 0") > 1.3 * cost("cpus 32-39 to node 2"), "{costs:?}");
    for words in [">node 3</text>", ">node</text>", "simulated from 2990wx", ">ns</text>"] {
        assert!(picture.contains(words), "{words} in\n{picture}");
    }
    let one_node =
        printed(&place, &["memory", "--simulate", "9950x3d", "--no-store", "--seed", "1", "--format", "svg"]);
    assert!(one_node.contains("<title>Latency by working set</title>"), "{one_node}");

    printed(&place, &simulated);
    printed(&place, &["report", "1", "-o", "page.html", "--figures", "figures"]);
    for name in ["latency", "bandwidth", "working-sets", "under-load"] {
        let svg = fs::read_to_string(place.path().join(format!("figures/memory-1-{name}.svg"))).unwrap();
        roxmltree::Document::parse(&svg).unwrap();
    }
}

#[test]
fn many_nodes_are_a_heat_map_of_any_width() {
    let place = TestPlace::new();
    let map = ["memory", "--simulate", "simulated-1536-cpus", "--no-store", "--seed", "1", "--width"];
    for width in ["40", "80", "120"] {
        let screen = printed(&place, &[&map[..], &[width]].concat());
        let most = screen.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(most <= width.parse().unwrap(), "{most} columns in\n{screen}");
        for words in ["0 1 2 3 4 5 6 7", "row: cpus,", "held-out error"] {
            assert!(screen.split_whitespace().collect::<Vec<_>>().join(" ").contains(words), "{words} in\n{screen}");
        }
    }
}

#[test]
fn hwloc_reads_what_was_measured() {
    let place = TestPlace::new();
    let xml = printed(&place, &["memory", "--simulate", "2990wx", "--no-store", "--seed", "1", "--format", "hwloc"]);
    fs::write(place.path().join("m.xml"), &xml).unwrap();
    let lstopo =
        Command::new("lstopo-no-graphics").args(["--input", "m.xml", "--memattrs"]).current_dir(place.path()).output();
    let Ok(shown) = lstopo else {
        return println!("skipped: hwloc is not installed");
    };
    let (shown, said) = (text(&shown.stdout), text(&shown.stderr));
    assert!(shown.contains("name `Latency'") && shown.contains("name `Bandwidth'"), "{shown}\n{said}");
    let values = shown.lines().filter(|line| line.contains("NUMANode L#")).count();
    assert!(values >= 32, "16 cells of two attributes in\n{shown}");
}

#[test]
fn what_other_tools_print_is_a_map() {
    let place = TestPlace::new();
    let mlc = "Measuring idle latencies (in ns)...\n\t\tNuma node\nNuma node\t     0\t     2\t\n       0\t  81.5\t 139.5\t\n       2\t \
               138.9\t  81.3\t\n";
    fs::write(place.path().join("mlc.txt"), mlc).unwrap();
    let numactl = "available: 2 nodes (0-1)\nnode 0 cpus: 0 1\nnode 0 size: 1000 MB\nnode 1 cpus: 2 3\nnode 1 size: 1000 MB\nnode \
                   distances:\nnode   0   1 \n  0:  10  21 \n  1:  21  10 \n";
    fs::write(place.path().join("numactl.txt"), numactl).unwrap();
    let at = |file: &str| place.path().join(file).display().to_string();
    let screen = printed(&place, &["memory", "--import", &at("mlc.txt"), "--machine", "threadripper-2990wx"]);
    for words in ["Intel Memory Latency Checker", "0-15", "82", "mlc names nodes, not cpus", "stored as map 1"] {
        assert!(screen.contains(words), "{words} in\n{screen}");
    }
    let screen = printed(&place, &["memory", "--import", &at("numactl.txt"), "--width", "120"]);
    for words in ["Distance", "no latency was measured", "21", "stored as map 2"] {
        assert!(screen.contains(words), "{words} in\n{screen}");
    }
    let (exit, said) = refused(&place, &["memory", "--import", &at("mlc.txt"), "--machine", "fx-8150"]);
    assert!(exit == Some(3) && said.contains("node 2 of the file is not a node of this machine"), "{said}");
    let (exit, said) = refused(&place, &["memory", "--import", &at("missing.txt")]);
    assert!(exit == Some(3), "{said}");
}

#[test]
fn what_cannot_be_is_refused_with_what_to_do() {
    let place = TestPlace::new();
    for (arguments, expected, what) in [
        (&["memory", "--buffer", "3"][..], 2, "a size between 1MiB and 1TiB"),
        (&["memory", "--cpus", "llc:99"], 3, "llc:99"),
        (&["memory", "--simulate", "no-such-machine"], 2, "no machine and no file is named"),
        (&["memory", "--format", "png"], 2, "invalid value"),
        (&["memory", "--budget", "soon"], 2, "duration"),
    ] {
        let (exit, said) = refused(&place, arguments);
        assert_eq!(exit, Some(expected), "{arguments:?}: {said}");
        assert!(said.contains(what), "{arguments:?}: {said}");
    }
    printed(&place, &["memory", "--simulate", "2990wx", "--seed", "1"]);
    let (exit, said) = refused(&place, &["history", "show", "1", "--svg", "here.svg"]);
    assert!(exit == Some(2) && said.contains("--svg is not available for a map of memory"), "{said}");
}

/// While the buffers are being filled, and while they are visited: what of the process lies in memory says how far it is.
#[test]
fn ctrl_c_ends_it_wherever_it_is() {
    const MIB: u64 = 1 << 20;
    // Two chains and half as much for streams are filled first; then the chain of working sets grows.
    for least in [24 * MIB, 90 * MIB] {
        let place = TestPlace::new();
        let arguments = ["memory", "--cpus", "core:0", "--buffer", "32MiB", "--budget", "10m"];
        let mut run = place.corewise(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        support::wait_until_it_catches_interrupts(&run);
        let resident = || {
            let status = fs::read_to_string(format!("/proc/{}/status", run.id())).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) << 10
        };
        support::wait_for("its buffers to be filled so far", || (resident() >= least).then_some(()));
        support::interrupt(&run);
        assert_eq!(support::ended(&mut run).code(), Some(130), "at {} MiB", least / MIB);
    }
}

#[test]
fn a_map_that_is_interrupted_ends_and_keeps_what_there_is() {
    let place = TestPlace::new();
    let mut run =
        place.corewise(&["memory", "--buffer", "8MiB"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    support::wait_until_it_catches_interrupts(&run);
    support::interrupt(&run);
    let exit = support::ended(&mut run).code();
    // Interrupted before its first visit it says that, otherwise it prints what there is; a map of few visits may be whole by then.
    assert!([Some(130), Some(0)].contains(&exit), "{exit:?}");
}
