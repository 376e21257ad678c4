//! `corewise keep run`: runs the loop in the foreground, for a service manager.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use corewise_keep::{KeepHost, KeepOptions, KeepOrder, KeepStatus, ReleaseRequest, RuleFiles, write_metrics};
use corewise_machine::Machine;
use corewise_machine::placement::MachineKnowledge;
use corewise_machine::suggested_command;
use corewise_machine::worth::CpuSpeed;
use corewise_model::keep::KeptProcess;
use corewise_model::worth::cpu_speeds;
use corewise_sys::change::ChangeJournal;
use corewise_sys::lock::{self, LockAttempt};
use corewise_sys::process::{self, ProcessIdentity};
use corewise_sys::thread::monotonic_ns;
use corewise_sys::{files, output, service, signals};
use tracing::warn;

use super::arguments::KeepRunArguments;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::keeper::{KeeperState, rules_path, take_requests};
use crate::app::log;
use crate::app::settings::ProgramSettings;
use crate::app::user_store::latest_own;
use crate::draw::number::format_count;
use crate::draw::suggestion;

const LOCK: &str = "keep.lock";

/// Keeps the rules in force until a signal ends it.
pub fn run(
    typed: &KeepRunArguments,
    rules: RuleFiles,
    settings: &ProgramSettings,
) -> Result<CommandExit, CommandFailure> {
    let folder = settings.journal_folder()?;
    let unusable = |error: &dyn std::fmt::Display| {
        CommandFailure::unavailable_error(format!("cannot use {}: {error}", folder.display()))
    };
    if !folder.exists() {
        files::make_private_folder(folder).map_err(|error| unusable(&error))?;
    }
    let _lock = match lock::take_lock(folder, LOCK) {
        Ok(LockAttempt::Ours(lock)) => Some(lock),
        Ok(LockAttempt::Held(_)) => {
            return Err(CommandFailure::unavailable_error(format!(
                "another {} runs with these journals",
                suggestion::format_mention(&suggested_command::keep_run())
            ))
            .with_hint(format!(
                "{} shows its processes; {} makes it read the rules again.",
                suggestion::format_mention(&suggested_command::keep()),
                suggestion::format_mention(&suggested_command::keep_reload())
            )));
        }
        Err(error) => return Err(unusable(&error)),
    };
    let boot = process::boot_id().map_err(CommandFailure::unavailable_error)?;
    // Those to an earlier one came too late.
    drop(take_requests(folder, &boot));
    log::begin_log();
    let left_alone = KeeperState::read_left_alone(folder, &boot);
    let this = ProcessIdentity::this_process().map_err(CommandFailure::unavailable_error)?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let state = KeeperState {
        process: this.id,
        start_ticks: this.start_ticks,
        started_unix_ms: i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        boot,
        of_system: rules.of_system,
        rules: rules_path(&rules),
        status: KeepStatus::default(),
    };
    let mut host = KeepService {
        signals: signals::HeldSignals::new().map_err(CommandFailure::unavailable_error)?,
        notify: std::env::var_os("NOTIFY_SOCKET"),
        settings,
        folder,
        metrics: typed.metrics.clone(),
        state,
        is_ready: false,
        trouble: None,
    };
    let shown = if rules.of_system { Some(ProgramSettings::system_runtime()) } else { settings.runtime.as_deref() };
    let worth_map = shown.map(|folder| (folder, typed.worth_every));
    let options = KeepOptions { rules, journal: ChangeJournal::in_folder(folder), left_alone, worth_map };
    let ended = corewise_keep::run(options, &mut host);
    host.state.write_end(folder, ended.clone().unwrap_or_default());
    ended.map(|_| CommandExit::Done).map_err(CommandFailure::unavailable_error)
}

struct KeepService<'a> {
    signals: signals::HeldSignals,
    notify: Option<OsString>,
    settings: &'a ProgramSettings,
    folder: &'a Path,
    metrics: Option<PathBuf>,
    state: KeeperState<'static>,
    is_ready: bool,
    /// Why the last report could not be written; printed once.
    trouble: Option<String>,
}

impl KeepService<'_> {
    fn notify_manager(&self, state: &str) {
        if let Some(socket) = self.notify.as_ref().filter(|socket| !socket.is_empty()) {
            let _ = service::notify_service(socket, state);
        }
    }

    fn write_status(&self, status: &KeepStatus<'_>) -> Result<(), String> {
        let state = KeeperState { status: status.clone(), ..self.state.clone() };
        let state = state.write_state(self.folder).map_err(|error| format!("the state is not written: {error}"));
        let Some(file) = &self.metrics else { return state };
        let metrics = output::replace_file(file, write_metrics(status).as_bytes());
        state.and(metrics.map_err(|error| format!("{} is not written: {error}", file.display())))
    }
}

impl KeepHost for KeepService<'_> {
    fn next_order(&mut self) -> KeepOrder {
        match self.signals.next(Duration::ZERO).map(|signal| signal.number) {
            Some(signals::RELOAD) => KeepOrder::Reload,
            Some(signals::TERMINATE | signals::INTERRUPT) => {
                self.notify_manager("STOPPING=1");
                KeepOrder::Stop
            }
            _ => KeepOrder::Continue,
        }
    }

    fn begin_reload(&mut self) -> Vec<(ProcessIdentity, ReleaseRequest)> {
        self.notify_manager(&format!("RELOADING=1\nMONOTONIC_USEC={}", monotonic_ns() / 1_000));
        self.is_ready = false;
        take_requests(self.folder, &self.state.boot)
    }

    fn machine_knowledge(&self) -> &dyn MachineKnowledge {
        self.settings
    }

    fn cpu_speeds(&self, machine: &Machine) -> Vec<CpuSpeed> {
        cpu_speeds(machine, latest_own(machine, self.settings, |_| true).map(|(_, survey)| survey).as_ref())
    }

    fn report_status(&mut self, status: &KeepStatus<'_>) -> bool {
        let trouble = self.write_status(status).err();
        if let Some(new) = trouble.as_ref().filter(|_| trouble != self.trouble) {
            warn!("{new}");
        }
        self.trouble = trouble;
        let held = status.processes.values().filter(|held| !held.is_left_alone());
        let threads: usize = held.map(KeptProcess::held_threads).sum();
        let ready = if std::mem::replace(&mut self.is_ready, true) { "" } else { "READY=1\n" };
        self.notify_manager(&format!(
            "{ready}STATUS={} held by {}",
            format_count(threads, "thread"),
            format_count(status.rules.len(), "rule")
        ));
        self.trouble.is_none()
    }
}
