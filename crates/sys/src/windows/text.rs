//! Texts in Windows' form: UTF-16, with a zero at the end.

/// Converts a text, adding the zero.
pub fn to_wide(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0]).collect()
}

/// Converts units up to the first zero.
pub fn from_wide(units: &[u16]) -> String {
    let end = units.iter().position(|unit| *unit == 0).unwrap_or(units.len());
    String::from_utf16_lossy(&units[..end])
}
