//! Runs a command in a control group of its own and puts everything back: cgroup_once JOURNALS CPUS NODES|- COMMAND…
//!
//! If a signal ends it, its changes remain, as after a crash; `corewise undo --journal JOURNALS` undoes them.

use std::error::Error;
use std::process::{Command, ExitCode};

use corewise_machine::CpuSet;
use corewise_sys::SysError;
use corewise_sys::cgroup::ControlGroup;
use corewise_sys::change::ChangeJournal;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [journals, cpus, nodes, program, arguments @ ..] = words.as_slice() else {
        eprintln!("usage: cgroup_once JOURNALS CPUS NODES|- COMMAND…");
        return ExitCode::from(2);
    };
    let nodes = Some(nodes).filter(|nodes| *nodes != "-").map(|nodes| CpuSet::parse_list(nodes)).transpose();
    let run = || -> Result<bool, Box<dyn Error>> {
        let mut journal = ChangeJournal::in_folder(journals);
        let cgroup = ControlGroup::make_group(&mut journal, &CpuSet::parse_list(cpus)?, nodes?.as_ref())?;
        let mut command = Command::new(program);
        command.args(arguments);
        cgroup.hold_command(&mut command)?;
        let status = command.status();
        for undone in cgroup.remove_group(&mut journal) {
            eprintln!("{}: {:?}", undone.change, undone.outcome);
        }
        Ok(status?.success())
    };
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            if let Some(SysError::Cgroup(refusal)) = error.downcast_ref() {
                eprintln!("  {}", refusal.suggest_cure());
            }
            ExitCode::from(3)
        }
    }
}
