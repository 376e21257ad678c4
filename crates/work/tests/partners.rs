//! Pairs of which the second is a process: this program, begun again with a word.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use corewise_work::pingpong::{PingpongOptions, WakeupMeans, partner, run};
use corewise_work::{WorkError, WorkloadHost, WorkloadReport, WorkloadSettings, WorkloadSize};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("over-pipes") => answered(WakeupMeans::Pipe),
        Some("over-a-socket") => answered(WakeupMeans::Socket),
        // Prints, and is gone.
        Some("nothing") => {
            println!("hello");
            ExitCode::SUCCESS
        }
        _ => {
            let trials = vec![
                Trial::test("a_partner_may_be_a_process", may_be_a_process),
                Trial::test("a_partner_that_dies_or_cannot_be_is_told", dies_or_cannot_be),
            ];
            libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
        }
    }
}

fn answered(by: WakeupMeans) -> ExitCode {
    if partner::answer_starter(by).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn ran(threads: usize, by: WakeupMeans, word: Option<&str>) -> Result<WorkloadReport, WorkError> {
    let settings = WorkloadSettings { size: WorkloadSize::Share(0.002), ..WorkloadSettings::new(threads) };
    let options = PingpongOptions { by, partner: word.map(|word| vec![OsString::from(word)]) };
    run(&settings, &options, &mut WorkloadHost { stop: &AtomicBool::new(false), progress: &mut |_| () })
}

fn check(is_so: bool, words: impl Into<String>) -> Result<(), Failed> {
    if is_so { Ok(()) } else { Err(words.into().into()) }
}

fn may_be_a_process() -> Result<(), Failed> {
    for (by, word) in [(WakeupMeans::Pipe, "over-pipes"), (WakeupMeans::Socket, "over-a-socket")] {
        let [process, thread] = [ran(3, by, Some(word))?, ran(3, by, None)?];
        check(process.checksum.is_some() && process.checksum == thread.checksum, format!("{by:?}: {process:?}"))?;
    }
    Ok(())
}

fn dies_or_cannot_be() -> Result<(), Failed> {
    for by in [WakeupMeans::Pipe, WakeupMeans::Socket] {
        let told = ran(2, by, Some("nothing")).map_or_else(|error| error.to_string(), |report| format!("{report:?}"));
        check(told == "a partner: it ended after 0 round trips", told)?;
    }
    check(
        matches!(ran(2, WakeupMeans::Futex, Some("nothing")), Err(WorkError::Input { .. })),
        "a futex is only for threads",
    )
}
