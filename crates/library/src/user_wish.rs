//! Wishes of the program's user, from its environment.

/// Variable that turns placing off.
pub const SWITCH_VARIABLE: &str = "COREWISE";
/// Variable with an expression that replaces the program's.
pub const PLACE_VARIABLE: &str = "COREWISE_PLACE";
/// Value of [`SWITCH_VARIABLE`] that leaves every thread alone.
const OFF: &str = "off";

/// The wish of the person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserWish {
    /// True if every thread stays where it is.
    pub is_off: bool,
    /// The expression to use instead of the program's.
    pub place: Option<String>,
    /// A value that means nothing, as a sentence.
    pub doubt: Option<String>,
}

impl UserWish {
    /// Reads the environment of this process.
    pub fn from_environment() -> Self {
        let value = |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        Self::from_values(value(SWITCH_VARIABLE).as_deref(), value(PLACE_VARIABLE))
    }

    fn from_values(switch: Option<&str>, place: Option<String>) -> Self {
        let is_off = switch.is_some_and(|switch| switch.trim().eq_ignore_ascii_case(OFF));
        let unknown = switch.filter(|switch| !is_off && !switch.trim().eq_ignore_ascii_case("on"));
        let doubt = unknown.map(|switch| format!("{SWITCH_VARIABLE}={switch} means nothing: it may be \"{OFF}\"."));
        Self { is_off, place, doubt }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_off_turns_placing_off_and_other_words_are_doubted() {
        let wish = |switch| UserWish::from_values(switch, None);
        assert_eq!(wish(None), UserWish::default());
        assert_eq!(wish(Some("on")), UserWish::default());
        assert_eq!(wish(Some(" OFF ")), UserWish { is_off: true, ..UserWish::default() });
        let unknown = wish(Some("of"));
        assert!(!unknown.is_off && unknown.doubt.unwrap().contains("COREWISE=of means nothing"));
    }
}
