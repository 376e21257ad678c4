//! The loop that keeps rules in force. It watches processes, asks [`corewise_model::run_loop::RuleKeeper`] what to do, does that through the
//! journal, and gives everything back when it stops. It reads the rules from files that no other user can have written, and reads them
//! again after they changed.
//!
//! Small enough to be trusted as root: it runs no command and reads no file that a rule names. It writes only its journal and the map of
//! what cpus are worth.
//!
//! Parsing and resolution of rules are pure, so rules can be checked on a described machine:
//!
//! ```
//! use corewise_machine::{machine_file, placement::ResolveContext};
//! use corewise_model::keep::{parse_rules, resolve_rules};
//!
//! let machine = machine_file::parse("name = 'Four cores'\ncpus = '0-7'\ncores = '0,4 x4'")?.machine;
//! let text = "[[rule]]\nname = 'game'\nmatch = { exe = '*/game' }\non = 'all - core:0'\n\
//!             threads = [{ name = 'audio*', on = '3' }]";
//! let context = ResolveContext { machine: &machine, reachable: &machine.online, quiet: None, worth: None };
//! let resolved = &resolve_rules(&parse_rules(text)?, &context)[0];
//! assert!(resolved.is_in_force() && resolved.problem.is_none());
//! assert_eq!([resolved.cpus_of("main"), resolved.cpus_of("audio-1")].map(ToString::to_string), ["1-3,5-7", "3"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod crowding;
mod host;
mod look;
mod mask_journal;
mod mask_setters;
mod process_watcher;
mod rule_files;
mod status;
mod sweep;
mod worth;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};

use corewise_machine::Machine;
use corewise_machine::suggested_command;
use corewise_machine::worth::CpuSpeed;
use corewise_model::keep::{KeptProcess, MatchFit, ObservedProcess, RetryTime, RuleKeeper};
use corewise_sys::affinity_events::AffinityEvents;
use corewise_sys::process::ProcessIdentity;
use corewise_sys::thread::process_cpu_time;
use corewise_sys::{Root, SysError, cpuset, scheduling, topology};
use tracing::{info, warn};

use crowding::CrowdingLog;
pub use host::{KeepHost, KeepOptions, KeepOrder, ReleaseRequest};
use mask_journal::MaskJournal;
use mask_setters::MaskSetters;
use process_watcher::ProcessWatcher;
pub use process_watcher::{ProcessScope, list_processes, matching_processes, read_process_by_id};
use rule_files::RuleReader;
pub use rule_files::{RuleFiles, RuleFilesError};
pub use status::{KeepStatus, write_metrics};
use sweep::SweepSchedule;
use worth::WorthMap;

/// Longest delay before an order is seen.
pub const TICK: Duration = Duration::from_millis(500);
/// Ticks between reports of changes.
const TICKS_TO_REPORT: u64 = 2;
/// Ticks between looks at the masks of held threads; each look costs one system call per thread.
const TICKS_TO_MASKS: u64 = 4;
/// Ticks between looks at the masks if the kernel reports the authors. Control groups and threads that end still need a look.
const TICKS_TO_MASKS_WITH_EVENTS: u64 = 20;
/// Ticks between looks at all held processes as a whole: their control groups may have changed without their masks.
const TICKS_TO_WHOLE: u64 = 240;
/// Shortest time between two log lines about lost events, so that a storm does not fill the log.
const LOSS_LOG_PAUSE: Duration = Duration::from_secs(60);
/// Maximum passes over a process that keeps starting threads. Each pass leaves fewer unplaced threads that can start others.
const MOST_LOOKS: usize = 10;

/// Keeps rules in force until the host stops it; returns the processes that are released then. If the worth map cannot be created, logs why
/// and goes on without it.
///
/// # Errors
/// If the rules cannot be read at the beginning, or processes cannot be watched.
pub fn run(options: KeepOptions<'_>, host: &mut dyn KeepHost) -> Result<BTreeMap<u32, KeptProcess>, String> {
    let KeepOptions { rules, journal, left_alone, worth_map } = options;
    // Otherwise new programs would run unplaced while this one waits for a cpu.
    scheduling::run_soon();
    let eyes = ProcessWatcher::open(rules.process_scope());
    let mut rules = RuleReader::new(rules);
    let resolved = rules.read_resolved(host.machine_knowledge()).map_err(|error| error.to_string())?;
    let source = AffinityEvents::open().map_err(|gap| gap.why);
    let (authors, author_gap) = match source.as_ref().map_err(Clone::clone).and_then(MaskSetters::watch_requests) {
        Ok(authors) => (Some(authors), None),
        Err(why) => (None, Some(why)),
    };
    let worth = worth_map.and_then(|(folder, every)| {
        let created = read_speeds(host).and_then(|(machine, speeds)| {
            WorthMap::create_map(folder, every, &machine, speeds).map_err(|error| error.to_string())
        });
        created.inspect_err(|why| warn!("no map of worth in {}: {why}", folder.display())).ok()
    });
    let mut daemon = KeepLoop {
        keeper: RuleKeeper::new(resolved),
        rules,
        eyes,
        authors,
        worth,
        hands: MaskJournal::new(journal),
        began: Instant::now(),
        sweeps: SweepSchedule::default(),
        room_at_sweep: 0,
        crowding: CrowdingLog::default(),
        loss_logged: None,
        unread: BTreeMap::new(),
        has_lost: false,
        is_behind: false,
        status: KeepStatus::default(),
    };
    daemon.status.sight = daemon.eyes.describe_sight();
    info!(
        "started: {}; processes are seen {}; {}",
        format_count(daemon.keeper.rules().len(), "rule"),
        daemon.status.sight,
        author_gap
            .as_ref()
            .map_or_else(|| "who sets masks is known".to_owned(), |why| format!("who sets masks is not known: {why}"))
    );
    daemon.status.author_gap = author_gap;
    daemon.take_over(left_alone).map_err(|error| error.to_string())?;
    let ended = daemon.run_loop(host).map_err(|error| format!("cannot wait for processes: {error}"));
    let left_alone = daemon.keeper.processes().iter().filter(|(_, held)| held.is_left_alone());
    let left_alone = left_alone.map(|(process, held)| (*process, held.clone())).collect();
    let actions = daemon.keeper.give_back_all();
    let given_back = daemon.hands.give_back_all(&actions);
    daemon.report_status(host);
    info!("stopped: {} given back", format_count(given_back, "thread"));
    ended.map(|()| left_alone)
}

/// Reads the machine as it is now, and the speeds of its cpus.
fn read_speeds(host: &dyn KeepHost) -> Result<(Machine, Vec<CpuSpeed>), String> {
    let machine = topology::read_machine(&Root::this_machine()).map_err(|error| error.to_string())?;
    let speeds = host.cpu_speeds(&machine);
    Ok((machine, speeds))
}

/// Formats a count with its noun: "1 rule", "2 rules".
fn format_count(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

struct KeepLoop<'a> {
    keeper: RuleKeeper,
    rules: RuleReader,
    eyes: ProcessWatcher,
    authors: Option<MaskSetters<'a>>,
    worth: Option<WorthMap>,
    hands: MaskJournal,
    began: Instant,
    sweeps: SweepSchedule,
    /// Room that was taken after the last sweep.
    room_at_sweep: usize,
    crowding: CrowdingLog,
    /// Time of the last log line about lost events.
    loss_logged: Option<Instant>,
    /// The processes that the system could not read, and when each is looked at again.
    unread: BTreeMap<u32, RetryTime>,
    /// True if events were lost since the last sweep was requested.
    has_lost: bool,
    /// True if the last report of the status is out of date.
    is_behind: bool,
    status: KeepStatus<'static>,
}

impl KeepLoop<'_> {
    fn run_loop(&mut self, host: &mut dyn KeepHost) -> io::Result<()> {
        let mut online = cpuset::online_cpus();
        let mut last_tick = Instant::now();
        self.look_at_all()?;
        self.give_back_others();
        let mut ticks = 0;
        self.is_behind = !self.report_status(host);
        loop {
            let rest = self.sweeps.shorten_rest(TICK.saturating_sub(last_tick.elapsed()), self.began.elapsed());
            self.look_at_new(self.worth.as_ref().map_or(rest, |map| rest.min(map.time_to_update())))?;
            self.note_losses();
            if let Some(Err(error)) = self.worth.as_mut().map(WorthMap::update_in_time) {
                warn!("no map of worth any more: {error}");
                self.worth = None;
            }
            let mut to_look = self.set_by_others();
            let mut are_rules_new = false;
            match host.next_order() {
                KeepOrder::Stop => return Ok(()),
                KeepOrder::Continue if !self.rules.is_due() => {}
                KeepOrder::Continue | KeepOrder::Reload => {
                    host.begin_reload().into_iter().for_each(|(process, request)| self.grant_request(process, request));
                    self.reload_rules(host);
                    are_rules_new = true;
                }
            }
            if last_tick.elapsed() >= TICK {
                (last_tick, ticks) = (Instant::now(), ticks + 1);
                let now = cpuset::online_cpus();
                if now != online {
                    warn!("cpus {now} are online now, {online} were before");
                    online = now;
                    self.reload_rules(host);
                    are_rules_new = true;
                    if let Some(Err(why)) = self.authors.as_mut().map(MaskSetters::renew_cpus) {
                        warn!("who sets masks is not known any more: {why}");
                        (self.authors, self.status.author_gap) = (None, Some(why));
                    }
                }
                if let Some(authors) = &mut self.authors {
                    authors.forget_old();
                }
                let now = self.began.elapsed();
                to_look.extend(self.keeper.processes_to_retry(now));
                to_look.extend(self.unread.iter().filter(|(_, retry)| retry.is_due(now)).map(|(process, _)| *process));
                let ticks_to_masks = if self.authors.is_some() { TICKS_TO_MASKS_WITH_EVENTS } else { TICKS_TO_MASKS };
                if ticks % TICKS_TO_WHOLE == 0 {
                    to_look.extend(self.held_processes());
                    self.clean_up();
                } else if ticks % ticks_to_masks == 0 {
                    to_look.extend(self.drifted_processes());
                }
                self.let_in_waiting(ticks % TICKS_TO_WHOLE == 0);
                if ticks % TICKS_TO_REPORT == 0 && self.is_behind {
                    self.is_behind = !self.report_status(host);
                }
            }
            if are_rules_new || self.sweeps.is_due(self.began.elapsed()) {
                self.look_at_all()?;
                self.is_behind = !are_rules_new || !self.report_status(host);
            } else {
                self.look_at_known(to_look)?;
            }
        }
    }

    /// Waits for events, at most for `patience`, and looks at the processes that they name.
    fn look_at_new(&mut self, patience: Duration) -> io::Result<()> {
        let wake = self.eyes.wait_for_events(patience)?;
        self.has_lost |= wake.lost;
        for process in wake.processes {
            self.is_behind |= self.look_at(process);
        }
        Ok(())
    }

    /// Looks at processes, and before each of them at the new ones: they would otherwise run unplaced as long as all this takes.
    fn look_at_known(&mut self, processes: BTreeSet<u32>) -> io::Result<()> {
        for process in processes {
            self.look_at_new(Duration::ZERO)?;
            self.is_behind |= self.look_at(process);
        }
        Ok(())
    }

    /// Forgets what is known of processes that no rule matches.
    fn clean_up(&mut self) {
        let Self { keeper, eyes, .. } = self;
        eyes.retain_processes(|id| keeper.processes().contains_key(&id) || keeper.waiting().contains_key(&id));
    }

    /// Requests a sweep if events were lost.
    fn note_losses(&mut self) {
        if !std::mem::take(&mut self.has_lost) {
            return;
        }
        self.sweeps.request_sweep();
        self.status.lost += 1;
        if self.loss_logged.is_none_or(|at| at.elapsed() >= LOSS_LOG_PAUSE) {
            self.loss_logged = Some(Instant::now());
            warn!("events were lost: all processes are looked at again; at most one loss a minute is logged");
        }
    }

    /// Requests a sweep if processes wait and room became free, or if `is_due`; logs when a rule's processes begin or cease to wait.
    fn let_in_waiting(&mut self, is_due: bool) {
        for news in self.crowding.take_news(self.keeper.waiting(), self.began.elapsed()) {
            warn!("{news}");
        }
        let is_roomier = self.keeper.room_taken() < self.room_at_sweep;
        if !self.keeper.waiting().is_empty() && (is_roomier || is_due) {
            self.sweeps.request_sweep();
        }
    }

    fn take_over(&mut self, left_alone: BTreeMap<u32, KeptProcess>) -> Result<(), SysError> {
        let placed = self.hands.take_over()?;
        if !placed.is_empty() {
            let masks = format_count(placed.len(), "mask");
            let run = suggested_command::keep_run().quoted_line();
            warn!("an earlier {run} was killed: {masks} of it taken over");
        }
        self.keeper.take_over(placed, left_alone);
        Ok(())
    }

    /// Restores threads that were taken over and that no rule holds.
    fn give_back_others(&mut self) {
        let threads =
            |held: &KeptProcess| held.threads.iter().map(|(id, known)| (*id, known.start_ticks)).collect::<Vec<_>>();
        let held: BTreeSet<(u32, u64)> = self.keeper.processes().values().flat_map(threads).collect();
        self.hands.give_back_others(&held);
        self.keeper.forget_taken_over();
    }

    fn grant_request(&mut self, process: ProcessIdentity, request: ReleaseRequest) {
        let ProcessIdentity { id: process, start_ticks } = process;
        match request {
            _ if !self.keeper.knows_process(process, start_ticks) => {
                info!(process, "a request about process {process} comes too late: it is not held");
            }
            ReleaseRequest::Release => {
                let actions = self.keeper.release_process(process, self.began.elapsed());
                self.hands.restore_masks(&actions);
                info!(process, "process {process} is released on request");
            }
            ReleaseRequest::Hold => {
                self.keeper.hold_again(process);
                info!(process, "process {process} is held again on request");
            }
        }
    }

    /// Returns the held processes of which another program was to set a mask since the last call.
    fn set_by_others(&mut self) -> BTreeSet<u32> {
        let Some(authors) = &mut self.authors else { return BTreeSet::new() };
        let threads = authors.take_set_masks(|thread| self.keeper.holds_thread(thread));
        let held = self.keeper.processes().iter().filter(|_| !threads.is_empty());
        let is_set = |(_, held): &(&u32, &KeptProcess)| held.threads.keys().any(|thread| threads.contains(thread));
        held.filter(is_set).map(|(process, _)| *process).collect()
    }

    /// Reads the rules again, and the machine for the worth map. A broken file changes nothing.
    fn reload_rules(&mut self, host: &mut dyn KeepHost) {
        if let Some(map) = &mut self.worth {
            match read_speeds(host) {
                Ok((machine, speeds)) => map.renew_machine(&machine, speeds),
                Err(why) => warn!("the map of worth goes on as before: {why}"),
            }
        }
        match self.rules.read_resolved(host.machine_knowledge()) {
            Ok(rules) => {
                info!("{} read", format_count(rules.len(), "rule"));
                self.status.broken = None;
                self.keeper.set_rules(rules);
            }
            Err(error) => {
                warn!("the rules are not read, the old ones stay: {error}");
                self.status.broken = Some(error.to_string());
            }
        }
    }

    fn look_at_all(&mut self) -> io::Result<()> {
        let computed = || process_cpu_time().unwrap_or_default();
        let start = computed();
        self.status.unreadable.clear();
        let mut gone: BTreeSet<u32> = self.held_processes();
        gone.extend(self.keeper.waiting().keys());
        let all = self.eyes.all_processes();
        gone.difference(&all).for_each(|process| self.forget_process(*process));
        self.look_at_known(all)?;
        self.room_at_sweep = self.keeper.room_taken();
        self.sweeps.finish_sweep(computed().saturating_sub(start), self.began.elapsed());
        // A sweep finds only what was there when it began.
        self.note_losses();
        Ok(())
    }

    fn held_processes(&self) -> BTreeSet<u32> {
        self.keeper.processes().keys().copied().collect()
    }

    fn forget_process(&mut self, process: u32) {
        if let Some(held) = self.keeper.processes().get(&process) {
            self.hands.forget_threads(held.threads.iter().map(|(thread, known)| (*thread, known.start_ticks)));
        }
        self.keeper.forget_process(process);
    }

    /// Returns the held processes with other threads or masks than at the last look.
    fn drifted_processes(&self) -> BTreeSet<u32> {
        let held = self.keeper.processes().iter().filter(|(_, held)| !held.is_left_alone());
        held.filter(|(process, held)| process_watcher::has_drifted(**process, held))
            .map(|(process, _)| *process)
            .collect()
    }

    /// Counts a process with an unreadable executable, for each rule that matches by executable.
    fn note_unreadable(&mut self, process: &ObservedProcess) {
        for rule in self.keeper.rules() {
            if process.exe.is_none()
                && rule.is_in_force()
                && rule.rule.matches.fit_process(process) == MatchFit::Unreadable
            {
                *self.status.unreadable.entry(rule.rule.name.clone()).or_default() += 1;
            }
        }
    }

    fn report_status(&mut self, host: &mut dyn KeepHost) -> bool {
        self.status.running = self.began.elapsed();
        host.report_status(&KeepStatus {
            processes: Cow::Borrowed(self.keeper.processes()),
            waiting: Cow::Borrowed(self.keeper.waiting()),
            rules: Cow::Borrowed(self.keeper.rules()),
            ..self.status.clone()
        })
    }
}
