//! Estimated durations, as every sentence and every suggested command states them.

/// Rounds an estimated duration in seconds up to a common one; `None` beyond a day.
pub fn enough_s(seconds: f64) -> Option<u64> {
    let step = match seconds {
        _ if seconds <= 10.0 => 1.0,
        _ if seconds <= 60.0 => 10.0,
        _ if seconds <= 1800.0 => 60.0,
        _ if seconds <= 7200.0 => 600.0,
        _ => 3600.0,
    };
    let rounded = ((seconds / step).ceil() * step).max(step);
    (rounded <= 86_400.0).then_some(rounded as u64)
}

/// Formats a duration: "about 6 s", "about 40 s", "about 3 min", "about 2 h", "more than a day".
pub fn format_about(seconds: f64) -> String {
    match enough_s(seconds) {
        None => "more than a day".to_owned(),
        Some(seconds) if seconds >= 3600 && seconds.is_multiple_of(3600) => format!("about {} h", seconds / 3600),
        Some(seconds) if seconds > 60 => format!("about {} min", seconds / 60),
        Some(seconds) => format!("about {seconds} s"),
    }
}

/// Formats an estimated duration as options take it: "40s", "3m", "2h"; a day if it is longer.
pub fn format_estimate_option(seconds: f64) -> String {
    let seconds = enough_s(seconds).unwrap_or(86_400);
    match (seconds % 3600, seconds % 60) {
        (0, _) => format!("{}h", seconds / 3600),
        (_, 0) => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}
