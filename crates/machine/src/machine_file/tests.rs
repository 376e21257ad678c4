//! Machine files: what each key comes to, what is refused and on which line, and what the built-in machines are.

use proptest::prelude::*;

use super::*;
use crate::CpuSet;

/// The cpu lists of the objects of a level.
fn lists(machine: &Machine, level: Level) -> Vec<String> {
    machine.objects_of(level).iter().map(CpuSet::to_string).collect()
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
    assert_eq!((machine.offline_cpus().to_string(), machine.isolated.to_string()), ("0,5".into(), "6,7".into()));
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
    let nodes: Vec<_> =
        machine.nodes.iter().map(|node| (node.number, node.cpus.to_string(), node.memory_bytes)).collect();
    let expected = [(0, "0-3", 0), (1, "4-7", 0), (8, "", 2 << 30), (9, "", 1 << 30)];
    assert_eq!(nodes, expected.map(|(number, cpus, bytes)| (number, cpus.to_owned(), Some(bytes))));
    assert_eq!(machine.nodes[1].distances, [17, 10, 17, 17]);
}

#[test]
fn mistakes_are_told_by_line_with_what_was_expected() {
    let begins = |text: &str, expected: &str| {
        let found = error(text);
        assert!(found.starts_with(expected), "{text}\n  found    {found}\n  expected {expected}");
    };
    for (text, expected) in [
        ("", "line 1: missing field `name`"),
        ("name = \"m\"\ncpus = \"\"", "line 2: a machine has at least one cpu"),
        ("name = \"m\"\n\ncpus = \"0-9000\"", "line 3: cpu 9000 is above 8191, the largest supported number"),
        ("name = ", "line 1: string values must be quoted, expected literal string"),
    ] {
        begins(text, expected);
    }
    for (rest, expected) in MISTAKES {
        begins(&format!("name = \"m\"\ncpus = \"0-7\"\n{rest}"), expected);
    }
}

/// What may be wrong in the lines from the third on, and how the message about it begins.
const MISTAKES: [(&str, &str); 26] = [
    ("core = \"0,1 x4\"", "line 3: unknown field `core`, expected one of `name`, `about`"),
    ("cores = \"0,1 x4", "line 3: invalid basic string, expected `\"`"),
    ("cores = 2", "line 3: invalid type: integer `2`, expected a text such as \"0,16 x16\", or a list of such texts"),
    (
        "cores = [\n  \"0,1 x2\",\n  \"4,5 y2\",\n]",
        "line 5: expected a cpu number or a range such as 0-3, found \"5 y2\" at character 3; write a",
    ),
    ("cores = \"0,1 x3\"", "line 3: 6,7 is in no core; each cpu must be in exactly one"),
    ("cores = \"0,1 x5\"", "line 3: 8,9 is not among the cpus of this machine (0-7)"),
    ("cores = [\"0-3\", \"3-7\"]", "line 3: cpu 3 is in more than one core"),
    ("dies = \"0,1 x4\"\ncores = \"0,4 x4\"", "line 4: core 0,4 is not inside one die"),
    (
        "clusters = \"0-3 x2\"\ncaches = [{ cache = \"L3\", cpus = \"0,1 x4\" }]",
        "line 3: cluster 0-3 is not inside one last-level cache",
    ),
    (
        "caches = [\n  { cache = \"L3\" },\n]",
        "line 4: expected either `per` (core, cluster, die, package) or `cpus`: which cpus share it",
    ),
    ("caches = [{ cache = \"L2\", per = \"cluster\" }]", "line 3: per = \"cluster\" needs the key `clusters`"),
    (
        "caches = [{ cache = \"L2\", per = \"cor\" }]",
        "line 3: unknown variant `cor`, expected one of `core`, `cluster`, `die`, `package`",
    ),
    ("caches = [{ cache = \"L9\", per = \"core\" }]", "line 3: expected L1d, L1i, L1, L2, L3 or L4, found \"L9\""),
    (
        "caches = [{ cache = \"L2\", size = \"2 MB\", per = \"core\" }]",
        "line 3: expected a size with its unit, such as \"512 KiB\" or \"16 GiB\", found \"2 MB\"",
    ),
    (
        "caches = [{ cache = \"L2\", per = \"core\" }, { cache = \"L2\", per = \"package\" }]",
        "line 3: cpu 0 already has a cache of this name",
    ),
    (
        "cores = \"0,1 x4\"\ncaches = [{ cache = \"L3\", cpus = \"0-2\" }]",
        "line 4: the cache of cpus 0-2 splits core 2,3",
    ),
    ("nodes = [{ cpus = \"0-3\" }]", "line 3: 4-7 is in no node; each cpu must be in exactly one"),
    (
        "nodes = [{ cpus = \"0-3\", number = 4 }, { cpus = \"4-7\", number = 4 }]",
        "line 3: node numbers must ascend; the next is 5 or more",
    ),
    (
        "nodes = [{ cpus = \"0-3 x2\" }]\ndistances = [[10, 20]]",
        "line 4: expected 2 rows of 2 distances, because there are 2 nodes",
    ),
    ("distances = \"10 20\"", "line 3: invalid type: string \"10 20\", expected a number (the distance to every"),
    ("distances = -1", "line 3: a distance is a number from 0 up"),
    ("offline = \"0-7\"", "line 3: at least one cpu is online"),
    ("isolated = \"7,8\"", "line 3: 8 is not among the cpus of this machine (0-7)"),
    ("kinds = { performance = \"0-3\" }", "line 3: 4-7 is in no kind; each cpu must be in exactly one"),
    (
        "kinds = { fast = \"0-3\" }",
        "line 3: unknown field `fast`, expected one of `performance`, `efficiency`, `low-power`",
    ),
    ("frequencies = [{ cpus = \"8\", base_mhz = 1_000 }]", "line 3: 8 is not among the cpus of this machine (0-7)"),
];

/// What is to be seen of a machine at a glance.
fn shown(machine: &Machine) -> String {
    let count = |level: Level| format!("{} {level}", machine.objects_of(level).len());
    let first = |level: Level| machine.objects_of(level).first().map(CpuSet::to_string).unwrap_or_default();
    let nodes: Vec<String> = machine
        .nodes
        .iter()
        .map(|node| format!("{}:{:?}", node.number, node.memory_bytes.map(|bytes| bytes >> 30)))
        .collect();
    let mebibytes: Vec<u64> = machine.llcs.iter().filter_map(|llc| llc.size_bytes).map(|bytes| bytes >> 20).collect();
    format!(
        "{}\n  first core {} cluster {} llc {} die {}; llc {mebibytes:?} MiB; nodes {}",
        Level::EVERYWHERE.map(count).join(", "),
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
    let shown: Vec<String> = machines
        .map(|machine| format!("{}: {}", machine.name, shown(&machine.read_machine().unwrap().machine)))
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r"
    core-i7-14700k: 1 package, 1 node, 1 die, 1 llc, 11 cluster, 20 core, 28 cpu
      first core 0,1 cluster 0,1 llc 0-27 die 0-27; llc [33] MiB; nodes 0:None
    core-i9-13900k: 1 package, 1 node, 1 die, 1 llc, 12 cluster, 24 core, 32 cpu
      first core 0,1 cluster 0,1 llc 0-31 die 0-31; llc [36] MiB; nodes 0:None
    core-ultra-9-285k: 1 package, 1 node, 1 die, 1 llc, 12 cluster, 24 core, 24 cpu
      first core 0 cluster 0 llc 0-23 die 0-23; llc [36] MiB; nodes 0:None
    core2-quad-q6600: 1 package, 1 node, 2 die, 2 llc, 2 cluster, 4 core, 4 cpu
      first core 0 cluster 0,1 llc 0,1 die 0,1; llc [4, 4] MiB; nodes 0:None
    fx-8150: 1 package, 1 node, 1 die, 1 llc, 4 cluster, 8 core, 8 cpu
      first core 0 cluster 0,1 llc 0-7 die 0-7; llc [8] MiB; nodes 0:None
    ryzen-9-7900x3d: 1 package, 1 node, 2 die, 2 llc, 12 cluster, 12 core, 24 cpu
      first core 0,12 cluster 0,12 llc 0-5,12-17 die 0-5,12-17; llc [96, 32] MiB; nodes 0:None
    ryzen-9-7950x3d: 1 package, 1 node, 2 die, 2 llc, 16 cluster, 16 core, 32 cpu
      first core 0,16 cluster 0,16 llc 0-7,16-23 die 0-7,16-23; llc [96, 32] MiB; nodes 0:None
    ryzen-9-9900x: 1 package, 1 node, 2 die, 2 llc, 12 cluster, 12 core, 24 cpu
      first core 0,12 cluster 0,12 llc 0-5,12-17 die 0-5,12-17; llc [32, 32] MiB; nodes 0:None
    ryzen-9-9950x3d: 1 package, 1 node, 2 die, 2 llc, 16 cluster, 16 core, 32 cpu
      first core 0,16 cluster 0,16 llc 0-7,16-23 die 0-7,16-23; llc [96, 32] MiB; nodes 0:None
    simulated-2-packages: 2 package, 2 node, 2 die, 2 llc, 8 cluster, 8 core, 16 cpu
      first core 0,8 cluster 0,8 llc 0-3,8-11 die 0-3,8-11; llc [18, 18] MiB; nodes 0:Some(64) 1:Some(64)
    simulated-hybrid: 1 package, 1 node, 1 die, 1 llc, 12 cluster, 24 core, 32 cpu
      first core 0,1 cluster 0,1 llc 0-31 die 0-31; llc [36] MiB; nodes 0:None
    simulated-sparse: 2 package, 3 node, 2 die, 2 llc, 7 cluster, 7 core, 12 cpu
      first core 1 cluster 1 llc 1-4,6,7 die 1-4,6,7; llc [60, 60] MiB; nodes 0:Some(64) 8:Some(64) 252:Some(96)
    threadripper-2990wx: 1 package, 4 node, 4 die, 8 llc, 32 cluster, 32 core, 64 cpu
      first core 0,1 cluster 0,1 llc 0-7 die 0-15; llc [8, 8, 8, 8, 8, 8, 8, 8] MiB; nodes 0:Some(32) 1:Some(0) 2:Some(32) 3:Some(0)
    threadripper-3960x: 1 package, 1 node, 4 die, 8 llc, 24 cluster, 24 core, 48 cpu
      first core 0,24 cluster 0,24 llc 0-2,24-26 die 0-5,24-29; llc [16, 16, 16, 16, 16, 16, 16, 16] MiB; nodes 0:None
    ");
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
        let MachineFile { machine, description } = built_in.read_machine().unwrap();
        assert!(description.about.is_some() && description.numbering.is_some(), "{}", built_in.name);
        assert!(!description.sources.is_empty(), "{}", built_in.name);
        assert_eq!(machine.gaps, [], "{}", built_in.name);
        assert!(built_in.text.starts_with("# ") && built_in.text.len() < 4_000, "{}: short", built_in.name);
    }
}

#[test]
fn a_machine_may_have_more_cpus_than_a_fixed_mask() {
    let machine = read(find_text("simulated-1536-cpus"));
    assert_eq!(
        [machine.online.len(), machine.cores.len(), machine.llcs.len(), machine.packages.len()],
        [1536, 768, 96, 8]
    );
    assert_eq!(machine.packages[7].cpus.to_string(), "672-767,1440-1535");
    assert_eq!(machine.llcs[1].cpus.to_string(), "8-15,776-783");
}

fn find_text(name: &str) -> &'static str {
    match find_built_in(name) {
        MachineMatch::Exactly(machine) => machine.text,
        found => panic!("{name}: {found:?}"),
    }
}

#[test]
fn devices_are_described_as_a_system_reports_them() {
    let with = |devices: &str| parse(&format!("name = \"x\"\ncpus = \"0-3\"\ndevices = [{devices}]\n"));
    let file = with(
        "{ kind = \"infiniband\", names = [\"mlx5_0\"], node = 7, local_cpus = \"0-1\" }, { kind = \"gpu\", address = \"0:1\" }",
    );
    let devices = file.unwrap().machine.devices;
    assert_eq!(devices.iter().map(|device| device.title()).collect::<Vec<_>>(), ["pci:0:1", "mlx5_0"]);
    assert_eq!((devices[1].node, devices[1].local_cpus.as_ref().map(CpuSet::len)), (Some(7), Some(2)));
    let told = |devices: &str| with(devices).unwrap_err().to_string();
    assert_eq!(told("{ kind = \"gpu\" }"), "line 3: a device needs `names` or an `address`");
    assert!(told("{ kind = \"gpu\", address = \"x\", local_cpus = \"4\" }").contains("4 is not among the cpus"));
    assert!(told("{ kind = \"card\" }").contains("unknown variant"));
}

/// A text with one of its lines gone, doubled or cut.
fn changed(text: &str, line: usize, at: usize, how: u8) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let line = line % lines.len();
    match how {
        0 => drop(lines.remove(line)),
        1 => lines.insert(line, lines[line]),
        _ => lines[line] = lines[line].get(..at % (lines[line].len() + 1)).unwrap_or_default(),
    }
    lines.join("\n")
}

proptest! {
    #[test]
    fn a_damaged_file_is_an_error_with_its_line_or_a_sound_machine(
        machine in 0..BUILT_IN.len(), line in 0_usize..99, at in 0_usize..99, how in 0_u8..3,
    ) {
        let text = changed(BUILT_IN[machine].text, line, at, how);
        match parse(&text) {
            Err(error) => prop_assert!((1..=text.lines().count() + 1).contains(&error.line), "{}", error),
            Ok(MachineFile { machine, .. }) => {
                for level in Level::EVERYWHERE.into_iter().filter(|level| *level != Level::Node) {
                    let objects = machine.objects_of(level);
                    prop_assert_eq!(objects.iter().map(CpuSet::len).sum::<usize>(), machine.online.len(), "{}", level);
                }
            }
        }
    }
}
