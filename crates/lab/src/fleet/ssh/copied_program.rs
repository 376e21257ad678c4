//! The program that hosts without corewise get: this one, if it needs nothing of the system that it runs on.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use corewise_sys::input::open_for_command;

use super::super::error::FleetError;

/// Part of a program in which its headers lie, in bytes.
const HEADERS_BYTES: u64 = 64 << 10;
/// Type of the program header that names the dynamic linker: elf(5), PT_INTERP.
const INTERPRETER: u32 = 3;

/// A program that runs on other machines of the same architecture and system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedProgram {
    path: PathBuf,
}

impl CopiedProgram {
    /// Checks a program.
    ///
    /// # Errors
    /// [`FleetError::NotCopied`] if it cannot be read, or needs the libraries of the system that it was built on.
    pub fn check(path: &Path) -> Result<Self, FleetError> {
        let failed = |why: String| FleetError::NotCopied { path: path.to_owned(), why };
        let mut headers = Vec::new();
        let read = open_for_command(path).and_then(|file| file.take(HEADERS_BYTES).read_to_end(&mut headers));
        read.map_err(|error| failed(error.to_string()))?;
        match has_interpreter(&headers) {
            Some(false) => Ok(Self { path: path.to_owned() }),
            Some(true) => {
                Err(failed("it needs libraries of this system. Use the static program of a release".to_owned()))
            }
            None => Err(failed("it is no program for Linux".to_owned())),
        }
    }

    /// Opens it as the input of another process.
    pub(super) fn open_input(&self) -> io::Result<Stdio> {
        open_for_command(&self.path).map(Stdio::from)
    }
}

/// Returns true if an ELF file of 64 bits names a dynamic linker; `None` for other files. elf(5).
fn has_interpreter(headers: &[u8]) -> Option<bool> {
    const CLASS_64: u8 = 2;
    const LITTLE_ENDIAN: u8 = 1;
    if !headers.starts_with(b"\x7fELF") || headers.get(4) != Some(&CLASS_64) || headers.get(5) != Some(&LITTLE_ENDIAN) {
        return None;
    }
    let number = |at: usize, bytes: usize| {
        let field = headers.get(at..at.checked_add(bytes)?)?;
        field.iter().rev().try_fold(0_usize, |number, byte| Some(number.checked_mul(256)? + usize::from(*byte)))
    };
    let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    for entry in 0..count {
        if number(table.checked_add(entry * size)?, 4)? == INTERPRETER as usize {
            return Some(true);
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_needs_libraries_is_not_copied() {
        let text = tempfile::NamedTempFile::new().unwrap();
        let sh = CopiedProgram::check(Path::new("/bin/sh")).unwrap_err().to_string();
        assert_eq!(
            sh,
            "/bin/sh cannot be copied: it needs libraries of this system. Use the static program of a release"
        );
        assert!(CopiedProgram::check(text.path()).unwrap_err().to_string().ends_with("no program for Linux"));
        assert!(CopiedProgram::check(Path::new("/no/such/file")).is_err());
    }

    #[test]
    fn a_header_that_leads_outside_is_no_program() {
        let mut headers = b"\x7fELF\x02\x01".to_vec();
        headers.resize(64, 0xff);
        assert_eq!(has_interpreter(&headers), None);
        headers[56..58].fill(0);
        assert_eq!(has_interpreter(&headers), Some(false), "a program without headers needs no linker");
    }
}
