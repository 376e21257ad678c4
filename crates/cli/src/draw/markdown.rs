//! Text in Markdown (CommonMark 0.31 with GitHub's tables), as others paste it: what came from outside is text there and nothing else.

use super::printable::printable;

/// A text inside a paragraph or a cell: no markup, no link, no HTML, no end of the cell. Ordinary names and numbers stay as they are.
pub fn text(text: &str) -> String {
    let characters: Vec<char> = printable(text).chars().collect();
    let is_word =
        |place: Option<usize>| place.and_then(|place| characters.get(place)).is_some_and(|c| c.is_alphanumeric());
    let mut safe = String::new();
    for (place, &character) in characters.iter().enumerate() {
        let next = characters.get(place + 1).copied().unwrap_or(' ');
        let is_escaped = match character {
            '<' | '>' => {
                safe.push_str(if character == '<' { "&lt;" } else { "&gt;" });
                continue;
            }
            // Where it could begin an entity; ours, the placement language's, has spaces around it.
            '&' if next != ' ' => {
                safe.push_str("&amp;");
                continue;
            }
            '\\' | '`' | '*' | '|' | '~' | '$' => true,
            '_' => !(is_word(place.checked_sub(1)) && is_word(Some(place + 1))),
            // A link or its definition; "[1.9, 3.0]" alone is none.
            ']' => matches!(next, '(' | '[' | ':'),
            // An address that becomes a link by itself.
            ':' => next == '/',
            '.' => place >= 3 && characters[place - 3..place].iter().all(|c| c.eq_ignore_ascii_case(&'w')),
            _ => false,
        };
        if is_escaped {
            safe.push('\\');
        }
        safe.push(character);
    }
    safe
}

/// A paragraph of its own: besides, it begins no heading, list, quotation or rule.
pub fn paragraph(line: &str) -> String {
    let safe = text(line.trim_start());
    let digits = safe.chars().take_while(char::is_ascii_digit).count();
    match safe[digits..].chars().next() {
        Some('#' | '+' | '-' | '=') if digits == 0 => format!("\\{safe}"),
        Some('.' | ')') if digits > 0 => format!("{}\\{}", &safe[..digits], &safe[digits..]),
        _ => safe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text_and_ordinary_ones_stay() {
        for ordinary in ["all - core:0", "spread(4, llc)", "one_per_core & llc:0", "+8.3 % ↑ [7.3, 9.4]", "7-Zip (x86)"]
        {
            assert_eq!(text(ordinary), ordinary);
        }
        for (name, safe) in [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("a|b`c`*d*_e_~f~$g$", r"a\|b\`c\`\*d\*\_e\_\~f\~\$g\$"),
            ("[x](https://a.b) ![y][z]", r"[x\](https\://a.b) ![y\][z]"),
            ("www.example.org &lt;", r"www\.example.org &amp;lt;"),
            ("a\nb\u{1b}", r"a\\u{a}b\\u{1b}"),
        ] {
            assert_eq!(text(name), safe);
        }
    }

    #[test]
    fn a_paragraph_is_nothing_else() {
        for (name, safe) in
            [("# a", r"\# a"), ("- a", r"\- a"), ("1. a", r"1\. a"), ("> a", "&gt; a"), ("===", r"\===")]
        {
            assert_eq!(paragraph(name), safe);
        }
        assert_eq!(paragraph("7-Zip: better"), "7-Zip: better");
    }
}
