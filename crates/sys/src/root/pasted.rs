//! Pasted text: the output of lscpu, numactl and lstopo, /proc/cpuinfo and /proc/interrupts, several in one, as people put them into
//! reports and mails.

use super::files::RecordedFiles;

/// Name of pasted text in a recording.
pub const PASTED: &str = "pasted.txt";

/// Largest text that is read as pasted, in bytes; /proc/cpuinfo of 512 cpus takes 1 MB.
pub const LARGEST_PASTED_BYTES: usize = 16 << 20;

/// Returns pasted text as a machine's files; `None` if nothing in it is known.
pub fn files_of_paste(text: &str) -> Option<RecordedFiles> {
    let plain = plain_lines(text);
    let has_topology = KNOWN.iter().any(|known| plain.contains(known)) || has_table(&plain);
    let interrupts = interrupts_of(&plain);
    if !has_topology && interrupts.is_none() {
        return None;
    }
    let mut files = RecordedFiles::default();
    if let Some(interrupts) = interrupts {
        files.insert_file("proc/interrupts".to_owned(), interrupts);
    }
    files.insert_file(PASTED.to_owned(), plain);
    Some(files)
}

/// Beginnings of lines of what is read, besides tables.
const KNOWN: [&str; 8] = [
    "\nOn-line CPU(s) list:",
    "\nCPU(s):",
    "\navailable: ",
    "\nnode 0 cpus:",
    "\nMachine (",
    "\nMachine L#",
    "\nprocessor\t",
    "\nprocessor ",
];

/// Returns true for the tables of `lscpu -e` and `-p`, and for JSON of lscpu.
fn has_table(text: &str) -> bool {
    let is_extended = |line: &str| line.starts_with("CPU ") && line.contains("CORE");
    let is_parsable =
        |line: &str| line.starts_with("# CPU,") || line.starts_with("# The following is the parsable format");
    text.contains("\"lscpu\":")
        || text.contains("\"cpus\":")
        || text.lines().any(|line| is_extended(line) || is_parsable(line))
}

/// Returns the lines without marks of mails, prompts with their commands, and carriage returns; a line break stands before the first.
fn plain_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(|line| strip_quotes(line.trim_end_matches('\r'))).collect();
    let margin = common_margin(&lines);
    let mut plain = String::with_capacity(text.len() + 1);
    for line in lines {
        let line = line.get(margin..).unwrap_or_default();
        plain.push('\n');
        if !is_prompt(line) && !line.starts_with("```") {
            plain.push_str(line);
        }
    }
    plain.push('\n');
    plain
}

/// Removes the marks of quotations in mails, `> > `, and keeps the indentation behind them.
fn strip_quotes(line: &str) -> &str {
    let mut line = line;
    while let Some(rest) = line.strip_prefix('>') {
        line = rest.strip_prefix(' ').unwrap_or(rest);
    }
    line
}

/// Returns the number of spaces before every line that is not blank: code in a mail or in Markdown is indented.
fn common_margin(lines: &[&str]) -> usize {
    let spoken = || lines.iter().filter(|line| !line.trim().is_empty());
    // /proc/interrupts alone has no line at the margin.
    if spoken().next().is_some_and(|line| line.trim_start().starts_with("CPU0")) {
        return 0;
    }
    spoken().map(|line| line.len() - line.trim_start_matches(' ').len()).min().unwrap_or(0)
}

/// Returns true for a command behind a prompt: `$ lscpu`, `# numactl -H`, `user@host:~$ lscpu -e`.
fn is_prompt(line: &str) -> bool {
    let commands = ["lscpu", "numactl", "lstopo", "hwloc-ls", "cat /proc/", "sudo "];
    let is_command = |rest: &str| commands.iter().any(|command| rest.trim_start().starts_with(command));
    let at = line.find(['$', '#', '%']);
    is_command(line) || at.is_some_and(|place| is_command(&line[place + 1..]))
}

/// Returns the table of /proc/interrupts: its header and the rows below.
fn interrupts_of(text: &str) -> Option<String> {
    let is_header = |line: &str| {
        let mut words = line.split_whitespace();
        let is_cpu = |word: &str| word.strip_prefix("CPU").is_some_and(|number| number.parse::<u32>().is_ok());
        words.next().is_some_and(is_cpu) && words.all(is_cpu)
    };
    let is_row = |line: &&str| {
        line.split_once(':').is_some_and(|(name, _)| {
            let name = name.trim();
            !name.is_empty() && name.len() < 8 && name.chars().all(|c| c.is_ascii_alphanumeric())
        })
    };
    let lines: Vec<&str> = text.lines().collect();
    let header = lines.iter().position(|line| is_header(line))?;
    let rows = lines[header + 1..].iter().take_while(|line| is_row(line));
    let table: Vec<&str> = std::iter::once(&lines[header]).chain(rows).copied().collect();
    (table.len() > 1).then(|| table.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_are_found_between_other_outputs() {
        let text = "> $ lscpu\r\n> CPU(s): 2\r\n> \r\n> $ cat /proc/interrupts\r\n>            CPU0       CPU1\r\n>  24:         5          0   PCI-MSI eth0-rx-0\r\n> LOC:   1 2  Local timer interrupts\r\n> \r\n> bye\r\n";
        let files = files_of_paste(text).unwrap();
        assert_eq!(files.file_text("proc/interrupts").unwrap().lines().count(), 3);
        assert!(files.file_text(PASTED).unwrap().contains("\nCPU(s): 2\n"));
    }

    #[test]
    fn quoted_trees_keep_their_indentation() {
        let files =
            files_of_paste("Jo wrote:\n> > Machine (1GB total)\n> >   Package L#0\n> >     Core L#0 + PU L#0 (P#0)\n")
                .unwrap();
        assert!(files.file_text(PASTED).unwrap().contains("\nMachine (1GB total)\n  Package L#0\n    Core L#0"));
    }

    #[test]
    fn other_text_is_no_paste() {
        for text in ["", "hello", "a: 1\nb: 2", "CPU0 CPU1"] {
            assert!(files_of_paste(text).is_none(), "{text}");
        }
    }
}
