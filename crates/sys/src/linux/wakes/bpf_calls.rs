//! The system call bpf(2): maps, programs, and their attachment to tracepoints. All are descriptors that close with this process.

use std::io;
use std::mem::{size_of, size_of_val};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use super::instructions::BpfInstruction;

/// Commands, kinds of maps and of programs (include/uapi/linux/bpf.h).
const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP: libc::c_int = 1;
const MAP_UPDATE: libc::c_int = 2;
const MAP_NEXT_KEY: libc::c_int = 4;
const PROGRAM_LOAD: libc::c_int = 5;
const PROGRAM_RUN: libc::c_int = 10;
const TRACEPOINT_OPEN: libc::c_int = 17;
const TYPE_RAW_TRACEPOINT: u32 = 17;
const TYPE_TRACING: u32 = 26;
const ATTACH_TYPED_TRACEPOINT: u32 = 23;
/// Room for the verifier's reason.
const LOG_BYTES: usize = 1 << 16;

/// Kind of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MapKind {
    Hash = 1,
    Array = 2,
    ArrayOfEachCpu = 6,
}

#[repr(C)]
#[derive(Default)]
struct MapAttributes {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
    inner: u32,
    node: u32,
    name: [u8; 16],
}

#[repr(C)]
#[derive(Default)]
struct ElementAttributes {
    map: u32,
    unused: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct ProgramAttributes {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_kind: u32,
    types: u32,
    unused: [u32; 8],
    attach_type: u32,
    attach_program: u32,
    unused_end: u32,
}

#[repr(C)]
#[derive(Default)]
struct TracepointAttributes {
    name: u64,
    program: u32,
    unused: u32,
}

#[repr(C)]
#[derive(Default)]
struct RunAttributes {
    program: u32,
    result: u32,
    unused: [u64; 8],
}

/// Calls bpf(2).
///
/// # Safety
/// The addresses in `attributes` must be valid for the command until it returns.
unsafe fn call_bpf<A>(command: libc::c_int, attributes: &mut A) -> io::Result<libc::c_int> {
    // SAFETY: the kernel reads as many bytes as there are, and the caller answers for the addresses in them.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<A>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as libc::c_int) }
}

/// As [`call_bpf`], for commands that return a descriptor.
///
/// # Safety
/// As [`call_bpf`].
unsafe fn open_bpf<A>(command: libc::c_int, attributes: &mut A) -> io::Result<OwnedFd> {
    // SAFETY: the caller answers for the addresses; a returned descriptor has no other owner.
    unsafe { call_bpf(command, attributes).map(|file| OwnedFd::from_raw_fd(file)) }
}

fn padded_name(name: &str) -> [u8; 16] {
    let mut padded = [0; 16];
    // The last byte stays zero.
    padded[..15].iter_mut().zip(name.bytes()).for_each(|(to, byte)| *to = byte);
    padded
}

/// Creates a map. All its memory is allocated at once.
pub fn create_map(kind: MapKind, key_bytes: usize, value_bytes: usize, entries: u32) -> io::Result<OwnedFd> {
    let mut attributes = MapAttributes {
        kind: kind as u32,
        key_bytes: key_bytes as u32,
        value_bytes: value_bytes as u32,
        entries,
        name: padded_name("corewise"),
        ..MapAttributes::default()
    };
    // SAFETY: the attributes have no addresses.
    unsafe { open_bpf(MAP_CREATE, &mut attributes) }
}

/// Writes an entry of a map. Sizes must be the map's.
pub fn update_map<const K: usize, const V: usize>(map: &OwnedFd, key: &[u8; K], value: &[u8; V]) -> io::Result<()> {
    let mut attributes = element_of(map, key.as_ptr(), value.as_ptr());
    // SAFETY: both are as long as the map's keys and values, and outlive the call.
    unsafe { call_bpf(MAP_UPDATE, &mut attributes).map(drop) }
}

/// Reads the entry of a key; `None` if there is none. Sizes must be the map's.
pub fn read_entry<const K: usize, const V: usize>(map: &OwnedFd, key: &[u8; K]) -> Option<[u8; V]> {
    let mut value = [0; V];
    let mut attributes = element_of(map, key.as_ptr(), value.as_mut_ptr());
    // SAFETY: both are as long as the map's keys and values, and outlive the call, which writes the value.
    unsafe { call_bpf(MAP_LOOKUP, &mut attributes) }.is_ok().then_some(value)
}

/// Reads all entries of a map of at most `most` entries, which no program changes meanwhile.
pub fn read_map<const K: usize, const V: usize>(map: &OwnedFd, most: u32) -> Vec<([u8; K], [u8; V])> {
    let mut entries = Vec::new();
    let mut key: Option<[u8; K]> = None;
    for _ in 0..most {
        let mut next = [0; K];
        let before = key.as_ref().map_or(std::ptr::null(), |key| key.as_ptr());
        let mut attributes = element_of(map, before, next.as_mut_ptr());
        // SAFETY: both are as long as the map's keys, and outlive the call, which writes the second.
        if unsafe { call_bpf(MAP_NEXT_KEY, &mut attributes) }.is_err() {
            break;
        }
        entries.extend(read_entry(map, &next).map(|value| (next, value)));
        key = Some(next);
    }
    entries
}

fn element_of(map: &OwnedFd, key: *const u8, value: *const u8) -> ElementAttributes {
    ElementAttributes {
        map: map.as_raw_fd() as u32,
        key: key.expose_provenance() as u64,
        value: value.expose_provenance() as u64,
        ..ElementAttributes::default()
    }
}

/// Loads a program for a tracepoint, given by the number of the type of its function, or for [`run_program`].
///
/// # Errors
/// The kernel's error. If its verifier refuses the program, the last line of its reason is part of the error.
pub fn load_program(name: &str, tracepoint: Option<u32>, instructions: &[BpfInstruction]) -> io::Result<OwnedFd> {
    let load = |log: &mut [u8]| {
        let mut attributes = ProgramAttributes {
            kind: if tracepoint.is_some() { TYPE_TRACING } else { TYPE_RAW_TRACEPOINT },
            instruction_count: instructions.len() as u32,
            instructions: instructions.as_ptr().expose_provenance() as u64,
            license: c"GPL".as_ptr().expose_provenance() as u64,
            log_level: u32::from(!log.is_empty()),
            log_bytes: size_of_val(log) as u32,
            log: if log.is_empty() { 0 } else { log.as_mut_ptr().expose_provenance() as u64 },
            name: padded_name(name),
            attach_kind: tracepoint.map_or(0, |_| ATTACH_TYPED_TRACEPOINT),
            attach_type: tracepoint.unwrap_or_default(),
            ..ProgramAttributes::default()
        };
        // SAFETY: the instructions, the license and the log are as long as stated or end with a zero, and outlive the call.
        unsafe { open_bpf(PROGRAM_LOAD, &mut attributes) }
    };
    load(&mut []).or_else(|refused| {
        let mut log = vec![0; LOG_BYTES];
        load(&mut log).map_err(|_| explain_refusal(&refused, &log))
    })
}

/// Adds the verifier's last words to an error.
fn explain_refusal(refused: &io::Error, log: &[u8]) -> io::Error {
    let text = String::from_utf8_lossy(log);
    let mut lines = text.trim_end_matches('\0').lines();
    let reason = lines.rfind(|line| !line.starts_with("processed ")).unwrap_or_default();
    let separator = if reason.is_empty() { "" } else { ": " };
    io::Error::new(refused.kind(), format!("{refused}{separator}{reason}"))
}

/// Runs a program once, as the calling thread, and returns its result.
pub fn run_program(program: &OwnedFd) -> io::Result<u32> {
    let mut attributes = RunAttributes { program: program.as_raw_fd() as u32, ..RunAttributes::default() };
    // SAFETY: the attributes have no addresses; the kernel writes the result into them.
    unsafe { call_bpf(PROGRAM_RUN, &mut attributes) }?;
    Ok(attributes.result)
}

/// Attaches a program to its tracepoint until the result is dropped.
pub fn attach_program(program: &OwnedFd) -> io::Result<OwnedFd> {
    let mut attributes =
        TracepointAttributes { program: program.as_raw_fd() as u32, ..TracepointAttributes::default() };
    // SAFETY: the attributes have no addresses: the program knows its tracepoint.
    unsafe { open_bpf(TRACEPOINT_OPEN, &mut attributes) }
}
