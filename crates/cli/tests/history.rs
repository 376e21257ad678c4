//! The history as a user meets it: surveys are stored, listed, shown again and compared.

mod support;

use std::process::{Command, Output};
use std::sync::LazyLock;

use support::{TestPlace, text};

#[test]
fn surveys_are_stored_listed_shown_and_compared() {
    let place = TestPlace::new();
    for number in [1, 2] {
        let run = place.corewise(&["--budget", "1s", "--seed", "7"]).output().unwrap();
        assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
        assert!(text(&run.stdout).contains(&format!("stored as survey {number}")), "{}", text(&run.stdout));
    }
    let answer = |arguments: &[&str]| printed(&place, arguments);
    let list = answer(&["history"]);
    assert!(list.contains("\n     1  survey  20") && list.contains("\n     2  survey  20"), "{list}");
    let again = answer(&["history", "show", "1"]);
    assert!(again.starts_with("survey 1, made 20") && again.contains("What this means"), "{again}");
    let comparison = answer(&["history", "compare", "1", "2"]);
    assert!(comparison.starts_with("From survey 1 to survey 2\n") && !comparison.contains("different machines"));
    let same = answer(&["history", "compare", "1", "1"]);
    // On a crowded machine a second is too short for an interval.
    let says = ["change of ", "Cannot tell whether anything changed"];
    assert!(says.iter().any(|words| same.contains(words)), "{same}");
}

/// Two machines of one model with one home: the other one has its own name, and this one's results are not its own.
#[test]
fn machines_that_share_a_history_do_not_share_its_surveys() {
    let place = TestPlace::new();
    let other = |arguments: &[&str]| {
        let own = place.corewise(arguments);
        let script = "hostname the-other-one && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--uts", "--map-root-user", "sh", "-c", script, "sh"]).arg(own.get_program()).args(arguments);
        command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(place.path()).output().unwrap()
    };
    let has_id = std::fs::read_to_string("/etc/machine-id").is_ok_and(|id| id.trim().len() == 32);
    if !has_id || !other(&["--version"]).status.success() {
        println!("skipped: no id of this machine, or no namespace of host names can be made (unshare, hostname)");
        return;
    }
    printed(&place, &["--budget", "1s"]);
    assert!(printed(&place, &["history"]).contains("\n     1  survey  20"));
    let said = |run: &Output| text(&run.stdout) + &text(&run.stderr);
    let list = said(&other(&["history"]));
    assert!(
        list.contains("Nothing is stored for this machine yet") && list.contains("1 more of other machines"),
        "{list}"
    );
    let shown = said(&other(&["history", "show", "1"]));
    assert!(shown.contains("was measured on another machine"), "{shown}");
    assert!(other(&["--budget", "1s"]).status.success());
    let list = printed(&place, &["history", "--all"]);
    assert!(list.contains("other machine: ") && list.matches("  survey  ").count() == 2, "{list}");
    let compared = printed(&place, &["history", "compare", "1", "2"]);
    assert!(compared.contains("these are different machines"), "{compared}");
}

#[test]
fn a_page_of_results_that_are_here_adds_none() {
    let place = with_three();
    let page = place.path().join("page.html").display().to_string();
    printed(&place, &["report", "1", "2", "-o", &page]);
    let said = printed(&place, &["history", "import", &page]);
    assert!(said.contains("2 results in the history already: 1, 2") && !said.contains("imported"), "{said}");
    let mine = place.path().join("mine.txt");
    std::fs::write(&mine, "my own words").unwrap();
    let refused = refused(&place, &["report", "1", "-o", &mine.display().to_string()], 3);
    assert!(refused.contains("it exists, and no report is in it"), "{refused}");
    printed(&place, &["report", "2", "-o", &page]);
}

#[test]
fn timings_of_other_programs_are_described_and_not_stored() {
    let place = TestPlace::new();
    let file = place.path().join("timings.json").display().to_string();
    let times = |first: u32| (first..first + 10).map(|time| format!("{time}.5")).collect::<Vec<_>>().join(", ");
    let result = |name: &str, first| format!("{{\"command\": \"{name}\", \"times\": [{}]}}", times(first));
    std::fs::write(&file, format!("{{\"results\": [{}, {}]}}", result("old", 600), result("new", 500))).unwrap();
    let said = printed(&place, &["history", "import", &file]);
    for words in [
        "Not proven: new looks ",
        " better than the first; about ",
        "hyperfine: 2 series, measured one after the other",
        "new       10",
        "would decide",
        "Interleaved runs tell the",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(said.contains("in an order that is not"), "both grow: {said}");
    refused(&place, &["history", "show", "1"], 3);
    std::fs::write(&file, "my own words").unwrap();
    assert!(refused(&place, &["history", "import", &file], 3).contains("holds no result"));
}

#[test]
fn files_of_timings_are_compared_and_what_is_left_out_is_said() {
    let place = TestPlace::new();
    let write = |name: &str, text: &str| {
        std::fs::write(place.path().join(name), text).unwrap();
        place.path().join(name).display().to_string()
    };
    let times =
        |first: f64, other: f64| (0..20).map(|run| if run % 2 == 0 { first } else { other }).collect::<Vec<_>>();
    let of = |name: &str, times: Vec<f64>, codes: &str| {
        format!("{{\"results\": [{{\"command\": \"{name}\", \"times\": {times:?}, \"exit_codes\": [{codes}]}}]}}")
    };
    let old = write("old.json", &of("app", times(0.5, 0.7), "0, 0, 1, 1"));
    let new = write("new.json", &of("app", times(0.25, 0.26), ""));
    let said = printed(&place, &["history", "import", &old, &new]);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "hyperfine: 2 series",
        "app: 2 of 20 runs failed (exit_codes): left out.",
        "two groups, 9 around 500 ms and 9 around 700 ms; the median is of neither of them.",
        "Interleaved runs tell the",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let broken = write("broken.csv", "old,new\n1,2\n3,fast\n");
    let said = refused(&place, &["history", "import", &broken], 3);
    assert!(said.contains("broken.csv: line 3: \"fast\" is not a number"), "{said}");
    let mut command = place.corewise(&["history", "import", "-"]);
    let run = command.stdin(std::fs::File::open(&new).unwrap()).output().unwrap();
    assert!(text(&run.stdout).starts_with("hyperfine: 1 series"), "{}{}", text(&run.stdout), text(&run.stderr));
}

#[test]
fn a_number_that_does_not_exist_is_told_with_those_that_do() {
    let place = with_survey();
    let run = place.corewise(&["history", "show", "12"]).output().unwrap();
    assert_eq!(run.status.code(), Some(3));
    let said = text(&run.stderr);
    assert!(said.starts_with("error: there is no number 12 in ") && said.contains("; it has 1\n"), "{said}");
    assert!(said.ends_with("`corewise history --all` lists everything.\n"), "{said}");
}

/// A command that has to succeed without a word beside; its output.
fn printed(place: &TestPlace, arguments: &[&str]) -> String {
    let run = place.corewise(arguments).output().unwrap();
    assert_eq!((run.status.code(), support::said(&run.stderr)), (Some(0), String::new()), "{arguments:?}");
    text(&run.stdout)
}

fn refused(place: &TestPlace, arguments: &[&str], code: i32) -> String {
    let run = place.corewise(arguments).output().unwrap();
    assert_eq!((run.status.code(), text(&run.stdout)), (Some(code), String::new()), "{arguments:?}");
    text(&run.stderr)
}

/// The database of a history with a survey, measured once for all tests.
static SURVEYED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let place = TestPlace::new();
    printed(&place, &["--budget", "1s"]);
    std::fs::read(place.path().join(DATABASE)).unwrap()
});

/// Where a place has its history.
const DATABASE: &str = "corewise/history.db";

/// A place with a survey of this machine.
fn with_survey() -> TestPlace {
    let place = TestPlace::new();
    std::fs::create_dir(place.path().join("corewise")).unwrap();
    std::fs::write(place.path().join(DATABASE), &*SURVEYED).unwrap();
    place
}

/// A survey, a map that another tool made, and the same again; a file says of no machine what it is.
fn with_three() -> TestPlace {
    let place = with_survey();
    std::fs::write(place.path().join("matrix.csv"), ",,\n20,,\n80,80,\n").unwrap();
    printed(&place, &["links", "import", "matrix.csv", "matrix.csv"]);
    place
}

#[test]
fn every_kind_has_one_series_of_numbers_and_one_way_to_be_shown() {
    let place = with_three();
    let list = printed(&place, &["history", "--all", "--width", "160"]);
    for words in [
        "     1  survey  20",
        "     2  links   20",
        "     3  links   20",
        " imported: 3 pairs of 3 cpus (cas), from matrix.csv",
    ] {
        assert!(list.contains(words), "{words}: {list}");
    }
    let maps = printed(&place, &["history", "--all", "--kind", "links"]);
    assert!(!maps.contains("survey") && maps.contains("     3  links"), "{maps}");
    assert!(printed(&place, &["history", "show", "1"]).starts_with("survey 1, made 20"));
    assert!(printed(&place, &["history", "show", "2"]).starts_with("map 2, made 20"));
    let csv = printed(&place, &["history", "show", "2", "--csv"]);
    assert!(csv.starts_with("kind,a,b,first,visit,use,ns,notes\ncas,0,1,"), "{csv}");
    for (number, words) in [("1", "### Latency\n"), ("2", "| costs | pairs of cpus |")] {
        let text = printed(&place, &["history", "show", number, "--markdown"]);
        // Warnings of a busy machine come first.
        assert!(text.contains("### What this means\n") && text.contains(words), "{text}");
    }
    assert!(printed(&place, &["history", "compare", "2", "3"]).contains("none of 3 pairs changed"));
    let said = refused(&place, &["history", "compare", "1", "2"], 2);
    assert!(said.contains("number 1 is of the kind survey, and number 2 of the kind links"), "{said}");
    let said = refused(&place, &["history", "show", "1", "--csv"], 2);
    assert!(said.starts_with("error: --csv is not available for a survey"), "{said}");
}

#[test]
fn what_is_deleted_leaves_its_line() {
    let place = with_three();
    let deleted = printed(&place, &["history", "delete", "3", "1", "--width", "160"]);
    assert!(deleted.starts_with("2 results deleted; the list keeps a line of each:\n"), "{deleted}");
    assert!(deleted.contains("     1  survey  20") && deleted.contains("imported: "), "{deleted}");
    assert!(!place.path().join("corewise/history.db-wal").exists(), "the room is given back");
    let list = printed(&place, &["history", "--all"]);
    assert_eq!(list.matches("deleted 20").count(), 2, "{list}");
    let said = refused(&place, &["history", "show", "1"], 3);
    assert!(said.starts_with("error: survey 1 in ") && said.contains(" was deleted\n"), "{said}");
    let said = refused(&place, &["history", "delete", "2", "9"], 3);
    assert!(said.contains("there is no number 9 in ") && said.contains("; it has 2\n"), "{said}");
    assert!(printed(&place, &["history", "show", "2"]).starts_with("map 2, made 20"), "all or none");
}

#[test]
fn what_is_old_is_pruned() {
    let place = with_three();
    let all = printed(&place, &["history", "--all"]);
    for older_than in ["90d", "1w 1d"] {
        let pruned = printed(&place, &["history", "prune", "--all", "--older-than", older_than]);
        assert_eq!(pruned, "Nothing is that old.\n");
    }
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let prune = ["history", "prune", "--older-than", "1s", "--all", "--kind", "links"];
    let would = printed(&place, &[&prune[..], &["--dry-run"]].concat());
    assert!(would.starts_with("2 would be deleted:\n"), "{would}");
    assert_eq!(printed(&place, &["history", "--all"]), all, "nothing was deleted");
    let pruned = printed(&place, &prune);
    assert!(pruned.starts_with("2 results deleted;"), "{pruned}");
    assert_eq!(printed(&place, &["history", "--all"]).matches("deleted 20").count(), 2);
    assert!(printed(&place, &["history", "show", "1"]).starts_with("survey 1, made 20"));
}

/// Only the doctor and whoever names a store has all of it read first.
#[test]
fn damage_is_found_by_the_doctor() {
    let place = with_three();
    let store = place.path().join("corewise/history.db");
    let sound = printed(&place, &["doctor"]);
    assert!(sound.contains("good  history: ") && sound.contains("history.db is sound"), "{sound}");
    let mut bytes = std::fs::read(&store).unwrap();
    let half = bytes.len() / 2;
    bytes[half..].fill(0xee);
    std::fs::write(&store, bytes).unwrap();
    let doctor = printed(&place, &["doctor", "--width", "200"]);
    assert!(
        doctor.contains("gap   history: the history cannot be read: ") && doctor.contains("is damaged"),
        "{doctor}"
    );
    let named = refused(&place, &["history", "--all", "--store", "corewise/history.db"], 3);
    assert!(named.starts_with("error: the history cannot be read: ") && named.contains("is damaged"), "{named}");
}

#[test]
fn no_store_stores_nothing() {
    let place = TestPlace::new();
    let run = place.corewise(&["--budget", "1s", "--no-store"]).output().unwrap();
    assert!(run.status.success() && !text(&run.stdout).contains("stored"));
    assert!(!place.path().join("corewise").exists());
}
