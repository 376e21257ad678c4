//! The kernel's lockdown (kernel_lockdown(7)).

/// Path of its state: "none [integrity] confidentiality".
pub const LOCKDOWN_STATE: &str = "sys/kernel/security/lockdown";
/// The mode in which the kernel shows nothing of itself, not even to root.
pub const HIDES_ALL: &str = "confidentiality";
/// The way out of that mode.
pub const UNLOCK: &str = "boot it without lockdown=confidentiality";

/// Returns the chosen mode; `None` if the kernel is not locked down.
pub fn parse_lockdown(text: &str) -> Option<&str> {
    let chosen = text.split_once('[')?.1.split_once(']')?.0;
    (chosen != "none").then_some(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_mode_is_in_brackets() {
        assert_eq!(parse_lockdown("none integrity [confidentiality]\n"), Some(HIDES_ALL));
        assert_eq!(parse_lockdown("none [integrity] confidentiality\n"), Some("integrity"));
        assert_eq!(parse_lockdown("[none] integrity confidentiality\n"), None);
        assert_eq!(parse_lockdown(""), None);
    }
}
