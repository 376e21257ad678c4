//! Lines as they are printed, against lines written by hand from the tools' manuals.

use super::super::Notation;
use super::{lines, machines, set, shown};
use crate::generate;

#[test]
fn masks_are_hexadecimal_binary_and_decimal() {
    let ryzen = machines::ryzen();
    assert_eq!(
        shown(&lines(Notation::Hexadecimal, "1-7,16-23", &ryzen)),
        "mask: 0xff00fe\nwith commas: ff00fe\n    Files of /proc/irq and /sys use groups of 32 bits."
    );
    assert_eq!(shown(&lines(Notation::Binary, "1-7,16-23", &ryzen)), "binary: 1111 1111 0000 0000 1111 1110");
    let threadripper = machines::threadripper();
    let commas = lines(Notation::Hexadecimal, "2-33", &threadripper);
    assert_eq!(commas[0].text.as_deref(), Some("0x3fffffffc"));
    assert_eq!(commas[1].text.as_deref(), Some("3,fffffffc"));
    let large = lines(Notation::Hexadecimal, "1535", &machines::large());
    assert_eq!(large[1].text.as_deref(), Some(format!("80000000{}", ",00000000".repeat(47)).as_str()));
}

#[test]
fn decimal_masks_are_negative_where_the_highest_bit_is_set() {
    let machine = machines::threadripper();
    assert_eq!(
        shown(&lines(Notation::Decimal, "2-63", &machine)),
        "signed 64-bit: -4\n    The highest bit is set, so the number is negative.\n\
         signed 32-bit: -\n    cpu 63 does not fit: a mask of 32 bits ends at cpu 31."
    );
    assert_eq!(
        shown(&lines(Notation::Decimal, "2-31", &machine)),
        "signed 64-bit: 4294967292\n\
         signed 32-bit: -4\n    The highest bit is set, so the number is negative."
    );
    assert_eq!(
        shown(&lines(Notation::Decimal, "64", &machines::large())),
        "signed 64-bit: -\n    cpu 64 does not fit: a mask of 64 bits ends at cpu 63."
    );
}

#[test]
fn taskset_gets_a_list_and_a_mask() {
    assert_eq!(
        shown(&lines(Notation::Taskset, "1-7,16-23", &machines::ryzen())),
        "list: taskset -c 1-7,16-23\nmask: taskset 0xff00fe"
    );
}

#[test]
fn numactl_names_nodes_only_where_they_are_whole() {
    let machine = machines::threadripper();
    assert_eq!(
        shown(&lines(Notation::Numactl, "0-7,32-39", &machine)),
        "cpus: numactl --physcpubind=0-7,32-39\n    The memory policy is unchanged: add --membind=0 to get memory \
            from there or fail, or --localalloc for the default.\nnodes: numactl --cpunodebind=0"
    );
    assert_eq!(lines(Notation::Numactl, "0-6,32-39", &machine).len(), 1);
}

#[test]
fn nodes_without_memory_are_served_by_the_nearest() {
    let machine = machines::threadripper();
    assert_eq!(
        shown(&lines(Notation::Numactl, "8-15,40-47", &machine)),
        "cpus: numactl --physcpubind=8-15,40-47\n    The memory policy is unchanged: add --membind=0,2 to get memory \
            from there or fail, or --localalloc for the default.\nnodes: numactl --cpunodebind=1\n    No memory on \
            node 1, so numactl may refuse: use --physcpubind; the nearest memory is on nodes 0,2."
    );
    let memory = |list: &str| lines(Notation::Cgroup, list, &machine)[1].text.clone().unwrap();
    assert_eq!(memory("8"), "echo 0,2 > cpuset.mems");
    assert_eq!(memory("16,8"), "echo 0,2 > cpuset.mems");
    assert_eq!(memory("16"), "echo 2 > cpuset.mems");
}

#[test]
fn numactl_needs_all_outside_this_process_cpus() {
    let line = &lines(Notation::Numactl, "8", &machines::confined())[0];
    assert_eq!(line.text.as_deref(), Some("numactl --all --physcpubind=8"));
}

#[test]
fn hwloc_gets_a_mask_in_groups() {
    let text = |list: &str| lines(Notation::Hwloc, list, &machines::large())[0].text.clone().unwrap();
    assert_eq!(text("0-3"), "hwloc-bind 0xf --");
    assert_eq!(text("0,33"), "hwloc-bind 0x2,0x00000001 --");
}

#[test]
fn likwid_counts_along_the_usable_cpus_where_not_all_are() {
    let text = |machine: &crate::Machine| lines(Notation::Likwid, "0,2,16", machine)[0].text.clone();
    assert_eq!(text(&machines::ryzen()).as_deref(), Some("likwid-pin -c 0,2,16"));
    // Usable are the cores of 0, 1, 2, 4, 5, 6, 7 and 19, then the second threads of the first seven.
    assert_eq!(text(&machines::confined()).as_deref(), Some("likwid-pin -c N:0,2,8"));
    assert_eq!(lines(Notation::Likwid, "8", &machines::confined())[0].text, None);
}

#[test]
fn systemd_gets_the_boundary_and_the_starting_mask() {
    assert_eq!(
        shown(&lines(Notation::Systemd, "8", &machines::threadripper())),
        "boundary: AllowedCPUs=8\n    A hard limit of the cgroup, for services, scopes and slices; needs cgroup v2 \
            with cpuset.\nstarting mask: CPUAffinity=8\n    The mask that a service starts with; its processes may \
            change it, and slices do not support it.\nmemory: AllowedMemoryNodes=0,2\n    Only if memory must come \
            from there: the nodes nearest to these cpus."
    );
}

#[test]
fn cgroups_and_docker_get_cpus_and_memory() {
    let machine = machines::ryzen();
    let texts =
        |notation| lines(notation, "1-7,16-23", &machine).into_iter().filter_map(|line| line.text).collect::<Vec<_>>();
    assert_eq!(texts(Notation::Cgroup), ["echo 1-7,16-23 > cpuset.cpus", "echo 0 > cpuset.mems"]);
    assert_eq!(texts(Notation::Docker), ["--cpuset-cpus=1-7,16-23 --cpuset-mems=0", "cpuset: \"1-7,16-23\""]);
}

#[test]
fn kubernetes_is_told_what_can_be_told() {
    let machine = machines::ryzen();
    assert_eq!(
        shown(&lines(Notation::Kubernetes, "1,17,2,18", &machine)),
        "container: resources: {requests: {cpu: \"4\"}, limits: {cpu: \"4\"}}\n    You cannot choose a container's \
            cpus: the kubelet's static policy takes a number and chooses.\n    A container has exclusive cpus only \
            with cpuManagerPolicy: static, in a Guaranteed pod.\nkubelet, whole cores: cpuManagerPolicyOptions: \
            {full-pcpus-only: \"true\"}\n    These are whole cores; with this option the kubelet assigns only whole \
            cores.\nkubelet, the rest: reservedSystemCPUs: \"0,3-16,19-31\"\n    Reserves the other cpus for the \
            system, so that exclusive cpus come only from these."
    );
    let single = lines(Notation::Kubernetes, "1-2,17", &machine);
    assert_eq!(single[1].remarks, ["full-pcpus-only does not fit: cpu 2 is one thread of a core."]);
    let all = lines(Notation::Kubernetes, "0-31", &machine);
    assert_eq!(all[2].remarks, ["No cpu is left to reserve, and the static policy needs one."]);
}

#[test]
fn slurm_gets_one_mask_or_one_cpu_per_task() {
    let cpus = set("1-3,16");
    let lines = super::super::print_notation(Notation::Slurm, &cpus, &[3, 1, 2, 16], &machines::ryzen());
    assert_eq!(lines[0].text.as_deref(), Some("--cpu-bind=mask_cpu:0x1000e"));
    assert_eq!(lines[1].text.as_deref(), Some("--cpu-bind=map_cpu:3,1,2,16"));
}

#[test]
fn openmp_gets_places_in_order() {
    let print = |order: &[u32]| {
        let lines =
            super::super::print_notation(Notation::OpenMp, &order.iter().copied().collect(), order, &machines::large());
        lines.into_iter().filter_map(|line| line.text).collect::<Vec<_>>()
    };
    assert_eq!(
        print(&[0, 4, 2, 3, 8, 9, 10]),
        ["OMP_PROC_BIND=close OMP_PLACES={0},{4},{2},{3},{8},{9},{10}", "GOMP_CPU_AFFINITY=\"0 4 2 3 8-10\""]
    );
    let evens: Vec<u32> = (0..40).step_by(2).collect();
    assert_eq!(print(&evens)[0], "OMP_PROC_BIND=close OMP_PLACES={0}:20:2");
    let falling: Vec<u32> = (0..9).rev().chain([20]).collect();
    assert_eq!(print(&falling)[0], "OMP_PROC_BIND=close OMP_PLACES={8}:9:-1,{20}");
}

#[test]
fn libvirt_pins_each_virtual_cpu() {
    let pinned = super::super::print_notation(Notation::Libvirt, &set("1,17"), &[17, 1], &machines::ryzen());
    assert_eq!(
        shown(&pinned),
        "vcpu: <vcpu placement='static' cpuset='1,17'>2</vcpu>\n    For the emulator's own threads elsewhere: \
            <emulatorpin cpuset='0,2-16,18-31'/>.\ncputune: <vcpupin vcpu='0' cpuset='17'/>\ncputune: <vcpupin \
            vcpu='1' cpuset='1'/>\ncpu: <cpu mode='host-passthrough'><topology sockets='1' dies='1' cores='1' \
            threads='2'/></cpu>\n    Virtual cpus of one core are adjacent: the guest sees the same siblings as the host."
    );
    // Whole cores: the virtual cpus of siblings are adjacent, and the guest hears of it.
    let texts =
        |list: &str| lines(Notation::Libvirt, list, &machines::ryzen()).into_iter().filter_map(|line| line.text);
    let pins: Vec<String> = texts("0-1,16-17").filter(|text| text.contains("vcpupin")).collect();
    let pinned = [0, 16, 1, 17].into_iter().enumerate();
    let expected: Vec<String> = pinned.map(|(vcpu, cpu)| format!("<vcpupin vcpu='{vcpu}' cpuset='{cpu}'/>")).collect();
    assert_eq!(pins, expected);
    assert!(texts("0-1,16-17").any(|text| text.contains("cores='2' threads='2'")));
    assert!(!texts("0,1,16").any(|text| text.contains("topology")), "cpu 17 is not among them");
}

#[test]
fn the_kernel_sends_interrupts_to_the_others() {
    let text = |list: &str| lines(Notation::KernelCommandLine, list, &machines::confined())[0].text.clone().unwrap();
    assert_eq!(text("4-7"), "isolcpus=managed_irq,domain,4-7 nohz_full=4-7 rcu_nocbs=4-7 irqaffinity=0-2,8,10-31");
    let all = lines(Notation::KernelCommandLine, "0-1", &generate::one_package_machine(2, false, &[])).remove(0);
    assert_eq!(all.text.as_deref(), Some("isolcpus=managed_irq,domain,0,1 nohz_full=0,1 rcu_nocbs=0,1"));
    assert!(all.remarks.contains(&"No cpu is left for everything else: leave out at least one.".to_owned()));
}

#[test]
fn windows_numbers_siblings_side_by_side() {
    assert_eq!(
        shown(&lines(Notation::Windows, "1-7,16-23", &machines::ryzen())),
        "start: start /affinity FFFE\n    Windows numbers the threads of a core consecutively: cpus 1-7,16-23 here \
            are cpus 1-15 there."
    );
    // All but both threads of the first core, as the article on the 2990WX has it.
    let machine = machines::threadripper();
    let text = lines(Notation::Windows, "1-31,33-63", &machine)[0].text.clone();
    assert_eq!(text.as_deref(), Some("start /affinity FFFFFFFFFFFFFFFC"));
    let value = lines(Notation::PowerShell, "1-31,33-63", &machine)[0].text.clone();
    assert_eq!(value.as_deref(), Some("(Get-Process -Name app).ProcessorAffinity = -4"));
    let rule = lines(Notation::ProcessLasso, "1-7,16-23", &machines::ryzen())[0].text.clone();
    assert_eq!(rule.as_deref(), Some("app.exe,0,1-15"));
}

#[test]
fn process_lasso_separates_with_semicolons() {
    let machine = generate::one_package_machine(32, false, &[]);
    let text = |list: &str| lines(Notation::ProcessLasso, list, &machine)[0].text.clone().unwrap();
    assert_eq!(text("0,5-8,13-15,21"), "app.exe,0,0;5-8;13-15;21");
    assert_eq!(lines(Notation::ProcessLasso, "0-3", &machines::wide())[0].text, None, "several groups");
}

#[test]
fn windows_numbers_agree_where_siblings_are_neighbours_already() {
    let lines = lines(Notation::Windows, "0-3", &generate::one_package_machine(4, false, &[]));
    assert_eq!(shown(&lines), "start: start /affinity F");
}

#[test]
fn windows_masks_belong_to_groups_of_64() {
    let machine = machines::wide();
    let assumed = "4 groups are assumed, of whole packages or nodes, with consecutive siblings (group 0 = cpus 0-63, \
        group 1 = cpus 64-127); coreinfo -g shows them.";
    let lines = lines(Notation::Windows, "2,70-71", &machine);
    assert_eq!(lines.iter().map(|line| line.label.as_str()).collect::<Vec<_>>(), ["group 0", "group 1"]);
    assert_eq!(lines[0].text.as_deref(), Some("start \"group 0\" /affinity 4"));
    assert_eq!(lines[1].text.as_deref(), Some("start \"group 1\" /affinity C0"));
    assert!(lines[0].remarks.iter().any(|remark| remark == assumed), "{:?}", lines[0].remarks);
}

#[test]
fn windows_nodes_choose_the_group_where_they_can() {
    let machine = machines::large();
    // Packages of 48 cpus: none fits a group with another. Node 3 has cores 72-95, whose first is cpu 0 of group 3.
    let texts = |list: &str| {
        lines(Notation::Windows, list, &machine).into_iter().filter_map(|line| line.text).collect::<Vec<_>>()
    };
    assert_eq!(texts("72,840,73"), ["start \"group 3\" /node 3 /affinity 7"]);
    assert_eq!(texts("24,48"), ["start \"group 1\" /node 1 /affinity 1", "start \"group 2\" /node 2 /affinity 1"]);
}

#[test]
fn an_empty_set_has_no_text() {
    for notation in Notation::ALL {
        let lines = super::super::print_notation(notation, &crate::CpuSet::new(), &[], &machines::ryzen());
        assert!(lines.iter().all(|line| line.text.is_none() && !line.remarks.is_empty()), "{notation}");
    }
}
