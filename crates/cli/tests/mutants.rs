//! Pages, recordings, stores and answers of servers that were changed at random, the same way every time: each is shown or refused in words,
//! within 256 MiB of memory and five seconds of processor time.
//!
//! `COREWISE_MUTANTS` says how many pages there are: see docs/testing.md.

#[path = "mutants/answers.rs"]
mod answers;
#[path = "mutants/stores.rs"]
mod stores;
mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use corewise_machine::random::RandomGenerator;
use corewise_testing::count_cases;
use serde_json::{Value, json};
use support::{TestPlace, text};

/// Mutants of each sort in the ordinary tests.
const FEW: usize = 60;
/// What the program's own code, stacks and tables take of the address space at most, and what it may take besides, in MiB.
const ADDRESS_SPACE_MIB: u32 = 160 + 256;
/// Processor time that a run may take, in seconds. Among the ordinary tests the program is not optimised, and may take more.
const CPU_S: [u32; 2] = [5, 30];
/// Elements of a list that are looked at for numbers and texts to change.
const LOOKED_AT: usize = 40;
const TEXTS: [&str; 14] = [
    "",
    "<script>",
    "\u{202e}x",
    "\u{1b}[31m",
    "\0",
    "0",
    "15",
    "0-15",
    "0-8191",
    "0-65535",
    "0-4000000000",
    "65535",
    "0-65535:1/2",
    "1e999",
];

fn mutants() -> usize {
    std::env::var("COREWISE_MUTANTS").map_or_else(|_| count_cases(FEW), |count| count.parse().unwrap())
}

fn choose<'a, T>(random: &mut RandomGenerator, all: &'a [T]) -> &'a T {
    &all[random.next_below(all.len())]
}

/// Runs the program within the memory. Returns its exit status; it may have been ended by none of its own faults.
fn run(place: &TestPlace, arguments: &[&str]) -> (i32, Output) {
    let program = place.corewise(arguments);
    let mut shell = Command::new("sh");
    let cpu_s = CPU_S[usize::from(cfg!(debug_assertions))];
    let limited = format!("ulimit -v {} -t {cpu_s}; exec \"$0\" \"$@\"", ADDRESS_SPACE_MIB << 10);
    shell.args(["-c", &limited]).arg(program.get_program()).args(arguments).current_dir(place.path());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let output = shell.output().unwrap();
    let status = output.status.code().unwrap_or(-1);
    (status, output)
}

/// A document of the program: the name of its schema, and what was observed.
fn document(place: &TestPlace, arguments: &[&str]) -> (String, Value) {
    let output = place.corewise(&[arguments, &["--json"]].concat()).output().unwrap();
    let mut document: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error} {}", text(&output.stderr)));
    (document["schema"].as_str().unwrap().to_owned(), document["observed"].take())
}

/// Documents of every kind.
fn documents(place: &TestPlace) -> Vec<(String, Value)> {
    fs::write(place.path().join("matrix.csv"), cost_matrix()).unwrap();
    fs::write(place.path().join("truth.toml"), "gains = [0.5, 0.0]\nnoise = \"quiet\"\nfailures = [0.0, 0.0, 0.5]")
        .unwrap();
    let stalls = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/stalls-fx-8150.json.gz");
    let experiment = document(place, &["try", "--simulate", "truth.toml", "--seed", "1"]);
    let mut all = vec![
        document(place, &["survey", "--budget", "1s", "--seed", "7", "--no-store"]),
        document(place, &["tail", "--replay", stalls.to_str().unwrap()]),
        document(place, &["links", "--simulate", "matrix.csv", "--seed", "5", "--no-store"]),
        document(place, &["memory", "--simulate", "2990wx", "--seed", "1", "--no-store"]),
        with_threads(experiment.clone()),
        experiment,
    ];
    all.iter_mut().for_each(|(_, observed)| shorten(observed));
    all
}

fn cost_matrix() -> String {
    let row = |i: u32| (0..12_u32).map(move |j| if j >= i { String::new() } else { cost(i, j).to_string() });
    (0..12).map(|i| row(i).collect::<Vec<_>>().join(",") + "\n").collect()
}

fn cost(i: u32, j: u32) -> f64 {
    let base = if i / 4 == j / 4 { 20.0 } else { 80.0 };
    base + f64::from(i * j % 7) / 10.0
}

/// The same trials as an experiment between numbers of threads, with a guard.
fn with_threads((schema, mut experiment): (String, Value)) -> (String, Value) {
    let arms = experiment["experiment"]["arms"].as_array_mut().unwrap();
    arms.iter_mut().enumerate().for_each(|(place, arm)| arm["threads"] = json!(place + 1));
    experiment["experiment"]["workload"]["guards"] = json!([{"name": "errors", "higher_is_better": false}]);
    for trial in experiment["trials"].as_array_mut().unwrap() {
        trial["guards"] = json!([1.0]);
    }
    (schema, experiment)
}

/// Shortens histograms, which are most of a document and all alike.
fn shorten(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::Array(all) => {
            let is_of_pairs = all.first().is_some_and(|one| one.as_array().is_some_and(|pair| pair.len() == 2));
            all.truncate(if is_of_pairs { 20 } else { usize::MAX });
            all.iter_mut().for_each(shorten);
        }
        _ => {}
    }
}

/// The pointers to all values of a document, by what they have in common: the names of fields.
fn pointers(value: &Value) -> Vec<Vec<String>> {
    fn add(value: &Value, at: &str, shape: &str, found: &mut BTreeMap<String, Vec<String>>) {
        found.entry(shape.to_owned()).or_default().push(at.to_owned());
        match value {
            Value::Object(fields) => {
                fields
                    .iter()
                    .for_each(|(name, one)| add(one, &format!("{at}/{name}"), &format!("{shape}/{name}"), found));
            }
            Value::Array(all) => {
                let some = all.iter().take(LOOKED_AT).enumerate();
                some.for_each(|(place, one)| add(one, &format!("{at}/{place}"), &format!("{shape}/#"), found));
            }
            _ => {}
        }
    }
    let mut found = BTreeMap::new();
    add(value, "", "", &mut found);
    found.into_values().collect()
}

fn number(random: &mut RandomGenerator) -> Value {
    let numbers = [
        json!(0),
        json!(-1),
        json!(0.5),
        json!(-0.0),
        json!(5e-324),
        json!(1e-300),
        json!(1e15),
        json!(-1e15),
        json!(1e99),
        json!(-1e99),
        json!(1e308),
        json!(-1e308),
        json!(8191),
        json!(8192),
        json!(65_535),
        json!(65_536),
        json!(100_000),
        json!(1_u64 << 31),
        json!(u32::MAX),
        json!(1_u64 << 32),
        json!(1_u64 << 39),
        json!(1_u64 << 40),
        json!(1_u64 << 53),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
    ];
    choose(random, &numbers[..]).clone()
}

/// Changes a value to another of its sort, or to none.
fn change(value: &mut Value, random: &mut RandomGenerator) {
    match value {
        Value::Bool(is) => *is = !*is,
        Value::Number(_) => *value = number(random),
        Value::String(own) if random.next_below(3) > 0 => *own = (*choose(random, &TEXTS[..])).to_owned(),
        Value::String(own) => {
            let text: &&str = choose(random, &TEXTS);
            own.push_str(text);
        }
        Value::Array(all) => change_list(all, random),
        Value::Object(fields) if !fields.is_empty() && random.next_below(2) == 0 => {
            let name = choose(random, &fields.keys().cloned().collect::<Vec<_>>()[..]).clone();
            fields.remove(&name);
        }
        Value::Object(_) | Value::Null => {
            *value = choose(random, &[Value::Null, json!(0), json!({}), json!([]), json!("")][..]).clone();
        }
    }
}

fn change_list(all: &mut Vec<Value>, random: &mut RandomGenerator) {
    match random.next_below(6) {
        0 => all.clear(),
        1 => all.truncate(1),
        2 => all.reverse(),
        3 => all.extend(all.clone()),
        4 if all.first().is_some_and(Value::is_number) => all.fill(number(random)),
        4 => _ = all.pop(),
        _ if serde_json::to_string(all).unwrap().len() < 100_000 => *all = vec![all.clone(); 50].concat(),
        _ => {}
    }
}

fn mutated(document: &Value, shapes: &[Vec<String>], random: &mut RandomGenerator) -> Value {
    let mut mutant = document.clone();
    for _ in 0..1 + random.next_below(3) {
        let shape = choose(random, shapes);
        let pointer: &String = choose(random, shape);
        // What was changed before may have removed it.
        if let Some(value) = mutant.pointer_mut(pointer) {
            change(value, random);
        }
    }
    mutant
}

fn page(schema: &str, observed: &Value) -> String {
    let json = observed.to_string().replace('<', "\\u003c");
    format!("<script type=\"application/json\" data-corewise=\"{schema}\">{json}</script>")
}

/// Imports a page; what is accepted is shown in every form. Whether it was accepted.
fn import_and_show(place: &TestPlace, page: &str) -> bool {
    fs::write(place.path().join("page.html"), page).unwrap();
    let run = |arguments: &[&str], allowed: &[i32]| {
        let (status, output) = run(place, &[arguments, &["--store", "mutants.db"]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // What only the limits of memory and time kept from being shown passed checks that it must not pass.
        let is_well = allowed.contains(&status) && !said.contains("panicked") && !said.contains("cannot be shown");
        if !is_well {
            let kept = std::env::temp_dir().join(format!("corewise-mutant-{}.html", std::process::id()));
            fs::write(&kept, page).unwrap();
            panic!("{arguments:?} ended with {status}: {said}\nthe page is {}", kept.display());
        }
        status
    };
    for file in ["mutants.db", "mutants.db-wal", "mutants.db-shm"] {
        let _ = fs::remove_file(place.path().join(file));
    }
    if run(&["history", "import", "page.html"], &[0, 3]) != 0 {
        return false;
    }
    for form in [&[][..], &["--json"], &["--csv"], &["--markdown"]] {
        run(&[&["history", "show", "1"], form].concat(), &[0, 2, 3]);
    }
    run(&["history", "compare", "1", "1"], &[0, 2, 3]);
    run(&["report", "1", "-o", "-"], &[0]);
    true
}

#[test]
fn mutated_pages_are_shown_or_refused() {
    let place = TestPlace::new();
    let documents = documents(&place);
    let mut random = RandomGenerator::new(1);
    for (schema, observed) in &documents {
        assert!(import_and_show(&place, &page(schema, observed)), "{schema} is accepted as it is");
    }
    let shapes: Vec<Vec<Vec<String>>> = documents.iter().map(|(_, observed)| pointers(observed)).collect();
    let mut accepted = 0;
    for mutant in 0..mutants() {
        let kind = mutant % documents.len();
        let (schema, observed) = &documents[kind];
        accepted += usize::from(import_and_show(&place, &page(schema, &mutated(observed, &shapes[kind], &mut random))));
    }
    assert!(accepted > 0 && accepted < mutants(), "{accepted} of {} were accepted", mutants());
}

#[test]
fn a_few_bytes_never_become_much_memory() {
    let place = TestPlace::new();
    let refused = |schema: &str, document: &Value, pointer: &str, value: Value, why: &str| {
        let mut changed = document.clone();
        *changed.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        fs::write(place.path().join("page.html"), page(schema, &changed)).unwrap();
        let (status, output) = run(&place, &["history", "import", "page.html", "--store", "mutants.db"]);
        let said = text(&output.stderr);
        assert!(
            status == 3 && said.contains(why) && said.contains("Nothing was imported."),
            "{pointer}: {status} {said}"
        );
        assert!(!place.path().join("mutants.db").exists());
    };
    let documents = documents(&place);
    let of = |name: &str| documents.iter().find(|(schema, _)| schema.contains(name)).unwrap();
    let (schema, memory) = of("memory");
    refused(schema, memory, "/buffer_bytes", json!(u64::MAX), "too large a number");
    refused(schema, memory, "/machine/nodes", json!(vec![&memory["machine"]["nodes"][0]; 5_000]), "nodes");
    let (_, survey) = &documents[0];
    refused(&documents[0].0, survey, "/cpus/0/tail/nanoseconds_per_tick", json!(0.125), "another clock");
    let (schema, stalls) = &documents[1];
    let cause = stalls["cpus"].as_array().unwrap().iter().position(|cpu| cpu["stalls"]["causes"][0].is_object());
    let lengths = format!("/cpus/{}/stalls/causes/0/lengths/nanoseconds_per_tick", cause.unwrap());
    refused(schema, stalls, &lengths, json!(2.0), "another clock");
    let pair = json!({"a": 1, "b": "2-60000", "visits_ns": vec![1.0; 59_999]});
    refused(&documents[0].0, survey, "/links/pairs", json!([pair]), "not a pair");
    let (schema, experiment) = of("experiment");
    refused(schema, experiment, "/trials/0/block", json!(900_000), "blocks");
    let trials: Vec<&Value> = experiment["trials"].as_array().unwrap().iter().cycle().take(50_000).collect();
    refused(schema, experiment, "/trials", json!(trials), "too many trials");
}

#[test]
fn a_page_is_unpacked_and_looked_through_within_limits() {
    use base64::Engine as _;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write as _;
    let place = TestPlace::new();
    let refused = |page: &str, why: &str| {
        fs::write(place.path().join("page.html"), page).unwrap();
        let (status, output) = run(&place, &["history", "import", "page.html", "--store", "mutants.db"]);
        let said = text(&output.stderr);
        assert!(status == 3 && said.contains(why), "{status} {said}");
    };
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    (0..250).for_each(|_| packed.write_all(&[b' '; 1 << 20]).unwrap());
    let data = base64::engine::general_purpose::STANDARD.encode(packed.finish().unwrap());
    let mut page = String::new();
    for _ in 0..16 {
        writeln!(page, "<script type=\"application/gzip\" data-corewise=\"corewise/survey/3\">{data}</script>")
            .unwrap();
    }
    refused(&page, "Nothing was imported.");
    refused(&"<script type=\"application/json\" data-corewise=\"".repeat(400_000), "holds no result");
}

#[test]
fn mutated_recordings_of_stalls_are_replayed_or_refused() {
    use flate2::{Compression, read::GzDecoder, write::GzEncoder};
    use std::io::{BufReader, Write as _};
    let place = TestPlace::new();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/stalls-fx-8150.json.gz");
    let mut document: Value =
        serde_json::from_reader(BufReader::new(GzDecoder::new(fs::File::open(file).unwrap()))).unwrap();
    shorten(&mut document);
    let shapes = pointers(&document);
    let mut random = RandomGenerator::new(3);
    let mut accepted = 0;
    for _ in 0..mutants() / 2 {
        let mutant = mutated(&document, &shapes, &mut random);
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&serde_json::to_vec(&mutant).unwrap()).unwrap();
        fs::write(place.path().join("mutant.json.gz"), packed.finish().unwrap()).unwrap();
        let (status, output) = run(&place, &["tail", "--replay", "mutant.json.gz"]);
        let said = String::from_utf8_lossy(&output.stderr);
        let kept = std::env::temp_dir().join(format!("corewise-mutant-{}.json.gz", std::process::id()));
        let is_well = matches!(status, 0 | 2 | 3) && !said.contains("panicked");
        if !is_well {
            fs::copy(place.path().join("mutant.json.gz"), &kept).unwrap();
        }
        assert!(is_well, "{status}: {said}\nthe recording is {}", kept.display());
        accepted += usize::from(status == 0);
    }
    assert!(accepted > 0, "none was replayed");
}

/// Changes lines of a recorded machine.
fn mutated_lines(text: &str, random: &mut RandomGenerator) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..1 + random.next_below(4) {
        let (at, other) = (random.next_below(lines.len()), random.next_below(lines.len()));
        match random.next_below(5) {
            0 => _ = lines.remove(at),
            1 => lines[at] = lines[other].clone(),
            2 => lines.insert(at, lines[other].clone()),
            3 => {
                let cut = random.next_below(lines[at].chars().count() + 1);
                lines[at] = lines[at].chars().take(cut).collect();
            }
            _ => {
                let value = *choose(random, &TEXTS[..]);
                let name = lines[at].rsplit_once('|').map_or("", |(name, _)| name).to_owned();
                lines[at] = format!("{name}|{value}");
            }
        }
    }
    lines.join("\n")
}

#[test]
fn mutated_recordings_are_read_or_refused() {
    let place = TestPlace::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let names = ["guest-2.txt", "ryzen-9950x3d.txt", "threadripper-3960x-nps4.txt", "interrupts.txt", "devices.txt"];
    let recordings = names.map(|name| fs::read_to_string(folder.join(name)).unwrap());
    fs::write(place.path().join("matrix.csv"), ",,,\n20,,,\n80,81,,\n80,80,20,\n").unwrap();
    let commands: [&[&str]; 8] = [
        &["topology", "--machine", "mutant.txt"],
        &["topology", "--machine", "mutant.txt", "--json"],
        &["topology", "--machine", "mutant.txt", "--devices"],
        &["place", "best(2)", "--machine", "mutant.txt"],
        &["place", "--candidates", "--machine", "mutant.txt"],
        &["links", "--simulate", "matrix.csv", "--machine", "mutant.txt", "--no-store", "--seed", "1"],
        &["memory", "--simulate", "mutant.txt", "--no-store", "--seed", "1"],
        &["irq", "--machine", "mutant.txt"],
    ];
    let mut random = RandomGenerator::new(2);
    // Half as many, unless there are few.
    for mutant in 0..mutants().min(FEW.max(mutants() / 2)) {
        let recording = mutated_lines(&recordings[mutant % recordings.len()], &mut random);
        fs::write(place.path().join("mutant.txt"), &recording).unwrap();
        // In turn, unless all are wanted of many.
        let chosen = if mutants() > FEW { &commands[..] } else { &commands[mutant % commands.len()..][..1] };
        for command in chosen {
            let (status, output) = run(&place, command);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                matches!(status, 0 | 2 | 3) && !said.contains("panicked"),
                "{command:?}: {status} {said}\n{recording}"
            );
        }
    }
}
