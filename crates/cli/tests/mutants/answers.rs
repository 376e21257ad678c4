//! Changed answers of a server that metrics are read from.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::sync::{Arc, Mutex};

use corewise_machine::random::RandomGenerator;
use corewise_sys::affinity;

use crate::support::TestPlace;
use crate::{choose, mutants, run};

const VALUES: [&str; 12] =
    ["", "NaN", "+Inf", "-Inf", "-1", "1e999", "1e308", "0x10", "\u{202e}7", "7 7 7", "184467440737095516150", "\0"];
const HEADERS: [&str; 10] = [
    "Content-Length: 18446744073709551615",
    "Content-Length: -1",
    "Transfer-Encoding: chunked",
    "Content-Encoding: gzip",
    "Location: file:///etc/passwd",
    "Location: http://127.0.0.1:1/",
    "Set-Cookie: a=b",
    "\u{1b}[31m: x",
    "no header at all",
    "Connection: keep-alive",
];
const STATUSES: [&str; 8] = [
    "HTTP/1.1 200 OK",
    "HTTP/1.1 100 Continue",
    "HTTP/1.1 204 No Content",
    "HTTP/1.1 301 Moved",
    "HTTP/1.1 999 ?",
    "HTTP/9.9 200 OK",
    "ICY 200 OK",
    "",
];

/// Returns an answer of which one part or several are changed. `count` is a metric that grows.
fn mutated_answer(count: u64, random: &mut RandomGenerator) -> Vec<u8> {
    let mut lines = vec![
        "# TYPE ops_total counter".to_owned(),
        format!("ops_total{{cpu=\"0\"}} {count}"),
        "# TYPE latency histogram".to_owned(),
        format!("latency_bucket{{le=\"0.1\"}} {count}"),
        format!("latency_bucket{{le=\"+Inf\"}} {count}"),
    ];
    let (mut status, mut header) = (STATUSES[0], String::new());
    for _ in 0..random.next_below(3) {
        let at = random.next_below(lines.len());
        match random.next_below(7) {
            0 => status = *choose(random, &STATUSES[..]),
            1 => header = format!("{}\r\n", choose(random, &HEADERS[..])),
            2 => {
                let value: &&str = choose(random, &VALUES);
                lines[at] = lines[at].replace(&count.to_string(), value);
            }
            3 => lines[at] = lines[at].repeat(1 + random.next_below(2_000)),
            4 => {
                let length = random.next_below(lines[at].len().max(1));
                lines[at].truncate(length);
            }
            5 => lines[at] = format!("ops_total{{{}}} 1", "a=\"\\".repeat(random.next_below(9_000))),
            _ => lines = lines.iter().cycle().take(lines.len() * (1 + random.next_below(5_000))).cloned().collect(),
        }
    }
    let body = lines.join("\n") + "\n";
    let length = format!("Content-Length: {}\r\n", body.len());
    let header = if header.contains("ength") || header.contains("chunked") { header } else { header + &length };
    let mut answer = format!("{status}\r\n{header}\r\n{body}").into_bytes();
    if random.next_below(10) == 0 {
        answer.truncate(random.next_below(answer.len()));
    }
    answer
}

#[test]
fn mutated_answers_are_read_or_refused() {
    let all = affinity::current_affinity().unwrap();
    if all.len() < 2 {
        return println!("skipped: one cpu alone leaves nothing to restrict a process to");
    }
    let place = TestPlace::new();
    let one = all.highest().unwrap().to_string();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/metrics", listener.local_addr().unwrap());
    let answer = Arc::new(Mutex::new(Vec::new()));
    let given = Arc::clone(&answer);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let _ = stream.write_all(&given.lock().unwrap());
        }
    });
    let mut process = Command::new("sleep").arg("100000").spawn().unwrap();
    let pid = process.id().to_string();
    let mut random = RandomGenerator::new(5);
    for mutant in 0..mutants().div_ceil(20) {
        *answer.lock().unwrap() = mutated_answer(mutant as u64, &mut random);
        let metric = if mutant % 3 == 0 { "p99(latency)" } else { "ops_total" };
        let typed = ["try", "--no-store", "--anyway", "--pid", &pid, "--on", &one, "--slot", "0.1s", "--budget", "1s"];
        let (status, output) = run(&place, &[&typed[..], &["--sample", &address, "--metric", metric]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        let is_well = matches!(status, 0..=3) && !said.contains("panicked");
        if !is_well {
            let kept = std::env::temp_dir().join(format!("corewise-mutant-{}.http", std::process::id()));
            fs::write(&kept, &*answer.lock().unwrap()).unwrap();
            panic!("{metric}: {status} {said}\nthe answer is {}", kept.display());
        }
        assert_eq!(affinity::affinity_of(process.id()).unwrap(), all, "{said}");
    }
    process.kill().unwrap();
    process.wait().unwrap();
}
