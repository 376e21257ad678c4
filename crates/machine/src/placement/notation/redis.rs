//! Cpu lists in redis.conf, and in the configuration of its relatives.

use super::choices::{NamedReading, agree};
use super::keyed::{ValueExtent, find_values};
use super::list::{self, ListSyntax};
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading};

/// Settings: key, alias since Redis 7, and the threads that it binds.
const SETTINGS: [(&str, &str, &str); 4] = [
    ("server_cpulist", "server-cpulist", "the server and its threads for input and output"),
    ("bio_cpulist", "bio-cpulist", "threads for background work"),
    ("aof_rewrite_cpulist", "aof-rewrite-cpulist", "the process that rewrites the log"),
    ("bgsave_cpulist", "bgsave-cpulist", "the process that saves"),
];

/// Keys by which a text is recognized.
pub(super) fn keys() -> impl Iterator<Item = &'static str> {
    SETTINGS.into_iter().flat_map(|(key, alias, _)| [key, alias])
}

/// Prints the setting for the server.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let line = NotationLine::new("server", format!("server_cpulist {}", chosen.cpus));
    vec![line.with_remark("For redis.conf; bio_cpulist, bgsave_cpulist and aof_rewrite_cpulist bind its helpers.")]
}

/// Reads settings, or a list.
pub(super) fn read_text(text: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    let rules = ListSyntax { stride: true, ..ListSyntax::default() };
    let mut parts = Vec::new();
    for (key, alias, bound) in SETTINGS {
        for found in [key, alias].iter().flat_map(|key| find_values(text, key, ValueExtent::Word)) {
            let read = NotationReading::from_set(list::read_list(found.value, rules)?.into_iter().collect());
            parts.push(NamedReading::new(key, read.with_remark(format!("{key} is for {bound}."))));
        }
    }
    if parts.is_empty() {
        return Ok(NotationReading::from_set(list::read_list(text.without_quotes(), rules)?.into_iter().collect()));
    }
    agree(text, parts, || text.fault_here("no setting here names cpus"))
}
