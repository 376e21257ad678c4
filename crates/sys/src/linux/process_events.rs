//! Events of processes as they happen: the kernel's process connector (drivers/connector/cn_proc.c), a netlink socket.
//!
//! Since Linux 6.6 any user may listen, and the kernel sends only the requested events. Before, it takes CAP_NET_ADMIN, and all events are
//! sent and filtered here. It works only in the initial namespaces of processes and networks.
//!
//! When the queue of the socket is full, the kernel drops all events until the queue is empty (NETLINK_S_CONGESTED), and reports ENOBUFS
//! only for the first of them. So lost events are counted: by the kernel for this socket, and by the numbers of the messages.

use std::collections::BTreeMap;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::time::{Duration, Instant};

use corewise_machine::Gap;

use super::thread::own_number;
pub use crate::values::process_events::{ProcessEvent, ProcessEventKind};

const WHAT: &str = "events of processes";
/// `CN_IDX_PROC` and `CN_VAL_PROC` (include/uapi/linux/connector.h): the group of the socket, and the address of messages.
const CONNECTOR: u32 = 1;
/// `PROC_CN_MCAST_LISTEN` (include/uapi/linux/cn_proc.h, as all that follow).
const LISTEN: u32 = 1;
/// `PROC_CN_MCAST_IGNORE`.
const IGNORE: u32 = 2;
const FORK: u32 = 1;
const EXEC: u32 = 2;
const COMM: u32 = 0x200;
const EXIT: u32 = 0x8000_0000;
/// Offsets in a message: `struct nlmsghdr` (16 bytes), `struct cn_msg` (20), `struct proc_event` (kind, cpu, time stamp: 16; then details).
const NETLINK: usize = 16;
const MESSAGE: usize = NETLINK + 20;
const DETAILS: usize = MESSAGE + 16;
/// Buffer for unread events, in bytes: a storm of 10,000 forks.
const ROOM_BYTES: libc::c_int = 4 << 20;
/// Maximum wait for the first event: the kernel sends it before the call that causes it returns.
const PATIENCE: Duration = Duration::from_millis(100);
/// More messages than the queue holds: the kernel doubles [`ROOM_BYTES`] and counts at least 512 bytes for each. So one reading empties a
/// queue from which events were dropped.
const MAX_MESSAGES_AT_ONCE: usize = 2 * ROOM_BYTES as usize / 512;
/// `SK_MEMINFO_DROPS` (include/uapi/linux/sock_diag.h): its index in the numbers of `SO_MEMINFO`.
const DROPS: usize = 8;

/// A subscription.
#[derive(Debug)]
pub struct ProcessEvents {
    socket: OwnedFd,
    wanted: u32,
    /// True if the kernel sends only the wanted events, and notices by itself that the socket is closed.
    has_filter: bool,
    losses: LossDetector,
}

/// Detects events lost since the last check.
#[derive(Debug, Default)]
struct LossDetector {
    /// Number of messages that the kernel had dropped for this socket.
    dropped: u32,
    last_sequence: BTreeMap<u32, u32>,
    has_gap: bool,
}

impl LossDetector {
    /// Records a message's number; each cpu numbers its messages consecutively.
    fn note_sequence(&mut self, cpu: u32, sequence: u32) {
        let last = self.last_sequence.insert(cpu, sequence);
        self.has_gap |= last.is_some_and(|last| last.wrapping_add(1) != sequence);
    }

    /// Returns true if events were lost; `dropped` is the kernel's present count of dropped messages, if it has one.
    fn has_lost(&mut self, dropped: Option<u32>) -> bool {
        let dropped = dropped.unwrap_or(self.dropped);
        let has_dropped = std::mem::replace(&mut self.dropped, dropped) != dropped;
        std::mem::take(&mut self.has_gap) || has_dropped
    }
}

impl ProcessEvents {
    /// Subscribes to the events of all processes from now on.
    ///
    /// # Errors
    /// The gap that says why the kernel refuses. The caller can then scan all processes periodically.
    pub fn open(kinds: &[ProcessEventKind]) -> Result<Self, Gap> {
        let mask = |kind: &ProcessEventKind| match kind {
            ProcessEventKind::Fork => FORK,
            ProcessEventKind::Exec => EXEC,
            ProcessEventKind::Rename => COMM,
            ProcessEventKind::Exit => EXIT,
        };
        let wanted = kinds.iter().map(mask).fold(0, |all, one| all | one);
        let socket = connect_socket().map_err(|error| events_gap(&error))?;
        let mut events = Self { socket, wanted, has_filter: true, losses: LossDetector::default() };
        // A kernel before 6.6 has no filter, and ignores a request with one. No kernel reports that it refused a request.
        events.has_filter = events.delivers_events(&[LISTEN, wanted | COMM]).map_err(|error| events_gap(&error))?;
        if events.has_filter {
            events.send_request(&[LISTEN, wanted]).map_err(|error| events_gap(&error))?;
            return Ok(events);
        }
        if events.delivers_events(&[LISTEN]).map_err(|error| events_gap(&error))? {
            return Ok(events);
        }
        let why = "the kernel sends none: it is older than 6.6, or this is a container";
        Err(Gap::new(WHAT, why).cured_by("run with CAP_NET_ADMIN, outside of containers"))
    }

    /// Waits for events, at most `patience`, and appends them in the order in which the kernel reported them. If events were lost,
    /// [`ProcessEvent::Lost`] follows them, once for all that were lost before.
    ///
    /// # Errors
    /// The kernel's error; none is known.
    pub fn wait_for_events(&mut self, patience: Duration, into: &mut Vec<ProcessEvent>) -> io::Result<()> {
        if !self.has_more(patience)? {
            return Ok(());
        }
        let mut is_congested = false;
        for _ in 0..MAX_MESSAGES_AT_ONCE {
            match self.receive_event() {
                Ok(Some((kind, event))) if kind & self.wanted != 0 => into.push(event),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => is_congested = true,
                Err(error) => return Err(error),
            }
        }
        // Only now: until the queue was empty, more may have been dropped.
        if self.losses.has_lost(self.dropped_messages()) || is_congested {
            into.push(ProcessEvent::Lost);
        }
        Ok(())
    }

    /// Returns the number of messages that the kernel has dropped for this socket, or `None` before Linux 4.12.
    fn dropped_messages(&self) -> Option<u32> {
        let mut numbers = [0_u32; DROPS + 1];
        let mut length = size_of_val(&numbers) as libc::socklen_t;
        // SAFETY: the kernel writes at most as many bytes as the numbers have, which outlive the call.
        let result = unsafe {
            let numbers = numbers.as_mut_ptr().cast();
            libc::getsockopt(self.socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO, numbers, &raw mut length)
        };
        (result == 0 && length as usize == size_of_val(&numbers)).then_some(numbers[DROPS])
    }

    fn send_request(&self, request: &[u32]) -> io::Result<()> {
        let bytes = request_bytes(request);
        // SAFETY: the kernel reads the bytes, which outlive the call.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Sends a request that includes renames of threads. Returns true if it works: renaming this thread to its present name causes an
    /// event.
    fn delivers_events(&mut self, request: &[u32]) -> io::Result<bool> {
        self.send_request(request)?;
        let mut name = [0_u8; 16];
        // SAFETY: the kernel writes and reads the 16 bytes of a name, which outlive the calls.
        unsafe {
            libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr());
            libc::prctl(libc::PR_SET_NAME, name.as_ptr());
        }
        let (own, until) = (own_number(), Instant::now() + PATIENCE);
        while self.has_more(until.saturating_duration_since(Instant::now()))? {
            match self.receive_event() {
                Ok(Some((_, ProcessEvent::Renamed { thread, .. }))) if thread == own => return Ok(true),
                Err(error) if error.raw_os_error() != Some(libc::ENOBUFS) => return Err(error),
                _ => {}
            }
        }
        Ok(false)
    }

    fn has_more(&self, patience: Duration) -> io::Result<bool> {
        let mut file = libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let milliseconds = patience.as_micros().div_ceil(1_000).try_into().unwrap_or(libc::c_int::MAX);
        // SAFETY: the kernel reads and writes one pollfd, which outlives the call.
        match unsafe { libc::poll(&raw mut file, 1, milliseconds) } {
            0.. => Ok(file.revents != 0),
            _ => Err(io::Error::last_os_error()).or_else(|error| match error.kind() {
                io::ErrorKind::Interrupted => Ok(false),
                _ => Err(error),
            }),
        }
    }

    /// Returns the next event with its kind, or `None` if a message is no event. [`io::ErrorKind::WouldBlock`] if there is no message yet.
    fn receive_event(&mut self) -> io::Result<Option<(u32, ProcessEvent)>> {
        let mut bytes = [0_u8; 512];
        // SAFETY: an all-zero address is a valid one.
        let mut from: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        let mut length = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        // SAFETY: the kernel writes at most as many bytes as both have, which outlive the call.
        let received = unsafe {
            let socket = self.socket.as_raw_fd();
            let from = (&raw mut from).cast();
            libc::recvfrom(socket, bytes.as_mut_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT, from, &raw mut length)
        };
        let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        // Only the kernel's messages count.
        if from.nl_pid != 0 {
            return Ok(None);
        }
        // With a filter the numbers have gaps for unwanted events; kernels with a filter count the messages that they drop.
        if let Some((cpu, sequence)) = message_number(&bytes[..received]).filter(|_| !self.has_filter) {
            self.losses.note_sequence(cpu, sequence);
        }
        Ok(parse_event(&bytes[..received]))
    }
}

impl Drop for ProcessEvents {
    fn drop(&mut self) {
        // An older kernel would continue to make messages without a reader.
        if !self.has_filter {
            let _ = self.send_request(&[IGNORE]);
        }
    }
}

/// For poll(2): readable when there are events.
impl AsFd for ProcessEvents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn connect_socket() -> io::Result<OwnedFd> {
    let checked = |result: libc::c_int| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) };
    // SAFETY: socket takes numbers, and its result has no other owner; bind and setsockopt read values that outlive them.
    unsafe {
        let socket = libc::socket(libc::AF_NETLINK, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, libc::NETLINK_CONNECTOR);
        let socket = OwnedFd::from_raw_fd(checked(socket)?);
        let mut address: libc::sockaddr_nl = std::mem::zeroed();
        address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
        address.nl_groups = CONNECTOR;
        let length = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        checked(libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length))?;
        let bytes = ROOM_BYTES;
        let room = |option| {
            let (room, length) = ((&raw const bytes).cast(), size_of::<libc::c_int>() as libc::socklen_t);
            libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, room, length)
        };
        // A smaller buffer loses events earlier, which is reported.
        if room(libc::SO_RCVBUFFORCE) != 0 {
            room(libc::SO_RCVBUF);
        }
        Ok(socket)
    }
}

fn events_gap(error: &io::Error) -> Gap {
    let gap = Gap::new(WHAT, format!("the kernel's process connector is refused: {error}"));
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => gap.cured_by("run with CAP_NET_ADMIN, or on Linux 6.6 or newer"),
        Some(libc::EPROTONOSUPPORT) => gap.cured_by("a kernel with CONFIG_PROC_EVENTS"),
        Some(libc::ECONNREFUSED) => gap.cured_by("run outside the container, or with the host's network"),
        _ => gap,
    }
}

/// Encodes a request to the process connector.
fn request_bytes(request: &[u32]) -> Vec<u8> {
    let size = size_of_val(request);
    let mut bytes = Vec::with_capacity(MESSAGE + size);
    bytes.extend(((MESSAGE + size) as u32).to_ne_bytes());
    bytes.extend((libc::NLMSG_DONE as u16).to_ne_bytes());
    bytes.extend(0_u16.to_ne_bytes());
    // The rest of the first header, then the address, its number, and the number of the answered message.
    for word in [0, 0, CONNECTOR, CONNECTOR, 0, 0] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes.extend((size as u16).to_ne_bytes());
    bytes.extend(0_u16.to_ne_bytes());
    request.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
    bytes
}

/// Returns the cpu of an event and its message's number; `None` for an answer to a request, which has neither.
fn message_number(bytes: &[u8]) -> Option<(u32, u32)> {
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if (word(NETLINK)?, word(NETLINK + 4)?) != (CONNECTOR, CONNECTOR) || word(MESSAGE)? == 0 {
        return None;
    }
    Some((word(MESSAGE + 4)?, word(NETLINK + 8)?))
}

/// Decodes a kernel message into an event, with its kind.
fn parse_event(bytes: &[u8]) -> Option<(u32, ProcessEvent)> {
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let detail = |index: usize| word(DETAILS + 4 * index);
    if (word(NETLINK)?, word(NETLINK + 4)?) != (CONNECTOR, CONNECTOR) {
        return None;
    }
    let kind = word(MESSAGE)?;
    let event = match kind {
        // The parent's thread and process, then the child's.
        FORK => ProcessEvent::Forked { parent: detail(1)?, process: detail(3)?, thread: detail(2)? },
        EXEC => ProcessEvent::Executed { process: detail(1)? },
        COMM => {
            let name = bytes.get(DETAILS + 8..DETAILS + 24)?;
            let name = String::from_utf8_lossy(name.split(|byte| *byte == 0).next()?).into_owned();
            ProcessEvent::Renamed { process: detail(1)?, thread: detail(0)?, name }
        }
        EXIT => ProcessEvent::Ended { process: detail(1)?, thread: detail(0)? },
        _ => return None,
    };
    Some((kind, event))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Reads until an event is as wanted; all that came, with how many there were.
    fn until(events: &mut ProcessEvents, is_wanted: impl Fn(&ProcessEvent) -> bool) -> Vec<ProcessEvent> {
        let mut seen = Vec::new();
        while !seen.iter().any(&is_wanted) {
            events.wait_for_events(Duration::from_secs(60), &mut seen).unwrap();
        }
        seen
    }

    fn is_made(event: &ProcessEvent, process: u32, thread: u32) -> bool {
        let of = (process, thread);
        matches!(event, ProcessEvent::Forked { process, thread, .. } if (*process, *thread) == of)
    }

    fn opened(kinds: &[ProcessEventKind]) -> Option<ProcessEvents> {
        ProcessEvents::open(kinds).map_err(|gap| println!("skipped: {}", gap.why)).ok()
    }

    #[test]
    fn what_happens_to_a_child_is_told_in_order() {
        let all = [ProcessEventKind::Fork, ProcessEventKind::Exec, ProcessEventKind::Rename, ProcessEventKind::Exit];
        let Some(mut events) = opened(&all) else { return };
        let mut child = Command::new("sh").args(["-c", "exec sleep 0"]).spawn().unwrap();
        let id = child.id();
        let end = ProcessEvent::Ended { process: id, thread: id };
        let seen = until(&mut events, |event| *event == end);
        child.wait().unwrap();
        let made = |event: &ProcessEvent| is_made(event, id, id);
        let executed = ProcessEvent::Executed { process: id };
        assert!(seen.iter().any(made), "{seen:?}");
        assert_eq!(seen.iter().filter(|event| **event == executed).count(), 2, "sh and sleep");
        assert!(seen.iter().position(made) < seen.iter().position(|event| *event == executed));
    }

    #[test]
    fn threads_and_their_names_are_told() {
        let Some(mut events) = opened(&[ProcessEventKind::Fork, ProcessEventKind::Rename]) else { return };
        let thread = std::thread::Builder::new().name("a worker".into()).spawn(own_number);
        let (own, thread) = (std::process::id(), thread.unwrap().join().unwrap());
        let renamed = ProcessEvent::Renamed { process: own, thread, name: "a worker".into() };
        let seen = until(&mut events, |event| *event == renamed);
        assert!(seen.iter().any(|event| is_made(event, own, thread)), "{seen:?}");
    }

    #[test]
    fn nothing_else_than_what_was_asked_for_is_told() {
        let Some(mut events) = opened(&[ProcessEventKind::Exec]) else { return };
        let mut first = Command::new("true").spawn().unwrap();
        first.wait().unwrap();
        let second = Command::new("true").spawn().unwrap().id();
        let seen = until(&mut events, |event| *event == ProcessEvent::Executed { process: second });
        assert!(
            seen.iter().all(|event| matches!(event, ProcessEvent::Executed { .. } | ProcessEvent::Lost)),
            "{seen:?}"
        );
    }

    #[test]
    fn what_had_no_room_is_told() {
        let Some(mut events) = opened(&[ProcessEventKind::Fork, ProcessEventKind::Exit]) else { return };
        make_narrow(&events);
        for _ in 0..100 {
            std::thread::spawn(|| {}).join().unwrap();
        }
        until(&mut events, |event| *event == ProcessEvent::Lost);
    }

    fn make_narrow(events: &ProcessEvents) {
        let room: libc::c_int = 1;
        // SAFETY: the kernel reads a number, which outlives the call.
        let result = unsafe {
            let (value, length) = ((&raw const room).cast(), size_of::<libc::c_int>() as libc::socklen_t);
            libc::setsockopt(events.socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, value, length)
        };
        assert_eq!(result, 0);
    }

    fn rename_often() {
        for _ in 0..100 {
            // SAFETY: the kernel reads a text that ends with a zero.
            unsafe { libc::prctl(libc::PR_SET_NAME, c"renamed".as_ptr()) };
        }
    }

    /// The kernel reports the first loss of a congestion alone.
    #[test]
    fn what_is_lost_before_the_queue_was_emptied_is_reported_after_it() {
        let Some(mut events) = opened(&[ProcessEventKind::Rename]) else { return };
        make_narrow(&events);
        rename_often();
        while !events.receive_event().is_err_and(|error| error.raw_os_error() == Some(libc::ENOBUFS)) {}
        assert!(events.losses.has_lost(events.dropped_messages()));
        rename_often();
        let mut seen = Vec::new();
        events.wait_for_events(Duration::ZERO, &mut seen).unwrap();
        assert_eq!(seen.pop(), Some(ProcessEvent::Lost), "after {} others", seen.len());
        assert!(!seen.contains(&ProcessEvent::Lost));
    }

    fn message(cpu: u32, sequence: u32) -> Vec<u8> {
        let mut bytes = request_bytes(&[EXEC, cpu, 0, 0, 11, 12]);
        bytes[NETLINK + 8..NETLINK + 12].copy_from_slice(&sequence.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_message_that_is_missing_leaves_a_gap_in_the_numbers_of_its_cpu() {
        let mut losses = LossDetector::default();
        let mut lost_after = |messages: &[(u32, u32)]| {
            for (cpu, sequence) in messages {
                let numbers = message_number(&message(*cpu, *sequence)).unwrap();
                losses.note_sequence(numbers.0, numbers.1);
            }
            losses.has_lost(None)
        };
        assert!(!lost_after(&[(0, 7), (1, u32::MAX - 1), (0, 8), (1, u32::MAX), (1, 0), (0, 9)]));
        assert!(lost_after(&[(1, 2)]));
        assert!(!lost_after(&[(1, 3), (0, 10)]), "it is reported once");
        assert!(lost_after(&[(0, 12), (0, 13)]));
        let mut answer = message(u32::MAX, 5);
        answer[MESSAGE..MESSAGE + 4].fill(0);
        assert_eq!(message_number(&answer), None, "an answer to a request has no number of a cpu");
        assert_eq!(message_number(&answer[..MESSAGE + 6]), None);
    }

    #[test]
    fn messages_that_the_kernel_counts_as_dropped_are_lost() {
        let mut losses = LossDetector::default();
        let lost = [Some(0), Some(3), Some(3), None, Some(4)].map(|dropped| losses.has_lost(dropped));
        assert_eq!(lost, [false, true, false, false, true]);
    }

    #[test]
    fn a_message_that_is_cut_off_is_no_event() {
        let mut bytes = request_bytes(&[EXEC, 0, 0, 0, 11, 12]);
        assert_eq!(parse_event(&bytes), Some((EXEC, ProcessEvent::Executed { process: 12 })));
        for length in 0..bytes.len() {
            assert_eq!(parse_event(&bytes[..length]), None, "{length}");
        }
        bytes[NETLINK] = 9;
        assert_eq!(parse_event(&bytes), None, "another connector's");
    }
}
