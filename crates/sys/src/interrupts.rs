//! Counts of interrupts per source and cpu: the text of /proc/interrupts and /proc/softirqs.

use corewise_machine::counts::SourceCount;

/// The counts of all sources on all cpus at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterruptTable {
    /// The cpus of the columns, in their order; offline cpus have no column.
    pub cpus: Vec<u32>,
    /// A row for each source.
    pub sources: Vec<InterruptRow>,
}

/// One row: a source and its count on each cpu of [`InterruptTable::cpus`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterruptRow {
    /// The kernel's short name: "36" for a device's interrupt, "LOC" and the like for the architecture's own.
    pub name: String,
    /// The devices or drivers that use it ("virtio1-req.0"), empty for the architecture's own.
    pub device: String,
    /// The counts, one for each cpu of [`InterruptTable::cpus`]; rows without a column per cpu (ERR, MIS) have none.
    pub counts: Vec<u64>,
}

impl InterruptTable {
    /// Parses /proc/interrupts, or /proc/softirqs, which has the same shape without descriptions. Unknown lines are skipped; missing
    /// columns count as zero.
    pub fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let cpus: Vec<u32> = lines.next().map(header_cpus).unwrap_or_default();
        let sources = lines.filter_map(|line| parse_row(line, cpus.len())).collect();
        Self { cpus, sources }
    }

    /// Returns the interrupts of a cpu between an earlier moment and this one, by source, above zero, most first.
    ///
    /// `None` if the cpu has no column in both: it was offline, or there was nothing to read. A new source counts from zero; a counter that
    /// ran backwards (a device that was removed and came back) counts as zero.
    pub fn counts_since(&self, earlier: &Self, cpu: u32) -> Option<Vec<SourceCount>> {
        let (now, then) = (self.cpu_column(cpu)?, earlier.cpu_column(cpu)?);
        let mut counts: Vec<SourceCount> = self
            .sources
            .iter()
            .enumerate()
            .filter_map(|(row, source)| {
                let before =
                    earlier.same_source(source, row).and_then(|old| old.counts.get(then)).copied().unwrap_or(0);
                let count = source.counts.get(now)?.saturating_sub(before);
                (count > 0).then(|| SourceCount { source: source.row_label(), count })
            })
            .collect();
        counts.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.source.cmp(&b.source)));
        Some(counts)
    }

    /// Iterates over the sources that struck since an earlier moment, each with its counts per cpu; counted as by [`Self::counts_since`].
    pub fn struck_since<'a>(&'a self, earlier: &'a Self) -> impl Iterator<Item = (&'a InterruptRow, Vec<(u32, u64)>)> {
        let columns: Vec<Option<usize>> = match self.cpus == earlier.cpus {
            true => (0..self.cpus.len()).map(Some).collect(),
            false => self.cpus.iter().map(|cpu| earlier.cpu_column(*cpu)).collect(),
        };
        self.sources.iter().enumerate().filter_map(move |(row, source)| {
            let old = earlier.same_source(source, row);
            let counts = source.counts.iter().zip(&self.cpus).zip(&columns).filter_map(|((count, cpu), column)| {
                let before = old.and_then(|old| old.counts.get((*column)?)).copied().unwrap_or(0);
                Some((*cpu, count.saturating_sub(before))).filter(|(_, count)| column.is_some() && *count > 0)
            });
            let counts: Vec<(u32, u64)> = counts.collect();
            (!counts.is_empty()).then_some((source, counts))
        })
    }

    fn cpu_column(&self, cpu: u32) -> Option<usize> {
        self.cpus.iter().position(|&column| column == cpu)
    }

    /// Returns the same source at this moment; it nearly always has the same row.
    fn same_source(&self, source: &InterruptRow, row: usize) -> Option<&InterruptRow> {
        let same = |other: &&InterruptRow| other.name == source.name && other.device == source.device;
        self.sources.get(row).filter(same).or_else(|| self.sources.iter().find(same))
    }
}

impl InterruptRow {
    /// Formats the source as "36 virtio1-req.0", or "LOC".
    pub fn row_label(&self) -> String {
        if self.device.is_empty() { self.name.clone() } else { format!("{} {}", self.name, self.device) }
    }
}

/// Parses the header, which names the online cpus: "CPU0 CPU1 CPU4".
fn header_cpus(line: &str) -> Vec<u32> {
    line.split_whitespace().filter_map(|word| word.strip_prefix("CPU")?.parse().ok()).collect()
}

fn parse_row(line: &str, columns: usize) -> Option<InterruptRow> {
    let (name, rest) = line.split_once(':')?;
    let name = name.trim();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return None;
    }
    let mut words = rest.split_whitespace().peekable();
    let mut counts = Vec::with_capacity(columns);
    while counts.len() < columns {
        let Some(count) = words.peek().and_then(|word| word.parse::<u64>().ok()) else { break };
        counts.push(count);
        words.next();
    }
    let description: Vec<&str> = words.collect();
    let is_device = name.bytes().all(|byte| byte.is_ascii_digit());
    // A single count without a description is a total of the whole machine (ERR, MIS), not cpu 0's, unless there is one cpu.
    if columns > 1 && counts.len() == 1 && !is_device && description.is_empty() {
        counts.clear();
    }
    let device = if is_device { device_of(&description) } else { String::new() };
    Some(InterruptRow { name: name.to_owned(), device, counts })
}

/// Returns the devices, which follow the chip's name, the hardware number and the trigger: "PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0",
/// "GICv3 27 Level arch_timer".
fn device_of(description: &[&str]) -> String {
    let is_trigger = |word: &&str| {
        let word = word.rsplit('-').next().unwrap_or(word).to_ascii_lowercase();
        matches!(word.as_str(), "edge" | "level" | "fasteoi" | "none")
    };
    let devices = match description.iter().position(is_trigger) {
        Some(trigger) => &description[trigger + 1..],
        None => description.get(1..).unwrap_or_default(),
    };
    devices.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "\
           CPU0       CPU1       CPU4
  1:          9          0          2   IO-APIC   1-edge      i8042
 36:         10      30683          0 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
130:          5          6          7  GICv3  27 Level     arch_timer, kvm timer
NMI:          0          0          0   Non-maskable interrupts
LOC:     530318     757492        100   Local timer interrupts
ERR:          4
what is this
   : 1 2 3
MIS:          0
";

    #[test]
    fn rows_are_devices_architecture_and_totals() {
        let parsed = InterruptTable::parse(BEFORE);
        assert_eq!(parsed.cpus, [0, 1, 4]);
        let labels: Vec<String> = parsed.sources.iter().map(InterruptRow::row_label).collect();
        assert_eq!(labels, ["1 i8042", "36 virtio1-req.0", "130 arch_timer, kvm timer", "NMI", "LOC", "ERR", "MIS"]);
        assert_eq!(parsed.sources[1].counts, [10, 30683, 0]);
        assert!(parsed.sources[5].counts.is_empty());
    }

    #[test]
    fn differences_are_by_cpu_number_not_by_column() {
        let before = InterruptTable::parse(BEFORE);
        let after = InterruptTable::parse(
            "CPU0 CPU4\n 36: 12 3 PCI-MSIX 1-edge virtio1-req.0\nLOC: 530319 150 Local timer interrupts\n99: 0 8 X 1-edge new\n",
        );
        let counts = after.counts_since(&before, 4).unwrap();
        let seen: Vec<(&str, u64)> = counts.iter().map(|count| (count.source.as_str(), count.count)).collect();
        assert_eq!(seen, [("LOC", 50), ("99 new", 8), ("36 virtio1-req.0", 3)]);
        assert_eq!(after.counts_since(&before, 1), None, "cpu 1 went offline");
        assert!(
            before.counts_since(&after, 0).unwrap().iter().all(|count| count.source != "LOC"),
            "counters may run backwards"
        );
    }

    #[test]
    fn softirqs_have_names_only() {
        let parsed = InterruptTable::parse(
            "                    CPU0       CPU1\n          HI:          1          0\n       TIMER:       2021 3000\n",
        );
        assert_eq!(
            parsed.sources[1],
            InterruptRow { name: "TIMER".into(), device: String::new(), counts: vec![2021, 3000] }
        );
    }

    #[test]
    fn nonsense_is_survived() {
        for text in ["", "\n\n", "CPU0\n", "1: 2 3", "CPUx CPU0\n5: 18446744073709551616 3\n", "CPU0 CPU1\n:\n::: 4\n"]
        {
            let parsed = InterruptTable::parse(text);
            let _ = parsed.counts_since(&parsed, 0);
        }
    }
}
