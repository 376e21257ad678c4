//! `corewise keep run`: the loop in the foreground, as a service manager wants it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use corewise_keep::{Host, Order, Scope, Status, metrics};
use corewise_machine::Machine;
use corewise_machine::suggested_command;
use corewise_machine::worth::Speed;
use corewise_model::keep::ResolvedRule;
use corewise_model::worth::speeds;
use corewise_sys::change::Journal;
use corewise_sys::lock::{self, Taken};
use corewise_sys::process::{self, Process};
use corewise_sys::thread::monotonic_ns;
use corewise_sys::{files, output, service, signals};
use tracing::warn;

use super::arguments::RunArguments;
use crate::draw::number::count;
use crate::draw::suggestion;
use crate::shell::failure::{Exit, Failure};
use crate::shell::history::latest_survey;
use crate::shell::keeper::{State, take_wishes};
use crate::shell::log;
use crate::shell::machine::this_machine;
use crate::shell::rules::{Rules, Stamp};
use crate::shell::settings::Settings;

const LOCK: &str = "keep.lock";
/// The files of rules are looked at so often.
const PAUSE: Duration = Duration::from_secs(1);

/// Keeps the rules in force until a signal ends it.
pub fn run(typed: &RunArguments, rules: &Rules, settings: &Settings) -> Result<Exit, Failure> {
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
                "{} shows what it holds; {} lets it read the rules again.",
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
        rules,
        settings,
        folder,
        metrics: typed.metrics.clone(),
        state,
        is_ready: false,
        trouble: None,
        stamps: Vec::new(),
        looked: Instant::now(),
    };
    let scope = if rules.of_system { Scope::System } else { Scope::User(process::effective_user()) };
    let shown = if rules.of_system { Some(Settings::system_runtime()) } else { settings.runtime.as_deref() };
    let map = shown.map(|folder| (folder, typed.worth_every));
    let ended = corewise_keep::run(scope, Journal::in_folder(folder), left_alone, map, &mut host);
    host.state.end(folder, ended.clone().unwrap_or_default());
    ended.map(|_| Exit::Done).map_err(Failure::unavailable)
}

struct Service<'a> {
    signals: signals::Held,
    notify: Option<OsString>,
    rules: &'a Rules,
    settings: &'a Settings,
    folder: &'a Path,
    metrics: Option<PathBuf>,
    state: State<'static>,
    is_ready: bool,
    /// Why the last report could not be written, which is said once.
    trouble: Option<String>,
    /// The files of rules as they were read, and when it was looked last whether they are so still.
    stamps: Vec<Stamp>,
    looked: Instant,
}

impl Service<'_> {
    fn tell(&self, state: &str) {
        if let Some(socket) = self.notify.as_ref().filter(|socket| !socket.is_empty()) {
            let _ = service::notify(socket, state);
        }
    }

    fn reload(&mut self) -> Order {
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={}", monotonic_ns() / 1_000));
        self.is_ready = false;
        Order::Reload(take_wishes(self.folder))
    }

    /// Whether files of rules were written since they were read; looked at once a [`PAUSE`].
    fn have_rules_changed(&mut self) -> bool {
        if self.looked.elapsed() < PAUSE {
            return false;
        }
        self.looked = Instant::now();
        self.rules.stamps() != self.stamps
    }

    fn write(&self, status: &Status<'_>) -> Result<(), String> {
        let state = State { status: status.clone(), ..self.state.clone() };
        let state = state.write(self.folder).map_err(|error| format!("the state is not written: {error}"));
        let Some(file) = &self.metrics else { return state };
        let metrics = output::replace(file, metrics(status).as_bytes());
        state.and(metrics.map_err(|error| format!("{} is not written: {error}", file.display())))
    }
}

impl Host for Service<'_> {
    fn order(&mut self) -> Order {
        match self.signals.next(Duration::ZERO).map(|signal| signal.number) {
            Some(signals::RELOAD) => self.reload(),
            Some(signals::TERMINATE | signals::INTERRUPT) => {
                self.tell("STOPPING=1");
                Order::Stop
            }
            _ if self.have_rules_changed() => self.reload(),
            _ => Order::Continue,
        }
    }

    fn rules(&mut self) -> Result<Vec<ResolvedRule>, String> {
        self.stamps = self.rules.stamps();
        self.rules.resolved(self.settings).map_err(|failure| failure.what)
    }

    fn speeds(&mut self) -> Result<(Machine, Vec<Speed>), String> {
        let machine = this_machine().map_err(|failure| failure.what)?;
        let speeds = speeds(&machine, latest_survey(&machine, self.settings, |_| true).as_ref());
        Ok((machine, speeds))
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
