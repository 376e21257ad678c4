//! Files of strangers: none hangs the program, none takes more than 256 MB of memory, and none has its commands executed unasked.

mod support;

use std::fs::{self, File, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use corewise_sys::affinity;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use support::{TestPlace, is_root, text};

/// What the program's own code, stacks and tables take of the address space at most, in MiB.
const OWN_MIB: u32 = 160;
/// What an accepted file may take, in MiB.
const FILE_MIB: u32 = 256;
/// The same for files of a quarter of the largest size, which are read four times as fast.
const QUARTER_MIB: u32 = FILE_MIB / 4;

/// Runs the program with so much memory at most beside its own: where it wants more, it is aborted.
fn bounded(mebibytes: u32, place: &TestPlace, arguments: &[&str]) -> Output {
    let mut command = place.corewise(&[]);
    let program = command.get_program().to_owned();
    let environment: Vec<_> =
        command.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(format!("ulimit -v {}; exec \"$0\" \"$@\"", (OWN_MIB + mebibytes) << 10))
        .arg(program)
        .args(arguments);
    shell.current_dir(place.path());
    for (name, value) in environment {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    command = shell;
    command.output().unwrap()
}

/// It is refused, in words and without a panic or an abort.
fn refused(place: &TestPlace, arguments: &[&str]) -> String {
    let run = bounded(QUARTER_MIB, place, arguments);
    let said = text(&run.stderr);
    assert!(matches!(run.status.code(), Some(2 | 3)), "{arguments:?}: {:?} {said}", run.status);
    // Another user may run corewise meanwhile, which is said first.
    assert!(said.lines().any(|line| line.starts_with("error: ")), "{said}");
    said
}

/// It is read or refused, within the memory.
fn survived(mebibytes: u32, place: &TestPlace, arguments: &[&str]) {
    let run = bounded(mebibytes, place, arguments);
    assert!(matches!(run.status.code(), Some(0 | 2 | 3)), "{arguments:?}: {:?} {}", run.status, text(&run.stderr));
}

fn written(place: &TestPlace, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = place.path().join(name);
    fs::write(&path, content).unwrap();
    path.display().to_string()
}

#[test]
fn entities_of_an_xml_file_are_not_expanded() {
    let place = TestPlace::new();
    let entity = "x".repeat(1 << 16);
    let objects = format!("<object type=\"Machine\" name=\"{}\"/>", "&a;".repeat(250)).repeat(250);
    let bomb = format!(
        "<?xml version=\"1.0\"?>\n<!DOCTYPE topology [<!ENTITY a \"{entity}\">]>\n<topology version=\"2.0\">{objects}</topology>"
    );
    let said = refused(&place, &["topology", "--machine", &written(&place, "bomb.xml", bomb)]);
    assert!(said.contains("DTD"), "{said}");
    let elements = "<a/>".repeat(3 << 20);
    refused(
        &place,
        &[
            "topology",
            "--machine",
            &written(&place, "elements.xml", format!("<topology version=\"2.0\">{elements}</topology>")),
        ],
    );
    let attributes: String = (0..225_000).map(|n| format!(" a{n}=\"\"")).collect();
    let attributes = format!("<topology version=\"2.0\"{}/>", &attributes[..7 << 18]);
    survived(QUARTER_MIB, &place, &["topology", "--machine", &written(&place, "attributes.xml", attributes)]);
}

/// A mask takes a few characters, and a thousand processing units below it inherit it.
#[test]
fn sets_of_cpus_are_as_large_as_their_text() {
    let place = TestPlace::new();
    let mask = vec!["0x55555555"; 256].join(",");
    let units: String = (0..8192).map(|unit| format!("<object type=\"PU\" os_index=\"{unit}\"/>")).collect();
    let caches: String = (0..16)
        .map(|_| format!("<object type=\"L2Cache\" depth=\"2\" cache_type=\"0\" cache_size=\"1\" cpuset=\"{mask}\">"))
        .collect();
    let core = format!(
        "<object type=\"Core\" os_index=\"0\" cpuset=\"{mask}\">{caches}{units}{}</object>",
        "</object>".repeat(16)
    );
    let xml =
        format!("<topology version=\"2.0\"><object type=\"Machine\" cpuset=\"{mask}\">{core}</object></topology>");
    survived(FILE_MIB, &place, &["topology", "--machine", &written(&place, "wide.xml", xml), "--json"]);
}

/// A recording of the tests, changed.
fn replayed(change: impl Fn(&mut Value)) -> Vec<u8> {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/stalls-fx-8150.json.gz");
    let mut json = String::new();
    GzDecoder::new(File::open(recorded).unwrap()).read_to_string(&mut json).unwrap();
    let mut document = serde_json::from_str(&json).unwrap();
    change(&mut document);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&serde_json::to_vec(&document).unwrap()).unwrap();
    packed.finish().unwrap()
}

#[test]
fn replays_take_no_more_memory_than_their_text() {
    let place = TestPlace::new();
    let replay = |name: &str, change: &dyn Fn(&mut Value)| {
        survived(QUARTER_MIB, &place, &["tail", "--replay", &written(&place, name, replayed(change)), "--json"]);
    };
    let histogram = json!({"nanoseconds_per_tick": 1.0, "counts": [[1_u64 << 40, 1]]});
    replay("histograms", &|document| {
        let cpus = document["recording"]["survey"]["cpus"].as_array_mut().unwrap();
        let one = cpus[0].clone();
        cpus.clear();
        for cpu in 0..5_000 {
            let mut seen = json!({"cpu": cpu, "tail": histogram, "rounds": []});
            seen["stalls"] = if cpu == 0 { one["stalls"].clone() } else { Value::Null };
            cpus.push(seen);
        }
    });
    replay("gaps", &|document| {
        document["recording"]["survey"]["gaps"] = vec![json!({"what": "", "why": ""}); 225_000].into();
    });
    replay("groups", &|document| {
        document["recording"]["survey"]["machine"]["groups"] = vec![json!("65535"); 500_000].into();
    });
    replay("events", &|document| {
        let event = document["recording"]["visits"][0]["events"][0].clone();
        document["recording"]["visits"][0]["events"] = vec![event; 75_000].into();
    });
    replay("stalls", &|document| {
        let stall = document["recording"]["visits"][0]["stalls"][0].clone();
        document["recording"]["visits"][0]["stalls"] = vec![stall; 100_000].into();
    });
    // As much as gzip packs into a few hundred kilobytes.
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(b"{\"schema\":\"corewise/stalls/1\",\"recording\":{\"visits\":[").unwrap();
    (0..20).for_each(|_| packed.write_all(&b"[],".repeat(1 << 20)).unwrap());
    let said = refused(&place, &["tail", "--replay", &written(&place, "bomb.gz", packed.finish().unwrap())]);
    assert!(said.contains("not a recording of stalls"), "{said}");
}

#[test]
fn matrices_take_no_more_memory_than_their_text() {
    let place = TestPlace::new();
    for (name, content) in [
        ("blank", "\n".repeat(6 << 20)),
        ("commas", ",".repeat(6 << 20)),
        ("tabs", "\t\n".repeat(3 << 20)),
        ("rows", "0,1,1\n".repeat(3 << 18)),
        ("pairs", (0..140_000_u64).map(|n| format!("{},{},1\n", n / 1000, 1000 + n % 1000)).collect()),
    ] {
        survived(
            QUARTER_MIB,
            &place,
            &["links", "import", &written(&place, name, content), "--no-store", "--format", "csv"],
        );
    }
    let chain: String = (0..2047).map(|n| format!("{n},{},1\n", n + 1)).collect();
    survived(FILE_MIB, &place, &["links", "import", &written(&place, "chain", chain), "--no-store", "--format", "csv"]);
    let pairs = r#"{"a":0,"b":"1","visits_ns":[1]},"#.repeat(125_000);
    let map = format!(
        r#"{{"observed":{{"provenance":{{"origin":{{"from":"measured"}},"corewise":"","started_unix_ms":0,"elapsed_s":1,"budget_s":1,"seed":1,"partial":false}},"cpus":"0,1","gaps":[],"series":[{{"what":"cas","links":{{"possible_pairs":1,"gaps":[],"pairs":[{}]}}}}]}}}}"#,
        pairs.trim_end_matches(',')
    );
    survived(QUARTER_MIB, &place, &["links", "import", &written(&place, "map.json", map), "--no-store", "--json"]);
    refused(&place, &["links", "import", &written(&place, "large", " ".repeat(50 << 20)), "--no-store"]);
}

#[test]
fn settings_are_small_files() {
    let place = TestPlace::new();
    let large = written(&place, "large.toml", "a = 1\n".repeat(1 << 20));
    for command in [["topology", "--machine"], ["try", "--suite"], ["try", "--simulate"], ["article", ""]] {
        let arguments: Vec<&str> =
            command.into_iter().filter(|word| !word.is_empty()).chain([large.as_str()]).collect();
        let said = refused(&place, &arguments);
        assert!(said.contains("larger than"), "{said}");
    }
    let nested = written(&place, "nested.toml", format!("a = {}", "[".repeat(1 << 19)));
    refused(&place, &["try", "--suite", &nested]);
    for timeout in ["1e300", "1.84e19", "-1.0", "nan", "inf"] {
        let suite = format!(
            "name = \"s\"\n[[benchmark]]\nname = \"b\"\ncategory = \"c\"\ncommand = [\"true\"]\ntimeout_s = {timeout}\n"
        );
        refused(&place, &["try", "--suite", &written(&place, "s.toml", suite)]);
    }
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let place = TestPlace::new();
    let pipe = place.path().join("pipe.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for file in [pipe.to_str().unwrap(), "/dev/zero", "/dev/tty", place.path().to_str().unwrap()] {
        for command in [
            &["tail", "--replay"][..],
            &["try", "--suite"],
            &["try", "--simulate"],
            &["article"],
            &["links", "import", "--no-store"],
            &["links", "--no-store", "--simulate"],
            &["history", "--store"],
            &["topology", "--machine"],
        ] {
            let said = refused(&place, &[command, &[file]].concat());
            assert!(!said.contains("overflow"), "{said}");
        }
    }
}

#[test]
fn a_link_is_not_followed_where_others_may_make_one() {
    let place = TestPlace::new();
    let open = place.folder("open", 0o777);
    let suite = written(&place, "s.toml", "name = \"s\"\n");
    symlink(&suite, open.join("s.toml")).unwrap();
    let said = refused(&place, &["try", "--suite", open.join("s.toml").to_str().unwrap()]);
    assert!(said.contains("link in a folder that others may write in"), "{said}");
    // Nor written through.
    let target = place.folder("target", 0o755);
    symlink(&target, open.join("out")).unwrap();
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/stalls-fx-8150.json.gz");
    let out = open.join("out");
    let said =
        refused(&place, &["tail", "--replay", recorded.to_str().unwrap(), "--histograms", out.to_str().unwrap()]);
    assert!(said.contains("is a link"), "{said}");
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
}

const SUITE: &str = "name = \"s\"\n[[benchmark]]\nname = \"b\"\ncategory = \"c\"\nsetup = \"echo ran >> \\\"$MARK\\\"\"\ncommand = [\"true\"]\n";

#[test]
fn a_suite_that_others_can_have_written_is_shown_and_not_executed() {
    if affinity::current_affinity().unwrap().len() < 2 {
        println!("skipped: one cpu alone leaves nothing to try");
        return;
    }
    let place = TestPlace::new();
    let suite = written(&place, "s.toml", SUITE);
    let mark = place.path().join("mark");
    let run = |arguments: &[&str]| {
        let all = [&["try", "--suite", &suite, "--runs-max", "4", "--no-store"], arguments].concat();
        let run = place.corewise(&all).env("MARK", &mark).output().unwrap();
        (fs::read_to_string(&mark).unwrap_or_default().lines().count(), text(&run.stderr))
    };
    fs::set_permissions(&suite, Permissions::from_mode(0o666)).unwrap();
    let (ran, said) = run(&[]);
    assert_eq!(ran, 0, "{said}");
    assert!(said.contains("the file may be written by everybody") && said.contains("echo ran"), "{said}");
    let other = written(&place, "other.toml", SUITE);
    assert_eq!(run(&["--trust", &other]).0, 0, "another file is not what is accepted");
    assert_eq!(run(&["--trust", &suite]).0, 1, "{}", run(&[]).1);
    let accepted = fs::read_to_string(&mark).unwrap().lines().count();
    assert!(run(&[]).0 > accepted, "exactly this content is remembered");
    fs::write(&suite, SUITE.replace("true", "false")).unwrap();
    let before = fs::read_to_string(&mark).unwrap().lines().count();
    assert_eq!(run(&[]).0, before, "other content is not");
    fs::set_permissions(&suite, Permissions::from_mode(0o644)).unwrap();
    assert!(run(&[]).0 > before, "nobody else can have written it now");
}

#[test]
fn root_executes_nothing_out_of_somebody_else_s_store() {
    if !is_root() {
        println!("skipped: only root has something to lose to another user");
        return;
    }
    let place = TestPlace::new();
    let folder = place.folder("nobody", 0o755);
    std::os::unix::fs::chown(&folder, Some(65_534), Some(65_534)).unwrap();
    let (store, mark) = (folder.join("s.db"), folder.join("mark"));
    let script = format!("echo ran >> {}", mark.display());
    let store = store.to_str().unwrap();
    let all: Vec<String> = affinity::current_affinity().unwrap().iter().take(1).map(|cpu| cpu.to_string()).collect();
    let made =
        place.ordinary_user(&["try", "--store", store, "--on", &all[0], "--runs-max", "4", "--", "sh", "-c", &script]);
    let made = { made }.current_dir("/").output().unwrap();
    let lines = || fs::read_to_string(&mark).unwrap_or_default().lines().count();
    let before = lines();
    assert!(before > 0, "{}", text(&made.stderr));
    let said = refused(&place, &["try", "--resume", "--store", store, "--runs-max", "8"]);
    assert_eq!(lines(), before, "{said}");
    assert!(said.contains("belongs to user 65534") && said.contains("echo ran"), "{said}");
    let run =
        place.corewise(&["try", "--resume", "--store", store, "--runs-max", "8", "--trust", store]).output().unwrap();
    assert!(lines() > before, "{}", text(&run.stderr));
}

/// A process that does not outlive its test.
struct Killed(std::process::Child);

impl Killed {
    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        self.end();
    }
}

#[test]
fn one_measurement_of_a_user_at_a_time() {
    let place = TestPlace::new();
    let first = place
        .corewise(&["survey", "--budget", "1h", "--no-store"])
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut first = Killed(first);
    let lock = format!("measuring.lock.{}", corewise_sys::process::boot_id().unwrap());
    support::wait_for("the lock", || fs::read_to_string(place.path().join(&lock)).ok().filter(|text| !text.is_empty()));
    let commands = [&["survey"][..], &["tail"], &["links"], &["try", "--", "true"]];
    // One cpu alone has no link, and leaves nothing to try.
    let possible = if affinity::current_affinity().unwrap().len() > 1 { 4 } else { 2 };
    for command in &commands[..possible] {
        let said = refused(&place, &[&command[..1], &["--no-store"], &command[1..]].concat());
        assert!(said.contains(&format!("another corewise of yours is measuring (process {})", first.0.id())), "{said}");
    }
    let run = place.corewise(&["tail", "--budget", "1s", "--no-store", "--anyway"]).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    first.end();
    let run = place.corewise(&["tail", "--budget", "1s", "--no-store"]).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
}

#[test]
fn nobody_else_reads_what_is_stored() {
    let place = TestPlace::new();
    let run = place.corewise(&["--budget", "1s"]).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = place.path().join("corewise");
    assert_eq!(mode(&folder), 0o700);
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty() && files.iter().all(|file| mode(file) == 0o600), "{files:?}");
}

#[test]
fn passwords_are_used_but_neither_stored_nor_shown() {
    if affinity::current_affinity().unwrap().len() < 2 {
        println!("skipped: one cpu alone leaves nothing to try");
        return;
    }
    let place = TestPlace::new();
    let mark = place.path().join("mark");
    let cpu = affinity::current_affinity().unwrap().iter().take(1).map(|cpu| cpu.to_string()).collect::<String>();
    let script = format!("echo \"$0\" \"$2\" >> {}; echo \"$0 PASSWORD=$2\"; exit 1", mark.display());
    let command =
        ["--", "sh", "-c", &script, "http://admin:hunter2@host/", "--password", "hunter2", "--token=hunter2 x"];
    let run = |arguments: &[&str]| {
        let run = place.corewise(arguments).output().unwrap();
        (run.status.code(), text(&run.stdout) + &text(&run.stderr))
    };
    let tried = run(&[&["try", "--on", &cpu, "--runs-max", "4"][..], &command].concat());
    assert!(fs::read_to_string(&mark).unwrap().starts_with("http://admin:hunter2@host/ hunter2\n"), "{tried:?}");
    let shown = [
        tried,
        run(&["history", "show", "1"]),
        run(&["history", "show", "1", "--json"]),
        run(&["history", "show", "1", "--markdown"]),
        run(&["history", "show", "1", "--csv"]),
        run(&["report", "1", "-o", "-"]),
        run(&["history", "--json"]),
    ];
    for (_, shown) in &shown {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    assert!(shown[6].1.contains("--password ***"), "{}", shown[6].1);
    assert!(shown[2].1.contains("http://***@host/") && shown[5].1.contains("http://***@host/"));
    let store = fs::read(place.path().join("corewise/history.db")).unwrap();
    assert!(!store.windows(7).any(|bytes| bytes == b"hunter2"));
    for command in [&["--resume"][..], &["--again", "1"]] {
        let (status, said) = run(&[&["try"], command].concat());
        assert!(status == Some(3) && said.contains("which is not stored"), "{status:?} {said}");
    }
}

/// A folder of this user's in one in which everybody may write: they may put another folder in its place.
fn folder_that_others_can_exchange(place: &TestPlace) -> PathBuf {
    let folder = place.folder("open", 0o777).join("own");
    fs::create_dir(&folder).unwrap();
    folder
}

#[test]
fn commands_count_only_where_nobody_can_put_another_folder_in_the_place_of_theirs() {
    if affinity::current_affinity().unwrap().len() < 2 {
        println!("skipped: one cpu alone leaves nothing to try");
        return;
    }
    let place = TestPlace::new();
    let folder = folder_that_others_can_exchange(&place);
    let parts = "load = [\"true\"]\n[[part]]\nname = \"server\"\nstart = \"echo ran >> $MARK; sleep 100\"\n";
    let article = "name = \"a\"\nquestion = \"q\"\nsource = \"s\"\npublished = \"p\"\nlook = \"l\"\n[[step]]\ntitle = \"t\"\ncommand = [\"topology\"]\n";
    let suite = written(&place, "open/own/s.toml", SUITE);
    let parts = written(&place, "open/own/p.toml", parts);
    let article = written(&place, "open/own/a.toml", article);
    for arguments in [&["try", "--suite", &suite][..], &["try", "--parts", &parts], &["article", &article]] {
        let said = refused(&place, &[arguments, &["--no-store"]].concat());
        assert!(said.contains("is not executed: other users may write in "), "{arguments:?}: {said}");
    }
    let store = place.path().join("s.db");
    let cpu = affinity::current_affinity().unwrap().iter().take(1).map(|cpu| cpu.to_string()).collect::<String>();
    let made = ["try", "--store", store.to_str().unwrap(), "--on", &cpu, "--runs-max", "4", "--", "true"];
    let made = place.corewise(&made).output().unwrap();
    assert!(store.exists(), "{}", text(&made.stderr));
    let moved = folder.join("s.db");
    fs::rename(&store, &moved).unwrap();
    let moved = moved.to_str().unwrap();
    for command in [&["--resume"][..], &["--again", "1"]] {
        let said = refused(&place, &[&["try", "--store", moved], command].concat());
        assert!(said.contains("others may put another folder in the place of this one"), "{said}");
    }
    // It may be read.
    let run = place.corewise(&["history", "--store", moved]).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
}

#[test]
fn the_output_of_a_watched_command_goes_through_no_link_of_others() {
    let place = TestPlace::new();
    let (open, target) = (place.folder("open", 0o777), place.path().join("target"));
    fs::write(&target, "own").unwrap();
    for (link, to) in [("out", "../target"), ("new", "../made"), ("folder", "..")] {
        symlink(to, open.join(link)).unwrap();
    }
    for (option, name) in
        [("-o", "out"), ("-o", "new"), ("-o", "folder/target"), ("--save", "new"), ("--save", "folder/made")]
    {
        let run = place.corewise(&["watch", "--json", option, &format!("open/{name}"), "--", "echo", "of the command"]);
        let run = { run }.output().unwrap();
        let said = text(&run.stderr);
        assert!(
            run.status.code() == Some(3) && said.contains("is a link") || said.contains("exists"),
            "{name}: {said}"
        );
    }
    assert_eq!(fs::read_to_string(&target).unwrap(), "own");
    assert!(!place.path().join("made").exists());
}

#[test]
fn a_replay_of_moments_takes_the_memory_of_one() {
    let place = TestPlace::new();
    let saved = place.path().join("saved.jsonl");
    let run = place.corewise(&["watch", "--json", "--save", saved.to_str().unwrap(), "--", "true"]).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let saved = fs::read_to_string(saved).unwrap();
    let (header, moments) = saved.split_once('\n').unwrap();
    let mut moment: Value = serde_json::from_str(moments.lines().last().unwrap()).unwrap();
    // A text of three characters becomes a value of 24 bytes.
    moment["cpus"][0]["rules"] = vec![Value::from(""); 300_000].into();
    let moment = format!("{moment}\n");
    let grown = written(&place, "grown.jsonl", format!("{header}\n{}", moment.repeat((40 << 20) / moment.len())));
    let run = bounded(QUARTER_MIB, &place, &["watch", "--replay", &grown, "--once"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let long = written(&place, "long.jsonl", format!("{header}\n{}", "[".repeat(17 << 20)));
    let said = refused(&place, &["watch", "--replay", &long, "--once"]);
    assert!(said.contains("line 2: it is longer than 16777216 bytes"), "{said}");
}
