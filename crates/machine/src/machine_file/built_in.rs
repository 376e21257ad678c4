//! Built-in machines: the files of the folder `machines/`, found by their names.

use super::{MachineFile, MachineFileError, parse};

/// A built-in machine file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltInMachine {
    /// File name without `.toml`: "threadripper-2990wx".
    pub name: &'static str,
    /// Contents of the file.
    pub text: &'static str,
}

impl BuiltInMachine {
    /// Reads the file.
    ///
    /// # Errors
    /// None for the files of a released program: its tests read them all.
    pub fn read_machine(&self) -> Result<MachineFile, MachineFileError> {
        parse(self.text)
    }
}

macro_rules! built_in {
    ($($name:literal)*) => {
        [$(BuiltInMachine { name: $name, text: include_str!(concat!("../../machines/", $name, ".toml")) }),*]
    };
}

/// All built-in machines, in order of their names.
pub const BUILT_IN: [BuiltInMachine; 15] = built_in! {
    "core-i7-14700k"
    "core-i9-13900k"
    "core-ultra-9-285k"
    "core2-quad-q6600"
    "fx-8150"
    "ryzen-9-7900x3d"
    "ryzen-9-7950x3d"
    "ryzen-9-9900x"
    "ryzen-9-9950x3d"
    "simulated-1536-cpus"
    "simulated-2-packages"
    "simulated-hybrid"
    "simulated-sparse"
    "threadripper-2990wx"
    "threadripper-3960x"
};

/// Result of a search by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineMatch {
    /// A machine of exactly this name.
    Exactly(BuiltInMachine),
    /// The only machine with this part in its name.
    ByPart(BuiltInMachine),
    /// Several machines with this part in their names.
    Several(Vec<BuiltInMachine>),
    /// No match.
    Nothing,
}

/// Finds a machine by its name or a part of it. Case, spaces and hyphens do not matter: "2990WX", "fx8150".
///
/// # Examples
/// ```
/// use corewise_machine::machine_file::{MachineMatch, find_built_in};
/// use corewise_machine::placement::{self, ResolveContext};
///
/// let MachineMatch::ByPart(found) = find_built_in("9950X3D") else { panic!("it is built in") };
/// let machine = found.read_machine()?.machine;
/// let context = ResolveContext { machine: &machine, reachable: &machine.allowed, quiet: None, worth: None };
/// let resolved = placement::parse("vcache - 0")?.resolve_on(&context)?;
/// assert_eq!(resolved.cpus.to_string(), "1-7,16-23");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn find_built_in(name: &str) -> MachineMatch {
    if let Some(machine) = BUILT_IN.iter().find(|machine| machine.name == name) {
        return MachineMatch::Exactly(*machine);
    }
    let wanted = letters_of(name);
    let matching: Vec<BuiltInMachine> = BUILT_IN
        .into_iter()
        .filter(|machine| !wanted.is_empty() && letters_of(machine.name).contains(&wanted))
        .collect();
    match matching[..] {
        [] => MachineMatch::Nothing,
        [one] => MachineMatch::ByPart(one),
        _ => MachineMatch::Several(matching),
    }
}

/// Returns the letters and digits of a name in lower case.
fn letters_of(name: &str) -> String {
    name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(found: MachineMatch) -> String {
        match found {
            MachineMatch::Exactly(machine) => format!("exactly {}", machine.name),
            MachineMatch::ByPart(machine) => machine.name.to_owned(),
            MachineMatch::Several(machines) => {
                machines.iter().map(|machine| machine.name).collect::<Vec<_>>().join(" ")
            }
            MachineMatch::Nothing => "nothing".to_owned(),
        }
    }

    #[test]
    fn a_part_of_a_name_is_enough_where_one_machine_has_it() {
        assert_eq!(name(find_built_in("2990wx")), "threadripper-2990wx");
        assert_eq!(name(find_built_in("9950X3D")), "ryzen-9-9950x3d");
        assert_eq!(name(find_built_in("Ryzen 9 9950X3D")), "ryzen-9-9950x3d");
        assert_eq!(name(find_built_in("fx-8150")), "exactly fx-8150");
        assert_eq!(name(find_built_in("fx8150")), "fx-8150");
        assert_eq!(name(find_built_in("threadripper")), "threadripper-2990wx threadripper-3960x");
        assert_eq!([name(find_built_in("5950x")), name(find_built_in("")), name(find_built_in("-"))], ["nothing"; 3]);
    }

    #[test]
    fn every_file_of_the_folder_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/machines");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| name.strip_suffix(".toml").map(str::to_owned))
            .collect();
        files.sort_unstable();
        assert_eq!(files, BUILT_IN.map(|machine| machine.name));
    }
}
