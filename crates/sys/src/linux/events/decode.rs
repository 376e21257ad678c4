//! Decodes a tracepoint's record into an event, by the names of its fields.

use std::collections::BTreeMap;

use corewise_machine::event::{Source, What};
use corewise_machine::{CpuSet, Gap};

use super::format::{Format, Slot};
use super::symbols::Symbols;
use super::tracefs::Tracefs;
use crate::values::events::Interest;

/// A tracepoint that corewise understands.
struct Known {
    /// "irq/irq_handler_entry".
    path: &'static str,
    interest: Interest,
    /// The fields to read, in the order in which [`Kind`] expects them.
    fields: &'static [&'static str],
    kind: Kind,
}

/// Kind of event that a record becomes.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Enter(Of),
    Exit(Of),
    NonMaskable,
    PageFault { in_kernel: bool },
    Switch,
    Work,
    Called,
    SentToOne,
    SentToMany,
    Migrated,
    Forked,
    Executed,
    Ended,
    AffinityAsked,
}

/// The source of a handler's interrupt.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// Given by the first field.
    Device,
    /// Given by the first field.
    Soft,
    Always(Source),
}

const fn known(path: &'static str, interest: Interest, fields: &'static [&'static str], kind: Kind) -> Known {
    Known { path, interest, fields, kind }
}

/// Defines a tracepoint of an x86 vector, which has no field of interest.
const fn vector(path: &'static str, kind: Kind) -> Known {
    known(path, Interest::Interrupts, &[], kind)
}

use Kind::{Enter, Exit};
use Of::Always;

/// All of them. The irq_vectors are x86's; on other architectures, devices' and processors' interrupts cover the same. irq_work has no exit
/// here: the kernel forbids perf to sample it, since the sample would raise another.
const KNOWN: &[Known] = &[
    known("irq/irq_handler_entry", Interest::Interrupts, &["irq"], Enter(Of::Device)),
    known("irq/irq_handler_exit", Interest::Interrupts, &["irq"], Exit(Of::Device)),
    known("irq/softirq_entry", Interest::Interrupts, &["vec"], Enter(Of::Soft)),
    known("irq/softirq_exit", Interest::Interrupts, &["vec"], Exit(Of::Soft)),
    vector("irq_vectors/local_timer_entry", Enter(Always(Source::LocalTimer))),
    vector("irq_vectors/local_timer_exit", Exit(Always(Source::LocalTimer))),
    vector("irq_vectors/reschedule_entry", Enter(Always(Source::Reschedule))),
    vector("irq_vectors/reschedule_exit", Exit(Always(Source::Reschedule))),
    vector("irq_vectors/call_function_entry", Enter(Always(Source::FunctionCall))),
    vector("irq_vectors/call_function_exit", Exit(Always(Source::FunctionCall))),
    vector("irq_vectors/call_function_single_entry", Enter(Always(Source::FunctionCall))),
    vector("irq_vectors/call_function_single_exit", Exit(Always(Source::FunctionCall))),
    vector("irq_vectors/irq_work_entry", Enter(Always(Source::IrqWork))),
    vector("irq_vectors/x86_platform_ipi_entry", Enter(Always(Source::Platform))),
    vector("irq_vectors/x86_platform_ipi_exit", Exit(Always(Source::Platform))),
    vector("irq_vectors/thermal_apic_entry", Enter(Always(Source::Thermal))),
    vector("irq_vectors/thermal_apic_exit", Exit(Always(Source::Thermal))),
    vector("irq_vectors/threshold_apic_entry", Enter(Always(Source::Threshold))),
    vector("irq_vectors/threshold_apic_exit", Exit(Always(Source::Threshold))),
    vector("irq_vectors/deferred_error_apic_entry", Enter(Always(Source::DeferredError))),
    vector("irq_vectors/deferred_error_apic_exit", Exit(Always(Source::DeferredError))),
    vector("irq_vectors/error_apic_entry", Enter(Always(Source::ControllerError))),
    vector("irq_vectors/error_apic_exit", Exit(Always(Source::ControllerError))),
    vector("irq_vectors/spurious_apic_entry", Enter(Always(Source::Spurious))),
    vector("irq_vectors/spurious_apic_exit", Exit(Always(Source::Spurious))),
    // Arm and RISC-V.
    vector("ipi/ipi_entry", Enter(Always(Source::Processor))),
    vector("ipi/ipi_exit", Exit(Always(Source::Processor))),
    known("nmi/nmi_handler", Interest::Interrupts, &["delta_ns", "handler"], Kind::NonMaskable),
    known("exceptions/page_fault_user", Interest::PageFaults, &[], Kind::PageFault { in_kernel: false }),
    known("exceptions/page_fault_kernel", Interest::PageFaults, &[], Kind::PageFault { in_kernel: true }),
    known("sched/sched_switch", Interest::Switches, &["prev_pid", "prev_state", "next_pid", "next_comm"], Kind::Switch),
    known("workqueue/workqueue_execute_start", Interest::Functions, &["function"], Kind::Work),
    known("csd/csd_function_entry", Interest::Functions, &["func"], Kind::Called),
    known("ipi/ipi_send_cpu", Interest::Senders, &["cpu", "callback"], Kind::SentToOne),
    known("ipi/ipi_send_cpumask", Interest::Senders, &["cpumask", "callback"], Kind::SentToMany),
    // Kernels before 6.4, and Arm.
    known("ipi/ipi_raise", Interest::Senders, &["target_cpus"], Kind::SentToMany),
    known("sched/sched_migrate_task", Interest::Migrations, &["pid", "orig_cpu", "dest_cpu"], Kind::Migrated),
    known("sched/sched_process_fork", Interest::Tasks, &["parent_pid", "child_pid", "child_comm"], Kind::Forked),
    known("sched/sched_process_exec", Interest::Tasks, &["pid", "filename"], Kind::Executed),
    known("sched/sched_process_exit", Interest::Tasks, &["pid", "comm"], Kind::Ended),
    known("syscalls/sys_enter_sched_setaffinity", Interest::Affinities, &["pid"], Kind::AffinityAsked),
];

/// Interests in tracepoints with addresses of functions, which are resolved to names.
const NAMED: [Interest; 3] = [Interest::Interrupts, Interest::Functions, Interest::Senders];

/// Groups of interchangeable tracepoints: an interest is served if one of each of its groups exists.
const NEEDED: [(Interest, &str); 8] = [
    (Interest::Interrupts, "irq/irq_handler_entry"),
    (Interest::Switches, "sched/sched_switch"),
    (Interest::PageFaults, "exceptions/page_fault_user"),
    (Interest::Functions, "csd/csd_function_entry"),
    (Interest::Senders, "ipi/"),
    (Interest::Migrations, "sched/sched_migrate_task"),
    (Interest::Tasks, "sched/sched_process_fork"),
    (Interest::Affinities, "syscalls/sys_enter_sched_setaffinity"),
];

/// The tracepoints of this kernel that serve some interests, and the layout of their records.
#[derive(Debug, Default)]
pub struct Catalogue {
    decoders: BTreeMap<u16, Decoder>,
    symbols: Symbols,
    current: Option<Slot>,
}

#[derive(Debug)]
struct Decoder {
    path: &'static str,
    interest: Interest,
    kind: Kind,
    slots: Vec<Slot>,
}

impl Catalogue {
    /// Reads the formats of all tracepoints that serve the interests; a missing one is a gap.
    pub fn read(tracefs: &Tracefs, interests: &[Interest]) -> (Self, Vec<Gap>) {
        let format = |path: &str| tracefs.read(&format!("events/{path}/format")).ok();
        // Some hundred thousand names, which take 8 MB.
        let are_needed = interests.iter().any(|interest| NAMED.contains(interest));
        let symbols = if are_needed { Symbols::of_this_kernel() } else { Symbols::default() };
        Self::of(format, symbols, interests)
    }

    /// Builds a catalogue from formats given as texts.
    pub(super) fn of(
        format: impl Fn(&str) -> Option<String>,
        symbols: Symbols,
        interests: &[Interest],
    ) -> (Self, Vec<Gap>) {
        let mut catalogue = Self { symbols, ..Self::default() };
        for known in KNOWN.iter().filter(|known| interests.contains(&known.interest)) {
            let Some(format) = format(known.path).and_then(|text| Format::parse(&text)) else { continue };
            let slots: Vec<Slot> = known.fields.iter().filter_map(|name| format.slot(name)).collect();
            // Without one of the fields the others would be misread.
            if slots.len() == known.fields.len() {
                catalogue.current = catalogue.current.or(format.slot("common_pid"));
                let decoder = Decoder { path: known.path, interest: known.interest, kind: known.kind, slots };
                catalogue.decoders.insert(format.id, decoder);
            }
        }
        let gaps = catalogue.gaps(interests);
        (catalogue, gaps)
    }

    fn gaps(&self, interests: &[Interest]) -> Vec<Gap> {
        let is_there = |path: &str| self.decoders.values().any(|decoder| decoder.path.starts_with(path));
        let missing = NEEDED.iter().filter(|(interest, path)| interests.contains(interest) && !is_there(path));
        missing
            .map(|(interest, path)| Gap::new(interest.what(), format!("this kernel has no tracepoint {path}")))
            .collect()
    }

    /// Returns the tracepoints that serve an interest: number and path.
    pub fn tracepoints(&self, interests: &[Interest]) -> Vec<(u16, &'static str)> {
        let wanted = self.decoders.iter().filter(|(_, decoder)| interests.contains(&decoder.interest));
        wanted.map(|(id, decoder)| (*id, decoder.path)).collect()
    }

    /// Decodes a record into the current task and the event; `None` for unknown records.
    pub fn decode(&self, record: &[u8]) -> Option<(u32, What)> {
        let id = u16::from_le_bytes([*record.first()?, *record.get(1)?]);
        let decoder = self.decoders.get(&id)?;
        Some((self.current?.task(record), decoder.decode(record, &self.symbols)))
    }
}

impl Decoder {
    fn decode(&self, record: &[u8], symbols: &Symbols) -> What {
        let number = |at: usize| self.slots[at].number(record);
        let task = |at: usize| self.slots[at].task(record);
        let text = |at: usize| self.slots[at].text(record);
        let function =
            |at: usize| self.slots.get(at).map_or_else(String::new, |slot| symbols.name(slot.number(record)));
        let source = |of: Of| match of {
            Of::Device => Source::Device(number(0) as u32),
            Of::Soft => Source::Soft(number(0) as u32),
            Of::Always(source) => source,
        };
        match self.kind {
            Kind::Enter(of) => What::Enter { source: source(of) },
            Kind::Exit(of) => What::Exit { source: source(of) },
            Kind::NonMaskable => What::NonMaskable { duration_ns: number(0), handler: function(1) },
            Kind::PageFault { in_kernel } => What::PageFault { in_kernel },
            Kind::Switch => {
                What::Switch { from: task(0), preempted: is_runnable(number(1)), to: task(2), to_name: text(3) }
            }
            Kind::Work => What::Work { function: function(0) },
            Kind::Called => What::Called { function: function(0) },
            Kind::SentToOne => What::Sent { to: std::iter::once(number(0) as u32).collect(), function: function(1) },
            Kind::SentToMany => What::Sent { to: cpus(self.slots[0].data(record)), function: function(1) },
            Kind::Migrated => What::Migrated { task: task(0), from: number(1) as u32, to: number(2) as u32 },
            Kind::Forked => What::Forked { parent: task(0), child: task(1), name: text(2) },
            Kind::Executed => What::Executed { task: task(0), program: text(1) },
            Kind::Ended => What::Ended { task: task(0), name: text(1) },
            Kind::AffinityAsked => What::AffinityAsked { task: task(0) },
        }
    }
}

/// Returns true if sched_switch reports the leaving task as running: no bit below TASK_REPORT_MAX is set; that bit itself means that it was
/// preempted (include/trace/events/sched.h).
const fn is_runnable(state: u64) -> bool {
    state & 0xff == 0
}

/// Decodes a kernel bitmap, in words of the machine's length, the lowest first.
fn cpus(bitmap: &[u8]) -> CpuSet {
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
            "ipi/ipi_send_cpumask" => {
                "ID: 300\nfield:__data_loc cpumask_t cpumask;\toffset:8;\tsize:4;\tsigned:0;\n\
                 field:void * callback;\toffset:16;\tsize:8;\tsigned:0;\n"
            }
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
        let is_named = |kind: &Kind| {
            matches!(kind, Kind::NonMaskable | Kind::Work | Kind::Called | Kind::SentToOne | Kind::SentToMany)
        };
        let named = |interest: Interest| KNOWN.iter().any(|known| known.interest == interest && is_named(&known.kind));
        for (interest, _) in NEEDED {
            assert_eq!(named(interest), NAMED.contains(&interest), "{interest:?}");
        }
    }

    #[test]
    fn records_become_events_by_the_names_of_fields() {
        let symbols = Symbols::parse("00001000 T do_sync_core\n");
        let all = [Interest::Interrupts, Interest::Switches, Interest::Senders, Interest::Migrations];
        let (catalogue, gaps) = Catalogue::of(format, symbols, &all);
        let told: Vec<&str> = gaps.iter().map(|gap| gap.what.as_str()).collect();
        assert_eq!(told, ["migrations of tasks"]);
        let interrupt = record(5, 12, &[(8, &36_u32.to_le_bytes())]);
        assert_eq!(catalogue.decode(&interrupt), Some((77, What::Enter { source: Source::Device(36) })));
        let switch = record(
            6,
            44,
            &[(8, &77_u32.to_le_bytes()), (16, &256_u64.to_le_bytes()), (24, b"sh"), (40, &9_u32.to_le_bytes())],
        );
        let switched = What::Switch { from: 77, preempted: true, to: 9, to_name: "sh".into() };
        assert_eq!(catalogue.decode(&switch), Some((77, switched)));
        let place = (16_u32 << 16 | 24).to_le_bytes();
        let sent = record(300, 40, &[(8, &place), (16, &0x1004_u64.to_le_bytes()), (24, &[0b1000_0010]), (33, &[1])]);
        let to: CpuSet = [1, 7, 72].into_iter().collect();
        assert_eq!(catalogue.decode(&sent), Some((77, What::Sent { to, function: "do_sync_core".into() })));
        assert_eq!(catalogue.decode(&record(9, 12, &[])), None, "not understood");
        assert_eq!(catalogue.decode(&[6]), None);
    }

    #[test]
    fn what_a_kernel_lacks_is_a_gap_and_the_rest_is_there() {
        let all = [Interest::Switches, Interest::Functions, Interest::Tasks];
        let (catalogue, gaps) = Catalogue::of(format, Symbols::default(), &all);
        let told: Vec<(&str, &str)> = gaps.iter().map(|gap| (gap.what.as_str(), gap.why.as_str())).collect();
        let lacks = [
            ("names of called functions", "this kernel has no tracepoint csd/csd_function_entry"),
            ("new and ending tasks", "this kernel has no tracepoint sched/sched_process_fork"),
        ];
        assert_eq!(told, lacks);
        assert_eq!(catalogue.tracepoints(&all), [(6, "sched/sched_switch")]);
        let (none, gaps) = Catalogue::of(|_| None, Symbols::default(), &[Interest::Switches]);
        assert_eq!((none.tracepoints(&all).len(), gaps.len()), (0, 1));
    }

    #[test]
    fn who_sleeps_was_not_preempted() {
        assert!(is_runnable(0) && is_runnable(0x100));
        assert!(!is_runnable(1) && !is_runnable(2));
    }
}
