//! Standard input as a whole, for commands that read it in place of a file.

use std::io::{self, Read as _};

use super::failure::CommandFailure;

/// Reads standard input to its end.
///
/// # Errors
/// If it has more than `most` bytes, or cannot be read.
pub fn read_standard_input(most: u64) -> Result<Vec<u8>, CommandFailure> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| CommandFailure::unavailable_error(format!("standard input: {error}")))?;
    if bytes.len() as u64 > most {
        return Err(CommandFailure::unavailable_error(format!("standard input has more than {most} bytes")));
    }
    Ok(bytes)
}
