//! Credentials in addresses, settings, options and headers, as in `http://user:password@host/` and `--password=x`: they are neither stored nor
//! shown. Only text that is certainly a credential is replaced.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2_iter};

/// Replaces credentials.
const HIDDEN: &str = "***";

/// Ends of the names of passwords: `PGPASSWORD`, `--mysql-password`.
const PASSWORD_ENDS: [&str; 5] = ["password", "passwd", "passphrase", "mysql-pwd", "requirepass"];
/// Beginnings of options about passwords that have no value, such as `--no-password` of psql: the next word is another argument.
const FLAG_BEGINNINGS: [&str; 6] = ["no-", "ask-", "prompt-", "show-", "force-", "require-"];
/// Names of other credentials, alone or behind a hyphen.
const TOKEN_NAMES: [&str; 10] = [
    "secret",
    "secret-key",
    "secret-access-key",
    "api-key",
    "apikey",
    "auth-token",
    "access-token",
    "api-token",
    "session-token",
    "github-token",
];
/// Names that count only if nothing stands before them, since `--pad-token` and `--key-token` are no credentials.
const WHOLE_NAMES: [&str; 6] = ["token", "gh-token", "hf-token", "gitlab-token", "vault-token", "rediscli-auth"];
/// Headers of HTTP that hold credentials.
const HEADERS: [&str; 5] = ["authorization", "proxy-authorization", "x-api-key", "x-auth-token", "private-token"];
/// Schemes of the header Authorization, before the credential.
const SCHEMES: [&str; 4] = ["bearer", "basic", "token", "digest"];
/// Options of programs with a credential as their value: the program's name, or its beginning if it ends with `*`; the option; true if the value may
/// be the next word.
const PROGRAM_OPTIONS: [(&str, &str, bool); 11] = [
    ("curl", "-u", true),
    ("curl", "--user", true),
    ("curl", "-U", true),
    ("curl", "--proxy-user", true),
    ("ab", "-A", true),
    ("redis-cli", "-a", true),
    ("redis-cli", "--pass", true),
    ("redis-benchmark", "-a", true),
    ("sshpass", "-p", true),
    // The next word is a database.
    ("mysql*", "-p", false),
    ("mariadb*", "-p", false),
];

/// Replaces the credentials in a text: `http://***@host/`, `PGPASSWORD=***`, `Authorization: Bearer ***`. An address of HTTP loses a user
/// without a password, too, since a token stands there; `ssh://git@host/` stays. Idempotent.
pub fn hide_credentials(text: &str) -> Cow<'_, str> {
    replace_ranges(text, &credential_ranges(text))
}

/// Returns true if a text has credentials, replaced or not.
pub fn has_credentials(text: &str) -> bool {
    !credential_ranges(text).is_empty()
}

/// Returns true if the words of a command have credentials, replaced or not.
pub fn has_credentials_in_words(words: &[String]) -> bool {
    let mut scan = CommandScan::default();
    words.iter().any(|word| !scan.next_ranges(word).is_empty())
}

/// Returns the words of a command without credentials.
pub fn hide_in_words<'a>(words: impl IntoIterator<Item = &'a str>) -> impl Iterator<Item = Cow<'a, str>> {
    let mut scan = CommandScan::default();
    words.into_iter().map(move |word| replace_ranges(word, &scan.next_ranges(word)))
}

/// Returns the words of a command as one text without credentials; they are not quoted.
pub fn join_words(words: &[String]) -> String {
    hide_in_words(words.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
}

/// Replaces the credentials in the strings of JSON. An array of strings may be a command.
pub fn hide_in_json(json: &str) -> Cow<'_, str> {
    let (mut ranges, mut scan, mut end) = (Vec::new(), CommandScan::default(), 0);
    while let Some(begin) = memchr(b'"', &json.as_bytes()[end..]).map(|place| end + place + 1) {
        let is_next_word = json[end..begin - 1].trim_matches(|c: char| c.is_ascii_whitespace()) == ",";
        let string = &json[begin..string_end(json, begin)];
        end = (begin + string.len() + 1).min(json.len());
        // The name of a field is no word of a command.
        let is_name = json[end..].trim_start_matches(|c: char| c.is_ascii_whitespace()).starts_with(':');
        if !is_next_word || is_name {
            scan = CommandScan::default();
        }
        let found = if is_name { credential_ranges(string) } else { scan.next_ranges(string) };
        ranges.extend(found.into_iter().map(|range| begin + range.start..begin + range.end));
    }
    replace_ranges(json, &ranges)
}

/// Returns the end of a string of JSON that begins here, behind its quotation mark.
fn string_end(json: &str, begin: usize) -> usize {
    let mut is_escaped = false;
    let is_end = |byte: &u8| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    };
    json.as_bytes()[begin..].iter().position(is_end).map_or(json.len(), |length| begin + length)
}

fn replace_ranges<'a>(text: &'a str, ranges: &[Range<usize>]) -> Cow<'a, str> {
    if ranges.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut shown, mut written) = (String::with_capacity(text.len()), 0);
    for range in ranges {
        shown.push_str(&text[written..range.start]);
        shown.push_str(HIDDEN);
        written = range.end;
    }
    shown.push_str(&text[written..]);
    Cow::Owned(shown)
}

/// Finds credentials in the words of a command, one after the other. The words may be as they are written in JSON.
#[derive(Default)]
struct CommandScan {
    /// The kind of credential that the next word is, behind an option.
    awaited: Option<CredentialKind>,
    /// The program among the earlier words that has options of its own.
    program: Option<&'static str>,
}

impl CommandScan {
    fn next_ranges(&mut self, word: &str) -> Vec<Range<usize>> {
        let awaited = self.awaited.take().filter(|kind| !word.starts_with('-') && kind.is_credential(word));
        let option_value = || word.starts_with('-').then(|| self.option_value(word)).flatten();
        if let Some(begin) = awaited.map(|_| 0).or_else(option_value) {
            return std::iter::once(begin..word.len()).collect();
        }
        let name = word.rsplit('/').next().unwrap_or_default();
        let fits = |program: &str| program.strip_suffix('*').map_or(program == name, |begin| name.starts_with(begin));
        let program = PROGRAM_OPTIONS.iter().map(|(program, ..)| *program).find(|program| fits(program));
        self.program = program.or(self.program);
        credential_ranges(word)
    }

    /// Returns the place of a credential in an option's word, behind the option; awaits the next word if that is one.
    fn option_value(&mut self, word: &str) -> Option<usize> {
        let own = PROGRAM_OPTIONS.iter().filter(|(program, ..)| Some(*program) == self.program);
        for (_, option, takes_next) in own {
            match word.strip_prefix(option) {
                Some("") if *takes_next => self.awaited = Some(CredentialKind::Password),
                Some(value) if !option.starts_with("--") && !value.is_empty() => {}
                _ => continue,
            }
            // What follows may be another program's command, as behind `sshpass -p x`.
            self.program = None;
            return self.awaited.is_none().then_some(option.len());
        }
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let kind = CredentialKind::of_name(name)?;
        match value {
            Some(value) => kind.is_credential(value).then_some(name.len() + 1),
            None => {
                let is_flag = FLAG_BEGINNINGS.iter().any(|begin| name.trim_start_matches('-').starts_with(begin));
                self.awaited = (!is_flag).then_some(kind);
                None
            }
        }
    }
}

/// Which values of a name are credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CredentialKind {
    Password,
    /// Numbers are none: `--token 128` is a length.
    Token,
}

impl CredentialKind {
    fn of_name(name: &str) -> Option<Self> {
        let name = name.trim_start_matches('-').to_ascii_lowercase().replace(['_', '.'], "-");
        let is_behind =
            |end: &&str| name.strip_suffix(end).is_some_and(|begin| begin.is_empty() || begin.ends_with('-'));
        if PASSWORD_ENDS.iter().any(|end| name.ends_with(end)) {
            return Some(Self::Password);
        }
        let is_token = TOKEN_NAMES.iter().any(is_behind) || WHOLE_NAMES.contains(&name.as_str());
        is_token.then_some(Self::Token)
    }

    /// Returns true if a value is a credential itself: not empty, not a variable, not a placeholder.
    fn is_credential(self, value: &str) -> bool {
        let is_number = || value.bytes().all(|byte| byte.is_ascii_digit());
        !value.is_empty()
            && !value.starts_with(['$', '{', '%', '<', '`', '['])
            && (self == Self::Password || !is_number())
    }
}

/// Returns the places of the credentials in a text, in order. They end before quotation marks and backslashes, so the text may be a string as
/// it is written in JSON.
fn credential_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for place in memchr2_iter(b':', b'=', text.as_bytes()) {
        if ranges.last().is_some_and(|range| place < range.end) {
            continue;
        }
        let range = match &text[place..] {
            address if address.starts_with("://") => address_range(text, place),
            setting if setting.starts_with('=') => setting_range(text, place),
            _ => header_range(text, place),
        };
        ranges.extend(range);
    }
    ranges
}

/// Returns the credentials of the address with its `://` here: all before the last `@` of its authority (RFC 3986, 3.2).
fn address_range(text: &str, place: usize) -> Option<Range<usize>> {
    let begin = place + "://".len();
    let length = length_until(&text[begin..], "/?#\"\\<>");
    let length = text[begin..begin + length].rfind('@')?;
    let scheme = &text[..place];
    let is_page = ["http", "https"].iter().any(|name| has_suffix(scheme, name));
    let found = &text[begin..begin + length];
    let is_secret = is_page || found.contains(':') || found == HIDDEN;
    is_secret.then_some(begin..begin + length)
}

/// Returns the credential behind a `=`: `PGPASSWORD=x`, `--token='x y'`.
fn setting_range(text: &str, place: usize) -> Option<Range<usize>> {
    let name = name_before(text, place);
    let kind = CredentialKind::of_name(name)?;
    let before = text[..place - name.len()].chars().next_back();
    let value = &text[place + 1..];
    let inside = inside_quotes(value);
    let is_quoted = inside.len() < value.len() || before.is_some_and(|before| "\"'".contains(before));
    let begin = text.len() - inside.len();
    let length = match is_quoted {
        true => inside.find(|c: char| c.is_control() || "\"'\\".contains(c)).unwrap_or(inside.len()),
        false => length_until(inside, "\"'\\<>&;|`"),
    };
    kind.is_credential(&inside[..length]).then_some(begin..begin + length)
}

/// Returns a text without the quotation marks at its beginning, which may have backslashes before them.
fn inside_quotes(text: &str) -> &str {
    let mut inside = text;
    while let Some(rest) = inside.trim_start_matches('\\').strip_prefix(['"', '\'']) {
        inside = rest;
    }
    inside
}

/// Returns the credential behind the `:` of a header: `Authorization: Bearer x`.
fn header_range(text: &str, place: usize) -> Option<Range<usize>> {
    let name = name_before(text, place).to_ascii_lowercase();
    if !HEADERS.contains(&name.as_str()) {
        return None;
    }
    let next_word = |begin: usize| {
        let begin = text.len() - text[begin..].trim_start_matches(' ').len();
        begin..begin + length_until(&text[begin..], "\"'\\")
    };
    let first = next_word(place + 1);
    let is_scheme = SCHEMES.iter().any(|scheme| text[first.clone()].eq_ignore_ascii_case(scheme));
    let range = if is_scheme { next_word(first.end) } else { first };
    CredentialKind::Password.is_credential(&text[range.clone()]).then_some(range)
}

/// Returns the name that ends here. The first letter behind a backslash is part of an escape.
fn name_before(text: &str, end: usize) -> &str {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let length = text.as_bytes()[..end].iter().rev().take_while(|byte| is_of_name(byte)).count();
    let is_escape = text[..end - length].ends_with('\\') && length > 0;
    &text[end - length + usize::from(is_escape)..end]
}

/// Returns the length of a text up to whitespace, a control character or one of these.
fn length_until(text: &str, ends: &str) -> usize {
    text.find(|c: char| c.is_whitespace() || c.is_control() || ends.contains(c)).unwrap_or(text.len())
}

/// Returns true if a text ends with a name, whatever the case of its letters.
fn has_suffix(text: &str, name: &str) -> bool {
    let start = text.len().saturating_sub(name.len());
    text.get(start..).is_some_and(|end| end.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split('|').map(str::to_owned).collect()
    }

    #[test]
    fn addresses_lose_their_passwords_and_nothing_else() {
        for (text, shown) in [
            ("http://admin:hunter2@127.0.0.1:80/good", "http://***@127.0.0.1:80/good"),
            ("HTTPS://token@host", "HTTPS://***@host"),
            ("curl -s 'http://a:b@c/?d=e@f' x@y", "curl -s 'http://***@c/?d=e@f' x@y"),
            ("redis://:secret@host,postgres://u:p@ss@host/db", "redis://***@host,postgres://***@host/db"),
            ("--url=http://a:ä@h --to=amqp://b:c@i", "--url=http://***@h --to=amqp://***@i"),
            ("http://***@host", "http://***@host"),
        ] {
            assert_eq!(hide_credentials(text), shown);
            assert!(has_credentials(text) && has_credentials(shown), "{shown}");
        }
        for text in ["ssh://git@host/x", "http://host:80/a@b", "http://host?a=b:c@d", "user:password@host", "a://", ""]
        {
            assert!(matches!(hide_credentials(text), Cow::Borrowed(same) if same == text), "{text}");
            assert!(!has_credentials(text), "{text}");
        }
    }

    #[test]
    fn settings_and_headers_lose_their_credentials() {
        for (text, shown) in [
            ("PGPASSWORD=hunter2 psql -c 'select 1'", "PGPASSWORD=*** psql -c 'select 1'"),
            ("export X=1 DB_PASSWORD='a b';ls", "export X=1 DB_PASSWORD='***';ls"),
            ("AWS_SECRET_ACCESS_KEY=aB/9+x= aws", "AWS_SECRET_ACCESS_KEY=*** aws"),
            ("sysbench --mysql-password=x&y run", "sysbench --mysql-password=***&y run"),
            ("run '--password=a&b c' d", "run '--password=***' d"),
            ("x --token=abc\ny --api_key=\"d e\"", "x --token=***\ny --api_key=\"***\""),
            ("http://h/?access_token=abc&page=2", "http://h/?access_token=***&page=2"),
            ("wrk -H 'Authorization: Bearer a.b.c' http://h", "wrk -H 'Authorization: Bearer ***' http://h"),
            ("-H authorization:abc -H X-Api-Key: d", "-H authorization:*** -H X-Api-Key: ***"),
            ("Server=h;Password=x;Encrypt=no", "Server=h;Password=***;Encrypt=no"),
            ("first\ntoken=abc", "first\ntoken=***"),
        ] {
            assert_eq!(hide_credentials(text), shown);
            assert_eq!(hide_credentials(shown), shown);
            assert!(has_credentials(text) && has_credentials(shown), "{shown}");
        }
    }

    #[test]
    fn options_of_a_command_lose_their_credentials() {
        for (line, shown) in [
            ("pgbench|--password|hunter2|db", "pgbench|--password|***|db"),
            ("app|--password=a b&c|x", "app|--password=***|x"),
            ("app|-token|abc|--client-secret|d", "app|-token|***|--client-secret|***"),
            ("mysql|-u|root|-phunter2|db", "mysql|-u|root|-p***|db"),
            ("env|MYSQL_PWD=1|/usr/bin/mysqlslap|-phunter2", "env|MYSQL_PWD=***|/usr/bin/mysqlslap|-p***"),
            ("curl|-u|user:pass|http://h", "curl|-u|***|http://h"),
            ("curl|-uuser:pass|http://h", "curl|-u***|http://h"),
            ("sshpass|-p|hunter2|ssh|-p2222|h", "sshpass|-p|***|ssh|-p2222|h"),
            ("redis-benchmark|-a|hunter2|-c|50", "redis-benchmark|-a|***|-c|50"),
            ("sh|-c|PGPASSWORD=x psql", "sh|-c|PGPASSWORD=*** psql"),
        ] {
            let (line, shown) = (words(line), words(shown));
            assert_eq!(hide_in_words(line.iter().map(String::as_str)).collect::<Vec<_>>(), shown);
            assert_eq!(hide_in_words(shown.iter().map(String::as_str)).collect::<Vec<_>>(), shown);
            assert!(has_credentials_in_words(&shown) && has_credentials_in_words(&line), "{shown:?}");
            let json = serde_json::json!({"name": line, "--password": "x"}).to_string();
            assert_eq!(hide_in_json(&json), serde_json::json!({"name": shown, "--password": "x"}).to_string());
        }
        assert_eq!(join_words(&words("a|--password|b")), "a --password ***");
    }

    #[test]
    fn harmless_words_stay() {
        for text in [
            "--password",
            "the option --password takes a value",
            "wrong password: try again",
            "Password:",
            "--password=$DB_PASSWORD psql",
            "--password=<TEXT>, --token=",
            "--max-tokens=128 --token=128 --pad-token=<pad> tokens=5 num_token=abc",
            "--password-file=/run/secret",
            "PWD=/home/x --passes=3 --pass=3 key=value --keys=5",
            "ops=5 p99: 12 Bearer of news",
            "docker run -u 1000:1000 -p 80:80 -p8080:80 x",
            "ssh -p2222 host",
        ] {
            assert_eq!(hide_credentials(text), text);
            let line: Vec<String> = text.split(' ').map(str::to_owned).collect();
            let is_followed = text.contains("--password takes");
            assert!(is_followed || join_words(&line) == text, "{}", join_words(&line));
        }
        for line in [
            "psql|--password|-c|x",
            "psql|--no-password|db",
            "mysql|-p|db",
            "app|--token|128",
            "app|--password|$X",
            "rsync|/a/***",
        ] {
            assert_eq!(join_words(&words(line)), line.replace('|', " "));
            assert!(!has_credentials_in_words(&words(line)));
        }
    }

    const PIECES: &str = "(a|://|@|:|\"|'|\\\\|\n|/|ä|http|=| |-|password|token|authorization|bearer|\\$|\\*){0,12}";

    proptest! {
        #[test]
        fn json_keeps_its_structure(texts in prop::collection::vec(PIECES, 0..4)) {
            let json = serde_json::to_string(&texts).unwrap();
            let hidden: Value = serde_json::from_str(&hide_in_json(&json)).unwrap();
            let each: Vec<Cow<'_, str>> = hide_in_words(texts.iter().map(String::as_str)).collect();
            prop_assert_eq!(hidden, serde_json::json!(each));
        }

        #[test]
        fn what_is_hidden_stays_so(text in PIECES) {
            let once = hide_credentials(&text).into_owned();
            prop_assert_eq!(hide_credentials(&once).into_owned(), once);
        }
    }
}
