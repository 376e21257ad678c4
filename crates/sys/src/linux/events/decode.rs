//! Decodes a tracepoint's record into an event, by the names of its fields.

use std::collections::BTreeMap;

use corewise_machine::event::{EventKind, InterruptSource};
use corewise_machine::{CpuSet, Gap};

use super::format::{FieldSlot, TracepointFormat};
use super::symbols::KernelSymbols;
use super::tracefs::TraceFolder;
use crate::values::events::EventInterest;

/// A tracepoint that corewise understands.
struct KnownTracepoint {
    /// "irq/irq_handler_entry".
    path: &'static str,
    interest: EventInterest,
    /// The fields to read, in the order in which [`RecordKind`] expects them.
    fields: &'static [&'static str],
    kind: RecordKind,
}

/// Kind of event that a record becomes.
#[derive(Clone, Copy, Debug)]
enum RecordKind {
    Enter(HandlerOwner),
    Exit(HandlerOwner),
    NonMaskable,
    PageFault { in_kernel: bool },
    Switch,
    Woken,
    Work,
    Called,
    SentToOne,
    SentToMany,
    Migrated,
    Forked,
    Executed,
    Ended,
    AffinityAsked,
    AffinityAnswered,
}

/// The source of a handler's interrupt.
#[derive(Clone, Copy, Debug)]
enum HandlerOwner {
    /// Given by the first field.
    Device,
    /// Given by the first field.
    Soft,
    Always(InterruptSource),
}

const fn known_tracepoint(
    path: &'static str,
    interest: EventInterest,
    fields: &'static [&'static str],
    kind: RecordKind,
) -> KnownTracepoint {
    KnownTracepoint { path, interest, fields, kind }
}

/// Defines a tracepoint of an x86 vector, which has no field of interest.
const fn vector_tracepoint(path: &'static str, kind: RecordKind) -> KnownTracepoint {
    known_tracepoint(path, EventInterest::Interrupts, &[], kind)
}

use HandlerOwner::Always;
use RecordKind::{Enter, Exit};

/// All of them. The irq_vectors are x86's; on other architectures, devices' and processors' interrupts cover the same. irq_work has no exit
/// here: the kernel forbids perf to sample it, since the sample would raise another.
const KNOWN: &[KnownTracepoint] = &[
    known_tracepoint("irq/irq_handler_entry", EventInterest::Interrupts, &["irq"], Enter(HandlerOwner::Device)),
    known_tracepoint("irq/irq_handler_exit", EventInterest::Interrupts, &["irq"], Exit(HandlerOwner::Device)),
    known_tracepoint("irq/softirq_entry", EventInterest::Interrupts, &["vec"], Enter(HandlerOwner::Soft)),
    known_tracepoint("irq/softirq_exit", EventInterest::Interrupts, &["vec"], Exit(HandlerOwner::Soft)),
    vector_tracepoint("irq_vectors/local_timer_entry", Enter(Always(InterruptSource::LocalTimer))),
    vector_tracepoint("irq_vectors/local_timer_exit", Exit(Always(InterruptSource::LocalTimer))),
    vector_tracepoint("irq_vectors/reschedule_entry", Enter(Always(InterruptSource::Reschedule))),
    vector_tracepoint("irq_vectors/reschedule_exit", Exit(Always(InterruptSource::Reschedule))),
    vector_tracepoint("irq_vectors/call_function_entry", Enter(Always(InterruptSource::FunctionCall))),
    vector_tracepoint("irq_vectors/call_function_exit", Exit(Always(InterruptSource::FunctionCall))),
    vector_tracepoint("irq_vectors/call_function_single_entry", Enter(Always(InterruptSource::FunctionCall))),
    vector_tracepoint("irq_vectors/call_function_single_exit", Exit(Always(InterruptSource::FunctionCall))),
    vector_tracepoint("irq_vectors/irq_work_entry", Enter(Always(InterruptSource::IrqWork))),
    vector_tracepoint("irq_vectors/x86_platform_ipi_entry", Enter(Always(InterruptSource::Platform))),
    vector_tracepoint("irq_vectors/x86_platform_ipi_exit", Exit(Always(InterruptSource::Platform))),
    vector_tracepoint("irq_vectors/thermal_apic_entry", Enter(Always(InterruptSource::Thermal))),
    vector_tracepoint("irq_vectors/thermal_apic_exit", Exit(Always(InterruptSource::Thermal))),
    vector_tracepoint("irq_vectors/threshold_apic_entry", Enter(Always(InterruptSource::Threshold))),
    vector_tracepoint("irq_vectors/threshold_apic_exit", Exit(Always(InterruptSource::Threshold))),
    vector_tracepoint("irq_vectors/deferred_error_apic_entry", Enter(Always(InterruptSource::DeferredError))),
    vector_tracepoint("irq_vectors/deferred_error_apic_exit", Exit(Always(InterruptSource::DeferredError))),
    vector_tracepoint("irq_vectors/error_apic_entry", Enter(Always(InterruptSource::ControllerError))),
    vector_tracepoint("irq_vectors/error_apic_exit", Exit(Always(InterruptSource::ControllerError))),
    vector_tracepoint("irq_vectors/spurious_apic_entry", Enter(Always(InterruptSource::Spurious))),
    vector_tracepoint("irq_vectors/spurious_apic_exit", Exit(Always(InterruptSource::Spurious))),
    // Arm and RISC-V.
    vector_tracepoint("ipi/ipi_entry", Enter(Always(InterruptSource::Processor))),
    vector_tracepoint("ipi/ipi_exit", Exit(Always(InterruptSource::Processor))),
    known_tracepoint("nmi/nmi_handler", EventInterest::Interrupts, &["delta_ns", "handler"], RecordKind::NonMaskable),
    known_tracepoint(
        "exceptions/page_fault_user",
        EventInterest::PageFaults,
        &[],
        RecordKind::PageFault { in_kernel: false },
    ),
    known_tracepoint(
        "exceptions/page_fault_kernel",
        EventInterest::PageFaults,
        &[],
        RecordKind::PageFault { in_kernel: true },
    ),
    known_tracepoint(
        "sched/sched_switch",
        EventInterest::Switches,
        &["prev_pid", "prev_state", "next_pid", "next_comm"],
        RecordKind::Switch,
    ),
    known_tracepoint("sched/sched_waking", EventInterest::Wakes, &["pid", "common_flags"], RecordKind::Woken),
    known_tracepoint("workqueue/workqueue_execute_start", EventInterest::Functions, &["function"], RecordKind::Work),
    known_tracepoint("csd/csd_function_entry", EventInterest::Functions, &["func"], RecordKind::Called),
    known_tracepoint("ipi/ipi_send_cpu", EventInterest::Senders, &["cpu", "callback"], RecordKind::SentToOne),
    known_tracepoint("ipi/ipi_send_cpumask", EventInterest::Senders, &["cpumask", "callback"], RecordKind::SentToMany),
    // Kernels before 6.4, and Arm.
    known_tracepoint("ipi/ipi_raise", EventInterest::Senders, &["target_cpus"], RecordKind::SentToMany),
    known_tracepoint(
        "sched/sched_migrate_task",
        EventInterest::Migrations,
        &["pid", "orig_cpu", "dest_cpu"],
        RecordKind::Migrated,
    ),
    known_tracepoint(
        "sched/sched_process_fork",
        EventInterest::Tasks,
        &["parent_pid", "child_pid", "child_comm"],
        RecordKind::Forked,
    ),
    known_tracepoint("sched/sched_process_exec", EventInterest::Tasks, &["pid", "filename"], RecordKind::Executed),
    known_tracepoint("sched/sched_process_exit", EventInterest::Tasks, &["pid", "comm"], RecordKind::Ended),
    known_tracepoint(
        "syscalls/sys_enter_sched_setaffinity",
        EventInterest::Affinities,
        &["pid"],
        RecordKind::AffinityAsked,
    ),
    known_tracepoint(
        "syscalls/sys_exit_sched_setaffinity",
        EventInterest::Affinities,
        &["ret"],
        RecordKind::AffinityAnswered,
    ),
];

/// Interests in tracepoints with addresses of functions, which are resolved to names.
const NAMED: [EventInterest; 3] = [EventInterest::Interrupts, EventInterest::Functions, EventInterest::Senders];

/// Groups of interchangeable tracepoints: an interest is served if one of each of its groups exists.
const NEEDED: [(EventInterest, &str); 10] = [
    (EventInterest::Interrupts, "irq/irq_handler_entry"),
    (EventInterest::Switches, "sched/sched_switch"),
    (EventInterest::Wakes, "sched/sched_waking"),
    (EventInterest::PageFaults, "exceptions/page_fault_user"),
    (EventInterest::Functions, "csd/csd_function_entry"),
    (EventInterest::Senders, "ipi/"),
    (EventInterest::Migrations, "sched/sched_migrate_task"),
    (EventInterest::Tasks, "sched/sched_process_fork"),
    (EventInterest::Affinities, "syscalls/sys_enter_sched_setaffinity"),
    (EventInterest::Affinities, "syscalls/sys_exit_sched_setaffinity"),
];

/// The tracepoints of this kernel that serve some interests, and the layout of their records.
#[derive(Debug, Default)]
pub struct TracepointCatalogue {
    decoders: BTreeMap<u16, RecordDecoder>,
    symbols: KernelSymbols,
    current: Option<FieldSlot>,
}

#[derive(Debug)]
struct RecordDecoder {
    path: &'static str,
    interest: EventInterest,
    kind: RecordKind,
    slots: Vec<FieldSlot>,
}

impl TracepointCatalogue {
    /// Reads the formats of all tracepoints that serve the interests; a missing one is a gap.
    pub fn read_formats(tracefs: &TraceFolder, interests: &[EventInterest]) -> (Self, Vec<Gap>) {
        let format = |path: &str| tracefs.read_file(&format!("events/{path}/format")).ok();
        // Some hundred thousand names, which take 8 MB.
        let are_needed = interests.iter().any(|interest| NAMED.contains(interest));
        let symbols = if are_needed { KernelSymbols::of_this_kernel() } else { KernelSymbols::default() };
        Self::from_formats(format, symbols, interests)
    }

    /// Builds a catalogue from formats given as texts.
    pub(super) fn from_formats(
        format: impl Fn(&str) -> Option<String>,
        symbols: KernelSymbols,
        interests: &[EventInterest],
    ) -> (Self, Vec<Gap>) {
        let mut catalogue = Self { symbols, ..Self::default() };
        for known in KNOWN.iter().filter(|known| interests.contains(&known.interest)) {
            let Some(format) = format(known.path).and_then(|text| TracepointFormat::parse(&text)) else { continue };
            let slots: Vec<FieldSlot> = known.fields.iter().filter_map(|name| format.find_slot(name)).collect();
            // Without one of the fields the others would be misread.
            if slots.len() == known.fields.len() {
                catalogue.current = catalogue.current.or(format.find_slot("common_pid"));
                let decoder = RecordDecoder { path: known.path, interest: known.interest, kind: known.kind, slots };
                catalogue.decoders.insert(format.id, decoder);
            }
        }
        let gaps = catalogue.missing_tracepoints(interests);
        (catalogue, gaps)
    }

    fn missing_tracepoints(&self, interests: &[EventInterest]) -> Vec<Gap> {
        let is_there = |path: &str| self.decoders.values().any(|decoder| decoder.path.starts_with(path));
        let missing = NEEDED.iter().filter(|(interest, path)| interests.contains(interest) && !is_there(path));
        missing
            .map(|(interest, path)| Gap::new(interest.gap_name(), format!("this kernel has no tracepoint {path}")))
            .collect()
    }

    /// Returns the tracepoints that serve an interest: number and path.
    pub fn serving_tracepoints(&self, interests: &[EventInterest]) -> Vec<(u16, &'static str)> {
        let wanted = self.decoders.iter().filter(|(_, decoder)| interests.contains(&decoder.interest));
        wanted.map(|(id, decoder)| (*id, decoder.path)).collect()
    }

    /// Decodes a record into the current task and the event; `None` for unknown records.
    pub fn decode_record(&self, record: &[u8]) -> Option<(u32, EventKind)> {
        let id = u16::from_le_bytes([*record.first()?, *record.get(1)?]);
        let decoder = self.decoders.get(&id)?;
        Some((self.current?.read_task(record), decoder.decode_fields(record, &self.symbols)))
    }
}

impl RecordDecoder {
    fn decode_fields(&self, record: &[u8], symbols: &KernelSymbols) -> EventKind {
        let number = |at: usize| self.slots[at].read_number(record);
        let task = |at: usize| self.slots[at].read_task(record);
        let text = |at: usize| self.slots[at].read_text(record);
        let function = |at: usize| {
            self.slots.get(at).map_or_else(String::new, |slot| symbols.function_name(slot.read_number(record)))
        };
        let source = |of: HandlerOwner| match of {
            HandlerOwner::Device => InterruptSource::Device(number(0) as u32),
            HandlerOwner::Soft => InterruptSource::Soft(number(0) as u32),
            HandlerOwner::Always(source) => source,
        };
        match self.kind {
            RecordKind::Enter(of) => EventKind::Enter { source: source(of) },
            RecordKind::Exit(of) => EventKind::Exit { source: source(of) },
            RecordKind::NonMaskable => EventKind::NonMaskable { duration_ns: number(0), handler: function(1) },
            RecordKind::PageFault { in_kernel } => EventKind::PageFault { in_kernel },
            RecordKind::Switch => {
                EventKind::Switch { from: task(0), preempted: is_runnable(number(1)), to: task(2), to_name: text(3) }
            }
            RecordKind::Woken => EventKind::Woken { task: task(0), in_interrupt: number(1) & IN_INTERRUPT != 0 },
            RecordKind::Work => EventKind::Work { function: function(0) },
            RecordKind::Called => EventKind::Called { function: function(0) },
            RecordKind::SentToOne => {
                EventKind::Sent { to: std::iter::once(number(0) as u32).collect(), function: function(1) }
            }
            RecordKind::SentToMany => {
                EventKind::Sent { to: parse_bitmap(self.slots[0].read_data(record)), function: function(1) }
            }
            RecordKind::Migrated => EventKind::Migrated { task: task(0), from: number(1) as u32, to: number(2) as u32 },
            RecordKind::Forked => EventKind::Forked { parent: task(0), child: task(1), name: text(2) },
            RecordKind::Executed => EventKind::Executed { task: task(0), program: text(1) },
            RecordKind::Ended => EventKind::Ended { task: task(0), name: text(1) },
            RecordKind::AffinityAsked => EventKind::AffinityAsked { task: task(0) },
            RecordKind::AffinityAnswered => EventKind::AffinityAnswered { is_granted: number(0) == 0 },
        }
    }
}

/// Flags of a record: in a device's interrupt, or in a soft one (include/linux/trace_events.h).
const IN_INTERRUPT: u64 = 0x08 | 0x10;

/// Returns true if sched_switch reports the leaving task as running: no bit below TASK_REPORT_MAX is set; that bit itself means that it was
/// preempted (include/trace/events/sched.h).
const fn is_runnable(state: u64) -> bool {
    state & 0xff == 0
}

/// Decodes a kernel bitmap, in words of the machine's length, the lowest first.
fn parse_bitmap(bitmap: &[u8]) -> CpuSet {
    let bits = |(at, byte): (usize, &u8)| {
        let byte = *byte;
        (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| at as u32 * 8 + bit)
    };
    bitmap.iter().enumerate().flat_map(bits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMON: &str = "field:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        field:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";

    fn format(path: &str) -> Option<String> {
        let fields = match path {
            "irq/irq_handler_entry" => "ID: 5\nfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n",
            "sched/sched_switch" => {
                "ID: 6\nfield:pid_t prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n\
                 field:long prev_state;\toffset:16;\tsize:8;\tsigned:1;\n\
                 field:char next_comm[16];\toffset:24;\tsize:16;\tsigned:0;\n\
                 field:pid_t next_pid;\toffset:40;\tsize:4;\tsigned:1;\n"
            }
            "sched/sched_waking" => {
                "ID: 10\nfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
                 field:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
            }
            "ipi/ipi_send_cpumask" => {
                "ID: 300\nfield:__data_loc cpumask_t cpumask;\toffset:8;\tsize:4;\tsigned:0;\n\
                 field:void * callback;\toffset:16;\tsize:8;\tsigned:0;\n"
            }
            "syscalls/sys_exit_sched_setaffinity" => "ID: 8\nfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n",
            // One field of another name than is known.
            "sched/sched_migrate_task" => "ID: 9\nfield:int number;\toffset:8;\tsize:4;\tsigned:1;\n",
            _ => return None,
        };
        Some(format!("{fields}{COMMON}"))
    }

    fn record(id: u16, length: usize, fields: &[(usize, &[u8])]) -> Vec<u8> {
        let mut record = vec![0_u8; length];
        for (offset, bytes) in [(0, &id.to_le_bytes()[..]), (4, &77_u32.to_le_bytes()[..])].iter().chain(fields) {
            record[*offset..*offset + bytes.len()].copy_from_slice(bytes);
        }
        record
    }

    #[test]
    fn names_of_functions_are_read_where_one_may_be_named() {
        let is_named = |kind: &RecordKind| {
            matches!(
                kind,
                RecordKind::NonMaskable
                    | RecordKind::Work
                    | RecordKind::Called
                    | RecordKind::SentToOne
                    | RecordKind::SentToMany
            )
        };
        let named =
            |interest: EventInterest| KNOWN.iter().any(|known| known.interest == interest && is_named(&known.kind));
        for (interest, _) in NEEDED {
            assert_eq!(named(interest), NAMED.contains(&interest), "{interest:?}");
        }
    }

    #[test]
    fn records_become_events_by_the_names_of_fields() {
        let symbols = KernelSymbols::parse("00001000 T do_sync_core\n");
        let all =
            [EventInterest::Interrupts, EventInterest::Switches, EventInterest::Senders, EventInterest::Migrations];
        let (catalogue, gaps) = TracepointCatalogue::from_formats(format, symbols, &all);
        let told: Vec<&str> = gaps.iter().map(|gap| gap.what.as_str()).collect();
        assert_eq!(told, ["migrations of tasks"]);
        let interrupt = record(5, 12, &[(8, &36_u32.to_le_bytes())]);
        assert_eq!(
            catalogue.decode_record(&interrupt),
            Some((77, EventKind::Enter { source: InterruptSource::Device(36) }))
        );
        let switch = record(
            6,
            44,
            &[(8, &77_u32.to_le_bytes()), (16, &256_u64.to_le_bytes()), (24, b"sh"), (40, &9_u32.to_le_bytes())],
        );
        let switched = EventKind::Switch { from: 77, preempted: true, to: 9, to_name: "sh".into() };
        assert_eq!(catalogue.decode_record(&switch), Some((77, switched)));
        let place = (16_u32 << 16 | 24).to_le_bytes();
        let sent = record(300, 40, &[(8, &place), (16, &0x1004_u64.to_le_bytes()), (24, &[0b1000_0010]), (33, &[1])]);
        let to: CpuSet = [1, 7, 72].into_iter().collect();
        assert_eq!(catalogue.decode_record(&sent), Some((77, EventKind::Sent { to, function: "do_sync_core".into() })));
        assert_eq!(catalogue.decode_record(&record(9, 12, &[])), None, "not understood");
        assert_eq!(catalogue.decode_record(&[6]), None);
    }

    #[test]
    fn a_wake_in_an_interrupt_is_told_apart() {
        let (catalogue, gaps) =
            TracepointCatalogue::from_formats(format, KernelSymbols::default(), &[EventInterest::Wakes]);
        assert!(gaps.is_empty());
        // The bits beside these mean that interrupts are off, or that the task is to be switched.
        for (flags, in_interrupt) in [(0_u8, false), (0x01 | 0x04, false), (0x08, true), (0x10, true), (0x11, true)] {
            let record = record(10, 28, &[(2, &[flags]), (24, &9_u32.to_le_bytes())]);
            assert_eq!(catalogue.decode_record(&record), Some((77, EventKind::Woken { task: 9, in_interrupt })));
        }
    }

    #[test]
    fn a_refused_request_is_one_that_the_kernel_answers_with_an_error() {
        let (catalogue, gaps) =
            TracepointCatalogue::from_formats(format, KernelSymbols::default(), &[EventInterest::Affinities]);
        assert_eq!(gaps.len(), 1, "requests without their answers say nothing, and the other way round");
        for (result, is_granted) in [(0_i64, true), (-1, false), (-22, false)] {
            let answer = record(8, 24, &[(16, &result.to_le_bytes())]);
            assert_eq!(catalogue.decode_record(&answer), Some((77, EventKind::AffinityAnswered { is_granted })));
        }
    }

    #[test]
    fn what_a_kernel_lacks_is_a_gap_and_the_rest_is_there() {
        let all = [EventInterest::Switches, EventInterest::Functions, EventInterest::Tasks];
        let (catalogue, gaps) = TracepointCatalogue::from_formats(format, KernelSymbols::default(), &all);
        let told: Vec<(&str, &str)> = gaps.iter().map(|gap| (gap.what.as_str(), gap.why.as_str())).collect();
        let lacks = [
            ("names of called functions", "this kernel has no tracepoint csd/csd_function_entry"),
            ("new and ending tasks", "this kernel has no tracepoint sched/sched_process_fork"),
        ];
        assert_eq!(told, lacks);
        assert_eq!(catalogue.serving_tracepoints(&all), [(6, "sched/sched_switch")]);
        let (none, gaps) =
            TracepointCatalogue::from_formats(|_| None, KernelSymbols::default(), &[EventInterest::Switches]);
        assert_eq!((none.serving_tracepoints(&all).len(), gaps.len()), (0, 1));
    }

    #[test]
    fn who_sleeps_was_not_preempted() {
        assert!(is_runnable(0) && is_runnable(0x100));
        assert!(!is_runnable(1) && !is_runnable(2));
    }
}
