//! Users: security identifiers, their names, and the owners of processes.

use std::io;
use std::ptr;
use std::sync::{LazyLock, Mutex, PoisonError};

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::Security::{GetTokenInformation, LookupAccountSidW, TOKEN_QUERY, TOKEN_USER, TokenUser};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

use super::handle::{KernelHandle, check_result};
use super::text::from_wide;
use crate::access_list::SecurityIdentifier;

/// The user of this process; `None` if Windows does not report it.
static OWN: LazyLock<Option<SecurityIdentifier>> = LazyLock::new(|| {
    // SAFETY: it returns a constant for this process, which needs no closing.
    of_process(&KernelHandle::from_constant(unsafe { GetCurrentProcess() })).ok()
});

/// Numbers of users: Windows has none, so each user gets one when it is first seen.
static NUMBERED: Mutex<Vec<SecurityIdentifier>> = Mutex::new(Vec::new());

/// Returns the user of this process.
pub fn own_user() -> io::Result<&'static SecurityIdentifier> {
    OWN.as_ref().ok_or_else(|| io::Error::other("Windows does not say which user this is"))
}

/// Returns the effective user of a process; the handle must allow reading.
pub fn of_process(process: &KernelHandle) -> io::Result<SecurityIdentifier> {
    let mut token: HANDLE = ptr::null_mut();
    // SAFETY: the kernel fills the handle.
    check_result(unsafe { OpenProcessToken(process.as_raw(), TOKEN_QUERY, &raw mut token) })?;
    let token = KernelHandle::new(token)?;
    // Aligned as the structure, after which the identifier is placed.
    let mut words = [0_u64; 32];
    let mut length = 0;
    // SAFETY: the kernel writes at most as many bytes as the words have.
    check_result(unsafe {
        GetTokenInformation(
            token.as_raw(),
            TokenUser,
            words.as_mut_ptr().cast(),
            size_of_val(&words) as u32,
            &raw mut length,
        )
    })?;
    // SAFETY: the kernel filled the structure, which begins the words and is aligned as they are.
    let place = unsafe { (*words.as_ptr().cast::<TOKEN_USER>()).User.Sid } as usize - words.as_ptr() as usize;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    SecurityIdentifier::read_at(&bytes, place).ok_or_else(|| io::Error::other("the user of the process cannot be read"))
}

/// Returns the number of a user in this process.
pub fn number_of(user: &SecurityIdentifier) -> u32 {
    let mut known = NUMBERED.lock().unwrap_or_else(PoisonError::into_inner);
    let place = known.iter().position(|other| other == user).unwrap_or_else(|| {
        known.push(user.clone());
        known.len() - 1
    });
    place as u32
}

/// Returns true if the user with that number is one of the system's services.
pub fn is_service(number: u32) -> bool {
    NUMBERED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get(number as usize)
        .is_some_and(SecurityIdentifier::is_service)
}

/// Returns the name of the user with that number: the account's, without its domain; the identifier if it has none.
pub fn name_of(number: u32) -> Option<String> {
    let known = NUMBERED.lock().unwrap_or_else(PoisonError::into_inner).get(number as usize).cloned()?;
    Some(account_name(&known))
}

/// Returns the name of a user or group, without its domain.
pub fn account_name(user: &SecurityIdentifier) -> String {
    let bytes = user.to_bytes();
    let (mut name, mut domain) = ([0_u16; 257], [0_u16; 257]);
    let (mut name_length, mut domain_length, mut kind) = (name.len() as u32, domain.len() as u32, 0);
    // SAFETY: the identifier is complete, and the kernel writes at most as many units as both texts have.
    let is_known = unsafe {
        LookupAccountSidW(
            ptr::null(),
            bytes.as_ptr().cast_mut().cast(),
            name.as_mut_ptr(),
            &raw mut name_length,
            domain.as_mut_ptr(),
            &raw mut domain_length,
            &raw mut kind,
        )
    } != 0;
    if is_known { from_wide(&name) } else { user.to_string() }
}
