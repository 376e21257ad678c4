//! What the command finds: its mask from the beginning on, its input and output, its signals; and nothing of corewise.

use std::io::Write as _;
use std::process::{Command, Stdio};

use corewise_machine::CpuSet;
use corewise_sys::affinity;
use libtest_mimic::{Completion, Trial};

use crate::stage::*;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("the_mask_is_in_force_when_the_command_begins", mask_is_in_force),
        trial("the_first_thread_of_a_program_finds_the_mask", first_thread),
        trial("grandchildren_inherit_the_mask", grandchildren),
        trial("numbers_reach_outside_the_inherited_mask_and_words_do_not", inherited_mask),
        trial("signals_group_and_session_are_those_that_corewise_found", signals),
        trial("an_ignored_sigpipe_stays_ignored_and_others_end_the_command", broken_pipes),
        trial("closed_standard_files_stay_closed", closed_files),
        trial("open_files_are_those_that_corewise_found", open_files),
        trial("input_and_output_pass_through", input_and_output),
        trial("words_of_the_command_are_not_touched", words),
    ]
}

fn allowed_list(text: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    // The kernel writes two neighbours as a range.
    CpuSet::parse_list(line.unwrap_or_default()).map_or("none".to_owned(), |cpus| cpus.to_string())
}

fn mask_is_in_force() -> RunTestResult {
    let all = affinity::current_affinity()?;
    let highest = all.highest().unwrap_or_default();
    let mask = format!("0x{}", CpuSet::from_cpu(highest).to_hexadecimal());
    for way in WAYS {
        for (on, expected) in [
            (one_cpu().to_owned(), one_cpu().to_owned()),
            (all.to_string(), all.to_string()),
            (mask.clone(), list([highest])),
        ] {
            let words = [way, &["--on", &on, "cat", "/proc/self/status"]].concat();
            same(allowed_list(&said(&mut run(&words))?), expected, &on)?;
        }
    }
    Ok(Completion::Completed)
}

fn first_thread() -> RunTestResult {
    let (actor, cpu) = (actor(), one_cpu());
    for way in WAYS {
        let words = with_actor(&[way, &["--on", cpu]].concat(), &actor, "mask");
        same(said(&mut run(&words))?, format!("main {cpu}\n"), "mask")?;
    }
    Ok(Completion::Completed)
}

fn grandchildren() -> RunTestResult {
    let cpu = one_cpu();
    for way in WAYS {
        let shell = "sh -c 'sh -c \"cat /proc/self/status\"'; true";
        let words = [way, &["--on", cpu, "sh", "-c", shell]].concat();
        same(allowed_list(&said(&mut run(&words))?), cpu.to_owned(), "of a grandchild")?;
    }
    Ok(Completion::Completed)
}

fn inherited_mask() -> RunTestResult {
    let (first, second) = match two_cpus() {
        Ok(cpus) => cpus,
        Err(skipped) => return Ok(skipped),
    };
    let before = affinity::current_affinity()?;
    let print = ["cat", "/proc/self/status"];
    // Children inherit the mask of the thread that starts them.
    affinity::set_current(&CpuSet::from_cpu(first))?;
    let outside = said(run(&["--on", &second.to_string()]).args(print));
    let words = said(run(&["--on", "all"]).args(print));
    let left_out = done(run(&["--on", "all", "-v"]).args(print));
    affinity::set_current(&before)?;
    same(allowed_list(&outside?), second.to_string(), "a cpu by number")?;
    same(allowed_list(&words?), first.to_string(), "all")?;
    let note = format!("{} (not in the inherited affinity mask)", list(before.iter().filter(|cpu| *cpu != first)));
    let told = text(&left_out.stderr);
    same(told.contains(&note), true, &told).map(|()| Completion::Completed)
}

/// A standard file that is closed stays closed, where Rust has /dev/null in its place.
fn closed_files() -> RunTestResult {
    for way in ["", "-v"] {
        let corewise = format!("{} run {way} --on {}", env!("CARGO_BIN_EXE_corewise"), one_cpu());
        let look = "for file in 0 1 2; do test -e /proc/self/fd/$file && printf $file; done > /dev/fd/9; exit 0";
        let script = format!("exec 9>&1; {corewise} sh -c '{look}' <&- 2>&-");
        same(said(Command::new("sh").args(["-c", &script]))?, "1".to_owned(), way)?;
    }
    Ok(Completion::Completed)
}

/// What a process has of signals, groups and privileges.
const LOOK: &str = "grep -E 'Sig[PBIC]|Shd|CapEff|Groups|NoNewPrivs|Seccomp:' /proc/self/status; \
    cut -d' ' -f5-8 /proc/self/stat; ulimit -a; umask; pwd";

fn signals() -> RunTestResult {
    let group = |command: &mut Command| said(command.args(["sh", "-c", LOOK])).map(|text| without_internal(&text));
    let bare = group(&mut Command::new("env"))?;
    for way in WAYS {
        same(group(&mut run(&[way, &["--on", one_cpu()]].concat()))?, bare.clone(), "signals and groups")?;
    }
    Ok(Completion::Completed)
}

/// Without signals 32 and 33, which the C library keeps for itself in every program with threads.
fn without_internal(text: &str) -> String {
    let line = |line: &str| match line.split_once("SigIgn:\t").map(|(_, bits)| u64::from_str_radix(bits, 16)) {
        Some(Ok(bits)) => format!("SigIgn:\t{:016x}\n", bits & !(0b11 << 31)),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

fn broken_pipes() -> RunTestResult {
    let program = env!("CARGO_BIN_EXE_corewise");
    let cpu = one_cpu();
    for way in ["", "-v"] {
        let script = format!("trap '' PIPE; exec {program} run {way} --on {cpu} grep SigIgn /proc/self/status");
        let ignored = said(Command::new("sh").args(["-c", &script]))?;
        let bits = u64::from_str_radix(ignored.trim_start_matches("SigIgn:").trim(), 16)?;
        same(bits & 1 << 12 != 0, true, "SIGPIPE was ignored and is no longer")?;
        // A command that writes for ever ends with its reader.
        let script = format!("{program} run {way} --on {cpu} yes 2>/dev/null | head -1");
        same(said(Command::new("sh").args(["-c", &script]))?, "y\n".to_owned(), "yes")?;
    }
    Ok(Completion::Completed)
}

fn open_files() -> RunTestResult {
    let files = |command: &mut Command| said(command.args(["ls", "/proc/self/fd"]));
    let bare = files(&mut Command::new("env"))?;
    for way in WAYS {
        same(files(&mut run(&[way, &["--on", one_cpu()]].concat()))?, bare.clone(), "open files")?;
    }
    Ok(Completion::Completed)
}

fn input_and_output() -> RunTestResult {
    let cpu = one_cpu();
    for way in WAYS {
        let words = [way, &["--on", cpu, "--", "sh", "-c", "cat; echo to stderr >&2"]].concat();
        let mut command = run(&words);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        // More than a pipe holds, so that both ends are at work.
        let sent = "0123456789abcdef".repeat(20_000);
        let mut input = child.stdin.take().ok_or("standard input is a pipe")?;
        let bytes = sent.clone();
        let writer = std::thread::spawn(move || input.write_all(bytes.as_bytes()));
        let output = child.wait_with_output()?;
        writer.join().map_err(|_| "the writer ended early")??;
        same(text(&output.stdout) == sent, true, "what went through cat")?;
        same(text(&output.stderr).contains("to stderr\n"), true, "standard error")?;
    }
    Ok(Completion::Completed)
}

fn words() -> RunTestResult {
    for way in WAYS {
        let words = [way, &["--on", one_cpu(), "printf", "%s|", "-v", "--", "$HOME", "a b", "*", "--json"]].concat();
        same(said(&mut run(&words))?, "-v|--|$HOME|a b|*|--json|".to_owned(), "arguments")?;
    }
    Ok(Completion::Completed)
}
