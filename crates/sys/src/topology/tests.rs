//! Tests of reading whole machines: what is missing is a gap, and no text is an error.

use corewise_machine::Level;
use proptest::prelude::*;

use super::*;
use crate::root::HWLOC_XML;

fn machine(files: &[(&str, &str)]) -> Result<Machine, SysError> {
    read_machine(&Root::from_files(files.iter().copied()))
}

fn gaps(machine: &Machine) -> Vec<&str> {
    machine.gaps.iter().map(|gap| gap.what.as_str()).collect()
}

#[test]
fn without_sys_the_cpus_of_cpuinfo_are_a_flat_machine() {
    let found = machine(&[("proc/cpuinfo", "processor : 0\n\nprocessor : 2\n")]).unwrap();
    assert_eq!((found.online.to_string(), found.cores.len(), found.packages.len()), ("0,2".into(), 2, 1));
    assert_eq!(gaps(&found), ["packages and cores", "NUMA nodes", "shared caches"]);
}

#[test]
fn without_anything_else_the_allowed_cpus_are_the_machine() {
    let found = machine(&[("proc/self/status", "Cpus_allowed_list:\t1-2\n")]).unwrap();
    assert_eq!((found.online.to_string(), found.allowed.to_string()), ("1,2".into(), "1,2".into()));
}

/// A text that was cut: the last cpu has no package there, and shares a cache with others.
#[test]
fn a_cpu_without_a_number_is_in_the_package_of_those_that_share_with_it() {
    let cpu =
        |number: u32| (format!("sys/devices/system/cpu/cpu{number}/cache/index3/shared_cpu_list"), "0-3".to_owned());
    let entry = |number: u32| format!("processor : {number}\nphysical id : 0\ncore id : {number}\n\n");
    let cpuinfo = (0..3).map(entry).collect::<String>() + "processor : 3\n";
    let files = (0..4).map(cpu).chain([("proc/cpuinfo".to_owned(), cpuinfo)]);
    let online = ("sys/devices/system/cpu/online".to_owned(), "0-3\n".to_owned());
    let found = read_machine(&Root::from_files(files.chain([online]))).unwrap();
    assert_eq!(found.packages.len(), 1, "{:?}", found.packages);
}

#[test]
fn one_cpu_is_a_machine() {
    let found = machine(&[("sys/devices/system/cpu/online", "0\n")]).unwrap();
    for level in Level::EVERYWHERE {
        assert_eq!(found.objects_of(level).len(), 1, "{level}");
    }
}

#[test]
fn books_and_drawers_lie_around_packages_where_a_system_has_them() {
    let mut files = vec![("sys/devices/system/cpu/online".to_owned(), "0-7".to_owned())];
    for cpu in 0_u32..8 {
        let (two, four) = (cpu / 2 * 2, cpu / 4 * 4);
        let of = |name: &str| format!("sys/devices/system/cpu/cpu{cpu}/topology/{name}");
        files.extend([
            (of("physical_package_id"), "-1".to_owned()),
            (of("core_id"), cpu.to_string()),
            (of("thread_siblings_list"), cpu.to_string()),
            (of("core_siblings_list"), format!("{two}-{}", two + 1)),
            (of("book_siblings_list"), format!("{four}-{}", four + 3)),
            (of("drawer_siblings_list"), "0-7".to_owned()),
        ]);
    }
    let found =
        read_machine(&Root::from_files(files.iter().map(|(path, text)| (path.as_str(), text.as_str())))).unwrap();
    let export = r#"<topology version="2.0"><object type="Machine">
        <object type="Group" subtype="Drawer" cpuset="0xf">
            <object type="Group" subtype="Book" cpuset="0x3"><object type="Package" os_index="0">
                <object type="PU" os_index="0"/><object type="PU" os_index="1"/></object></object>
            <object type="Group" subtype="Book" cpuset="0xc"><object type="Package" os_index="1">
                <object type="PU" os_index="2"/><object type="PU" os_index="3"/></object></object>
        </object></object></topology>"#;
    let exported = machine(&[(HWLOC_XML, export)]).unwrap();
    let sets = |machine: &Machine, level| {
        machine.objects_of(level).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        [Level::Drawer, Level::Book, Level::Package].map(|level| sets(&found, level)),
        ["0-7", "0-3 4-7", "0,1 2,3 4,5 6,7"]
    );
    assert_eq!([Level::Drawer, Level::Book].map(|level| sets(&exported, level)), ["0-3", "0,1 2,3"]);
    assert_eq!(found.levels_present().count(), Level::EVERYWHERE.len() + 2);
    let without = machine(&[("sys/devices/system/cpu/online", "0-1\n")]).unwrap();
    assert_eq!(
        (without.levels_present().count(), without.objects_of(Level::Drawer)),
        (Level::EVERYWHERE.len(), without.objects_of(Level::Package))
    );
}

#[test]
fn cpus_beyond_the_largest_that_is_read_are_one_gap_whatever_names_them() {
    let told = |files: &[(&str, &str)]| {
        let gaps = machine(files).unwrap().gaps.into_iter();
        let gaps = gaps.filter(|gap| gap.what.starts_with("cpus above"));
        gaps.map(|gap| format!("{}: {}", gap.what, gap.why)).collect::<Vec<_>>()
    };
    let gap = ["cpus above 8191: they are not supported: Linux is built for at most 8192 cpus"];
    let online = "sys/devices/system/cpu/online";
    assert_eq!(told(&[(online, "0-9000\n"), ("sys/devices/system/cpu/possible", "0-9999\n")]), gap);
    assert_eq!(told(&[("sys/devices/system/cpu/cpu0/x", ""), ("sys/devices/system/cpu/cpu8192/x", "")]), gap);
    assert_eq!(told(&[("proc/cpuinfo", "processor : 1\n\nprocessor : 8192\n")]), gap);
    let unit = |number: u32| format!("<object type=\"PU\" os_index=\"{number}\"/>");
    let export = |units: [u32; 2]| {
        let [first, second] = units.map(unit);
        format!("<topology version=\"3.0\"><object type=\"Machine\">{first}{second}</object></topology>")
    };
    assert_eq!(told(&[(HWLOC_XML, &export([0, 8192]))]), gap);
    assert_eq!(told(&[(HWLOC_XML, &export([0, 8191]))]), [""; 0]);
    assert_eq!(told(&[(online, "0-8191\n")]), [""; 0]);
}

#[test]
fn nothing_is_an_error_in_a_recording_only() {
    assert!(matches!(machine(&[("proc/version", "Linux")]), Err(SysError::NoCpu)));
    assert!(!read_machine(&Root::this_machine()).unwrap().online.is_empty());
}

#[test]
fn a_process_sees_what_it_may_not_use() {
    let status = ("proc/self/status", "Cpus_allowed_list:\t0,9\n");
    let found = machine(&[("sys/devices/system/cpu/online", "0-3\n"), status]).unwrap();
    assert_eq!((found.online.to_string(), found.allowed.to_string()), ("0-3".into(), "0".into()));
}

#[test]
fn names_of_kinds_may_include_offline_cpus() {
    let found = machine(&[
        ("sys/devices/system/cpu/online", "0-2\n"),
        ("sys/devices/cpu_core/cpus", "0-1,8\n"),
        ("sys/devices/cpu_atom/cpus", "2,9\n"),
    ]);
    let kinds: Vec<String> = found.unwrap().kinds.iter().map(|kind| kind.cpus.to_string()).collect();
    assert_eq!(kinds, ["0,1", "2"]);
}

const PATHS: [&str; 24] = [
    "proc/self/status",
    "proc/cpuinfo",
    "proc/mounts",
    "sys/devices/cpu_core/cpus",
    "sys/devices/cpu_atom/cpus",
    "sys/devices/system/cpu/present",
    "sys/devices/system/cpu/isolated",
    "sys/devices/system/cpu/cpu0/topology/core_id",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings",
    "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu0/topology/cluster_cpus_list",
    "sys/devices/system/cpu/cpu1/topology/die_cpus_list",
    "sys/devices/system/cpu/cpu1/topology/die_id",
    "sys/devices/system/cpu/cpu1/cache/index2/level",
    "sys/devices/system/cpu/cpu1/cache/index2/type",
    "sys/devices/system/cpu/cpu1/cache/index2/size",
    "sys/devices/system/cpu/cpu1/cache/index2/shared_cpu_list",
    "sys/devices/system/cpu/cpu1/cpu_capacity",
    "sys/devices/system/cpu/cpufreq/policy0/related_cpus",
    "sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq",
    "sys/devices/system/node/online",
    "sys/devices/system/node/node0/cpulist",
    "sys/devices/system/node/node1/distance",
];

const VALUES: [&str; 18] = [
    "",
    "0",
    "1",
    "-1",
    "2",
    "0-3",
    "1-2,9",
    "0-65535",
    "ff,ffffffff",
    "3",
    "x",
    "(null)",
    "\0",
    "Unified",
    "4096K",
    "99999999999999999999",
    "processor : 1\ncore id : 2\n",
    "Cpus_allowed_list:\t0-2\n",
];

proptest! {
    #[test]
    fn no_files_panic(files in proptest::collection::vec((prop::sample::select(&PATHS[..]), prop::sample::select(&VALUES[..])), 0..24)) {
        let online = [("sys/devices/system/cpu/online", "0-3")];
        let found = machine(&[&online[..], &files[..]].concat()).unwrap();
        prop_assert!(!found.online.is_empty() && found.online.is_subset(&found.present));
        prop_assert_eq!(found.objects_of(Level::Core).iter().map(corewise_machine::CpuSet::len).sum::<usize>(), found.online.len());
    }

    #[test]
    fn no_text_of_a_file_panics(path in prop::sample::select(&PATHS[..]), text in "(.|\n){0,60}") {
        let found = machine(&[("sys/devices/system/cpu/online", "0-3"), (path, &text)]);
        prop_assert!(found.is_ok());
    }
}
