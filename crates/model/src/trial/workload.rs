//! The workload of an experiment: its command, or the processes that it places, and how it is measured.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    CommandVariant, LOAD, LONGEST_TIMEOUT_S, LiveSource, LiveWorkload, PlacementArm, REST, ServiceParts, THREADS_PLACE,
    ThreadRole, TrialMetric, VARIANT_PLACE, VARIANT_VARIABLE, WorkloadService,
};
use crate::credentials::{has_credentials, has_credentials_in_words};

/// Largest ratio of two lengths of slots that count as the same.
const ALIKE_SLOTS: f64 = 1.25;

/// A folder by its path: a text, or bytes if the path is not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FolderText {
    /// A path that is UTF-8.
    Text(String),
    /// The bytes of a path that is not UTF-8.
    Bytes(Vec<u8>),
}

impl FolderText {
    /// Creates a folder from a path's bytes.
    pub fn of_bytes(bytes: Vec<u8>) -> Self {
        String::from_utf8(bytes).map_or_else(|error| Self::Bytes(error.into_bytes()), Self::Text)
    }

    /// Returns the bytes of its path.
    pub fn path_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl From<&str> for FolderText {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A command or processes, with metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TriedWorkload {
    /// The program and its arguments; for running processes, the command line of the first.
    pub command: Vec<String>,
    /// Variants of the program; each arm runs one. Empty if there is only the command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<CommandVariant>,
    /// The folder it is run in.
    pub folder: FolderText,
    /// The metric that decides.
    pub metric: TrialMetric,
    /// Metrics that must not get worse by the margin of guards when the metric gets better.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<TrialMetric>,
    /// The file, relative to the folder, that the program writes its metric and its guards to; absent if they are in
    /// its output. It is removed before each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_file: Option<String>,
    /// The file, relative to the folder, that the command reads as its standard input; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// True if the command has a terminal of its own instead of pipes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_terminal: bool,
    /// True if processes that outlive the command are left running.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaves_processes: bool,
    /// A shell script that is run before each block, to vary irrelevant conditions. `COREWISE_VARY` has the block's
    /// random number there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vary: Option<String>,
    /// A shell script that is run before each run; its time does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<String>,
    /// Exit statuses of a run that has not failed; 0 alone if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<i32>,
    /// The name of a process that the command, a launcher, leaves running: a run ends when it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow: Option<String>,
    /// Time limit of a run, in seconds; a longer run is ended and counts as failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<f64>,
    /// Environment variables that set the number of threads, for arms with one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads_as: Vec<String>,
    /// Environment variables that name the cpus of a pinned arm, one for each thread: "0,2,4".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins_as: Vec<String>,
    /// The running processes that are placed; absent if a command is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveWorkload>,
    /// The services that are started for the command, which is their load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<ServiceParts>,
    /// Threads of services or of running processes that may have a placement of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thread_roles: Vec<ThreadRole>,
}

impl TriedWorkload {
    /// Creates a command with a folder and a metric.
    pub fn new(command: Vec<String>, folder: FolderText, metric: TrialMetric) -> Self {
        Self {
            command,
            variants: Vec::new(),
            folder,
            metric,
            guards: Vec::new(),
            metric_file: None,
            input: None,
            on_terminal: false,
            leaves_processes: false,
            vary: None,
            prepare: None,
            accepted: Vec::new(),
            follow: None,
            timeout_s: None,
            threads_as: Vec::new(),
            pins_as: Vec::new(),
            live: None,
            parts: None,
            thread_roles: Vec::new(),
        }
    }

    /// Returns true if its metric is measured like another workload's, so that both have the same noise. Guards, limits and
    /// the numbers of running processes do not matter; slots may differ by a quarter of their length.
    pub fn is_measured_like(&self, other: &Self) -> bool {
        let slot_s = |workload: &Self| workload.live.as_ref().map_or(1.0, |live| live.slot_s);
        let is_alike = (1.0 / ALIKE_SLOTS..=ALIKE_SLOTS).contains(&(slot_s(self) / slot_s(other)));
        is_alike && self.as_measured() == other.as_measured()
    }

    fn as_measured(&self) -> Self {
        let of = |live: &LiveWorkload| LiveWorkload {
            processes: Vec::new(),
            limits: Vec::new(),
            slot_s: 1.0,
            ..live.clone()
        };
        Self { guards: Vec::new(), timeout_s: None, live: self.live.as_ref().map(of), ..self.clone() }
    }

    /// Returns the names of the roles that may have a placement of their own; empty if everything is placed as one.
    pub fn role_names(&self) -> Vec<String> {
        let services = self.parts.iter().flat_map(|parts| parts.services.iter().map(|service| service.name.clone()));
        let all: Vec<String> = services.chain(self.thread_roles.iter().map(|role| role.name.clone())).collect();
        let last = if self.live.is_some() { REST } else { LOAD };
        if all.is_empty() { all } else { [all, vec![last.to_owned()]].concat() }
    }

    /// Describes the metric (0) or a guard (from 1 on) for a message: "its guard p99".
    pub fn describe_metric(&self, at: usize) -> String {
        match at.checked_sub(1).and_then(|guard| self.guards.get(guard)) {
            Some(guard) => format!("its guard {}", guard.name),
            None => format!("its metric {}", self.metric.name),
        }
    }

    /// Returns true if its processes continue from trial to trial, so that one may affect the next.
    pub fn goes_on(&self) -> bool {
        self.live.is_some() || self.parts.as_ref().is_some_and(|parts| parts.keep_started)
    }

    /// Returns true if its metric or a guard measures rare values.
    pub fn tells_of_tails(&self) -> bool {
        std::iter::once(&self.metric).chain(&self.guards).any(TrialMetric::is_tail)
    }

    /// Returns true if a run that exits with this status has not failed.
    pub fn accepts_status(&self, status: i32) -> bool {
        if self.accepted.is_empty() { status == 0 } else { self.accepted.contains(&status) }
    }

    /// Returns the time limit of a run; `None` without a limit.
    pub fn run_timeout(&self) -> Option<Duration> {
        self.timeout_s.map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, LONGEST_TIMEOUT_S)))
    }

    /// Returns true if something that is executed or read has credentials. They are not stored, so it cannot be repeated from the store.
    pub fn needs_credentials(&self) -> bool {
        let scripts = self.service_scripts();
        match self.live.as_ref().map(|live| &live.source) {
            Some(LiveSource::Command(source) | LiveSource::Page(source)) => has_credentials(source),
            Some(LiveSource::Kernel) => false,
            None => {
                let variants = self.variants.iter().map(|variant| &variant.text);
                has_credentials_in_words(&self.command)
                    || self
                        .vary
                        .iter()
                        .chain(&self.prepare)
                        .chain(variants)
                        .chain(scripts)
                        .any(|text| has_credentials(text))
            }
        }
    }

    /// Returns the variant of the program that an arm runs; `None` if there is only the command.
    pub fn variant_of(&self, arm: &PlacementArm) -> Option<&CommandVariant> {
        let name = arm.variant.as_ref()?;
        self.variants.iter().find(|variant| variant.name == *name)
    }

    /// Returns true if variants stand in the command or in a script of a service; otherwise they are variables of the environment.
    pub fn has_variant_place(&self) -> bool {
        self.command.iter().chain(self.service_scripts()).any(|text| text.contains(VARIANT_PLACE))
    }

    /// Returns the scripts that start services, and that ask if they are ready.
    pub fn service_scripts(&self) -> impl Iterator<Item = &String> {
        let services = self.parts.iter().flat_map(|parts| &parts.services);
        services.flat_map(|service| std::iter::once(&service.start).chain(&service.ready))
    }

    /// Returns the services of an arm, with its variant and its number of threads in their scripts; empty without services.
    pub fn services_of(&self, arm: &PlacementArm) -> Vec<WorkloadService> {
        let services = self.parts.iter().flat_map(|parts| parts.services.iter().cloned());
        let variant = self.variant_of(arm);
        let fill_script = |script: &str| {
            let script = variant.map_or_else(|| script.to_owned(), |variant| variant.fill_text(script));
            fill_threads(script, arm)
        };
        let fill = |service: WorkloadService| WorkloadService {
            start: fill_script(&service.start),
            ready: service.ready.as_deref().map(fill_script),
            ..service
        };
        services.map(fill).collect()
    }

    /// Returns the command of an arm, with its variant and its number of threads in place of the placeholders.
    pub fn command_of(&self, arm: &PlacementArm) -> Vec<String> {
        let command = self.variant_of(arm).map(|variant| variant.fill_command(&self.command));
        let command = command.unwrap_or_else(|| self.command.clone());
        command.into_iter().map(|word| fill_threads(word, arm)).collect()
    }

    /// Returns an arm's changes to the environment: names with their values, or `None` to remove the variable. An arm
    /// left to the operating system must not be pinned by the user's own environment.
    pub fn environment_of(&self, arm: &PlacementArm) -> Vec<(String, Option<String>)> {
        let threads = arm.threads.map(|threads| threads.to_string());
        // Of an arm with roles, the pinned parts share one placement, and the others may use all cpus.
        let pinned = arm.roles.first().map(|place| &place.cpus).or(arm.cpus.as_ref());
        let cpus = pinned.map(|cpus| cpus.iter().map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(","));
        let told = threads
            .iter()
            .flat_map(|threads| self.threads_as.iter().map(move |name| (name.clone(), Some(threads.clone()))));
        let variant = self.variant_of(arm);
        let name = variant.map(|variant| (VARIANT_VARIABLE.to_owned(), variant.name.clone()));
        let sets = variant.filter(|_| !self.has_variant_place()).and_then(CommandVariant::list_assignments);
        let of_variant = name.into_iter().chain(sets.unwrap_or_default()).map(|(name, value)| (name, Some(value)));
        told.chain(self.pins_as.iter().map(|name| (name.clone(), cpus.clone()))).chain(of_variant).collect()
    }
}
/// Returns a text with the arm's number of threads in place of the placeholder.
fn fill_threads(text: String, arm: &PlacementArm) -> String {
    arm.threads.map(|threads| text.replace(THREADS_PLACE, &threads.to_string())).unwrap_or(text)
}
