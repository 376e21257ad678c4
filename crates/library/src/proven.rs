//! The placement that an experiment proved for a program.

use std::io;
use std::path::Path;

use corewise_machine::evidence::{PlacementProof, is_proof_name};
use corewise_sys::input::{InputFile, InputKind};
use corewise_sys::{SysError, user_folders};

use crate::error::{PlaceError, WhyUnproven};
use crate::machine::Machine;
use crate::placement::{Placement, PlacementSource};

/// Returns the placement that `corewise try --prove NAME` or `corewise keep add --from N NAME` proved for a program on this machine.
///
/// This user's proof is asked for before the system's. It counts only if machine, kernel, microcode, governor and scheduler are as in
/// the experiment, and if no other user may have written it. `COREWISE_PLACE` comes first.
///
/// # Errors
/// [`PlaceError::Unproven`] with the reason if there is none: leave the threads alone then.
///
/// # Examples
/// ```
/// match corewise::proven("my-server") {
///     Ok(placement) => placement.pin_all_threads().map(drop)?,
///     Err(error) => println!("threads are left alone: {error}"),
/// }
/// # Ok::<(), corewise::PlaceError>(())
/// ```
pub fn proven(name: &str) -> Result<Placement, PlaceError> {
    Machine::this()?.proven(name)
}

impl Machine {
    /// As [`proven`], on a machine that was read already.
    ///
    /// # Errors
    /// As [`proven`].
    ///
    /// # Examples
    /// ```
    /// let machine = corewise::Machine::this()?;
    /// let error = machine.proven("no such name").unwrap_err();
    /// assert!(error.to_string().contains("a name has letters"));
    /// # Ok::<(), corewise::PlaceError>(())
    /// ```
    pub fn proven(&self, name: &str) -> Result<Placement, PlaceError> {
        let files = if is_proof_name(name) { user_folders::proof_files(name) } else { Vec::new() };
        self.proven_in(name, &files)
    }

    /// As [`Self::proven`], by the first of some files that exists.
    fn proven_in(&self, name: &str, files: &[impl AsRef<Path>]) -> Result<Placement, PlaceError> {
        let unproven = |why| PlaceError::Unproven { name: name.to_owned(), why };
        if self.0.wish.is_off {
            return Err(unproven(WhyUnproven::Off));
        }
        if self.0.wish.place.is_some() {
            return self.place(name);
        }
        if !is_proof_name(name) {
            return Err(unproven(WhyUnproven::Name));
        }
        let found = files.iter().find_map(|file| read_proof(file.as_ref(), name).transpose());
        let absent = || unproven(WhyUnproven::Absent { name: name.to_owned() });
        let proof = found.ok_or_else(absent)?.map_err(unproven)?;
        self.place_proof(&proof)
    }

    fn place_proof(&self, proof: &PlacementProof) -> Result<Placement, PlaceError> {
        let changes = proof.changes_since(&self.0.machine);
        if !changes.is_empty() {
            let words = changes.iter().map(|change| format!("{} was {}, is {}", change.what, change.was, change.is));
            let changes = words.collect::<Vec<_>>().join("; ");
            let why = WhyUnproven::Expired { experiment: proof.experiment, changes };
            return Err(PlaceError::Unproven { name: proof.name.clone(), why });
        }
        let placement = self.place_from(&proof.on, PlacementSource::Proof)?.with_notes([describe_proof(proof)]);
        proof.memory.iter().try_fold(placement, |placement, memory| placement.with_memory(memory))
    }
}

/// Describes the effect as a sentence: "Experiment 12 proved 6.1 % [2.0, 9.0] over the OS default, at a rate of errors of 5 %."
fn describe_proof(proof: &PlacementProof) -> String {
    let PlacementProof { experiment, effect, interval: [low, high], error_rate, .. } = proof;
    format!(
        "Experiment {experiment} proved {:.1} % [{:.1}, {:.1}] over the OS default, at an error rate of {:.0} %.",
        100.0 * effect,
        100.0 * low,
        100.0 * high,
        100.0 * error_rate
    )
}

/// Reads a document; `None` if there is none.
fn read_proof(file: &Path, name: &str) -> Result<Option<PlacementProof>, WhyUnproven> {
    let shown = || file.display().to_string();
    let unreadable = |why: String| WhyUnproven::Unreadable { file: shown(), why };
    let opened = match InputFile::open(file, InputKind::PlacementProof) {
        Err(SysError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(SysError::Read { source, .. }) => return Err(unreadable(source.to_string())),
        other => other.map_err(|error| unreadable(error.to_string()))?,
    };
    let (text, origin) = opened.text_with_origin().map_err(|error| unreadable(error.to_string()))?;
    if let Some(why) = origin.writers() {
        return Err(WhyUnproven::Untrusted { file: shown(), why: why.to_owned() });
    }
    let proof: PlacementProof = text.parse().map_err(|error| unreadable(format!("{error}")))?;
    if proof.name != name {
        return Err(unreadable(format!("it is the proof of {}", proof.name)));
    }
    Ok(Some(proof))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::user_wish::UserWish;

    fn here() -> Machine {
        Machine::with_wish(UserWish::default()).unwrap()
    }

    fn proof_of(machine: &Machine) -> PlacementProof {
        PlacementProof {
            name: "server".to_owned(),
            on: "one-per-core".to_owned(),
            memory: None,
            experiment: 12,
            effect: 0.061,
            interval: [0.02, 0.09],
            error_rate: 0.05,
            fingerprint: machine.facts().identity(),
            environment: machine.facts().environment(),
        }
    }

    /// Returns the placement or the reason why there is none, with a document in a folder of this user.
    fn proven_by(machine: &Machine, text: &str) -> Result<Placement, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("server");
        fs::write(&file, text).unwrap();
        machine.proven_in("server", &[file]).map_err(|error| error.to_string())
    }

    #[test]
    fn a_proof_made_here_places_and_says_what_it_proved() {
        let machine = here();
        let placement = proven_by(&machine, &proof_of(&machine).to_string()).unwrap();
        assert_eq!(placement.order(), machine.place("one-per-core").unwrap().order());
        let note = "Experiment 12 proved 6.1 % [2.0, 9.0] over the OS default, at an error rate of 5 %.";
        assert!(placement.notes().iter().any(|found| found == note), "{:?}", placement.notes());
    }

    #[test]
    fn a_proof_of_another_machine_or_kernel_no_longer_counts() {
        let machine = here();
        let other = PlacementProof { fingerprint: "00ff".to_owned(), ..proof_of(&machine) };
        let error = proven_by(&machine, &other.to_string()).unwrap_err();
        assert!(error.contains("experiment 12 no longer counts: machine was 00ff, is "), "{error}");
        let mut old = proof_of(&machine);
        old.environment.insert("kernel".to_owned(), "2.6".to_owned());
        let error = proven_by(&machine, &old.to_string()).unwrap_err();
        assert!(error.contains("kernel was 2.6, is "), "{error}");
    }

    #[test]
    fn what_is_no_proof_is_refused_with_its_file() {
        let machine = here();
        let error = proven_by(&machine, "hello").unwrap_err();
        assert!(error.contains("server: it does not begin with"), "{error}");
        let other = PlacementProof { name: "client".to_owned(), ..proof_of(&machine) };
        assert!(proven_by(&machine, &other.to_string()).unwrap_err().contains("it is the proof of client"));
        let error = machine.proven_in("server", &["/nowhere/server"]).unwrap_err().to_string();
        assert!(error.contains("`corewise try --prove server -- ./app` makes one"), "{error}");
        let named = machine.proven_in("../server", &["/nowhere/server"]).unwrap_err().to_string();
        assert!(named.contains("a name has letters"), "{named}");
    }

    #[cfg(unix)]
    #[test]
    fn a_proof_that_others_may_have_written_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let machine = here();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("server");
        fs::write(&file, proof_of(&machine).to_string()).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        let error = machine.proven_in("server", &[file]).unwrap_err().to_string();
        assert!(error.contains("is not used: the file "), "{error}");
    }

    #[test]
    fn the_person_comes_before_every_proof() {
        let off = Machine::with_wish(UserWish { is_off: true, ..UserWish::default() }).unwrap();
        let error = proven_by(&off, &proof_of(&off).to_string()).unwrap_err();
        assert_eq!(error, "nothing is proven for server: the variable COREWISE is \"off\"");
        let first = here().cpus().lowest().unwrap();
        let placed = Machine::with_wish(UserWish { place: Some(first.to_string()), ..UserWish::default() }).unwrap();
        assert_eq!(proven_by(&placed, "hello").unwrap().order(), [first]);
    }
}
