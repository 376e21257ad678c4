//! `cargo xtask compare-watch`: cost of `corewise watch`, here and on the files of a machine of 512 cpus, and the time to its first screen.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use corewise_lab::watch::{MachineMonitor, WatchSubject};
use corewise_machine::{CpuSet, generate};
use corewise_model::watch::WatchHeader;
use corewise_model::worth::cpu_speeds;
use corewise_sys::accounts::ThreadAccount;
use corewise_sys::thread::ThreadGlance;
use corewise_sys::{Root, task};
use xtask::{cargo_command, repository_root, run_command};

use crate::keep::{machine_load, quantile_of};

const CPUS: u32 = 512;
const THREADS: u32 = 500;
const SOURCES: u32 = 300;
const ROUNDS: usize = 3;
const STARTS: usize = 15;
/// Looks of the recorded machine.
const LOOKS: usize = 200;
/// Maximum share of a cpu, at two moments a second.
const LARGEST_SHARE: f64 = 0.01;
const LARGEST_FIRST_MS: f64 = 150.0;
/// Maximum wait for a first screen.
const LONGEST_FIRST: Duration = Duration::from_secs(60);
/// The number of the recorded program.
const PROCESS: u32 = 4_000_000;

/// Prints the cost, with `seconds` seconds for each share; returns false if a bound is broken. Without a program it measures the result of
/// `cargo build --release`.
pub fn run(seconds: u64, program: Option<&str>) -> Result<bool> {
    if program.is_none() {
        run_command(cargo_command().args(["build", "--release", "--package", "corewise"]))?;
    }
    let corewise = program.map_or_else(|| repository_root().join("target/release/corewise"), PathBuf::from);
    let folder = std::env::temp_dir().join(format!("corewise-compare-watch-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let held = measure_watch(&corewise, &folder, Duration::from_secs(seconds));
    std::fs::remove_dir_all(&folder)?;
    held
}

fn measure_watch(corewise: &Path, folder: &Path, each: Duration) -> Result<bool> {
    write_machine(folder)?;
    let recording = folder.join("large.jsonl");
    let look_us = measure_looks(folder, &recording)?;
    println!(
        "{CPUS} cpus, {SOURCES} sources of interrupts, a program of {THREADS} threads, from files: {look_us:.0} us of a cpu a look"
    );
    let this = std::env::current_exe()?;
    // It stays until its input ends.
    let mut crowd = Command::new(this);
    crowd.args(["keep-actor", "sleep", &THREADS.to_string()]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut crowd = crowd.spawn()?;
    let number = crowd.id().to_string();
    let held = measure_shares(corewise, &number, &recording, each, look_us)
        .and_then(|shares| Ok(shares & measure_first(corewise, &number)?));
    crowd.kill()?;
    crowd.wait()?;
    held
}

fn measure_shares(corewise: &Path, crowd: &str, recording: &Path, each: Duration, look_us: f64) -> Result<bool> {
    let recording = recording.display().to_string();
    let kinds: [(&str, Vec<&str>); 3] = [
        ("here, cpus alone", vec!["watch"]),
        ("here, a program of 500 threads", vec!["watch", "--pid", crowd]),
        ("512 cpus and 500 threads, drawn alone", vec!["watch", "--replay", &recording]),
    ];
    let mut all = vec![Vec::new(); kinds.len()];
    for round in 0..ROUNDS {
        for ((_, words), shares) in kinds.iter().zip(&mut all) {
            shares.push(measure_share(corewise, words, each)?);
        }
        println!("round {}: load {}", round + 1, machine_load());
    }
    let median: Vec<f64> = all.iter_mut().map(|shares| quantile_of(shares, 0.5)).collect();
    for ((name, _), share) in kinds.iter().zip(&median) {
        println!("{name:<40} {:.2} % of a cpu", 100.0 * share);
    }
    let large = median[2] + 2.0 * look_us * 1e-6;
    println!("{:<40} {:.2} % of a cpu", "512 cpus and 500 threads, with its looks", 100.0 * large);
    println!("must hold: at most {} %", 100.0 * LARGEST_SHARE);
    Ok(median[1] <= LARGEST_SHARE && large <= LARGEST_SHARE)
}

/// The program on a terminal of its own, made by `script`, of 160 columns and 50 lines.
struct OnTerminal(Child);

impl OnTerminal {
    fn start_program(corewise: &Path, words: &[&str]) -> Result<Self> {
        let line = format!("stty cols 160 rows 50; exec '{}' {}", corewise.display(), words.join(" "));
        let mut command = Command::new("script");
        command.args(["-q", "-f", "-c", &line, "/dev/null"]).env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8");
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        Ok(Self(child.context("script (util-linux) cannot be started")?))
    }

    /// Returns the time that corewise has been on cpus, in seconds.
    fn used_s(&self) -> Result<f64> {
        let processes = task::descendant_processes(self.0.id());
        let used = processes.iter().flat_map(|process| {
            process.threads.iter().map(|thread| ThreadAccount::read_account(process.number, *thread))
        });
        let used: u64 = used.flatten().map(|account| account.on_cpu_ns).sum();
        ensure!(used > 0, "it has ended");
        Ok(used as f64 * 1e-9)
    }

    fn end_program(mut self) -> Result<()> {
        self.0.stdin.take().context("it has keys")?.write_all(b"q")?;
        // Drains the rest, so that it does not block.
        if let Some(mut screen) = self.0.stdout.take() {
            std::io::copy(&mut screen, &mut std::io::sink())?;
        }
        self.0.wait()?;
        Ok(())
    }
}

/// Returns the share of a cpu, measured after the start.
fn measure_share(corewise: &Path, words: &[&str], each: Duration) -> Result<f64> {
    let mut program = OnTerminal::start_program(corewise, words)?;
    let mut screen = program.0.stdout.take().context("it has a screen")?;
    let reader = std::thread::spawn(move || std::io::copy(&mut screen, &mut std::io::sink()));
    std::thread::sleep(Duration::from_secs(2));
    let (begun, before) = (Instant::now(), program.used_s()?);
    std::thread::sleep(each);
    let share = (program.used_s()? - before) / begun.elapsed().as_secs_f64();
    program.end_program()?;
    let _ = reader.join();
    Ok(share)
}

/// Measures the time from the start of the program's shell to the first screen.
fn measure_first(corewise: &Path, crowd: &str) -> Result<bool> {
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let begun = Instant::now();
        let mut program = OnTerminal::start_program(corewise, &["watch", "--pid", crowd])?;
        let mut seen = Vec::new();
        let screen = program.0.stdout.as_mut().context("it has a screen")?;
        while !seen.windows(7).any(|bytes| bytes == b"THREADS") {
            let mut bytes = [0; 4096];
            let count = screen.read(&mut bytes)?;
            let is_alive = count > 0 && begun.elapsed() < LONGEST_FIRST;
            ensure!(is_alive, "no screen with threads: {}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&bytes[..count]);
        }
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        program.end_program()?;
    }
    let median = quantile_of(&mut times, 0.5);
    println!(
        "the first screen, {THREADS} threads, with the shell and `script` that start it: median {median:.0} ms of {STARTS}; must hold: {LARGEST_FIRST_MS} ms"
    );
    Ok(median <= LARGEST_FIRST_MS)
}

/// Returns the time of a look at the recorded machine, in microseconds of a cpu; writes some of the moments into a recording.
fn measure_looks(folder: &Path, recording: &Path) -> Result<f64> {
    let llcs: Vec<(CpuSet, u64)> = (0..CPUS / 8).map(|llc| ((llc * 8..llc * 8 + 8).collect(), 32)).collect();
    let machine = generate::one_package_machine(CPUS, false, &llcs);
    let root = Root::from_files([("proc/interrupts", std::fs::read_to_string(folder.join("proc/interrupts"))?)]);
    let mut monitor = MachineMonitor::from_recording(folder, root, &machine, cpu_speeds(&machine, None))?;
    let subject = WatchSubject { processes: vec![PROCESS], ..WatchSubject::default() };
    let header = WatchHeader::new("compare-watch", machine, "", Some("recorded".to_owned()), 0.5);
    let mut lines = vec![serde_json::to_string(&header)?];
    let mut used_ns = 0;
    for look in 0..LOOKS {
        // Ticks that advance, so that each look has shares.
        std::fs::write(folder.join("proc/stat"), stat_text(look as u64))?;
        let before = ThreadGlance::read_now().cpu_time_ns;
        let mut frame = monitor.take_frame(&subject, None)?;
        used_ns += ThreadGlance::read_now().cpu_time_ns - before;
        ensure!(frame.cpus.len() == CPUS as usize && frame.threads.len() == THREADS as usize, "not all was seen");
        if look < 100 {
            frame.elapsed_s = 0.5;
            frame.threads.iter_mut().for_each(|thread| thread.cpu = (thread.thread + look as u32 / 3) % CPUS);
            lines.push(serde_json::to_string(&frame)?);
        }
    }
    std::fs::write(recording, lines.join("\n") + "\n")?;
    Ok(used_ns as f64 / LOOKS as f64 / 1e3)
}

fn stat_text(look: u64) -> String {
    let line = |cpu: u32| format!("cpu{cpu} {} 0 0 {} 0 0 0 0 0 0\n", look * u64::from(cpu % 50), look * 50);
    format!("cpu  0 0 0 0\n{}intr 0\n", (0..CPUS).map(line).collect::<String>())
}

/// Writes the files of a machine of many cpus, in the form of /proc.
fn write_machine(folder: &Path) -> Result<()> {
    let proc = folder.join("proc");
    for thread in PROCESS..PROCESS + THREADS {
        let own = proc.join(format!("{PROCESS}/task/{thread}"));
        std::fs::create_dir_all(&own)?;
        let stat = format!(
            "{thread} (worker) S 1 {PROCESS} {PROCESS} 0 -1 4194368 5 0 0 0 12345 6789 0 0 20 0 {THREADS} 0 123456 2834432 214 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 {} 0 0 0 0 0\n",
            thread % CPUS
        );
        std::fs::write(own.join("stat"), stat)?;
        std::fs::write(own.join("schedstat"), "123456789 23456789 3456\n")?;
    }
    std::fs::write(proc.join("stat"), stat_text(0))?;
    let counts: String = (0..CPUS).map(|cpu| format!("{:>11}", cpu * 7)).collect();
    let header: String = (0..CPUS).map(|cpu| format!("{:>11}", format!("CPU{cpu}"))).collect();
    let row = |source: u32| format!("{source:>4}: {counts}  PCI-MSIX-0000:41:00.0 {source}-edge nvme{source}q1\n");
    std::fs::write(proc.join("interrupts"), format!("     {header}\n{}", (0..SOURCES).map(row).collect::<String>()))?;
    Ok(())
}
