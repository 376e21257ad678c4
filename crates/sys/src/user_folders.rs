//! Folders of this user and of the system that corewise writes to, from the environment (the XDG base directory specification).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::os::files;
use crate::os::process;

/// Name of corewise's folders.
const OWN_FOLDER: &str = "corewise";
/// Folder of what the system's `keep run` publishes while it runs.
pub const SYSTEM_RUNTIME: &str = "/run/corewise";
/// Name of the folder of proven placements, in the folder of data or of the system's settings.
const PROOFS: &str = "proven";

/// Returns a variable with a folder. Root does not use another user's: files that root makes there would stay, and links there are not
/// root's.
pub fn own_variable(name: &str) -> Option<OsString> {
    let may_use = |path: &OsString| !process::is_root() || path.is_empty() || files::is_of_this_user(Path::new(path));
    std::env::var_os(name).filter(may_use)
}

/// Returns a variable as [`own_variable`], or the system's usual folder of user data if it has one.
pub fn usual_variable(name: &str) -> Option<OsString> {
    own_variable(name).or_else(|| files::usual_folder().map(PathBuf::into_os_string))
}

/// Returns `HOME`, or the home of this user if root has another user's `HOME`.
pub fn own_home() -> Option<OsString> {
    let other_home = || std::env::var_os("HOME").and_then(|_| files::home_of_this_user());
    own_variable("HOME").or_else(|| other_home().map(PathBuf::into_os_string))
}

/// Returns the folder of an environment variable. A relative one is ignored, as the specification requires.
pub fn absolute_folder(value: &Option<OsString>) -> Option<PathBuf> {
    value.as_ref().map(PathBuf::from).filter(|folder| folder.is_absolute())
}

/// Returns corewise's folder of data, from `XDG_DATA_HOME` and `HOME`.
pub fn data_folder(data_home: &Option<OsString>, home: &Option<OsString>) -> Option<PathBuf> {
    let data = absolute_folder(data_home).or_else(|| Some(absolute_folder(home)?.join(".local/share")))?;
    Some(data.join(OWN_FOLDER))
}

/// Returns the file of a proven placement in corewise's folder of data.
pub fn proof_file(data: &Path, name: &str) -> PathBuf {
    data.join(PROOFS).join(name)
}

/// Returns the files that may hold a proven placement: this user's, then the system's.
pub fn proof_files(name: &str) -> Vec<PathBuf> {
    let own = data_folder(&usual_variable("XDG_DATA_HOME"), &own_home());
    let of_system = files::system_settings().map(|settings| settings.join(OWN_FOLDER));
    own.into_iter().chain(of_system).map(|folder| proof_file(&folder, name)).collect()
}

/// Returns the folders that may hold a map of worth: of this user's `keep run`, then of the system's.
pub fn worth_folders() -> Vec<PathBuf> {
    let own = absolute_folder(&own_variable("XDG_RUNTIME_DIR")).map(|runtime| runtime.join(OWN_FOLDER));
    own.into_iter().chain([PathBuf::from(SYSTEM_RUNTIME)]).collect()
}
