//! How it ends: exit codes, signals that are passed on, and what is refused before anything starts.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use corewise_sys::affinity;
use libtest_mimic::{Completion, Trial};

use crate::stage::*;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("the_exit_status_is_the_commands", exit_status),
        trial("a_signal_that_ends_the_command_ends_corewise_too", killed),
        trial("what_cannot_be_run_is_told_as_env_tells_it", not_run),
        trial("what_cannot_be_had_is_told_before_anything_starts", refused),
        trial("signals_are_passed_on", passed_on),
        trial("a_signal_of_the_command_to_its_group_comes_once", own_signals),
        trial("a_stopped_and_continued_command_is_waited_for", stopped),
        trial("a_command_lives_on_where_corewise_is_killed", corewise_killed),
    ]
}

fn exit_status() -> RunTestResult {
    for way in WAYS {
        for status in [0, 1, 7, 126, 255] {
            let shell = format!("exit {status}");
            let words = [way, &["--on", one_cpu(), "sh", "-c", &shell]].concat();
            same(done(&mut run(&words)).status.code(), Some(status), "exit status")?;
        }
    }
    Ok(Completion::Completed)
}

fn killed() -> RunTestResult {
    for way in WAYS {
        for (name, number) in [("TERM", 15), ("KILL", 9), ("INT", 2), ("SEGV", 11), ("USR1", 10)] {
            let shell = format!("kill -{name} $$");
            let words = [way, &["--on", one_cpu(), "sh", "-c", &shell]].concat();
            let status = done(&mut run(&words)).status;
            same((status.signal(), status.core_dumped()), (Some(number), false), name)?;
        }
    }
    // In a shell that is 128 and the signal's number.
    let script = format!("{} run -v --on {} sh -c 'kill -TERM $$'; echo $?", env!("CARGO_BIN_EXE_corewise"), one_cpu());
    same(said(Command::new("sh").args(["-c", &script]))?, "143\n".to_owned(), "$?").map(|()| Completion::Completed)
}

fn not_run() -> RunTestResult {
    for way in WAYS {
        for (program, status, words) in [
            ("corewise-no-such-command", 127, "It is not in PATH"),
            ("./no-such-command", 127, "There is no such file."),
            ("/", 126, "It exists, but cannot be executed"),
            ("/proc/self/status", 126, "It exists, but cannot be executed"),
        ] {
            // A folder of PATH that may not be read is another error than none that has it.
            let output = done(run(&[way, &["--on", one_cpu(), program]].concat()).env("PATH", "/usr/bin:/bin"));
            let told = text(&output.stderr);
            same(output.status.code(), Some(status), &told)?;
            same(told.starts_with(&format!("error: cannot run {program}: ")), true, &told)?;
            same(told.contains(words), true, &told)?;
        }
    }
    Ok(Completion::Completed)
}

fn refused() -> RunTestResult {
    let cpu = one_cpu();
    let beyond = (affinity::current_affinity()?.highest().unwrap_or_default() + 5_000).to_string();
    let role = format!("io=x:{beyond}");
    for (options, status, words) in [
        (&["--on", &beyond][..], 3, "this machine has cpu"),
        (&["--on", "llc:99"], 3, "llc:99: this machine has"),
        (&["--on", "lcc:0"], 2, "    lcc:0\n"),
        (&["--on", ""], 2, "the expression is empty"),
        (&["--on", "all - all"], 3, "no cpu is left: all removes everything before it"),
        (&["--on", cpu, "--memory", "bind:900"], 3, "node:900: this machine has node:"),
        (&["--on", cpu, "--memory", "near:0"], 2, "expected local, bind:NODES"),
        (&["--on", cpu, "--roles", "io=x"], 2, "expected a colon and cpus"),
        (&["--on", cpu, "--roles", &role], 3, "this machine has cpu"),
    ] {
        for way in WAYS {
            let words_of_command = [way, options, &["--", "echo", "started"]].concat();
            let output = done(&mut run(&words_of_command));
            let told = text(&output.stderr);
            same((output.status.code(), text(&output.stdout)), (Some(status), String::new()), &told)?;
            same(told.contains(words), true, &format!("{options:?}: {told}"))?;
        }
    }
    Ok(Completion::Completed)
}

fn passed_on() -> RunTestResult {
    let ignored = ignored_signals();
    // A shell cannot trap what was ignored when it began, as SIGHUP under nohup(1) and SIGINT and SIGQUIT in the background of a script.
    let signals =
        [(15, "TERM"), (2, "INT"), (1, "HUP"), (10, "USR1"), (12, "USR2"), (3, "QUIT"), (28, "WINCH"), (14, "ALRM")];
    for (_, name) in signals.into_iter().filter(|(number, _)| ignored & 1 << (number - 1) == 0) {
        let shell = format!("trap 'echo got; exit 9' {name}; echo ready; while :; do sleep 0.01; done");
        let mut running = RunningCommand::start(&mut run(&["--on", one_cpu(), "-v", "sh", "-c", &shell]));
        same(running.line(), "ready".to_owned(), "the command")?;
        running.signal(name);
        same(running.line(), "got".to_owned(), name)?;
        same(running.status().code(), Some(9), name)?;
    }
    Ok(Completion::Completed)
}

/// Returns the mask of the signals that this process ignores: proc(5), "SigIgn".
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

/// A command that signals its own group has the signal once: corewise, which is of the group, does not pass it on.
fn own_signals() -> RunTestResult {
    let shell = "trap 'echo got' USR1; kill -USR1 0; sleep 0.1; sleep 0.1; echo end";
    let words = ["setsid", "--wait", env!("CARGO_BIN_EXE_corewise"), "run", "-v", "--on", one_cpu(), "sh", "-c", shell];
    if !is_installed("setsid") {
        return Ok(Completion::ignored_with("setsid is not installed"));
    }
    let said = text(&done(Command::new(words[0]).args(&words[1..])).stdout);
    same(said, "got\nend\n".to_owned(), "signals of the command itself").map(|()| Completion::Completed)
}

fn stopped() -> RunTestResult {
    let shell = "echo $$; read line; echo went on; exit 4";
    let mut running = RunningCommand::start(&mut run(&["--on", one_cpu(), "-v", "sh", "-c", shell]));
    let command: u32 = running.line().parse()?;
    signal(command, "STOP");
    wait_for_state(command, 'T')?;
    signal(command, "CONT");
    running.end_input();
    same(running.line(), "went on".to_owned(), "the command")?;
    same(running.status().code(), Some(4), "exit status").map(|()| Completion::Completed)
}

fn wait_for_state(process: u32, expected: char) -> std::result::Result<(), libtest_mimic::Failed> {
    for _ in 0..2_000 {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
        if stat.rsplit(')').next().is_some_and(|fields| fields.trim().starts_with(expected)) {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    Err(format!("process {process} does not become {expected}").into())
}

fn corewise_killed() -> RunTestResult {
    let words = ["--on", one_cpu(), "--enforce", "boundary", "sh", "-c", "echo $$; exec sleep 60"];
    let mut running = RunningCommand::start(&mut run(&words));
    let command: u32 = running.line().parse()?;
    running.signal("KILL");
    same(running.status().signal(), Some(9), "corewise")?;
    let mask = affinity::affinity_of(command);
    signal(command, "KILL");
    same(mask?.to_string().as_str(), one_cpu(), "the command is where it was").map(|()| Completion::Completed)
}
