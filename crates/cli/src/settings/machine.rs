//! Which machine is meant: this one, one that the program holds, or one in a file.

use std::path::{Path, PathBuf};

use corewise_model::machine_file::{self, BUILT_IN, BuiltIn, Found};

use crate::args::MachineArguments;
use crate::error::Failure;
use crate::placing::shortened;

/// The word that asks for the list of the machines that the program holds.
const LIST: &str = "list";

/// The machine that a command is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineChoice {
    /// The one that the program runs on.
    Here,
    /// One that the program holds.
    BuiltIn(BuiltIn),
    /// A machine file or a recording.
    File(PathBuf),
}

impl MachineArguments {
    /// Whether the user asks which machines there are.
    pub fn asks_for_list(&self) -> bool {
        self.machine.as_deref() == Some(Path::new(LIST))
    }
}

impl MachineChoice {
    /// What `--machine` means. The whole name of a machine that the program holds comes first, then a file, then a part
    /// of a name: what lies in the folder never changes what a whole name means, and `./fx-8150` is always a file.
    ///
    /// # Errors
    /// [`Failure`] where it is neither, or a part of several names.
    pub fn new(arguments: &MachineArguments) -> Result<Self, Failure> {
        Self::among_files(arguments, Path::exists)
    }

    fn among_files(arguments: &MachineArguments, exists: impl Fn(&Path) -> bool) -> Result<Self, Failure> {
        let Some(path) = &arguments.machine else { return Ok(Self::Here) };
        let name = path.to_str().unwrap_or_default();
        let shown = shortened(name);
        let is_path = path.components().count() > 1 || path.is_absolute() || is_machine_file(path) || name.is_empty();
        match machine_file::find(name) {
            Found::Exactly(machine) => Ok(Self::BuiltIn(machine)),
            _ if is_path || exists(path) => Ok(Self::File(path.clone())),
            Found::ByPart(machine) => Ok(Self::BuiltIn(machine)),
            Found::Several(machines) => {
                Err(Failure::usage(format!("\"{shown}\" may be one of several machines")).next(names(&machines)))
            }
            Found::Nothing => {
                let what = format!("there is neither a machine nor a file named \"{shown}\"");
                Err(Failure::usage(what).next(format!("The machines: {}", names(&BUILT_IN))))
            }
        }
    }
}

/// Whether a file is a machine file, by its name.
pub fn is_machine_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

fn names(machines: &[BuiltIn]) -> String {
    machines.iter().map(|machine| machine.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Exit;

    fn chosen(machine: &str, files: &[&str]) -> Result<String, Failure> {
        let arguments = MachineArguments { machine: Some(machine.into()) };
        Ok(match MachineChoice::among_files(&arguments, |path| files.iter().any(|file| path == Path::new(file)))? {
            MachineChoice::Here => "here".to_owned(),
            MachineChoice::BuiltIn(machine) => machine.name.to_owned(),
            MachineChoice::File(path) => format!("file {}", path.display()),
        })
    }

    #[test]
    fn whole_names_come_before_files_and_files_before_parts_of_names() {
        assert_eq!(chosen("fx-8150", &["fx-8150"]).unwrap(), "fx-8150");
        assert_eq!(chosen("./fx-8150", &[]).unwrap(), "file ./fx-8150");
        assert_eq!(chosen("2990wx", &[]).unwrap(), "threadripper-2990wx");
        assert_eq!(chosen("2990wx", &["2990wx"]).unwrap(), "file 2990wx");
        assert_eq!(chosen("fx-8150.toml", &[]).unwrap(), "file fx-8150.toml", "the file that is not there is told of");
        assert_eq!(chosen("/", &[]).unwrap(), "file /");
        assert_eq!(MachineChoice::new(&MachineArguments::default()).unwrap(), MachineChoice::Here);
    }

    #[test]
    fn unknown_names_list_the_known() {
        let unknown = chosen("7950x", &[]).unwrap_err();
        assert_eq!(unknown.exit, Exit::Usage);
        assert!(unknown.next.unwrap().contains("threadripper-2990wx"));
        let several = chosen("Threadripper", &[]).unwrap_err();
        assert_eq!(several.next.unwrap(), "threadripper-2990wx, threadripper-3960x");
    }

    #[test]
    fn list_is_no_machine() {
        assert!(MachineArguments { machine: Some("list".into()) }.asks_for_list());
        assert!(!MachineArguments { machine: Some("./list".into()) }.asks_for_list());
    }
}
