//! `corewise try` on running processes as a user meets it: slots, verdicts, limits, and masks that come back whatever happens.
//!
//! The test program plays the server: started with [`SERVE`], it has threads, and a page with metrics that depend on where these may run and on
//! nothing else. So every verdict is known, however busy the machine is.

mod support;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use corewise_machine::CpuSet;
use corewise_sys::process::ProcessIdentity;
use corewise_sys::{affinity, task};
use libtest_mimic::{Arguments, Completion, Trial};
use support::{TestPlace, ended, interrupt, is_root, send, text, wait_for, wait_until_it_catches_interrupts};

/// The first argument that makes this program a server; the second says which.
const SERVE: &str = "serve";
/// What a server counts in a second with all cpus, and with fewer.
const RATES: [f64; 2] = [1_000.0, 2_000.0];
/// Threads of a server that do nothing.
const IDLERS: usize = 6;

/// A test; what it gives says whether it could be done here.
type LiveTest = fn(&LiveStage) -> Result<(), String>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == SERVE) {
        return serve(&words[1]);
    }
    let tests: [(&str, LiveTest); 17] = [
        ("the_better_placement_wins_and_everything_comes_back", the_better_placement_wins_and_everything_comes_back),
        ("a_session_goes_on_with_the_same_process_alone", a_session_goes_on_with_the_same_process_alone),
        ("a_placement_beyond_a_limit_is_left", a_placement_beyond_a_limit_is_left),
        ("a_page_that_is_late_once_is_nobodys_failure", a_page_that_is_late_once_is_nobodys_failure),
        ("a_killed_session_is_undone", a_killed_session_is_undone),
        ("a_session_that_is_interrupted_gives_back", a_session_that_is_interrupted_gives_back),
        ("a_pause_gives_everything_back", a_pause_gives_everything_back),
        ("time_on_what_looks_worse_is_bounded", time_on_what_looks_worse_is_bounded),
        ("threads_with_a_name_stand_elsewhere", threads_with_a_name_stand_elsewhere),
        ("a_process_that_ends_ends_the_session", a_process_that_ends_ends_the_session),
        ("threads_that_are_born_are_given_back_too", threads_that_are_born_are_given_back_too),
        (
            "what_cannot_be_read_is_said_before_anything_is_changed",
            what_cannot_be_read_is_said_before_anything_is_changed,
        ),
        ("a_reading_takes_no_longer_than_the_budget", a_reading_takes_no_longer_than_the_budget),
        ("slots_are_found_from_few_slow_readings", slots_are_found_from_few_slow_readings),
        ("too_few_values_are_counted_in_words", too_few_values_are_counted_in_words),
        ("numbers_of_another_namespace_are_refused", numbers_of_another_namespace_are_refused),
        ("who_may_not_place_a_process_is_told", who_may_not_place_a_process_is_told),
    ];
    let trials = tests.map(|(name, test)| {
        Trial::ignorable_test(name, move || {
            let all = affinity::current_affinity().unwrap();
            if all.len() < 2 {
                return Ok(Completion::ignored_with("one cpu alone leaves nothing to restrict a process to"));
            }
            Ok(test(&LiveStage::new(all)).map_or_else(Completion::ignored_with, |()| Completion::Completed))
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

/// A server, by what it does wrong.
fn serve(which: &str) -> ExitCode {
    let all = affinity::current_affinity().unwrap();
    for number in 0..IDLERS {
        let named = std::thread::Builder::new().name(format!("idle-{number}"));
        drop(named.spawn(|| std::thread::sleep(Duration::MAX)));
    }
    if which == "breeds" {
        std::thread::spawn(|| {
            loop {
                let short = std::thread::spawn(|| std::thread::sleep(Duration::from_millis(30)));
                std::thread::sleep(Duration::from_millis(5));
                drop(short);
            }
        });
    }
    let count = Arc::new(Mutex::new((0.0, Instant::now())));
    let counted = {
        let (count, all) = (Arc::clone(&count), all.clone());
        move || {
            let is_whole = affinity::current_affinity().unwrap() == all;
            let (sum, since) = &mut *count.lock().unwrap();
            let rate = RATES[usize::from(!is_whole)];
            *sum += since.elapsed().as_secs_f64() * rate;
            *since = Instant::now();
            (*sum, is_whole)
        }
    };
    let often = counted.clone();
    std::thread::spawn(move || {
        loop {
            often();
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    let asked = AtomicU64::new(0);
    let mut has_napped = false;
    for stream in listener.incoming().flatten() {
        let (count, is_whole) = counted();
        let number = asked.fetch_add(1, Ordering::Relaxed);
        if which == "ends" && number == 40 {
            return ExitCode::SUCCESS;
        }
        if which == "naps" && !is_whole && !has_napped {
            has_napped = true;
            std::thread::sleep(Duration::from_millis(2_500));
        }
        let count = if which == "backwards" { 1e6 - number as f64 } else { count };
        let value = if which == "words" { "many".to_owned() } else { format!("{count:.0}") };
        let waits = if is_whole { 0.001 } else { 0.02 };
        let page = format!("# TYPE ops_total counter\nops_total {value}\nwaits_seconds {waits}\nstill_total 7\n");
        let _ = answer(stream, which, &page);
    }
    ExitCode::SUCCESS
}

fn answer(mut stream: TcpStream, which: &str, page: &str) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    match which {
        "leads-away" => {
            write!(stream, "HTTP/1.1 302 Found\r\nLocation: http://example.com/x\r\nContent-Length: 0\r\n\r\n")
        }
        "is-not-there" => write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
        "is-huge" => {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n")?;
            (0..20_000).try_for_each(|_| stream.write_all(&[b'#'; 1000]))
        }
        "is-slow" => {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")?;
            (0..100).try_for_each(|_| {
                std::thread::sleep(Duration::from_millis(100));
                stream.write_all(b"#")
            })
        }
        _ => write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}", page.len()),
    }
}

struct LiveStage {
    place: TestPlace,
    all: CpuSet,
    one: CpuSet,
}

/// A server that runs, and the masks of its threads when it began.
struct Server {
    child: Child,
    port: u16,
    before: Vec<(u32, CpuSet)>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn address(&self) -> String {
        format!("http://127.0.0.1:{}/metrics", self.port)
    }

    fn masks(&self) -> Vec<(u32, CpuSet)> {
        let threads = task::thread_numbers(self.child.id()).into_iter();
        threads.filter_map(|thread| Some((thread, affinity::affinity_of(thread).ok()?))).collect()
    }

    /// A mask that none of the threads has which this server began with.
    fn is_placed(&self) -> bool {
        self.masks() != self.before
    }
}

impl LiveStage {
    fn new(all: CpuSet) -> Self {
        let one = CpuSet::from_cpu(all.highest().unwrap());
        Self { place: TestPlace::new(), all, one }
    }

    /// A server of which one idler has a mask of its own.
    fn server(&self, which: &str) -> Server {
        let mut child =
            Command::new(std::env::current_exe().unwrap()).args([SERVE, which]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let mut server = Server { port: line.trim().parse().unwrap(), child, before: Vec::new() };
        // An idler, which counts nothing. A thread names itself when it first runs, and numbers begin again some time.
        let name_of = |thread: &u32| task::thread_name(server.child.id(), *thread).unwrap_or_default();
        let find_idlers = || {
            let threads = task::thread_numbers(server.child.id()).into_iter();
            let idlers: Vec<u32> = threads.filter(|thread| name_of(thread).starts_with("idle-")).collect();
            (idlers.len() == IDLERS).then_some(idlers)
        };
        let idler = wait_for("threads with names", find_idlers)[0];
        ProcessIdentity::find_task(idler)
            .and_then(|task| task.restrict_thread(&CpuSet::from_cpu(self.all.lowest().unwrap())))
            .unwrap();
        server.before = server.masks();
        server
    }

    fn corewise(&self, words: &[&str]) -> Command {
        let journals = self.place.path().join("journals");
        self.place.corewise(&[&["--journal", journals.to_str().unwrap()], words].concat())
    }

    /// `try` on a server, with the highest cpu as the only candidate.
    fn tries(&self, server: &Server, words: &[&str]) -> Command {
        let (pid, one, address) = (server.child.id().to_string(), self.one.to_string(), server.address());
        let typed = ["try", "--no-confirm", "--pid", &pid, "--on", &one, "--sample", &address, "--slot", "0.1s"];
        self.corewise(&[&typed, words].concat())
    }

    fn output(&self, server: &Server, words: &[&str]) -> Output {
        self.tries(server, words).output().unwrap()
    }

    /// No journal is left, so that there is nothing to undo.
    fn has_no_journal(&self) -> bool {
        fs::read_dir(self.place.path().join("journals")).is_ok_and(|mut entries| entries.next().is_none())
    }
}

fn the_better_placement_wins_and_everything_comes_back(stage: &LiveStage) -> Result<(), String> {
    let server = stage.server("well");
    let dry = stage.output(&server, &["--metric", "ops_total", "--dry-run"]);
    let said = text(&dry.stdout);
    assert!(
        said.contains(&format!("{} threads", server.before.len())) && said.contains("Nothing was changed."),
        "{said}"
    );
    assert_eq!(server.masks(), server.before);
    let made = stage.output(&server, &["--metric", "ops_total"]);
    let said = text(&made.stdout);
    assert_eq!(made.status.code(), Some(1), "{said}{}", text(&made.stderr));
    for part in
        ["So far, in ", "better in ops_total", "slots of 100 ms", "corewise keep add --from 1", "taskset --all-tasks"]
    {
        assert!(said.replace("\n", " ").contains(part), "{part}: {said}");
    }
    assert_eq!(server.masks(), server.before);
    assert!(stage.has_no_journal());
    let kept = stage.corewise(&["keep", "--user", "--rules", "rules.toml", "add", "--from", "1"]).output().unwrap();
    let rules = fs::read_to_string(stage.place.path().join("rules.toml")).unwrap_or_default();
    let own = std::env::current_exe().unwrap().canonicalize().unwrap();
    assert!(
        kept.status.success() && rules.contains(own.file_name().unwrap().to_str().unwrap()),
        "{rules}{}",
        text(&kept.stderr)
    );
    Ok(())
}

fn a_session_goes_on_with_the_same_process_alone(stage: &LiveStage) -> Result<(), String> {
    let server = stage.server("well");
    let first = stage.output(&server, &["--metric", "ops_total", "--runs-max", "2", "--seed", "1"]);
    assert_eq!(first.status.code(), Some(1), "{}", text(&first.stderr));
    let resumed = stage.corewise(&["try", "--no-confirm", "--resume=1"]).output().unwrap();
    assert!(text(&resumed.stdout).contains("So far, in "), "{}{}", text(&resumed.stdout), text(&resumed.stderr));
    assert_eq!(server.masks(), server.before);
    drop(server);
    let gone = stage.corewise(&["try", "--resume=1"]).output().unwrap();
    assert_eq!(gone.status.code(), Some(3));
    assert!(text(&gone.stderr).contains("has ended"), "{}", text(&gone.stderr));
    Ok(())
}

fn a_placement_beyond_a_limit_is_left(stage: &LiveStage) -> Result<(), String> {
    let server = stage.server("well");
    let made = stage.output(&server, &["--metric", "ops_total", "--stop-if", "waits_seconds > 10ms"]);
    let said = text(&made.stdout).replace('\n', " ");
    assert!(said.contains("Leave it to the operating system."), "{said}{}", text(&made.stderr));
    assert!(said.contains("1 failed slot") && said.contains("it was left at once"), "{said}");
    assert_eq!(server.masks(), server.before);
    let already = stage.output(&server, &["--metric", "ops_total", "--stop-if", "waits_seconds > 0.1ms"]);
    assert_eq!(already.status.code(), Some(3), "it is beyond its limit without any placement");
    assert!(text(&already.stderr).contains("Nothing was changed."), "{}", text(&already.stderr));
    Ok(())
}

fn a_page_that_is_late_once_is_nobodys_failure(stage: &LiveStage) -> Result<(), String> {
    let server = stage.server("naps");
    let made = stage.output(&server, &["--metric", "ops_total"]);
    let said = text(&made.stdout).replace('\n', " ");
    assert!(said.contains("So far, in ") && !said.contains("failed"), "{said}{}", text(&made.stderr));
    assert_eq!(server.masks(), server.before);
    Ok(())
}

fn a_killed_session_is_undone(stage: &LiveStage) -> Result<(), String> {
    let server = stage.server("well");
    for looks in [1, 5, 60, 300] {
        let mut session = stage
            .tries(&server, &["--metric", "waits_seconds", "--margin", "50%", "--lower"])
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait_for("a placement", || server.is_placed().then_some(()));
        // More or less into it, at no moment in particular.
        (0..looks).for_each(|_| drop(server.masks()));
        session.kill().unwrap();
        session.wait().unwrap();
        let undone = stage.corewise(&["undo"]).output().unwrap();
        assert_eq!(server.masks(), server.before, "{}{}", text(&undone.stdout), text(&undone.stderr));
        assert!(stage.has_no_journal());
    }
    Ok(())
}

fn a_session_that_is_interrupted_gives_back(stage: &LiveStage) -> Result<(), String> {
    let server = stage.server("well");
    let mut session = stage
        .tries(&server, &["--metric", "waits_seconds", "--lower", "--margin", "50%"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until_it_catches_interrupts(&session);
    wait_for("a placement", || server.is_placed().then_some(()));
    interrupt(&session);
    let status = ended(&mut session);
    assert!([Some(0), Some(1), Some(130)].contains(&status.code()), "{status}");
    assert_eq!(server.masks(), server.before);
    assert!(stage.has_no_journal());
    Ok(())
}

fn a_pause_gives_everything_back(stage: &LiveStage) -> Result<(), String> {
    let server = stage.server("well");
    let mut session = stage
        .tries(&server, &["--metric", "waits_seconds", "--lower", "--error-rate", "0.000001%", "--worse-at-most", "1h"])
        // In a group of its own that somebody could continue.
        .process_group(0)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let is_stopped = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", session.id())).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    };
    for _ in 0..2 {
        wait_for("a placement", || server.is_placed().then_some(()));
        send("TSTP", &session);
        wait_for("the stop", || is_stopped().then_some(()));
        assert_eq!(server.masks(), server.before);
        send("CONT", &session);
    }
    wait_for("a placement", || server.is_placed().then_some(()));
    interrupt(&session);
    ended(&mut session);
    assert_eq!(server.masks(), server.before);
    Ok(())
}

fn time_on_what_looks_worse_is_bounded(stage: &LiveStage) -> Result<(), String> {
    let server = stage.server("well");
    let words = ["--metric", "waits_seconds", "--lower", "--error-rate", "0.000001%", "--worse-at-most", "1s"];
    let made = stage.output(&server, &words);
    let said = text(&made.stderr);
    assert!(said.contains("--worse-at-most") && made.status.code() == Some(1), "{said}{}", text(&made.stdout));
    Ok(())
}

fn threads_with_a_name_stand_elsewhere(stage: &LiveStage) -> Result<(), String> {
    let server = stage.server("well");
    let (pid, address) = (server.child.id().to_string(), server.address());
    let idle = format!("idle={}", stage.one);
    let words = ["try", "--pid", &pid, "--role", "idle=^idle-", "--on", &idle, "--sample", &address, "--slot", "0.1s"];
    let typed = [&words[..], &["--metric", "waits_seconds", "--lower", "--error-rate", "0.000001%"]].concat();
    let mut session = stage.corewise(&typed).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let placed = |is_idle: bool| {
        let threads = server.masks().into_iter();
        let named = threads.filter(|(thread, _)| {
            task::thread_name(server.child.id(), *thread).is_some_and(|name| name.starts_with("idle-")) == is_idle
        });
        named.map(|(_, cpus)| cpus).collect::<Vec<_>>()
    };
    wait_for("a placement", || placed(true).iter().all(|cpus| *cpus == stage.one).then_some(()));
    interrupt(&session);
    ended(&mut session);
    assert!(placed(false).iter().all(|cpus| *cpus == stage.all), "{:?}", placed(false));
    assert_eq!(server.masks(), server.before);
    Ok(())
}

fn a_process_that_ends_ends_the_session(stage: &LiveStage) -> Result<(), String> {
    let server = stage.server("ends");
    // It has to go on until the server ends.
    let made = stage.output(&server, &["--metric", "waits_seconds", "--higher", "--error-rate", "0.000001%"]);
    let said = text(&made.stderr);
    assert!(said.contains("the session ended early") && said.contains("has ended"), "{said}{}", text(&made.stdout));
    assert!(text(&made.stdout).contains("slots"), "what was measured is shown: {}", text(&made.stdout));
    assert!(stage.has_no_journal());
    Ok(())
}

fn threads_that_are_born_are_given_back_too(stage: &LiveStage) -> Result<(), String> {
    let server = stage.server("breeds");
    let made = stage.output(&server, &["--metric", "ops_total"]);
    assert!(text(&made.stdout).contains("So far, in "), "{}{}", text(&made.stdout), text(&made.stderr));
    let narrow = server.before.iter().filter(|(_, cpus)| *cpus != stage.all).count();
    let after = server.masks();
    assert!(after.len() > IDLERS && after.iter().filter(|(_, cpus)| *cpus != stage.all).count() == narrow, "{after:?}");
    Ok(())
}

fn what_cannot_be_read_is_said_before_anything_is_changed(stage: &LiveStage) -> Result<(), String> {
    let cases: [(&str, &str, &str); 7] = [
        ("leads-away", "ops_total", "leads to http://example.com/x"),
        ("is-not-there", "ops_total", "answers with 404"),
        ("is-huge", "ops_total", "metrics: "),
        ("is-slow", "ops_total", "took longer than 5 s"),
        ("words", "ops_total", "is \"many\", which is not a number"),
        ("backwards", "ops_total", "went backwards"),
        ("well", "other_total", "is not in what was read"),
    ];
    for (which, metric, part) in cases {
        let server = stage.server(which);
        let made = stage.output(&server, &["--metric", metric]);
        let said = text(&made.stderr);
        assert_eq!(made.status.code(), Some(3), "{which}: {said}{}", text(&made.stdout));
        assert!(said.contains(part) && said.contains("Nothing was changed."), "{which}: {said}");
        assert_eq!(server.masks(), server.before, "{which}");
    }
    let server = stage.server("well");
    let pid = server.child.id().to_string();
    let still = stage.corewise(&[
        "try",
        "--pid",
        &pid,
        "--on",
        &stage.one.to_string(),
        "--sample",
        "echo ops_total 7",
        "--metric",
        "ops_total",
        "--slot",
        "0.1s",
    ]);
    let made = { still }.output().unwrap();
    assert!(text(&made.stderr).contains("does not move"), "{}{}", text(&made.stdout), text(&made.stderr));
    Ok(())
}

/// The limit is a part of what is said, so no time is measured.
fn a_reading_takes_no_longer_than_the_budget(stage: &LiveStage) -> Result<(), String> {
    let server = stage.server("is-slow");
    let (pid, one) = (server.child.id().to_string(), stage.one.to_string());
    let options = ["--sample", &server.address(), "--metric", "ops_total"];
    let typed = ["try", "--no-confirm", "--pid", &pid, "--on", &one, "--slot", "0.1s", "--budget", "1.5s"];
    let made = stage.corewise(&[&typed[..], &options].concat()).output().unwrap();
    let said = text(&made.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(made.status.code() == Some(3) && said.contains("took longer than 1.5 s"), "{said}{}", text(&made.stdout));
    assert_eq!(server.masks(), server.before);
    Ok(())
}

/// Tries a server with a counter that grows whenever it is read, which takes this long.
fn tries_slow_counter(stage: &LiveStage, server: &Server, pause: &str, budget: &str) -> Command {
    let counter = stage.place.path().join("counter");
    fs::write(&counter, "0").unwrap();
    let file = counter.display();
    let sample = format!("sleep {pause}; n=$(($(cat {file}) + 1000)); echo $n > {file}; echo ops $n");
    let (pid, one) = (server.child.id().to_string(), stage.one.to_string());
    let metric = ["--metric", "ops", "--counter", "--rest", "0s"];
    let typed = ["try", "--pid", &pid, "--on", &one, "--sample", &sample, "--budget", budget];
    stage.corewise(&[&typed[..], &metric].concat())
}

fn slots_are_found_from_few_slow_readings(stage: &LiveStage) -> Result<(), String> {
    let server = stage.server("well");
    // A busy machine needs more time for as many readings.
    let within = |budget| tries_slow_counter(stage, &server, "0.1", budget).output().unwrap();
    let mut tried = ["10s", "40s", "120s"].into_iter().map(within);
    let made = tried.find(|made| !text(&made.stderr).contains("Read only")).unwrap();
    let said = text(&made.stderr);
    assert!(said.contains("note: slots of"), "{said}{}", text(&made.stdout));
    assert_eq!(server.masks(), server.before);
    Ok(())
}

fn too_few_values_are_counted_in_words(stage: &LiveStage) -> Result<(), String> {
    let server = stage.server("well");
    let made = tries_slow_counter(stage, &server, "0.5", "4s").output().unwrap();
    let said = text(&made.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(made.status.code(), Some(3), "{said}");
    for part in ["ops came ", ": slots of ", " would hold 1", "Nothing was changed. Next: corewise try ", " --slot "] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(server.masks(), server.before);
    Ok(())
}

fn numbers_of_another_namespace_are_refused(stage: &LiveStage) -> Result<(), String> {
    let unshared = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork"]).args(words);
        command
    };
    if !unshared(&["true"]).status().is_ok_and(|status| status.success()) {
        return Err("no namespace of processes can be made here (unshare)".to_owned());
    }
    let server = stage.server("well");
    let corewise = stage.tries(&server, &["--metric", "waits_seconds", "--lower"]);
    let words: Vec<String> = std::iter::once(corewise.get_program())
        .chain(corewise.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let mut command = unshared(&words.iter().map(String::as_str).collect::<Vec<_>>());
    for (name, value) in corewise.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let made = command.output().unwrap();
    let said = text(&made.stderr);
    assert!(made.status.code() == Some(3) && said.contains("another namespace of processes"), "{said}");
    assert_eq!(server.masks(), server.before);
    Ok(())
}

fn who_may_not_place_a_process_is_told(stage: &LiveStage) -> Result<(), String> {
    if !is_root() {
        return Err("the tests do not run as root".to_owned());
    }
    let server = stage.server("well");
    let (pid, one) = (server.child.id().to_string(), stage.one.to_string());
    let words = ["try", "--pid", &pid, "--on", &one, "--metric", "run-delay", "--slot", "0.1s", "--no-store"];
    let made = stage.place.ordinary_user(&words).output().unwrap();
    let said = text(&made.stderr);
    assert!(made.status.code() == Some(3) && said.contains("you may not place it"), "{said}");
    assert_eq!(server.masks(), server.before);
    Ok(())
}
