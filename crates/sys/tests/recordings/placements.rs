//! The placement language on recorded machines: set laws, and expressions that print as what they are.

use std::path::Path;

use corewise_machine::generate::random_expression;
use corewise_machine::placement::{ResolveContext, parse};
use corewise_machine::random::RandomGenerator;
use corewise_machine::{CpuSet, Machine};
use corewise_testing::count_cases;
use libtest_mimic::Failed;

use crate::data;

/// Expressions for each machine; large machines take longer for each.
const EXPRESSIONS: usize = 100;

/// Random expressions obey the laws of sets, and print as what they are.
pub fn check(folder: &Path, name: &str) -> Result<(), Failed> {
    let mut machine = data::machine(folder, name)?;
    // Who may use what is another test's; here everybody may use everything that is online.
    (machine.allowed, machine.isolated) = (machine.online.clone(), CpuSet::new());
    check_machine(&machine, EXPRESSIONS.min(40_000 / machine.online.len()))
}

/// The same on the machines that are built in.
pub fn check_built_in() -> Result<(), Failed> {
    for built_in in corewise_machine::machine_file::BUILT_IN {
        let mut machine = built_in.read_machine()?.machine;
        (machine.allowed, machine.isolated) = (machine.online.clone(), CpuSet::new());
        check_machine(&machine, EXPRESSIONS)?;
    }
    Ok(())
}

fn check_machine(machine: &Machine, expressions: usize) -> Result<(), Failed> {
    let mut random = RandomGenerator::new(20);
    for _ in 0..count_cases(expressions) {
        let [a, b] = [2, 2].map(|depth| random_expression(&mut random, machine, depth));
        laws(machine, &a, &b)?;
    }
    Ok(())
}

/// The cpus of an expression; none where nothing is left of it.
pub fn cpus(machine: &Machine, text: &str) -> Result<CpuSet, Failed> {
    let parsed = parse(text)?;
    if parse(&parsed.to_string())?.to_string() != parsed.to_string() {
        return Err(format!("{text} prints as {parsed}").into());
    }
    match parsed.resolve_on(&ResolveContext { machine, reachable: &machine.online, quiet: None, worth: None }) {
        Ok(resolution) => Ok(resolution.cpus),
        Err(error) if error.what.contains("no cpu") => Ok(CpuSet::new()),
        Err(error) => Err(format!("{text}: {error}").into()),
    }
}

fn laws(machine: &Machine, a: &str, b: &str) -> Result<(), Failed> {
    let (set_a, set_b) = (cpus(machine, a)?, cpus(machine, b)?);
    for (text, expected) in [
        (format!("({a}) + ({b})"), set_a.union(&set_b)),
        (format!("({a}) & ({b})"), set_a.intersection(&set_b)),
        (format!("({a}) - ({b})"), set_a.difference(&set_b)),
        (format!("!({a})"), machine.online.difference(&set_a)),
    ] {
        let found = cpus(machine, &text)?;
        if found != expected {
            return Err(format!("{text} is {found}, not {expected}").into());
        }
    }
    Ok(())
}
