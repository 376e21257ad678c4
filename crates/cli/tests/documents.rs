//! JSON: the schemas in crates/cli/schema are those of the program, and what it prints is what they say.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use corewise_model::Survey;
use serde_json::Value;
use support::{TestPlace, said, text};

/// Documents without an example, and the reason: a line prints each only after minutes, or into a file.
const WITHOUT_EXAMPLE: [(&str, &str); 7] = [
    ("talk-comparison", "it compares two graphs of the history: tests/talk.rs"),
    ("fleet-experiment", "it needs several machines: tests/fleet/experiment.rs"),
    ("fleet-comparison", "it compares two fleets of the history: crates/cli/src/commands/fleet/screen"),
    ("suite", "a suite runs until each of its benchmarks is decided: tests/try.rs"),
    ("keep-prove", "a rule's experiment is made once more: tests/keep/evidence.rs"),
    ("watch-recording", "it is the first line of the file of `watch --save`, which is read below"),
    ("digest", "it is a file in the archive of `record --survey`, which is read below"),
];
/// Lines whose documents name no example themselves.
const MORE_EXAMPLES: [(&str, &str); 1] = [("try-plan", "try --pid PID --metric run-delay --dry-run")];

fn printed(place: &TestPlace, arguments: &[&str]) -> Value {
    let run = place.corewise(arguments).output().unwrap();
    assert_eq!((run.status.code(), said(&run.stderr)), (Some(0), String::new()), "{arguments:?}");
    serde_json::from_slice(&run.stdout).unwrap()
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schema").join(format!("{name}.json"))
}

#[test]
fn the_schema_files_are_those_of_the_program() {
    let place = TestPlace::new();
    let mut files: Vec<String> = fs::read_dir(file("").parent().unwrap())
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".json")?.to_owned()))
        .collect();
    let listed = text(&place.corewise(&["schema"]).output().unwrap().stdout);
    let mut names: Vec<&str> = listed.lines().collect();
    files.sort();
    names.sort_unstable();
    assert_eq!(names, files);
    for name in names {
        let shown = text(&place.corewise(&["schema", name]).output().unwrap().stdout);
        assert!(
            shown == fs::read_to_string(file(name)).unwrap(),
            "crates/cli/schema/{name}.json is not what is printed"
        );
    }
}

/// Prepares the files that the examples of documents name, two surveys, a page of one of them, and maps of memory 3 and 4.
fn prepare(place: &TestPlace) {
    let folder = place.folder("journals", 0o700);
    let journal = r#"{"journal":{"version":1,"corewise":"0.1.0","boot":"earlier","host":"HOST","process":{"id":7,"start_ticks":9},"number_space":"pid:[1]","started_unix_ms":1}}
{"begun":{"entry":1,"change":{"kind":"controller","group":"/sys/fs/cgroup/a","name":"cpuset"}}}
"#;
    fs::write(folder.join("earlier-7-9.journal"), journal).unwrap();
    let truth = "gains = [0.5, 0.0]\nnoise = \"quiet\"\nfailures = [0.0, 0.0, 0.5]";
    let rules = "[[rule]]\nname = \"x\"\nmatch = { exe = \"/no/such/program\" }\non = \"0\"\n";
    let matrix = "0,40,90,90\n40,0,90,90\n90,90,0,40\n90,90,40,0\n";
    let edges = "waker,wakee,wakes\nreader,parser,900\nparser,writer,800\n";
    for (name, text) in [("truth.toml", truth), ("rules.toml", rules), ("matrix.csv", matrix), ("edges.csv", edges)] {
        fs::write(place.path().join(name), text).unwrap();
    }
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    for name in ["interrupts.txt", "devices.txt"] {
        fs::copy(recordings.join(name), place.path().join(name)).unwrap();
    }
    for _ in 0..2 {
        assert_eq!(
            printed(place, &["survey", "--budget", "1s", "--json"])["schema"],
            <Survey as corewise_model::Artifact>::SCHEMA
        );
    }
    printed(place, &["report", "1", "-o", "page.html", "--json"]);
    let visit = place.corewise(&["fleet", "visit", "--budget", "1s"]).output().unwrap();
    fs::write(place.path().join("visit.json"), visit.stdout).unwrap();
    let timings = r#"{"results": [{"command": "a", "times": [1, 2]}, {"command": "b", "times": [3, 4, 5, 6, 7, 8]}]}"#;
    std::fs::write(place.path().join("hyperfine.json"), timings).unwrap();
    for seed in ["1", "2"] {
        printed(place, &["memory", "--simulate", "fx-8150", "--budget", "1s", "--seed", seed, "--json"]);
    }
}

#[test]
fn what_is_printed_is_what_the_schema_says() {
    let place = TestPlace::new();
    prepare(&place);
    let names = text(&place.corewise(&["schema"]).output().unwrap().stdout);
    let examples = text(&place.corewise(&["schema", "--examples"]).output().unwrap().stdout);
    let own = examples.lines().map(|line| line.split_once(' ').unwrap());
    let examples: Vec<(&str, &str)> = own.chain(MORE_EXAMPLES).collect();
    let missing: Vec<&str> = names.lines().filter(|name| !examples.iter().any(|(of, _)| of == name)).collect();
    let mut excused = WITHOUT_EXAMPLE.map(|(name, _)| name).to_vec();
    excused.sort_by_key(|name| names.lines().position(|listed| listed == *name));
    assert_eq!(missing, excused, "a document has an example, or stands in WITHOUT_EXAMPLE with the reason");
    let process = std::process::id().to_string();
    for (name, line) in examples {
        let mut words: Vec<&str> = line.split(' ').map(|word| if word == "PID" { &process } else { word }).collect();
        words.insert(1, "--json");
        check(name, &printed(&place, &words));
    }
    let recording = fs::read_to_string(place.path().join("moments.jsonl")).unwrap();
    check("watch-recording", &serde_json::from_str(recording.lines().next().unwrap()).unwrap());
    assert_eq!(printed(&place, &["history", "show", "1", "--json"])["stored"], 1);
    assert_eq!(printed(&place, &["--budget", "1s", "--no-store", "--json"])["stored"], Value::Null);
}

/// Files whose words identify a host or a network.
fn identifying_words() -> Vec<String> {
    let cards = fs::read_dir("/sys/class/net").into_iter().flatten().flatten().map(|card| card.path().join("address"));
    let files = ["/proc/sys/kernel/hostname", "/etc/machine-id", "/proc/sys/kernel/random/boot_id"];
    let words = files.map(PathBuf::from).into_iter().chain(cards).filter_map(|file| fs::read_to_string(file).ok());
    let words = words.map(|text| text.trim().to_owned());
    // A shorter name may be a part of a usual word.
    words.filter(|word| word.len() >= 6 && word != "00:00:00:00:00:00").collect()
}

/// The survey is the stored one, and a link map is measured, because there is none. Nothing in the file identifies this machine's owner.
#[test]
fn a_recording_has_the_digest_of_what_was_measured_and_names_nobody() {
    let place = TestPlace::new();
    let survey = printed(&place, &["survey", "--budget", "1s", "--json"]);
    let run = place.corewise(&["record", "--survey", "-o", "machine.tar", "--json"]).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let has_links = survey["observed"]["machine"]["allowed"] != "0";
    assert_eq!(text(&run.stderr).contains("no link map of this machine is stored"), has_links, "{}", text(&run.stderr));
    assert!(!text(&run.stderr).contains("no survey"), "{}", text(&run.stderr));
    let archive = String::from_utf8_lossy(&fs::read(place.path().join("machine.tar")).unwrap()).into_owned();
    let line = archive.split(['\0', '\n']).find(|line| line.starts_with("{\"schema\":\"corewise/digest/1\"")).unwrap();
    let mut digest: Value = serde_json::from_str(line).unwrap();
    check("digest", &digest);
    assert_eq!(digest["survey"]["rounds"], survey["observed"]["provenance"]["rounds"]);
    assert_eq!(digest["links"].is_object(), has_links);
    digest.as_object_mut().unwrap().remove("schema");
    let document: Value = serde_json::from_slice(&run.stdout).unwrap();
    check("record", &document);
    assert_eq!(document["digest"], digest);
    let named: Vec<String> = identifying_words().into_iter().filter(|word| archive.contains(word)).collect();
    assert!(named.is_empty(), "{named:?} stand in the recording");
    let shown = printed(&place, &["topology", "--machine", "machine.tar", "--json"]);
    assert_eq!(shown["machine"]["cores"], survey["observed"]["machine"]["cores"]);
}

fn check(name: &str, document: &Value) {
    let schema: Value = serde_json::from_str(&fs::read_to_string(file(name)).unwrap()).unwrap();
    let mut faults = Vec::new();
    SchemaWalk { root: &schema, faults: &mut faults, is_lenient: false }.value(&schema, document, name);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The part of JSON Schema that our schemas use. Stricter in one thing: a key that the schema does not name is a fault.
struct SchemaWalk<'a> {
    root: &'a Value,
    faults: &'a mut Vec<String>,
    /// Whether keys that the schema does not name are nothing, as they are where another part may name them.
    is_lenient: bool,
}

impl<'a> SchemaWalk<'a> {
    fn value(&mut self, schema: &'a Value, value: &Value, at: &str) {
        let mut parts = Vec::new();
        if let Err(fault) = self.collect(schema, value, &mut parts) {
            return self.faults.push(format!("{at}: {fault}"));
        }
        parts.iter().for_each(|part| self.part(part, value, at));
        let names = |part: &&Value, key: &str| {
            part["properties"].get(key).is_some() || part["additionalProperties"].is_object()
        };
        let known = |key: &str| self.is_lenient || parts.iter().any(|part| names(part, key));
        let unknown = value.as_object().into_iter().flatten().filter(|(key, _)| !known(key));
        let unknown: Vec<String> = unknown.map(|(key, _)| format!("{at}.{key} is not in the schema")).collect();
        self.faults.extend(unknown);
    }

    /// All that a value must be at once: a schema, what it refers to, and the choice that fits, whose keys stand beside the
    /// schema's own.
    fn collect(&self, schema: &'a Value, value: &Value, parts: &mut Vec<&'a Value>) -> Result<(), String> {
        parts.push(schema);
        if let Some(reference) = schema["$ref"].as_str() {
            let target = self.root.pointer(&reference[1..]).unwrap_or_else(|| panic!("{reference} leads nowhere"));
            self.collect(target, value, parts)?;
        }
        if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            let fitting = choices.iter().find(|choice| self.fits(choice, value));
            self.collect(fitting.ok_or_else(|| format!("{value} fits none of {schema}"))?, value, parts)?;
        }
        Ok(())
    }

    fn part(&mut self, schema: &'a Value, value: &Value, at: &str) {
        if !has_type(&schema["type"], value) {
            return self.faults.push(format!("{at}: {value} is no {}", schema["type"]));
        }
        let allowed = schema["enum"].as_array();
        if schema.get("const").is_some_and(|only| only != value) || allowed.is_some_and(|all| !all.contains(value)) {
            self.faults.push(format!("{at}: {value} is not one of {schema}"));
        }
        match value {
            Value::Object(_) => self.object(schema, value, at),
            Value::Array(items) if schema["items"].is_object() => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(index, item)| self.value(&schema["items"], item, &format!("{at}[{index}]")));
            }
            _ => {}
        }
    }

    fn object(&mut self, schema: &'a Value, value: &Value, at: &str) {
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if value.get(key).is_none() {
                self.faults.push(format!("{at}.{key} is missing"));
            }
        }
        for (key, inner) in value.as_object().into_iter().flatten() {
            let map = schema.get("additionalProperties").filter(|values| values.is_object());
            if let Some(own) = schema["properties"].get(key).or(map) {
                self.value(own, inner, &format!("{at}.{key}"));
            }
        }
    }

    fn fits(&self, schema: &'a Value, value: &Value) -> bool {
        let mut faults = Vec::new();
        SchemaWalk { root: self.root, faults: &mut faults, is_lenient: true }.value(schema, value, "");
        faults.is_empty()
    }
}

fn has_type(types: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    };
    match types {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}

#[test]
fn the_walk_finds_what_does_not_fit() {
    let place = TestPlace::new();
    let mut document = printed(&place, &["topology", "--json"]);
    document["machine"]["cores"][0]["os_number"] = Value::from("zero");
    document["machine"]["surprise"] = Value::from(1);
    document["schema"] = Value::from("corewise/topology/2");
    document["machine"].as_object_mut().unwrap().remove("online");
    let schema: Value = serde_json::from_str(&fs::read_to_string(file("topology")).unwrap()).unwrap();
    let mut faults = Vec::new();
    SchemaWalk { root: &schema, faults: &mut faults, is_lenient: false }.value(&schema, &document, "topology");
    assert_eq!(faults.len(), 4, "{faults:#?}");
}

/// Collects the names of functions in the sources below a folder.
fn collect_functions(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_functions(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            let names = source.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next());
            found.extend(names.map(str::to_owned));
        }
    }
}

/// A promise whose test was renamed or removed is a promise that nothing keeps.
#[test]
fn every_test_that_keeps_a_promise_exists() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let text = fs::read_to_string(repository.join("docs/security.md")).unwrap();
    let mut functions = BTreeSet::new();
    collect_functions(&repository.join("crates"), &mut functions);
    let mut is_of_promises = false;
    let mut promises = 0;
    for line in text.lines() {
        is_of_promises = line == "| promise | kept by the test |" || is_of_promises && line.starts_with('|');
        if !is_of_promises || line.starts_with("| promise") || line.starts_with("|---") {
            continue;
        }
        promises += 1;
        let keepers: Vec<&str> =
            line.trim_end_matches(" |").rsplit_once(" | ").unwrap().1.split('`').skip(1).step_by(2).collect();
        assert!(!keepers.is_empty(), "nothing keeps this: {line}");
        for keeper in keepers {
            let is_there = match keeper {
                chore if chore.starts_with("cargo xtask ") => true,
                path if path.contains('/') => repository.join(path).exists(),
                test => functions.contains(test),
            };
            assert!(is_there, "there is no {keeper}, which should keep this: {line}");
        }
    }
    assert!(promises > 40, "only {promises} promises were found");
}
