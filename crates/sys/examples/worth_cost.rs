//! Measures the map of worth: the cost of a read beside sched_getcpu, torn reads, the cost of an update of 512 cpus, and the delay until a
//! thief (a busy thread that takes a cpu's time) shows in it.
//!
//! `cargo xtask compare-worth` runs it in the release profile; it ends with 1 if a read was torn.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corewise_machine::worth::{CpuSpeed, SpeedSource, WorthHeader, WorthRecord, WorthTable};
use corewise_machine::{CpuSet, Machine};
use corewise_statistics::order::quantile;
use corewise_sys::affinity::{self, running_on};
use corewise_sys::worth::{ProcessorTime, WorthReader, WorthWriter};

/// Number of rounds, in each of which everything is measured.
const ROUNDS: usize = 101;
/// Calls per measurement.
const CALLS: u32 = 100_000;
/// Number of reads checked while another thread writes.
const CHECKED: u64 = 100_000_000;
/// Update interval of the map in which thieves are looked for.
const TICK: Duration = Duration::from_millis(100);
/// Number of thieves.
const THIEVES: usize = 20;
/// Busy share of a cpu from which a thief counts as seen; attempts on a cpu that is already this busy are skipped.
const SEEN: f32 = 0.5;
/// Number of cpus of the large machine.
const MANY: u32 = 512;

fn main() -> io::Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let writer =
        WorthWriter::create_file(folder.path(), &WorthHeader { records: MANY, interval_ms: 1_000, writer: 0 })?;
    let mut records = vec![uniform(1); MANY as usize];
    writer.write_records(&records);
    let reader = WorthReader::open(folder.path())?.ok_or_else(|| io::Error::other("there is no map"))?;

    let timed = |call: &mut dyn FnMut(u32)| {
        let begin = Instant::now();
        (0..CALLS).for_each(&mut *call);
        begin.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        times[0].push(timed(&mut |number| _ = black_box(number)));
        times[1].push(timed(&mut |_| _ = black_box(running_on())));
        times[2].push(timed(&mut |number| _ = black_box(reader.read_worth(number % MANY))));
        times[3].push(timed(&mut |number| _ = black_box(reader.read_record(number % MANY))));
    }
    println!("ns a call, medians of {ROUNDS} rounds in turn [lower, upper quartile]");
    for (name, times) in ["an empty loop", "sched_getcpu", "the worth of a cpu", "its whole record"].iter().zip(&times)
    {
        let at = |share| quantile(times, share);
        println!("  {name:<20} {:6.2} [{:.2}, {:.2}]", at(0.5), at(0.25), at(0.75));
    }
    let ratios: Vec<f64> = times[2].iter().zip(&times[1]).map(|(worth, getcpu)| worth / getcpu).collect();
    println!("  worth / sched_getcpu {:6.2}", quantile(&ratios, 0.5));

    let torn = torn(&writer, &reader, &mut records);
    println!("torn reads of {CHECKED}, while another thread writes: {torn}");
    updates(&writer)?;
    thieves()?;
    Ok(if torn == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn uniform(number: u16) -> WorthRecord {
    let (share, mut record) = (f32::from(number), WorthRecord { at_ns: u64::from(number), ..WorthRecord::default() });
    (record.worth, record.speed, record.shares.busy, record.throttled) = (share, share, share, u32::from(number));
    record
}

fn torn(writer: &WorthWriter, reader: &WorthReader, records: &mut [WorthRecord]) -> u64 {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in (0..=u16::MAX).cycle().take_while(|_| !ended.load(Ordering::Relaxed)) {
                records[0] = uniform(number);
                writer.write_records(&records[..1]);
                // Without a pause, the writer would be in the middle of a write at each retry of the reader.
                (0..20).for_each(|_| std::hint::spin_loop());
            }
        });
        let is_torn = |record: &WorthRecord| *record != uniform(record.throttled as u16);
        let torn = (0..CHECKED).filter(|_| reader.read_record(0).as_ref().is_some_and(is_torn)).count() as u64;
        ended.store(true, Ordering::Relaxed);
        torn
    })
}

/// Measures an update from a text like /proc/stat's, without the kernel's time to write it. Measures a read of this machine's /proc/stat
/// separately.
fn updates(writer: &WorthWriter) -> io::Result<()> {
    let mut file = tempfile::tempfile()?;
    writeln!(file, "cpu  1 2 3 4 5 6 7 8 9 10")?;
    for cpu in 0..MANY {
        writeln!(file, "cpu{cpu} 8123456 1234 2123456 912345678 12345 0 123456 0 0 0")?;
    }
    writeln!(file, "intr 123456789{}\nctxt 1\nbtime 1", " 0".repeat(2_000))?;
    let machine =
        Machine { online: CpuSet::first_cpus(MANY), possible: CpuSet::first_cpus(MANY), ..Machine::default() };
    let mut board =
        WorthTable::new(&machine, vec![CpuSpeed { relative: 1.0, source: SpeedSource::Measured }; MANY as usize]);
    let mut times = ProcessorTime::of_file(file);
    let mut own = ProcessorTime::of_file(File::open("/proc/stat")?);
    let mut taken = [const { Vec::new() }; 2];
    for round in 0..ROUNDS {
        let begin = Instant::now();
        board.update_records(round as u64, times.read_counters()?, |_| None);
        writer.write_records(board.records());
        taken[0].push(begin.elapsed().as_secs_f64() * 1e6);
        let begin = Instant::now();
        black_box(own.read_counters()?);
        taken[1].push(begin.elapsed().as_secs_f64() * 1e6);
    }
    println!("us an update of {MANY} cpus, read from a file in memory: {:.1}", quantile(&taken[0], 0.5));
    println!("us a read of this machine's /proc/stat:               {:.1}", quantile(&taken[1], 0.5));
    Ok(())
}

/// Measures the delay until a busy thread on a cpu of this machine shows in a map that is updated each [`TICK`].
fn thieves() -> io::Result<()> {
    let online = affinity::current_affinity()?;
    let cpu = online.highest().unwrap_or_default();
    let count = cpu + 1;
    let machine =
        Machine { online: CpuSet::first_cpus(count), possible: CpuSet::first_cpus(count), ..Machine::default() };
    let mut board =
        WorthTable::new(&machine, vec![CpuSpeed { relative: 1.0, source: SpeedSource::Measured }; count as usize]);
    let mut times = ProcessorTime::open()?;
    let mut next = Instant::now();
    let mut busy = || -> io::Result<f32> {
        next += TICK;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        board.update_records(1, times.read_counters()?, |_| None);
        Ok(board.records()[cpu as usize].shares.busy)
    };
    busy()?;
    let (mut taken_ms, mut hidden) = (Vec::new(), 0);
    for number in 0..THIEVES {
        if busy()? >= SEEN {
            hidden += 1;
            continue;
        }
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| -> io::Result<()> {
            // At another moment of the tick each time.
            std::thread::sleep(TICK.mul_f64(number as f64 / THIEVES as f64 * 0.9));
            let begin = Instant::now();
            scope.spawn(|| {
                let _ = affinity::set_current(&CpuSet::from_cpu(cpu));
                while !ended.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let seen = (0..50).map(|_| busy()).find(|busy| busy.as_ref().map_or(true, |busy| *busy >= SEEN));
            taken_ms.push(begin.elapsed().as_secs_f64() * 1e3);
            ended.store(true, Ordering::Relaxed);
            seen.transpose().map(drop)
        })?;
        busy()?;
    }
    let at = |share| quantile(&taken_ms, share);
    match taken_ms.is_empty() {
        true => println!("ms until a thief is seen: cpu {cpu} was busy all the time, so none could be"),
        false => println!(
            "ms until a thief is seen: {:.0}, at most {:.0}, of {}; {hidden} times cpu {cpu} was busy before",
            at(0.5),
            at(1.0),
            taken_ms.len()
        ),
    }
    Ok(())
}
