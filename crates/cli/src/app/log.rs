//! Log of services: to the journal if the service manager has one, otherwise to standard error.

use std::fmt;

use corewise_sys::service;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;

use super::output::format_message;
use crate::draw::number::format_exact_time;

/// Sends events of `tracing` there until this process ends. In the journal, fields are `COREWISE_RULE`,
/// `COREWISE_PROCESS` and `COREWISE_NAME`, and levels are priorities. On standard error, events are lines with the
/// time.
pub fn begin_log() {
    let registry = tracing_subscriber::registry();
    let journal = if service::logs_to_journal() { tracing_journald::layer().ok() } else { None };
    let begun = match journal {
        Some(journal) => {
            tracing::subscriber::set_global_default(registry.with(journal.with_field_prefix(Some("COREWISE".into()))))
        }
        None => {
            let layer = tracing_subscriber::fmt::layer().event_format(LogLineFormat).with_writer(std::io::stderr);
            tracing::subscriber::set_global_default(registry.with(layer))
        }
    };
    // A process has one log; an error means that it has begun already.
    let _ = begun;
}

/// Formats an event as a line: time, "warning" if it is one, and the message with printable names of processes.
struct LogLineFormat;

impl<S, N> FormatEvent<S, N> for LogLineFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut message = MessageVisitor::default();
        event.record(&mut message);
        writeln!(
            writer,
            "{}",
            format_line(Timestamp::now(), &TimeZone::system(), *event.metadata().level(), &message.0)
        )
    }
}

fn format_line(at: Timestamp, zone: &TimeZone, level: Level, message: &str) -> String {
    let warning = if level <= Level::WARN { "warning: " } else { "" };
    format!("{} {warning}{}", format_exact_time(at.as_millisecond(), zone), format_message(&message.replace('\n', " ")))
}

#[derive(Default)]
struct MessageVisitor(String);

impl Visit for MessageVisitor {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_time_and_no_process_can_forge_another() {
        let at = Timestamp::from_second(1_700_000_000).unwrap();
        let line = |level, message| format_line(at, &TimeZone::UTC, level, message);
        assert_eq!(line(Level::INFO, "1 rule read"), "2023-11-14 22:13:20 1 rule read");
        let forged = line(Level::WARN, "x\n2023-11-14 22:13:20 \u{1b}[2Kstopped");
        assert!(
            forged.starts_with("2023-11-14 22:13:20 warning: x 2023") && !forged.contains(['\n', '\u{1b}']),
            "{forged}"
        );
    }
}
