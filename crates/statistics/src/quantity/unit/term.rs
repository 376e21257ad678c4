//! One side of a unit: a time, an amount of data, a physical quantity, or a label.

use std::borrow::Cow;

/// Maximum number of characters of a label; longer ones are cut.
const MAX_LABEL_CHARS: usize = 32;

/// Units of time with their words, and their length in picoseconds.
const TIMES: [(&str, f64, &[&str]); 9] = [
    ("ps", 1.0, &["ps", "psec", "picosecond", "picoseconds"]),
    ("ns", 1e3, &["ns", "nsec", "nsecs", "nanosec", "nanosecs", "nanosecond", "nanoseconds"]),
    ("µs", 1e6, &["us", "µs", "μs", "usec", "usecs", "µsec", "microsec", "microsecs", "microsecond", "microseconds"]),
    ("ms", 1e9, &["ms", "msec", "msecs", "millisec", "millisecs", "millisecond", "milliseconds", "millis"]),
    ("s", 1e12, &["s", "sec", "secs", "second", "seconds"]),
    ("min", 60e12, &["m", "min", "mins", "minute", "minutes"]),
    ("h", 3_600e12, &["h", "hr", "hrs", "hour", "hours"]),
    ("d", 86_400e12, &["d", "day", "days"]),
    ("week", 604_800e12, &["week", "weeks"]),
];
const SECOND: f64 = 1e12;

/// Decimal prefixes, also of counts; "K" is accepted by common use.
const DECIMAL: [(char, f64); 7] =
    [('k', 1e3), ('K', 1e3), ('M', 1e6), ('G', 1e9), ('T', 1e12), ('P', 1e15), ('E', 1e18)];
/// The same in words.
const DECIMAL_WORDS: [(&str, char); 4] = [("kilo", 'k'), ("mega", 'M'), ("giga", 'G'), ("tera", 'T')];
const BINARY_WORDS: [(&str, char); 4] = [("kibi", 'k'), ("mebi", 'M'), ("gibi", 'G'), ("tebi", 'T')];
/// Words for numbers.
const NUMBERS: [(&str, f64); 3] = [("thousand", 1e3), ("million", 1e6), ("billion", 1e9)];

/// Physical units, with their words; they take any prefix. Factors count in billionths.
const PHYSICAL: [(&str, &[&str]); 4] =
    [("W", &["watt", "watts"]), ("J", &["joule", "joules"]), ("V", &["volt", "volts"]), ("Hz", &["hertz"])];
const PHYSICAL_PREFIXES: [(&str, f64); 9] =
    [("", 1e9), ("n", 1.0), ("µ", 1e3), ("u", 1e3), ("m", 1e6), ("k", 1e12), ("K", 1e12), ("M", 1e15), ("G", 1e18)];

/// Words for counts per second; they take the prefixes of counts. "T" only in capitals: "TOPS", but not "Tops".
const RATES: [&str; 15] =
    ["ops", "OPS", "iops", "IOPS", "qps", "QPS", "rps", "RPS", "tps", "TPS", "pps", "PPS", "IPS", "flops", "FLOPS"];
/// Counted things that take a prefix in a rate: "Melem/s".
const COUNTED: [&str; 13] =
    ["elem", "op", "flop", "iop", "req", "request", "query", "packet", "pkt", "update", "sample", "pixel", "token"];

/// The kind of quantity of a term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UnitKind {
    /// Time, in picoseconds.
    Time,
    /// Data, in bits.
    Data,
    /// A physical unit, by its symbol, in billionths.
    Physical(&'static str),
    /// Per cent.
    Percent,
    /// A label of unknown meaning.
    Label,
}

/// One side of a unit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UnitTerm {
    kind: UnitKind,
    /// Factor to the kind's smallest unit, a whole number.
    factor: f64,
    text: Cow<'static, str>,
}

impl UnitTerm {
    pub const BARE: Self = Self { kind: UnitKind::Label, factor: 1.0, text: Cow::Borrowed("") };

    pub fn seconds() -> Self {
        Self { kind: UnitKind::Time, factor: SECOND, text: Cow::Borrowed("s") }
    }

    /// Creates a label.
    pub fn from_label(text: &str) -> Self {
        let text: String = text.chars().take(MAX_LABEL_CHARS).collect();
        Self { kind: UnitKind::Label, factor: 1.0, text: text.into() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_bare(&self) -> bool {
        self.text.is_empty()
    }

    pub fn is_time(&self) -> bool {
        self.kind == UnitKind::Time
    }

    pub fn is_label(&self) -> bool {
        self.kind == UnitKind::Label
    }

    pub fn is_base(&self) -> bool {
        let base: &[f64] = match self.kind {
            UnitKind::Time => &[SECOND],
            UnitKind::Data => &[1.0, 8.0],
            UnitKind::Physical(_) => &[1e9],
            UnitKind::Percent | UnitKind::Label => &[1.0],
        };
        base.contains(&self.factor)
    }

    /// Returns the factors of this and another term to their kind's smallest unit; `None` if they are of different
    /// kinds, or different labels.
    pub fn common_factors(&self, other: &Self) -> Option<(f64, f64)> {
        let is_same_label = || strip_plural(&self.text) == strip_plural(&other.text);
        (self.kind == other.kind && (!self.is_label() || is_same_label())).then_some((self.factor, other.factor))
    }

    /// Parses a known unit; `None` for all other words.
    pub fn parse_known(word: &str) -> Option<Self> {
        parse_time(word).or_else(|| parse_data(word)).or_else(|| parse_physical(word)).or_else(|| {
            let is_percent = word == "%" || ["percent", "pct"].iter().any(|name| word.eq_ignore_ascii_case(name));
            is_percent.then_some(Self { kind: UnitKind::Percent, factor: 1.0, text: Cow::Borrowed("%") })
        })
    }
}

/// Returns a label in lower case and without a plural ending: "frames" have the same unit as a "frame", "misses" as a
/// "miss".
fn strip_plural(label: &str) -> String {
    let label = label.to_lowercase();
    if let Some(stem) = label.strip_suffix("ies") {
        return format!("{stem}y");
    }
    let has_es = ["sses", "ches", "shes", "xes"].iter().any(|ending| label.ends_with(ending));
    let without = if has_es { label.strip_suffix("es") } else { label.strip_suffix('s') };
    without.filter(|_| !label.ends_with("ss")).unwrap_or(&label).to_owned()
}

/// Compares a word with a name. Short words are case-sensitive: "MS" is not a millisecond, "M" not a minute.
fn is_word(word: &str, name: &str) -> bool {
    word == name || (name.chars().count() > 2 && word.eq_ignore_ascii_case(name))
}

fn parse_time(word: &str) -> Option<UnitTerm> {
    let (text, factor, _) = TIMES.iter().find(|(_, _, names)| names.iter().any(|name| is_word(word, name)))?;
    Some(UnitTerm { kind: UnitKind::Time, factor: *factor, text: Cow::Borrowed(text) })
}

/// Returns the seconds in a unit of time.
pub(in crate::quantity) fn time_factor_s(word: &str) -> Option<f64> {
    let time = parse_time(word)?;
    Some(if time.factor < SECOND { 1.0 / (SECOND / time.factor) } else { time.factor / SECOND })
}

/// Returns true if a word of a name or a pattern can only be a unit of time: "min" may also be a minimum.
pub fn is_time_word(word: &str) -> bool {
    !["m", "h", "d", "min", "mins", "hr"].contains(&word) && parse_time(word).is_some()
}

/// Parses bytes and bits: "B", "kB", "KiB", "Mbit", "GBytes", "megabytes". "mb" is ambiguous, and a label.
fn parse_data(word: &str) -> Option<UnitTerm> {
    let lower = word.to_lowercase();
    let in_words = |prefixes: &[(&str, char); 4]| {
        let of = |(name, prefix): &(&str, char)| Some((*prefix, lower.strip_prefix(name)?.to_owned()));
        prefixes.iter().find_map(of)
    };
    let (prefix, is_binary, rest) = match (in_words(&DECIMAL_WORDS), in_words(&BINARY_WORDS)) {
        (Some((prefix, rest)), _) => (Some(prefix), false, rest),
        (_, Some((prefix, rest))) => (Some(prefix), true, rest),
        _ => in_letters(word),
    };
    let (bits, symbol) = match rest.as_str() {
        "B" => (8.0, "B"),
        "b" => (1.0, "bit"),
        other => match other.to_lowercase().as_str() {
            "byte" | "bytes" => (8.0, "B"),
            "bit" | "bits" => (1.0, "bit"),
            _ => return None,
        },
    };
    let prefix = prefix.map(|prefix| if prefix == 'K' { 'k' } else { prefix });
    let power = prefix.map_or(1.0, |prefix| decimal_factor(prefix).unwrap_or(1.0));
    let factor = if is_binary { 1024_f64.powf((power.log10() / 3.0).round()) } else { power };
    let text = match prefix {
        None => symbol.to_owned(),
        Some('k') if is_binary => format!("Ki{symbol}"),
        Some(prefix) => format!("{prefix}{}{symbol}", if is_binary { "i" } else { "" }),
    };
    Some(UnitTerm { kind: UnitKind::Data, factor: bits * factor, text: text.into() })
}

/// Returns the prefix of a word in letters, true if it is binary, and the rest.
fn in_letters(word: &str) -> (Option<char>, bool, String) {
    let first = word.chars().next().filter(|first| decimal_factor(*first).is_some() && word.len() > 1);
    let Some(first) = first else { return (None, false, word.to_owned()) };
    let rest = &word[1..];
    let without_i = rest.strip_prefix('i').filter(|rest| !rest.is_empty());
    (Some(first), without_i.is_some(), without_i.unwrap_or(rest).to_owned())
}

fn decimal_factor(prefix: char) -> Option<f64> {
    DECIMAL.iter().find(|(letter, _)| *letter == prefix).map(|(_, factor)| *factor)
}

fn parse_physical(word: &str) -> Option<UnitTerm> {
    let of = |(symbol, names): &(&'static str, &[&str])| {
        let prefix =
            if names.iter().any(|name| word.eq_ignore_ascii_case(name)) { "" } else { word.strip_suffix(symbol)? };
        let (_, factor) = PHYSICAL_PREFIXES.iter().find(|(name, _)| *name == prefix)?;
        let text = if prefix.is_empty() { Cow::Borrowed(*symbol) } else { word.to_owned().into() };
        Some(UnitTerm { kind: UnitKind::Physical(symbol), factor: *factor, text })
    };
    PHYSICAL.iter().find_map(of)
}

/// Returns the number that a word stands for: "k", "M", "Ki", "million".
pub(super) fn parse_multiplier(word: &str) -> Option<f64> {
    let of_words = NUMBERS.iter().find(|(name, _)| word.eq_ignore_ascii_case(name)).map(|(_, factor)| *factor);
    let mut letters = word.chars();
    let power = letters.next().filter(|letter| !"PE".contains(*letter)).and_then(decimal_factor);
    let of_letters = || match letters.as_str() {
        "" => power,
        "i" => power.map(|power| 1024_f64.powf((power.log10() / 3.0).round())),
        _ => None,
    };
    of_words.or_else(of_letters)
}

/// Splits the prefix off a rate word, "kIOPS": its factor, and the rest.
pub(super) fn split_rate(word: &str) -> Option<(f64, &str)> {
    let (factor, rest) = split_prefix(word)?;
    let is_clear = !word.starts_with('T') || rest.bytes().all(|letter| letter.is_ascii_uppercase());
    (is_clear && RATES.contains(&rest)).then_some((factor, rest))
}

/// Splits the prefix off a counted thing, "Melem", likewise.
pub(super) fn split_count(word: &str) -> Option<(f64, &str)> {
    let (factor, rest) = split_prefix(word)?;
    let one = rest.strip_suffix('s').unwrap_or(rest);
    (!word.starts_with('T') && COUNTED.contains(&one)).then_some((factor, rest))
}

fn split_prefix(word: &str) -> Option<(f64, &str)> {
    let factor = word.chars().next().filter(|letter| !"PE".contains(*letter)).and_then(decimal_factor)?;
    Some((factor, &word[1..]))
}
