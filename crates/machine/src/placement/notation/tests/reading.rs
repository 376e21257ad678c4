//! Other tools' texts, read as the tools read them.

use super::super::Notation;
use super::{explained, in_order, machines, mistake, read};
use crate::Machine;

/// Each text beside the cpus it means, in order.
fn check(notation: Notation, machine: &Machine, table: &[(&str, &str)]) {
    for (text, cpus) in table {
        assert_eq!(in_order(notation, text, machine), *cpus, "{notation}: {text}");
    }
}

#[test]
fn plain_notations() {
    let machine = machines::threadripper();
    check(Notation::List, &machine, &[("0-3,8", "0-3,8"), ("8,1", "8,1"), ("0-31:8", "0,8,16,24"), ("60-N", "60-63")]);
    check(
        Notation::Hexadecimal,
        &machine,
        &[
            ("0x55", "0,2,4,6"),
            ("55", "0,2,4,6"),
            ("FFFF FFFF FFFF FFFC", "2-63"),
            ("1,00000003", "0,1,32"),
            ("1,3", "0,1,32"),
            ("0x1,0x3", "0,1,32"),
            ("0xaaaaaaaa,0x0000000a", "1,3,33,35,37,39,41,43,45,47,49,51,53,55,57,59,61,63"),
        ],
    );
    check(Notation::Binary, &machine, &[("0101 0101", "0,2,4,6"), ("0b11", "0,1"), ("1000_0000", "7")]);
    check(Notation::Decimal, &machine, &[("85", "0,2,4,6"), ("-4", "2-63"), ("18446744073709551612", "2-63")]);
}

#[test]
fn negative_numbers_are_as_wide_as_the_machine() {
    assert_eq!(
        explained(Notation::Decimal, "-4", &machines::ryzen()),
        "2-31\n    Read as a mask of 32 bits; with 64 bits it would be cpus 2-63."
    );
    assert_eq!(
        explained(Notation::Decimal, "-4", &machines::threadripper()),
        "2-63\n    Read as a mask of 64 bits; with 32 bits it would be cpus 2-31."
    );
}

#[test]
fn taskset_lines() {
    check(
        Notation::Taskset,
        &machines::threadripper(),
        &[
            ("32", "1,4,5"),
            ("0x32", "1,4,5"),
            ("0x55", "0,2,4,6"),
            ("-c 0-3", "0-3"),
            ("taskset -c 0-10:2 ./app", "0,2,4,6,8,10"),
            ("taskset -c 7,3 ./app -c 9", "7,3"),
            ("taskset 03 sshd -b 1024", "0,1"),
            ("taskset -pc 0,3,7-11 700", "0,3,7-11"),
            ("taskset -p 03 700", "0,1"),
            ("taskset --cpu-list 5 app", "5"),
            ("/usr/bin/taskset -a -p 0xf 700", "0-3"),
            ("taskset 1,00000003 app", "0,1,32"),
            ("taskset 10,1 app", "0,8"),
            ("pid 1's current affinity list: 0,4-6", "0,4-6"),
            ("pid 123's current affinity mask: 32", "1,4,5"),
            ("pid 9's current affinity mask: ffff\npid 9's new affinity mask: 1", "0"),
        ],
    );
}

#[test]
fn taskset_is_explained() {
    let machine = machines::threadripper();
    assert_eq!(
        explained(Notation::Taskset, "32", &machine),
        "1,4,5\n    Without -c taskset reads a hexadecimal mask, with or without 0x: 32 is cpus 1,4,5; for cpu 32 write \
         taskset -c 32."
    );
    assert_eq!(explained(Notation::Taskset, "0x32", &machine), "1,4,5");
    assert_eq!(
        explained(Notation::Taskset, "taskset -pc 0-3 1234", &machine),
        "0-3\n    -p without -a moves one thread of a running process; its other threads stay where they are."
    );
    assert_eq!(
        explained(Notation::Taskset, "taskset 0x10,1 app", &machine),
        "0,8\n    Unlike the kernel, taskset drops commas without padding groups to eight digits."
    );
}

#[test]
fn systemd_lines() {
    check(
        Notation::Systemd,
        &machines::threadripper(),
        &[
            ("0-3 8", "0-3,8"),
            ("CPUAffinity=0-3,8", "0-3,8"),
            ("[Service]\nCPUAffinity=0 1\nCPUAffinity=4", "0,1,4"),
            ("CPUAffinity=0 1\nCPUAffinity=\nCPUAffinity=4", "4"),
            ("AllowedCPUs=0-7\nCPUAffinity=4-11", "4-7"),
            ("AllowedCPUs=0-3\nCPUAffinity=4-7", "0-3"),
            ("CPUAffinity=numa\nNUMAPolicy=bind\nNUMAMask=1", "8-15,40-47"),
            ("systemd-run -p AllowedCPUs=0-3 --scope ./app", "0-3"),
            ("systemd-run --property=\"CPUAffinity=0 2\" ./app", "0,2"),
            ("systemctl set-property app.service AllowedCPUs=5", "5"),
        ],
    );
    assert_eq!(
        explained(Notation::Systemd, "AllowedCPUs=0-3\nCPUAffinity=2-7\nAllowedMemoryNodes=0", &machines::ryzen()),
        "2,3\n    The processes start on the cpus that both CPUAffinity= and AllowedCPUs= name.\n    The memory \
            setting is AllowedMemoryNodes=0."
    );
}

#[test]
fn cgroup_and_docker_lines() {
    let machine = machines::threadripper();
    check(
        Notation::Cgroup,
        &machine,
        &[
            ("0-3,8", "0-3,8"),
            ("cpuset.cpus = 0-3", "0-3"),
            ("echo 4-7 > /sys/fs/cgroup/app/cpuset.cpus", "4-7"),
            ("echo 0 > cpuset.mems\necho 62-N > cpuset.cpus", "62,63"),
        ],
    );
    assert_eq!(
        explained(Notation::Cgroup, "echo 4-7 > cpuset.cpus\necho 1 > cpuset.cpus", &machine),
        "1\n    cpuset.cpus is set more than once; the last line applies."
    );
    check(
        Notation::Docker,
        &machine,
        &[
            ("0-3,8", "0-3,8"),
            ("--cpuset-cpus=0-3 --cpuset-mems=0", "0-3"),
            ("docker run --rm --cpuset-cpus 1,3 --cpus=2 image", "1,3"),
            ("docker run --cpuset-cpus=\"0-2\" image", "0-2"),
            ("cpuset: \"0-3\"", "0-3"),
        ],
    );
    assert_eq!(
        explained(Notation::Docker, "--cpuset-cpus=0 --cpuset-mems=0,2", &machine),
        "0\n    Memory comes only from node 0,2."
    );
}

#[test]
fn slurm_lines() {
    check(
        Notation::Slurm,
        &machines::threadripper(),
        &[
            ("--cpu-bind=mask_cpu:0x55", "0,2,4,6"),
            ("mask_cpu:f0,0xf", "4-7,0-3"),
            ("srun -n 2 --cpu-bind=verbose,mask_cpu:0x3,0xc ./app", "0-3"),
            ("srun --cpu-bind map_cpu:3,1,0x10 ./app", "3,1,16"),
            ("--cpu_bind=map_cpu:0*2,5", "0,5"),
        ],
    );
    assert_eq!(
        explained(Notation::Slurm, "mask_cpu:0xf0*2,0xf", &machines::ryzen()),
        "0-7\n    Each task gets its own mask: 4-7 (2 tasks), then 0-3.\n    \
         Masks of mask_cpu are hexadecimal with or without 0x."
    );
}

#[test]
fn openmp_lines() {
    check(
        Notation::OpenMp,
        &machines::threadripper(),
        &[
            ("{0:4}:4:8", "0-3,8-11,16-19,24-27"),
            ("{0,1},{4},7", "0,1,4,7"),
            ("{0,1,2,3},{4:2:4}", "0-4,8"),
            ("{0:4,!2}", "0,1,3"),
            ("{0}:4,!{2}", "0,1,3"),
            ("{8}:3:-2", "8,6,4"),
            ("0:4:2", "0,2,4,6"),
            ("OMP_PLACES=\"{0:2}:2:4\" ./app", "0,1,4,5"),
            ("OMP_PLACES=cores(2)", "0,32,1,33"),
            ("threads(3)", "0,32,1"),
            ("ll_caches(1)", "0-3,32-35"),
            ("numa_domains(1)", "0-7,32-39"),
            ("GOMP_CPU_AFFINITY=\"0 3 1-2 4-15:2\"", "0,3,1,2,4,6,8,10,12,14"),
            ("GOMP_CPU_AFFINITY='0-3 8-15:2' ./app", "0-3,8,10,12,14"),
            ("export GOMP_CPU_AFFINITY=1,0", "1,0"),
        ],
    );
    let machine = machines::interleaved();
    check(Notation::OpenMp, &machine, &[("sockets", "0,2,4,6,1,3,5,7"), ("SOCKETS(1)", "0,2,4,6")]);
    assert_eq!(
        explained(Notation::OpenMp, "sockets(3)", &machine),
        "0-7\n    2 places: {0,2,4,6} {1,3,5,7}; the runtime chooses which sockets to use.\n    There are only 2 \
            places of sockets here, not 3."
    );
}

#[test]
fn libvirt_elements() {
    check(
        Notation::Libvirt,
        &machines::threadripper(),
        &[
            ("0-4,^3", "0-2,4"),
            ("<vcpu placement='static' cpuset='0-3,^1,8'>4</vcpu>", "0,2,3,8"),
            ("<vcpupin vcpu='1' cpuset='3'/><vcpupin vcpu=\"0\" cpuset=\"7\"/>", "7,3"),
            ("<vcpu cpuset='0-7'>2</vcpu>\n<cputune>\n<vcpupin vcpu='0' cpuset='4'/>\n</cputune>", "4"),
            ("<vcpu>2</vcpu><vcpupin vcpu='0' cpuset='4'/><emulatorpin cpuset='0'/>", "4"),
            ("<emulatorpin cpuset='0-3'/>", "0-3"),
            ("virsh vcpupin dom 0 0-3,^1", "0,2,3"),
            ("virsh -c qemu:///system vcpupin dom 1 5 --live\nvirsh vcpupin dom 0 4", "4,5"),
            ("vcpupin --cpulist 0-3 --domain dom --vcpu=0", "0-3"),
            ("virsh emulatorpin dom 6,7 --config", "6,7"),
        ],
    );
    assert_eq!(
        explained(Notation::Libvirt, "<vcpu cpuset='0-3'>2</vcpu><emulatorpin cpuset='8'/>", &machines::ryzen()),
        "0-3\n    All virtual cpus share these cpus.\n    The emulator's own threads are on cpu 8."
    );
}

#[test]
fn kernel_parameters() {
    let machine = machines::threadripper();
    check(
        Notation::KernelCommandLine,
        &machine,
        &[
            ("2-7", "2-7"),
            ("isolcpus=2-7", "2-7"),
            ("quiet isolcpus=nohz,domain,managed_irq,2-7 nohz_full=2-7 splash", "2-7"),
            ("nohz_full=60-N irqaffinity=0-59", "60-63"),
            ("rcu_nocbs=all", "0-63"),
            ("isolcpus=1,2,10-20,30-63:2/25", "1,2,10-20,30,31,55,56"),
            ("irqaffinity=0,1", "0,1"),
        ],
    );
    assert_eq!(
        explained(Notation::KernelCommandLine, "isolcpus=nohz,2-7 nohz_full=2-5 irqaffinity=0-2", &machine),
        "2-7\n    isolcpus= excludes these cpus from the scheduler's balancing: only what is placed there runs \
            there.\n    Without the flag domain the scheduler still balances over these cpus.\n    nohz_full= names \
            other cpus: 2-5.\n    irqaffinity= is cpus 0-2, which includes cpu 2 of these."
    );
}

#[test]
fn windows_lines() {
    let plain = crate::generate::one_package_machine(16, false, &[]);
    check(
        Notation::Windows,
        &plain,
        &[
            ("start /affinity 55 app.exe", "0,2,4,6"),
            ("start \"title\" /b /AFFINITY 0xF app.exe 123", "0-3"),
            ("start /wait /d C:\\Games /affinity f0 app", "4-7"),
            ("FF", "0-7"),
            ("cmd /c start /AFFINITY 0xF app.exe", "0-3"),
            ("cmd.exe /C start \"\" /low /affinity 3 app.exe", "0,1"),
            ("start /node 0 /affinity 3 app", "0,1"),
        ],
    );
    let machine = machines::threadripper();
    assert_eq!(
        explained(Notation::Windows, "start /affinity FFFF FFFF FFFF FFFC app", &machine),
        "1-31,33-63\n    Read with Windows' numbering: the threads of a core are consecutive, unlike on this \
            machine.\n    start reads a mask only up to the first space: write it without spaces."
    );
    // Node 1 is cores 8 to 15; Windows counts its mask from the node's first cpu.
    assert_eq!(in_order(Notation::Windows, "start /node 1 /affinity 5 app", &machine), "8,9");
    assert_eq!(in_order(Notation::Windows, "start /node 1 app", &machine), "8-15,40-47");
}

#[test]
fn windows_groups() {
    let machine = machines::wide();
    assert_eq!(
        explained(Notation::Windows, "start /affinity 3 app", &machine),
        "0,1\n    No group is named: read in group 0."
    );
    assert_eq!(in_order(Notation::Windows, "group 3: start /affinity 3", &machine), "192,193");
    assert_eq!(in_order(Notation::Windows, "start \"group 3\" /b /affinity 3 app", &machine), "192,193");
    assert_eq!(in_order(Notation::Windows, "start \"group photo\" /affinity 3 app", &machine), "0,1");
    assert_eq!(in_order(Notation::PowerShell, "group 1: -1", &machine), "64-127");
    assert_eq!(in_order(Notation::PowerShell, "$p.ProcessorAffinity = -1  # group 1", &machine), "64-127");
}

#[test]
fn process_lasso_rules() {
    let machine = crate::generate::one_package_machine(32, false, &[]);
    check(
        Notation::ProcessLasso,
        &machine,
        &[
            ("0;5-8;13-15;21", "0,5-8,13-15,21"),
            ("app.exe,0,0-3;8", "0-3,8"),
            ("process.exe,0-3;8", "0-3,8"),
            ("DefaultAffinitiesEx=steamwebhelper.exe,0,8-19", "8-19"),
        ],
    );
    assert_eq!(in_order(Notation::ProcessLasso, "app.exe,0,1-15", &machines::ryzen()), "1-7,16-23");
    let several = mistake(Notation::ProcessLasso, "a.exe,0,0-3,b.exe,0,8", &machine);
    assert_eq!(several.what, "this names different cpus, and one of these may be meant: a.exe: cpus 0-3; b.exe: cpu 8");
    assert_eq!(mistake(Notation::ProcessLasso, "a.exe,0,32", &machine).what, "32 is no cpu: this group has 32");
    assert!(mistake(Notation::ProcessLasso, "a.exe,0,", &machine).what.starts_with("expected a list of cpus"));
}

#[test]
fn powershell_lines() {
    let machine = crate::generate::one_package_machine(64, false, &[]);
    check(
        Notation::PowerShell,
        &machine,
        &[
            ("(Get-Process app).ProcessorAffinity = 85", "0,2,4,6"),
            ("$p.ProcessorAffinity=[IntPtr]0xF", "0-3"),
            ("(Get-Process -Id 12).ProcessorAffinity = -4", "2-63"),
            ("(Get-Process -Id 12).ProcessorAffinity = ([IntPtr](255))", "0-7"),
            ("3", "0,1"),
            ("0b101", "0,2"),
        ],
    );
    assert_eq!(
        explained(Notation::PowerShell, "-4", &crate::generate::one_package_machine(8, false, &[])),
        "2-7\n    A negative number sets all bits up to 63; this group has 8 cpus."
    );
}

#[test]
fn cpus_that_are_not_there_are_remarked() {
    let machine = machines::confined();
    assert_eq!(
        read(Notation::Taskset, "-c 2,3,9,40", &machine).remarks,
        ["On this machine cpu 40 is missing.", "On this machine cpus 3,9 are offline."]
    );
}
