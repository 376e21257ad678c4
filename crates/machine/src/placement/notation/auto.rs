//! Recognition of the notation of a text: by its commands, keys and marks, or by the form of a bare value.

use super::choices::{NamedReading, agree, keep_speaking};
use super::text::{TextFault, TextPiece};
use super::{Notation, NotationError, NotationReading, bare, dispatch, guess, setting};
use crate::Machine;

/// A text with a recognized notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecognizedText {
    /// The notation.
    pub notation: Notation,
    /// The meaning.
    pub reading: NotationReading,
}

/// Recognizes the notation of a text as people have it, and reads it: a line of a configuration file, a command, a tool's output, a value.
///
/// # Errors
/// If nothing is recognized, or the text has several meanings with different cpus; [`NotationError::choices`] has a command for each.
///
/// # Examples
/// ```
/// use corewise_machine::placement::notation::{Notation, recognize_notation};
/// use corewise_machine::{CpuSet, generate::one_package_machine};
///
/// let machine = one_package_machine(8, false, &[(CpuSet::first_cpus(8), 16)]);
/// let found = recognize_notation("sudo nice -n 5 taskset -c 2-3 ./app", &machine)?;
/// assert_eq!((found.notation, found.reading.cpus.to_string().as_str()), (Notation::Taskset, "2,3"));
/// let question = recognize_notation("3", &machine).unwrap_err();
/// assert_eq!(question.choices[0].command.shell_line(), "corewise place --from list -- 3");
/// # Ok::<(), corewise_machine::placement::notation::NotationError>(())
/// ```
pub fn recognize_notation(text: &str, machine: &Machine) -> Result<RecognizedText, NotationError> {
    dispatch::read_whole(text, machine, |piece| {
        let (notation, reading) = recognize_piece(piece, machine)?;
        let mut reading = reading;
        reading.remarks.insert(0, format!("Read as {}.", notation.meaning().split(':').next().unwrap_or_default()));
        Ok((notation, reading))
    })
    .map(|(notation, reading)| RecognizedText { notation, reading })
}

/// Turns a refusal into a question if the text may name cpus all the same.
fn ask_if_unknown(fault: TextFault, text: TextPiece<'_>) -> TextFault {
    if fault.choices.is_empty() { guess::ask_about(text).unwrap_or(fault) } else { fault }
}

fn recognize_piece(text: TextPiece<'_>, machine: &Machine) -> Result<(Notation, NotationReading), TextFault> {
    if text.is_empty() {
        return Err(text.fault_here("there is nothing to read"));
    }
    let mut found: Vec<Notation> =
        Notation::ALL.into_iter().filter(|notation| dispatch::is_recognized(*notation, text)).collect();
    // Attributes of a domain's XML are no settings of other programs.
    if found.contains(&Notation::Libvirt) && text.text.contains('<') {
        found.retain(|notation| *notation == Notation::Libvirt);
    }
    if found.is_empty() {
        return match setting::find_count(text) {
            Some(fault) => Err(fault),
            None => bare::read_bare(text, machine).map_err(|fault| ask_if_unknown(fault, text)),
        };
    }
    let read =
        |notation: &Notation| Ok(NamedReading::new(notation.word(), dispatch::read_piece(*notation, text, machine)?));
    let parts = keep_speaking(found.iter().map(read))?;
    let first = parts.first().and_then(|part| found.iter().find(|notation| notation.word() == part.name));
    let notation = first.copied().unwrap_or(found[0]);
    Ok((notation, agree(text, parts, || text.fault_here("no cpu is named here"))?))
}
