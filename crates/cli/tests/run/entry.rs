//! Both ways into the program: `run --on X -- COMMAND` is decided by its first instructions if it can be, `run --on=X -- COMMAND` never is.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output};

use libtest_mimic::{Completion, Trial};

use crate::stage::*;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("both_ways_into_the_program_give_the_same_answer", same_answers),
        trial("both_ways_find_the_same_command", same_commands),
        trial("a_list_goes_the_short_way", short_way),
    ]
}

/// A command that prints its mask, its arguments and a variable.
const SHOW: [&str; 5] =
    ["sh", "-c", "grep Cpus_allowed_list /proc/self/status; echo $0 $# \"$2\" $KEPT; exit 7", "zero", "one"];

fn same_answers() -> RunTestResult {
    let cpu = one_cpu();
    let number: u32 = cpu.parse()?;
    let mask = format!("0x{:x}", 1_u128 << number);
    let upper = format!("0x{:X}", 1_u128 << number);
    let wide = format!("0x{}{:x}", "0".repeat(300), 1_u128 << number);
    let grouped = format!("0x0,{:08x}", 1_u128 << number);
    let (range, double, zeros) = (format!("{cpu}-{cpu}"), format!("{cpu},{cpu}"), format!("00{cpu}"));
    let (strided, spaced, sum) = (format!("{cpu}-{cpu}:2"), format!(" {cpu}"), format!("{cpu} + {cpu}"));
    let places = [
        cpu,
        &range,
        &double,
        &zeros,
        &mask,
        &upper,
        &wide,
        &grouped,
        &strided,
        &spaced,
        &sum,
        "all",
        "0-1",
        "1-0",
        "1023",
        "1024",
        "0-1023",
        "99999999999999999999",
        "0x",
        "0x0",
        "0xg",
        "0x1x",
        "x",
        "",
        ",",
        "0,",
        "0,,1",
        "0-",
        "0--1",
        "0-1-2",
        "0;1",
        "0,5000",
        "0xffffffffffffffffffffffffffffffff",
    ];
    for place in places {
        same_both_ways(place, &SHOW, |_| ())?;
    }
    Ok(Completion::Completed)
}

fn same_commands() -> RunTestResult {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str, mode: u32| {
        fs::create_dir_all(at(name).parent().expect("a file lies in a folder"))?;
        fs::write(at(name), text)?;
        fs::set_permissions(at(name), fs::Permissions::from_mode(mode))
    };
    write("first/tool", "#!/bin/sh\necho first $0 $*\n", 0o755)?;
    write("second/tool", "#!/bin/sh\necho second $0 $*\n", 0o755)?;
    write("plain/tool", "not executable", 0o644)?;
    write("bare/tool", "echo without a first line\n", 0o755)?;
    write("lost/tool", "#!/no/such/interpreter\n", 0o755)?;
    write("here", "#!/bin/sh\necho here\n", 0o755)?;
    fs::create_dir_all(at("folder/tool"))?;
    let full = at("second/tool").display().to_string();
    let long = "x".repeat(5000);
    let commands: [&[&str]; 11] = [
        &["tool", "one", "", "two words"],
        &["./first/tool", "a"],
        &["first/tool"],
        &[&full],
        &["here"],
        &["no-such-tool"],
        &["./no-such-tool"],
        &["folder"],
        &[""],
        &[&long],
        &["--", "tool"],
    ];
    let paths = [
        "first:second",
        "second:first",
        "none:first",
        "plain:first",
        "plain",
        "folder:second",
        "bare",
        "lost:second",
        "here:first",
        ":first",
        "first:",
        ":",
        "",
        "first/tool:second",
        &long,
        "\u{e9}:second",
    ];
    for command in commands {
        for path in paths.map(Some).into_iter().chain([None]) {
            let prepare = |started: &mut Command| {
                started.current_dir(folder.path());
                match path {
                    Some(path) => started.env("PATH", path),
                    None => started.env_remove("PATH"),
                };
            };
            same_both_ways(one_cpu(), command, prepare)?;
        }
    }
    Ok(Completion::Completed)
}

/// Runs a command both ways, and compares exit status, signal, output and messages.
fn same_both_ways(
    place: &str,
    command: &[&str],
    prepare: impl Fn(&mut Command),
) -> std::result::Result<(), libtest_mimic::Failed> {
    let assigned = format!("--on={place}");
    let [short, long] = [vec!["--on", place, "--"], vec![assigned.as_str(), "--"]].map(|words| {
        let mut started = run(&[&words, command].concat());
        prepare(started.env("KEPT", "kept"));
        let Output { status, stdout, stderr } = done(&mut started);
        (status.code(), status.signal(), text(&stdout), text(&stderr))
    });
    same(short, long, &format!("run --on {place} -- {command:?}"))
}

/// A program that was started has touched more pages than its first instructions; the command's count includes them.
fn short_way() -> RunTestResult {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return Ok(Completion::ignored_with("the short way is for x86-64 and 64-bit Arm"));
    }
    let faults = |words: &[&str]| -> std::result::Result<u64, libtest_mimic::Failed> {
        let stat = said(&mut run(&[words, &["--", "cat", "/proc/self/stat"]].concat()))?;
        // The tenth field, and the eighth after the name.
        Ok(stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(7)).unwrap_or_default().parse()?)
    };
    let (short, long) = (faults(&["--on", one_cpu()])?, faults(&[&format!("--on={}", one_cpu())])?);
    if short < long { Ok(Completion::Completed) } else { Err(format!("{short} page faults, and {long}").into()) }
}
