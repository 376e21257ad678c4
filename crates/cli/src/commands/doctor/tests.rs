//! The doctor's words for a guest with many gaps, and for a desktop with none.

use corewise_machine::CpuSet;
use insta::assert_snapshot;

use super::*;
use crate::draw::fixtures::fabricated::{ryzen_9950x3d, small_guest};
use crate::draw::fixtures::hostile;

fn found(counters: Result<bool, Gap>, clock: &'static str) -> DoctorFindings {
    let causes = Ok(EventSource::Perf);
    DoctorFindings {
        uncounted: Vec::new(),
        counters,
        causes,
        clock,
        is_system_clock: clock == "operating system clock",
        moved_interrupts: 0,
        history: None,
        reachable: CpuSet::first_cpus(32),
        limit: None,
        first_class: Ok(()),
        may_lower_nice: false,
    }
}

#[test]
fn a_mask_is_not_suggested_where_the_cpuset_cuts_it() {
    let mut machine = small_guest();
    machine.allowed = CpuSet::from_cpu(0);
    let limit = LimitingGroup { group: "/docker/1f".into(), cpus: CpuSet::from_cpu(0) };
    let cure = |reachable: CpuSet, limit: &Option<LimitingGroup>| {
        let found = DoctorFindings { reachable, limit: limit.clone(), ..found(Ok(true), "invariant TSC") };
        check_allowed_cpus(&machine, &found).cure.unwrap()
    };
    let in_cpuset = cure(CpuSet::from_cpu(0), &Some(limit));
    assert!(in_cpuset.starts_with("Docker lets /docker/1f use cpus 0; widen it there"), "{in_cpuset}");
    assert_eq!(cure(CpuSet::from_cpu(0), &None), "widen its limit (a container's cpuset, a job)");
    assert_eq!(cure(machine.online.clone(), &None), format!("taskset -c {} corewise", machine.online));
}

#[test]
fn the_right_to_run_first_is_checked() {
    let denied = DoctorFindings { first_class: Err("not permitted".into()), ..found(Ok(true), "invariant TSC") };
    let check = check_first_class(&denied);
    assert_eq!((check.state, check.what.as_str()), (CheckState::Note, "tail --fifo"));
    assert!(check.why.ends_with("(SCHED_FIFO): not permitted") && check.cure.unwrap().contains("CAP_SYS_NICE"));
    let of_group = check_first_class(&DoctorFindings { may_lower_nice: true, ..denied });
    assert!(of_group.why.starts_with("the control group of this process has no time for real-time tasks"));
    assert!(!of_group.cure.unwrap().contains("root, or"), "root is refused, too");
}

#[test]
fn a_locked_down_kernel_is_named() {
    let check = |state: &str| {
        let root = Root::from_files([("sys/kernel/security/lockdown", state)]);
        check_lockdown(&SystemCondition::read_condition(&root)).map(|check| (check.state, check.why, check.cure))
    };
    assert_eq!(check("[none] integrity confidentiality\n"), None);
    let (state, why, cure) = check("none [integrity] confidentiality\n").unwrap();
    assert!(state == CheckState::Note && why.contains("(integrity): debugfs is closed") && cure.is_none(), "{why}");
    let (state, why, cure) = check("none integrity [confidentiality]\n").unwrap();
    assert!(state == CheckState::Gap && why.contains("(confidentiality): its tracepoints are closed"), "{why}");
    assert_eq!(cure.as_deref(), Some("boot it without lockdown=confidentiality"));
}

fn shown(files: &[(&str, &str)], machine: &Machine, found: &DoctorFindings, width: usize) -> String {
    let root = Root::from_files(files.iter().map(|(path, text)| (*path, *text)));
    draw_screen(&make_checks(&root, machine, found), width).to_plain()
}

#[test]
fn a_guest_is_told_what_it_lacks_and_why() {
    let mut machine = small_guest();
    machine.allowed = CpuSet::from_cpu(0);
    machine.system.governors.clear();
    let files = [
        ("proc/sys/kernel/perf_event_paranoid", "3\n"),
        ("proc/loadavg", "2.10 1.00 0.50 1/100 1\n"),
        ("proc/stat", "cpu  1 2 3 4 5 6 7 0 0 0\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock\n"),
    ];
    let denied = Gap::new("hardware cycle counters", "the kernel does not allow this user to count cycles")
        .cured_by("sudo sysctl kernel.perf_event_paranoid=1");
    let unread = |kind: CountKind, why: &str| (kind, Gap::new(kind.name(), why).cured_by("mount /proc"));
    let uncounted = vec![unread(CountKind::Interrupts, "/proc/interrupts cannot be read")];
    let found = DoctorFindings { uncounted, ..found(Err(denied), "operating system clock") };
    assert_snapshot!(shown(&files, &machine, &found, 80), @r"
    gap   hardware counters: the kernel does not allow this user to count cycles
          (perf_event_paranoid is 3)
            sudo sysctl kernel.perf_event_paranoid=1
    gap   allowed cpus: this process may use only cpu 0: no link between cpus can be
          measured
            taskset -c 0-31 corewise    (for more: widen its limit (a container's
            cpuset, a job))
    gap   interrupts: /proc/interrupts cannot be read
            mount /proc
    gap   cpu frequency limits: the kernel has no cpufreq here
    note  clock: pieces are timed with the operating system clock; the kernel's
          clock source is kvm-clock: timing short pieces costs more, and the clock
          is coarser
            dmesg | grep -i tsc shows why the kernel does not use it
    note  stolen time: the kernel has counted none since boot: the hypervisor takes
          none, or does not report it
            look at off-cpu time in the survey, which always includes it
    note  frequency governor: the kernel reports none; it is unknown what sets the
          clock rate
    note  SMT siblings: a core has 2 cpus: work on one slows the other
            corewise survey --cpus LIST with one cpu of each core keeps siblings
            idle
    note  other programs: the load of the last minute is 2.1: it affects every
          number
            wait or stop them, to survey the machine alone
    note  virtual machine: this is a KVM guest: KVM reports its levels and caches,
          and its cpus may move between real cores
            survey the host, or pin the guest's cpus on it
    good  causes of stalls: the kernel's tracepoints name them, through perf
    good  tail --fifo: this user may run before all other tasks (SCHED_FIFO)

    4 things cannot be measured here; a survey lists them as not measured.
    ");
}

#[test]
fn of_an_emulated_machine_no_time_is_believed() {
    let mut machine = small_guest();
    machine.system.emulated = true;
    let shown = shown(&[], &machine, &found(Ok(true), "invariant TSC"), 200);
    let line = "gap   emulated machine: KVM emulates every instruction: measured times mean nothing";
    assert!(shown.contains(line) && !shown.contains("virtual machine"), "{shown}");
}

#[test]
fn a_desktop_in_order_is_told_that_nothing_is_missing() {
    let files = [
        ("proc/sys/kernel/perf_event_paranoid", "1\n"),
        ("proc/loadavg", "0.10 0.20 0.30 1/100 1\n"),
        ("proc/stat", "cpu  1 2 3 4 5 6 7 0 0 0\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        ("sys/devices/system/cpu/smt/control", "on\n"),
    ];
    assert_snapshot!(shown(&files, &ryzen_9950x3d(), &found(Ok(true), "invariant TSC"), 80), @r"
    note  SMT siblings: a core has 2 cpus (smt/control: on): work on one slows the
          other
            corewise survey --cpus LIST with one cpu of each core keeps siblings
            idle
    good  hardware counters: cycles are counted, also in the kernel
          (perf_event_paranoid is 1)
    good  causes of stalls: the kernel's tracepoints name them, through perf
    good  clock: pieces are timed with the invariant TSC; the kernel's clock source
          is tsc
    good  stolen time: there is no hypervisor that could take time
    good  allowed cpus: all online cpus (0-31)
    good  frequency governor: performance
    good  other programs: the load of the last minute is 0.1
    good  tail --fifo: this user may run before all other tasks (SCHED_FIFO)
    good  interrupt counts: the kernel counts interrupts and soft interrupts for
          each cpu

    corewise can measure everything here.
    ");
}

#[test]
fn moved_interrupts_are_told_and_who_else_moves_them() {
    let said = |name: &str, moved| {
        let root = Root::from_files([("proc/812/comm", name)]);
        crate::commands::doctor::check_moved_interrupts(&root, moved).map(|check| (check.state, check.why, check.cure))
    };
    assert_eq!(said("bash", 0), None);
    let balanced = "`corewise irq` has moved none; irqbalance is running and may move interrupts";
    assert_eq!(said("irqbalance", 0), Some((CheckState::Good, balanced.into(), None)));
    let (state, why, cure) = said("bash", 2).unwrap();
    assert_eq!((state, cure.as_deref()), (CheckState::Note, Some("corewise undo")));
    assert_eq!(why, "2 interrupts were moved to other cpus by `corewise irq`");
}

#[test]
fn no_check_steers_or_hides() {
    for name in hostile::names() {
        let states = [CheckState::Gap, CheckState::Note, CheckState::Good];
        let check = |state| DoctorCheck { what: name.clone(), state, why: name.clone(), cure: Some(name.clone()) };
        let checks = states.map(check);
        [40, 80].into_iter().for_each(|width| hostile::check_screen(&draw_screen(&checks, width), width));
        hostile::check_json(&DoctorDocument::new(&checks));
    }
}
