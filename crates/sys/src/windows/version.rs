//! Version of Windows, or of Wine.

use std::ffi::{CStr, c_char};

use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::Win32::System::SystemInformation::OSVERSIONINFOW;

use super::text::to_wide;

/// Returns the version, independent of the manifest: "10.0.26100".
pub fn windows_version() -> Option<String> {
    let mut version =
        OSVERSIONINFOW { dwOSVersionInfoSize: size_of::<OSVERSIONINFOW>() as u32, ..OSVERSIONINFOW::default() };
    // SAFETY: the call fills the structure, and was given its size.
    let is_known = unsafe { RtlGetVersion(&raw mut version) } == 0;
    is_known.then(|| format!("{}.{}.{}", version.dwMajorVersion, version.dwMinorVersion, version.dwBuildNumber))
}

/// Returns the version of Wine, if Windows is imitated by it: its ntdll exports wine_get_version.
pub fn wine_version() -> Option<String> {
    let library = to_wide("ntdll.dll");
    // SAFETY: the name ends in zero; every process has this library.
    let function = unsafe {
        let module = GetModuleHandleW(library.as_ptr());
        if module.is_null() { None } else { GetProcAddress(module, c"wine_get_version".as_ptr().cast()) }
    }?;
    // SAFETY: Wine documents it as `const char *wine_get_version(void)`, with the calling convention of C.
    let version = unsafe {
        std::mem::transmute::<unsafe extern "system" fn() -> isize, extern "C" fn() -> *const c_char>(function)()
    };
    // SAFETY: it is a constant text that ends in zero.
    (!version.is_null()).then(|| unsafe { CStr::from_ptr(version) }.to_string_lossy().into_owned())
}
