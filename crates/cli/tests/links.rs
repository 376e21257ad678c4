//! `corewise links` as a user meets it: this machine, matrices in files, pictures, the history, and what cannot be.

mod support;

use std::fs;
use std::io::Read as _;
use std::process::Stdio;
use std::time::Duration;

use corewise_machine::CpuSet;
use corewise_sys::affinity;
use serde_json::Value;
use support::{TestPlace, text};

/// Two groups of three: 20 ns inside, 80 between, each cell a little different.
fn matrix() -> String {
    let cell = |i: u32, j: u32| (if i / 3 == j / 3 { 20.0 } else { 80.0 }) + f64::from(i) * 0.1 + f64::from(j) * 0.01;
    let row = |i: u32| (0..6).map(move |j| if j < i { format!("{:.2}", cell(i, j)) } else { String::new() });
    (0..6).map(|i| row(i).collect::<Vec<_>>().join(",") + "\n").collect()
}

fn with_matrix() -> TestPlace {
    let place = TestPlace::new();
    fs::write(place.path().join("matrix.csv"), matrix()).unwrap();
    place
}

fn printed(place: &TestPlace, arguments: &[&str]) -> String {
    let run = place.corewise(arguments).output().unwrap();
    assert_eq!((run.status.code(), support::said(&run.stderr)), (Some(0), String::new()), "{arguments:?}");
    text(&run.stdout)
}

fn refused(place: &TestPlace, arguments: &[&str]) -> (Option<i32>, String) {
    let run = place.corewise(arguments).output().unwrap();
    assert_eq!(text(&run.stdout), "", "{arguments:?}");
    (run.status.code(), text(&run.stderr))
}

fn has_two_cpus() -> bool {
    let two = affinity::current_affinity().unwrap().len() > 1;
    if !two {
        println!("skipped: a link needs two cpus");
    }
    two
}

#[test]
fn this_machine_has_a_map_that_is_kept_shown_and_compared() {
    if !has_two_cpus() {
        return;
    }
    let place = TestPlace::new();
    let cpus = affinity::current_affinity().unwrap().iter().take(2).collect::<CpuSet>().to_string();
    let screen = printed(&place, &["links", "--cpus", &cpus, "--kind", "cas,store,queue,wakeup"]);
    for words in ["compare-and-swap, one way", "store and load", "queue, padded slots", "wake-up", "stored as map 1"] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    assert!(screen.contains("discarded") && screen.contains("GHz"), "{screen}");
    let list = printed(&place, &["history", "--width", "160"]);
    assert!(list.contains("1  links ") && list.contains("1 pair of 2 cpus (cas, store, queue, wakeup)"), "{list}");
    let again = printed(&place, &["history", "show", "1"]);
    assert!(again.starts_with("map 1, made "), "{again}");
    assert_eq!(printed(&place, &["links", "show", "1"]), again);
    let same = printed(&place, &["history", "compare", "1", "1"]);
    assert_eq!(printed(&place, &["links", "compare", "1", "1"]), same);
    assert!(same.contains("compare-and-swap: none of 1 pair changed"), "{same}");
    let json: Value = serde_json::from_str(&printed(&place, &["history", "show", "1", "--json"])).unwrap();
    assert_eq!((&json["schema"], &json["stored"]), (&"corewise/links/3".into(), &1.into()));
    fs::write(place.path().join("map.json"), json.to_string()).unwrap();
    let file = printed(&place, &["links", "compare", "map.json", "1"]);
    assert!(file.contains("From map.json to map 1") && file.contains("none of 1 pair"), "{file}");
}

#[test]
fn a_file_of_another_tool_shows_its_groups_and_is_kept() {
    let place = with_matrix();
    let screen = printed(&place, &["links", "import", "matrix.csv"]);
    assert!(screen.contains("lower triangle without names"), "{screen}");
    assert!(screen.contains("2 groups of 3 cpus: inside 20 ns, across 80 ns one way"), "{screen}");
    assert!(screen.contains("group:1  3-5") && screen.contains("names them group:0"), "{screen}");
    assert!(screen.contains("stored as map 1"), "{screen}");
    let list = printed(&place, &["history", "--all", "--width", "160"]);
    assert!(list.contains("imported: 15 pairs of 6 cpus (cas), from matrix.csv"), "{list}");
    // What is written is read again, and is the same.
    fs::write(place.path().join("long.csv"), printed(&place, &["history", "show", "1", "--csv"])).unwrap();
    fs::write(place.path().join("full.csv"), printed(&place, &["links", "show", "1", "--format", "matrix"])).unwrap();
    for file in ["long.csv", "full.csv"] {
        let same = printed(&place, &["links", "compare", "matrix.csv", file]);
        assert!(same.contains("none of 15 pairs changed"), "{file}: {same}");
    }
}

#[test]
fn pictures_and_tables_are_what_they_say() {
    let place = with_matrix();
    let import = |format| printed(&place, &["links", "import", "matrix.csv", "--no-store", "--format", format]);
    let svg = import("svg");
    assert!(svg.starts_with("<svg ") && svg.contains("group:1") && svg.trim_end().ends_with("</svg>"), "{svg}");
    assert!(import("matrix").starts_with("cpu,0,1,2,3,4,5\n0,,20.1"), "{}", import("matrix"));
    assert!(import("csv").starts_with("kind,a,b,first,visit,use,ns,notes\ncas,0,1,"), "{}", import("csv"));
    let json: Value =
        serde_json::from_str(&printed(&place, &["links", "import", "matrix.csv", "--no-store", "--json"])).unwrap();
    assert_eq!(json["conclusions"]["groups"]["cores"], serde_json::json!([3, 3]));
}

/// The title names the machine, or the file; what stands below it names the kind of talk, the pairs, and how wrong predictions are.
#[test]
fn a_picture_says_what_it_is_of() {
    let place = with_matrix();
    let svg = printed(&place, &["links", "import", "matrix.csv", "--no-store", "--format", "svg"]);
    for words in [
        ">matrix, 6 cpus</text>",
        "compare-and-swap, one way · 15 pairs measured · 2 groups of 3",
        "imported from matrix.csv",
    ] {
        assert!(svg.contains(words), "{words}: {svg}");
    }
    assert!(!svg.contains("predicted"), "{svg}");
    let cell = |i: u32, j: u32| {
        if i % 24 == j % 24 {
            8
        } else if i % 24 / 3 == j % 24 / 3 {
            23
        } else {
            95
        }
    };
    let row = |i: u32| (0..i).map(|j| cell(i, j).to_string()).collect::<Vec<_>>().join(",") + ",\n";
    fs::write(place.path().join("large.csv"), (0..48).map(row).collect::<String>()).unwrap();
    let arguments =
        ["links", "--simulate", "large.csv", "--machine", "threadripper-3960x", "--seed", "1", "--no-store"];
    let svg = printed(&place, &[&arguments[..], &["--format", "svg"]].concat());
    let said: String = svg.split("<text").map(|text| text.split_once('>').map_or("", |text| text.1)).collect();
    assert!(said.contains("AMD Ryzen Threadripper 3960X, 48 cpus"), "{said}");
    for words in
        ["compare-and-swap, one way", " of 1,128 pairs measured", " predicted, error median 0.0 %", "paler: predicted"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
}

/// A cost that cannot be is named, and nothing is concluded from it.
#[test]
fn a_cost_that_cannot_be_is_named_and_left_out() {
    let place = TestPlace::new();
    let cell = |i: u32, j: u32| match (i, j) {
        (9, 1) => "0.4".to_owned(),
        _ if i / 4 == j / 4 => "25".to_owned(),
        _ => format!("{}", 99 + (i + j) % 3),
    };
    let row = |i: u32| (0..i).map(|j| cell(i, j)).collect::<Vec<_>>().join(",") + ",\n";
    fs::write(place.path().join("wrong.csv"), (0..16).map(row).collect::<String>()).unwrap();
    let screen = printed(&place, &["links", "import", "wrong.csv", "--no-store"]);
    let said = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("! cpus 1 and 9: 0.4 ns contradicts the other costs"), "{screen}");
    assert!(
        said.contains("far from the other; left out") && said.contains("4 groups of 4 cpus: inside 25 ns"),
        "{screen}"
    );
    let json = printed(&place, &["links", "import", "wrong.csv", "--no-store", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["conclusions"]["kinds"][0]["doubts"][0]["b"], 9);
}

#[test]
fn a_matrix_stands_for_a_machine_the_same_way_each_time() {
    let place = with_matrix();
    let arguments = ["links", "--simulate", "matrix.csv", "--seed", "5", "--no-store"];
    let screen = printed(&place, &arguments);
    assert_eq!(screen, printed(&place, &arguments));
    assert!(screen.contains("simulated from matrix.csv") && screen.contains("2 groups of 3 cpus"), "{screen}");
    let few = printed(&place, &["links", "--simulate", "matrix.csv", "--cpus", "1-3", "--no-store"]);
    assert!(few.contains("3 pairs"), "{few}");
    let (code, said) = refused(&place, &["links", "--simulate", "matrix.csv", "--cpus", "llc:0"]);
    assert!(code == Some(2) && said.contains("--cpus takes only numbers"), "{said}");
    // A simulated map says nothing of this machine.
    printed(&place, &["links", "--simulate", "matrix.csv"]);
    let (code, said) = refused(&place, &["place", "group:0"]);
    assert!(code == Some(3) && said.contains("no link map of this machine shows groups"), "{said}");
}

#[test]
fn nothing_is_wider_than_forty_columns() {
    let place = with_matrix();
    printed(&place, &["links", "import", "matrix.csv"]);
    for arguments in [&["history", "show", "1"][..], &["history", "--all"], &["history", "compare", "1", "1"]] {
        let screen = printed(&place, &[arguments, &["--width", "40"]].concat());
        for line in screen.lines() {
            assert!(line.chars().count() <= 40, "{arguments:?}: {line}");
        }
    }
}

#[test]
fn what_is_no_map_is_refused_with_the_reason() {
    let place = TestPlace::new();
    let file = |name: &str, content: &str| fs::write(place.path().join(name), content).unwrap();
    file("pasted.txt", "Num cores: 2\nUsing RDTSC to measure time: true\n    0    1\n 0\n 1  57±0\n");
    file("ragged.csv", ",,\n20,\n20,20,20\n");
    file("other.json", "{\"schema\": \"corewise/survey/1\"}");
    let said = |name| refused(&place, &["links", "import", name]);
    for (name, words) in [
        ("pasted.txt", "is the tool's terminal output"),
        ("ragged.csv", "line 2"),
        ("other.json", "is not a map of `corewise links --json`"),
        ("absent.csv", "cannot read absent.csv"),
        (".", "cannot read ."),
    ] {
        let (code, said) = said(name);
        assert!(code == Some(3) && said.contains(words), "{name}: {said}");
    }
    let (code, said) = refused(&place, &["links", "compare", "1", "2"]);
    assert!(code == Some(3) && said.contains("there is no history at"), "{said}");
}

#[test]
fn one_cpu_has_no_links() {
    let place = TestPlace::new();
    let allowed = affinity::current_affinity().unwrap();
    let cpu = allowed.lowest().unwrap();
    // The child inherits the affinity of the thread that starts it; this thread ends with the test.
    affinity::set_current(&CpuSet::from_cpu(cpu)).unwrap();
    let (code, said) = refused(&place, &["links"]);
    affinity::set_current(&allowed).unwrap();
    assert_eq!(code, Some(3));
    assert!(
        said.starts_with(&format!("error: a link needs two cpus, and this process may use only {cpu}\n")),
        "{said}"
    );
}

#[test]
fn ctrl_c_gives_what_was_measured() {
    if !has_two_cpus() {
        return;
    }
    for after_ms in [0, 50, 400] {
        let place = TestPlace::new();
        let arguments = ["links", "--kind", "wakeup,channel,cas"];
        let mut run = place.corewise(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        support::wait_until_it_catches_interrupts(&run);
        std::thread::sleep(Duration::from_millis(after_ms));
        support::interrupt(&run);
        let mut screen = String::new();
        run.stdout.take().unwrap().read_to_string(&mut screen).unwrap();
        let output = run.wait_with_output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "after {after_ms} ms: {said}{screen}");
        if screen.is_empty() {
            assert!(said.starts_with("error: nothing was measured: the map was ended before its first pair"), "{said}");
        } else {
            let begins = ["PARTIAL: ended early", "NOT FINISHED: "].iter().any(|words| screen.starts_with(words));
            assert!(begins, "{screen}");
        }
    }
}

#[test]
fn what_has_no_use_for_an_option_says_so() {
    let place = with_matrix();
    for (arguments, words) in [
        (&["links", "compare", "matrix.csv", "matrix.csv", "--format", "svg"][..], "no picture and no table of visits"),
        (&["links", "compare", "matrix.csv", "matrix.csv", "--order", "group"], "no picture and no table of visits"),
        (&["links", "list"], "unrecognized subcommand"),
        (&["links", "show", "1", "--machine", "fx-8150"], "--machine names the machine of a file"),
        (&["links", "import", "matrix.csv", "matrix.csv", "--format", "csv"], "Import one at a time"),
        (&["links", "--simulate", "matrix.csv", "--kind", "wakeup"], "uses the matrix's way to talk"),
        (&["links", "--kind", "nonsense"], "invalid value 'nonsense'"),
    ] {
        let (code, said) = refused(&place, arguments);
        assert!(code == Some(2) && said.contains(words), "{arguments:?}: {said}");
    }
}

/// Maps come from strangers: what they say of themselves is looked at before it is believed, and before it is kept.
#[test]
fn a_map_that_cannot_be_is_refused_and_not_kept() {
    let place = with_matrix();
    let sound: Value =
        serde_json::from_str(&printed(&place, &["links", "import", "matrix.csv", "--no-store", "--json"])).unwrap();
    let broken = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut document = sound.clone();
        change(&mut document["observed"]);
        fs::write(place.path().join(name), document.to_string()).unwrap();
    };
    broken("huge.json", &|map| map["cpus"] = "0-65535".into());
    broken("empty.json", &|map| map["series"] = serde_json::json!([]));
    broken("strange.json", &|map| {
        let row = &mut map["series"][0]["links"]["pairs"][0];
        row["b"] = format!("77-{}", 76 + row["visits_ns"].as_array().unwrap().len()).into();
    });
    broken("negative.json", &|map| map["series"][0]["links"]["pairs"][0]["visits_ns"][0] = (-5.0).into());
    for (name, words) in [
        ("huge.json", "65536 cpus"),
        ("empty.json", "it has no way to talk"),
        ("strange.json", "are not a pair of its cpus"),
        ("negative.json", "an impossible cost"),
        ("/dev/zero", "it is a device"),
    ] {
        let (code, said) = refused(&place, &["links", "import", name]);
        assert!(code == Some(3) && said.contains(words), "{name}: {said}");
    }
    assert!(printed(&place, &["history", "--all"]).starts_with("Nothing is stored yet."));
    // A map of corewise's own that comes from a file is an import: it says nothing of this machine.
    fs::write(place.path().join("sound.json"), sound.to_string()).unwrap();
    printed(&place, &["links", "import", "sound.json"]);
    assert!(printed(&place, &["history", "--all"]).contains("imported"));
}

#[test]
fn sends_are_shown_from_cpu_to_cpu_with_what_padding_buys() {
    if !has_two_cpus() {
        return;
    }
    let place = TestPlace::new();
    let cpus = affinity::current_affinity().unwrap().iter().take(2).collect::<CpuSet>().to_string();
    let arguments = ["links", "--channel", "--slots", "packed,padded", "--no-store", "--width", "120", "--cpus", &cpus];
    let words = ["Sends", "from   to", "bounded", "MB/s", "of packed", "queue with padded slots costs"];
    // On a quiet machine a short look has all. Others may want these cpus too: what was not measured is measured again.
    let short = printed(&place, &[&arguments[..], &["--budget", "3s"]].concat());
    if words.iter().all(|word| short.contains(word)) {
        return;
    }
    for _ in 0..10 {
        let screen = printed(&place, &arguments);
        let is_busy = screen.contains("one cpu is busy") || screen.contains("something else uses it");
        match words.iter().find(|word| !screen.contains(**word)) {
            None => return,
            Some(word) => assert!(is_busy, "{word}: {screen}"),
        }
    }
    println!("skipped: another program keeps a cpu so busy that none of ten looks has all kinds of links");
}

#[test]
fn numbers_that_no_machine_has_are_not_taken_for_nanoseconds() {
    let place = TestPlace::new();
    fs::write(place.path().join("us.csv"), ",,\n0.02,,\n0.08,0.08,\n").unwrap();
    let (code, said) = refused(&place, &["links", "import", "us.csv"]);
    assert!(code == Some(3) && said.contains("below 2 ns") && said.contains("--unit us"), "{said}");
    // Some lie above.
    fs::write(place.path().join("mixed.csv"), ",,,\n0.2,,,\n1.3,1.3,,\n1.3,1.3,0.2,\n").unwrap();
    assert_eq!(refused(&place, &["links", "import", "mixed.csv"]).0, Some(3));
    let screen = printed(&place, &["links", "import", "us.csv", "--unit", "us", "--no-store"]);
    assert!(screen.contains("80"), "{screen}");
}
