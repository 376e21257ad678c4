//! `cargo xtask rig`: machines of other topologies in an emulator, for tests and by hand.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use corewise_rig::{MACHINES, Rig, RigMachine, RigUse, find_machine};
use xtask::{cargo_command, repository_root, run_command};

/// Prints the machines' names and purposes.
pub fn list_machines() {
    for machine in &MACHINES {
        let part = if machine.each_change { "change" } else { "full" };
        let line = format!("{:26} {:>3} cpus  {part:6}  {}", machine.name, machine.cpu_places().len(), machine.about);
        // A closed pipe (`| head -3`) is no failure.
        let _ = writeln!(std::io::stdout(), "{line}");
    }
}

/// Runs every scenario on all machines.
pub fn test_machines(arguments: &[&str]) -> Result<bool> {
    let mut command = cargo_command();
    command
        .args(["test", "--package", "corewise-cli", "--test", "rig", "--"])
        .args(arguments)
        .env(RigUse::VARIABLE, "full");
    Ok(command.status().context("cargo cannot be started")?.success())
}

/// Boots a machine with a shell on the terminal, or runs a command there; returns false if the command fails.
pub fn boot_machine(name: &str, command: &[&str]) -> Result<bool> {
    let machine = known_machine(name)?;
    let rig = build_rig()?;
    if command.is_empty() {
        return Ok(rig.boot_shell(machine)?.success());
    }
    // One argument is a script; of several, each is a word.
    let script = match command {
        [script] => (*script).to_owned(),
        words => words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect::<Vec<_>>().join(" "),
    };
    let outcome = rig.boot_machine(machine)?.run(&script)?;
    print!("{}", outcome.stdout_text());
    eprint!("{}", outcome.stderr);
    Ok(outcome.code == 0)
}

/// Boots machines, one after another, and keeps a recording of each for tests that boot none; all machines if none is named.
pub fn record_machines(names: &[&str]) -> Result<()> {
    let named: Vec<&RigMachine> = names.iter().map(|name| known_machine(name)).collect::<Result<_>>()?;
    let machines = if names.is_empty() { MACHINES.iter().collect() } else { named };
    let rig = build_rig()?;
    for machine in machines {
        let outcome = rig.boot_machine(machine)?.run("corewise record --packing xz -o -")?;
        if outcome.code != 0 {
            bail!("{}: exit status {}\n{}", machine.name, outcome.code, outcome.stderr);
        }
        let path = repository_root().join("crates/rig/recordings").join(format!("{}.tar.xz", machine.name));
        std::fs::write(&path, &outcome.stdout).with_context(|| path.display().to_string())?;
        println!("{} ({} bytes)", path.display(), outcome.stdout.len());
    }
    Ok(())
}

/// Runs an operator's steps with the unit of `corewise keep unit --system`, and those of the Debian package, under Debian's own systemd in the emulator; returns false if a
/// check fails.
pub fn test_unit() -> Result<bool> {
    let kernel = Rig::fetch_kernel()?;
    let mut command = Command::new("sh");
    command.args(["-s", "--"]).arg(build_corewise()?).arg(kernel);
    command.arg(repository_root().join("crates/xtask/src/dist/debian")).stdin(Stdio::piped());
    let mut child = command.spawn().context("sh cannot be started")?;
    child.stdin.take().context("sh has no input")?.write_all(include_bytes!("unit.sh"))?;
    Ok(child.wait()?.success())
}

fn known_machine(name: &str) -> Result<&'static RigMachine> {
    match find_machine(name) {
        Some(machine) => Ok(machine),
        None => bail!("there is no machine {name}; `cargo xtask rig --list` names them"),
    }
}

/// Returns the rig with the freshly built program.
fn build_rig() -> Result<Rig> {
    Ok(Rig::new(&[(&build_corewise()?, "corewise")])?)
}

/// Builds the program and returns its path, which is beside this program.
fn build_corewise() -> Result<PathBuf> {
    run_command(cargo_command().args(["build", "--quiet", "--package", "corewise-cli"]))?;
    let here = std::env::current_exe().context("this program's path is unknown")?;
    Ok(here.with_file_name("corewise"))
}
