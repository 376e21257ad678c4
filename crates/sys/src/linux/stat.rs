//! Time spent per cpu, in ticks of 1/100 s: /proc/stat.

use std::collections::BTreeMap;

/// The kernel's unit here (USER_HZ), fixed at 100 for all architectures that Linux runs on today except alpha and ia64.
const TICKS_PER_SECOND: f64 = 100.0;

/// Time of one cpu since boot, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuTime {
    /// All time except idle, waiting for input and output, and stolen time.
    pub busy_s: f64,
    /// Time in which a hypervisor ran something else.
    pub stolen_s: f64,
}

/// Parses the per-cpu lines of /proc/stat (proc_stat(5)); skips unknown lines.
pub fn parse(text: &str) -> BTreeMap<u32, CpuTime> {
    text.lines().filter_map(parse_line).collect()
}

/// Parses "cpu3 user nice system idle iowait irq softirq steal guest guest_nice"; guest time is part of user time.
fn parse_line(line: &str) -> Option<(u32, CpuTime)> {
    // The machine's total is "cpu" and a space.
    let numbered = line.strip_prefix("cpu").filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut words = numbered.split_whitespace();
    let cpu = words.next()?.parse().ok()?;
    let fields: Vec<f64> = words.map_while(|word| word.parse().ok()).collect();
    let field = |index: usize| fields.get(index).copied().unwrap_or(0.0) / TICKS_PER_SECOND;
    if fields.len() < 4 {
        return None;
    }
    let time = CpuTime { busy_s: field(0) + field(1) + field(2) + field(5) + field(6), stolen_s: field(7) };
    Some((cpu, time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn per_cpu_lines_are_read_and_others_passed_over() {
        let text = "cpu  20 0 10 300 4 0 0 9 0 0\ncpu0 100 0 50 300 4 1 2 7 0 0\ncpu12 1 2 3 4\ncpux 1 2 3 4 5\nintr 5\ncpu3 1\n";
        let parsed = parse(text);
        assert_eq!(parsed.keys().copied().collect::<Vec<_>>(), [0, 12]);
        assert!((parsed[&0].busy_s - 1.53).abs() < 1e-9);
        assert!((parsed[&0].stolen_s - 0.07).abs() < 1e-9);
        assert_eq!(parsed[&12].stolen_s, 0.0);
    }
}
