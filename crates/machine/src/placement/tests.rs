//! The language on machines: what expressions are, who is left out, and what is refused.

use proptest::prelude::*;

use super::sample::*;
use super::{ExclusionReason, PlacementExpression, ResolveContext, parse};
use crate::generate::random_expression;
use crate::random::RandomGenerator;
use crate::{CpuSet, Machine};

#[test]
fn expressions_are_the_cpus_they_say() {
    let machine = stacked();
    for (text, expected) in [
        ("0-3,8", "0-3,8"),
        ("0, 2, 4", "0,2,4"),
        ("0-31:8", "0,8,16,24"),
        ("0-15:2/8", "0,1,8,9"),
        ("0x55", "0,2,4,6"),
        ("0xFFFF_0000", "16-31"),
        ("0x0,ffff0000", "16-31"),
        ("cpu:5", "5"),
        ("core:1", "1,17"),
        ("core:even & llc:0", "0,2,4,6,16,18,20,22"),
        ("core:last", "15,31"),
        ("LLC:1", "8-15,24-31"),
        ("llc:0.core:0-1", "0,1,16,17"),
        ("llc:all.core:0", "0,8,16,24"),
        ("core:all.cpu:1", "16-31"),
        ("(llc:0 - 0).cpu:0-2", "1-3"),
        ("vcache - 0", "1-7,16-23"),
        ("vcache-0", "1-7,16-23"),
        ("all-core:0", "1-15,17-31"),
        ("frequency & one-per-core", "8-15"),
        ("!llc:0", "8-15,24-31"),
        ("!(llc:0 + llc:1) + 3", "3"),
        ("0-7 - 3", "0-2,4-7"),
        ("(0,1) - 1", "0"),
        ("all - 0 & llc:0", "1-7,16-23"),
        ("spread(2,llc)", "0,8"),
    ] {
        assert_eq!(resolve_cpus(&machine, text), expected, "{text}");
    }
    assert_eq!(resolve_cpus(&without_memory(), "with-memory"), "0-15,32-47");
    assert_eq!(resolve_cpus(&hybrid(), "efficiency"), "16-31");
    assert_eq!(resolve_cpus(&hybrid(), "one-per-core"), "0,2,4,6,8,10,12,14,16-31");
}

#[test]
fn threads_take_lists_as_typed_and_cores_before_siblings() {
    let machine = stacked();
    for (text, expected) in [
        ("3,1,2", "3,1,2"),
        ("0-3,1", "0-3"),
        ("0xe", "1-3"),
        ("core:1,0", "1,0,17,16"),
        ("llc:1", "8-15,24-31"),
        ("2 + 0-1", "2,0,1"),
        ("all - core:1-15", "0,16"),
        ("spread(4, llc)", "0,8,1,9"),
    ] {
        assert_eq!(resolve_order(&machine, text), expected, "{text}");
    }
    assert_eq!(
        resolve_order(&hybrid(), "core:7-9"),
        "14,16,17,15",
        "large cores first, then small ones, then siblings"
    );
}

/// What is typed for a machine with stacked cache, and what is said of it: the place, what is wrong, and a hint.
const REFUSED: &[(&str, &str)] = &[
    (
        "",
        "[] the expression is empty | for example: 0-3,8   0x55   llc:0   all - core:0   vcache - 0   spread(4, \
        cluster)",
    ),
    ("llc:2", "[llc:2] llc:2: this machine has llc:0-1"),
    ("all - llc:2", "[llc:2] llc:2: this machine has llc:0-1"),
    ("llc:0.core:8", "[llc:0.core:8] core:8: llc:0 has core:0-7"),
    ("40", "[40] cpu 40: this machine has cpus 0-31 | a mask has 0x: 0x40 is cpu 6"),
    ("55", "[55] cpu 55: this machine has cpus 0-31 | a mask has 0x: 0x55 is cpus 0,2,4,6"),
    ("ff", "[ff] unknown word \"ff\" | a mask has 0x: 0xff"),
    ("FFFF FFFC", "[FFFF] unknown word \"FFFF\" | a mask has 0x: 0xffff"),
    ("3f", "[f] \"f\" is not a digit | a mask has 0x: 0x3f"),
    ("0xfg", "[g] \"g\" is not a hexadecimal digit"),
    ("0x", "[0x] expected hexadecimal digits after 0x"),
    ("0x0", "[0x0] a mask of 0 selects no cpu"),
    ("ccx:0", "[ccx] unknown word \"ccx\" | the name here is llc:N"),
    ("ccd:1", "[ccd] unknown word \"ccd\" | the name here is llc:N (die:N where a CCD has two)"),
    ("L3:0", "[L3] unknown word \"L3\" | the name here is llc:N"),
    ("socket0", "[socket0] unknown word \"socket0\" | the name here is package:N"),
    ("smt", "[smt] unknown word \"smt\" | the name here is one-per-core (core:all.cpu:1 for the second threads)"),
    ("HT", "[HT] unknown word \"HT\" | the name here is one-per-core (core:all.cpu:1 for the second threads)"),
    (
        "all - siblings",
        "[siblings] unknown word \"siblings\" | the name here is core:N, or core:all.cpu:1 for the second threads",
    ),
    ("pcores", "[pcores] unknown word \"pcores\" | the name here is performance"),
    ("P-Cores", "[P-Cores] unknown word \"P-Cores\" | the name here is performance"),
    ("e_cores", "[e_cores] unknown word \"e_cores\" | the name here is efficiency"),
    ("park", "[park] unknown word \"park\" | the name here is all - LIST, which leaves these cpus free"),
    ("idle", "[idle] unknown word \"idle\" | the name here is best(N, worth)"),
    ("vcahce", "[vcahce] unknown word \"vcahce\" | did you mean vcache?"),
    ("lcc:0", "[lcc] unknown word \"lcc\" | did you mean llc?"),
    (
        "llc",
        "[llc] \"llc\" is a level and needs an index | llc:0 is the first, llc:0-3 are the first four, llc:all are all",
    ),
    ("llc:", "[] expected an index after \"llc:\", such as 0, 0-3, 0,2, all, even, odd or last"),
    (
        "all:0",
        "[:] \"all\" is a name, not a level, and takes no index | the levels are drawer, book, package, node, die, llc, group, \
            cluster, core, cpu",
    ),
    (
        "0 - 3",
        "[-] this is ambiguous: a range, or one list without another | write 0-3 for the range, or (0) - 3 for \
        without",
    ),
    ("0-7-3", "[-] a range has only one minus | for without, put spaces around the minus: 0-7 - 3"),
    ("3-1", "[3-1] the range 3-1 ends before it begins | 1-3 is the range; 3,2,1 is a list in that order"),
    ("31-0", "[31-0] the range 31-0 ends before it begins | 0-31 is the range"),
    ("0-8:0", "[0-8:0] a stride is at least 1, and a group no larger than its stride"),
    (
        "0-3,llc:1",
        "[,] expected +, - or & before another term, found \",\" | a list continues with a number; join other terms \
            with +",
    ),
    ("0-3 8", "[8] expected +, - or & before another term, found \"8\" | a list has commas: 0-3,8"),
    ("1 2 3", "[2] expected +, - or & before another term, found \"2\" | a list has commas: 1,2,3"),
    ("55 ff", "[f] expected +, - or & before another term, found \"f\" | a mask has 0x and no spaces: 0xfffc"),
    ("0 core:1", "[c] expected +, - or & before another term, found \"c\" | join terms with +"),
    (
        "node:0.all",
        "[all] expected a level after the dot, such as core:0 | llc:1.core:0-3 is the first four cores of llc:1",
    ),
    (
        "llc:0..core:0",
        "[] expected a level after the dot, such as core:0 | llc:1.core:0-3 is the first four cores of llc:1",
    ),
    (
        "spread(4,",
        "[] expected a level: one of drawer, book, package, node, die, llc, group, cluster, core, cpu | write spread(4, llc) or \
            spread(4, llc, node:0)",
    ),
    ("(0-3", "[] expected \")\" to close \"(\"; found the end"),
    ("0-3)", "[)] expected +, - or & before another term, found \")\" | there is no \"(\" before it"),
    (
        "all -",
        "[] the expression ends, but a cpu list, a mask, a level with an index, a name or a pattern was expected",
    ),
    (
        "~0",
        "[~] expected a cpu list, a mask, a level with an index, a name or a pattern, found \"~\" | without is written as all - x, or !x",
    ),
    ("spread(4)", "[)] spread needs a level: spread(4, llc)"),
    ("spread(0, llc)", "[0] a pattern needs at least one cpu | write spread(4, llc) or spread(4, llc, node:0)"),
    ("pack(40, llc)", "[pack(40, llc)] pack(40, llc): only 32 cpus can be used"),
    (
        "pack(4, ccx)",
        "[ccx] expected a level: one of drawer, book, package, node, die, llc, group, cluster, core, cpu | the name here is llc:N",
    ),
    (
        "best(2, worth)",
        "[best(2, worth)] best(2, worth): the worth of these cpus is not known now | it is known on the machine itself, while it runs",
    ),
    ("best(2, speed)", "[speed] expected worth | write best(4, worth) or best(4, worth, node:0)"),
    ("best(2)", "[)] best needs worth: best(2, worth)"),
    ("performance", "[performance] performance: all cores of this machine are of one kind"),
    ("isolated", "[isolated] isolated: this kernel isolates no cpu"),
    (
        "quiet",
        "[quiet] quiet: there is no survey of this machine | quiet needs a survey; run `corewise` on the machine itself",
    ),
    ("llc:0 & llc:1", "[llc:1] no cpu is left: llc:1 has no cpu in common with the part before it"),
    ("all - all", "[all] no cpu is left: all removes everything before it"),
    ("!all", "[!all] no cpu is left: !all excludes every cpu"),
    ("70000", "[70000] 70000 is above 65535, the largest supported number"),
];

#[test]
fn what_makes_no_sense_is_refused_with_its_place_and_a_hint() {
    let machine = stacked();
    for (text, expected) in REFUSED {
        assert_eq!(resolve_refusal(&machine, text), *expected, "{text}");
    }
    assert_eq!(resolve_refusal(&bulldozer(), "vcache"), "[vcache] vcache: no die of this machine has stacked cache");
    assert_eq!(
        resolve_refusal(&hybrid(), "low-power"),
        "[low-power] low-power: the kinds of core here are performance and efficiency"
    );
    let deep = "(".repeat(100_000);
    assert!(parse(&deep).is_err());
    assert!(parse(&"!".repeat(1000)).unwrap_err().what.contains("nested terms"));
    assert!(parse(&format!("0{}", ".core:0".repeat(1000))).is_err());
}

#[test]
fn expressions_have_a_largest_size() {
    let terms = |count: usize| "all + ".repeat(count - 1) + "core:0";
    assert!(parse(&terms(1024)).is_ok());
    let error = parse(&terms(1025)).unwrap_err();
    assert_eq!(error.what, "an expression has at most 1024 terms, and another begins here");
    assert_eq!(error.at, 6 * 1024..6 * 1024 + 1);
    let dots = format!("core:0{}", " + llc:0.core:0".repeat(512));
    assert_eq!(parse(&dots).unwrap_err().at, dots.len() - 6..dots.len() - 5, "what is behind a dot counts");
}

#[test]
fn numbers_that_come_again_and_again_are_counted() {
    let range = "0-65535";
    let what = "with these the expression names more than a million numbers, with many repetitions";
    for separator in [",", " + "] {
        assert!(parse(&[range; 16].join(separator)).is_ok());
        let error = parse(&[range; 17].join(separator)).unwrap_err();
        let start = 16 * (range.len() + separator.len());
        assert_eq!((error.what.as_str(), error.at), (what, start..start + range.len()));
    }
    assert_eq!(parse(&format!("core:{}", [range; 17].join(","))).unwrap_err().what, what);
}

/// Cpus 4-5 offline, 6-7 outside the cpuset, 2-3 isolated, and the inherited mask leaves out 1 as well.
fn restricted() -> (Machine, CpuSet) {
    let mut machine = bulldozer();
    machine.isolated = parse_set("2,3");
    machine.online = parse_set("0-3,6,7");
    machine.allowed = parse_set("0");
    (machine, parse_set("0-3"))
}

#[test]
fn who_is_left_out_is_told_with_the_reason() {
    let (machine, reachable) = restricted();
    let context = ResolveContext { machine: &machine, reachable: &reachable, quiet: None, worth: None };
    let told = |text: &str| {
        let resolution = parse(text).unwrap().resolve_on(&context).unwrap();
        let out = |out: &super::ExcludedCpus| {
            format!("{} {}{}", out.cpus, out.reason.reason_words(), if out.named.is_empty() { "" } else { "!" })
        };
        format!("{}: {}", resolution.cpus, resolution.left_out.iter().map(out).collect::<Vec<_>>().join("; "))
    };
    let everyone = "4,5 offline; 6,7 outside the cpuset; 2,3 isolated; 1 not in the inherited affinity mask";
    assert_eq!(told("all"), format!("0: {everyone}"));
    assert_eq!(told("spread(1, core)"), format!("0: {everyone}"));
    assert_eq!(told("one-per-core"), format!("0: {everyone}"));
    assert_eq!(told("all - 2-7"), "0: 1 not in the inherited affinity mask");
    assert_eq!(told("0-7"), "0-3: 4,5 offline!; 6,7 outside the cpuset!", "numbers reach isolated cpus");
    assert_eq!(told("isolated"), "2,3: ");
    assert_eq!(told("cluster:1 & isolated"), "2,3: ");
    assert_eq!(told("cluster:0-1 + 3"), "0,3: 2 isolated; 1 not in the inherited affinity mask");
    let refused = parse("cluster:1").unwrap().resolve_on(&context).unwrap_err();
    assert_eq!(refused.what, "no cpu is left: cpus 2,3 are isolated");
    assert_eq!(refused.hint.as_deref(), Some("select them by number: 2,3"));
    assert_eq!(parse("4").unwrap().resolve_on(&context).unwrap_err().what, "no cpu is left: cpu 4 is offline");
    assert_eq!(ExclusionReason::ALL.map(ExclusionReason::yields_to_a_name), [false, true, false, true, true]);
}

#[test]
fn quiet_is_what_the_survey_says() {
    let (machine, quiet) = (bulldozer(), parse_set("3-7"));
    let context = ResolveContext { machine: &machine, reachable: &machine.online, quiet: Some(&quiet), worth: None };
    assert_eq!(parse("quiet & cluster:0-1").unwrap().resolve_on(&context).unwrap().cpus.to_string(), "3");
}

#[test]
fn the_best_are_those_that_are_worth_most_now() {
    use crate::worth::{CpuWorth, WorthNow, WorthRecord};
    let machine = bulldozer();
    let of = |cpu: u32| CpuWorth { cpu, record: WorthRecord { worth: cpu as f32 / 8.0, ..WorthRecord::default() } };
    let now = WorthNow { cpus: (0..8).map(of).collect(), ..WorthNow::default() };
    let context = ResolveContext { machine: &machine, reachable: &machine.online, quiet: None, worth: Some(&now) };
    let found = |text: &str| parse(text).unwrap().resolve_on(&context).unwrap();
    assert_eq!(found("best(3, worth)").order, [7, 6, 5]);
    assert_eq!(found("BEST( 2 ,worth, cluster:0-1)").cpus.to_string(), "2,3");
    assert!(found("best(3, worth)").notes[0].starts_with("best(3, worth): each of these is worth at least 62 %"));
    for text in ["best(2, worth)", "all - best(2, worth, llc:0 + 1)"] {
        assert_eq!(parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn plain_expressions_need_no_machine() {
    let plain = |text: &str| parse(text).unwrap().plain_cpus();
    assert_eq!(plain("3,0-1"), Some(vec![3, 0, 1]));
    assert_eq!(plain("(0x5)"), Some(vec![0, 2]));
    assert_eq!(plain("cpu:0"), None);
}

fn cpus_or_none(machine: &Machine, text: &str) -> CpuSet {
    resolve_text(machine, text).map(|resolution| resolution.cpus).unwrap_or_default()
}

#[test]
fn sets_obey_the_laws_of_sets_and_print_as_what_they_are() {
    let mut random = RandomGenerator::new(3);
    for machine in [bulldozer(), stacked(), without_memory(), hybrid(), lopsided()] {
        for _ in 0..1000 {
            let [a, b] = [2, 2].map(|depth| random_expression(&mut random, &machine, depth));
            let of = |text: String| cpus_or_none(&machine, &text);
            let (set_a, set_b) = (of(a.clone()), of(b.clone()));
            assert_eq!(of(format!("({a}) + ({b})")), set_a.union(&set_b), "{a} + {b}");
            assert_eq!(of(format!("({a}) & ({b})")), set_a.intersection(&set_b), "{a} & {b}");
            assert_eq!(of(format!("({a}) - ({b})")), set_a.difference(&set_b), "{a} - {b}");
            assert_eq!(of(format!("!({a})")), machine.online.difference(&set_a), "!{a}");
            let parsed = parse(&a).unwrap();
            let again: PlacementExpression = parsed.to_string().parse().unwrap();
            assert_eq!(again.term, parsed.term, "{a} prints as {parsed}");
            if let Ok(resolution) = resolve_text(&machine, &a) {
                let mut sorted = resolution.order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, resolution.cpus.iter().collect::<Vec<_>>(), "{a}: the order has each cpu once");
            }
        }
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "[0-9a-zA-Z:.,()+&! x-]{0,40}") {
        if let Ok(parsed) = parse(&text) {
            let again = parse(&parsed.to_string()).unwrap();
            prop_assert_eq!(again.term, parsed.term);
            let _ = resolve_text(&stacked(), &text);
        }
    }
}

/// No system tells groups: they come from a map of links, and without one nothing is taken in their place.
#[test]
fn groups_are_those_that_a_map_proved() {
    let told = stacked();
    for text in ["group:0", "pack(3, group)", "llc:0.group:0"] {
        assert_eq!(
            resolve_refusal(&told, text).split(" | ").next().unwrap().split("] ").nth(1),
            Some("group: no link map of this machine shows groups"),
            "{text}"
        );
    }
    let groups = ["0-3,16-19", "4-7,20-23", "8-15,24-31"].map(parse_set).to_vec();
    let machine = crate::Machine { groups, ..told };
    assert_eq!(resolve_cpus(&machine, "group:1"), "4-7,20-23");
    assert_eq!(resolve_cpus(&machine, "group:last - core:8"), "9-15,25-31");
    assert_eq!(resolve_cpus(&machine, "pack(3, group)"), "0-2");
    assert_eq!(resolve_cpus(&machine, "spread(3, group)"), "0,4,8");
    assert_eq!(resolve_cpus(&machine, "llc:0.group:1"), "4-7,20-23");
}

/// The built-in machine of two packages has a good card, one whose reports contradict each other, and one of which nothing is known.
fn with_devices() -> Machine {
    let machine = crate::machine_file::BUILT_IN.iter().find(|machine| machine.name == "simulated-2-packages").unwrap();
    machine.read_machine().unwrap().machine
}

#[test]
fn near_is_what_the_system_reports_with_the_reason_and_the_doubt() {
    let machine = with_devices();
    let near = |text: &str| {
        let found = resolve_text(&machine, text).unwrap();
        (found.cpus.to_string(), found.notes.join(" "))
    };
    let node_1 = "near(eth0): node 1, as the system reports.";
    assert_eq!(near("near(eth0)"), ("4-7,12-15".into(), node_1.into()));
    assert_eq!(near("NEAR( eth0 )"), ("4-7,12-15".into(), node_1.into()));
    assert_eq!(near("!near(eth0)"), ("0-3,8-11".into(), node_1.into()));
    assert_eq!(near("near(eth0) + near(eth0) - core:4").0, "5-7,13-15");
    assert_eq!(near("near(eth0).core:0").0, "4,12");
    assert_eq!(near("spread(2, core, near(pci:41:00.0)) + near(nvme0n1).cpu:0").0, "0,4,5");
    let doubted = near("near(eth1)");
    assert_eq!((doubted.0.as_str(), doubted.1.contains("contradict each other")), ("4-7,12-15", true), "{}", doubted.1);
    let unknown = near("near(gpu:0) & llc:0");
    assert_eq!((unknown.0.as_str(), unknown.1.contains("is not known; no node is reported")), ("0-3,8-11", true));
}

#[test]
fn devices_that_are_not_there_are_refused_with_those_that_are() {
    let machine = with_devices();
    assert_eq!(
        resolve_refusal(&machine, "all - near(eth9)"),
        "[near(eth9)] near(eth9): this machine has no such device | the devices here are nvme0, nvme0n1, eth0, eth1, card0"
    );
    assert!(
        resolve_refusal(&machine, "!near(card0)")
            .starts_with("[!near(card0)] no cpu is left: !near(card0) excludes every cpu | near(card0): where it is")
    );
    let without = resolve_refusal(&stacked(), "near(eth0)");
    assert!(without.starts_with("[near(eth0)] near(eth0): no devices of this machine are known | "), "{without}");
    for text in ["near", "near()", "near( )", "near(eth0", "near(a(b))"] {
        let told = resolve_refusal(&machine, text);
        assert!(
            told.ends_with("write near(eth0), near(nvme0n1), near(pci:0000:41:00.0) or near(gpu:0)"),
            "{text}: {told}"
        );
    }
    assert_eq!(resolve_refusal(&machine, "eth0"), "[eth0] unknown word \"eth0\" | the name here is near(eth0)");
}

/// Whoever may not use the cpus near a device is told why none is left.
#[test]
fn near_leaves_out_what_may_not_be_used() {
    let machine = Machine { allowed: parse_set("0-4"), isolated: parse_set("5"), ..with_devices() };
    let context = |reachable| ResolveContext { machine: &machine, reachable, quiet: None, worth: None };
    let (all, some) = (machine.online.clone(), parse_set("0-3"));
    let found = parse("near(eth0)").unwrap().resolve_on(&context(&all)).unwrap();
    assert_eq!((found.cpus.to_string(), found.left_out.len()), ("4".into(), 2));
    let none = parse("near(eth0)").unwrap().resolve_on(&context(&some)).unwrap_err();
    assert_eq!(none.what, "no cpu is left: cpus 4-7,12-15 are outside the cpuset");
}
