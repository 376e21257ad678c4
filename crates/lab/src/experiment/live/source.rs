//! Readings of running processes: the output of a command, a page, the kernel's accounting.

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use corewise_model::sample::MetricMoment;
use corewise_model::trial::LiveSource;
use corewise_sys::accounts::ThreadAccount;
use corewise_sys::execution::{CommandExecution, ExecutionEnd};
use corewise_sys::input::InputKind;
use ureq::Agent;

/// Maximum time for a command or a page to answer.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Reads one source repeatedly.
pub struct SourceReader<'a> {
    source: LiveSource,
    agent: Agent,
    since: Instant,
    accounts: Option<ThreadAccounts>,
    stop: &'a AtomicBool,
}

/// Accounting of all threads. A thread that has ended keeps its value of the last reading.
#[derive(Default)]
struct ThreadAccounts {
    /// Latest account by process and thread.
    last: HashMap<(u32, u32), ThreadAccount>,
    cpu_ns: u64,
    waited_ns: u64,
}

impl ThreadAccounts {
    fn read_accounts(&mut self, threads: impl Iterator<Item = (u32, u32)>) {
        for key in threads {
            let Some(now) = ThreadAccount::read_account(key.0, key.1) else { continue };
            let before = self.last.insert(key, now).unwrap_or_default();
            // A reused number counts from zero.
            self.cpu_ns += now.on_cpu_ns.checked_sub(before.on_cpu_ns).unwrap_or(now.on_cpu_ns);
            self.waited_ns += now.waited_ns.checked_sub(before.waited_ns).unwrap_or(now.waited_ns);
        }
    }
}

impl<'a> SourceReader<'a> {
    /// Returns a reader of a source; with the kernel's accounting if a metric needs it.
    pub fn new(source: &LiveSource, with_accounts: bool, stop: &'a AtomicBool) -> Self {
        let config = Agent::config_builder()
            // Only the user's address counts: a server cannot send corewise elsewhere.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .proxy(None)
            .max_idle_connections(1)
            .user_agent("corewise");
        let accounts = with_accounts.then(ThreadAccounts::default);
        Self { source: source.clone(), agent: config.build().into(), since: Instant::now(), accounts, stop }
    }

    /// Reads the current values; the time is the middle of the reading. `threads` are the numbers of processes and of
    /// their threads.
    ///
    /// # Errors
    /// The reason why the source does not answer within `patience`.
    pub fn read_source(
        &mut self,
        threads: impl Iterator<Item = (u32, u32)>,
        patience: Duration,
    ) -> Result<MetricMoment, String> {
        let begun = self.since.elapsed();
        let text = match &self.source {
            LiveSource::Command(script) => self.read_output(script, patience)?,
            LiveSource::Page(address) => self.fetch_page(address, patience)?,
            LiveSource::Kernel => String::new(),
        };
        if let Some(accounts) = &mut self.accounts {
            accounts.read_accounts(threads);
        }
        let at_s = (begun + self.since.elapsed()).as_secs_f64() / 2.0;
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        let (cpu_s, waited_s) =
            self.accounts.as_ref().map_or((0.0, 0.0), |found| (seconds(found.cpu_ns), seconds(found.waited_ns)));
        Ok(MetricMoment { at_s, text, cpu_s, waited_s })
    }

    fn read_output(&self, script: &str, patience: Duration) -> Result<String, String> {
        let (program, arguments) = ("sh".into(), ["-c".into(), script.into()]);
        let stops = [self.stop];
        let execution =
            CommandExecution { timeout: Some(patience), ..CommandExecution::new(&program, &arguments, &stops) };
        let mut text = Vec::new();
        let mut take = |bytes: &[u8]| {
            let left = (InputKind::MetricFile.most_bytes() as usize).saturating_sub(text.len());
            text.extend_from_slice(&bytes[..bytes.len().min(left)]);
        };
        let ran = execution.run(&mut take).map_err(|error| format!("{script} cannot be started: {error}"))?;
        match ran.end {
            ExecutionEnd::Exited(0) => Ok(String::from_utf8_lossy(&text).replace('\r', "\n")),
            ExecutionEnd::Exited(status) => Err(format!("{script} failed: exit status {status}")),
            ExecutionEnd::TimedOut => Err(describe_lateness(script, patience)),
            ExecutionEnd::Killed(signal) => Err(format!("{script} was killed by signal {signal}")),
            ExecutionEnd::Stopped => Err(format!("{script} was ended: it tried to use the terminal")),
            ExecutionEnd::Interrupted | ExecutionEnd::NothingToFollow => Err(format!("{script} was interrupted")),
        }
    }

    fn fetch_page(&self, address: &str, patience: Duration) -> Result<String, String> {
        let begun = Instant::now();
        let late = || describe_lateness(address, patience);
        let wrong = |error: ureq::Error| match error {
            ureq::Error::Timeout(_) => late(),
            error => format!("{address}: {error}"),
        };
        // A server may close a connection just before it is used again.
        let ask = || self.agent.get(address).config().timeout_global(Some(patience)).build().call();
        let asked = ask().or_else(|error| if is_closed(&error) { ask() } else { Err(error) });
        let mut response = asked.map_err(wrong)?;
        let status = response.status();
        if status.is_redirection() {
            let to = response.headers().get("location").and_then(|to| to.to_str().ok()).unwrap_or("another address");
            return Err(format!("{address} leads to {to}: give that address, if it is meant"));
        }
        if !status.is_success() {
            return Err(format!("{address} answers with {status}"));
        }
        // A page that comes byte by byte keeps every single wait short.
        let mut reader = response.body_mut().with_config().limit(InputKind::MetricFile.most_bytes()).reader();
        let (mut page, mut chunk) = (Vec::new(), vec![0; 16 << 10]);
        loop {
            match reader.read(&mut chunk) {
                _ if begun.elapsed() > patience => return Err(late()),
                Ok(0) => return Ok(String::from_utf8_lossy(&page).into_owned()),
                Ok(count) => page.extend_from_slice(&chunk[..count]),
                Err(error) => return Err(wrong(ureq::Error::from(error))),
            }
        }
    }
}

/// Describes a source that took longer than `patience`, shown to a tenth of a second.
fn describe_lateness(source: &str, patience: Duration) -> String {
    format!("{source} took longer than {} s", (10.0 * patience.as_secs_f64()).round() / 10.0)
}

/// Returns true if the other side closed a kept connection.
fn is_closed(error: &ureq::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    match error {
        ureq::Error::Io(error) => {
            matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// Takes a request, and answers it.
    fn answer(stream: &mut BufReader<TcpStream>, is_answered: bool) {
        let mut line = String::new();
        while stream.read_line(&mut line).unwrap() > 2 {
            line.clear();
        }
        if is_answered {
            write!(stream.get_mut(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n7\n").unwrap();
        }
    }

    #[test]
    fn a_connection_is_kept_and_made_again_when_it_is_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, stop) = (format!("http://{}/", listener.local_addr().unwrap()), AtomicBool::new(false));
        let server = std::thread::spawn(move || {
            let mut first = BufReader::new(listener.accept().unwrap().0);
            for is_answered in [true, true, false] {
                answer(&mut first, is_answered);
            }
            drop(first);
            answer(&mut BufReader::new(listener.accept().unwrap().0), true);
        });
        let mut reader = SourceReader::new(&LiveSource::Page(address), false, &stop);
        for _ in 0..3 {
            assert_eq!(reader.read_source(std::iter::empty(), PATIENCE).unwrap().text, "7\n");
        }
        server.join().unwrap();
    }
}
