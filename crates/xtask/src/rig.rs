//! `cargo xtask rig`: machines of other topologies in an emulator, for tests and by hand.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use corewise_rig::{Description, MACHINES, Rig, Use, machine};
use xtask::{cargo, done, root};

/// Prints the machines' names and purposes.
pub fn list() {
    for machine in &MACHINES {
        let part = if machine.each_change { "change" } else { "full" };
        let line = format!("{:26} {:>3} cpus  {part:6}  {}", machine.name, machine.places().len(), machine.about);
        // A closed pipe (`| head -3`) is no failure.
        let _ = writeln!(std::io::stdout(), "{line}");
    }
}

/// Runs every scenario on all machines.
pub fn test(arguments: &[&str]) -> Result<bool> {
    let mut command = cargo();
    command.args(["test", "--package", "corewise", "--test", "rig", "--"]).args(arguments).env(Use::VARIABLE, "full");
    Ok(command.status().context("cargo cannot be started")?.success())
}

/// Boots a machine with a shell on the terminal, or runs a command there; returns false if the command fails.
pub fn boot(name: &str, command: &[&str]) -> Result<bool> {
    let machine = known(name)?;
    let rig = rig()?;
    if command.is_empty() {
        return Ok(rig.shell(machine)?.success());
    }
    // One argument is a script; of several, each is a word.
    let script = match command {
        [script] => (*script).to_owned(),
        words => words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect::<Vec<_>>().join(" "),
    };
    let outcome = rig.boot(machine)?.run(&script)?;
    print!("{}", outcome.text());
    eprint!("{}", outcome.stderr);
    Ok(outcome.code == 0)
}

/// Boots machines, one after another, and keeps a recording of each for tests that boot none; all machines if none is named.
pub fn record(names: &[&str]) -> Result<()> {
    let named: Vec<&Description> = names.iter().map(|name| known(name)).collect::<Result<_>>()?;
    let machines = if names.is_empty() { MACHINES.iter().collect() } else { named };
    let rig = rig()?;
    for machine in machines {
        let outcome = rig.boot(machine)?.run("corewise record --packing xz -o -")?;
        if outcome.code != 0 {
            bail!("{}: exit status {}\n{}", machine.name, outcome.code, outcome.stderr);
        }
        let path = root().join("crates/rig/recordings").join(format!("{}.tar.xz", machine.name));
        std::fs::write(&path, &outcome.stdout).with_context(|| path.display().to_string())?;
        println!("{} ({} bytes)", path.display(), outcome.stdout.len());
    }
    Ok(())
}

/// Runs an operator's steps with the unit of `corewise keep unit --system`, under Debian's own systemd in the emulator; returns false if a
/// check fails.
pub fn unit() -> Result<bool> {
    let kernel = Rig::fetch()?;
    let mut command = Command::new("sh");
    command.args(["-s", "--"]).arg(corewise()?).arg(kernel).stdin(Stdio::piped());
    let mut child = command.spawn().context("sh cannot be started")?;
    child.stdin.take().context("sh has no input")?.write_all(include_bytes!("unit.sh"))?;
    Ok(child.wait()?.success())
}

fn known(name: &str) -> Result<&'static Description> {
    match machine(name) {
        Some(machine) => Ok(machine),
        None => bail!("there is no machine {name}; `cargo xtask rig --list` names them"),
    }
}

/// Returns the rig with the freshly built program.
fn rig() -> Result<Rig> {
    Ok(Rig::new(&[(&corewise()?, "corewise")])?)
}

/// Builds the program and returns its path, which is beside this program.
fn corewise() -> Result<PathBuf> {
    done(cargo().args(["build", "--quiet", "--package", "corewise"]))?;
    let here = std::env::current_exe().context("this program's path is unknown")?;
    Ok(here.with_file_name("corewise"))
}
