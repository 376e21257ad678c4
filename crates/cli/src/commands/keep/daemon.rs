//! `corewise keep run`: runs the loop in the foreground, for a service manager.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use corewise_keep::{KeepHost, KeepOptions, KeepOrder, ReleaseRequest, RuleFiles, Status, metrics};
use corewise_machine::Machine;
use corewise_machine::placement::MachineKnowledge;
use corewise_machine::suggested_command;
use corewise_machine::worth::Speed;
use corewise_model::worth::speeds;
use corewise_sys::change::Journal;
use corewise_sys::lock::{self, Taken};
use corewise_sys::process::{self, Process};
use corewise_sys::thread::monotonic_ns;
use corewise_sys::{files, output, service, signals};
use tracing::warn;

use super::arguments::RunArguments;
use crate::app::failure::{Exit, Failure};
use crate::app::history::latest_survey;
use crate::app::keeper::{State, take_requests};
use crate::app::log;
use crate::app::settings::Settings;
use crate::draw::number::count;
use crate::draw::suggestion;

const LOCK: &str = "keep.lock";

/// Keeps the rules in force until a signal ends it.
pub fn run(typed: &RunArguments, rules: RuleFiles, settings: &Settings) -> Result<Exit, Failure> {
    let folder = settings.journal_folder()?;
    let unusable =
        |error: &dyn std::fmt::Display| Failure::unavailable(format!("cannot use {}: {error}", folder.display()));
    if !folder.exists() {
        files::make_private_folder(folder).map_err(|error| unusable(&error))?;
    }
    let _lock = match lock::take(folder, LOCK) {
        Ok(Taken::Ours(lock)) => Some(lock),
        Ok(Taken::Held(_)) => {
            return Err(Failure::unavailable(format!(
                "another {} runs with these journals",
                suggestion::mention(&suggested_command::keep_run())
            ))
            .next(format!(
                "{} shows its processes; {} makes it read the rules again.",
                suggestion::mention(&suggested_command::keep()),
                suggestion::mention(&suggested_command::keep_reload())
            )));
        }
        Err(error) => return Err(unusable(&error)),
    };
    log::begin();
    let boot = process::boot_id().map_err(Failure::unavailable)?;
    let left_alone = State::left_alone(folder, &boot);
    let this = Process::this().map_err(Failure::unavailable)?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let state = State {
        process: this.id,
        start_ticks: this.start_ticks,
        started_unix_ms: i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        boot,
        of_system: rules.of_system,
        status: Status::default(),
    };
    let mut host = Service {
        signals: signals::Held::new().map_err(Failure::unavailable)?,
        notify: std::env::var_os("NOTIFY_SOCKET"),
        settings,
        folder,
        metrics: typed.metrics.clone(),
        state,
        is_ready: false,
        trouble: None,
    };
    let shown = if rules.of_system { Some(Settings::system_runtime()) } else { settings.runtime.as_deref() };
    let worth_map = shown.map(|folder| (folder, typed.worth_every));
    let options = KeepOptions { rules, journal: Journal::in_folder(folder), left_alone, worth_map };
    let ended = corewise_keep::run(options, &mut host);
    host.state.end(folder, ended.clone().unwrap_or_default());
    ended.map(|_| Exit::Done).map_err(Failure::unavailable)
}

struct Service<'a> {
    signals: signals::Held,
    notify: Option<OsString>,
    settings: &'a Settings,
    folder: &'a Path,
    metrics: Option<PathBuf>,
    state: State<'static>,
    is_ready: bool,
    /// Why the last report could not be written; printed once.
    trouble: Option<String>,
}

impl Service<'_> {
    fn tell(&self, state: &str) {
        if let Some(socket) = self.notify.as_ref().filter(|socket| !socket.is_empty()) {
            let _ = service::notify(socket, state);
        }
    }

    fn write(&self, status: &Status<'_>) -> Result<(), String> {
        let state = State { status: status.clone(), ..self.state.clone() };
        let state = state.write(self.folder).map_err(|error| format!("the state is not written: {error}"));
        let Some(file) = &self.metrics else { return state };
        let metrics = output::replace(file, metrics(status).as_bytes());
        state.and(metrics.map_err(|error| format!("{} is not written: {error}", file.display())))
    }
}

impl KeepHost for Service<'_> {
    fn next_order(&mut self) -> KeepOrder {
        match self.signals.next(Duration::ZERO).map(|signal| signal.number) {
            Some(signals::RELOAD) => KeepOrder::Reload,
            Some(signals::TERMINATE | signals::INTERRUPT) => {
                self.tell("STOPPING=1");
                KeepOrder::Stop
            }
            _ => KeepOrder::Continue,
        }
    }

    fn begin_reload(&mut self) -> Vec<(u32, ReleaseRequest)> {
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={}", monotonic_ns() / 1_000));
        self.is_ready = false;
        take_requests(self.folder)
    }

    fn knowledge(&self) -> &dyn MachineKnowledge {
        self.settings
    }

    fn speeds(&self, machine: &Machine) -> Vec<Speed> {
        speeds(machine, latest_survey(machine, self.settings, |_| true).as_ref())
    }

    fn report(&mut self, status: &Status<'_>) -> bool {
        let trouble = self.write(status).err();
        if let Some(new) = trouble.as_ref().filter(|_| trouble != self.trouble) {
            warn!("{new}");
        }
        self.trouble = trouble;
        let held = status.processes.values().filter(|held| !held.is_left_alone());
        let threads: usize = held.map(|held| held.threads.len()).sum();
        let ready = if std::mem::replace(&mut self.is_ready, true) { "" } else { "READY=1\n" };
        self.tell(&format!("{ready}STATUS={} held by {}", count(threads, "thread"), count(status.rules.len(), "rule")));
        self.trouble.is_none()
    }
}
