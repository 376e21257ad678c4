//! Texts that cannot be read: what is said, and which character is pointed at.

use corewise_testing::count_cases;

use super::super::Notation;
use super::{machines, mistake};
use crate::generate;
use crate::random::RandomGenerator;

/// The message, and the text with a caret below what it points at.
fn pointed(notation: Notation, text: &str) -> String {
    let error = mistake(notation, text, &machines::threadripper());
    let caret = format!("{}{}", " ".repeat(error.position), "^".repeat(error.length));
    let hint = error.hint.map(|hint| format!("\n{hint}")).unwrap_or_default();
    format!("{}\n{}\n{caret}{hint}", error.what, error.text)
}

#[test]
fn mistakes_point_at_their_place() {
    assert_eq!(
        pointed(Notation::Taskset, "taskset 0x5g app"),
        "expected a hexadecimal digit, found \"g\"\ntaskset 0x5g app\n           ^"
    );
    assert_eq!(
        pointed(Notation::Taskset, "taskset 0-3 app"),
        "without -c taskset takes a mask, and this is a list\ntaskset 0-3 app\n        ^^^\ntaskset -c 0-3"
    );
    assert_eq!(
        pointed(Notation::Numactl, "numactl -C 0-3 -N 7 app"),
        "this machine has nodes 0-3, and no node 7\nnumactl -C 0-3 -N 7 app\n                  ^"
    );
    assert_eq!(
        pointed(Notation::Hwloc, "core:3 L3:9.pu:0"),
        "L3:9 does not exist: there are L3:0-7 here\ncore:3 L3:9.pu:0\n       ^^^^"
    );
    assert_eq!(
        pointed(Notation::OpenMp, "OMP_PLACES={0},{x}"),
        "expected a cpu number, found \"x\"\nOMP_PLACES={0},{x}\n                ^"
    );
    assert_eq!(
        pointed(Notation::Systemd, "[Service]\nCPUAffinity=0 5-2"),
        "the range 5-2 ends before it begins\n[Service]\nCPUAffinity=0 5-2\n                        ^^^"
    );
    assert_eq!(
        pointed(Notation::Cgroup, "0-3\n0"),
        "expected one list of cpus, found a second one\n0-3\n0\n    ^\na list is 0-3,8"
    );
    assert_eq!(
        pointed(Notation::Likwid, "S0:0-1,S1:0"),
        "domains are joined by @, not by a comma\nS0:0-1,S1:0\n      ^\nS0:0-1@S1:0"
    );
    assert_eq!(
        pointed(Notation::Likwid, "S0:0@S7:0"),
        "domain S7 does not exist\nS0:0@S7:0\n     ^^\nN, S0-S0, D0-D3, C0-C7, M0-M3"
    );
}

#[test]
fn what_is_often_mixed_up_gets_a_hint() {
    let hint = |notation, text| mistake(notation, text, &machines::threadripper()).hint.unwrap();
    assert_eq!(hint(Notation::Taskset, "taskset -c 0x5 app"), "leave out -c");
    assert_eq!(hint(Notation::Docker, "docker run --cpus=2 image"), "--cpuset-cpus=0-3 chooses cpus");
    assert_eq!(hint(Notation::OpenMp, "OMP_PROC_BIND=cores"), "OMP_PLACES=cores names places");
    assert_eq!(hint(Notation::OpenMp, "OMP_PLACES=close"), "this is a value of OMP_PROC_BIND");
    assert_eq!(hint(Notation::Libvirt, "virsh vcpupinn dom\nvcpupin dom 0 0"), "virsh vcpupin DOMAIN 0 0-3");
    assert_eq!(hint(Notation::Hwloc, "node:3"), "hwloc does not count nodes without memory");
    assert!(hint(Notation::Hwloc, "group:0").contains("name the objects inside"));
    assert_eq!(hint(Notation::Hwloc, "llc:0"), "hwloc names caches by their level: L3");
    assert_eq!(
        hint(Notation::Slurm, "--cpu-bind=cores"),
        "mask_cpu:0xff for a mask, map_cpu:0,1,2 for one cpu per task"
    );
    assert_eq!(hint(Notation::KernelCommandLine, "isolcpus=tick,2-3"), "nohz, domain, managed_irq");
}

#[test]
fn nothing_is_read_from_nothing() {
    let machine = generate::one_package_machine(4, false, &[]);
    for notation in Notation::ALL {
        for text in ["", "  ", "0x", "-", ",", "{", "^", ":", "0-", "0,,1", "%", "\u{e9}", "start", "taskset", "<vcpu"]
        {
            if let Ok(read) = super::super::read_notation(notation, text, &machine) {
                assert!(!read.cpus.is_empty(), "{notation}: {text:?} gave an empty set");
                assert!(text == "0,,1" && notation == Notation::OpenMp || text.contains('0'), "{notation}: {text:?}");
            }
        }
    }
}

#[test]
fn huge_numbers_are_refused() {
    let machine = generate::one_package_machine(4, false, &[]);
    let texts = [
        (Notation::List, "0-4000000000"),
        (Notation::Taskset, "-c 70000"),
        (Notation::OpenMp, "{0}:4000000000"),
        (Notation::OpenMp, "{0:65535}:65535"),
        (Notation::Slurm, "map_cpu:99999999999"),
        (Notation::Decimal, "99999999999999999999999"),
        (Notation::Likwid, "E:N:4000000000:1:1"),
        (Notation::Hwloc, "core:0:4000000000"),
        (Notation::Windows, "start /affinity 1FFFFFFFFFFFFFFFF app"),
    ];
    for (notation, text) in texts {
        mistake(notation, text, &machine);
    }
}

#[test]
fn texts_that_name_cpus_again_and_again_are_refused_where_it_is_too_much() {
    let machine = machines::threadripper();
    let again = |piece: &str, separator: &str| [piece; 17].join(separator);
    let texts = [
        (Notation::List, again("0-65535", ",")),
        (Notation::OpenMp, format!("{{{}}}", again("0:65535", ","))),
        (Notation::OpenMp, again("{0:65535}", ",")),
        (Notation::OpenMp, again("{0,!0}:65535", ",")),
        (Notation::Likwid, again("0-65535", "@")),
        (Notation::Libvirt, again("<vcpupin vcpu='1' cpuset='0-65535'/>", "")),
    ];
    for (notation, text) in texts {
        let error = mistake(notation, &text, &machine);
        let what = "with this the text names more than a million cpus, with many repetitions";
        assert_eq!(error.what, what, "{notation}");
        assert!(
            error.position > text.len() / 2 && error.length < 20,
            "{notation}: {} {}",
            error.position,
            error.length
        );
    }
}

#[test]
fn texts_have_a_largest_size() {
    let machine = machines::threadripper();
    let longest = format!("0{}", " ".repeat((1 << 20) - 1));
    assert!(super::super::read_notation(Notation::List, &longest, &machine).is_ok());
    let error = mistake(Notation::List, &format!("\u{e9}{longest}"), &machine);
    assert_eq!((error.what.as_str(), error.position), ("the text is longer than 1048576 bytes", (1 << 20) - 1));
}

/// What texts of the notations are made of.
const PIECES: [&str; 60] = [
    "0",
    "1",
    "3",
    "7",
    "16",
    "63",
    "64",
    "255",
    "4294967296",
    "-1",
    "-",
    ",",
    ":",
    ".",
    "@",
    "!",
    "^",
    "~",
    "x",
    "*",
    "/",
    "=",
    " ",
    "\n",
    "\"",
    "'",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "0x",
    "0xf...f",
    "ffff",
    "all",
    "N",
    "+",
    "even",
    "core",
    "node",
    "L3",
    "S0",
    "E:",
    "L:",
    "scatter",
    "cores",
    "-c",
    "-C",
    "-N",
    "-p ",
    "start ",
    "/affinity ",
    "/node ",
    "group 1:",
    "mask_cpu:",
    "CPUAffinity=",
    "\u{e9}",
];

#[test]
fn any_text_is_read_or_refused_inside_its_bounds() {
    let mut random = RandomGenerator::new(0xbad);
    let machines = [machines::threadripper(), machines::confined(), machines::wide()];
    for round in 0..count_cases(30_000) {
        let count = 1 + random.next_below(9);
        let text: String = (0..count).map(|_| PIECES[random.next_below(PIECES.len())]).collect();
        // A third of the notations each time, on each machine in turn.
        for notation in Notation::ALL.into_iter().skip(round / 3 % 3).step_by(3) {
            match super::super::read_notation(notation, &text, &machines[round % 3]) {
                Ok(read) => assert_eq!(read.cpus, read.order.iter().copied().collect(), "{notation}: {text:?}"),
                Err(error) => assert!(error.position <= text.chars().count(), "{notation}: {text:?}: {error:?}"),
            }
        }
    }
}
