//! Trust in files with commands. They run only if no other user can have written them, or if the user has accepted
//! exactly this content.

use std::fmt::Write as _;
use std::path::Path;

use corewise_sys::file_place::FileOrigin;
use corewise_sys::input::{InputFile, InputKind};
use corewise_sys::{files, output};
use sha2::{Digest as _, Sha256};

use super::failure::CommandFailure;
use super::settings::ProgramSettings;
use crate::draw::text::make_printable;

/// List of accepted content, in the user's data folder.
const LIST: &str = "trusted";
/// Commands that are shown at most.
const SHOWN: usize = 12;

/// Commands that a file holds.
pub struct FileCommands<'a> {
    /// The file as it was named, for messages.
    pub file: &'a Path,
    /// Origin of the file that the content was read from.
    pub origin: &'a FileOrigin,
    /// Page that an experiment was imported from: its commands are another user's, even in this user's store.
    pub imported: Option<&'a str>,
    /// All that is executed, and all that decides how.
    pub content: &'a [u8],
    /// Commands that would be executed, one per line.
    pub lines: Vec<String>,
}

impl FileCommands<'_> {
    /// Refuses commands that another user can have written, unless the user accepts them now or has before.
    ///
    /// # Errors
    /// A failure that shows the commands and how to accept them.
    pub fn check_trust(&self, settings: &ProgramSettings) -> Result<(), CommandFailure> {
        let imported = || self.imported.map(|page| format!("the experiment was imported from {page}"));
        let Some(why) = self.origin.writers().map(str::to_owned).or_else(imported) else { return Ok(()) };
        let digest = Sha256::digest(self.content).iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        let list = settings.data.as_ref().map(|data| data.join(LIST));
        let known = list.as_ref().and_then(|list| read_list(list)).unwrap_or_default();
        if known.lines().any(|line| line.split(' ').next() == Some(&digest)) {
            return Ok(());
        }
        if settings.trust.as_deref().is_some_and(|trusted| self.origin.is_at(trusted)) {
            if let Some(list) = list {
                let line = format!("{digest} {}\n", make_printable(&self.file.display().to_string()));
                let _ = write_list(&list, &(known + &line));
            }
            return Ok(());
        }
        let mut shown: Vec<String> =
            self.lines.iter().take(SHOWN).map(|line| format!("\n    {}", make_printable(line))).collect();
        shown.extend((self.lines.len() > SHOWN).then(|| format!("\n    and {} more", self.lines.len() - SHOWN)));
        let file = make_printable(&self.file.display().to_string());
        Err(CommandFailure::unavailable_error(format!(
            "{file} is not executed: {why}, so another user may have written it"
        ))
        .with_hint(format!(
            "It would run:{}\n  If you have read it and accept exactly this content, add --trust {file}",
            shown.concat()
        )))
    }
}

/// Reads the list; `None` if others can have written it.
fn read_list(list: &Path) -> Option<String> {
    let (text, origin) = InputFile::open(list, InputKind::TrustList).and_then(InputFile::text_with_origin).ok()?;
    origin.writers().is_none().then_some(text)
}

fn write_list(list: &Path, text: &str) -> std::io::Result<()> {
    files::make_private_folder(list.parent().unwrap_or(Path::new(".")))?;
    output::replace_file(list, text.as_bytes())
}
