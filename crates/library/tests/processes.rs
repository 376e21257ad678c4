//! Placing the threads of a whole process, also where the system forbids it: the program goes on, and hears why. Each case runs in a
//! process of its own, this test program once more, since other tests have threads, and a filter of system calls stays.
#![cfg(target_os = "linux")]

use std::process::{Command, Output};

use corewise::{Machine, Role, threads};

/// Variable that makes this program one of the cases.
const CASE: &str = "COREWISE_TEST_CASE";

/// Variable with a cpu that a case names.
const NAMED: &str = "COREWISE_TEST_NAMED";

/// Runs this program again as a case, on some cpus if given.
fn run_case(case: &str, cpus: Option<&str>, variables: &[(&str, &str)]) -> String {
    let this = std::env::current_exe().unwrap();
    let mut command = match cpus {
        Some(cpus) => {
            let mut taskset = Command::new("taskset");
            taskset.args(["-c", cpus]).arg(this);
            taskset
        }
        None => Command::new(this),
    };
    command.args(["--exact", "child", "--nocapture", "--ignored", "--test-threads=1"]).env(CASE, case);
    command.env_remove("COREWISE").env_remove("COREWISE_PLACE").envs(variables.iter().copied());
    let Output { status, stdout, stderr } = command.output().unwrap();
    let said = String::from_utf8_lossy(&stdout).into_owned();
    assert!(status.success(), "{said}{}", String::from_utf8_lossy(&stderr));
    said
}

/// The cases, as seen from inside.
#[test]
#[ignore = "the other tests run it"]
fn child() {
    let Ok(case) = std::env::var(CASE) else { return };
    let machine = Machine::this().unwrap();
    match case.as_str() {
        "refused" => {
            forbid_affinity();
            let placement = machine.place("all").unwrap();
            let error = placement.pin_this_thread(0).unwrap_err();
            println!("said: {error}");
            let report = placement.pin_all_threads().unwrap();
            println!("said: {} placed, {} failed", report.placed, report.failed);
        }
        "limits" => {
            let placement = machine.place("all").unwrap();
            println!("said: all is {}", placement.cpus());
            println!("said: {}", machine.parallelism(Role::Mixed));
            let error = machine.place("spread(64, core)").unwrap_err();
            println!("said: {error}");
            let named = machine.place(&std::env::var(NAMED).unwrap());
            println!("said: {}", named.map_or_else(|error| error.to_string(), |placement| placement.to_string()));
            let pin = std::thread::spawn(move || placement.pin_this_thread(0).unwrap()).join().unwrap();
            println!("said: the thread has {}", pin.cpus());
        }
        "wishes" => {
            let placement = machine.place("spread(64, core)");
            let outcome = placement.map(|placement| {
                placement.pin_in_turn()();
                let report = placement.report();
                format!("{placement}: {} placed, {} left alone", report.placed, report.left_alone)
            });
            println!("said: {}", outcome.unwrap_or_else(|error| error.to_string()));
        }
        "pool" => {
            let (started, has_started) = std::sync::mpsc::channel();
            let (end, ended) = std::sync::mpsc::channel::<()>();
            let wait = move || {
                started.send(()).unwrap();
                let _ = ended.recv();
            };
            let waiting = std::thread::Builder::new().name("waits".to_owned()).spawn(wait).unwrap();
            has_started.recv().unwrap();
            let report = machine.place("all").unwrap().one_cpu_each().pin_all_threads().unwrap();
            let thread = threads().unwrap().into_iter().find(|thread| thread.name == "waits").unwrap();
            println!("said: {} failed, the thread that waits has {} cpu", report.failed, thread.cpus.len());
            drop(end);
            waiting.join().unwrap();
        }
        other => panic!("{other}"),
    }
}

/// Makes the kernel refuse sched_setaffinity(2) to this process, as some containers do: seccomp(2) with a filter of four instructions.
fn forbid_affinity() {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let load_number = statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0);
    let is_call = |call: libc::c_long| libc::sock_filter {
        code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
        jt: 0,
        jf: 1,
        k: call as u32,
    };
    let refuse = statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32);
    let allow = statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW);
    let mut filter = [load_number, is_call(libc::SYS_sched_setaffinity), refuse, allow];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: both calls only concern this process; the filter outlives the call, which copies it. All threads of it are meant (TSYNC).
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let flags = libc::SECCOMP_FILTER_FLAG_TSYNC;
        let result = libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program);
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    }
}

#[test]
fn a_filter_of_system_calls_leaves_threads_where_they_are() {
    let said = run_case("refused", None, &[]);
    assert!(said.contains("said: cannot restrict the thread to cpus ") && said.contains("not permitted"), "{said}");
    assert!(said.contains("said: 0 placed, ") && !said.contains(", 0 failed"), "{said}");
}

#[test]
fn a_mask_of_one_cpu_is_respected_and_named() {
    let own = &threads().unwrap()[0].cpus;
    let [first, last] = [own.lowest(), own.highest()].map(|cpu| cpu.unwrap().to_string());
    let said = run_case("limits", Some(&first), &[(NAMED, &last)]);
    assert!(said.contains(&format!("said: all is {first}\n")), "{said}");
    assert!(said.contains("said: 1 thread: 1 cpu can be used"), "{said}");
    assert!(said.contains("said: spread(64, core): only 1 cpu can be used"), "{said}");
    assert!(said.contains(&format!("said: the thread has {first}\n")), "{said}");
    if first != last {
        assert!(said.contains(&format!("cpu {last} is not in the inherited affinity mask")), "{said}");
    }
}

#[test]
fn threads_that_run_already_are_placed() {
    let said = run_case("pool", None, &[]);
    assert!(said.contains("said: 0 failed, the thread that waits has 1 cpu"), "{said}");
}

#[test]
fn the_person_who_runs_a_program_has_the_last_word() {
    let first = threads().unwrap()[0].cpus.lowest().unwrap().to_string();
    let said = run_case("wishes", None, &[("COREWISE_PLACE", &first)]);
    assert!(said.contains(&format!("said: {first}: cpu {first}: 1 placed, 0 left alone")), "{said}");
    let said = run_case("wishes", None, &[("COREWISE_PLACE", "one-per-core"), ("COREWISE", "off")]);
    assert!(said.contains(": 0 placed, 1 left alone"), "{said}");
    let said = run_case("wishes", None, &[("COREWISE_PLACE", "lcc:0")]);
    assert!(said.contains("said: COREWISE_PLACE=lcc:0: "), "{said}");
}
