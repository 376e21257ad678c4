//! Finding a number in lines that a program wrote.

pub use regex_lite::Error as PatternError;
use regex_lite::Regex;

/// Finds a metric's number in lines of output.
#[derive(Clone, Debug)]
pub struct Finder(Regex);

impl Finder {
    /// A finder for a regular expression.
    ///
    /// # Errors
    /// What is wrong with the expression.
    pub fn new(pattern: &str) -> Result<Self, PatternError> {
        Regex::new(pattern).map(Self)
    }

    /// The number in a line: of the first group, or of the whole match where there is no group. What matches and is no
    /// number is given as an error.
    pub fn find(&self, line: &str) -> Option<Result<f64, String>> {
        let found = self.0.captures(line)?;
        let text = found.get(1).or_else(|| found.get(0))?.as_str();
        let number = without_thousands(text.trim()).and_then(|text| text.parse().ok());
        Some(number.filter(|number: &f64| number.is_finite()).ok_or_else(|| text.to_owned()))
    }
}

/// "1234.5" for "1,234.5", as many programs write it; nothing where commas stand elsewhere, as in "1,5".
fn without_thousands(text: &str) -> Option<String> {
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, fraction)| (whole, Some(fraction)));
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let are_thousands = groups.clone().all(|group| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit()));
    let begins_well = !whole.contains(',') || (1..=3).contains(&first.trim_start_matches(['-', '+']).len());
    let ends_well = !fraction.is_some_and(|fraction| fraction.contains(','));
    (are_thousands && begins_well && ends_well).then(|| text.replace(',', ""))
}
