//! Fields of comma-separated values (RFC 4180), made safe for spreadsheets.

use super::printable::make_printable;

/// Characters that begin a formula in a spreadsheet, in half and full width (OWASP, "CSV Injection").
const COMPUTED: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// Formats text from outside: printable, and after a single quote if a spreadsheet would compute it.
pub fn quote_text(text: &str) -> String {
    let shown = make_printable(text);
    let is_computed = shown.trim_start().starts_with(COMPUTED);
    quote_value(&if is_computed { format!("'{shown}") } else { shown })
}

/// Formats a number or list of our own, which stays a number; quoted if it holds a separator or a quote.
pub fn quote_value(field: &str) -> String {
    if field.contains([',', '"']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.to_owned() }
}

/// Adds a last column `notes` to a table: the caveats, in the first line below the names. An empty table gets only the
/// heading.
pub fn with_notes(table: &str, notes: &[String]) -> String {
    let mut cells = ["notes".to_owned(), quote_text(&notes.join(" | "))].into_iter();
    let lines = table.trim_end().split('\n').map(|line| {
        let (line, end) = line.strip_suffix('\r').map_or((line, ""), |line| (line, "\r"));
        format!("{line},{}{end}", cells.next().unwrap_or_default())
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_never_computes_and_numbers_stay() {
        for (name, field) in [
            ("=1+1", "'=1+1"),
            ("  @SUM(A1)", "'  @SUM(A1)"),
            ("-2", "'-2"),
            ("＝1", "'＝1"),
            ("\t=1", r"\u{9}=1"),
            ("a,\"b\"", r#""a,""b""""#),
            ("all - core:0", "all - core:0"),
            ("a\r\n=1\u{1b}", r"a\u{d}\u{a}=1\u{1b}"),
        ] {
            assert_eq!(quote_text(name), field);
        }
        assert_eq!([quote_value("-0.5"), quote_value("0,2")], ["-0.5", "\"0,2\""]);
    }

    #[test]
    fn notes_stand_in_the_first_line_and_every_line_has_the_column() {
        let notes = ["BUSY, very".to_owned(), "=1".to_owned()];
        assert_eq!(with_notes("a,b\r\n1,2\r\n3,4", &notes), "a,b,notes\r\n1,2,\"BUSY, very | =1\"\r\n3,4,");
        assert_eq!(with_notes("a\n1\n", &notes[1..]), "a,notes\n1,'=1");
        assert_eq!(with_notes("a\n", &notes), "a,notes");
    }
}
