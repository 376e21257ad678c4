//! Watched programs with planted graphs: what each way sees of them, at its limits too.

mod planted;

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

use corewise_lab::talk::{TalkSubject, TalkWatcher, TalkWay, watch_talk};
use corewise_model::talk::{TalkGraph, TalkSource, VertexKind, WakeMeans};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

type Outcome = Result<Completion, Failed>;

/// Says what this program is to do instead of its tests.
const PART: &str = "COREWISE_TALK_PART";
/// Additions between two tokens: some 20 us in an unoptimized program.
const ADDITIONS: u32 = 2_000;
/// A user without rights.
const NOBODY: u32 = 65_534;

fn main() -> ExitCode {
    match std::env::var(PART).as_deref() {
        Ok("planted") => {
            give_way();
            planted::play_planted(ADDITIONS, Duration::from_secs(20));
        }
        Ok("short threads") => start_short_threads(),
        Ok("many threads") => start_many_threads(),
        Ok("watch") => print_seen_as_user(),
        _ => return run_tests(),
    }
    ExitCode::SUCCESS
}

fn run_tests() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Each watches alone.
    arguments.test_threads = Some(1);
    let trial = |name: &str, test: fn() -> Outcome| Trial::ignorable_test(name, test);
    let trials = vec![
        trial("counting_puts_99_percent_of_the_weight_on_planted_edges_with_their_means", counted_edges_are_right),
        trial("perfs_ring_puts_99_percent_of_the_weight_on_planted_edges", ring_edges_are_right),
        trial("guessing_puts_70_percent_of_the_weight_on_planted_edges", guessed_edges_are_right),
        trial("a_user_without_rights_gets_a_guess_and_the_reason", users_get_a_guess),
        trial("a_program_that_ends_at_once_has_a_graph", a_short_program_is_seen),
        trial("threads_that_live_a_millisecond_have_their_names", short_threads_are_seen),
        trial("ten_thousand_threads_are_watched_in_bounded_memory", ten_thousand_threads_are_watched_in_bounded_memory),
        trial("a_program_that_runs_already_is_watched_until_it_ends", running_programs_are_seen),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn itself(part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(PART, part);
    command
}

/// Lets the watcher and the kernel's threads run before this program: its threads wake so often that others would wait for seconds.
fn give_way() {
    let own = std::process::id().to_string();
    assert!(Command::new("renice").args(["-n", "19", "-p", &own]).output().unwrap().status.success());
}

/// A child that ends with this value.
struct OwnChild(Child);

impl Drop for OwnChild {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Watches a command from its start, by a way at best.
fn watch_command(mut command: Command, best: TalkWay, time: Duration) -> TalkGraph {
    let watcher = TalkWatcher::open_from(TalkSubject::default(), best).unwrap();
    let mut child = OwnChild(command.spawn().unwrap());
    let begun = Instant::now();
    let ended = std::cell::RefCell::new(&mut child.0);
    watcher.watch(time, &|| begun.elapsed() > time || ended.borrow_mut().try_wait().unwrap().is_some())
}

/// Watches again, up to ten times, until there was enough to see: a busy machine may not have let the program run.
fn watch_until(watch: impl Fn() -> TalkGraph, is_enough: impl Fn(&TalkGraph) -> bool) -> TalkGraph {
    let mut graph = watch();
    for _ in 1..10 {
        if is_enough(&graph) {
            break;
        }
        graph = watch();
    }
    graph
}

/// Returns true if there are a thousand wakes, and times of half of the planted edges where waits are timed.
fn has_enough(graph: &TalkGraph) -> bool {
    graph.edges.iter().map(|edge| edge.wakes).sum::<f64>() >= 1_000.0
        && (graph.source != TalkSource::Bpf || count_timed(graph) >= planted::planted_edges().len() / 2)
}

fn count_timed(graph: &TalkGraph) -> usize {
    graph.edges.iter().filter(|edge| edge.waiting_ns.is_some()).count()
}

fn planted_by(best: TalkWay, source: TalkSource) -> Result<TalkGraph, Completion> {
    // Noise: the same program, not watched.
    let noise = OwnChild(itself("planted").spawn().unwrap());
    let watch = || watch_command(itself("planted"), best, Duration::from_secs(1));
    let graph = watch_until(watch, |graph| graph.source != source || has_enough(graph));
    drop(noise);
    if graph.source == source {
        return Ok(graph);
    }
    let reasons: Vec<&str> = graph.gaps.iter().map(|gap| gap.why.as_str()).collect();
    Err(Completion::ignored_with(reasons.join("; ")))
}

/// Returns the share of the weight that lies on planted edges, and the share that has the planted means too.
fn right_shares(graph: &TalkGraph) -> [f64; 2] {
    let planted = planted::planted_edges();
    let name = |place: usize| graph.vertices[place].name.clone();
    let (mut all, mut right, mut with_means) = (0.0, 0.0, 0.0);
    for edge in &graph.edges {
        let (waker, wakee) = (name(edge.waker), name(edge.wakee));
        let is_planted = planted.iter().any(|(a, b, _)| (a, b) == (&waker, &wakee));
        all += edge.wakes;
        right += if is_planted { edge.wakes } else { 0.0 };
        with_means += if planted.contains(&(waker, wakee, edge.means)) { edge.wakes } else { 0.0 };
    }
    println!("{:?}: {all:.0} wakes, {:.4} right, {:.4} with means", graph.source, right / all, with_means / all);
    [right / all, with_means / all]
}

fn counted_edges_are_right() -> Outcome {
    let graph = match planted_by(TalkWay::Counted, TalkSource::Bpf) {
        Ok(graph) => graph,
        Err(ignored) => return Ok(ignored),
    };
    let [right, with_means] = right_shares(&graph);
    assert!(right >= 0.99 && with_means >= 0.99, "{right} {with_means}");
    assert_eq!(graph.lost, 0);
    assert!(count_timed(&graph) >= planted::planted_edges().len() / 2, "an eighth of the time is timed");
    let hub = graph.vertices.iter().find(|vertex| vertex.name == "hub").unwrap();
    assert!(matches!(hub.kind, VertexKind::Thread { .. }) && hub.program.starts_with("talk"), "{hub:?}");
    assert!(hub.busy_share > 0.0 && !hub.cpus.is_empty());
    Ok(Completion::Completed)
}

fn ring_edges_are_right() -> Outcome {
    let graph = match planted_by(TalkWay::Ring, TalkSource::PerfRing) {
        Ok(graph) => graph,
        Err(ignored) => return Ok(ignored),
    };
    let [right, _] = right_shares(&graph);
    assert!(right >= 0.99, "{right}");
    Ok(Completion::Completed)
}

fn guessed_edges_are_right() -> Outcome {
    let graph = match planted_by(TalkWay::Guessed, TalkSource::OwnSwitches) {
        Ok(graph) => graph,
        Err(ignored) => return Ok(ignored),
    };
    let [right, _] = right_shares(&graph);
    assert!(right >= 0.7, "{right}");
    Ok(Completion::Completed)
}

/// Runs as a user without rights: prints the source, the right share and the reasons.
fn print_seen_as_user() {
    let watch = || watch_command(itself("planted"), TalkWay::Counted, Duration::from_secs(1));
    let graph = watch_until(watch, has_enough);
    let [right, _] = right_shares(&graph);
    let cures: Vec<String> = graph.gaps.iter().filter_map(|gap| gap.cure.clone()).collect();
    println!("{:?} {} {}", graph.source, right >= 0.7, cures.join("; "));
}

fn users_get_a_guess() -> Outcome {
    if !corewise_sys::process::is_root() {
        return Ok(Completion::ignored_with("only root can become another user"));
    }
    // Another user may not reach this program's folder.
    let folder = tempfile::tempdir_in("/tmp")?;
    let copy = folder.path().join("talk");
    std::fs::copy(std::env::current_exe()?, &copy)?;
    for path in [folder.path(), &copy] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    }
    let output = Command::new(&copy).env(PART, "watch").uid(NOBODY).gid(NOBODY).output()?;
    let said = String::from_utf8(output.stdout)?;
    if String::from_utf8(output.stderr)?.contains("NoWakes") {
        return Ok(Completion::ignored_with("this kernel lets no user see switches"));
    }
    assert!(said.contains("OwnSwitches true") && said.contains("run as root"), "{said}");
    Ok(Completion::Completed)
}

fn a_short_program_is_seen() -> Outcome {
    for best in [TalkWay::Counted, TalkWay::Ring, TalkWay::Guessed] {
        let graph = watch_command(Command::new("true"), best, Duration::from_secs(60));
        assert!(graph.provenance.elapsed_s < 30.0, "it ends with the program");
        assert!(graph.edges.iter().all(|edge| edge.waker < graph.vertices.len() && edge.wakee < graph.vertices.len()));
    }
    Ok(Completion::Completed)
}

/// Starts threads one after the other, each of which waits, is woken and ends.
fn start_short_threads() {
    for number in 0..1_000 {
        let (sender, receiver) = std::sync::mpsc::channel();
        let (begin, begun) = std::sync::mpsc::channel();
        let wait = move || {
            begin.send(corewise_sys::thread::own_number()).unwrap();
            receiver.recv().unwrap()
        };
        let thread = std::thread::Builder::new().name(format!("short {number}")).spawn(wait).unwrap();
        let id = begun.recv().unwrap();
        // However busy the machine is: it waits before it is woken.
        while !is_asleep(id) {
            std::thread::yield_now();
        }
        sender.send(()).unwrap();
        thread.join().unwrap();
    }
}

/// Returns true if a thread of this process waits for something.
fn is_asleep(thread: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
    stat.rsplit(')').next().unwrap().trim_start().starts_with('S')
}

fn short_threads_are_seen() -> Outcome {
    let graph = watch_command(itself("short threads"), TalkWay::Counted, Duration::from_secs(60));
    if graph.source != TalkSource::Bpf {
        return Ok(Completion::ignored_with("this kernel or user has no BPF"));
    }
    let woken = |number: u32| {
        let name = format!("short {number}");
        graph.edges.iter().any(|edge| graph.vertices[edge.wakee].name == name && edge.means == WakeMeans::Futex)
    };
    let seen = (0..1_000).filter(|number| woken(*number)).count();
    assert!(seen >= 990, "{seen} of 1000");
    Ok(Completion::Completed)
}

/// Starts ten thousand threads that wait, and wakes them all a few times.
fn start_many_threads() {
    let small = || std::thread::Builder::new().stack_size(64 << 10);
    let senders: Vec<_> = (0..10_000)
        .map_while(|number| {
            let (sender, receiver) = std::sync::mpsc::channel();
            let wait = move || while receiver.recv().is_ok() {};
            small().name(format!("one {number}")).spawn(wait).ok().map(|_| sender)
        })
        .collect();
    println!("{} threads", senders.len());
    for _ in 0..3 {
        senders.iter().for_each(|sender| sender.send(()).unwrap());
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn ten_thousand_threads_are_watched_in_bounded_memory() -> Outcome {
    for best in [TalkWay::Counted, TalkWay::Ring, TalkWay::Guessed] {
        let graph = watch_command(itself("many threads"), best, Duration::from_secs(60));
        let named = graph.vertices.iter().filter(|vertex| vertex.name.starts_with("one ")).count();
        println!("{:?}: {named} threads in {} edges, {} lost", graph.source, graph.edges.len(), graph.lost);
        // Only counting keeps the names of threads that have ended.
        assert!(named >= 9_000 || graph.source != TalkSource::Bpf || graph.lost > 0, "{named}");
        assert!(graph.edges.len() <= 1 << 17);
    }
    Ok(Completion::Completed)
}

fn running_programs_are_seen() -> Outcome {
    let watch_process = |number, seconds| {
        let subject = TalkSubject { processes: &[number], command: &[], corewise: "0" };
        watch_talk(subject, Duration::from_secs(seconds), &|| false).unwrap()
    };
    let ended = std::cell::Cell::new(0);
    let watch = || {
        let child = OwnChild(itself("planted").spawn().unwrap());
        ended.set(child.0.id());
        std::thread::sleep(Duration::from_millis(500));
        watch_process(child.0.id(), 1)
    };
    let graph = watch_until(watch, has_enough);
    let [right, _] = right_shares(&graph);
    assert!(right >= if graph.source.is_guessed() { 0.5 } else { 0.99 }, "{right}");
    assert!(graph.command[0].contains("talk") && !graph.provenance.partial);
    let begun = Instant::now();
    watch_process(ended.get(), 60);
    assert!(begun.elapsed() < Duration::from_secs(30), "it ended before");
    Ok(Completion::Completed)
}
