//! Strings as they stand in files, terminals and mails, recognized without a word about their notation.

use super::super::recognize_notation;
use super::machines;
use crate::Machine;

/// The cpus in the order of the text, `?` for a question with commands, `!` for a refusal.
fn outcome(text: &str, machine: &Machine) -> String {
    match recognize_notation(text, machine) {
        Ok(found) => found.reading.cpus.to_string(),
        Err(error) if !error.choices.is_empty() => "?".to_owned(),
        Err(_) => "!".to_owned(),
    }
}

/// Compares all rows, so that one run shows every difference.
fn check(machine: &Machine, rows: &[(&str, &str)]) {
    let wrong = |(text, cpus): &(&str, &str)| {
        let found = outcome(text, machine);
        let why = || {
            recognize_notation(text, machine).map_or_else(|error| error.what, |found| found.reading.remarks.join(" "))
        };
        (found != *cpus).then(|| format!("{text}\n    {found} in place of {cpus}: {}", why()))
    };
    let wrong: Vec<String> = rows.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

/// 64 cpus in four nodes of eight cores; cpu n and n + 32 are siblings.
#[test]
fn commands_are_recognized_behind_anything() {
    check(
        &machines::threadripper(),
        &[
            ("taskset -c 0-3 ./app", "0-3"),
            ("taskset -c 0-3,8 ./app --threads 4", "0-3,8"),
            ("taskset 0xff ./app", "0-7"),
            ("taskset ff ./app", "0-7"),
            ("taskset -c0-3 ./app", "0-3"),
            ("sudo taskset -cp 4-7 1234", "4-7"),
            ("taskset -apc 2,4 $(pidof qemu-system-x86_64)", "2,4"),
            ("WINEDEBUG=-all taskset -c 0-7 wine game.exe", "0-7"),
            ("env LD_PRELOAD=x.so nice -n -10 taskset -c 8-15 ./server", "8-15"),
            ("chrt -f 80 taskset -c 3 cyclictest -t1", "3"),
            ("ionice -c 2 -n 0 taskset -c 1 dd if=/dev/zero of=x", "1"),
            ("setarch -R taskset --cpu-list 5 ./bench", "5"),
            ("time taskset -c 2 ./bench", "2"),
            ("exec /usr/bin/taskset -c 0,2 /opt/app/bin/run", "0,2"),
            ("ExecStart=/usr/bin/taskset -c 4-7 /usr/sbin/app", "4-7"),
            ("bash -c \"taskset -c 12 ./a\"", "12"),
            ("command: [\"taskset\", \"-c\", \"0-1\", \"python\", \"x.py\"]", "0,1"),
            ("user@host:~$ taskset -c 6 ./x", "6"),
            ("taskset -c 0 ./a & taskset -c 1 ./b", "?"),
            ("taskset -c 0-3 numactl --membind=0 ./a", "0-3"),
            ("taskset -c 0-3 numactl -C 4-7 ./a", "?"),
            ("srun --cpu-bind=none numactl -C 4-7 ./a", "4-7"),
            ("pid 1234's current affinity mask: ff", "0-7"),
            ("pid 1234's current affinity list: 0-7,32-39", "0-7,32-39"),
            ("pid 12's current affinity list: 0-63\npid 12's new affinity list: 3", "3"),
            ("pid 1's current affinity list: 0\npid 2's current affinity list: 1", "?"),
            ("numactl -N 0 -m 0 ./app", "0-7,32-39"),
            ("numactl --cpunodebind=1 --membind=0 java -jar x.jar", "8-15,40-47"),
            ("sudo numactl -C 0-15 --interleave=all mongod", "0-15"),
            ("numactl --physcpubind=0,2,4 --localalloc ./a", "0,2,4"),
            ("numactl -C +0-1 ./a", "0,1"),
            ("numactl -m 0 -m 1 -N 0 ./a", "!"),
            ("numactl --interleave=all ./a", "!"),
            ("NUMACTL_ARGS=\"--interleave=all --physcpubind=0-3\"", "0-3"),
            (
                "policy: default\npreferred node: current\nphyscpubind: 0 1 2 3 \ncpubind: 0 \nnodebind: 0 \nmembind: 0 1 ",
                "0-3",
            ),
            ("hwloc-bind core:0 ./app", "0,32"),
            ("hwloc-bind core:0-1 -- ./app", "0,1,32,33"),
            ("hwloc-bind package:0.pu:0 ./app", "0"),
            ("hwloc-calc L3:0", "0-3,32-35"),
            ("hwloc-bind --single core:2 ls", "2"),
            ("likwid-pin -c S0:0-3 ./a", "0-3"),
            ("likwid-perfctr -C M1:0-1 -g MEM ./a", "8,9"),
            ("likwid-mpirun -np 2 -pin M0:0-1_M1:0-1 ./a", "0,1,8,9"),
            ("likwid-mpirun -np 4 -nperdomain M:1 ./a", "!"),
            ("srun --cpu-bind=map_cpu:0,2,4 ./a", "0,2,4"),
            ("srun -n2 --cpu-bind=verbose,mask_cpu:0x3,0xc ./a", "0-3"),
            ("#SBATCH --cpu-bind=map_cpu:1,3", "1,3"),
            ("srun --cpu-bind=map_ldom:0,1 ./a", "0-15,32-47"),
            ("srun --cpu-bind=mask_ldom:0x1,0x2 ./a", "0-15,32-47"),
            ("srun --cpu-bind=cores ./a", "!"),
            ("mpiexec --cpu-bind list:0-3:8-11 ./a", "0-3,8-11"),
            ("mpirun --cpu-set 0-7 -np 8 ./a", "0-7"),
            ("docker run --rm --cpuset-cpus 0-3 --cpuset-mems 0 nginx", "0-3"),
            ("docker run --cpuset-cpus=\"1,3\" --cpus=2 img", "1,3"),
            ("podman run --cpuset-cpus=8-15 img", "8-15"),
            ("docker run --cpus=2 img", "!"),
            ("systemd-run --scope -p AllowedCPUs=0-3 ./a", "0-3"),
            ("systemctl set-property user.slice AllowedCPUs=0-7,32-39", "0-7,32-39"),
            ("virsh vcpupin vm1 0 4", "4"),
            ("virsh emulatorpin vm1 0-1", "0,1"),
            ("perf stat -C 2-3 -e cycles sleep 1", "2,3"),
            ("perf record --cpu=0,4 -a sleep 1", "0,4"),
            ("stress-ng --cpu 4 --taskset 4-7 -t 10s", "4-7"),
            ("cset shield --cpu=1-3 --kthread=on", "1-3"),
            ("cset set -c 0-3 -s system", "0-3"),
            ("cgset -r cpuset.cpus=0-3 group1", "0-3"),
            ("turbostat --cpu 0-1 -i 1", "0,1"),
            ("cpupower -c 0-3 frequency-info", "0-3"),
            ("cyclictest -a 2-3 -t 2 -p 95", "2,3"),
            ("tuna --cpus=2-7 --isolate", "2-7"),
            ("dpdk-testpmd -l 0-3 -n 4 -- -i", "0-3"),
            ("./l2fwd -c f -n 4 -- -p 3", "0-3"),
            ("./build/app -l 1-4,8 -n 4", "1-4,8"),
            ("dpdk-testpmd --lcores='(0-3)@(4-7)' -- -i", "4-7"),
            ("--lcores 0@8,1@9", "8,9"),
            ("fio --name=x --cpus_allowed=0-3 --rw=read", "0-3"),
            ("qm set 100 --affinity 0-3,32-35", "0-3,32-35"),
            ("scylla --cpuset 0-15 --smp 16", "0-15"),
            ("trace-cmd record -M f0 -e sched", "4-7"),
        ],
    );
}

#[test]
fn settings_are_recognized_by_their_keys() {
    check(
        &machines::threadripper(),
        &[
            ("CPUAffinity=0-3", "0-3"),
            ("CPUAffinity=0 1 2 3", "0-3"),
            ("/etc/systemd/system/x.service:CPUAffinity=4 5", "4,5"),
            ("/etc/systemd/system/x.service:12:AllowedCPUs=4-7", "4-7"),
            ("a.service:CPUAffinity=0\nb.service:CPUAffinity=1", "?"),
            ("#CPUAffinity=1 2", "1,2"),
            ("[Service]\nCPUAffinity=2\nExecStart=/usr/bin/app", "2"),
            ("StartupAllowedCPUs=0-3", "0-3"),
            ("StartupAllowedCPUs=0-3\nAllowedCPUs=8-15", "8-15"),
            ("CPUAffinity=\nAllowedCPUs=0-3\nEffectiveCPUs=0-3\nAllowedMemoryNodes=", "0-3"),
            ("isolcpus=2-7", "2-7"),
            ("GRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash isolcpus=2-7 nohz_full=2-7\"", "2-7"),
            ("/etc/default/grub:6:GRUB_CMDLINE_LINUX=\"isolcpus=4-7\"", "4-7"),
            ("BOOT_IMAGE=/vmlinuz root=/dev/sda1 isolcpus=managed_irq,domain,8-15 rcu_nocbs=8-15", "8-15"),
            ("linux /vmlinuz root=UUID=1 nohz_full=1-3 quiet", "1-3"),
            ("systemd.cpu_affinity=0-1", "0,1"),
            ("maxcpus=4", "!"),
            ("worker_cpu_affinity 0001 0010 0100 1000;", "0-3"),
            ("worker_processes 4;\nworker_cpu_affinity 0001 0010 0100 1000;", "0-3"),
            ("worker_cpu_affinity auto 11110000;", "4-7"),
            ("worker_cpu_affinity auto;", "0-63"),
            ("worker_processes 8;", "!"),
            ("IRQBALANCE_BANNED_CPUS=000000f0", "4-7"),
            ("IRQBALANCE_BANNED_CPUS=\"00000001,00000003\"", "0,1,32"),
            ("Environment=IRQBALANCE_BANNED_CPULIST=0-3", "0-3"),
            ("reservedSystemCPUs: \"0,32\"", "0,32"),
            ("--reserved-cpus=0-1", "0,1"),
            ("{\"policyName\":\"static\",\"defaultCpuSet\":\"0-7\",\"checksum\":123}", "0-7"),
            (
                "{\"policyName\":\"static\",\"defaultCpuSet\":\"0-1\",\"entries\":{\"pod\":{\"app\":\"2-3,5\"}},\"checksum\":1}",
                "?",
            ),
            ("SLURM_CPU_BIND=quiet,mask_cpu:0x0000000F", "0-3"),
            ("SLURM_CPU_BIND_LIST=0x3,0xC", "0-3"),
            ("SLURM_CPU_BIND_TYPE=map_cpu:\nSLURM_CPU_BIND_LIST=4,5", "4,5"),
            ("SLURM_CPU_BIND_LIST=4,5", "!"),
            ("   Nodes=n1 CPU_IDs=0-3 Mem=4096 GRES=", "?"),
            ("I_MPI_PIN_PROCESSOR_LIST=0-3", "0-3"),
            ("export I_MPI_PIN_DOMAIN=[3,c]", "0-3"),
            ("server_cpulist 0-7:2", "0,2,4,6"),
            ("server_cpulist 0-3\nbio_cpulist 4-5", "?"),
            ("cpu-map auto:1/1-4 0-3", "0-3"),
            ("cpu-map 1/all 0-3 8-11", "0-3,8-11"),
            ("nbthread 4", "!"),
            ("ovs-vsctl set Open_vSwitch . other_config:pmd-cpu-mask=0x6", "1,2"),
            ("other_config:pmd-cpu-mask=c0", "6,7"),
            ("cpu_dedicated_set = 2-7,^4", "2,3,5-7"),
            ("vcpu_pin_set=4-12,^8,15", "4-7,9-12,15"),
            ("cpu_dedicated_set=2-7\ncpu_shared_set=0-1", "?"),
            ("isolated_cores=2-7", "2-7"),
            ("isolated_cores=${f:calc_isolated_cores:1}", "!"),
            ("cpus_allowed=0-3", "0-3"),
            ("cpumask=15", "0-3"),
            ("limits.cpu: 0-3", "0-3"),
            ("lxc config set c1 limits.cpu 4-7", "4-7"),
            ("limits.cpu: \"4\"", "!"),
            ("limits.cpu=2", "!"),
            ("affinity: 0-3,8", "0-3,8"),
            ("lxc.cgroup2.cpuset.cpus = 0-3", "0-3"),
            ("CPUSET=\"--cpuset 0-15 --smp 16\"", "0-15"),
            ("KMP_AFFINITY=granularity=fine,proclist=[0,2,4],explicit", "0,2,4"),
            ("KMP_AFFINITY=compact,1,0", "!"),
            ("KMP_HW_SUBSET=1s,2c,1t", "0,1"),
            ("OMP_PLACES={0}:4:2", "0,2,4,6"),
            ("export OMP_PLACES=\"{0:4},{8:4}\" OMP_PROC_BIND=close", "0-3,8-11"),
            ("GOMP_CPU_AFFINITY=\"0 2-3\" ./a", "0,2,3"),
            ("OMP_NUM_THREADS=4 GOMP_CPU_AFFINITY=0-3 ./a", "0-3"),
            ("OMP_NUM_THREADS=8", "!"),
            ("GOMAXPROCS=4", "!"),
            (
                "OPENMP DISPLAY ENVIRONMENT BEGIN\n  _OPENMP = '201511'\n  OMP_PROC_BIND = 'TRUE'\n  OMP_PLACES = '{0},{1}'\n",
                "0,1",
            ),
            ("pin_cores=0-7,32-39", "0-7,32-39"),
            ("[cpu]\npark_cores=no\npin_cores=8-15", "8-15"),
            ("pin_cores=1", "!"),
            ("taskset -c 0-7 %command%", "0-7"),
            ("gamemoderun taskset -c 0-7 %command%", "0-7"),
            ("WINE_CPU_TOPOLOGY=4:0,1,2,3 %command%", "0-3"),
            ("gamemoderun %command%", "!"),
            ("rank 0=node1 slot=0:0\nrank 1=node1 slot=0:1", "0,1,32,33"),
            ("rank 0=node1 slot=0:*", "0-63"),
            ("rank 0=node1 slot=3", "3,35"),
            ("cpuset: \"0-3\"", "0-3"),
            ("cpus: 2", "!"),
            ("            \"CpusetCpus\": \"0-3\",\n            \"CpusetMems\": \"\",", "0-3"),
            ("\"CpusetCpus\": \"\",", "!"),
            ("echo 0-3 > /sys/fs/cgroup/app/cpuset.cpus", "0-3"),
            ("echo 0-3 | sudo tee /sys/fs/cgroup/app/cpuset.cpus", "0-3"),
            ("cpuset.mems=0-1", "!"),
            ("write /dev/cpuset/background/cpus 0-1", "0,1"),
            ("echo f > /proc/irq/24/smp_affinity", "0-3"),
            ("echo 4 > /proc/irq/24/smp_affinity_list", "4"),
            ("$ cat /proc/irq/24/smp_affinity\n00000000,00000010", "4"),
            ("/sys/devices/system/cpu/isolated:2-7", "2-7"),
            ("/sys/class/net/eth0/queues/rx-0/rps_cpus:f0", "4-7"),
            ("Cpus_allowed:\tff", "0-7"),
            ("Cpus_allowed_list:\t0-7", "0-7"),
            (
                "Cpus_allowed:\t00000000,000000ff\nCpus_allowed_list:\t0-7\nMems_allowed:\t1\nMems_allowed_list:\t0",
                "0-7",
            ),
            ("On-line CPU(s) list:             0-63", "0-63"),
            ("NUMA node1 CPU(s):               8-15,40-47", "8-15,40-47"),
            ("{\"field\": \"On-line CPU(s) list:\",\"data\": \"0-7\"}", "0-7"),
            ("node 0 cpus: 0 1 2 3 4 5 6 7", "0-7"),
            ("node 0 cpus: 0 1\nnode 1 cpus: 2 3", "?"),
            (
                "threading:\n  set-cpu-affinity: yes\n  cpu-affinity:\n    - worker-cpu-set:\n        cpu: [ \"1-3\", 5 ]\n        mode: \"exclusive\"",
                "1-3,5",
            ),
            ("- management-cpu-set:\n    cpu: [ 0 ]\n- worker-cpu-set:\n    cpu: [ \"1-3\" ]", "?"),
            ("corelist-workers 2-3,18-19", "2,3,18,19"),
            ("MV2_CPU_MAPPING=0:1:2-3", "0-3"),
            ("VLLM_CPU_OMP_THREADS_BIND=0-7|8-15", "0-15"),
            ("<vcpu placement='static' cpuset='0-3'>4</vcpu>", "0-3"),
            ("<vcpupin vcpu='0' cpuset='2'/>\n<vcpupin vcpu='1' cpuset='34'/>", "2,34"),
            ("<cputune><iothreadpin iothread='1' cpuset='5-6'/></cputune>", "5,6"),
            ("<vcpupin vcpu='0' cpuset='2'/><emulatorpin cpuset='0'/><iothreadpin iothread='1' cpuset='5'/>", "2"),
            (
                "VCPU:           0\nCPU:            2\nState:          running\nCPU time:       9.5s\nCPU Affinity:   --y-y",
                "2,4",
            ),
            (" VCPU   CPU Affinity\n----------------------\n 0      4\n 1      36\n", "4,36"),
            ("emulator: CPU Affinity\n----------------------------------\n       *: 0-3\n", "0-3"),
        ],
    );
}

#[test]
fn windows_texts_are_recognized() {
    let machine = crate::generate::one_package_machine(16, false, &[]);
    check(
        &machine,
        &[
            ("start /affinity FF game.exe", "0-7"),
            ("cmd.exe /c start \"\" /affinity F app.exe", "0-3"),
            ("C:\\Windows\\System32> start /high /affinity 0x0F app.exe", "0-3"),
            ("$p = Get-Process app; $p.ProcessorAffinity = 15", "0-3"),
            ("(Get-Process app).ProcessorAffinity=0x55", "0,2,4,6"),
            ("DefaultAffinitiesEx=game.exe,0,0-7", "0-7"),
            ("game.exe,0,0-3;8", "0-3,8"),
            ("0;5-8;13", "0,5-8,13"),
        ],
    );
}

#[test]
fn bare_values_are_read_or_asked_back() {
    check(
        &machines::threadripper(),
        &[
            ("0-3", "0-3"),
            ("0-3,8", "0-3,8"),
            ("\"0-3\"", "0-3"),
            ("[0-3,8]", "0-3,8"),
            ("[0, 1, 2]", "0-2"),
            ("0-3;", "0-3"),
            ("0\u{2013}3", "0-3"),
            ("0 1 2 3", "0-3"),
            ("0-31:8", "0,8,16,24"),
            ("0-4,^2", "0,1,3,4"),
            ("all", "0-63"),
            ("ff", "0-7"),
            ("0xff", "0-7"),
            ("FF", "0-7"),
            ("00000000,000000ff", "0-7"),
            ("0x00000001,0x00000003", "0,1,32"),
            ("0x3,0xc", "?"),
            ("0b1010", "1,3"),
            ("0x1 0x2", "?"),
            ("-4", "2-63"),
            ("yy--", "0,1"),
            ("{0:4}:2:8", "0-3,8-11"),
            ("S0:0-3", "0-3"),
            ("core:0", "0,32"),
            ("0", "0"),
            ("1", "?"),
            ("32", "?"),
            ("55", "?"),
            ("11111111", "?"),
            ("0001 0010 0100", "?"),
            ("CPUS=\"0-3\"", "0-3"),
            ("export MY_CPU_LIST=4-7", "4-7"),
            ("worker_cpus: [2, 3]", "2,3"),
            ("APP_CPU_MASK=0xf0", "4-7"),
            ("APP_CPUS=4", "?"),
            ("port: 80", "!"),
            ("MEM_NODES=0-1", "!"),
            ("0-3 and more", "!"),
            ("hello", "!"),
            ("", "!"),
            ("spread(4, llc)", "!"),
        ],
    );
}

#[test]
fn a_question_names_its_commands_and_an_answer_its_notation() {
    let machine = machines::threadripper();
    let question = recognize_notation("32", &machine).unwrap_err();
    let commands: Vec<String> = question.choices.iter().map(|choice| choice.command.shell_line()).collect();
    assert_eq!(commands, ["corewise place --from list -- 32", "corewise place --from hex -- 32"]);
    assert_eq!(question.what, "this has several meanings: list: cpu 32; hex: cpus 1,4,5");
    let nodes = recognize_notation("node 0 cpus: 0 1\nnode 1 cpus: 2 3", &machine).unwrap_err();
    let commands: Vec<String> = nodes.choices.iter().map(|choice| choice.command.shell_line()).collect();
    assert_eq!(commands, ["corewise place 0,1", "corewise place 2,3", "corewise place 0-3"]);
    let read = |text| recognize_notation(text, &machine).unwrap().reading.remarks.join(" ");
    assert_eq!(
        read("IRQBALANCE_BANNED_CPUS=ff"),
        "Read as a setting of another program, recognized by its key. A value of IRQBALANCE_BANNED_CPUS of irqbalance: these are \
         banned, so interrupts go to the others: cpus 8-63."
    );
    assert!(read("worker_cpu_affinity 0001 0010;").contains("One set for each worker: worker 0: 0, worker 1: 1."));
    assert!(read("#CPUAffinity=1 2").contains("This is a comment: as it stands, it has no effect."));
}

/// What is printed in a notation is recognized as the same cpus, or asked back.
#[test]
fn what_is_printed_is_recognized() {
    use super::super::{Notation, print_notation};
    for (name, machine) in machines::all() {
        for count in [1, 2, 7, 32] {
            let order: Vec<u32> = machine.online.iter().take(count).collect();
            let cpus: crate::CpuSet = order.iter().copied().collect();
            for notation in Notation::ALL.into_iter().filter(|notation| *notation != Notation::Kubernetes) {
                let texts = super::round_trip::whole_texts(
                    notation,
                    &print_notation(notation, &cpus, &order, &machine),
                    &machine,
                );
                for text in texts {
                    match recognize_notation(&text, &machine) {
                        Ok(found) => assert_eq!(found.reading.cpus, cpus, "{name}: {notation}: {text}"),
                        Err(error) => assert!(!error.choices.is_empty(), "{name}: {notation}: {text}: {error}"),
                    }
                }
            }
        }
    }
}
