//! What contains commands is executed only where nobody else can have written it, or where the user has accepted exactly this content.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use corewise_sys::{files, input};
use sha2::{Digest as _, Sha256};

use super::failure::Failure;
use super::settings::Settings;
use crate::draw::text::printable;

/// The list of what was accepted, in the user's folder of data.
const LIST: &str = "trusted";
/// So many commands are shown.
const SHOWN: usize = 12;

/// Commands that a file holds.
pub struct Commands<'a> {
    /// The file.
    pub file: &'a Path,
    /// Who else can have written it, as [`input::Input::writers`] says.
    pub writers: Option<String>,
    /// All that is executed, and all that decides how.
    pub content: &'a [u8],
    /// What would be executed, a line each.
    pub lines: Vec<String>,
}

impl Commands<'_> {
    /// Refuses commands that somebody else can have written, unless the user accepts them now or has before.
    ///
    /// # Errors
    /// What would be executed, and how to accept it.
    pub fn check(&self, settings: &Settings) -> Result<(), Failure> {
        let Some(why) = &self.writers else { return Ok(()) };
        let digest = Sha256::digest(self.content).iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        let list = settings.data.as_ref().map(|data| data.join(LIST));
        let known = list.as_ref().and_then(|list| input::settings(list).ok()).unwrap_or_default();
        if known.lines().any(|line| line.split(' ').next() == Some(&digest)) {
            return Ok(());
        }
        let is_same = |trusted: &Path| trusted.canonicalize().ok() == self.file.canonicalize().ok();
        if settings.trust.as_deref().is_some_and(is_same) {
            if let Some(list) = list {
                let _ = remember(&list, &format!("{digest} {}", printable(&self.file.display().to_string())));
            }
            return Ok(());
        }
        let mut shown: Vec<String> =
            self.lines.iter().take(SHOWN).map(|line| format!("\n    {}", printable(line))).collect();
        shown.extend((self.lines.len() > SHOWN).then(|| format!("\n    and {} more", self.lines.len() - SHOWN)));
        let file = printable(&self.file.display().to_string());
        Err(Failure::unavailable(format!("{file} is not executed: {why}, so somebody else can have written it")).next(
            format!(
                "It would run:{}\n  If you have read it and accept exactly this content, add --trust {file}",
                shown.concat()
            ),
        ))
    }
}

/// Adds a line to the list.
fn remember(list: &Path, line: &str) -> std::io::Result<()> {
    files::make_private_folder(list.parent().unwrap_or(Path::new(".")))?;
    let mut file = match files::create_new_private(list) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => files::open_itself(list)?,
        made => made?,
    };
    std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0))?;
    writeln!(file, "{line}")
}
