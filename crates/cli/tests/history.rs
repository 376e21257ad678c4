//! The history as a user meets it: surveys are stored, listed, shown again and compared.

mod support;

use support::{Place, text};

#[test]
fn surveys_are_stored_listed_shown_and_compared() {
    let place = Place::new();
    for number in [1, 2] {
        let run = place.corewise(&["--budget", "1s", "--seed", "7"]).output().unwrap();
        assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
        assert!(text(&run.stdout).contains(&format!("stored as survey {number}")), "{}", text(&run.stdout));
    }
    let answer = |arguments: &[&str]| {
        let run = place.corewise(arguments).output().unwrap();
        assert_eq!((run.status.code(), text(&run.stderr)), (Some(0), String::new()), "{arguments:?}");
        text(&run.stdout)
    };
    let list = answer(&["history"]);
    assert!(list.contains("\n     1  20") && list.contains("\n     2  20"), "{list}");
    let again = answer(&["history", "show", "1"]);
    assert!(again.starts_with("survey 1, made 20") && again.contains("What this means"), "{again}");
    let comparison = answer(&["history", "compare", "1", "2"]);
    assert!(comparison.starts_with("From survey 1 to survey 2\n") && !comparison.contains("different machines"));
    let same = answer(&["history", "compare", "1", "1"]);
    assert!(same.contains("Nothing changed beyond its uncertainty."), "{same}");
}

#[test]
fn a_number_that_does_not_exist_is_told_with_those_that_do() {
    let place = Place::new();
    assert!(place.corewise(&["--budget", "1s"]).output().unwrap().status.success());
    let run = place.corewise(&["history", "show", "12"]).output().unwrap();
    assert_eq!(run.status.code(), Some(3));
    let said = text(&run.stderr);
    assert!(said.starts_with("error: there is no survey 12 in ") && said.contains("; it holds 1\n"), "{said}");
    assert!(said.ends_with("`corewise history --all` lists them.\n"), "{said}");
}

#[test]
fn no_store_stores_nothing() {
    let place = Place::new();
    let run = place.corewise(&["--budget", "1s", "--no-store"]).output().unwrap();
    assert!(run.status.success() && !text(&run.stdout).contains("stored"));
    assert!(!place.path().join("corewise").exists());
}
