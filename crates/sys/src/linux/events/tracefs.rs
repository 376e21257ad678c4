//! The kernel's trace file system: the system's mount, or a private one.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use corewise_machine::Gap;

use super::super::lockdown::explain_lockdown;

/// Its usual mount points.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The trace file system.
#[derive(Debug)]
pub struct TraceFolder {
    path: PathBuf,
    /// Keeps a mount of our own alive.
    _mount: Option<OwnedFd>,
}

impl TraceFolder {
    /// Finds tracefs. If it is not mounted, makes a detached mount that changes nothing on the machine (fsopen(2), fsmount(2)) and ends
    /// with this value.
    ///
    /// # Errors
    /// The gap that says why there is none.
    pub fn open() -> Result<Self, Gap> {
        let mut refused = None;
        for place in PLACES {
            match fs::read_dir(Path::new(place).join("events")) {
                Ok(_) => return Ok(Self { path: PathBuf::from(place), _mount: None }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => refused = Some(error),
            }
        }
        if let Some(error) = refused {
            return Err(tracefs_gap(format!("{} cannot be read: {error}", PLACES[0])));
        }
        match mount_tracefs() {
            Ok(mount) => {
                Ok(Self { path: PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd())), _mount: Some(mount) })
            }
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {
                Err(Gap::new(WHAT, "this kernel was built without tracing (no tracefs)"))
            }
            Err(error) => Err(tracefs_gap(format!("tracefs is not mounted and cannot be mounted: {error}"))),
        }
    }

    /// Returns the path of a file or folder in it.
    pub fn inner_path(&self, inside: &str) -> PathBuf {
        self.path.join(inside)
    }

    /// Reads a file in it.
    pub fn read_file(&self, inside: &str) -> io::Result<String> {
        fs::read_to_string(self.inner_path(inside))
    }
}

const WHAT: &str = "causes of stalls";

fn tracefs_gap(why: String) -> Gap {
    explain_lockdown(Gap::new(WHAT, why).cured_by("run as root (or with CAP_PERFMON and a readable tracefs)"))
}

/// Makes a detached mount of tracefs.
fn mount_tracefs() -> io::Result<OwnedFd> {
    const FSOPEN_CLOEXEC: libc::c_long = 1;
    const FSCONFIG_CMD_CREATE: libc::c_long = 6;
    const FSMOUNT_CLOEXEC: libc::c_long = 1;
    let name = CString::new("tracefs").expect("it holds no zero");
    // SAFETY: the arguments are as in fsopen(2); the name outlives the call.
    let context = owned_descriptor(unsafe { libc::syscall(libc::SYS_fsopen, name.as_ptr(), FSOPEN_CLOEXEC) })?;
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: FSCONFIG_CMD_CREATE takes neither key nor value.
    let made = unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), FSCONFIG_CMD_CREATE, none, none, 0) };
    if made != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the arguments are as in fsmount(2), without attributes.
    owned_descriptor(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), FSMOUNT_CLOEXEC, 0) })
}

fn owned_descriptor(descriptor: libc::c_long) -> io::Result<OwnedFd> {
    match libc::c_int::try_from(descriptor) {
        // SAFETY: the kernel has just made this descriptor for us, and no other code knows it.
        Ok(descriptor @ 0..) => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}
