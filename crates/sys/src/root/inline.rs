//! pepc's inline file: one line a file of the machine, `ro|/sys/path|value`.

use super::wanted;

/// Returns the path and the text of one line, or `None` if no reader asks for the file. `\n` in a value is the end of a line.
pub fn file_of(line: &str) -> Option<(String, String)> {
    let rest = line.strip_prefix("ro|").or_else(|| line.strip_prefix("rw|"))?;
    let (path, value) = rest.split_once('|')?;
    let path = path.trim_start_matches('/');
    wanted::is_wanted(path).then(|| (path.to_owned(), value.replace("\\n", "\n")))
}

/// Returns true if a text begins like an inline file.
pub fn begins_inline(text: &[u8]) -> bool {
    let comment = text.starts_with(b"#") && text.windows(7).any(|window| window == b"<ro|rw>");
    comment || [&b"ro|/"[..], b"rw|/", b"ro|sys/", b"rw|sys/"].iter().any(|begin| text.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_files() {
        let file = |line| file_of(line).map(|(path, text)| format!("{path}={text}"));
        assert_eq!(file("ro|/sys/devices/system/cpu/online|0-7").unwrap(), "sys/devices/system/cpu/online=0-7");
        assert_eq!(file("rw|/proc/cpuinfo|a|b\\nc").unwrap(), "proc/cpuinfo=a|b\nc");
        for other in [
            "# comment",
            "",
            "ro|",
            "ro|/proc/cpuinfo",
            "xx|/proc/cpuinfo|1",
            "ro|/sys/other|1",
            "ro|/../proc/cpuinfo|1",
        ] {
            assert_eq!(file_of(other), None, "{other}");
        }
    }

    #[test]
    fn an_inline_file_is_known_by_its_beginning() {
        assert!(begins_inline(b"# Format: <ro|rw>|<path>|<value>\n"));
        assert!(begins_inline(b"ro|/sys/devices/system/cpu/online|0"));
        assert!(!begins_inline(b"# something else"));
        assert!(!begins_inline(b""));
    }
}
