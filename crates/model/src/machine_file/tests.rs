//! Machine files: what each key comes to, what is refused and on which line, and what the built-in machines are.

use super::*;
use crate::CpuSet;

/// The cpu lists of the objects of a level.
fn lists(machine: &Machine, level: Level) -> Vec<String> {
    machine.objects(level).iter().map(CpuSet::to_string).collect()
}

fn read(text: &str) -> Machine {
    parse(text).unwrap().machine
}

fn error(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn a_name_and_cpus_are_a_machine() {
    let machine = read("name = \"One\"\ncpus = \"0-3\"");
    assert_eq!(lists(&machine, Level::Package), ["0-3"]);
    assert_eq!(lists(&machine, Level::Core), ["0", "1", "2", "3"]);
    assert_eq!(lists(&machine, Level::Node), ["0-3"]);
    assert_eq!(machine.nodes[0].memory_bytes, None);
    assert_eq!(machine.gaps.iter().map(|gap| gap.what.as_str()).collect::<Vec<_>>(), ["shared caches"]);
}

#[test]
fn levels_are_as_written() {
    let machine = read(
        r#"
        name = "Two of everything"
        cpus = "0-15"
        packages = "0-3,8-11 x2"
        dies = ["0,1,8,9 x2", "4,5,12,13 x2"]
        cores = "0,8 x8"
        caches = [{ cache = "L2", size = "1 MiB", per = "core" }, { cache = "L3", cpus = "0,1,8,9 x4 step 2" }]
        "#,
    );
    assert_eq!(lists(&machine, Level::Package), ["0-3,8-11", "4-7,12-15"]);
    assert_eq!(lists(&machine, Level::Die), ["0,1,8,9", "2,3,10,11", "4,5,12,13", "6,7,14,15"]);
    assert_eq!(lists(&machine, Level::Llc), lists(&machine, Level::Die));
    assert_eq!(lists(&machine, Level::Core)[7], "7,15");
    assert_eq!(machine.dies.iter().map(|die| die.os_number.unwrap()).collect::<Vec<_>>(), [0, 1, 0, 1]);
    assert_eq!((machine.llcs[0].level, machine.llcs[0].size_bytes), (Some(3), None));
}

#[test]
fn what_is_offline_is_in_no_object() {
    let machine = read("name = \"m\"\ncpus = \"0-7\"\noffline = \"0,5\"\ncores = \"0,1 x4\"\nisolated = \"5-7\"");
    assert_eq!(lists(&machine, Level::Core), ["1", "2,3", "4", "6,7"]);
    assert_eq!((machine.offline().to_string(), machine.isolated.to_string()), ("0,5".into(), "6,7".into()));
}

#[test]
fn nodes_are_numbered_on_and_may_lack_cpus_or_memory() {
    let machine = read(
        r#"
        name = "m"
        cpus = "0-7"
        nodes = [{ cpus = "0-3 x2", memory = "0 GiB" }, { number = 8, memory = "2 GiB" }, { memory = "1 GiB" }]
        distances = 17
        "#,
    );
    let nodes: Vec<_> = machine.nodes.iter().map(|node| (node.number, node.cpus.to_string(), node.memory_bytes)).collect();
    let expected = [(0, "0-3", 0), (1, "4-7", 0), (8, "", 2 << 30), (9, "", 1 << 30)];
    assert_eq!(nodes, expected.map(|(number, cpus, bytes)| (number, cpus.to_owned(), Some(bytes))));
    assert_eq!(machine.nodes[1].distances, [17, 10, 17, 17]);
}

#[test]
fn mistakes_are_told_by_line_with_what_was_expected() {
    let with = |rest: &str| error(&format!("name = \"m\"\ncpus = \"0-7\"\n{rest}"));
    insta::assert_snapshot!([
        error(""),
        error("name = \"m\"\ncpus = \"\""),
        error("name = \"m\"\n\ncpus = \"0-9000\""),
        error("name = "),
        with("core = \"0,1 x4\""),
        with("cores = \"0,1 x4"),
        with("cores = 2"),
        with("cores = [\n  \"0,1 x2\",\n  \"4,5 y2\",\n]"),
        with("cores = \"0,1 x3\""),
        with("cores = \"0,1 x5\""),
        with("cores = [\"0-3\", \"3-7\"]"),
        with("dies = \"0,1 x4\"\ncores = \"0,4 x4\""),
        with("clusters = \"0-3 x2\"\ncaches = [{ cache = \"L3\", cpus = \"0,1 x4\" }]"),
        with("caches = [\n  { cache = \"L3\" },\n]"),
        with("caches = [{ cache = \"L2\", per = \"cluster\" }]"),
        with("caches = [{ cache = \"L2\", per = \"cor\" }]"),
        with("caches = [{ cache = \"L9\", per = \"core\" }]"),
        with("caches = [{ cache = \"L2\", size = \"2 MB\", per = \"core\" }]"),
        with("caches = [{ cache = \"L2\", per = \"core\" }, { cache = \"L2\", per = \"package\" }]"),
        with("nodes = [{ cpus = \"0-3\" }]"),
        with("nodes = [{ cpus = \"0-3\", number = 4 }, { cpus = \"4-7\", number = 4 }]"),
        with("nodes = [{ cpus = \"0-3 x2\" }]\ndistances = [[10, 20]]"),
        with("distances = \"10 20\""),
        with("distances = -1"),
        with("offline = \"0-7\""),
        with("isolated = \"7,8\""),
        with("kinds = { performance = \"0-3\" }"),
        with("kinds = { fast = \"0-3\" }"),
        with("frequencies = [{ cpus = \"8\", base_mhz = 1_000 }]"),
    ].join("\n"));
}

/// What is to be seen of a machine at a glance.
fn shown(machine: &Machine) -> String {
    let count = |level: Level| format!("{} {level}", machine.objects(level).len());
    let first = |level: Level| machine.objects(level).first().map(CpuSet::to_string).unwrap_or_default();
    let nodes: Vec<String> = machine
        .nodes
        .iter()
        .map(|node| format!("{}:{:?}", node.number, node.memory_bytes.map(|bytes| bytes >> 30)))
        .collect();
    let mebibytes: Vec<u64> = machine.llcs.iter().filter_map(|llc| llc.size_bytes).map(|bytes| bytes >> 20).collect();
    format!(
        "{}\n  first core {} cluster {} llc {} die {}; llc {mebibytes:?} MiB; nodes {}",
        Level::ALL.map(count).join(", "),
        first(Level::Core),
        first(Level::Cluster),
        first(Level::Llc),
        first(Level::Die),
        nodes.join(" ")
    )
}

#[test]
fn the_built_in_machines_are_what_is_published_of_them() {
    let machines = BUILT_IN.iter().filter(|machine| !machine.name.contains("1536"));
    let shown: Vec<String> =
        machines.map(|machine| format!("{}: {}", machine.name, shown(&machine.read().unwrap().machine))).collect();
    insta::assert_snapshot!(shown.join("\n"));
    let fx = &read(find_text("fx-8150"));
    assert_eq!(lists(fx, Level::Cluster), ["0,1", "2,3", "4,5", "6,7"]);
    assert_eq!(lists(fx, Level::Core).len(), 8);
    let x3d = &read(find_text("ryzen-9-9950x3d"));
    assert_eq!(x3d.llcs.iter().map(|llc| llc.vcache).collect::<Vec<_>>(), [true, false]);
    let threadripper = &read(find_text("threadripper-2990wx"));
    assert_eq!(threadripper.nodes[1].distances, [16, 10, 16, 16]);
    assert_eq!(lists(threadripper, Level::Core)[0], "0,1");
    let hybrid = &read(find_text("simulated-hybrid"));
    assert_eq!(hybrid.kinds.iter().map(|kind| kind.cpus.to_string()).collect::<Vec<_>>(), ["0-15", "16-31"]);
    assert_eq!(lists(hybrid, Level::Cluster)[8..], ["16-19", "20-23", "24-27", "28-31"]);
}

#[test]
fn the_built_in_machines_say_where_their_facts_are_from() {
    for built_in in BUILT_IN {
        let MachineFile { machine, description } = built_in.read().unwrap();
        assert!(description.about.is_some() && description.numbering.is_some(), "{}", built_in.name);
        assert!(!description.sources.is_empty(), "{}", built_in.name);
        assert_eq!(machine.gaps, [], "{}", built_in.name);
        assert!(built_in.text.starts_with("# ") && built_in.text.len() < 4_000, "{}: short", built_in.name);
    }
}

#[test]
fn a_machine_may_have_more_cpus_than_a_fixed_mask() {
    let machine = read(find_text("simulated-1536-cpus"));
    assert_eq!([machine.online.len(), machine.cores.len(), machine.llcs.len(), machine.packages.len()], [1536, 768, 96, 8]);
    assert_eq!(machine.packages[7].cpus.to_string(), "672-767,1440-1535");
    assert_eq!(machine.llcs[1].cpus.to_string(), "8-15,776-783");
}

fn find_text(name: &str) -> &'static str {
    match find(name) {
        Found::Exactly(machine) => machine.text,
        found => panic!("{name}: {found:?}"),
    }
}
