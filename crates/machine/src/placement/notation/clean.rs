//! The step before all notations: blanks what surrounds a text where people copy it from.
//!
//! Every character stays one character, so that positions in the text stay true: carriage returns, colours, marks of mails, prompts with
//! the commands whose output follows, and comments become spaces, typographic quotes and dashes plain ones.

/// A text without its surroundings.
pub(super) struct CleanText {
    /// As many characters as the original.
    pub text: String,
    /// The part that was left out, if that changes the meaning.
    pub remarks: Vec<String>,
}

/// Characters that programs put in place of plain ones, and the plain ones.
const LOOKALIKES: [(char, char); 12] = [
    ('\r', ' '),
    ('\u{a0}', ' '),
    ('\u{202f}', ' '),
    ('\u{feff}', ' '),
    ('\u{2010}', '-'),
    ('\u{2011}', '-'),
    ('\u{2013}', '-'),
    ('\u{2212}', '-'),
    ('\u{2018}', '\''),
    ('\u{2019}', '\''),
    ('\u{201c}', '"'),
    ('\u{201d}', '"'),
];

/// Words after `#` that make a line an instruction of a batch system.
const DIRECTIVES: [&str; 5] = ["SBATCH", "PBS", "BSUB", "FLUX:", "$"];

/// Blanks the surroundings of a text.
pub(super) fn clean_text(text: &str) -> CleanText {
    let mut plain = join_continued(&blank_between(&replace_lookalikes(text), "<!--", "-->"));
    join_shown_files(&mut plain);
    let lines: Vec<PlainLine> = plain.split('\n').map(PlainLine::new).collect();
    let kept = |(place, line): (usize, &PlainLine)| {
        let next = lines.get(place + 1);
        let is_query = line.has_prompt && next.is_some_and(|next| !next.has_prompt && !next.text.trim().is_empty());
        if is_query { blank_text(&line.text) } else { line.text.clone() }
    };
    let lines: Vec<String> = lines.iter().enumerate().map(kept).collect();
    let without: Vec<String> = lines.iter().map(|line| blank_comment(line)).collect();
    if without.iter().any(|line| !line.trim().is_empty()) {
        return CleanText { text: without.join("\n"), remarks: Vec::new() };
    }
    let bare: Vec<String> = lines.iter().map(|line| blank_mark(line)).collect();
    let is_comment = bare != lines;
    let remark = "This is a comment: as it stands, it has no effect.".to_owned();
    CleanText { text: bare.join("\n"), remarks: is_comment.then_some(remark).into_iter().collect() }
}

/// Joins lines that end with a backslash with the next; systemd passes over comments between them.
fn join_continued(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut is_continued = false;
    for line in text.split_inclusive('\n') {
        let is_comment = is_continued && line.trim_start().starts_with(['#', ';']);
        match line.strip_suffix("\\\n") {
            Some(begun) => {
                joined.push_str(begun);
                joined.push_str("  ");
                is_continued = true;
            }
            None if is_comment => joined.push_str(&blank_text(line)),
            None => {
                joined.push_str(line);
                is_continued = false;
            }
        }
    }
    joined
}

/// Returns as many spaces as a text has characters.
fn blank_text(text: &str) -> String {
    " ".repeat(text.chars().count())
}

/// Replaces typographic characters, and colours of terminals by spaces.
fn replace_lookalikes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut colour = false;
    for character in text.chars() {
        let known = LOOKALIKES.iter().find(|(from, _)| *from == character).map(|(_, to)| *to);
        colour |= character == '\u{1b}';
        let written = if colour { ' ' } else { known.unwrap_or(character) };
        colour &= !character.is_ascii_alphabetic();
        plain.push(written);
    }
    plain
}

/// Blanks everything from a beginning to the next end; line breaks stay.
fn blank_between(text: &str, begin: &str, end: &str) -> String {
    let mut rest = text;
    let mut blanked = String::with_capacity(text.len());
    while let Some((before, behind)) = rest.split_once(begin) {
        let length = behind.find(end).map_or(behind.len(), |place| place + end.len());
        blanked.push_str(before);
        blanked.push_str(&blank_text(begin));
        let lines = behind[..length].split('\n').map(blank_text);
        blanked.push_str(&lines.collect::<Vec<_>>().join("\n"));
        rest = &behind[length..];
    }
    blanked + rest
}

/// Joins `cat FILE` with the line below, so that the file stands before its value.
fn join_shown_files(text: &mut String) {
    let mut joined = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_shown = matches!(words.as_slice(), [.., "cat", path] if path.contains('/'));
        match line.strip_suffix('\n').filter(|_| is_shown) {
            Some(line) => {
                // The prompt would blank the line: it goes, and the file's name stays.
                let start = line.rfind("cat ").unwrap_or(0);
                joined.push_str(&blank_text(&line[..start]));
                joined.push_str(&line[start..].replacen("cat", "   ", 1));
                joined.push(' ');
            }
            None => joined.push_str(line),
        }
    }
    *text = joined;
}

/// A line without marks of mails and prompts.
struct PlainLine {
    text: String,
    has_prompt: bool,
}

impl PlainLine {
    fn new(line: &str) -> Self {
        let mut from = 0;
        while line[from..].trim_start().starts_with("> ") {
            from = line.len() - line[from..].trim_start().len() + 2;
        }
        let prompt = prompt_length(&line[from..]);
        let end = from + prompt.unwrap_or(0);
        Self { text: blank_text(&line[..end]) + &line[end..], has_prompt: prompt.is_some() }
    }
}

/// Returns the length of a shell's prompt at the beginning of a line: `$ `, `% `, `user@host:~$ `, `[user@host ~]# `, `PS C:\> `, `C:\>`.
fn prompt_length(line: &str) -> Option<usize> {
    let lead = line.len() - line.trim_start().len();
    let rest = &line[lead..];
    if rest.starts_with("$ ") || rest.starts_with("% ") {
        return Some(lead + 2);
    }
    let windows = rest.get(1..3) == Some(":\\") || rest.starts_with("PS ") && rest.get(4..6) == Some(":\\");
    if windows {
        return rest.find('>').map(|place| lead + place + 1);
    }
    let name = rest.split(|c: char| c.is_whitespace() || c == ':' || c == '$' || c == '#').next()?;
    let is_account = name.trim_start_matches('[').split_once('@').is_some_and(|(user, host)| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !user.is_empty() && !host.is_empty() && user.chars().chain(host.chars()).all(is_name)
    });
    let end = rest.match_indices(['$', '#']).find(|(place, _)| rest[place + 1..].starts_with(' '))?.0;
    is_account.then_some(lead + end + 2)
}

/// Blanks a comment: `#` or `;` at the beginning, or `#` after a space and outside quotation marks. Instructions of batch systems, and the
/// group of a PowerShell line, are none.
fn blank_comment(line: &str) -> String {
    let trimmed = line.trim_start();
    if directive_length(trimmed).is_some() {
        return blank_mark(line);
    }
    if trimmed.starts_with(['#', ';']) || trimmed.starts_with("//") {
        return blank_text(line);
    }
    let (mut quoted, mut before) = (None, ' ');
    for (place, character) in line.char_indices() {
        match quoted {
            Some(mark) if mark == character => quoted = None,
            None if matches!(character, '"' | '\'') && !before.is_alphanumeric() => quoted = Some(character),
            None if character == '#' && before.is_whitespace() && begins_comment(&line[place..]) => {
                return line[..place].to_owned() + &blank_text(&line[place..]);
            }
            _ => {}
        }
        before = character;
    }
    line.to_owned()
}

/// Returns true for `#` and what is no group of PowerShell's lines, and no number of a message (`Info #254:`).
fn begins_comment(text: &str) -> bool {
    !text.starts_with("# group ") && !text[1..].starts_with(|c: char| c.is_ascii_digit())
}

/// Returns the length of `#SBATCH` and the like at the beginning.
fn directive_length(trimmed: &str) -> Option<usize> {
    let word = trimmed.strip_prefix('#')?.split_whitespace().next()?;
    DIRECTIVES.contains(&word).then(|| word.len() + 1)
}

/// Blanks the mark that makes a line a comment, or an instruction.
fn blank_mark(line: &str) -> String {
    let trimmed = line.trim_start();
    let lead = line.len() - trimmed.len();
    let marks = trimmed.len() - trimmed.trim_start_matches(['#', ';', '/']).len();
    let slashes = trimmed.starts_with('/') && !trimmed.starts_with("//");
    let length = directive_length(trimmed).unwrap_or(if slashes { 0 } else { marks });
    blank_text(&line[..lead + length]) + &trimmed[length..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str) -> String {
        let clean = clean_text(text);
        assert_eq!(clean.text.chars().count(), text.chars().count(), "{text:?}");
        clean.text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn surroundings_are_blanked() {
        assert_eq!(cleaned("> > CPUAffinity=0-3\r\n"), "CPUAffinity=0-3");
        assert_eq!(cleaned("me@host:~$ taskset -c 0-3 app"), "taskset -c 0-3 app");
        assert_eq!(cleaned("[root@host ~]# numactl -C 0 app # twice"), "numactl -C 0 app");
        assert_eq!(cleaned("C:\\Users\\me> start /affinity F app"), "start /affinity F app");
        assert_eq!(cleaned("\u{201c}0\u{2013}3\u{201d}"), "\"0-3\"");
        assert_eq!(cleaned("\u{1b}[01;31mCpus_allowed\u{1b}[m: f"), "Cpus_allowed   : f");
        assert_eq!(cleaned("#SBATCH --cpu-bind=map_cpu:0,1"), "--cpu-bind=map_cpu:0,1");
        assert_eq!(cleaned("a <!-- b\n c --> d"), "a|d");
        assert_eq!(cleaned("numactl \\\n  -C 0"), "numactl     -C 0");
        assert_eq!(cleaned("it's 'a # b' # c"), "it's 'a # b'");
        assert_eq!(cleaned("$x.ProcessorAffinity = 3  # group 1"), "$x.ProcessorAffinity = 3  # group 1");
    }

    #[test]
    fn a_command_gives_way_to_its_output() {
        assert_eq!(
            cleaned("$ taskset -cp 1\npid 1's current affinity list: 0-3"),
            "pid 1's current affinity list: 0-3"
        );
        assert_eq!(cleaned("$ export A=1\n$ ./app"), "export A=1|./app");
        assert_eq!(cleaned("$ cat /proc/irq/9/smp_affinity\n0f\n"), "/proc/irq/9/smp_affinity 0f");
    }

    #[test]
    fn a_comment_is_read_where_there_is_nothing_else() {
        assert_eq!(cleaned("# isolcpus=2-7\nisolcpus=4"), "isolcpus=4");
        let clean = clean_text("#CPUAffinity=1 2");
        assert_eq!((clean.text.trim(), clean.remarks.len()), ("CPUAffinity=1 2", 1));
    }
}
